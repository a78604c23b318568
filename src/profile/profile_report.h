// The report of `profile`: the time of a run and its work, by kernel, operator and module.
#ifndef ONNXFLOPS_SRC_PROFILE_PROFILE_REPORT_H_
#define ONNXFLOPS_SRC_PROFILE_PROFILE_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "src/profile/measured.h"
#include "src/render/document.h"
#include "src/report/view_options.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// Over the runs that count.
struct TimeSpread {
  int64_t median_ns = 0, least_ns = 0, most_ns = 0;
};

// Work and the time that it took, in a run.
struct ProfileWork {
  int64_t ns = 0;  // of its kernels, in the median run
  absl::int128 flops = 0, macs = 0, bytes = 0;
  int64_t kernels = 0;
  bool lower_bound = false;  // something in it has no rule

  void Add(const ProfileWork& other);
  // nullopt without a time.
  std::optional<double> flops_per_second() const;
};

// Kernels of the profile that represent the same nodes of the model; usually one.
struct ProfileGroup {
  std::vector<std::string> kernels;  // as the profile calls them
  std::vector<std::string> nodes;    // of the model; empty if it did not join
  std::string op;                    // of the kernel with the most MACs, else the most work
  int32_t module = 0;                // the smallest that holds its matrix products
  int64_t calls = 0;                 // of one kernel, per run
  TimeSpread time;                   // of all of them
  ProfileWork work;
  bool joined() const { return !nodes.empty(); }
};

struct ProfileModule {
  std::string path, type;  // path "" for the model
  int32_t parent = -1, depth = 0;
  int32_t end = 0;   // the modules inside are those from its index on, before this one
  ProfileWork own;   // of kernels that belong to no module inside
  ProfileWork work;  // with the modules inside
};

// A Loop, Scan or If that was executed.
struct ProfileControl {
  std::string node, op;
  TimeSpread bodies;        // how often it ran a body, in a run of the model: not a time
  std::string counted;      // "5 trips", as counted
  std::string taken;        // of an If, the branches that ran
  std::string taken_count;  // of an If, the branch that counts
  bool differs = false;
};

// Measurements of hardware counters next to our count. Measured and counted FLOPs stay separate;
// only `hybrid` sums both, and it reports the share of each.
struct ProfileCounters {
  struct Kernel {
    std::string name;
    absl::int128 flops = 0;  // of a run of the model
    int32_t group = -1;      // index in ProfileReport::groups; -1: of no kernel of this name
  };
  std::string path, source;
  int64_t runs = 1;             // that the file covers
  std::vector<Kernel> kernels;  // in the order of the file
  absl::int128 measured = 0;    // of all of them
  double measured_to_counted = 0;
  // Counters if the file has them, otherwise the count.
  absl::int128 hybrid_measured = 0, hybrid_counted = 0;
  int64_t joined = 0;                // kernels of the file that are some of the profile
  std::vector<std::string> reasons;  // why both differ, likely
};

// The count times a ratio that was measured before.
struct ProfileCalibrated {
  std::string path;
  double ratio = 0;
  double flops = 0;
};

struct ProfileReport {
  std::string model, profile, optimized;  // paths; optimized "": joined by name
  ProfileSource source = ProfileSource::kOnnxRuntime;
  Bindings bindings;  // given, or found in the profile
  // Runs of the profile; those skipped at its beginning; those at other sizes.
  int64_t runs = 0, warmup = 0, other_sizes = 0;
  int64_t used() const { return runs - warmup - other_sizes; }
  std::optional<TimeSpread> wall;  // from call to return
  TimeSpread kernels;              // sums of the kernels of a run
  // The run to which all times except spreads belong, from 0 in the profile, and its duration; 0 if
  // unknown.
  int64_t median_run = 0, wall_ns = 0;
  std::optional<int64_t> outside_ns;                 // the part of it outside kernels
  ProfileWork total;                                 // of all kernels; FLOPs as executed
  absl::int128 counted_flops = 0, counted_macs = 0;  // as in `count`
  std::vector<ProfileGroup> groups;                  // the longest first
  std::vector<ProfileModule> modules;                // each before those inside; [0] is the model
  // Nodes without a kernel, and their work.
  int64_t nodes_without_kernel = 0;
  absl::int128 flops_without_kernel = 0, macs_without_kernel = 0;
  std::vector<ProfileControl> control;
  std::optional<ProfileCounters> counters;      // AddCounters
  std::optional<ProfileCalibrated> calibrated;  // ProfileOptions::calibration
  double peak = 0;                              // FLOP/s; 0: not given
  std::string device, dtype, peak_source;
  double bytes_per_second = 0;  // 0: not known
  std::vector<std::string> notes;
  std::vector<TraceEvent> events;       // of the profile, in runs that count
  std::vector<int32_t> group_of_event;  // by kernel of an event: index in `groups`, or -1

  // The time of a run: all kernels and the time outside.
  int64_t run_ns() const { return total.ns + outside_ns.value_or(0); }
  // FLOPs of a run, including nodes without a kernel.
  absl::int128 run_flops() const { return total.flops + flops_without_kernel; }
  // These divided by the time of the median run, or of its kernels if that is unknown.
  std::optional<double> flops_per_second() const;
};

enum class ProfileSort : uint8_t {
  kTime,
  kFlops,
  kGap,  // how far the share of time is above the share of FLOPs
};

struct ProfileView {
  GroupBy by = GroupBy::kModule;
  int depth = -1;  // of modules; -1: all, where layers that are alike may share a row
  int top = 40;    // so many rows, the others are one; 0: all
  ProfileSort sort = ProfileSort::kTime;
};

Document ToDocument(const ProfileReport& report, const ProfileView& view);
std::string ToCsv(const ProfileReport& report, const ProfileView& view);
// A page that needs nothing else: modules and kernels, as large as their time.
std::string ToHtml(const ProfileReport& report);
// "onnxflops.profile/1": everything, whatever the view.
std::string ToJson(const ProfileReport& report);
// The events with args.flops and args.module, in Chrome's JSON, which Perfetto opens. REQUIRES:
// events.
std::string ToPerfetto(const ProfileReport& report);
// The modules as a flame graph of speedscope.app: as wide as their time.
std::string ToSpeedscope(const ProfileReport& report);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_PROFILE_PROFILE_REPORT_H_
