// Classical models of ai.onnx.ml, and the optimizers of ai.onnx.preview.training.
#include <algorithm>

#include "tests/oracle/cases.h"
#include "tests/oracle/elementwise.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/softmax.h"

namespace onnxflops::oracle {
namespace {

std::vector<double> Many(int64_t count) {
  return std::vector<double>(static_cast<size_t>(count), 0.5);
}
std::vector<int64_t> Labels(int64_t count) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count; ++i) labels.push_back(i);
  return labels;
}
// The place of the best score.
void Best(int64_t scores) { MaxOf(Row(static_cast<size_t>(scores), 0.5)); }

// What becomes of the scores of one row.
void Transform(const std::string& post_transform, int64_t scores) {
  if (post_transform == "SOFTMAX") Softmax(Row(static_cast<size_t>(scores), 0.5));
  for (int64_t i = 0; i < scores; ++i) {
    if (post_transform == "LOGISTIC") Sigmoid(0.5);
    // sqrt(2) * erf_inv(2 * x - 1)
    if (post_transform == "PROBIT") 1.41421356 * Erf(Counted(0.5) * 2.0 - 1.0);
  }
}

// The kernel of two vectors of `features`.
struct Kernel {
  const char* name;
  void (*run)(int64_t features);
};
constexpr Kernel kKernels[] = {
    {"LINEAR", [](int64_t features) { Dot(features); }},
    {"POLY", [](int64_t features) { Pow(Dot(features) * 0.5 + 1.0, 3.0); }},
    {"SIGMOID", [](int64_t features) { Tanh(Dot(features) * 0.5 + 1.0); }},
    {"RBF", [](int64_t features) {
       Counted sum = 0;
       for (int64_t i = 0; i < features; ++i) {
         const Counted difference = Counted(0.5) - 0.25;
         sum += difference * difference;
       }
       Exp(Counted(-0.5) * sum);
     }}};

// Every kernel once per vector; then each pair of classes weighs the vectors of both.
void SupportVectorRow(const Kernel& kernel, int64_t features, const Sizes& per_class, bool prob) {
  const int64_t vectors = per_class[0] + per_class[1] + (per_class.size() > 2 ? per_class[2] : 0);
  for (int64_t v = 0; v < vectors; ++v) kernel.run(features);
  for (size_t i = 0; i < per_class.size(); ++i) {
    for (size_t j = i + 1; j < per_class.size(); ++j) {
      const Counted score = Dot(per_class[i] + per_class[j]) + 0.5;
      Compared(0.0, score);  // a vote
      if (prob) Sigmoid(score * 0.5 + 0.25);
    }
  }
}

void SupportVectorClassifiers(const Sizes& x, const Sizes& per_class, const Visit& visit) {
  const auto classes = static_cast<int64_t>(per_class.size());
  const int64_t pairs = classes * (classes - 1) / 2;
  int64_t vectors = 0;
  for (int64_t count : per_class) vectors += count;
  for (const Kernel& kernel : kKernels) {
    for (bool prob : {false, true}) {
      Case c{"SVMClassifier", 1, {In(x)}, {}, 2, kMl};
      c.attributes = {{"kernel_type", kernel.name},
                      {"kernel_params", std::vector<double>{0.5, 1, 3}},
                      {"vectors_per_class", per_class},
                      {"support_vectors", Many(vectors * x[1])},
                      {"coefficients", Many(vectors * (classes - 1))},
                      {"rho", Many(pairs)},
                      {"classlabels_ints", Labels(classes)}};
      if (prob) {
        c.attributes.emplace_back("prob_a", Many(pairs));
        c.attributes.emplace_back("prob_b", Many(pairs));
      }
      visit(c, [&] {
        for (int64_t row = 0; row < x[0]; ++row) {
          SupportVectorRow(kernel, x[1], per_class, prob);
          Best(classes);
        }
        return UnnamedOutputs();
      });
    }
  }
}

}  // namespace

void LinearClassifierCases(const Visit& visit) {
  for (const Sizes& s : Shapes(2, 3)) {
    for (int64_t classes : {2, 3, 4}) {
      for (const char* transform : {"NONE", "SOFTMAX", "LOGISTIC", "PROBIT"}) {
        visit({"LinearClassifier",
               1,
               {In(s)},
               {{"coefficients", Many(classes * s[1])},
                {"intercepts", Many(classes)},
                {"classlabels_ints", Labels(classes)},
                {"post_transform", transform}},
               2,
               kMl},
              [&] {
                for (int64_t row = 0; row < s[0]; ++row) {
                  for (int64_t i = 0; i < classes; ++i) Dot(s[1]) + 0.5;
                  Transform(transform, classes);
                  Best(classes);
                }
                return Outputs({{s[0]}, {s[0], classes}});
              });
      }
    }
  }
}

void SupportVectorCases(const Visit& visit) {
  for (const Sizes& s : Shapes(4, 2)) {
    const Sizes x = {s[0], s[1]};
    SupportVectorClassifiers(x, {s[2], s[3]}, visit);
    SupportVectorClassifiers(x, {s[2], s[3], 3}, visit);
    for (const Kernel& kernel : kKernels) {
      visit({"SVMRegressor",
             1,
             {In(x)},
             {{"kernel_type", kernel.name},
              {"kernel_params", std::vector<double>{0.5, 1, 3}},
              {"n_supports", s[2] + s[3]},
              {"support_vectors", Many((s[2] + s[3]) * s[1])},
              {"coefficients", Many(s[2] + s[3])},
              {"rho", Many(1)}},
             1,
             kMl},
            [&] {
              for (int64_t row = 0; row < s[0]; ++row) {
                for (int64_t v = 0; v < s[2] + s[3]; ++v) kernel.run(s[1]);
                Dot(s[2] + s[3]) + 0.5;
              }
              return OneOutput({s[0], 1});
            });
    }
  }
}

void ImputerCases(const Visit& visit) {
  for (const Sizes& x : Shapes(2, 3)) {
    const auto loop = [&] {
      ForEach(x, [](const Sizes&) { Compared(0.5, 0.25); });
      return OneOutput(x);
    };
    visit({"Imputer",
           1,
           {In(x)},
           {{"imputed_value_floats", Many(x[1])}, {"replaced_value_float", 0.5}},
           1,
           kMl},
          loop);
    visit({"Imputer",
           1,
           {In(x, kInt64)},
           {{"imputed_value_int64s", Labels(1)}, {"replaced_value_int64", int64_t{-1}}},
           1,
           kMl},
          [&] {
            const OnIntegers integers;
            return loop();
          });
  }
}

namespace {

// One element of X by the formulas of the operators, every coefficient multiplied by.
void AdamElement() {
  const Counted gradient = Counted(0.5) * 0.25 + 0.5;
  const Counted v = Counted(0.9) * 0.5 + Counted(0.1) * gradient;
  const Counted h = Counted(0.99) * 0.5 + Counted(0.01) * (gradient * gradient);
  const Counted x = Counted(0.5) - Counted(0.1) * (v / (Sqrt(h) + 1e-6));
  Counted(0.75) * x;
}
// The rate of the step, corrected: T > 0 ? R * sqrt(1 - beta^T) / (1 - alpha^T) : R.
void AdamStep() {
  {
    const OnIntegers integers;
    Compared(0, 1);
  }
  Counted(0.5) * Sqrt(1.0 - Pow(0.99, 2.0)) / (1.0 - Pow(0.9, 2.0));
}
void AdagradElement() {
  const Counted gradient = Counted(0.5) * 0.25 + 0.5;
  const Counted h = 0.5 + gradient * gradient;
  Counted(0.5) - Counted(0.1) * gradient / (Sqrt(h) + 1e-6);
}
void AdagradStep() { Counted(0.5) / (1.0 + Counted(2.0) * 0.1); }  // R / (1 + T * decay)
void MomentumElement() {
  const Counted gradient = Counted(0.5) * 0.25 + 0.5;
  const Counted v = Counted(0.9) * 0.5 + Counted(1) * gradient;
  Counted(0.5) - Counted(0.1) * v;
}
void NesterovElement() {
  const Counted gradient = Counted(0.5) * 0.25 + 0.5;
  const Counted v = Counted(0.9) * 0.5 + Counted(1) * gradient;
  Counted(0.5) - Counted(0.1) * (gradient + Counted(0.9) * v);
}
void MomentumStep() {  // beta holds when T > 0
  const OnIntegers integers;
  Compared(0, 1);
}

struct Optimizer {
  const char* name;
  const char* mode;
  size_t states;  // tensors per X, beside X and its gradient
  void (*element)();
  void (*step)();
};
constexpr Optimizer kOptimizers[] = {{"Adam", nullptr, 2, AdamElement, AdamStep},
                                     {"Adagrad", nullptr, 1, AdagradElement, AdagradStep},
                                     {"Momentum", "standard", 1, MomentumElement, MomentumStep},
                                     {"Momentum", "nesterov", 1, NesterovElement, MomentumStep}};

void OptimizerCase(const Optimizer& o, const std::vector<Sizes>& xs, const Visit& visit) {
  Case c{o.name, 1, {In({}), In({}, kInt64)}, {}, 0, "ai.onnx.preview.training"};
  std::vector<Sizes> outputs;
  for (size_t list = 0; list < 2 + o.states; ++list) {  // X, G and the states
    for (const Sizes& x : xs) {
      c.inputs.push_back(In(x));
      if (list != 1) outputs.push_back(x);
    }
  }
  c.outputs = static_cast<int>(outputs.size());
  c.attributes = {{"norm_coefficient", 0.25}};
  if (o.mode != nullptr) {
    c.attributes.emplace_back("alpha", 0.9);
    c.attributes.emplace_back("beta", 1.0);
    c.attributes.emplace_back("mode", o.mode);
  }
  visit(c, [&] {
    o.step();
    for (const Sizes& x : xs) {
      ForEach(x, [&](const Sizes&) { o.element(); });
    }
    return Outputs(outputs);
  });
}

}  // namespace

void OptimizerCases(const Visit& visit) {
  for (const Optimizer& optimizer : kOptimizers) {
    for (const Sizes& x : Shapes(2, 3)) {
      OptimizerCase(optimizer, {x}, visit);
      OptimizerCase(optimizer, {x, {4}}, visit);
      OptimizerCase(optimizer, {x, {}, {4, 5, 3}}, visit);
    }
  }
}

}  // namespace onnxflops::oracle
