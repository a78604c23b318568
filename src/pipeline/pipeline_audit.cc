// How it works. What a paper gives for a pipeline may be the whole, a part, or one run of a part.
// So each of these figures is a candidate, as each convention is for a model. Equal figures, as of
// one answer and of all if there is one, are named once.
#include "src/pipeline/pipeline_audit.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "src/pipeline/pipeline_parts.h"

namespace onnxflops {
namespace {

class Candidates {
 public:
  void Add(const AuditedPipeline& pipeline, const std::string& stage) {
    at_ = pipeline.at.empty() ? "" : absl::StrCat(", ", pipeline.at);
    const PipelineReport& report = pipeline.report;
    sizes_ = report.bindings;
    const std::optional<absl::int128> answers = ValueOf(report.per_count);
    const std::string each = absl::StrCat(", for each of ", report.per);
    const auto add = [&](const std::string& of, const Totals& totals, const Expr& runs) {
      AddFigures(of, totals, 1);
      AddFigures(absl::StrCat(of, each), totals, report.per.empty() ? 1 : answers.value_or(1));
      AddFigures(absl::StrCat(of, ", a run"), totals, ValueOf(runs).value_or(1));
    };
    if (stage.empty()) add("all stages", report.totals, 1);
    for (const PipelineStageCost& cost : report.stages) {
      if (stage.empty() || cost.name == stage) {
        add(absl::StrCat("stage ", cost.name), cost.totals, cost.runs);
      }
    }
  }

  std::vector<AuditCandidate> Take() { return std::move(all_); }

 private:
  // Of no runs, an open size does not matter.
  std::optional<absl::int128> ValueOf(const Expr& expr) const {
    const Expr value = expr.Substitute(sizes_);
    return value.is_literal() ? std::optional(value.literal()) : std::nullopt;
  }

  // Of one of `parts` equal parts, or the mean of parts that differ.
  void AddFigures(const std::string& of, const Totals& totals, absl::int128 parts) {
    const std::optional<absl::int128> macs = ValueOf(totals.macs), flops = ValueOf(totals.flops);
    if (!macs || !flops || parts < 1) return;
    const std::string what = absl::StrCat(": ", of, at_);
    Add({"onnxflops" + what, Unit::kMac, !totals.lower_bound, *macs / parts});
    Add({"onnxflops" + what, Unit::kFlop, !totals.lower_bound, *flops / parts});
    Add({"macs" + what, Unit::kFlop, !totals.lower_bound, 2 * *macs / parts});
  }
  void Add(AuditCandidate candidate) {
    const bool known = absl::c_any_of(all_, [&](const AuditCandidate& other) {
      return other.unit == candidate.unit && other.value == candidate.value;
    });
    if (!known) all_.push_back(std::move(candidate));
  }

  std::string at_;
  Bindings sizes_;
  std::vector<AuditCandidate> all_;
};

}  // namespace

AuditRow Audit(const std::string& name, const PublishedFigure& published,
               absl::Span<const AuditedPipeline> pipelines, const std::string& stage) {
  const PipelineReport& first = pipelines[0].report;
  const Expr macs = first.totals.macs.Substitute(first.bindings);
  const Expr flops = first.totals.flops.Substitute(first.bindings);
  if (!macs.is_literal() || !flops.is_literal()) {
    return OpenAudit(name, first.file, published, macs);
  }
  Candidates candidates;
  for (const AuditedPipeline& pipeline : pipelines) candidates.Add(pipeline, stage);
  AuditRow row = Audit(name, first.file, published, candidates.Take());
  row.of_pipeline = true;
  return row;
}

}  // namespace onnxflops
