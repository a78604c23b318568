// Command-line options: what commands share, and what the values mean.
#ifndef ONNXFLOPS_TOOLS_CLI_OPTIONS_H_
#define ONNXFLOPS_TOOLS_CLI_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/user/user_rules.h"
#include "src/api/count.h"
#include "src/render/document.h"
#include "src/render/table_style.h"
#include "src/report/report.h"
#include "src/report/view_options.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

// --rules: a file with operators of the user's own.
struct RulesArgument {
  std::string file;
  void AddTo(OptionList* list);
  absl::StatusOr<Rules> Parse() const;
};

// --causal.
struct CausalArgument {
  std::string how = "full";
  void AddTo(OptionList* list);
  absl::StatusOr<CausalCounting> Parse() const;
};

// --upper.
struct UpperArgument {
  bool given = false;
  void AddTo(OptionList* list);
};

// --no-grad, of commands that say what other tools report.
struct NoGradArgument {
  bool given = false;
  void AddTo(OptionList* list);
};

// What --dim says of one dimension: a size, or those of a sweep.
struct DimSizes {
  std::string name;            // as TypedSymbol has it
  std::vector<int64_t> sizes;  // at least one
};

// --dim, --tokens, --mask-sum, --input, --value, --rules and --limit, as typed.
struct SizeArguments {
  std::vector<std::string> dims, inputs, values, limits;
  std::string tokens, mask_sum, at_image;
  RulesArgument rules;
  void AddTo(OptionList* list, bool sweeps = false);
  // An error if --dim gives one dimension several sizes.
  absl::StatusOr<CountOptions> Parse() const;
  // Dimensions with several sizes go to `sweep`, in the order of the call.
  absl::StatusOr<CountOptions> Parse(std::vector<DimSizes>* sweep) const;
};

enum class Format { kTable, kText, kJson, kJsonLines, kCsv, kMarkdown, kLatex, kHtml };

// A format of --format. One that draws documents is written wherever tables are.
struct FormatRow {
  absl::string_view name;
  Format format;
  absl::string_view extension;  // of files that are written in it, or ""
  std::string (*draw)(const Document&, const TableStyle&);  // nullptr: reports have writers for it
};
absl::Span<const FormatRow> Formats();
const FormatRow& RowOf(Format format);
// "table, json or csv".
std::string OneOf(absl::Span<const std::string> names);

// --format, -o and --color.
struct OutputArguments {
  std::string format;      // "" if not given: as the name of the file says, or else a table
  std::string file = "-";  // standard output
  std::string color = "auto";
  std::vector<std::string> formats;  // that the command writes
  // `more`: what the command writes beside formats of documents.
  void AddTo(OptionList* list, std::vector<std::string> more = {"json", "csv"});
  // Only what is named.
  void AddOnly(OptionList* list, std::vector<std::string> names);
  absl::StatusOr<Format> ParseFormat() const;
  // How wide and in what color tables are.
  absl::StatusOr<TableStyle> Style() const;
};

// `what`: "a sweep is". InvalidArgument names the formats of `args` that are left without `but`.
absl::Status RequireFormat(const OutputArguments& args, Format format, absl::string_view what,
                           absl::Span<const Format> but);

// "batch=8"; "a=1,b=2"; "seq=128,512,2048": sizes one by one. A comma and a size go on with the
// sizes, a comma and anything else begins the next name. "1..10" is every size from 1 to 10,
// "1..100+10" every tenth, "1..4096*2" each twice the one before.
absl::Status ParseDims(absl::string_view text, std::vector<DimSizes>* dims);
// The same without sweeps.
absl::Status ParseDim(absl::string_view text, Bindings* bindings);
// "image=1x3x224x224"; "image=batch,3,224,224" gives a name to what stays open; "x=" is a scalar.
// "image=[1,3,224,224]" is the same as 1x3x224x224.
absl::Status ParseInput(absl::string_view text, absl::btree_map<std::string, Dims>* shapes);
// "sizes=[1,3,224,224]", "trips=5", "scales=[1.0,2.0]"; "shapes=[[4,4],[2,8]]", whose shape goes to
// `shapes`.
absl::Status ParseValue(absl::string_view text, absl::btree_map<std::string, Content>* values,
                        absl::btree_map<std::string, Dims>* shapes);

// The text of a small file that a person wrote: at most one byte more than kMaxRulesBytes.
absl::StatusOr<std::string> ReadSmallFile(const std::string& file);

// "unrolled-trips=1000".
absl::Status ParseLimit(absl::string_view text, Limits* limits);
// What to add to an error that names a limit that can be set: how to set it.
std::string LimitHint(const absl::Status& error);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_OPTIONS_H_
