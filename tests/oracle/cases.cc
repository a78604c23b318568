// What the families of cases share: inputs, and boxes of small shapes and windows.
#include "tests/oracle/cases.h"

#include "tests/oracle/conv.h"

namespace onnxflops::oracle {

Input In(Sizes dims, int dtype) { return {std::move(dims), dtype, std::nullopt, false}; }
Input Ints(std::vector<int64_t> values) {
  const Sizes dims = {static_cast<int64_t>(values.size())};
  return {dims, kInt64, std::move(values), false};
}
Input Absent() { return {{}, kFloat, std::nullopt, true}; }

// Every list of `rank` sizes in 1..most.
std::vector<Sizes> Shapes(size_t rank, int64_t most) {
  std::vector<Sizes> shapes;
  ForEach(Sizes(rank, most), [&](const Sizes& index) {
    Sizes shape = index;
    for (int64_t& dim : shape) ++dim;
    shapes.push_back(shape);
  });
  return shapes;
}

Sizes Spatial(size_t rank, int64_t first) {
  Sizes sizes;
  for (size_t i = 0; i < rank; ++i) sizes.push_back(first + static_cast<int64_t>(i));
  return sizes;
}

std::vector<Window> Windows(size_t rank, bool ceil) {
  std::vector<Window> windows;
  const std::vector<const char*> modes = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  ForEach({3, 2, 2, 3, 4, ceil ? 2 : 1}, [&](const Sizes& i) {
    if (i[3] > 0 && i[4] > 0) return;  // explicit pads exclude auto_pad
    Window w;
    w.kernel = Sizes(rank, i[0] + 1);
    w.strides = Sizes(rank, i[1] + 1);
    w.dilations = Sizes(rank, i[2] + 1);
    w.pads = Sizes(2 * rank, 0);
    if (i[3] > 0) w.pads[0] = 1;
    if (i[3] > 1) w.pads.back() = 1;
    if (i[3] > 1 && rank > 1) w.pads[1] = 2;
    w.auto_pad = modes[static_cast<size_t>(i[4])];
    w.ceil_mode = i[5] != 0;
    if (rank > 1) {  // the axes differ
      w.kernel.back() = (i[0] + 1) % 3 + 1;
      w.strides.back() = 2 - i[1];
      w.dilations.back() = 2 - i[2];
    }
    windows.push_back(w);
  });
  return windows;
}

std::vector<std::pair<std::string, AttributeValue>> WindowAttributes(const Window& w) {
  std::vector<std::pair<std::string, AttributeValue>> attributes = {
      {"kernel_shape", w.kernel}, {"strides", w.strides}, {"auto_pad", w.auto_pad}};
  if (w.auto_pad == "NOTSET") attributes.emplace_back("pads", w.pads);
  return attributes;
}

std::vector<Sizes> SubsetsOfAxes(size_t rank) {
  std::vector<Sizes> subsets;
  for (size_t bits = 1; bits < (size_t{1} << rank); ++bits) {
    Sizes axes;
    for (size_t i = 0; i < rank; ++i) {
      // Odd ones counted from the end.
      if (bits >> i & 1) axes.push_back(static_cast<int64_t>(i % 2 == 1 ? i - rank : i));
    }
    subsets.push_back(axes);
  }
  return subsets;
}

}  // namespace onnxflops::oracle
