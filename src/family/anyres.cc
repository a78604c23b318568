// How it works. All steps are those of transformers, with its numbers of double precision: a size
// that is rounded otherwise would be another number of tokens.
#include "src/family/anyres.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/limits.h"
#include "src/family/family.h"

namespace onnxflops {
namespace {

struct Resolution {
  int64_t height = 0, width = 0;
};

bool ReadSideOf(absl::string_view text, int64_t* side) {
  return absl::SimpleAtoi(text, side) && *side >= 1 && *side <= kMaxConfigSize;
}

// transformers: select_best_resolution.
Resolution BestOf(const std::vector<Resolution>& known, int64_t height, int64_t width) {
  Resolution best = known[0];
  int64_t most = 0, least_waste = std::numeric_limits<int64_t>::max();
  for (const Resolution& r : known) {
    const double h = static_cast<double>(height), w = static_cast<double>(width);
    const double scale =
        std::min(static_cast<double>(r.width) / w, static_cast<double>(r.height) / h);
    const int64_t used =
        std::min(static_cast<int64_t>(w * scale) * static_cast<int64_t>(h * scale), height * width);
    const int64_t waste = r.width * r.height - used;
    if (used < most || (used == most && waste >= least_waste)) continue;
    best = r, most = used, least_waste = waste;
  }
  return best;
}

// transformers: unpad_image. What is left of `size` if the other side is filled.
int64_t WithoutMargin(int64_t size, int64_t original, int64_t other, int64_t other_original) {
  constexpr double kDigits = 1e7;
  const double scale = static_cast<double>(other) / static_cast<double>(other_original);
  const double scaled = std::nearbyint(static_cast<double>(original) * scale * kDigits) / kDigits;
  return size - 2 * ((size - static_cast<int64_t>(scaled)) / 2);
}

}  // namespace

namespace family {

std::string AnyResRule(const ImageShape& tile,
                       const std::vector<std::pair<int64_t, int64_t>>& resolutions) {
  std::string rule = absl::StrCat(tile.size, " ", tile.size / tile.patch);
  for (const auto& [height, width] : resolutions) absl::StrAppend(&rule, " ", height, "x", width);
  return rule;
}

}  // namespace family

std::vector<std::pair<std::string, int64_t>> SizesOfImage(const ModelData& model, int64_t height,
                                                          int64_t width) {
  std::vector<absl::string_view> words;
  for (const auto& [key, value] : model.metadata) {
    if (key == family::kAnyResKey) words = absl::StrSplit(value, ' ');
  }
  int64_t side = 0, patches = 0;
  if (words.size() < 3 || !ReadSideOf(words[0], &side) || !ReadSideOf(words[1], &patches))
    return {};
  std::vector<Resolution> known;
  for (size_t i = 2; i < words.size(); ++i) {
    const std::vector<absl::string_view> sides = absl::StrSplit(words[i], 'x');
    Resolution r;
    if (sides.size() != 2 || !ReadSideOf(sides[0], &r.height) || !ReadSideOf(sides[1], &r.width)) {
      return {};
    }
    known.push_back(r);
  }
  const Resolution best = BestOf(known, height, width);
  const auto tiles_of = [&](int64_t size) { return (size + side - 1) / side; };
  int64_t rows = best.height / side * patches, columns = best.width / side * patches;
  if (static_cast<double>(width) / static_cast<double>(height) >
      static_cast<double>(columns) / static_cast<double>(rows)) {
    rows = WithoutMargin(rows, height, columns, width);
  } else {
    columns = WithoutMargin(columns, width, rows, height);
  }
  return {{"tiles", tiles_of(best.height) * tiles_of(best.width) + 1},
          {"image_rows", rows},
          {"image_columns", columns}};
}

}  // namespace onnxflops
