// Files for tests of the loader, byte by byte or in ONNX's text form, and a look at what was made
// of them.
#ifndef ONNXFLOPS_TESTS_LOAD_LOAD_BYTES_H_
#define ONNXFLOPS_TESTS_LOAD_LOAD_BYTES_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "src/load/load_file.h"

namespace onnxflops {

// ---- Building files

inline std::string Varint(uint64_t n) {
  std::string out;
  for (; n >= 0x80; n >>= 7) out += static_cast<char>(n | 0x80);
  return out + static_cast<char>(n);
}
// Fields of a message: a number, and anything with a length.
inline std::string Number(uint32_t field, uint64_t value) {
  return Varint(field << 3) + Varint(value);
}
inline std::string Bytes(uint32_t field, const std::string& bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
}

inline std::string Attribute_(const std::string& fields) { return Bytes(5, fields); }
inline std::string Node_(const std::string& op, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs, const std::string& more = "") {
  std::string node;
  for (const std::string& name : inputs) node += Bytes(1, name);
  for (const std::string& name : outputs) node += Bytes(2, name);
  return Bytes(1, node + Bytes(4, op) + more);
}
inline std::string Input_(const std::string& name) { return Bytes(11, Bytes(1, name)); }
inline std::string Output_(const std::string& name) { return Bytes(12, Bytes(1, name)); }
// An initializer of int64.
inline std::string Initializer_(const std::string& name, const std::vector<int64_t>& dims,
                                const std::string& payload) {
  std::string tensor;
  for (const int64_t dim : dims) tensor += Number(1, static_cast<uint64_t>(dim));
  return Bytes(5, tensor + Number(2, 7) + Bytes(8, name) + payload);
}
inline std::string Opset(const std::string& domain, uint64_t version) {
  return Bytes(8, Bytes(1, domain) + Number(2, version));
}
inline std::string Named(const std::string& name) { return Bytes(3, name); }
inline std::string ModelOf(const std::string& graph) {
  return Number(1, 8) + Bytes(7, graph) + Opset("", 17);
}

// A model in ONNX's own text form.
inline std::string Text(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model.SerializeAsString();
}
// A graph in text form, as a model of opset 17.
inline std::string GraphText(const std::string& graph) {
  return Text("<ir_version: 8, opset_import: [\"\" : 17]> " + graph);
}

inline std::string Body(const std::string& graph) {
  return Attribute_(Bytes(1, "body") + Bytes(6, graph) + Number(20, 5));
}

// A function of domain "f" without inputs that calls others.
inline std::string FunctionCalling(const std::string& name, const std::vector<std::string>& callees,
                                   const std::string& overload = "") {
  std::string f = Bytes(1, name) + Bytes(10, "f") + Bytes(9, Bytes(1, "f") + Number(2, 1)) +
                  (overload.empty() ? "" : Bytes(13, overload));
  int calls = 0;
  for (const std::string& callee : callees) {
    f += Bytes(7, Bytes(2, absl::StrCat("call", ++calls)) + Bytes(4, callee) + Bytes(7, "f"));
  }
  return Bytes(25, f);
}

inline std::string Call(const std::string& name, const std::string& more = "") {
  return Node_(name, {}, {"y"}, Bytes(7, "f") + more);
}

inline std::string Packed(uint32_t field, const std::vector<uint64_t>& entries) {
  std::string bytes;
  for (const uint64_t entry : entries) bytes += Varint(entry);
  return Bytes(field, bytes);
}

// ---- Looking at models

inline Model MustLoad(const std::string& bytes) {
  absl::StatusOr<Model> model = LoadFromBytes(bytes, "m.onnx");
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model(std::make_shared<ModelData>());
}

inline std::string ErrorOf(const std::string& bytes) {
  const absl::StatusOr<Model> model = LoadFromBytes(bytes, "m.onnx");
  return model.ok() ? "it loads" : std::string(model.status().message());
}

// A file and what is said of it after its name.
struct ErrorCase {
  const char* what;
  std::string bytes;
  std::string message;  // none: it loads
};

inline void ExpectErrors(const std::vector<ErrorCase>& cases) {
  for (const ErrorCase& c : cases) {
    const std::string expected = c.message.empty() ? "it loads" : "m.onnx: " + c.message;
    EXPECT_EQ(ErrorOf(c.bytes), expected) << c.what;
  }
}

inline const Value& ValueNamed(const Model& m, absl::string_view name) {
  static const auto& none = *new Value();
  for (const Value& value : m->values) {
    if (value.name == name) return value;
  }
  ADD_FAILURE() << "no value " << name;
  return none;
}

inline std::vector<std::string> OpTypes(const Model& m, const std::vector<NodeId>& nodes) {
  std::vector<std::string> ops;
  ops.reserve(nodes.size());
  for (const NodeId id : nodes) ops.emplace_back(m->nodes[static_cast<size_t>(id)].op_type);
  return ops;
}

// `ids` of values, or optional ones.
template <typename Ids>
std::vector<std::string> Names(const Model& m, const Ids& ids) {
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (const OptionalValueId id : ids) names.emplace_back(id ? m->value(*id).name : "-");
  return names;
}

inline const Tensor& TensorNamed(const Model& m, absl::string_view name) {
  return m->tensor(*ValueNamed(m, name).initializer);
}

inline constexpr char kIf[] =
    "g (bool c, float[2] x) => (float[2] y) { h = Relu(x)  y = If (c) <"
    "then_branch = t () => (float[2] t) { t = Add(h, x) }, "
    "else_branch = e () => (float[2] e) { h = Neg(x)  e = Mul(h, h) }> }";

inline constexpr char kSmall[] =
    "g (float[N, 4] x) => (float[N, 2] y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, "
    "int64[1] axes = {1}> { h = MatMul(x, w)  y = ReduceSum<keepdims = 1>(h, axes) }";

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_LOAD_LOAD_BYTES_H_
