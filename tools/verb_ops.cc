// onnxflops ops: every operator that is supported, with its formula.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/registry.h"
#include "src/base/status_macros.h"
#include "src/report/explain.h"
#include "src/report/format.h"
#include "src/report/json_writer.h"
#include "tools/output.h"
#include "tools/verbs.h"

namespace onnxflops::tools {
namespace {

constexpr VerbHelp kHelp = {
    "onnxflops ops [options]",
    R"(Lists the operators that are supported: domain, versions (the opsets that changed
something), whether they do arithmetic, and the formula of what they cost.
)",
    R"(  Those of ai.onnx and of ONNX Runtime:
    onnxflops ops
  For a script:
    onnxflops ops --format json
  With operators of your own:
    onnxflops ops --rules my_ops.toml
)"};

struct OpLine {
  const char* domain;
  const OpDef* row;
};

const char* StatusOf(const OpDef& row) {
  if (Has(row.traits, Traits::kUnknown)) return "unknown";
  return row.count != nullptr || Has(row.traits, Traits::kControlFlow) ? "counted" : "free";
}

// By domain and name; rows of one operator by version.
std::vector<OpLine> AllLines(const Rules& rules) {
  std::vector<OpLine> lines;
  for (const auto& families : {rules.families(), AllFamilies()}) {
    for (const OpFamily& family : families) {
      for (const OpDef& row : family.rows) lines.push_back({family.domain, &row});
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const OpLine& a, const OpLine& b) {
    const absl::string_view x[] = {a.domain, a.row->name}, y[] = {b.domain, b.row->name};
    return std::lexicographical_compare(std::begin(x), std::end(x), std::begin(y), std::end(y));
  });
  return lines;
}

std::string OpsJson(const std::vector<OpLine>& lines) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.ops/1");
  json.Key("operators").BeginArray();
  for (const OpLine& line : lines) {
    json.BeginObject(JsonWriter::Layout::kOneLine);
    json.Key("domain").String(line.domain);
    json.Key("op").String(line.row->name);
    json.Key("since").BeginArray();
    for (int version : line.row->versions) json.Int(version);
    json.EndArray();
    json.Key("status").String(StatusOf(*line.row));
    json.Key("formula").String(line.row->formula);
    json.Key("note").String(line.row->note);
    json.Key("exceptions").BeginArray();
    for (const OpException& e : line.row->exceptions) json.String(ExceptionText(e));
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

TextTable OpsTable(const std::vector<OpLine>& lines) {
  TextTable table;
  table.columns = {{"domain"},
                   {"operator"},
                   {"versions"},
                   {"status"},
                   {"formula", false, TextTable::Column::Narrow::kCutEnd}};
  for (const OpLine& line : lines) {
    table.rows.push_back(
        {{*line.domain == '\0' ? "ai.onnx" : line.domain, line.row->name,
          absl::StrJoin(line.row->versions, " "), StatusOf(*line.row), line.row->formula}});
  }
  return table;
}

}  // namespace

absl::StatusOr<ExitCode> RunOps(const Arguments& arguments) {
  CLI::App app;
  OutputArguments output;
  RulesArgument rules_file;
  rules_file.AddTo(&app);
  output.AddTo(&app);
  std::string help;
  ASSIGN_OR_RETURN(const bool run, ParseArguments(kHelp, arguments, &app, &help));
  if (!run) {
    RETURN_IF_ERROR(WriteOutput(help, "-", {}));
    return kFine;
  }
  ASSIGN_OR_RETURN(const Format format, output.ParseFormat());
  ASSIGN_OR_RETURN(const Rules rules, rules_file.Parse());
  const std::vector<OpLine> lines = AllLines(rules);
  std::string text;
  switch (format) {
    case Format::kTable:
      text = DrawText(OpsTable(lines), StyleFor(output.file));
      break;
    case Format::kJson:
      text = OpsJson(lines);
      break;
    case Format::kCsv:
      text = DrawCsv(OpsTable(lines));
      break;
    case Format::kMarkdown:
      text = DrawMarkdown(OpsTable(lines));
      break;
  }
  RETURN_IF_ERROR(WriteOutput(text, output.file, {rules_file.file}));
  return kFine;
}

}  // namespace onnxflops::tools
