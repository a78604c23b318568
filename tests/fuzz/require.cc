#include "tests/fuzz/require.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/limits.h"
#include "src/base/utf8.h"

namespace onnxflops {

namespace {

constexpr size_t kLongestMessage = 8000;

[[noreturn]] void Fail(const char* what, absl::string_view text) {
  std::fprintf(stderr, "%s: %s\n", what, std::string(text.substr(0, kLongestMessage)).c_str());
  std::abort();
}

void RequirePrintableAs(absl::string_view text, bool lines, const char* what) {
  for (absl::string_view rest = text; !rest.empty();) {
    if (lines && rest[0] == '\n') {
      rest.remove_prefix(1);
      continue;
    }
    const size_t length = PrintableSequence(rest);
    if (length == 0) Fail(what, text);
    rest.remove_prefix(length);
  }
}

// Characters that nobody sees, or that look like nothing, one of each sort: a soft hyphen, a
// joiner, fillers, a vowel separator, spaces and their like, selectors, a byte order mark, an
// annotation, Braille's blank, tags, music's formats, private use, what is no character.
constexpr absl::string_view kUnseen[] = {
    "\u00ad", "\u034f", "\u115f",     "\u17b4",     "\u180e",     "\u180b",     "\u00a0",
    "\u2003", "\u200b", "\u200d",     "\u2028",     "\u2060",     "\u206a",     "\u2800",
    "\u3000", "\u3164", "\ue000",     "\ufdd0",     "\ufe0f",     "\ufeff",     "\uffa0",
    "\ufff9", "\uffff", "\U0001d173", "\u202e",     "\u2066",     "\u061c",     "\u070f",
    "\u0600", "\ufffc", "\U000e0101", "\U000e0041", "\U000f0000", "\U0010ffff",
};

// Lines that CI systems take for a command: "::error::" at the begin, "##[error]" anywhere.
void RequireNoCommand(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t begin = line.find_first_not_of(" \u00a0\u1680\u2003\u2028\u205f\u3000");
    if (absl::StartsWith(line.substr(std::min(begin, line.size())), "::")) Fail("a command", line);
    for (const char* command : {"##[", "##vso[", "##teamcity["}) {
      if (absl::StrContains(line, command)) Fail("a command", line);
    }
  }
}

}  // namespace

void Require(bool condition, const char* what) { Require(condition, what, ""); }

void Require(bool condition, const char* what, absl::string_view text) {
  if (!condition) Fail(what, text);
}

void RequireOneLine(const absl::Status& error, absl::string_view prefix) {
  const absl::string_view message = error.message();
  if (message.substr(0, prefix.size()) != prefix) Fail("an error that does not name it", message);
  if (message.empty() || message.size() > kLongestMessage) Fail("an error too long", message);
  // What a graph's own inputs were is said in lines of their own.
  RequirePrintableAs(message, true, "an error with control characters");
  RequireNoCommand(message);
}

void RequirePrintable(absl::string_view text) {
  RequirePrintableAs(text, true, "text with control characters");
  for (absl::string_view unseen : kUnseen) {
    if (absl::StrContains(text, unseen)) Fail("text that nobody sees", text);
  }
  RequireNoCommand(text);
}

void RequireJson(absl::string_view text) {
  RequirePrintable(text);
  if (!nlohmann::json::accept(text.begin(), text.end())) Fail("no JSON", text);
}

void RequirePage(absl::string_view page) {
  Require(page.size() <= kMaxPageBytes, "a page that is too large");
  const size_t element = page.find("<script type=\"application/json\"");
  const size_t begin = page.find('>', element) + 1, end = page.find('<', begin);
  Require(element != absl::string_view::npos &&
              absl::StartsWith(page.substr(end), "</script>\n<script>"),
          "a page whose data does not end where it should");
  RequireJson(absl::StrCat(absl::StripSuffix(page.substr(begin, end - begin), "\n"), "\n"));
}

}  // namespace onnxflops
