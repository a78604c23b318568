// The samples, tokens and frames of a step, for the rates of a Monitor.
//
// A rate needs a value that is right: if a field has a fault, so have the items that follow from
// it.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "absl/status/statusor.h"
#include "src/monitor/image_work.h"
#include "src/monitor/monitor.h"
#include "src/monitor/record_sizes.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

Monitor::Items Monitor::ItemsOf(const StepRecord& record, const Bindings& sizes) const {
  if (record.faulty.contains("sizes")) return {};
  Items items = ItemsBesideAudio(record, sizes);
  if (!record.audio.empty()) {
    const absl::StatusOr<AudioRows> rows = RowsOfAudio(work_.audio, record.audio);
    if (rows.ok()) {
      items.frames = rows->sum;
      items.frame_places = monitor::Times(
          std::ssize(rows->frames), *std::max_element(rows->frames.begin(), rows->frames.end()));
    }
    const bool fits =
        rows.ok() && (record.lengths.empty() || record.lengths.size() == rows->frames.size());
    return fits ? items : Items();
  }
  if (record.faulty.contains("audio")) return items;
  const auto frames = sizes.find(work_.audio.symbol);
  const int64_t of_one = frames != sizes.end() ? frames->second : work_.audio.chunk;
  if (items.samples && of_one > 0) items.frames = monitor::Times(*items.samples, of_one);
  return items;
}

Monitor::Items Monitor::ItemsBesideAudio(const StepRecord& record, const Bindings& sizes) const {
  Items items;
  if (record.faulty.contains("lengths")) return items;
  if (!record.lengths.empty()) {
    const size_t with_images =
        record.image_counts.empty() ? record.grids[0].size() : record.image_counts.size();
    if (record.has_images() && with_images != record.lengths.size()) return items;
    items.samples = static_cast<int64_t>(record.lengths.size());
    items.tokens = items.places =
        std::accumulate(record.lengths.begin(), record.lengths.end(), absl::int128(0));
    AddImagesTo(record, sizes, &items);
    return items;
  }
  const auto batch = sizes.find(work_.batch);
  if (!record.image_counts.empty()) {
    items.samples = static_cast<int64_t>(record.image_counts.size());
  } else if (!record.grids[0].empty()) {
    items.samples = static_cast<int64_t>(record.grids[0].size());
  }
  if (!record.audio.empty()) {
    const absl::StatusOr<AudioRows> rows = RowsOfAudio(work_.audio, record.audio);
    if (rows.ok()) items.samples = static_cast<int64_t>(rows->frames.size());
  }
  // Grids and chunks of audio are the samples: without them, no other number is.
  const bool is_unknown = record.faulty.contains("audio") || record.faulty.contains("grid_thw") ||
                          record.faulty.contains("samples");
  if (is_unknown) {
    if (record.tokens) items.tokens = *record.tokens;
    return items;
  }
  if (!items.samples) items.samples = monitor::SamplesOf(record);
  if (!items.samples && batch != sizes.end()) items.samples = batch->second;
  if (!items.samples) items.samples = work_.fixed_batch;
  if (record.tokens) items.tokens = *record.tokens;
  std::optional<int64_t> length = work_.fixed_length;
  if (!work_.sequences.empty()) {
    const auto found = sizes.find(work_.sequences[0]);
    if (found != sizes.end()) length = found->second;
    const bool has_lists = record.has_images() || !record.audio.empty();
    if (!length && has_lists) length = monitor::LengthOf(record);
  }
  // Tokens that a rate makes of a time are no samples if they are none to the token.
  const bool is_part =
      record.tokens_of_rate && (!length || *length <= 0 || *record.tokens % *length != 0);
  if (is_part) items.samples.reset();
  if (items.samples && length) items.places = monitor::Times(*items.samples, *length);
  if (items.tokens || record.faulty.contains("tokens")) return items;
  items.tokens = items.places;
  AddImagesTo(record, sizes, &items);
  return items;
}

// Counted tokens are those of the text: those of images come to them. What the log counts itself
// is left as it is, since it does not say which tokens these are.
void Monitor::AddImagesTo(const StepRecord& record, const Bindings& sizes, Items* items) const {
  if (work_.image_tokens.is_zero() || !items->tokens) return;
  std::optional<absl::int128> images;
  if (record.has_images()) {
    const absl::StatusOr<std::vector<int64_t>> tokens =
        TokensOfImages(work_.image_tokens, record.grids);
    const bool right = tokens.ok() && WrongGrid(record.grids, work_.multiples).empty();
    if (right) images = std::accumulate(tokens->begin(), tokens->end(), absl::int128(0));
  } else if (items->samples) {
    Bindings all = sizes;
    for (const auto& [name, size] : record.sizes) all[FileSymbol(name)] = size;
    const absl::StatusOr<absl::int128> of_one = work_.image_tokens.Evaluate(all);
    if (of_one.ok()) images = monitor::Times(*of_one, *items->samples);
  }
  if (!images) {
    items->tokens = items->places = std::nullopt;
    return;
  }
  items->images = images;
  items->tokens = items->places = *items->tokens + *images;
}

}  // namespace onnxflops
