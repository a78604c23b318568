// Counts ONNX models in Node and in browsers, with the engine of the page in ../: the package `onnxflops`.
//
//   import { count } from "onnxflops";
//   const report = await count("model.onnx", { dim: { batch: 1 } });   // the program's JSON: onnxflops.report/1
//   report.totals.flops.value
//
// A model is a path (Node), a Uint8Array, an ArrayBuffer or a Blob, such as a File. Of a path only the graph is read, never the weights;
// of a Blob as well in a worker, elsewhere all of it. Whole numbers above 2^53 are BigInt. `format: "text"` gives the JSON as text, "html" a
// page. Nothing leaves the machine.
import { call } from "./call.mjs";
export { OnnxflopsError, parse } from "./call.mjs";

const kOptions = ["dim", "rules", "name", "format"];
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Map);

async function run(command, models, options = {}) {
  if (!isObject(options)) throw new TypeError(`the options of ${command} should be an object, as { dim: { batch: 1 } }`);
  for (const key of Object.keys(options)) {
    if (!kOptions.includes(key)) throw new TypeError(`'${key}' is not an option of ${command}; the options are ${kOptions.join(", ")}`);
  }
  const { dim = {}, rules, name, format = "json" } = options;
  if (!isObject(dim)) throw new TypeError("dim should be an object, as { batch: 1 }");
  for (const [key, value] of Object.entries({ rules, name })) {
    if (value !== undefined && typeof value !== "string") throw new TypeError(`${key} should be a text`);
  }
  if (!["json", "text", "html"].includes(format)) throw new TypeError(`format: '${format}' should be json, text or html`);
  const words = Object.entries(dim).flatMap(([symbol, size]) => ["--dim", `${symbol}=${size}`]);
  return call(command, models, format, words, { name, rules });
}

export const count = (model, options) => run("count", [model], options);
export const compare = (model, options) => run("compare", [model], options);
export const diff = (base, head, options) => run("diff", [base, head], options);
