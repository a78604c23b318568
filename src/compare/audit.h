// Published figures of models: which convention gives each.
//
//   ASSIGN_OR_RETURN(PublishedFigure figure, ParsePublishedFigure("4.089 GFLOPs"));
//   AuditRow row = Audit("ResNet-50", figure, comparison);
//   row.matches, row.conventions, row.unit   // true, {"onnxflops", ...}, Unit::kMac
#ifndef ONNXFLOPS_SRC_COMPARE_AUDIT_H_
#define ONNXFLOPS_SRC_COMPARE_AUDIT_H_

#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/compare/compare_report.h"
#include "src/render/document.h"
#include "src/report/view_options.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// "4.089 GFLOPs": 4089000000, known to the last digit that is written.
struct PublishedFigure {
  std::string text;
  bool is_known = false;  // false if the text has no figure
  absl::int128 value = 0;
  absl::int128 step = 1;    // unit of the last digit; a figure rounds to `value` within half of it
  Unit unit = Unit::kFlop;  // as it is called
};
// Parses a number, an optional prefix (k, M, G or B, T, P), and MACs, FLOPs or activations in any
// spelling ("GMACs", "GFLOPS", "B flops", "MAdds", "M acts").
absl::StatusOr<PublishedFigure> ParsePublishedFigure(absl::string_view text);

struct AuditRow {
  std::string name, model;
  PublishedFigure published;
  std::string fault;                     // why there is no figure; empty if there is one
  bool matches = false;                  // a convention gives the published digits
  std::vector<std::string> conventions;  // those that do, or the nearest one
  Unit unit = Unit::kFlop;               // theirs
  absl::int128 figure = 0;               // of the first of them
  std::string about;                     // of what the figure is, if a zoo tells
  bool of_pipeline = false;              // names of its conventions have blanks
};

// Compares one published figure with the figures of all conventions; ours is "onnxflops", in MACs
// and in FLOPs. Conventions of the figure's unit come first, exact ones before others. A figure of
// activations needs a comparison of these.
AuditRow Audit(const std::string& name, const PublishedFigure& published,
               const CompareReport& comparison);

// A figure that a published one may be.
struct AuditCandidate {
  std::string name;  // of its convention
  Unit unit = Unit::kFlop;
  bool exact = true;  // false: it rests on a guess
  absl::int128 value = 0;
};
// The same among these figures, of which there is at least one.
AuditRow Audit(const std::string& name, const std::string& model, const PublishedFigure& published,
               std::vector<AuditCandidate> candidates);
// The row of a model whose sizes are open in `macs`.
AuditRow OpenAudit(const std::string& name, const std::string& model,
                   const PublishedFigure& published, const Expr& macs);

Document ToDocument(absl::Span<const AuditRow> rows);
std::string ToCsv(absl::Span<const AuditRow> rows);
// JSON: "onnxflops.audit/1" (tools/schema/audit.v1.schema.json).
std::string ToJson(absl::Span<const AuditRow> rows);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_COMPARE_AUDIT_H_
