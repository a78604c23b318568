#include "src/python/convert.h"

#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/cost/roofline.h"
#include "src/python/argument_words.h"
#include "src/settings/size_arguments.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::python {
namespace {

namespace nb = nanobind;

const char* ClassOf(const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kNotFound:
      return absl::StrContains(error.message(), ": no such file") ? "NoSuchFileError"
                                                                  : "NotFoundError";
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kResourceExhausted:
      return "LimitError";
    case absl::StatusCode::kFailedPrecondition:
      return "UnavailableError";
    case absl::StatusCode::kUnimplemented:
      return "UnsupportedError";
    case absl::StatusCode::kInvalidArgument:
      if (absl::EndsWith(error.message(), ": no such file")) return "NoSuchFileError";
      return "InvalidError";
    case absl::StatusCode::kAlreadyExists:
      return "InvalidError";
    default:
      return "OnnxflopsError";
  }
}

nb::object Steal(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

}  // namespace

void Raise(const absl::Status& error) {
  const nb::object type = nb::module_::import_("onnxflops._errors").attr(ClassOf(error));
  const std::string text = absl::StrCat(error.message(), settings::LimitHint(error));
  const nb::object made = type(ToStr(ArgumentWords(text)), ToStr(LimitOf(error)));
  PyErr_SetObject(type.ptr(), made.ptr());
  throw nb::python_error();
}

void RaiseTypeError(const std::string& message) {
  PyErr_SetObject(PyExc_TypeError, ToStr(message).ptr());
  throw nb::python_error();
}

std::string TypeName(nb::handle value) { return nb::type_name(value.type()).c_str(); }

nb::str ToStr(absl::string_view text) {
  const auto size = static_cast<Py_ssize_t>(text.size());
  return nb::borrow<nb::str>(Steal(PyUnicode_DecodeUTF8(text.data(), size, "replace")));
}

std::string FromPath(nb::handle path) {
  const nb::object bytes = nb::module_::import_("os").attr("fsencode")(path);
  std::string text(PyBytes_AsString(bytes.ptr()), static_cast<size_t>(PyBytes_Size(bytes.ptr())));
  if (text.find('\0') == std::string::npos) return text;
  PyErr_SetString(PyExc_ValueError, "a path holds a null byte");
  throw nb::python_error();
}

std::string FromStr(nb::handle text, const std::string& what) {
  if (!nb::isinstance<nb::str>(text)) {
    RaiseTypeError(absl::StrCat(what, " should be a str, not ", TypeName(text)));
  }
  const nb::object bytes = Steal(PyUnicode_AsUTF8String(text.ptr()));
  return {PyBytes_AsString(bytes.ptr()), static_cast<size_t>(PyBytes_Size(bytes.ptr()))};
}

nb::int_ ToInt(absl::int128 value) {
  if (value >= std::numeric_limits<int64_t>::min() &&
      value <= std::numeric_limits<int64_t>::max()) {
    return nb::int_(static_cast<int64_t>(value));
  }
  return nb::borrow<nb::int_>(Steal(PyLong_FromString(Int128ToString(value).c_str(), nullptr, 10)));
}

bool IsInt(nb::handle value) { return PyIndex_Check(value.ptr()) && !PyBool_Check(value.ptr()); }

absl::int128 FromInt(nb::handle value, const std::string& what) {
  if (!IsInt(value)) {
    RaiseTypeError(absl::StrCat(what, " should be an int, not ", TypeName(value)));
  }
  const nb::object index = Steal(PyNumber_Index(value.ptr()));
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (small == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  if (overflow == 0) return small;
  // Python does not limit the digits of hexadecimal text; 128 bits are 32 digits.
  const std::string digits = FromStr(Steal(PyNumber_ToBase(index.ptr(), 16)), what);
  constexpr size_t kMostDigits = 35;  // "-0x" and 32
  absl::int128 wide = 0;
  if (digits.size() <= kMostDigits) {
    const nb::object decimal = Steal(PyObject_Str(index.ptr()));
    if (absl::SimpleAtoi(FromStr(decimal, what), &wide)) return wide;
  }
  Raise(absl::InvalidArgumentError(absl::StrCat(what, ": the number is beyond 128 bits")));
}

nb::object ToNumber(const Expr& value) {
  if (value.error() != nullptr) {
    Raise(LimitError(LimitOf(value.error()), absl::StrCat("the figure ", value.error())));
  }
  if (value.is_literal()) return ToInt(value.literal());
  return nb::cast(value);
}

nb::object ToFigure(const Quantity& quantity, const Expr& amount) {
  if (quantity.unit != Quantity::Unit::kSeconds || amount.error() != nullptr) {
    return ToNumber(amount);
  }
  if (!amount.is_literal()) return nb::none();
  return nb::float_(static_cast<double>(amount.literal()) / kTimesPerSecond);
}

bool IsNumber(nb::handle value) { return nb::isinstance<Expr>(value) || IsInt(value); }

Expr FromNumber(nb::handle value, const std::string& what) {
  if (nb::isinstance<Expr>(value)) return nb::cast<Expr>(value);
  return Expr(FromInt(value, what));
}

void AddSize(const std::string& name, nb::handle size, const std::string& what, Bindings* sizes) {
  const std::string of = absl::StrCat(what, ": ", Quoted(name));
  const absl::int128 value = FromInt(size, of);
  if (value < 0 || value > std::numeric_limits<int64_t>::max()) {
    Raise(absl::InvalidArgumentError(
        absl::StrCat(of, ": a size is a whole number from 0 to 2^63 - 1")));
  }
  const auto [at, is_new] = sizes->emplace(TypedSymbol(name), static_cast<int64_t>(value));
  if (!is_new) Raise(absl::InvalidArgumentError(absl::StrCat(of, " is given twice")));
}

Bindings FromSizes(const nb::kwargs& sizes, const std::string& what) {
  Bindings bindings;
  for (const auto& [name, size] : sizes) AddSize(FromStr(name, what), size, what, &bindings);
  return bindings;
}

}  // namespace onnxflops::python
