// Settings of what is counted: sizes, rules, limits, and what attention and bounds are taken as.
//
//   SizeArguments sizes;
//   Table table;
//   sizes.AddTo(&table);              // its names and texts, for a face
//   sizes.dims.push_back("batch=8");  // as a face finds by the table
//   absl::StatusOr<CountOptions> options = sizes.Parse();   // errors name the setting
#ifndef ONNXFLOPS_SRC_SETTINGS_SIZE_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_SIZE_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/user/user_rules.h"
#include "src/api/count.h"
#include "src/base/limits.h"
#include "src/graph/fact.h"
#include "src/settings/table.h"

namespace onnxflops::settings {

// `rules`: a file with operators of the user's own.
struct RulesArgument {
  std::string file;
  void AddTo(Table* list);
  absl::StatusOr<Rules> Parse() const;
};

// `causal`.
struct CausalArgument {
  std::string how = "full";
  void AddTo(Table* list);
  absl::StatusOr<CausalCounting> Parse() const;
};

// `upper`.
struct UpperArgument {
  bool given = false;
  void AddTo(Table* list);
};

// `no-grad`, of commands that say what other tools report.
struct NoGradArgument {
  bool given = false;
  void AddTo(Table* list);
};

// What `dim` says of one dimension: a size, or those of a sweep.
struct DimSizes {
  std::string name;            // as TypedSymbol has it
  std::vector<int64_t> sizes;  // at least one
};

// `dim`, `tokens`, `mask-sum`, `input`, `at-image`, `at-batch`, `value`, `rules` and `limit`, as
// texts.
struct SizeArguments {
  std::vector<std::string> dims, inputs, values, limits;
  std::string tokens, mask_sum, at_image, at_batch;
  RulesArgument rules;
  void AddTo(Table* list, bool sweeps = false);
  // An error if `dim` gives one dimension several sizes.
  absl::StatusOr<CountOptions> Parse() const;
  // Dimensions with several sizes go to `sweep`, in the order of the call.
  absl::StatusOr<CountOptions> Parse(std::vector<DimSizes>* sweep) const;
};

// "batch=8"; "a=1,b=2"; "seq=128,512,2048": sizes one by one. A comma and a size go on with the
// sizes, a comma and anything else begins the next name. "1..10" is every size from 1 to 10,
// "1..100+10" every tenth, "1..4096*2" each twice the one before.
absl::Status ParseDims(absl::string_view text, std::vector<DimSizes>* dims);
// The same of each text: names with several sizes go to `sweep`, in the order of the call.
absl::Status ParseDims(const std::vector<std::string>& texts, Bindings* bindings,
                       std::vector<DimSizes>* sweep);
// The same without sweeps.
absl::Status ParseDim(absl::string_view text, Bindings* bindings);
// "image=1x3x224x224"; "image=batch,3,224,224" gives a name to what stays open; "x=" is a scalar.
// "image=[1,3,224,224]" is the same as 1x3x224x224.
absl::Status ParseInput(absl::string_view text, absl::btree_map<std::string, Dims>* shapes);
// "sizes=[1,3,224,224]", "trips=5", "scales=[1.0,2.0]"; "shapes=[[4,4],[2,8]]", whose shape goes to
// `shapes`.
absl::Status ParseValue(absl::string_view text, absl::btree_map<std::string, Content>* values,
                        absl::btree_map<std::string, Dims>* shapes);

// "unrolled-trips=1000".
absl::Status ParseLimit(absl::string_view text, Limits* limits);
// What to add to an error that names a limit that can be set: how to set it.
std::string LimitHint(const absl::Status& error);

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_SIZE_ARGUMENTS_H_
