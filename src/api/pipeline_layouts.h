// Layouts of folders that exporters write for pipelines: which files are which part, how often each
// runs, and which formula each size of its inputs is.
#ifndef ONNXFLOPS_SRC_API_PIPELINE_LAYOUTS_H_
#define ONNXFLOPS_SRC_API_PIPELINE_LAYOUTS_H_

#include <cstddef>
#include <vector>

namespace onnxflops {

// Latents of Flux: a token for four of them.
inline constexpr char kPackedLatents[] = "(pixels_high // (2*scale))*(pixels_wide // (2*scale))";

// What decoders have as `per`.
inline constexpr char kPerToken[] = "{ tokens = \"answers*tokens\" }";

// The configuration of ONNX Runtime GenAI.
inline constexpr char kGenAiConfiguration[] = "genai_config.json";
inline constexpr char kContextLength[] = "context_length of genai_config.json";  // of a bound

// A line of a stage that runs for each token but the last, which nothing reads.
inline constexpr char kForEachToken[] = "for = \"t < tokens - 1\"\n";

// Of pipelines of images, as a parameter.
inline constexpr char kGuidance[] =
    "guidance = { value = 2, least = 1, most = 2, about = \"runs of the denoiser in a step: 2 with "
    "classifier-free guidance, 1 without; guidance_scale is another number\" }\n";

// A size of an input, and the formula that it is.
struct SizeRule {
  const char* input;  // a glob
  int axis = 0;
  const char* formula = "";
  size_t rank = 0;  // that the input must have; 0: any
};

struct PartRule {
  const char* name;
  const char* files;  // globs in the folder, the first one that matches, with | between them
  const char* runs;   // further lines of the stage
  std::vector<SizeRule> sizes;
  bool required = true;
  const char* input = "";  // a glob of an input that no other part has
};

struct Layout {
  const char* title;
  const char* marker;      // a file that must be there, or "" if the parts are enough
  const char* parameters;  // lines
  const char* per;         // a value of TOML
  std::vector<PartRule> parts;
  bool is_video = false;  // of those with the marker of diffusers
};

// Of one marker, those for videos come last.
const std::vector<Layout>& PipelineLayouts();

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_PIPELINE_LAYOUTS_H_
