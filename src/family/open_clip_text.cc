#include "src/family/open_clip_text.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "src/base/quote.h"
#include "src/family/blocks.h"

namespace onnxflops::family {
namespace {

// The configurations that the hub has under these names.
absl::Span<const HfTextModel> HfTextModels() {
  static const auto& models = *new std::vector<HfTextModel>{
      {"roberta-base", "RobertaModel", {"Roberta", 50265, 514, 1, {768, 3072, 12, 12, "gelu"}}, {}},
      {"xlm-roberta-base",
       "XLMRobertaModel",
       {"XLMRoberta", 250002, 514, 1, {768, 3072, 12, 12, "gelu"}},
       {}},
      {"xlm-roberta-large",
       "XLMRobertaModel",
       {"XLMRoberta", 250002, 514, 1, {1024, 4096, 24, 16, "gelu"}},
       {}},
      {"google/mt5-base",
       "MT5Stack",
       {},
       {"MT5", 250112, 768, 2048, 12, 64, 32, 12, true, "gelu_new"}},
      {"google/mt5-xl",
       "MT5Stack",
       {},
       {"MT5", 250112, 2048, 5120, 32, 64, 32, 24, true, "gelu_new"}},
  };
  return models;
}

// The mean over tokens that are not padding.
Tensor MeanOfTokens(GraphBuilder* b, const Tensor& x, const Tensor& ids) {
  const Scope pooler(b, "pooler", "MeanPooler");
  const Tensor padded = b->Op("Equal", {ids, b->Scalar(1)});
  const Tensor mask =
      b->Op("Cast", {b->Op("Not", {padded})}, {{"to", static_cast<int64_t>(b->dtype())}});
  const Tensor column = b->Op("Unsqueeze", {mask, b->Ints({-1})});
  const auto sum = [&](const Tensor& of) {
    return b->Op("ReduceSum", {of, b->Ints({1})}, {{"keepdims", int64_t{0}}});
  };
  return b->Op("Div", {sum(Mul(b, x, column)), sum(column)});
}

}  // namespace

int64_t HfText::Width() const {
  return model->bert.encoder.layers > 0 ? model->bert.encoder.hidden : model->t5.width;
}

HfText ReadHfText(const Config& config, int64_t context) {
  HfText text;
  const std::string name = config.Text("hf_model_name", "");
  std::string known;
  for (const HfTextModel& model : HfTextModels()) {
    if (model.name == name) text.model = &model;
    absl::StrAppend(&known, known.empty() ? "" : ", ", model.name);
  }
  if (text.model == nullptr) {
    config.Fault("hf_model_name", absl::StrCat("is ", Quoted(name), ": known are ", known));
    return text;
  }
  const std::string pooler = config.Text("hf_pooler_type", "mean_pooler");
  if (pooler != "mean_pooler") {
    config.Fault("hf_pooler_type", absl::StrCat("is ", Quoted(pooler), ": known is mean_pooler"));
  }
  text.projection = config.Text("hf_proj_type", "mlp");
  if (text.projection != "mlp" && text.projection != "linear") {
    config.Fault("hf_proj_type",
                 absl::StrCat("is ", Quoted(text.projection), ": known are linear and mlp"));
  }
  const BertShape& bert = text.model->bert;
  if (bert.encoder.layers > 0 && context > bert.Longest()) {
    config.Fault("context_length", absl::StrCat("is ", context, ", and ", name,
                                                " has positions for ", bert.Longest()));
  }
  return text;
}

HfTextOutput BuildHfText(GraphBuilder* b, const Tensor& ids, const HfText& s, int64_t embed) {
  const Scope text(b, "text", "HFTextEncoder");
  const int64_t width = s.Width();
  HfTextOutput out;
  if (s.model->bert.encoder.layers > 0) {
    const Scope transformer(b, "transformer", s.model->type);
    out.tokens = BuildBertBody(b, ids, s.model->bert, nullptr);
  } else {
    const Scope transformer(b, "transformer", s.model->type);
    const T5Shape& t5 = s.model->t5;
    const Tensor words = Embedding(b, ids, "embed_tokens", t5.vocab, t5.width);
    out.tokens = BuildT5Layers(b, words, t5);
  }
  const Tensor mean = MeanOfTokens(b, out.tokens, ids);
  if (s.projection == "linear") {
    out.pooled = Linear(b, mean, "proj", width, embed, false);
    return out;
  }
  const Scope projection(b, "proj", "Sequential");
  const int64_t inner = (width + embed) / 2;
  const Tensor hidden = Activate(b, Linear(b, mean, "0", width, inner, false), "gelu");
  out.pooled = Linear(b, hidden, "2", inner, embed, false);
  return out;
}

}  // namespace onnxflops::family
