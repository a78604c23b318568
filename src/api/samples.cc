// How it works. Each list of sizes is assigned to a symbol of the model's inputs; a list without a
// name gets the only length that is open. A size that follows another one, such as the length of a
// decoder's input, gets the same list. Equal samples become one row with a count, so a batch of a
// million sequences takes only as many rows as it has different lengths.
#include "src/api/samples.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "src/api/export_notes.h"
#include "src/api/sample_list.h"
#include "src/api/sequence.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/render/format.h"
#include "src/report/samples_report.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

// " (308)", for a side of a positive size that a tower cannot cut.
std::string NearestMultiple(int64_t side, int64_t of) {
  if (side < 1 || of < 1) return "";
  return absl::StrCat(" (", std::max<int64_t>((side + of / 2) / of, 1) * of, ")");
}

// The symbols that dimensions of inputs have, each once.
std::vector<std::string> OpenSymbols(const ModelData& model) {
  std::vector<std::string> symbols;
  for (ValueId id : model.graphs[0].inputs) {
    const Value& value = model.value(id);
    if (value.initializer || value.declared == nullptr) continue;
    for (const DeclaredDim& dim : value.declared->dims) {
      if (dim.size >= 0 || dim.name.empty()) continue;
      std::vector<std::string> found = {FileSymbol(dim.name)};
      // A window keeps "min(past, 63)".
      const absl::StatusOr<Expr> formula = ParseExpr(dim.name);
      if (formula.ok() && formula->NumTerms() == 1 && formula->Symbols().size() == 1 &&
          *formula != Expr::Symbol(formula->Symbols()[0])) {
        found = formula->Symbols();
      }
      for (std::string& symbol : found) {
        if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end()) {
          symbols.push_back(std::move(symbol));
        }
      }
    }
  }
  return symbols;
}

std::string ShownSymbols(const std::vector<std::string>& symbols) {
  return absl::StrJoin(symbols, ", ", [](std::string* out, const std::string& symbol) {
    absl::StrAppend(out, Escaped(QuotedSymbol(symbol)));
  });
}

// "--lengths 'sizes.txt': line 4: sample 3: ", as far as the list has such places.
std::string PlaceText(const Samples::Origin* origin, absl::string_view item, size_t index) {
  std::string place;
  if (origin != nullptr) absl::StrAppend(&place, origin->file, ": ");
  if (origin != nullptr && index < origin->lines.size()) {
    absl::StrAppend(&place, "line ", origin->lines[index], ": ");
  }
  return absl::StrCat(place, item, " ", index + 1, ": ");
}

// The first input of images or audio; null if there is none.
const Value* FindMediaInput(const ModelData& model) {
  for (const ValueId id : model.graphs[0].inputs) {
    const Value& value = model.value(id);
    if (!value.initializer && !report::ModalityOfInput(value.name).empty()) return &value;
  }
  return nullptr;
}

class SampleFinder {
 public:
  SampleFinder(const ModelData& model, Bindings* dims)
      : model_(model), dims_(*dims), inputs_(FindInputSizes(model)), open_(OpenSymbols(model)) {
    // An input [seq, batch, width] has its samples on the second axis.
    for (const char* const name : {"batch", "batch_size"}) {
      if (std::find(open_.begin(), open_.end(), name) == open_.end()) continue;
      inputs_.batch = name;
      return;
    }
  }

  absl::StatusOr<SampleSizes> Find(const Samples& samples) {
    for (const auto& [symbol, sizes] : samples.sizes) {
      origin_ = OriginOf(samples, symbol);
      ASSIGN_OR_RETURN(const std::string found, SymbolOf(symbol));
      RETURN_IF_ERROR(Add(found, sizes));
    }
    origin_ = OriginOf(samples, Samples::kImages);
    RETURN_IF_ERROR(AddImageSizes(samples.images));
    origin_ = OriginOf(samples, Samples::kAudio);
    RETURN_IF_ERROR(AddAudioSizes(samples));
    if (columns_.empty()) return absl::InvalidArgumentError("there are no samples");
    sizes_.packed = samples.layout != Samples::Layout::kRows;
    if (HasImageParts() || sizes_.packed) RETURN_IF_ERROR(AddSizesOfAll());
    if (samples.layout == Samples::Layout::kOneRow) RETURN_IF_ERROR(CheckTextAlone());
    if (sizes_.packed) RETURN_IF_ERROR(CheckPacked(samples.layout));
    AddFollowing();
    RETURN_IF_ERROR(CheckPositions());
    RETURN_IF_ERROR(CheckNoted());
    RETURN_IF_ERROR(CheckMultiples());
    RETURN_IF_ERROR(FindCount());
    sizes_.SetRows(columns_);
    SetChunkRows();
    return std::move(sizes_);
  }

 private:
  // Whether images have sizes of their own beside the text: tiles or patches.
  bool HasImageParts() const {
    return !SizesOfImage(model_, 1, 1).empty() || !PixelDims(model_).empty();
  }

  // A size that all samples share. Beside images, texts of one length are padded like others; in a
  // packed row, each sample has a text, a cache and an image of its own.
  absl::Status AddSizesOfAll() {
    origin_ = nullptr;
    for (const std::string& symbol : sizes_.packed ? open_ : inputs_.lengths) {
      const auto given = dims_.find(symbol);
      if (given == dims_.end() || symbol == inputs_.batch) continue;
      if (sizes_.packed && !IsOfSample(symbol)) continue;
      std::vector<int64_t> sizes(columns_[0].size(), given->second);
      dims_.erase(given);
      RETURN_IF_ERROR(Add(symbol, std::move(sizes)));
    }
    return absl::OkStatus();
  }

  // A text, a cache or an image. A mask may be that of the whole row.
  bool IsOfSample(const std::string& symbol) const {
    return !IsOtherBatch(symbol) && absl::c_any_of(model_.graphs[0].inputs, [&](ValueId id) {
      const Value& value = model_.value(id);
      if (value.initializer || value.declared == nullptr) return false;
      const bool is_text =
          absl::c_linear_search(inputs_.lengths, symbol) && !absl::StrContains(value.name, "mask");
      return (is_text || absl::StartsWith(value.name, "past") ||
              !report::ModalityOfInput(value.name).empty()) &&
             absl::c_any_of(value.declared->dims, [&](const DeclaredDim& dim) {
               return dim.size < 0 && !dim.name.empty() && FileSymbol(dim.name) == symbol;
             });
    });
  }

  static const Samples::Origin* OriginOf(const Samples& samples, const std::string& list) {
    const auto found = samples.origins.find(list);
    return found == samples.origins.end() ? nullptr : &found->second;
  }

  static absl::Status At(const Samples::Origin* origin, absl::string_view item, size_t index,
                         absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(PlaceText(origin, item, index), what));
  }

  // The symbol to which a list belongs.
  absl::StatusOr<std::string> SymbolOf(const std::string& given) const {
    if (!given.empty()) {
      if (std::find(open_.begin(), open_.end(), given) != open_.end()) return given;
      std::string place = origin_ == nullptr ? "" : absl::StrCat(origin_->file, ": ");
      if (origin_ != nullptr && origin_->header > 0) {
        absl::StrAppend(&place, "line ", origin_->header, ": ");
      }
      return absl::FailedPreconditionError(
          absl::StrCat(place, "no input has an open size ", Escaped(QuotedSymbol(given)),
                       open_.empty() ? "" : absl::StrCat("; there are ", ShownSymbols(open_))));
    }
    std::vector<std::string> lengths = Unbound(inputs_.lengths);
    if (lengths.empty()) {
      // A length that is given is no reason to take another size, such as that of a cache.
      for (const std::string& symbol : inputs_.lengths) RETURN_IF_ERROR(RequireOpen(symbol));
      lengths = Unbound(open_);
      std::erase_if(lengths, [&](const std::string& symbol) { return IsOtherBatch(symbol); });
    }
    if (lengths.size() == 1) return lengths[0];
    for (const std::string& symbol : inputs_.lengths) RETURN_IF_ERROR(RequireOpen(symbol));
    if (lengths.empty()) {
      return absl::FailedPreconditionError(
          "no input leaves a length open that the samples could have");
    }
    return absl::FailedPreconditionError(
        absl::StrCat("the sizes need a name, as ", Escaped(QuotedSymbol(lengths[0])),
                     "=512,300: the inputs leave open ", ShownSymbols(lengths)));
  }

  // The first dimension of inputs without the batch: another batch, as of images beside texts. A
  // mask [seq, seq] begins with none.
  bool IsOtherBatch(const std::string& symbol) const {
    return !inputs_.batch.empty() && absl::c_any_of(model_.graphs[0].inputs, [&](ValueId id) {
      const Value& value = model_.value(id);
      if (value.initializer || value.declared == nullptr) return false;
      std::vector<std::string> dims;
      for (const DeclaredDim& dim : value.declared->dims) {
        dims.push_back(dim.size < 0 && !dim.name.empty() ? FileSymbol(dim.name) : "");
      }
      return absl::c_count(dims, symbol) == 1 && dims.size() > 1 && dims[0] == symbol &&
             !absl::c_linear_search(dims, inputs_.batch);
    });
  }

  absl::Status RequireOpen(const std::string& symbol) const {
    const auto given = dims_.find(symbol);
    if (given == dims_.end()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("{} = {} is given, and each sample has its own: leave it out",
                    Escaped(QuotedSymbol(symbol)), given->second));
  }

  // Symbols except the batch, those that --dim sets and those that follow another one.
  std::vector<std::string> Unbound(const std::vector<std::string>& symbols) const {
    std::vector<std::string> left;
    for (const std::string& symbol : symbols) {
      const auto follows = [&](const auto& pair) { return pair.first == symbol; };
      const auto followed = FollowedDims(model_);
      if (symbol == inputs_.batch || dims_.contains(symbol) ||
          std::any_of(followed.begin(), followed.end(), follows) ||
          std::find(left.begin(), left.end(), symbol) != left.end()) {
        continue;
      }
      left.push_back(symbol);
    }
    return left;
  }

  absl::Status Add(const std::string& symbol, std::vector<int64_t> sizes) {
    if (absl::c_linear_search(sizes_.symbols, symbol)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the sizes of ", Escaped(QuotedSymbol(symbol)), " are given twice"));
    }
    if (symbol == inputs_.batch) {
      return absl::InvalidArgumentError(absl::StrCat(
          Escaped(QuotedSymbol(symbol)), " is the number of samples, and no size of one"));
    }
    RETURN_IF_ERROR(RequireOpen(symbol));
    if (!columns_.empty() && columns_[0].size() != sizes.size()) {
      return absl::InvalidArgumentError(
          fmt::format("{} for {}, and {} for {}: each sample has one of each",
                      Plural(columns_[0].size(), "size"), Escaped(QuotedSymbol(sizes_.symbols[0])),
                      Plural(sizes.size(), "size"), Escaped(QuotedSymbol(symbol))));
    }
    if (sizes.size() > kMaxSamples) return TooManySamples();
    // Caches may be empty.
    const bool is_length =
        std::find(inputs_.lengths.begin(), inputs_.lengths.end(), symbol) != inputs_.lengths.end();
    const int64_t least = is_length ? 1 : 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] >= least && sizes[i] <= kMaxPromptTokens) continue;
      return At(origin_, "sample", i,
                fmt::format("{} = {}: it should be from {} to {}", Escaped(QuotedSymbol(symbol)),
                            sizes[i], least, kMaxPromptTokens));
    }
    sizes_.symbols.push_back(symbol);
    columns_.push_back(std::move(sizes));
    origins_.push_back(origin_);
    return absl::OkStatus();
  }

  // The two open sizes of an input of rank 4 are the image's, in their order.
  absl::Status AddImageSizes(const std::vector<std::pair<int64_t, int64_t>>& images) {
    if (images.empty()) return absl::OkStatus();
    if (!SizesOfImage(model_, 1, 1).empty()) return AddTiles(images);
    const SizesByDim patches = PixelDims(model_);
    if (!patches.empty()) return AddPatches(images, patches);
    for (ValueId id : model_.graphs[0].inputs) {
      const DeclaredType* type = model_.value(id).declared;
      if (type == nullptr || type->dims.size() != 4) continue;
      std::vector<std::string> open;
      for (size_t i = 1; i < type->dims.size(); ++i) {
        const DeclaredDim& dim = type->dims[i];
        if (dim.size < 0 && !dim.name.empty()) open.push_back(FileSymbol(dim.name));
      }
      if (open.size() != 2 || open[0] == open[1]) continue;
      std::vector<int64_t> heights, widths;
      for (const auto& [height, width] : images) {
        heights.push_back(height);
        widths.push_back(width);
      }
      RETURN_IF_ERROR(Add(open[0], std::move(heights)));
      return Add(open[1], std::move(widths));
    }
    return NoOpenImages();
  }

  // Why sizes of images are no sizes of this model, and what to give instead.
  absl::Status NoOpenImages() const {
    constexpr size_t kImageRank = 4;
    for (ValueId id : model_.graphs[0].inputs) {
      const Value& value = model_.value(id);
      const DeclaredType* type = value.declared;
      if (value.initializer || type == nullptr || type->dims.size() < kImageRank) continue;
      const auto sides = absl::MakeConstSpan(type->dims).last(2);
      if (sides[0].size < 1 || sides[1].size < 1) continue;
      const std::string size = absl::StrCat(sides[0].size, "x", sides[1].size);
      const std::string input = Escaped(value.name);
      for (const DeclaredDim& dim : type->dims) {
        const std::string symbol = dim.size < 0 && !dim.name.empty() ? FileSymbol(dim.name) : "";
        if (symbol.empty() || symbol == inputs_.batch) continue;
        const std::string shown = Escaped(QuotedSymbol(symbol));
        return absl::FailedPreconditionError(absl::StrCat(
            input, " takes parts of an image, each ", size, ", and the file does not tell into ",
            "how many an image is cut: give their number, as ",
            Setting("lengths", absl::StrCat(shown, "=5,3"))));
      }
      return absl::FailedPreconditionError(
          absl::StrCat(input, " takes images of one size, ", size,
                       WithSettings(", which the file fixes: leave out {images}; "
                                    "{at-image N} counts another one")));
    }
    return absl::FailedPreconditionError(
        "no input takes images whose height and width are open sizes of their own");
  }

  // Images of a model that cuts them into tiles.
  absl::Status AddTiles(const std::vector<std::pair<int64_t, int64_t>>& images) {
    std::vector<std::pair<std::string, std::vector<int64_t>>> columns;
    for (size_t i = 0; i < images.size(); ++i) {
      const auto [height, width] = images[i];
      if (std::min(height, width) < 1 || std::max(height, width) > kMaxConfigSize) {
        return At(origin_, "image", i,
                  fmt::format("{}x{}: each should be from 1 to {}", height, width, kMaxConfigSize));
      }
      for (const auto& [symbol, size] : SizesOfImage(model_, height, width)) {
        const auto same = [s = symbol](const auto& column) { return column.first == s; };
        auto column = std::find_if(columns.begin(), columns.end(), same);
        if (column == columns.end()) column = columns.insert(column, {symbol, {}});
        column->second.push_back(size);
      }
    }
    for (auto& [symbol, sizes] : columns) RETURN_IF_ERROR(Add(symbol, std::move(sizes)));
    return absl::OkStatus();
  }

  // Images of a model whose sizes count patches.
  absl::Status AddPatches(const std::vector<std::pair<int64_t, int64_t>>& images,
                          const SizesByDim& patches) {
    const SizesByDim merged = MultipleDims(model_);
    for (size_t axis = 0; axis < patches.size() && axis < 2; ++axis) {
      const auto& [symbol, pixels] = patches[axis];
      const auto same = [s = symbol](const auto& dim) { return dim.first == s; };
      const auto found = std::find_if(merged.begin(), merged.end(), same);
      const int64_t least = pixels * (found == merged.end() ? 1 : found->second);
      std::vector<int64_t> sizes;
      for (const auto& [height, width] : images) {
        const int64_t side = axis == 0 ? height : width;
        if (pixels < 1 || least < 1 || side < 1 || side % least != 0) {
          return At(origin_, "image", sizes.size(),
                    fmt::format("{}x{}: its {} should be a multiple of {}, as the processor makes "
                                "it{}",
                                height, width, axis == 0 ? "height" : "width", least,
                                NearestMultiple(side, least)));
        }
        sizes.push_back(side / pixels);
      }
      RETURN_IF_ERROR(Add(std::string(symbol), std::move(sizes)));
    }
    const std::string frames = "grid_t";
    if (dims_.contains(frames) || std::find(open_.begin(), open_.end(), frames) == open_.end()) {
      return absl::OkStatus();
    }
    return Add(frames, std::vector<int64_t>(images.size(), 1));
  }

  absl::Status AddAudioSizes(const Samples& samples) {
    if (samples.audio.empty()) return absl::OkStatus();
    const std::optional<AudioChunks> chunks = AudioChunksOf(model_);
    if (!chunks) RETURN_IF_ERROR(AudioSymbol().status());
    std::vector<int64_t> frames;
    for (const Samples::Audio& audio : samples.audio) {
      if (audio.frames == 0 && !chunks) {
        return absl::FailedPreconditionError(absl::StrCat(
            "sample ", frames.size() + 1,
            WithSettings(": its audio is given in seconds, and the file does not tell how many "
                         "frames a second has: give frames, as {audio 1250,3000}")));
      }
      // As many as the processor makes: an incomplete frame is left out.
      const absl::int128 scaled =
          absl::int128(audio.microseconds) * (chunks ? chunks->per_second : 0);
      frames.push_back(audio.frames > 0
                           ? audio.frames
                           : static_cast<int64_t>(scaled / Samples::Audio::kMicroseconds));
      if (frames.back() >= 1 && frames.back() <= kMaxPromptTokens) continue;
      return At(origin_, "sample", frames.size() - 1,
                fmt::format("its audio has {} frames: it should have from 1 to {}", frames.back(),
                            kMaxPromptTokens));
    }
    if (chunks) return AddChunks(*chunks, frames, samples.layout);
    ASSIGN_OR_RETURN(const std::string symbol, AudioSymbol());
    return Add(symbol, std::move(frames));
  }

  // The only open size of the inputs of audio.
  absl::StatusOr<std::string> AudioSymbol() const {
    std::vector<std::string> open;
    bool has_audio = false;
    for (ValueId id : model_.graphs[0].inputs) {
      const Value& value = model_.value(id);
      if (value.initializer || value.declared == nullptr) continue;
      if (report::ModalityOfInput(value.name) != "audio") continue;
      has_audio = true;
      for (const DeclaredDim& dim : value.declared->dims) {
        std::string symbol = FileSymbol(dim.name);
        if (dim.size >= 0 || dim.name.empty() || symbol == inputs_.batch) continue;
        if (std::find(open.begin(), open.end(), symbol) == open.end()) {
          open.push_back(std::move(symbol));
        }
      }
    }
    if (open.size() == 1) return open[0];
    if (!open.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the inputs of audio leave open ", ShownSymbols(open),
          ": name the one of the frames, as ",
          Setting("lengths", absl::StrCat(Escaped(QuotedSymbol(open[0])), "=1250,3000"))));
    }
    return absl::FailedPreconditionError(
        has_audio ? "the inputs of audio leave no length open: the file fixes their frames"
                  : "no input takes audio (audio..., input_features, input_values)");
  }

  // Every chunk is a row, as long as the others: the model computes on its padding too.
  absl::Status AddChunks(const AudioChunks& chunks, const std::vector<int64_t>& frames,
                         Samples::Layout layout) {
    if (layout != Samples::Layout::kRows) {
      return absl::InvalidArgumentError(WithSettings(
          "each chunk of audio is a row of its own: leave out {packed on}, {packed-as-row on} and "
          "{cu-seqlens}"));
    }
    sizes_.chunks = SampleSizes::Chunks();
    sizes_.chunks->symbol = std::string(chunks.symbol);
    sizes_.chunks->samples = static_cast<int64_t>(frames.size());
    sizes_.chunks->per_second = chunks.per_second;
    for (const int64_t all : frames) {
      sizes_.chunks->sum += all;
      if ((all - 1) / chunks.frames >= static_cast<int64_t>(kMaxSamples - filled_.size())) {
        return TooManySamples();
      }
      for (int64_t left = all; left > 0; left -= chunks.frames) {
        filled_.push_back(std::min(left, chunks.frames));
      }
    }
    if (!columns_.empty() && columns_[0].size() != filled_.size()) {
      return absl::InvalidArgumentError(fmt::format(
          "the audio of {} makes {} of {} frames, and there {} {} for {}: each chunk has a text of "
          "its own",
          Plural(frames.size(), "sample"), Plural(filled_.size(), "chunk"),
          report::GroupedDigits(chunks.frames), columns_[0].size() == 1 ? "is" : "are",
          Plural(columns_[0].size(), "size"), Escaped(QuotedSymbol(sizes_.symbols[0]))));
    }
    origin_ = nullptr;  // a sample has several chunks
    return Add(std::string(chunks.symbol), std::vector<int64_t>(filled_.size(), chunks.frames));
  }

  void SetChunkRows() {
    if (!sizes_.chunks) return;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (sizes_.symbols[c] == sizes_.chunks->symbol) columns_[c].swap(filled_);
    }
    sizes_.chunks->rows = SampleSizes::RowsOf(columns_);
  }

  absl::Status CheckMultiples() const {
    for (const auto& [symbol, of] : MultipleDims(model_)) {
      for (size_t c = 0; c < sizes_.symbols.size(); ++c) {
        if (sizes_.symbols[c] != symbol || of < 1) continue;
        for (size_t i = 0; i < columns_[c].size(); ++i) {
          if (columns_[c][i] % of == 0) continue;
          return At(origins_[c], "sample", i,
                    fmt::format("{} = {}: it should be a multiple of {}, the side of a token",
                                Escaped(symbol), columns_[c][i], of));
        }
      }
    }
    return absl::OkStatus();
  }

  void AddFollowing() {
    for (const auto& [follower, leader] : FollowedDims(model_)) {
      const std::string symbol(follower);
      const auto has = [&](absl::string_view name) {
        return std::find(sizes_.symbols.begin(), sizes_.symbols.end(), name);
      };
      const auto at = has(leader);
      if (at == sizes_.symbols.end() || has(symbol) != sizes_.symbols.end() ||
          dims_.contains(symbol) || std::find(open_.begin(), open_.end(), symbol) == open_.end()) {
        continue;
      }
      const auto from = static_cast<size_t>(at - sizes_.symbols.begin());
      std::vector<int64_t> sizes = columns_[from];
      sizes_.symbols.push_back(symbol);
      columns_.push_back(std::move(sizes));
      origins_.push_back(origins_[from]);
    }
  }

  absl::Status CheckPositions() const {
    for (const auto& [symbol, most] : MostDims(model_)) {
      for (size_t c = 0; c < sizes_.symbols.size(); ++c) {
        if (sizes_.symbols[c] != symbol) continue;
        const auto largest = std::max_element(columns_[c].begin(), columns_[c].end());
        if (*largest <= most) continue;
        return At(origins_[c], "sample", static_cast<size_t>(largest - columns_[c].begin()),
                  fmt::format("{} = {}: the configuration has positions for at most {}",
                              Escaped(symbol), *largest, most));
      }
    }
    return absl::OkStatus();
  }

  // At the sizes of each sample, since a class may take another way at a few of them.
  absl::Status CheckNoted() const {
    if (!HasNotedSizes(model_) || columns_.empty()) return absl::OkStatus();
    Bindings sizes = dims_;
    for (size_t i = 0; i < columns_[0].size(); ++i) {
      for (size_t c = 0; c < columns_.size(); ++c) sizes[sizes_.symbols[c]] = columns_[c][i];
      const absl::Status holds = CheckNotedSizes(model_, sizes);
      if (!holds.ok()) return At(origins_[0], "sample", i, holds.message());
    }
    return absl::OkStatus();
  }

  // Each sample in a row has its own sizes, so that none is left open, or assumed, for the row.
  absl::Status CheckPacked(Samples::Layout layout) const {
    const bool is_one = layout == Samples::Layout::kOneRow;
    const SizesByDim stated = AssumedDims(model_);
    for (const std::string& symbol : Unbound(is_one ? open_ : inputs_.lengths)) {
      const auto is_stated = [&](const auto& dim) { return dim.first == symbol; };
      if (absl::c_linear_search(sizes_.symbols, symbol) || !IsOfSample(symbol) ||
          absl::c_any_of(stated, is_stated)) {
        continue;
      }
      const std::string shown = Escaped(QuotedSymbol(symbol));
      return absl::InvalidArgumentError(absl::StrCat(
          "each sample in the row has a size ", shown, ", and none is given: ",
          Setting("dim", absl::StrCat(Escaped(BareName(symbol)), "=N")), " is one of all samples"));
    }
    return absl::OkStatus();
  }

  // A row as one sequence has no place for images and audio, which run apart.
  absl::Status CheckTextAlone() const {
    const Value* const media = FindMediaInput(model_);
    if (media == nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(WithSettings("{packed-as-row on} is for models that take text alone, and "),
                     Escaped(media->name), " is an input of images or audio"));
  }

  absl::Status FindCount() {
    const auto samples = static_cast<int64_t>(columns_[0].size());
    const int64_t rows = sizes_.packed ? 1 : samples;
    const std::string asked = sizes_.packed  ? "they are packed into one row"
                              : samples == 1 ? std::string("there is 1 sample")
                                             : fmt::format("there are {} samples", samples);
    if (inputs_.batch.empty()) {
      if (inputs_.batch_size.value_or(1) == 1) return absl::OkStatus();
      return absl::FailedPreconditionError(
          fmt::format("the file fixes a batch of {}: samples of different sizes need an export "
                      "with an open batch",
                      *inputs_.batch_size));
    }
    sizes_.count = inputs_.batch;
    const auto given = dims_.find(inputs_.batch);
    if (given == dims_.end()) return absl::OkStatus();
    if (given->second != rows && given->second != samples) {
      return absl::InvalidArgumentError(fmt::format("{} = {} is given, and {}: leave it out",
                                                    Escaped(QuotedSymbol(inputs_.batch)),
                                                    given->second, asked));
    }
    dims_.erase(given);
    return absl::OkStatus();
  }

  const ModelData& model_;
  Bindings& dims_;
  InputSizes inputs_;
  const std::vector<std::string> open_;
  SampleSizes sizes_;
  std::vector<std::vector<int64_t>> columns_;    // by symbol
  std::vector<const Samples::Origin*> origins_;  // the same; null for a list that was typed
  const Samples::Origin* origin_ = nullptr;      // of the list that is added
  std::vector<int64_t> filled_;                  // the frames of each chunk of audio
};

}  // namespace

std::string PlaceOfRow(const Samples& samples, const SampleSizes& sizes, size_t row) {
  std::string typed;
  for (const auto& [list, listed] : samples.sizes) {
    const auto origin = samples.origins.find(list);
    for (size_t c = 0; c < sizes.symbols.size(); ++c) {
      if (!list.empty() && list != sizes.symbols[c]) continue;
      const auto found = absl::c_find(listed, sizes.rows[row].sizes[c]);
      if (found == listed.end()) continue;
      const auto sample = static_cast<size_t>(found - listed.begin());
      if (origin != samples.origins.end()) return PlaceText(&origin->second, "sample", sample);
      // If all are of one size, each of them is at fault.
      if (typed.empty() && sizes.rows.size() > 1) typed = PlaceText(nullptr, "sample", sample);
    }
  }
  return typed;
}

bool TakesTextAlone(const ModelData& model) { return FindMediaInput(model) == nullptr; }

absl::StatusOr<SampleSizes> FindSamples(const ModelData& model, const Samples& samples,
                                        Bindings* dims) {
  absl::StatusOr<SampleSizes> found = SampleFinder(model, dims).Find(samples);
  if (found.ok()) return found;
  return WithMessage(found.status(),
                     absl::StrCat(Escaped(model.path), ": ", found.status().message()));
}

}  // namespace onnxflops
