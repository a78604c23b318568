// Orders the events of a profile: which kernels a run executes, and which of them a body runs.
// Events arrive at their end, inner ones first.
#ifndef ONNXFLOPS_SRC_PROFILE_RUN_BUILDER_H_
#define ONNXFLOPS_SRC_PROFILE_RUN_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "src/profile/measured.h"

namespace onnxflops::profile {

struct Event {
  // An execution of a kernel; a run of the main graph or a body; a call of the runtime.
  enum class Kind : uint8_t { kKernel, kBody, kRun } kind = Kind::kKernel;
  std::string name, op;
  int64_t index = -1;
  int64_t start_ns = 0, ns = 0, thread = 0;
  bool parallel = false;  // of a body: its kernels run on several threads
  std::vector<std::vector<int64_t>> outputs;
};

class RunBuilder {
 public:
  // Profile::events are kept if asked for.
  RunBuilder(Profile* profile, bool keep_events) : out_(*profile), keep_events_(keep_events) {}

  // OutOfRange for a limit.
  absl::Status Add(Event event);
  // Events after the last run, of a run that was cut off.
  size_t pending() const { return pending_.size(); }

 private:
  static constexpr int32_t kNotInRun = -2;
  struct Pending {
    Event::Kind kind = Event::Kind::kKernel;
    int32_t name = -1;     // in names_
    int32_t variant = -1;  // in named_
    int32_t parent = -1;   // in pending_
    int32_t kernel = -1;   // in Profile::kernels, once the run ended
    int32_t bodies = 0;
    int64_t start_ns = 0, ns = 0, thread = 0;
    int64_t own_ns = 0;
    uint64_t sizes = 0;
  };
  // The kernels of a name; there may be several, in different bodies.
  struct Named {
    std::string name, op;
    int64_t index = -1;
    std::vector<std::vector<int64_t>> outputs;
  };

  absl::Status Intern(Event* event, Pending* pending);
  // Sets the last event as parent of the events inside it.
  void Adopt();
  void AdoptFrom(std::vector<int32_t>* open);
  void EndRun();
  // By event: the enclosing kernel, in pending_; -1 in the main graph; kNotInRun for events outside
  // the run that ended. Also finds the kernels. A parent comes after its children.
  std::vector<int32_t> FindParents();
  void Take(const Pending& event, int32_t run);
  int32_t KernelOf(const Pending& pending, int32_t parent);
  void AddSample(const Pending& pending, int32_t run);

  Profile& out_;
  const bool keep_events_;
  std::vector<Pending> pending_;
  // By thread: events without a parent yet, in the order of the file.
  absl::flat_hash_map<int64_t, std::vector<int32_t>> open_;
  bool parallel_ = false;  // this run has kernels on several threads
  absl::flat_hash_map<std::string, int32_t> names_;
  absl::flat_hash_map<std::pair<int32_t, uint64_t>, int32_t> variants_;  // name, the rest
  std::vector<Named> named_;
  size_t name_bytes_ = 0;
  int64_t samples_ = 0;
  absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t> kernels_;  // parent, name
};

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_RUN_BUILDER_H_
