// Graphs with bodies, functions and lists of sizes, for what is said of ONNX's own shape inference.
#ifndef ONNXFLOPS_TESTS_CONVENTION_ONNX_GRAPHS_H_
#define ONNXFLOPS_TESTS_CONVENTION_ONNX_GRAPHS_H_

namespace onnxflops::convention {

// Graphs of which some inputs stay open in turn: "g (float[2,3] x, ...) => (...) { ... }".
inline constexpr const char* kGraphs[] = {
    // Both branches of an If, or what they have in common; what is constant around them is not
    // seen.
    "g (bool c, float[2,3] a, float[2,5] b) => (float y) { y = If(c) <"
    "then_branch = t () => (float u) { u = Relu(a) }, else_branch = e () => (float v) { v = "
    "Relu(b) }> }",
    "g (bool c, float[2,3] a, float[2,3] b) => (float y, float z) { y, z = If(c) <"
    "then_branch = t () => (float u, float w) { u = Relu(a) w = Transpose(a) }, "
    "else_branch = e () => (float v, float x) { v = Tanh(b) x = Relu(b) }> }",
    "g (bool c, float[2,3] a, float[7] b) => (float y) { y = If(c) <"
    "then_branch = t () => (float u) { u = Relu(a) }, else_branch = e () => (float v) { v = "
    "Relu(b) }> }",
    "g (bool c, float[2,6] a) => (float y) { s = Constant<value = int64[2] {3, 4}>() y = If(c) <"
    "then_branch = t () => (float u) { u = Reshape(a, s) }, "
    "else_branch = e () => (float v) { r = Constant<value = int64[2] {3, 4}>() v = Reshape(a, r) "
    "}> }",
    "g (bool c, float[2,6] a) => (float y) { k = If(c) <"
    "then_branch = t () => (int64 u) { u = Constant<value = int64[2] {3, 4}>() }, "
    "else_branch = e () => (int64 v) { v = Constant<value = int64[2] {3, 4}>() }> y = Reshape(a, "
    "k) }",
    "g (bool c, float[2,6] a) => (float y) { k = If(c) <"
    "then_branch = t () => (int64 u) { u = Shape(a) }, else_branch = e () => (int64 v) { v = "
    "Shape(a) }> "
    "y = Reshape(a, k) }",
    // What a Loop carries has no shape; what it collects has one size more.
    "g (int64 m, bool c, float[2,3] a) => (float y, float z) { y, z = Loop(m, c, a) <"
    "body = b (int64 i, bool k, float s) => (bool o, float t, float u) "
    "{ o = Identity(k) t = Relu(s) u = Relu(a) }> }",
    "g (int64 m, bool c, float[2,3] a) => (float z) { z = Loop(m, c) <"
    "body = b (int64 i, bool k) => (bool o, float u) { o = Identity(k) u = Transpose(a) }> }",
    "g (int64 m, bool c, float[2,3] a, float[5] e) => (float y, float w, float z, int64 n) "
    "{ y, w, z, n = Loop(m, c, a, e) <"
    "body = b (int64 i, bool k, float[2,3] s, float r) => (bool o, float t, float q, float u, "
    "int64 j) "
    "{ o = Identity(k) t = Relu(s) q = Relu(r) u = Relu(s) j = Identity(i) }> v = Relu(z) }",
    // Scan: states keep their shape, what is walked along loses an axis and gains one.
    "g (float[3] a, float[5,3] x) => (float[3] y, float[5,3] z) { y, z = Scan<num_scan_inputs=1, "
    "body = b (float[3] s, float[3] e) => (float[3] t, float[3] o) { t = Add(s, e) o = Relu(t) "
    "}>(a, x) }",
    "g (float[3] a, float[3,5] x, float[4,5,2] w) => (float y, float z, float v) { y, z, v = Scan<"
    "num_scan_inputs=2, scan_input_axes=[1,-2], scan_output_axes=[-1,1], "
    "body = b (float s, float e, float f) => (float t, float o, float p) "
    "{ t = Add(s, e) o = Relu(f) p = Tanh(f) }>(a, x, w) }",
    "g (float[3,7] a, float[3,5] x) => (float y, float z) { y, z = Scan<num_scan_inputs=1, "
    "scan_input_axes=[1], scan_output_axes=[0], "
    "body = b (float s, float e) => (float t, float o) { t = Relu(s) o = Identity(e) }>(a, x) }",
    // Contents of what is walked along are not seen.
    "g (float[5,3] x) => (int64 t, float z) { s = Constant<value = int64[2] {3, 4}>() "
    "t, z = Scan<num_scan_inputs=1, body = b (int64[2] u, float[3] e) => (int64[2] v, float o) "
    "{ v = Identity(u) o = ConstantOfShape(u) }>(s, x) }",
    // A state that loses its shape in the body still has it after the Scan.
    "g (float[3] a, float[5,3] x, int64[n] q) => (float y, float z) { y, z = Scan<"
    "num_scan_inputs=1, body = b (float[3] s, float[3] e) => (float t, float o) "
    "{ t = Reshape(s, q) o = Relu(e) }>(a, x) }",
    // Lists of sizes, through the operators that follow them.
    "g (float[2,3,4] x) => (float y) { s = Shape(x) i = Constant<value = int64[1] {1}>() "
    "a = Gather(s, i) m = Constant<value = int64[1] {-1}>() r = Concat<axis=0>(a, m) y = "
    "Reshape(x, r) }",
    "g (float[2,3,4] x) => (float y) { s = Shape(x) i = Constant<value = int64 {1}>() a = "
    "Gather(s, i) "
    "z = Constant<value = int64[1] {0}>() u = Unsqueeze(a, z) m = Constant<value = int64[1] "
    "{-1}>() "
    "r = Concat<axis=0>(m, u) y = Reshape(x, r) }",
    "g (float[2,3,4] x) => (float y) { s = Shape<start=1>(x) y = ConstantOfShape(s) }",
    "g (float[2,3,4] x) => (float y) { s = Shape<start=-1, end=3>(x) y = ConstantOfShape(s) }",
    "g (float[2,3,4] x) => (float y) { s = Shape(x) t = Constant<value = int64[3] {2, 1, 3}>() "
    "p = Mul(s, t) y = ConstantOfShape(p) }",
    "g (float[2,3,4] x) => (float y) { s = Shape(x) t = Constant<value = int64[3] {2, 1, 3}>() "
    "p = Add(s, t) q = Sub(p, s) y = ConstantOfShape(q) }",
    "g (float[2,3,4] x) => (float y) { s = Shape(x) f = Cast<to=1>(s) i = Cast<to=7>(f) y = "
    "ConstantOfShape(i) }",
    "g (float[2,3,4] x) => (float y) { s = Shape(x) b = Constant<value = int64[1] {1}>() "
    "e = Constant<value = int64[1] {3}>() z = Constant<value = int64[1] {0}>() p = Slice(s, b, e, "
    "z) "
    "y = ConstantOfShape(p) }",
    "g (float[2,3,4] x, float[1,3,1] w) => (float y) { s = Shape(x) y = Expand(w, s) }",
    "g (float[2,3,4] x) => (float y) { s = Shape(x) d = Div(s, s) y = Tile(x, d) }",
    "g (float[2,3,4] x) => (float y) { s = Size(x) z = Constant<value = int64[1] {0}>() u = "
    "Unsqueeze(s, z) "
    "y = Reshape(x, u) }",
    "g (float[2,3,4] x) => (float y) { s = Shape(x) z = Constant<value = int64[1] {0}>() "
    "i = Constant<value = int64 {2}>() a = Gather(s, i) u = Unsqueeze(a, z) q = Squeeze(u, z) "
    "w = Unsqueeze(q, z) y = ConstantOfShape(w) }",
    // Inputs alone: a size that only a run has.
    "g (float[2,3,4] x, int64[3] s) => (float y, float z) { y = Reshape(x, s) z = "
    "ConstantOfShape(s) }",
    "g (float[2,3,4] x, int64[n] s) => (float y, float z) { y = Reshape(x, s) z = Expand(x, s) w = "
    "Relu(z) }",
    "g (float[2,6] x, int64[2] i) => (float y, float z) { y, z = Split<axis=1>(x, i) w = Relu(y) }",
    "g (float[2,6] x) => (float y, float z) { i = Constant<value = int64[2] {2, 4}>() y, z = "
    "Split<axis=1>(x, i) }",
    // Sequences and optionals.
    "g (float[2,3] a, float[2,5] b) => (float y) { s = SequenceConstruct(a, b) i = Constant<value "
    "= int64 {0}>() "
    "e = SequenceAt(s, i) y = Relu(e) }",
    "g (float[2,3] a, float[2,3] b) => (float y) { s = SequenceConstruct(a, b) y = "
    "ConcatFromSequence<axis=0>(s) "
    "i = Constant<value = int64 {0}>() e = SequenceAt(s, i) r = Relu(e) t = SequenceInsert(s, r) u "
    "= SequenceLength(t) }",
    "g (float[6,3] a) => (float y) { s = SplitToSequence<axis=0>(a) i = Constant<value = int64 "
    "{0}>() "
    "y = SequenceAt(s, i) }",
    "g (bool c, float[2,3] a, float[2,5] b) => (float y) { s = If(c) <"
    "then_branch = t () => (seq(float) u) { u = SequenceConstruct(a, a) }, "
    "else_branch = e () => (seq(float) v) { v = SequenceConstruct(b) }> i = Constant<value = int64 "
    "{0}>() "
    "y = SequenceAt(s, i) }",
    "g (float[2,3] a) => (float y) { o = Optional(a) y = OptionalGetElement(o) h = "
    "OptionalHasElement(o) }",
};

// The same with functions.
inline constexpr const char* kModels[] = {
    // Functions are walked through with what is known of their inputs.
    "<ir_version: 10, opset_import: [\"\" : 17, \"local\" : 1]> g (float[2,6] x) => (float y, "
    "float z) "
    "<int64[2] s = {3, 4}> { y = local.f(x, s) r = Shape(x) z = local.f(x, r) w = local.h(y) } "
    "<domain: \"local\", opset_import: [\"\" : 17]> f (a, b) => (c) { c = Reshape(a, b) } "
    "<domain: \"local\", opset_import: [\"\" : 17]> h (a) => (c) "
    "{ s = Constant<value = int64[2] {2, 6}>() c = Reshape(a, s) }",
    "<ir_version: 10, opset_import: [\"\" : 17, \"local\" : 1]> g (float[2,6] x) => (float y) "
    "{ y = local.outer(x) } "
    "<domain: \"local\", opset_import: [\"\" : 17, \"local\" : 1]> outer (a) => (c) "
    "{ s = Constant<value = int64[2] {4, 3}>() t = Relu(a) c = local.inner(t, s) } "
    "<domain: \"local\", opset_import: [\"\" : 17]> inner (a, b) => (c) { d = Reshape(a, b) c = "
    "Transpose(d) }",
    // A function may leave out what it does not get.
    "<ir_version: 10, opset_import: [\"\" : 17, \"local\" : 1]> g (float[2,6] x) => (float y) "
    "{ y = local.f(x) } "
    "<domain: \"local\", opset_import: [\"\" : 17]> f (a, b) => (c) { c = Clip(a, b) }",
    // What the function gives is constant inside of it only.
    "<ir_version: 10, opset_import: [\"\" : 17, \"local\" : 1]> g (float[2,6] x) => (float y) "
    "{ s = local.sizes(x) y = Reshape(x, s) } "
    "<domain: \"local\", opset_import: [\"\" : 17]> sizes (a) => (c) { c = Constant<value = "
    "int64[2] {3, 4}>() }",
};

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_TESTS_CONVENTION_ONNX_GRAPHS_H_
