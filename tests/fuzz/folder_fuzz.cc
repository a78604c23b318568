// Fuzz target: whatever the JSON files of an exporter's folder say, the folder is refused in one
// line that begins with its name, or the file of stages that is made of it can be read, and its
// stages are counted or refused.
//
// A byte that chooses the models in the folder, and whether they are counted, which takes long.
// Then the files, each after a line "== NAME". Only names that a folder may have are written.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "src/api/pipeline.h"
#include "src/api/recognise_pipeline.h"
#include "tests/fuzz/require.h"

namespace onnxflops {
namespace {

constexpr uint8_t kFirstCounted = 248;  // eight bytes for the eight kinds

// Models by their place in the folder, and where they are from.
using Parts = std::vector<std::pair<const char*, const char*>>;
const std::vector<Parts>& Kinds() {
  static const auto& kinds = *new std::vector<Parts>{
      {},
      {{"text_encoder/model.onnx", "sd-tiny/text_encoder/model.onnx"},
       {"unet/model.onnx", "sd-tiny/unet/model.onnx"},
       {"vae_decoder/model.onnx", "sd-tiny/vae_decoder/model.onnx"}},
      {{"transformer/model.onnx", "sd-tiny/unet/model.onnx"},
       {"transformer_2/model.onnx", "sd-tiny/unet/model.onnx"},
       {"vae_decoder/model.onnx", "sd-tiny/vae_decoder/model.onnx"}},
      {{"encoder_model.onnx", "t5-tiny/encoder_model.onnx"},
       {"decoder_model.onnx", "t5-tiny/decoder_model.onnx"},
       {"decoder_with_past_model.onnx", "t5-tiny/decoder_with_past_model.onnx"}},
      {{"model.onnx", "t5-tiny/decoder_with_past_model.onnx"},
       {"vision.onnx", "sd-tiny/vae_decoder/model.onnx"},
       {"embedding.onnx", "t5-tiny/encoder_model.onnx"}},
      {{"vision_model.onnx", "sd-tiny/vae_decoder/model.onnx"},
       {"text_model.onnx", "sd-tiny/text_encoder/model.onnx"}},
      {{"onnx/vision_encoder.onnx", "llava/onnx/vision_encoder.onnx"},
       {"onnx/embed_tokens.onnx", "llava/onnx/embed_tokens.onnx"},
       {"onnx/decoder_model_merged.onnx", "llava/onnx/decoder_model_merged.onnx"}},
      {{"embeddings.onnx", "genai-parts/embeddings.onnx"},
       {"layer_0.onnx", "genai-parts/layer_0.onnx"},
       {"layer_1.onnx", "genai-parts/layer_1.onnx"},
       {"lm_head.onnx", "genai-parts/lm_head.onnx"}}};
  return kinds;
}

// A folder of this process, with nothing in it.
std::string EmptyFolder() {
  static const std::string& path = *new std::string(
      absl::StrCat(std::filesystem::temp_directory_path().string(), "/folder_fuzz.", getpid()));
  static const bool removed_at_end = std::atexit([] { std::filesystem::remove_all(path); }) == 0;
  Require(removed_at_end, "the folder stays");
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

void Place(const std::string& folder, const Parts& parts) {
  for (const auto& [name, from] : parts) {
    const std::filesystem::path path = folder + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_symlink(
        absl::StrCat(ONNXFLOPS_SOURCE_DIR "/tests/data/pipeline/", from), path);
  }
}

void Write(const std::string& folder, absl::string_view text) {
  const std::vector<std::string> known = FilesOfFolder(folder);
  for (const absl::string_view file : absl::StrSplit(text, "== ", absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(file, absl::MaxSplits('\n', 1));
    const std::string path = absl::StrCat(folder, "/", parts.first);
    if (!absl::c_linear_search(known, path)) continue;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << parts.second;
  }
}

void Read(const std::string& folder, bool counts) {
  const absl::StatusOr<std::string> text = PipelineOfFolder(folder);
  if (!text.ok()) return RequireOneLine(text.status(), folder);
  const absl::StatusOr<Pipeline> pipeline =
      LoadPipeline(*text, absl::StrCat(folder, "/pipeline.toml"));
  Require(pipeline.ok(), "what a folder is taken for cannot be read", *text);
  if (!counts) return;
  CountOptions options;
  options.bodies = nullptr;  // which ask in a process of their own
  const absl::StatusOr<PipelineReport> report = CountPipeline(*pipeline, options);
  if (!report.ok()) RequireOneLine(report.status(), folder);
}

}  // namespace
}  // namespace onnxflops

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace onnxflops;  // NOLINT(google-build-using-namespace): two lines
  if (size == 0) return 0;
  const std::string folder = EmptyFolder();
  Place(folder, Kinds()[data[0] % Kinds().size()]);
  Write(folder, absl::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  Read(folder, /*counts=*/data[0] >= kFirstCounted);
  return 0;
}
