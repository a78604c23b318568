// onnxflops: counts the arithmetic of ONNX models. The verbs, and what they have in common.
#include <cstring>
#include <iterator>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/api/version.h"
#include "src/base/limits.h"
#include "tools/output.h"
#include "tools/verbs.h"

namespace onnxflops::tools {
namespace {

struct Verb {
  const char* name;
  const char* arguments;
  const char* summary;
  absl::StatusOr<ExitCode> (*run)(const Arguments&);
};

// The first is the default: what is no verb is a model to count.
constexpr Verb kVerbs[] = {
    {"count", "MODEL...", "cost by module, operator or node (the default verb)", RunCount},
    {"compare", "MODEL", "what other tools report, and why they differ", RunCompare},
    {"explain", "MODEL NODE | OP", "formula, shapes and terms of one node, or of an operator",
     RunExplain},
    {"ops", "", "which operators are supported, and what they cost", RunOps},
};

std::string Help() {
  std::string out =
      "onnxflops counts the arithmetic of ONNX models, exactly and without running them.\n\n";
  const char* lead = "usage:";
  for (const Verb& verb : kVerbs) {
    std::string line = absl::StrCat(lead, " onnxflops ", verb.name, " ", verb.arguments);
    line.resize(42, ' ');
    absl::StrAppend(&out, line, verb.summary, "\n");
    lead = "      ";
  }
  absl::StrAppend(&out, R"(
       onnxflops VERB --help              options and examples of a verb
       onnxflops --version

Examples:
  onnxflops clip-vit-l-14-336.onnx --dim batch=1
  onnxflops clip-vit-l-14-336.onnx --by op --format json
  onnxflops compare clip-vit-l-14-336.onnx --with thop
  onnxflops explain clip-vit-l-14-336.onnx node_Conv_2481
  onnxflops explain Conv

FLOPs = 2 x MACs + every other floating-point operation. Exit codes: 0 success, 1 --strict
failed, 2 error.
)");
  return out;
}

std::string Version() {
  return absl::StrCat("onnxflops ", ONNXFLOPS_VERSION, " (ONNX ", kOnnxRelease, ", opsets to ",
                      kMaxOpset, ")\n");
}

absl::StatusOr<ExitCode> Run(Arguments arguments) {
  if (arguments.empty()) {
    return absl::InvalidArgumentError("no model is given (see onnxflops --help)");
  }
  const std::string& first = arguments[0];
  if (first == "--help" || first == "-h" || first == "help") {
    const absl::Status written = WriteOutput(Help(), "-", {});
    if (!written.ok()) return written;
    return kFine;
  }
  if (first == "--version") {
    const absl::Status written = WriteOutput(Version(), "-", {});
    if (!written.ok()) return written;
    return kFine;
  }
  for (const Verb& verb : kVerbs) {
    if (first != verb.name) continue;
    arguments.erase(arguments.begin());
    return verb.run(arguments);
  }
  return kVerbs[0].run(arguments);
}

}  // namespace
}  // namespace onnxflops::tools

int main(int argc, char** argv) {
  using namespace onnxflops::tools;  // NOLINT(google-build-using-namespace)
  try {
    const absl::StatusOr<ExitCode> code = Run(Arguments(argv + 1, argv + argc));
    if (code.ok()) return *code;
    WriteError(absl::StrCat(code.status().message(), LimitHint(code.status())));
  } catch (const std::bad_alloc&) {
    WriteError("there is not enough memory");
  }
  return kTrouble;
}
