// Values between Python and the library: text, whole numbers of 128 bits, errors.
#ifndef ONNXFLOPS_SRC_PYTHON_CONVERT_H_
#define ONNXFLOPS_SRC_PYTHON_CONVERT_H_

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/cost/amounts.h"
#include "src/symbolic/expr.h"

namespace onnxflops::python {

// Raises the exception of an error, with the program's text in the words of Python: a class of
// onnxflops/_errors.py.
[[noreturn]] void Raise(const absl::Status& error);
[[noreturn]] void RaiseTypeError(const std::string& message);

// Its class name, for such an error.
std::string TypeName(nanobind::handle value);

inline void Require(const absl::Status& status) {
  if (!status.ok()) Raise(status);
}

template <typename T>
T Require(absl::StatusOr<T> value) {
  if (!value.ok()) Raise(value.status());
  return *std::move(value);
}

// Runs `work` while other Python threads may run, and returns its result.
template <typename Work>
auto WithoutGil(const Work& work) {
  const nanobind::gil_scoped_release released;
  return work();
}

// Names in a model are untrusted bytes: invalid UTF-8 becomes U+FFFD, as in JSON.
nanobind::str ToStr(absl::string_view text);
// The text of a path (str, bytes or os.PathLike) in the encoding of the file system.
std::string FromPath(nanobind::handle path);
// The text of a str. TypeError of anything else, UnicodeEncodeError of lone surrogates. `what`
// names it in the error: "count(): 'dim'".
std::string FromStr(nanobind::handle text, const std::string& what);

nanobind::int_ ToInt(absl::int128 value);
// A whole number from an object with __index__ that is not a bool. InvalidError beyond 128 bits.
absl::int128 FromInt(nanobind::handle value, const std::string& what);
bool IsInt(nanobind::handle value);

// A literal is an int, anything else an onnxflops.Expr. LimitError for Expr::error().
nanobind::object ToNumber(const Expr& value);
// The same of an amount of a quantity; a time is a float of seconds, or None while a size is open.
nanobind::object ToFigure(const Quantity& quantity, const Expr& amount);
// Of an int or an onnxflops.Expr.
Expr FromNumber(nanobind::handle value, const std::string& what);
bool IsNumber(nanobind::handle value);

// {"batch": 8}, by the names as typed.
Bindings FromSizes(const nanobind::kwargs& sizes, const std::string& what);
// Adds one. `name` as a person types it.
void AddSize(const std::string& name, nanobind::handle size, const std::string& what,
             Bindings* sizes);

}  // namespace onnxflops::python

#endif  // ONNXFLOPS_SRC_PYTHON_CONVERT_H_
