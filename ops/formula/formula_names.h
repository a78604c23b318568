// The texts of signatures and formulas, and the names that formulas may use, before there is a
// node. Internal to ops/formula/ and ops/user/. Errors are InvalidArgument, and name the column of
// the text if there is one: "column 5: ...".
#ifndef ONNXFLOPS_OPS_FORMULA_FORMULA_NAMES_H_
#define ONNXFLOPS_OPS_FORMULA_FORMULA_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/formula/formula.h"

namespace onnxflops::formula {

// A part of a text, and where it begins in it.
struct TextPart {
  absl::string_view text;
  size_t at = 0;
};
TextPart Trimmed(TextPart part);
// The parts between separators that are in no parentheses or brackets; none of a blank text.
std::vector<TextPart> SplitList(TextPart list, char separator);

bool IsName(absl::string_view text);
absl::Status ErrorAt(size_t at, absl::string_view what);
// The same error in a text that begins `by` characters before.
absl::Status Shifted(const absl::Status& error, size_t by);

// "x?[batch..., 4*H] : float16"
struct TensorText {
  FormulaTensor tensor;
  TextPart name, type;          // `type` is empty if there is none
  std::vector<TextPart> sizes;  // of tensor.dims
};
absl::StatusOr<TensorText> ParseTensor(absl::string_view text);
// "int", "ints", "float", or words with | between them.
bool ParseAttributeType(absl::string_view text, FormulaAttribute* attribute);

// The formulas of a row of ours, or those of its gradient, whose texts a test has checked: read in
// half the time.
absl::StatusOr<Formulas> CheckedFormulasOf(const OpDef& row, bool of_gradient);

// The names that are defined so far, and what may be asked of them.
class Scope {
 public:
  static constexpr int64_t kAnyInt = std::numeric_limits<int64_t>::min() / 2;

  absl::Status DefineAttribute(const FormulaAttribute& attribute);
  absl::Status DefineInput(const TensorText& input);
  // Once all inputs are defined: names that only inputs have that may be left out.
  void DefineOptional(const std::vector<FormulaTensor>& inputs);
  // The names that only formulas of a gradient have.
  absl::Status DefineGradient(const std::vector<FormulaTensor>& inputs);
  absl::Status CheckInputSizes(const TensorText& input);
  absl::Status DefineLet(absl::string_view name);
  // Names of the output and of its dimensions.
  absl::Status DefineOutput(const TensorText& output);
  // That the sizes of an output follow from names that are known.
  absl::Status CheckOutputSizes(const TensorText& output);

  absl::Status CheckFormula(const TextPart& formula);
  // The same, of something that is counted.
  absl::Status CheckAmount(const TextPart& formula);
  // Whether a formula that was checked asks for the content of an input.
  bool reads_content() const { return reads_content_; }

 private:
  absl::Status Define(size_t at, absl::string_view name, int64_t at_least);
  absl::Status DefineTensor(const TensorText& tensor);
  absl::StatusOr<Expr> Check(const TextPart& formula);
  absl::StatusOr<Expr> Known(absl::string_view name);
  absl::StatusOr<Expr> KnownPart(absl::string_view name) const;

  absl::btree_map<std::string, int64_t> names_;               // the least that each can be
  absl::btree_map<std::string, std::string> optional_names_;  // and the input that has it
  absl::btree_map<std::string, bool> rests_or_names_;         // whether it is any number of sizes
  absl::btree_set<std::string> lists_;                        // names that have parts
  bool reads_content_ = false;
};

}  // namespace onnxflops::formula

#endif  // ONNXFLOPS_OPS_FORMULA_FORMULA_NAMES_H_
