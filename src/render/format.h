// Numbers and names as text, for all writers.
#ifndef ONNXFLOPS_SRC_RENDER_FORMAT_H_
#define ONNXFLOPS_SRC_RENDER_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "src/cost/amounts.h"
#include "src/cost/cost.h"
#include "src/cost/coverage.h"
#include "src/graph/fact.h"
#include "src/graph/symbol_origin.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// "1 node", "1,405 nodes".
std::string Plural(int64_t count, absl::string_view noun);

// "com.microsoft.Attention"; "Conv" for ai.onnx.
std::string OpLabel(absl::string_view domain, absl::string_view op);

}  // namespace onnxflops

namespace onnxflops::report {

// Four significant digits and a decimal prefix: 999 -> "999", 12'345 -> "12.35 k",
// 395'219'472'384 -> "395.2 G", up to E, beyond which digits grow. Rounded half up, exactly.
std::string SiNumber(absl::int128 value);
// Groups of three: "395,219,472,384".
std::string GroupedDigits(absl::int128 value);
// part/whole in percent with one digit: "96.6", "<0.1" for less than that but not nothing; "-" when
// whole is 0.
std::string Percent(absl::int128 part, absl::int128 whole);
// A utilisation in percent with two digits: 0.14228 -> "14.23".
std::string SharePercent(double share);

// An expression with SI coefficients: "395.2 G*batch + 12.35 k". An atom that is not a plain
// polynomial is written out, as in Expr::ToString.
std::string SiExpr(const Expr& expr);
// The same with every digit: "395,219,472,384*batch + 12,345".
std::string GroupedExpr(const Expr& expr);
// SiExpr, or, with `exact`, GroupedExpr.
std::string ShowExpr(const Expr& expr, bool exact);

// "1.710 G" -> "1.710 GB", "12" -> "12 B".
std::string WithByteUnit(std::string number);
// A time in 10^-21 s as "1.183 ms"; with `exact` every digit: "0.001183 s".
std::string TimeText(absl::int128 amount, bool exact);
// An amount of a quantity, for people: "395.2 G" FLOPs, "1.710 GB", "1.183 ms".
std::string AmountText(const Quantity& quantity, absl::int128 amount, bool exact);
// "1.710 GB"; of an expression: "4*batch bytes".
std::string BytesText(const Expr& bytes);

// True if a contraction multiplies values of one floating-point type as stored.
bool IsPlainFloat(const MacOperands& operands);

absl::string_view StatusName(Coverage status);              // "counted", "free", "unknown"
absl::string_view OriginKindName(SymbolOrigin::Kind kind);  // "input", "data", ...

// ---- names: data from strangers

// The width of a text on a terminal: code points, without combining ones.
int DisplayWidth(absl::string_view text);
// A text of `width` columns. A longer text loses its beginning after the indent, like a path ("
// ..resblocks.0-23"), or its end.
std::string WithoutBeginning(absl::string_view text, int width);
std::string WithoutEnd(absl::string_view text, int width);
// Keeps so many columns of the beginning, after the indent, and as much of the end as has room. Of
// texts that are too long.
std::string WithoutMiddle(absl::string_view text, int width, int beginning);

// "float32[batch, 3, 224, 224]".
std::string TensorText(absl::string_view type, const Shape& shape);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_RENDER_FORMAT_H_
