// How it works. A new file of budgets states what the models cost now, plus 1 %, rounded up to four
// digits. Its sections are for the named models only, so that a model that comes into the folder
// later is not judged by them. Without the margin the next change of any size would fail. A figure
// that depends on the data is written as a comment, because its size is a guess that someone must
// check. Examples of other rules are comments, too.
//
// Raising edits the text of the file and does not write it anew, so that comments and order stay.
// The parser noted where each limit stands. The edits are made from the last place to the first, so
// that earlier places stay valid. Only a limit that is an amount in one line can be raised; for the
// others LeftBudgets tells why not. A limit that several models or sizes break is raised to the
// largest figure.
#include "src/check/edit_budgets.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/setting.h"
#include "src/base/utf8.h"
#include "src/check/judge.h"
#include "src/check/limit_text.h"
#include "src/graph/symbol_origin.h"
#include "src/pipeline/pipeline_file.h"
#include "src/render/format.h"
#include "src/render/html_page.h"
#include "src/report/memory_report.h"
#include "src/report/reference_sizes.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

using check::LimitTextFor;

// The figure plus 1 %, rounded up; the figure itself if the sum would overflow.
absl::int128 WithMargin(absl::int128 value) {
  return value > absl::Int128Max() / 2 ? value : value + (value + 99) / 100;
}

// A basic string of TOML. A character that is not printable is written as its code, so that TOML
// reads it back unchanged.
std::string TomlString(absl::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    uint32_t code = 0;
    const size_t size = DecodeUtf8(text, &code);
    const absl::string_view sequence = text.substr(0, std::max<size_t>(size, 1));
    if (size == 0) {  // no UTF-8, which TOML cannot hold
      absl::StrAppend(&result, "?");
    } else if (code == '"' || code == '\\') {
      absl::StrAppend(&result, "\\", sequence);
    } else if (IsPrintable(code)) {
      absl::StrAppend(&result, sequence);
    } else {
      absl::StrAppend(&result, "\\U", absl::Hex(code, absl::kZeroPad8));
    }
    text.remove_prefix(sequence.size());
  }
  return result + "\"";
}

// The sections of one model. `prefix` comes before their names: "", or "models.\"a.onnx\".".
std::string InitialSections(const Report& report, absl::string_view prefix) {
  const report::ReferenceValues values(report);
  std::string out = absl::StrCat("\n[", prefix, "budget]\n");
  absl::flat_hash_set<std::string> of_data;
  for (const SymbolOrigin& s : report.symbols) {
    if (s.kind != SymbolOrigin::Kind::kInput) of_data.insert(s.name);
  }
  const auto add = [&](const Expr& amount, const Quantity& q) {
    const auto value = values.Of(amount);
    if (!value || *value <= 0) return;
    const std::vector<std::string> names = amount.Symbols();
    const bool open = std::any_of(names.begin(), names.end(),
                                  [&](const std::string& name) { return of_data.contains(name); });
    absl::StrAppend(&out, open ? "# " : "", q.key, " = \"", LimitTextFor(WithMargin(*value), q),
                    open ? "\"  # with sizes of [at] that depend on data\n" : "\"\n");
  };
  for (const Quantity& q : kQuantities) {
    const bool tells = q.value != &Amounts::bops || report.totals.BopsTellMore();
    if (report.Has(q) && tells) add(report.totals.*q.value, q);
  }
  if (report.activation_peak) add(report.activation_peak->bytes, kPeakActivations);
  absl::StrAppend(&out, "\n# Single modules, by their paths; * stands for any signs:\n# [", prefix,
                  "modules.\"encoder.layers.*\"]\n# flops = \"+0%\"\n");
  const auto opset = report.model.opsets.find("ai.onnx");
  if (opset != report.model.opsets.end()) {
    absl::StrAppend(&out, "\n[", prefix, "opset]\nmax = ", opset->second, "\n");
  }
  absl::StrAppend(&out, "\n# [", prefix,
                  "operators]\n# forbid = [\"Loop\", \"com.microsoft.*\"]\n");
  Bindings sizes = report.bindings;
  sizes.insert(values.sizes().begin(), values.sizes().end());
  if (sizes.empty()) return out;
  absl::StrAppend(&out,
                  "\n# Sizes that the model leaves open: a number, or a range as \"1..8\".\n[",
                  prefix, "at]\n");
  for (const auto& [name, size] : sizes) {
    absl::StrAppend(&out, of_data.contains(name) ? "# " : "", TomlString(BareName(name)), " = ",
                    size, "\n");
  }
  return out;
}

// The sections of a pipeline: all stages, and FLOPs of each.
std::string PipelineSections(const InitialPipeline& pipeline, absl::string_view prefix) {
  const PipelineReport& report = pipeline.report;
  const Bindings sizes = report.Sizes();
  std::string out = absl::StrCat("\n[", prefix, "budget]\n");
  const auto add = [&](const Expr& amount, const Quantity& q) {
    const absl::StatusOr<absl::int128> value = amount.Evaluate(sizes);
    if (!value.ok() || *value <= 0) return;
    absl::StrAppend(&out, q.key, " = \"", LimitTextFor(WithMargin(*value), q), "\"\n");
  };
  for (const Quantity& q : kQuantities) {
    if (q.needs == Quantity::Needs::kNothing) add(report.totals.*q.value, q);
  }
  if (report.memory_bytes) add(*report.memory_bytes, kPipelineMemory);
  absl::StrAppend(&out, "\n# Single stages, by their names; * stands for any signs.\n");
  for (const PipelineStageCost& stage : report.stages) {
    if (stage.name.find_first_of("*?") != std::string::npos) continue;  // a pattern
    absl::StrAppend(&out, "[", prefix, "modules.", TomlString(stage.name), "]\n");
    add(stage.totals.flops, QuantityOf(&Amounts::flops));
  }
  Bindings asked = pipeline.given;
  asked.insert(report.at.begin(), report.at.end());
  if (asked.empty()) return out;
  absl::StrAppend(&out,
                  "\n# Numbers of parameters and open sizes: a number, or a range as \"1..8\".\n[",
                  prefix, "at]\n");
  for (const auto& [name, size] : asked) {
    absl::StrAppend(&out, TomlString(BareName(name)), " = ", size, "\n");
  }
  return out;
}

// The name of a file; of a pipeline.toml, which many folders have, with its folder.
absl::string_view ShortNameOf(absl::string_view path) {
  const absl::string_view name = report::FileNameOf(path);
  absl::string_view folder = path.substr(0, path.size() - name.size());
  if (name != kPipelineFile || !absl::ConsumeSuffix(&folder, "/") || folder == ".") return name;
  return path.substr(path.size() - name.size() - 1 - report::FileNameOf(folder).size());
}

// The shortest name that is for none of the other models.
absl::string_view OwnName(absl::string_view path, absl::string_view folder,
                          absl::Span<const absl::string_view> paths) {
  absl::string_view whole = path;
  absl::ConsumePrefix(&whole, "./");
  absl::string_view below = whole;
  absl::ConsumePrefix(&below, folder);
  for (const absl::string_view name : {ShortNameOf(path), below}) {
    const bool is_own = absl::c_none_of(
        paths, [&](absl::string_view other) { return other != path && IsForModel(name, other); });
    if (is_own) return name;
  }
  return whole;
}

}  // namespace

std::string InitialBudgets(absl::Span<const Report> reports, absl::string_view folder,
                           absl::Span<const InitialPipeline> pipelines) {
  std::string out = absl::StrCat(
      reports.size() + pipelines.size() > 1 ? "# What these models may cost: what they cost now"
      : pipelines.empty()                   ? "# What this model may cost: what it costs now"
                                            : "# What this pipeline may cost: what it costs now",
      WithSettings(
          ", and 1 %. `onnxflops check MODEL` holds it to\n"
          "# this file. A limit is an amount (\"16 GFLOP\", \"400 MB\"), what a base may grow by "
          "(\"+2%\",\n"
          "# with {against} or {git}), or { limit = ..., warn = ... }. `onnxflops check {update "
          "on}` "
          "raises it.\n"));
  const auto in_part = [](const Report& report) { return report.totals.lower_bound; };
  const auto pipeline_in_part = [](const InitialPipeline& pipeline) {
    return pipeline.report.totals.lower_bound;
  };
  if (absl::c_any_of(reports, in_part) || absl::c_any_of(pipelines, pipeline_in_part)) {
    absl::StrAppend(&out, "\n# A part of ", reports.size() + pipelines.size() == 1 ? "the" : "a",
                    " model is not counted: limits cannot be proven. This lets them "
                    "pass:\n# lower_bounds = \"pass\"\n");
  }
  // A name with these signs would be a pattern for other models, too.
  if (reports.size() == 1 && pipelines.empty() &&
      reports[0].model.path.find_first_of("*?") != std::string::npos) {
    return out + InitialSections(reports[0], "");
  }
  std::vector<absl::string_view> paths;
  for (const Report& report : reports) paths.push_back(report.model.path);
  for (const auto& [report, given] : pipelines) paths.push_back(report.file);
  const auto prefix = [&](absl::string_view path) {
    return absl::StrCat("models.", TomlString(OwnName(path, folder, paths)), ".");
  };
  for (const Report& report : reports) {
    out += InitialSections(report, prefix(report.model.path));
  }
  for (const InitialPipeline& pipeline : pipelines) {
    out += PipelineSections(pipeline, prefix(pipeline.report.file));
  }
  return out;
}

namespace {

// A limit that can be raised: an amount, in one line of the file.
bool IsRaised(const BudgetRule& rule) {
  return rule.kind == BudgetRule::Kind::kQuantity && rule.limit.place.length > 0 &&
         rule.limit.kind == BudgetLimit::Kind::kAbsolute;
}

bool IsOf(const Judgement& judgement, const BudgetRule& rule) {
  return judgement.place.line == rule.place.line && judgement.place.column == rule.place.column &&
         judgement.rule == rule.name;
}

std::string WhyLeft(const Judgement& judgement) {
  if (judgement.verdict == Verdict::kNotProven) {
    return absl::StrCat("not proven, ", judgement.detail);
  }
  if (judgement.place.line == 0) return "it is not in the file";
  if (judgement.kind == "growth") return "it is relative to a base";
  if (judgement.kind == "amount") return "its text is not in one line";
  return absl::StrCat("it is a limit of ", judgement.kind, ", not an amount");
}

}  // namespace

std::vector<std::string> LeftBudgets(const Budgets& budgets, const CheckReport& report) {
  std::vector<std::string> left;
  for (const Judgement& judgement : report.judgements) {
    if (judgement.passed() || !judgement.is_rule()) continue;
    const bool raised = judgement.verdict == Verdict::kFailed && judgement.actual_value &&
                        absl::c_any_of(budgets.rules, [&](const BudgetRule& rule) {
                          return IsOf(judgement, rule) && IsRaised(rule);
                        });
    if (raised) continue;
    std::string line = absl::StrCat(judgement.model, judgement.model.empty() ? "" : ": ",
                                    judgement.rule, " is left as it is: ", WhyLeft(judgement));
    if (!absl::c_linear_search(left, line)) left.push_back(std::move(line));
  }
  return left;
}

std::string RaisedBudgets(absl::string_view text, const Budgets& budgets,
                          const CheckReport& report) {
  // Edits by place. They are made from the last to the first, so that earlier places stay valid.
  std::map<std::pair<size_t, size_t>, std::pair<size_t, std::string>> edits;
  for (const BudgetRule& rule : budgets.rules) {
    if (!IsRaised(rule)) continue;
    absl::int128 most = -1;
    for (const Judgement& j : report.judgements) {
      if (IsOf(j, rule) && j.verdict == Verdict::kFailed && j.actual_value) {
        most = std::max(most, *j.actual_value);
      }
    }
    if (most < 0) continue;
    edits[{rule.limit.place.line, rule.limit.place.column}] = {
        rule.limit.place.length,
        absl::StrCat("\"", LimitTextFor(WithMargin(most), *rule.quantity), "\"")};
  }
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {
    const auto& [place, what] = *edit;
    std::string& line = lines[place.first - 1];
    // The parser counts columns in characters.
    const auto byte_of = [&](size_t column) {
      size_t byte = 0;
      for (size_t seen = 0; byte < line.size(); ++byte) {
        if ((static_cast<unsigned char>(line[byte]) & 0xc0) != 0x80 && seen++ == column) break;
      }
      return byte;
    };
    const size_t begin = byte_of(place.second - 1);
    const size_t end = byte_of(place.second - 1 + what.first);
    line.replace(begin, end - begin, what.second);
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace onnxflops
