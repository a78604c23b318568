#include "ops/user_rules_text.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"

namespace onnxflops {
namespace {

class Scan {
 public:
  explicit Scan(absl::string_view text) : text_(text) {}

  std::optional<TextFault> Run() {
    while (i_ < text_.size() && !fault_.has_value()) {
      const char c = text_[i_];
      if (c == '\n') {
        EndLine();
      } else {
        Dots(c);
        Step(c);
      }
    }
    return fault_;
  }

 private:
  enum class In : uint8_t { kPlain, kComment, kString };

  char At(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  void Fail(std::string what) {
    fault_ = TextFault{line_, static_cast<int>(i_ - line_begin_) + 1, std::move(what)};
  }

  void EndLine() {
    // Strings with one quote end with their line at the latest, which the parser says.
    if (in_ == In::kComment || (in_ == In::kString && quotes_ == 1)) in_ = In::kPlain;
    ++line_;
    ++i_;
    line_begin_ = i_;
    dots_ = 0;
    blank_ = true;
  }

  // A dotted key makes a table per dot, and the tables of a line stand inside each other.
  void Dots(char c) {
    if (c != '.' || (i_ > line_begin_ && text_[i_ - 1] == '.')) return;
    if (++dots_ > kMaxRulesDots) {
      Fail(absl::StrCat("more dots in a line than the limit kMaxRulesDots = ", kMaxRulesDots));
    }
  }

  void Step(char c) {
    if (in_ == In::kString) return StepInString(c);
    if (in_ == In::kPlain) {
      if (!absl::ascii_isascii(static_cast<unsigned char>(c)) && !IsByteOrderMark()) {
        return Fail("outside of strings and comments TOML is ASCII");
      }
      if (blank_ && c == '[') return Header();
      if (c == '#') in_ = In::kComment;
      if (c == '"' || c == '\'') return BeginString(c);
    }
    blank_ = blank_ && (c == ' ' || c == '\t');
    ++i_;
  }

  bool IsByteOrderMark() const { return i_ < 3 && absl::StartsWith(text_, "\xef\xbb\xbf"); }

  void Header() {
    blank_ = false;
    i_ += At(i_ + 1) == '[' ? 2 : 1;
    while (At(i_) == ' ' || At(i_) == '\t') ++i_;
    const char key = At(i_);
    if (!absl::ascii_isalnum(static_cast<unsigned char>(key)) &&
        (key == '\0' || !absl::StrContains("_-'\"", absl::string_view(&key, 1)))) {
      Fail("a key is expected after [");
    }
  }

  void BeginString(char quote) {
    blank_ = false;
    in_ = In::kString;
    quote_ = quote;
    quotes_ = At(i_ + 1) == quote && At(i_ + 2) == quote ? 3 : 1;
    i_ += static_cast<size_t>(quotes_);
  }

  void StepInString(char c) {
    if (c == '\\' && quote_ == '"') return Escape();
    if (c == quote_ && (quotes_ == 1 || (At(i_ + 1) == quote_ && At(i_ + 2) == quote_))) {
      in_ = In::kPlain;
      blank_ = false;
      i_ += static_cast<size_t>(quotes_);
      // Of five quotes in a row, three end the string and two belong to it.
      while (quotes_ == 3 && At(i_) == quote_) ++i_;
      return;
    }
    ++i_;
  }

  // Blanks behind a backslash, over lines, are passed over; the parser tests what ends them.
  void Escape() {
    ++i_;
    const bool blanks = quotes_ == 3 && absl::ascii_isspace(static_cast<unsigned char>(At(i_)));
    while (blanks && i_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(At(i_)))) {
      if (At(i_) == '\n') {
        EndLine();
      } else {
        ++i_;
      }
    }
    if (!absl::ascii_isascii(static_cast<unsigned char>(At(i_)))) {
      return Fail("behind a backslash a string is ASCII");
    }
    if (!blanks && i_ < text_.size() && At(i_) != '\n') ++i_;
  }

  const absl::string_view text_;
  std::optional<TextFault> fault_;
  In in_ = In::kPlain;
  char quote_ = '"';
  int quotes_ = 1;     // that begin and end the string
  bool blank_ = true;  // only blanks in this line so far
  int line_ = 1, dots_ = 0;
  size_t i_ = 0, line_begin_ = 0;
};

}  // namespace

std::optional<TextFault> FindTextFault(absl::string_view text) { return Scan(text).Run(); }

}  // namespace onnxflops
