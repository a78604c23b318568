// What one node does with the samples of a batch: where they are in its outputs, from where they
// are in its inputs.
#ifndef ONNXFLOPS_SRC_ADAPTER_BATCH_STEP_H_
#define ONNXFLOPS_SRC_ADAPTER_BATCH_STEP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/adapter/batch_flow.h"
#include "src/graph/fact.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"

namespace onnxflops::adapter {

using Places = std::vector<std::optional<BatchPlace>>;

class BatchStep {
 public:
  // `reading` is the number of the reading that is taken if several are possible.
  // `expanded`: inputs that are to be expanded to the batch before they get here.
  BatchStep(const Inference& exported, const BatchSizes& batch, NodeId id, const Places& places,
            const ExpandedInputs& expanded, size_t reading)
      : exported_(exported),
        model_(*exported.model),
        node_(model_.node(id)),
        id_(id),
        batch_(batch),
        places_(places),
        expanded_(expanded),
        reading_(reading),
        outputs(node_.outputs.size()) {}

  absl::Status Run();
  // The node makes a value that is the same for all samples, from constant sizes. They follow the
  // batch, so that the output has the samples there. False if it is no such node.
  bool MakeOutput(const BatchPlace& place);
  // The node works by element on constants: the input that is to be expanded for its output to be,
  // and the place there. Of several, the one that holds the number of the only sample, 0.
  std::optional<std::pair<size_t, BatchPlace>> InputOf(const BatchPlace& place) const;

 private:
  const Inference& exported_;
  const ModelData& model_;
  const Node& node_;
  const NodeId id_;
  const BatchSizes& batch_;
  const Places& places_;
  const ExpandedInputs& expanded_;
  const size_t reading_;

 public:
  Places outputs;
  std::vector<std::pair<size_t, Dims>> sizes;  // inputs that hold the batch, and their new content
  std::vector<std::pair<size_t, BatchPlace>> wanted;  // inputs that need a value for each sample
  size_t readings = 1;
  bool plain = true;  // the reading needs no proof that the others fail

 private:
  static bool IsByElement(const Node& node);

  using Rule = absl::Status (BatchStep::*)();
  struct Group;
  static const Group kGroups[];
  static Rule RuleOf(absl::string_view op);  // nullptr if it has none

  absl::Status Refuse(absl::string_view what) const;
  // The shape in the export; nullptr if not known.
  const Shape* ShapeOf(OptionalValueId value) const;
  const Shape* In(size_t i) const { return ShapeOf(node_.input(i)); }
  const Shape* Out(size_t i) const { return ShapeOf(node_.output(i)); }
  std::optional<BatchPlace> Place(size_t i) const;
  bool Given(size_t i) const { return node_.input(i).has_value(); }
  int64_t Int(absl::string_view name, int64_t otherwise) const;
  // The numbers of an input, constant or not; nullopt if not known.
  std::optional<Dims> Known(size_t input) const;
  // An integer constant that is 0, the number of the only sample of a batch of 1.
  bool IsNumberOfSample(size_t input) const;
  // It comes from an Expand that changes nothing: at batch 1 only one to the batch is like that.
  bool IsExpandedForBatch(size_t input) const;
  // Constants of an attribute or an input; nullopt if absent or computed.
  std::optional<Dims> Ints(absl::string_view attribute, size_t input) const;
  // Axes of an attribute or an input, made positive.
  std::optional<std::vector<int>> Axes(size_t input, int rank) const;
  int Axis(int64_t otherwise, int rank) const;
  Expr OldSize(const BatchPlace& place) const { return place.outer * batch_.old * place.inner; }
  Expr NewSize(const BatchPlace& place) const { return place.outer * batch_.now * place.inner; }
  void SetAll(const std::optional<BatchPlace>& place);
  // An error unless all inputs but these are the same for every batch.
  absl::Status OnlyInputs(absl::Span<const size_t> may) const;
  // Takes what is broadcast over the last axes, of `rank` in all, into one place.
  absl::Status Join(size_t input, int rank, std::optional<BatchPlace>* joined);

  absl::Status ByElement();
  absl::Status SameShape();
  absl::Status AlongAxis();
  absl::Status FirstAxis();
  absl::Status AllFirst();
  absl::Status Normalise();
  absl::Status Reshape();
  absl::Status Flatten();
  absl::Status Squeeze();
  absl::Status Unsqueeze();
  absl::Status Transpose();
  absl::Status Expand();
  absl::Status Tile();
  absl::Status Concat();
  absl::Status Split();
  absl::Status Slice();
  absl::Status Pad();
  absl::Status Resize();
  absl::Status Gather();
  absl::Status SelectSamples();
  absl::Status GatherElements();
  absl::Status GatherND();
  absl::Status Reduce();
  absl::Status Rows();
  absl::Status MatMul();
  absl::Status Pairs(const BatchPlace& a, const BatchPlace& b);
  absl::Status Gemm();
  absl::Status Einsum();
  absl::Status Recurrent();
  absl::Status OneHot();
  absl::Status ShapeOnly();

  std::vector<BatchPlace> Readings(const BatchPlace& in, const Shape& from, const Shape& to) const;
  void Retarget(const BatchPlace& in, const BatchPlace& out);
};

}  // namespace onnxflops::adapter

#endif  // ONNXFLOPS_SRC_ADAPTER_BATCH_STEP_H_
