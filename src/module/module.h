// A module of the exported program with its work: one row of a ModuleTree (module_tree.h). A Report
// holds these rows in reading order.
#ifndef ONNXFLOPS_SRC_MODULE_MODULE_H_
#define ONNXFLOPS_SRC_MODULE_MODULE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "src/cost/amounts.h"

namespace onnxflops {

// What is no module: the work that a module does outside of its children, and the root.
inline constexpr absl::string_view kOwnWork = "(own)";
inline constexpr absl::string_view kOutsideModules = "(outside any module)";

struct Module {
  std::string path;          // as in named_modules(); "" for the root
  size_t name_begin = 0;     // of name() in path
  std::string type;          // class name, "Conv2d"; "" if unknown
  bool own = false;          // not a module, but its parent's own work
  int32_t parent = -1;       // index among the modules
  int32_t depth = 0;         // of the root: 0
  int32_t end = 0;           // the subtree is [its index, end)
  int32_t kind = 0;          // the same where class, FLOPs, MACs, weights and children are
  bool lower_bound = false;  // something in it is unknown
  int64_t nodes = 0;         // that run in it, as written: a body counts once
  // Of everything inside; never null. Modules of one kind share them.
  std::shared_ptr<const Amounts> amounts;

  // Its name within the parent: "resblocks.0".
  absl::string_view name() const { return absl::string_view(path).substr(name_begin); }
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MODULE_MODULE_H_
