#include "src/settings/sample_arguments.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/load/input_file.h"
#include "src/settings/value.h"

namespace onnxflops::settings {
namespace {

bool IsList(absl::string_view text) {
  const absl::string_view begin = absl::StripLeadingAsciiWhitespace(text);
  return begin.empty() || absl::ascii_isdigit(static_cast<unsigned char>(begin[0])) ||
         begin[0] == '[' || begin[0] == '(' || begin[0] == '-' || begin[0] == '+';
}

// "seq=512,300" -> "seq=", "512,300". A list has no name of its own.
std::pair<absl::string_view, absl::string_view> SplitSymbol(absl::string_view text) {
  if (IsList(text)) return {"", text};
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos) return {"", text};
  return {text.substr(0, equals + 1), text.substr(equals + 1)};
}

// The list itself, or what the file of that name holds.
absl::StatusOr<std::string> ListOf(absl::string_view name, absl::string_view text) {
  if (IsList(text)) return std::string(text);
  const std::string file(text);
  absl::StatusOr<std::string> held = ReadTextFile(file, kMaxSamplesBytes);
  if (!held.ok()) {
    return BadValue(name, text,
                    absl::StrCat("neither a list of sizes nor a file that can be read: ",
                                 held.status().message()));
  }
  if (held->size() > kMaxSamplesBytes) {
    return InValue(
        name, text,
        LimitError("samples-bytes", absl::StrCat("the file has more than ", kMaxSamplesBytes,
                                                 " bytes (samples-bytes)")));
  }
  const absl::string_view begin = absl::StripLeadingAsciiWhitespace(*held);
  if (begin.empty()) return BadValue(name, text, "the file is empty");
  if (begin[0] == '{') {
    return BadValue(name, text,
                    "the file has an object of JSON: it should be a list, as [512,300]");
  }
  if (absl::StrContains(*held, '\0')) {
    return BadValue(name, text, "the file is no text: it should be a list, as 512,300");
  }
  return held;
}

// Adds the sizes that `text` lists, or the file of that name. `given` is the setting's whole value.
absl::Status AddList(absl::string_view name, absl::string_view given, absl::string_view symbol,
                     absl::string_view text,
                     absl::Status (*add)(absl::string_view text, Samples* samples),
                     Samples* samples) {
  ASSIGN_OR_RETURN(const std::string list, ListOf(name, text));
  samples->file = IsList(text) ? "" : Setting(name, Quoted(given));
  return InValue(name, given, add(absl::StrCat(symbol, list), samples));
}

absl::Status AddList(absl::string_view name, absl::string_view text,
                     absl::Status (*add)(absl::string_view text, Samples* samples),
                     Samples* samples) {
  if (text.empty()) return absl::OkStatus();
  return AddList(name, text, "", text, add, samples);
}

}  // namespace

void SampleArguments::AddTo(Table* list) {
  list->AddValues("lengths", "LIST|FILE", &lengths,
                  "The length of each sample that ran, as 512,300,17 or seq=512,300,17, or a file "
                  "of them. The figures are their sum, without padding.");
  list->AddValue("cu-seqlens", "LIST|FILE", &cu_seqlens,
                 "Samples in one row: where each begins, and where the last one ends, as "
                 "0,512,812,829, or a file of it. Attention stays within samples.");
  list->AddValue("images", "LIST|FILE", &images,
                 "The height and width of each sample's image, as 336x336,672x448, or a file of "
                 "them.");
  list->AddValue("grid-thw", "LIST|FILE", &grid_thw,
                 "The patches of each sample's image or clip, as image_grid_thw of Qwen's models "
                 "has them: frames, height and width, as 1x32x46,1x20x20, or a file of them.");
  list->AddValue("audio", "LIST|FILE", &audio,
                 "The length of each sample's audio in seconds or in frames, as 12.5s,47s or "
                 "1250,4700, or a file of them. Whisper runs chunks of 30 s, padded.");
  list->AddFlag("packed", &packed,
                "The samples of {lengths} stand in one row, as those of {cu-seqlens}.");
  list->AddFlag("packed-as-row", &as_row,
                "The same, and attention takes the row as one sequence, as a kernel without "
                "cu_seqlens does.");
}

bool SampleArguments::given() const {
  return !lengths.empty() || !cu_seqlens.empty() || !images.empty() || !grid_thw.empty() ||
         !audio.empty();
}

std::vector<std::string> SampleArguments::Files() const {
  std::vector<std::string> files;
  const auto add = [&](absl::string_view text) {
    if (!IsList(text)) files.emplace_back(text);
  };
  for (const std::string& text : lengths) add(SplitSymbol(text).second);
  for (const std::string* text : {&cu_seqlens, &images, &grid_thw, &audio}) add(*text);
  return files;
}

absl::StatusOr<std::optional<Samples>> SampleArguments::Parse() const {
  if (!given()) {
    if (!packed && !as_row) return std::nullopt;
    return absl::InvalidArgumentError(WithSettings(
        "{packed on} and {packed-as-row on} are about the samples of {lengths} or {cu-seqlens}"));
  }
  Samples samples;
  if (as_row) {
    samples.layout = Samples::Layout::kOneRow;
  } else if (packed) {
    samples.layout = Samples::Layout::kPacked;
  }
  for (const std::string& given : lengths) {
    const auto [symbol, text] = SplitSymbol(given);
    RETURN_IF_ERROR(AddList("lengths", given, symbol, text, AddLengths, &samples));
  }
  RETURN_IF_ERROR(AddList("cu-seqlens", cu_seqlens, AddCuSeqlens, &samples));
  RETURN_IF_ERROR(AddList("images", images, AddImages, &samples));
  if (!images.empty() && !grid_thw.empty()) {
    return absl::InvalidArgumentError(
        WithSettings("{images} and {grid-thw} both give the sizes of images: leave one out"));
  }
  RETURN_IF_ERROR(AddList("grid-thw", grid_thw, AddGridThw, &samples));
  RETURN_IF_ERROR(AddList("audio", audio, AddAudio, &samples));
  samples.file.clear();
  return samples;
}

}  // namespace onnxflops::settings
