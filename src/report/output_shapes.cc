// How it works. A tensor leaves a module if a node outside it reads the tensor, or if it is an
// output of the model. So each use of a tensor is followed upward from the producing module to the
// first module that also holds the reader.
#include "src/report/output_shapes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace onnxflops::report {
namespace {

constexpr size_t kMaxShapes = 3;  // of one module

class ShapeFinder {
 public:
  explicit ShapeFinder(const Report& report) : report_(report), shapes_(report.modules.size()) {
    for (const NodeRow& row : report.nodes) {
      for (const TensorInfo& tensor : row.outputs) {
        if (!tensor.name.empty()) makers_.try_emplace(tensor.name, Maker{row.module, &tensor});
      }
    }
  }

  std::vector<std::string> Find() {
    for (const NodeRow& row : report_.nodes) {
      for (const TensorInfo& tensor : row.inputs) Use(tensor.name, row.module);
    }
    for (const TensorInfo& output : report_.outputs) Use(output.name, -1);
    std::vector<std::string> texts;
    for (const std::vector<std::string>& shapes : shapes_) {
      std::vector<std::string> shown(
          shapes.begin(),
          shapes.begin() + static_cast<std::ptrdiff_t>(std::min(shapes.size(), kMaxShapes)));
      if (shapes.size() > kMaxShapes) shown.emplace_back("...");
      texts.push_back(absl::StrJoin(shown, ", "));
    }
    return texts;
  }

 private:
  struct Maker {
    int32_t module = 0;
    const TensorInfo* tensor = nullptr;
  };

  // `reader`: -1 outside of the model.
  void Use(absl::string_view name, int32_t reader) {
    const auto it = makers_.find(name);
    if (it == makers_.end() || !it->second.tensor->shape.ranked()) return;
    const std::string text = it->second.tensor->shape.ToString();
    for (int32_t module = it->second.module; module >= 0;) {
      const auto& place = report_.modules[static_cast<size_t>(module)];
      if (reader >= module && reader < place.end) return;
      std::vector<std::string>& shapes = shapes_[static_cast<size_t>(module)];
      const bool is_new = std::find(shapes.begin(), shapes.end(), text) == shapes.end();
      if (is_new && shapes.size() <= kMaxShapes) shapes.push_back(text);
      module = place.parent;
    }
  }

  const Report& report_;
  std::vector<std::vector<std::string>> shapes_;
  absl::flat_hash_map<absl::string_view, Maker> makers_;
};

}  // namespace

std::vector<std::string> OutputShapes(const Report& report) { return ShapeFinder(report).Find(); }

}  // namespace onnxflops::report
