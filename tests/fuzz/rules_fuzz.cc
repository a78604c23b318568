// Fuzz target: whatever a file of operator rules says, it is refused in one line or its rules count
// what they are applied to, or say why not.
//
// A byte of choices, then the file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "ops/op_def.h"
#include "ops/user/rules_access.h"
#include "src/onnxflops.h"
#include "tests/fuzz/require.h"
#include "tests/model_maker.h"

namespace onnxflops {
namespace {

// Every operator of the rules once, on inputs of some ranks and sizes.
ModelMaker Apply(const Rules& rules, uint8_t choice) {
  ModelMaker make;
  make.Input("n", {}).Input("v", {"8"}).Input("x", {"batch", "8"}).Weight("w", {8, 8});
  make.Input("y", {"batch", "8", "0"}).Input("z", {"2", "3", "seq", "8"});
  constexpr const char* kInputs[] = {"x", "w", "v", "", "y", "z", "n"};
  int made = 0;
  for (const OpFamily& family : RulesAccess::Families(rules)) {
    make.proto.add_opset_import()->set_domain(family.domain);
    make.proto.mutable_opset_import()->rbegin()->set_version(1 + choice % 3);
    for (const OpDef& row : family.rows) {
      const std::string output = "out" + std::to_string(made++);
      ModelMaker::Strings inputs;
      for (int i = 0; i < choice % 5; ++i) {
        inputs.emplace_back(kInputs[static_cast<size_t>(choice / 5 + i * (1 + choice % 2)) % 7]);
      }
      make.Node("", row.name, inputs, {output, output + "b"}, {{"size", choice}}).Output(output);
      make.node->set_domain(family.domain);
    }
  }
  return make;
}

void CountWith(const Rules& rules, uint8_t choice) {
  const ModelMaker make = Apply(rules, choice);
  CountOptions options;
  options.bodies = nullptr;  // which ask in a process of their own
  options.rules = rules;
  options.node_rows = true;
  const absl::StatusOr<Report> report = make.Count(options);
  if (!report.ok()) return RequireOneLine(report.status(), "test.onnx: ");
  RequirePrintable(ToTable(*report, {.by = GroupBy::kNode}));
  RequireJson(ToJson(*report));
}

}  // namespace
}  // namespace onnxflops

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace onnxflops;  // NOLINT(google-build-using-namespace): two lines
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const absl::StatusOr<Rules> rules = LoadRules(text, "fuzz.toml");
  if (rules.ok()) {
    CountWith(*rules, data[0]);
  } else {
    RequireOneLine(rules.status(), "fuzz.toml:");
  }
  return 0;
}
