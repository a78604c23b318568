#include "src/infer/frame.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/limits.h"
#include "src/base/utf8.h"
#include "src/infer/body_facts.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::infer {

Place PlaceIn(const ModelData& model, const Frame& frame, NodeId node) {
  std::vector<std::string> parts;
  const auto add = [&](absl::string_view part) {
    parts.emplace_back(Utf8Prefix(part, kMaxSymbolName));
  };
  add(PlaceOf(model, node));
  Place place{absl::StrCat(node), ""};
  for (const Frame* at = &frame; at->caller != nullptr; at = at->caller) {
    absl::StrAppend(&place.key, at->trip >= 0 ? "t" : "n", at->trip >= 0 ? at->trip : *at->via);
    if (at->trip >= 0) {
      parts.push_back(absl::StrCat("trip ", at->trip));
    } else {
      add(PlaceOf(model, *at->via));
    }
  }
  const std::string whole = absl::StrJoin(parts.rbegin(), parts.rend(), "/");
  place.text = std::string(WrittenPrefix(whole, kMaxSymbolName));
  if (place.text.size() < whole.size()) place.text += "...";
  return place;
}

}  // namespace onnxflops::infer
