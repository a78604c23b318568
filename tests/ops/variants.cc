#include "tests/ops/variants.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "onnx/onnx_pb.h"

namespace onnxflops {
namespace {

// A number somewhat more or less; of the smallest, which mean "from the start", none is less.
std::vector<int64_t> Changes(int64_t number) {
  if (number < std::numeric_limits<int64_t>::min() + 100) return {1};
  return number == std::numeric_limits<int64_t>::max() ? std::vector<int64_t>{-1, -100}
                                                       : std::vector<int64_t>{1, -1, -100};
}

onnx::TensorShapeProto* ShapeOf(onnx::ModelProto* model, int input) {
  auto* info = model->mutable_graph()->mutable_input(input);
  return info->type().has_tensor_type() && info->type().tensor_type().has_shape()
             ? info->mutable_type()->mutable_tensor_type()->mutable_shape()
             : nullptr;
}

void VaryShapes(const onnx::ModelProto& base, std::vector<Variant>* variants) {
  for (int i = 0; i < base.graph().input_size(); ++i) {
    onnx::ModelProto model = base;
    const std::string name = base.graph().input(i).name();
    onnx::TensorShapeProto* shape = ShapeOf(&model, i);
    if (shape == nullptr) continue;
    for (int d = 0; d < shape->dim_size(); ++d) {
      const int64_t size = shape->dim(d).dim_value();
      for (const int64_t change : {1, -1}) {
        if (size + change < 0) continue;
        shape->mutable_dim(d)->set_dim_value(size + change);
        variants->push_back(
            {absl::StrCat(name, "[", d, "]", change > 0 ? "+" : "", change), model});
      }
      shape->mutable_dim(d)->set_dim_value(size);
    }
    shape->add_dim()->set_dim_value(2);
    variants->push_back({absl::StrCat(name, ".rank+1"), model});
    shape->mutable_dim()->RemoveLast();
    if (shape->dim_size() == 0) continue;
    shape->mutable_dim()->erase(shape->mutable_dim()->begin());
    variants->push_back({absl::StrCat(name, ".rank-1"), model});
    for (const int rank : {1, 0}) {
      if (shape->dim_size() <= rank) continue;
      while (shape->dim_size() > rank) shape->mutable_dim()->RemoveLast();
      variants->push_back({absl::StrCat(name, ".rank=", rank), model});
    }
  }
}

// Of the first node none.
std::string NodePrefix(int n) { return n == 0 ? "" : absl::StrCat("node ", n, ", "); }

void VaryInputs(const onnx::ModelProto& base, std::vector<Variant>* variants) {
  for (int n = 0; n < base.graph().node_size(); ++n) {
    const onnx::NodeProto& node = base.graph().node(n);
    for (int i = 0; i < node.input_size(); ++i) {
      if (node.input(i).empty()) continue;
      Variant& v =
          variants->emplace_back(Variant{absl::StrCat(NodePrefix(n), "no input ", i), base});
      auto* inputs = v.model.mutable_graph()->mutable_node(n)->mutable_input();
      if (i + 1 < node.input_size()) {
        (*inputs)[i] = "";
      } else {
        inputs->RemoveLast();
      }
    }
    if (node.input_size() == 0) continue;
    Variant& v =
        variants->emplace_back(Variant{absl::StrCat(NodePrefix(n), "another input"), base});
    *v.model.mutable_graph()->mutable_node(n)->add_input() = node.input(0);
  }
}

void VaryContents(const onnx::ModelProto& base, std::vector<Variant>* variants) {
  for (int i = 0; i < base.graph().initializer_size(); ++i) {
    const onnx::TensorProto& tensor = base.graph().initializer(i);
    for (int e = 0; e < tensor.int64_data_size() + tensor.int32_data_size(); ++e) {
      const bool is_long = tensor.int64_data_size() > 0;
      for (const int64_t change : Changes(is_long ? tensor.int64_data(e) : tensor.int32_data(e))) {
        Variant& v = variants->emplace_back(
            Variant{absl::StrCat(tensor.name(), "{", e, "}", change > 0 ? "+" : "", change), base});
        onnx::TensorProto* changed = v.model.mutable_graph()->mutable_initializer(i);
        if (is_long) {
          changed->set_int64_data(e, tensor.int64_data(e) + change);
        } else {
          changed->set_int32_data(e, static_cast<int32_t>(tensor.int32_data(e) + change));
        }
      }
    }
  }
}

void VaryAttribute(const onnx::ModelProto& base, int n, int a, std::vector<Variant>* variants) {
  const onnx::AttributeProto& given = base.graph().node(n).attribute(a);
  const auto add = [&](const std::string& what) {
    variants->push_back({absl::StrCat(NodePrefix(n), given.name(), what), base});
    return variants->back().model.mutable_graph()->mutable_node(n)->mutable_attribute(a);
  };
  if (given.type() == onnx::AttributeProto::INT) {
    for (const int64_t change : Changes(given.i())) {
      if (given.i() + change != 1 - given.i() && (given.i() == 0 || given.i() == 1)) continue;
      add(absl::StrCat(change > 0 ? "+" : "", change))->set_i(given.i() + change);
    }
  }
  if (given.type() == onnx::AttributeProto::STRING) add("?")->set_s("?");
  for (int e = 0; e < given.ints_size(); ++e) {
    for (const int64_t change : Changes(given.ints(e))) {
      add(absl::StrCat("{", e, "}", change > 0 ? "+" : "", change))
          ->set_ints(e, given.ints(e) + change);
    }
  }
  if (given.floats_size() > 0) add(".size-1")->mutable_floats()->RemoveLast();
  if (given.strings_size() > 0) add(".size-1")->mutable_strings()->RemoveLast();
  if (given.ints_size() > 0) add(".size-1")->mutable_ints()->RemoveLast();
  if (given.ints_size() > 0) add(".size+1")->add_ints(given.ints(0));
  if (given.type() == onnx::AttributeProto::GRAPH) return;
  variants->push_back({absl::StrCat(NodePrefix(n), "no attribute ", given.name()), base});
  variants->back().model.mutable_graph()->mutable_node(n)->mutable_attribute()->DeleteSubrange(a,
                                                                                               1);
}

// Numbers of a stored tensor, in place of an input: counting from 1 to 3 and from 0 again, or from
// -3 to 3 in another order.
enum class Numbers { kCounting, kSigned };

int64_t NumberAt(Numbers numbers, int64_t i) {
  return numbers == Numbers::kCounting ? (3 * i + 1) % 4 : (5 * i + 2) % 7 - 3;
}

// False if it cannot be: a type without numbers, or too many of them.
bool StoreInput(const onnx::ValueInfoProto& input, Numbers numbers, onnx::GraphProto* graph) {
  constexpr int64_t kMostNumbers = 200;
  if (!input.type().has_tensor_type()) return false;
  onnx::TensorProto* tensor = graph->add_initializer();
  tensor->set_name(input.name());
  const int type = input.type().tensor_type().elem_type();
  tensor->set_data_type(type);
  int64_t count = 1;
  for (const auto& dim : input.type().tensor_type().shape().dim()) {
    tensor->add_dims(dim.dim_value());
    count *= dim.dim_value();
  }
  if (count > kMostNumbers) return false;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = NumberAt(numbers, i);
    switch (type) {
      case onnx::TensorProto::FLOAT:
        tensor->add_float_data(static_cast<float>(number) / 2);
        break;
      case onnx::TensorProto::DOUBLE:
        tensor->add_double_data(static_cast<double>(number) / 2);
        break;
      case onnx::TensorProto::INT64:
        tensor->add_int64_data(number);
        break;
      case onnx::TensorProto::INT32:
        tensor->add_int32_data(static_cast<int32_t>(number));
        break;
      case onnx::TensorProto::BOOL:
        tensor->add_int32_data(number > 0 ? 1 : 0);
        break;
      default:
        return false;
    }
  }
  return true;
}

// All inputs stored, so that what comes out is known.
void StoreInputs(const onnx::ModelProto& base, std::vector<Variant>* variants) {
  for (const Numbers numbers : {Numbers::kCounting, Numbers::kSigned}) {
    Variant v = {numbers == Numbers::kCounting ? "stored" : "stored, signed", base};
    onnx::GraphProto* graph = v.model.mutable_graph();
    bool stored = graph->input_size() > 0;
    for (const auto& input : base.graph().input()) {
      stored = stored && StoreInput(input, numbers, graph);
    }
    graph->clear_input();
    if (stored) variants->push_back(std::move(v));
  }
}

// A type of as much another size as its kind has, so that bytes tell which of the two it is.
onnx::TensorProto::DataType OtherType(int type) {
  switch (type) {
    case onnx::TensorProto::FLOAT:
      return onnx::TensorProto::FLOAT16;
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
    case onnx::TensorProto::DOUBLE:
      return onnx::TensorProto::FLOAT;
    case onnx::TensorProto::INT64:
      return onnx::TensorProto::INT32;
    case onnx::TensorProto::INT32:
      return onnx::TensorProto::INT64;
    case onnx::TensorProto::UINT8:
      return onnx::TensorProto::INT8;
    default:
      return onnx::TensorProto::UINT8;
  }
}

}  // namespace

std::vector<Variant> RetypedOf(const onnx::ModelProto& base) {
  std::vector<Variant> variants;
  for (int i = 0; i < base.graph().input_size(); ++i) {
    const auto& input = base.graph().input(i);
    if (!input.type().has_tensor_type()) continue;
    const auto type = OtherType(input.type().tensor_type().elem_type());
    Variant& v = variants.emplace_back(
        Variant{absl::StrCat(input.name(), ":", onnx::TensorProto::DataType_Name(type)), base});
    auto* changed = v.model.mutable_graph()->mutable_input(i);
    changed->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  }
  return variants;
}

onnx::ModelProto WithSizes(onnx::ModelProto model) {
  std::map<std::string, int64_t> sizes;
  for (auto& input : *model.mutable_graph()->mutable_input()) {
    if (!input.type().has_tensor_type()) continue;
    for (auto& dim : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (!dim.has_dim_param()) continue;
      constexpr int64_t kSizes[] = {3, 7, 11, 13};
      const int64_t next = kSizes[sizes.size() % 4];
      dim.set_dim_value(sizes.emplace(dim.dim_param(), next).first->second);
    }
  }
  for (auto& output : *model.mutable_graph()->mutable_output()) output.clear_type();
  return model;
}

std::vector<Variant> VariantsOf(const onnx::ModelProto& example, const Versions& versions) {
  const onnx::ModelProto base = WithSizes(example);
  std::vector<Variant> variants = {{"as it is", base}};
  VaryShapes(base, &variants);
  VaryInputs(base, &variants);
  VaryContents(base, &variants);
  StoreInputs(base, &variants);
  for (int n = 0; n < base.graph().node_size(); ++n) {
    for (int a = 0; a < base.graph().node(n).attribute_size(); ++a) {
      VaryAttribute(base, n, a, &variants);
    }
  }
  for (const int version : versions) {
    Variant& v = variants.emplace_back(Variant{absl::StrCat("version ", version), base});
    auto* opset = v.model.mutable_opset_import(v.model.opset_import_size() - 1);
    if (opset->version() == version) {
      variants.pop_back();
    } else {
      opset->set_version(version);
    }
  }
  return variants;
}

}  // namespace onnxflops
