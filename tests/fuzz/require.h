// What the fuzz targets hold against everything that leaves the library.
#ifndef ONNXFLOPS_TESTS_FUZZ_REQUIRE_H_
#define ONNXFLOPS_TESTS_FUZZ_REQUIRE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

// Ends the process with `what` unless `condition` holds.
void Require(bool condition, const char* what);
void Require(bool condition, const char* what, absl::string_view text);

// An error is one line of printable text, not long, that begins with `prefix`.
void RequireOneLine(const absl::Status& error, absl::string_view prefix);

// Valid UTF-8, no control character but the ends of lines, and no line that a CI system takes for a
// command: no terminal or log does more than show it.
void RequirePrintable(absl::string_view text);

// The same, and nlohmann's parser reads it.
void RequireJson(absl::string_view text);

// A page: not too large, and all that is not ours is JSON in which nothing is HTML.
void RequirePage(absl::string_view page);

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_FUZZ_REQUIRE_H_
