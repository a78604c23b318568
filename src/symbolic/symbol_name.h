// How symbols are written: in expressions, in results, and after --dim.
//
//   batch                    a dimension named in the file, if the name is a plain identifier
//   'past + 1', '1000'       any other name in the file, quoted so that it cannot look like
//                            anything else
//   pixels.0                 axis 0 of the input pixels, if the file gives no name
//   nonzero(/head/NonZero)   an unknown size, and the node that decides it
//   'a very long na...'#1    the first of the names that are too long and begin like this
//
// The rule: symbol = head ["(" place ")"] {("." | "#") digits}. A head is an identifier
// [A-Za-z_][A-Za-z0-9_.]* or a quoted name; a place is a quoted name or characters of
// [A-Za-z0-9_./:-]. In quotes, \\ \' \n \t and \xNN (a byte) are escapes.
//
// Only symbols that we make have a place, or end in a point and digits. So two symbols are written
// the same way only if they are the same. The symbol name in every Expr is such a text, in its one
// canonical form.
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
// Shortens a name that is too long for an expression: its beginning, at most `most` bytes as
// written, and a number that makes it unique.
std::string CutSymbol(absl::string_view name, size_t most, size_t number);
// `name`, or its beginning that takes at most so many bytes between quotes.
absl::string_view WrittenPrefix(absl::string_view name, size_t most);

// The canonical form of a typed symbol: a written symbol is itself, and any other text is the name
// of a dimension in the file.
std::string TypedSymbol(absl::string_view text);
// A written symbol without quotes and escapes, as typed by users who know only the file.
std::string BareName(absl::string_view symbol);

// For messages: a written symbol in quotes, if it does not begin with one.
std::string QuotedSymbol(absl::string_view symbol);

// The length of the written symbol at the start of `text`, or 0.
size_t SymbolLength(absl::string_view text);
// The length of the identifier at the start of `text`, or 0.
size_t IdentifierLength(absl::string_view text);
// True if an identifier before "(" is a function of expressions: floor, min, max, broadcast.
bool IsFunctionName(absl::string_view name);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_SYMBOL_NAME_H_
