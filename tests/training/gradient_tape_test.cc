// The products of a backward pass, by a tape: textbook loops over a number that remembers what it
// was made of. Walking back, each multiply-accumulate takes one for each factor that needs a
// gradient. The rules in ops/ must give as many, for every choice of inputs that need one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/model_maker.h"

namespace onnxflops {
namespace {

using Sizes = std::vector<int64_t>;

// ---- the tape

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
void ForEach(const Sizes& dims, const std::function<void(const Sizes&)>& f) {
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

struct TapeCase {
  const char* what;
  const char* op;
  const char* domain;
  int opset;
  std::vector<Sizes> inputs;  // {}: left out
  std::map<std::string, int64_t> ints;
  std::map<std::string, std::string> strings;
  Loop loop;
};

// ---- loops

// Y[m,n] = activation of A'[m,k] B'[k,n] + C.
Loop Product(bool trans_a, bool trans_b) {
  return [=](Tape* tape, std::vector<Taped>* in) {
    Taped &a = (*in)[0], &b = (*in)[1];
    const int64_t m = a.dims[trans_a ? 1 : 0], k = a.dims[trans_a ? 0 : 1];
    std::vector<size_t> outputs;
    ForEach({m, b.dims[trans_b ? 0 : 1]}, [&](const Sizes& y) {
      size_t acc = Tape::kConstant;
      for (int64_t i = 0; i < k; ++i) {
        tape->MulAcc(&acc, a.at(trans_a ? Sizes{i, y[0]} : Sizes{y[0], i}),
                     b.at(trans_b ? Sizes{y[1], i} : Sizes{i, y[1]}));
      }
      if (in->size() > 2) acc = tape->Make({acc, (*in)[2].at({y[1]})});
      outputs.push_back(tape->Make({acc}));
    });
    return outputs;
  };
}

// Y[n,m,o] of X[n,c,i] and W[m,c/group,k] in two dimensions, without padding; then + B, + Z.
Loop Convolution(int64_t group, int64_t stride) {
  return [=](Tape* tape, std::vector<Taped>* in) {
    Taped &x = (*in)[0], &w = (*in)[1];
    const int64_t m = w.dims[0], c = w.dims[1];
    const int64_t oh = (x.dims[2] - w.dims[2]) / stride + 1;
    const int64_t ow = (x.dims[3] - w.dims[3]) / stride + 1;
    std::vector<size_t> outputs;
    ForEach({x.dims[0], m, oh, ow}, [&](const Sizes& y) {
      size_t acc = Tape::kConstant;
      ForEach({c, w.dims[2], w.dims[3]}, [&](const Sizes& k) {
        const int64_t channel = y[1] / (m / group) * c + k[0];
        tape->MulAcc(&acc, x.at({y[0], channel, y[2] * stride + k[1], y[3] * stride + k[2]}),
                     w.at({y[1], k[0], k[1], k[2]}));
      });
      for (size_t i = 2; i < in->size(); ++i) {
        acc = tape->Make({acc, i == 2 ? (*in)[2].at({y[1]}) : (*in)[3].at(y)});
      }
      outputs.push_back(tape->Make({acc}));
    });
    return outputs;
  };
}

// X[n,c,i] spread by W[c,m/group,k] in one dimension.
Loop TransposedConvolution(int64_t group) {
  return [=](Tape* tape, std::vector<Taped>* in) {
    Taped &x = (*in)[0], &w = (*in)[1];
    const int64_t c = x.dims[1], m = w.dims[1];
    Taped y({x.dims[0], m * group, x.dims[2] + w.dims[2] - 1});
    ForEach({x.dims[0], c, x.dims[2], m, w.dims[2]}, [&](const Sizes& i) {
      const int64_t channel = i[1] / (c / group) * m + i[3];
      tape->MulAcc(&y.at({i[0], channel, i[2] + i[4]}), x.at({i[0], i[1], i[2]}),
                   w.at({i[1], i[3], i[4]}));
    });
    return y.elements;
  };
}

// softmax(Q K') V by heads: `q`, `k`, `v` find an element by batch, head, token and feature.
using Element = std::function<size_t(int64_t, int64_t, int64_t, int64_t)>;
struct Heads {
  int64_t batch, heads, length, total, qk_size, v_size;
};
std::vector<size_t> Attend(Tape* tape, const Heads& h, const Element& q, const Element& k,
                           const Element& v) {
  std::vector<size_t> outputs;
  ForEach({h.batch, h.heads, h.length}, [&](const Sizes& row) {
    std::vector<size_t> scores;
    for (int64_t t = 0; t < h.total; ++t) {
      size_t acc = Tape::kConstant;
      for (int64_t d = 0; d < h.qk_size; ++d) {
        tape->MulAcc(&acc, q(row[0], row[1], row[2], d), k(row[0], row[1], t, d));
      }
      scores.push_back(acc);
    }
    const size_t sum = tape->Make(scores);
    for (size_t& score : scores) score = tape->Make({score, sum});
    for (int64_t d = 0; d < h.v_size; ++d) {
      size_t acc = Tape::kConstant;
      for (int64_t t = 0; t < h.total; ++t) {
        tape->MulAcc(&acc, scores[static_cast<size_t>(t)], v(row[0], row[1], t, d));
      }
      outputs.push_back(acc);
    }
  });
  return outputs;
}

// com.microsoft.Attention: X[B,S,I] W[I,3 H D] + bias.
std::vector<size_t> ProjectedAttention(Tape* tape, std::vector<Taped>* in, int64_t heads) {
  Taped &x = (*in)[0], &w = (*in)[1];
  const int64_t batch = x.dims[0], length = x.dims[1], columns = w.dims[1];
  const int64_t size = columns / 3 / heads;
  Taped qkv({batch, length, columns});
  ForEach(qkv.dims, [&](const Sizes& i) {
    size_t acc = Tape::kConstant;
    for (int64_t f = 0; f < x.dims[2]; ++f) {
      tape->MulAcc(&acc, x.at({i[0], i[1], f}), w.at({f, i[2]}));
    }
    qkv.at(i) = tape->Make({acc, (*in)[2].at({i[2]})});
  });
  const auto part = [&](int64_t which) {
    return [&, which](int64_t b, int64_t h, int64_t t, int64_t d) {
      return qkv.at({b, t, (which * heads + h) * size + d});
    };
  };
  return Attend(tape, {batch, heads, length, length, size, size}, part(0), part(1), part(2));
}

// Q[B,S,Hq*D], K and V [B,T,Hkv*D]: query heads share heads of keys and values.
std::vector<size_t> SharedAttention(Tape* tape, std::vector<Taped>* in, int64_t heads,
                                    int64_t kv_heads) {
  Taped &q = (*in)[0], &k = (*in)[1], &v = (*in)[2];
  const Heads h = {q.dims[0], heads, q.dims[1], k.dims[1], q.dims[2] / heads, v.dims[2] / kv_heads};
  const auto of = [&](Taped* x, int64_t head_size, int64_t share) {
    return [=](int64_t b, int64_t head, int64_t t, int64_t d) {
      return x->at({b, t, head / share * head_size + d});
    };
  };
  const int64_t share = heads / kv_heads;
  return Attend(tape, h, of(&q, h.qk_size, 1), of(&k, h.qk_size, share), of(&v, h.v_size, share));
}

// LSTM in one direction: X[T,B,I] W[1,4H,I] R[1,4H,H] and peepholes P[1,3H].
std::vector<size_t> LongShortTermMemory(Tape* tape, std::vector<Taped>* in) {
  Taped &x = (*in)[0], &w = (*in)[1], &r = (*in)[2];
  const bool peepholes = in->size() > 7;
  const int64_t hidden = r.dims[2], batch = x.dims[1];
  Taped h({batch, hidden}), c({batch, hidden});
  std::vector<size_t> outputs;
  for (int64_t t = 0; t < x.dims[0]; ++t) {
    Taped next({batch, hidden}), next_c({batch, hidden});
    ForEach({batch, hidden}, [&](const Sizes& i) {
      size_t gates[4];
      for (int64_t g = 0; g < 4; ++g) {
        size_t acc = Tape::kConstant;
        for (int64_t f = 0; f < x.dims[2]; ++f) {
          tape->MulAcc(&acc, x.at({t, i[0], f}), w.at({0, g * hidden + i[1], f}));
        }
        for (int64_t f = 0; f < hidden; ++f) {
          tape->MulAcc(&acc, h.at({i[0], f}), r.at({0, g * hidden + i[1], f}));
        }
        if (peepholes && g < 3)
          acc = tape->Make({acc, (*in)[7].at({0, g * hidden + i[1]}), c.at(i)});
        gates[g] = tape->Make({acc});
      }
      next_c.at(i) = tape->Make({gates[0], gates[2], gates[3], c.at(i)});
      next.at(i) = tape->Make({gates[1], next_c.at(i)});
      outputs.push_back(next.at(i));
    });
    h = next;
    c = next_c;
  }
  return outputs;
}

// Columns sampled from four corners each, moved by the offset and weighted by the mask; then a
// product with W.
std::vector<size_t> DeformableConvolution(Tape* tape, std::vector<Taped>* in) {
  Taped &x = (*in)[0], &w = (*in)[1], &offset = (*in)[2], &mask = (*in)[4];
  std::vector<size_t> outputs;
  ForEach({x.dims[0], w.dims[0], offset.dims[2], offset.dims[3]}, [&](const Sizes& y) {
    size_t acc = Tape::kConstant;
    ForEach({w.dims[1], w.dims[2], w.dims[3]}, [&](const Sizes& k) {
      const int64_t place = k[1] * w.dims[3] + k[2];
      const size_t sample =
          tape->Make({x.at({y[0], k[0], y[2], y[3]}), offset.at({y[0], 2 * place, y[2], y[3]}),
                      mask.at({y[0], place, y[2], y[3]})});
      tape->MulAcc(&acc, sample, w.at({y[1], k[0], k[1], k[2]}));
    });
    outputs.push_back(tape->Make({acc, (*in)[3].at({y[1]})}));
  });
  return outputs;
}

// y[b,c,l] = the last k of past and input up to l, with weight[c,0,k]. Past and input are joined to
// one tensor, which takes its gradient as a whole.
std::vector<size_t> CausalConvolution(Tape* tape, std::vector<Taped>* in) {
  Taped &x = (*in)[0], &w = (*in)[1], &past = (*in)[3];
  const int64_t before = w.dims[2] - 1;
  std::vector<size_t> outputs;
  ForEach(x.dims, [&](const Sizes& y) {
    size_t acc = Tape::kConstant;
    for (int64_t k = 0; k <= before; ++k) {
      const int64_t at = y[2] + k - before;
      const size_t own = at < 0 ? past.at({y[0], y[1], before + at}) : x.at({y[0], y[1], at});
      tape->MulAcc(&acc, tape->Make({own, x.at({0, 0, 0}), past.at({0, 0, 0})}),
                   w.at({y[1], 0, k}));
    }
    outputs.push_back(tape->Make({acc, (*in)[2].at({y[1]})}));
  });
  return outputs;
}

// ---- the cases: all sizes of one differ

constexpr char kMs[] = "com.microsoft";

std::vector<TapeCase> Products() {
  return {
      {"MatMul", "MatMul", "", 13, {{3, 5}, {5, 7}}, {}, {}, Product(false, false)},
      {"Gemm",
       "Gemm",
       "",
       13,
       {{5, 3}, {7, 5}, {7}},
       {{"transA", 1}, {"transB", 1}},
       {},
       Product(true, true)},
      {"FusedMatMul",
       "FusedMatMul",
       kMs,
       17,
       {{5, 3}, {5, 7}},
       {{"transA", 1}},
       {},
       Product(true, false)},
      {"FusedMatMul transposed",
       "FusedMatMul",
       kMs,
       17,
       {{3, 5}, {2, 5}},
       {{"transB", 1}},
       {},
       Product(false, true)},
      {"FusedMatMulActivation",
       "FusedMatMulActivation",
       kMs,
       17,
       {{4, 3}, {3, 2}},
       {},
       {{"activation", "Relu"}},
       Product(false, false)},
      {"FusedGemm",
       "FusedGemm",
       kMs,
       17,
       {{2, 5}, {7, 5}, {7}},
       {{"transB", 1}},
       {{"activation", "LeakyRelu"}},
       Product(false, true)},
      {"GemmFastGelu",
       "GemmFastGelu",
       kMs,
       17,
       {{4, 5}, {5, 3}, {3}},
       {},
       {},
       Product(false, false)},
  };
}

std::vector<TapeCase> Convolutions() {
  return {
      {"Conv",
       "Conv",
       "",
       17,
       {{2, 4, 7, 6}, {6, 2, 3, 2}, {6}},
       {{"group", 2}},
       {},
       Convolution(2, 1)},
      {"ConvTranspose",
       "ConvTranspose",
       "",
       17,
       {{2, 4, 5}, {4, 3, 3}},
       {{"group", 2}},
       {},
       TransposedConvolution(2)},
      {"FusedConv",
       "FusedConv",
       kMs,
       17,
       {{2, 3, 7, 5}, {4, 3, 3, 2}, {4}},
       {},
       {{"activation", "Relu"}},
       Convolution(1, 1)},
      {"FusedConv with Z",
       "FusedConv",
       kMs,
       17,
       {{2, 3, 7, 5}, {4, 3, 3, 2}, {4}, {2, 4, 5, 4}},
       {},
       {{"activation", "Sigmoid"}},
       Convolution(1, 1)},
      {"DeformConv",
       "DeformConv",
       "",
       19,
       {{2, 3, 6, 5}, {4, 3, 2, 3}, {2, 12, 5, 3}, {4}, {2, 6, 5, 3}},
       {},
       {},
       DeformableConvolution},
      {"CausalConvWithState",
       "CausalConvWithState",
       "",
       27,
       {{2, 3, 7}, {3, 1, 4}, {3}, {2, 3, 3}},
       {},
       {{"activation", "silu"}},
       CausalConvolution},
  };
}

std::vector<TapeCase> Attentions() {
  const auto shared = [](int64_t heads, int64_t kv_heads) {
    return [=](Tape* tape, std::vector<Taped>* in) {
      return SharedAttention(tape, in, heads, kv_heads);
    };
  };
  const auto projected = [](Tape* tape, std::vector<Taped>* in) {
    return ProjectedAttention(tape, in, 2);
  };
  return {
      {"Attention of ai.onnx",
       "Attention",
       "",
       23,
       {{2, 3, 20}, {2, 5, 10}, {2, 5, 6}},
       {{"q_num_heads", 4}, {"kv_num_heads", 2}},
       {},
       shared(4, 2)},
      {"Attention of com.microsoft",
       "Attention",
       kMs,
       17,
       {{2, 3, 5}, {5, 24}, {24}},
       {{"num_heads", 2}},
       {},
       projected},
      {"MultiHeadAttention",
       "MultiHeadAttention",
       kMs,
       17,
       {{2, 3, 10}, {2, 7, 10}, {2, 7, 6}},
       {{"num_heads", 2}},
       {},
       shared(2, 2)},
      {"GroupQueryAttention",
       "GroupQueryAttention",
       kMs,
       17,
       {{2, 3, 20}, {2, 3, 10}, {2, 3, 10}},
       {{"num_heads", 4}, {"kv_num_heads", 2}},
       {},
       shared(4, 2)},
      {"LSTM",
       "LSTM",
       "",
       14,
       {{3, 2, 5}, {1, 16, 5}, {1, 16, 4}},
       {{"hidden_size", 4}},
       {},
       LongShortTermMemory},
      {"LSTM with peepholes",
       "LSTM",
       "",
       14,
       {{3, 2, 5}, {1, 16, 5}, {1, 16, 4}, {}, {}, {}, {}, {1, 12}},
       {{"hidden_size", 4}},
       {},
       LongShortTermMemory},
  };
}

// ---- both

std::string NameOf(size_t input) { return absl::StrCat("i", input); }

int64_t ByTape(const TapeCase& c, size_t needed) {
  Tape tape;
  std::vector<Taped> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    Taped& input = inputs.emplace_back(c.inputs[i]);
    for (size_t& element : input.elements) element = tape.Leaf((needed >> i & 1) != 0);
  }
  return tape.Backward(c.loop(&tape, &inputs));
}

// Inputs that need a gradient are inputs of the graph, others frozen weights.
absl::StatusOr<Report> ByRule(const TapeCase& c, size_t needed) {
  ModelMaker make(c.opset);
  onnx::OperatorSetIdProto* contrib = make.proto.add_opset_import();
  contrib->set_domain(kMs);
  contrib->set_version(1);
  CountOptions options;
  options.training.emplace().input_gradients = true;
  ModelMaker::Strings names;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    names.push_back(c.inputs[i].empty() ? "" : NameOf(i));
    if (c.inputs[i].empty()) continue;
    ModelMaker::Strings sizes;
    for (int64_t size : c.inputs[i]) sizes.push_back(absl::StrCat(size));
    if ((needed >> i & 1) != 0) {
      make.Input(names.back(), sizes);
    } else {
      make.Weight(names.back(), c.inputs[i]);
      options.training->frozen = {"*"};
    }
  }
  make.Node("n", c.op, names, {"y"}, c.ints).Output("y");
  make.node->set_domain(c.domain);
  for (const auto& [name, value] : c.strings) {
    onnx::AttributeProto* attribute = make.node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(value);
  }
  return make.Count(options);
}

void ExpectEqualProducts(const TapeCase& c) {
  SCOPED_TRACE(c.what);
  for (size_t needed = 1; needed < size_t{1} << c.inputs.size(); ++needed) {
    bool names_absent = false;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      names_absent = names_absent || (c.inputs[i].empty() && (needed >> i & 1) != 0);
    }
    if (names_absent) continue;
    SCOPED_TRACE(needed);
    const absl::StatusOr<Report> report = ByRule(c, needed);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->training->unknown.empty()) << report->training->unknown[0].reason;
    EXPECT_EQ(report->totals.backward_macs, Expr(ByTape(c, needed)));
  }
}

TEST(GradientTapeTest, Products) {
  for (const TapeCase& c : Products()) ExpectEqualProducts(c);
}

TEST(GradientTapeTest, Convolutions) {
  for (const TapeCase& c : Convolutions()) ExpectEqualProducts(c);
}

TEST(GradientTapeTest, AttentionAndRecurrence) {
  for (const TapeCase& c : Attentions()) ExpectEqualProducts(c);
}

}  // namespace
}  // namespace onnxflops
