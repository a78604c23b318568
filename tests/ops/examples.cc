#include "tests/ops/examples.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "ops/registry.h"

namespace onnxflops {

namespace {

int NewestVersion(const OpDef& def) {
  return *std::max_element(def.versions.begin(), def.versions.end());
}

}  // namespace

std::vector<Example> AllExamples() {
  std::vector<Example> all;
  for (const OpFamily& family : AllFamilies()) {
    for (const OpDef& def : family.rows) {
      for (ExampleText& example : ExamplesOf(family.domain, def)) {
        all.push_back({family.domain, &def, std::move(example)});
      }
    }
  }
  return all;
}

std::vector<std::pair<std::string, Example>> NamedExamples() {
  std::vector<std::pair<std::string, Example>> named;
  std::map<std::string, int> numbers;
  for (const Example& e : AllExamples()) {
    const std::string op = absl::StrCat(e.domain.empty() ? "ai.onnx" : e.domain, ".", e.def->name);
    named.emplace_back(absl::StrCat(op, " ", ++numbers[op]), e);
  }
  return named;
}

absl::StatusOr<onnx::ModelProto> ExampleModel(const Example& e) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  const auto parsed = onnx::OnnxParser::Parse(*model.mutable_graph(), e.example.text.c_str());
  if (!parsed.IsOK()) return absl::InvalidArgumentError(parsed.ErrorMessage());
  const int version = e.example.opset != 0 ? e.example.opset : NewestVersion(*e.def);
  auto* official = model.add_opset_import();
  official->set_domain("");
  official->set_version(e.domain.empty() ? version : 21);
  if (!e.domain.empty()) {
    auto* own = model.add_opset_import();
    own->set_domain(e.domain);
    own->set_version(version);
  }
  return model;
}

}  // namespace onnxflops
