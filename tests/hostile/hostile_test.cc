// Every operator, given what it does not expect: attributes of the wrong type or with odd values,
// inputs that are missing, too many, of another rank. It is refused with an error that names the
// node, unknown with a reason, or counted; nothing crashes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/onnxflops.h"
#include "tests/fuzz/mend_model.h"
#include "tests/ops/examples.h"
#include "tests/sample.h"

namespace onnxflops::hostile_test {
namespace {

using onnx::AttributeProto;
using onnx::ModelProto;

// What a model comes to, as text; "refused" or "unknown" where it is.
std::string Outcome(const ModelProto& proto, const std::string& what) {
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString(), "m.onnx");
  absl::StatusOr<Report> report =
      model.ok() ? Count(*model, {}) : absl::StatusOr<Report>(model.status());
  if (!report.ok()) {
    EXPECT_TRUE(absl::StartsWith(report.status().message(), "m.onnx: ")) << report.status();
    EXPECT_TRUE(absl::StrContains(report.status().message(), what)) << report.status();
    return "refused";
  }
  if (report->totals.lower_bound) return "unknown";
  std::string text =
      absl::StrCat(report->totals.flops.ToString(), " ", report->totals.macs.ToString(), " ",
                   report->totals.int_ops.ToString());
  for (const TensorInfo& output : report->outputs) {
    absl::StrAppend(&text, " ", output.type, output.shape.ToString());
  }
  return text;
}

// Every other tool is asked as well: its parts add up, or it says why it gives no figure.
void CompareAll(const ModelProto& proto) {
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString(), "m.onnx");
  if (!model.ok()) return;
  const absl::StatusOr<CompareReport> report = CompareTools(*model, {}, {});
  if (!report.ok()) return;
  for (const ToolRow& tool : report->tools) {
    if (tool.standing == Standing::kNotApplicable) {
      EXPECT_FALSE(tool.assumptions.empty()) << tool.convention->name;
      continue;
    }
    Expr sum = tool.start;
    for (const TermRow& term : tool.terms) sum += term.amount;
    EXPECT_EQ(sum, tool.headline) << tool.convention->name;
  }
}

// The attribute with a value of another type.
AttributeProto OfType(const std::string& name, AttributeProto::AttributeType type) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(type);
  a.set_i(1);
  a.set_f(1);
  a.set_s("1");
  a.add_ints(1);
  a.add_floats(1);
  a.add_strings("1");
  a.mutable_t()->set_data_type(onnx::TensorProto::INT64);
  a.mutable_t()->add_int64_data(1);
  a.mutable_g()->set_name("g");
  return a;
}

// An attribute's fields that are not those of its type are left out by a writer that is right.
AttributeProto Only(const AttributeProto& all) {
  AttributeProto a;
  a.set_name(all.name());
  a.set_type(all.type());
  if (all.type() == AttributeProto::INT) a.set_i(all.i());
  if (all.type() == AttributeProto::FLOAT) a.set_f(all.f());
  if (all.type() == AttributeProto::STRING) a.set_s(all.s());
  if (all.type() == AttributeProto::INTS) *a.mutable_ints() = all.ints();
  if (all.type() == AttributeProto::FLOATS) *a.mutable_floats() = all.floats();
  if (all.type() == AttributeProto::STRINGS) *a.mutable_strings() = all.strings();
  if (all.type() == AttributeProto::TENSOR) *a.mutable_t() = all.t();
  if (all.type() == AttributeProto::GRAPH) *a.mutable_g() = all.g();
  return a;
}

constexpr AttributeProto::AttributeType kTypes[] = {
    AttributeProto::INT,    AttributeProto::FLOAT,   AttributeProto::STRING, AttributeProto::INTS,
    AttributeProto::FLOATS, AttributeProto::STRINGS, AttributeProto::TENSOR, AttributeProto::GRAPH};

class HostileTest : public testing::TestWithParam<Example> {};

// What a rule reads it also checks: an attribute of the wrong type makes an error, or no
// difference.
TEST_P(HostileTest, AttributesOfTheWrongType) {
  const ModelProto proto = *ExampleModel(GetParam());
  const std::string before = Outcome(proto, "");
  for (int n = 0; n < proto.graph().node_size(); ++n) {
    for (int i = 0; i < proto.graph().node(n).attribute_size(); ++i) {
      const AttributeProto& attribute = proto.graph().node(n).attribute(i);
      for (const auto type : kTypes) {
        if (type == attribute.type()) continue;
        if (attribute.name() == "to") continue;  // Cast-1 takes a name, later versions a number
        ModelProto changed = proto;
        *changed.mutable_graph()->mutable_node(n)->mutable_attribute(i) =
            Only(OfType(attribute.name(), type));
        const std::string after = Outcome(changed, "");
        EXPECT_TRUE(after == "refused" || after == "unknown" || after == before)
            << attribute.name() << " as " << AttributeProto::AttributeType_Name(type) << ": "
            << after << " instead of " << before << "\n"
            << GetParam().example.text;
      }
    }
  }
}

TEST_P(HostileTest, AttributesWithOddValues) {
  const ModelProto proto = *ExampleModel(GetParam());
  constexpr int64_t kOdd[] = {0,
                              -1,
                              3,
                              1000,
                              int64_t{1} << 40,
                              std::numeric_limits<int64_t>::max(),
                              std::numeric_limits<int64_t>::min()};
  for (int n = 0; n < proto.graph().node_size(); ++n) {
    for (int i = 0; i < proto.graph().node(n).attribute_size(); ++i) {
      for (const int64_t odd : kOdd) {
        ModelProto changed = proto;
        AttributeProto* a = changed.mutable_graph()->mutable_node(n)->mutable_attribute(i);
        if (a->type() == AttributeProto::INT) a->set_i(odd);
        if (a->type() == AttributeProto::FLOAT)
          a->set_f(std::ldexp(1.0F, static_cast<int>(odd % 200)));
        if (a->type() == AttributeProto::STRING) a->set_s(absl::StrCat(odd));
        for (int64_t& item : *a->mutable_ints()) item = odd;
        Outcome(changed, "");
        if (a->ints_size() > 0) a->mutable_ints()->RemoveLast();
        Outcome(changed, "");
      }
    }
  }
}

TEST_P(HostileTest, InputsMissingTooManyOrExchanged) {
  const ModelProto proto = *ExampleModel(GetParam());
  for (int n = 0; n < proto.graph().node_size(); ++n) {
    const int inputs = proto.graph().node(n).input_size();
    for (int i = 0; i < inputs; ++i) {
      ModelProto changed = proto;
      changed.mutable_graph()->mutable_node(n)->set_input(i, "");
      Outcome(changed, "");
      changed.mutable_graph()->mutable_node(n)->set_input(
          i, proto.graph().node(n).input(inputs - 1 - i));
      Outcome(changed, "");
      while (changed.graph().node(n).input_size() > i) {
        changed.mutable_graph()->mutable_node(n)->mutable_input()->RemoveLast();
      }
      Outcome(changed, "");
    }
    ModelProto changed = proto;
    changed.mutable_graph()->mutable_node(n)->clear_attribute();
    Outcome(changed, "");
    for (int i = 0; i < 20 && inputs > 0; ++i) {
      changed.mutable_graph()->mutable_node(n)->add_input(proto.graph().node(n).input(0));
    }
    Outcome(changed, "");
  }
}

TEST_P(HostileTest, InputsOfOtherShapesAndTypes) {
  const ModelProto proto = *ExampleModel(GetParam());
  for (int i = 0; i < proto.graph().input_size(); ++i) {
    if (!proto.graph().input(i).type().has_tensor_type()) continue;
    for (int change = 0; change < 7; ++change) {
      ModelProto changed = proto;
      auto* tensor =
          changed.mutable_graph()->mutable_input(i)->mutable_type()->mutable_tensor_type();
      auto* dims = tensor->mutable_shape()->mutable_dim();
      if (change == 0) tensor->clear_shape();
      if (change == 1) tensor->set_elem_type(onnx::TensorProto::STRING);
      if (change == 2) tensor->set_elem_type(onnx::TensorProto::INT64);
      if (change == 3) dims->Clear();
      if (change == 4) dims->Add()->set_dim_value(3);
      if (change == 5) dims->Add()->set_dim_param("extra");
      if (change == 6) {
        for (auto& dim : *dims) dim.set_dim_value(int64_t{1} << 55 >> (8 * dims->size()));
      }
      Outcome(changed, "");
    }
  }
}

TEST_P(HostileTest, OutputsLeftOut) {
  const ModelProto proto = *ExampleModel(GetParam());
  for (int n = 0; n < proto.graph().node_size(); ++n) {
    for (int i = 0; i <= proto.graph().node(n).output_size(); ++i) {
      ModelProto changed = proto;
      changed.mutable_graph()->clear_output();
      auto* outputs = changed.mutable_graph()->mutable_node(n)->mutable_output();
      if (i < outputs->size()) {
        outputs->Mutable(i)->clear();
      } else {
        outputs->Clear();
      }
      MendModel(&changed);
      Outcome(changed, "");
      CompareAll(changed);
    }
  }
}

using Change = std::function<void(onnx::NodeProto*)>;

// Everything that a writer may forget in a node, one thing each.
std::vector<Change> Omissions(const onnx::NodeProto& node) {
  std::vector<Change> changes;
  for (const AttributeProto& attribute : node.attribute()) {
    changes.emplace_back([name = attribute.name()](onnx::NodeProto* n) {
      auto* attributes = n->mutable_attribute();
      attributes->erase(std::remove_if(attributes->begin(), attributes->end(),
                                       [&](const AttributeProto& a) { return a.name() == name; }),
                        attributes->end());
    });
  }
  for (int i = 0; i < node.input_size(); ++i) {
    changes.emplace_back([i](onnx::NodeProto* n) {
      if (i < n->input_size()) n->set_input(i, "");
    });
    changes.emplace_back([i](onnx::NodeProto* n) {
      while (n->input_size() > i) n->mutable_input()->RemoveLast();
    });
  }
  for (int i = 0; i <= node.output_size(); ++i) {
    changes.emplace_back([i](onnx::NodeProto* n) {
      if (i < n->output_size()) n->set_output(i, "");
      if (i == n->output_size()) n->clear_output();
    });
  }
  return changes;
}

// A rule that copes with each of two omissions may rely on one where it meets the other.
TEST_P(HostileTest, TwoOmissionsAtOnce) {
  const ModelProto proto = *ExampleModel(GetParam());
  Sample sample;
  for (int n = 0; n < proto.graph().node_size(); ++n) {
    const std::vector<Change> changes = Omissions(proto.graph().node(n));
    for (size_t a = 0; a < changes.size(); ++a) {
      for (size_t b = a + 1; b < changes.size(); ++b) {
        if (!sample.Next()) continue;
        ModelProto changed = proto;
        changed.mutable_graph()->clear_output();
        changes[a](changed.mutable_graph()->mutable_node(n));
        changes[b](changed.mutable_graph()->mutable_node(n));
        MendModel(&changed);
        Outcome(changed, "");
      }
    }
  }
}

// Other tools see every example, whole and with inputs left out.
TEST_P(HostileTest, OtherTools) {
  const ModelProto proto = *ExampleModel(GetParam());
  CompareAll(proto);
  for (int n = 0; n < proto.graph().node_size(); ++n) {
    for (int i = 0; i < proto.graph().node(n).input_size(); ++i) {
      ModelProto changed = proto;
      changed.mutable_graph()->mutable_node(n)->mutable_input(i)->clear();
      CompareAll(changed);
      changed.mutable_graph()->mutable_node(n)->mutable_input()->DeleteSubrange(i, 1);
      CompareAll(changed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, HostileTest, testing::ValuesIn(AllExamples()));

}  // namespace
}  // namespace onnxflops::hostile_test
