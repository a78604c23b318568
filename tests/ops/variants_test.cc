// Examples that are changed in one place, against what ONNX Runtime makes of them.
// data/variants.txt says of each what shapes come out or that it is refused
// (tools/export/variants.py wrote it).
#include "tests/ops/variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "onnx/onnx_pb.h"
#include "ops/content.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "tests/ops/examples.h"
#include "tests/table.h"

namespace onnxflops::variants_test {
namespace {

// "=1,0.5,?" of a small tensor of which some elements are known.
std::string ContentText(const Fact& fact) {
  constexpr int64_t kMostShown = 24;
  const std::optional<Sizes> sizes = SmallSizes(fact);
  if (!sizes.has_value()) return "";
  const int64_t count = ProductOf(*sizes, 0, sizes->size());
  std::vector<std::string> elements;
  bool any = false;
  for (int64_t i = 0; i < count && count <= kMostShown; ++i) {
    const Scalar element = ElementAt(fact, i);
    const bool known = element.is_float() || (element.is_int() && element.i.is_literal());
    any = any || known;
    elements.push_back(!known                  ? "?"
                       : !element.is_float()   ? element.i.ToString()
                       : std::isnan(element.f) ? "nan"
                                               : absl::StrFormat("%.5g", element.f));
  }
  return any ? absl::StrCat("=", absl::StrJoin(elements, ",")) : "";
}

// "2x3", "scalar:int64", "2:bool=0,1": sizes, a type but float32, and what is known of the content;
// "?" where it is not known.
std::string FactText(const Fact* fact) {
  if (fact == nullptr || !fact->is_tensor() || !fact->shape.ranked()) return "?";
  std::string text = absl::StrJoin(fact->shape.dims(), "x", [](std::string* out, const Expr& dim) {
    absl::StrAppend(out, dim.is_literal() ? dim.ToString() : "?");
  });
  if (text.empty()) text = "scalar";
  if (fact->dtype != DType::kFloat32) absl::StrAppend(&text, ":", DTypeName(fact->dtype));
  return text + ContentText(*fact);
}

// Of all outputs; "refused" where the model is.
std::string Outcome(const onnx::ModelProto& model) {
  const absl::StatusOr<Model> loaded = LoadFromBytes(model.SerializeAsString());
  if (!loaded.ok()) return "refused";
  const absl::StatusOr<Inference> inference = Infer(*loaded);
  if (!inference.ok()) return "refused";
  const absl::StatusOr<Counts> counts = Count(*inference);
  if (!counts.ok()) return "refused";
  std::vector<std::string> outputs;
  for (const ValueId output : inference->model->graphs[0].outputs) {
    outputs.push_back(FactText(inference->FactOf(output)));
  }
  return absl::StrCat(absl::StrJoin(outputs, " "), counts->unknown > 0 ? ", not counted" : "");
}

// Of an example: by place what is expected of a variant, and how many the runtime does not run.
struct Outcomes {
  std::map<std::string, std::string> of;
  size_t not_run = 0;
};

// Of "PLACE; PLACE: THEIRS | OURS" ours.
std::map<std::string, Outcomes> Expected() {
  std::map<std::string, Outcomes> expected;
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/variants.txt");
  std::string example;
  for (std::string line; std::getline(file, line);) {
    absl::string_view text = line;
    if (absl::ConsumePrefix(&text, "## ")) {
      example = std::string(text);
      expected[example] = {};
    }
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(text, absl::MaxSplits(": ", 1));
    if (parts.second.empty() || example.empty()) continue;
    Outcomes& outcomes = expected[example];
    if (parts.first == "-") {
      EXPECT_TRUE(absl::SimpleAtoi(parts.second, &outcomes.not_run)) << line;
      continue;
    }
    const std::vector<std::string> both = absl::StrSplit(parts.second, " | ");
    for (const absl::string_view place : absl::StrSplit(parts.first, "; ")) {
      outcomes.of[std::string(place)] = both.back();
    }
  }
  return expected;
}

TEST(VariantsTest, AreWhatTheRuntimeMakesOfThem) {
  const std::map<std::string, Outcomes> expected = Expected();
  std::vector<std::string> lines;
  for (const auto& [name, example] : NamedExamples()) {
    const absl::StatusOr<onnx::ModelProto> model = ExampleModel(example);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto known = expected.find(name);
    ASSERT_NE(known, expected.end()) << name << " is not in variants.txt";
    std::map<std::string, std::string> found;
    size_t not_run = 0;
    lines.push_back(absl::StrCat("## ", name));
    for (const Variant& v : VariantsOf(*model, example.def->versions)) {
      const std::string outcome = Outcome(v.model);
      lines.push_back(absl::StrCat(v.place, ": ", outcome));
      if (known->second.of.count(v.place) > 0) {
        found[v.place] = outcome;
      } else {
        ++not_run;
      }
    }
    EXPECT_EQ(found, known->second.of) << name << "\n" << example.example.text;
    EXPECT_EQ(not_run, known->second.not_run) << name << ": tools/export/variants.py";
  }
  WriteTable(lines, "variant_shapes.txt");
}

// What tools/export/variants.py reads: example, place, our outcome and the model in base 64.
TEST(VariantsTest, AreWrittenOnDemand) {
  const char* path = std::getenv("ONNXFLOPS_VARIANTS");
  if (path == nullptr) GTEST_SKIP() << "ONNXFLOPS_VARIANTS names no file";
  std::ofstream out(path);
  for (const auto& [name, example] : NamedExamples()) {
    const absl::StatusOr<onnx::ModelProto> model = ExampleModel(example);
    ASSERT_TRUE(model.ok()) << model.status();
    for (const Variant& v : VariantsOf(*model, example.def->versions)) {
      const std::string bytes = absl::Base64Escape(v.model.SerializeAsString());
      out << absl::StrJoin({name, v.place, Outcome(v.model), bytes}, "\t") << "\n";
    }
  }
}

}  // namespace
}  // namespace onnxflops::variants_test
