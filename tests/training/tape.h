// A tape: textbook loops over a number that remembers what it was made of.
#ifndef ONNXFLOPS_TESTS_TRAINING_TAPE_H_
#define ONNXFLOPS_TESTS_TRAINING_TAPE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace onnxflops {

using Sizes = std::vector<int64_t>;

class Tape {
 public:
  static constexpr size_t kConstant = 0;

  Tape() : steps_(1) {}
  size_t Leaf(bool needs) {
    steps_.push_back({{}, false, needs, false});
    return steps_.size() - 1;
  }
  // Made of others by anything but a multiply-accumulate.
  size_t Make(const std::vector<size_t>& of) {
    const bool needs = std::any_of(of.begin(), of.end(), [&](size_t i) { return steps_[i].needs; });
    steps_.push_back({of, false, needs, false});
    return steps_.size() - 1;
  }
  // acc += a * b.
  void MulAcc(size_t* acc, size_t a, size_t b) {
    *acc = Make({*acc, a, b});
    steps_.back().is_mac = true;
  }
  // The multiply-accumulates of the backward pass, dY given for what `outputs` are.
  int64_t Backward(const std::vector<size_t>& outputs) {
    for (size_t output : outputs) steps_[output].gets = true;
    int64_t macs = 0;
    for (size_t i = steps_.size(); i-- > 0;) {
      const Step& step = steps_[i];
      if (!step.gets || !step.needs) continue;
      for (size_t j = 0; j < step.of.size(); ++j) {
        if (!steps_[step.of[j]].needs) continue;
        steps_[step.of[j]].gets = true;
        if (step.is_mac && j > 0) ++macs;
      }
    }
    return macs;
  }

 private:
  struct Step {
    std::vector<size_t> of;
    bool is_mac = false, needs = false, gets = false;
  };
  std::vector<Step> steps_;
};

struct Taped {
  Sizes dims;
  std::vector<size_t> elements;

  explicit Taped(Sizes sizes) : dims(std::move(sizes)) {
    elements.resize(static_cast<size_t>(
        std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>())));
  }
  size_t& at(const Sizes& index) {
    int64_t flat = 0;
    for (size_t i = 0; i < dims.size(); ++i) flat = flat * dims[i] + index[i];
    return elements[static_cast<size_t>(flat)];
  }
};

// Calls f(index) for every index.
inline void ForEach(const Sizes& dims, const std::function<void(const Sizes&)>& f) {
  const int64_t count = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  Sizes index(dims.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t d = dims.size(); d-- > 0; rest /= dims[d]) index[d] = rest % dims[d];
    f(index);
  }
}

// What a loop makes of the inputs: the elements of all outputs.
using Loop = std::function<std::vector<size_t>(Tape*, std::vector<Taped>*)>;

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_TRAINING_TAPE_H_
