#include "src/family/timm.h"

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/family/blocks.h"

namespace onnxflops::family {
namespace {

// Every line of ConvNeXt halves the image five times.
constexpr int64_t kConvnextReduction = 32;

// A key that may be null, which says something else than no key.
std::string TextOrNull(const Config& config, const char* key, absl::string_view otherwise) {
  return config.HasNull(key) ? "" : config.Text(key, otherwise);
}

void ReadPool(const Config& config, TimmShape* s) {
  const std::string given = TextOrNull(config, "timm_pool", "avg");
  const absl::string_view own = s->vit != nullptr ? s->vit->style->pool : "avg";
  s->pool = given.empty() ? std::string(own) : given;
  // Replacing the pool after the tower is made does not change the tower's norms.
  const bool is_new = s->projection == "linear" || s->projection == "mlp";
  const bool fits = s->vit == nullptr ? s->pool == "avg"
                                      : s->pool == "avg" || (s->pool == "map" && own == "map") ||
                                            (s->pool == "token" && s->vit->style->class_token);
  if (!fits || (is_new && s->pool != own)) {
    config.Fault("timm_pool", absl::StrCat("is ", Quoted(s->pool), ", which is not supported for ",
                                           s->vit != nullptr ? s->vit->name : s->convnext->name));
  }
}

void ReadSize(const Config& config, TimmShape* s) {
  const int64_t own = s->vit != nullptr ? s->vit->image : kConvnextReduction;
  s->image = config.Size("image_size", 224);
  if (config.notes().image_size) {
    if (s->image < kConvnextReduction) config.Fault("image_size", "is less than 32");
  } else if (s->vit != nullptr && s->image != own) {
    config.Fault("image_size",
                 absl::StrCat("is ", s->image, ", and images of ", s->vit->name, " have ", own));
  } else if (s->image < own) {
    config.Fault("image_size", absl::StrCat("is less than ", own));
  }
}

}  // namespace

int64_t TimmShape::Width() const { return vit != nullptr ? vit->width : 8 * convnext->width; }

TimmShape ReadTimm(const Config& config) {
  TimmShape s;
  const std::string name = config.Text("timm_model_name", "");
  s.vit = FindTimmVit(name);
  s.convnext = FindTimmConvnext(name);
  if (s.vit == nullptr && s.convnext == nullptr) {
    config.Fault("timm_model_name",
                 absl::StrCat("is ", Quoted(name),
                              ": of timm's towers, convnext, eva, eva02_clip, vit_siglip and "
                              "vit_pe_core are known, as open_clip uses them"));
    return s;
  }
  s.projection = TextOrNull(config, "timm_proj", "linear");
  s.projection_bias = config.Flag("timm_proj_bias", false);
  if (!s.projection.empty() && s.projection != "none" && s.projection != "linear" &&
      s.projection != "mlp") {
    config.Fault("timm_proj", absl::StrCat("is ", Quoted(s.projection),
                                           ": known are linear, mlp, none and null"));
  }
  ReadPool(config, &s);
  ReadSize(config, &s);
  return s;
}

Tensor BuildTimm(GraphBuilder* b, const Tensor& pixels, const TimmShape& s, int64_t embed) {
  const Scope visual(b, "visual", "TimmModel");
  const int64_t width = s.Width();
  Tensor x;
  {
    const Scope trunk(b, "trunk", s.vit != nullptr ? s.vit->style->model : "ConvNeXt");
    if (s.vit != nullptr) {
      x = BuildTimmVit(b, pixels, *s.vit, s.image, s.pool);
      if (s.projection.empty()) x = Linear(b, x, "head", width, embed, true);
    } else {
      x = BuildTimmConvnext(b, pixels, *s.convnext);
      if (s.projection.empty()) x = Linear(b, x, "head.fc", width, embed, true);
    }
  }
  const Scope head(b, "head", "Sequential");
  if (s.projection == "linear") return Linear(b, x, "proj", width, embed, s.projection_bias);
  if (s.projection != "mlp") return x;
  const Scope mlp(b, "mlp", "Mlp");
  x = Activate(b, Linear(b, x, "fc1", width, 2 * embed, true), "gelu");
  return Linear(b, x, "fc2", 2 * embed, embed, s.projection_bias);
}

}  // namespace onnxflops::family
