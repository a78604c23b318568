// The modules around a node, as the dynamo exporter lists them in its metadata, and what functions
// of a file stand for. A path is spelled as PyTorch's named_modules() spells it.
//
//   ScopeList list("['', 'visual', 'visual.conv1', 'conv2d']",
//                  "['clip.CLIP', 'clip.Vit', 'torch.nn.modules.conv.Conv2d', 'aten.conv2d...']");
//   list.last()   // visual.conv1, of class Conv2d; the operator at the end is dropped
//
// The texts may be anything: what cannot be read names no module.
#ifndef ONNXFLOPS_SRC_EXPORTER_MODULE_SCOPE_H_
#define ONNXFLOPS_SRC_EXPORTER_MODULE_SCOPE_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "src/exporter/python_list.h"

namespace onnxflops::exporter {

// A module that runs around a node.
struct EnclosingModule {
  absl::string_view path;  // "visual.conv1"; of its second call, too
  absl::string_view type;  // class name without its Python module, "Conv2d"; may be empty
};

// From the innermost, by pkg.torch.onnx.name_scopes and pkg.torch.onnx.class_hierarchy.
class ScopeList {
 public:
  ScopeList(absl::string_view name_scopes, absl::string_view class_hierarchy)
      : paths_(name_scopes), types_(class_hierarchy) {
    DropLast();
  }

  bool empty() const { return paths_.empty(); }
  // Text that identifies this module and all its parents.
  absl::string_view key() const { return paths_.rest(); }
  // nullopt if the exporter added the node itself.
  std::optional<EnclosingModule> last() const;
  void DropLast() {
    paths_.DropLast();
    types_.DropLast();
  }

 private:
  PyStrings paths_, types_;
};

// The same by "namespace", ": open_clip.model.CLIP/visual:
// open_clip.transformer.VisionTransformer".
class NamespaceScopes {
 public:
  explicit NamespaceScopes(absl::string_view name_space) : text_(name_space) { DropLast(); }

  bool empty() const { return text_.empty(); }
  absl::string_view key() const { return text_; }
  std::optional<EnclosingModule> last() const;
  void DropLast() { text_ = text_.substr(0, LastEntry()); }

 private:
  // Where the last entry begins, with the slash before it.
  size_t LastEntry() const;

  absl::string_view text_;
};

// True if a function of the file is an ATen operator from onnxscript, not a module.
bool IsOnnxscriptFunction(absl::string_view domain);
// "InvertedResidual.8" -> "InvertedResidual": the exporter numbers functions that it makes of
// modules of one class.
absl::string_view ClassOfFunction(absl::string_view name);

}  // namespace onnxflops::exporter

#endif  // ONNXFLOPS_SRC_EXPORTER_MODULE_SCOPE_H_
