// Copies a model file and adds notes to its nodes (NodeProto.metadata_props). All other bytes stay
// the same: weights are copied in pieces, and external data is still referred to by name.
//
//   AnnotatedCopy copy = AnnotatedCopy::Plan(fd, *model, notes).value();
//   copy.Write([&](absl::string_view piece) { return Append(piece); });
//
// Notes from an earlier copy are replaced.
#ifndef ONNXFLOPS_SRC_ANNOTATE_ANNOTATED_COPY_H_
#define ONNXFLOPS_SRC_ANNOTATE_ANNOTATED_COPY_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/annotate/node_notes.h"
#include "src/graph/model.h"

namespace onnxflops::annotate {

class AnnotatedCopy {
 public:
  // `fd` is the regular file that `model` was loaded from; it and `notes` must outlive the copy.
  // Errors, which do not name the file: InvalidArgument if it is not that file any more; OutOfRange
  // if the copy would be larger than Protobuf reads, or the notes than kMaxRowTextPerName allows.
  static absl::StatusOr<AnnotatedCopy> Plan(int fd, const ModelData& model, const NodeNotes& notes);

  // Hands all bytes of the copy to `write`, in order, and stops at its first error.
  absl::Status Write(absl::FunctionRef<absl::Status(absl::string_view)> write) const;

 private:
  friend class CopyPlanner;
  // At byte `at` of the file, `removed` bytes are replaced: by a length, or by the notes of a node.
  struct Edit {
    uint64_t at = 0;
    uint64_t length = 0;
    uint32_t removed = 0;
    OptionalNodeId node;  // of the notes; kNone for a length, or where bytes are only removed
    bool has_length = false;
  };

  int fd_ = -1;
  uint64_t size_ = 0;  // of the file
  const NodeNotes* notes_ = nullptr;
  std::vector<Edit> edits_;  // in the order of the file
};

// True if a node of the model has notes of ours.
bool IsAnnotated(const ModelData& model);

}  // namespace onnxflops::annotate

#endif  // ONNXFLOPS_SRC_ANNOTATE_ANNOTATED_COPY_H_
