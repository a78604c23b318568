#include "src/api/profile.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/api/analysis.h"
#include "src/base/status_macros.h"
#include "src/profile/join_profile.h"
#include "src/profile/match_kernels.h"
#include "src/profile/node_costs.h"
#include "src/profile/solve_sizes.h"
#include "src/render/format.h"

namespace onnxflops {
namespace {

using profile::SeenShapes;
using profile::SolvedSizes;

struct FoundSide {
  Analysis analysis;
  profile::Side side;
  SolvedSizes solved;
};

void FillSide(const Profile& profile, FoundSide* found) {
  found->side.inference = &found->analysis.inference;
  found->side.counts = &found->analysis.counts;
  found->side.costs = profile::CostsOfNodes(found->analysis.inference, found->analysis.counts);
  found->side.matched = profile::MatchKernels(found->side.model(), profile);
}

// Counts the model at the sizes of the profile. Sizes bound so far may reveal more of them.
absl::Status FindSide(const Model& model, CountOptions options, const Profile& profile,
                      const SeenShapes& seen, FoundSide* found) {
  constexpr int kMaxRounds = 3;
  for (int round = 0; round < kMaxRounds; ++round) {
    ASSIGN_OR_RETURN(found->analysis, Analyze(model, options, options.causal));
    FillSide(profile, found);
    found->solved = profile::Solve(profile::EquationsOf(
        found->side.model(), profile, found->side.matched, seen, found->side.costs));
    if (found->solved.sizes.empty()) break;
    options.bindings.insert(found->solved.sizes.begin(), found->solved.sizes.end());
  }
  return absl::OkStatus();
}

absl::Status SetPeak(const ProfileOptions& options, ProfileReport* report) {
  constexpr double kGiga = 1e9;
  if (options.peak > 0) {
    report->peak = options.peak;
    report->peak_source = "given";
    return absl::OkStatus();
  }
  if (!options.device) return absl::OkStatus();
  const DeviceChoice& choice = *options.device;
  ASSIGN_OR_RETURN(const PeakFigure peak, FindPeak(choice.device, choice.precision));
  report->peak = static_cast<double>(peak.giga) * kGiga;
  report->peak_source = peak.source;
  report->device = choice.device.name;
  report->dtype = std::string(PrecisionName(choice.precision));
  report->bytes_per_second = static_cast<double>(choice.device.bytes_per_second.value_or(0));
  return absl::OkStatus();
}

void NoteAbovePeak(ProfileReport* report) {
  if (report->peak == 0) return;
  int64_t above = 0;
  for (const ProfileGroup& group : report->groups) {
    above += group.work.flops_per_second().value_or(0) > report->peak ? 1 : 0;
  }
  if (above == 0) return;
  report->notes.push_back(absl::StrCat(
      Plural(above, "kernel"),
      " above the peak, which cannot be: it is the peak of another device or dtype, the time is "
      "that of a launch, or the kernel skips work that is counted"));
}

void NoteContradictions(const SolvedSizes& solved, ProfileReport* report) {
  if (solved.contradictions == 0) return;
  report->notes.push_back(absl::StrCat(
      solved.contradictions,
      " sizes are not those of the profile; is it a profile of this model? The model has ",
      solved.example));
}

}  // namespace

absl::StatusOr<ProfileReport> JoinProfile(const Model& model, const Profile& profile,
                                          const ProfileOptions& options) {
  CountOptions count = options.count;
  count.on_device.reset();
  FoundSide original, optimized;
  SeenShapes seen = profile::ShapesOf(*model, profile, profile::MatchKernels(*model, profile));
  if (options.optimized) {
    const Model& graph = *options.optimized;
    seen = profile::ShapesOf(*graph, profile, profile::MatchKernels(*graph, profile));
    CountOptions of_graph = count;
    of_graph.bindings.clear();
    RETURN_IF_ERROR(FindSide(graph, of_graph, profile, seen, &optimized));
  }
  RETURN_IF_ERROR(FindSide(model, count, profile, seen, &original));
  ASSIGN_OR_RETURN(
      ProfileReport report,
      profile::JoinProfile(original.side, options.optimized ? &optimized.side : nullptr, profile,
                           options.warmup));
  RETURN_IF_ERROR(SetPeak(options, &report));
  if (options.counters) AddCounters(*options.counters, options.counter_runs, &report);
  if (options.calibration) {
    const double ratio = options.calibration->ratio();
    report.calibrated = {options.calibration_file, ratio,
                         ratio * static_cast<double>(report.counted_flops)};
  }
  NoteContradictions(original.solved, &report);
  NoteAbovePeak(&report);
  return report;
}

}  // namespace onnxflops
