// Counts ONNX models in Node and in browsers, with the engine of the page in ../: the package `onnxflops`.
//
//   import { count } from "onnxflops";
//   const report = await count("model.onnx", { dim: { batch: 1 } });   // the program's JSON: onnxflops.report/1
//   report.totals.flops.value
//
// A model is a path (Node), a Uint8Array, an ArrayBuffer or a Blob, such as a File. Of a path only the graph is read, never the weights;
// of a Blob as well in a worker, elsewhere all of it. Whole numbers above 2^53 are BigInt. `format: "text"` gives the JSON as text, "html" a
// page. Nothing leaves the machine.
import { runEngine } from "./wasi.mjs";

const isNode = typeof process !== "undefined" && Boolean(process.versions?.node);
let engine = null;

export class OnnxflopsError extends Error {
  name = "OnnxflopsError";
}

// Compiled once.
async function load() {
  const url = new URL("./engine.wasm", import.meta.url);
  if (!isNode) return WebAssembly.compileStreaming(fetch(url));
  const { readFile } = await import("node:fs/promises");
  return WebAssembly.compile(await readFile(url));
}

async function fileOf(path) {
  const fs = await import("node:fs");
  let fd;
  try {
    fd = fs.openSync(path);
    const status = fs.fstatSync(fd);
    if (!status.isFile()) throw new OnnxflopsError(`${path}: not a file`);
    const read = (offset, length) => {
      const bytes = new Uint8Array(length);
      return bytes.subarray(0, fs.readSync(fd, bytes, 0, length, offset));
    };
    return { size: status.size, read, close: () => fs.closeSync(fd) };
  } catch (error) {
    if (fd !== undefined) fs.closeSync(fd);
    throw error instanceof OnnxflopsError ? error : new OnnxflopsError(`${path}: ${error.message}`);
  }
}

function bytesOf(bytes) {
  return { size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length), close() {} };
}

// {name, file} of a model.
async function opened(model, options) {
  if (typeof model === "string") {
    if (!isNode) throw new TypeError("a path is for Node: give a Blob, a Uint8Array or an ArrayBuffer");
    return { name: options.name ?? model, file: await fileOf(model) };
  }
  const name = options.name ?? model.name ?? "model.onnx";
  if (model instanceof Uint8Array) return { name, file: bytesOf(model) };
  if (model instanceof ArrayBuffer) return { name, file: bytesOf(new Uint8Array(model)) };
  if (!(model instanceof Blob)) throw new TypeError("a model is a path, a Blob, a Uint8Array or an ArrayBuffer");
  if (typeof FileReaderSync === "undefined") return { name, file: bytesOf(new Uint8Array(await model.arrayBuffer())) };
  const read = (offset, length) => new Uint8Array(new FileReaderSync().readAsArrayBuffer(model.slice(offset, offset + length)));
  return { name, file: { size: model.size, read, close() {} } };
}

// JSON whose whole numbers keep every digit.
export function parse(text) {
  let mark = "#";
  while (text.includes(mark)) mark += "#";
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g, (token) =>
    token[0] === '"' || Number.isSafeInteger(Number(token)) ? token : `"${mark}${token}"`);
  return JSON.parse(marked, (key, value) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value);
}

async function call(command, models, options) {
  const { dim = {}, rules, format = "json" } = options;
  if (!["json", "text", "html"].includes(format)) throw new TypeError(`format: '${format}' should be json, text or html`);
  engine ??= load();
  const module = await engine;
  const files = new Map();
  const words = [command, format === "html" ? "html" : "json"];
  for (const [name, size] of Object.entries(dim)) words.push("--dim", `${name}=${size}`);
  if (rules !== undefined) {
    files.set("rules.toml", bytesOf(new TextEncoder().encode(rules)));
    words.push("--rules", "rules.toml");
  }
  try {
    for (const model of models) {
      const { name, file } = await opened(model, models.length === 1 ? options : {});
      // The engine asks for a file by its name without the root's slash, and two may have one.
      const asked = (path) => path.replace(/^\/+/, "");
      const unique = files.has(asked(name)) ? `${name} (${files.size})` : name;
      files.set(asked(unique), file);
      words.push(unique);
    }
    const { code, output, errors } = runEngine(module, words, files);
    if (code !== 0) throw new OnnxflopsError(errors.trim().replace(/^onnxflops: /, ""));
    return format === "json" ? parse(output) : output;
  } finally {
    for (const file of files.values()) file.close();
  }
}

export const count = (model, options = {}) => call("count", [model], options);
export const compare = (model, options = {}) => call("compare", [model], options);
export const diff = (base, head, options = {}) => call("diff", [base, head], options);
