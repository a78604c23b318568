// How it works. A page is one file without any reference to others, so that it can be mailed and
// opened from a disk: template, style, script and data as JSON. A Content Security Policy allows
// only this style and this script, by their hashes, as names in the data come from other people's
// files. For the same reason "<" is escaped in the data, so that no name can end the element.
//
// If the data are too large for a browser, arrays are cut to their first n elements and strings to
// some bytes, n halved until it fits. The JSON is copied piece by piece for that and not parsed,
// since a parser would make doubles of 128-bit integers.
#include "src/render/html_page.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/sha256.h"

namespace onnxflops::report {
namespace {

// The form in which a Content Security Policy names a style or script: "'sha256-...'".
std::string HashSource(absl::string_view text) {
  Sha256 hash;
  hash.Add(text);
  return absl::StrCat("'sha256-", absl::Base64Escape(absl::HexStringToBytes(hash.Hex())), "'");
}

std::string HtmlText(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

// Copies JSON without the blanks between its parts, with the first `items` elements of each array
// and the first `bytes` of each string. A parser would make doubles of integers beyond 64 bits.
class JsonFolder {
 public:
  JsonFolder(absl::string_view json, size_t items, size_t bytes)
      : json_(json), items_(items), bytes_(bytes) {}

  std::string Run() {
    while (at_ < json_.size()) Next();
    return std::move(out_);
  }
  int64_t left_out() const { return left_out_; }

 private:
  struct Level {
    bool is_array = false;
    size_t elements = 1;
  };

  void Next() {
    const char c = json_[at_];
    if (c == '"') return Text();
    ++at_;
    if (absl::ascii_isspace(c)) return;
    if (c == ',' && levels_.back().is_array) return NextElement();
    if (c == '[' || c == '{') levels_.push_back({c == '['});
    if (c == ']' || c == '}') {
      if (levels_.size() == gone_) gone_ = 0;
      levels_.pop_back();
    }
    if (gone_ == 0) out_ += c;
  }

  void NextElement() {
    if (gone_ == 0 && ++levels_.back().elements > items_) gone_ = levels_.size();
    if (gone_ == 0) out_ += ',';
    if (gone_ == levels_.size()) ++left_out_;
  }

  // The number of bytes of the character at `at_` of a string, or of the escape for it.
  size_t Character() const {
    constexpr size_t kEscape = 2, kUnicode = 6;
    if (json_[at_] == '\\') return json_.substr(at_, kEscape) == "\\u" ? kUnicode : kEscape;
    size_t length = 1;
    while (at_ + length < json_.size() && (json_[at_ + length] & '\xc0') == '\x80') ++length;
    return length;
  }

  void Text() {
    const size_t begin = at_++;
    size_t kept = at_;
    while (at_ < json_.size() && json_[at_] != '"') {
      at_ = std::min(at_ + Character(), json_.size());
      if (at_ - begin <= bytes_) kept = at_;
    }
    const bool whole = kept == at_;
    if (gone_ == 0) {
      absl::StrAppend(&out_, json_.substr(begin, kept - begin), whole ? "" : "...", "\"");
    }
    ++at_;
  }

  const absl::string_view json_;
  const size_t items_, bytes_;
  size_t at_ = 0, gone_ = 0;  // the level whose elements do not fit; 0: none
  int64_t left_out_ = 0;
  std::vector<Level> levels_;
  std::string out_;
};

std::string PageOf(absl::string_view title, absl::string_view kind, absl::string_view json,
                   bool fold) {
  const std::string shown = HtmlText(Escaped(title));
  // In JSON "<" appears only in strings. Without it no text can end the element, or open a comment.
  std::string data = absl::StrReplaceAll(json, {{"<", "\\u003c"}});
  constexpr size_t kMarkup = 2'000;
  const size_t taken = kReportScript.size() + kReportStyle.size() + 2 * shown.size() + kMarkup;
  const size_t room = kMaxPageBytes - std::min(taken, kMaxPageBytes);
  if (fold && data.size() > room) data = FoldJson(data, room);
  if (data.size() > room) data = "{\"too_large\": true}";
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src ",
      HashSource(kReportStyle), "; script-src ", HashSource(kReportScript),
      "; base-uri 'none'; form-action 'none'\">\n",
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
      "<meta name=\"color-scheme\" content=\"light dark\">\n",
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>", shown,
      " - onnxflops</title>\n<style>", kReportStyle, "</style>\n</head>\n<body>\n",
      "<main id=\"page\"><h1>", shown,
      "</h1><noscript><p>This page draws its figures with a script, which is switched off. The "
      "same figures: onnxflops ",
      kind, WithSettings(" {format table}.</p></noscript></main>\n"), "<footer>onnxflops ", kind,
      ", version ", kReportVersion, "</footer>\n",
      "<script type=\"application/json\" id=\"data\" data-kind=\"", kind, "\">", data,
      "</script>\n<script>", kReportScript, "</script>\n</body>\n</html>\n");
}

}  // namespace

std::string HtmlPage(absl::string_view title, absl::string_view kind, absl::string_view json) {
  return PageOf(title, kind, json, /*fold=*/false);
}

std::string FoldedHtmlPage(absl::string_view title, absl::string_view kind,
                           absl::string_view json) {
  return PageOf(title, kind, json, /*fold=*/true);
}

std::string FoldJson(absl::string_view json, size_t most_bytes) {
  std::string folded(json);
  size_t text = json.size();
  constexpr size_t kMostItems = 8192;
  for (size_t items = json.size(); folded.size() > most_bytes && items > 0;
       items = std::min(items / 2, kMostItems)) {
    JsonFolder folder(json, items, text);
    folded = folder.Run();
    if (folder.left_out() > 0) {
      absl::string_view rest = folded;
      absl::ConsumePrefix(&rest, "{");
      folded = absl::StrCat("{\"left_out\":", folder.left_out(), rest == "}" ? "" : ",", rest);
    }
    text = kMaxPageText;
  }
  return folded;
}

absl::string_view FileNameOf(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace onnxflops::report
