// How it works. Inference runs on the model with larger inputs. Where a shape rule refuses its
// inputs, sizes fixed in the file are adjusted (src/infer/fit_sizes.h). The changes are then
// written into a copy of the model. The copy must pass inference without adjustments, and its nodes
// are compared with the export's (same_layers.h).
//
// Sizes can match by chance: 14 x 21 patches are as many as 21 x 14. So the same is done once more
// at twice the height and width, where sizes that depend on the image differ. Padding is checked
// only the first time, because an odd size and its double are padded differently.
#include "src/adapter/at_image.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/adapter/graph_editor.h"
#include "src/adapter/same_layers.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/graph/dtype.h"
#include "src/graph/fact.h"
#include "src/graph/image_inputs.h"

namespace onnxflops {
namespace {

using Ints = std::vector<int64_t>;

constexpr char kAsBuilt[] = ", as in a model built for that size";

std::string ToText(const ImageSize& size) { return absl::StrCat(size.height, "x", size.width); }

std::optional<Ints> Literals(absl::Span<const Expr> sizes) {
  Ints out;
  for (const Expr& size : sizes) {
    const std::optional<int64_t> literal = size.AsInt64();
    if (!literal) return std::nullopt;
    out.push_back(*literal);
  }
  return out;
}

// Writes the sizes that inference adjusted into a copy of the model.
class ImageFitter {
 public:
  ImageFitter(const Model& model, const Inference& fit)
      : model_(*model), fit_(fit), editor_(model) {
    uses_.resize(model_.values.size());
    for (const Node& node : model_.nodes) {
      for (const OptionalValueId input : node.inputs) {
        if (input) ++uses_[static_cast<size_t>(*input)];
      }
    }
    for (const Graph& graph : model_.graphs) {
      for (const ValueId output : graph.outputs) ++uses_[static_cast<size_t>(output)];
    }
  }

  absl::Status Run() {
    const Graph& main = model_.graph(0);
    for (size_t i = 0; i < main.nodes.size(); ++i) {
      const Call& call = fit_.call(fit_.instance(0).calls[i]);
      if (call.def != nullptr) RETURN_IF_ERROR(Collect(main.nodes[i], call));
    }
    for (const auto& [value, resized] : resized_) RETURN_IF_ERROR(Resize(value, resized));
    return absl::OkStatus();
  }

  Model Finish() && { return std::move(editor_).Finish(); }
  std::vector<std::string> TakeWarnings() { return std::move(warnings_); }

 private:
  struct Resized {
    Ints sizes;
    int64_t uses = 0;
  };

  absl::Status Refuse(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(Escaped(model_.path), ": ", what));
  }

  // The call may have inputs other than the node's own.
  absl::Status Collect(NodeId id, const Call& call) {
    const Node& node = model_.node(id);
    for (size_t i = 0; i < call.inputs.size() && i < node.inputs.size(); ++i) {
      const Fact* own = fit_.FactOf(node.inputs[i]);
      const Fact& given = fit_.fact(call.inputs[i]);
      if (own == nullptr || own == &given || !own->is_tensor() || !own->shape.ranked()) continue;
      if (own->shape != given.shape) {
        const std::optional<Ints> sizes = Literals(given.shape.dims());
        if (!sizes) return Refuse(absl::StrCat(DescribeNode(model_, id), ": a size stays open"));
        RETURN_IF_ERROR(Want(*node.inputs[i], *sizes));
      } else if (node.op_type == "Reshape" && node.domain.empty() && i == 1) {
        const std::optional<Dims> ints = given.KnownInts();
        if (ints && ints != own->KnownInts()) RETURN_IF_ERROR(Retarget(id, *ints));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Want(ValueId value, const Ints& sizes) {
    Resized& resized = resized_[value];
    if (resized.uses++ > 0 && resized.sizes != sizes) {
      return Refuse(absl::StrCat("the constant ", Quoted(model_.value(value).name),
                                 " is used where two sizes are needed"));
    }
    resized.sizes = sizes;
    return absl::OkStatus();
  }

  // Changes the target of a Reshape, which several Reshapes may share.
  absl::Status Retarget(NodeId id, const Dims& ints) {
    const ValueId target = *model_.node(id).inputs[1];
    const std::optional<Ints> sizes = Literals(ints);
    if (!sizes || !IsWritten(target)) {
      return Refuse(absl::StrCat(DescribeNode(model_, id), ": its target is computed"));
    }
    const auto [known, is_new] = targets_.try_emplace({target, *sizes}, 0);
    if (is_new) known->second = editor_.AddInts(model_.value(target).name, *sizes);
    editor_.SetInput(id, 1, known->second);
    return absl::OkStatus();
  }

  // By an initializer or a Constant.
  bool IsWritten(ValueId id) const {
    const Value& value = model_.value(id);
    if (value.initializer) return !value.is_graph_input;
    return value.producer && model_.node(*value.producer).op_type == "Constant" &&
           model_.node(*value.producer).FindAttribute("value") != nullptr;
  }

  absl::Status Resize(ValueId id, const Resized& resized) {
    const Value& value = model_.value(id);
    const auto refuse = [&](absl::string_view what) {
      return Refuse(absl::StrCat("the constant ", Quoted(value.name), ", which is one for each ",
                                 "token or pixel, ", what));
    };
    if (resized.uses != uses_[static_cast<size_t>(id)]) {
      return refuse("is used elsewhere, too");
    }
    if (IsWritten(id)) return Rewrite(id, resized.sizes);
    if (!value.producer) return refuse("is an input with a default");
    const Node& node = model_.node(*value.producer);
    const std::string by = absl::StrCat("is computed by ", DescribeNode(model_, *value.producer));
    if (!node.domain.empty() || !node.input(0)) return refuse(by);
    if (node.op_type == "Gather") return ResizeTable(node, resized.sizes, refuse(by));
    const std::optional<ValueId> source = OnlyTensor(node);
    return source ? Resize(*source, {resized.sizes, 1}) : refuse(by);
  }

  // The one input of an element-wise operator that is not a single number, such as the mask of
  // Where or quantised positions. It has the shape of the output.
  std::optional<ValueId> OnlyTensor(const Node& node) const {
    constexpr auto kByElement =
        std::to_array<absl::string_view>({"Identity", "Cast", "DequantizeLinear", "QuantizeLinear",
                                          "Where", "Not", "Add", "Sub", "Mul", "Div", "Neg"});
    if (absl::c_find(kByElement, node.op_type) == kByElement.end()) return std::nullopt;
    std::optional<ValueId> only;
    const Fact* output = fit_.FactOf(node.output(0));
    for (const OptionalValueId input : node.inputs) {
      if (!input) continue;
      const Fact* fact = fit_.FactOf(input);
      if (fact == nullptr || !fact->is_tensor()) return std::nullopt;
      if (fact->shape.NumElements() == Expr(1)) continue;
      if (only || output == nullptr || fact->shape != output->shape) return std::nullopt;
      only = *input;
    }
    return only;
  }

  // Rows of a table by their numbers, each row once: both have as many as there are tokens.
  absl::Status ResizeTable(const Node& node, const Ints& sizes, const absl::Status& refused) {
    const Fact* table = fit_.FactOf(node.input(0));
    const Fact* numbers = fit_.FactOf(node.input(1));
    const Attribute* axis = node.FindAttribute("axis");
    if (axis != nullptr && axis->i != 0) return refused;
    if (table == nullptr || numbers == nullptr || !IsWritten(*node.inputs[0]) ||
        !IsWritten(*node.inputs[1])) {
      return refused;
    }
    const std::optional<Ints> rows = Literals(table->shape.dims());
    const auto rank = static_cast<size_t>(numbers->shape.rank());
    if (!rows || table->shape[0] != numbers->shape.NumElements()) return refused;
    Ints of_numbers(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(rank));
    Ints of_table(sizes.begin() + static_cast<std::ptrdiff_t>(rank), sizes.end());
    if (!std::equal(of_table.begin(), of_table.end(), rows->begin() + 1, rows->end())) {
      return refused;
    }
    int64_t count = 1;
    for (const int64_t size : of_numbers) count *= size;
    of_table.insert(of_table.begin(), count);
    for (size_t i = 0; i < 2; ++i) {
      if (uses_[static_cast<size_t>(*node.inputs[i])] != 1) return refused;
    }
    RETURN_IF_ERROR(Rewrite(*node.inputs[0], of_table));
    const bool are_rows = IsRange(*numbers);
    RETURN_IF_ERROR(are_rows ? Rewrite(*node.inputs[1], of_numbers, false) : refused);
    return absl::OkStatus();
  }

  // 0, 1, 2, ..., as far as the file was read.
  static bool IsRange(const Fact& numbers) {
    const std::optional<Dims> ints = numbers.KnownInts();
    for (size_t i = 0; ints && i < ints->size(); ++i) {
      if ((*ints)[i] != Expr(static_cast<int64_t>(i))) return false;
    }
    return true;
  }

  absl::Status Rewrite(ValueId id, const Ints& sizes, bool warn = true) {
    const Value& value = model_.value(id);
    const Fact* before = fit_.FactOf(id);
    if (before == nullptr) return Refuse("a constant is not known");
    if (warn) {
      Shape shape;
      for (const int64_t size : sizes) shape.push_back(size);
      warnings_.push_back(absl::StrCat(
          Quoted(value.name), " is taken as ", shape.ToString(), " instead of ",
          before->shape.ToString(), kAsBuilt,
          IsFloat(before->dtype) ? "; interpolating it in the run is not counted" : ""));
    }
    if (value.initializer) {
      editor_.ReplaceTensor(id, before->dtype, sizes);
    } else {
      editor_.ReplaceConstant(*value.producer, sizes);
    }
    return absl::OkStatus();
  }

  const ModelData& model_;
  const Inference& fit_;
  adapter::GraphEditor editor_;
  std::vector<int64_t> uses_;  // by ValueId
  absl::btree_map<ValueId, Resized> resized_;
  std::map<std::pair<ValueId, Ints>, ValueId> targets_;
  std::vector<std::string> warnings_;
};

Ints IntsOf(const Node& node, absl::string_view name) {
  const Attribute* attribute = node.FindAttribute(name);
  if (attribute == nullptr) return {};
  return Ints(attribute->ints.begin(), attribute->ints.end());
}

// The sizes of its window, which a convolution may leave to its weight.
Ints KernelOf(const Inference& inference, const Node& node) {
  Ints kernel = IntsOf(node, "kernel_shape");
  const Fact* weight = inference.FactOf(node.input(1));
  if (!kernel.empty() || weight == nullptr || !weight->is_tensor() || !weight->shape.ranked() ||
      weight->shape.rank() < 3) {
    return kernel;
  }
  return Literals(absl::MakeConstSpan(weight->shape.dims()).subspan(2)).value_or(Ints());
}

// Rows, columns, ... at the end of the node's input that none of its windows reads, where windows
// lie side by side without padding: {1, 1} of patches of 16 x 16 on 225 x 225. Empty if there are
// none.
Ints Unread(const Node& node, const Ints& kernel, const Shape& input) {
  constexpr auto kWindows = std::to_array<absl::string_view>({"Conv", "MaxPool", "AveragePool"});
  if (!node.domain.empty() || !absl::c_linear_search(kWindows, node.op_type)) return {};
  const Ints strides = IntsOf(node, "strides");
  const auto is = [](int64_t value) { return [value](int64_t other) { return value == other; }; };
  const Attribute* same = node.FindAttribute("auto_pad");
  const Attribute* ceil = node.FindAttribute("ceil_mode");
  const bool side_by_side =
      kernel.size() == 2 && kernel == strides && absl::c_all_of(IntsOf(node, "pads"), is(0)) &&
      absl::c_all_of(IntsOf(node, "dilations"), is(1)) &&
      (same == nullptr || !absl::StartsWith(same->s, "SAME")) && (ceil == nullptr || ceil->i == 0);
  if (!side_by_side || !input.ranked() || input.rank() != 4) return {};
  Ints unread;
  for (size_t i = 0; i < kernel.size(); ++i) {
    const std::optional<int64_t> size = input[static_cast<int>(i) + 2].AsInt64();
    if (!size || kernel[i] < 1) return {};
    unread.push_back(*size % kernel[i]);
  }
  return absl::c_all_of(unread, is(0)) ? Ints() : unread;
}

// Says which pixels the first such node leaves out.
void NoteUnread(const Inference& at_size, std::vector<std::string>* warnings) {
  const ModelData& model = *at_size.model;
  const Graph& main = model.graph(0);
  std::string text;
  int64_t more = 0;
  for (const NodeId id : main.nodes) {
    const Node& node = model.node(id);
    const Fact* input = at_size.FactOf(node.input(0));
    if (input == nullptr || !input->is_tensor()) continue;
    const Ints kernel = KernelOf(at_size, node), unread = Unread(node, kernel, input->shape);
    if (unread.empty()) continue;
    if (!text.empty()) {
      ++more;
      continue;
    }
    std::vector<std::string> parts;
    for (size_t i = 0; i < unread.size(); ++i) {
      const char* what = i == 0 ? " row" : " column";
      if (unread[i] > 0) parts.push_back(absl::StrCat(unread[i], what, unread[i] > 1 ? "s" : ""));
    }
    text = absl::StrCat(DescribeNode(model, id), ": windows of ", kernel[0], "x", kernel[1],
                        " leave out ", absl::StrJoin(parts, " and "), " at the end of ",
                        input->shape[2].ToString(), "x", input->shape[3].ToString());
  }
  if (text.empty()) return;
  if (more > 0)
    absl::StrAppend(&text, "; ", more, more > 1 ? " more nodes do so" : " more node does so");
  warnings->push_back(std::move(text));
}

// The model with inputs of that size, and all else as it is.
Model WithInputs(const Model& model, const std::vector<ImageInput>& images, const ImageSize& size) {
  adapter::GraphEditor editor(model);
  editor.ForgetDeclared();
  for (const ImageInput& image : images) {
    editor.SetInputSize(image.value, image.axis, size.height);
    editor.SetInputSize(image.value, image.axis + 1, size.width);
  }
  return std::move(editor).Finish();
}

absl::StatusOr<AtImage> Fit(const Model& model, const std::vector<ImageInput>& images,
                            const ImageSize& size, const Inference& exported,
                            adapter::Padding padding, InferSizes infer) {
  const Model sized = WithInputs(model, images, size);
  ASSIGN_OR_RETURN(const Inference fit, infer(sized, &exported));
  ImageFitter fitter(sized, fit);
  RETURN_IF_ERROR(fitter.Run());
  AtImage fitted;
  fitted.warnings = fitter.TakeWarnings();
  fitted.model = std::move(fitter).Finish();
  ASSIGN_OR_RETURN(const Inference at_size, infer(fitted.model, nullptr));
  RETURN_IF_ERROR(
      adapter::CheckSameLayers(exported, at_size, images[0].value, padding, &fitted.warnings));
  NoteUnread(at_size, &fitted.warnings);
  return fitted;
}

// Doubles each side that differs from the export's.
ImageSize LargerSize(const ModelData& model, const ImageInput& image, ImageSize size) {
  const absl::Span<const DeclaredDim> dims = model.value(image.value).declared->dims;
  if (dims[image.axis].size != size.height) size.height *= 2;
  if (dims[image.axis + 1].size != size.width) size.width *= 2;
  return size;
}

absl::Status DoesNotFit(const Model& model, const ImageSize& size, const absl::Status& why) {
  if (!absl::IsInvalidArgument(why)) return why;
  absl::string_view rest = why.message();
  absl::ConsumePrefix(&rest, absl::StrCat(Escaped(model->path), ": "));
  // No graph of the same layers has a place for an image that is smaller than a window.
  const bool is_too_small = absl::StrContains(rest, "a window of ");
  const absl::string_view advice = is_too_small ? ", whose layers have no place for them"
                                   : ConfigOf(*model).empty()
                                       ? "; export the model for images of that size"
                                       : "";
  return absl::InvalidArgumentError(absl::StrCat(Escaped(model->path), ": images of ", ToText(size),
                                                 " need another graph than this one", advice,
                                                 ":\n  ", rest));
}

bool HasOpenSize(const ModelData& model) {
  for (const ValueId id : model.graphs[0].inputs) {
    const DeclaredType* type = model.value(id).declared;
    if (type == nullptr) continue;
    for (const DeclaredDim& dim : type->dims) {
      if (dim.size < 0) return true;
    }
  }
  return false;
}

// True if the images already have that size. An error if it is open or they differ.
absl::StatusOr<bool> HasSize(const ModelData& model, const std::vector<ImageInput>& images,
                             const ImageSize& size) {
  if (images.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(model.path),
                     ": no input is an image: none has a shape [batch, channels, height, width] "
                     "with 1, 3 or 4 channels",
                     HasOpenSize(model)
                         ? WithSettings("; {dim NAME=N} sets the sizes that its inputs leave open")
                         : ""));
  }
  std::set<std::pair<int64_t, int64_t>> sizes;
  for (const ImageInput& image : images) {
    const Value& value = model.value(image.value);
    const absl::Span<const DeclaredDim> dims = value.declared->dims;
    const int64_t height = dims[image.axis].size, width = dims[image.axis + 1].size;
    if (height < 0 || width < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          Escaped(model.path), ": input ", Quoted(value.name),
          " leaves the size of its images open", WithSettings("; {dim NAME=N} sets it")));
    }
    sizes.insert({height, width});
  }
  if (sizes.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(model.path), ": its inputs are images of several sizes"));
  }
  return *sizes.begin() == std::make_pair(size.height, size.width);
}

}  // namespace

std::vector<std::string> PositionWarnings(const std::vector<std::string>& warnings) {
  std::vector<std::string> found;
  absl::c_copy_if(warnings, std::back_inserter(found),
                  [](const std::string& warning) { return absl::StrContains(warning, kAsBuilt); });
  return found;
}

absl::StatusOr<AtImage> ModelAtImage(const Model& model, const ImageSize& size, InferSizes infer) {
  if (size.height < 1 || size.width < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(model->path), ": an image of ", ToText(size), " has no pixels"));
  }
  const std::vector<ImageInput> images = ImageInputs(*model);
  if (!ConfigOf(*model).empty() && !images.empty() && size.height != size.width) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(model->path), ": images of a configuration are square, not ", ToText(size)));
  }
  ASSIGN_OR_RETURN(const bool has_size, HasSize(*model, images, size));
  if (has_size) return AtImage{model, {}};
  ASSIGN_OR_RETURN(const Inference exported, infer(model, nullptr));
  absl::StatusOr<AtImage> fitted =
      Fit(model, images, size, exported, adapter::Padding::kChecked, infer);
  if (!fitted.ok()) return DoesNotFit(model, size, fitted.status());
  const ImageSize larger = LargerSize(*model, images[0], size);
  const absl::Status probed =
      Fit(model, images, larger, exported, adapter::Padding::kLeftOut, infer).status();
  if (!probed.ok()) return DoesNotFit(model, larger, probed);
  return fitted;
}

}  // namespace onnxflops
