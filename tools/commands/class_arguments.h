// A configuration as the graph that the class of an installed transformers gives, by Python.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_CLASS_ARGUMENTS_H_
#define ONNXFLOPS_TOOLS_COMMANDS_CLASS_ARGUMENTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/symbolic/expr.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

// --with-transformers, --task and --python.
struct ClassArguments {
  bool given = false;
  std::string task, python;

  void AddTo(OptionList* list);
  // The words of MODEL; with --with-transformers, the file of a graph in the place of each
  // configuration. The Python package onnxflops makes and keeps it (onnxflops.from_config). A class
  // that branches on a size gets a graph at `sizes`. Stderr says which Python runs, and what the
  // class gave.
  absl::StatusOr<Arguments> Graphs(const Arguments& models, const Bindings& sizes) const;
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_CLASS_ARGUMENTS_H_
