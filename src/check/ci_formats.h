// Verdicts for CI programs. Each format escapes text from models and budgets.
#ifndef ONNXFLOPS_SRC_CHECK_CI_FORMATS_H_
#define ONNXFLOPS_SRC_CHECK_CI_FORMATS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "src/check/judge.h"

namespace onnxflops {

// A comment on a pull request: Markdown of at most kMaxCommentBytes (src/diff/comment.h).
std::string ToComment(const CheckReport& report);
// JUnit's XML: a test case per rule.
std::string ToJunit(const CheckReport& report);
// Annotations of GitHub's workflow commands, a line per rule that is broken or near its limit.
std::string ToGithubAnnotations(const CheckReport& report);
// GitLab's code quality report: the same as JSON.
std::string ToGitlab(const CheckReport& report);
// SARIF 2.1.0: one rule per kind of budget, the path of the module as logical location.
std::string ToSarif(const CheckReport& report);
// Figures for histories of benchmarks: a list of {"name", "unit", "value"}, where less is better.
std::string ToBenchmark(const CheckReport& report);
// The endpoint of a badge of shields.io.
std::string ToBadge(const CheckReport& report);

struct CiFormat {
  absl::string_view name;
  std::string (*write)(const CheckReport& report);
};
inline constexpr CiFormat kCiFormats[] = {
    {"comment", &ToComment}, {"junit", &ToJunit}, {"github", &ToGithubAnnotations},
    {"gitlab", &ToGitlab},   {"sarif", &ToSarif}, {"benchmark", &ToBenchmark},
    {"badge", &ToBadge},
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CHECK_CI_FORMATS_H_
