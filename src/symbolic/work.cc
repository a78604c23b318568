#include "src/symbolic/work.h"

#include <algorithm>
#include <limits>

#include "src/symbolic/poly.h"

namespace onnxflops {

namespace symbolic {

constinit thread_local int64_t steps_left = std::numeric_limits<int64_t>::max();

}  // namespace symbolic

using symbolic::steps_left;

WorkLimit::WorkLimit(int64_t steps) : outer_(steps_left), steps_(std::min(steps, outer_)) {
  steps_left = steps_;
}

WorkLimit::~WorkLimit() { steps_left = outer_ - (steps_ - steps_left); }

bool WorkLimit::exceeded() const { return steps_left < 0; }

void SpendSteps(size_t steps) { symbolic::Spend(steps); }

}  // namespace onnxflops
