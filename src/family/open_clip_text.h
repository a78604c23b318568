// Text towers of transformers, as open_clip's configurations name them ("hf_model_name").
#ifndef ONNXFLOPS_SRC_FAMILY_OPEN_CLIP_TEXT_H_
#define ONNXFLOPS_SRC_FAMILY_OPEN_CLIP_TEXT_H_

#include <cstdint>
#include <string>

#include "src/family/bert.h"
#include "src/family/config.h"
#include "src/family/graph_builder.h"
#include "src/family/t5.h"

namespace onnxflops::family {

struct HfTextModel {
  const char *name, *type;  // of the hub, and its class
  BertShape bert;           // of no layers: it is a T5
  T5Shape t5;
};
struct HfText {
  const HfTextModel* model = nullptr;
  std::string projection;  // linear, mlp
  int64_t Width() const;
};
// `config`: text_cfg. Another model is a fault that names it.
HfText ReadHfText(const Config& config, int64_t context);

struct HfTextOutput {
  Tensor pooled;  // [batch, embed]: the mean of the tokens, projected
  Tensor tokens;  // [batch, context, width]
};
// In the module "text".
HfTextOutput BuildHfText(GraphBuilder* b, const Tensor& ids, const HfText& shape, int64_t embed);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_OPEN_CLIP_TEXT_H_
