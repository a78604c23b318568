// ONNX's own 1,884 node models: every one counts, and with its inputs given by value every output
// has the official type and shape.
#include "tests/infer/node_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace onnxflops::node_suite_test {
namespace {

using Json = nlohmann::json;

// Operators whose output sizes are in the data, and why the inputs given do not tell.
constexpr std::pair<absl::string_view, absl::string_view> kDataDependent[] = {
    {"ImageDecoder", "the size of the picture is in its compressed bytes"},
    {"NonMaxSuppression", "how many boxes remain is in the floating-point boxes and scores"},
    {"Range", "the suite records no values of bfloat16"},
    {"Loop", "the trip count of the Range of bfloat16, expanded"},
    {"StringNormalizer", "how many strings remain is in the text"},
    {"StringSplit", "how many parts there are is in the text"},
    {"Unique", "the suite records no values of bfloat16"},
    {"SequenceMap", "the length of an input that is a sequence cannot be given"},
};

bool IsDataDependent(absl::string_view op) {
  return std::any_of(std::begin(kDataDependent), std::end(kDataDependent),
                     [&](const auto& row) { return row.first == op; });
}

Shape ShapeOfJson(const Json& dims) {
  Shape shape;
  for (const Json& dim : dims) shape.push_back(dim.get<int64_t>());
  return shape;
}

class NodeModel {
 public:
  NodeModel(std::string name, const Json& entry) : name_(std::move(name)), entry_(entry) {}

  // Adds the operators to `open` whose sizes stayed symbols.
  void Check(std::set<std::string>* open) {
    SCOPED_TRACE(name_);
    absl::StatusOr<CountedModel> counted = CountNodeModel(name_, entry_);
    ASSERT_TRUE(counted.ok()) << counted.status();
    for (const UnknownItem& item : counted->counts.unknown_items) {
      ADD_FAILURE() << item.op << ": " << item.reason;
    }
    inference_ = &counted->inference;
    const std::vector<ValueId>& outputs = inference_->model->graphs[0].outputs;
    ASSERT_EQ(outputs.size(), entry_["outputs"].size());
    bindings_ = OfficialSizes(*inference_, entry_);
    ExpectListed(open);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Fact* fact = inference_->FactOf(outputs[i]);
      ASSERT_NE(fact, nullptr);
      ExpectSame(*fact, entry_["outputs"][i]);
    }
  }

 private:
  // Only what the data decides may be a symbol, and only of an operator on the list.
  void ExpectListed(std::set<std::string>* open) const {
    const ModelData& model = *inference_->model;
    for (const SymbolOrigin& symbol : inference_->symbols) {
      if (bindings_.count(symbol.name) == 0) continue;
      const auto value = std::find_if(model.values.begin(), model.values.end(),
                                      [&](const Value& v) { return v.name == symbol.value; });
      ASSERT_NE(value, model.values.end()) << symbol.name;
      ASSERT_TRUE(value->producer) << symbol.name << " is of an input";
      const std::string op(model.node(*value->producer).op_type);
      EXPECT_TRUE(IsDataDependent(op)) << op << " gives " << symbol.name;
      open->insert(op);
    }
  }

  void ExpectSame(const Fact& fact, const Json& official) const {
    if (!official.contains("kind")) {
      ExpectSameTensor(fact, official);
    } else {
      ExpectSameSequence(fact, official);
    }
  }

  void ExpectSameTensor(const Fact& fact, const Json& official) const {
    ASSERT_TRUE(fact.is_tensor()) << fact.ToString();
    EXPECT_EQ(fact.dtype, ParseDType(official["dtype"].get<std::string>())) << fact.ToString();
    ASSERT_TRUE(fact.shape.ranked());
    Shape shape;
    for (const Expr& dim : fact.shape.dims()) shape.push_back(dim.Substitute(bindings_));
    EXPECT_EQ(shape.ToString(), ShapeOfJson(official["shape"]).ToString()) << fact.ToString();
  }

  void ExpectSameSequence(const Fact& fact, const Json& official) const {
    const Json& items = official["items"];
    if (fact.kind == Fact::Kind::kOptional) return ExpectSameSequence(*fact.element, official);
    ASSERT_EQ(fact.kind, Fact::Kind::kSequence) << fact.ToString();
    if (fact.length.has_value()) {
      EXPECT_EQ(fact.length->Substitute(bindings_).ToString(), std::to_string(items.size()));
    }
    for (size_t i = 0; i < items.size(); ++i) {
      if (fact.items != nullptr) {
        ASSERT_EQ(fact.items->size(), items.size());
        ExpectSame((*fact.items)[i], items[i]);
      } else {
        EXPECT_EQ(fact.element->dtype, ParseDType(items[i]["dtype"].get<std::string>()));
      }
    }
  }

  std::string name_;
  const Json& entry_;
  const Inference* inference_ = nullptr;
  Bindings bindings_;
};

TEST(NodeSuiteTest, EveryModelCountsAndHasTheOfficialTypesAndShapes) {
  std::set<std::string> open;
  for (const auto& [name, entry] : NodeSuite().items()) NodeModel(name, entry).Check(&open);
  EXPECT_EQ(NodeSuite().size(), 1884u);
  for (const auto& [op, reason] : kDataDependent) {
    EXPECT_EQ(open.count(std::string(op)), 1u) << op << " is known now; take it from the list";
  }
}

}  // namespace
}  // namespace onnxflops::node_suite_test
