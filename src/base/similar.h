// Which names a mistyped one may stand for.
//
//   SimilarNames("bacth", {"batch", "seq"})   // {"batch"}
//   DidYouMean("bacth", {"batch", "seq"})     // "; did you mean batch?"
//
// A name is similar if few letters differ, or if one begins like the other. Most typed names are
// similar to none.
#ifndef ONNXFLOPS_SRC_BASE_SIMILAR_H_
#define ONNXFLOPS_SRC_BASE_SIMILAR_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onnxflops {

// The most similar first; at most kMaxSuggestedNames.
std::vector<std::string> SimilarNames(absl::string_view typed, absl::Span<const std::string> names);

// Whether one letter is missing, added, replaced, or swapped with the next one.
bool IsOneEditApart(absl::string_view a, absl::string_view b);

// The end of a message, with the names Escaped; empty if no name is similar.
std::string DidYouMean(absl::string_view typed, absl::Span<const std::string> names);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_SIMILAR_H_
