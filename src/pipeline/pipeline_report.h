// What one answer of a pipeline costs: every stage with all its runs, and their sum.
//
//   report.totals.flops.ToString()          // "2*images*steps*338749337600 + ..."
//   report.stages[0].totals.flops           // of all runs of the stage
//   ToDocument(report, {})                  // figures at report.at
#ifndef ONNXFLOPS_SRC_PIPELINE_PIPELINE_REPORT_H_
#define ONNXFLOPS_SRC_PIPELINE_PIPELINE_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cost/amounts.h"
#include "src/pipeline/pipeline_file.h"
#include "src/render/document.h"
#include "src/report/report.h"
#include "src/report/view_options.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// The least time of all runs on a device, in 10^-21 s.
struct PipelineTime {
  Expr bound;
  Expr arithmetic, memory;   // of a loop the bound is the larger one of both sums
  bool memory_known = true;  // false: how much a cache of the device keeps is not known
};

// What must hold wherever the formulas of a stage do: learned positions end somewhere.
struct PipelineLimit {
  Expr value;
  int64_t most = 0;
  std::string what;  // "new + past"
};

struct PipelineStageCost {
  std::string name, path;
  Expr runs = 1;          // `times` x the trips of `for`
  std::string runs_text;  // "beams x (t < tokens)"
  Share probability;
  std::string policy;                                      // as PipelineStage has it
  std::vector<std::pair<std::string, std::string>> sizes;  // as set: "batch", "2*images"
  std::vector<std::string> assumed;                        // "batch = 1"
  std::vector<std::string> fixed;         // by the export: "resolution // scale = 64"
  bool has_formula = true;                // false: counted at the values of the parameters alone
  int64_t uncounted = 0;                  // nodes without a rule in a run: figures are lower bounds
  bool is_step = false;                   // counted on the graph of a decoding step
  Totals totals;                          // of all runs; with a probability, expected; params once
  Expr certain_flops;                     // of all runs, without the probability
  std::string weights_of;                 // the earlier stage that has the same weights, or ""
  std::optional<Expr> peak_activations;   // the largest of its runs; nullopt: not known
  std::optional<absl::int128> peak_here;  // the same at the report's sizes
  std::optional<PipelineTime> time;
  std::vector<PipelineLimit> limits;
  std::vector<std::string> warnings;  // of the counts of its first and its last run
};

struct PipelineReport {
  std::string file, title;
  std::vector<PipelineParameter> parameters;
  Bindings bindings;      // parameters and sizes that are numbers
  Bindings at;            // sizes of open symbols at which figures are shown to people
  bool expected = false;  // some stage has a probability: figures are expectations
  std::vector<PipelineStageCost> stages;
  Totals totals;  // parameters of shared weights count once
  bool in_turn = false;
  std::optional<Expr> memory_bytes;  // weights and activations at the peak; nullopt: not known
  bool memory_has_formula = true;    // false: it is the number at these sizes
  std::string per;                   // a name, or ""
  Expr per_count = 1;                // how many there are
  std::string device, dtype;
  std::optional<PipelineTime> time;

  // bindings and `at`.
  Bindings Sizes() const;
};

// The memory of a pipeline: PipelineReport::memory_bytes.
inline constexpr Quantity kPipelineMemory = {"memory_bytes", "memory", Quantity::Unit::kBytes,
                                             Quantity::Of::kWork, nullptr};

// The file, its title and its parameters, each a text.
std::vector<std::string> PipelineTitle(const PipelineReport& report);

std::string ToJson(const PipelineReport& report);  // "onnxflops.pipeline/1"
std::string ToCsv(const PipelineReport& report);
std::string ToHtml(const PipelineReport& report);  // a page
Document ToDocument(const PipelineReport& report, const ViewOptions& options);

// One pipeline with several numbers for some names.
struct PipelineSweep {
  struct Point {
    Bindings at;
    PipelineReport report;
  };
  std::vector<std::string> symbols;  // in the order of the call
  std::vector<Point> points;         // every combination, at least one; the last name changes first
};

std::string ToJson(const PipelineSweep& sweep);  // "onnxflops.pipelines/1"
std::string ToCsv(const PipelineSweep& sweep);   // the lines of each point, its numbers first
std::string ToHtml(const PipelineSweep& sweep);  // a page of all points, without their stages
Document ToDocument(const PipelineSweep& sweep, const ViewOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_PIPELINE_PIPELINE_REPORT_H_
