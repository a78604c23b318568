// Keyword arguments of Python as options of the program: one table has their names and meanings.
//
//   m.count(batch=8, backward="exact", frozen=["visual.*"])
//   onnxflops count MODEL --dim batch=8 --backward exact --frozen "visual.*"
#ifndef ONNXFLOPS_SRC_PYTHON_ARGUMENTS_H_
#define ONNXFLOPS_SRC_PYTHON_ARGUMENTS_H_

#include <nanobind/nanobind.h>

#include <string>

#include "src/symbolic/expr.h"
#include "tools/cli/option_list.h"

namespace onnxflops::python {

// Sets the options of `list` that `given` names, "_" standing for "-"; whether there were any. With
// `sizes`, `dim` is a mapping of sizes, and a name that is no option is that of a size. `function`
// stands in errors.
bool SetOptions(const nanobind::kwargs& given, const tools::OptionList& list,
                const std::string& function, Bindings* sizes);

// What a call gives.
struct Given {
  Bindings sizes;
  bool has_options = false;
};
// The same of groups of options.
template <typename... Arguments>
Given TakeOptions(const nanobind::kwargs& given, const std::string& function, Arguments*... into) {
  tools::OptionList list;
  (into->AddTo(&list), ...);
  Given taken;
  taken.has_options = SetOptions(given, list, function, &taken.sizes);
  return taken;
}

}  // namespace onnxflops::python

#endif  // ONNXFLOPS_SRC_PYTHON_ARGUMENTS_H_
