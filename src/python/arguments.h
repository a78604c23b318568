// Keyword arguments of Python as options of the program: one table has their names and meanings.
//
//   m.count(batch=8, backward="exact", frozen=["visual.*"])
//   onnxflops count MODEL --dim batch=8 --backward exact --frozen "visual.*"
#ifndef ONNXFLOPS_SRC_PYTHON_ARGUMENTS_H_
#define ONNXFLOPS_SRC_PYTHON_ARGUMENTS_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/settings/table.h"
#include "src/symbolic/expr.h"

namespace onnxflops::python {

// What the program does with files and screens, as --depth; Python has methods for that.
bool IsNotInPython(absl::string_view setting);
// Settings that Report.serving() takes. The functions that count show some of them, as 1.0.0 did.
bool IsOfServing(absl::string_view setting);
// TypeError if an argument is one of these: a size of the same name goes into `dim`.
void RefuseProgramOptions(const nanobind::kwargs& given, const std::string& function);

// What a call gives. Kept by a report, so that it can be counted again elsewhere.
struct Given {
  Bindings sizes;
  // Names of arguments, and the texts that the options got; of a flag none, and `is_list` says
  // whether it is given again and again.
  struct Option {
    std::string name;
    std::vector<std::string> texts;
    bool is_list = false;
    bool is_flag = false;
  };
  std::vector<Option> options;

  bool has_options() const { return !options.empty(); }
  // The arguments of a call that gives the same.
  nanobind::dict ToDict() const;
};

// A value of Python as the text of a setting: "5", "0.41", and of lists "[1,3,224]". `what` names
// it in a TypeError.
std::string SettingText(nanobind::handle value, const std::string& what);
// The same of the audio of a sample, or a list of them: numbers with a fraction are seconds.
std::string AudioSettingText(nanobind::handle value, const std::string& what);

// How names that are no option are read: as sizes, or not at all.
enum class Others { kSizes, kNone };

// Sets the options of `list` that `given` names, "_" standing for "-". None, and the default of an
// option, is the same as not to give it. With kSizes, `dim` is a mapping of sizes, and a name that
// is no option is that of a size. `function` stands in errors.
Given SetOptions(const nanobind::kwargs& given, const settings::Table& list,
                 const std::string& function, Others others);

// Whether an argument is given, and not as the default of its option.
bool IsGiven(const settings::Table& list, nanobind::handle name, nanobind::handle value);

// The same of groups of options.
template <typename... Arguments>
Given TakeOptions(const nanobind::kwargs& given, const std::string& function, Arguments*... into) {
  settings::Table list;
  (into->AddTo(&list), ...);
  return SetOptions(given, list, function, Others::kSizes);
}

// The same of several sizes for each name.
using Swept = std::vector<std::pair<std::string, std::vector<int64_t>>>;
// Takes sizes with several values out of `given`: lists, ranges, texts as "1..8". The names of
// options in `list` are no sizes.
Swept TakeSwept(const settings::Table& list, const std::string& function, nanobind::dict* given);

}  // namespace onnxflops::python

#endif  // ONNXFLOPS_SRC_PYTHON_ARGUMENTS_H_
