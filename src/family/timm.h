// Image towers of timm, as open_clip's configurations name them ("timm_model_name").
#ifndef ONNXFLOPS_SRC_FAMILY_TIMM_H_
#define ONNXFLOPS_SRC_FAMILY_TIMM_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "src/family/config.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

// Projections of queries, keys and values: together; together, without a bias of keys (EVA);
// separately, again without a bias of keys (EVA-02).
enum class TimmQkv { kFused, kFusedNoKeyBias, kSplit };

// Settings that the transformers of one model line share.
struct TimmStyle {
  const char *model, *block, *attention;  // classes
  const char* pool;                       // default: token, avg, map
  TimmQkv qkv = TimmQkv::kFused;
  bool class_token = true, qkv_bias = true;
  bool pre_norm = false;     // a norm before the layers, and patches without a bias
  bool post_norm = false;    // norms after attention and MLP, not before
  bool layer_scale = false;  // a factor for each feature after attention and MLP
  bool gated = false;        // an MLP of three matrices
  bool inner_norms = false;  // of attention's heads and of the MLP's features
  bool rotary = false;       // patches are turned by row and column
  bool norm_pools = false;   // the last norm stays before a pool by average
  int64_t pool_heads = 0;    // of the pool by attention; 0: as the layers, and so is its MLP
};
struct TimmVit {
  const char* name;
  int64_t image, patch, width, layers, heads, inner;
  const TimmStyle* style;
  const char* activation = "gelu";
};
// EVA's lines: the first, EVA-02, and that with norms after attention and MLP.
extern const TimmStyle kEva, kEva02, kEvaPostNorm;
// The row of this name; nullptr without one.
const TimmVit* FindTimmVit(absl::string_view name);
// [batch, width]. `pool`: token, avg or map.
Tensor BuildTimmVit(GraphBuilder* b, const Tensor& pixels, const TimmVit& shape, int64_t image,
                    absl::string_view pool);

struct TimmConvnext {
  const char* name;
  int64_t depths[4];
  int64_t width;  // of the first stage; each has twice the one before
};
const TimmConvnext* FindTimmConvnext(absl::string_view name);
// [batch, 8 width], averaged over the image.
Tensor BuildTimmConvnext(GraphBuilder* b, const Tensor& pixels, const TimmConvnext& shape);

// A tower and the layers that open_clip adds after it.
struct TimmShape {
  const TimmVit* vit = nullptr;
  const TimmConvnext* convnext = nullptr;
  int64_t image = 0;
  std::string pool;
  std::string projection;  // "": the tower's own; none, linear, mlp
  bool projection_bias = false;
  // Features before the projection.
  int64_t Width() const;
};
// `config`: vision_cfg. Another tower is a fault that names it.
TimmShape ReadTimm(const Config& config);
// [batch, embed], in the modules "trunk" and "head".
Tensor BuildTimm(GraphBuilder* b, const Tensor& pixels, const TimmShape& shape, int64_t embed);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_TIMM_H_
