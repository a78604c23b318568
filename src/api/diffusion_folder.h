// What the files of diffusers say of a pipeline: model_index.json, and the configurations of its
// parts.
#ifndef ONNXFLOPS_SRC_API_DIFFUSION_FOLDER_H_
#define ONNXFLOPS_SRC_API_DIFFUSION_FOLDER_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/api/pipeline_layouts.h"
#include "src/graph/model.h"

namespace onnxflops {

inline constexpr char kDiffusionIndex[] = "model_index.json";

// Pixels and frames for one latent.
struct Scales {
  int64_t pixels = 8, frames = 4;
  bool known = false;  // from the VAE's configuration
};

Scales ScalesOf(const std::string& folder, bool is_video);

// What a class of diffusers does that the layout does not say.
struct DiffusionClass {
  bool is_consistent = false;  // latent consistency: no guidance, few steps
  bool is_flux = false;        // distilled: one run a step. T5 encodes what the denoiser reads
  bool is_sd3 = false;
  bool takes_zeros = false;  // SDXL, for a negative prompt that is not given
  bool is_video = false;
  std::string name, plain;  // the second one without the mark of an exporter
};

DiffusionClass ClassOf(const std::string& folder);

// Lines of parameters. `usual`: latents of a side that the class assumes, or 0.
std::string DiffusionSizes(const std::string& folder, const Scales& scales, int64_t usual);

// Runs of the denoiser that a scheduler makes of its steps, as a formula; "" for as many as steps.
struct Schedule {
  std::string name, runs;
};
Schedule ScheduleOf(const std::string& folder);

// A line of the parameter `high_steps`: the steps of Wan 2.2 that its first transformer makes,
// those at times from boundary_ratio on. In a schedule of T times with a shift s, step i of n has
// x = 1 - (1 - 1/T) i/n, and the time s x / (1 + (s - 1) x).
std::string HighSteps(const std::string& folder);

// Whether the index says that the class has no such part: by nulls, or by naming the other
// denoiser.
bool IsLeftOut(const nlohmann::json& index, absl::string_view part);

// An error unless the folder has what its index names, of a class that is known, and its
// configurations are whole.
absl::Status CheckDiffusionFolder(const std::string& folder, const Layout& layout);

// An error if the latents of a part have another number of dimensions than those of the class.
absl::Status CheckLatents(const std::string& path, const Layout& layout, const ModelData& model);

// The files that are read for this, but for the index.
std::vector<std::string> DiffusionConfigurations();

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_DIFFUSION_FOLDER_H_
