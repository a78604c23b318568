#include "src/api/diffusion_folder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/api/exported_folder.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/input_file.h"

namespace onnxflops {
namespace {

// Configurations of parts that give sizes.
constexpr const char* kDiffusionConfigurations[] = {"vae_decoder/config.json", "vae/config.json",
                                                    "unet/config.json", "transformer/config.json"};
constexpr size_t kMostBlocks = 16;  // of a VAE or a denoiser
constexpr char kSchedule[] = "scheduler/scheduler_config.json";
constexpr char kConsistency[] = "LatentConsistencyModelPipeline";

// Python writes infinities and NaN, which are no JSON, and no number that is read here.
std::string WithoutInfinities(absl::string_view text) {
  std::string json;
  bool in_text = false;
  while (!text.empty()) {
    bool is_one = false;
    for (const absl::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      is_one = is_one || (!in_text && absl::ConsumePrefix(&text, word));
    }
    if (is_one) {
      json += "null";
      continue;
    }
    const size_t length = in_text && text[0] == '\\' && text.size() > 1 ? 2 : 1;
    if (text[0] == '"') in_text = !in_text;
    absl::StrAppend(&json, text.substr(0, length));
    text.remove_prefix(length);
  }
  return json;
}

absl::StatusOr<nlohmann::json> ScheduleIn(const std::string& folder) {
  const std::string file = absl::StrCat(folder, "/", kSchedule);
  const absl::StatusOr<std::string> text = ReadTextFile(file, kMaxConfigBytes);
  if (!text.ok()) return NotWhole(file, text.status().message());
  return ObjectOf(WithoutInfinities(*text), file);
}

bool IsPart(const nlohmann::json& value) {
  return value.is_array() && value.size() == 2 &&
         absl::c_all_of(value, [](const auto& one) { return one.is_string() || one.is_null(); });
}

class DiffusionFolder {
 public:
  DiffusionFolder(const std::string& folder, const Layout& layout)
      : folder_(folder), layout_(layout), class_(ClassOf(folder)) {}

  // The parts that the index names, a denoiser and the decoder of the VAE.
  absl::Status Check(const nlohmann::json& index) const {
    RETURN_IF_ERROR(CheckIndex(index));
    RETURN_IF_ERROR(CheckClass(index));
    const auto exists = [&](absl::string_view part) {
      return !IsLeftOut(index, part) &&
             !FirstMatch(folder_, absl::StrCat(part, "/model.onnx")).empty();
    };
    std::vector<std::string> lacking;
    if (!exists("unet") && !exists("transformer")) {
      lacking.emplace_back("unet/model.onnx or transformer/model.onnx");
    }
    for (const PartRule& part : layout_.parts) {
      const absl::string_view name = part.name;
      const bool is_denoiser = name == "unet" || name == "transformer";
      const bool is_named = index.contains(part.name) && !index[part.name][1].is_null();
      // Exporters leave the safety checker out, and its name in.
      if (is_denoiser || name == "safety_checker" || exists(name)) continue;
      if (part.required || is_named) lacking.emplace_back(part.files);
    }
    if (lacking.empty()) return CheckOthers(index);
    return NotWhole(folder_, absl::StrCat("a folder of diffusers (", layout_.marker, ") without ",
                                          absl::StrJoin(lacking, ", "),
                                          "; export these parts to ONNX, or name the stages in a "
                                          "TOML file"));
  }

 private:
  // Others run the denoiser more often, or with other inputs.
  bool IsKnownWithUnet() const {
    return class_.name.empty() || class_.plain == "DiffusionPipeline" ||
           class_.plain == "StableDiffusionPipeline" ||
           class_.plain == "StableDiffusionXLPipeline" || class_.is_consistent;
  }

  // Those that begin with an image or a video encode it first.
  absl::Status CheckClass(const nlohmann::json& index) const {
    if (index.contains("_class_name") && !index["_class_name"].is_string()) {
      return NotWhole(absl::StrCat(folder_, "/", layout_.marker), "_class_name should be a text");
    }
    const nlohmann::json boundary = index.value("boundary_ratio", nlohmann::json(nullptr));
    if (!boundary.is_null() &&
        !(boundary.is_number() && boundary.get<double>() > 0 && boundary.get<double>() < 1)) {
      return NotWhole(absl::StrCat(folder_, "/", layout_.marker),
                      "boundary_ratio should be a number between 0 and 1");
    }
    const bool is_known =
        class_.is_video
            ? class_.plain == "WanPipeline"
            : absl::c_none_of(
                  std::initializer_list<const char*>{"ImageTo", "2Img", "Inpaint", "Upscale",
                                                     "Fill", "Kontext", "Edit", "Pix2Pix",
                                                     "Control", "VideoTo"},
                  [&](const char* word) { return absl::StrContains(class_.name, word); });
    const std::string file = absl::StrCat(folder_, "/", layout_.marker);
    const bool is_transformer = !class_.is_video && index.contains("transformer");
    if (is_transformer && !class_.is_flux && !class_.is_sd3 && !class_.name.empty()) {
      return NotWhole(file, absl::StrCat(Quoted(class_.name),
                                         " is not known here: of classes with a transformer, "
                                         "those of Stable Diffusion 3, Flux and Wan are; name the "
                                         "stages in a TOML file"));
    }
    if (!is_known) {
      return NotWhole(file, absl::StrCat(Quoted(class_.name),
                                         " takes more than a text, which is not known "
                                         "here: name the stages in a TOML file"));
    }
    const bool is_unet = !class_.is_video && !class_.is_flux && !class_.is_sd3;
    if (!is_unet || IsKnownWithUnet()) return absl::OkStatus();
    return NotWhole(file, absl::StrCat(Quoted(class_.name),
                                       " is not known here: of classes with a UNet, "
                                       "StableDiffusionPipeline, StableDiffusionXLPipeline and "
                                       "LatentConsistencyModelPipeline are; name the stages in a "
                                       "TOML file"));
  }

  // A part is a library and a class, or two nulls; other keys are options.
  absl::Status CheckIndex(const nlohmann::json& index) const {
    for (const auto& [key, value] : index.items()) {
      const absl::string_view name = key;
      const bool is_part =
          absl::c_any_of(layout_.parts, [&](const PartRule& part) { return name == part.name; });
      const bool is_option = !is_part && (value.is_primitive() || absl::StartsWith(name, "_"));
      if (is_option || IsPart(value)) continue;
      return NotWhole(absl::StrCat(folder_, "/", layout_.marker),
                      absl::StrCat(Quoted(name),
                                   " should be a library and a class, as "
                                   "[\"diffusers\", \"UNet2DConditionModel\"]"));
    }
    return absl::OkStatus();
  }

  // Parts that the index names and that are not among ours: a second denoiser, a control net.
  absl::Status CheckOthers(const nlohmann::json& index) const {
    constexpr absl::string_view kNoModels[] = {"scheduler",       "tokenizer", "feature_extractor",
                                               "image_processor", "processor", "vae"};
    for (const auto& [key, value] : index.items()) {
      const absl::string_view name = key;
      const bool is_named = IsPart(value) && !value[1].is_null();
      const bool is_no_model = absl::c_any_of(
          kNoModels, [&](absl::string_view other) { return absl::StartsWith(name, other); });
      const bool is_known =
          absl::c_any_of(layout_.parts, [&](const PartRule& part) { return name == part.name; });
      if (!is_named || is_no_model || is_known) continue;
      return NotWhole(absl::StrCat(folder_, "/", layout_.marker),
                      absl::StrCat("it names a part ", Quoted(name),
                                   ", which is not known here: name the stages in a TOML file"));
    }
    return CheckConfigurations();
  }

  // A damaged one would make a size an assumed one.
  absl::Status CheckConfigurations() const {
    if (!FirstMatch(folder_, kSchedule).empty()) {
      ASSIGN_OR_RETURN(const nlohmann::json schedule, ScheduleIn(folder_));
      RETURN_IF_ERROR(CheckNumbers(kSchedule, schedule, {"num_train_timesteps"}));
      const std::string file = absl::StrCat(folder_, "/", kSchedule);
      if (schedule.contains("_class_name") && !schedule["_class_name"].is_string()) {
        return NotWhole(file, "_class_name should be a text");
      }
      if (schedule.contains("skip_prk_steps") && !schedule["skip_prk_steps"].is_boolean()) {
        return NotWhole(file, "skip_prk_steps should be true or false");
      }
      const nlohmann::json shift = schedule.value("flow_shift", nlohmann::json(nullptr));
      if (!shift.is_null() && !(shift.is_number() && shift.get<double>() > 0)) {
        return NotWhole(file, "flow_shift should be a number above 0");
      }
    }
    for (const char* const name : kDiffusionConfigurations) {
      if (FirstMatch(folder_, name).empty()) continue;
      ASSIGN_OR_RETURN(const nlohmann::json config, ObjectIn(folder_, name));
      RETURN_IF_ERROR(CheckNumbers(
          name, config, {"sample_size", "scale_factor_spatial", "scale_factor_temporal"}));
      if (!config.contains("block_out_channels")) continue;
      const nlohmann::json& blocks = config["block_out_channels"];
      if (blocks.is_array() && !blocks.empty() && blocks.size() <= kMostBlocks) continue;
      return NotWhole(
          absl::StrCat(folder_, "/", name),
          absl::StrCat("block_out_channels should be a list of 1 to ", kMostBlocks, " numbers"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckNumbers(absl::string_view name, const nlohmann::json& config,
                            std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      if (!config.contains(key) || config[key].is_null() || NumberIn(config, key)) continue;
      return NotWhole(absl::StrCat(folder_, "/", name),
                      absl::StrCat(key, " should be a whole number of 1 to ", kMaxConfigSize));
    }
    return absl::OkStatus();
  }

  const std::string& folder_;
  const Layout& layout_;
  const DiffusionClass class_;
};

}  // namespace

Scales ScalesOf(const std::string& folder, bool is_video) {
  Scales scales;
  for (const char* name : {"vae_decoder/config.json", "vae/config.json"}) {
    const nlohmann::json config = JsonIn(folder, name);
    if (scales.known || !config.is_object()) continue;
    if (is_video) {
      scales.known = config.contains("scale_factor_spatial");
      scales.pixels = NumberIn(config, "scale_factor_spatial").value_or(scales.pixels);
      scales.frames = NumberIn(config, "scale_factor_temporal").value_or(scales.frames);
    } else if (config.contains("block_out_channels")) {
      // A factor of two for each block but one.
      const nlohmann::json& blocks = config["block_out_channels"];
      if (!blocks.is_array() || blocks.empty() || blocks.size() > kMostBlocks) continue;
      scales.pixels = int64_t{1} << (blocks.size() - 1);
      scales.known = true;
    }
  }
  return scales;
}

std::string DiffusionSizes(const std::string& folder, const Scales& scales, int64_t usual) {
  std::optional<int64_t> sample;
  for (const char* name : {"unet/config.json", "transformer/config.json"}) {
    if (!sample) sample = NumberIn(JsonIn(folder, name), "sample_size");
  }
  return absl::StrCat("resolution = ",
                      sample      ? *sample * scales.pixels
                      : usual > 0 ? usual * scales.pixels
                                  : 512,
                      "  # pixels of a side",
                      sample ? ", from the denoiser's configuration" : "; assumed",
                      "\npixels_high = \"resolution\"\npixels_wide = \"resolution\"\n");
}

// The class that the index names; "" if it names none.
static std::string ScheduleOfIndex(const std::string& folder) {
  const nlohmann::json index = JsonIn(folder, "model_index.json");
  const bool is_named = index.is_object() && index.contains("scheduler") &&
                        IsPart(index["scheduler"]) && index["scheduler"][1].is_string();
  return is_named ? index["scheduler"][1].get<std::string>() : "";
}

Schedule ScheduleOf(const std::string& folder) {
  const absl::StatusOr<nlohmann::json> found = ScheduleIn(folder);
  const nlohmann::json schedule = found.ok() ? *found : nlohmann::json(nullptr);
  std::string name = TextIn(schedule, "_class_name");
  // The class of the index reads the configuration, whatever class wrote it.
  if (const std::string of_index = ScheduleOfIndex(folder); !of_index.empty()) name = of_index;
  // Two runs for each step but the last one.
  for (const char* const twice :
       {"HeunDiscreteScheduler", "FlowMatchHeunDiscreteScheduler", "KDPM2DiscreteScheduler",
        "KDPM2AncestralDiscreteScheduler", "DPMSolverSDEScheduler"}) {
    if (name == twice) return {name, "2*steps - 1"};
  }
  if (name != "PNDMScheduler") return {name, ""};
  // The first three steps are of the method of Runge and Kutta, with four runs each, or left out.
  const bool skips = schedule.is_object() && schedule.contains("skip_prk_steps") &&
                     schedule["skip_prk_steps"] == true;
  return {name, skips ? "min(steps + 1, 2*steps - 1)" : "steps + 9"};
}

DiffusionClass ClassOf(const std::string& folder) {
  const nlohmann::json index = JsonIn(folder, "model_index.json");
  const std::string name = TextIn(index, "_class_name");
  DiffusionClass result;
  result.name = name;
  // Exporters put their mark in front, and one did behind.
  absl::string_view plain = name;
  for (const char* const exporter : {"ORT", "OV", "Onnx"}) {
    if (absl::ConsumePrefix(&plain, exporter)) break;
  }
  result.plain =
      std::string(plain == "StableDiffusionOnnxPipeline" ? "StableDiffusionPipeline" : plain);
  result.is_video = absl::StartsWith(plain, "Wan");
  result.is_flux = absl::StartsWith(plain, "Flux") && !absl::StartsWith(plain, "Flux2");
  result.is_consistent = plain == kConsistency;
  result.is_sd3 = absl::StartsWith(plain, "StableDiffusion3");
  // True unless the folder says otherwise.
  const bool encodes = index.is_object() && index.contains("force_zeros_for_empty_prompt") &&
                       index["force_zeros_for_empty_prompt"] == false;
  result.takes_zeros = absl::StrContains(name, "StableDiffusionXL") && !encodes;
  return result;
}

std::string HighSteps(const std::string& folder) {
  const nlohmann::json index = JsonIn(folder, "model_index.json");
  const absl::StatusOr<nlohmann::json> found = ScheduleIn(folder);
  const nlohmann::json schedule = found.ok() ? *found : nlohmann::json(nullptr);
  const auto number = [](const nlohmann::json& json, const char* key) -> double {
    return json.is_object() && json.contains(key) && json[key].is_number() ? json[key].get<double>()
                                                                           : 0;
  };
  const double boundary = number(index, "boundary_ratio"), shift = number(schedule, "flow_shift");
  if (boundary == 0) {
    return "high_steps = \"steps\"  # of transformer: there is no boundary_ratio\n";
  }
  const bool is_known = TextIn(schedule, "_class_name") == "UniPCMultistepScheduler" &&
                        schedule.contains("use_flow_sigmas") &&
                        schedule["use_flow_sigmas"] == true && boundary > 0 && boundary < 1 &&
                        shift >= 1 && shift <= 100;
  if (!is_known) return "high_steps = 1    # of transformer; the schedule and boundary_ratio say\n";
  constexpr int64_t kMillion = 1'000'000;
  const int64_t times = NumberIn(schedule, "num_train_timesteps").value_or(1000);
  const double part = shift * (1 - boundary) / (shift - (shift - 1) * boundary);
  const auto millionths = static_cast<int64_t>(std::llround(part * kMillion));
  return absl::StrCat("high_steps = \"min(steps, steps*", millionths * times, " // ",
                      kMillion * std::max<int64_t>(times - 1, 1),
                      " + 1)\"  # of transformer, from boundary_ratio and flow_shift\n");
}

bool IsLeftOut(const nlohmann::json& index, absl::string_view part) {
  if (!index.is_object()) return false;
  const auto is_null = [&](const std::string& name) {
    return IsPart(index[name]) && index[name][1].is_null();
  };
  if (index.contains(part)) return is_null(std::string(part));
  return (part == "transformer" && index.contains("unet") && !is_null("unet")) ||
         (part == "unet" && index.contains("transformer") && !is_null("transformer"));
}

absl::Status CheckDiffusionFolder(const std::string& folder, const Layout& layout) {
  ASSIGN_OR_RETURN(const nlohmann::json index, ObjectIn(folder, kDiffusionIndex));
  return DiffusionFolder(folder, layout).Check(index);
}

absl::Status CheckLatents(const std::string& path, const Layout& layout, const ModelData& model) {
  constexpr size_t kVideoRank = 5;
  if (layout.is_video) return absl::OkStatus();
  for (const ValueId id : model.graph(0).inputs) {
    const Value& value = model.value(id);
    const bool is_latent =
        value.name == "hidden_states" || value.name == "latent_sample" || value.name == "sample";
    if (!is_latent || value.declared == nullptr) continue;
    if (value.declared->dims.size() != kVideoRank) continue;
    return NotWhole(path, absl::StrCat(value.name,
                                       " has five dimensions, as those of videos, "
                                       "which are known of Wan only: name the stages "
                                       "in a TOML file"));
  }
  return absl::OkStatus();
}

std::vector<std::string> DiffusionConfigurations() {
  std::vector<std::string> names(std::begin(kDiffusionConfigurations),
                                 std::end(kDiffusionConfigurations));
  names.emplace_back(kSchedule);
  return names;
}

}  // namespace onnxflops
