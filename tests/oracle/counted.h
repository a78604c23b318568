// A number that counts what is done to it. Textbook loops written over it execute an operator and,
// by that, say what it costs.
//
// The loops in this folder come from the ONNX specification, never from ops/: a rule and its loop
// must agree in every field, over all small shapes. Accumulators start from their neutral element:
// a dot product of length K is K multiply-accumulates, a sum of K elements is K additions.
#ifndef ONNXFLOPS_TESTS_ORACLE_COUNTED_H_
#define ONNXFLOPS_TESTS_ORACLE_COUNTED_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <utility>
#include <vector>

namespace onnxflops::oracle {

// How often each kind of arithmetic was executed.
struct Executed {
  int64_t mac = 0, add = 0, mul = 0, div = 0, cmp = 0, exp = 0, log = 0, sqrt = 0, pow = 0,
          trig = 0, tanh = 0, erf = 0, round = 0;
  friend bool operator==(const Executed&, const Executed&) = default;
};
std::ostream& operator<<(std::ostream& out, const Executed& e);

// Work on floating-point numbers and, apart from it, work on integers and bools.
struct Work {
  Executed flops;
  Executed int_ops;
  friend bool operator==(const Work&, const Work&) = default;
};

// Counts into the recorder that is current on this thread.
class Recorder {
 public:
  Recorder() : outer_(current_) { current_ = this; }
  ~Recorder() { current_ = outer_; }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  const Work& work() const { return work_; }
  static Executed& Now() {
    return current_->on_integers_ ? current_->work_.int_ops : current_->work_.flops;
  }

 private:
  friend class OnIntegers;
  static thread_local Recorder* current_;
  Recorder* outer_;
  Work work_;
  bool on_integers_ = false;
};

// While it lives, what is executed is work on integers (or not, when `yes` is false).
class OnIntegers {
 public:
  explicit OnIntegers(bool yes = true) : before_(Recorder::current_->on_integers_) {
    Recorder::current_->on_integers_ = yes;
  }
  ~OnIntegers() { Recorder::current_->on_integers_ = before_; }
  OnIntegers(const OnIntegers&) = delete;
  OnIntegers& operator=(const OnIntegers&) = delete;

 private:
  bool before_;
};

class Counted {
 public:
  Counted(double value = 1) : value_(value) {}  // NOLINT(google-explicit-constructor)
  double value() const { return value_; }
  friend Counted operator+(Counted a, Counted b) { return Add(a.value_ + b.value_); }
  friend Counted operator-(Counted a, Counted b) { return Add(a.value_ - b.value_); }
  friend Counted operator*(Counted a, Counted b) {
    ++Recorder::Now().mul;
    return a.value_ * b.value_;
  }
  friend Counted operator/(Counted a, Counted b) {
    ++Recorder::Now().div;
    return a.value_ / b.value_;
  }
  Counted operator-() const { return -value_; }  // flips a bit
  Counted& operator+=(Counted b) { return *this = *this + b; }
  friend bool operator<(Counted a, Counted b) {
    ++Recorder::Now().cmp;
    return a.value_ < b.value_;
  }
  friend bool operator>(Counted a, Counted b) { return b < a; }

 private:
  static Counted Add(double value) {
    ++Recorder::Now().add;
    return value;
  }
  double value_;
};

// acc += a * b, as one multiply-accumulate of a contraction.
inline void MulAcc(Counted* acc, Counted a, Counted b) {
  ++Recorder::Now().mac;
  *acc = Counted(acc->value() + a.value() * b.value());
}
inline Counted Max(Counted a, Counted b) {
  ++Recorder::Now().cmp;
  return std::max(a.value(), b.value());
}
inline Counted Min(Counted a, Counted b) {
  ++Recorder::Now().cmp;
  return std::min(a.value(), b.value());
}

#define ONNXFLOPS_COUNTED_FUNCTION(Name, field, expression) \
  inline Counted Name(Counted x) {                          \
    ++Recorder::Now().field;                                \
    const double v = x.value();                             \
    return expression;                                      \
  }
ONNXFLOPS_COUNTED_FUNCTION(Exp, exp, std::exp(v))
ONNXFLOPS_COUNTED_FUNCTION(Log, log, std::log(v))
ONNXFLOPS_COUNTED_FUNCTION(Sqrt, sqrt, std::sqrt(v))
ONNXFLOPS_COUNTED_FUNCTION(Tanh, tanh, std::tanh(v))
ONNXFLOPS_COUNTED_FUNCTION(Erf, erf, std::erf(v))
ONNXFLOPS_COUNTED_FUNCTION(Round, round, std::nearbyint(v))
ONNXFLOPS_COUNTED_FUNCTION(Trig, trig, std::sin(v))
#undef ONNXFLOPS_COUNTED_FUNCTION
inline Counted Pow(Counted x, Counted y) {
  ++Recorder::Now().pow;
  return std::pow(x.value(), y.value());
}

using Sizes = std::vector<int64_t>;
using Row = std::vector<Counted>;

// A dense tensor of counted numbers, row-major.
struct Tensor {
  Sizes dims;
  std::vector<Counted> elements;

  explicit Tensor(Sizes sizes)
      : dims(std::move(sizes)), elements(static_cast<size_t>(Count(dims)), Counted(0.5)) {}
  static int64_t Count(const Sizes& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  }
  Counted& at(const Sizes& index) {
    int64_t flat = 0;
    for (size_t i = 0; i < dims.size(); ++i) flat = flat * dims[i] + index[i];
    return elements[static_cast<size_t>(flat)];
  }
};

// Calls `visit` with every index of a box of these sizes, last dimension fastest.
template <typename Visit>
void ForEach(const Sizes& sizes, Visit visit) {
  if (Tensor::Count(sizes) == 0) return;
  Sizes index(sizes.size(), 0);
  for (;;) {
    visit(const_cast<const Sizes&>(index));
    size_t d = sizes.size();
    while (d > 0 && ++index[d - 1] == sizes[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_COUNTED_H_
