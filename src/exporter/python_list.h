// Python's lists, tuples and dicts as text, read as views into it:
//
//   PyItems("[14, (1, 2), %x]")              // 14   (1, 2)   %x
//   PyPairs("{scale: 0.5, pad: [1, 2]}")     // scale 0.5   pad [1, 2]
//   PyStrings list("['', 'a', 'a.b']");      // from its end: list.last() is a.b
//
// Lists of strings are as printed by str(). In all others a quote has no meaning, since torch.fx
// prints strings without quotes. The text may be anything; reading it takes linear time and no
// recursion. Parts that cannot be read are missing.
#ifndef ONNXFLOPS_SRC_EXPORTER_PYTHON_LIST_H_
#define ONNXFLOPS_SRC_EXPORTER_PYTHON_LIST_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace onnxflops::exporter {

// The text from its opening bracket to the matching one: "(1, [2])" of "(1, [2]), x". Empty if the
// text does not begin with a bracket or it is not closed.
absl::string_view PyBrackets(absl::string_view text);

// The items of a list or tuple with brackets, separated by ", " outside inner brackets.
std::vector<absl::string_view> PyItems(absl::string_view list);

// Keys and values of a dict.
std::vector<std::pair<absl::string_view, absl::string_view>> PyPairs(absl::string_view dict);

// A list of strings, read from its end. The rest of the text identifies all strings before, so
// caches use it as a key.
class PyStrings {
 public:
  explicit PyStrings(absl::string_view list) : text_(list) {}

  bool empty() const { return text_.empty(); }
  // The text not yet read: "['', 'visual'" after one step; "" at the end.
  absl::string_view rest() const { return text_; }
  // The last remaining string, with escapes as they are; or empty.
  absl::string_view last() const;
  void DropLast() { text_ = text_.substr(0, LastItem()); }

 private:
  // Where the last item begins, with the comma before it.
  size_t LastItem() const;

  absl::string_view text_;
};

}  // namespace onnxflops::exporter

#endif  // ONNXFLOPS_SRC_EXPORTER_PYTHON_LIST_H_
