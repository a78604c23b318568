// An operator that ONNX defines by a function body costs what the body's operators cost, data
// movement apart. The node models NAME and NAME_expanded (NAME_expanded_ver18) are one operator and
// its body, so their censuses are equal, kind by kind, but for the exceptions that rows list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "ops/registry.h"
#include "tests/infer/node_suite.h"
#include "tools/official/function_bodies.h"

namespace onnxflops::twins_test {
namespace {

// ---- What a body executes that its operator does not: the exceptions of the operators' rows

bool Always(const Node&) { return true; }

bool HasInput(const Node& node, size_t i) { return node.input(i).has_value(); }
bool HasNoMask(const Node& node) { return !HasInput(node, 3); }
bool HasPast(const Node& node) { return HasInput(node, 3); }
bool HasScale(const Node& node) { return node.FindAttribute("scale") != nullptr; }
bool HasIgnoreIndex(const Node& node) { return node.FindAttribute("ignore_index") != nullptr; }
bool HasUnitAlpha(const Node& node) {
  const Attribute* alpha = node.FindAttribute("alpha");
  return alpha == nullptr || alpha->f == 1;
}

// What OpException::when means.
struct Condition {
  absl::string_view when;
  bool (*holds)(const Node&);
};
constexpr Condition kConditions[] = {
    {"always", Always},
    {"attn_mask is not given", HasNoMask},
    {"past_state is given", HasPast},
    {"scale is given", HasScale},
    {"ignore_index is given", HasIgnoreIndex},
    {"alpha = 1", HasUnitAlpha},
};

bool Applies(const OpException& exception, const Node& node) {
  for (const Condition& condition : kConditions) {
    if (condition.when == exception.when) return condition.holds(node);
  }
  ADD_FAILURE() << "no test knows when this is: " << exception.when;
  return false;
}

std::vector<const OpException*> ExceptionsOf(const Inference& inference) {
  std::vector<const OpException*> found;
  for (CallId id : inference.instances[0].calls) {
    const Call& call = inference.call(id);
    if (call.def == nullptr) continue;
    const Node& node = inference.model->node(call.node);
    for (const OpException& exception : call.def->exceptions) {
      if (Applies(exception, node)) found.push_back(&exception);
    }
  }
  return found;
}

// "mul", "int_cmp", ... of everything in which the two differ. The body may only cost more.
std::set<std::string> Differences(const Census& op, const Census& body, const Bindings& op_sizes,
                                  const Bindings& body_sizes, const std::string& prefix) {
  std::set<std::string> kinds;
  for (int i = 0; i < kNumKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    const Expr more = body[kind].Substitute(body_sizes) - op[kind].Substitute(op_sizes);
    if (more == 0) continue;
    kinds.insert(prefix + std::string(KindName(kind)));
    EXPECT_TRUE(more.AtLeast(1)) << KindName(kind) << " of the body minus that of the operator is "
                                 << more.ToString();
  }
  return kinds;
}

// NAME of NAME_expanded; empty for other models.
std::string PlainName(const std::string& name) {
  const size_t suffix = name.find("_expanded");
  return suffix == std::string::npos ? "" : name.substr(0, suffix);
}

// `expanded` is the model with the body, by its name; the body may also come from `options`.
void Compare(const std::string& plain, const std::string& expanded, const ResolveOptions& options,
             std::set<const OpException*>* used) {
  const nlohmann::json& entry = NodeSuite().at(plain);
  const absl::StatusOr<CountedModel> op = CountNodeModel(plain, entry);
  const absl::StatusOr<CountedModel> body =
      CountNodeModel(expanded, NodeSuite().at(expanded), options);
  ASSERT_TRUE(op.ok() && body.ok()) << op.status() << body.status();
  const Bindings op_sizes = OfficialSizes(op->inference, entry);
  const Bindings body_sizes = OfficialSizes(body->inference, NodeSuite().at(expanded));
  const Tally &a = op->counts.total, &b = body->counts.total;
  std::set<std::string> differ = Differences(a.flops, b.flops, op_sizes, body_sizes, "");
  differ.merge(Differences(a.int_ops, b.int_ops, op_sizes, body_sizes, "int_"));
  std::set<std::string> listed;
  for (const OpException* exception : ExceptionsOf(op->inference)) {
    used->insert(exception);
    const std::vector<std::string> kinds = absl::StrSplit(exception->kinds, ' ');
    EXPECT_TRUE(std::any_of(kinds.begin(), kinds.end(),
                            [&](const std::string& kind) { return differ.count(kind) != 0; }))
        << "costs the same, so this is no exception: " << exception->reason;
    listed.insert(kinds.begin(), kinds.end());
  }
  for (const std::string& kind : differ) EXPECT_EQ(listed.count(kind), 1u) << kind << " differs";
}

TEST(TwinsTest, AnOperatorCostsWhatItsFunctionBodyCosts) {
  int twins = 0;
  std::set<const OpException*> used;
  for (const auto& [name, entry] : NodeSuite().items()) {
    const std::string plain = PlainName(name);
    if (plain.empty()) continue;
    ++twins;
    SCOPED_TRACE(plain);
    Compare(plain, name, {}, &used);
  }
  EXPECT_EQ(twins, 480);
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& row : family.rows) {
      for (const OpException& exception : row.exceptions) {
        EXPECT_EQ(used.count(&exception), 1u) << row.name << " has no twin: " << exception.reason;
      }
    }
  }
}

// ---- The same operators as if they were newer than our table: counted through their bodies

// The official library, in this process.
class Official final : public FunctionBodySource {
 public:
  absl::StatusOr<std::string> Find(absl::string_view request) const override {
    onnx::ModelProto proto;
    EXPECT_TRUE(proto.ParseFromArray(request.data(), static_cast<int>(request.size())));
    return tools::FindFunctionBodies(proto).SerializeAsString();
  }
};

std::string hidden;  // the operator without a row

FoundOp FindAllButHidden(absl::string_view domain, absl::string_view op_type, int64_t opset) {
  return op_type == hidden ? FoundOp() : FindOp(domain, op_type, opset);
}

bool IsCountedThroughBody(const CountedModel& counted) {
  return testing::Value(counted.inference.warnings,
                        testing::Contains(testing::HasSubstr(
                            " has no rule: counted through its official function body")));
}

TEST(TwinsTest, AnOperatorWithoutARuleCostsWhatItsFunctionBodyCosts) {
  const Official official;
  ResolveOptions options;
  options.operators.find_op = FindAllButHidden;
  options.bodies = &official;
  std::set<std::string> without;
  std::set<const OpException*> used;
  for (const auto& [expanded, twin] : NodeSuite().items()) {
    const std::string name = PlainName(expanded);
    if (name.empty()) continue;
    SCOPED_TRACE(name);
    const Model model = LoadNodeModel(name).value();
    hidden = std::string(model->node(model->graphs[0].nodes.back()).op_type);
    const absl::StatusOr<CountedModel> counted =
        CountNodeModel(name, NodeSuite().at(name), options);
    ASSERT_TRUE(counted.ok()) << counted.status();
    if (IsCountedThroughBody(*counted)) {
      EXPECT_EQ(counted->counts.unknown, 0);
      Compare(name, name, options, &used);
    } else {
      EXPECT_GT(counted->counts.unknown, 0);
      without.insert(hidden);
    }
  }
  // Their bodies hold the graphs of their attributes, which may use values from around the node.
  EXPECT_THAT(without, testing::ElementsAre("FlexAttention", "SequenceMap"));
}

}  // namespace
}  // namespace onnxflops::twins_test
