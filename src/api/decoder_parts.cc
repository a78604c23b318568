// How it works. The runtime (decoder_only_pipeline.cpp of onnxruntime-genai) runs the parts one
// after another, for the prompt and for each token. It makes the inputs that `model.decoder.inputs`
// names: tokens, positions, the mask, the cache. Any other input is the output of an earlier part,
// so its sizes are those that inference finds for that output. Each part is a stage for the prompt
// and one for the tokens, unless run_on_prompt or run_on_token_gen says otherwise.
//
// With a sliding window the prompt is padded to whole windows, and the parts run once for each, at
// the same sizes: the cache has context_length - window_size tokens, whatever is in it. Only there
// is_lm_head makes a difference: such a part runs on the last window only. A run for a token then
// has a cache of context_length - 1. The batch is 1.
//
// Qwen-VL has an image tower of three models, whose patches go through one after another; so the
// prompt has the tokens of images, too. A fixed number of patches is padded to.
//
// Some exports have other files for the prompt than for the tokens, with the same weights in both:
// a part that runs on the one and a part that runs on the other, with equal initializers.
#include "src/api/decoder_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/api/analysis.h"
#include "src/api/exported_folder.h"
#include "src/api/load.h"
#include "src/api/pipeline_layouts.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/external_places.h"
#include "src/memory/kv_cache.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace decoder_parts {
namespace {

constexpr char kTitle[] = "a decoder in parts (genai_config.json of ONNX Runtime GenAI)";
constexpr char kListedType[] = "decoder-pipeline";
constexpr absl::string_view kTypesWithImages[] = {"fara", "qwen2_5_vl", "qwen3_vl"};
constexpr char kIndex[] = "t";
constexpr char kNameStages[] = ": name the stages in a TOML file";

// Sizes of a tensor; nullopt where nothing tells.
using Sizes = std::vector<std::optional<Expr>>;

// An item of the list.
struct Part {
  std::string name, file;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, std::string> renamed;  // outputs, for later parts
  bool on_prompt = true, on_tokens = true, is_head = false;
};

// A file, once for all parts that it is.
struct PartModel {
  Model model;
  std::map<std::string, Sizes> outputs;  // over the symbols of the file
  std::optional<Decoder> decoder;        // if it has a cache
};

// The prompt or the tokens.
struct Runs {
  bool is_prompt = true;
  Expr tokens, past;
};

// An output that other parts read.
struct Made {
  Sizes sizes;
  std::string by;
};

// Sizes of one stage: of open symbols, and what the export fixed.
struct StageSizes {
  Replacements open;
  std::map<std::string, int64_t> fixed;
};

struct Window {
  int64_t size = 0, context = 0;
};

bool IsSymbol(const Expr& size) {
  const std::vector<std::string> symbols = size.Symbols();
  return symbols.size() == 1 && size == Expr::Symbol(symbols[0]);
}

// True if a name is that of a template, "past_key_values.%d.key".
bool IsNamedBy(absl::string_view form, absl::string_view name) {
  constexpr absl::string_view kNumber = "%d";
  const size_t at = form.find(kNumber);
  if (at == absl::string_view::npos) return !form.empty() && form == name;
  const absl::string_view before = form.substr(0, at), after = form.substr(at + kNumber.size());
  if (name.size() <= before.size() + after.size() || !absl::StartsWith(name, before) ||
      !absl::EndsWith(name, after)) {
    return false;
  }
  return absl::c_all_of(name.substr(before.size(), name.size() - before.size() - after.size()),
                        [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

// Sizes that the file declares.
Sizes DeclaredSizes(const Value& value) {
  Sizes sizes;
  if (value.declared == nullptr) return sizes;
  for (const DeclaredDim& dim : value.declared->dims) {
    if (dim.size >= 0) {
      sizes.emplace_back(Expr(dim.size));
    } else if (!dim.name.empty()) {
      sizes.emplace_back(Expr::Symbol(FileSymbol(dim.name)));
    } else {
      sizes.emplace_back();
    }
  }
  return sizes;
}

// What inference finds for the outputs. What is wrong with the model, the count of the stage says.
PartModel Inferred(const Model& model) {
  PartModel part = {model, {}, {}};
  for (const ValueId id : model->graph(0).outputs) {
    part.outputs[std::string(model->value(id).name)] = DeclaredSizes(model->value(id));
  }
  const absl::StatusOr<Analysis> analysis = Analyze(model, {}, CausalCounting::kFull, false);
  if (!analysis.ok()) return part;
  const Inference& inference = analysis->inference;
  for (const ValueId id : inference.model->graph(0).outputs) {
    const Fact* fact = inference.FactOf(id);
    if (fact == nullptr || !fact->is_tensor() || !fact->shape.ranked()) continue;
    Sizes& sizes = part.outputs[std::string(inference.model->value(id).name)];
    sizes.assign(fact->shape.dims().begin(), fact->shape.dims().end());
  }
  if (absl::StatusOr<Decoder> decoder = FindDecoder(inference); decoder.ok()) {
    part.decoder = *std::move(decoder);
  }
  return part;
}

// A weight: its name, type and dimensions.
using Weight = std::tuple<std::string, DType, std::vector<int64_t>>;

// Sorted. Numbers of shapes are none: they may be those of a prompt or of a token.
std::vector<Weight> WeightsIn(const ModelData& model) {
  std::vector<Weight> weights;
  for (const ValueId id : model.graph(0).initializers) {
    const Value& value = model.value(id);
    if (!value.initializer) continue;
    const Tensor& tensor = model.tensor(*value.initializer);
    if (tensor.dims.size() < 2 && !IsFloat(tensor.dtype)) continue;
    weights.emplace_back(value.name, tensor.dtype,
                         std::vector<int64_t>(tensor.dims.begin(), tensor.dims.end()));
  }
  absl::c_sort(weights);
  return weights;
}

class PartsReader {
 public:
  // `config`: genai_config.json, with an object model.decoder. `in_order`: its list, with the order
  // of the file.
  PartsReader(const std::string& folder, const std::string& from, const nlohmann::json& config,
              const nlohmann::ordered_json& in_order)
      : folder_(folder),
        from_(from),
        model_(config["model"]),
        decoder_(model_["decoder"]),
        in_order_(in_order),
        beams_(BeamsIn(config)) {}

  absl::StatusOr<std::string> Read() {
    RETURN_IF_ERROR(CheckOthers());
    RETURN_IF_ERROR(ReadParts());
    RETURN_IF_ERROR(ReadWindow());
    RETURN_IF_ERROR(AddTower());
    for (const Part& part : parts_) RETURN_IF_ERROR(LoadPart(part));
    FindBatch();
    RETURN_IF_ERROR(AddRuns(OfPrompt()));
    RETURN_IF_ERROR(AddRuns(OfTokens()));
    return Text();
  }

 private:
  // ---- the configuration
  absl::Status Fault(absl::string_view key, absl::string_view why) const {
    return NotWhole(absl::StrCat(folder_, "/", kGenAiConfiguration),
                    absl::StrCat("model.", Escaped(key), " ", why));
  }
  absl::Status Wrong(absl::string_view key, const nlohmann::json& value,
                     absl::string_view should) const {
    const std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return Fault(key, absl::StrCat("= ", Escaped(text), " should be ", should));
  }
  static std::string KeyOf(absl::string_view part, absl::string_view key = "") {
    return absl::StrCat("decoder.pipeline.", part, key.empty() ? "" : ".", key);
  }

  // Only these types have a tower in parts.
  bool HasImages() const { return absl::c_linear_search(kTypesWithImages, TextIn(model_, "type")); }

  absl::Status CheckOthers() const {
    for (const auto& [name, other] : model_.items()) {
      const bool is_model =
          other.is_object() && (other.contains("filename") || other.contains("pipeline"));
      const bool is_tower = name == "vision" && other.is_object() && other.contains("pipeline");
      if (name == "decoder" || !is_model || (is_tower && HasImages())) continue;
      return Fault(name, absl::StrCat("is a model besides the decoder, which is not counted here",
                                      kNameStages));
    }
    return absl::OkStatus();
  }

  absl::Status ReadParts() {
    const nlohmann::json& list = decoder_["pipeline"];
    const nlohmann::json objects = list.is_object() ? nlohmann::json::array({list}) : list;
    constexpr char kForm[] = "a list of objects with a name for each model";
    if (!objects.is_array()) return Wrong("decoder.pipeline", list, kForm);
    for (size_t i = 0; i < objects.size(); ++i) {
      if (!objects[i].is_object()) return Wrong("decoder.pipeline", objects[i], kForm);
      const nlohmann::ordered_json& in_order = list.is_object() ? in_order_ : in_order_[i];
      for (const auto& [name, item] : in_order.items()) {
        RETURN_IF_ERROR(ReadPart(name, objects[i][name]));
      }
    }
    if (parts_.empty()) return Wrong("decoder.pipeline", list, kForm);
    RETURN_IF_ERROR(CheckLogits());
    return CheckResets(objects);
  }

  // The prompt gives the first token, and each token the next one.
  absl::Status CheckLogits() const {
    const std::string logits = NameOf("outputs", "logits", "logits");
    const Part* head = nullptr;
    bool on_prompt = false, on_tokens = false;
    for (const Part& part : parts_) {
      if (!absl::c_linear_search(part.outputs, logits)) continue;
      head = &part;
      on_prompt = on_prompt || part.on_prompt;
      on_tokens = on_tokens || part.on_tokens;
    }
    const std::string named = absl::StrCat(Quoted(logits), " (outputs.logits)");
    if (head == nullptr) {
      return Fault("decoder.pipeline", absl::StrCat("has no model with the output ", named));
    }
    if (on_prompt && on_tokens) return absl::OkStatus();
    return Wrong(KeyOf(head->name, on_prompt ? "run_on_token_gen" : "run_on_prompt"), false,
                 absl::StrCat("true: no other model gives ", named, " on ",
                              on_prompt ? "the tokens" : "the prompt"));
  }

  absl::StatusOr<std::string> FileOf(const nlohmann::json& item, absl::string_view key) const {
    if (!item.is_object()) return Wrong(key, item, "an object with a filename");
    std::string file = TextIn(item, "filename");
    if (!file.empty() && file[0] != '/' && !absl::StrContains(file, "..")) return file;
    return Wrong(absl::StrCat(key, ".filename"), item.value("filename", nlohmann::json()),
                 "the name of a file in the folder");
  }

  absl::Status ReadPart(const std::string& name, const nlohmann::json& item) {
    Part part;
    part.name = name;
    ASSIGN_OR_RETURN(part.file, FileOf(item, KeyOf(name)));
    RETURN_IF_ERROR(SetNames(item, name, "inputs", &part.inputs));
    RETURN_IF_ERROR(SetNames(item, name, "outputs", &part.outputs));
    RETURN_IF_ERROR(SetRenamed(item, &part));
    RETURN_IF_ERROR(SetFlag(item, name, "run_on_prompt", &part.on_prompt));
    RETURN_IF_ERROR(SetFlag(item, name, "run_on_token_gen", &part.on_tokens));
    RETURN_IF_ERROR(SetFlag(item, name, "is_lm_head", &part.is_head));
    if (!part.on_prompt && !part.on_tokens) {
      return Wrong(KeyOf(name, "run_on_token_gen"), false,
                   "true, or run_on_prompt: the model never runs");
    }
    for (const Part& other : parts_) {
      if (other.name == name) return Fault(KeyOf(name), "is there twice: give each model a name");
    }
    parts_.push_back(std::move(part));
    return absl::OkStatus();
  }

  absl::Status SetFlag(const nlohmann::json& item, absl::string_view part, const char* key,
                       bool* flag) const {
    const auto value = item.find(key);
    if (value == item.end()) return absl::OkStatus();
    if (!value->is_boolean()) return Wrong(KeyOf(part, key), *value, "true or false");
    *flag = value->get<bool>();
    return absl::OkStatus();
  }

  absl::Status SetNames(const nlohmann::json& item, absl::string_view part, const char* key,
                        std::vector<std::string>* names) const {
    const auto value = item.find(key);
    constexpr char kForm[] = "a list of names";
    if (value == item.end()) return Wrong(KeyOf(part, key), nullptr, kForm);
    if (!value->is_array()) return Wrong(KeyOf(part, key), *value, kForm);
    for (const nlohmann::json& name : *value) {
      if (!name.is_string()) return Wrong(KeyOf(part, key), name, kForm);
      names->push_back(name.get<std::string>());
    }
    return absl::OkStatus();
  }

  absl::Status SetRenamed(const nlohmann::json& item, Part* part) const {
    constexpr char kKey[] = "output_names_forwarder";
    const auto value = item.find(kKey);
    if (value == item.end()) return absl::OkStatus();
    const bool is_right =
        value->is_object() && absl::c_all_of(*value, [](const auto& to) { return to.is_string(); });
    if (!is_right) {
      return Wrong(KeyOf(part->name, kKey), *value, "an object of names");
    }
    part->renamed = value->get<std::map<std::string, std::string>>();
    return absl::OkStatus();
  }

  // A part may unload another: the runtime takes its number.
  absl::Status CheckResets(const nlohmann::json& objects) {
    constexpr char kKey[] = "reset_session_idx";
    for (const nlohmann::json& object : objects) {
      for (const auto& [name, item] : object.items()) {
        const auto value = item.find(kKey);
        if (value == item.end()) continue;
        const bool is_known = value->is_number_integer() && *value >= -1 &&
                              *value < static_cast<int64_t>(parts_.size());
        if (!is_known) {
          return Wrong(KeyOf(name, kKey), *value,
                       absl::StrCat("-1, or the number of a model: 0 to ", parts_.size() - 1));
        }
        unloads_ = unloads_ || *value >= 0;
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadWindow() {
    const auto found = decoder_.find("sliding_window");
    if (found == decoder_.end() || found->is_null()) return absl::OkStatus();
    const std::string at = "decoder.sliding_window";
    if (!found->is_object()) return Wrong(at, *found, "an object with a window_size");
    for (const char* const key : {"slide_inputs", "slide_key_value_cache"}) {
      const auto flag = found->find(key);
      if (flag == found->end() || *flag == true) continue;
      return Wrong(absl::StrCat(at, ".", key), *flag,
                   absl::StrCat("true to be counted here", kNameStages));
    }
    const auto size = found->find("window_size");
    const int64_t tokens = NumberIn(*found, "window_size").value_or(0);
    if (tokens < 2) {
      return Wrong(absl::StrCat(at, ".window_size"),
                   size == found->end() ? nlohmann::json() : *size, "a whole number of 2 or more");
    }
    const int64_t context = NumberIn(model_, "context_length").value_or(0);
    if (context < 2 * tokens) {
      return Wrong("context_length", model_.value("context_length", nlohmann::json()),
                   absl::StrCat("a whole number, at least two windows of ", tokens,
                                " (decoder.sliding_window.window_size)"));
    }
    if (beams_ > 1) {
      return NotWhole(absl::StrCat(folder_, "/", kGenAiConfiguration),
                      absl::StrCat("search.num_beams = ", beams_,
                                   " should be 1: beams with model.decoder.sliding_window are not "
                                   "counted here",
                                   kNameStages));
    }
    window_ = Window{tokens, context};
    return absl::OkStatus();
  }

  // The name of an input or output: `side` of the decoder, or the default.
  std::string NameOf(const char* side, const char* key, const char* otherwise) const {
    const auto names = decoder_.find(side);
    const std::string name = names == decoder_.end() ? "" : TextIn(*names, key);
    return name.empty() ? otherwise : name;
  }
  bool Is(const char* key, const char* otherwise, absl::string_view input) const {
    return IsNamedBy(NameOf("inputs", key, otherwise), input);
  }

  // ---- the image tower: three models, which the runtime calls by these names
  absl::Status AddTower() {
    const auto vision = model_.find("vision");
    const bool has_tower = vision != model_.end() && vision->is_object();
    if (!has_tower || !vision->contains("pipeline")) return absl::OkStatus();
    if (window_) {
      return Fault("decoder.sliding_window",
                   absl::StrCat("beside an image tower is not counted here", kNameStages));
    }
    const int64_t merge = NumberIn(*vision, "spatial_merge_size").value_or(2);
    image_tokens_ = absl::StrCat("patches // ", merge * merge);
    Expr rows = Expr::Symbol("patches");
    for (const char* const name : {"patch_embed", "vision_attn", "patch_merger"}) {
      const std::string key = absl::StrCat("vision.pipeline.", name);
      ASSIGN_OR_RETURN(const std::string file, FileOf(TowerPart((*vision)["pipeline"], name), key));
      RETURN_IF_ERROR(AddTowerPart(name, file, &rows));
    }
    return absl::OkStatus();
  }
  static nlohmann::json TowerPart(const nlohmann::json& list, const char* name) {
    if (list.is_object()) return list.value(name, nlohmann::json());
    for (const nlohmann::json& object : list) {
      if (object.is_object() && object.contains(name)) return object[name];
    }
    return nullptr;
  }

  // `rows`: patches that the part before gives.
  absl::Status AddTowerPart(const std::string& name, const std::string& file, Expr* rows) {
    const Part part = {name, file, {}, {}, {}};
    const bool is_attention = name == "vision_attn";
    ASSIGN_OR_RETURN(const Model model, Load(PathOf(part)));
    StageSizes sizes;
    int64_t inputs = 0;
    for (const ValueId id : model->graph(0).inputs) {
      const Value& value = model->value(id);
      if (value.initializer || value.declared == nullptr) continue;
      const size_t rank = value.declared->dims.size();
      if (++inputs > 1 || rank < 2) {
        return NotWhole(PathOf(part), absl::StrCat(Quoted(value.name), ": the runtime gives ", name,
                                                   " one input, of patches and their numbers"));
      }
      Sizes given(rank, Expr(1));
      given[rank - 1] = std::nullopt;
      const int64_t fixed = value.declared->dims[rank - 2].size;
      if (is_attention && fixed > 0 && (!rows->is_literal() || *rows < Expr(fixed))) {
        fixed_.emplace("patches", std::pair(fixed, name));  // as many at most: others are padding
        *rows = Expr(fixed);
      }
      given[rank - 2] = *rows;
      RETURN_IF_ERROR(FillInput(part, value, {given, ""}, &sizes));
      if (!sizes.fixed.empty()) *rows = Expr(fixed);
    }
    WriteStage(name, file, "times = \"answers*images\"\n", sizes);
    return absl::OkStatus();
  }

  // ---- models
  absl::Status LoadPart(const Part& part) {
    const std::string path = PathOf(part);
    if (!models_.contains(part.file)) {
      ASSIGN_OR_RETURN(const Model model, Load(path));
      models_.emplace(part.file, Inferred(model));
    }
    const PartModel& loaded = models_.at(part.file);
    std::vector<std::string> has;
    for (const ValueId id : loaded.model->graph(0).inputs) {
      const Value& value = loaded.model->value(id);
      has.emplace_back(value.name);
      if (value.initializer || absl::c_linear_search(part.inputs, value.name)) continue;
      return NotWhole(
          path, absl::StrCat("its input ", Quoted(value.name), " is not in model.",
                             Escaped(KeyOf(part.name, "inputs")), " of ", kGenAiConfiguration));
    }
    for (const std::string& name : part.inputs) {
      if (absl::c_linear_search(has, name)) continue;
      return Fault(KeyOf(part.name, "inputs"),
                   absl::StrCat("has ", Quoted(name), ", which is no input of ", Escaped(path)));
    }
    for (const std::string& name : part.outputs) {
      if (loaded.outputs.contains(name)) continue;
      return Fault(KeyOf(part.name, "outputs"),
                   absl::StrCat("has ", Quoted(name), ", which is no output of ", Escaped(path)));
    }
    return absl::OkStatus();
  }
  std::string PathOf(const Part& part) const { return absl::StrCat(folder_, "/", part.file); }

  // A batch that an export fixed at 1: all parts run once for each answer.
  void FindBatch() {
    batch_ = window_ ? Expr(1) : Expr::Symbol("answers");
    if (beams_ > 1) batch_ = batch_ * Expr::Symbol("beams");
    if (window_) return;
    const Runs runs = OfPrompt();
    for (const auto& [file, part] : models_) {
      for (const ValueId id : part.model->graph(0).inputs) {
        const Sizes declared = DeclaredSizes(part.model->value(id));
        const auto given = Given(part.model->value(id).name, declared.size(), runs);
        if (!given) continue;
        for (size_t axis = 0; axis < std::min(given->size(), declared.size()); ++axis) {
          if ((*given)[axis] != batch_ || declared[axis] != Expr(1)) continue;
          batch_ = 1;
          return;
        }
      }
    }
  }

  // ---- runs
  // Tokens of the prompt. Those of images stand among those of the text.
  Expr Prompt() const {
    Expr text = Expr::Symbol("prompt");
    if (image_tokens_.empty()) return text;
    return text + Expr::Symbol("images") * Expr::Symbol("image_tokens");
  }
  Runs OfPrompt() const {
    if (!window_) return {true, Prompt(), 0};
    return {true, window_->size, window_->context - window_->size};
  }
  Runs OfTokens() const {
    if (!window_) return {false, 1, Prompt() + Expr::Symbol(kIndex)};
    return {false, 1, window_->context - 1};
  }

  std::optional<Expr> Number(const char* key) const {
    const std::optional<int64_t> size = NumberIn(decoder_, key);
    return size ? std::optional<Expr>(*size) : std::nullopt;
  }
  // Of keys or of values. With a window the runtime has the keys transposed.
  Sizes SizesOfCache(bool is_key, const Expr& length) const {
    const std::optional<Expr> heads = Number("num_key_value_heads"), width = Number("head_size");
    if (!window_) return {batch_, heads, length, width};
    return is_key ? Sizes{heads, Expr(1), width, length} : Sizes{heads, Expr(1), length, width};
  }

  // The sizes of an input that the runtime makes; nullopt for another.
  std::optional<Sizes> Given(absl::string_view input, size_t rank, const Runs& runs) const {
    constexpr size_t kOfImages = 3;  // rank of positions: time, height and width
    if (Is("input_ids", "input_ids", input)) return Sizes{batch_, runs.tokens};
    if (Is("position_ids", "position_ids", input)) {
      return rank == kOfImages ? Sizes{Expr(3), batch_, runs.tokens} : Sizes{batch_, runs.tokens};
    }
    if (Is("attention_mask", "attention_mask", input)) {
      return Sizes{batch_, window_ ? Expr(window_->context) : runs.past + runs.tokens};
    }
    const bool is_key = Is("past_key_names", "past_key_values.%d.key", input);
    if (is_key || Is("past_value_names", "past_key_values.%d.value", input)) {
      return SizesOfCache(is_key, runs.past);
    }
    if (Is("past_names", "", input)) {  // keys and values
      return Sizes{Expr(2), batch_, Number("num_key_value_heads"), runs.past, Number("head_size")};
    }
    for (const char* const key :
         {"past_sequence_length", "current_sequence_length", "total_sequence_length"}) {
      if (Is(key, key, input)) return Sizes(rank, Expr(1));
    }
    return std::nullopt;
  }

  // The sizes of an output that is the cache; nullopt for another.
  std::optional<Sizes> Returned(absl::string_view output, const Runs& runs) const {
    const bool is_key = IsNamedBy(NameOf("outputs", "present_key_names", "present.%d.key"), output);
    if (is_key || IsNamedBy(NameOf("outputs", "present_value_names", "present.%d.value"), output)) {
      return SizesOfCache(is_key, window_ ? runs.tokens : runs.past + runs.tokens);
    }
    return std::nullopt;
  }

  absl::Status AddRuns(const Runs& runs) {
    std::map<std::string, Made> made;
    for (const Part& part : parts_) {
      if (!(runs.is_prompt ? part.on_prompt : part.on_tokens)) continue;
      const std::string input = Missing(part, runs, made);
      if (!input.empty()) {
        return Fault(KeyOf(part.name, "inputs"),
                     absl::StrCat("has ", Quoted(input), ", which no model before it makes on ",
                                  OfRuns(runs), ", and decoder.inputs does not name"));
      }
      RETURN_IF_ERROR(AddStage(part, runs, &made));
    }
    return absl::OkStatus();
  }
  static const char* OfRuns(const Runs& runs) {
    return runs.is_prompt ? "the prompt" : "the tokens";
  }

  // An input that nothing makes so far, or "".
  std::string Missing(const Part& part, const Runs& runs,
                      const std::map<std::string, Made>& made) const {
    for (const std::string& input : part.inputs) {
      if (!made.contains(input) && !Given(input, 0, runs)) return input;
    }
    return "";
  }

  // ---- stages
  absl::Status AddStage(const Part& part, const Runs& runs, std::map<std::string, Made>* made) {
    const PartModel& loaded = models_.at(part.file);
    StageSizes sizes;
    for (const ValueId id : loaded.model->graph(0).inputs) {
      const Value& value = loaded.model->value(id);
      if (value.initializer || value.declared == nullptr || !value.declared->has_shape) continue;
      const std::string name(value.name);
      const std::optional<Sizes> given = Given(name, value.declared->dims.size(), runs);
      const Made source = given ? Made{*given, ""} : made->at(name);
      RETURN_IF_ERROR(FillInput(part, value, source, &sizes));
    }
    FillCache(part, loaded, runs, &sizes.open);
    NoteOutputs(part, loaded, sizes, made);
    const std::string step = StepOf(loaded, runs, &sizes.open);
    WriteStage(absl::StrCat(part.name, " of ", OfRuns(runs)), part.file,
               absl::StrCat(TimesOf(part, runs), step, WeightsOf(part)), sizes);
    return absl::OkStatus();
  }

  // The line of a part for tokens whose weights another file has for the prompt: copies, or the
  // same bytes outside of both.
  std::string WeightsOf(const Part& part) {
    if (part.on_prompt) return "";
    const std::vector<Weight> weights = WeightsIn(*models_.at(part.file).model);
    for (const Part& other : parts_) {
      if (other.on_tokens || other.file == part.file || weights.empty()) continue;
      if (WeightsIn(*models_.at(other.file).model) != weights) continue;
      if (!copied_.insert(other.name).second) continue;
      return absl::StrCat(IsOutside(part, other, weights) ? "weights" : "copy_of", " = ",
                          TomlText(absl::StrCat(other.name, " of the prompt")), "\n");
    }
    return "";
  }
  bool IsOutside(const Part& part, const Part& other, const std::vector<Weight>& weights) const {
    const auto places = ExternalPlaces(PathOf(part)), others = ExternalPlaces(PathOf(other));
    const auto path = [&](const Part& of, const ExternalPlace& place) {
      return (std::filesystem::path(PathOf(of)).parent_path() / place.first).lexically_normal();
    };
    return absl::c_all_of(weights, [&](const Weight& weight) {
      const auto own = places.find(std::get<0>(weight)), its = others.find(std::get<0>(weight));
      return own != places.end() && its != others.end() &&
             own->second.second == its->second.second &&
             path(part, own->second) == path(other, its->second);
    });
  }

  absl::Status FillInput(const Part& part, const Value& value, const Made& source,
                         StageSizes* sizes) const {
    const absl::Span<const DeclaredDim> dims = value.declared->dims;
    const bool is_known = source.by.empty() || !source.sizes.empty();
    if (is_known && source.sizes.size() != dims.size()) {
      return NotWhole(PathOf(part),
                      absl::StrCat(Quoted(value.name), " has ", dims.size(), " axes, and ",
                                   Source(source), " gives ", source.sizes.size()));
    }
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const std::optional<Expr> size = is_known ? source.sizes[axis] : std::nullopt;
      RETURN_IF_ERROR(FillAxis(part, value, axis, size, source, sizes));
    }
    return absl::OkStatus();
  }
  static std::string Source(const Made& source) {
    return source.by.empty() ? "the runtime" : absl::StrCat("the output of ", Escaped(source.by));
  }

  absl::Status FillAxis(const Part& part, const Value& value, size_t axis,
                        const std::optional<Expr>& size, const Made& source,
                        StageSizes* sizes) const {
    const DeclaredDim& dim = value.declared->dims[axis];
    const std::string where = absl::StrCat("axis ", axis, " of ", Quoted(value.name));
    const auto fault = [&](absl::string_view why) { return NotWhole(PathOf(part), why); };
    if (dim.size >= 0) {
      if (!size || *size == Expr(dim.size)) return absl::OkStatus();
      const std::string shown = size->Shortened(100);
      if (size->is_literal() || absl::c_linear_search(size->Symbols(), kIndex)) {
        return fault(absl::StrCat("the export fixed ", where, " at ", dim.size, ", and ",
                                  Source(source), " gives ", shown));
      }
      const int64_t first = sizes->fixed.emplace(size->ToString(), dim.size).first->second;
      if (first == dim.size) return absl::OkStatus();
      return fault(absl::StrCat("the export fixed ", shown, " at ", first, " and at ", dim.size));
    }
    if (!size && source.by.empty()) return absl::OkStatus();  // a width: it stays open
    if (!size) {
      return fault(absl::StrCat(where, " is open, and ", Source(source), " does not tell its size",
                                kNameStages));
    }
    const std::string symbol =
        dim.name.empty() ? AxisSymbol(value.name, static_cast<int>(axis)) : FileSymbol(dim.name);
    const Expr& first = sizes->open.emplace(symbol, *size).first->second;
    if (first == *size) return absl::OkStatus();
    return fault(absl::StrCat(where, " is ", Escaped(QuotedSymbol(symbol)), ", which would be ",
                              first.Shortened(60), " and ", size->Shortened(60), kNameStages));
  }

  // Sizes inside the model that the contents of an input decide, as the length of all tokens, if
  // they are sizes of the cache that goes out: the runtime makes that.
  void FillCache(const Part& part, const PartModel& loaded, const Runs& runs,
                 Replacements* open) const {
    for (const std::string& output : part.outputs) {
      const Sizes& found = loaded.outputs.at(output);
      const std::optional<Sizes> given = Returned(output, runs);
      if (!given || given->size() != found.size()) continue;
      for (size_t axis = 0; axis < found.size(); ++axis) {
        if (found[axis] && (*given)[axis]) SetUnknown(*found[axis], *(*given)[axis], open);
      }
    }
  }
  // Sets the one symbol of `found` that is not known, if `found` then has the size.
  static void SetUnknown(const Expr& found, const Expr& size, Replacements* open) {
    std::vector<std::string> unknown;
    for (std::string& symbol : found.Symbols()) {
      if (!open->contains(symbol)) unknown.push_back(std::move(symbol));
    }
    if (unknown.size() != 1) return;
    Replacements all = *open;
    all.emplace(unknown[0], size);
    if (found.Replace(all) == size) open->emplace(unknown[0], size);
  }

  // Sizes of the outputs, for later parts.
  static void NoteOutputs(const Part& part, const PartModel& loaded, const StageSizes& sizes,
                          std::map<std::string, Made>* made) {
    constexpr size_t kMostBytes = 1000;  // of a formula in the file
    Replacements known = sizes.open;
    if (loaded.decoder) {
      for (const auto& [symbol, size] : loaded.decoder->known) known.emplace(symbol, Expr(size));
    }
    for (const std::string& output : part.outputs) {
      Sizes found = loaded.outputs.at(output);
      for (std::optional<Expr>& size : found) {
        const bool is_told = size && absl::c_all_of(size->Symbols(), [&](const auto& s) {
                               return known.contains(s);
                             });
        if (is_told) size = size->Replace(known);
        if (!is_told || size->error() != nullptr || size->TextBytes(kMostBytes) > kMostBytes) {
          size = std::nullopt;
        }
      }
      const auto renamed = part.renamed.find(output);
      (*made)[renamed == part.renamed.end() ? output : renamed->second] = {std::move(found),
                                                                           part.name};
    }
  }

  void WriteStage(const std::string& name, const std::string& file, absl::string_view runs,
                  const StageSizes& sizes) {
    std::vector<std::string> open, fixed;
    for (const auto& [symbol, size] : sizes.open) {
      open.push_back(absl::StrCat(TomlText(symbol), " = ", TomlText(size.ToString())));
    }
    for (const auto& [formula, number] : sizes.fixed) {
      fixed.push_back(absl::StrCat(TomlText(formula), " = ", number));
      fixed_.emplace(formula, std::pair(number, name));
    }
    const auto table = [](const char* key, const std::vector<std::string>& items) {
      return items.empty() ? "" : absl::StrCat(key, " = { ", absl::StrJoin(items, ", "), " }\n");
    };
    absl::StrAppend(&stages_, "\n[[stage]]\nname = ", TomlText(name),
                    "\nmodel = ", TomlText(from_ + file), "\n", runs, table("sizes", open),
                    table("fixed", fixed));
    taken_.push_back(absl::StrCat(Escaped(file), " is ", Escaped(name)));
  }

  // How often a part runs.
  std::string TimesOf(const Part& part, const Runs& runs) const {
    std::vector<std::string> times;
    if (batch_ == Expr(1)) times.emplace_back(beams_ > 1 ? "answers*beams" : "answers");
    if (window_ && runs.is_prompt && !part.is_head) times.emplace_back("windows");
    return absl::StrCat(
        times.empty() ? "" : absl::StrCat("times = \"", absl::StrJoin(times, "*"), "\"\n"),
        runs.is_prompt ? "" : kForEachToken);
  }

  // The lines `new` and `past` of a part with a cache, and no sizes that follow from them.
  static std::string StepOf(const PartModel& loaded, const Runs& runs, Replacements* open) {
    if (!loaded.decoder) return "";
    const Decoder& decoder = *loaded.decoder;
    const auto is = [&](const Expr& dim, const Expr& size) {
      return IsSymbol(dim) && open->contains(dim.ToString()) && open->at(dim.ToString()) == size;
    };
    if (!is(decoder.tokens, runs.tokens) || !is(decoder.length, runs.past)) return "";
    const auto drop = [&](const std::string& symbol, const Expr& size) {
      const auto found = open->find(symbol);
      if (found != open->end() && found->second == size) open->erase(found);
    };
    for (const std::string& symbol : decoder.total) drop(symbol, runs.past + runs.tokens);
    for (const std::string& symbol : decoder.equal) drop(symbol, runs.tokens);
    drop(decoder.tokens.ToString(), runs.tokens);
    drop(decoder.length.ToString(), runs.past);
    const auto line = [](const char* key, const Expr& size) {
      return absl::StrCat(key, " = ", TomlText(size.ToString()), "\n");
    };
    return absl::StrCat(runs.tokens == Expr(1) ? "" : line("new", runs.tokens),
                        runs.past.is_zero() ? "" : line("past", runs.past));
  }

  // ---- the file
  std::string Text() const {
    const char* const unloads =
        unloads_ ? "# reset_session_idx: the runtime unloads models; memory is that of all "
                   "together.\n"
                 : "";
    return absl::StrCat(
        RecognisedAs(kTitle, taken_), unloads,
        "# Sizes below are assumed unless a comment says otherwise.\ntitle = ", TomlText(kTitle),
        "\nper = ", kPerToken, "\n\n[parameters]\n", Parameters(), stages_);
  }

  std::string Parameters() const {
    const auto context = NumberIn(model_, "context_length");
    const int64_t half = std::max<int64_t>(context.value_or(kMaxConfigSize) / 2, 1);
    const auto bounded = [&](int64_t number) {
      return ParameterValue(std::min(number, half), context, kContextLength);
    };
    std::vector<std::pair<std::string, std::string>> usual = {
        {"answers", "1"}, {"prompt", bounded(512)}, {"tokens", bounded(128)}};
    if (!image_tokens_.empty()) usual.insert(usual.end(), {{"images", "1"}, {"patches", "1024"}});
    std::string lines;
    for (const auto& [name, number] : usual) {
      const auto fixed = fixed_.find(name);
      if (fixed == fixed_.end()) {
        absl::StrAppend(&lines, name, " = ", number, "\n");
      } else {
        absl::StrAppend(&lines, name, " = ", TomlText(absl::StrCat(fixed->second.first)),
                        "  # fixed by the export of ", Escaped(fixed->second.second), "\n");
      }
    }
    if (!image_tokens_.empty()) {
      absl::StrAppend(&lines, "image_tokens = ", TomlText(image_tokens_),
                      "  # of an image: spatial_merge_size\n");
    }
    if (beams_ > 1) absl::StrAppend(&lines, "beams = ", beams_, "  # search.num_beams\n");
    if (!window_) return lines;
    return absl::StrCat(lines, "windows = \"(prompt + ", window_->size - 1, ") // ", window_->size,
                        "\"  # sliding_window: the prompt in windows of ", window_->size,
                        " tokens, padded\n");
  }

  const std::string& folder_;
  const std::string& from_;
  const nlohmann::json& model_;
  const nlohmann::json& decoder_;
  const nlohmann::ordered_json& in_order_;
  const int64_t beams_;
  std::vector<Part> parts_;
  std::map<std::string, PartModel> models_;  // by file
  std::optional<Window> window_;
  Expr batch_ = 1;
  bool unloads_ = false;
  std::string image_tokens_;  // a formula; "" without images
  std::string stages_;
  std::set<std::string> copied_;    // parts for the prompt, of which others have the weights
  std::vector<std::string> taken_;  // "lm_head.onnx is lm_head of the prompt"
  std::map<std::string, std::pair<int64_t, std::string>> fixed_;  // formulas, and by which part
};

}  // namespace
}  // namespace decoder_parts

absl::StatusOr<std::string> DecoderPartsPipeline(const std::string& folder,
                                                 const std::string& from) {
  const nlohmann::ordered_json in_order = OrderedJsonIn(folder, kGenAiConfiguration);
  const nlohmann::json config = in_order;  // its keys are sorted
  const nlohmann::json::json_pointer at("/model/decoder/pipeline"), file("/model/decoder/filename");
  if (!config.is_object() || !config.contains(at) || config[at].is_null()) return "";
  // Other types of models have one file, and their list is not read.
  const std::string type = TextIn(config["model"], "type");
  const bool is_listed = type == decoder_parts::kListedType ||
                         absl::c_linear_search(decoder_parts::kTypesWithImages, type);
  if (!is_listed && config.contains(file)) return "";
  return decoder_parts::PartsReader(folder, from, config, in_order[at]).Read();
}

}  // namespace onnxflops
