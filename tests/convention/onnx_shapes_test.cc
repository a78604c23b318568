// What is said of ONNX's own shape inference, against the official library: over models, and over
// ONNX's node models with their inputs known in part.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "onnx/checker.h"
#include "onnx/defs/parser.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "onnx/shape_inference/implementation.h"
#include "ops/registry.h"
#include "src/convention/onnx/shapes.h"
#include "src/load/load_file.h"
#include "tests/convention/onnx_graphs.h"
#include "tests/infer/node_suite.h"
#include "tests/model_maker.h"
#include "tests/sample.h"

namespace onnxflops::convention::onnx_shapes_test {
namespace {

// ---- What one of the two knows of a value

struct Known {
  std::string kind;  // "sequence of ", "optional of "
  bool ranked = false;
  std::vector<int64_t> dims;  // -1: not known

  bool operator==(const Known&) const = default;
  std::string Text() const {
    std::string text = absl::StrCat(kind, ranked ? "[" : "?");
    for (int64_t dim : dims) absl::StrAppend(&text, dim < 0 ? "?" : absl::StrCat(dim), " ");
    return text + (ranked ? "]" : "");
  }
  // Whether this holds something that the other does not.
  bool HasMoreThan(const Known& other) const {
    if (!ranked) return !kind.empty() && other.kind.empty();
    if (!other.ranked) return true;
    for (size_t i = 0; i < dims.size() && i < other.dims.size(); ++i) {
      if (dims[i] >= 0 && other.dims[i] < 0) return true;
    }
    return false;
  }
};

Known KnownOf(const onnx::TypeProto& type) {
  if (type.has_sequence_type() || type.has_optional_type()) {
    const bool sequence = type.has_sequence_type();
    Known known =
        KnownOf(sequence ? type.sequence_type().elem_type() : type.optional_type().elem_type());
    known.kind = absl::StrCat(sequence ? "sequence of " : "optional of ", known.kind);
    return known;
  }
  Known known{"", type.tensor_type().has_shape(), {}};
  for (const auto& dim : type.tensor_type().shape().dim()) {
    known.dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  }
  return known;
}

Known KnownOf(const Fact& fact) {
  if (fact.element != nullptr) {
    const bool sequence = fact.kind == Fact::Kind::kSequence;
    Known known = KnownOf(*fact.element);
    known.kind = absl::StrCat(sequence ? "sequence of " : "optional of ", known.kind);
    return known;
  }
  Known known{"", fact.is_tensor() && fact.shape.ranked(), {}};
  for (const Expr& dim : fact.shape.dims()) known.dims.push_back(dim.AsInt64().value_or(-1));
  return known;
}

// ---- The official inference

using Official = std::map<std::string, Known>;  // by name of a value

// As onnx.shape_inference.infer_shapes calls it; empty if it refuses the model. `declared`: what
// the file says of values stays.
Official Infer(onnx::ModelProto proto, bool data_propagation, bool declared = false) {
  if (!declared) proto.mutable_graph()->clear_value_info();
  Official official;
  try {
    onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(false, 0, data_propagation));
  } catch (const std::exception& error) {
    return official;
  }
  const onnx::GraphProto& graph = proto.graph();
  for (const auto* values : {&graph.value_info(), &graph.input(), &graph.output()}) {
    for (const onnx::ValueInfoProto& value : *values)
      official[value.name()] = KnownOf(value.type());
  }
  return official;
}

struct Difference {
  std::string op, value;
  Known ours, theirs;
};

// Of the outputs of the main graph's nodes, but what follows from another one.
std::vector<Difference> Differences(const Model& model, const OnnxShapes& shapes,
                                    const Official& official) {
  std::vector<Difference> differences;
  std::set<ValueId> differ;
  for (NodeId id : model->graphs[0].nodes) {
    const Node& node = model->node(id);
    const bool follows = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](OptionalValueId i) { return i && differ.contains(*i); });
    for (OptionalValueId output : node.outputs) {
      if (!output) continue;
      const std::string name(model->value(*output).name);
      const auto found = official.find(name);
      Difference d{std::string(node.op_type), name, KnownOf(shapes.of(*output)), {}};
      if (found != official.end()) d.theirs = found->second;
      if (d.ours == d.theirs) continue;
      differ.insert(*output);
      if (!follows) differences.push_back(std::move(d));
    }
  }
  return differences;
}

onnx::ModelProto ReadProto(const std::string& path) {
  onnx::ModelProto proto;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(proto.ParseFromIstream(&file)) << path;
  return proto;
}

// ---- Where the two differ, and why that may be.
enum class Which { kMore, kLess, kOther };

struct Exemption {
  absl::string_view op;
  Which which;
  absl::string_view reason;
};
// Sizes that several inputs share: our rule takes them from any.
constexpr char kShared[] = "the library takes a shared size from one input, our rule from any";
constexpr char kAxis[] = "where the size along the axis is open, only a few sizes are known";
constexpr char kKernel[] = "of a weight whose kernel is open the library finds nothing";
constexpr char kBranch[] = "we do not infer a branch that is never taken";
constexpr char kRare[] = "what it finds of so rare an operator decides nobody's figure";
constexpr Exemption kExemptions[] = {
    {"AffineGrid", Which::kMore, "the library takes the batch from `size` alone"},
    {"ArrayFeatureExtractor", Which::kLess, kRare},
    {"Attention", Which::kLess, kShared},
    {"Attention", Which::kMore, kShared},
    {"Attention", Which::kOther, "the library reads open sizes as 0"},
    {"BatchNormalization", Which::kLess, kShared},
    {"CastLike", Which::kLess, kBranch},
    {"CausalConvWithState", Which::kLess, kShared},
    {"CausalConvWithState", Which::kMore, kShared},
    {"Conv", Which::kMore, kKernel},
    {"ConvInteger", Which::kMore, kKernel},
    {"ConvTranspose", Which::kMore, kKernel},
    {"DFT", Which::kLess, "our rule needs the axis, which the library does without"},
    {"Einsum", Which::kMore, kShared},
    {"If", Which::kLess, kBranch},
    {"LinearAttention", Which::kLess, kShared},
    {"Loop", Which::kLess, kRare},
    {"Loop", Which::kOther, kRare},
    {"MaxUnpool", Which::kLess, kRare},
    {"OptionalGetElement", Which::kMore, kRare},
    {"QLinearConv", Which::kMore, kKernel},
    {"Reshape", Which::kLess, kBranch},
    {"Resize", Which::kLess, "under not_smaller the library reads open sizes as 0"},
    {"STFT", Which::kMore, "of an open signal or window the library finds nothing"},
    {"STFT", Which::kOther, "the library takes a missing onesided as 0, the specification as 1"},
    {"Scan", Which::kLess, "Scan-8, whose inputs are batches"},
    {"SequenceMap", Which::kLess, kRare},
    {"Slice", Which::kMore, "a slice from beyond any size is empty"},
    {"SoftmaxCrossEntropyLoss", Which::kMore, kShared},
    {"Split", Which::kLess, kAxis},
    {"Split", Which::kMore, kAxis},
    {"StringNormalizer", Which::kLess, kRare},
    {"TensorScatter", Which::kMore, kShared},
    {"TopK", Which::kMore, kAxis},
    {"Unique", Which::kLess, kRare},
};
constexpr Exemption kModelExemptions[] = {
    {"DynamicQuantizeLinear", Which::kLess, "of x of unknown rank the scale is known to be one"},
    {"Reshape", Which::kLess, "a Cast gives a type to a value without one"},
    {"Split", Which::kMore, kAxis},
};

class Comparison {
 public:
  explicit Comparison(absl::Span<const Exemption> exemptions) : exemptions_(exemptions) {}

  void Add(const std::string& what, const Model& model, const OnnxShapes& shapes,
           const Official& official) {
    for (const Difference& d : Differences(model, shapes, official)) {
      const Which which = d.ours.HasMoreThan(d.theirs)   ? Which::kMore
                          : d.theirs.HasMoreThan(d.ours) ? Which::kLess
                                                         : Which::kOther;
      // Rules may ask for a rank that the library does without.
      if (which == Which::kLess && absl::StrContains(what, kNoRank)) continue;
      if (IsExempt(d.op, which)) continue;
      ADD_FAILURE() << what << ": " << d.op << " " << d.value << ": we know " << d.ours.Text()
                    << ", the library " << d.theirs.Text();
    }
  }
  // A row for nothing is a mistake as well.
  void ExpectAllMet() const {
    for (const Exemption& exemption : exemptions_) {
      EXPECT_TRUE(met_.contains(&exemption)) << exemption.op << ": " << exemption.reason;
    }
  }

  static constexpr char kNoRank[] = "no rank";

 private:
  bool IsExempt(const std::string& op, Which which) {
    for (const Exemption& exemption : exemptions_) {
      if (exemption.op != op || exemption.which != which) continue;
      met_.insert(&exemption);
      return true;
    }
    return false;
  }

  absl::Span<const Exemption> exemptions_;
  std::set<const Exemption*> met_;
};

// ---- Models

std::vector<std::string> ModelFiles() {
  std::vector<std::string> files;
  for (const char* root : {ONNXFLOPS_SOURCE_DIR "/models", ONNXFLOPS_COMPARE_MODELS_DIR}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() == ".onnx") files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void CompareFile(const std::string& path, Comparison* comparison) {
  const absl::StatusOr<Model> model = LoadFile(path);
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Inference> inference = onnxflops::Infer(*model);
  ASSERT_TRUE(inference.ok()) << inference.status();
  for (const bool propagation : {true, false}) {
    const Official official = Infer(ReadProto(path), propagation);
    if (official.empty()) continue;
    const OnnxShapes shapes(*inference, {.declared = false, .data_propagation = propagation});
    comparison->Add(absl::StrCat(path, propagation ? "" : " without data propagation"), *model,
                    shapes, official);
  }
}

TEST(OnnxShapesTest, KnowsOfModelsWhatTheOfficialLibraryKnows) {
  Comparison comparison(kModelExemptions);
  for (const std::string& path : ModelFiles()) CompareFile(path, &comparison);
  comparison.ExpectAllMet();
}

// ---- What a walk costs

void AddFunction(const std::string& name, onnx::ModelProto* model, onnx::FunctionProto** function) {
  *function = model->add_functions();
  (*function)->set_name(name);
  (*function)->set_domain("local");
  (*function)->add_input("x");
  (*function)->add_output("y0");
  for (const char* domain : {"", "local"}) {
    auto* opset = (*function)->add_opset_import();
    opset->set_domain(domain);
    opset->set_version(17);
  }
}

void AddCalls(const std::string& name, int calls,
              google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes) {
  for (int i = 0; i < calls; ++i) {
    onnx::NodeProto* node = nodes->Add();
    node->set_op_type(name);
    node->set_domain("local");
    node->add_input("x");
    node->add_output(absl::StrCat("y", i));
  }
}

// 40 calls of a function that calls another 40 times, which has one node. Inference looks at each
// function once; ONNX walks through all 1,600.
ModelMaker CalledOften(int inputs, size_t name_bytes) {
  constexpr int kCalls = 40;
  ModelMaker make;
  onnx::OperatorSetIdProto* local = make.proto.add_opset_import();
  local->set_domain("local");
  local->set_version(17);
  make.Input("x", {"2"}).Output("y0");
  AddCalls("outer", kCalls, make.proto.mutable_graph()->mutable_node());
  onnx::FunctionProto* function = nullptr;
  AddFunction("outer", &make.proto, &function);
  AddCalls("inner", kCalls, function->mutable_node());
  AddFunction("inner", &make.proto, &function);
  onnx::NodeProto* node = function->add_node();
  node->set_op_type("Sum");
  node->set_name(std::string(name_bytes, 'n'));
  for (int i = 0; i < inputs; ++i) node->add_input("x");
  node->add_output("y0");
  return make;
}

// A node in a body costs what evaluating it costs: more for many inputs, and for a long name. So a
// file of some kilobytes is not walked through for minutes: what is left then is not known.
TEST(OnnxShapesTest, WalksThroughBodiesAsFarAsTheLimitGoes) {
  struct Case {
    int inputs;
    size_t name_bytes;
    bool ends;
  };
  for (const Case& c : {Case{2, 1, true}, {4'000, 1, false}, {2, 32'000, false}}) {
    const absl::StatusOr<Model> model = CalledOften(c.inputs, c.name_bytes).Load();
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::StatusOr<Inference> inference = onnxflops::Infer(*model);
    ASSERT_TRUE(inference.ok()) << inference.status();
    const OnnxShapes shapes(*inference, {});
    EXPECT_EQ(!shapes.first_doubt(), c.ends) << c.inputs << " inputs, " << c.name_bytes << " bytes";
  }
}

// The limit is one per node, beside what every model has.
TEST(OnnxShapesTest, AHigherLimitWalksAtLeastAsFar) {
  const Model model = CalledOften(2, 1).Load().value();
  Inference inference = onnxflops::Infer(model).value();
  inference.limits.evaluations_per_node = int64_t{1} << 40;
  inference.limits.content_per_node = int64_t{1} << 40;
  EXPECT_FALSE(OnnxShapes(inference, {}).first_doubt());
}

// ---- ONNX's node models, with less known of their inputs

struct Edit {
  std::string name;
  std::function<void(onnx::GraphProto*)> apply;
};

onnx::TensorShapeProto* ShapeOf(onnx::GraphProto* graph, int input) {
  onnx::TypeProto* type = graph->mutable_input(input)->mutable_type();
  if (!type->has_tensor_type() || !type->tensor_type().has_shape()) return nullptr;
  return type->mutable_tensor_type()->mutable_shape();
}

int InputNamed(const onnx::GraphProto& graph, const std::string& name) {
  for (int i = 0; i < graph.input_size(); ++i) {
    if (graph.input(i).name() == name) return i;
  }
  return -1;
}

bool IsSmallInts(const nlohmann::json& value) {
  constexpr size_t kSmall = 16;
  const auto values = value.find("values");
  if (values == value.end() || values->size() > kSmall) return false;
  return value["dtype"] == "int64" || value["dtype"] == "int32";
}

onnx::TensorProto Tensor_(const nlohmann::json& value) {
  onnx::TensorProto tensor;
  tensor.set_name(value["name"].get<std::string>());
  const bool wide = value["dtype"] == "int64";
  tensor.set_data_type(wide ? onnx::TensorProto::INT64 : onnx::TensorProto::INT32);
  for (const auto& dim : value["shape"]) tensor.add_dims(dim.get<int64_t>());
  for (const auto& element : value["values"]) {
    if (wide) {
      tensor.add_int64_data(element.get<int64_t>());
    } else {
      tensor.add_int32_data(element.get<int32_t>());
    }
  }
  return tensor;
}

// The small integer inputs become constants.
void GiveValues(const nlohmann::json& entry, onnx::GraphProto* graph) {
  for (const auto& value : entry["inputs"]) {
    if (!IsSmallInts(value)) continue;
    *graph->add_initializer() = Tensor_(value);
    const int input = InputNamed(*graph, value["name"].get<std::string>());
    if (input >= 0) graph->mutable_input()->DeleteSubrange(input, 1);
  }
}

// The input becomes the shape of another one, whose first size may be open.
void GiveShape(const nlohmann::json& value, bool open, onnx::GraphProto* graph) {
  const std::string name = value["name"].get<std::string>();
  const int input = InputNamed(*graph, name);
  if (input < 0) return;
  graph->mutable_input(input)->set_name(name + "_of");
  auto* tensor = graph->mutable_input(input)->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::TensorProto::FLOAT);
  tensor->mutable_shape()->clear_dim();
  for (const auto& size : value["values"]) {
    tensor->mutable_shape()->add_dim()->set_dim_value(size.get<int64_t>());
  }
  if (open && tensor->shape().dim_size() > 0) {
    tensor->mutable_shape()->mutable_dim(0)->set_dim_param("open");
  }
  const auto nodes = graph->node();
  graph->clear_node();
  onnx::NodeProto* shape = graph->add_node();
  shape->set_op_type("Shape");
  shape->add_input(name + "_of");
  shape->add_output(name);
  for (const onnx::NodeProto& node : nodes) *graph->add_node() = node;
}

void GiveShapes(const nlohmann::json& entry, bool open, onnx::GraphProto* graph) {
  for (const auto& value : entry["inputs"]) {
    if (!IsSmallInts(value) || value["dtype"] != "int64" || value["shape"].size() != 1) continue;
    const auto& sizes = value["values"];
    const bool positive = std::all_of(sizes.begin(), sizes.end(), [](const auto& size) {
      return size.template get<int64_t>() > 0;
    });
    if (positive) GiveShape(value, open, graph);
  }
}

std::vector<Edit> Edits(const onnx::GraphProto& given, const nlohmann::json& entry) {
  std::vector<Edit> edits = {
      {"as is", [](onnx::GraphProto*) {}},
      {"values", [&](onnx::GraphProto* g) { GiveValues(entry, g); }},
      {"shapes", [&](onnx::GraphProto* g) { GiveShapes(entry, false, g); }},
      {"open shapes", [&](onnx::GraphProto* g) { GiveShapes(entry, true, g); }},
  };
  onnx::GraphProto with_values = given;
  GiveValues(entry, &with_values);
  for (int i = 0; i < with_values.input_size(); ++i) {
    const onnx::TensorShapeProto* shape = ShapeOf(&with_values, i);
    if (shape == nullptr) continue;
    edits.push_back({absl::StrCat(Comparison::kNoRank, " ", i), [&entry, i](onnx::GraphProto* g) {
                       GiveValues(entry, g);
                       g->mutable_input(i)->mutable_type()->mutable_tensor_type()->clear_shape();
                     }});
    for (int axis = 0; axis < shape->dim_size(); ++axis) {
      edits.push_back({absl::StrCat("open ", i, ".", axis), [&entry, i, axis](onnx::GraphProto* g) {
                         GiveValues(entry, g);
                         ShapeOf(g, i)->mutable_dim(axis)->set_dim_param("open");
                       }});
    }
  }
  return edits;
}

void ClearOutputShapes(onnx::GraphProto* graph) {
  for (onnx::ValueInfoProto& output : *graph->mutable_output()) {
    onnx::TypeProto* type = output.mutable_type();
    while (type->has_sequence_type() || type->has_optional_type()) {
      type = type->has_sequence_type() ? type->mutable_sequence_type()->mutable_elem_type()
                                       : type->mutable_optional_type()->mutable_elem_type();
    }
    type->mutable_tensor_type()->clear_shape();
  }
}

// The versions of an operator, in all rows.
std::set<int> VersionsOf(absl::string_view domain, absl::string_view op) {
  std::set<int> versions;
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& row : family.rows) {
      if (family.domain != domain || row.name != op) continue;
      versions.insert(row.versions.begin(), row.versions.end());
    }
  }
  return versions;
}

bool IsValid(const onnx::ModelProto& model) {
  try {
    onnx::checker::check_model(model);
    return true;
  } catch (const std::exception& error) {
    return false;
  }
}

// The model, and the same node as one of an earlier version that has its form.
std::vector<onnx::ModelProto> InVersions(const onnx::ModelProto& given) {
  constexpr int kOldest = 7;  // files of older opsets are museum pieces
  std::vector<onnx::ModelProto> models = {given};
  const onnx::NodeProto& node = given.graph().node(0);
  if (given.graph().node_size() != 1 || !node.domain().empty()) return models;
  for (int version : VersionsOf(node.domain(), node.op_type())) {
    onnx::ModelProto model = given;
    const bool older = version < model.opset_import(0).version();
    model.mutable_opset_import(0)->set_version(version);
    if (older && version >= kOldest && IsValid(model)) models.push_back(model);
  }
  return models;
}

class NodeModels {
 public:
  void Check(const std::string& name, const nlohmann::json& entry) {
    onnx::ModelProto whole = ReadProto(NodeModelPath(name));
    ClearOutputShapes(whole.mutable_graph());
    for (const onnx::ModelProto& model : InVersions(whole)) {
      for (const Edit& edit : Edits(model.graph(), entry)) {
        onnx::ModelProto edited = model;
        edit.apply(edited.mutable_graph());
        if (!seen_.insert(edited.SerializeAsString()).second || !sample_.Next()) continue;
        const int64_t version = edited.opset_import(0).version();
        CheckModel(edited, absl::StrCat(name, ", opset ", version, ", ", edit.name));
      }
    }
  }
  const Comparison& comparison() const { return comparison_; }
  int models() const { return models_; }

 private:
  void CheckModel(const onnx::ModelProto& proto, const std::string& what) {
    const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
    ASSERT_TRUE(model.ok()) << what << model.status();
    const absl::StatusOr<Inference> inference = onnxflops::Infer(*model);
    if (!inference.ok()) return;  // a form that the older version does not have
    ++models_;
    comparison_.Add(what, *model, OnnxShapes(*inference, {.declared = false}), Infer(proto, true));
  }

  Comparison comparison_{kExemptions};
  std::set<std::string> seen_;  // an edit may change nothing, or what another one changed
  Sample sample_;
  int models_ = 0;
};

TEST(OnnxShapesTest, KnowsOfOperatorsWhatTheOfficialLibraryKnows) {
  NodeModels models;
  for (const auto& [name, entry] : NodeSuite().items()) models.Check(name, entry);
  if (!Sample::IsAll()) return;
  models.comparison().ExpectAllMet();
  EXPECT_GT(models.models(), 10000);
}

// ---- Bodies, functions and lists of sizes

// The text form has no type without a shape: scalars of bodies are tensors of any shape.
void ForgetShapesOfBodies(onnx::GraphProto* graph) {
  for (onnx::NodeProto& node : *graph->mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      onnx::GraphProto* body = attribute.mutable_g();
      ForgetShapesOfBodies(body);
      ClearOutputShapes(body);
      for (onnx::ValueInfoProto& input : *body->mutable_input()) {
        auto* tensor = input.mutable_type()->mutable_tensor_type();
        if (tensor->shape().dim_size() == 0) tensor->clear_shape();
      }
    }
  }
}

std::vector<onnx::ModelProto> WrittenModels() {
  std::vector<onnx::ModelProto> models;
  for (const char* text : kGraphs) {
    onnx::ModelProto& model = models.emplace_back();
    model.set_ir_version(10);
    model.add_opset_import()->set_version(17);
    const auto parsed = onnx::OnnxParser::Parse(*model.mutable_graph(), text);
    EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage() << text;
  }
  for (const char* text : kModels) {
    const auto parsed = onnx::OnnxParser::Parse(models.emplace_back(), text);
    EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage() << text;
  }
  for (onnx::ModelProto& model : models) {
    ClearOutputShapes(model.mutable_graph());
    ForgetShapesOfBodies(model.mutable_graph());
  }
  return models;
}

// The graph itself; then, one at a time, each size of an input and each rank left open.
std::vector<Edit> OpenInputs(const onnx::GraphProto& graph) {
  std::vector<Edit> edits = {{"as is", [](onnx::GraphProto*) {}}};
  for (int i = 0; i < graph.input_size(); ++i) {
    const int rank = graph.input(i).type().tensor_type().shape().dim_size();
    for (int axis = 0; axis < rank; ++axis) {
      edits.push_back({absl::StrCat("open ", i, ".", axis), [i, axis](onnx::GraphProto* g) {
                         ShapeOf(g, i)->mutable_dim(axis)->set_dim_param("open");
                       }});
    }
    edits.push_back({absl::StrCat(Comparison::kNoRank, " ", i), [i](onnx::GraphProto* g) {
                       g->mutable_input(i)->mutable_type()->mutable_tensor_type()->clear_shape();
                     }});
  }
  return edits;
}

TEST(OnnxShapesTest, KnowsOfBodiesWhatTheOfficialLibraryKnows) {
  constexpr Exemption kSplits[] = {{"Split", Which::kLess, kAxis}, {"Split", Which::kMore, kAxis}};
  Comparison comparison(kSplits);
  int number = 0;
  for (const onnx::ModelProto& written : WrittenModels()) {
    ++number;
    for (const Edit& edit : OpenInputs(written.graph())) {
      onnx::ModelProto proto = written;
      edit.apply(proto.mutable_graph());
      const Model model = LoadFromBytes(proto.SerializeAsString()).value();
      const absl::StatusOr<Inference> inference = onnxflops::Infer(model);
      if (!inference.ok()) continue;  // nothing is said of what is refused
      for (const bool propagation : {true, false}) {
        const OnnxShapes shapes(*inference, {.declared = false, .data_propagation = propagation});
        comparison.Add(absl::StrCat("model ", number, ", ", edit.name, " ", propagation), model,
                       shapes, Infer(proto, propagation));
      }
    }
  }
}

// ---- What the rows say of versions

TEST(OnnxShapesTest, RowsKnowWhichVersionsHaveAnInference) {
  for (const OpFamily& family : AllFamilies()) {
    if (!IsOnnxDomain(family.domain)) continue;
    for (const OpDef& row : family.rows) {
      for (int version : row.versions) {
        const auto* schema = onnx::OpSchemaRegistry::Schema(row.name, version, family.domain);
        if (schema == nullptr || schema->since_version() != version) continue;
        const std::string name = absl::StrCat(row.name, "-", version);
        if (name == "Scan-8") continue;  // its inputs are batches: not followed
        SCOPED_TRACE(name);
        const bool infers =
            schema->has_type_and_shape_inference_function() || schema->HasFunction();
        if (row.onnx.finds != OnnxInference::Finds::kNothing) {
          EXPECT_EQ(version >= row.onnx.since, infers);
        }
        EXPECT_EQ(row.onnx.follows_since != 0 && version >= row.onnx.follows_since,
                  schema->has_data_propagation_function());
      }
    }
  }
}

}  // namespace
}  // namespace onnxflops::convention::onnx_shapes_test
