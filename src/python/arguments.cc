#include "src/python/arguments.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/cost/amounts.h"
#include "src/cost/roofline.h"
#include "src/python/argument_words.h"
#include "src/python/convert.h"
#include "src/settings/size_arguments.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;

constexpr absl::string_view kNotInPython[] = {
    "format", "o",       "color", "save",  "annotate", "strict", "plot",    "sort",  "redact-names",
    "j",      "columns", "top",   "depth", "no-fold",  "exact",  "prefill", "decode"};

constexpr absl::string_view kOfServing[] = {"prefill", "decode", "requests", "experts"};

// Whose list is one value.
constexpr absl::string_view kLists[] = {"lengths", "cu-seqlens", "images", "grid-thw", "audio"};

bool IsSequence(nb::handle value) {
  return PySequence_Check(value.ptr()) && !nb::isinstance<nb::str>(value) &&
         !nb::isinstance<nb::bytes>(value);
}

// An array or a tensor as lists and numbers of Python; anything else as it is.
nb::object Plain(nb::handle value, const std::string& what) {
  if (!PyObject_HasAttrString(value.ptr(), "tolist")) return nb::borrow(value);
  try {
    return value.attr("tolist")();
  } catch (const nb::python_error& error) {
    RaiseTypeError(absl::StrCat(what, " cannot be read: ", nb::str(error.value()).c_str()));
  }
}

// "5", "0.41", "visual.*", and of lists "[1,3,224]", as options have it.
std::string ToText(nb::handle given, const std::string& what, int depth = 0) {
  const nb::object value = Plain(given, what);
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

// A sample of a count has one image; a list of its images would be read as several samples.
void RequireOneImageEach(nb::handle value, const std::string& what) {
  for (const nb::handle item : nb::borrow<nb::sequence>(value)) {
    const nb::object sample = Plain(item, what);
    if (!IsSequence(sample)) continue;
    const nb::sequence sizes = nb::borrow<nb::sequence>(sample);
    if (nb::len(sizes) == 0 || IsSequence(sizes[0])) {
      RaiseTypeError(absl::StrCat(
          what, " has one image for each sample: Perf.step() takes several of them, or none"));
    }
  }
}

// [12.5, 47.0] -> "[12.5s,47.0s]": of audio, numbers with a fraction are seconds, others are
// frames.
std::string AudioText(nb::handle values, const std::string& what) {
  std::string text = "[";
  for (const nb::handle value : nb::borrow<nb::sequence>(values)) {
    const nb::object item = Plain(value, what);
    absl::StrAppend(&text, text.size() > 1 ? "," : "");
    const bool is_number = PyObject_HasAttrString(item.ptr(), "__float__");
    if (is_number && !IsInt(item) && !PyBool_Check(item.ptr())) {
      absl::StrAppend(&text, ToText(nb::steal(PyNumber_Float(item.ptr())), what), "s");
    } else {
      absl::StrAppend(&text, ToText(item, what));
    }
  }
  return text + "]";
}

// To the ten digits that a limit on a time may have.
absl::int128 Rounded(absl::int128 amount) {
  constexpr absl::int128 kMost = 10'000'000'000;
  absl::int128 step = 1;
  while (amount / step >= kMost) step *= 10;
  return (amount + step / 2) / step * step;
}

// A limit of `max`. A number is in the unit of the quantity, which limits on times must have:
// {"time_bound_seconds": 148e-6} -> "0.000148 s".
std::string LimitText(absl::string_view name, nb::handle given, const std::string& what) {
  const nb::object value = Plain(given, what);
  std::string text = ToText(value, what);
  const bool is_number = !PyBool_Check(value.ptr()) && (IsInt(value) || PyFloat_Check(value.ptr()));
  const absl::string_view key = absl::StripAsciiWhitespace(name.substr(name.rfind(':') + 1));
  const Quantity* const quantity = FindQuantity(key);
  if (!is_number || quantity == nullptr || quantity->unit != Quantity::Unit::kSeconds) return text;
  std::optional<absl::int128> amount = ParseExactText(*quantity, text);
  if (!amount && PyFloat_Check(value.ptr())) {  // of more decimals than times have
    constexpr double kMostSeconds = 1e6;
    const double seconds = PyFloat_AsDouble(value.ptr());
    if (seconds > 0 && seconds < kMostSeconds) {
      amount = static_cast<absl::int128>(std::round(seconds * kTimesPerSecond));
    }
  }
  return amount ? absl::StrCat(ExactText(*quantity, Rounded(*amount)), " s") : text;
}

// {"image": (1, 3, 224, 224)} -> "image=[1,3,224,224]".
void AddTexts(nb::handle value, const std::string& what, std::vector<std::string>* texts,
              bool limits = false) {
  if (PyMapping_Check(value.ptr()) && PyObject_HasAttrString(value.ptr(), "items")) {
    for (const nb::handle item : value.attr("items")()) {
      const std::string name = FromStr(item[0], what);
      texts->push_back(
          absl::StrCat(name, "=", limits ? LimitText(name, item[1], what) : ToText(item[1], what)));
    }
  } else if (IsSequence(value)) {
    for (const nb::handle item : nb::borrow<nb::sequence>(value)) {
      texts->push_back(ToText(item, what));
    }
  } else {
    texts->push_back(ToText(value, what));
  }
}

// Whether it is the option's default, which the signature shows.
bool IsDefault(const settings::Row& option, nb::handle value) {
  if (value.is_none()) return true;
  if (option.flag != nullptr) return PyBool_Check(value.ptr()) && value.ptr() != Py_True;
  if (option.values != nullptr) return PyTuple_Check(value.ptr()) && nb::len(value) == 0;
  return nb::isinstance<nb::str>(value) && !option.value->empty() &&
         nb::borrow<nb::str>(value).equal(ToStr(*option.value));
}

void SetOption(const settings::Row& option, nb::handle given, const std::string& what) {
  const nb::object value = Plain(given, what);
  const bool is_list = IsSequence(value) && std::find(std::begin(kLists), std::end(kLists),
                                                      option.name) != std::end(kLists);
  if (is_list) {
    if (option.name == "images" || option.name == "grid-thw") RequireOneImageEach(value, what);
    std::string text = option.name == "audio" ? AudioText(value, what) : ToText(value, what);
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
  } else if (option.name == "module" && IsSequence(value)) {
    // ["visual", "!visual.conv1"] -> "visual,!visual.conv1".
    std::vector<std::string> globs;
    AddTexts(value, what, &globs);
    if (globs.empty()) RaiseTypeError(absl::StrCat(what, " is a list without a module"));
    *option.value = absl::StrJoin(globs, ",");
  } else if (option.value != nullptr) {
    if (IsSequence(value)) RaiseTypeError(absl::StrCat(what, " takes one value"));
    *option.value = ToText(value, what);
  } else {
    AddTexts(value, what, option.values, /*limits=*/option.name == "max");
  }
}

// "grad_accumulation" -> "grad-accumulation".
std::string Typed(absl::string_view name) { return absl::StrReplaceAll(name, {{"_", "-"}}); }

const settings::Row* FindOption(const settings::Table& list, const std::string& name) {
  const std::string typed = Typed(name);
  for (const settings::Row& option : list.rows()) {
    if (option.name == typed) return &option;
  }
  return nullptr;
}

// TypeError if `name`, which is no size, is similar to that of an option: count(memry=True).
void RefuseMisspelt(const settings::Table& list, const std::string& name, const std::string& what) {
  std::vector<std::string> names;
  for (const settings::Row& option : list.rows()) {
    if (!IsNotInPython(option.name)) names.push_back(ArgumentName(option));
  }
  const std::string similar = DidYouMean(name, names);
  if (!similar.empty()) RaiseTypeError(absl::StrCat(what, " is no argument", similar));
}

// A size is one number; the function for several is named.
void AddOneSize(const std::string& name, nb::handle value, const std::string& what,
                Bindings* sizes) {
  if (!IsInt(value) && IsSequence(value)) {
    RaiseTypeError(absl::StrCat(what, ": ", Quoted(name), " should be an int, not ",
                                TypeName(value), ": Model.sweep(...) counts at several sizes"));
  }
  AddSize(name, value, what, sizes);
}

void AddSizes(nb::handle value, const std::string& what, Bindings* sizes) {
  if (!PyMapping_Check(value.ptr()) || !PyObject_HasAttrString(value.ptr(), "items")) {
    RaiseTypeError(
        absl::StrCat(what, " should be a mapping of names to sizes, not ", TypeName(value)));
  }
  for (const nb::handle item : value.attr("items")()) {
    AddOneSize(FromStr(item[0], what), item[1], what, sizes);
  }
}

// The option with what was set.
Given::Option Said(const settings::Row& option) {
  Given::Option said;
  said.name = ArgumentName(option);
  said.is_flag = option.flag != nullptr;
  said.is_list = option.values != nullptr;
  if (option.value != nullptr) said.texts = {*option.value};
  if (said.is_list) said.texts = *option.values;
  return said;
}

}  // namespace

std::string SettingText(nb::handle value, const std::string& what) { return ToText(value, what); }

std::string AudioSettingText(nb::handle value, const std::string& what) {
  const nb::object audio = Plain(value, what);
  if (IsSequence(audio)) return AudioText(audio, what);
  nb::list one;
  one.append(audio);
  return AudioText(one, what);
}

bool IsNotInPython(absl::string_view setting) {
  return std::find(std::begin(kNotInPython), std::end(kNotInPython), setting) !=
         std::end(kNotInPython);
}

bool IsOfServing(absl::string_view setting) {
  return std::find(std::begin(kOfServing), std::end(kOfServing), setting) != std::end(kOfServing);
}

void RefuseProgramOptions(const nb::kwargs& given, const std::string& function) {
  for (const auto& [key, value] : given) {
    const std::string name = FromStr(key, function);
    if (IsOfServing(name) && !IsNotInPython(name) && !value.is_none()) {
      Raise(absl::UnimplementedError(
          absl::StrCat(function, ": Report.serving() counts the step of a server: it takes ",
                       "requests= and experts=")));
    }
    if (!IsNotInPython(Typed(name))) continue;
    RaiseTypeError(absl::StrCat(
        function, ": ", Quoted(name), " is ",
        IsOfServing(name) ? "an argument of Report.serving()" : "an option of the program only",
        "; a size of this name is given by dim={", Quoted(name), ": N}"));
  }
}

nb::dict Given::ToDict() const {
  nb::dict call;
  for (const Option& option : options) {
    nb::list texts;
    for (const std::string& text : option.texts) texts.append(ToStr(text));
    call[ToStr(option.name)] = option.is_flag   ? nb::object(nb::bool_(true))
                               : option.is_list ? nb::object(texts)
                                                : nb::object(texts[0]);
  }
  nb::dict dim;
  for (const auto& [name, size] : sizes) dim[ToStr(name)] = nb::int_(size);
  if (!sizes.empty()) call["dim"] = dim;
  return call;
}

Given SetOptions(const nb::kwargs& given, const settings::Table& list, const std::string& function,
                 Others others) {
  Given taken;
  for (const auto& [key, value] : given) {
    const std::string name = FromStr(key, function);
    const std::string what = absl::StrCat(function, ": ", Quoted(name));
    const settings::Row* option = FindOption(list, name);
    if (others == Others::kSizes && name == "dim") {
      if (!value.is_none()) AddSizes(value, what, &taken.sizes);
    } else if (option != nullptr) {
      if (IsDefault(*option, value)) continue;
      SetOption(*option, value, what);
      taken.options.push_back(Said(*option));
    } else if (others == Others::kSizes) {
      if (!IsInt(value)) RefuseMisspelt(list, name, what);
      AddOneSize(name, value, function, &taken.sizes);
    } else {
      RaiseTypeError(absl::StrCat(what, " is no argument"));
    }
  }
  return taken;
}

bool IsGiven(const settings::Table& list, nb::handle name, nb::handle value) {
  const settings::Row* const option = FindOption(list, FromStr(name, "an argument"));
  return option == nullptr ? !value.is_none() : !IsDefault(*option, value);
}

Swept TakeSwept(const settings::Table& list, const std::string& function, nb::dict* given) {
  std::vector<settings::DimSizes> dims;
  nb::dict left;
  const auto take = [&](nb::handle key, nb::handle value) {
    const std::string name = FromStr(key, function);
    const std::string what = absl::StrCat(function, ": ", Quoted(name));
    if (nb::isinstance<nb::str>(value)) {
      Require(settings::ParseDims(absl::StrCat(name, "=", FromStr(value, what)), &dims));
      return true;
    }
    if (!IsSequence(value)) return false;
    settings::DimSizes swept;
    swept.name = TypedSymbol(name);
    if (PySequence_Size(value.ptr()) > static_cast<Py_ssize_t>(kMaxSweepPoints)) {
      Raise(absl::InvalidArgumentError(
          absl::StrCat(what, " has more than ", kMaxSweepPoints, " sizes")));
    }
    for (const nb::handle item : nb::borrow<nb::sequence>(value)) {
      Bindings one;
      AddSize(name, item, function, &one);
      swept.sizes.push_back(one.begin()->second);
    }
    if (swept.sizes.empty()) {
      Raise(absl::InvalidArgumentError(absl::StrCat(what, " has no sizes")));
    }
    dims.push_back(std::move(swept));
    return true;
  };
  for (const auto& [key, value] : *given) {
    const std::string name = FromStr(key, function);
    if (name == "dim" && PyMapping_Check(value.ptr()) &&
        PyObject_HasAttrString(value.ptr(), "items")) {
      nb::dict single;
      for (const nb::handle item : value.attr("items")()) {
        if (!take(item[0], item[1])) single[item[0]] = item[1];
      }
      left["dim"] = single;
    } else if (FindOption(list, name) != nullptr || !take(key, value)) {
      left[key] = value;
    }
  }
  *given = left;
  Swept swept;
  for (settings::DimSizes& dim : dims) swept.emplace_back(dim.name, std::move(dim.sizes));
  return swept;
}

}  // namespace onnxflops::python
