#include "tests/fuzz/require.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
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

void Require(bool condition, const char* what) {
  if (!condition) Fail(what, "");
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
  RequireNoCommand(text);
}

void RequireJson(absl::string_view text) {
  RequirePrintable(text);
  if (!nlohmann::json::accept(text.begin(), text.end())) Fail("no JSON", text);
}

}  // namespace onnxflops
