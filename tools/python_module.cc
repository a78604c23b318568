// The extension of the Python package. It holds the package (src/python) and the program, which
// `onnxflops` and `python -m onnxflops` call.
#include <string>
#include <vector>

#include "src/base/setting.h"
#include "src/python/convert.h"
#include "src/python/package.h"
#include "src/settings/program_face.h"
#include "tools/commands/program.h"

namespace onnxflops::tools {
namespace {

int RunWords(const nanobind::list& given) {
  std::vector<std::string> words = {"onnxflops"};
  for (const nanobind::handle word : given) {
    const nanobind::bytes bytes = nanobind::cast<nanobind::bytes>(word);
    words.emplace_back(bytes.c_str(), bytes.size());
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return python::WithoutGil(
      [&] { return RunProgram(static_cast<int>(words.size()), argv.data()); });
}

}  // namespace
}  // namespace onnxflops::tools

NB_MODULE(_core, m) {
  // Documents are those of the program; errors are put into words of Python (argument_words.h).
  static const onnxflops::ProcessFace face(onnxflops::settings::kProgramFace);
  m.doc() = "The engine of onnxflops.";
  onnxflops::python::DefinePackage(m);
  m.def("_run_program", &onnxflops::tools::RunWords,
        nanobind::sig("def _run_program(arguments: list[bytes], /) -> int"),
        "Runs the program with arguments and returns its exit code.");
}
