// Operators that run graphs: src/infer/control_flow.cc infers and counts them.
#include "ops/families.h"
#include "ops/op_def.h"

namespace onnxflops {

namespace {

constexpr OpDef kControlFlowRows[] = {
    {.name = "If",
     .versions = {1, 11, 13, 16, 19, 21, 23, 24, 25},
     .formula =
         "the cost of the branch that a known condition takes, else of the branch that costs more",
     .examples = {{"g (bool c, float[N,5] x) => (float[N,5] y) { y = If(c) <then_branch = t () => "
                   "(float[N,5] a) { a = Relu(x) }, else_branch = e () => (float[N,5] b) { d = "
                   "Exp(x) b = Add(d, x) }> }",
                   "add=5*N exp=5*N"},
                  {"g (float[N,5] x) => (float[N,5] y) <bool c = {1}> { y = If(c) <then_branch = t "
                   "() => (float[N,5] a) { a = Relu(x) }, else_branch = e () => (float[N,5] b) { d "
                   "= Exp(x) b = Add(d, x) }> }",
                   "cmp=5*N"},
                  {"g (bool c, float[N] x, float[100] w) => (float[N] y) { y = If(c) <then_branch "
                   "= t () => (float[N] a) { a = Exp(x) }, else_branch = e () => (float[N] b) { d "
                   "= Tanh(w) b = Identity(x) }> }",
                   "exp=-N*min(1, max(0, -N + 100)) + N tanh=100*min(1, max(0, -N + 100))"}},
     .shape_inputs = 1 << 0,
     .traits = Traits::kNotMemoised,
     .control_flow = ControlFlow::kIf,
     .onnx = {.finds = OnnxInference::Finds::kBranches},
     .note =
         "A branch costs more if its FLOPs and integer operations are more. Where that depends on "
         "the symbols, the cost is an expression that takes the larger one at each size."},
    {.name = "Loop",
     .versions = {1, 11, 13, 16, 19, 21, 23, 24, 25},
     .formula = "the cost of the body, times the trips",
     .examples =
         {{"g (float[N,5] x) => (float[N,5] y, float[3,N,5] s) <int64 m = {3}> { y, s = Loop(m, , "
           "x) <body = b (int64 i, bool ci, float[N,5] xi) => (bool co, float[N,5] xo, float[N,5] "
           "so) { co = Identity(ci) xo = Add(xi, xi) so = Identity(xo) }> }",
           "add=15*N"},
          {"g (float[T,5] x, float[5] z) => (float[5] y) { n = Shape<start=0, end=1>(x) m = "
           "Squeeze(n) y = Loop(m, , z) <body = b (int64 i, bool ci, float[5] zi) => (bool co, "
           "float[5] zo) { co = Identity(ci) zo = Exp(zi) }> }",
           "exp=5*T"}},
     .shape_inputs = 1 << 0 | 1 << 1,
     .traits = Traits::kNotMemoised,
     .control_flow = ControlFlow::kLoop,
     .onnx = {.finds = OnnxInference::Finds::kLoop},
     .note = "Trips that are known and few are followed one by one; otherwise M, where the "
             "condition stays true, or a symbol. Sizes that change from trip to trip as "
             "polynomials of the trip's number are summed over all trips."},
    {.name = "Scan",
     .versions = {8, 9, 11, 16, 19, 21, 23, 24, 25},
     .formula =
         "the cost of the body, times the length of the scanned axis (opset 8: and the batch)",
     .examples = {{"g (float[N,5] s0, float[7,N,5] x) => (float[N,5] s, float[7,N,5] y) { s, y = "
                   "Scan(s0, x) <num_scan_inputs=1, body = b (float[N,5] si, float[N,5] xi) => "
                   "(float[N,5] so, float[N,5] yo) { so = Add(si, xi) yo = Identity(so) }> }",
                   "add=35*N"},
                  // Along axis 1 of x and 0 of z, stacked on axis 2 of y and on the last of w.
                  {"g (float[N,5] s0, float[N,7,5] x, float[7,3] z) => (float[N,5] s, float[N,5,7] "
                   "y, float[3,7] w) { s, y, w = Scan(s0, x, z) <num_scan_inputs=2, "
                   "scan_input_axes=[1,0], scan_output_axes=[2,-1], body = b (float[N,5] si, "
                   "float[N,5] xi, float[3] zi) => (float[N,5] so, float[N,5] yo, float[3] wo) { "
                   "so = Add(si, xi) yo = Identity(so) wo = Mul(zi, zi) }> }",
                   "add=35*N mul=21"}},
     .traits = Traits::kNotMemoised,
     .control_flow = ControlFlow::kScan,
     .onnx = {.finds = OnnxInference::Finds::kScan, .since = 9},
     .note = "At opset 8, sequence_lens is not looked at: every sequence is taken as full."},
    {.name = "SequenceMap",
     .versions = {17},
     .formula = "the cost of the body, times the length of the first sequence",
     .examples = {{"g (float[N,5] a, float[N,5] b) => (float[N,5] y) <int64 i = {0}> { s = "
                   "SequenceConstruct(a, b) m = SequenceMap(s) <body = c (float[N,5] x) => "
                   "(float[N,5] z) { z = Exp(x) }> y = SequenceAt(m, i) }",
                   "exp=10*N"}},
     .traits = Traits::kNotMemoised,
     .control_flow = ControlFlow::kSequence,
     .note = "Where the items of the sequence are known one by one, so are those of the output."},
};

}  // namespace

constinit const OpFamily kControlFlowFamily = {"", kControlFlowRows};

}  // namespace onnxflops
