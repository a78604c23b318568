// The texts of Gemma 3n and Gemma 4, for models that have more than text.
#ifndef ONNXFLOPS_SRC_FAMILY_GEMMA3N_H_
#define ONNXFLOPS_SRC_FAMILY_GEMMA3N_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/family/blocks.h"
#include "src/family/config.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

struct GemmaLayer {
  bool sliding = false;
  int64_t head_dim = 0, kv_heads = 0, inner = 0;
  bool keys_are_values = false;
  bool sparse = false;              // the MLP's gate is cut off
  std::optional<int64_t> borrowed;  // the layer whose keys and values it sees
  bool lends = false;
};

struct GemmaShape {
  std::string prefix;  // of the classes: "Gemma3n"
  int64_t vocab = 0, hidden = 0, heads = 0, window = 0;
  std::string activation;
  bool tied = true, bias = false;
  double softcap = 0;
  std::vector<GemmaLayer> layers;
  int64_t piece_vocab = 0, piece = 0;  // the second embedding, and its width in a layer; 0: none
  // Gemma 3n.
  int64_t streams = 0, active = 0, laurel = 0;  // 0 streams: there is one, without AltUp
  bool scales_correction = true;
  // Gemma 4.
  std::optional<ExpertShape> experts;
  bool cached = true;  // past_key_values are inputs

  int64_t Layers() const { return static_cast<int64_t>(layers.size()); }
  std::string Class(absl::string_view name) const { return absl::StrCat(prefix, name); }
};

GemmaShape ReadGemma3n(const Config& config);
GemmaShape ReadGemma4(const Config& config);
LanguageModel LanguageModelOf(const GemmaShape& shape);
// The embedding of ids, and its table.
Tensor GemmaEmbedding(GraphBuilder* b, const Tensor& ids, const GemmaShape& shape, Tensor* table);
// The layers over x, [batch, n, hidden], whose second embedding is of `ids`, [batch, n].
Tensor GemmaLayers(GraphBuilder* b, const Tensor& x, const Tensor& ids, const Tensor& positions,
                   const GemmaShape& shape);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_GEMMA3N_H_
