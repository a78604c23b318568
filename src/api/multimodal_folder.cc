// How it works. The files of the parts are found first: by the names that transformers.js and
// Optimum give them, in the folder or in its folder onnx, or by genai_config.json. Of several
// variants (_q4, _fp16) the one without a suffix is taken, else the first by name. Then each stage
// is written: open sizes become formulas over the parameters, and sizes that the export fixed are
// what the formula must be. A part that is fixed at a batch of 1 runs once for each of the batch.
// The tokens of an image come from image_tokens.h.
#include "src/api/multimodal_folder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/api/exported_folder.h"
#include "src/api/image_tokens.h"
#include "src/api/load.h"
#include "src/api/pipeline_layouts.h"
#include "src/base/glob.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace multimodal {
namespace {

constexpr char kConfig[] = "config.json";
constexpr char kProcessor[] = "preprocessor_config.json";
constexpr char kAll[] = "prompt + images*image_tokens";
constexpr char kNameStages[] = "; export it, or name the stages in a TOML file";

// A part of a pipeline, and the formulas of its sizes.
struct Part {
  std::string name, file, runs;
  std::string batch;  // the first axis of an input with several, if no rule is for it
  std::vector<SizeRule> sizes;
  std::vector<std::pair<std::string, std::string>> inner;  // sizes inside the model
  std::map<std::string, std::string> required;             // what formulas must be: values of TOML
};

struct Files {
  std::string vision, embeddings, prompt, tokens;
  std::vector<std::string> left_out;
};

bool HasInput(const ModelData& model, absl::string_view glob) {
  return absl::c_any_of(model.graph(0).inputs, [&](ValueId id) {
    return !model.value(id).initializer && MatchesGlob(glob, model.value(id).name);
  });
}

// A folder onnx has its configurations beside it.
std::string ConfigFolder(const std::string& folder) {
  constexpr absl::string_view kOnnx = "onnx";
  const bool is_onnx = folder == kOnnx || absl::EndsWith(folder, "/onnx");
  if (!is_onnx || !FirstMatch(folder, kConfig).empty()) return folder;
  const std::string parent = folder.substr(0, folder.size() - kOnnx.size());
  return parent.empty() ? "." : parent == "/" ? parent : parent.substr(0, parent.size() - 1);
}

// The file of a part of transformers.js.
std::string FileOf(const std::string& folder, absl::string_view stem) {
  return FirstMatch(folder, absl::StrCat(stem, ".onnx|onnx/", stem, ".onnx|", stem, "_*.onnx|onnx/",
                                         stem, "_*.onnx"));
}

bool IsName(absl::string_view formula) {
  return absl::c_all_of(formula, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}
bool IsNumber(absl::string_view formula) { return absl::c_all_of(formula, absl::ascii_isdigit); }

// Writes stages, and collects what their exports fixed.
class StageWriter {
 public:
  explicit StageWriter(const std::string& from) : from_(from) {}

  // `more`: lines at the end.
  void Add(const Part& part, const ModelData& model, absl::string_view more = "") {
    std::vector<std::string> sizes;
    std::set<std::string> seen, open;
    std::vector<std::pair<std::string, int64_t>> fixed;
    for (const ValueId id : model.graph(0).inputs) {
      const Value& value = model.value(id);
      if (value.initializer || value.declared == nullptr) continue;
      const absl::Span<const DeclaredDim> dims = value.declared->dims;
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        const std::string formula = FormulaOf(part, value.name, axis, dims.size());
        if (formula.empty()) continue;
        if (dims[axis].size >= 0) {
          if (!IsNumber(formula)) fixed.emplace_back(formula, dims[axis].size);
          continue;
        }
        const std::string symbol = dims[axis].name.empty()
                                       ? AxisSymbol(value.name, static_cast<int>(axis))
                                       : FileSymbol(dims[axis].name);
        if (!seen.insert(symbol).second) continue;
        open.insert(formula);
        sizes.push_back(absl::StrCat(TomlText(symbol), " = ", TomlText(formula)));
      }
    }
    for (const auto& [symbol, formula] : part.inner) {
      if (!seen.insert(symbol).second) continue;
      sizes.push_back(absl::StrCat(TomlText(symbol), " = ", TomlText(formula)));
    }
    std::string runs = part.runs;
    const std::string fixed_line = FixedLine(part, open, fixed, &runs);
    absl::StrAppend(
        &stages_, "\n[[stage]]\nname = ", TomlText(part.name),
        "\nmodel = ", TomlText(from_ + part.file), "\n", runs,
        sizes.empty() ? "" : absl::StrCat("sizes = { ", absl::StrJoin(sizes, ", "), " }\n"),
        fixed_line, more);
    taken_.push_back(absl::StrCat(Escaped(part.file), " is ", part.name));
  }

  // The file. `per`: a value of TOML. `note`: a line of comment, or "".
  std::string Text(absl::string_view title, absl::string_view per, absl::string_view note,
                   std::vector<ParameterLine> lines) const {
    std::string parameters;
    for (ParameterLine& line : lines) {
      const auto fixed = fixed_.find(line.name);
      if (fixed != fixed_.end()) {
        line.value = TomlText(absl::StrCat(fixed->second.first));  // in quotes: it is given
        line.comment = absl::StrCat("fixed by the export of ", fixed->second.second);
      }
      absl::StrAppend(&parameters, line.name, " = ", line.value,
                      line.comment.empty() ? "" : absl::StrCat("  # ", line.comment), "\n");
    }
    return absl::StrCat(RecognisedAs(title, taken_), note,
                        "# Sizes below are assumed unless a comment says otherwise.\n",
                        "title = ", TomlText(title), "\nper = ", per, "\n\n[parameters]\n",
                        parameters, stages_);
  }

  bool Uses(absl::string_view word) const { return absl::StrContains(stages_, word); }

 private:
  static std::string FormulaOf(const Part& part, absl::string_view input, size_t axis,
                               size_t rank) {
    const auto rule = absl::c_find_if(part.sizes, [&](const SizeRule& one) {
      return one.axis == static_cast<int>(axis) && MatchesGlob(one.input, input) &&
             (one.rank == 0 || one.rank == rank);
    });
    if (rule != part.sizes.end()) return rule->formula;
    return axis == 0 && rank > 1 ? part.batch : "";
  }

  // What the export fixed. `open`: formulas that it left open, to which one sample is broadcast.
  std::string FixedLine(const Part& part, const std::set<std::string>& open,
                        const std::vector<std::pair<std::string, int64_t>>& fixed,
                        std::string* runs) {
    std::map<std::string, std::string> required = part.required;
    bool is_repeated = false;
    for (const auto& [formula, number] : fixed) {
      if (number == 1 && open.contains(formula)) continue;
      if (number == 1 && formula == part.batch) {
        is_repeated = true;
        continue;
      }
      if (IsName(formula)) fixed_.emplace(formula, std::pair(number, part.name));
      required.emplace(formula, absl::StrCat(number));
    }
    if (is_repeated && !absl::StartsWith(*runs, "times")) {
      *runs = absl::StrCat("times = ", TomlText(part.batch), "\n", *runs);
    }
    std::vector<std::string> texts;
    texts.reserve(required.size());
    for (const auto& [formula, number] : required) {
      texts.push_back(absl::StrCat(TomlText(formula), " = ", number));
    }
    return texts.empty() ? "" : absl::StrCat("fixed = { ", absl::StrJoin(texts, ", "), " }\n");
  }

  const std::string& from_;
  std::string stages_;
  std::vector<std::string> taken_;
  std::map<std::string, std::pair<int64_t, std::string>> fixed_;  // parameters, and by which stage
};

class MultimodalReader {
 public:
  MultimodalReader(const std::string& folder, const std::string& from)
      : folder_(folder), config_folder_(ConfigFolder(folder)), writer_(from) {}

  absl::StatusOr<std::string> Read() {
    const nlohmann::json config = JsonIn(folder_, kGenAiConfiguration);
    if (config.is_object() && config.contains("model") && config["model"].is_object()) {
      genai_ = config["model"];
      beams_ = BeamsIn(config);
      const bool hears = TextIn(genai_, "type") == "whisper" && genai_.contains("encoder");
      if (hears) return Whisper();
      if (!genai_.contains("vision")) return "";
      ASSIGN_OR_RETURN(const Files files, FilesOfGenAi());
      return VisionLanguage(files,
                            "a vision-language model (genai_config.json of ONNX Runtime GenAI)");
    }
    ASSIGN_OR_RETURN(const std::optional<Files> files, FilesByName());
    if (!files) return "";
    return VisionLanguage(*files, "a vision-language model (transformers.js, Optimum)");
  }

 private:
  // ---- files
  absl::StatusOr<std::optional<Files>> FilesByName() const {
    Files files;
    files.vision = FileOf(folder_, "vision_encoder");
    files.embeddings = FileOf(folder_, "embed_tokens");
    files.prompt = files.tokens = FileOf(folder_, "decoder_model_merged");
    if (files.prompt.empty()) {
      files.prompt = FileOf(folder_, "decoder_model");
      files.tokens = FileOf(folder_, "decoder_with_past_model");
    }
    const bool has_text = !files.embeddings.empty() || !files.prompt.empty();
    if (files.vision.empty() || !has_text) return std::nullopt;
    if (const std::string encoder = FileOf(folder_, "encoder_model"); !encoder.empty()) {
      return NotWhole(folder_, absl::StrCat(Escaped(encoder),
                                            " reads the text and the image (as in Florence-2), "
                                            "which is not known here: name the stages in a TOML "
                                            "file"));
    }
    const std::pair<const std::string&, const char*> parts[] = {
        {files.embeddings, "embed_tokens.onnx"},
        {files.prompt, "decoder_model_merged.onnx (or decoder_model.onnx)"},
        {files.tokens, "decoder_with_past_model.onnx"}};
    for (const auto& [file, name] : parts) {
      if (!file.empty()) continue;
      return NotWhole(folder_, absl::StrCat("a vision-language model (", Escaped(files.vision),
                                            ") without ", name, kNameStages));
    }
    if (const std::string sound = FileOf(folder_, "audio_encoder"); !sound.empty()) {
      files.left_out.push_back(sound);
    }
    return files;
  }

  // The file of a part in genai_config.json.
  absl::StatusOr<std::string> Named(const char* part) const {
    const std::string file = absl::StrCat(folder_, "/", kGenAiConfiguration);
    const std::string name =
        genai_.contains(part) ? TextIn(genai_[part], "filename") : std::string();
    if (name.empty()) {
      return NotWhole(file, absl::StrCat("model.", part, ".filename should name a file",
                                         "; of a model in several files, name the stages in a "
                                         "TOML file"));
    }
    if (name[0] != '/') return name;
    return NotWhole(
        file, absl::StrCat("model.", part, ".filename should be the name of a file in the folder"));
  }

  // Other models than these parts are not counted here. Sound is only read where there is some.
  absl::Status CheckOthers(absl::Span<const absl::string_view> known) const {
    for (const auto& [name, part] : genai_.items()) {
      const bool is_model = part.is_object() && part.contains("filename");
      if (!is_model || absl::c_linear_search(known, absl::string_view(name))) continue;
      return NotWhole(absl::StrCat(folder_, "/", kGenAiConfiguration),
                      absl::StrCat("model.", Escaped(name),
                                   " is a model that is not counted here: name the stages in a "
                                   "TOML file"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Files> FilesOfGenAi() const {
    RETURN_IF_ERROR(CheckOthers({"decoder", "embedding", "vision", "speech"}));
    if (beams_ > 1) {
      return NotWhole(absl::StrCat(folder_, "/", kGenAiConfiguration),
                      absl::StrCat("search.num_beams = ", beams_,
                                   ": beams beside images are not counted here: name the stages in "
                                   "a TOML file"));
    }
    Files files;
    ASSIGN_OR_RETURN(files.prompt, Named("decoder"));
    files.tokens = files.prompt;
    ASSIGN_OR_RETURN(files.embeddings, Named("embedding"));
    ASSIGN_OR_RETURN(files.vision, Named("vision"));
    if (genai_.contains("speech")) files.left_out.emplace_back("model.speech");
    return files;
  }

  absl::StatusOr<Model> LoadPart(const std::string& file, absl::string_view input,
                                 absl::string_view what) const {
    const std::string path = absl::StrCat(folder_, "/", file);
    ASSIGN_OR_RETURN(Model model, Load(path));
    if (HasInput(*model, input)) return model;
    return NotWhole(path, absl::StrCat("it has no input ", input, ", which ", what, " takes"));
  }

  // ---- vision-language models
  // A configuration; null without one.
  absl::StatusOr<nlohmann::json> ConfigurationIn(const char* name) const {
    if (FirstMatch(config_folder_, name).empty()) return nlohmann::json(nullptr);
    return ObjectIn(config_folder_, name);
  }

  absl::StatusOr<std::string> VisionLanguage(const Files& files, const char* title) {
    ASSIGN_OR_RETURN(const nlohmann::json config, ConfigurationIn(kConfig));
    ASSIGN_OR_RETURN(const nlohmann::json processor, ConfigurationIn(kProcessor));
    ASSIGN_OR_RETURN(const Model tower, LoadPart(files.vision, "pixel_values", "an image tower"));
    ASSIGN_OR_RETURN(
        const ImageSizes images,
        SizesOfImages({config_folder_, config, processor, genai_}, files.vision, tower));
    AddTower(files.vision, *tower, images);
    ASSIGN_OR_RETURN(const Model words, LoadPart(files.embeddings, "input_ids", "embed_tokens"));
    AddWords(files.embeddings, "embeddings of the prompt", "", kAll, words);
    ASSIGN_OR_RETURN(const Model prompt, LoadPart(files.prompt, "inputs_embeds", "the decoder"));
    AddDecoder(files.prompt, "prompt", absl::StrCat("new = ", TomlText(kAll), "\n"), *prompt);
    AddWords(files.embeddings, "embeddings of the tokens", kForEachToken, "1", words);
    ASSIGN_OR_RETURN(const Model tokens, LoadPart(files.tokens, "inputs_embeds", "the decoder"));
    AddDecoder(files.tokens, "tokens",
               absl::StrCat(kForEachToken, "past = ", TomlText(absl::StrCat(kAll, " + t")), "\n",
                            files.tokens == files.prompt ? "" : "copy_of = \"prompt\"\n"),
               *tokens);
    const std::optional<int64_t> most = NumberIn(genai_, "context_length");
    const int64_t half = std::max<int64_t>(most.value_or(kMaxConfigSize) / 2, 1);
    const auto bounded = [&](int64_t number) {
      return ParameterValue(std::min(number, half), most, kContextLength);
    };
    std::vector<ParameterLine> lines = {
        {"answers", "1", ""},
        {"images", "1", "of each answer"},
        {"prompt", bounded(64), "tokens of the text, and marks around images"},
        {"tokens", bounded(128), ""}};
    lines.insert(lines.end(), images.lines.begin(), images.lines.end());
    const std::string note = files.left_out.empty()
                                 ? ""
                                 : absl::StrCat("# ", Escaped(absl::StrJoin(files.left_out, ", ")),
                                                " is left out: no sound is read.\n");
    return writer_.Text(title, kPerToken, note, std::move(lines));
  }

  void AddTower(const std::string& file, const ModelData& model, const ImageSizes& images) {
    constexpr char kPixels[] = "pixel_values", kMask[] = "pixel_attention_mask";
    // One image a run: patches of several would attend to each other only in a packed batch.
    const auto has = [&](absl::string_view name) {
      return absl::c_any_of(images.lines, [&](const auto& line) { return line.name == name; });
    };
    Part part = {
        "vision",         file, images.patches.empty() ? "" : "times = \"answers*images\"\n",
        "answers*images", {},   {}};
    if (!images.tokens.empty()) part.required.emplace("image_tokens", images.tokens);
    for (const std::string& kept : images.kept) {
      part.inner.emplace_back(kept, "answers*images*tiles");
    }
    part.sizes = {{kPixels, 0, images.patches.c_str(), 2},
                  {kPixels, 1, images.patch_values.c_str(), 2},
                  {kPixels, 1, "tiles", 5},
                  {kMask, 1, "tiles", 4},
                  {"image_attention_mask", 1, "tiles"},
                  {"image_grid_thw", 0, "1"}};
    if (has("image_side")) {
      for (const auto& [input, axis, rank] : {std::tuple(kPixels, 2, 4),
                                              {kPixels, 3, 4},
                                              {kPixels, 3, 5},
                                              {kPixels, 4, 5},
                                              {kMask, 2, 4},
                                              {kMask, 3, 4},
                                              {kMask, 1, 3},
                                              {kMask, 2, 3}}) {
        part.sizes.push_back({input, axis, "image_side", static_cast<size_t>(rank)});
      }
    }
    writer_.Add(part, model, images.values);
  }

  // Files of GenAI put the tokens of images among those of the text.
  void AddWords(const std::string& file, const char* name, const char* runs, const char* tokens,
                const Model& model) {
    const bool is_prompt = absl::string_view(tokens) == kAll;
    Part part = {name, file, runs, "answers", {{"input_ids", 1, tokens}, {"audio_*", 0, "0"}}, {}};
    const std::vector<std::string> places = SizesOfNonZero(model);
    constexpr char kOfImages[] = "answers*images*image_tokens";
    if (is_prompt) {
      part.sizes.push_back({"image_features", 0, kOfImages, 2});
      part.sizes.push_back({"image_features", 0, "answers*images", 3});
      part.sizes.push_back({"image_features", 1, "image_tokens", 3});
    } else {
      part.sizes.push_back({"image_features", 0, "0"});
      part.sizes.push_back({"image_features", 1, "image_tokens", 3});
    }
    // The places of images in the text.
    if (places.size() == 1 && HasInput(*model, "image_features")) {
      part.inner.emplace_back(places[0], is_prompt ? kOfImages : "0");
    }
    writer_.Add(part, *model);
  }

  void AddDecoder(const std::string& file, const char* name, const std::string& runs,
                  const ModelData& model) {
    const bool has_past = HasInput(model, "past*");
    Part part = {name,
                 file,
                 has_past ? runs : "",
                 "answers",
                 {{"position_ids", 0, "3", 3}, {"position_ids", 1, "answers", 3}},
                 {}};
    if (!has_past) {
      part.sizes.insert(part.sizes.end(), {{"inputs_embeds", 1, kAll},
                                           {"attention_mask", 1, kAll},
                                           {"position_ids", 1, kAll, 2},
                                           {"position_ids", 2, kAll, 3}});
    }
    // 0: of all tokens.
    const bool asks = HasInput(model, "num_logits_to_keep");
    writer_.Add(part, model, asks ? "values = { num_logits_to_keep = 0 }\n" : "");
  }

  // ---- Whisper
  absl::StatusOr<std::string> Whisper() {
    RETURN_IF_ERROR(CheckOthers({"decoder", "encoder"}));
    ASSIGN_OR_RETURN(const std::string heard, Named("encoder"));
    ASSIGN_OR_RETURN(const std::string written, Named("decoder"));
    ASSIGN_OR_RETURN(const Model encoder, LoadPart(heard, "audio_features", "an encoder"));
    ASSIGN_OR_RETURN(const Model decoder, LoadPart(written, "input_ids", "a decoder"));
    writer_.Add({"encoder", heard, "", "answers", {}, {}}, *encoder);
    const std::vector<SizeRule> sizes = {{"*cross*", 2, "frames"},
                                         {"encoder_hidden_states", 1, "frames"}};
    writer_.Add({"first tokens", written, "new = \"first_tokens\"\n", "answers*beams", sizes, {}},
                *decoder);
    writer_.Add({"tokens",
                 written,
                 absl::StrCat(kForEachToken, "past = \"first_tokens + t\"\n"),
                 "answers*beams",
                 sizes,
                 {}},
                *decoder);
    constexpr int64_t kWordsOfEnglish = 51864;
    const bool is_english = NumberIn(genai_, "vocab_size") == kWordsOfEnglish;
    std::vector<ParameterLine> lines = {
        {"answers", "1", ""},
        {"tokens", "32", ""},
        {"beams", absl::StrCat(beams_), "the encoder runs once for all beams"},
        {"first_tokens", is_english ? "2" : "4",
         is_english ? "the start, no timestamps"
                    : "the start, the language, the task, no timestamps"},
        {"seconds", "\"30*answers\"", "of audio: a chunk for each answer"}};
    if (writer_.Uses("\"frames\"")) lines.push_back({"frames", "1500", "outputs of the encoder"});
    return writer_.Text("Whisper (genai_config.json of ONNX Runtime GenAI)", "\"seconds\"", "",
                        std::move(lines));
  }

  const std::string& folder_;
  const std::string config_folder_;
  nlohmann::json genai_;  // `model` of genai_config.json
  int64_t beams_ = 1;
  StageWriter writer_;
};

}  // namespace
}  // namespace multimodal

absl::StatusOr<std::string> MultimodalPipeline(const std::string& folder, const std::string& from) {
  return multimodal::MultimodalReader(folder, from).Read();
}

std::vector<std::string> MultimodalConfigurations(const std::string& folder) {
  const std::string beside = multimodal::ConfigFolder(folder);
  return {absl::StrCat(folder, "/", kGenAiConfiguration),
          absl::StrCat(beside, "/", multimodal::kConfig),
          absl::StrCat(beside, "/", multimodal::kProcessor)};
}

}  // namespace onnxflops
