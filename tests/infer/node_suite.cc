#include "tests/infer/node_suite.h"

#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/load/load_file.h"

namespace onnxflops {
namespace {

using Json = nlohmann::json;

Scalar ScalarOfJson(const Json& element) {
  if (element.is_boolean()) return Scalar::Int(element.get<bool>() ? 1 : 0);
  if (element.is_number_float()) return Scalar::Float(element.get<double>());
  if (element.is_number_unsigned()) {
    return Scalar::Int(Expr(absl::int128(element.get<uint64_t>())));
  }
  return Scalar::Int(Expr(element.get<int64_t>()));
}

// nullopt where the value is not recorded, or too large for inference to follow it.
std::optional<Content> ContentOf(const Json& value) {
  const auto values = value.find("values");
  if (values == value.end()) return std::nullopt;
  const std::optional<DType> dtype = ParseDType(value["dtype"].get<std::string>());
  const bool is_float = dtype.has_value() && IsFloat(*dtype);
  const auto limit = static_cast<size_t>(is_float ? kMaxFloatContent : kMaxIntContent);
  if (!dtype.has_value() || values->size() > limit) return std::nullopt;
  Content content;
  for (const Json& element : *values) content.push_back(ScalarOfJson(element));
  return content;
}

// What output number `output` says of the symbol.
std::optional<int64_t> OfficialSize(const Inference& inference, const SymbolOrigin& symbol,
                                    size_t output, const Json& official) {
  const ModelData& model = *inference.model;
  const ValueId id = model.graph(0).outputs[output];
  const bool is_origin = model.value(id).name == symbol.value;
  if (official.contains("items")) {
    if (!is_origin) return std::nullopt;
    return static_cast<int64_t>(official["items"].size());
  }
  const Shape& shape = inference.FactOf(id)->shape;
  for (int d = 0; shape.ranked() && d < shape.rank(); ++d) {
    const bool is_trips = symbol.kind == SymbolOrigin::Kind::kTripCount;
    if ((is_origin && d == symbol.axis) || (is_trips && shape[d].ToString() == symbol.name)) {
      return official["shape"][static_cast<size_t>(d)].get<int64_t>();
    }
  }
  return std::nullopt;
}

}  // namespace

const Json& NodeSuite() {
  static const Json* const suite = [] {
    std::ifstream file(ONNXFLOPS_NODE_SUITE_DIR "/manifest.json");
    return new Json(Json::parse(file));
  }();
  return *suite;
}

std::string NodeModelPath(const std::string& name) {
  return ONNXFLOPS_NODE_SUITE_DIR "/node/" + name + "/model.onnx";
}

absl::StatusOr<Model> LoadNodeModel(const std::string& name) {
  return LoadFile(NodeModelPath(name));
}

InferOptions NodeSuiteOptions(const ModelData& model, const Json& entry) {
  InferOptions options;
  const std::vector<ValueId>& inputs = model.graphs[0].inputs;
  for (size_t i = 0; i < entry["inputs"].size() && i < inputs.size(); ++i) {
    const Json& given = entry["inputs"][i];
    const auto shape = given.find("shape");
    if (shape == given.end()) continue;
    const Value& input = model.value(inputs[i]);
    // The suite writes an optional tensor as the tensor.
    if (input.declared == nullptr || input.declared->kind != TypeKind::kTensor) continue;
    const std::string name(input.name);
    Dims dims;
    for (const Json& dim : *shape) dims.push_back(dim.get<int64_t>());
    options.input_shapes[name] = std::move(dims);
    std::optional<Content> content = ContentOf(given);
    if (content.has_value()) options.input_values[name] = *std::move(content);
  }
  return options;
}

Bindings OfficialSizes(const Inference& inference, const Json& entry) {
  Bindings sizes;
  for (const SymbolOrigin& symbol : inference.symbols) {
    for (size_t i = 0; i < entry["outputs"].size(); ++i) {
      const std::optional<int64_t> size = OfficialSize(inference, symbol, i, entry["outputs"][i]);
      if (size.has_value()) sizes[symbol.name] = *size;
    }
  }
  return sizes;
}

absl::StatusOr<CountedModel> CountNodeModel(const std::string& name, const Json& entry,
                                            const ResolveOptions& options) {
  ASSIGN_OR_RETURN(const Model model, LoadNodeModel(name));
  CountedModel counted;
  InferOptions with_inputs = NodeSuiteOptions(*model, entry);
  with_inputs.operators = options.operators;
  ASSIGN_OR_RETURN(counted.inference, Infer(Resolve(model, options).model, with_inputs));
  ASSIGN_OR_RETURN(counted.counts, Count(counted.inference));
  return counted;
}

}  // namespace onnxflops
