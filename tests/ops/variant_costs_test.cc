// What the examples cost when they are changed in one place, or an attribute that they leave out is
// set. The table has of each what is then not as in the example itself, so that a change of any
// term of any rule shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "ops/op_def.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "src/training/gradient_cost.h"
#include "tests/ops/examples.h"
#include "tests/ops/quantities.h"
#include "tests/ops/settings.h"
#include "tests/ops/variants.h"
#include "tests/sample.h"
#include "tests/table.h"

namespace onnxflops::variant_costs_test {
namespace {

using Amounts = std::map<std::string, std::string>;

// What the gradients of all floating-point inputs cost where attention computes its scores again.
std::string GradientOf(const Inference& inference, const Counts& counts, CallId id) {
  const Call& call = inference.call(id);
  training::Needed needed(call.inputs.size(), 0);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Fact& input = inference.fact(call.inputs[i]);
    needed[i] = input.is_tensor() && IsFloat(input.dtype) ? 1 : 0;
  }
  if (needed.find('\1') == std::string::npos) return "none";
  training::GradientCosts costs(inference, counts, CausalCounting::kHalf, true);
  const auto& census = costs.Of(id, needed);
  if (!census.ok()) return std::string(census.status().message());
  Cost cost;
  cost.flops = *census;
  return cost.ToString();
}

// Of an error, what the rule says: neither where the node is nor what its inputs are.
Amounts Refused(const absl::Status& status) {
  const std::string message(status.message().substr(0, status.message().find('\n')));
  const size_t place = message.find("): ");
  return {{"refused", place == std::string::npos ? message : message.substr(place + 3)}};
}

Amounts AmountsOf(const onnx::ModelProto& proto, const OpDef* def) {
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  if (!model.ok()) return Refused(model.status());
  const absl::StatusOr<Inference> inference = Infer(*model);
  if (!inference.ok()) return Refused(inference.status());
  const absl::StatusOr<Counts> counts = Count(*inference);
  if (!counts.ok()) return Refused(counts.status());
  Amounts amounts;
  for (const auto& [name, value] : QuantitiesOf(counts->total)) amounts[name] = value.ToString();
  for (const UnknownItem& item : counts->unknown_items) amounts["unknown"] = item.reason;
  for (const auto& [amount, value] : amounts) {
    EXPECT_NE(value[0], '-') << def->name << ": " << amount << " is " << value;
  }
  amounts["causal"] = absl::StrCat(counts->causal);
  for (const char* sum : {"flops", "other_flops"}) amounts.erase(sum);
  for (const CallId id : inference->instances[0].calls) {
    const Call& call = inference->call(id);
    if (call.def != def || call.inputs.empty() || def->gradient.formula == nullptr) continue;
    amounts["gradient"] = GradientOf(*inference, *counts, id);
  }
  return amounts;
}

// "macs 24, mul 3" of what is not as in `plain`; "macs 0" of what is no more.
std::string Difference(const Amounts& plain, const Amounts& other) {
  if (const auto refused = other.find("refused"); refused != other.end()) {
    return absl::StrCat("refused: ", refused->second);
  }
  std::string text;
  for (const auto& [name, value] : other) {
    const auto before = plain.find(name);
    if (before == plain.end() ? value == "0" : before->second == value) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " ", value);
  }
  for (const auto& [name, value] : plain) {
    if (value == "0" || other.count(name) > 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " none");
  }
  return text;
}

// Whether the place is "mode=linear": a word, which may be what other attributes matter with.
bool SetsWord(const Variant& v) {
  const size_t equals = v.place.find('=');
  return equals != std::string::npos && v.place.find_first_of("0123456789[-", equals) != equals + 1;
}

// "PLACE: DIFFERENCE" of each variant that has one; neighbours that have the same share a line.
void AddLines(const Amounts& plain, const std::vector<Variant>& variants, const OpDef* def,
              std::vector<std::string>* lines) {
  std::string places, shared;
  for (const Variant& v : variants) {
    const std::string text = Difference(plain, AmountsOf(v.model, def));
    if (text == shared) {
      if (!text.empty()) absl::StrAppend(&places, "; ", v.place);
      continue;
    }
    if (!shared.empty()) lines->push_back(absl::StrCat(places, ": ", shared));
    places = v.place;
    shared = text;
  }
  if (!shared.empty()) lines->push_back(absl::StrCat(places, ": ", shared));
}

// Whether the amount depends on how wide an element is.
bool IsOfBytes(const std::string& name) {
  return name.find("bytes") != std::string::npos || name == "bops" || name.find("macs of ") == 0;
}

Amounts WithoutBytes(Amounts amounts) {
  for (auto it = amounts.begin(); it != amounts.end();) {
    it = IsOfBytes(it->first) || it->second == "0" ? amounts.erase(it) : std::next(it);
  }
  return amounts;
}

bool IsOfFloats(const Variant& v) {
  const std::string type = v.place.substr(v.place.find(':') + 1);
  return type == "FLOAT" || type == "FLOAT16";
}

// An operator does the same work on wider and on narrower floating-point elements. Integers may be
// bits or several numbers each.
TEST(VariantCostsTest, WidthOfElementsChangesBytesAlone) {
  int compared = 0;
  Sample sample;
  for (const auto& [name, example] : NamedExamples()) {
    if (!sample.Next()) continue;
    const onnx::ModelProto model = WithSizes(ExampleModel(example).value());
    const Amounts plain = WithoutBytes(AmountsOf(model, example.def));
    for (const Variant& v : RetypedOf(model)) {
      const Amounts retyped = WithoutBytes(AmountsOf(v.model, example.def));
      if (!IsOfFloats(v) || retyped.count("refused") > 0) continue;
      EXPECT_EQ(retyped, plain) << name << ": " << v.place;
      ++compared;
    }
  }
  EXPECT_GT(compared, Sample::IsAll() ? 500 : 50);
}

// Whatever is set.
TEST(VariantCostsTest, NothingIsNegative) {
  std::vector<std::string> lines;
  Sample sample;
  for (const auto& [name, example] : NamedExamples()) {
    if (!sample.Next()) continue;
    const absl::StatusOr<onnx::ModelProto> model = ExampleModel(example);
    ASSERT_TRUE(model.ok()) << model.status();
    const Amounts plain = AmountsOf(WithSizes(*model), example.def);
    lines.push_back(absl::StrCat("## ", name, ": ", Difference({}, plain)));
    AddLines(plain, VariantsOf(*model, example.def->versions), example.def, &lines);
    AddLines(plain, RetypedOf(WithSizes(*model)), example.def, &lines);
    const std::vector<Variant> settings = SettingsOf(example, WithSizes(*model));
    AddLines(plain, settings, example.def, &lines);
    for (const Variant& v : settings) {
      const Amounts with_word = AmountsOf(v.model, example.def);
      if (!SetsWord(v) || with_word.count("refused") > 0 || with_word == plain) continue;
      lines.push_back(absl::StrCat("with ", v.place, ":"));
      AddLines(with_word, SettingsOf(example, v.model), example.def, &lines);
    }
  }
  WriteTable(lines, "variant_costs.txt");
}

}  // namespace
}  // namespace onnxflops::variant_costs_test
