// How it works. The rank of pixel_values says what a tower takes: patches of one image (2), images
// (4) or tiles of images (5). The configuration gives the tokens of an image as a formula: patches
// that are merged, or squares of a tile. The tower's shapes are then inferred at the numbers of the
// parameters. Its output has a row for each token, which corrects a guess and contradicts a
// configuration that is not that of the export. Where rows depend on data (the crops of Phi-3
// vision) the configuration alone counts. Towers of tiles may leave out those that are padding: all
// tiles are counted.
#include "src/api/image_tokens.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/api/analysis.h"
#include "src/api/exported_folder.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace multimodal {
namespace {

constexpr char kGrid[] = "image_grid_thw";
constexpr int64_t kMostOfImage = int64_t{1} << 14;  // pixels, patches or channels of a side
constexpr size_t kOfPatches = 2, kOfImages = 4, kOfTiles = 5;  // ranks of pixel_values

// The sizes of an input: -1 where the export left them open. Empty without that input.
std::vector<int64_t> DimsOf(const ModelData& model, absl::string_view input) {
  std::vector<int64_t> sizes;
  for (const ValueId id : model.graph(0).inputs) {
    const Value& value = model.value(id);
    if (value.name != input || value.initializer || value.declared == nullptr) continue;
    for (const DeclaredDim& dim : value.declared->dims) sizes.push_back(dim.size);
  }
  return sizes;
}

class ImageReader {
 public:
  ImageReader(const ImageConfigurations& configurations, const std::string& file,
              const Model& tower)
      : configurations_(configurations),
        file_(file),
        tower_(tower),
        pixels_(DimsOf(*tower, "pixel_values")),
        grid_(DimsOf(*tower, kGrid)),
        vision_(Section()) {}

  absl::StatusOr<ImageSizes> Read() {
    RETURN_IF_ERROR(CheckConfiguration());
    for (const int64_t size : pixels_) {
      if (size <= kMaxConfigSize) continue;
      return NotWhole(std::string(tower_->path),
                      absl::StrCat("pixel_values has a size above ", kMaxConfigSize));
    }
    if (pixels_.size() == kOfPatches) {
      RETURN_IF_ERROR(ReadPatches());
    } else {
      RETURN_IF_ERROR(ReadSide());
      if (pixels_.size() == kOfTiles) ReadTiles();
      ReadSquares();
    }
    const std::optional<int64_t> given = Measure();
    if (given && is_known_ && *given != tokens_) {
      return NotWhole(ConfigPath(),
                      absl::StrCat(keys_, ": ", tokens_, " tokens of an image, but the output of ",
                                   Escaped(file_), " has ", *given, "; are both of one export?"));
    }
    if (given && *given != tokens_) {
      formula_ = TomlText(absl::StrCat(*given));
      keys_ = absl::StrCat("rows of the output of ", Escaped(file_));
    } else if (tokens_ == 0) {
      formula_ = "256";
      keys_ = "assumed, since neither the configuration nor the export says";
    } else {
      keys_ = absl::StrCat(keys_, " in ", ConfigFile(), given ? "; the tower gives as many" : "");
    }
    if (given) sizes_.tokens = formula_;
    AddLine("image_tokens", formula_, absl::StrCat("of an image: ", keys_));
    return std::move(sizes_);
  }

 private:
  // The part of the configuration that describes the tower.
  const nlohmann::json& Section() const {
    static const auto& nothing = *new nlohmann::json(nlohmann::json::object());
    const nlohmann::json& model = configurations_.model;
    if (model.is_object() && model.contains("vision_config")) return model["vision_config"];
    const nlohmann::json& genai = configurations_.genai;
    return genai.is_object() && genai.contains("vision") ? genai["vision"] : nothing;
  }
  bool IsOfGenAi() const {
    const nlohmann::json& model = configurations_.model;
    return !(model.is_object() && model.contains("vision_config")) &&
           configurations_.genai.is_object();
  }
  const char* ConfigFile() const { return IsOfGenAi() ? "genai_config.json" : "config.json"; }
  std::string ConfigPath() const { return absl::StrCat(configurations_.folder, "/", ConfigFile()); }

  // Damaged numbers would become assumed ones.
  absl::Status CheckConfiguration() const {
    const std::string file = ConfigPath();
    const char* const section = IsOfGenAi() ? "model.vision" : "vision_config";
    if (!vision_.is_object()) {
      return NotWhole(file, absl::StrCat(section, " should be a JSON object"));
    }
    const std::pair<const nlohmann::json*, std::vector<const char*>> keys[] = {
        {&vision_,
         {"patch_size", "spatial_merge_size", "temporal_patch_size", "in_channels", "in_chans",
          "image_size", "num_image_tokens"}},
        {&configurations_.model, {"scale_factor", "mm_tokens_per_image"}}};
    for (const auto& [object, names] : keys) {
      for (const char* name : names) {
        if (!object->is_object() || !object->contains(name)) continue;
        const nlohmann::json& value = (*object)[name];
        if (value.is_null() || SideIn(*object, name)) continue;
        return NotWhole(
            file, absl::StrCat(object == &vision_ ? section : "", object == &vision_ ? "." : "",
                               name, " should be a whole number of 1 to ", kMostOfImage));
      }
    }
    return absl::OkStatus();
  }

  // A number, or two equal ones: a square.
  static std::optional<int64_t> SideIn(const nlohmann::json& object, const char* key) {
    if (!object.is_object() || !object.contains(key)) return std::nullopt;
    const nlohmann::json& value = object[key];
    const bool is_pair = value.is_array() && value.size() == 2 && value[0] == value[1];
    const auto side = is_pair ? NumberIn({{key, value[0]}}, key) : NumberIn(object, key);
    return side && *side <= kMostOfImage ? side : std::nullopt;
  }

  void AddLine(const std::string& name, std::string value, std::string comment) {
    sizes_.lines.push_back({name, std::move(value), std::move(comment)});
  }

  // ---- what the tower takes
  // Patches of one image, whose grid decides positions and what is merged.
  absl::Status ReadPatches() {
    const std::optional<int64_t> merge = SideIn(vision_, "spatial_merge_size");
    const int64_t by = merge.value_or(1), side = SideIn(vision_, "patch_size").value_or(14);
    int64_t high = 32, wide = 32;
    std::string comment = absl::StrCat("of an image, in patches of ", side, " pixels; assumed");
    if (pixels_[0] > 0) {
      high = SideOf(pixels_[0], by);
      wide = pixels_[0] / high;
      comment = absl::StrCat("the export fixed ", pixels_[0], " patches");
    }
    patches_ = high * wide;
    high_ = high;
    wide_ = wide;
    if (grid_.size() == 2 && grid_[1] == 3) {
      AddLine("patches_high", absl::StrCat(high), comment);
      AddLine("patches_wide", absl::StrCat(wide), "");
      sizes_.patches = "patches_high*patches_wide";
      sizes_.values =
          absl::StrCat("values = { ", kGrid, " = [1, \"patches_high\", \"patches_wide\"] }\n");
    } else {
      AddLine("patches", absl::StrCat(patches_), comment);
      sizes_.patches = "patches";
    }
    if (pixels_[1] < 0) {
      const int64_t channels =
          SideIn(vision_, "in_channels").value_or(SideIn(vision_, "in_chans").value_or(3));
      const bool is_qwen = absl::StrContains(TextIn(configurations_.model, "model_type"), "qwen");
      const int64_t frames = SideIn(vision_, "temporal_patch_size").value_or(is_qwen ? 2 : 1);
      sizes_.patch_values = absl::StrCat(channels, "*", frames, "*", side, "^2");
      patch_values_ = channels * frames * side * side;
    }
    const std::string merged = by == 1 ? "" : absl::StrCat(" // ", by, "^2");
    formula_ = TomlText(absl::StrCat(sizes_.patches, merged));
    tokens_ = patches_ / (by * by);
    is_known_ = merge.has_value();
    keys_ = is_known_ ? "spatial_merge_size" : "a token for each patch, without spatial_merge_size";
    return absl::OkStatus();
  }

  // The larger of two factors is the width; the height is merged by `step`.
  static int64_t SideOf(int64_t patches, int64_t step) {
    int64_t best = 1;
    for (int64_t side = 1; side <= patches / side; ++side) {
      if (patches % side == 0 && side % step == 0 && patches / side % step == 0) best = side;
    }
    return best;
  }

  // Pixels of a side, if the export left them open.
  absl::Status ReadSide() {
    const size_t rank = pixels_.size();
    if (rank != kOfImages && rank != kOfTiles) return absl::OkStatus();
    const int64_t high = pixels_[rank - 2], wide = pixels_[rank - 1];
    const std::optional<int64_t> configured = SideIn(vision_, "image_size");
    side_ = high > 0 ? high : wide > 0 ? wide : configured.value_or(336);
    side_text_ = absl::StrCat(side_);
    is_square_ = high <= 0 || wide <= 0 || high == wide;
    if (high > 0 && wide > 0) {
      if (!is_square_) return absl::OkStatus();
      if (configured && *configured != high) {
        return NotWhole(ConfigPath(), absl::StrCat("image_size = ", *configured, ", but ",
                                                   Escaped(file_), " takes ", high, " x ", wide,
                                                   " pixels; are both of one export?"));
      }
      AddLine("image_side", absl::StrCat(high), "");  // the stage says that it is fixed
      return absl::OkStatus();
    }
    side_text_ = "image_side";
    const bool is_from = high <= 0 && wide <= 0 && configured;
    AddLine("image_side", absl::StrCat(side_),
            absl::StrCat("pixels of a side; ",
                         is_from ? absl::StrCat(ConfigFile(), ", image_size") : "assumed"));
    return absl::OkStatus();
  }

  // Tiles of an image: what its processor makes of a square, with the whole one.
  void ReadTiles() {
    int64_t tiles = 1;
    std::string comment = "of an image; assumed";
    const nlohmann::json& processor = configurations_.processor;
    const auto edge = [&](const char* key) -> std::optional<int64_t> {
      if (!processor.is_object() || !processor.contains(key)) return std::nullopt;
      return NumberIn(processor[key], "longest_edge");
    };
    const std::optional<int64_t> whole = edge("size"), tile = edge("max_image_size");
    const bool splits = processor.is_object() && processor.contains("do_image_splitting") &&
                        processor["do_image_splitting"] == true;
    if (IsPhi()) {
      tiles = NumberIn(processor, "num_crops").value_or(16) + 1;
      comment = "of an image, with the whole one: num_crops + 1";
    } else if (splits && whole && tile && *whole / *tile < 64) {
      const int64_t side = (*whole + *tile - 1) / *tile;
      tiles = side * side + 1;
      comment = absl::StrCat("of an image: ", side, " x ", side,
                             " and the whole one, by preprocessor_config.json for a square");
    }
    if (pixels_[1] > 0) {
      tiles = pixels_[1];
      comment = absl::StrCat("fixed by the export of ", Escaped(file_));
    }
    tiles_ = tiles;
    AddLine("tiles", absl::StrCat(tiles), comment);
  }

  bool IsPhi() const {
    const std::string type = TextIn(configurations_.model, "model_type");
    return type == "phi3_v" || TextIn(configurations_.genai, "type") == "phi3v";
  }

  // ---- tokens
  // Of square images and tiles.
  void ReadSquares() {
    const nlohmann::json& model = configurations_.model;
    const std::string type = TextIn(model, "model_type");
    if (IsPhi() && pixels_.size() == kOfTiles) return ReadCrops();
    if (const auto number = NumberIn(model, "mm_tokens_per_image")) {
      return Take(*number, absl::StrCat(*number), "mm_tokens_per_image", true);
    }
    if (const auto number = NumberIn(vision_, "num_image_tokens")) {
      return Take(*number, absl::StrCat(*number), "num_image_tokens", true);
    }
    const std::optional<int64_t> patch = SideIn(vision_, "patch_size");
    if (!patch || side_ == 0 || !is_square_) return;
    const int64_t patches = (side_ / *patch) * (side_ / *patch);
    const bool is_open = side_text_ == "image_side";
    const std::string squares =
        is_open ? absl::StrCat("(image_side // ", *patch, ")^2") : absl::StrCat(patches);
    if (const auto scale = NumberIn(model, "scale_factor")) {
      const int64_t of_tile = patches / (*scale * *scale);
      const std::string one =
          is_open ? absl::StrCat("(", squares, " // ", *scale, "^2)") : absl::StrCat(of_tile);
      return Take(of_tile * tiles_, absl::StrCat(pixels_.size() == kOfTiles ? "tiles*" : "", one),
                  "image_size, patch_size and scale_factor", true);
    }
    // The token of the class is not taken, unless the configuration says so.
    const bool is_clip = absl::StrContains(TextIn(vision_, "model_type"), "clip");
    const bool takes_all = TextIn(model, "vision_feature_select_strategy") == "full" && is_clip;
    const bool is_exact = type == "llava" || type == "paligemma";
    Take(patches + (takes_all ? 1 : 0),
         is_open ? absl::StrCat(squares, takes_all ? " + 1" : "")
                 : absl::StrCat(patches + (takes_all ? 1 : 0)),
         takes_all ? "image_size, patch_size and vision_feature_select_strategy"
                   : "image_size and patch_size",
         is_exact);
  }

  // In quotes, since it follows from the configuration.
  void Take(int64_t tokens, absl::string_view formula, absl::string_view keys, bool is_known) {
    tokens_ = tokens;
    formula_ = TomlText(formula);
    keys_ = std::string(keys);
    is_known_ = is_known;
  }

  // Phi-3 vision: a newline ends each row of crops and of the whole image, and a token is between.
  void ReadCrops() {
    const nlohmann::json& model = configurations_.model;
    const nlohmann::json crop =
        model.is_object() ? model.value("img_processor", nlohmann::json(nullptr)) : nullptr;
    const int64_t tokens = NumberIn(crop, "num_img_tokens").value_or(144);
    int64_t side = 1;
    while ((side + 1) * (side + 1) <= tokens) ++side;
    AddLine("crops_high", "4", "of an image; assumed");
    AddLine("crops_wide", "4", "");
    tokens_ = 17 * tokens + 1 + 5 * side;
    formula_ = TomlText(
        absl::StrCat("(crops_high*crops_wide + 1)*", tokens, " + 1 + (crops_high + 1)*", side));
    keys_ = absl::StrCat("num_img_tokens = ", tokens, ", and the ends of rows");
  }

  // ---- the tower's output
  // Rows for an image; nullopt if shapes do not tell, or depend on data.
  std::optional<int64_t> Measure() {
    const std::map<std::pair<std::string, int>, int64_t> numbers = {
        {{"pixel_values", 0}, pixels_.size() == kOfPatches ? patches_ : 1},
        {{"pixel_values", 1}, pixels_.size() == kOfPatches ? patch_values_ : tiles_}};
    CountOptions options;
    for (const ValueId id : tower_->graph(0).inputs) {
      const Value& value = tower_->value(id);
      if (value.initializer || value.declared == nullptr) continue;
      const absl::Span<const DeclaredDim> dims = value.declared->dims;
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        if (dims[axis].size >= 0) continue;
        const int place = static_cast<int>(axis);
        const auto found = numbers.find({std::string(value.name), place});
        const int64_t number = found != numbers.end() ? found->second
                               : axis == 0            ? 1
                               : axis == 1            ? tiles_
                                                      : side_;
        if (number == 0) return std::nullopt;
        options.bindings.emplace(
            dims[axis].name.empty() ? AxisSymbol(value.name, place) : FileSymbol(dims[axis].name),
            number);
      }
    }
    if (!sizes_.values.empty()) {
      options.input_values.emplace(kGrid,
                                   Content{Scalar::Int(1), Scalar::Int(high_), Scalar::Int(wide_)});
    }
    if (pixels_.size() == kOfTiles) sizes_.kept = SizesOfNonZero(tower_);
    CountOptions with_all = options;
    const int64_t images = std::max(pixels_.empty() ? 1 : pixels_[0], int64_t{1});
    for (const std::string& kept : sizes_.kept) with_all.bindings.emplace(kept, images * tiles_);
    // What is wrong with the model itself, the count of the stage says.
    absl::StatusOr<Analysis> analysis = Analyze(tower_, with_all, CausalCounting::kFull, false);
    if (!analysis.ok() && !sizes_.kept.empty()) {
      sizes_.kept.clear();
      analysis = Analyze(tower_, options, CausalCounting::kFull, false);
    }
    return analysis.ok() ? RowsOf(analysis->inference) : std::nullopt;
  }

  std::optional<int64_t> RowsOf(const Inference& inference) const {
    for (const ValueId id : inference.model->graph(0).outputs) {
      const absl::string_view name = inference.model->value(id).name;
      const bool is_only = inference.model->graph(0).outputs.size() == 1;
      const Fact* fact = inference.FactOf(id);
      if (!is_only && name != "image_features") continue;
      if (fact == nullptr || !fact->is_tensor() || !fact->shape.ranked()) return std::nullopt;
      Expr rows = 1;
      for (int i = 0; i + 1 < fact->shape.rank(); ++i) rows *= fact->shape[i];
      const std::optional<int64_t> number = rows.AsInt64();
      const int64_t images =
          pixels_.size() >= kOfImages && pixels_[0] > 0 ? pixels_[0] : int64_t{1};
      if (!number || *number <= 0 || *number % images != 0) return std::nullopt;
      return *number / images;
    }
    return std::nullopt;
  }

  const ImageConfigurations& configurations_;
  const std::string& file_;
  const Model& tower_;
  const std::vector<int64_t> pixels_, grid_;
  const nlohmann::json& vision_;
  ImageSizes sizes_;
  int64_t patches_ = 0, high_ = 0, wide_ = 0, patch_values_ = 0;
  int64_t side_ = 0, tiles_ = 1;
  bool is_square_ = true;
  std::string side_text_;
  // Of image_tokens: the formula, its number, and what they are from.
  std::string formula_, keys_;
  int64_t tokens_ = 0;
  bool is_known_ = false;
};

}  // namespace
}  // namespace multimodal

std::vector<std::string> SizesOfNonZero(const Model& model) {
  std::vector<std::string> names;
  const absl::StatusOr<Analysis> analysis = Analyze(model, {}, CausalCounting::kFull, false);
  if (!analysis.ok()) return names;
  for (const SymbolOrigin& symbol : analysis->inference.symbols) {
    if (symbol.kind != SymbolOrigin::Kind::kData) continue;
    if (absl::StartsWith(symbol.name, "nonzero(")) names.push_back(symbol.name);
  }
  return names;
}

absl::StatusOr<ImageSizes> SizesOfImages(const ImageConfigurations& configurations,
                                         const std::string& file, const Model& tower) {
  return multimodal::ImageReader(configurations, file, tower).Read();
}

}  // namespace onnxflops
