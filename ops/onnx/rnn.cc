// Recurrent layers.
//
// How it works. T steps, B sequences, I features in, H hidden, D directions. A layer of G gates has
// W[D,G*H,I], R[D,G*H,H] and B[D,2*G*H]: a step of one direction is G*H*(I+H) mac for each
// sequence, in one accumulator per gate, to which both biases are added. Activations are counted by
// the names of the attribute, then what combines the gates. All sequences count T steps, since
// their lengths are data; with lengths given there is no lower bound.
//
// Backward takes each product once more per factor that needs a gradient, and the gradients of
// activations from their values. The product with the state is left out in the first step unless
// the first state needs a gradient. Exceptions are small: with input_forget an LSTM has one gate
// less, and a GRU without linear_before_reset needs the first step's product for its reset gate.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

struct Layer {
  Expr steps, batch, features, hidden, directions;
  bool batch_first = false;
  // The factor of a cost per element of the hidden state.
  Expr States() const { return steps * batch * hidden * directions; }
};

absl::StatusOr<int> Directions(const NodeView& n) {
  const absl::string_view direction = n.String("direction", "forward");
  if (absl::EqualsIgnoreCase(direction, "bidirectional")) return 2;
  if (absl::EqualsIgnoreCase(direction, "forward")) return 1;
  if (absl::EqualsIgnoreCase(direction, "reverse")) return 1;
  return absl::InvalidArgumentError(
      absl::StrCat("direction is '", direction, "', not forward, reverse or bidirectional"));
}

// Input `i`, if given, has these sizes.
absl::Status CheckShape(const NodeView& n, int i, absl::string_view name, const Shape& expected) {
  if (!n.HasInput(i) || !n.input(i).shape.ranked()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Shape shape, n.RankedShape(i, expected.rank()));
  for (int axis = 0; axis < expected.rank(); ++axis) {
    RETURN_IF_ERROR(
        n.RequireSame(absl::StrCat("dimension ", axis, " of ", name), shape[axis], expected[axis]));
  }
  return absl::OkStatus();
}

absl::StatusOr<Layer> ReadLayer(const NodeView& n, int gates) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(const Shape w, n.RankedShape(1, 3));
  ASSIGN_OR_RETURN(const Shape r, n.RankedShape(2, 3));
  ASSIGN_OR_RETURN(const int directions, Directions(n));
  Layer layer;
  layer.directions = directions;
  layer.batch_first = n.Flag("layout");
  layer.steps = x[layer.batch_first ? 1 : 0];
  layer.batch = x[layer.batch_first ? 0 : 1];
  ASSIGN_OR_RETURN(layer.features, Unify(n, "I of X and W", x[2], w[2]));
  layer.hidden = r[2];
  if (n.HasAttr("hidden_size")) {
    ASSIGN_OR_RETURN(layer.hidden,
                     Unify(n, "H of R and hidden_size", r[2], n.Int("hidden_size", 0)));
  }
  const Expr& h = layer.hidden;
  RETURN_IF_ERROR(CheckShape(n, 1, "W", {directions, gates * h, layer.features}));
  RETURN_IF_ERROR(CheckShape(n, 2, "R", {directions, gates * h, h}));
  RETURN_IF_ERROR(CheckShape(n, 3, "B", {directions, 2 * gates * h}));
  RETURN_IF_ERROR(CheckShape(n, 4, "sequence_lens", {layer.batch}));
  return layer;
}

// [D,B,H], or [B,D,H] with layout = 1.
Shape StateShape(const Layer& layer) {
  return layer.batch_first ? Shape{layer.batch, layer.directions, layer.hidden}
                           : Shape{layer.directions, layer.batch, layer.hidden};
}

// Y of all steps, then Y_h and, for LSTM, Y_c of the last one.
Facts LayerOutputs(const NodeView& n, const Layer& layer, int states) {
  Shape y = layer.batch_first ? Shape{layer.batch, layer.steps, layer.directions, layer.hidden}
                              : Shape{layer.steps, layer.directions, layer.batch, layer.hidden};
  Facts facts{n.Like(0, std::move(y))};
  for (int i = 0; i < states; ++i) facts.push_back(n.Like(0, StateShape(layer)));
  return facts;
}

// ---- activations

// An activation of a layer: its name unless the attribute says otherwise, and to how many values
// per hidden element and step it is applied.
struct ActivationUse {
  absl::string_view default_name;
  int times = 1;
};

// The activations of one step of all directions, per batch and hidden element.
absl::StatusOr<Census> LayerActivations(const NodeView& n, const Layer& layer,
                                        absl::Span<const ActivationUse> uses) {
  const std::vector<absl::string_view> names = n.Strings("activations");
  ASSIGN_OR_RETURN(const int directions, Directions(n));
  const size_t wanted = uses.size() * static_cast<size_t>(directions);
  if (!names.empty() && names.size() != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("activations has ", names.size(), " values, not ", wanted));
  }
  const Expr states_per_direction = layer.steps * layer.batch * layer.hidden;
  const int clip = n.HasAttr("clip") && n.Float("clip", 0) > 0 ? 2 : 0;
  Census work;
  for (size_t i = 0; i < wanted; ++i) {
    const ActivationUse& use = uses[i % uses.size()];
    ASSIGN_OR_RETURN(const ElementCost cost,
                     ActivationCost(names.empty() ? use.default_name : names[i]));
    work += cost * (use.times * states_per_direction);
    work[Kind::kCmp] += clip * use.times * states_per_direction;
  }
  return work;
}

// A first state that is not given is zero: its products may be skipped. Given lengths of sequences
// may be shorter than T.
absl::StatusOr<Cost> LeastCost(const NodeView& n, const Layer& layer, int gates) {
  if (n.HasInput(4)) return Cost();
  const Expr first = n.HasInput(5) ? Expr(0) : layer.batch * layer.hidden * layer.directions;
  Census work;
  work[Kind::kMac] =
      gates * (layer.States() * layer.features + (layer.States() - first) * layer.hidden);
  return CostIn(n.dtype(0), std::move(work));
}

// The products and biases of all gates, as every kind of layer has them.
Census GateCost(const NodeView& n, const Layer& layer, int gates) {
  Census work;
  work[Kind::kMac] = gates * layer.States() * (layer.features + layer.hidden);
  if (n.HasInput(3)) work[Kind::kAdd] = 2 * gates * layer.States();
  return work;
}

constexpr char kSequenceNote[] =
    "sequence_lens is not looked at: every sequence costs T steps. clip costs 2 cmp per input of "
    "an "
    "activation.";

// ---- RNN: Ht = f(Xt W' + Ht-1 R' + Wb + Rb)

absl::StatusOr<Facts> InferRnn(const NodeView& n) {
  ASSIGN_OR_RETURN(const Layer layer, ReadLayer(n, 1));
  RETURN_IF_ERROR(CheckShape(n, 5, "initial_h", StateShape(layer)));
  return LayerOutputs(n, layer, 1);
}

absl::StatusOr<Cost> CountRnn(const NodeView& n) {
  ASSIGN_OR_RETURN(const Layer layer, ReadLayer(n, 1));
  ASSIGN_OR_RETURN(Census work, LayerActivations(n, layer, {{"Tanh", 1}}));
  work += GateCost(n, layer, 1);
  return CostIn(n.dtype(0), std::move(work));
}

absl::StatusOr<Cost> LeastRnn(const NodeView& n) {
  ASSIGN_OR_RETURN(const Layer layer, ReadLayer(n, 1));
  return LeastCost(n, layer, 1);
}

constexpr char kGateGradient[] =
    "dX, dW: as many mac as forward has with W; dR: as many as it has with R; dH of a step from "
    "the "
    "next: the same, but not for the first step unless initial_h needs a gradient";

// The gradients of the activations are taken from their values: 2 mul and 1 add each. `states`: mul
// and add per hidden element and step that combining the gates takes.
Census GateGradient(const Layer& layer, const GradientQuery& query, int gates, int activations,
                    const ElementCost& combination) {
  const Expr states = layer.States();
  const Expr with_x = gates * states * layer.features, with_h = gates * states * layer.hidden;
  const Expr first_step = gates * layer.batch * layer.hidden * layer.directions * layer.hidden;
  Census work = (ElementCost{.add = 1, .mul = 2} * (states * activations));
  work += combination * states;
  for (size_t input : {0, 1}) {
    if (query.Needs(input)) work[Kind::kMac] += with_x;
  }
  if (query.Needs(2)) work[Kind::kMac] += with_h;
  work[Kind::kMac] += query.Needs(5) ? with_h : with_h - first_step;
  if (query.Needs(3)) work[Kind::kAdd] += 2 * gates * states;
  return work;
}

absl::StatusOr<Census> RnnGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const Layer layer, ReadLayer(n, 1));
  return GateGradient(layer, query, 1, 1, {});
}

// dz = dH (h' - h), dh = dH (1 - z), dH of before: dH z; dr and the part through the reset.
absl::StatusOr<Census> GruGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const Layer layer, ReadLayer(n, 3));
  Census work = GateGradient(layer, query, 3, 3, {.add = 4, .mul = 5});
  if (n.Flag("linear_before_reset") || query.Needs(5)) return work;
  // R multiplies rt . Ht-1, which needs a gradient in the first step as well: rt does.
  work[Kind::kMac] += layer.batch * layer.hidden * layer.directions * layer.hidden;
  return work;
}

// do = dH h(C), dC += dH o, di = dC c, dc = dC i, df = dC C', dC' = dC f.
// With input_forget, f = 1 - i: di takes both parts. A peephole: dC += d(gate) P, dP += d(gate) C.
absl::StatusOr<Census> LstmGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const Layer layer, ReadLayer(n, 4));
  const int coupled = n.Flag("input_forget") ? 1 : 0;
  ElementCost combination = {.add = 1 + coupled, .mul = 6};
  for (const bool peephole : {n.HasInput(7), query.Needs(7)}) {
    if (!peephole) continue;
    combination.add += 3 - coupled;
    combination.mul += 3 - coupled;
  }
  return GateGradient(layer, query, 4 - coupled, 5 - coupled, combination);
}

// ---- GRU
//
//   zt = f(Xt Wz' + Ht-1 Rz' + Wbz + Rbz), rt likewise
//   ht = g(Xt Wh' + (rt . Ht-1) Rh' + Rbh + Wbh), or with linear_before_reset
//        g(Xt Wh' + rt . (Ht-1 Rh' + Rbh) + Wbh)
//   Ht = (1 - zt) . ht + zt . Ht-1

absl::StatusOr<Facts> InferGru(const NodeView& n) {
  ASSIGN_OR_RETURN(const Layer layer, ReadLayer(n, 3));
  RETURN_IF_ERROR(CheckShape(n, 5, "initial_h", StateShape(layer)));
  return LayerOutputs(n, layer, 1);
}

absl::StatusOr<Cost> CountGru(const NodeView& n) {
  ASSIGN_OR_RETURN(const Layer layer, ReadLayer(n, 3));
  ASSIGN_OR_RETURN(Census work, LayerActivations(n, layer, {{"Sigmoid", 2}, {"Tanh", 1}}));
  work += GateCost(n, layer, 3);
  work += ElementCost{.add = 2, .mul = 3} * layer.States();
  // The recurrent part of ht has an accumulator of its own, which is added after the reset.
  if (n.Flag("linear_before_reset")) work[Kind::kAdd] += layer.States();
  return CostIn(n.dtype(0), std::move(work));
}

absl::StatusOr<Cost> LeastGru(const NodeView& n) {
  ASSIGN_OR_RETURN(const Layer layer, ReadLayer(n, 3));
  return LeastCost(n, layer, 3);
}

// ---- LSTM
//
//   it = f(Xt Wi' + Ht-1 Ri' + Pi . Ct-1 + Wbi + Rbi), ft and ot likewise (ot with Po . Ct)
//   ct = g(Xt Wc' + Ht-1 Rc' + Wbc + Rbc)
//   Ct = ft . Ct-1 + it . ct
//   Ht = ot . h(Ct)

// The dynamo exporter writes an LSTM with proj_size as one of proj_size units, without the weights
// that do not fit. Its cell state shows it.
absl::Status CheckCellState(const NodeView& n, const Layer& layer) {
  absl::Status status = CheckShape(n, 6, "initial_c", StateShape(layer));
  if (status.ok() || !n.HasInput(5) || !CheckShape(n, 5, "", StateShape(layer)).ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(
      status.message(),
      "; the cell state of an LSTM with proj_size is wider, but ONNX has no such LSTM: its weights "
      "are not in the file, and ONNX Runtime does not run it. Export it without proj_size, or as "
      "a loop of Linear"));
}

absl::StatusOr<Facts> InferLstm(const NodeView& n) {
  ASSIGN_OR_RETURN(const Layer layer, ReadLayer(n, 4));
  RETURN_IF_ERROR(CheckShape(n, 5, "initial_h", StateShape(layer)));
  RETURN_IF_ERROR(CheckCellState(n, layer));
  RETURN_IF_ERROR(CheckShape(n, 7, "P", {layer.directions, 3 * layer.hidden}));
  return LayerOutputs(n, layer, 2);
}

absl::StatusOr<Cost> CountLstm(const NodeView& n) {
  ASSIGN_OR_RETURN(const Layer layer, ReadLayer(n, 4));
  // With input_forget, ft = 1 - it: that gate is not computed.
  const int coupled = n.Flag("input_forget") ? 1 : 0;
  ASSIGN_OR_RETURN(
      Census work,
      LayerActivations(n, layer, {{"Sigmoid", 3 - coupled}, {"Tanh", 1}, {"Tanh", 1}}));
  work += GateCost(n, layer, 4 - coupled);
  work += ElementCost{.add = 1 + coupled, .mul = 3} * layer.States();
  if (n.HasInput(7)) {
    work += ElementCost{.add = 3 - coupled, .mul = 3 - coupled} * layer.States();
  }
  return CostIn(n.dtype(0), std::move(work));
}

absl::StatusOr<Cost> LeastLstm(const NodeView& n) {
  ASSIGN_OR_RETURN(const Layer layer, ReadLayer(n, 4));
  return LeastCost(n, layer, n.Flag("input_forget") ? 3 : 4);
}

constexpr OpDef kRnnRows[] = {
    {.name = "RNN",
     .versions = {1, 7, 14, 22},
     .formula = "T steps of D directions on X[T,B,I], hidden size H: mac = T*B*D * H*(I+H), add = "
                "T*B*D * 2H if B is given, and the activation per element of T*B*D*H",
     .infer = InferRnn,
     .count = CountRnn,
     .least = LeastRnn,
     .examples = {{"float[7,N,4] X, float[1,5,4] W, float[1,5,5] R -> float[7,1,N,5] Y, "
                   "float[1,N,5] Yh <hidden_size=5>",
                   "mac=315*N tanh=35*N"},
                  {"float[7,N,4] X, float[1,5,4] W, float[1,5,5] R -> float[7,1,N,5] Y "
                   "<hidden_size=5, clip=0.0>",
                   "mac=315*N tanh=35*N"},
                  {"float[N,7,4] X, float[2,5,4] W, float[2,5,5] R, float[2,10] B -> "
                   "float[N,7,2,5] Y <hidden_size=5, layout=1, direction=\"bidirectional\", "
                   "activations=[\"Relu\", \"Affine\"]>",
                   "mac=630*N add=175*N mul=35*N cmp=35*N"}},
     .operands = {.weights = InputBits({1, 2, 3}),
                  .not_parameters = InputBits({5}),
                  .states = InputBits({5})},
     .note = kSequenceNote,
     .gradient = {.formula = kGateGradient,
                  .rule = RnnGradient,
                  .keeps = {.steps = true, .at_least = true}}},
    {.name = "GRU",
     .versions = {1, 3, 7, 14, 22},
     .formula =
         "T steps of D directions on X[T,B,I], hidden size H: mac = T*B*D * 3H*(I+H), add = "
         "T*B*D * 6H if B is given; per element of T*B*D*H: 3 activations (2 f, g), 3 mul, 2 "
         "add, and 1 add with linear_before_reset",
     .infer = InferGru,
     .count = CountGru,
     .least = LeastGru,
     .examples = {{"float[7,N,4] X, float[1,15,4] W, float[1,15,5] R -> float[7,1,N,5] Y, "
                   "float[1,N,5] Yh <hidden_size=5>",
                   "mac=945*N add=140*N mul=105*N div=70*N exp=70*N tanh=35*N"},
                  {"float[7,N,4] X, float[1,15,4] W, float[1,15,5] R, float[1,30] B -> "
                   "float[7,1,N,5] Y <hidden_size=5, linear_before_reset=1>",
                   "mac=945*N add=385*N mul=105*N div=70*N exp=70*N tanh=35*N"}},
     .operands = {.weights = InputBits({1, 2, 3}),
                  .not_parameters = InputBits({5}),
                  .states = InputBits({5})},
     .onnx = {.since = 3},
     .note = kSequenceNote,
     .gradient = {.formula = kGateGradient,
                  .rule = GruGradient,
                  .keeps = {.gates = true, .steps = true, .at_least = true}}},
    {.name = "LSTM",
     .versions = {1, 7, 14, 22},
     .formula =
         "T steps of D directions on X[T,B,I], hidden size H: mac = T*B*D * 4H*(I+H), add = "
         "T*B*D * 8H if B is given; per element of T*B*D*H: 5 activations (3 f, g, h), 3 mul, 1 "
         "add, and 3 mul and 3 add for peepholes",
     .infer = InferLstm,
     .count = CountLstm,
     .least = LeastLstm,
     .examples =
         {{"float[7,N,4] X, float[1,20,4] W, float[1,20,5] R, float[1,40] B -> float[7,1,N,5] Y, "
           "float[1,N,5] Yh, float[1,N,5] Yc <hidden_size=5>",
           "mac=1260*N add=420*N mul=105*N div=105*N exp=105*N tanh=70*N"},
          {"float[7,N,4] X, float[1,20,4] W, float[1,20,5] R, float[1,40] B, , float[1,N,5] h, "
           "float[1,N,5] c, float[1,15] P -> float[7,1,N,5] Y <hidden_size=5, clip=3.0>",
           "mac=1260*N add=525*N mul=210*N div=105*N cmp=350*N exp=105*N tanh=70*N"},
          {"float[7,N,4] X, float[1,20,4] W, float[1,20,5] R -> float[7,1,N,5] Y <hidden_size=5, "
           "input_forget=1>",
           "mac=945*N add=140*N mul=105*N div=70*N exp=70*N tanh=70*N"},
          {"float[7,N,4] X, float[1,20,4] W, float[1,20,5] R, , , , , float[1,15] P -> "
           "float[7,1,N,5] Y <hidden_size=5, input_forget=1>",
           "mac=945*N add=210*N mul=175*N div=70*N exp=70*N tanh=70*N"}},
     .operands = {.weights = InputBits({1, 2, 3, 7}),
                  .not_parameters = InputBits({5, 6}),
                  .states = InputBits({5, 6})},
     .note =
         "With input_forget the forget gate is 1 - it: one gate, activation and peephole less, one "
         "add more. sequence_lens is not looked at: every sequence costs T steps. clip costs 2 "
         "cmp for each input of an activation.",
     .gradient = {.formula = kGateGradient,
                  .rule = LstmGradient,
                  .keeps = {.inputs = InputBits({0}),
                            .outputs = InputBits({0}),
                            .gates = true,
                            .at_least = true}}},
};

}  // namespace

constinit const OpFamily kRnnFamily = {"", kRnnRows};

}  // namespace onnxflops
