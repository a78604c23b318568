// The figures of other tools for a model, as one value, and its writers.
//
//   absl::StatusOr<CompareReport> report = CompareTools(model, {}, {.with = {"thop"}});
//   report->tools[0].headline   // thop's figure
//
// A CompareReport owns its content; nothing in it points into the model.
#ifndef ONNXFLOPS_SRC_COMPARE_COMPARE_REPORT_H_
#define ONNXFLOPS_SRC_COMPARE_COMPARE_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/convention/convention_info.h"
#include "src/render/document.h"
#include "src/report/report.h"
#include "src/report/view_options.h"

namespace onnxflops {

using convention::ConventionInfo;
using convention::Standing;
using convention::Unit;

struct CompareRequest {
  // Conventions, NAME or NAME@VERSION; empty: all, once each, of work or of activations.
  std::vector<std::string> with;
  bool activations = false;
  std::string from;         // start from this convention's figure instead of ours
  bool by_module = false;   // terms module by module
  bool node_names = false;  // fill in TermRow::node_names
};

struct TermRow {
  std::string name, reason;
  std::string module;     // with CompareRequest::by_module
  bool of_model = false;  // of the model as a whole: of no node, in no module
  Expr amount;
  int64_t nodes = 0;
  std::vector<std::string> node_names;
};

struct ToolRow {
  const ConventionInfo* convention = nullptr;
  const ConventionInfo* from = nullptr;  // whose figure `start` is; nullptr: ours
  std::string version;                   // of the tool; empty if its figure never changed
  Standing standing = Standing::kExact;
  std::vector<std::string> assumptions;
  std::optional<absl::int128> params;
  Expr start;
  std::vector<TermRow> terms;
  std::optional<Expr> headline;  // start + all amounts, exactly; nullopt if kNotApplicable
};

struct CompareReport {
  Report ours;
  CompareRequest request;
  std::vector<ToolRow> tools;
};

absl::string_view UnitName(Unit unit);              // "MACs", "FLOPs", "activations"
absl::string_view UnitKey(Unit unit);               // in JSON: "mac", "flop", "activation"
absl::string_view StandingName(Standing standing);  // "exact", "assumed", "not_applicable"

// For terminals: a row for every tool; with `waterfalls`, the terms of each instead.
Document ToDocument(const CompareReport& report, bool waterfalls);
std::string ToTable(const CompareReport& report, bool waterfalls, const TableStyle& style = {});
// JSON: "onnxflops.compare/1" (tools/schema/compare.v1.schema.json). It always holds all of the
// report.
std::string ToJson(const CompareReport& report);
std::string ToMarkdown(const CompareReport& report, bool waterfalls);
// A line for every tool; with `waterfalls`, a line for the start, every term and the figure of
// each. Exact digits.
std::string ToCompareCsv(const CompareReport& report, bool waterfalls);

// A page that needs nothing else: the way from our count to each tool's figure.
std::string ToHtml(const CompareReport& report);

// Several models: a row for each, with a column per tool.
Document ToDocument(absl::Span<const CompareReport> reports);
// JSON: "onnxflops.comparisons/1".
std::string ToJson(absl::Span<const CompareReport> reports);
std::string ToCompareCsv(absl::Span<const CompareReport> reports, bool waterfalls);

// Every convention: unit, source, what it includes and misses, and the versions that differ.
std::string ListConventions(const TableStyle& style = {});
// JSON: "onnxflops.conventions/1" (tools/schema/conventions.v1.schema.json).
std::string ListConventionsAsJson();

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_COMPARE_COMPARE_REPORT_H_
