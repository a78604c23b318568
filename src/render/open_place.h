// How a tree of rows is opened: a place in it gets the rows below.
#ifndef ONNXFLOPS_SRC_RENDER_OPEN_PLACE_H_
#define ONNXFLOPS_SRC_RENDER_OPEN_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace onnxflops::report {

// `add(group, times, indent)` adds a place to `places` and returns its index. A place has a group
// of `count` equal modules, in each of the `times` copies of the row above.
template <typename Place, typename Group, typename Add>
void OpenPlace(size_t at, std::vector<Group> below, std::vector<Place>* places, const Add& add) {
  const int64_t times = (*places)[at].times * (*places)[at].group.count;
  const int indent = (*places)[at].indent + 1;
  for (Group& group : below) {
    const size_t row = add(std::move(group), times, indent);
    (*places)[at].rows.push_back(row);
  }
}

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_RENDER_OPEN_PLACE_H_
