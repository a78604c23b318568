// What is written beside each node of a model: what it costs in one run, and its module.
//
//   absl::StatusOr<NodeNotes> notes = MakeNodeNotes(inference, counts);
//   notes->Of(node)   // {{"onnxflops.macs", "2048000"}, {"onnxflops.flops", "4097000"}, ...}
//
// A call of a function has all that it runs, and the nodes of the function have what all of its
// calls run in them. An If or Loop has what it does itself: its bodies' nodes have the rest.
#ifndef ONNXFLOPS_SRC_ANNOTATE_NODE_NOTES_H_
#define ONNXFLOPS_SRC_ANNOTATE_NODE_NOTES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/count/count.h"
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
  std::vector<std::string> modules_;     // paths; "" for what is in no module
};

// OutOfRange if the formulas take too much work.
absl::StatusOr<NodeNotes> MakeNodeNotes(const Inference& inference, const Counts& counts);

}  // namespace onnxflops::annotate

#endif  // ONNXFLOPS_SRC_ANNOTATE_NODE_NOTES_H_
