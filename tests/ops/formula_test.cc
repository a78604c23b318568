// The formulas of rows. Those that are derived for a shared rule are held to it: on every node of
// the examples, of the oracle's sweep and of the fused pairs both must come to the same census,
// kind by kind. Other formulas are the cost rule: examples and oracles hold them.
#include "ops/formula/formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "src/count/count_model.h"
#include "src/infer/call_view.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "tests/ops/examples.h"
#include "tests/ops/fused_pairs.h"
#include "tests/ops/variants.h"
#include "tests/oracle/families.h"
#include "tests/oracle/rule_cost.h"
#include "tests/sample.h"

namespace onnxflops::formula_test {
namespace {

using testing::HasSubstr;

const absl::StatusOr<std::optional<Formulas>>& Read(const OpDef& row) {
  static auto& all = *new std::map<const OpDef*, absl::StatusOr<std::optional<Formulas>>>;
  const auto known = all.find(&row);
  return known != all.end() ? known->second : all.emplace(&row, FormulasOf(row)).first->second;
}

std::string Name(const OpDef& row) {
  for (const OpFamily& family : AllFamilies()) {
    if (&row >= family.rows.data() && &row < family.rows.data() + family.rows.size()) {
      return absl::StrCat(family.domain, ".", row.name, "-", row.versions[0]);
    }
  }
  return row.name;
}

// Rows whose formulas a node has been held to, and rows that were wrong: one report is enough.
std::set<const OpDef*>& Held() {
  static auto& held = *new std::set<const OpDef*>;
  return held;
}
std::set<const OpDef*>& Wrong() {
  static auto& wrong = *new std::set<const OpDef*>;
  return wrong;
}

std::string CensusText(const Census& flops, const Census& int_ops) {
  Cost cost;
  cost.flops = flops;
  cost.int_ops = int_ops;
  return cost.ToString();
}

bool IsShared(const OpDef& row) {
  return row.count == CountPerInputElement || row.count == CountPerOutputElement;
}

void CheckCall(const Inference& inference, const Call& call, const CallCost& cost) {
  if (call.def == nullptr || !IsShared(*call.def) || cost.coverage == Coverage::kUnknown ||
      Wrong().count(call.def) > 0) {
    return;
  }
  const auto& formulas = Read(*call.def);
  if (!formulas.ok() || !formulas->has_value()) return;
  const CallView view(inference, call);
  const absl::StatusOr<FormulaResult> result = EvaluateFormulas(**formulas, view.view());
  const std::string expected = CensusText(cost.own().flops, cost.own().int_ops);
  const std::string found = result.ok() ? CensusText(result->cost.flops, result->cost.int_ops)
                                        : std::string(result.status().message());
  EXPECT_EQ(found, expected) << Name(*call.def);
  (found == expected ? Held() : Wrong()).insert(call.def);
}

// Nodes of models that the program refuses, or does not know, are left out.
void CheckModel(const std::string& bytes) {
  const absl::StatusOr<Model> model = LoadFromBytes(bytes);
  if (!model.ok()) return;
  const absl::StatusOr<Inference> inference = Infer(*model);
  if (!inference.ok()) return;
  const absl::StatusOr<Counts> counts = Count(*inference);
  if (!counts.ok()) return;
  for (size_t i = 0; i < inference->calls.size(); ++i) {
    CheckCall(*inference, inference->calls[i], counts->calls[i]);
  }
}

TEST(FormulaTest, RowsAreWellFormed) {
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& row : family.rows) EXPECT_TRUE(Read(row).ok()) << Read(row).status();
  }
}

TEST(FormulaTest, AgreesWithTheRuleOnExamples) {
  for (const Example& example : AllExamples()) {
    SCOPED_TRACE(example.example.text);
    const absl::StatusOr<onnx::ModelProto> model = ExampleModel(example);
    ASSERT_TRUE(model.ok()) << model.status();
    CheckModel(model->SerializeAsString());
  }
}

TEST(FormulaTest, AgreesWithTheRuleOnFusedPairs) {
  for (const FusedPair& pair : kFusedPairs) {
    SCOPED_TRACE(pair.name);
    const absl::StatusOr<onnx::ModelProto> model = ParsePart(pair.fused);
    ASSERT_TRUE(model.ok()) << model.status();
    CheckModel(model->SerializeAsString());
  }
}

TEST(FormulaTest, AgreesWithTheRuleOnVariants) {
  for (const Example& example : AllExamples()) {
    SCOPED_TRACE(example.example.text);
    const absl::StatusOr<onnx::ModelProto> model = ExampleModel(example);
    ASSERT_TRUE(model.ok()) << model.status();
    // The calls of a body whose values change their sizes from trip to trip are of no one cost.
    if (example.def->control_flow != ControlFlow::kNone) continue;
    for (const Variant& variant : VariantsOf(*model, example.def->versions)) {
      SCOPED_TRACE(variant.place);
      CheckModel(variant.model.SerializeAsString());
    }
  }
}

class FormulaSweepTest : public testing::TestWithParam<oracle::Family> {};

TEST_P(FormulaSweepTest, AgreesWithTheRule) {
  int cases = 0;
  Sample sample;
  GetParam().cases([&](const oracle::Case& c, const oracle::Loop&) {
    if (testing::Test::HasFatalFailure() || !sample.Next()) return;
    SCOPED_TRACE(oracle::Describe(c));
    CheckModel(oracle::ModelOf(c));
    ++cases;
  });
  EXPECT_GT(cases, 0);
}

INSTANTIATE_TEST_SUITE_P(Families, FormulaSweepTest, testing::ValuesIn(oracle::kFamilies),
                         [](const auto& family) { return std::string(family.param.name); });

bool IsCounted(const OpDef& row) { return !row.IsFree() || row.control_flow != ControlFlow::kNone; }

TEST(FormulaTest, NoCostIsStatedTwice) {
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& row : family.rows) {
      EXPECT_TRUE(row.count == nullptr || row.data.costs == nullptr) << Name(row);
    }
  }
}

// Of a derived formula that no node is held to, nothing is known. At the end of a run of all tests.
class EveryFormulaIsHeld : public testing::Environment {
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*" || !Sample::IsAll()) return;
    for (const OpFamily& family : AllFamilies()) {
      for (const OpDef& row : family.rows) {
        if (!IsShared(row)) continue;
        EXPECT_TRUE(Held().contains(&row) || Wrong().contains(&row)) << Name(row) << " on no node";
      }
    }
  }
};
const testing::Environment* const kEveryFormulaIsHeld =
    testing::AddGlobalTestEnvironment(new EveryFormulaIsHeld);

// The share of rows whose formula is data may grow.
TEST(FormulaTest, MostFormulasAreData) {
  int counted = 0, data = 0;
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& row : family.rows) {
      if (!IsCounted(row) || Has(row.traits, Traits::kUnknown)) continue;
      ++counted;
      data += Read(row).ok() && Read(row)->has_value() ? 1 : 0;
    }
  }
  EXPECT_GE(data, 262) << "of " << counted;
}

// ---- the language

// A row of Gemm with other data.
OpDef RowWith(const FormulaData& data) {
  OpDef row = *FindOp("", "Gemm", 13).def;
  row.data = data;
  row.count = [](const NodeView&) -> absl::StatusOr<Cost> { return Cost(); };
  return row;
}

struct BadText {
  const char *name, *text, *error;
};

constexpr BadText kBadSignatures[] = {
    {"NoArrow", "A Y", "signature: column 1: expected"},
    {"Bracket", "A[M -> Y", "signature: column 2: "},
    {"EmptySize", "A[M, ] -> Y", "column 6: a size is missing"},
    {"TwoTensors", "A A -> Y", "there are two tensors 'A'"},
    {"ManyFirst", "A... B -> Y", "only the last input"},
    {"TypeOfInput", "A:int8 -> Y", "signature: column 1: a row's rule says its types"},
    {"TypeOfOutput", "A -> Y:int8", "signature: column 6: a row's rule says its types"},
    {"NameOfInput", "A 2b -> Y", "signature: column 1: '2b' is no name of a tensor"},
    {"SizeOfInput", "A[M, 2*Q] -> Y", "signature: column 8: nothing is named 'Q'"},
    {"FreshInput", "A[?M] -> Y", "only a size of an output can"},
};

constexpr BadText kBadAttributes[] = {
    {"Attribute", "a = b", "'a = b' is no"},
    {"AttributeTwice", "a = 1; a = 2", "attributes: column 8: 'attr.a.given' is defined twice"},
    {"AttributeNoEquals", "a = 1; b", "attributes: column 8: expected \"name = "},
    {"AttributeName", "a b = 1", "attributes: column 1: 'a b = 1' is no attribute"},
    {"AttributeInts", "k = [1, x]", "'k = [1, x]' is no attribute"},
    {"AttributeFloat", "f = 1.x", "'f = 1.x' is no attribute"},
    {"AttributeWords", "w = a|b c", "'w = a|b c' is no attribute"},
};

struct BadData {
  const char* name;
  FormulaData data;
  const char* error;
};

// What is wrong in costs or definitions, alone or beside the other texts.
constexpr BadData kBadData[] = {
    {"NoCosts", {.signature = "A -> Y"}, "costs: column 1: they are missing"},
    {"UnknownName",
     {.signature = "A[M] -> Y", .costs = "mac = M*K"},
     "column 9: nothing is named 'K'"},
    {"Optional", {.signature = "A?[M] -> Y", .costs = "mac = M"}, "known only where the optional"},
    {"UnknownKind", {.signature = "A -> Y", .costs = "macs = 1"}, "'macs' is no kind of work"},
    {"Nothing", {.signature = "A -> Y", .costs = " "}, "costs: column 1: nothing is said"},
    {"Syntax",
     {.signature = "A -> Y", .costs = "add = 1; mul = 2*"},
     "column 18: expected a number"},
    {"Word",
     {.signature = "A -> Y", .attributes = "m = x|y", .costs = "add = attr.m.z"},
     "nothing is named 'attr.m.z'"},
    {"Let", {.signature = "A -> Y", .let = "k", .costs = "free"}, "let: column 1: expected \"name"},
    {"LetTwice",
     {.signature = "A[M] -> Y", .let = "k = M; k = 2", .costs = "free"},
     "let: column 8: 'k' is defined twice"},
    {"LetOptional",
     {.signature = "A[M] B?[K] -> Y", .let = "K = 2", .costs = "free"},
     "let: column 1: 'K' is a size of B already"},
    {"NoParts", {.signature = "A... -> Y", .costs = "add = A[0]"}, "'A' has no sizes to choose"},
    {"Negative", {.signature = "A[M] -> Y", .costs = "add = -1 - M"}, "is never positive"},
    {"LetName",
     {.signature = "A -> Y", .let = "2k = 1", .costs = "free"},
     "let: column 1: '2k' is no name"},
    {"LetFormula",
     {.signature = "A -> Y", .let = "k = 1; j = Q", .costs = "free"},
     "let: column 12: nothing is named 'Q'"},
    {"NoEquals", {.signature = "A -> Y", .costs = "mac"}, "costs: column 1: expected \"name = "},
    {"SecondKind",
     {.signature = "A -> Y", .costs = "mac = 1; foo = 2"},
     "costs: column 10: 'foo' is no kind of work"},
    {"NoOther", {.costs = "as Nothing"}, "costs: column 1: no operator 'Nothing' has formulas"},
    {"OtherInWords", {.costs = "as LSTM"}, "costs: column 1: no operator 'LSTM' has formulas"},
    {"ListAsActivation",
     {.signature = "A -> Y", .attributes = "t = list", .costs = "attr.t = 1"},
     "costs: column 1: 'attr.t' is no kind of work"},
};

void ExpectRefused(const char* name, const FormulaData& data, const char* error) {
  const absl::StatusOr<std::optional<Formulas>> formulas = FormulasOf(RowWith(data));
  EXPECT_EQ(formulas.status().code(), absl::StatusCode::kInvalidArgument) << name;
  EXPECT_THAT(std::string(formulas.status().message()), HasSubstr(error)) << name;
}

TEST(FormulaDataTest, WhatIsWrongIsSaid) {
  for (const BadText& bad : kBadSignatures) {
    ExpectRefused(bad.name, {.signature = bad.text, .costs = "free"}, bad.error);
  }
  for (const BadText& bad : kBadAttributes) {
    ExpectRefused(bad.name, {.signature = "A -> Y", .attributes = bad.text, .costs = "free"},
                  bad.error);
  }
  for (const BadData& bad : kBadData) ExpectRefused(bad.name, bad.data, bad.error);
}

TEST(FormulaDataTest, IsWrittenAsItIsRead) {
  constexpr FormulaData kData = {
      .signature = "A[a..., M, 2*M] B?[..., K] rest... -> Y[?n]",
      .attributes =
          "i = 1; l = [1, 2]; e = []; f = 1.5; g = 2.0; w = |x|y; v = a|b; r = ints; ri = "
          "int; rf = float; c = list; t = activation|silu; u = activation",
      .costs = "free"};
  const absl::StatusOr<std::optional<Formulas>> formulas = FormulasOf(RowWith(kData));
  ASSERT_TRUE(formulas.ok() && formulas->has_value()) << formulas.status();
  EXPECT_EQ(SignatureText(**formulas), kData.signature);
  std::string attributes;
  for (const FormulaAttribute& a : (*formulas)->attributes) {
    absl::StrAppend(&attributes, attributes.empty() ? "" : "; ", a.name, " = ", AttributeText(a));
  }
  EXPECT_EQ(attributes, kData.attributes);
}

TEST(FormulaDataTest, SignaturesWithoutInputsAndCostsWithDefinitions) {
  const auto row = RowWith({.signature = "-> Y[2]",
                            .let = "k = 3; j = k + 1",
                            .costs = "int_mac = k; add = j; float_mul = 2"});
  const auto formulas = FormulasOf(row);
  ASSERT_TRUE(formulas.ok() && formulas->has_value()) << formulas.status();
  EXPECT_EQ(SignatureText(**formulas), "-> Y[2]");
  EXPECT_EQ(CostsText(**formulas), "integer mac = k, add = j, float mul = 2; k = 3; j = k + 1");
  EXPECT_EQ(CostsText(Formulas()), "free");
}

TEST(FormulaDataTest, TakesFormulasOfAnotherRow) {
  const auto row = RowWith({.signature = "X[N, i..., Cin] W[Cout, c, k...] B? -> Z Y",
                            .attributes = "activation = activation",
                            .costs = "as Conv"});
  const auto formulas = FormulasOf(row);
  ASSERT_TRUE(formulas.ok() && formulas->has_value()) << formulas.status();
  EXPECT_EQ(SignatureText(**formulas), row.data.signature);
  ASSERT_EQ((*formulas)->attributes.size(), 3);
  EXPECT_EQ((*formulas)->attributes[2].name, "activation");
  EXPECT_EQ(CostsText(**formulas),
            "mac = Y.elements*C*k, add = B.given*Y.elements, attr.activation = Z.elements; C = "
            "same(Cin, c*attr.group) // attr.group");
}

TEST(FormulaDataTest, KindsByName) {
  for (int i = 0; i < kNumKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    for (const char* type : {"", "int_", "float_"}) {
      EXPECT_EQ(KindNamed(absl::StrCat(type, KindName(kind))), kind);
    }
  }
  for (const char* name : {"", "macs", "int_", "int_float_add", "float_int_add", "flops"}) {
    EXPECT_EQ(KindNamed(name), std::nullopt) << name;
  }
}

// Rows that say only what an element costs.
TEST(FormulaDataTest, CostsOfElementsAreDerived) {
  OpDef row = RowWith({});
  row.per_element = {.add = 1, .mul = 3, .erf = 2};
  row.count = CountPerOutputElement;
  EXPECT_EQ(SignatureText(**FormulasOf(row)), "X... -> Y");
  EXPECT_EQ(CostsText(**FormulasOf(row)),
            "add = Y.elements, mul = 3*Y.elements, erf = 2*Y.elements");
  row.count = CountPerInputElement;
  EXPECT_EQ(SignatureText(**FormulasOf(row)), "X others... -> Y");
  EXPECT_EQ(CostsText(**FormulasOf(row)),
            "add = X.elements, mul = 3*X.elements, erf = 2*X.elements");
  row.data.signature = "A[M] B -> Z";
  EXPECT_EQ(CostsText(**FormulasOf(row)),
            "add = A.elements, mul = 3*A.elements, erf = 2*A.elements");
  row.data.signature = "-> Z";
  EXPECT_THAT(std::string(FormulasOf(row).status().message()),
              HasSubstr("costs: column 1: the signature lacks the tensor they are of"));
  row.count = nullptr;
  EXPECT_EQ(CostsText(**FormulasOf(row)), "free");
  row.data.signature = nullptr;
  EXPECT_FALSE(FormulasOf(row)->has_value());
}

// Y = Gemm(A[2,3], B[3,n]) with a formula of our own: its amount, and itself with sizes.
std::pair<std::string, std::string> OnGemm(const std::string& formula,
                                           const char* signature = "A[M, k] B[k, N] C? -> Y") {
  const std::string costs = "add = " + formula;
  const OpDef row = RowWith({.signature = signature,
                             .attributes = "beta = 1.0; alpha = 1.0; mode = up|down; axes = [1, 0]",
                             .let = "K = k",
                             .costs = costs.c_str()});
  const absl::StatusOr<std::optional<Formulas>> formulas = FormulasOf(row);
  if (!formulas.ok()) return {std::string(formulas.status().message()), ""};
  Node node;
  const Fact a = Fact::Tensor(DType::kFloat32, {2, 3});
  const Fact b = Fact::Tensor(DType::kFloat32, {3, Expr::Symbol("n", 1) + 1});
  const Fact y = Fact::Tensor(DType::kFloat32, {2, Expr::Symbol("n", 1) + 1});
  const Fact* const inputs[] = {&a, &b};
  const Fact* const outputs[] = {&y};
  const ModelData model;
  const NodeView view(model, node, row, 13, inputs, outputs, nullptr, {});
  const absl::StatusOr<FormulaResult> result = EvaluateFormulas(**formulas, view);
  if (!result.ok()) return {std::string(result.status().message()), ""};
  return {result->terms[0].amount.ToString(), result->terms[0].filled};
}

struct AmountCase {
  const char *formula, *amount, *filled;
};

// Formulas of OnGemm's node; of those that have no value, what is said instead.
constexpr AmountCase kAmountCases[] = {
    {"M*N*K", "6*n + 6", "2*(n + 1)*3"},
    {"A.elements", "6", "2*3"},
    {"A.elements^2 + 7 // A.elements", "37", "(2*3)^2 + 7 // (2*3)"},
    {"C.given + C.elements + A.rank", "2", "0 + 0 + 2"},
    {"A[1] + A[-1] + A[:1] + A[1:] + A[5:]", "12", "3 + 3 + 2 + 3 + 1"},
    {"A[-5:] + A[:-5] + A[1:1] + A[-1:5]", "11", "6 + 1 + 1 + 3"},
    {"A[attr.axes[0]]*attr.axes[:]", "0", "3*0"},
    {"if(C.given, C[0], 5)", "5", "if(0, C[0], 5)"},
    {"(M == 2) + (M != 2) + 4*(M < K) + 8*(M >= K)", "5",
     "(2 == 2) + (2 != 2) + 4*(2 < 3) + 8*(2 >= 3)"},
    {"(N > 1) + (N <= 1)", "1", "((n + 1) > 1) + ((n + 1) <= 1)"},
    {"attr.mode.up + 2*attr.mode.down + 4*attr.alpha.is_1 + 8*attr.beta.is_0", "5",
     "1 + 2*0 + 4*1 + 8*0"},
    {"attr.alpha.is_positive", "1", "1"},
    {"digits(K) + digits(8) + digits(0)", "6", "digits(3) + digits(8) + digits(0)"},
    {"digits(2^39) + digits(2^45) + digits(2^100)", "187",
     "digits(2^39) + digits(2^45) + digits(2^100)"},
    {"A.elements ^ 2 + 2^A.elements", "100", "(2*3) ^ 2 + 2^(2*3)"},
    {"B.elements^2", "9*n^2 + 18*n + 9", "(3*(n + 1))^2"},
    {"Y[:1]*36 // B.elements", "floor(24/(n + 1))", "2*36 // (3*(n + 1))"},
    {"2^M + version", "17", "2^2 + 13"},
    {"A.is_float + attr.axes.count", "3", "1 + 2"},
    {"if(N == 3, 1, 2)", "add = if(N == 3, 1, 2): column 10: whether n + 1 == 3 is not known", ""},
    {"A[2]", "add = A[2]: column 1: A has no number 2 of 2", ""},
    {"A[-3]", "add = A[-3]: column 1: A has no number -3 of 2", ""},
    {"A[-2] + A[-1:] + A[:0]", "6", "2 + 3 + 1"},
    {"A[N]", "add = A[N]: column 1: the index n + 1 is open", ""},
    {"A[N:]", "add = A[N:]: column 1: the index n + 1 is open", ""},
    {"A[:N]", "add = A[:N]: column 1: the index n + 1 is open", ""},
    {"C[0]", "add = C[0]: column 1: the sizes of C are not known", ""},
    {"A.value", "add = A.value: column 1: A is decided at run time", ""},
    {"attr.axes.2", "add = attr.axes.2: column 1: attr.axes.2 is missing: the list is shorter", ""},
    {"attr.axes.0 + 10*attr.axes.1 + 20*attr.axes[-1]", "1", "1 + 10*0 + 20*0"},
    {"M - 5", "add = M - 5 is -3, which is negative", ""},
    {"M - N", "-n + 1", "2 - (n + 1)"},
    {"N", "n + 1", "n + 1"},
    {"N^2", "n^2 + 2*n + 1", "(n + 1)^2"},
    {"7 // B.elements", "floor(7/(3*n + 3))", "7 // (3*(n + 1))"},
    {"B.elements // 7", "floor((3*n + 3)/7)", "3*(n + 1) // 7"},
    {"2*B.elements", "6*n + 6", "2*3*(n + 1)"},
    {"max(M, N) + min(K, 1)", "n + 2", "max(2, (n + 1)) + min(3, 1)"},
    {"Y.rank + 2*Y.given + 4*Y.is_float + 8*B.rank + 32*C.is_float", "22",
     "2 + 2*0 + 4*1 + 8*2 + 32*0"},
    {"Y.elements", "2*n + 2", "2*(n + 1)"},
    {"attr.alpha.is_2 + 2*attr.beta.is_1 + 4*attr.alpha.given + 8*attr.mode.given", "2",
     "0 + 2*1 + 4*0 + 8*0"},
};

TEST(FormulaLanguageTest, AmountsAndFormulasWithSizes) {
  for (const AmountCase& c : kAmountCases) {
    EXPECT_EQ(OnGemm(c.formula), std::make_pair(std::string(c.amount), std::string(c.filled)))
        << c.formula;
  }
}

// Sizes that only the output tells: from its front and from its back, and what is between.
TEST(FormulaLanguageTest, SizesOfOutputs) {
  const std::string inputs = "A[M, k] B C? -> ";
  const struct {
    const char *output, *formula, *amount;
  } cases[] = {
      {"Y[P, Q]", "10*P + Q", "n + 21"},
      {"Y[P, y...]", "10*P + y", "n + 21"},
      {"Y[y..., Q]", "10*Q + y + 100*y[0]", "10*n + 212"},
      {"Y[P, y..., Q]", "10*P + Q + 100*y", "n + 121"},
      {"Y[y...]", "y", "2*n + 2"},
      {"Y[y...]", "y[1]", "n + 1"},
      {"Y[P, ?q]", "q", "n + 1"},
      {"Y[?p, y...]", "p", "2"},
      {"Y[P, Q, R, y...]", "R", "add = R: column 1: R is not known"},
      {"Y[P, Q, R, y...]", "y", "add = y: column 1: y is not known"},
      {"Y[y..., P, Q, R]", "R", "add = R: column 1: R is not known"},
      {"Y[y..., P, Q, R]", "P", "add = P: column 1: P is not known"},
      {"Y[P, Q, R]", "P", "add = P: column 1: P is not known"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(OnGemm(c.formula, (inputs + c.output).c_str()).first, c.amount)
        << c.output << " " << c.formula;
  }
}

// Y[4,6] = sigmoid(A[4,3] B[3,6] + C[6]), forward: mac 72, add 24.
std::string GradientOfGemm(const OpDef& row, std::initializer_list<bool> needed) {
  const Node node;
  const Fact a = Fact::Tensor(DType::kFloat32, {4, 3}), b = Fact::Tensor(DType::kFloat32, {3, 6});
  const Fact c = Fact::Tensor(DType::kFloat32, {6}), y = Fact::Tensor(DType::kFloat32, {4, 6});
  const Fact* const inputs[] = {&a, &b, &c};
  const Fact* const outputs[] = {&y};
  const ModelData model;
  const NodeView view(model, node, row, 13, inputs, outputs, nullptr, {});
  const Census forward = ElementCost{.mac = 72, .add = 24} * Expr(1);
  const absl::StatusOr<Census> census = GradientByFormulas(view, {needed, forward});
  Cost cost;
  cost.flops = census.value_or(Census());
  return census.ok() ? cost.ToString() : std::string(census.status().message());
}

// Of A and B a product each; C is summed over 4 rows, 24 additions; dY * Y * (1 - Y) for all.
TEST(FormulaLanguageTest, GradientsKnowWhatIsNeeded) {
  static constexpr OpDef kRow = {
      .data = {.signature = "A[M, k] B[k, N] C? -> Y",
               .attributes = "activation = activation|sigmoid",
               .let = "K = k",
               .costs = "mac = M*N*K"},
      .gradient = {.let = "products = A.needed + B.needed; size = M*K",
                   .costs =
                       "mac = products*forward.mac; cmp = A.needed*size + B.needed*forward.add "
                       "+ C.needed; add = C.summed"}};
  EXPECT_EQ(GradientOfGemm(kRow, {true, false, false}), "mac=72 add=24 mul=48 cmp=12");
  EXPECT_EQ(GradientOfGemm(kRow, {true, true, false}), "mac=144 add=24 mul=48 cmp=36");
  EXPECT_EQ(GradientOfGemm(kRow, {false, false, true}), "add=48 mul=48 cmp=1");
}

// A formula of forward knows no such names, and a gradient none of other inputs.
TEST(FormulaDataTest, NamesOfGradientsAreTheirs) {
  OpDef row = RowWith({.signature = "A others... -> Y", .costs = "mac = Y.elements"});
  for (const char* costs : {"mac = A.needed", "mac = A.summed", "mac = forward.mac"}) {
    row.gradient.costs = costs;
    EXPECT_TRUE(GradientFormulasOf(row).ok()) << costs;
    const std::string error = absl::StrCat("costs: column 7: nothing is named '", costs + 6);
    ExpectRefused(costs, {.signature = "A -> Y", .costs = costs}, error.c_str());
  }
  row.gradient.costs = "mac = others.needed";
  EXPECT_FALSE(GradientFormulasOf(row).ok());
}

// The last of them is "it has a fortieth".
TEST(FormulaLanguageTest, ASymbolHasFortyDigits) {
  const std::string digits = OnGemm("digits(N)").first;
  EXPECT_THAT(digits, testing::HasSubstr("549755813888"));
  EXPECT_THAT(digits, testing::Not(testing::HasSubstr("1099511627776")));
}

}  // namespace
}  // namespace onnxflops::formula_test
