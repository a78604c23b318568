// Facts about saved tensors that a file does not show: exporters fold and merge PyTorch's
// computations, and write several of its calls as the same operator. Each reason is part of a
// warning, after the name of the node: "node '/ReduceMax' (ReduceMax): PyTorch's max(dim) keeps
// places, ...".
#ifndef ONNXFLOPS_SRC_MEMORY_UNSURE_H_
#define ONNXFLOPS_SRC_MEMORY_UNSURE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "src/exporter/signature.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/memory/storage.h"

namespace onnxflops::memory {

inline constexpr char kMaxOrAmax[] =
    "PyTorch's max(dim) keeps places, its amax values; the file has one operator for both";
inline constexpr char kMayBePool[] =
    "the file has amax, which PyTorch's adaptive_max_pool2d(1) becomes; a pool keeps places";
inline constexpr char kBufferOrMade[] =
    "its constant is a buffer, which is there anyway, or made by the module, which is kept";
inline constexpr char kLookedUp[] =
    "the exporter looked up rows of an embedding; PyTorch keeps the places, unless a buffer holds "
    "them";
inline constexpr char kMaskOrCast[] =
    "the module casts its mask or integers, which are kept as numbers, or PyTorch does, which "
    "keeps them as they are";
inline constexpr char kMaskOfFlash[] =
    "its constant mask is a caller's, which flash attention keeps, or its own";
inline constexpr char kMaskOfExport[] =
    "its constant mask, spread over the batch, may be made for the export alone, as by "
    "transformers, which otherwise has the operator mask";
inline constexpr char kDropoutOff[] =
    "the file has the Dropout switched off; while training it keeps what it multiplies with";
inline constexpr char kOrderOfNorm[] =
    "rms_norm, which torch.export wrote as several calls, gives flash attention queries in order";
inline constexpr char kComputedWeight[] =
    "the exporter computed the weight, as of a weight norm, for which PyTorch keeps more";
inline constexpr char kRecurrent[] =
    "of a recurrent layer PyTorch keeps other amounts with cuDNN than on a CPU";
inline constexpr char kContraction[] =
    "PyTorch contracts more than two operands one after the other, and keeps what is between";
inline constexpr char kLeftOut[] =
    "the exporter left out a product before it, of which PyTorch may keep factors";
inline constexpr char kPlaces[] =
    "the exporter computed places that it takes elements by, which PyTorch keeps";
inline constexpr char kFoldedProduct[] =
    "the exporter computed a product, for which PyTorch keeps factors";
inline constexpr char kSliceOrPlaces[] =
    "the module assigns to a slice, or to places that it has as a tensor, which PyTorch keeps";
inline constexpr char kSpreadCosine[] =
    "PyTorch's cosine_similarity spreads both sides over each other before it divides them";
inline constexpr char kPadded[] = "PyTorch keeps what is padded before the convolution";
inline constexpr char kMerged[] =
    "the exporter merged equal calls, of which PyTorch keeps each one's result";
inline constexpr char kBagAsLoop[] =
    "the loop looks up rows, as an EmbeddingBag does, which keeps places of its own";
inline constexpr char kOwnKernel[] = "PyTorch's own kernel keeps what no operator of the file has";

// True if PyTorch saves at least the counted bytes; for other reasons the count is a guess.
bool IsLowerBound(const char* why);
// Why PyTorch may keep more for the node than the file says, as the exporter computed one of its
// inputs; nullptr: it did not.
const char* WhyFoldedKeepsMore(const Inference& inference, const Storages& storages,
                               const exporter::Signature& signature, const Node& node,
                               const Call& call);
// True if a convolution's weight is a view of a computed tensor and not a parameter of the file,
// such as a standardized weight. Views of parameters are matrices.
bool IsComputedKernel(const exporter::Signature& signature, const Node& node, const Tensor& tensor);
// Places that rows of a folded constant were looked up by: one for each row, of biases of heads for
// each pair.
int64_t PlacesOfLookup(const Tensor& tensor);
// Nodes of a TorchScript file that read a result of another module's equal call, because the
// exporter merged it with theirs.
std::vector<NodeId> ReadersOfOtherModules(const ModelData& model, const Graph& graph);
// Tells which inputs of a node an equal call made, in a file that states calls: the node's text
// names another one.
class MergedCalls {
 public:
  MergedCalls(const ModelData& model, const Node& node);
  bool Made(ValueId value) const;
  // The name of the equal call's result; empty if several may be meant. REQUIRES: Made(value).
  absl::string_view NameOf(ValueId value) const;

 private:
  const ModelData& model_;
  bool states_call_ = false;
  absl::flat_hash_set<absl::string_view> named_;  // arguments of the call
  // Arguments that nodes do not read: their names, and the calls that make them.
  absl::flat_hash_map<absl::string_view, absl::string_view> unread_;
};
// The graph, the body of a loop, looks up rows of a parameter or constant from outside.
bool LooksUpRows(const Inference& inference, const Instance& body);

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_UNSURE_H_
