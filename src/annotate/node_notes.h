// Makes the notes for each node of a model: its costs in one run, and its module.
//
//   absl::StatusOr<NodeNotes> notes = MakeNodeNotes(inference, counts);
//   notes->Of(node)   // {{"onnxflops.macs", "2048000"}, {"onnxflops.flops", "4097000"}, ...}
//
// The note of a function call covers all that the call runs. A node in the function's body has the
// sum over all calls. The note of an If or Loop has only its own work; the nodes of its bodies have
// the rest.
#ifndef ONNXFLOPS_SRC_ANNOTATE_NODE_NOTES_H_
#define ONNXFLOPS_SRC_ANNOTATE_NODE_NOTES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"

namespace onnxflops::annotate {

// All keys begin like this.
inline constexpr char kKeyPrefix[] = "onnxflops.";

using Note = std::pair<absl::string_view, absl::string_view>;  // key and value

class NodeNotes {
 public:
  // Empty for a node that does not run, and for one in a body that limits left closed.
  std::vector<Note> Of(NodeId node) const;

 private:
  friend class NodeNoteMaker;
  // Formulas where sizes are open; "unknown"; "at least 12" where a part is unknown.
  struct Figures {
    std::string macs, flops, bytes, reason;
  };
  static constexpr int32_t kNoNote = -1;

  std::vector<int32_t> figures_of_node_;  // by NodeId: index in figures_, or kNoNote
  std::vector<Figures> figures_;
  std::vector<int32_t> module_of_node_;  // by NodeId: index in modules_
  std::vector<std::string> modules_;     // paths; "" for nodes outside any module
};

// OutOfRange if the formulas take too much work.
absl::StatusOr<NodeNotes> MakeNodeNotes(const Inference& inference, const Counts& counts);

}  // namespace onnxflops::annotate

#endif  // ONNXFLOPS_SRC_ANNOTATE_NODE_NOTES_H_
