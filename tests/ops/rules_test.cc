// Operators of the user's own: what they cost and give, and what is said of files and of nodes that
// are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "ops/registry.h"
#include "ops/user/rules_access.h"
#include "ops/user/user_rules.h"
#include "src/api/count.h"
#include "src/base/limits.h"
#include "src/load/load_file.h"
#include "src/report/report.h"

namespace onnxflops::rules_test {
namespace {

using testing::HasSubstr;

// A graph with operators of the domain "own".
absl::StatusOr<Report> CountGraph(const std::string& graph, const std::string& rules,
                                  int own_opset = 1) {
  onnx::ModelProto proto;
  proto.set_ir_version(10);
  const std::string text = "g " + graph;
  const auto parsed = onnx::OnnxParser::Parse(*proto.mutable_graph(), text.c_str());
  if (!parsed.IsOK()) return absl::InternalError(parsed.ErrorMessage());
  for (const auto& [domain, version] : {std::make_pair("", 20), std::make_pair("own", own_opset)}) {
    auto* opset = proto.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  if (!model.ok()) return model.status();
  CountOptions options;
  const absl::StatusOr<Rules> loaded = LoadRules(rules, "my.toml");
  if (!loaded.ok()) return loaded.status();
  options.rules = *loaded;
  return Count(*model, options);
}

std::string CostOf(const Report& report) {
  Cost cost;
  cost.flops = report.census;
  cost.int_ops = report.int_census;
  return cost.ToString();
}

std::string TypeOf(const TensorInfo& tensor) {
  return absl::StrCat(tensor.type, tensor.shape.ToString());
}

// ---- rules that are right

struct Good {
  const char* name;
  const char* rule;   // below [[op]], domain and name
  const char* graph;  // of one node own.F
  const char* cost;
  const char* output;  // the type of the first
};

constexpr Good kGood[] = {
    {"Product", "inputs = ['x[M, K]', 'w[K, N]']\noutputs = ['y[M, N]']\nmac = 'M*N*K'",
     "(float[B,4] a, float[4,5] b) => (float[B,5] c) { c = own.F(a, b) }", "mac=20*B",
     "float32[B, 5]"},
    {"TextThatIsNotAscii",
     "# \xc3\xa9\nnote = \"\"\"\xc3\xa9\\\n a\"\"\"\ninputs = ['x[N]']\noutputs = ['y[N]']\nadd = "
     "'N' # \xc3\xa9",
     "(float[7] a) => (float[7] c) { c = own.F(a) }", "add=7", "float32[7]"},
    {"LeadingDimensions", "inputs = ['x[..., K]']\noutputs = ['y[..., 2*K]']\nadd = 'y.elements'",
     "(float[B,3,4] a) => (float[B,3,8] c) { c = own.F(a) }", "add=24*B", "float32[B, 3, 8]"},
    {"NamedLeadingDimensions",
     "inputs = ['x[rows..., K]']\noutputs = ['y[rows...]']\nadd = 'rows*K'\nsqrt = 'rows'",
     "(float[B,3,4] a) => (float[B,3] c) { c = own.F(a) }", "add=12*B sqrt=3*B", "float32[B, 3]"},
    {"NoLeadingDimension", "inputs = ['x[rows..., K]']\noutputs = ['y[rows...]']\nadd = 'rows*K'",
     "(float[7] a) => (float c) { c = own.F(a) }", "add=7", "float32[]"},
    {"LiteralAndFormulaSizes",
     "inputs = ['x[B, H]', 'w[4*H, 3, H]']\noutputs = ['y[B, 3]']\nmac = '4*B*H*H*3'",
     "(float[B,5] a, float[20,3,5] b) => (float[B,3] c) { c = own.F(a, b) }", "mac=300*B",
     "float32[B, 3]"},
    {"OptionalInputLeftOut",
     "inputs = ['x[N]', 'bias?[N]', 's?[]']\noutputs = ['y[N]']\nmul = 'N'\n"
     "add = 'bias.elements + 100*s.given'",
     "(float[8] a, float s) => (float[8] c) { c = own.F(a, , s) }", "add=100 mul=8", "float32[8]"},
    {"OptionalInputGiven",
     "inputs = ['x[N]', 'bias?[N]']\noutputs = ['y[N]']\nmul = 'N'\nadd = 'bias.elements'",
     "(float[8] a, float[8] b) => (float[8] c) { c = own.F(a, b) }", "add=8 mul=8", "float32[8]"},
    {"Attributes",
     "attributes = { groups = 1, heads = 'int', kernel = [3, 3] }\ninputs = ['x[N, C]']\n"
     "outputs = ['y[N, attr.heads, C // attr.heads]']\n"
     "mac = 'N*C*attr.kernel.0*attr.kernel.1 // attr.groups'",
     "(float[B,8] a) => (float[B,4,2] c) { c = own.F<heads = 4, groups = 2>(a) }", "mac=36*B",
     "float32[B, 4, 2]"},
    {"Definitions",
     "inputs = ['x[B, S, H]']\nlet = ['half = H // 2', 'twice = 2*half']\n"
     "outputs = ['y[B, S, half]']\nmul = 'B*S*twice'",
     "(float[B,3,9] a) => (float[B,3,4] c) { c = own.F(a) }", "mul=24*B", "float32[B, 3, 4]"},
    {"IntegerWorkByTheOutput", "inputs = ['x[N]']\noutputs = ['y[N] : int32']\nadd = 'N'",
     "(float[8] a) => (int32[8] c) { c = own.F(a) }", "int_add=8", "int32[8]"},
    {"FloatWorkOfIntegers",
     "inputs = ['x[N]']\noutputs = ['y[N]']\nadd = 'N'\nint_cmp = 5\narithmetic = 'float'",
     "(int8[8] a) => (int8[8] c) { c = own.F(a) }", "add=8 int_cmp=5", "int8[8]"},
    {"TypeOfAnotherInput", "inputs = ['i[N]', 't[V, D]']\noutputs = ['y[N, D] : t']\nfree = true",
     "(int64[N] a, float16[99,8] t) => (float16[N,8] c) { c = own.F(a, t) }", "free",
     "float16[N, 8]"},
    {"SizeThatDependsOnData", "inputs = ['x[N]']\noutputs = ['y[?kept, 2]']\nexp = 'N + kept'",
     "(float[8] a) => (float[K,2] c) { c = own.F(a) }", "exp=kept(c) + 8", "float32[kept(c), 2]"},
    {"ContentOfAnInput", "inputs = ['x[N]', 'k']\noutputs = ['y[N, k.value]']\nadd = 'N*k.value'",
     "(float[B] a) => (float[B,3] c) <int64 k = {3}> { c = own.F(a, k) }", "add=3*B",
     "float32[B, 3]"},
    {"ContentThatIsMadeOfSizes",
     "inputs = ['x[N]', 'k']\noutputs = ['y[N, k.value]']\nadd = 'N*k.value'",
     "(float[B] a, float[C,2] z) => (float[B,D] c) { s = Shape<start = 0, end = 1>(z) "
     "t = Squeeze(s) i = Constant<value_int = 1>() k = Add(t, i) c = own.F(a, k) }",
     "add=B*C + B", "float32[B, C + 1]"},
    {"AnyNumberOfInputs",
     "inputs = ['x[N]', 'more...']\noutputs = ['y[N]']\nadd = 'more.elements'\n"
     "mul = 'more.count'",
     "(float[8] a, float[2,3] b, float[4] d) => (float[8] c) { c = own.F(a, b, d) }",
     "add=10 mul=2", "float32[8]"},
    {"Conditions",
     "attributes = { mode = 'up|down', alpha = 1.0, act = 'activation|Sigmoid', w = 'list' }\n"
     "inputs = ['x', 'm?']\noutputs = ['y[x[0], x[1:]]']\n"
     "add = 'if(m.given, m[0], 100*x[-1]) + attr.w.count'\nfloat_mul = 'attr.mode.down + 2*(x.rank "
     "== 3)'\n"
     "exp = 'x.elements*attr.act.exp'\nsqrt = '10*attr.alpha.is_1 + 20*attr.mode.given'",
     "(int8[2,3,4] a) => (int8[2,12] c) { c = own.F<mode = \"down\", w = [1, 2, 3]>(a) }",
     "mul=3 int_add=403 int_exp=24 int_sqrt=30", "int8[2, 12]"},
    {"NoInputs", "inputs = []\noutputs = ['y[10] : float16']\nadd = 10",
     "(float[1] a) => (float16[10] c) { c = own.F() }", "add=10", "float16[10]"},
    {"NothingCosts", "inputs = ['x[N]']\noutputs = ['y[N]']\nadd = 'N - N'\nmul = 0",
     "(float[7] a) => (float[7] c) { c = own.F(a) }", "free", "float32[7]"},
    {"SizesThatAreFormulas", "inputs = ['x[N, 2*N + 1]']\noutputs = ['y[N]']\nadd = 'N'",
     "(float[6,13] a) => (float[6] c) { c = own.F(a) }", "add=6", "float32[6]"},
    {"EqualRests", "inputs = ['x[r..., K]', 'w[J, r...]']\noutputs = ['y[r..., 2]']\nadd = 'r + J'",
     "(float[B,3,4] a, float[9,7,3] b) => (float[7,3,2] c) { c = own.F(a, b) }", "add=30",
     "float32[7, 3, 2]"},
    {"AnyShape", "inputs = ['x']\noutputs = ['y[x.elements, x.rank]']\nround = 'x.elements'",
     "(float[2,3] a) => (float[6,2] c) { c = own.F(a) }", "round=6", "float32[6, 2]"},
};

class GoodRuleTest : public testing::TestWithParam<Good> {};

TEST_P(GoodRuleTest, CostsAndGivesWhatItSays) {
  const std::string rules =
      absl::StrCat("[[op]]\ndomain = 'own'\nname = 'F'\n", GetParam().rule, "\n");
  const absl::StatusOr<Report> report = CountGraph(GetParam().graph, rules);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->coverage.unknown, 0);
  EXPECT_EQ(CostOf(*report), GetParam().cost);
  EXPECT_EQ(TypeOf(report->outputs[0]), GetParam().output);
}

INSTANTIATE_TEST_SUITE_P(Rules, GoodRuleTest, testing::ValuesIn(kGood),
                         [](const auto& info) { return std::string(info.param.name); });

constexpr char kMlp[] = R"(
[[op]]
domain = "own"
name = "FusedMlp"
inputs = ["x[rows..., hidden]", "up[hidden, inner]", "bias[inner]", "down[inner, hidden]"]
outputs = ["y[rows..., hidden]"]
mac = "2*rows*hidden*inner"
add = "2*rows*inner"
mul = "2*rows*inner"
div = "rows*inner"
erf = "rows*inner"
)";

TEST(RulesTest, AFusedOperatorCostsWhatItsPartsCost) {
  const std::string inputs =
      "(float[B,S,8] x, float[8,32] u, float[32] b, float[32,8] d) => (float[B,S,8] y) ";
  const auto fused = CountGraph(inputs + "{ y = own.FusedMlp(x, u, b, d) }", kMlp);
  const auto parts =
      CountGraph(inputs + "{ p = MatMul(x, u) s = Add(p, b) g = Gelu(s) y = MatMul(g, d) }", kMlp);
  ASSERT_TRUE(fused.ok() && parts.ok()) << fused.status() << parts.status();
  EXPECT_EQ(CostOf(*fused), CostOf(*parts));
  EXPECT_EQ(fused->totals.flops, parts->totals.flops);
  EXPECT_EQ(fused->macs_by_dtype, parts->macs_by_dtype);
}

TEST(RulesTest, BytesAsGivenOrAsTheTensorsHave) {
  const std::string graph = "(float[8] a) => (float[8] c) { c = own.F(a) }";
  const std::string rule =
      "[[op]]\ndomain='own'\nname='F'\ninputs=['x[N]']\noutputs=['y[N]']\nadd=1\n";
  const auto tensors = CountGraph(graph, rule);
  const auto given = CountGraph(graph, rule + "bytes_read = '3*N'\nbytes_written = 7\n");
  ASSERT_TRUE(tensors.ok() && given.ok()) << tensors.status() << given.status();
  EXPECT_EQ(tensors->totals.bytes_read, Expr(32));
  EXPECT_EQ(given->totals.bytes_read, Expr(24));
  EXPECT_EQ(given->totals.bytes_written, Expr(7));
}

TEST(RulesTest, AnOpsetPicksTheRule) {
  const std::string graph = "(float[8] a) => (float[8] c) { c = own.F(a) }";
  const std::string rules =
      "[[op]]\ndomain='own'\nname='F'\nuntil=2\ninputs=['x[N]']\noutputs=['y[N]']\nadd='N'\n"
      "[[op]]\ndomain='own'\nname='F'\nsince=4\ninputs=['x[N]']\noutputs=['y[N]']\nmul='N'\n";
  const char* const costs[] = {"add=8", "add=8", "free", "mul=8", "mul=8"};
  for (int opset = 1; opset <= 5; ++opset) {
    const auto report = CountGraph(graph, rules, opset);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(CostOf(*report), costs[opset - 1]) << opset;
    EXPECT_EQ(report->coverage.unknown, opset == 3 ? 1 : 0);
  }
}

TEST(RulesTest, ARuleOfOursIsReplacedOnlyOnDemand) {
  const std::string graph = "(float[8] a) => (float[8] c) { c = Relu(a) }";
  const std::string rule =
      "[[op]]\ndomain='ai.onnx'\nname='Relu'\ninputs=['x[N]']\noutputs=['y[N]']\nadd='3*N'\n";
  EXPECT_THAT(CountGraph(graph, rule).status().message(),
              HasSubstr("my.toml:3:6: 'ai.onnx.Relu' has a rule already"));
  const auto replaced = CountGraph(graph, rule + "override = true\n");
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_EQ(CostOf(*replaced), "add=24");
}

TEST(RulesTest, AnUnknownRankMakesTheNodeUnknown) {
  const auto report =
      CountGraph("(float[2,8] a) => (float[8] c) { b = other.G(a) c = own.F(b) }",
                 "[[op]]\ndomain='own'\nname='F'\ninputs=['x[N]']\noutputs=['y[N]']\nadd='N'\n");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->coverage.unknown, 2);
  EXPECT_TRUE(report->totals.lower_bound);
}

TEST(RulesTest, FilesOfTheirRules) {
  const auto rules = LoadRules(kMlp, "my.toml");
  ASSERT_TRUE(rules.ok()) << rules.status();
  ASSERT_EQ(RulesAccess::Families(*rules).size(), 1u);
  EXPECT_STREQ(RulesAccess::Families(*rules)[0].domain, "own");
  EXPECT_STREQ(RulesAccess::Families(*rules)[0].rows[0].name, "FusedMlp");
  EXPECT_EQ(RulesAccess::Find(*rules, "own", "FusedMlp", 9).def,
            &RulesAccess::Families(*rules)[0].rows[0]);
  EXPECT_EQ(RulesAccess::Find(*rules, "own", "Other", 9).def, nullptr);
  EXPECT_EQ(RulesAccess::Find(Rules(), "own", "FusedMlp", 9).def, nullptr);
}

// ---- files that are wrong

struct Bad {
  const char* name;
  const char* text;  // "..." in front is a rule that lacks only costs
  const char* error;
};

constexpr char kStart[] =
    "[[op]]\ndomain = 'own'\nname = 'F'\ninputs = ['x[M, K]', 'b?[J]']\noutputs = ['y[M]']\n";

constexpr Bad kBad[] = {
    {"Syntax", "a = ", "my.toml:1:5: "},
    {"KeyNotAscii", "\xc3\xa9 = 1", "my.toml:1:1: "},
    {"BlankNotAscii", "...mac = 1\xc2\xa0", "my.toml:6:8: "},
    {"ValueNotAscii", "...mac = 0'1\xc3\x97'", "my.toml:6:8: "},
    {"EscapeNotAscii", "...note = \"\"\"a\\\xc3\xa9\"\"\"", "my.toml:6:13: "},
    {"HeaderWithoutKey", "\xef\xbb\xbf[ = 1", "my.toml:1:3: "},
    {"TimeWithoutDigits", "...mac = 1979-05-27TZ32:00Z", "my.toml:6:18: "},
    {"KeyOutside", "a = 1", "my.toml:1:1: unknown key 'a'; every operator is a table [[op]]"},
    {"NoTables", "op = 1", "my.toml:1:6: an operator is a table [[op]]"},
    {"MissingKey", "[[op]]\ndomain = 'own'", "my.toml:1:1: the key name is missing"},
    {"UnknownKey", "...macs = 'M'", "my.toml:6:1: unknown key 'macs'; did you mean mac? known: "},
    {"NoCost", "...", "my.toml:1:1: no cost is given"},
    {"UnknownName", "...mac = 'M*K*N'",
     "my.toml:6:12: nothing is named 'N'; known: K, M, b.elements, b.given"},
    {"FormulaSyntax", "...mac = 'M * '", "my.toml:6:12: expected a number, a name or '('"},
    {"EscapedFormula", "...mac = \"M \\u002A \"", "my.toml:6:7: expected a number"},
    {"DivisionByZero", "...mac = 'M // (K - K)'", ": the value divides by zero"},
    {"NegativeNumber", "...mac = -3", "my.toml:6:7: mac is negative"},
    {"NegativeFormula", "...mac = '1 - M - 2'", "my.toml:6:8: '1 - M - 2' is never positive"},
    {"NoFormula", "...mac = 1.5", "my.toml:6:7: mac should be a formula"},
    {"OfAnOptionalInput", "...add = 'J'", "'J' is known only where the optional input b is given"},
    {"FreeButCosts", "...add = 1\nfree = true", "my.toml:6:7: free = true, but here is a cost"},
    {"TypeOfAttribute", "...attributes = {g = 'string'}\nadd = 1", "my.toml:6:19: an attribute is"},
    {"UnknownAttribute", "...add = 'attr.g'", "my.toml:6:8: nothing is named 'attr.g'"},
    {"Arithmetic", "...add = 1\narithmetic = 'both'", "my.toml:7:14: it should be \"float\" or"},
    {"Comparison", "...add = 'M == K == 2'", "my.toml:6:15: expected an operator, found '='"},
    {"IfOfTwo", "...add = 'if(M, K)'", "my.toml:6:15: expected ','"},
    {"Slice", "...add = 'x[0:'", "my.toml:6:12: expected a number"},
    {"Word", "...attributes = {m = 'a|b'}\nadd = 'attr.m.c'",
     "my.toml:7:8: nothing is named 'attr.m.c'"},
    {"Let", "...let = ['h - M']\nadd = 'h'", "my.toml:6:8: expected \"name = formula\""},
    {"LetTwice", "...let = ['M = K']\nadd = 1", "my.toml:6:9: 'M' is defined twice"},
    {"NoteIsNoText", "...note = 3\nadd = 1", "my.toml:6:8: note should be a string"},
    {"NameIsNoText", "[[op]]\ndomain='own'\nname=3\ninputs=[]\noutputs=['y[1]']\nfree=true",
     "my.toml:3:6: name should be a string"},
    {"OverrideIsNoBool", "...add = 1\noverride = 1",
     "my.toml:7:12: override should be true or false"},
    {"Since", "...since = 0", "my.toml:6:9: since should be an opset, 1 or more"},
    {"Until", "...since = 3\nuntil = 2", "my.toml:7:9: until is before since"},
    {"NothingToOverride", "...override = true", "override = true, but there is no 'own.F'"},
    {"TwoRules", "...add = 1\n[[op]]\ndomain='own'\nname='F'\ninputs=[]\noutputs=[]\nfree=true",
     "my.toml:9:6: 'own.F' has another rule my.toml:1 for the same opsets"},
    {"TwoTensors",
     "[[op]]\ndomain='own'\nname='F'\ninputs=['x[N]', 'x[N]']\noutputs=['y[N]']\nfree=true",
     "my.toml:4:18: there are two tensors 'x'"},
    {"Bracket", "[[op]]\ndomain='own'\nname='F'\ninputs=['x[N']\noutputs=['y[N]']\nfree=true",
     "my.toml:4:11: expected name[sizes]: a bracket is not closed"},
    {"TwoRests",
     "[[op]]\ndomain='own'\nname='F'\ninputs=['x[..., a...]']\noutputs=['y[1]']\nfree=true",
     "my.toml:4:17: only one \"...\" can be in a shape"},
    {"RestOfNothing",
     "[[op]]\ndomain='own'\nname='F'\ninputs=['x[N]']\noutputs=['y[a...]']\nfree=true",
     "my.toml:5:13: no input has the dimensions 'a...'"},
    {"FreshInput", "[[op]]\ndomain='own'\nname='F'\ninputs=['x[?N]']\noutputs=['y[1]']\nfree=true",
     "only a size of an output can depend on data"},
    {"OutputType",
     "[[op]]\ndomain='own'\nname='F'\ninputs=['x[N]']\noutputs=['y[N] : flot']\nfree=true",
     "my.toml:5:18: 'flot' is neither a type nor an input"},
    {"NoOutput", "[[op]]\ndomain='own'\nname='F'\ninputs=[]\noutputs=[]\nfree=true",
     "my.toml:5:9: an operator has an output"},
    {"InputType", "[[op]]\ndomain='own'\nname='F'\ninputs=['x[N] : int8']\noutputs=['y[N]']",
     "inputs may have any type"},
    {"AttributesNoTable", "...attributes = 3\nadd = 1",
     "my.toml:6:14: attributes should be a table"},
    {"AttributeName", "...attributes = {'a b' = 1}\nadd = 1", "my.toml:6:15: 'a b' is no name"},
    {"AttributeList", "...attributes = {k = [1, 'x']}\nadd = 1", "my.toml:6:23: an attribute is"},
    {"AttributeBool", "...attributes = {k = true}\nadd = 1", "my.toml:6:19: an attribute is"},
    {"WordTwice", "...attributes = {m = 'a|a'}\nadd = 1",
     "my.toml:6:20: 'attr.m.a' is defined twice"},
    {"WordNoName", "...attributes = {m = 'a|b c'}\nadd = 1", "my.toml:6:19: an attribute is"},
    {"PartOfAList", "...attributes = {k = 'list'}\nadd = 'attr.k[0]'",
     "my.toml:7:8: 'attr.k' has no sizes to choose from"},
    {"NumberOfAList", "...attributes = {k = [1]}\nadd = 'attr.k.64'",
     "my.toml:7:8: nothing is named 'attr.k.64'"},
    {"LetOptional", "...let = ['J = 2']\nadd = 1", "my.toml:6:9: 'J' is a size of b already"},
    {"LetName", "...let = ['2h = M']\nadd = 1", "my.toml:6:9: '2h' is no name"},
    {"LetFormula", "...let = ['h = M +']\nadd = 1", "my.toml:6:16: expected a number"},
    {"LetIsText", "...let = 'h = M'\nadd = 1", "my.toml:6:7: let should be a list of strings"},
    {"FreeIsNoBool", "...free = 1", "my.toml:6:8: free should be true or false"},
    {"SinceIsText", "...since = 'x'", "my.toml:6:9: since should be an opset, 1 or more"},
    {"SinceTooLarge", "...since = 2147483648", "my.toml:6:9: since should be an opset, 1 or more"},
    {"UntilZero", "...until = 0", "my.toml:6:9: until should be an opset, 1 or more"},
    {"FreeButBytes", "...free = true\nbytes_read = 1",
     "my.toml:7:14: free = true, but here is a cost"},
    {"NegativeBytes", "...add = 1\nbytes_written = -1", "my.toml:7:17: bytes_written is negative"},
    {"BytesNoFormula", "...add = 1\nbytes_read = 1.5",
     "my.toml:7:14: bytes_read should be a formula"},
    {"ArithmeticNoText", "...add = 1\narithmetic = 3",
     "my.toml:7:14: arithmetic should be a string"},
    {"NeverPositive", "...add = '0 - M'", "my.toml:6:8: '0 - M' is never positive"},
    {"ListOfNoTables", "op = [1]", "my.toml:1:6: an operator is a table [[op]]"},
    {"DomainIsNoText", "[[op]]\ndomain=3\nname='F'\ninputs=[]\noutputs=[]",
     "my.toml:2:8: domain should be a string"},
    {"EmptyName", "[[op]]\ndomain='own'\nname=''\ninputs=[]\noutputs=[]",
     "my.toml:3:6: the name is empty"},
    {"NestedTooDeep", "a = [[[[[[[[[[]]]]]]]]]]", "exceeded maximum nested value depth of 8"},
};

TEST(BadRulesTest, AreRefusedWithTheirPlace) {
  for (const Bad& bad : kBad) {
    SCOPED_TRACE(bad.name);
    absl::string_view text = bad.text;
    const bool continues = absl::ConsumePrefix(&text, "...");
    const auto rules = LoadRules(absl::StrCat(continues ? kStart : "", text), "my.toml");
    EXPECT_EQ(rules.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(rules.status().message()), HasSubstr(bad.error));
  }
}

struct BadTensors {
  const char *inputs, *outputs, *error;
};

// Inputs and outputs, as they stand in lines 4 and 5.
constexpr BadTensors kBadTensors[] = {
    {"'x'", "['y[1]']", "my.toml:4:8: inputs should be a list of strings"},
    {"['x', 3]", "['y[1]']", "my.toml:4:14: inputs should be a list of strings"},
    {"['x...', 'w']", "['y[1]']", "my.toml:4:17: only the last input can be any number"},
    {"['x y']", "['y[1]']", "my.toml:4:10: 'x y' is no name of a tensor"},
    {"[' 2x']", "['y[1]']", "my.toml:4:11: '2x' is no name of a tensor"},
    {"['attr']", "['y[1]']", "my.toml:4:10: 'attr' is no name of a tensor"},
    {"['x[a...]', 'w[a]']", "['y[1]']", "'a' is one dimension in one place, any number in another"},
    {"['x[a]', 'w[a...]']", "['y[1]']", "'a' is one dimension in one place, any number in another"},
    {"['x[?2]']", "['y[1]']", "my.toml:4:12: '2' is no name"},
    {"['x[N, 2...]']", "['y[1]']", "my.toml:4:15: '2' is no name"},
    {"['x[N, ]']", "['y[1]']", "my.toml:4:15: a size is missing"},
    {"['x]N[']", "['y[1]']", "my.toml:4:13: expected name[sizes]: a bracket is not closed"},
    {"['x[N] z']", "['y[1]']", "my.toml:4:11: expected name[sizes]: a bracket is not closed"},
    {"['x[2*Q]']", "['y[1]']", "my.toml:4:14: nothing is named 'Q'"},
    {"['x']", "'y'", "my.toml:5:9: outputs should be a list of strings"},
    {"['x']", "['y[1] :']", "my.toml:5:16: a type is missing"},
    {"['x']", "['y[1] : undefined']", "my.toml:5:18: 'undefined' is neither a type nor an input"},
    {"['x']", "['y?[1]']", "my.toml:5:11: any output may be left out: write no ? here"},
    {"['x']", "['y']", "my.toml:5:11: an output needs a shape, as y[batch, 10]"},
    {"['x']", "['y...']", "my.toml:5:11: an output needs a shape, as y[batch, 10]"},
    {"[]", "['y[10]']", "my.toml:5:11: without inputs an output needs a type"},
    {"['x']", "['y[1]', 'y[2]']", "my.toml:5:19: there are two tensors 'y'"},
    {"['x']", "['x[1]']", "my.toml:5:11: there are two tensors 'x'"},
    {"['x']", "['y[1, Q]']", "my.toml:5:16: nothing is named 'Q'"},
    {"['x']", "['y[-3]']", "my.toml:5:13: '-3' is never positive"},
    {"['x[N]']", "['y[N...]']", "my.toml:5:13: no input has the dimensions 'N...'"},
    {"['x', 'b?[r...]']", "['y[r...]']", "my.toml:5:13: no input has the dimensions 'r...'"},
    {"['x']", "['y[...]']", "my.toml:5:13: no input has the dimensions '...'"},
    {"['x']", "['y[?k, ?k]']", "'k' is defined twice"},
};

TEST(BadRulesTest, TensorsAreRefusedWithTheirPlace) {
  for (const BadTensors& c : kBadTensors) {
    const auto rules = LoadRules(absl::StrCat("[[op]]\ndomain='own'\nname='F'\ninputs=", c.inputs,
                                              "\noutputs=", c.outputs, "\nfree=true"),
                                 "my.toml");
    EXPECT_THAT(std::string(rules.status().message()), HasSubstr(c.error)) << c.inputs << c.outputs;
  }
}

// Two rules of one operator are told apart by opsets of which none is in both.
TEST(BadRulesTest, RulesOfOneOperatorShareNoOpset) {
  const struct {
    const char *first, *second;
    bool fits;
  } cases[] = {{"until=2", "since=3", true},
               {"until=2", "since=2", false},
               {"since=3", "until=2", true},
               {"since=2", "until=2", false},
               {"since=2\nuntil=4", "since=3\nuntil=3", false},
               {"since=2\nuntil=2", "since=3\nuntil=3", true},
               {"until=2147483647", "since=2147483647", false}};
  for (const auto& c : cases) {
    std::string text;
    for (const char* opsets : {c.first, c.second}) {
      absl::StrAppend(&text, "[[op]]\ndomain='own'\nname='F'\ninputs=['x']\noutputs=['y[1]']\n",
                      opsets, "\nfree=true\n");
    }
    EXPECT_EQ(LoadRules(text, "my.toml").ok(), c.fits) << c.first << c.second;
  }
  const std::string one =
      "[[op]]\ndomain='own'\nname='F'\ninputs=['x']\noutputs=['y[1]']\nfree=true\n";
  const std::string other_name = absl::StrReplaceAll(one, {{"'F'", "'G'"}});
  const std::string other_domain = absl::StrReplaceAll(one, {{"'own'", "'other'"}});
  EXPECT_TRUE(LoadRules(one + other_name + other_domain, "my.toml").ok());
}

// What the driver reads of an operator's row.
TEST(RulesTest, RowsOfOperators) {
  const std::string text = absl::StrCat(
      kMlp,
      "[[op]]\ndomain='own'\nname='G'\nsince=3\nnote='a note'\ninputs=['x[N]', 'k', 'r...']\n"
      "outputs=['y[k.value, ?q]', 'z[...] : int8']\nfree=true\n"
      "[[op]]\ndomain='own'\nname='H'\ninputs=['x[...]', 'n?']\noutputs=['y[...]']\nlet=['h = 2']\n"
      "int_add='h'\nfloat_mul=3\nadd='x.rank'\n");
  const auto wrong = LoadRules(text, "my.toml");
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("no input has the dimensions"));
  const auto rules = LoadRules(absl::StrReplaceAll(text, {{"z[...] :", "z[N] :"}}), "my.toml");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const auto row = [&](const char* name) { return RulesAccess::Find(*rules, "own", name, 9).def; };
  EXPECT_STREQ(row("FusedMlp")->formula,
               "y[rows..., hidden] = FusedMlp(x[rows..., hidden], up[hidden, inner], bias[inner], "
               "down[inner, hidden]); mac = 2*rows*hidden*inner, add = 2*rows*inner, mul = "
               "2*rows*inner, div = rows*inner, erf = rows*inner");
  EXPECT_STREQ(row("G")->formula, "y[k.value, ?q], z[N] = G(x[N], k, r...); free");
  EXPECT_STREQ(row("H")->formula,
               "y[...] = H(x[...], n?); add = x.rank, float mul = 3, integer add = h; h = 2");
  EXPECT_STREQ(row("G")->note, "a note");
  EXPECT_EQ(row("G")->versions[0], 3);
  EXPECT_EQ(row("G")->shape_inputs, 7U);
  EXPECT_EQ(row("G")->traits, Traits::kReadsContent);
  EXPECT_EQ(row("G")->count, nullptr);
  EXPECT_EQ(row("H")->shape_inputs, 0U);
  EXPECT_EQ(row("H")->traits, Traits::kNone);
  EXPECT_NE(row("H")->count, nullptr);
  EXPECT_EQ(RulesAccess::Find(*rules, "own", "G", 2).def, nullptr);
  EXPECT_TRUE(RulesAccess::Find(*rules, "own", "G", 2).known_name);
  EXPECT_EQ(RulesAccess::Find(*rules, "own", "G", 3).version, 3);
  EXPECT_FALSE(RulesAccess::Find(*rules, "other", "G", 3).known_name);
}

// Attributes of every kind, as a node gives them or by default.
TEST(RulesTest, AttributesOfEveryKind) {
  const std::string rule =
      "[[op]]\ndomain='own'\nname='F'\nattributes={a=7, f=1.5, g=2.0, m='|x|y', l='list', "
      "k=[10, 20], act='activation|silu', rk='ints', "
      "rf='float'}\ninputs=['x[N]']\noutputs=['y[N]']\n"
      "add='attr.a + 1000*attr.k.0 + 100000*attr.k.count + 10^6*attr.a.given'\n"
      "mul='attr.f.is_1 + 2*attr.f.is_2 + 4*attr.g.is_2 + 8*attr.m.x + 16*attr.m.given + "
      "32*attr.l.count + 256*attr.rf.is_0 + 512*attr.m.y'\n"
      "exp='attr.act.exp'\ntanh='attr.act.tanh'\ndiv='attr.act.div'\n"
      "cmp='attr.rk[0] + 10*attr.rk.count + 100*attr.k[-1] + 10000*attr.k[:]'\n";
  const std::pair<const char*, const char*> cases[] = {
      {"rk = [3], rf = 0.0", "add=210007 mul=260 div=1 cmp=2002013 exp=1"},
      {"rk = [3, 4], rf = 1.0, a = 5, f = 2.0, g = 2, m = \"x\", l = [1, 1, 1], k = [2], act = "
       "\"Tanh\"",
       "add=1102005 mul=126 cmp=20223 tanh=1"},
      {"rk = [9], rf = 0.5, m = \"y\", l = [\"a\"], k = [4, 5, 6], f = 1.0",
       "add=304007 mul=565 div=1 cmp=1200619 exp=1"},
      {"rk = [9], rf = 1, l = [0.5, 0.5], m = \"\"", "add=210007 mul=84 div=1 cmp=2002019 exp=1"},
  };
  for (const auto& [attributes, cost] : cases) {
    const auto report = CountGraph(
        absl::StrCat("(float[8] b) => (float[8] c) { c = own.F<", attributes, ">(b) }"), rule);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(CostOf(*report), cost) << attributes;
  }
}

// Outputs that are left out, and sizes that only outputs tell.
TEST(RulesTest, WhatOutputsTell) {
  const std::string rule =
      "[[op]]\ndomain='own'\nname='F'\ninputs=['x[N]']\noutputs=['y[N, ?a]', 'z[?b, 3] : int8']\n"
      "add='y.given + 2*z.given + 4*y.is_float + 8*z.is_float + 16*y.rank'\nmul='z.elements'\n"
      "exp='y.elements + a'\n";
  const auto one = CountGraph("(float[8] x) => (float[8,A] c) { c = own.F(x) }", rule);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(CostOf(*one), "add=37 exp=9*a(c)");
  const auto two =
      CountGraph("(float[8] x) => (float[8,A] c, int8[B,3] d) { c, d = own.F(x) }", rule);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(CostOf(*two), "add=39 mul=3*b(c) exp=9*a(c)");
}

// Sizes first, and at most twelve.
TEST(BadRulesTest, TheNamesThatAreKnownAreListed) {
  const std::pair<const char*, const char*> cases[] = {
      {"'x', 'y'",
       "x.elements, x.given, x.is_*, x.is_float, x.is_string, x.known, x.rank, x.value, "
       "y.elements, "
       "y.given, y.is_*, y.is_float, ..."},
      {"'x[M, N, K]'",
       "K, M, N, x.elements, x.given, x.is_*, x.is_float, x.is_string, x.known, x.rank, x.value"},
      {"'x[M]', 'y', 'z'",
       "M, x.elements, x.given, x.is_*, x.is_float, x.is_string, x.known, x.rank, x.value, "
       "y.elements, y.given, y.is_*, ..."},
  };
  for (const auto& [inputs, names] : cases) {
    const std::string rule = absl::StrCat("[[op]]\ndomain = 'own'\nname = 'F'\ninputs = [", inputs,
                                          "]\noutputs = ['out[1]']\nlet = ['h = q']\nadd = 1");
    EXPECT_THAT(std::string(LoadRules(rule, "my.toml").status().message()),
                testing::EndsWith(absl::StrCat("nothing is named 'q'; known: ", names)));
  }
}

TEST(BadRulesTest, HostileFilesAreRefusedInBoundedTime) {
  std::string dots = "a";
  for (int i = 0; i < 100'000; ++i) dots += ".a";
  std::string headers;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&headers, "[a", i, ".b.c]\nd.e.f = 1\n");
  const std::string texts[] = {dots + " = 1",
                               "[" + dots + "]",
                               headers,
                               std::string(kMaxRulesBytes + 1, '\n'),
                               std::string(200'000, '['),
                               "[[[",
                               "a = 1\n  [[ =",
                               "[",
                               std::string("a = '\xff\xfe'"),
                               std::string(2, '\0'),
                               absl::StrCat(kStart, "mac = '", std::string(100'000, '('), "'")};
  for (const std::string& text : texts) {
    EXPECT_FALSE(LoadRules(text, "my.toml").ok()) << text.substr(0, 20);
  }
}

// ---- nodes that contradict their rule

constexpr Bad kContradictions[] = {
    {"Rank", "(float[2,3,4] a, float[4,5] b) => (float[2,5] c) { c = own.F(a, b) }",
     "rule my.toml:1: input 0 (x) has rank 3, not 2"},
    {"Size", "(float[2,3] a, float[4,5] b) => (float[2,5] c) { c = own.F(a, b) }",
     "rule my.toml:1: K of w differs: 3 vs 4"},
    {"Missing", "(float[2,3] a) => (float[2,5] c) { c = own.F(a) }",
     "rule my.toml:1: input 1 (w) is missing"},
    {"TooMany", "(float[2,3] a, float[3,5] b) => (float[2,5] c) { c = own.F(a, b, b) }",
     "rule my.toml:1: the node has 3 inputs, the rule 2"},
    {"AttributeType", "(float[2,3] a, float[3,5] b) => (float[2,5] c) { c = own.F<g = 0.5>(a, b) }",
     "attribute g is of type FLOAT, not INT"},
    {"Negative", "(float[2,3] a, float[3,9] b) => (float[2,9] c) { c = own.F(a, b) }",
     "rule my.toml:1: mac = M*N*(8 - N) is -18, which is negative"},
};

struct BadNode {
  const char *rule, *graph, *error;
};

// Other rules, with nodes that do not fit them. "?": so many nodes are unknown, since too little is
// known.
constexpr BadNode kBadNodes[] = {
    {"inputs=['x[r..., K]', 'w[r..., K]']\noutputs=['y[r...]']\nadd='K'",
     "(float[2,3,4] a, float[5,4] b) => (float c) { c = own.F(a, b) }",
     "r of w stands for 1 dimensions, before for 2"},
    {"inputs=['x[r..., K]', 'w[r..., K]']\noutputs=['y[r...]']\nadd='K'",
     "(float[2,3,4] a, float[2,5,4] b) => (float c) { c = own.F(a, b) }", "r of w differs: 3 vs 5"},
    {"inputs=['x[r..., K]']\noutputs=['y[r...]']\nadd='K'",
     "(float a) => (float c) { c = own.F(a) }", "input 0 (x) has rank 0, not 1 or more"},
    {"inputs=['x[4, N]']\noutputs=['y[N]']\nadd='N'",
     "(float[3,5] a) => (float c) { c = own.F(a) }", "size 4 of x differs: 3 vs 4"},
    {"inputs=['x[N - 3, N]']\noutputs=['y[N]']\nadd='N'",
     "(float[3,5] a) => (float c) { c = own.F(a) }", "size N - 3 of x differs: 3 vs 2"},
    {"attributes={h='int'}\ninputs=['x[N]']\noutputs=['y[N]']\nadd='N'",
     "(float[5] a) => (float c) { c = own.F(a) }", "attribute h is missing"},
    {"attributes={m='up|down'}\ninputs=['x[N]']\noutputs=['y[N]']\nadd='N'",
     "(float[5] a) => (float c) { c = own.F<m=\"no\">(a) }", "m is 'no', not one of up, down"},
    {"attributes={m='activation'}\ninputs=['x[N]']\noutputs=['y[N]']\nadd='N'",
     "(float[5] a) => (float c) { c = own.F<m=\"no\">(a) }", "?"},
    {"attributes={k=[5]}\ninputs=['x[N]']\noutputs=['y[N]']\nadd='attr.k.1'",
     "(float[5] a) => (float c) { c = own.F(a) }",
     "add = attr.k.1: column 1: attr.k.1 is missing: the list is shorter"},
    {"attributes={k=[5]}\ninputs=['x[N]']\noutputs=['y[N]']\nadd='x[attr.k.0]'",
     "(float[5] a) => (float c) { c = own.F(a) }",
     "add = x[attr.k.0]: column 1: x has no number 5 of 1"},
    {"inputs=['x[N]']\noutputs=['y[N]']\nadd='x[-2]'", "(float[5] a) => (float c) { c = own.F(a) }",
     "add = x[-2]: column 1: x has no number -2 of 1"},
    {"inputs=['x[N]']\noutputs=['y[N - 9]']\nadd='N'", "(float[5] a) => (float c) { c = own.F(a) }",
     "size of y = N - 9 is -4, which is negative"},
    {"inputs=['x[N]']\noutputs=['y[N]']\nlet=['h = 1 // (N - 5)']\nadd='h'",
     "(float[5] a) => (float c) { c = own.F(a) }", "h = 1 // (N - 5): "},
    {"inputs=['x[N]']\noutputs=['y[N]']\nadd='N'\nbytes_read='N - 9'",
     "(float[5] a) => (float c) { c = own.F(a) }", "bytes_read = N - 9 is -4, which is negative"},
    {"inputs=['x[N]']\noutputs=['y[N]']\nadd='N'\nbytes_written='N - 9'",
     "(float[5] a) => (float c) { c = own.F(a) }",
     "bytes_written = N - 9 is -4, which is negative"},
    {"inputs=['x[N]']\noutputs=['y[N]']\nadd='x[N]'", "(float[B] a) => (float c) { c = own.F(a) }",
     "?"},
    {"inputs=['x', 'k']\noutputs=['y[k.value]']\nadd=1",
     "(float[5] a, int64 b) => (float c) { c = own.F(a, b) }", "?"},
    {"inputs=['x', 'k']\noutputs=['y[1]']\nadd='k.value'",
     "(float[5] a, int64 b) => (float c) { c = own.F(a, b) }", "?"},
    {"inputs=['x']\noutputs=['y[1]']\nadd='x.elements'",
     "(float[5] a) => (float c) { b = other.G(a) c = own.F(b) }", "??"},
    {"inputs=['x', 'r...']\noutputs=['y[1]']\nadd='r.elements'",
     "(float[5] a) => (float c) { b = other.G(a) c = own.F(a, a, b, a) }", "??"},
    {"inputs=['x', 'r...']\noutputs=['y[1]']\nadd='r.count'",
     "(float[5] a) => (float c) { b = other.G(a) c = own.F(a, a, b, a) }", "?"},
};

TEST(BadRulesTest, NodesOfOtherRules) {
  for (const BadNode& c : kBadNodes) {
    const auto report =
        CountGraph(c.graph, absl::StrCat("[[op]]\ndomain='own'\nname='F'\n", c.rule, "\n"));
    if (c.error[0] == '?') {
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_EQ(std::string(static_cast<size_t>(report->coverage.unknown), '?'), c.error) << c.rule;
      continue;
    }
    EXPECT_THAT(std::string(report.status().message()),
                HasSubstr(absl::StrCat("rule my.toml:1: ", c.error)))
        << c.rule;
  }
}

TEST(BadRulesTest, AContradictionNamesTheRuleAndTheNode) {
  const std::string rule =
      "[[op]]\ndomain='own'\nname='F'\nattributes={g=1}\ninputs=['x[M,K]','w[K,N]']\n"
      "outputs=['y[M,N]']\nmac='M*N*(8 - N)'\n";
  for (const Bad& bad : kContradictions) {
    SCOPED_TRACE(bad.name);
    const auto report = CountGraph(bad.text, rule);
    EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(report.status().message()), HasSubstr(bad.error));
    EXPECT_THAT(std::string(report.status().message()), HasSubstr("(F, opset 1)"));
  }
}

}  // namespace
}  // namespace onnxflops::rules_test
