// How it works. nlohmann's parser has no limits of its own. So it calls Guard for each token. Guard
// checks nesting and repeated keys and passes the token on: to the caller's events, or to
// TreeBuilder, which makes a value. The length of a token cannot be checked so late, since the
// parser would have stored it by then. Instead the bytes that the parser reads (Window) seem to end
// before a token that is too long; the parser reports an early end, and Guard turns that into the
// error of the limit. A text that really ends too early is DataLoss, any other fault of the text is
// InvalidArgument, so that a caller can tell the two apart.
#include "src/base/json_reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"

namespace onnxflops {
namespace base {
namespace {

using Json = nlohmann::json;

// An error of a limit; --limit can raise it if it has a name.
absl::Status LimitFault(absl::string_view name, absl::string_view what) {
  if (name.empty()) return absl::OutOfRangeError(what);
  return LimitError(name, absl::StrCat(what, " (", name, ")"));
}

// The bytes, as the parser wants them. They seem to end before a token that is too long.
struct Window {
  ByteReader* bytes;
  int64_t most = std::numeric_limits<int64_t>::max();
  bool met = false;
};

class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit ByteIterator(Window* window) : window_(window) {}
  char operator*() const { return static_cast<char>(window_->bytes->Peek()); }
  ByteIterator& operator++() {
    window_->bytes->Skip();
    return *this;
  }
  // True if both are at the end; the end itself has no window.
  bool operator==(const ByteIterator& other) const { return AtEnd() == other.AtEnd(); }
  bool operator!=(const ByteIterator& other) const { return !(*this == other); }

 private:
  bool AtEnd() const {
    if (window_ == nullptr || window_->bytes->Peek() < 0) return true;
    window_->met = window_->bytes->place() >= window_->most;
    return window_->met;
  }
  Window* window_;
};

class Guard : public JsonEvents {
 public:
  Guard(ByteReader* bytes, const JsonLimits& limits, JsonEvents* events)
      : limits_(limits), events_(*events), window_{bytes} {}

  absl::Status Run() {
    Advance();
    Json::sax_parse(ByteIterator(&window_), ByteIterator(nullptr), this);
    return status_;
  }

  bool null() override { return events_.null() && Advance(); }
  bool boolean(bool value) override { return events_.boolean(value) && Advance(); }
  bool number_integer(number_integer_t value) override {
    return events_.number_integer(value) && Advance();
  }
  bool number_unsigned(number_unsigned_t value) override {
    return events_.number_unsigned(value) && Advance();
  }
  bool number_float(number_float_t value, const string_t& text) override {
    return events_.number_float(value, text) && Advance();
  }
  bool string(string_t& value) override { return events_.string(value) && Advance(); }
  bool binary(binary_t& value) override { return events_.binary(value) && Advance(); }
  bool start_object(size_t size) override {
    if (!Open(true)) return false;
    return events_.start_object(size) && Advance();
  }
  bool end_object() override {
    Close();
    return events_.end_object() && Advance();
  }
  bool start_array(size_t size) override {
    return Open(false) && events_.start_array(size) && Advance();
  }
  bool end_array() override {
    Close();
    return events_.end_array() && Advance();
  }
  bool key(string_t& name) override {
    Level& level = levels_[depth_ - 1];
    key_bytes_ += name.size();
    level.bytes += name.size();
    if (limits_.token > 0 && key_bytes_ > limits_.token) {
      return Fail(LimitFault("", Here(absl::StrCat("the keys of the open objects have more than ",
                                                   limits_.token, " bytes"))));
    }
    if (!level.keys.insert(name).second) {
      return Fail(absl::InvalidArgumentError(
          absl::StrCat(KeyPlace(), ": the key ", Quoted(name), " is there twice in one object")));
    }
    return events_.key(name) && Advance();
  }
  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    if (window_.met) {
      return Fail(
          LimitFault("", Here(absl::StrCat("a text of more than ", limits_.token, " bytes"))));
    }
    // "[json.exception.parse_error.101] parse error at line 1, column 16: syntax error while ...".
    absl::string_view what = error.what();
    what.remove_prefix(std::min(what.find("] "), what.size() - 2) + 2);
    if (absl::StartsWith(what, "parse error")) {
      what.remove_prefix(std::min(what.find(": "), what.size() - 2) + 2);
    }
    if (absl::StartsWith(what, "number overflow")) what = "a number is out of range";
    what = what.substr(0, what.find("; last read:"));  // the place is stated, and this may be long
    // "... unexpected ']'; expected ..." of a text whose last byte is a bracket that does not fit.
    const bool misplaced = absl::StrContains(what, "unexpected ") &&
                           !absl::StrContains(what, "unexpected end of input");
    const std::string fault = Here(absl::StrCat("not JSON from here: ", what));
    const bool cut = !misplaced && window_.bytes->Peek() < 0;
    return Fail(cut ? absl::DataLossError(fault) : absl::InvalidArgumentError(fault));
  }

 private:
  // An open object or array. Levels are kept when they close, to use the memory of their sets
  // again.
  struct Level {
    absl::flat_hash_set<std::string> keys;
    size_t bytes = 0;  // of the keys
  };

  bool Open(bool object) {
    if (depth_ == static_cast<size_t>(limits_.nesting)) {
      return Fail(LimitFault(limits_.nesting_name,
                             Here(absl::StrCat("brackets nest deeper than ", limits_.nesting))));
    }
    if (levels_.size() == depth_) levels_.emplace_back();
    if (object) levels_[depth_].keys.clear();
    levels_[depth_++].bytes = 0;
    return true;
  }
  void Close() { key_bytes_ -= levels_[--depth_].bytes; }

  // After a token: the next one may be so long.
  bool Advance() {
    last_ = window_.bytes->place();
    if (limits_.token > 0) window_.most = last_ + static_cast<int64_t>(limits_.token);
    return true;
  }

  std::string PlaceAt(size_t place) const {
    const absl::string_view text = window_.bytes->text();
    return text.data() == nullptr ? absl::StrCat("byte ", place) : PlaceInText(text, place);
  }
  std::string Here(absl::string_view what) const {
    const auto read = static_cast<size_t>(window_.bytes->place());
    return absl::StrCat(PlaceAt(read == 0 ? 0 : read - 1), ": ", what);
  }
  // The position of the key, if the input is a text.
  std::string KeyPlace() const {
    const size_t begin = window_.bytes->text().find('"', static_cast<size_t>(last_));
    const auto end = static_cast<size_t>(window_.bytes->place());
    return PlaceAt(begin == absl::string_view::npos ? end : begin);
  }
  bool Fail(absl::Status status) {
    status_ = std::move(status);
    return false;
  }

  const JsonLimits& limits_;
  JsonEvents& events_;
  Window window_;
  std::vector<Level> levels_;
  size_t depth_ = 0, key_bytes_ = 0;
  int64_t last_ = 0;  // end of the last token
  absl::Status status_;
};

// A null of nlohmann::json, which root_ begins as, throws nothing.
// NOLINTNEXTLINE(bugprone-exception-escape)
class TreeBuilder : public JsonEvents {
 public:
  Json Take() { return std::move(root_); }

  bool null() override { return Put(nullptr) != nullptr; }
  bool boolean(bool value) override { return Put(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return Put(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return Put(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override {
    return Put(value) != nullptr;
  }
  bool string(string_t& value) override { return Put(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Json::value_t::object); }
  bool start_array(size_t) override { return Open(Json::value_t::array); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    slot_ = &(*open_.back())[name];
    return true;
  }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  Json* Put(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    *slot_ = std::move(value);
    return slot_;
  }
  bool Open(Json::value_t type) {
    open_.push_back(Put(Json(type)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;
  Json* slot_ = nullptr;  // of the last key
};

// NaN and Infinity become {}, at the same width, so that places in errors stay.
std::string WithoutNotNumbers(absl::string_view given) {
  std::string text(given);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      for (const absl::string_view word : {"NaN", "-Infinity", "Infinity"}) {
        if (!absl::StartsWith(absl::string_view(text).substr(i), word)) continue;
        text.replace(i, word.size(), absl::StrCat("{}", std::string(word.size() - 2, ' ')));
        break;
      }
    }
  }
  return text;
}

}  // namespace
}  // namespace base

std::string PlaceInText(absl::string_view text, size_t place) {
  const absl::string_view before = text.substr(0, std::min(place, text.size()));
  const size_t line_begin = before.rfind('\n') + 1;  // 0 in the first line
  return absl::StrCat("line ", std::count(before.begin(), before.end(), '\n') + 1, ", column ",
                      before.size() - line_begin + 1);
}

absl::Status ReadJson(ByteReader* bytes, const JsonLimits& limits, JsonEvents* events) {
  return base::Guard(bytes, limits, events).Run();
}

absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text, const JsonLimits& limits) {
  if (limits.bytes > 0 && text.size() > limits.bytes) {
    return base::LimitFault(limits.bytes_name,
                            absl::StrCat("larger than the limit of ", limits.bytes, " bytes"));
  }
  std::string numbers;
  if (limits.not_numbers) text = numbers = base::WithoutNotNumbers(text);
  base::TreeBuilder tree;
  ByteReader bytes(text);
  const absl::Status status = ReadJson(&bytes, limits, &tree);
  if (absl::IsDataLoss(status)) return absl::InvalidArgumentError(status.message());
  if (!status.ok()) return status;
  return tree.Take();
}

}  // namespace onnxflops
