// Runs every example of every operator row, and holds the registry to its rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "ops/examples.h"
#include "ops/formula/formula.h"
#include "ops/registry.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "tests/ops/examples.h"
#include "tests/ops/quantities.h"
#include "tests/ops/settings.h"
#include "tests/table.h"

namespace onnxflops::ops_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string CostOf(const Counts& counts) {
  Cost cost;
  cost.flops = counts.total.flops;
  cost.int_ops = counts.total.int_ops;
  return cost.ToString();
}

// The declared dimension as text; a data-dependent one may have any name in the example.
bool SameDim(const onnx::TensorShapeProto::Dimension& declared, const Expr& dim,
             const Inference& inference) {
  const std::string text = dim.ToString();
  if (declared.has_dim_value()) return text == std::to_string(declared.dim_value());
  if (text == declared.dim_param()) return true;
  const absl::StatusOr<Expr> parsed = ParseExpr(declared.dim_param(), 1);
  if (parsed.ok() && *parsed == dim) return true;
  return std::any_of(inference.symbols.begin(), inference.symbols.end(), [&](const auto& symbol) {
    return symbol.name == text && symbol.kind != SymbolOrigin::Kind::kInput;
  });
}

void ExpectDeclaredTypes(const onnx::GraphProto& declared, const Inference& inference) {
  const Graph& graph = inference.model->graphs[0];
  for (int i = 0; i < declared.output_size(); ++i) {
    const auto& output = declared.output(i);
    if (!output.type().has_tensor_type()) continue;
    const Fact& fact = *inference.FactOf(graph.outputs[static_cast<size_t>(i)]);
    const auto& type = output.type().tensor_type();
    EXPECT_EQ(static_cast<int>(fact.dtype), type.elem_type()) << output.name();
    if (!type.has_shape()) continue;
    ASSERT_TRUE(fact.shape.ranked()) << output.name();
    ASSERT_EQ(fact.shape.rank(), type.shape().dim_size()) << fact.ToString();
    for (int d = 0; d < fact.shape.rank(); ++d) {
      EXPECT_TRUE(SameDim(type.shape().dim(d), fact.shape[d], inference))
          << output.name() << " is " << fact.ToString() << ", dimension " << d;
    }
  }
}

// Counting at a binding and evaluating the symbolic count there are the same, in every quantity.
void ExpectSymbolicEqualsConcrete(const Model& model, const Inference& inference,
                                  const Counts& counts) {
  if (inference.symbols.empty()) return;
  int compared = 0;
  for (const int64_t size : {1, 2, 3, 4, 7, 8, 12, 16, 30, 64, 5000}) {
    Bindings dims;
    for (const SymbolOrigin& symbol : inference.symbols) dims[symbol.name] = size;
    const absl::StatusOr<Inference> bound = Infer(model, {.dims = dims});
    if (!bound.ok()) continue;  // the example does not run at that size
    const absl::StatusOr<Counts> concrete = Count(*bound);
    if (!concrete.ok()) continue;
    ++compared;
    std::map<std::string, Expr> expected = QuantitiesOf(concrete->total);
    for (const auto& [name, symbolic] : QuantitiesOf(counts.total)) {
      const absl::StatusOr<absl::int128> value = symbolic.Evaluate(dims);
      ASSERT_TRUE(value.ok()) << value.status();
      EXPECT_EQ(Int128ToString(*value), expected[name].ToString()) << name << " at " << size;
    }
  }
  EXPECT_GT(compared, 0) << "no size at which the example runs";
}

// The dimension that a symbol is said to be of is made of it.
void ExpectOriginsHoldTheirSymbols(const Inference& inference) {
  std::map<std::string, const Fact*> facts;
  for (const ValueId output : inference.model->graphs[0].outputs) {
    facts[std::string(inference.model->value(output).name)] = inference.FactOf(output);
  }
  for (const SymbolOrigin& symbol : inference.symbols) {
    const auto fact = facts.find(symbol.value);
    if (fact == facts.end() || symbol.kind == SymbolOrigin::Kind::kInput) continue;
    if (symbol.kind == SymbolOrigin::Kind::kTripCount) continue;
    ASSERT_LT(symbol.axis, fact->second->shape.rank()) << symbol.name;
    EXPECT_THAT(fact->second->shape[symbol.axis].ToString(), HasSubstr(symbol.name));
  }
}

class ExampleTest : public testing::TestWithParam<Example> {};

TEST_P(ExampleTest, CostsAndShapesAreAsStated) {
  const Example& e = GetParam();
  SCOPED_TRACE(e.example.text);
  absl::StatusOr<onnx::ModelProto> proto = ExampleModel(e);
  ASSERT_TRUE(proto.ok()) << proto.status();
  const onnx::GraphProto declared = proto->graph();
  // Only inference can find the types of the outputs.
  for (auto& output : *proto->mutable_graph()->mutable_output()) output.clear_type();
  const absl::StatusOr<Model> model = LoadFromBytes(proto->SerializeAsString());
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Inference> inference = Infer(*model);
  ASSERT_TRUE(inference.ok()) << inference.status();
  const absl::StatusOr<Counts> counts = Count(*inference);
  ASSERT_TRUE(counts.ok()) << counts.status();
  if (Has(e.def->traits, Traits::kUnknown)) {
    EXPECT_GT(counts->unknown, 0);
    return;
  }
  for (const UnknownItem& item : counts->unknown_items) {
    ADD_FAILURE() << item.op << ": " << item.reason;
  }
  EXPECT_EQ(CostOf(*counts), e.example.cost);
  ExpectDeclaredTypes(declared, *inference);
  ExpectOriginsHoldTheirSymbols(*inference);
  ExpectSymbolicEqualsConcrete(*model, *inference, *counts);
}

std::string ExampleName(const testing::TestParamInfo<Example>& info) {
  std::string name =
      info.param.domain + "_" + info.param.def->name + "_" + std::to_string(info.index);
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Ops, ExampleTest, testing::ValuesIn(AllExamples()), ExampleName);

std::map<std::string, std::string> QuantitiesOf(const onnx::ModelProto& proto) {
  std::map<std::string, std::string> texts;
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  const absl::StatusOr<Inference> inference =
      model.ok() ? Infer(*model) : absl::StatusOr<Inference>(model.status());
  const absl::StatusOr<Counts> counts =
      inference.ok() ? Count(*inference) : absl::StatusOr<Counts>(inference.status());
  if (!counts.ok()) return {{"error", counts.status().ToString()}};
  for (const auto& [name, value] : QuantitiesOf(counts->total)) texts[name] = value.ToString();
  for (const ValueId output : inference->model->graphs[0].outputs) {
    const Fact* fact = inference->FactOf(output);
    texts[absl::StrCat("output ", output)] = fact == nullptr ? "?" : fact->ToString();
  }
  return texts;
}

// An attribute that a node leaves out is what the operator's schema gives it.
TEST_P(ExampleTest, DefaultsAreThoseOfTheSchema) {
  const Example& e = GetParam();
  SCOPED_TRACE(e.example.text);
  absl::StatusOr<onnx::ModelProto> proto = ExampleModel(e);
  ASSERT_TRUE(proto.ok()) << proto.status();
  const std::map<std::string, std::string> plain = QuantitiesOf(*proto);
  for (const onnx::AttributeProto& a : DefaultsOf(e, *proto)) {
    onnx::ModelProto explicit_default = *proto;
    bool added = false;
    for (onnx::NodeProto& node : *explicit_default.mutable_graph()->mutable_node()) {
      if (node.op_type() != e.def->name || node.domain() != e.domain) continue;
      const bool given = std::any_of(node.attribute().begin(), node.attribute().end(),
                                     [&](const auto& own) { return own.name() == a.name(); });
      if (given) continue;
      *node.add_attribute() = a;
      added = true;
    }
    if (added) {
      EXPECT_EQ(QuantitiesOf(explicit_default), plain) << a.ShortDebugString();
    }
  }
}

// What an example reads, writes and holds, and of which types its MACs are. Nothing of zeros.
std::string AmountsText(const onnx::ModelProto& proto) {
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  const absl::StatusOr<Inference> inference = Infer(*model);
  const absl::StatusOr<Counts> counts = Count(*inference);
  std::string text;
  for (const Quantity& q : kQuantities) {
    const Expr& value = counts->total.amounts.*q.value;
    if (value != Expr(0)) absl::StrAppend(&text, " ", q.key, "=", value.ToString(), ";");
  }
  for (const auto& [types, macs] : counts->total.macs_by_dtype) {
    absl::StrAppend(&text, " ", types.ToString(), ";");
  }
  return counts->causal > 0 ? text + " causal;" : text;
}

TEST(ExamplesTest, WritesItsTable) {
  std::vector<std::string> found;
  for (const Example& e : AllExamples()) {
    const absl::StatusOr<onnx::ModelProto> proto = ExampleModel(e);
    ASSERT_TRUE(proto.ok()) << proto.status();
    found.push_back(e.example.text);
    found.push_back(absl::StrCat(" ", AmountsText(*proto)));
  }
  WriteTable(found, "example_amounts.txt");
}

TEST(RegistryTest, EveryRowIsComplete) {
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& def : family.rows) {
      SCOPED_TRACE(std::string(family.domain) + "." + def.name);
      EXPECT_FALSE(def.versions.empty());
      EXPECT_TRUE(std::is_sorted(def.versions.begin(), def.versions.end()));
      EXPECT_STRNE(def.formula, "");
      const bool unknown = Has(def.traits, Traits::kUnknown);
      EXPECT_TRUE(!unknown || def.note[0] != '\0');
      EXPECT_TRUE(unknown || !ExamplesOf(family.domain, def).empty());
      EXPECT_TRUE(!unknown || def.IsFree());
      EXPECT_TRUE(unknown || def.control_flow != ControlFlow::kNone || def.infer != nullptr);
    }
  }
}

// Costs that are data are not stated in words as well.
TEST(RegistryTest, NoCostIsStatedTwice) {
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& def : family.rows) {
      const absl::StatusOr<std::optional<Formulas>> formulas = FormulasOf(def);
      ASSERT_TRUE(formulas.ok()) << def.name;
      if (!formulas->has_value() && !def.IsFree()) continue;
      if (def.control_flow != ControlFlow::kNone) continue;
      EXPECT_THAT(def.formula, Not(ContainsRegex("free|no arithmetic|per element|per row")))
          << family.domain << "." << def.name;
      for (int i = 0; i < kNumKinds; ++i) {
        const std::string name(KindName(static_cast<Kind>(i)));
        EXPECT_THAT(def.formula, Not(ContainsRegex("[; 0-9]" + name + "( = |,|;|$)")))
            << family.domain << "." << def.name;
      }
    }
  }
}

// What a gradient costs is a formula or a function.
TEST(RegistryTest, FormulasOfGradientsAreWellFormed) {
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& def : family.rows) {
      SCOPED_TRACE(absl::StrCat(family.domain, ".", def.name));
      EXPECT_TRUE(def.gradient.let == nullptr || def.gradient.costs != nullptr);
      if (def.gradient.costs == nullptr) continue;
      EXPECT_EQ(def.gradient.rule, nullptr);
      const absl::StatusOr<Formulas> formulas = GradientFormulasOf(def);
      ASSERT_TRUE(formulas.ok()) << formulas.status();
      for (const NamedFormula& cost : formulas->costs) {
        EXPECT_THAT(cost.key, Not(ContainsRegex("^(int|float)_")));  // both would be lost
      }
    }
  }
}

TEST(RegistryTest, NoVersionHasTwoRows) {
  std::set<std::string> seen;
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& def : family.rows) {
      for (int version : def.versions) {
        const std::string key =
            std::string(family.domain) + "." + def.name + "-" + std::to_string(version);
        EXPECT_TRUE(seen.insert(key).second) << key << " has two rows";
        const FoundOp found = FindOp(family.domain, def.name, version);
        EXPECT_EQ(found.def, &def) << key;
        EXPECT_EQ(found.version, version) << key;
      }
    }
  }
}

}  // namespace
}  // namespace onnxflops::ops_test
