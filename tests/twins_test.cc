// An operator that ONNX defines by a function body costs what the body's operators cost, data
// movement apart. The node models NAME and NAME_expanded (NAME_expanded_ver18) are one operator and
// its body, so their censuses are equal, kind by kind, but for the exceptions below.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/node_suite.h"

namespace onnxflops {
namespace {

// ---- When an exception applies to a node

bool Always(const Node&) { return true; }

bool HasInput(const Node& node, size_t i) {
  return i < node.inputs.size() && node.inputs[i] != kNone;
}
bool HasNoMask(const Node& node) { return !HasInput(node, 3); }
bool HasPast(const Node& node) { return HasInput(node, 3); }
bool HasScale(const Node& node) { return node.FindAttribute("scale") != nullptr; }
bool HasIgnoreIndex(const Node& node) { return node.FindAttribute("ignore_index") != nullptr; }
bool HasUnitAlpha(const Node& node) {
  const Attribute* alpha = node.FindAttribute("alpha");
  return alpha == nullptr || alpha->f == 1;
}

// ---- What a body executes that its operator does not

struct Exception {
  const char* op;
  bool (*applies)(const Node&);
  const char* kinds;  // in which the body costs more: in one of them at least, and in no other
  const char* reason;
};
constexpr Exception kExceptions[] = {
    {"AffineGrid", Always, "mac add mul div int_add int_cmp",
     "the body does two dimensions as three, copies coordinates to the grid by adding zeros, and "
     "makes them from Ranges of integers; it compares sizes for its Ifs"},
    {"Attention", HasNoMask, "add cmp",
     "the body makes a bias of zeros, adds it, and looks in it for rows that are masked"},
    {"Attention", HasScale, "div sqrt",
     "the body computes 1 / sqrt(head size) all the same, and does not use it"},
    {"BlackmanWindow", Always, "add mul",
     "the body counts up by a Range and does arithmetic on the size"},
    {"CenterCropPad", Always, "int_add int_div int_cmp",
     "the body finds its pads and slices by arithmetic on the input `shape`: index arithmetic"},
    {"Gelu", Always, "sqrt", "the body takes the square root of a constant"},
    {"GreaterOrEqual", Always, "cmp int_cmp",
     "the body has three operators for one comparison: Greater, Equal, Or"},
    {"HammingWindow", Always, "add mul trig",
     "the body counts up by a Range, does arithmetic on the size, and adds Blackman's third term, "
     "which is 0"},
    {"HannWindow", Always, "add mul trig", "as HammingWindow"},
    {"LessOrEqual", Always, "cmp int_cmp",
     "the body has three operators for one comparison: Less, Equal, Or"},
    {"LinearAttention", HasPast, "int_div",
     "the body divides by the numbers of heads for the shape of a first state, which is given"},
    {"NegativeLogLikelihoodLoss", HasIgnoreIndex, "int_add",
     "the body makes a zero by subtracting the target from itself"},
    {"Range", Always, "add div cmp round int_add",
     "the body computes its length, ceil((limit - start) / delta): index arithmetic"},
    {"Swish", HasUnitAlpha, "mul", "the body multiplies by alpha = 1"},
};

std::vector<const Exception*> ExceptionsOf(const ModelData& model) {
  std::vector<const Exception*> found;
  for (const Exception& exception : kExceptions) {
    for (NodeId id : model.graphs[0].nodes) {
      const Node& node = model.nodes[static_cast<size_t>(id)];
      if (node.op_type == exception.op && exception.applies(node)) found.push_back(&exception);
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

void Compare(const std::string& plain, const std::string& expanded,
             std::set<const Exception*>* used) {
  SCOPED_TRACE(plain);
  const nlohmann::json& entry = NodeSuite().at(plain);
  const absl::StatusOr<CountedModel> op = CountNodeModel(plain, entry);
  const absl::StatusOr<CountedModel> body = CountNodeModel(expanded, NodeSuite().at(expanded));
  ASSERT_TRUE(op.ok() && body.ok()) << op.status() << body.status();
  const Bindings op_sizes = OfficialSizes(op->inference, entry);
  const Bindings body_sizes = OfficialSizes(body->inference, NodeSuite().at(expanded));
  const Tally &a = op->counts.total, &b = body->counts.total;
  std::set<std::string> differ = Differences(a.flops, b.flops, op_sizes, body_sizes, "");
  differ.merge(Differences(a.int_ops, b.int_ops, op_sizes, body_sizes, "int_"));
  std::set<std::string> listed;
  for (const Exception* exception : ExceptionsOf(*op->inference.model)) {
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
  std::set<const Exception*> used;
  for (const auto& [name, entry] : NodeSuite().items()) {
    const std::string plain = PlainName(name);
    if (plain.empty()) continue;
    ++twins;
    Compare(plain, name, &used);
  }
  EXPECT_EQ(twins, 480);
  for (const Exception& exception : kExceptions) {
    EXPECT_EQ(used.count(&exception), 1u) << exception.op << " has no twin: " << exception.reason;
  }
}

}  // namespace
}  // namespace onnxflops
