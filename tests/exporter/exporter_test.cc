// What exporters leave in a file, as texts in and values out.
#include "src/exporter/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/module_scope.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/node_name.h"
#include "src/exporter/python_list.h"
#include "src/exporter/signature.h"
#include "src/exporter/source_line.h"
#include "src/exporter/tensor_name.h"
#include "src/graph/model.h"

namespace onnxflops::exporter::exporter_test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::Pair;

std::string Repeat(absl::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) absl::StrAppend(&result, text);
  return result;
}

constexpr size_t kMany = 100'000;

// ---- lists of Python

TEST(PythonListTest, ItemsAsTorchPrintsThem) {
  struct Case {
    absl::string_view list;
    std::vector<absl::string_view> items;
  } const cases[] = {
      {"[14, 14]", {"14", "14"}},
      {"(%x, %p_w, None)", {"%x", "%p_w", "None"}},
      {"(1, )", {"1"}},
      {"(1,)", {"1"}},
      {"[]", {}},
      {"()", {}},
      {"[[1, 2], (3, [4, 5])]", {"[1, 2]", "(3, [4, 5])"}},
      // An equation is written without quotes, and its comma without a space.
      {"(bhqd,bhkd->bhqk, [%q, %k])", {"bhqd,bhkd->bhqk", "[%q, %k]"}},
      {"(it's, %x)", {"it's", "%x"}},
      {"[a, , b]", {"a", "", "b"}},
  };
  for (const Case& c : cases) EXPECT_THAT(PyItems(c.list), ElementsAreArray(c.items)) << c.list;
}

TEST(PythonListTest, WhatIsNoListHasNoItems) {
  for (const char* text : {"", "[", "]", "None", "1, 2", "[1, 2", "1, 2]", "%x", ")("}) {
    EXPECT_THAT(PyItems(text), IsEmpty()) << text;
  }
}

TEST(PythonListTest, Pairs) {
  EXPECT_THAT(PyPairs("{scale: 0.5, pad: [1, 2], dtype: torch.float32}"),
              ElementsAre(Pair("scale", "0.5"), Pair("pad", "[1, 2]"),  //
                          Pair("dtype", "torch.float32")));
  EXPECT_THAT(PyPairs("{a, b:c, d: }"), IsEmpty());
  EXPECT_THAT(PyPairs("{a: b"), IsEmpty());
}

TEST(PythonListTest, BracketsEndWhereTheFirstOneCloses) {
  std::pair<absl::string_view, absl::string_view> const cases[] = {
      {"(1, [2]), {x}", "(1, [2])"}, {"()", "()"}, {"(", ""}, {"([)", ""}, {"x(1)", ""}, {"", ""}};
  for (const auto& [text, brackets] : cases) EXPECT_EQ(PyBrackets(text), brackets) << text;
}

std::vector<std::string> FromEnd(absl::string_view text) {
  std::vector<std::string> strings;
  for (PyStrings list(text); !list.empty(); list.DropLast()) strings.emplace_back(list.last());
  return strings;
}

TEST(PythonListTest, StringsFromTheEnd) {
  EXPECT_THAT(FromEnd("['', 'visual', 'visual.conv1']"), ElementsAre("visual.conv1", "visual", ""));
  EXPECT_THAT(FromEnd("['a', \"it's\"]"), ElementsAre("it's", "a"));
  EXPECT_THAT(FromEnd("['a,b', 'c,  d']"), ElementsAre("c,  d", "a,b"));
  EXPECT_THAT(FromEnd(R"(['a', 'it\'s "x"'])"), ElementsAre(R"(it\'s "x")", "a"));
  for (const char* broken : {"[]", "[", "x", ", ", "['", "[, ]", "'", ","}) {
    EXPECT_THAT(FromEnd(broken), ElementsAre("")) << broken;
  }
  EXPECT_THAT(FromEnd(""), IsEmpty());
}

TEST(PythonListTest, WhatIsLeftTellsAllBefore) {
  PyStrings list("['', 'visual', 'conv2d']");
  list.DropLast();
  EXPECT_EQ(list.rest(), "['', 'visual'");
  list.DropLast();
  EXPECT_EQ(list.rest(), "[''");
  list.DropLast();
  EXPECT_EQ(list.rest(), "");
  list.DropLast();
  EXPECT_EQ(list.rest(), "");
}

// Reading neither recurses nor reads anything twice: any of it ends.
TEST(PythonListTest, HostileTexts) {
  const std::string open = Repeat("[", kMany), close = Repeat("]", kMany);
  EXPECT_EQ(PyBrackets(open), "");
  EXPECT_EQ(PyBrackets(open + close), open + close);
  EXPECT_THAT(PyItems(open + close), ElementsAre(Repeat("[", kMany - 1) + Repeat("]", kMany - 1)));
  EXPECT_EQ(PyItems("[" + close).size(), 1u);
  EXPECT_EQ(PyItems("[" + Repeat("1, ", kMany) + "]").size(), kMany);
  EXPECT_THAT(PyPairs("{" + Repeat(": ", kMany) + "}"), ElementsAre(Pair("", testing::_)));
  EXPECT_EQ(FromEnd("[" + Repeat("'a', ", kMany) + "]").size(), kMany);
  EXPECT_EQ(FromEnd(Repeat(",", kMany) + Repeat(", 'a'", kMany)).size(), kMany + 1);
  EXPECT_EQ(FromEnd(Repeat("'", kMany)).size(), 1u);
  EXPECT_THAT(ParseFxArgs(Repeat("(args = ", kMany)).args, IsEmpty());
}

// ---- calls as torch.fx prints them

TEST(FxNodeTest, ArgumentsAsTorchPrintsThem) {
  const FxArgs args = ParseFxArgs(
      "%conv2d : [num_users=1] = call_function[target=torch.ops.aten.conv2d.default](args = "
      "(%image, %p_w, None, [14, 14], (1, 2)), kwargs = {scale: 0.5, dtype: torch.float32})");
  EXPECT_THAT(args.args, ElementsAre("%image", "%p_w", "None", "[14, 14]", "(1, 2)"));
  EXPECT_EQ(args.Kwarg("scale"), "0.5");
  EXPECT_EQ(args.Kwarg("dtype"), "torch.float32");
  EXPECT_EQ(args.Get(5, "scale"), "0.5");
  EXPECT_TRUE(args.Has(1, "weight"));
  EXPECT_FALSE(args.Has(2, "bias"));
  EXPECT_FALSE(args.Has(7, "bias"));
  EXPECT_EQ(args.Arg(5), "");
}

TEST(FxNodeTest, WhatCannotBeReadIsNotThere) {
  for (const char* text : {"", "args = ", "(args = ", "(args = (", "(args = (%x", "(args = [[[",
                           "%x : placeholder", "(args = ), kwargs = {a", "(args = %x, kwargs = {}",
                           "f(args = (), kwargs = {})", "f(args = (), kwargs = )"}) {
    const FxArgs args = ParseFxArgs(text);
    EXPECT_TRUE(args.args.empty() && args.kwargs.empty()) << text;
  }
  EXPECT_THAT(ParseFxArgs("(args = (%x, [, kwargs = {a: b}").kwargs, ElementsAre(Pair("a", "b")));
}

TEST(FxNodeTest, NumbersOfUsers) {
  EXPECT_EQ(FxNumUsers("%x : [num_users=12] = call_function[target=f](args = ())"), 12);
  for (const char* text :
       {"", "[num_users=", "[num_users=]", "[num_users=x]", "[num_users=12345678901234567890]"}) {
    EXPECT_EQ(FxNumUsers(text), -1) << text;
  }
}

TEST(FxNodeTest, Names) {
  EXPECT_THAT(SplitFxName("linear_12"), Pair("linear", 12));
  for (const char* name : {"linear", "max_pool2d", "_to_copy", "_1", "x_0", "x_-1", "x_",
                           "x_1234567890123456789012", ""}) {
    EXPECT_THAT(SplitFxName(name), Pair(name, 0));
  }
  EXPECT_EQ(FxValueName("%view_1"), "view_1");
  for (const char* arg : {"", "None", "view", "[%view]"}) EXPECT_EQ(FxValueName(arg), "") << arg;
  for (const char* name : {"p_fc_weight", "b_mask", "c_lifted_tensor_0"}) {
    EXPECT_TRUE(IsFxPlaceholder(name)) << name;
  }
  for (const char* name : {"", "p", "permute_1", "x_p_y"}) EXPECT_FALSE(IsFxPlaceholder(name));
}

// ---- modules around a node

// "path type" of each, from the innermost; "-" where the exporter made the work up.
template <typename List>
std::vector<std::string> Rows(List list) {
  std::vector<std::string> rows;
  for (; !list.empty(); list.DropLast()) {
    const std::optional<EnclosingModule> scope = list.last();
    rows.push_back(scope ? absl::StrCat(scope->path, " ", scope->type) : "-");
  }
  return rows;
}

TEST(ScopeTest, Lists) {
  EXPECT_THAT(Rows(ScopeList("['', 'visual', 'visual.attn.0', 'linear_1']",
                             "['clip.CLIP', 'clip.Vit', 'torch.nn.modules.linear.Linear', "
                             "'aten.linear.default']")),
              ElementsAre("visual.attn.0 Linear", "visual Vit", " CLIP"));
  EXPECT_THAT(Rows(ScopeList("['', 'relu@1', 'relu']", "")), ElementsAre("relu ", " "));
  EXPECT_THAT(Rows(ScopeList("['', 'a@', 'b@c1', 'x']", "['A']")),
              ElementsAre("b@c1 ", "a@ ", " "));
  EXPECT_THAT(Rows(ScopeList("['_empty_nn_module_stack_from_metadata_hook', 'sym']", "['', 'x']")),
              ElementsAre("-"));
  EXPECT_EQ(ScopeList("['', 'visual', 'conv2d']", "").key(), "['', 'visual'");
  for (const char* broken : {"", "[", "['", "['']", "x", ", ", "[, ]"}) {
    EXPECT_THAT(Rows(ScopeList(broken, broken)), IsEmpty()) << broken;
  }
}

TEST(ScopeTest, Namespaces) {
  EXPECT_THAT(Rows(NamespaceScopes(": m.CLIP/text: m.Text/text.fc@2: torch.nn.Linear/mm: aten.mm")),
              ElementsAre("text.fc Linear", "text Text", " CLIP"));
  EXPECT_THAT(Rows(NamespaceScopes("_empty_nn_module_stack: x/a/b: /c")),
              ElementsAre("b ", "-", "-"));
  EXPECT_EQ(NamespaceScopes(": m.CLIP/fc: m.Linear/mm: x").key(), ": m.CLIP/fc: m.Linear");
  for (const char* broken : {"", "x", "/", ": "}) {
    EXPECT_THAT(Rows(NamespaceScopes(broken)), IsEmpty()) << broken;
  }
  EXPECT_EQ(Rows(NamespaceScopes(Repeat("/", kMany))).size(), kMany - 1);
}

TEST(ScopeTest, Functions) {
  EXPECT_EQ(ClassOfFunction("InvertedResidual.8"), "InvertedResidual");
  EXPECT_EQ(ClassOfFunction("InvertedResidual.8.12"), "InvertedResidual.8");
  for (const char* name : {"Conv2d", "Conv.", ".8", "8", ""})
    EXPECT_EQ(ClassOfFunction(name), name);
  EXPECT_TRUE(IsOnnxscriptFunction("pkg.onnxscript.torch_lib"));
  EXPECT_FALSE(IsOnnxscriptFunction("torchvision.models.resnet"));
}

TEST(NodeMetadataTest, Keys) {
  const std::vector<std::pair<absl::string_view, absl::string_view>> props = {
      {"namespace", "n"},
      {"pkg.torch.onnx.class_hierarchy", "c"},
      {"pkg.torch.onnx.name_scopes", "s"},
      {"pkg.torch.onnx.fx_node", "f"},
      {"pkg.torch.onnx.stack_trace", "t"},
      {"pkg.onnxscript.rewriter.rule_name", "FuseBatchNormIntoConv"}};
  const NodeMetadata metadata(props);
  EXPECT_EQ(metadata.name_space, "n");
  EXPECT_EQ(metadata.class_hierarchy, "c");
  EXPECT_EQ(metadata.name_scopes, "s");
  EXPECT_EQ(metadata.fx_node, "f");
  EXPECT_EQ(metadata.stack_trace, "t");
  EXPECT_TRUE(metadata.StatesCall());
  EXPECT_TRUE(metadata.IsFusedBatchNorm());
  const NodeMetadata some(absl::MakeConstSpan(props).subspan(0, 2));
  EXPECT_FALSE(some.StatesCall() || some.IsFusedBatchNorm() || some.fx_node.has_value());
}

// ---- lines of source

TEST(SourceLineTest, TheLastOfAStackTrace) {
  EXPECT_EQ(LastSourceLine("File \"a.py\", line 1, in forward\n    x = self.m(x)\n"
                           "  File \"b.py\", line 2, in forward\n    out += x"),
            "out += x");
  for (const char* none : {"", "x", "\n", "a\n  File \"b.py\", line 2, in forward"}) {
    EXPECT_EQ(LastSourceLine(none), "") << none;
  }
}

TEST(SourceLineTest, OfTorchNn) {
  const std::string nn =
      "File \"/x/torch/nn/modules/linear.py\", line 1, in forward\n  F.linear(x)";
  EXPECT_TRUE(IsLineOfTorchNn(nn));
  EXPECT_FALSE(IsLineOfTorchNn(nn + "\n  File \"m.py\", line 2, in forward\n    x + y"));
  EXPECT_TRUE(IsLineOfTorchNn("File \"torch/nn/modules/linear.py\", line 1, in forward\n  x"));
  EXPECT_FALSE(IsLineOfTorchNn("File \"/x/mytorch/nn/modules/a.py\", line 1, in forward\n  x"));
  EXPECT_FALSE(IsLineOfTorchNn(""));
}

constexpr char kSpellings[] = "nsitmfv";  // by Spelling

// "s": x + y, settled; "s?": it may be called otherwise, too.
std::string Spelled(absl::string_view line, absl::string_view name, char symbol) {
  const auto is_module = [](absl::string_view part) { return part == "norm"; };
  const auto is_object = [](absl::string_view value) {
    return value == "self.bank" || value == "helper";
  };
  const SpelledCall call = FindSpelling(line, name, symbol, {is_module, is_object});
  return std::string(1, kSpellings[static_cast<size_t>(call.spelling)]) +
         (call.is_settled ? "" : "?");
}

struct SpellingCase {
  const char *line, *name;
  char symbol;
  const char* want;
};

void ExpectSpelled(absl::Span<const SpellingCase> cases) {
  for (const SpellingCase& c : cases) {
    EXPECT_EQ(Spelled(c.line, c.name, c.symbol), c.want) << c.line;
  }
}

TEST(SourceLineTest, HowALineCallsAnOperator) {
  ExpectSpelled({
      {"return x + y", "add", '+', "s"},
      {"return x + y  # torch.add(x, y)", "add", '+', "s"},
      {"out += identity", "add", '+', "i"},
      {"out.add_(identity)", "add", '+', "i"},
      {"y = torch.add(x, y)", "add", '+', "t"},
      {"y = x.view(2, -1).add(2.5)", "add", '+', "m"},
      {"y = x.view(2, -1).add(z)", "add", '+', "m?"},
      {"x: Tensor = y + z", "add", '+', "s"},
      {"if (x + y).any():", "add", '+', "s"},
      {"y = größe + x", "add", '+', "s"},
      {"y = x + d['it\\'s']", "add", '+', "s"},
      {"y = self.norm(x) + x", "add", '+', "s"},
      {"y = y + self.weight.t()", "add", '+', "s"},
      {"return x * y", "mul", '*', "s"},
      {"x *= y", "mul", '*', "i"},
      {"return x.view(*sizes)", "mul", '*', "n?"},
      {"return x ** 2", "mul", '*', "n?"},
      {"return q @ k.transpose(-2, -1)", "matmul", '@', "s"},
      {"a = torch.matmul(q, k)", "matmul", '@', "t"},
      {"return F.relu(x)", "relu", 0, "f"},
      {"return nn.functional.relu(x, inplace=True)", "relu", 0, "f"},
      {"return torch.relu(x)", "relu", 0, "t"},
      {"return x.relu()", "relu", 0, "m"},
      {"return x.softmax(-1)", "softmax", 0, "m"},
      {"return x.softmax(dim=(-1), dtype=None)", "softmax", 0, "m"},
      {"return x['softmax(y)'].sigmoid()", "sigmoid", 0, "m"},
      {"return -x, +y", "add", '+', "n?"},
      {"return x[..., 1 + i]", "add", '+', "s"},
  });
}

TEST(SourceLineTest, LinesOfAllFrames) {
  EXPECT_THAT(
      SourceLines("File \"a.py\", line 1, in forward\n  y = f(x)\n  File \"b.py\", line 2, in "
                  "forward\n  File \"c.py\", line 3, in forward\n    return x\n"),
      ElementsAre("y = f(x)", "return x"));
  EXPECT_THAT(SourceLines(""), ElementsAre());
}

TEST(SourceLineTest, WhatRunsOtherCalls) {
  const std::pair<const char*, const char*> cases[] = {
      {"y = torch.vmap(f)(x)", "torch.vmap"},
      {"y = vmap(f)(x)", "vmap"},
      {"return torch.func.functional_call(self.m, p, x)", "torch.func.functional_call"},
      {"y = torch.jit.script(f)(x)", "torch.jit.script"},
      {"return OwnLinear.apply(x, w)", "OwnLinear.apply"},
      {"y = torch.ops.aten.linear.default(x, w)", "torch.ops.aten.linear.default"},
      {"return self.f.apply(x)", ""},
      {"return x  # torch.vmap(f)", ""},
      {"return d['vmap(f)'], vmap", ""},
      {"return self.vmapped(x) + torch.function(x)", ""},
      {"return 'vmap(", ""},
  };
  for (const auto& [line, want] : cases) EXPECT_EQ(TransformIn(line), want) << line;
}

TEST(SourceLineTest, ObjectsThatALineMakes) {
  for (const char* line : {"h = Helper(x)", "h = lib.Helper(x)", "h = make(x)"}) {
    EXPECT_EQ(ObjectMadeIn(line), "h") << line;
  }
  for (const char* line :
       {"h = x.view(2)", "h = torch.Tensor(x)", "h = nn.Linear(2, 2)", "h = len(x)", "h = Helper",
        "h = (Helper(x))", "h == Helper(x)", "h, g = Helper(x)", ""}) {
    EXPECT_EQ(ObjectMadeIn(line), "") << line;
  }
}

TEST(SourceLineTest, WhatALineDoesNotSettle) {
  ExpectSpelled({
      // What else the line calls may do it.
      {"return helper(x) + y", "add", '+', "s?"},
      {"return self.dropout(x) + y", "add", '+', "s?"},
      {"return torch.addcmul(x, y, z) + y", "add", '+', "s?"},
      {"return F.normalize(x) + y", "add", '+', "s?"},
      {"return x.some_method() + y", "add", '+', "s?"},
      {"return self.layers[0](x) + y", "add", '+', "s?"},
      {"return getattr(x, 'f')(x) + y", "add", '+', "s?"},
      {"return torch.linalg.norm(x) + y", "add", '+', "s?"},
      {"return self.norm.weigh() + y", "add", '+', "s?"},
      {"return x + y, f'{torch.add(x, y)}'", "add", '+', "s?"},
      // A module of Python, not a tensor.
      {"return ops.relu(x)", "relu", 0, "m?"},
      {"return ops.relu(input=x)", "relu", 0, "m?"},
      {"return x.softmax(dim)", "softmax", 0, "m?"},
      {"return operator.matmul(x, x)", "matmul", '@', "m?"},
      {"return torch.linalg.matmul(x, x)", "matmul", '@', "n?"},
      {"return FF.linear(x, w)", "linear", 0, "m?"},
      {"return th.einsum('ij,jk->ik', x, y)", "einsum", 0, "m?"},
      {"return mynn.functional.relu(x)", "relu", 0, "m?"},
      // An object of a class of the model's own.
      {"return helper.relu()", "relu", 0, "m?"},
      {"return self.bank.relu()", "relu", 0, "m?"},
      {"return helper + x", "add", '+', "s?"},
      {"return x + helper", "add", '+', "s?"},
      {"return self.bank @ x", "matmul", '@', "s?"},
      {"return x @ self.bank", "matmul", '@', "s?"},
      {"return x * self.bank[0]", "mul", '*', "s?"},
      // Of a statement of several lines.
      {"z = torch.matmul(", "matmul", '@', "t?"},
      {"y = (torch.add(x, y)", "add", '+', "t?"},
      {"y) + z", "add", '+', "s?"},
      {"x + y,", "add", '+', "s?"},
      {"x + y", "add", '+', "s?"},
      {"other=x + y", "add", '+', "s?"},
      {"y = x + \\", "add", '+', "s?"},
      {"y = x + 'abc", "add", '+', "s?"},
      // More than one way.
      {"return torch.add(x, y) + z", "add", '+', "v?"},
      {"", "add", '+', "n?"},
  });
}

// ---- names

TEST(NodeNameTest, Paths) {
  EXPECT_EQ(PathInNodeName("/visual/conv1/Conv"), "/visual/conv1");
  EXPECT_EQ(PathInNodeName("/MatMul"), "");
  EXPECT_EQ(PathInNodeName("model/conv1/Conv2D"), "model/conv1");
  EXPECT_EQ(PathInNodeName("node_linear_1"), std::nullopt);
  EXPECT_EQ(PathInNodeName(""), std::nullopt);
  EXPECT_TRUE(IsOutputOfNamedNode("/fc/Gemm_output_0"));
  EXPECT_FALSE(IsOutputOfNamedNode("output"));
}

TEST(NodeNameTest, ComponentsAsTorchScriptWritesThem) {
  struct Case {
    absl::string_view parent, component, path;
  } const cases[] = {
      {"", "visual", "visual"},
      {"visual.transformer", "resblocks.0", "visual.transformer.resblocks.0"},
      {"features.0", "features.0.1", "features.0.1"},
      {"layer1", "layer1.0", "layer1.0"},
      {"features.4.block", "block.2", "features.4.block.2"},
      // "block" ends "myblock", but is no part of it.
      {"myblock", "block.2", "myblock.block.2"},
      // A list inside of a module of the same name.
      {"encoder.layer", "layer.0", "encoder.layer.layer.0"},
      // The second call of a module; a module of that name; nothing to be the first call.
      {"head", "relu_1", "head.relu"},
      {"head", "fc_1", "head.fc_1"},
      {"head", "ln_1", "head.ln_1"},
      {"head", "relu_", "head.relu_"},
      {"", "_1", "_1"},
  };
  const std::set<absl::string_view> known = {"head.relu", "head.fc"};
  const std::set<absl::string_view> weights = {"encoder.layer.layer.0", "head.fc_1"};
  const auto is_known = [&](absl::string_view path) { return known.contains(path); };
  const auto has_weights = [&](absl::string_view path) { return weights.contains(path); };
  std::string path = "of another";
  for (const Case& c : cases) {
    ModuleOfComponent(c.parent, c.component, {is_known, has_weights}, &path);
    EXPECT_EQ(path, c.path);
  }
}

TEST(TensorNameTest, Parameters) {
  EXPECT_EQ(ModuleOfParameter("visual.conv1.weight"), "visual.conv1");
  EXPECT_EQ(ModuleOfParameter(".weight"), "");
  EXPECT_EQ(ModuleOfParameter("weight"), std::nullopt);
  EXPECT_TRUE(IsParameterName("visual.conv1.weight"));
  for (const char* name : {"weight", "onnx::MatMul_12.x", "/visual/Constant_1.x", ""}) {
    EXPECT_FALSE(IsParameterName(name)) << name;
  }
  EXPECT_TRUE(IsRunningStatistic("bn1.running_var"));
  EXPECT_FALSE(IsRunningStatistic("bn1.weight"));
  EXPECT_TRUE(IsInProjection("attn.in_proj_weight") && IsInProjection("attn.in_proj_bias"));
  EXPECT_FALSE(IsInProjection("attn.out_proj.weight") || IsInProjection("in_proj_weight"));
}

TEST(TensorNameTest, WhatExportersMakeUp) {
  EXPECT_TRUE(IsRenamed("onnx::MatMul_123"));
  EXPECT_FALSE(IsRenamed("fc.weight") || IsRenamed("onnx:"));
  EXPECT_TRUE(IsRenamedFor("Conv", "onnx::Conv_12"));
  EXPECT_FALSE(IsRenamedFor("Conv", "onnx::MatMul_12") || IsRenamedFor("Conv", "Conv_12"));
  for (const char* name :
       {"val_31", "add", "unsqueeze_16", "scalar_tensor_default", "logical_not_2"}) {
    EXPECT_TRUE(IsFoldedName(name)) << name;
  }
  for (const char* name : {"", "_1", "scale", "value_31", "val_31_x", "linear_1"}) {
    EXPECT_FALSE(IsFoldedName(name)) << name;
  }
  EXPECT_TRUE(IsFoldedLookup("embedding") && IsFoldedLookup("embedding_2"));
  EXPECT_FALSE(IsFoldedLookup("embedding_table"));
}

TEST(TensorNameTest, WhatMayBeTrained) {
  for (const char* name : {"logit_scale", "t", "temperature", "exp"}) {
    EXPECT_TRUE(IsScalarParameter(name)) << name;
  }
  for (const char* name : {"", "val_3", "val_3_copy", "scalar_tensor_default", "eps_1", "/c",
                           "scalar_tensor_default_copy", "onnx::Mul_3", "123"}) {
    EXPECT_FALSE(IsScalarParameter(name)) << name;
  }
  EXPECT_TRUE(IsFoldedProduct("linear_4") && IsFoldedProduct("matmul"));
  EXPECT_FALSE(IsFoldedProduct("linear.weight") || IsFoldedProduct("add_4"));
  for (const char* name : {"w", "basis", "0.g", "b.0.T"}) EXPECT_TRUE(MayBeBuffer(name)) << name;
  for (const char* name : {"fc.weight", "cls_token", "rnn.weight_ih_l0", "norm.shift", "val_3",
                           "linear_4", "onnx::MatMul_3", "/c/d", ""}) {
    EXPECT_FALSE(MayBeBuffer(name)) << name;
  }
}

// ---- who wrote it

Exporter WhoWrote(absl::string_view producer, absl::string_view name, MetadataProps metadata) {
  ModelData model;
  model.producer_name = producer;
  model.nodes.resize(2);
  model.nodes[1].name = name;
  model.nodes[1].metadata = metadata;
  return ExporterOf(model);
}

TEST(ExporterTest, ByProducerAndTraces) {
  const std::pair<absl::string_view, absl::string_view> call[] = {
      {"pkg.torch.onnx.name_scopes", "['', 'mm']"},
      {"pkg.torch.onnx.class_hierarchy", "['M', 'aten.mm.default']"}};
  EXPECT_EQ(WhoWrote("pytorch", "node_mm", call), Exporter::kDynamo);
  EXPECT_EQ(WhoWrote("onnxruntime.transformers", "node_mm", call), Exporter::kDynamo);
  EXPECT_EQ(WhoWrote("pytorch", "/fc/Gemm", absl::MakeConstSpan(call).subspan(1)),
            Exporter::kTorchScript);
  EXPECT_EQ(WhoWrote("pytorch", "fc/Gemm", {}), Exporter::kOther);
  EXPECT_EQ(WhoWrote("tf2onnx", "/fc/Gemm", {}), Exporter::kOther);
}

TEST(ExporterTest, NamesModules) {
  ModelData model;
  model.nodes.resize(2);
  EXPECT_FALSE(NamesModules(model));
  model.nodes[1].name = "fc/Gemm";
  EXPECT_TRUE(NamesModules(model));
}

// ---- arguments of a program

constexpr absl::string_view kSignature =
    "\n# inputs\np_fc_weight: PARAMETER target='fc.weight'\np_g: PARAMETER target='norm.g'\n"
    "p_v: PARAMETER target='conv.parametrizations.weight.original1'\n"
    "p_root: PARAMETER target='root'\nb_mask: BUFFER target='mask' persistent=False\n"
    "b_places: BUFFER target='embed.position_ids' persistent=True\nx: USER_INPUT\n"
    "\n# outputs\nlinear: USER_OUTPUT\np_late: PARAMETER target='late'\n";

Signature SignatureOf(absl::string_view text) {
  static constexpr std::pair<absl::string_view, absl::string_view> kCall[] = {
      {kFxNodeKey, "%linear : [num_users=1] = call_function[target=f](args = (%x, %p_fc_weight))"}};
  ModelData model;
  model.graphs.emplace_back().metadata = {{kGraphSignatureKey, text}};
  model.nodes.resize(1);
  model.nodes[0].metadata = kCall;
  model.values.resize(1);
  model.values[0].name = "root";
  return Signature(model);
}

TEST(SignatureTest, NamesParametersThatStandNowhere) {
  const Signature signature = SignatureOf(kSignature);
  EXPECT_TRUE(signature.is_stated());
  EXPECT_TRUE(signature.IsParameter("fc.weight"));
  EXPECT_FALSE(signature.IsParameter("mask"));
  EXPECT_FALSE(signature.IsParameter("late"));
  EXPECT_TRUE(signature.IsBuffer("mask"));
  EXPECT_TRUE(signature.HasUnnamed());
  EXPECT_THAT(signature.UnnamedOf("norm"), ElementsAre("norm.g"));
  EXPECT_THAT(signature.UnnamedOf("conv"), ElementsAre("conv.parametrizations.weight.original1"));
  EXPECT_THAT(signature.UnnamedOf("fc"), IsEmpty());
  EXPECT_THAT(signature.UnnamedOf(""), IsEmpty());
  EXPECT_TRUE(signature.HasPlaces());
  EXPECT_THAT(signature.PlacesOf("embed"), ElementsAre("embed.position_ids"));
  EXPECT_THAT(signature.PlacesOf(""), ElementsAre("embed.position_ids"));
}

TEST(SignatureTest, WhatIsNoSignatureStatesNothing) {
  EXPECT_FALSE(Signature(ModelData()).is_stated());
  const std::string many = Repeat("a: PARAMETER target='\n", kMany);
  for (absl::string_view text :
       {absl::string_view(), absl::string_view("\n"), absl::string_view("p: PARAMETER target='p'"),
        absl::string_view("# inputs"), absl::string_view("# inputs\n: PARAMETER target="),
        absl::string_view("# inputs\np: PARAMETER target='"), absl::string_view(many)}) {
    const Signature signature = SignatureOf(text);
    EXPECT_FALSE(signature.IsParameter("")) << text.substr(0, 40);
    EXPECT_THAT(signature.UnnamedOf(""), testing::AnyOf(IsEmpty(), ElementsAre("p")));
  }
}

TEST(SignatureTest, ModulesOfParameters) {
  const std::pair<absl::string_view, absl::string_view> cases[] = {
      {"a.conv.weight", "a.conv"},
      {"a.conv.parametrizations.weight.original0", "a.conv"},
      {"parametrizations.weight.original0", ""},
      {"my_parametrizations.weight", "my_parametrizations"},
      {"weight", ""},
      {"", ""}};
  for (const auto& [target, module] : cases) EXPECT_EQ(ModuleOfTarget(target), module) << target;
  EXPECT_TRUE(IsWeightNorm({"a.weight_g", "a.weight_v"}));
  EXPECT_FALSE(IsWeightNorm({"a.weight_v"}));
  EXPECT_FALSE(IsWeightNorm({}));
}

// "x, size=(8, 9)", and a "..." where the call goes on in another line.
std::string ArgumentsText(absl::string_view line, absl::string_view name) {
  const LineArguments found = ArgumentsIn(line, name);
  if (!found.is_there) return "none";
  const auto append = [](std::string* out, const LineArgument& argument) {
    absl::StrAppend(out, argument.keyword, argument.keyword.empty() ? "" : "=", argument.value);
  };
  return absl::StrCat(absl::StrJoin(found.arguments, " | ", append), found.is_whole ? "" : " ...");
}

TEST(SourceLineTest, ArgumentsOfACall) {
  const struct {
    const char *line, *name, *arguments;
  } cases[] = {
      {"return F.interpolate(x, size=(8, 9), mode='a,b')", "interpolate",
       "x | size=(8, 9) | mode='a,b'"},
      {"return F.interpolate(self.c(x), None, 2)", "interpolate", "self.c(x) | None | 2"},
      {"y = f(input = x, flag=a == b)", "f", "input=x | flag=a == b"},
      {"y = attend(**d)", "attend", "**=d"},
      {"y = attend(*qkv, k=1)", "attend", "*qkv | k=1"},
      {"y = attend(", "attend", " ..."},
      {"y = attend(q, k,", "attend", "q | k ..."},
      {"return f()", "f", ""},
      {"return my_f(x) + f(y)", "f", "y"},
      {"return g(x)", "f", "none"},
      {"y = bmm(x == y, [1, 2])", "bmm", "x == y | [1, 2]"},
  };
  for (const auto& c : cases) EXPECT_EQ(ArgumentsText(c.line, c.name), c.arguments) << c.line;
}

}  // namespace
}  // namespace onnxflops::exporter::exporter_test
