// The arguments of `check --review`.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_REVIEW_ARGUMENTS_H_
#define ONNXFLOPS_TOOLS_COMMANDS_REVIEW_ARGUMENTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/check/review.h"
#include "src/diff/diff_writers.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

// Renamed and removed models of a change.
struct ModelMoves {
  std::map<std::string, std::string> renamed;  // paths, to those at the revision
  std::vector<std::string> removed;            // paths at the revision
};

struct ReviewArguments {
  std::string file, threshold;
  std::vector<std::string> renamed, removed;
  bool no_budgets = false;

  void AddTo(OptionList* list);
  absl::StatusOr<DiffViewOptions> View() const;
  // `models`: the paths of all that are reviewed.
  absl::StatusOr<ModelMoves> Moves(const std::vector<std::string>& models,
                                   const std::string& revision) const;
};

// Models of `moves` that are removed and that one of `models`, which the revision does not have, is
// by its structure: under another name, and changed. Of many removed models, the first are tried.
void FindRenamed(const std::vector<std::string>& models, const std::string& revision,
                 const CountOptions& options, ModelMoves* moves);

// Adds rows for removed models: their costs, if they can be read at the revision; for very many,
// only their names.
void AddGoneModels(const ModelMoves& moves, const std::string& revision,
                   const CountOptions& options, Review* review);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_REVIEW_ARGUMENTS_H_
