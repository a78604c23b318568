// The products of a backward pass, by a tape: textbook loops over a number that remembers what it
// was made of. Walking back, each multiply-accumulate takes one for each factor that needs a
// gradient. The rules in ops/ must give as many, for every choice of inputs that need one.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/model_maker.h"
#include "tests/training/tape.h"

namespace onnxflops {
namespace {

using Ints = std::map<std::string, int64_t>;
using Strings = std::map<std::string, std::string>;

struct TapeCase {
  std::string what, op, domain;
  int opset;
  std::vector<Sizes> inputs;  // {}: left out
  Ints ints;
  Strings strings;
  Loop loop;
  std::map<std::string, float> floats = {};
};

constexpr char kMs[] = "com.microsoft";
constexpr char kPreview[] = "ai.onnx.preview";

// `what` is "Attention with a cap of com.microsoft": the operator first, its domain last.
TapeCase CaseOf(const std::string& what, int opset, const std::vector<Sizes>& inputs,
                const Ints& ints, const Loop& loop, const Strings& strings = {}) {
  TapeCase c = {what, what.substr(0, what.find_first_of(" ,")), "", opset, inputs, ints, strings,
                loop};
  for (const char* domain : {kMs, kPreview}) {
    if (absl::EndsWith(what, domain)) c.domain = domain;
  }
  return c;
}

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

// The same of [B,H,S,D].
std::vector<size_t> HeadsApart(Tape* tape, std::vector<Taped>* in) {
  Taped &q = (*in)[0], &k = (*in)[1], &v = (*in)[2];
  const Heads h = {q.dims[0], q.dims[1], q.dims[2], k.dims[2], q.dims[3], v.dims[3]};
  const auto of = [](Taped* x, int64_t share) {
    return [=](int64_t b, int64_t head, int64_t t, int64_t d) {
      return x->at({b, head / share, t, d});
    };
  };
  const int64_t share = q.dims[1] / k.dims[1];
  return Attend(tape, h, of(&q, 1), of(&k, share), of(&v, share));
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

// X W' + H R' by gates; `last` makes the new state of the sums of the gates and the old state.
using Combine = std::function<size_t(Tape*, const std::vector<size_t>&, size_t)>;
Loop Recurrent(int64_t gates, const Combine& last) {
  return [=](Tape* tape, std::vector<Taped>* in) {
    Taped &x = (*in)[0], &w = (*in)[1], &r = (*in)[2];
    const int64_t hidden = r.dims[2], batch = x.dims[1];
    Taped h({batch, hidden});
    std::vector<size_t> outputs;
    for (int64_t t = 0; t < x.dims[0]; ++t) {
      Taped next({batch, hidden});
      ForEach({batch, hidden}, [&](const Sizes& i) {
        std::vector<size_t> sums;
        for (int64_t g = 0; g < gates; ++g) {
          size_t& acc = sums.emplace_back(Tape::kConstant);
          for (int64_t f = 0; f < x.dims[2]; ++f) {
            tape->MulAcc(&acc, x.at({t, i[0], f}), w.at({0, g * hidden + i[1], f}));
          }
          for (int64_t f = 0; f < hidden; ++f) {
            tape->MulAcc(&acc, h.at({i[0], f}), r.at({0, g * hidden + i[1], f}));
          }
        }
        next.at(i) = last(tape, sums, h.at(i));
        outputs.push_back(next.at(i));
      });
      h = next;
    }
    return outputs;
  };
}

// GRU, the reset before its product: the third gate multiplies rt . Ht-1.
std::vector<size_t> ResetBefore(Tape* tape, std::vector<Taped>* in) {
  Taped &x = (*in)[0], &w = (*in)[1], &r = (*in)[2];
  const int64_t hidden = r.dims[2], batch = x.dims[1];
  Taped h({batch, hidden});
  std::vector<size_t> outputs;
  for (int64_t t = 0; t < x.dims[0]; ++t) {
    Taped gates[3] = {Taped({batch, hidden}), Taped({batch, hidden}), Taped({batch, hidden})};
    Taped state = h;
    for (int64_t g = 0; g < 3; ++g) {
      ForEach({batch, hidden}, [&](const Sizes& i) {
        size_t& acc = gates[g].at(i);
        for (int64_t f = 0; f < x.dims[2]; ++f) {
          tape->MulAcc(&acc, x.at({t, i[0], f}), w.at({0, g * hidden + i[1], f}));
        }
        for (int64_t f = 0; f < hidden; ++f) {
          tape->MulAcc(&acc, state.at({i[0], f}), r.at({0, g * hidden + i[1], f}));
        }
      });
      if (g != 1) continue;
      ForEach({batch, hidden}, [&](const Sizes& i) {
        state.at(i) = tape->Make({gates[1].at(i), h.at(i)});
      });
    }
    ForEach({batch, hidden}, [&](const Sizes& i) {
      h.at(i) = tape->Make({gates[0].at(i), gates[2].at(i), h.at(i)});
      outputs.push_back(h.at(i));
    });
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

// A state S[dk,dv] per head of keys: decayed, corrected by what it holds for the key, the outer
// product of key and value added; then read by heads of queries. Inputs [B,T,H*D], or with H and D
// apart, which is the same in memory.
Loop StateOverSteps(int64_t heads, int64_t kv_heads, bool gated, bool delta) {
  return [=](Tape* tape, std::vector<Taped>* in) {
    Taped &q = (*in)[0], &k = (*in)[1], &v = (*in)[2];
    const int64_t batch = q.dims[0], steps = q.dims[1];
    const auto size_of = [&](const Taped& x, int64_t count) {
      return static_cast<int64_t>(x.elements.size()) / (batch * steps * count);
    };
    const int64_t dk = size_of(k, kv_heads), dv = size_of(v, kv_heads);
    for (Taped* x : {&q, &k, &v}) x->dims = {batch, steps, size_of(*x, 1)};
    std::vector<size_t> outputs;
    ForEach({batch, kv_heads}, [&](const Sizes& b) {
      const int64_t h = b[1];
      Taped state({dk, dv});
      const bool past = in->size() > 3 && !(*in)[3].dims.empty();
      ForEach(state.dims, [&](const Sizes& i) {
        if (past) state.at(i) = (*in)[3].at({b[0], h, i[0], i[1]});
      });
      for (int64_t t = 0; t < steps; ++t) {
        for (size_t& s : state.elements) {
          if (gated) s = tape->Make({s, (*in)[4].at({b[0], t, h})});
        }
        std::vector<size_t> added;
        for (int64_t j = 0; j < dv; ++j) {
          added.push_back(v.at({b[0], t, h * dv + j}));
          if (!delta) continue;
          size_t held = Tape::kConstant;
          for (int64_t i = 0; i < dk; ++i) {
            tape->MulAcc(&held, state.at({i, j}), k.at({b[0], t, h * dk + i}));
          }
          added.back() = tape->Make({added.back(), held, (*in)[5].at({b[0], t, h})});
        }
        ForEach(state.dims, [&](const Sizes& i) {
          tape->MulAcc(&state.at(i), k.at({b[0], t, h * dk + i[0]}),
                       added[static_cast<size_t>(i[1])]);
        });
        ForEach({heads / kv_heads, dv}, [&](const Sizes& o) {
          const int64_t head = h * (heads / kv_heads) + o[0];
          size_t& acc = outputs.emplace_back(Tape::kConstant);
          for (int64_t i = 0; i < dk; ++i) {
            tape->MulAcc(&acc, q.at({b[0], t, head * dk + i}), state.at({i, o[1]}));
          }
        });
      }
    });
    return outputs;
  };
}

// X[T,H] through k of the experts fc1[E,I,H] (gate and value, where `fused`), maybe fc3[E,I,H], and
// fc2[E,H,I], weighted by router[T,E]. Which experts is the same to the count.
Loop Mixture(int64_t routed, bool fused) {
  return [=](Tape* tape, std::vector<Taped>* in) {
    Taped &x = (*in)[0], &router = (*in)[1], &fc1 = (*in)[2], &fc2 = (*in)[4];
    const int64_t hidden = x.dims[1], experts = fc1.dims[0], inner = fc2.dims[2];
    Taped* fc3 = in->size() > 6 ? &(*in)[6] : nullptr;
    std::vector<size_t> outputs;
    for (int64_t t = 0; t < x.dims[0]; ++t) {
      std::vector<size_t> scores;
      for (int64_t e = 0; e < experts; ++e) scores.push_back(router.at({t, e}));
      std::vector<size_t> y(static_cast<size_t>(hidden), Tape::kConstant);
      for (int64_t j = 0; j < routed; ++j) {
        const int64_t e = (t + j) % experts;
        const size_t weight = tape->Make(scores);
        const auto project = [&](Taped* w, int64_t row) {
          size_t acc = Tape::kConstant;
          for (int64_t f = 0; f < hidden; ++f) tape->MulAcc(&acc, x.at({t, f}), w->at({e, row, f}));
          return acc;
        };
        std::vector<size_t> made;
        for (int64_t i = 0; i < inner; ++i) {
          std::vector<size_t> of = {project(&fc1, i)};
          if (fused) of.push_back(project(&fc1, inner + i));
          if (fc3 != nullptr) of.push_back(project(fc3, i));
          made.push_back(tape->Make(of));
        }
        for (int64_t f = 0; f < hidden; ++f) {
          size_t acc = Tape::kConstant;
          for (int64_t i = 0; i < inner; ++i) {
            tape->MulAcc(&acc, made[static_cast<size_t>(i)], fc2.at({e, f, i}));
          }
          size_t& sum = y[static_cast<size_t>(f)];
          sum = tape->Make({sum, acc, weight});
        }
      }
      outputs.insert(outputs.end(), y.begin(), y.end());
    }
    return outputs;
  };
}

// ---- the cases: all sizes of one differ

std::vector<TapeCase> Products() {
  const Strings leaky = {{"activation", "LeakyRelu"}};
  return {
      CaseOf("MatMul", 13, {{3, 5}, {5, 7}}, {}, Product(false, false)),
      CaseOf("Gemm", 13, {{5, 3}, {7, 5}, {7}}, {{"transA", 1}, {"transB", 1}},
             Product(true, true)),
      CaseOf("FusedMatMul of com.microsoft", 17, {{5, 3}, {5, 7}}, {{"transA", 1}},
             Product(true, false)),
      CaseOf("FusedMatMul transposed, of com.microsoft", 17, {{3, 5}, {2, 5}}, {{"transB", 1}},
             Product(false, true)),
      CaseOf("FusedMatMulActivation of com.microsoft", 17, {{4, 3}, {3, 2}}, {},
             Product(false, false), {{"activation", "Relu"}}),
      CaseOf("FusedGemm of com.microsoft", 17, {{2, 5}, {7, 5}, {7}}, {{"transB", 1}},
             Product(false, true), leaky),
      CaseOf("GemmFastGelu of com.microsoft", 17, {{4, 5}, {5, 3}, {3}}, {}, Product(false, false)),
  };
}

std::vector<TapeCase> Convolutions() {
  const Sizes offset = {2, 12, 5, 3}, mask = {2, 6, 5, 3};
  const Strings silu = {{"activation", "silu"}};
  return {
      CaseOf("Conv", 17, {{2, 4, 7, 6}, {6, 2, 3, 2}, {6}}, {{"group", 2}}, Convolution(2, 1)),
      CaseOf("ConvTranspose", 17, {{2, 4, 5}, {4, 3, 3}}, {{"group", 2}}, TransposedConvolution(2)),
      CaseOf("FusedConv of com.microsoft", 17, {{2, 3, 7, 5}, {4, 3, 3, 2}, {4}}, {},
             Convolution(1, 1), {{"activation", "Relu"}}),
      CaseOf("FusedConv with Z, of com.microsoft", 17,
             {{2, 3, 7, 5}, {4, 3, 3, 2}, {4}, {2, 4, 5, 4}}, {}, Convolution(1, 1),
             {{"activation", "Sigmoid"}}),
      CaseOf("DeformConv", 19, {{2, 3, 6, 5}, {4, 3, 2, 3}, offset, {4}, mask}, {},
             DeformableConvolution),
      CaseOf("CausalConvWithState", 27, {{2, 3, 7}, {3, 1, 4}, {3}, {2, 3, 3}}, {},
             CausalConvolution, silu),
      CaseOf("CausalConvWithState of com.microsoft", 17, {{2, 3, 7}, {3, 1, 4}, {3}, {2, 3, 3}}, {},
             CausalConvolution, silu),
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
  const Ints two = {{"num_heads", 2}}, four = {{"q_num_heads", 4}, {"kv_num_heads", 2}};
  const Ints grouped = {{"num_heads", 4}, {"kv_num_heads", 2}};
  const std::vector<Sizes> qkv = {{2, 3, 20}, {2, 5, 10}, {2, 5, 6}};
  TapeCase capped = CaseOf("Attention with a softcap", 23, qkv, four, shared(4, 2));
  TapeCase capped_ms = CaseOf("GroupQueryAttention with a softcap, of com.microsoft", 17,
                              {{2, 3, 20}, {2, 3, 10}, {2, 3, 10}}, grouped, shared(4, 2));
  capped.floats = capped_ms.floats = {{"softcap", 2.5f}};
  return {
      capped,
      capped_ms,
      CaseOf("Attention", 23, qkv, four, shared(4, 2)),
      CaseOf("Attention of com.microsoft", 17, {{2, 3, 5}, {5, 24}, {24}}, two, projected),
      CaseOf("MultiHeadAttention of com.microsoft", 17, {{2, 3, 10}, {2, 7, 10}, {2, 7, 6}}, two,
             shared(2, 2)),
      CaseOf("GroupQueryAttention of com.microsoft", 17, {{2, 3, 20}, {2, 3, 10}, {2, 3, 10}},
             grouped, shared(4, 2)),
      CaseOf("FlexAttention of ai.onnx.preview", 26, {{2, 4, 3, 5}, {2, 2, 7, 5}, {2, 2, 7, 6}}, {},
             HeadsApart),
  };
}

std::vector<TapeCase> Recurrences() {
  const auto rnn = [](Tape* tape, const std::vector<size_t>& sums, size_t) {
    return tape->Make({sums[0]});
  };
  const auto gru = [](Tape* tape, const std::vector<size_t>& sums, size_t h) {
    return tape->Make({sums[0], sums[1], sums[2], h});
  };
  const Ints four = {{"hidden_size", 4}};
  const Ints after = {{"hidden_size", 4}, {"linear_before_reset", 1}};
  const std::vector<Sizes> three_gates = {{3, 2, 5}, {1, 12, 5}, {1, 12, 4}};
  const std::vector<Sizes> peepholes = {{3, 2, 5}, {1, 16, 5}, {1, 16, 4}, {}, {}, {}, {}, {1, 12}};
  return {
      CaseOf("RNN", 14, {{3, 2, 5}, {1, 4, 5}, {1, 4, 4}}, four, Recurrent(1, rnn)),
      CaseOf("GRU", 14, three_gates, after, Recurrent(3, gru)),
      CaseOf("GRU, reset before", 14, three_gates, four, ResetBefore),
      CaseOf("LSTM", 14, {{3, 2, 5}, {1, 16, 5}, {1, 16, 4}}, four, LongShortTermMemory),
      CaseOf("LSTM with peepholes", 14, peepholes, four, LongShortTermMemory),
  };
}

std::vector<TapeCase> LinearAttentions() {
  const Ints heads = {{"q_num_heads", 4}, {"kv_num_heads", 2}};
  const auto rule = [](const char* name) { return Strings{{"update_rule", name}}; };
  const Sizes q = {2, 3, 12}, k = {2, 3, 6}, v = {2, 3, 10}, past = {2, 2, 3, 5}, gate = {2, 3, 2};
  std::vector<TapeCase> cases;
  for (const char* domain : {"", ", of com.microsoft"}) {
    const auto add = [&](const char* name, const std::vector<Sizes>& inputs, bool gated,
                         bool delta) {
      cases.push_back(CaseOf(absl::StrCat("LinearAttention ", name, domain), 27, inputs, heads,
                             StateOverSteps(4, 2, gated, delta), rule(name)));
    };
    add("linear", {q, k, v}, false, false);
    add("linear", {q, k, v, past}, false, false);
    add("gated", {q, k, v, {}, gate}, true, false);
    add("delta", {q, k, v, {}, {}, gate}, false, true);
    add("gated_delta", {q, k, v, {}, gate, gate}, true, true);
    add("gated_delta", {q, k, v, past, gate, gate}, true, true);
  }
  cases.push_back(CaseOf("GatedDeltaNet of com.microsoft", 17,
                         {{2, 3, 2, 5}, {2, 3, 2, 5}, {2, 3, 2, 4}, {}, gate, gate}, {},
                         StateOverSteps(2, 2, true, true)));
  return cases;
}

std::vector<TapeCase> Mixtures() {
  const Sizes x = {5, 3}, router = {5, 4}, fc1 = {4, 6, 3}, fc2 = {4, 3, 6};
  const Ints two = {{"k", 2}}, fused = {{"k", 1}, {"swiglu_fusion", 1}};
  return {
      CaseOf("MoE of com.microsoft", 17, {x, router, fc1, {}, fc2}, two, Mixture(2, false)),
      CaseOf("MoE with a gate, of com.microsoft", 17, {x, router, fc1, {}, fc2, {}, fc1}, two,
             Mixture(2, false), {{"activation_type", "silu"}}),
      CaseOf("MoE with SwiGLU, of com.microsoft", 17, {x, router, {4, 12, 3}, {}, fc2}, fused,
             Mixture(1, true), {{"activation_type", "swiglu"}}),
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
  if (c.domain == kPreview) {
    onnx::OperatorSetIdProto* preview = make.proto.add_opset_import();
    preview->set_domain(kPreview);
    preview->set_version(1);
  }
  make.Node("n", c.op, names, {"y"}, c.ints).Output("y");
  make.node->set_domain(c.domain);
  for (const auto& [name, value] : c.strings) {
    onnx::AttributeProto* attribute = make.node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(value);
  }
  for (const auto& [name, value] : c.floats) {
    onnx::AttributeProto* attribute = make.node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::FLOAT);
    attribute->set_f(value);
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

TEST(GradientTapeTest, EveryProductIsCounted) {
  for (const auto& cases :
       {Products(), Convolutions(), Attentions(), Recurrences(), LinearAttentions(), Mixtures()}) {
    for (const TapeCase& c : cases) ExpectEqualProducts(c);
  }
}

}  // namespace
}  // namespace onnxflops
