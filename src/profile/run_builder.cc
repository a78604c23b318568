// How it works. The runtime writes an event when it ends, so inner events come before outer ones.
// Each thread has a list of open events. An event that began no later than the last ones of its
// thread encloses them, and becomes their parent. Only events of a body (of Loop, If) can be
// directly inside a kernel, so a kernel that began in the same microsecond as the kernel before it
// does not become its parent. The own time of a kernel is its time minus that of the kernels in its
// bodies.
//
// The event of a whole run ends it: going back from the last event, those that lie within it belong
// to it. Events of another call of the runtime at the same time wait for the end of theirs. Kernels
// of different runs are the same if their parent and name are equal; per run a kernel has a sample
// of calls, executions of bodies and nanoseconds. A hash over the shapes of the outermost kernels
// distinguishes runs of different sizes. Everything that grows has a limit, because profiles are
// untrusted too.
#include "src/profile/run_builder.h"

#include <algorithm>
#include <limits>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"

namespace onnxflops::profile {
namespace {

absl::Status TooMany(absl::string_view what, size_t most) {
  return absl::OutOfRangeError(absl::StrCat("more than ", most, " ", what));
}

// Times below 0 count as 0: a body may run kernels at the same time, and together they take longer
// than it.
void AddTime(int64_t ns, int64_t* sum) {
  *sum = std::min(*sum + std::max<int64_t>(ns, 0), kMaxProfileNs);
}

}  // namespace

absl::Status RunBuilder::Add(Event event) {
  if (pending_.size() == kMaxRunEvents) return TooMany("events in one run", kMaxRunEvents);
  Pending pending;
  pending.kind = event.kind;
  pending.start_ns = event.start_ns;
  pending.ns = pending.own_ns = event.ns;
  pending.thread = event.thread;
  parallel_ = parallel_ || event.parallel;
  if (event.kind == Event::Kind::kKernel) {
    RETURN_IF_ERROR(Intern(&event, &pending));
  }
  pending_.push_back(pending);
  Adopt();
  if (event.kind != Event::Kind::kRun) return absl::OkStatus();
  if (out_.runs.size() == kMaxProfileRuns) return TooMany("runs", kMaxProfileRuns);
  EndRun();
  if (samples_ > kMaxProfileSamples) return TooMany("times of kernels", kMaxProfileSamples);
  if (out_.kernels.size() > kMaxProfileKernels) return TooMany("kernels", kMaxProfileKernels);
  return absl::OkStatus();
}

absl::Status RunBuilder::Intern(Event* event, Pending* pending) {
  auto [name, is_new_name] = names_.try_emplace(event->name, static_cast<int32_t>(names_.size()));
  if (is_new_name) name_bytes_ += event->name.size();
  pending->name = name->second;
  pending->sizes = absl::HashOf(event->outputs);
  const auto [variant, is_new] =
      variants_.try_emplace({pending->name, absl::HashOf(pending->sizes, event->op, event->index)},
                            static_cast<int32_t>(named_.size()));
  pending->variant = variant->second;
  if (!is_new) return absl::OkStatus();
  name_bytes_ += event->op.size();
  if (name_bytes_ > kMaxProfileNameBytes) return TooMany("bytes of names", kMaxProfileNameBytes);
  named_.push_back({name->first, std::move(event->op), event->index, std::move(event->outputs)});
  return absl::OkStatus();
}

void RunBuilder::AdoptFrom(std::vector<int32_t>* open) {
  const auto self = static_cast<int32_t>(pending_.size()) - 1;
  Pending& event = pending_.back();
  while (!open->empty()) {
    Pending& inside = pending_[static_cast<size_t>(open->back())];
    const bool is_body = inside.kind == Event::Kind::kBody;
    // Only bodies can be directly inside a kernel. A kernel that ended earlier and began in the
    // same microsecond ran before this one, not inside it.
    if (event.kind == Event::Kind::kKernel && !is_body) return;
    if (inside.start_ns < event.start_ns) return;
    inside.parent = self;
    if (is_body) ++event.bodies;
    open->pop_back();
  }
}

void RunBuilder::Adopt() {
  const Pending& event = pending_.back();
  const auto self = static_cast<int32_t>(pending_.size()) - 1;
  AdoptFrom(&open_[event.thread]);
  if (event.kind == Event::Kind::kRun && parallel_) {
    for (auto& [thread, open] : open_) AdoptFrom(&open);
  }
  if (open_.size() > kMaxProfileThreads) open_.clear();
  open_[event.thread].push_back(self);
}

int32_t RunBuilder::KernelOf(const Pending& pending, int32_t parent) {
  const auto [it, is_new] =
      kernels_.try_emplace({parent, pending.name}, static_cast<int32_t>(out_.kernels.size()));
  if (is_new) {
    ProfileKernel& kernel = out_.kernels.emplace_back();
    kernel.parent = parent;
  }
  return it->second;
}

void RunBuilder::AddSample(const Pending& pending, int32_t run) {
  ProfileKernel& kernel = out_.kernels[static_cast<size_t>(pending.kernel)];
  if (kernel.samples.empty() || kernel.samples.back().run != run) {
    kernel.samples.push_back({.run = run});
    ++samples_;
  }
  KernelSample& sample = kernel.samples.back();
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max() / 2;
  sample.calls = std::min(sample.calls + 1, kMost);
  sample.bodies =
      static_cast<int32_t>(std::min<int64_t>(int64_t{sample.bodies} + pending.bodies, kMost));
  ProfileRun& of_run = out_.runs.back();
  AddTime(pending.own_ns, &sample.ns);
  AddTime(pending.own_ns, &of_run.kernel_ns);
  if (kernel.parent < 0) of_run.sizes += absl::HashOf(pending.name, pending.sizes);
}

std::vector<int32_t> RunBuilder::FindParents() {
  const auto last = static_cast<int32_t>(pending_.size()) - 1;
  std::vector<int32_t> around(pending_.size(), kNotInRun);
  for (int32_t i = last; i >= 0; --i) {
    Pending& event = pending_[static_cast<size_t>(i)];
    int32_t& outer = around[static_cast<size_t>(i)];
    if (event.parent >= 0) {
      const Pending& parent = pending_[static_cast<size_t>(event.parent)];
      outer = parent.kind == Event::Kind::kKernel ? event.parent
                                                  : around[static_cast<size_t>(event.parent)];
    } else if (i == last) {
      outer = -1;
    }
    if (outer == kNotInRun || event.kind != Event::Kind::kKernel) continue;
    if (outer >= 0) {
      int64_t& own = pending_[static_cast<size_t>(outer)].own_ns;
      own = std::max(own - event.ns, -kMaxProfileNs);
    }
    event.kernel = KernelOf(event, outer < 0 ? -1 : pending_[static_cast<size_t>(outer)].kernel);
  }
  return around;
}

void RunBuilder::Take(const Pending& event, int32_t run) {
  ProfileKernel& kernel = out_.kernels[static_cast<size_t>(event.kernel)];
  AddSample(event, run);
  const Named& named = named_[static_cast<size_t>(event.variant)];
  kernel.name = named.name;
  kernel.op = named.op;
  kernel.index = named.index;
  kernel.outputs = named.outputs;
  if (!keep_events_) return;
  if (out_.events.size() == kMaxTraceEvents) {
    out_.events_omitted = true;
  } else {
    out_.events.push_back({event.start_ns, event.ns, event.kernel, run, event.thread});
  }
}

void RunBuilder::EndRun() {
  const auto run = static_cast<int32_t>(out_.runs.size());
  out_.runs.push_back({.wall_ns = pending_.back().ns});
  const std::vector<int32_t> around = FindParents();
  // Events of another call of the runtime, which runs at the same time, stay.
  std::vector<Pending> others;
  std::vector<int32_t> moved(pending_.size(), -1);
  for (size_t i = 0; i < pending_.size(); ++i) {
    if (around[i] == kNotInRun) {
      moved[i] = static_cast<int32_t>(others.size());
      others.push_back(pending_[i]);
    } else if (pending_[i].kernel >= 0) {
      Take(pending_[i], run);
    }
  }
  for (Pending& event : others) {
    if (event.parent >= 0) event.parent = moved[static_cast<size_t>(event.parent)];
  }
  pending_ = std::move(others);
  open_.clear();
  for (size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].parent < 0) open_[pending_[i].thread].push_back(static_cast<int32_t>(i));
  }
  if (pending_.empty()) {
    variants_.clear();
    named_.clear();
  }
  parallel_ = false;
}

}  // namespace onnxflops::profile
