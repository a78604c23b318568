// RNN, GRU and LSTM, by the equations of the specification.
#ifndef ONNXFLOPS_TESTS_ORACLE_RNN_H_
#define ONNXFLOPS_TESTS_ORACLE_RNN_H_

#include <cstddef>
#include <string>

#include "tests/oracle/elementwise.h"

namespace onnxflops::oracle {

struct Activation {
  const char* name;
  Unary run;
};
inline constexpr Activation kActivations[] = {
    {"Sigmoid", Sigmoid},
    {"Tanh", Tanh},
    {"Relu", [](Counted x) { return Max(x, 0.0); }},
    {"Affine", [](Counted x) { return 0.5 * x + 0.25; }},
    {"LeakyRelu",
     [](Counted x) {
       const Counted scaled = 0.01 * x;
       return x < 0.0 ? scaled : x;
     }},
    {"ThresholdedRelu", [](Counted x) { return x < 1.0 ? Counted(0) : x; }},
    {"ScaledTanh", [](Counted x) { return 0.5 * Tanh(0.25 * x); }},
    {"HardSigmoid", HardSigmoid},
    {"Elu", [](Counted x) { return Elu(x, 1.0); }},
    {"Softsign", [](Counted x) { return x / (1.0 + x); }},
    {"Softplus", Softplus},
};

struct Recurrence {
  int64_t steps = 1, batch = 1, input = 1, hidden = 1, directions = 1;
  bool bias = false, peepholes = false, clip = false;
  bool linear_before_reset = false, input_forget = false, batch_first = false;
  Unary f = Sigmoid, g = Tanh, h = Tanh;

  Counted Activate(Unary activation, Counted x) const {
    if (clip) x = Min(Max(x, -1.0), 1.0);
    return activation(x);
  }
  // x W' + h R' + Wb + Rb of one element of one gate.
  Counted Gate() const {
    Counted acc = 0;
    for (int64_t i = 0; i < input; ++i) MulAcc(&acc, 0.5, 0.25);
    for (int64_t i = 0; i < hidden; ++i) MulAcc(&acc, 0.5, 0.25);
    if (bias) {
      acc += 0.125;
      acc += 0.125;
    }
    return acc;
  }
};

inline void RnnElement(const Recurrence& r) { r.Activate(r.f, r.Gate()); }

inline void GruElement(const Recurrence& r) {
  const Counted z = r.Activate(r.f, r.Gate());
  const Counted reset = r.Activate(r.f, r.Gate());
  const Counted before = 0.5;
  Counted hidden = 0;
  if (r.linear_before_reset) {
    Counted of_input = 0, of_state = 0;
    for (int64_t i = 0; i < r.input; ++i) MulAcc(&of_input, 0.5, 0.25);
    for (int64_t i = 0; i < r.hidden; ++i) MulAcc(&of_state, 0.5, 0.25);
    if (r.bias) of_state += 0.125;
    if (r.bias) of_input += 0.125;
    hidden = of_input + reset * of_state;
  } else {
    reset* before;  // for one element of the state that the others multiply with
    hidden = r.Gate();
  }
  hidden = r.Activate(r.g, hidden);
  (1.0 - z) * hidden + z* before;
}

inline void LstmElement(const Recurrence& r) {
  const auto gate = [&](Counted cell) {
    Counted acc = r.Gate();
    if (r.peepholes) acc += Counted(0.5) * cell;
    return r.Activate(r.f, acc);
  };
  const Counted before = 0.5;
  const Counted in = gate(before);
  Counted forget;
  if (r.input_forget) {
    forget = 1.0 - in;
  } else {
    forget = gate(before);
  }
  const Counted proposed = r.Activate(r.g, r.Gate());
  const Counted cell = forget * before + in * proposed;
  const Counted out = gate(cell);
  out* r.Activate(r.h, cell);
}

inline Outputs Recurrent(void (*element)(const Recurrence&), const Recurrence& r, int outputs) {
  ForEach({r.directions, r.steps, r.batch, r.hidden}, [&](const Sizes&) { element(r); });
  const Sizes state = r.batch_first ? Sizes{r.batch, r.directions, r.hidden}
                                    : Sizes{r.directions, r.batch, r.hidden};
  std::vector<Sizes> dims(static_cast<size_t>(outputs), state);
  dims[0] = r.batch_first ? Sizes{r.batch, r.steps, r.directions, r.hidden}
                          : Sizes{r.steps, r.directions, r.batch, r.hidden};
  return dims;
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_RNN_H_
