// ELECTRA: BERT's layers behind narrower embeddings, as a discriminator or as its generator.
#include <optional>
#include <string>

#include "src/family/bert.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

BertShape ReadElectra(const Config& config) {
  BertShape s;
  s.prefix = "Electra";
  s.vocab = config.Size("vocab_size", 30522);
  s.positions = config.Size("max_position_embeddings", 512);
  s.types = config.Size("type_vocab_size", 2);
  s.embedding = config.Size("embedding_size", 128);
  s.encoder = ReadEncoder(config, 256, 4, 12, 1024, "gelu");
  for (const char* key : {"is_decoder", "add_cross_attention"}) {
    if (config.Has(key) && config.Flag(key, false)) config.Fault(key, "is not known");
  }
  return s;
}

// Whether each token is the one of the text.
Tensor Discriminate(GraphBuilder* b, Tensor x, const BertShape& s) {
  const Scope head(b, "discriminator_predictions", "ElectraDiscriminatorPredictions");
  const int64_t h = s.encoder.hidden;
  x = Activate(b, Linear(b, x, "dense", h, h, true), s.encoder.activation);
  return b->Op("Squeeze", {Linear(b, x, "dense_prediction", h, 1, true), b->Ints({-1})});
}

Tensor Generate(GraphBuilder* b, Tensor x, const BertShape& s, const Tensor& table, bool tied) {
  {
    const Scope head(b, "generator_predictions", "ElectraGeneratorPredictions");
    x = b->Op("Gelu", {Linear(b, x, "dense", s.encoder.hidden, s.embedding, true)});
    x = LayerNorm(b, x, "LayerNorm", s.embedding);
  }
  return tied ? TiedLinear(b, x, "generator_lm_head", table, s.vocab)
              : Linear(b, x, "generator_lm_head", s.embedding, s.vocab, true);
}

Tensor Classify(GraphBuilder* b, const Tensor& x, const BertShape& s, int64_t labels) {
  const Scope head(b, "classifier", "ElectraClassificationHead");
  const int64_t h = s.encoder.hidden;
  const Tensor y = b->Op("Gelu", {Linear(b, TakeToken(b, x, 0), "dense", h, h, true)});
  return Linear(b, y, "out_proj", h, labels, true);
}

}  // namespace

absl::StatusOr<std::string> BuildElectra(const Config& config) {
  const BertShape s = ReadElectra(config);
  const std::string root =
      config.RequireArchitecture({"ElectraForPreTraining", "ElectraForMaskedLM", "ElectraModel",
                                  "ElectraForSequenceClassification"});
  const bool masked = root == "ElectraForMaskedLM",
             classifier = root == "ElectraForSequenceClassification";
  const bool tied = masked && config.Flag("tie_word_embeddings", true);
  const int64_t labels = classifier ? config.Labels() : 0;
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  b.LimitDim("seq", s.Longest());
  Tensor x, table;
  {
    std::optional<Scope> body;
    if (root != "ElectraModel") body.emplace(&b, "electra", "ElectraModel");
    x = BuildBertBody(&b, ids, s, &table);
  }
  if (masked) {
    b.Output("logits", Generate(&b, x, s, table, tied), dtype, {"batch", "seq", s.vocab});
  } else if (classifier) {
    b.Output("logits", Classify(&b, x, s, labels), dtype, {"batch", labels});
  } else if (root == "ElectraModel") {
    b.Output("last_hidden_state", x, dtype, {"batch", "seq", s.encoder.hidden});
  } else {
    b.Output("logits", Discriminate(&b, x, s), dtype, {"batch", "seq"});
  }
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
