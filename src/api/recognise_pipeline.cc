// How it works. A folder has a layout (pipeline_layouts.h) if it has the files of all parts that
// are required. Optional parts are taken where they are. An open size that no rule is for stays
// open, which the report says. A size that the export fixed is the number of its parameter, or a
// formula that must have that value; a part that is fixed at a batch of 1 runs once for each of the
// batch. The result is text, so that what was taken for what can be read, kept and changed.
#include "src/api/recognise_pipeline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
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
#include "src/api/decoder_parts.h"
#include "src/api/diffusion_folder.h"
#include "src/api/exported_folder.h"
#include "src/api/load.h"
#include "src/api/multimodal_folder.h"
#include "src/api/pipeline_layouts.h"
#include "src/base/glob.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/pipeline/pipeline_file.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

constexpr char kSeconds[] = "seconds = \"30*answers\"  # of audio: a chunk for each answer\n";
constexpr char kConfiguration[] = "config.json";
constexpr char kScheduledRuns[] = "denoiser_runs";  // a parameter
constexpr char kDecoderTitle[] = "the configuration of a decoder (config.json)";
constexpr char kAssumed[] = "# Sizes below are assumed unless a comment says otherwise.\n";

bool HasInput(const Model& model, absl::string_view glob) {
  return absl::c_any_of(model->graph(0).inputs, [&](ValueId id) {
    return !model->value(id).initializer && MatchesGlob(glob, model->value(id).name);
  });
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

// Gives a parameter the number that a part has, in its line. In quotes: it is given, not assumed.
void SetParameter(const std::string& name, int64_t number, absl::string_view from,
                  std::string* parameters) {
  std::vector<std::string> lines = absl::StrSplit(*parameters, '\n');
  for (std::string& line : lines) {
    if (!absl::StartsWith(line, name + " = ")) continue;
    line = absl::StrCat(name, " = ", TomlText(absl::StrCat(number)), "  # fixed by the export of ",
                        from);
  }
  *parameters = absl::StrJoin(lines, "\n");
}

class FolderReader {
 public:
  FolderReader(const std::string& folder, const std::string& from, const Layout& layout)
      : folder_(folder),
        from_(from),
        layout_(layout),
        marker_(layout.marker[0] == '\0' ? nlohmann::json(nullptr) : JsonIn(folder, layout.marker)),
        class_(ClassOf(folder)),
        scales_(ScalesOf(folder, class_.is_video)),
        beams_(IsGenAi() ? BeamsIn(marker_) : 1),
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
    RETURN_IF_ERROR(CheckConfiguration());
    for (const PartRule& part : layout_.parts) {
      const std::string file = FileOf(part);
      if (file.empty()) continue;
      ASSIGN_OR_RETURN(const std::string stage, StageOf(part, file));
      absl::StrAppend(&stages, stage);
      taken.push_back(absl::StrCat(Escaped(file), " is ", part.name));
    }
    std::string parameters = layout_.parameters;
    if (IsGenAi()) AddGenAiParameters(&parameters);
    AdaptParameters(stages, &parameters);
    JoinSides();
    for (const auto& [name, fixed] : fixed_) {
      SetParameter(name, fixed.first, fixed.second, &parameters);
    }
    return absl::StrCat(RecognisedAs(layout_.title, taken), kAssumed,
                        "title = ", TomlText(layout_.title),
                        "\nper = ", first_tokens_ ? "\"seconds\"" : layout_.per,
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
  // A damaged one would make a size an assumed one.
  absl::Status CheckConfiguration() const {
    constexpr char kTokens[] = "max_source_positions";
    const bool is_read = absl::string_view(layout_.parts[0].files) == "encoder_model.onnx";
    if (!is_read || FirstMatch(folder_, kConfiguration).empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const nlohmann::json config, ObjectIn(folder_, kConfiguration));
    if (!config.contains(kTokens) || NumberIn(config, kTokens)) return absl::OkStatus();
    return NotWhole(absl::StrCat(folder_, "/", kConfiguration),
                    absl::StrCat(kTokens, " should be a whole number of 1 to ", kMaxConfigSize));
  }

  bool IsGenAi() const { return absl::string_view(layout_.marker) == kGenAiConfiguration; }
  bool IsDiffusion() const { return absl::string_view(layout_.marker) == kDiffusionIndex; }
  // Images and videos have one marker.
  bool IsOfOthers() const { return IsDiffusion() && layout_.is_video != class_.is_video; }

  void FindLacking() {
    for (const PartRule& part : layout_.parts) {
      if (!part.required || !FileOf(part).empty()) continue;
      std::string files = absl::StrReplaceAll(part.files, {{"|", " or "}});
      if (!absl::c_linear_search(lacking_, files)) lacking_.push_back(std::move(files));
    }
  }

  absl::Status CheckMarker() const {
    if (IsDiffusion()) return CheckDiffusionFolder(folder_, layout_);
    ASSIGN_OR_RETURN(const nlohmann::json marker, ObjectIn(folder_, layout_.marker));
    return CheckGenAi(marker);
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
    if (!IsGenAi()) {
      const bool is_left_out = IsDiffusion() && IsLeftOut(marker_, part.name);
      return is_left_out ? "" : FirstMatch(folder_, part.files);
    }
    const nlohmann::json::json_pointer at("/model/decoder/filename");
    if (!marker_.is_object() || !marker_.contains(at) || !marker_[at].is_string()) return "";
    return marker_[at].get<std::string>();
  }

  absl::StatusOr<std::string> StageOf(const PartRule& part, const std::string& file) {
    const std::string path = absl::StrCat(folder_, "/", file);
    ASSIGN_OR_RETURN(const Model model, Load(path));
    RETURN_IF_ERROR(CheckInputs(part, path, model));
    RETURN_IF_ERROR(CheckLatents(path, layout_, *model));
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
    const bool is_merged = absl::StrContains(file, "_merged");
    std::string runs = is_merged && part.runs[0] == '\0' ? "past = 0" : AdaptedRuns(part);
    if (is_merged) absl::StrReplaceAll({{"\ncopy_of = \"first token\"", ""}}, &runs);
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
    for (const auto& one : fixed) {
      const auto& [formula, number] = one;
      // One sample is broadcast to a batch that others have.
      const bool has_batch = absl::c_any_of(
          fixed, [&](const auto& other) { return other.first == one.first && other.second != 1; });
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
    texts.reserve(required.size());
    for (const auto& [formula, number] : required) {
      texts.push_back(absl::StrCat(TomlText(formula), " = ", number));
    }
    return texts.empty() ? "" : absl::StrCat("fixed = { ", absl::StrJoin(texts, ", "), " }\n");
  }

  // One formula cannot be two numbers: a batch of 2 and of 4.
  absl::Status CheckFixed(const PartRule& part, const std::string& path,
                          const std::vector<std::pair<std::string, int64_t>>& fixed) const {
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

  // The tokens that an encoder gives are those that the decoder reads, or the joiner.
  void NoteOutput(const PartRule& part, const ModelData& model) {
    const bool has_chunks = absl::StartsWith(part.files, "encoder-*.onnx");
    const bool is_encoder = has_chunks || absl::string_view(part.files) == "encoder_model.onnx";
    if (!is_encoder || model.graph(0).outputs.empty()) return;
    const Value& output = model.value(model.graph(0).outputs[0]);
    if (output.declared == nullptr || output.declared->dims.size() != 3) return;
    const int64_t tokens = output.declared->dims[1].size;
    const char* const parameter = has_chunks ? "chunk_frames" : "prompt";
    if (tokens > 0) fixed_.emplace(parameter, std::pair(tokens, "the encoder"));
  }

  // Two equal sides are one number.
  void JoinSides() {
    const auto high = fixed_.find("pixels_high"), wide = fixed_.find("pixels_wide");
    if (layout_.is_video || high == fixed_.end() || wide == fixed_.end()) return;
    fixed_.erase("resolution");  // what a square would have
    if (high->second.first != wide->second.first) return;
    fixed_.emplace("resolution", high->second);
    fixed_.erase("pixels_high");
    fixed_.erase("pixels_wide");
  }

  std::string BatchOf(const PartRule& part) const {
    const auto rule = absl::c_find_if(part.sizes, [](const SizeRule& one) {
      return one.axis == 0 && absl::string_view(one.input) == "*";
    });
    return rule == part.sizes.end() ? "" : Adapted(part, rule->formula);
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
    constexpr absl::string_view kEven[] = {"pixels_high", "pixels_wide"};
    for (const absl::string_view name : kEven) {
      if (formula != absl::StrCat("2*(", name, " // (2*scale))")) continue;
      return std::pair(std::string(name), number * scales_.pixels);
    }
    if (sides.second == "scale") return std::pair(sides.first, number * scales_.pixels);
    if (formula == kPackedLatents) {  // of a square
      const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(number))));
      if (side * side != number) return std::nullopt;
      return std::pair("resolution", side * 2 * scales_.pixels);
    }
    const bool is_name = absl::c_all_of(formula, [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
    });
    return is_name ? std::optional(std::pair(formula, number)) : std::nullopt;
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
    for (const char* const side : {"pixels_high", "pixels_wide"}) {
      if (class_.is_flux && name == "vae_decoder" && text == absl::StrCat(side, " // scale")) {
        return absl::StrCat("2*(", side, " // (2*scale))");
      }
    }
    if (first_tokens_ && name == "first token" && text == "1") return "first_tokens";
    if (beams_ > 1 && text == "answers") return "answers*beams";
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
    const std::string scheduled = ScheduleOf(folder_).runs;
    if (!layout_.is_video && !scheduled.empty()) {
      absl::StrReplaceAll(
          {{"times = \"steps\"", absl::StrCat("times = ", TomlText(kScheduledRuns))}}, &runs);
    }
    if (layout_.is_video && name == "transformer" && HasSecond()) {
      runs = "times = \"guidance*high_steps\"";
    }
    return runs;
  }

  bool HasSecond() const { return !FirstMatch(folder_, "transformer_2/model.onnx").empty(); }

  // What genai_config.json says of runs.
  void AddGenAiParameters(std::string* parameters) const {
    *parameters += PromptAndTokens(NumberIn(marker_["model"], "context_length"), kContextLength);
    if (beams_ == 1) return;
    absl::StrAppend(parameters, "beams = ", beams_, "  # search.num_beams\n");
  }

  void AdaptParameters(absl::string_view stages, std::string* parameters) const {
    const auto replace = [&](absl::string_view from, absl::string_view to) {
      absl::StrReplaceAll({{from, to}}, parameters);
    };
    const bool has_pixels = absl::StrContains(stages, "pixels_high");
    if (has_pixels) {
      // A formula is given, a number assumed.
      const char* const quote = scales_.known ? "\"" : "";
      absl::StrAppend(parameters, "scale = ", quote, scales_.pixels, quote,
                      "         # pixels of a latent",
                      scales_.known ? ", from the VAE's configuration" : "; assumed", "\n",
                      layout_.is_video ? absl::StrCat("frame_scale = ", quote, scales_.frames,
                                                      quote, "   # frames of a latent\n")
                                       : "");
    }
    if (has_pixels && !layout_.is_video) {
      *parameters += DiffusionSizes(folder_, scales_, class_.is_flux ? 128 : 0);
    }
    if (layout_.is_video && HasSecond()) *parameters += HighSteps(folder_);
    if (!layout_.is_video && absl::StrContains(stages, "text_tokens")) {
      *parameters += class_.is_flux ? "text_tokens = 512 # for Flux dev; 256 for schnell\n"
                                    : "text_tokens = 333 # for Stable Diffusion 3\n";
    }
    if (IsDiffusion()) {
      const bool is_distilled = class_.is_flux || class_.is_consistent;
      *parameters +=
          is_distilled ? absl::StrReplaceAll(kGuidance, {{"value = 2", "value = 1"}}) : kGuidance;
    }
    if (absl::StrContains(stages, "negative_prompts")) {
      *parameters += "negative_prompts = 0 # 1 if one is given: without one SDXL takes zeros\n";
    }
    // The default of the class.
    if (class_.is_flux || class_.is_sd3) {
      replace("steps = 50 ", "steps = 28 ");
    } else if (class_.is_consistent) {
      replace("steps = 50 ", "steps = 4 ");
    }
    const Schedule schedule = ScheduleOf(folder_);
    if (IsDiffusion() && !layout_.is_video && !schedule.runs.empty()) {
      absl::StrAppend(parameters, kScheduledRuns, " = ", TomlText(schedule.runs), "  # by ",
                      schedule.name, "\n");
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
  const nlohmann::json marker_;  // null without one
  const DiffusionClass class_;
  const Scales scales_;
  const int64_t beams_;
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
  std::vector<std::string> known = {kVisionTitle};
  std::string lacks;
  ASSIGN_OR_RETURN(std::string parts, DecoderPartsPipeline(folder, from));
  if (!parts.empty()) return parts;
  ASSIGN_OR_RETURN(std::string multimodal, MultimodalPipeline(folder, from));
  if (!multimodal.empty()) return multimodal;
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
  std::optional<int64_t> most;
  std::string about;
  for (const char* key : {"n_positions", "max_position_embeddings", "max_target_positions"}) {
    const auto number = NumberIn(config, key);
    if (!number) continue;
    most = number;
    about = absl::StrCat(key, " of ", kConfiguration);
  }
  std::string parameters = "answers = 1\n", later = "\"batch\" = \"answers\"";
  if (has_encoder && !text.empty()) {
    absl::StrAppend(&parameters, "prompt = 64   # tokens of the encoder\n");
  }
  if (has_encoder) {
    const std::optional<Assumed> whisper = FirstTokensOfWhisper(folder);
    const Assumed begins = whisper.value_or(Assumed{1, "the start"});
    absl::StrAppend(&parameters, "first_tokens = ", begins.number, "  # in one run; ", begins.from,
                    "\n", whisper ? kSeconds : "");
    if (!text.empty()) absl::StrAppend(&later, ", ", TomlText(text), " = \"prompt\"");
    const int64_t half = std::max<int64_t>(most.value_or(kMaxConfigSize) / 2, 1);
    absl::StrAppend(&parameters, "tokens = ", std::min<int64_t>(128, half), "\n");
  } else {
    parameters += PromptAndTokens(most, about);
  }
  const std::string first =
      has_encoder ? absl::StrCat(later, ", ", TomlText(decoded), " = \"first_tokens\"") : later;
  const std::string file = TomlText(from + kConfiguration);
  return absl::StrCat(
      "# Recognised as ", kDecoderTitle, ": ",
      has_encoder ? "the encoder and the first tokens" : "the prompt",
      ", then a run for each token.\n", kAssumed,
      "per = ", FirstTokensOfWhisper(folder) ? "\"seconds\"" : kPerToken, "\n\n[parameters]\n",
      parameters,
      "\n[[stage]]\nname = ", TomlText(has_encoder ? "encoder and first tokens" : "prompt"),
      "\nmodel = ", file, "\n", has_encoder ? "" : "new = \"prompt\"\n", "sizes = { ", first,
      " }\n\n[[stage]]\nname = \"tokens\"\nmodel = ", file, "\nfor = \"t < tokens - 1\"\npast = \"",
      has_encoder ? "first_tokens" : "prompt", " + t\"\nsizes = { ", later, " }\n");
}

}  // namespace

std::vector<std::string> FilesOfFolder(const std::string& folder) {
  std::vector<std::string> files;
  for (const char* const name : {kDiffusionIndex, kGenAiConfiguration, kConfiguration,
                                 "generation_config.json", kPipelineFile}) {
    files.push_back(absl::StrCat(folder, "/", name));
  }
  for (const std::string& name : DiffusionConfigurations()) {
    files.push_back(absl::StrCat(folder, "/", name));
  }
  for (std::string& file : MultimodalConfigurations(folder)) files.push_back(std::move(file));
  return files;
}

absl::StatusOr<std::string> WithNumbers(const std::string& text, const Bindings& numbers) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  const auto begin = absl::c_find(lines, "[parameters]"), end = absl::c_find(lines, "[[stage]]");
  std::vector<std::string> names;
  for (const auto& [name, number] : numbers) {
    bool is_known = false;
    for (auto line = begin; line < end; ++line) {
      const std::pair<absl::string_view, absl::string_view> sides =
          absl::StrSplit(*line, absl::MaxSplits(absl::ByString(" = "), 1));
      if (name == numbers.begin()->first) names.emplace_back(sides.first);
      if (sides.first != name) continue;
      is_known = true;
      constexpr absl::string_view kBounded = "{ value = ";
      const bool is_bounded = absl::StartsWith(sides.second, kBounded);
      // A comment says where the other number is from.
      *line = is_bounded ? absl::StrCat(name, " = ", kBounded, number,
                                        sides.second.substr(sides.second.find(',')))
                         : absl::StrCat(name, " = ", number);
    }
    if (is_known) continue;
    return absl::NotFoundError(absl::StrCat(Setting("dim"), ": no parameter is named ",
                                            Escaped(name), DidYouMean(name, names)));
  }
  return absl::StrJoin(lines, "\n");
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
