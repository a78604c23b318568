// A call of the engine with files, for index.mjs and bin.mjs. Nobody else imports it.
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

// As the program shows the text of others: what is invisible or a control character as the bytes that it is.
export const escaped = (text) => text.replace(/\p{C}|[^\P{Z} ]/gu, (c) => ({ "\n": "\\n", "\t": "\\t" })[c] ??
  [...new TextEncoder().encode(c)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join(""));

// What a system's error says, without the call that failed.
export function reason(error) {
  const known = { ENOENT: "no such file", EACCES: "permission denied", ENOSPC: "no space left on device", EISDIR: "is a directory, not a file" };
  return known[error.code] ?? escaped(error.message);
}

// A descriptor of a file. Opening a pipe would wait for its writer.
export function openFile(fs, path) {
  const status = fs.statSync(path);
  if (status.isFIFO()) throw new OnnxflopsError("is a named pipe, which this package does not read; give a file");
  if (status.isDirectory()) throw new OnnxflopsError("is a directory, not a file");
  if (!status.isFile()) throw new OnnxflopsError("not a file");
  return fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
}

async function fileOf(path) {
  const fs = await import("node:fs");
  let fd;
  try {
    fd = openFile(fs, path);
    const status = fs.fstatSync(fd);
    const read = (offset, length) => {
      const bytes = new Uint8Array(length);
      return bytes.subarray(0, fs.readSync(fd, bytes, 0, length, offset));
    };
    return { size: status.size, read, close: () => fs.closeSync(fd) };
  } catch (error) {
    if (fd !== undefined) fs.closeSync(fd);
    throw new OnnxflopsError(`${escaped(path)}: ${reason(error)}`);
  }
}

function bytesOf(bytes) {
  return { size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length), close() {} };
}

// {name, file} of a model.
async function opened(model, given) {
  if (typeof model === "string") {
    if (!isNode) throw new TypeError("a path is for Node: give a Blob, a Uint8Array or an ArrayBuffer");
    return { name: given ?? model, file: await fileOf(model) };
  }
  const name = given ?? model?.name ?? "model.onnx";
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

// The engine asks for a file by its name without the root's slash.
const asked = (path) => path.replace(/^\/+/, "");

// `words` are options of the engine, `rules` is the text of a file.
export async function call(command, models, format, words, { name, rules, rulesName = "rules.toml" } = {}) {
  engine ??= load();
  const module = await engine;
  const files = new Map();
  words = [command, format === "html" ? "html" : "json", ...words];
  if (rules !== undefined) {
    files.set(asked(rulesName), bytesOf(new TextEncoder().encode(rules)));
    words.push("--rules", rulesName);
  }
  try {
    for (const model of models) {
      const { name: called, file } = await opened(model, models.length === 1 ? name : undefined);
      const unique = files.has(asked(called)) ? `${called} (${files.size})` : called;
      files.set(asked(unique), file);  // two may have one name
      words.push(unique);
    }
    const { code, output, errors } = runEngine(module, words, files);
    if (code !== 0) throw new OnnxflopsError(errors.trim().replace(/^onnxflops: /, ""));
    return format === "json" ? parse(output) : output;
  } finally {
    for (const file of files.values()) file.close();
  }
}
