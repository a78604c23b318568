// Limits the work of expressions of a file, wherever it is done.
//
//   WorkLimit limit(1'000'000);          // on this thread, while it exists
//   Expr product = a * b;                // within the limit; beyond it, an Expr with error()
//   if (limit.exceeded()) return ...;    // all results since then may be wrong
//
// Work is counted in steps of about 10 ns: one factor copied, compared or evaluated. Work outside
// expressions, such as on long lists of them, is counted with SpendSteps. Results depend only on
// the expressions and the limit. Work within nested limits counts for both.
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
  int64_t outer_;  // steps left before
  int64_t steps_;
};

// Takes steps from the limits in force.
void SpendSteps(size_t steps);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_WORK_H_
