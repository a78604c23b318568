// Protobuf's JSON. Protobuf's own reader says neither line nor column, so a first reader looks for
// faults of syntax, and finds the place of what Protobuf then objects to.
//
// How it works. The first reader walks through the text with the path of the current value
// ("graph.node[1].op_type"). A fault of syntax ends it, and has a place already. Else Protobuf
// reads the text; its message names a path, and a second walk looks for the value at this path, or
// else for the innermost one around it. "op_type" and "opType" are the same field, so both are
// written in one way before they are compared.
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/byte_reader.h"
#include "src/base/json_reader.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "tools/official/text_form.h"

namespace onnxflops::tools {
namespace {

// A part of a path to a value: the name of a field, or a place in a list. "opType" and "op_type"
// are one name.
std::string Part(absl::string_view name) {
  std::string part = absl::AsciiStrToLower(name);
  part.erase(std::remove(part.begin(), part.end(), '_'), part.end());
  return part;
}

// "graph.node[1].op_type" -> graph, node, 1, optype.
std::vector<std::string> Parts(absl::string_view path) {
  std::vector<std::string> parts;
  for (const absl::string_view name : absl::StrSplit(path, absl::ByAnyChar(".[]"))) {
    if (!name.empty()) parts.push_back(Part(name));
  }
  return parts;
}

// Walks through a JSON text with the path of the current value, and keeps the place of the value at
// `target`, or else of the innermost one around it.
class PathFinder : public JsonEvents {
 public:
  PathFinder(absl::string_view text, std::vector<std::string> target)
      : bytes_(text), target_(std::move(target)) {}

  // A fault of syntax, or nothing.
  absl::Status Run() {
    const absl::Status read = onnxflops::ReadJson(&bytes_, {.nesting = kMaxTextNesting}, this);
    return absl::IsDataLoss(read) ? absl::InvalidArgumentError(read.message()) : read;
  }
  size_t place() const { return place_; }

  bool null() override { return Value(); }
  bool boolean(bool) override { return Value(); }
  bool number_integer(number_integer_t) override { return Value(); }
  bool number_unsigned(number_unsigned_t) override { return Value(); }
  bool number_float(number_float_t, const string_t&) override { return Value(); }
  bool string(string_t&) override { return Value(); }
  bool binary(binary_t&) override { return Value(); }
  bool start_object(size_t) override { return Open(false); }
  bool start_array(size_t) override { return Open(true); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    levels_.back().name = Part(name);
    Look();
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  struct Level {
    bool is_list;
    size_t next;  // of a list
    std::string name;
  };

  // The last byte of the token that was just read. After a number it is the next one, which the
  // reader has to see to know that the number ends.
  size_t Here() const {
    const auto read = static_cast<size_t>(bytes_.place());
    return read == 0 ? 0 : read - 1;
  }
  bool Open(bool is_list) {
    Value();
    levels_.push_back({is_list, 0, ""});
    return true;
  }
  bool Close() {
    levels_.pop_back();
    return true;
  }
  bool Value() {
    if (!levels_.empty() && levels_.back().is_list) {
      levels_.back().name = absl::StrCat(levels_.back().next++);
      Look();
    }
    return true;
  }
  // Keeps the place if its path is a longer beginning of the target than any before.
  void Look() {
    if (levels_.size() <= nearest_ || levels_.size() > target_.size()) return;
    for (size_t i = 0; i < levels_.size(); ++i) {
      if (levels_[i].name != target_[i]) return;
    }
    nearest_ = levels_.size();
    place_ = Here();
  }

  ByteReader bytes_;
  const std::vector<std::string> target_;
  std::vector<Level> levels_;
  size_t nearest_ = 0, place_ = 0;
};

// "graph.node[1] has no field 'op_typ'". For the outermost object: is this a model at all?
std::string NoField(absl::string_view path, absl::string_view name) {
  if (!path.empty()) return absl::StrCat(path, " has no field ", Quoted(name));
  return absl::StrCat("ModelProto has no field ", Quoted(name), ": not an ONNX model?");
}

// Protobuf's messages: "(graph.node[1]) op_typ: Cannot find field.",
// "(ir_version): invalid value ...", "graph: Proto field is not repeating, cannot start list."
absl::Status FromProtobuf(absl::string_view text, absl::string_view message) {
  absl::string_view what = message, path;
  if (absl::ConsumePrefix(&what, "(")) {
    const size_t end = std::min(what.find(')'), what.size());
    path = what.substr(0, end);
    what.remove_prefix(std::min(end + 1, what.size()));
  }
  const size_t colon = what.find(": ");
  if (colon == absl::string_view::npos) return FaultAt(text, 0, message);
  message = absl::StripPrefix(message, ": ");
  const absl::string_view name = absl::StripAsciiWhitespace(what.substr(0, colon));
  std::vector<std::string> target = Parts(path);
  if (!name.empty()) target.push_back(Part(name));
  PathFinder finder(text, std::move(target));
  if (!finder.Run().ok()) return FaultAt(text, 0, message);
  if (what.substr(colon + 2) == "Cannot find field.") {
    return FaultAt(text, finder.place(), NoField(path, name));
  }
  return FaultAt(text, finder.place(), message);
}

}  // namespace

absl::Status ReadJson(absl::string_view text, onnx::ModelProto* model) {
  absl::Status syntax = PathFinder(text, {}).Run();
  if (!syntax.ok()) return syntax;
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), model);
  if (status.ok()) return absl::OkStatus();
  const auto message = status.message();
  return FromProtobuf(text, absl::string_view(message.data(), message.size()));
}

}  // namespace onnxflops::tools
