// Writes JSON text piece by piece: integers of any width, strings always valid UTF-8, no tree in
// memory.
//
//   JsonWriter json;
//   json.BeginObject();
//   json.Key("flops").Int(12);
//   json.EndObject();
//   json.text()   // "{\n  \"flops\": 12\n}\n"
#ifndef ONNXFLOPS_SRC_RENDER_JSON_WRITER_H_
#define ONNXFLOPS_SRC_RENDER_JSON_WRITER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "src/cost/amounts.h"
#include "src/symbolic/expr.h"

namespace onnxflops::report {

class JsonWriter {
 public:
  // A container on one line has all that it holds on that line.
  enum class Layout { kLines, kOneLine };

  JsonWriter() = default;
  // Of a value that stands inside of so many others, whose text is written elsewhere.
  explicit JsonWriter(size_t depth) : depth_(depth) {}

  void BeginObject(Layout layout = Layout::kLines) { Begin('{', layout); }
  void EndObject() { End('}'); }
  void BeginArray(Layout layout = Layout::kLines) { Begin('[', layout); }
  void EndArray() { End(']'); }
  // Keys that differ stay apart: where a string has U+FFFD for a byte, a key has it and the byte's
  // two hexadecimal digits, and a U+FFFD of the key's own is doubled.
  JsonWriter& Key(absl::string_view key);
  // Invalid UTF-8 becomes U+FFFD; control characters, and those that act on terminals, are escaped.
  void String(absl::string_view value);
  void Int(absl::int128 value);
  // The shortest text that is read as this number. REQUIRES: finite.
  void Number(double value);
  void Bool(bool value);
  void Null();
  // {"expr": "2*batch", "value": null}: value is the integer where nothing is open.
  // Of what nobody knows the value is null, as that of an open size is.
  void Quantity(const Expr& expr, bool known = true);
  // The same in the unit of the quantity: a time in seconds.
  void Figure(const onnxflops::Quantity& quantity, const Expr& amount, bool known = true);
  // Every digit of an amount, in the unit of the quantity.
  void Exact(const onnxflops::Quantity& quantity, absl::int128 amount);
  // As Figure, with "at_least" and "at_most", which are quantities; null where no bound is known.
  void Range(const onnxflops::Quantity& quantity, const Expr& amount,
             const std::optional<Expr>& at_least, const std::optional<Expr>& at_most);
  // Strings from here on that take more bytes are cut, and end in "...".
  void CutStrings(size_t bytes) { most_bytes_ = bytes; }
  // Of an object whose end has been written.
  std::string TakeText();

 private:
  struct Level {
    bool empty = true;
    Layout layout = Layout::kLines;
  };
  void Begin(char bracket, Layout layout);
  void End(char bracket);
  // What stands between this value and what is before it.
  void Separate();
  void NewLine();
  size_t AppendEscaped(absl::string_view text);

  std::string out_;
  std::vector<Level> levels_;
  size_t depth_ = 0;
  bool after_key_ = false;
  size_t most_bytes_ = std::string::npos;
};

inline constexpr auto kOneLine = JsonWriter::Layout::kOneLine;

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_RENDER_JSON_WRITER_H_
