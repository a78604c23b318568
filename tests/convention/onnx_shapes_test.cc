// What is said of ONNX's own shape inference, against the official library.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "onnx/shape_inference/implementation.h"
#include "src/convention/onnx/shapes.h"
#include "src/load/load.h"

namespace onnxflops::convention {
namespace {

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

// The official inference's dimensions: a number, or -1.
using Official = std::map<std::string, std::vector<int64_t>>;

void Note(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values, Official* out) {
  for (const onnx::ValueInfoProto& value : values) {
    if (!value.type().tensor_type().has_shape()) continue;
    std::vector<int64_t>& dims = (*out)[value.name()];
    for (const auto& dim : value.type().tensor_type().shape().dim()) {
      dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    }
  }
}

Official Infer(const std::string& path, bool data_propagation) {
  onnx::ModelProto proto;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(proto.ParseFromIstream(&file)) << path;
  proto.mutable_graph()->clear_value_info();
  Official official;
  try {
    onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(false, 0, data_propagation));
  } catch (const std::exception& error) {
    return official;  // nothing is known of such a model
  }
  Note(proto.graph().value_info(), &official);
  Note(proto.graph().input(), &official);
  Note(proto.graph().output(), &official);
  return official;
}

struct Comparison {
  int values = 0, known = 0, too_much = 0, too_little = 0;
  std::string first;  // of what is too much
};

Comparison Compare(const Model& model, const OnnxShapes& shapes, const Official& official) {
  Comparison result;
  for (NodeId node : model->graphs[0].nodes) {
    for (OptionalValueId id : model->node(node).outputs) {
      if (!id) continue;
      const OnnxShapes::Known& ours = shapes.of(*id);
      const std::string name(model->value(*id).name);
      const auto theirs = official.find(name);
      const bool ranked = theirs != official.end();
      ++result.values;
      bool more = ours.ranked && !ranked;
      bool less = !ours.ranked && ranked;
      for (size_t i = 0; ours.ranked && ranked && i < ours.dims.size(); ++i) {
        const bool known = theirs->second[i] >= 0;
        more = more || (ours.dims[i] && !known);
        less = less || (!ours.dims[i] && known);
        result.known += known ? 1 : 0;
      }
      if (more && result.too_much++ == 0) result.first = name;
      result.too_little += less ? 1 : 0;
    }
  }
  return result;
}

TEST(OnnxShapesTest, KnowsWhatTheOfficialLibraryKnows) {
  int values = 0, too_little = 0;
  for (const std::string& path : ModelFiles()) {
    const absl::StatusOr<Model> model = LoadFile(path);
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::StatusOr<Inference> inference = onnxflops::Infer(*model);
    ASSERT_TRUE(inference.ok()) << inference.status();
    for (const bool data_propagation : {true, false}) {
      const Official official = Infer(path, data_propagation);
      if (official.empty()) continue;
      const OnnxShapes shapes(*inference,
                              {.declared = false, .data_propagation = data_propagation});
      const Comparison c = Compare(*model, shapes, official);
      EXPECT_EQ(c.too_much, 0) << path << ": " << c.first << " is not known, of " << c.values;
      values += c.values;
      too_little += c.too_little;
      // Of plain exports with fixed sizes nothing is missed, but where data decide.
      const bool plain = absl::StrContains(path, "static") && (*model)->functions.empty() &&
                         !absl::StrContains(path, "deployed") &&
                         !absl::StrContains(path, "maskrcnn");
      EXPECT_TRUE(!plain || c.too_little == 0) << path << ": " << c.too_little;
    }
  }
  EXPECT_GT(values, 50000);
  EXPECT_LT(too_little * 50, values);
}

}  // namespace
}  // namespace onnxflops::convention
