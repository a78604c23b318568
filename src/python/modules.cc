// The tree of modules of a report: onnxflops.Module and onnxflops.Modules.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "src/base/glob.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/python/convert.h"
#include "src/python/types.h"
#include "src/render/known.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;

size_t FindModule(const Report& report, const std::string& path) {
  std::vector<std::string> paths;
  for (size_t i = 0; i < report.modules.size(); ++i) {
    if (report.modules[i].path == path) return i;
    paths.push_back(report.modules[i].path);
  }
  Raise(absl::NotFoundError(absl::StrCat("no module ", Quoted(path), DidYouMean(path, paths))));
}

nb::list Children(const PyModule& of) {
  nb::list children;
  const std::vector<Module>& modules = of.of.report->modules;
  for (auto i = static_cast<int32_t>(of.index) + 1; i < of.module().end;
       i = modules[static_cast<size_t>(i)].end) {
    children.append(nb::cast(PyModule{of.of, static_cast<size_t>(i)}));
  }
  return children;
}

nb::object Parent(const PyModule& of) {
  if (of.module().parent < 0) return nb::none();
  return nb::cast(PyModule{of.of, static_cast<size_t>(of.module().parent)});
}

nb::list Filter(const PyModules& of, const std::string& glob) {
  nb::list found;
  for (size_t i = 0; i < of.of.report->modules.size(); ++i) {
    if (!MatchesGlob(glob, of.of.report->modules[i].path)) continue;
    found.append(nb::cast(PyModule{of.of, i}));
  }
  return found;
}

// Modules are values: the same one of reports that are equal.
void DefineModuleValue(nb::class_<PyModule>* module) {
  module->def(
      "__eq__",
      [](const PyModule& self, nb::handle other) -> nb::object {
        if (!nb::isinstance<PyModule>(other)) return nb::borrow(Py_NotImplemented);
        const auto& that = nb::cast<const PyModule&>(other);
        return nb::bool_(self.index == that.index && SameReports(self.of, that.of));
      },
      nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"));
  module->def("__hash__", [](const PyModule& of) {
    return static_cast<Py_ssize_t>(absl::HashOf(of.module().path, of.index) >> 1);
  });
  module->def(
      "__reduce__",
      [](const PyModule& of) {
        return nb::make_tuple(nb::module_::import_("onnxflops._pickle").attr("module_of"),
                              nb::make_tuple(nb::cast(of.of), of.index));
      },
      nb::sig("def __reduce__(self) -> tuple[Any, ...]"));
  DefineCopies(module);
}

void DefineTree(nb::module_& m) {
  nb::class_<PyModules> modules(m, "Modules",
                                "The modules of a report: the model first, in order.");
  modules.def("__repr__", [](const PyModules& of) {
    return ToStr(absl::StrCat("<onnxflops.Modules of ", Escaped(of.of.report->model.path), ": ",
                              of.of.report->modules.size(), ">"));
  });
  modules.def("__len__", [](const PyModules& of) { return of.of.report->modules.size(); });
  modules.def(
      "__iter__", [](const PyModules& of) { return nb::iter(Filter(of, "*")); },
      nb::sig("def __iter__(self) -> Iterator[Module]"));
  modules.def(
      "__getitem__",
      [](const PyModules& of, nb::handle path) {
        return PyModule{of.of, FindModule(*of.of.report, FromStr(path, "modules[...]: a path"))};
      },
      nb::arg("path").none(), nb::sig("def __getitem__(self, path: str) -> Module"));
  modules.def(
      "__contains__",
      [](const PyModules& of, nb::handle path) {
        if (!nb::isinstance<nb::str>(path)) return false;
        const std::string text = FromStr(path, "modules");
        const std::vector<Module>& all = of.of.report->modules;
        return std::any_of(all.begin(), all.end(), [&](const Module& m) { return m.path == text; });
      },
      nb::arg().none(), nb::sig("def __contains__(self, arg: object, /) -> bool"));
  modules.def(
      "_parts", [](const PyModules& of) { return PartsOf(of.of); },
      nb::sig("def _parts(self) -> list[tuple[Any, ...]]"));
  DefineView(&modules, "view");
  modules.def("filter", &Filter, nb::arg("glob"),
              nb::sig("def filter(self, glob: str) -> list[Module]"),
              "Those whose path matches: \"visual.*.mlp\"; * stands for any signs, dots included.");
}

}  // namespace

void DefineModules(nb::module_& m) {
  nb::class_<PyModule> module(m, "Module", "A module of the exported program, with its figures.");
  module.def_prop_ro(
      "path", [](const PyModule& of) { return ToStr(of.module().path); },
      "As in named_modules(); \"\" for the model.");
  module.def_prop_ro(
      "name", [](const PyModule& of) { return ToStr(of.module().name()); },
      "What its parent calls it.");
  module.def_prop_ro(
      "type", [](const PyModule& of) { return ToStr(of.module().type); },
      "Its class, or \"\" if the file does not name it.");
  module.def_prop_ro(
      "depth", [](const PyModule& of) { return of.module().depth; }, "0 for the model.");
  module.def_prop_ro(
      "own", [](const PyModule& of) { return of.module().own; },
      "Whether this is its parent's own work, outside of its children.");
  module.def_prop_ro(
      "nodes", [](const PyModule& of) { return of.module().nodes; },
      "How many nodes of the graph are in it.");
  module.def_prop_ro("parent", &Parent, nb::sig("def parent(self, /) -> Module | None"),
                     "None for the model.");
  module.def_prop_ro(
      "children", &Children, nb::sig("def children(self, /) -> list[Module]"),
      "Their FLOPs, MACs and parameters add up to those of this module. What it only "
      "moves itself (bytes, integer operations, nodes) may be in no child.");
  module.def("__repr__", [](const PyModule& of) {
    return ToStr(absl::StrCat("<onnxflops.Module ", Quoted(of.module().path), ">"));
  });
  module.def_prop_ro(
      "figures",
      [](const PyModule& of) {
        return FiguresOf(*of.of.report, *of.module().amounts, of.module().lower_bound);
      },
      nb::sig("def figures(self, /) -> dict[str, Figure]"),
      "By name each figure with its status: how far it is known.");
  AddQuantities(
      module, [](const PyModule& of) { return of.module().amounts.get(); },
      [](const PyModule& of, const Quantity& q) {
        const Module& m = of.module();
        return of.of.report->Has(q) && report::HasFigure(q, (*m.amounts).*q.value, m.lower_bound);
      });

  DefineView(&module, "view_figures");
  DefineModuleValue(&module);
  DefineTree(m);
}

}  // namespace onnxflops::python
