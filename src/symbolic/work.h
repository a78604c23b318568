// Bounds the work that expressions of a file make, wherever it is done.
//
//   WorkLimit limit(1'000'000);          // on this thread, as long as it lives
//   Expr product = a * b;                // within the limit; beyond it, an Expr with error()
//   if (limit.exceeded()) return ...;    // what was made since may be wrong, all of it
//
// Work is counted in steps, of about 10 ns: a factor that is copied, compared or evaluated. What
// expressions do not see, such as long lists of them, whoever does it counts with SpendSteps.
// Results depend on nothing but the expressions and the limit. Work within a limit inside of
// another counts for both.
#ifndef ONNXFLOPS_SRC_SYMBOLIC_WORK_H_
#define ONNXFLOPS_SRC_SYMBOLIC_WORK_H_

#include <cstddef>
#include <cstdint>

namespace onnxflops {

class WorkLimit {
 public:
  explicit WorkLimit(int64_t steps);
  ~WorkLimit();
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

  bool exceeded() const;

 private:
  int64_t outer_;  // what was left before
  int64_t steps_;
};

// Takes steps from the limits in force.
void SpendSteps(size_t steps);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_WORK_H_
