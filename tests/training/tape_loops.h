// Textbook loops of operators on a tape, written from their specifications: what a backward pass
// has to multiply.
#ifndef ONNXFLOPS_TESTS_TRAINING_TAPE_LOOPS_H_
#define ONNXFLOPS_TESTS_TRAINING_TAPE_LOOPS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/training/tape.h"

namespace onnxflops {

// Y[m,n] = activation of A'[m,k] B'[k,n] + C.
inline Loop Product(bool trans_a, bool trans_b) {
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
inline Loop Convolution(int64_t group, int64_t stride) {
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
inline Loop TransposedConvolution(int64_t group) {
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

// A row of scores times W[t,u].
inline std::vector<size_t> Mixed(Tape* tape, const std::vector<size_t>& scores, Taped* w) {
  std::vector<size_t> mixed(static_cast<size_t>(w->dims[1]), Tape::kConstant);
  ForEach(w->dims, [&](const Sizes& i) {
    tape->MulAcc(&mixed[static_cast<size_t>(i[1])], scores[static_cast<size_t>(i[0])], w->at(i));
  });
  return mixed;
}

inline std::vector<size_t> Attend(Tape* tape, const Heads& h, const Element& q, const Element& k,
                                  const Element& v, Taped* mixes = nullptr) {
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
    if (mixes != nullptr) scores = Mixed(tape, scores, mixes);
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
inline std::vector<size_t> ProjectedAttention(Tape* tape, std::vector<Taped>* in, int64_t heads) {
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
inline std::vector<size_t> SharedAttention(Tape* tape, std::vector<Taped>* in, int64_t heads,
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
inline std::vector<size_t> HeadsApart(Tape* tape, std::vector<Taped>* in) {
  Taped &q = (*in)[0], &k = (*in)[1], &v = (*in)[2];
  const Heads h = {q.dims[0], q.dims[1], q.dims[2], k.dims[2], q.dims[3], v.dims[3]};
  const auto of = [](Taped* x, int64_t share) {
    return [=](int64_t b, int64_t head, int64_t t, int64_t d) {
      return x->at({b, head / share, t, d});
    };
  };
  const int64_t share = q.dims[1] / k.dims[1];
  Taped* mixes = in->size() > 3 ? &(*in)[3] : nullptr;
  return Attend(tape, h, of(&q, 1), of(&k, share), of(&v, share), mixes);
}

// LSTM in one direction: X[T,B,I] W[1,4H,I] R[1,4H,H] and peepholes P[1,3H]. Coupled, the forget
// gate is 1 minus the input gate.
inline std::vector<size_t> LongShortTermMemory(Tape* tape, std::vector<Taped>* in, bool coupled) {
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
        if (coupled && g == 2) continue;
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
      if (coupled) gates[2] = tape->Make({gates[0]});
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
inline Loop Recurrent(int64_t gates, const Combine& last) {
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
inline std::vector<size_t> ResetBefore(Tape* tape, std::vector<Taped>* in) {
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
inline std::vector<size_t> DeformableConvolution(Tape* tape, std::vector<Taped>* in) {
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
inline std::vector<size_t> CausalConvolution(Tape* tape, std::vector<Taped>* in) {
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

// Packed tokens X[T,C] of sequences of these lengths, each after its own past[n,C,k-1].
inline Loop PackedConvolution(const Sizes& lengths) {
  return [=](Tape* tape, std::vector<Taped>* in) {
    Taped &x = (*in)[0], &w = (*in)[1], &bias = (*in)[3], &past = (*in)[4];
    const int64_t before = w.dims[2] - 1;
    std::vector<size_t> outputs;
    int64_t start = 0;
    for (size_t n = 0; n < lengths.size(); start += lengths[n++]) {
      ForEach({lengths[n], w.dims[0]}, [&](const Sizes& y) {
        size_t acc = Tape::kConstant;
        for (int64_t k = 0; k <= before; ++k) {
          const int64_t at = y[0] + k - before;
          const size_t own = at < 0 ? past.at({static_cast<int64_t>(n), y[1], before + at})
                                    : x.at({start + at, y[1]});
          tape->MulAcc(&acc, tape->Make({own, x.at({0, 0}), past.at({0, 0, 0})}),
                       w.at({y[1], 0, k}));
        }
        outputs.push_back(tape->Make({acc, bias.at({y[1]})}));
      });
    }
    return outputs;
  };
}

// A state S[dk,dv] per head of keys: decayed, corrected by what it holds for the key, the outer
// product of key and value added; then read by heads of queries. Inputs [B,T,H*D], or with H and D
// apart, which is the same in memory.
inline Loop StateOverSteps(int64_t heads, int64_t kv_heads, bool gated, bool delta) {
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
inline Loop Mixture(int64_t routed, bool fused) {
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

// y[b,i,k] = sum over j of x[b,i,j] w[j,k,b].
inline std::vector<size_t> BatchedSum(Tape* tape, std::vector<Taped>* in) {
  Taped &x = (*in)[0], &w = (*in)[1];
  std::vector<size_t> outputs;
  ForEach({x.dims[0], x.dims[1], w.dims[1]}, [&](const Sizes& y) {
    size_t& acc = outputs.emplace_back(Tape::kConstant);
    for (int64_t j = 0; j < x.dims[2]; ++j) {
      tape->MulAcc(&acc, x.at({y[0], y[1], j}), w.at({j, y[2], y[0]}));
    }
  });
  return outputs;
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_TRAINING_TAPE_LOOPS_H_
