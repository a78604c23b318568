// Models of tests from ONNX's own text form.
#ifndef ONNXFLOPS_TESTS_MODEL_TEXT_H_
#define ONNXFLOPS_TESTS_MODEL_TEXT_H_

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "src/load/load_file.h"

namespace onnxflops {

// A graph, "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }"; its nodes are called n0, n1, ...
inline Model ModelFromText(const std::string& text, int opset) {
  onnx::ModelProto proto;
  proto.set_ir_version(10);
  proto.add_opset_import()->set_version(opset);
  auto* contrib = proto.add_opset_import();
  contrib->set_domain("com.microsoft");
  contrib->set_version(1);
  const auto parsed = onnx::OnnxParser::Parse(*proto.mutable_graph(), text.c_str());
  EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage() << "\n" << text;
  int number = 0;
  for (auto& node : *proto.mutable_graph()->mutable_node()) {
    node.set_name(absl::StrCat("n", number++));
  }
  return LoadFromBytes(proto.SerializeAsString(), "test.onnx").value();
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_MODEL_TEXT_H_
