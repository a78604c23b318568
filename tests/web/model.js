// Small ONNX files, byte by byte, which tests of pages need and no exporter writes.
"use strict";

const varint = (value) => {
  const bytes = [];
  for (let v = BigInt(value); ; v >>= 7n) {
    if (v < 128n) return Buffer.from([...bytes, Number(v)]);
    bytes.push(Number(v & 127n) | 128);
  }
};
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => {
  const content = Buffer.isBuffer(value) ? value : Buffer.from(value, "utf8");
  return Buffer.concat([varint((field << 3) | 2), varint(content.length), content]);
};
const tensorType = (dims) => bytes(1, Buffer.concat([
  number(1, 1), bytes(2, Buffer.concat(dims.map((dim) => bytes(1, typeof dim === "string" ? bytes(2, dim) : number(1, dim))))),
]));
const valueInfo = (name, dims) => Buffer.concat([bytes(1, name), bytes(2, tensorType(dims))]);

// A chain of MatMul nodes with these names: x [batch, 8] by w [8, 8], n times over.
function chain(names, batch = "batch") {
  const nodes = names.map((name, i) => bytes(1, Buffer.concat([
    bytes(1, i === 0 ? "x" : `t${i - 1}`), bytes(1, `w${i % 7}`), bytes(2, i === names.length - 1 ? "y" : `t${i}`),
    bytes(3, name), bytes(4, "MatMul"),
  ])));
  const weights = [...Array(7).keys()].map((i) => bytes(5, Buffer.concat([number(1, 8), number(1, 8), number(2, 1), bytes(8, `w${i}`), bytes(9, Buffer.alloc(256))])));
  const graph = Buffer.concat([...nodes, bytes(2, "g"), ...weights, bytes(11, valueInfo("x", [batch, 8])), bytes(12, valueInfo("y", [batch, 8]))]);
  return Buffer.concat([number(1, 8), bytes(7, graph), bytes(8, number(2, 17))]);
}

module.exports = { chain };
