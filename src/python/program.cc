// The program inside the package, called by `onnxflops` and `python -m onnxflops`.
#include "tools/commands/program.h"

#include <string>
#include <vector>

#include "src/python/convert.h"
#include "src/python/types.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;

int RunProgram(const nb::list& given) {
  std::vector<std::string> words = {"onnxflops"};
  for (const nb::handle word : given) {
    const nb::bytes bytes = nb::cast<nb::bytes>(word);
    words.emplace_back(bytes.c_str(), bytes.size());
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return WithoutGil([&] { return tools::RunProgram(static_cast<int>(words.size()), argv.data()); });
}

}  // namespace

void DefineProgram(nb::module_& m) {
  m.def("_run_program", &RunProgram, nb::sig("def _run_program(arguments: list[bytes], /) -> int"),
        "Runs the program with arguments and returns its exit code.");
}

}  // namespace onnxflops::python
