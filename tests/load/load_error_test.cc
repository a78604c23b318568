// The loader: what is said of a file that is no good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/load/load.h"
#include "tests/load/load_bytes.h"

namespace onnxflops {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// ---- Errors

struct ErrorCase {
  const char* what;
  std::string bytes;
  std::string message;  // none: it loads
};

void ExpectErrors(const std::vector<ErrorCase>& cases) {
  for (const ErrorCase& c : cases) {
    const std::string expected = c.message.empty() ? "it loads" : "m.onnx: " + c.message;
    EXPECT_EQ(ErrorOf(c.bytes), expected) << c.what;
  }
}

std::string Repeated(const std::string& field, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += field;
  return all;
}

// One more than there may be of each, and as many as there may be.
TEST(LoadErrorTest, Numbers) {
  const auto node = [](const std::string& more) {
    return ModelOf(Bytes(11, Bytes(1, "x")) + Node_("A", {}, {}, Named("n") + more));
  };
  std::string attributes, opsets;
  for (size_t i = 0; i < kMaxNodeAttributes; ++i) {
    attributes += Attribute_(Bytes(1, absl::StrCat("a", i)) + Number(3, 1));
  }
  for (size_t i = 1; i < kMaxOpsetImports; ++i) opsets += Opset(absl::StrCat("d", i), 1);
  const int inputs = static_cast<int>(kMaxNodeInputs);
  ExpectErrors({
      {"inputs", node(Repeated(Bytes(1, "x"), inputs)), ""},
      {"too many inputs", node(Repeated(Bytes(1, "x"), inputs + 1)),
       "node 'n' (A) has more than 16384 inputs or outputs (node-inputs)"},
      {"outputs", node(Repeated(Bytes(2, ""), inputs)), ""},
      {"too many outputs", node(Repeated(Bytes(2, ""), inputs + 1)),
       "node 'n' (A) has more than 16384 inputs or outputs (node-inputs)"},
      {"attributes", node(attributes), ""},
      {"too many attributes", node(attributes + Attribute_(Bytes(1, "b") + Number(3, 1))),
       "node 'n' (A): it has more than 1024 attributes (node-attributes)"},
      {"opsets", ModelOf("") + opsets, ""},
      {"too many opsets", ModelOf("") + opsets + Opset("d", 1),
       "imports more than 256 opsets (opset-imports)"},
  });
}

// Of a message that counts nothing: a device's sharding, and a graph in a graph's attribute.
TEST(LoadErrorTest, DepthOfWhatIsSkipped) {
  const auto nested = [](int depth) {
    std::string graph = Bytes(2, "g");
    for (int i = 0; i < depth; ++i) graph = Bytes(1, Bytes(5, Bytes(6, graph)));
    return ModelOf("") + Bytes(20, Bytes(1, graph));
  };
  EXPECT_EQ(ErrorOf(nested(33)), "it loads");  // three messages each, below the training's graph
  EXPECT_EQ(ErrorOf(nested(34)),
            "m.onnx: messages are nested more than 100 deep (ignored-nesting)");
}

TEST(LoadErrorTest, Graphs) {
  ExpectErrors({
      {"missing value", ModelOf(Node_("Add", {"x", "nope"}, {"y"}, Named("X")) + Input_("x")),
       "node 'X' (Add): input 'nope' is not produced by any node, input or initializer"},
      {"missing in a body",
       ModelOf(Node_("If", {}, {"y"}, Body(Node_("Add", {"nope"}, {"z"}, Named("inner"))))),
       "node 'inner' (Add): input 'nope' is not produced by any node, input or initializer"},
      {"body's values are its own",
       ModelOf(Node_("If", {}, {"y"}, Body(Node_("A", {}, {"z"}))) +
               Node_("B", {"z"}, {}, Named("B"))),
       "node 'B' (B): input 'z' is not produced by any node, input or initializer"},
      {"graph output", ModelOf(Output_("y")),
       "graph output 'y' is not produced by any node, input or initializer"},
      {"output twice",
       ModelOf(Node_("A", {}, {"y"}, Named("a")) + Node_("B", {}, {"y"}, Named("b"))),
       "value 'y' is defined twice, by node 'a' (A) and by node 'b' (B)"},
      {"output twice, no names", ModelOf(Node_("A", {}, {"y"}) + Node_("B", {}, {"y"})),
       "value 'y' is defined twice, by node 1 of the file (A) and by node 2 of the file (B)"},
      {"output and input", ModelOf(Node_("A", {}, {"y"}, Named("a")) + Input_("y")),
       "value 'y' is defined twice, by node 'a' (A) and by a graph input"},
      {"initializer and output",
       ModelOf(Initializer_("y", {0}, "") + Node_("A", {}, {"y"}, Named("a"))),
       "value 'y' is defined twice, by an initializer and by node 'a' (A)"},
      {"initializer twice", ModelOf(Initializer_("w", {0}, "") + Initializer_("w", {0}, "")),
       "initializer 'w' is given twice"},
      {"input twice", ModelOf(Input_("x") + Input_("x")), "graph input 'x' is given twice"},
      {"input without name", ModelOf(Input_("")), "an input of the graph has no name"},
      {"output without name", ModelOf(Output_("")), "an output of the graph has no name"},
      {"initializer without name", ModelOf(Initializer_("", {0}, "")),
       "an initializer has no name"},
      {"no op_type", ModelOf(Bytes(1, Named("n"))), "node 'n' has no op_type"},
  });
}

TEST(LoadErrorTest, Cycles) {
  std::string ring;
  for (int i = 0; i < 1000; ++i) {
    ring += Node_("A", {absl::StrCat("v", i)}, {absl::StrCat("v", (i + 1) % 1000)},
                  Named(absl::StrCat("n", i)));
  }
  ExpectErrors({
      {"two", ModelOf(Node_("A", {"y"}, {"x"}, Named("a")) + Node_("B", {"x"}, {"y"}, Named("b"))),
       "its nodes form a cycle: a -> b -> a"},
      {"one", ModelOf(Node_("A", {"x"}, {"x"}, Named("a"))), "its nodes form a cycle: a -> a"},
      // What the first of them also needs is in no cycle, wherever it stands.
      {"two, and one before them",
       ModelOf(Node_("P", {}, {"p"}, Named("p")) + Node_("A", {"p", "y", "q"}, {"x"}, Named("a")) +
               Node_("B", {"x", "p", "q"}, {"y"}, Named("b")) + Node_("Q", {}, {"q"}, Named("q"))),
       "its nodes form a cycle: a -> b -> a"},
      {"through a body",
       ModelOf(Node_("If", {}, {"x"}, Named("if") + Body(Node_("A", {"y"}, {"z"}))) +
               Node_("B", {"x"}, {"y"}, Named("b"))),
       "its nodes form a cycle: if -> b -> if"},
      {"long", ModelOf(ring),
       "its nodes form a cycle: n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n7 "
       "-> ... (992 more) -> n0"},
  });
}

TEST(LoadErrorTest, Functions) {
  ExpectErrors({
      {"itself", ModelOf(Call("a")) + FunctionCalling("a", {"a"}),
       "its local functions call each other in a circle: a -> a"},
      {"each other, though nobody calls them",
       ModelOf("") + FunctionCalling("x", {"a"}) + FunctionCalling("a", {"b"}) +
           FunctionCalling("b", {"a"}),
       "its local functions call each other in a circle: a -> b -> a"},
      {"twice", ModelOf("") + FunctionCalling("a", {}) + FunctionCalling("a", {}),
       "function 'a' of domain 'f' is defined twice"},
      {"no name", ModelOf("") + Bytes(25, Bytes(10, "f")), "function '': has no name"},
      {"output", ModelOf("") + Bytes(25, Bytes(1, "a") + Bytes(5, "y")),
       "function 'a': graph output 'y' is not produced by any node, input or initializer"},
  });
  std::string chain = ModelOf("") + FunctionCalling(absl::StrCat("f", kMaxCallDepth), {});
  for (int i = 0; i < kMaxCallDepth; ++i) {
    chain += FunctionCalling(absl::StrCat("f", i), {absl::StrCat("f", i + 1)});
  }
  EXPECT_THAT(ErrorOf(chain), HasSubstr("(call-depth)"));
}

TEST(LoadErrorTest, VersionsAndOpsets) {
  const std::string graph = Bytes(7, "");
  const std::string relu = Bytes(7, Node_("Relu", {}, {"y"}, Named("r")));
  ExpectErrors({
      {"nothing but a version", Number(1, 8), "has no graph: not an ONNX model, or truncated"},
      {"no version", graph + Opset("", 17), "has no ir_version: not an ONNX model, or damaged"},
      {"no opset", Number(1, 8) + graph, "has no opset_import, which says what its operators mean"},
      {"new IR", Number(1, 99) + graph, "IR version 99; this version knows up to 14"},
      {"new opset", Number(1, 8) + graph + Opset("", 99),
       "opset 99; this version knows 1 up to 28"},
      {"opset 0", Number(1, 8) + graph + Opset("", 0), "opset 0; this version knows 1 up to 28"},
      {"two opsets", Number(1, 8) + graph + Opset("", 17) + Opset("ai.onnx", 18),
       "imports the opset of 'ai.onnx' twice, as 17 and as 18"},
      {"no opset of ai.onnx", Number(1, 8) + relu + Opset("other", 1),
       "node 'r' (Relu) is an operator of ai.onnx, but the model imports no opset of it"},
      {"no opset of ai.onnx, after an operator of another domain",
       Number(1, 8) + Opset("other", 1) +
           Bytes(7,
                 Node_("F", {}, {"z"}, Bytes(7, "other")) + Node_("Relu", {}, {"y"}, Named("r"))),
       "node 'r' (Relu) is an operator of ai.onnx, but the model imports no opset of it"},
  });
}

TEST(LoadErrorTest, Attributes) {
  const std::string number = Number(1, 1) + Number(2, 7) + Packed(7, {5});  // int64[1]
  const std::string sparse = Bytes(1, number) + Bytes(2, number) + Number(3, 9);
  const auto with = [](const std::string& fields) {
    return ModelOf(Node_("A", {}, {"y"}, Named("n") + Attribute_(fields)));
  };
  ExpectErrors({
      {"other value", with(Bytes(1, "axis") + Bytes(4, "x") + Number(20, 2)),
       "node 'n' (A): attribute 'axis': is of type INT but holds a value of type STRING"},
      {"two values", with(Bytes(1, "axis") + Bytes(4, "x") + Number(3, 2)),
       "node 'n' (A): attribute 'axis': is of type INT but holds a value of type STRING"},
      {"nothing", with(Bytes(1, "axis")),
       "node 'n' (A): attribute 'axis': has neither a type nor a value"},
      {"a type after the last", with(Bytes(1, "axis") + Number(20, 15)),
       "node 'n' (A): attribute 'axis': is of type 15, which ONNX 1.23.2 does not have"},
      {"unknown type", with(Bytes(1, "axis") + Number(20, 99)),
       "node 'n' (A): attribute 'axis': is of type 99, which ONNX 1.23.2 does not have"},
      {"no name", with(Number(3, 1)), "node 'n' (A): attribute '': has no name"},
      {"twice",
       ModelOf(Node_("A", {}, {"y"},
                     Named("n") + Attribute_(Bytes(1, "i") + Number(3, 1)) +
                         Attribute_(Bytes(1, "i") + Number(3, 1)))),
       "node 'n' (A): attribute 'i' is given twice"},
      {"two tensors", with(Bytes(1, "value") + Bytes(5, number) + Bytes(5, number)),
       "node 'n' (A): attribute 'value': its tensor is given twice"},
      {"two graphs", with(Bytes(1, "body") + Bytes(6, Named("g")) + Bytes(6, Named("g"))),
       "node 'n' (A): attribute 'body': its graph is given twice"},
      {"two sparse tensors", with(Bytes(1, "value") + Bytes(22, sparse) + Bytes(22, sparse)),
       "node 'n' (A): attribute 'value': its tensor is given twice"},
      {"tensor inside",
       with(Bytes(1, "value") + Bytes(5, Number(1, 2) + Number(2, 7) + Bytes(9, "1234567"))),
       "node 'n' (A): attribute 'value': tensor: int64[2] needs 16 bytes, raw_data has 7"},
  });
}

TEST(LoadErrorTest, Tensors) {
  const auto with = [](const std::vector<int64_t>& dims, const std::string& fields) {
    return ModelOf(Initializer_("w", dims, fields));
  };
  const std::string external = Number(14, 1) + Bytes(13, Bytes(1, "length") + Bytes(2, "9"));
  ExpectErrors({
      {"raw too short", with({1}, Bytes(9, "1234567")),
       "initializer 'w': int64[1] needs 8 bytes, raw_data has 7"},
      {"raw too long", with({}, Bytes(9, "123456789")),
       "initializer 'w': int64[] needs 8 bytes, raw_data has 9"},
      {"large raw", with({5000}, Bytes(9, std::string(40001, 'x'))),
       "initializer 'w': int64[5000] needs 40000 bytes, raw_data has 40001"},
      {"too few entries", with({3}, Packed(7, {1, 2})),
       "initializer 'w': int64[3] needs 3 entries of int64_data, it has 2"},
      {"too few, not read", with({50000}, Bytes(7, std::string(30000, '\1'))),
       "initializer 'w': int64[50000] needs 50000 entries of int64_data, it has 3000 to 30000"},
      {"two fields", with({1}, Packed(7, {1}) + Bytes(9, "12345678")),
       "initializer 'w': has both int64_data and raw_data"},
      {"another field", with({1}, Bytes(4, "1234")),
       "initializer 'w': is of type int64 but has float_data"},
      {"external too short", with({1}, external),
       "initializer 'w': int64[1] needs 8 bytes, its external data has 9"},
      {"external of no length",
       with({1}, Number(14, 1) + Bytes(13, Bytes(1, "length") + Bytes(2, "8x"))),
       "initializer 'w': the length of its external data is '8x'"},
      {"external of less than none",
       with({1}, Number(14, 1) + Bytes(13, Bytes(1, "length") + Bytes(2, "-8"))),
       "initializer 'w': the length of its external data is '-8'"},
      {"external of many digits",
       with({1}, Number(14, 1) + Bytes(13, Bytes(1, "length") + Bytes(2, "00000000000000000008"))),
       ""},
      {"external and not", with({1}, external + Packed(7, {1})),
       "initializer 'w': has external data and a payload in the file as well"},
      {"negative", with({2, -4}, ""), "initializer 'w': has a dimension of -4"},
      {"too many", with({int64_t{1} << 40, int64_t{1} << 40}, ""),
       "initializer 'w': has more than 4611686018427387904 elements (elements): "
       "int64[1099511627776,1099511627776]"},
      {"too many, with a payload", with({2, std::numeric_limits<int64_t>::max()}, Packed(7, {1})),
       "initializer 'w': has more than 4611686018427387904 elements (elements): "
       "int64[2,9223372036854775807]"},
      {"no such type", ModelOf(Bytes(5, Number(2, 99) + Bytes(8, "w"))),
       "initializer 'w': is of data type 99, which ONNX 1.23.2 does not have"},
      {"rank", with(std::vector<int64_t>(65, 1), ""),
       "initializer '' has more than 64 dimensions (rank)"},
  });
}

TEST(LoadErrorTest, SparseTensors) {
  const std::string values = Number(1, 1) + Number(2, 7) + Bytes(8, "w") + Packed(7, {5});
  const std::string indices = Number(1, 1) + Number(2, 7) + Packed(7, {5});
  const std::string all = Bytes(1, values) + Bytes(2, indices) + Number(3, 9);
  ExpectErrors({
      {"values twice", ModelOf(Bytes(15, all + Bytes(1, values))),
       "a part of a sparse tensor is given twice"},
      {"indices twice", ModelOf(Bytes(15, all + Bytes(2, indices))),
       "a part of a sparse tensor is given twice"},
      {"no indices", ModelOf(Bytes(15, Bytes(1, values) + Number(3, 9))),
       "sparse tensor 'w' has no indices"},
      {"indices of two",
       ModelOf(Bytes(15, Bytes(1, values) + Number(3, 9) +
                             Bytes(2, Number(1, 2) + Number(2, 7) + Packed(7, {5, 6})))),
       "sparse tensor 'w': indices int64[2] do not fit its 1 values"},
      {"indices by axis, of too many",
       ModelOf(
           Bytes(15, Bytes(1, values) + Number(3, 9) +
                         Bytes(2, Number(1, 1) + Number(1, 2) + Number(2, 7) + Packed(7, {5, 6})))),
       "sparse tensor 'w': indices int64[1,2] do not fit its 1 values"},
      {"indices of int32",
       ModelOf(Bytes(15, Bytes(1, values) + Number(3, 9) +
                             Bytes(2, Number(1, 1) + Number(2, 6) + Packed(5, {5})))),
       "sparse tensor 'w': indices int32[1] do not fit its 1 values"},
      {"negative", ModelOf(Bytes(15, all + Number(3, static_cast<uint64_t>(-2)))),
       "sparse tensor 'w' has a dimension of -2"},
      {"rank", ModelOf(Bytes(15, all + Packed(3, std::vector<uint64_t>(64, 1)))),
       "sparse tensor 'w' has more than 64 dimensions (rank)"},
      {"values of rank 2",
       ModelOf(Bytes(15, Bytes(1, Number(1, 1) + values) + Bytes(2, indices) + Number(3, 9))),
       "sparse tensor 'w': its values are not a list"},
      {"as much as there may be", ModelOf(Bytes(15, all + Packed(3, std::vector<uint64_t>(63, 1)))),
       ""},
      {"by axis",
       ModelOf(
           Bytes(15, Bytes(1, values) + Number(3, 9) + Number(3, 8) +
                         Bytes(2, Number(1, 1) + Number(1, 2) + Number(2, 7) + Packed(7, {5, 6})))),
       ""},
      {"of nothing",
       ModelOf(Bytes(15, Bytes(1, Number(1, 0) + Number(2, 7) + Bytes(8, "w")) + Number(3, 9))),
       ""},
  });
}

TEST(LoadErrorTest, Types) {
  const auto with = [](const std::string& type) {
    return ModelOf(Bytes(11, Bytes(1, "x") + Bytes(2, type)));
  };
  const auto shape = [](uint64_t dim) {
    return Bytes(1, Number(1, 1) + Bytes(2, Bytes(1, Number(1, dim)) + Bytes(1, Number(1, dim))));
  };
  std::string deep = Bytes(1, Number(1, 1));
  for (int i = 0; i < 10'000; ++i) deep = Bytes(4, Bytes(1, deep));
  ExpectErrors({
      {"negative", with(shape(static_cast<uint64_t>(-4))), "the type of 'x': a dimension of -4"},
      {"too many", with(shape(uint64_t{1} << 40)),
       "the type of 'x': more than 4611686018427387904 elements (elements)"},
      {"no such type", with(Bytes(1, Number(1, 99))),
       "the type of 'x': data type 99, which ONNX 1.23.2 does not have"},
      {"rank", with(Bytes(1, Number(1, 1) + Bytes(2, Repeated(Bytes(1, Number(1, 1)), 65)))),
       "the type of 'x': more than 64 dimensions (rank)"},
      {"as many dimensions as there may be",
       with(Bytes(1, Number(1, 1) + Bytes(2, Repeated(Bytes(1, Number(1, 1)), 64)))), ""},
      {"deep", with(deep), "the type of 'x': types are nested more than 32 deep (type-nesting)"},
  });
}

TEST(LoadErrorTest, GraphsNestedTenThousandDeep) {
  std::string graph;
  for (int i = 0; i < 10'000; ++i) graph = Node_("If", {}, {"y"}, Body(graph));
  EXPECT_THAT(ErrorOf(ModelOf(graph)),
              HasSubstr("graphs are nested more than 64 deep (graph-nesting)"));
  EXPECT_LT(ErrorOf(ModelOf(graph)).size(), 500u);
}

TEST(LoadErrorTest, NamesAreShownEscapedAndCut) {
  const std::string nasty = "\x1b[31m\n::error::\xff";
  EXPECT_THAT(ErrorOf(ModelOf(Output_(nasty))), HasSubstr("'\\x1b[31m\\n::error::\\xff' is not"));
  EXPECT_LT(ErrorOf(ModelOf(Output_(std::string(1'000'000, 'x')))).size(), 500u);
  EXPECT_EQ(Quoted("caf\xc3\xa9"), "'caf\xc3\xa9'");
  EXPECT_EQ(Quoted("\xe2\x80\xae"), "'\\xe2\\x80\\xae'");  // turns text around
}

// ---- Wire format

TEST(LoadErrorTest, EveryTruncationIsNoticed) {
  const std::string whole = GraphText(kIf);
  for (size_t n = 0; n < whole.size(); ++n) {
    const std::string error = ErrorOf(whole.substr(0, n));
    EXPECT_THAT(error, StartsWith("m.onnx: ")) << n;
    EXPECT_THAT(error, ::testing::Not(HasSubstr("\n"))) << n;
  }
}

TEST(LoadErrorTest, LengthsBeyondTheEnd) {
  const std::string model = Number(1, 8);
  for (const uint64_t length : {uint64_t{1}, uint64_t{1} << 31, uint64_t{1} << 40, ~uint64_t{0}}) {
    EXPECT_EQ(ErrorOf(model + Varint(7 << 3 | 2) + Varint(length)),
              absl::StrCat("m.onnx: truncated: the field at byte 3 has ", length,
                           " bytes, the file only 0 more"));
  }
}

TEST(LoadErrorTest, MalformedFields) {
  const std::string start = Number(1, 8);
  const std::string cases[] = {
      start + Varint(0),                                    // field number 0
      start + Varint(50 << 3 | 3),                          // a group
      start + Varint(50 << 3 | 6) + "x",                    // no such type
      start + Varint(50 << 3) + std::string(11, '\x80'),    // a number of eleven bytes
      start + std::string(6, '\x80') + std::string(20, 0),  // a tag of six
      start + Varint(7 << 3 | 2) + "\x84\x80\x80\x80\x80\x80\x01" + std::string(99, 0),
      start + Bytes(7, Varint(1 << 3 | 2) + Varint(9) + "x"),  // longer than its message
      start + Bytes(7, Varint(2 << 3 | 2) + "\x80"),           // ends inside of a length
      start + Bytes(20, Bytes(1, Bytes(1, "\x80"))),           // inside of what is skipped
  };
  for (const std::string& bytes : cases) {
    EXPECT_THAT(ErrorOf(bytes), ::testing::MatchesRegex("m.onnx: (damaged|truncated).*"));
  }
}

// Where a file is damaged, its bytes tell more than the names that were read before.
TEST(LoadErrorTest, DamageIsToldByItsPlaceInTheFile) {
  const auto with = [](const std::string& attribute) {
    return ModelOf(Node_("A", {}, {"y"}, Named("n") + Attribute_(attribute)));
  };
  const std::string named = Bytes(1, "value");
  for (const std::string& damage : {Varint(0), Varint(50 << 3 | 3), Bytes(5, Varint(0))}) {
    EXPECT_THAT(ErrorOf(with(named + damage)),
                StartsWith("m.onnx: damaged, or not an ONNX model: byte "));
  }
}

// ---- Foreign files

TEST(LoadErrorTest, ForeignFilesAreNamed) {
  using std::string_literals::operator""s;
  const std::pair<std::string, const char*> cases[] = {
      {"", "is empty"},
      {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "a PNG image"},
      {"\xff\xd8\xff\xe0\0\x10JFIF"s, "a JPEG image"},
      {"<!DOCTYPE html>\n<html>", "an HTML page"},
      {"  <HTML><head>", "an HTML page"},
      {"<?xml version=\"1.0\"?>", "an XML or HTML file"},
      {"PK\3\4\x14\0\0\0archive/data.pkl"s, "a zip archive, such as a PyTorch checkpoint"},
      {"\x80\2}q\0(X\4\0\0\0"s, "a Python pickle"},
      {"\x80\4\x95\x10\0\0\0\0\0\0\0"s, "a Python pickle"},
      {"\x40\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\""s, "a safetensors file"},
      {"\x89HDF\r\n\x1a\n\0\0"s, "an HDF5 file"},
      {"\x1c\0\0\0TFL3\x14\0"s, "a TensorFlow Lite model"},
      {"GGUF\3\0\0\0"s, "a GGUF file"},
      {"\x1f\x8b\x08\0\0\0"s, "a gzip file"},
      {"{\"model\": 1}", "a JSON file"},
      {"hello, world", "a text file"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
       "a Git LFS pointer, not the model: run git lfs pull"},
      {std::string(5000, '\0'), "only zeros"},
  };
  for (const auto& [bytes, what] : cases) {
    EXPECT_THAT(ErrorOf(bytes), StartsWith(absl::StrCat("m.onnx: ", what)));
  }
}

}  // namespace
}  // namespace onnxflops
