// How symbols are written: in expressions, in results, and after --dim.
//
//   batch                    a dimension that the file names, if that is a plain identifier
//   'past + 1', '1000'       any other name of the file: quoted, so that it looks like nothing else
//   pixels.0                 axis 0 of the input pixels, where the file gives no name
//   nonzero(/head/NonZero)   a size that is not known, and the node that decides it
//   'a very long na...'#1    the first name that is too long, and begins like this
//
// The rule: symbol = head ["(" place ")"] {("." | "#") digits}. A head is an identifier
// [A-Za-z_][A-Za-z0-9_.]* or a quoted name; a place is a quoted name or characters of
// [A-Za-z0-9_./:-]. In quotes, \\ \' \n \t and \xNN (a byte) stand for what cannot stand there.
//
// Only what is ours has a place, or ends in a point and digits: two symbols are written alike only
// if they are the same. The name of every Expr's symbol is such a text, in its one canonical form.
#ifndef ONNXFLOPS_SRC_SYMBOLIC_SYMBOL_NAME_H_
#define ONNXFLOPS_SRC_SYMBOLIC_SYMBOL_NAME_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace onnxflops {

// A dimension that the file names.
std::string FileSymbol(absl::string_view name);
// A dimension of an input that has no name.
std::string AxisSymbol(absl::string_view input, int axis);
// A size that is not known.
std::string DataSymbol(absl::string_view hint, absl::string_view place);
// A name that is too long for an expression: its beginning, of at most so many bytes as written,
// and a number that tells it from others.
std::string CutSymbol(absl::string_view name, size_t most, size_t number);
// `name`, or its beginning that takes at most so many bytes between quotes.
absl::string_view WrittenPrefix(absl::string_view name, size_t most);

// What a person may type for a symbol, in canonical form: a written symbol is itself, and any other
// text is the name of a dimension of the file.
std::string TypedSymbol(absl::string_view text);
// A written symbol without quotes and escapes: what is typed by who knows only the file.
std::string BareName(absl::string_view symbol);

// For messages: a written symbol in quotes, if it does not begin with one.
std::string QuotedSymbol(absl::string_view symbol);

// The length of the written symbol that `text` begins with; 0 if it begins with none.
size_t SymbolLength(absl::string_view text);
// The length of the identifier that `text` begins with; 0 if it begins with none.
size_t IdentifierLength(absl::string_view text);
// Whether an identifier before "(" begins a function of expressions: floor, min, max, broadcast.
bool IsFunctionName(absl::string_view name);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_SYMBOL_NAME_H_
