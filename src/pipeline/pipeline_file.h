// A pipeline of models, as a TOML file says it.
//
//   title = "T5 translates"             # optional
//   per = "tokens"                      # optional: figures also for one of these; or with their
//                                       # number, { tokens = "answers*tokens" }
//   loaded = "in turn"                  # or "together", the default: what memory holds
//   [parameters]                        # --dim NAME=N gives other numbers
//   prompt = 512
//   tokens = "?"                        # open: figures are formulas
//   total = "prompt + tokens"           # follows from the others
//   guidance = { value = 2, least = 1, most = 2, about = "runs of a step" }
//   [[stage]]
//   name = "decoder"
//   model = "decoder/config.json"       # beside this file
//   times = "beams"                     # how often it runs; 1 if left out
//   for = "t < tokens - 1"              # and once for each t from 0: sizes may contain t
//   new = 1                             # of a decoder: tokens of a run, and those in its cache
//   past = "prompt + t"
//   sizes = { batch = "2*images" }      # open sizes of the model
//   values = { use_cache_branch = 1 }   # contents of inputs, in lists: grid = [1, "high", "wide"]
//   probability = 0.25                  # that it runs at all, or "share/100"; or, of each token in
//                                       # a speculative decoding, { acceptance = 0.8, draft = 4 }
//   weights = "encoder"                 # its weights are those of this stage; or copy_of, if both
//                                       # files are loaded
//
// docs/pipelines.md describes every key.
#ifndef ONNXFLOPS_SRC_PIPELINE_PIPELINE_FILE_H_
#define ONNXFLOPS_SRC_PIPELINE_PIPELINE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// The name of the sum of all stages.
inline constexpr char kAllStages[] = "(all)";

// An exact share: 1/4 for 0.25.
struct Share {
  absl::int128 part = 1, whole = 1;
};

// A formula over parameters and its place in the file, "pipeline.toml:4:9", for errors.
struct PlacedExpr {
  Expr value;
  std::string text;  // as written
  std::string place;
};

// A file of stages that makes its folder one pipeline.
inline constexpr char kPipelineFile[] = "pipeline.toml";

struct PipelineStage {
  std::string name, model;
  std::string place, model_place;
  std::string path;  // of the model: from the folder of the file
  PlacedExpr times = {1, "1", ""};
  std::string index;  // "t"; "": no `for`
  PlacedExpr trips;   // of `for`
  absl::btree_map<std::string, PlacedExpr> sizes;
  absl::btree_map<std::string, std::vector<PlacedExpr>> values;  // elements of inputs
  std::optional<PlacedExpr> new_tokens, past;
  std::vector<std::pair<PlacedExpr, PlacedExpr>> fixed;  // what must be equal
  Share probability;
  std::string policy;   // where the probability comes from; "": it was given
  std::string weights;  // the name of an earlier stage; "": its own
  std::string copy_of;  // the same, of a file with a copy of the weights, which is loaded, too
};

struct PipelineParameter {
  std::string name;
  std::optional<int64_t> value;  // nullopt: open, or a formula
  std::string formula;           // of one that follows from others
  Expr expr;  // the symbol; of a formula its value; the number if a probability depends on it
  bool assumed = false;                // a number of ours, for a folder that was recognised
  int64_t shown_at = 1;                // the number that an open one has in tables
  std::optional<int64_t> least, most;  // bounds that the file sets
  std::string about;                   // what the file says of them
};

struct Pipeline {
  std::string file, title;
  std::string per;     // a name, or ""
  Expr per_count = 1;  // how many there are
  bool in_turn = false;
  std::vector<PipelineParameter> parameters;
  std::vector<PipelineStage> stages;

  const PipelineParameter* Find(absl::string_view name) const;
  // The parameters that are numbers.
  Bindings Values() const;
};

// `file` names the text in errors, and is where models are found. `given` are other numbers for
// parameters; names that are no parameter are left alone. Errors: InvalidArgument,
// "pipeline.toml:4:3: unknown key 'step'; did you mean steps?"; OutOfRange for a limit.
absl::StatusOr<Pipeline> LoadPipeline(absl::string_view text, absl::string_view file,
                                      const Bindings& given = {});

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_PIPELINE_PIPELINE_FILE_H_
