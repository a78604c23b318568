// The FLOPs of a step whose line lists its samples: a sum over lengths, images and audio.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/monitor/image_work.h"
#include "src/monitor/monitor.h"
#include "src/monitor/record_sizes.h"
#include "src/render/format.h"
#include "src/symbolic/sample_sum.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

// The lists of the samples' sizes, by their symbols in `sizes`; empty, with a problem, if they do
// not fit the model or each other.
std::vector<std::vector<int64_t>> Monitor::ColumnsOf(const StepRecord& record,
                                                     const std::vector<std::string>& lengths,
                                                     SampleSizes* sizes,
                                                     std::vector<std::string>* problems) const {
  const bool has_grids = !record.grids[0].empty();
  const std::vector<std::string> open = work_.flops.Symbols();
  const auto is_open = [&](const std::string& symbol) {
    return std::find(open.begin(), open.end(), symbol) != open.end();
  };
  std::vector<std::vector<int64_t>> columns;
  const auto refuse = [&](absl::string_view why) {
    problems->push_back(absl::StrCat(why, ": no utilisation of this step"));
    return std::vector<std::vector<int64_t>>();
  };
  const bool has_lists = has_grids || !record.audio.empty();
  if (work_.batch.empty() || !is_open(work_.batch) || (lengths.size() != 1 && !has_lists)) {
    return refuse(
        "the model has no open batch and one open length that the lengths of samples could be of");
  }
  if (!record.lengths.empty()) {
    if (lengths.size() != 1) {
      return refuse("the model has no open length that the lengths of samples could be of");
    }
    sizes->symbols.push_back(lengths[0]);
    columns.push_back(record.lengths);
  }
  for (size_t axis = 0; has_grids && axis < record.grids.size(); ++axis) {
    const std::string symbol = kGridSymbols[axis];
    if (!is_open(symbol)) return refuse(absl::StrCat("grid_thw: the model has no open ", symbol));
    if (!columns.empty() && columns[0].size() != record.grids[axis].size()) {
      return refuse(absl::StrCat(Plural(std::ssize(columns[0]), "length"), " and ",
                                 Plural(std::ssize(record.grids[axis]), "image"),
                                 " in grid_thw: each sample has one"));
    }
    sizes->symbols.push_back(symbol);
    columns.push_back(record.grids[axis]);
  }
  if (const std::string wrong = WrongGrid(record.grids, work_.multiples); !wrong.empty())
    return refuse(wrong);
  if (record.audio.empty()) return columns;
  absl::StatusOr<AudioRows> rows = RowsOfAudio(work_.audio, record.audio);
  if (!rows.ok()) return refuse(rows.status().message());
  if (record.packed && work_.audio.chunk > 0) {
    return refuse("each chunk of audio is a row of its own, and cu_seqlens are those of one row");
  }
  if (!columns.empty() && columns[0].size() != rows->frames.size()) {
    return refuse(absl::StrCat("audio: ", Plural(std::ssize(rows->frames), "row"), " of ",
                               Plural(std::ssize(record.audio), "sample"), ", and ",
                               Plural(std::ssize(columns[0]), "length"),
                               ": each row has a text of its own"));
  }
  sizes->symbols.push_back(work_.audio.symbol);
  columns.push_back(std::move(rows->frames));
  return columns;
}

// Of samples that have any number of images each: `flops` has no other sizes.
std::optional<absl::int128> Monitor::FlopsOfImages(const StepRecord& record, const Expr& flops,
                                                   std::vector<std::string>* problems) const {
  const auto refuse = [&](absl::string_view why) {
    problems->push_back(absl::StrCat(why, ": no utilisation of this step"));
    return std::nullopt;
  };
  if (work_.image_tokens.is_zero() || work_.sequences.size() != 1) {
    return refuse("grid_thw: this model has one image in each sample");
  }
  const std::string& length = work_.sequences[0];
  std::vector<int64_t> rows = record.lengths;
  const std::vector<int64_t>& counts = record.image_counts;
  if (rows.empty()) {
    const std::string name = BareName(length);
    std::optional<int64_t> same = monitor::SizeNamed(record, {name});
    if (!same) same = monitor::LengthOf(record);
    if (!same) return refuse(monitor::Missing(record, name));
    rows.assign(counts.size(), *same);
  }
  if (rows.size() != counts.size()) {
    return refuse(absl::StrCat(Plural(std::ssize(rows), "length"), ", and images of ",
                               Plural(std::ssize(counts), "sample"), " in grid_thw"));
  }
  if (const std::string wrong = WrongGrid(record.grids, work_.multiples); !wrong.empty())
    return refuse(wrong);
  const absl::StatusOr<std::vector<int64_t>> tokens =
      TokensOfImages(work_.image_tokens, record.grids);
  if (!tokens.ok()) return refuse(tokens.status().message());
  size_t image = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (int64_t k = 0; k < counts[i]; ++k) rows[i] += (*tokens)[image++];
    if (rows[i] < 1) return refuse(absl::StrCat("sample ", i + 1, " has no tokens"));
  }
  const absl::StatusOr<Expr> sum = ::onnxflops::FlopsOfImages(
      {flops, work_.batch, length, work_.image_tokens}, rows, record.grids, record.packed);
  if (!sum.ok()) return refuse(sum.status().message());
  if (sum->is_literal()) return sum->literal();
  return refuse(sum->error() != nullptr ? absl::StrCat("the sum over samples ", sum->error())
                                        : monitor::Missing(record, BareName(sum->Symbols()[0])));
}

// Takes out, and returns, those that are as long as one that stays.
std::vector<std::string> Monitor::TakeFollowers(std::vector<std::string>* lengths) const {
  std::vector<std::string> following;
  for (const auto& [follower, leader] : work_.followers) {
    const auto at = absl::c_find(*lengths, follower);
    if (at == lengths->end() || !absl::c_linear_search(*lengths, leader)) continue;
    following.push_back(follower);
    lengths->erase(at);
  }
  return following;
}

// Takes out sizes that are one of each sample in a packed row: another text, an image.
std::vector<std::pair<std::string, int64_t>> Monitor::TakeSizesOfEach(Bindings* others) const {
  std::vector<std::string> names = work_.image_tokens.Symbols();
  names.insert(names.end(), work_.sequences.begin(), work_.sequences.end());
  const std::vector<std::string> open = work_.flops.Symbols();
  std::vector<std::pair<std::string, int64_t>> equal;
  for (const std::string& symbol : names) {
    const auto size = others->find(symbol);
    if (size == others->end() || !absl::c_linear_search(open, symbol)) continue;
    equal.emplace_back(symbol, size->second);
    others->erase(size);
  }
  return equal;
}

// The sum over samples of different lengths and images; nullopt if the model does not have an open
// batch and exactly one matching open length, or other sizes are missing.
std::optional<absl::int128> Monitor::FlopsOfSamples(const StepRecord& record,
                                                    std::vector<std::string>* problems) const {
  if (const std::string bound = BoundSizeOf(record); !bound.empty()) {
    problems->push_back(absl::StrCat(bound, ": no utilisation of this step"));
    return std::nullopt;
  }
  const std::vector<std::string> symbols = work_.flops.Symbols();
  SampleSizes sizes = {.count = work_.batch, .packed = record.packed};
  Bindings others;
  for (const auto& [name, size] : record.sizes) others[FileSymbol(name)] = size;
  std::vector<std::string> lengths;
  std::vector<std::pair<std::string, int64_t>> equal;  // of each sample in a packed row
  for (const std::string& sequence : work_.sequences) {
    const bool is_open = std::find(symbols.begin(), symbols.end(), sequence) != symbols.end();
    // Beside lengths, seq is that of the padded batch.
    if (IsLeader(sequence) && !record.lengths.empty()) others.erase(sequence);
    if (is_open && !others.contains(sequence)) lengths.push_back(sequence);
  }
  if (record.packed) equal = TakeSizesOfEach(&others);
  const std::vector<std::string> following = TakeFollowers(&lengths);
  if (!record.image_counts.empty()) {
    others.erase(work_.batch);
    if (work_.sequences.size() == 1) others.erase(work_.sequences[0]);
    return FlopsOfImages(record, work_.flops.Substitute(others), problems);
  }
  std::vector<std::vector<int64_t>> columns = ColumnsOf(record, lengths, &sizes, problems);
  if (columns.empty()) return std::nullopt;
  const std::optional<int64_t> length = monitor::LengthOf(record);
  if (record.lengths.empty() && length) {
    for (const std::string& sequence : lengths) others[sequence] = *length;
  }
  for (const auto& [sequence, size] : equal) {
    sizes.symbols.push_back(sequence);
    columns.emplace_back(columns[0].size(), size);
  }
  for (const std::string& sequence : following) {
    if (record.lengths.empty()) {
      if (length) others[sequence] = *length;
      continue;
    }
    sizes.symbols.push_back(sequence);
    columns.push_back(record.lengths);
  }
  others.erase(work_.batch);
  sizes.SetRows(columns);
  const bool is_joint = !record.packed && !record.lengths.empty() && record.has_images();
  if (is_joint && !work_.image_tokens.is_zero()) {
    absl::StatusOr<std::vector<int64_t>> tokens = sizes.ByRow(work_.image_tokens);
    if (tokens.ok()) sizes.Join(0, work_.image_tokens.Symbols(), *std::move(tokens));
  }
  const Expr flops = SampleSum(std::move(sizes)).Of(work_.flops.Substitute(others));
  if (flops.is_literal()) return flops.literal();
  problems->push_back(flops.error() != nullptr
                          ? absl::StrCat("the sum over samples ", flops.error())
                          : absl::StrCat(monitor::Missing(record, BareName(flops.Symbols()[0])),
                                         ": no utilisation of this step"));
  return std::nullopt;
}

}  // namespace onnxflops
