#include "src/python/arguments.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/python/convert.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;

// What the program does with files and screens; Python has methods for that.
constexpr absl::string_view kNotInPython[] = {
    "--format", "-o",        "--color",        "--save",    "--annotate", "--strict",
    "--plot",   "--sort",    "--redact-names", "-j",        "--columns",  "--top",
    "--depth",  "--no-fold", "--exact",        "--prefill", "--decode"};

// Whose list is one value.
constexpr absl::string_view kLists[] = {"--lengths", "--cu-seqlens", "--images"};

bool IsSequence(nb::handle value) {
  return PySequence_Check(value.ptr()) && !nb::isinstance<nb::str>(value) &&
         !nb::isinstance<nb::bytes>(value);
}

// "5", "0.41", "visual.*", and of lists "[1,3,224]", as options have it.
std::string ToText(nb::handle value, const std::string& what, int depth = 0) {
  if (nb::isinstance<nb::str>(value)) return FromStr(value, what);
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True ? "true" : "false";
  if (IsInt(value)) return Int128ToString(FromInt(value, what));
  if (PyFloat_Check(value.ptr())) return FromStr(nb::repr(value), what);
  if (PyObject_HasAttrString(value.ptr(), "__fspath__")) return FromPath(value);
  if (!IsSequence(value)) {
    RaiseTypeError(absl::StrCat(what, " cannot be ", TypeName(value)));
  }
  if (depth > kMaxRank) RaiseTypeError(absl::StrCat(what, ": lists inside of too many lists"));
  std::string text = "[";
  for (const nb::handle item : nb::borrow<nb::sequence>(value)) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", ToText(item, what, depth + 1));
  }
  return text + "]";
}

// {"image": (1, 3, 224, 224)} -> "image=[1,3,224,224]".
void AddTexts(nb::handle value, const std::string& what, std::vector<std::string>* texts) {
  if (PyMapping_Check(value.ptr()) && PyObject_HasAttrString(value.ptr(), "items")) {
    for (const nb::handle item : value.attr("items")()) {
      texts->push_back(absl::StrCat(FromStr(item[0], what), "=", ToText(item[1], what)));
    }
  } else if (IsSequence(value)) {
    for (const nb::handle item : nb::borrow<nb::sequence>(value)) {
      texts->push_back(ToText(item, what));
    }
  } else {
    texts->push_back(ToText(value, what));
  }
}

void SetOption(const tools::Option& option, nb::handle value, const std::string& what) {
  const bool is_list = IsSequence(value) && std::find(std::begin(kLists), std::end(kLists),
                                                      option.name) != std::end(kLists);
  if (is_list) {
    std::string text = ToText(value, what);
    if (option.value != nullptr) {
      *option.value = std::move(text);
    } else {
      option.values->push_back(std::move(text));
    }
  } else if (option.flag != nullptr) {
    if (!PyBool_Check(value.ptr())) {
      RaiseTypeError(absl::StrCat(what, " should be a bool, not ", TypeName(value)));
    }
    *option.flag = value.ptr() == Py_True;
  } else if (option.value != nullptr) {
    if (IsSequence(value)) RaiseTypeError(absl::StrCat(what, " takes one value"));
    *option.value = ToText(value, what);
  } else {
    AddTexts(value, what, option.values);
  }
}

const tools::Option* FindOption(const tools::OptionList& list, const std::string& name) {
  const std::string typed = absl::StrCat("--", absl::StrReplaceAll(name, {{"_", "-"}}));
  for (const tools::Option& option : list.options()) {
    if (!option.positional && option.name == typed) return &option;
  }
  return nullptr;
}

void AddSizes(nb::handle value, const std::string& what, Bindings* sizes) {
  if (!PyMapping_Check(value.ptr()) || !PyObject_HasAttrString(value.ptr(), "items")) {
    RaiseTypeError(
        absl::StrCat(what, " should be a mapping of names to sizes, not ", TypeName(value)));
  }
  for (const nb::handle item : value.attr("items")()) {
    AddSize(FromStr(item[0], what), item[1], what, sizes);
  }
}

}  // namespace

bool SetOptions(const nb::kwargs& given, const tools::OptionList& list, const std::string& function,
                Bindings* sizes) {
  bool has_options = false;
  for (const auto& [key, value] : given) {
    const std::string name = FromStr(key, function);
    const std::string what = absl::StrCat(function, ": ", Quoted(name));
    const tools::Option* option = FindOption(list, name);
    if (option != nullptr && std::find(std::begin(kNotInPython), std::end(kNotInPython),
                                       option->name) != std::end(kNotInPython)) {
      RaiseTypeError(absl::StrCat(what,
                                  " is an option of the program only; a size of this name is ",
                                  "given by dim={", Quoted(name), ": N}"));
    }
    if (sizes != nullptr && name == "dim") {
      AddSizes(value, what, sizes);
    } else if (option != nullptr) {
      if (value.is_none()) continue;
      SetOption(*option, value, what);
      has_options = true;
    } else if (sizes != nullptr) {
      AddSize(name, value, function, sizes);
    } else {
      RaiseTypeError(absl::StrCat(what, " is no argument"));
    }
  }
  return has_options;
}

}  // namespace onnxflops::python
