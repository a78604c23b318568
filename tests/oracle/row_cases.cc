// Operators over rows: reductions, softmax, normalisations, losses.
#include <algorithm>

#include "tests/oracle/cases.h"
#include "tests/oracle/loss.h"
#include "tests/oracle/normalization.h"
#include "tests/oracle/reduction.h"
#include "tests/oracle/softmax.h"

namespace onnxflops::oracle {

void ReduceCases(const Visit& visit) {
  for (const Reduction& op : kReductions) {
    for (size_t rank = 1; rank < 4; ++rank) {
      for (const Sizes& x : Shapes(rank, 2)) {
        for (const Sizes& axes : SubsetsOfAxes(rank)) {
          for (int64_t keep : {0, 1}) {
            const Loop loop = [&] { return Reduce(op.reduce, x, axes, keep != 0); };
            visit({op.name, 18, {In(x), Ints(axes)}, {{"keepdims", keep}}}, loop);
            visit({op.name, 11, {In(x)}, {{"axes", axes}, {"keepdims", keep}}}, loop);
          }
        }
        Sizes all;
        for (size_t i = 0; i < rank; ++i) all.push_back(static_cast<int64_t>(i));
        visit({op.name, 18, {In(x)}}, [&] { return Reduce(op.reduce, x, all, true); });
        visit({op.name, 18, {In(x), Ints({3})}}, [&] { return Reduce(op.reduce, x, {3}, true); });
      }
    }
  }
  for (const Reduction& op : kArgReductions) {
    for (const Sizes& x : Shapes(3, 3)) {
      for (int64_t axis = -4; axis <= 3; ++axis) {
        for (int64_t keep : {0, 1}) {
          visit({op.name, 13, {In(x)}, {{"axis", axis}, {"keepdims", keep}}},
                [&] { return Reduce(op.reduce, x, {axis}, keep != 0); });
        }
      }
    }
  }
}

void SoftmaxCases(const Visit& visit) {
  constexpr struct {
    const char* name;
    Row (*row)(Row);
  } kOps[] = {{"Softmax", Softmax}, {"LogSoftmax", LogSoftmax}, {"Hardmax", Hardmax}};
  for (const auto& op : kOps) {
    for (const Sizes& x : Shapes(3, 3)) {
      for (int64_t axis = -4; axis <= 3; ++axis) {
        for (int opset : {11, 13}) {
          visit({op.name, opset, {In(x)}, {{"axis", axis}}},
                [&] { return OverRows(op.row, x, axis, opset < 13); });
        }
      }
    }
  }
}

void NormalizationCases(const Visit& visit) {
  for (const Sizes& x : Shapes(3, 3)) {
    for (int64_t axis = -4; axis <= 3; ++axis) {
      const auto at = static_cast<size_t>(std::clamp<int64_t>(axis < 0 ? axis + 3 : axis, 0, 2));
      const Sizes row = Slice(x, at, 3);
      for (int outputs = 1; outputs <= 3; ++outputs) {
        const Case c{"LayerNormalization", 17, {In(x), In(row)}, {{"axis", axis}}, outputs};
        visit(c, [&] { return LayerNormalization(x, axis, false, outputs); });
        Case biased = c;
        biased.inputs.push_back(In(row));
        visit(biased, [&] { return LayerNormalization(x, axis, true, outputs); });
      }
      visit({"RMSNormalization", 23, {In(x), In(row)}, {{"axis", axis}}},
            [&] { return RmsNormalization(x, axis); });
      for (int64_t p : {1, 2}) {
        for (int opset : {1, 22}) {
          visit({"LpNormalization", opset, {In(x)}, {{"axis", axis}, {"p", p}}},
                [&] { return LpNormalization(x, axis, p); });
        }
      }
    }
    for (const Sizes& axes : SubsetsOfAxes(3)) {
      for (int opset : {9, 13}) {
        visit({"MeanVarianceNormalization", opset, {In(x)}, {{"axes", axes}}},
              [&] { return MeanVarianceNormalization(x, axes); });
      }
    }
  }
  for (const Sizes& x : Shapes(4, 3)) {
    const Input channel = In({x[1]});
    for (int64_t groups = 1; groups <= x[1]; ++groups) {
      visit({"GroupNormalization", 21, {In(x), channel, channel}, {{"num_groups", groups}}},
            [&] { return GroupNormalization(x, groups); });
      if (x[1] % groups != 0) continue;
      const Input group = In({groups});
      visit({"GroupNormalization", 18, {In(x), group, group}, {{"num_groups", groups}}},
            [&] { return GroupNormalization(x, groups); });
    }
    visit({"InstanceNormalization", 22, {In(x), channel, channel}},
          [&] { return GroupNormalization(x, x[1]); });
    for (int64_t size = 1; size <= 4; ++size) {
      visit({"LRN", 13, {In(x)}, {{"size", size}}}, [&] { return Lrn(x, size); });
    }
    const std::vector<Input> inputs = {In(x), channel, channel, channel, channel};
    visit({"BatchNormalization", 15, inputs}, [&] { return BatchNormalization(x, false); });
    visit({"BatchNormalization", 9, inputs}, [&] { return BatchNormalization(x, false); });
    visit({"BatchNormalization", 15, inputs, {{"training_mode", int64_t{1}}}, 3},
          [&] { return BatchNormalization(x, true); });
  }
}

void LossCases(const Visit& visit) {
  std::vector<Sizes> shapes = Shapes(2, 3);
  for (const Sizes& s : Shapes(3, 3)) shapes.push_back(s);
  for (const Sizes& s : Shapes(4, 2)) shapes.push_back(s);
  for (const Sizes& x : shapes) {
    for (const char* reduction : {"none", "sum", "mean"}) {
      for (int flags = 0; flags < 4; ++flags) {
        const Loss loss{x, (flags & 1) != 0, (flags & 2) != 0, reduction};
        const Sizes places = Concat({x[0]}, Slice(x, 2, x.size()));
        Case c{"NegativeLogLikelihoodLoss", 22, {In(x), In(places, kInt64)}};
        if (loss.weights) c.inputs.push_back(In({x[1]}));
        c.attributes = {{"reduction", reduction}};
        if (loss.ignore_index) c.attributes.emplace_back("ignore_index", int64_t{1});
        visit(c, [&] { return NegativeLogLikelihood(loss); });
        c.op = "SoftmaxCrossEntropyLoss";
        c.opset = 13;
        visit(c, [&] { return SoftmaxCrossEntropy(loss, false); });
        c.outputs = 2;
        visit(c, [&] { return SoftmaxCrossEntropy(loss, true); });
      }
    }
  }
}

}  // namespace onnxflops::oracle
