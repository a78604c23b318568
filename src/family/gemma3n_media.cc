// Gemma 3n with images and sound.
//
// How it works. A sample has `images` images of one size and `clips` pieces of sound, which may
// both be 0, and a text. The tokens of images come first, then those of sound, then the text. An
// image has always the same number of tokens, and so has a clip: what a short one lacks is filled
// up with the embedding of one token.
//
// The class embeds all ids three times, as text and with the tables of images and of sound, which
// have tokens of their own in the vocabulary, and then chooses. So each token of a text, and each
// place that an image or a clip will take, runs through the projections of both as well.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/gemma3n.h"
#include "src/family/gemma3n_audio.h"
#include "src/family/mobilenetv5.h"
#include "src/family/vision_language.h"

namespace onnxflops::family {
namespace {

// The tokens of images or sound in the vocabulary, and those that a tower makes.
struct MediaTokens {
  const char* name;  // of the module
  int64_t width = 0, vocab = 0, offset = 0;
  int64_t each = 0;  // of an image or a clip
};

struct Gemma3nShape {
  MobileNetV5 vision;
  Gemma3nAudio audio;
  MediaTokens seen = {"embed_vision"}, heard = {"embed_audio"};
  GemmaShape text;
  // Those whose tokens have a place.
  int64_t MostFrames() const {
    const int64_t of_token = audio.FramesOfToken();
    return of_token > kMaxPromptTokens / heard.each ? kMaxPromptTokens : of_token * heard.each;
  }
};

constexpr int64_t kTextVocab = 262144, kImageVocab = 128;

void ReadMediaVocab(const Config& config, int64_t offset, MediaTokens* s) {
  s->vocab = config.Size("vocab_size", kImageVocab);
  s->offset = config.Integer("vocab_offset", offset, 0);
}

Gemma3nShape ReadGemma3nAll(const Config& config) {
  Gemma3nShape s;
  const Config vision = PartOf(config, "vision_config", "gemma3n_vision");
  s.vision = ReadMobileNetV5(vision);
  s.seen.width = vision.Size("hidden_size", MobileNetV5::kFeatures);
  ReadMediaVocab(vision, kTextVocab, &s.seen);
  if (s.seen.width != MobileNetV5::kFeatures) {
    vision.Fault("hidden_size", absl::StrCat("is ", s.seen.width, ", and tokens of the tower have ",
                                             MobileNetV5::kFeatures, " features"));
  }
  constexpr char kEach[] = "vision_soft_tokens_per_image";
  s.seen.each = config.Size(kEach, 256);
  if (s.seen.each != s.vision.Tokens()) {
    config.Fault(kEach, absl::StrCat("is ", s.seen.each, ", and the tower makes ",
                                     s.vision.Tokens(), " of an image"));
  }
  const Config audio = PartOf(config, "audio_config", "gemma3n_audio");
  s.audio = ReadGemma3nAudio(audio);
  s.heard.width = s.audio.hidden;
  ReadMediaVocab(audio, kTextVocab + kImageVocab, &s.heard);
  s.heard.each = config.Size("audio_soft_tokens_per_image", 188);
  s.text = ReadGemma3n(PartOf(config, "text_config", "gemma3n_text"));
  s.text.tied = config.Flag("tie_word_embeddings", true);
  s.text.cached = config.notes().decoding;
  return s;
}

class Gemma3nBuilder {
 public:
  Gemma3nBuilder(GraphBuilder* b, const Gemma3nShape& shape) : b_(b), s_(shape) {}

  // Tokens [n, each, hidden] of pixels [n, 3, height, width].
  Tensor TokensOfImages(const Tensor& pixels) {
    Tensor x;
    {
      const Scope tower(b_, "vision_tower", "TimmWrapperModel");
      const Scope timm(b_, "timm_model", ClassOf(s_.vision));
      x = BuildMobileNetV5(b_, pixels, s_.vision);
    }
    x = Transpose(b_, Reshape(b_, x, {0, s_.seen.width, s_.seen.each}), {0, 2, 1});
    return Soft(Mul(b_, x, Factor(b_, 1)), s_.seen);
  }

  // Images and sound of all samples: hidden states of the language model.
  Tensor Prompt(const Tensor& ids, Tensor* table) {
    const Tensor images = AllImages(), clips = AllClips();
    const Tensor media = Add(b_, SizeOf(b_, images, 1), SizeOf(b_, clips, 1));
    // No matter which: each place that is no text gets an id.
    const Tensor places =
        b_->Op("Expand", {b_->Ints({0}), Concat(b_, {SizeOf(b_, ids, 0), media}, 0)});
    const Tensor all = Concat(b_, {places, ids}, 1);
    const Tensor sizes = Concat(b_, {media, SizeOf(b_, ids, 1)}, 0);
    const Tensor embedded = Embedded(all, table);
    const Tensor text = b_->Ops("Split", {embedded, sizes}, {"", ""}, {{"axis", int64_t{1}}})[1];
    const Tensor x = Concat(b_, {images, clips, text}, 1);
    return Layers(x, all, RepeatForBatch(b_, Positions(b_, x, 1), x, {1}));
  }

  // A step of decoding.
  Tensor Step(const Tensor& ids, Tensor* table) {
    const Tensor places = b_->Input("position_ids", DType::kInt64, {"batch", "seq"});
    return Layers(Embedded(ids, table), ids, places);
  }

 private:
  Tensor Norm(const Tensor& x, const char* name, int64_t width) {
    return RmsNorm(b_, x, name, width, "Gemma3nRMSNorm");
  }

  Tensor Projected(const Tensor& x, const MediaTokens& of) {
    const Tensor y = Linear(b_, x, "embedding_projection", of.width, s_.text.hidden, false);
    return PlainRmsNorm(b_, y, "embedding_post_projection_norm", "Gemma3nRMSNorm");
  }
  // Of what a tower makes.
  Tensor Soft(const Tensor& x, const MediaTokens& of) {
    const Scope embedder(b_, of.name, "Gemma3nMultimodalEmbedder");
    return Projected(Norm(x, "soft_embedding_norm", of.width), of);
  }
  // Of ids of the vocabulary.
  Tensor Hard(const Tensor& ids, const MediaTokens& of) {
    const Scope embedder(b_, of.name, "Gemma3nMultimodalEmbedder");
    const Tensor rows = b_->Op("Sub", {ids, b_->Ints({of.offset})});
    const Tensor x = Embedding(b_, rows, "embedding", of.vocab, of.width);
    return Projected(Norm(x, "hard_embedding_norm", of.width), of);
  }

  // [batch, images * each, hidden]
  Tensor AllImages() {
    b_->AssumeDim("images", 1);
    OpenSides(b_, s_.vision);
    const Tensor pixels =
        b_->Input("pixel_values", b_->dtype(), {"batch", "images", 3, "height", "width"});
    const std::vector<Tensor> sizes = {Mul(b_, SizeOf(b_, pixels, 0), SizeOf(b_, pixels, 1)),
                                       b_->Op("Shape", {pixels}, {{"start", int64_t{2}}})};
    const Tensor x = TokensOfImages(ReshapeBy(b_, pixels, sizes));
    return BySample(x, pixels, s_.seen);
  }
  Tensor BySample(const Tensor& x, const Tensor& input, const MediaTokens& of) {
    const Tensor count = Mul(b_, SizeOf(b_, input, 1), b_->Ints({of.each}));
    return ReshapeBy(b_, x, {SizeOf(b_, input, 0), count, b_->Ints({s_.text.hidden})});
  }

  // [batch, clips * each, hidden]
  Tensor AllClips() {
    constexpr int64_t kFramesOf30Seconds = 2997;
    b_->AssumeDim("clips", 0);
    b_->AssumeDim("frames", std::min(kFramesOf30Seconds, s_.MostFrames()));
    b_->LimitDim("frames", s_.MostFrames());
    const Tensor frames =
        b_->Input("input_features", b_->dtype(), {"batch", "clips", "frames", s_.audio.mels});
    const Tensor mask =
        b_->Input("input_features_mask", DType::kBool, {"batch", "clips", "frames"});
    const Tensor clips = Mul(b_, SizeOf(b_, frames, 0), SizeOf(b_, frames, 1));
    const Tensor length = SizeOf(b_, frames, 2), any = b_->Op("Min", {clips, b_->Ints({1})});
    Gemma3nHeard heard;
    {
      const Scope tower(b_, "audio_tower", "Gemma3nAudioEncoder");
      heard =
          BuildGemma3nAudio(b_, ReshapeBy(b_, frames, {clips, length, b_->Ints({s_.audio.mels})}),
                            ReshapeBy(b_, mask, {clips, length}), any, s_.audio);
    }
    Tensor x = Soft(heard.tokens, s_.heard);
    // The embedding of what is silent or not there, [any, hidden], for each clip.
    const Tensor filler = Hard(b_->Op("Expand", {b_->Ints({s_.heard.offset}), any}), s_.heard);
    const auto fill = [&](const Tensor& count) {
      const Tensor shape = Concat(b_, {clips, count}, 0);
      return b_->Op("Gather", {filler, b_->Op("Expand", {b_->Ints({0}), shape})});
    };
    const Tensor silent = b_->Op("Unsqueeze", {heard.silence, b_->Ints({-1})});
    x = b_->Op("Where", {silent, fill(b_->Ints({1})), x});
    const Tensor missing = b_->Op("Sub", {b_->Ints({s_.heard.each}), SizeOf(b_, x, 1)});
    return BySample(Concat(b_, {x, fill(missing)}, 1), frames, s_.heard);
  }

  // Ids of a text, or of images and sound, each with its own table.
  Tensor Embedded(const Tensor& ids, Tensor* table) {
    Tensor x;
    {
      const Scope language(b_, "language_model", "Gemma3nTextModel");
      x = GemmaEmbedding(b_, ids, s_.text, table);
    }
    const Tensor first = b_->Ints({s_.seen.offset}), second = b_->Ints({s_.heard.offset});
    const Tensor seen =
        b_->Op("And", {b_->Op("GreaterOrEqual", {ids, first}), b_->Op("Less", {ids, second})});
    x = Chosen(x, ids, seen, s_.seen);
    return Chosen(x, ids, b_->Op("GreaterOrEqual", {ids, second}), s_.heard);
  }
  Tensor Chosen(const Tensor& x, const Tensor& ids, const Tensor& which, const MediaTokens& of) {
    const Tensor otherwise = b_->Ints({of.offset + of.vocab - 1});
    const Tensor embedded = Hard(b_->Op("Where", {which, ids, otherwise}), of);
    return b_->Op("Where", {b_->Op("Unsqueeze", {which, b_->Ints({-1})}), embedded, x});
  }

  Tensor Layers(const Tensor& x, const Tensor& ids, const Tensor& places) {
    const Scope language(b_, "language_model", "Gemma3nTextModel");
    return GemmaLayers(b_, x, ids, places, s_.text);
  }

  GraphBuilder* b_;
  const Gemma3nShape& s_;
};

}  // namespace

absl::StatusOr<std::string> BuildGemma3n(const Config& config) {
  const Gemma3nShape s = ReadGemma3nAll(config);
  const std::string whole = "Gemma3nForConditionalGeneration";
  const std::string root = config.RequireArchitecture({whole, "Gemma3nModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const bool step = config.notes().decoding, tower = config.notes().tower;
  Tensor x, table, ids;
  if (!tower) ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  {
    std::optional<Scope> body;
    if (root == whole) body.emplace(&b, "model", "Gemma3nModel");
    Gemma3nBuilder builder(&b, s);
    if (tower) {
      const int64_t side = s.vision.Usual();  // that of the processor
      x = builder.TokensOfImages(b.Input("pixel_values", dtype, {"batch", 3, side, side}));
    } else {
      x = step ? builder.Step(ids, &table) : builder.Prompt(ids, &table);
    }
  }
  if (tower) {
    b.Output("image_features", x, dtype, {"batch", s.seen.each, s.text.hidden});
    return std::move(b).Finish();
  }
  const Dim tokens =
      step ? "seq" : absl::StrCat("seq + images * ", s.seen.each, " + clips * ", s.heard.each);
  if (root == whole) {
    b.Output("logits", Logits(&b, x, table, LanguageModelOf(s.text)), dtype,
             {"batch", tokens, s.text.vocab});
  } else {
    b.Output("last_hidden_state", x, dtype, {"batch", tokens, s.text.hidden});
  }
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildGemma3nVision(const Config& config) {
  const MobileNetV5 s = ReadMobileNetV5(config);
  const std::string root = config.RequireArchitecture({"TimmWrapperModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  OpenSides(&b, s);
  const Tensor pixels = b.Input("pixel_values", dtype, {"batch", 3, "height", "width"});
  Tensor x;
  {
    const Scope timm(&b, "timm_model", ClassOf(s));
    x = BuildMobileNetV5(&b, pixels, s);
  }
  b.Output("last_hidden_state", x, dtype, {"batch", MobileNetV5::kFeatures, s.side, s.side});
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildGemma3nAudioEncoder(const Config& config) {
  const Gemma3nAudio s = ReadGemma3nAudio(config);
  const std::string root = config.RequireArchitecture({"Gemma3nAudioEncoder"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor frames = b.Input("audio_mel", dtype, {"batch", "frames", s.mels});
  const Tensor padding = b.Input("audio_mel_mask", DType::kBool, {"batch", "frames"});
  const Tensor heard = b.Op("Not", {padding});
  const Tensor x = BuildGemma3nAudio(&b, frames, heard, b.Ints({1}), s).tokens;
  b.Output("last_hidden_state", x, dtype,
           {"batch", absl::StrCat("(frames - 1) // ", s.FramesOfToken(), " + 1"), s.hidden});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
