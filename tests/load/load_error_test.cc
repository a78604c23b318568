// The loader: what is said of a file that is no good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/load/load_file.h"
#include "tests/load/load_bytes.h"

namespace onnxflops::load_error_test {
namespace {

using ::testing::HasSubstr;

// ---- Errors

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

// As deep as graphs may be, bodies of a function as well, and one deeper.
TEST(LoadErrorTest, DepthOfGraphs) {
  const auto bodies = [](int depth) {
    std::string graph;
    for (int i = 0; i < depth; ++i) graph = Node_("If", {}, {"y"}, Body(graph));
    return graph;
  };
  // Fields of a function: its nodes are of number 7.
  const auto function = [&](int depth) {
    std::string node = bodies(depth);
    node[0] = static_cast<char>(7 << 3 | 2);
    return ModelOf("") + Bytes(25, Bytes(1, "f") + Bytes(9, Number(2, 17)) + node);
  };
  const std::string error = "graphs are nested more than 64 deep (graph-nesting)";
  EXPECT_EQ(ErrorOf(ModelOf(bodies(64))), "it loads");
  EXPECT_THAT(ErrorOf(ModelOf(bodies(65))), HasSubstr(error));
  EXPECT_EQ(ErrorOf(FunctionCalling("first", {}) + ModelOf(bodies(64))), "it loads");
  EXPECT_EQ(ErrorOf(function(63)), "it loads");
  EXPECT_THAT(ErrorOf(function(64)), HasSubstr(error));
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

// A value of two roles is defined once: neither hides another that nothing defines.
TEST(LoadErrorTest, WhatIsMissingBesideAnInputWithAnInitializer) {
  const std::string input = Input_("w"), weight = Initializer_("w", {0}, "");
  const std::string ok = Node_("A", {"w"}, {"y"}), wrong = Node_("A", {"w", "no"}, {}, Named("n"));
  const std::string error =
      "node 'n' (A): input 'no' is not produced by any node, input or initializer";
  ExpectErrors({
      {"input first", ModelOf(input + weight + wrong), error},
      {"initializer first", ModelOf(weight + input + wrong), error},
      {"node first", ModelOf(wrong + weight + input), error},
      {"input first, nothing missing", ModelOf(input + weight + ok), ""},
      {"initializer first, nothing missing", ModelOf(weight + input + ok), ""},
      {"a body's output", ModelOf(Node_("If", {}, {"y"}, Body(Output_("no")))),
       "graph output 'no' is not produced by any node, input or initializer"},
      // Of a graph that is not read to its end, nothing is missing yet.
      {"a function between two graphs",
       ModelOf(Node_("A", {"late"}, {"y"}, Named("early"))) +
           Bytes(25, Bytes(1, "f") + Bytes(7, Bytes(1, "no") + Bytes(4, "A") + Named("n"))) +
           Bytes(7, Node_("B", {}, {"late"})),
       "function 'f': " + error},
  });
}

std::string Ring(int nodes) {
  std::string ring;
  for (int i = 0; i < nodes; ++i) {
    ring += Node_("A", {absl::StrCat("v", i)}, {absl::StrCat("v", (i + 1) % nodes)},
                  Named(absl::StrCat("n", i)));
  }
  return ring;
}

TEST(LoadErrorTest, Cycles) {
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
      {"long", ModelOf(Ring(1000)),
       "its nodes form a cycle: n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n7 "
       "-> ... (992 more) -> n0"},
      {"no names", ModelOf(Node_("A", {"y"}, {"x"}) + Node_("B", {"x"}, {"y"})),
       "its nodes form a cycle: the node of 'x' (A) -> the node of 'y' (B) -> the node of 'x' (A)"},
      {"eight", ModelOf(Ring(8)),
       "its nodes form a cycle: n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n7 -> n0"},
      {"nine", ModelOf(Ring(9)),
       "its nodes form a cycle: n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n7 "
       "-> ... (1 more) -> n0"},
      // Nodes that wait for the cycle, and one that nothing waits for, are not in it.
      {"others around it",
       ModelOf(Node_("W", {"v0"}, {"w"}, Named("w")) + Node_("X", {}, {"q"}, Named("x")) + Ring(2)),
       "its nodes form a cycle: n1 -> n0 -> n1"},
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
}

// Functions c1 to cN, each of which calls the next.
std::string ChainOfCalls(int length) {
  std::string chain = FunctionCalling(absl::StrCat("c", length), {});
  for (int i = 1; i < length; ++i) {
    chain += FunctionCalling(absl::StrCat("c", i), {absl::StrCat("c", i + 1)});
  }
  return chain;
}

// The longest chain counts, whichever call of a function it begins with.
TEST(LoadErrorTest, DepthOfCalls) {
  const std::string leaf = FunctionCalling("leaf", {}), chain = ChainOfCalls(kMaxCallDepth);
  const auto from = [](const char* name) {
    return absl::StrCat("local functions call each other more than 200 deep (call-depth), from '",
                        name, "'");
  };
  ExpectErrors({
      {"as deep as may be", ModelOf("") + chain, ""},
      {"deeper", ModelOf("") + ChainOfCalls(kMaxCallDepth + 1), from("c1")},
      {"first", ModelOf("") + chain + leaf + FunctionCalling("top", {"c1", "leaf"}), from("top")},
      {"last", ModelOf("") + leaf + chain + FunctionCalling("top", {"leaf", "c1"}), from("top")},
      {"called first", ModelOf("") + FunctionCalling("top", {"leaf", "c1"}) + leaf + chain,
       from("top")},
      {"from below", ModelOf("") + leaf + chain + FunctionCalling("top", {"leaf", "c2"}), ""},
  });
}

TEST(LoadErrorTest, VersionsAndOpsets) {
  const std::string graph = Bytes(7, "");
  const std::string relu = Bytes(7, Node_("Relu", {}, {"y"}, Named("r")));
  ExpectErrors({
      {"nothing but a version", Number(1, 8), "has no graph: not an ONNX model, or truncated"},
      {"no version", graph + Opset("", 17), "has no ir_version: not an ONNX model, or damaged"},
      {"no opset", Number(1, 8) + graph, "has no opset_import, which says what its operators mean"},
      {"the newest IR", Number(1, 14) + graph + Opset("", 17), ""},
      {"newer", Number(1, 15) + graph, "IR version 15; this version knows up to 14"},
      {"version 0", Number(1, 0) + graph, "has no ir_version: not an ONNX model, or damaged"},
      {"less", Number(1, ~uint64_t{0}) + graph, "has no ir_version: not an ONNX model, or damaged"},
      {"the last IR without opsets", Number(1, 2) + graph, ""},
      {"the first with them", Number(1, 3) + graph,
       "has no opset_import, which says what its operators mean"},
      {"the newest opset", Number(1, 8) + graph + Opset("", 28), ""},
      {"newer opset", Number(1, 8) + graph + Opset("", 29),
       "opset 29; this version knows 1 up to 28"},
      {"the oldest opset", Number(1, 8) + graph + Opset("ai.onnx", 1), ""},
      {"any opset of others", Number(1, 8) + graph + Opset("a", 0) + Opset("b", 99), ""},
      {"two opsets of another", Number(1, 8) + graph + Opset("a", 1) + Opset("a", 2),
       "imports the opset of 'a' twice, as 1 and as 2"},
      {"one opset twice", Number(1, 8) + graph + Opset("a", 1) + Opset("a", 1) + Opset("", 9), ""},
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
       "node 'n' (A): attribute 'value': its tensor comes in pieces, which this version does not "
       "merge: onnx.save(onnx.load(FILE), FILE) writes it in one"},
      {"two tensors, the first without a type",
       with(Bytes(1, "value") + Bytes(5, Number(1, 2)) + Number(20, 4) + Bytes(5, number)),
       "node 'n' (A): attribute 'value': its tensor comes in pieces, which this version does not "
       "merge: onnx.save(onnx.load(FILE), FILE) writes it in one"},
      {"two graphs", with(Bytes(1, "body") + Bytes(6, Named("g")) + Bytes(6, Named("g"))),
       "node 'n' (A): attribute 'body': its graph comes in pieces, which this version does not "
       "merge: onnx.save(onnx.load(FILE), FILE) writes it in one"},
      {"two sparse tensors", with(Bytes(1, "value") + Bytes(22, sparse) + Bytes(22, sparse)),
       "node 'n' (A): attribute 'value': its tensor comes in pieces, which this version does not "
       "merge: onnx.save(onnx.load(FILE), FILE) writes it in one"},
      {"tensor inside",
       with(Bytes(1, "value") + Bytes(5, Number(1, 2) + Number(2, 7) + Bytes(9, "1234567"))),
       "node 'n' (A): attribute 'value': tensor: int64[2] needs 16 bytes, raw_data has 7"},
  });
}

// Of a value of another type than is stated: both by their names.
TEST(LoadErrorTest, TypesOfAttributesByName) {
  const std::string one(4, '\1'), number = Number(1, 1) + Number(2, 7) + Packed(7, {5});
  const std::string sparse = Bytes(1, number) + Bytes(2, number) + Number(3, 9);
  const std::pair<const char*, std::string> types[] = {{"FLOAT", Varint(2 << 3 | 5) + one},
                                                       {"INT", Number(3, 1)},
                                                       {"STRING", Bytes(4, "x")},
                                                       {"TENSOR", Bytes(5, number)},
                                                       {"GRAPH", Bytes(6, "")},
                                                       {"FLOATS", Bytes(7, one)},
                                                       {"INTS", Number(8, 1)},
                                                       {"STRINGS", Bytes(9, "x")},
                                                       {"TENSORS", Bytes(10, number)},
                                                       {"GRAPHS", Bytes(11, "")},
                                                       {"SPARSE_TENSOR", Bytes(22, sparse)},
                                                       {"SPARSE_TENSORS", Bytes(23, sparse)},
                                                       {"TYPE_PROTO", Bytes(14, "")},
                                                       {"TYPE_PROTOS", Bytes(15, "")}};
  for (size_t stated = 1; stated <= std::size(types); ++stated) {
    for (const auto& [held, value] : types) {
      const char* name = types[stated - 1].first;
      const std::string bytes =
          ModelOf(Node_("A", {}, {}, Attribute_(Bytes(1, "a") + value + Number(20, stated))));
      EXPECT_EQ(ErrorOf(bytes),
                held == name ? "it loads"
                             : absl::StrCat("m.onnx: a node without name (A): attribute 'a': is of "
                                            "type ",
                                            name, " but holds a value of type ", held));
    }
  }
}

// The innermost two places are told.
TEST(LoadErrorTest, PlacesOfAnErrorInAttributes) {
  const std::string wrong = Bytes(4, "A") + Named("n") + Attribute_(Bytes(1, "a"));
  const std::string error = "attribute 'a': has neither a type nor a value";
  const std::string type = Bytes(1, Number(1, 99));
  const auto function = [](const std::string& fields) {
    return ModelOf("") + Bytes(25, Bytes(1, "f") + fields);
  };
  ExpectErrors({
      {"in a node", ModelOf(Bytes(1, wrong)), "node 'n' (A): " + error},
      {"in a function", function(Bytes(7, wrong)), "node 'n' (A): " + error},
      {"in a body", ModelOf(Node_("If", {}, {}, Body(Bytes(1, wrong)))), "node 'n' (A): " + error},
      {"a default", function(Bytes(11, Bytes(1, "a"))), "function 'f': " + error},
      {"a default that is a graph", function(Bytes(11, Bytes(1, "a") + Bytes(6, ""))),
       "function 'f': attribute 'a': the default of a function's attribute is a graph"},
      {"a type in a function", function(Bytes(12, Bytes(1, "x") + Bytes(2, type))),
       "function 'f': the type of 'x': data type 99, which ONNX 1.23.2 does not have"},
      {"a type in a body",
       ModelOf(Node_("If", {}, {}, Body(Bytes(13, Bytes(1, "x") + Bytes(2, type))))),
       "attribute 'body': the type of 'x': data type 99, which ONNX 1.23.2 does not have"},
      {"a node in a body", ModelOf(Node_("If", {}, {}, Named("if") + Body(Bytes(1, Named("n"))))),
       "node 'if' (If): attribute 'body': node 'n' has no op_type"},
      {"a node in a function", function(Bytes(7, Named("n"))),
       "function 'f': node 'n' has no op_type"},
      {"a tensor in a body",
       ModelOf(Node_("If", {}, {}, Named("if") + Body(Bytes(5, Number(2, 99))))),
       "node 'if' (If): attribute 'body': initializer: is of data type 99, which ONNX 1.23.2 does "
       "not "
       "have"},
      {"a tensor without name in a body",
       ModelOf(Node_("If", {}, {}, Named("if") + Body(Bytes(5, Number(2, 1) + Number(1, 0))))),
       "node 'if' (If): attribute 'body': an initializer has no name"},
      {"inputs of a body",
       ModelOf(Node_("If", {}, {}, Named("if") + Body(Input_("x") + Input_("x")))),
       "node 'if' (If): attribute 'body': graph input 'x' is given twice"},
      {"an output of a body", ModelOf(Node_("If", {}, {}, Named("if") + Body(Output_("")))),
       "node 'if' (If): attribute 'body': an output of the graph has no name"},
      {"a value of a body",
       ModelOf(
           Node_("If", {}, {}, Named("if") + Body(Node_("A", {}, {"y"}) + Node_("B", {}, {"y"})))),
       "node 'if' (If): attribute 'body': value 'y' is defined twice, by node 2 of the file (A) "
       "and "
       "by node 3 of the file (B)"},
      {"a cycle in a body",
       ModelOf(Node_("If", {}, {}, Named("if") + Body(Node_("A", {"y"}, {"y"}, Named("a"))))),
       "node 'if' (If): attribute 'body': its nodes form a cycle: a -> a"},
      {"an opset of a function", function(Bytes(9, Number(2, 99))),
       "function 'f': opset 99; this version knows 1 up to 28"},
      {"an input of a function", function(Bytes(4, "x") + Bytes(4, "x")),
       "function 'f': graph input 'x' is given twice"},
      {"an output of a function without name", function(Bytes(5, "")),
       "function 'f': an output of the graph has no name"},
      {"a type less than none",
       ModelOf(Node_("A", {}, {}, Attribute_(Bytes(1, "a") + Number(20, ~uint64_t{0})))),
       "a node without name (A): attribute 'a': is of type -1, which ONNX 1.23.2 does not have"},
  });
}

// Names of a few attributes are compared, those of more are looked up.
TEST(LoadErrorTest, NamesOfAttributesThatAreGivenTwice) {
  for (const int count : {2, 3, 16, 17, 18, 40}) {
    for (int i = 0; i < count; ++i) {
      for (int j = i; j < count; ++j) {  // the one at j has the name of the one at i
        std::string attributes;
        for (int k = 0; k < count; ++k) {
          attributes += Attribute_(Bytes(1, absl::StrCat("a", k == j ? i : k)) + Number(3, 1));
        }
        EXPECT_EQ(ErrorOf(ModelOf(Node_("A", {}, {}, Named("n") + attributes))),
                  i == j
                      ? "it loads"
                      : absl::StrCat("m.onnx: node 'n' (A): attribute 'a", i, "' is given twice"));
      }
    }
  }
}

TEST(LoadErrorTest, Types) {
  const auto with = [](const std::string& type) {
    return ModelOf(Bytes(11, Bytes(1, "x") + Bytes(2, type)));
  };
  const auto shape = [](uint64_t dim) {
    return Bytes(1, Number(1, 1) + Bytes(2, Bytes(1, Number(1, dim)) + Bytes(1, Number(1, dim))));
  };
  const auto sequences = [](int depth, uint32_t kind) {
    std::string type = Bytes(1, Number(1, 1));
    for (int i = 0; i < depth; ++i) type = Bytes(kind, Bytes(kind == 5 ? 2 : 1, type));
    return type;
  };
  const auto two = [](uint64_t first, uint64_t second) {
    return Bytes(1, Number(1, 1) + Bytes(2, Bytes(1, Number(1, first)) + Bytes(1, Bytes(2, "n")) +
                                                Bytes(1, Number(1, second))));
  };
  const std::string too_deep = "the type of 'x': types are nested more than 32 deep (type-nesting)";
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
      {"as many elements as there may be", with(two(1u << 31, 1u << 31)), ""},
      {"one more", with(two(1u << 31, (1u << 31) + 1)),
       "the type of 'x': more than 4611686018427387904 elements (elements)"},
      {"none of many", with(two(0, ~uint64_t{0} >> 1)), ""},
      {"unknown", with(shape(~uint64_t{0})), ""},
      {"less", with(shape(~uint64_t{0} - 1)), "the type of 'x': a dimension of -2"},
      {"less, then another",
       with(
           Bytes(1, Number(1, 1) + Bytes(2, Bytes(1, Number(1, ~uint64_t{0} - 1) + Number(1, 3))))),
       ""},
      {"deep", with(sequences(10'000, 4)), too_deep},
      {"as deep as may be", with(sequences(31, 4)), ""},
      {"deeper by one", with(sequences(32, 4)), too_deep},
      {"optionals", with(sequences(31, 9)), ""},
      {"deeper optionals", with(sequences(32, 9)), too_deep},
      {"maps", with(sequences(31, 5)), ""},
      {"deeper maps", with(sequences(32, 5)), too_deep},
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

}  // namespace
}  // namespace onnxflops::load_error_test
