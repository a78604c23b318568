// Python's lists, tuples and dicts as text, read as views into it:
//
//   PyItems("[14, (1, 2), %x]")              // 14   (1, 2)   %x
//   PyPairs("{scale: 0.5, pad: [1, 2]}")     // scale 0.5   pad [1, 2]
//   PyStrings list("['', 'a', 'a.b']");      // from its end: list.last() is a.b
//
// Lists of strings are as str() prints them. In all others a quote means nothing: torch.fx prints
// strings without. The text may be anything; reading it takes time in proportion to its length, and
// no recursion. What cannot be read is not there.
#ifndef ONNXFLOPS_SRC_EXPORTER_PYTHON_LIST_H_
#define ONNXFLOPS_SRC_EXPORTER_PYTHON_LIST_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace onnxflops::exporter {

// The beginning of the text up to the bracket that closes its first character: "(1, [2])" of
// "(1, [2]), x". Empty if that is no bracket, or is not closed.
absl::string_view PyBrackets(absl::string_view text);

// The items of a list or tuple, brackets included: what ", " separates outside of inner brackets.
std::vector<absl::string_view> PyItems(absl::string_view list);

// Keys and values of a dict.
std::vector<std::pair<absl::string_view, absl::string_view>> PyPairs(absl::string_view dict);

// A list of strings, read from its end: what is left tells all before, and is what memos are keyed
// by.
class PyStrings {
 public:
  explicit PyStrings(absl::string_view list) : text_(list) {}

  bool empty() const { return text_.empty(); }
  // What is left of the text: "['', 'visual'" after one step; "" at the end.
  absl::string_view rest() const { return text_; }
  // The last string that is left, escapes as they are. Empty if there is none.
  absl::string_view last() const;
  void DropLast() { text_ = text_.substr(0, LastItem()); }

 private:
  // Where the last item begins, with the comma before it.
  size_t LastItem() const;

  absl::string_view text_;
};

}  // namespace onnxflops::exporter

#endif  // ONNXFLOPS_SRC_EXPORTER_PYTHON_LIST_H_
