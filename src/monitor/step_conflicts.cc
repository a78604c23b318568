// Fields of a line that cannot all be true: such a step has no utilisation, or, where a field may
// mean something else in other logs, a doubt is told.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/monitor/audio_work.h"
#include "src/monitor/image_work.h"
#include "src/monitor/monitor.h"
#include "src/monitor/record_sizes.h"
#include "src/render/format.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace monitor {
namespace {

absl::int128 SumOf(const std::vector<int64_t>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), absl::int128(0));
}

// The log's name of the lists of samples: "lengths", "cu_seqlens".
std::string ListNameOf(const StepRecord& record) {
  for (const char* const means : {"lengths", "cu_seqlens", "grid_thw"}) {
    std::string name = NameOf(record, means);
    if (!name.empty()) return name;
  }
  return "lengths";
}

// The samples by the lists of a line; nullopt without a list. Chunks of audio are not told apart.
std::optional<int64_t> ListedSamples(const StepRecord& record) {
  if (!record.audio.empty()) return std::nullopt;
  if (!record.lengths.empty()) return std::ssize(record.lengths);
  if (!record.image_counts.empty()) return std::ssize(record.image_counts);
  if (!record.grids[0].empty()) return std::ssize(record.grids[0]);
  return std::nullopt;
}

std::string BatchNameOf(const StepRecord& record) {
  std::string name = NameOf(record, "samples");
  if (!record.device_batch && !name.empty()) return name;
  return record.device_batch ? "the batch of the step" : "batch";
}

// Samples of another number than the batch; a packed row has one or more.
std::string WrongBatch(const StepRecord& record) {
  const std::optional<int64_t> listed = ListedSamples(record), batch = SamplesOf(record);
  if (!listed || !batch || *batch == *listed) return "";
  if (record.packed && *batch >= 1 && *batch < *listed) return "";
  const bool is_part = *listed < *batch && (record.device_batch || record.devices || record.runs);
  return absl::StrCat(ListNameOf(record), " has ", Plural(*listed, "sample"), ", and ",
                      BatchNameOf(record), " is ", *batch,
                      is_part ? ": it should have those of all devices and runs of the step" : "");
}

std::string ZeroBatch(const StepRecord& record) {
  if (SamplesOf(record) != 0) return "";
  const std::string name = NameOf(record, "samples");
  return absl::StrCat(name.empty() ? "batch" : name, " is 0");
}

// Samples that are longer than the rows of the batch.
std::string WrongLength(const StepRecord& record, const std::optional<int64_t>& length) {
  if (record.lengths.empty() || !length) return "";
  const auto longest = std::max_element(record.lengths.begin(), record.lengths.end());
  if (*longest > *length) {
    return absl::StrCat(ListNameOf(record), ": sample ", longest - record.lengths.begin() + 1,
                        " has ", Plural(*longest, "token"), ", and the length of the batch is ",
                        *length);
  }
  if (!record.audio.empty()) return "";  // its chunks may be more rows than the batch
  const std::optional<int64_t> batch = SamplesOf(record);
  const absl::int128 sum = SumOf(record.lengths);
  const std::optional<absl::int128> places = batch ? Times(*batch, *length) : std::nullopt;
  if (!places || sum <= *places) return "";
  return absl::StrCat(ListNameOf(record), " has ", Int128ToString(sum),
                      " tokens, more than batch x length = ", Int128ToString(*places));
}

}  // namespace
}  // namespace monitor

bool Monitor::IsLeader(const std::string& sequence) const {
  return work_.sequences.size() == 1 ||
         absl::c_any_of(work_.followers, [&](const auto& pair) { return pair.second == sequence; });
}

// Without one that others follow, the one whose size the line leaves open.
bool Monitor::HasLengths(const StepRecord& record, const std::string& sequence) const {
  if (record.lengths.empty()) return false;
  return IsLeader(sequence) || !record.sizes.contains(BareName(sequence));
}

std::optional<int64_t> Monitor::RowLengthOf(const StepRecord& record) const {
  const auto leader = absl::c_find_if(
      work_.sequences, [&](const std::string& sequence) { return IsLeader(sequence); });
  if (leader == work_.sequences.end()) return std::nullopt;
  const std::string name = BareName(*leader);
  const std::optional<int64_t> found = monitor::SizeNamed(record, {name});
  return found ? found : monitor::LengthOf(record);
}

// `mask_sum` counts the tokens of the samples. "tokens" is a vague name, which Compare doubts.
std::string Monitor::WrongTokens(const StepRecord& record) const {
  if (!record.tokens || !record.names.contains("tokens")) return "";
  const std::string name = monitor::NameOf(record, "tokens");
  if (*record.tokens == 0) return absl::StrCat(name, " is 0");
  if (!IsMaskSum(record)) return "";
  const absl::int128 tokens = *record.tokens;
  Bindings sizes = work_.bindings;
  for (const auto& [symbol, size] : record.sizes) sizes[FileSymbol(symbol)] = size;
  if (!work_.batch.empty() && monitor::SamplesOf(record)) {
    sizes[work_.batch] = *monitor::SamplesOf(record);
  }
  if (work_.sequences.size() > 1) return "";
  const std::optional<int64_t> length = RowLengthOf(record);
  if (length) sizes[work_.sequences[0]] = *length;
  StepRecord other = record;
  other.tokens.reset();
  const Items items = ItemsBesideAudio(other, sizes);
  if (!items.tokens) return "";
  const bool has_lengths = !record.lengths.empty();
  const absl::int128 texts = *items.tokens - items.images.value_or(0);
  if (has_lengths ? tokens == *items.tokens || tokens == texts : tokens <= *items.tokens) return "";
  return absl::StrCat(
      name, " is ", *record.tokens,
      has_lengths ? ", and the sum over samples is " : ", more than batch x length = ",
      Int128ToString(has_lengths ? texts : *items.tokens));
}

std::string Monitor::BoundSizeOf(const StepRecord& record) const {
  const auto is_bound = [&](const std::string& symbol) { return work_.bindings.contains(symbol); };
  const auto given = [&](const std::string& symbol, absl::string_view why) {
    return absl::StrCat(
        Setting("dim", absl::StrCat(Escaped(BareName(symbol)), "=", work_.bindings.at(symbol))),
        " is given, and ", why, ": leave it out");
  };
  if (is_bound(work_.batch)) {
    return given(work_.batch,
                 absl::StrCat(record.audio.empty() ? monitor::ListNameOf(record) : "audio",
                              " tells how many samples a step has"));
  }
  if (!record.lengths.empty() && !work_.sequences.empty() &&
      std::all_of(work_.sequences.begin(), work_.sequences.end(), is_bound)) {
    return given(work_.sequences[0], "each sample has its own");
  }
  for (const char* const symbol : kGridSymbols) {
    if (record.has_images() && is_bound(symbol)) return given(symbol, "each image has its own");
  }
  return "";
}

// Another number of samples than the audio has, and than the chunks into which it is cut.
std::string Monitor::WrongAudio(const StepRecord& record) const {
  const std::optional<int64_t> batch = monitor::SamplesOf(record);
  if (record.audio.empty() || !batch || *batch == std::ssize(record.audio)) return "";
  const absl::StatusOr<AudioRows> rows = RowsOfAudio(work_.audio, record.audio);
  if (!rows.ok() || *batch == std::ssize(rows->frames)) return "";
  return absl::StrCat("audio has ", Plural(std::ssize(record.audio), "sample"), ", and ",
                      monitor::BatchNameOf(record), " is ", *batch);
}

// A length of 0, or one of those that follow another length that is not read.
std::string Monitor::WrongSequence(const StepRecord& record) const {
  for (const std::string& sequence : work_.sequences) {
    const std::string name = BareName(sequence);
    if (record.sizes.contains(name) && record.sizes.at(name) == 0) {
      return absl::StrCat(Escaped(name), " is 0");
    }
    if (!IsLeader(sequence) && record.no_sizes.contains(name)) {
      return monitor::Missing(record, name);
    }
  }
  return monitor::LengthOf(record) == 0 ? "the length of the batch is 0" : "";
}

// Sizes that no image of the model has, and those of all images beside others of each.
std::string Monitor::WrongImageSizes(const StepRecord& record) const {
  for (const auto& [symbol, of] : work_.multiples) {
    const auto size = record.sizes.find(BareName(symbol));
    if (size == record.sizes.end() || (size->second > 0 && size->second % of == 0)) continue;
    return absl::StrCat(Escaped(size->first), " is ", size->second, ", which is no multiple of ",
                        of);
  }
  for (size_t axis = 0; axis < record.grids.size(); ++axis) {
    const auto size = record.sizes.find(BareName(kGridSymbols[axis]));
    if (size == record.sizes.end() || !record.has_images()) continue;
    const auto other =
        absl::c_find_if(record.grids[axis], [&](int64_t side) { return side != size->second; });
    if (other == record.grids[axis].end()) continue;
    return absl::StrCat(Escaped(size->first), " is ", size->second,
                        ", and an image of grid_thw has ", *other);
  }
  return "";
}

// Of a model with images of one size, which the log need not name.
void Monitor::TakeOutEqualImages(StepRecord* record, std::vector<std::string>* problems) const {
  Bindings sizes = work_.bindings;
  for (const auto& [name, size] : record->sizes) sizes[FileSymbol(name)] = size;
  const absl::StatusOr<absl::int128> tokens = work_.image_tokens.Evaluate(sizes);
  const std::string list = monitor::ListNameOf(*record);
  const auto least = absl::c_min_element(record->lengths);
  const bool is_known = tokens.ok() && *tokens >= 0;  // a file may have any formula
  if (is_known && *tokens <= *least) {
    for (int64_t& length : record->lengths) length -= static_cast<int64_t>(*tokens);
    return;
  }
  problems->push_back(
      is_known ? absl::StrCat(list, ": sample ", least - record->lengths.begin() + 1, " has ",
                              Plural(*least, "token"), ", and its image ", Int128ToString(*tokens),
                              ": no utilisation of this step")
               : absl::StrCat(list,
                              " has the tokens of images too, and nothing tells how many: "
                              "no utilisation of this step"));
  record->lengths.clear();
  record->faulty.insert("lengths");
}

void Monitor::ReadRows(StepRecord* record, std::vector<std::string>* problems) const {
  std::vector<int64_t> all;
  if (!record->texts.empty()) all = record->lengths;
  TakeOutImages(record, problems);
  const std::vector<int64_t>& texts = record->texts;
  if (texts.empty() || record->lengths.empty() || texts == record->lengths || texts == all) return;
  problems->push_back(absl::StrCat(monitor::kDifferentSamples, ": no utilisation of this step"));
  record->lengths.clear();
  record->faulty.insert("lengths");
}

void Monitor::TakeOutImages(StepRecord* record, std::vector<std::string>* problems) const {
  if (!record->packed || record->lengths.empty() || work_.image_tokens.is_zero()) return;
  if (!record->has_images()) {  // none are logged
    TakeOutEqualImages(record, problems);
    return;
  }
  const absl::StatusOr<std::vector<int64_t>> tokens =
      TokensOfImages(work_.image_tokens, record->grids);
  std::vector<int64_t>& texts = record->lengths;
  const size_t samples =
      record->image_counts.empty() && tokens.ok() ? tokens->size() : record->image_counts.size();
  if (!tokens.ok() || samples != texts.size()) return;  // FlopsOfSamples tells
  size_t image = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const int64_t images = record->image_counts.empty() ? 1 : record->image_counts[i];
    const int64_t all = texts[i];
    for (int64_t k = 0; k < images && image < tokens->size(); ++k) texts[i] -= (*tokens)[image++];
    if (texts[i] >= 0) continue;
    problems->push_back(absl::StrCat(monitor::ListNameOf(*record), ": sample ", i + 1, " has ",
                                     Plural(all, "token"), ", and its images have ", all - texts[i],
                                     ": no utilisation of this step"));
    texts.clear();
    record->faulty.insert("lengths");
    return;
  }
}

void Monitor::CompareNames(StepRecord* record, std::vector<std::string>* problems) {
  // FLOPs are of the model's own name of the batch.
  const std::string batch = BareName(work_.batch);
  const auto own = record->sizes.find(batch);
  if (own != record->sizes.end() && record->samples && *record->samples != own->second) {
    Tell(absl::StrCat(Escaped(batch), " and ", monitor::NameOf(*record, "samples"),
                      " are two figures for one fact: the former is used"),
         problems);
    record->samples = own->second;
  }
  const std::optional<int64_t> first = RowLengthOf(*record);
  for (const absl::string_view name : {"seq", "seq_len", "seq_length", "sequence_length"}) {
    const auto other = record->sizes.find(std::string(name));
    if (!first || other == record->sizes.end() || other->second == *first) continue;
    Tell(absl::StrCat(Escaped(other->first), " is another length than the one that is used"),
         problems);
  }
}

bool Monitor::IsMaskSum(const StepRecord& record) {
  return absl::EndsWithIgnoreCase(monitor::NameOf(record, "tokens"), "mask_sum");
}

void Monitor::CheckTogether(StepRecord* record, std::vector<std::string>* problems) {
  // A total that does not grow counts nothing.
  if (record->tokens == 0 && !record->names.contains("tokens")) record->tokens.reset();
  for (const std::string& wrong :
       {monitor::ZeroBatch(*record), WrongSequence(*record), monitor::WrongBatch(*record),
        WrongAudio(*record), WrongImageSizes(*record),
        monitor::WrongLength(*record, RowLengthOf(*record)), WrongTokens(*record)}) {
    if (wrong.empty()) continue;
    problems->push_back(absl::StrCat(wrong, ": no utilisation of this step"));
    record->faulty.insert("sizes");
    return;
  }
  for (const char* const symbol : kGridSymbols) {  // those of all images, which the list repeats
    if (record->has_images()) record->sizes.erase(BareName(symbol));
  }
  const bool has_audio = !record->audio.empty();
  const std::optional<int64_t> listed =
      has_audio ? std::ssize(record->audio) : monitor::ListedSamples(*record);
  if (!listed || monitor::SamplesOf(*record)) return;
  std::vector<std::string> ignored;
  const int64_t copies = CopiesOf(*record, &ignored);
  const int64_t runs = record->runs.value_or(1);
  if (copies == 1 && runs == 1) return;
  const std::string parts =
      absl::StrCat(copies, copies == options_.devices ? " devices" : " copies of the model",
                   runs > 1 ? absl::StrCat(" x ", runs, " runs") : "");
  const std::string name = has_audio ? "audio" : monitor::ListNameOf(*record);
  Tell(absl::int128(*listed) < absl::int128(copies) * runs
           ? absl::StrCat(name, " has fewer samples than ", parts,
                          ": it is read as that of the whole step, and may be that of one part")
           : absl::StrCat(name, " is read as that of the whole step, on ", parts),
       problems);
}

bool Monitor::HasRectangle(const StepRecord& record) const {
  const bool has_batch =
      monitor::SamplesOf(record) || work_.bindings.contains(work_.batch) || work_.fixed_batch;
  const bool has_length =
      work_.fixed_length || RowLengthOf(record) ||
      (work_.sequences.size() == 1 && work_.bindings.contains(work_.sequences[0]));
  return has_batch && has_length;
}

// As many as the longest sample in each row, or what the line says of the rows.
std::optional<absl::int128> Monitor::PlacesOf(const StepRecord& record, const Items& items) const {
  if (!items.tokens) return std::nullopt;
  if (record.lengths.empty()) {
    const bool is_text = work_.sequences.size() <= 1 && work_.image_tokens.is_zero();
    return is_text && items.places && HasRectangle(record) ? items.places : items.tokens;
  }
  std::vector<int64_t> rows = record.lengths;
  if (record.has_images()) {
    const absl::StatusOr<std::vector<int64_t>> images =
        TokensOfImages(work_.image_tokens, record.grids);
    if (!images.ok()) return std::nullopt;
    size_t image = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t count = record.image_counts.empty() ? 1 : record.image_counts[i];
      for (int64_t k = 0; k < count && image < images->size(); ++k) rows[i] += (*images)[image++];
    }
  }
  // Images of one size that the log need not name.
  const absl::int128 same = record.has_images() || record.packed || rows.empty()
                                ? 0
                                : items.images.value_or(0) / std::ssize(rows);
  const std::optional<int64_t> length = record.has_images() ? std::nullopt : RowLengthOf(record);
  if (record.packed) {
    const std::optional<int64_t> batch = monitor::SamplesOf(record);
    const bool is_rows = length && batch && (*batch == 1 || *batch < std::ssize(rows));
    return is_rows ? monitor::Times(*batch, *length) : items.tokens;
  }
  const absl::int128 of_row = length.value_or(*std::max_element(rows.begin(), rows.end()));
  return monitor::Times(std::ssize(rows), of_row + same);
}

}  // namespace onnxflops
