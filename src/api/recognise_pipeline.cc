// How it works. A folder has a layout (pipeline_layouts.h) if it has the files of all parts that
// are required. Optional parts are taken where they are. An open size that no rule is for stays
// open, which the report says. A size that the export fixed is the number of its parameter, or a
// formula that must have that value; a part that is fixed at a batch of 1 runs once for each of the
// batch. The result is text, so that what was taken for what can be read, kept and changed.
#include "src/api/recognise_pipeline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "src/api/load.h"
#include "src/api/pipeline_layouts.h"
#include "src/base/glob.h"
#include "src/base/json_reader.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/load/input_file.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

// Configurations of parts that give sizes.
constexpr const char* kDiffusionConfigurations[] = {"vae_decoder/config.json", "vae/config.json",
                                                    "unet/config.json", "transformer/config.json"};
constexpr size_t kMostBlocks = 16;  // of a VAE or a denoiser

constexpr char kSeconds[] = "seconds = \"30*answers\"  # of audio: a chunk for each answer\n";
constexpr char kConfiguration[] = "config.json";
constexpr char kSchedule[] = "scheduler/scheduler_config.json";
constexpr char kDecoderTitle[] = "the configuration of a decoder (config.json)";
constexpr char kAssumed[] = "# Sizes below are assumed unless a comment says otherwise.\n";

std::string FirstMatch(const std::string& folder, absl::string_view globs) {
  for (const absl::string_view glob : absl::StrSplit(globs, '|')) {
    std::vector<std::string> found = platform::MatchingIn(folder, std::string(glob));
    absl::c_sort(found);
    if (!found.empty()) return found[0].substr(folder.size() + 1);
  }
  return "";
}

std::string TomlText(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppend(&out, "\\u", absl::Hex(c, absl::kZeroPad4));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool HasInput(const Model& model, absl::string_view glob) {
  return absl::c_any_of(model->graph(0).inputs, [&](ValueId id) {
    return !model->value(id).initializer && MatchesGlob(glob, model->value(id).name);
  });
}

// A folder that is a pipeline, but not a whole one.
absl::Status NotWhole(const std::string& file, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(Escaped(file), ": ", why));
}

// A JSON object in a file of the folder.
absl::StatusOr<nlohmann::json> ObjectIn(const std::string& folder, absl::string_view name) {
  const std::string file = absl::StrCat(folder, "/", name);
  const absl::StatusOr<std::string> text = ReadTextFile(file, kMaxConfigBytes);
  if (!text.ok()) return NotWhole(file, text.status().message());
  if (text->size() > kMaxConfigBytes) {
    return NotWhole(file, absl::StrCat("is larger than ", kMaxConfigBytes, " bytes"));
  }
  absl::StatusOr<nlohmann::json> parsed = ParseJson(*text, {.nesting = kMaxConfigNesting});
  if (!parsed.ok()) return NotWhole(file, parsed.status().message());
  if (!parsed->is_object()) return NotWhole(file, "it should be a JSON object");
  return parsed;
}

// The same; null without one, or if it is none.
nlohmann::json JsonIn(const std::string& folder, absl::string_view name) {
  absl::StatusOr<nlohmann::json> json = ObjectIn(folder, name);
  return json.ok() ? *std::move(json) : nlohmann::json(nullptr);
}

// A whole number of a configuration.
std::optional<int64_t> NumberIn(const nlohmann::json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_number_integer()) return {};
  const auto number = json[key].get<int64_t>();
  return number > 0 && number <= kMaxConfigSize ? std::optional(number) : std::nullopt;
}

// Pixels and frames for one latent.
struct Scales {
  int64_t pixels = 8, frames = 4;
  bool known = false;  // from the VAE's configuration
};

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

// Lines of parameters. `usual`: latents of a side that the class assumes, or 0.
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
                      sample ? ", from the denoiser's configuration" : "; assumed", "\n");
}

std::string TextIn(const nlohmann::json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_string()
             ? json[key].get<std::string>()
             : "";
}

// What a class of diffusers does that the layout does not say.
struct DiffusionClass {
  bool is_flux = false;  // distilled: one run a step. T5 encodes what the denoiser reads
  bool is_sd3 = false;
  bool takes_zeros = false;  // SDXL, for a negative prompt that is not given
  bool is_video = false;
  std::string name;
};

DiffusionClass ClassOf(const std::string& folder) {
  const nlohmann::json index = JsonIn(folder, "model_index.json");
  const std::string name = TextIn(index, "_class_name");
  DiffusionClass result;
  result.name = name;
  result.is_video = absl::StartsWith(name, "Wan");
  result.is_flux = absl::StartsWith(name, "Flux") && !absl::StartsWith(name, "Flux2");
  result.is_sd3 = absl::StartsWith(name, "StableDiffusion3");
  // True unless the folder says otherwise.
  const bool encodes = index.is_object() && index.contains("force_zeros_for_empty_prompt") &&
                       index["force_zeros_for_empty_prompt"] == false;
  result.takes_zeros = absl::StrContains(name, "StableDiffusionXL") && !encodes;
  return result;
}

// A parameter with what it is from.
struct Assumed {
  int64_t number = 0;
  const char* from = "";
};

// Tokens that begin a text of Whisper, which its first run takes: the start, the language, the
// task, and "no timestamps"; without languages the first and the last.
std::optional<Assumed> FirstTokensOfWhisper(const std::string& folder) {
  const nlohmann::json config = JsonIn(folder, kConfiguration);
  if (TextIn(config, "model_type") != "whisper") return std::nullopt;
  const nlohmann::json rules = JsonIn(folder, "generation_config.json");
  if (rules.is_object()) {
    const bool has_languages =
        rules.contains("is_multilingual") && rules["is_multilingual"] == true;
    const bool has_timestamps =
        rules.contains("no_timestamps_token_id") && !rules["no_timestamps_token_id"].is_null();
    return Assumed{1 + (has_languages ? 2 : 0) + (has_timestamps ? 1 : 0),
                   "from generation_config.json"};
  }
  const int64_t words = NumberIn(config, "vocab_size").value_or(0);
  const bool has_languages = words == 51865 || words == 51866;
  return Assumed{has_languages ? 4 : words == 51864 ? 2 : 1, "assumed"};
}

// Steps of Wan 2.2 that its first transformer makes: those at times from boundary_ratio on. In a
// schedule of T times with a shift s, step i of n has x = 1 - (1 - 1/T) i/n, and the time s x / (1
// + (s - 1) x).
std::string HighSteps(const std::string& folder) {
  const nlohmann::json index = JsonIn(folder, "model_index.json");
  const nlohmann::json schedule = JsonIn(folder, kSchedule);
  const auto number = [](const nlohmann::json& json, const char* key) -> double {
    return json.is_object() && json.contains(key) && json[key].is_number() ? json[key].get<double>()
                                                                           : 0;
  };
  const double boundary = number(index, "boundary_ratio"), shift = number(schedule, "flow_shift");
  if (boundary == 0)
    return "high_steps = \"steps\"  # of transformer: there is no boundary_ratio\n";
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

// Gives a parameter another number, in its line.
void SetParameter(const std::string& name, int64_t number, absl::string_view from,
                  std::string* parameters) {
  std::vector<std::string> lines = absl::StrSplit(*parameters, '\n');
  for (std::string& line : lines) {
    if (!absl::StartsWith(line, name + " = ")) continue;
    line = absl::StrCat(name, " = ", number, "  # fixed by the export of ", from);
  }
  *parameters = absl::StrJoin(lines, "\n");
}

class FolderReader {
 public:
  FolderReader(const std::string& folder, const std::string& from, const Layout& layout)
      : folder_(folder),
        from_(from),
        layout_(layout),
        class_(ClassOf(folder)),
        scales_(ScalesOf(folder, class_.is_video)),
        first_tokens_(FirstTokensOfWhisper(folder)) {}

  // "" if the folder has another layout. FailedPrecondition if the marker tells of more parts than
  // there are.
  absl::StatusOr<std::string> Read() {
    if (layout_.marker[0] != '\0') {
      if (FirstMatch(folder_, layout_.marker).empty() || IsOfOthers()) return "";
      RETURN_IF_ERROR(CheckMarker());
    }
    std::string stages;
    std::vector<std::string> taken;
    FindLacking();
    if (!lacking_.empty()) return "";
    constexpr char kRules[] = "generation_config.json";
    if (first_tokens_ && !FirstMatch(folder_, kRules).empty()) {
      RETURN_IF_ERROR(ObjectIn(folder_, kRules).status());
    }
    for (const PartRule& part : layout_.parts) {
      const std::string file = FileOf(part);
      if (file.empty()) continue;
      ASSIGN_OR_RETURN(const std::string stage, StageOf(part, file));
      absl::StrAppend(&stages, stage);
      taken.push_back(absl::StrCat(file, " is ", part.name));
    }
    std::string parameters = layout_.parameters;
    AdaptParameters(stages, &parameters);
    for (const auto& [name, fixed] : fixed_) {
      SetParameter(name, fixed.first, fixed.second, &parameters);
    }
    return absl::StrCat("# Recognised as ", layout_.title, ": ",
                        Escaped(absl::StrJoin(taken, ", ")), ".\n", kAssumed,
                        "title = ", TomlText(layout_.title),
                        "\nper = ", TomlText(first_tokens_ ? "seconds" : layout_.per),
                        "\n\n[parameters]\n", parameters, stages);
  }

  // Where the folder has some parts of the layout, but not all: the files of the others.
  std::string Lacks() const {
    const bool some =
        lacking_.size() < static_cast<size_t>(absl::c_count_if(
                              layout_.parts, [](const auto& p) { return p.required; }));
    if (lacking_.empty() || !some) return "";
    return absl::StrCat("; ", layout_.title, " would have ", absl::StrJoin(lacking_, " and "));
  }

 private:
  // Images and videos have one marker.
  bool IsOfOthers() const {
    const bool is_diffusion = absl::string_view(layout_.marker) == "model_index.json";
    return is_diffusion && layout_.is_video != class_.is_video;
  }

  void FindLacking() {
    for (const PartRule& part : layout_.parts) {
      if (!part.required || !FileOf(part).empty()) continue;
      std::string files = absl::StrReplaceAll(part.files, {{"|", " or "}});
      if (!absl::c_linear_search(lacking_, files)) lacking_.push_back(std::move(files));
    }
  }

  absl::Status CheckMarker() const {
    ASSIGN_OR_RETURN(const nlohmann::json marker, ObjectIn(folder_, layout_.marker));
    return absl::string_view(layout_.marker) == "genai_config.json" ? CheckGenAi(marker)
                                                                    : CheckDiffusion(marker);
  }

  // The parts that the index names, a denoiser and the decoder of the VAE.
  absl::Status CheckDiffusion(const nlohmann::json& index) const {
    RETURN_IF_ERROR(CheckIndex(index));
    RETURN_IF_ERROR(CheckClass(index));
    const auto exists = [&](absl::string_view part) {
      return !IsLeftOut(part) && !FirstMatch(folder_, absl::StrCat(part, "/model.onnx")).empty();
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

  // Those that begin with an image or a video encode it first.
  absl::Status CheckClass(const nlohmann::json& index) const {
    if (index.contains("_class_name") && !index["_class_name"].is_string()) {
      return NotWhole(absl::StrCat(folder_, "/", layout_.marker), "_class_name should be a text");
    }
    const nlohmann::json& boundary = index.value("boundary_ratio", nlohmann::json(nullptr));
    if (!boundary.is_null() &&
        !(boundary.is_number() && boundary.get<double>() > 0 && boundary.get<double>() < 1)) {
      return NotWhole(absl::StrCat(folder_, "/", layout_.marker),
                      "boundary_ratio should be a number between 0 and 1");
    }
    const bool is_known =
        class_.is_video
            ? class_.name == "WanPipeline"
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
    if (is_known) return absl::OkStatus();
    return NotWhole(file, absl::StrCat(Quoted(class_.name),
                                       " takes more than a text, which is not known "
                                       "here: name the stages in a TOML file"));
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
  // The index says that the class has no such part: by nulls, or by naming the other denoiser.
  bool IsLeftOut(absl::string_view part) const {
    if (absl::string_view(layout_.marker) != "model_index.json") return false;
    const nlohmann::json index = JsonIn(folder_, layout_.marker);
    if (!index.is_object()) return false;
    const auto is_null = [&](const std::string& name) {
      return IsPart(index[name]) && index[name][1].is_null();
    };
    if (index.contains(part)) return is_null(std::string(part));
    return (part == "transformer" && index.contains("unet") && !is_null("unet")) ||
           (part == "unet" && index.contains("transformer") && !is_null("transformer"));
  }
  static bool IsPart(const nlohmann::json& value) {
    return value.is_array() && value.size() == 2 &&
           absl::c_all_of(value, [](const auto& one) { return one.is_string() || one.is_null(); });
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
    // One with an infinity is none for our reader.
    if (const nlohmann::json schedule = JsonIn(folder_, kSchedule); schedule.is_object()) {
      RETURN_IF_ERROR(CheckNumbers(kSchedule, schedule, {"num_train_timesteps"}));
      for (const char* key : {"flow_shift"}) {
        if (!schedule.contains(key) || schedule[key].is_null()) continue;
        if (schedule[key].is_number() && schedule[key].get<double>() > 0) continue;
        return NotWhole(absl::StrCat(folder_, "/", kSchedule),
                        absl::StrCat(key, " should be a number above 0"));
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

  absl::Status CheckGenAi(const nlohmann::json& config) const {
    const std::string file = absl::StrCat(folder_, "/", layout_.marker);
    if (FileOf(layout_.parts[0]).empty()) {
      return NotWhole(file, "model.decoder.filename should name the model of a decoder");
    }
    if (FileOf(layout_.parts[0])[0] == '/') {
      return NotWhole(file, "model.decoder.filename should be the name of a file in the folder");
    }
    for (const auto& [name, part] : config["model"].items()) {
      if (name == "decoder" || !part.is_object() || !part.contains("filename")) continue;
      return NotWhole(file, absl::StrCat("model.", Escaped(name),
                                         " is a model besides the decoder, which is not counted "
                                         "here: name the stages in a TOML file"));
    }
    return absl::OkStatus();
  }

  std::string FileOf(const PartRule& part) const {
    if (absl::string_view(layout_.marker) != "genai_config.json") {
      return IsLeftOut(part.name) ? "" : FirstMatch(folder_, part.files);
    }
    const nlohmann::json config = JsonIn(folder_, layout_.marker);
    const nlohmann::json::json_pointer at("/model/decoder/filename");
    if (!config.is_object() || !config.contains(at) || !config[at].is_string()) return "";
    return config[at].get<std::string>();
  }

  absl::StatusOr<std::string> StageOf(const PartRule& part, const std::string& file) {
    const std::string path = absl::StrCat(folder_, "/", file);
    ASSIGN_OR_RETURN(const Model model, Load(path));
    RETURN_IF_ERROR(CheckInputs(part, path, model));
    RETURN_IF_ERROR(CheckRank(path, model));
    std::vector<std::string> sizes, seen;
    std::set<std::string> open;                          // formulas
    std::vector<std::pair<std::string, int64_t>> fixed;  // and the number in the file
    for (const ValueId id : model->graph(0).inputs) {
      const Value& value = model->value(id);
      if (value.initializer || value.declared == nullptr) continue;
      const absl::Span<const DeclaredDim> dims = value.declared->dims;
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        const auto rule = absl::c_find_if(part.sizes, [&](const SizeRule& one) {
          return one.axis == static_cast<int>(axis) && MatchesGlob(one.input, value.name) &&
                 (one.rank == 0 || one.rank == dims.size());
        });
        if (rule == part.sizes.end()) continue;
        const std::string formula = Adapted(part, rule->formula);
        if (dims[axis].size >= 0) {
          // A number that a layout has for a batch is only a usual one.
          const bool is_number = absl::c_all_of(formula, absl::ascii_isdigit);
          if (is_number && axis > 0 && formula != absl::StrCat(dims[axis].size)) {
            return NotWhole(
                path, absl::StrCat("the export fixed axis ", axis, " of ", Escaped(value.name),
                                   " at ", dims[axis].size, ", and it should be ", formula));
          }
          if (!is_number) fixed.emplace_back(formula, dims[axis].size);
          continue;
        }
        const std::string symbol = dims[axis].name.empty()
                                       ? AxisSymbol(value.name, static_cast<int>(axis))
                                       : FileSymbol(dims[axis].name);
        if (absl::c_linear_search(seen, symbol)) continue;
        seen.push_back(symbol);
        open.insert(formula);
        sizes.push_back(absl::StrCat(TomlText(symbol), " = ", TomlText(formula)));
      }
    }
    // A merged decoder without a past takes the branch that reads the encoder's output.
    const bool merged = part.runs[0] == '\0' && absl::StrContains(file, "_merged");
    std::string runs = merged ? "past = 0" : AdaptedRuns(part);
    RETURN_IF_ERROR(CheckFixed(part, path, fixed));
    const std::string fixed_line = FixedLine(part, open, fixed, &runs);
    NoteOutput(part, *model);
    return absl::StrCat(
        "\n[[stage]]\nname = ", TomlText(part.name), "\nmodel = ", TomlText(from_ + file), "\n",
        runs, runs.empty() ? "" : "\n",
        sizes.empty() ? "" : absl::StrCat("sizes = { ", absl::StrJoin(sizes, ", "), " }\n"),
        fixed_line);
  }

  // What the export fixed. `open`: formulas of sizes that it left open, which others broadcast to.
  std::string FixedLine(const PartRule& part, const std::set<std::string>& open,
                        const std::vector<std::pair<std::string, int64_t>>& fixed,
                        std::string* runs) {
    const std::string batch = BatchOf(part);
    std::map<std::string, int64_t> required;
    bool is_repeated = false;
    for (const auto& [formula, number] : fixed) {
      // One sample is broadcast to a batch that others have.
      const bool has_batch = absl::c_any_of(
          fixed, [&](const auto& other) { return other.first == formula && other.second != 1; });
      if (number == 1 && (open.contains(formula) || has_batch)) continue;
      if (number == 1 && formula == batch) {
        if (!is_repeated) RunForEach(batch, runs);
        is_repeated = true;
        continue;
      }
      if (const auto parameter = ParameterOf(formula, number)) {
        fixed_.emplace(parameter->first, std::pair(parameter->second, part.name));
      }
      required.emplace(formula, number);
    }
    std::vector<std::string> texts;
    for (const auto& [formula, number] : required) {
      texts.push_back(absl::StrCat(TomlText(formula), " = ", number));
    }
    return texts.empty() ? "" : absl::StrCat("fixed = { ", absl::StrJoin(texts, ", "), " }\n");
  }

  // One formula cannot be two numbers: an image that is no square.
  static absl::Status CheckFixed(const PartRule& part, const std::string& path,
                                 const std::vector<std::pair<std::string, int64_t>>& fixed) {
    std::map<std::string, int64_t> known;
    for (const auto& [formula, number] : fixed) {
      if (number == 1 && formula == BatchOf(part)) continue;
      const int64_t first = known.emplace(formula, number).first->second;
      if (first == number) continue;
      return NotWhole(path, absl::StrCat("the export fixed ", formula, " at ", first, " and at ",
                                         number, ": name the stages in a TOML file"));
    }
    return absl::OkStatus();
  }

  // The tokens that an encoder gives are those that the decoder reads.
  void NoteOutput(const PartRule& part, const ModelData& model) {
    const bool is_encoder = absl::string_view(part.files) == "encoder_model.onnx";
    if (!is_encoder || model.graph(0).outputs.empty()) return;
    const Value& output = model.value(model.graph(0).outputs[0]);
    if (output.declared == nullptr || output.declared->dims.size() != 3) return;
    const int64_t tokens = output.declared->dims[1].size;
    if (tokens > 0) fixed_.emplace("prompt", std::pair(tokens, "the encoder"));
  }

  static std::string BatchOf(const PartRule& part) {
    const auto rule = absl::c_find_if(part.sizes, [](const SizeRule& one) {
      return one.axis == 0 && absl::string_view(one.input) == "*";
    });
    return rule == part.sizes.end() ? "" : rule->formula;
  }

  static void RunForEach(const std::string& batch, std::string* runs) {
    constexpr absl::string_view kTimes = "times = \"";
    if (absl::StartsWith(*runs, kTimes)) {
      *runs = absl::StrCat(kTimes, batch, "*(", runs->substr(kTimes.size()));
      runs->insert(runs->find('"', kTimes.size()), ")");
    } else {
      *runs = absl::StrCat(kTimes, batch, "\"", runs->empty() ? "" : "\n", *runs);
    }
  }

  // The parameter for which a formula is a number.
  std::optional<std::pair<std::string, int64_t>> ParameterOf(const std::string& formula,
                                                             int64_t number) const {
    if (number > kMaxConfigSize) return std::nullopt;
    if (formula == "frames // frame_scale + 1") {
      return std::pair("frames", (number - 1) * scales_.frames + 1);
    }
    const std::pair<std::string, std::string> sides =
        absl::StrSplit(formula, absl::MaxSplits(absl::ByString(" // "), 1));
    constexpr absl::string_view kEven[] = {"resolution", "pixels_high", "pixels_wide"};
    for (const absl::string_view name : kEven) {
      if (formula != absl::StrCat("2*(", name, " // (2*scale))")) continue;
      return std::pair(std::string(name), number * scales_.pixels);
    }
    if (sides.second == "scale") return std::pair(sides.first, number * scales_.pixels);
    if (formula == "(resolution // (2*scale))^2") {
      const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(number))));
      if (side * side != number) return std::nullopt;
      return std::pair("resolution", side * 2 * scales_.pixels);
    }
    const bool is_name = absl::c_all_of(formula, [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
    });
    return is_name ? std::optional(std::pair(formula, number)) : std::nullopt;
  }

  // A transformer of images has latents of two sides.
  absl::Status CheckRank(const std::string& path, const Model& model) const {
    constexpr size_t kVideoRank = 5;
    if (layout_.is_video) return absl::OkStatus();
    for (const ValueId id : model->graph(0).inputs) {
      const Value& value = model->value(id);
      const bool is_latent = value.name == "hidden_states" || value.name == "latent_sample";
      if (!is_latent || value.declared == nullptr) continue;
      if (value.declared->dims.size() != kVideoRank) continue;
      return NotWhole(path, absl::StrCat(value.name,
                                         " has five dimensions, as those of videos, "
                                         "which are known of Wan only: name the stages "
                                         "in a TOML file"));
    }
    return absl::OkStatus();
  }

  // Files may stand in each other's place.
  absl::Status CheckInputs(const PartRule& part, const std::string& path,
                           const Model& model) const {
    if (part.input[0] == '\0' || HasInput(model, part.input)) return absl::OkStatus();
    for (const PartRule& other : layout_.parts) {
      if (other.input[0] == '\0' || !HasInput(model, other.input)) continue;
      return NotWhole(path,
                      absl::StrCat("it has the inputs of ", other.name, ", not of ", part.name));
    }
    return absl::OkStatus();
  }

  // A formula of a size as the class of the folder has it.
  std::string Adapted(const PartRule& part, const char* formula) const {
    const absl::string_view name = part.name, text = formula;
    if (class_.is_flux && name == "text_encoder_2" && text == "77") return "text_tokens";
    // Rounded down to packed latents.
    if (class_.is_flux && name == "vae_decoder" && text == "resolution // scale") {
      return "2*(resolution // (2*scale))";
    }
    if (first_tokens_ && name == "first token" && text == "1") return "first_tokens";
    return formula;
  }

  // How often a part runs.
  std::string AdaptedRuns(const PartRule& part) const {
    const absl::string_view name = part.name;
    std::string runs = part.runs;
    if (class_.takes_zeros && absl::StartsWith(name, "text_encoder")) {
      runs = "times = \"1 + (guidance - 1)*negative_prompts\"";
    }
    if (first_tokens_ && name == "tokens") {
      absl::StrReplaceAll({{"past = \"1 + t\"", "past = \"first_tokens + t\""}}, &runs);
    }
    if (layout_.is_video && name == "transformer" && HasSecond()) {
      runs = "times = \"guidance*high_steps\"";
    }
    return runs;
  }

  bool HasSecond() const { return !FirstMatch(folder_, "transformer_2/model.onnx").empty(); }

  void AdaptParameters(absl::string_view stages, std::string* parameters) const {
    const auto replace = [&](absl::string_view from, absl::string_view to) {
      absl::StrReplaceAll({{from, to}}, parameters);
    };
    if (layout_.is_video || absl::StrContains(stages, "resolution")) {
      absl::StrAppend(parameters, "scale = ", scales_.pixels, "         # pixels of a latent",
                      scales_.known ? ", from the VAE's configuration" : "; assumed", "\n",
                      layout_.is_video ? absl::StrCat("frame_scale = ", scales_.frames,
                                                      "   # frames of a latent\n")
                                       : "");
    }
    if (absl::StrContains(stages, "resolution")) {
      *parameters += DiffusionSizes(folder_, scales_, class_.is_flux ? 128 : 0);
    }
    if (layout_.is_video && HasSecond()) *parameters += HighSteps(folder_);
    if (!layout_.is_video && absl::StrContains(stages, "text_tokens")) {
      *parameters += class_.is_flux ? "text_tokens = 512 # for Flux dev; 256 for schnell\n"
                                    : "text_tokens = 333 # for Stable Diffusion 3\n";
    }
    constexpr char kGuidance[] =
        "guidance = 2      # 2 with classifier-free guidance; 1 without, and for Flux\n";
    if (class_.is_flux) replace(kGuidance, "guidance = 1      # Flux is distilled\n");
    if (absl::StrContains(stages, "negative_prompts")) {
      replace(kGuidance, absl::StrCat(kGuidance,
                                      "negative_prompts = 0 # 1 if one is given: without one SDXL "
                                      "takes zeros\n"));
    }
    // The default of the class.
    if (class_.is_flux || class_.is_sd3) {
      replace("steps = 50        # runs of the denoiser; PNDM takes one more",
              "steps = 28        # runs of the denoiser");
    }
    if (absl::StrContains(stages, "first_tokens")) {
      absl::StrAppend(parameters, "first_tokens = ", first_tokens_->number,
                      "  # that begin a text, in one run; ", first_tokens_->from, "\n", kSeconds);
    }
    // Whisper's encoder has a fixed length.
    if (const auto length = NumberIn(JsonIn(folder_, kConfiguration), "max_source_positions")) {
      replace("prompt = 64       # tokens of the encoder, if it takes any",
              absl::StrCat("prompt = ", *length, "  # from config.json"));
    }
  }

  const std::string& folder_;
  const std::string& from_;
  const Layout& layout_;
  const DiffusionClass class_;
  const Scales scales_;
  const std::optional<Assumed> first_tokens_;
  std::vector<std::string> lacking_;
  // Parameters whose number an export fixed, and its part.
  std::map<std::string, std::pair<int64_t, std::string>> fixed_;
};

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// As PipelineOfFolder, for the layouts of exporters.
absl::StatusOr<std::string> OfLayouts(const std::string& folder, const std::string& from) {
  std::vector<std::string> known;
  std::string lacks;
  for (const Layout& layout : PipelineLayouts()) {
    FolderReader reader(folder, from, layout);
    ASSIGN_OR_RETURN(std::string text, reader.Read());
    if (!text.empty()) return text;
    known.emplace_back(layout.title);
    lacks += reader.Lacks();
  }
  return absl::NotFoundError(absl::StrCat(
      Escaped(folder), ": no pipeline is recognised here; known are ", absl::StrJoin(known, ", "),
      ", ", kDecoderTitle, lacks, ". A TOML file can name the stages"));
}

// The open size of an input's axis, as a key of `sizes`; "" if there is none.
std::string OpenSize(const ModelData& model, absl::string_view input, size_t axis) {
  for (const ValueId id : model.graph(0).inputs) {
    const Value& value = model.value(id);
    if (value.name != input || value.declared == nullptr) continue;
    const absl::Span<const DeclaredDim> dims = value.declared->dims;
    return axis < dims.size() && dims[axis].size < 0 ? FileSymbol(dims[axis].name) : "";
  }
  return "";
}

// The pipeline of a decoder's configuration, with an encoder in its first run; "" for another
// model. One with a tower of images is none: its cache has their tokens, too.
absl::StatusOr<std::string> OfConfiguration(const std::string& folder, const std::string& from) {
  ASSIGN_OR_RETURN(const Model model, Load(absl::StrCat(folder, "/", kConfiguration)));
  const std::string decoded = OpenSize(*model, "decoder_input_ids", 1);
  const bool has_encoder = !decoded.empty();
  if (!has_encoder && !HasInput(model, "past_key_values.*")) return "";
  const std::string text = OpenSize(*model, "input_ids", 1);
  // Learned positions end somewhere.
  const nlohmann::json config = JsonIn(folder, kConfiguration);
  int64_t half = kMaxConfigSize;
  for (const char* key : {"n_positions", "max_position_embeddings", "max_target_positions"}) {
    if (const auto most = NumberIn(config, key)) half = std::max<int64_t>(*most / 2, 1);
  }
  std::string parameters = "answers = 1\n", later = "\"batch\" = \"answers\"";
  if (!text.empty()) {
    absl::StrAppend(&parameters, "prompt = ", has_encoder ? 64 : std::min<int64_t>(512, half),
                    has_encoder ? "   # tokens of the encoder\n" : "\n");
  }
  if (has_encoder) {
    const std::optional<Assumed> whisper = FirstTokensOfWhisper(folder);
    const Assumed begins = whisper.value_or(Assumed{1, "the start"});
    absl::StrAppend(&parameters, "first_tokens = ", begins.number, "  # in one run; ", begins.from,
                    "\n", whisper ? kSeconds : "");
    if (!text.empty()) absl::StrAppend(&later, ", ", TomlText(text), " = \"prompt\"");
  }
  const std::string first =
      has_encoder ? absl::StrCat(later, ", ", TomlText(decoded), " = \"first_tokens\"") : later;
  const std::string file = TomlText(from + kConfiguration);
  return absl::StrCat(
      "# Recognised as ", kDecoderTitle, ": the prompt, then a run for each token.\n", kAssumed,
      "per = ", TomlText(FirstTokensOfWhisper(folder) ? "seconds" : "tokens"), "\n\n[parameters]\n",
      parameters, "tokens = ", std::min<int64_t>(128, half),
      "\n\n[[stage]]\nname = \"prompt\"\nmodel = ", file, "\n",
      has_encoder ? "" : "new = \"prompt\"\n", "sizes = { ", first,
      " }\n\n[[stage]]\nname = \"tokens\"\nmodel = ", file, "\nfor = \"t < tokens - 1\"\npast = \"",
      has_encoder ? "first_tokens" : "prompt", " + t\"\nsizes = { ", later, " }\n");
}

}  // namespace

std::vector<std::string> FilesOfFolder(const std::string& folder) {
  std::vector<std::string> files;
  for (const char* const name : {"model_index.json", "genai_config.json", "config.json",
                                 "generation_config.json", kSchedule, "pipeline.toml"}) {
    files.push_back(absl::StrCat(folder, "/", name));
  }
  for (const char* const name : kDiffusionConfigurations) {
    files.push_back(absl::StrCat(folder, "/", name));
  }
  return files;
}

bool IsExportedPipeline(const std::string& folder) {
  return !absl::IsNotFound(OfLayouts(WithoutSlashes(folder), "").status());
}

absl::StatusOr<std::string> PipelineOfFolder(const std::string& folder, const std::string& from) {
  const std::string path = WithoutSlashes(folder);
  if (path.empty()) return absl::NotFoundError("a folder has a name");
  absl::StatusOr<std::string> text = OfLayouts(path, from);
  // Beside an export that is none of a known layout, or not whole, it would be another model.
  const bool is_alone = FirstMatch(path, "*.onnx|*/*.onnx").empty();
  if (!absl::IsNotFound(text.status()) || FirstMatch(path, kConfiguration).empty() || !is_alone) {
    return text;
  }
  const absl::StatusOr<std::string> configured = OfConfiguration(path, from);
  if (configured.ok()) return configured->empty() ? text : configured;
  return NotWhole(path, absl::StrCat("no parts of an export, and ", configured.status().message()));
}

}  // namespace onnxflops
