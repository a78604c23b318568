// onnxflops cite: how a paper cites the program and a figure of it. The facts equal those of
// CITATION.cff; a test checks this.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/api/version.h"
#include "src/base/status_macros.h"
#include "tools/cli/output.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

// date-released of CITATION.cff: tools/packaging/version writes both.
constexpr absl::string_view kReleased = "2026-11-30";

constexpr CommandHelp kCommandCiteHelp = {
    "onnxflops cite [options]",
    R"(Prints a BibTeX entry of this version, and what to state beside a figure.
)",
    R"(  For a bibliography:
    onnxflops cite >> references.bib
)"};

struct CiteArguments {
  std::string file = "-";

  void AddTo(OptionList* list) {
    list->AddValue("o", "FILE", &file,
                   "Write to FILE. It is complete or not there. Default: standard output.");
  }
};

// Among LaTeX's entry types, every style supports @misc.
std::string Entry() {
  return absl::StrCat(
      "% To cite a figure, give the version, the command and the unit, as in\n"
      "%   197.6 GMACs (onnxflops ",
      ONNXFLOPS_VERSION,
      ": onnxflops count clip.onnx --dim batch=1).\n"
      "% A MAC is two FLOPs; onnxflops also counts all other floating-point operations.\n"
      "@misc{onnxflops,\n"
      "  title = {onnxflops},\n"
      "  author = {{the authors of onnxflops}},\n"
      "  year = {",
      kReleased.substr(0, 4),
      "},\n"
      "  note = {Version ",
      ONNXFLOPS_VERSION, ", released ", kReleased,
      ". License: Apache-2.0}\n"
      "}\n");
}

absl::StatusOr<ExitCode> RunCite(const CiteArguments& args) {
  RETURN_IF_ERROR(WriteOutput(Entry(), args.file, {}));
  return kFine;
}

}  // namespace

Command CiteCommand() {
  return CommandOf<CiteArguments, kCommandCiteHelp, RunCite>(
      "cite", "", "how to cite the program and its figures");
}

}  // namespace onnxflops::tools
