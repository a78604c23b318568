// Runs the engine in a worker: one call at a time, each in its own instance.
"use strict";

let engine = null;

// Only the bytes that the engine requests are read from a file: the graph, never the weights.
function reader(blob, counted) {
  const files = new FileReaderSync();
  return {
    size: blob.size,
    read(offset, length) {
      counted.bytes += length;
      return new Uint8Array(files.readAsArrayBuffer(blob.slice(offset, offset + length)));
    },
  };
}

onmessage = ({ data }) => {
  if (data.engine) {
    engine = new WebAssembly.Module(data.engine);
    return;
  }
  const counted = { bytes: 0 };
  const files = new Map(data.files.map(([name, blob]) => [name, reader(blob, counted)]));
  const begin = performance.now();
  let result;
  try {
    result = runEngine(engine, data.words, files);
  } catch (error) {
    result = { code: 2, output: "", errors: `onnxflops: the engine stopped: ${error.message}\n` };
  }
  postMessage({ ...result, id: data.id, read: counted.bytes, milliseconds: performance.now() - begin });
};
