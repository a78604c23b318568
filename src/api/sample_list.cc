#include "src/api/sample_list.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"

namespace onnxflops {
namespace {

bool IsBlank(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
bool IsComma(char c) { return c == ',' || c == ';'; }
bool IsOpening(char c) { return c == '[' || c == '('; }
bool IsClosing(char c) { return c == ']' || c == ')'; }

class ListReader {
 public:
  // Programs on Windows begin a file with a byte order mark.
  explicit ListReader(absl::string_view text) : text_(absl::StripPrefix(text, "\xEF\xBB\xBF")) {}

  absl::StatusOr<std::vector<ListWord>> Read() {
    while (at_ < text_.size()) {
      const absl::Status status = Next();
      if (!status.ok()) return status;
    }
    if (!closers_.empty()) return Fault(absl::StrCat("there is no '", closers_.substr(0, 1), "'"));
    // A list without any values is another fault, which callers name.
    if (!words_.empty() && !empty_.ok()) return empty_;
    return std::move(words_);
  }

 private:
  absl::Status Next() {
    const char c = text_[at_];
    if (IsBlank(c)) return Blank(c);
    if (IsComma(c)) return Comma(c);
    if (IsOpening(c)) return Open(c);
    if (IsClosing(c)) return Close(c);
    if (last_ == Last::kClosing) return Fault("a value follows a bracket without a comma");
    const size_t begin = at_;
    while (at_ < text_.size() && !IsBlank(text_[at_]) && !IsComma(text_[at_]) &&
           !IsOpening(text_[at_]) && !IsClosing(text_[at_])) {
      ++at_;
    }
    words_.push_back({text_.substr(begin, at_ - begin), group_, line_});
    last_ = Last::kValue;
    return absl::OkStatus();
  }

  absl::Status Blank(char c) {
    ++at_;
    if (c != '\n') return absl::OkStatus();
    ++line_;
    if (!closers_.empty()) return absl::OkStatus();
    ++group_;
    last_ = Last::kNothing;  // a comma may end a line
    return absl::OkStatus();
  }

  absl::Status Comma(char c) {
    if (last_ != Last::kValue && last_ != Last::kClosing) {
      return Fault(absl::StrCat("there is no value before a '", std::string(1, c), "'"));
    }
    last_ = Last::kComma;
    ++at_;
    return absl::OkStatus();
  }

  absl::Status Open(char c) {
    if (last_ == Last::kValue) {
      return Fault(absl::StrCat("a '", std::string(1, c), "' follows a value"));
    }
    closers_ += c == '[' ? ']' : ')';
    ++group_;
    last_ = Last::kOpening;
    ++at_;
    return absl::OkStatus();
  }

  absl::Status Close(char c) {
    if (closers_.empty() || closers_.back() != c) {
      return Fault(absl::StrCat("a '", std::string(1, c), "' closes nothing"));
    }
    if (last_ == Last::kComma) return Fault("there is no value after a comma");
    if (last_ == Last::kOpening && empty_.ok()) empty_ = Fault("there is no value in a bracket");
    closers_.pop_back();
    ++group_;
    last_ = Last::kClosing;
    ++at_;
    return absl::OkStatus();
  }

  absl::Status Fault(absl::string_view what) const {
    const bool has_lines = text_.find('\n') != absl::string_view::npos;
    return absl::InvalidArgumentError(
        absl::StrCat(has_lines ? absl::StrCat("line ", line_, ": ") : "", what));
  }

  enum class Last { kNothing, kValue, kComma, kOpening, kClosing };
  const absl::string_view text_;
  size_t at_ = 0;
  int64_t line_ = 1, group_ = 1;
  Last last_ = Last::kNothing;
  std::string closers_;  // of the brackets that are open
  absl::Status empty_;   // the first bracket without values
  std::vector<ListWord> words_;
};

}  // namespace

absl::StatusOr<std::vector<ListWord>> ReadList(absl::string_view text) {
  return ListReader(text).Read();
}

absl::Status TooManySamples() {
  return LimitError("samples",
                    absl::StrCat("there are more than ", kMaxSamples, " sizes (samples)"));
}

}  // namespace onnxflops
