// A system for one run of engine.wasm: files that are read on demand, standard output, nothing else.
//
//   const { code, output, errors } = runEngine(module, ["count", "json", "clip.onnx"], files)
//
// `files` is a Map from names to {size, read(offset, length)}; read gives a Uint8Array. A payload that the engine skips is never
// read. The rest of this file is the part of WASI (wasi_snapshot_preview1) that the engine uses.
"use strict";

const kWasi = { success: 0, badf: 8, inval: 28, noent: 44, nosys: 52, spipe: 70 };

class Exit {
  constructor(code) {
    this.code = code;
  }
}

function runEngine(module, words, files) {
  const written = { 1: [], 2: [] };
  const open = new Map();  // files by descriptor: {file, at}
  let next = 4, memory;
  const view = () => new DataView(memory.buffer);
  const bytes = (at, length) => new Uint8Array(memory.buffer, at, length);
  const text = (at, length) => new TextDecoder().decode(bytes(at, length));
  const encoded = ["engine", ...words].map((word) => new TextEncoder().encode(`${word}\0`));

  // Reads into buffers from `at` on; returns how many bytes there were.
  function readAt(file, at, iovs, count) {
    let done = 0;
    for (let i = 0; i < count; ++i) {
      const [place, length] = [view().getUint32(iovs + 8 * i, true), view().getUint32(iovs + 8 * i + 4, true)];
      const size = Math.max(0, Math.min(length, file.size - at - done));
      if (size === 0) break;
      bytes(place, size).set(file.read(at + done, size));
      done += size;
    }
    return done;
  }
  function stat(at, type, size) {
    bytes(at, 64).fill(0);
    view().setUint8(at + 16, type);
    view().setBigUint64(at + 24, 1n, true);
    view().setBigUint64(at + 32, BigInt(size), true);
  }
  const kFolder = 3, kFile = 4, kDevice = 2;

  const system = {
    args_sizes_get(count, size) {
      view().setUint32(count, encoded.length, true);
      view().setUint32(size, encoded.reduce((sum, word) => sum + word.length, 0), true);
      return kWasi.success;
    },
    args_get(list, place) {
      for (const word of encoded) {
        view().setUint32(list, place, true);
        bytes(place, word.length).set(word);
        list += 4;
        place += word.length;
      }
      return kWasi.success;
    },
    environ_sizes_get(count, size) {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return kWasi.success;
    },
    environ_get: () => kWasi.success,
    clock_time_get(id, precision, at) {
      view().setBigUint64(at, 0n, true);
      return kWasi.success;
    },
    random_get(at, length) {
      bytes(at, length).fill(7);
      return kWasi.success;
    },
    proc_exit(code) {
      throw new Exit(code);
    },
    fd_prestat_get(fd, at) {
      if (fd !== 3) return kWasi.badf;
      view().setUint32(at, 0, true);
      view().setUint32(at + 4, 1, true);
      return kWasi.success;
    },
    fd_prestat_dir_name(fd, at) {
      bytes(at, 1)[0] = 46;  // "."
      return kWasi.success;
    },
    fd_fdstat_get(fd, at) {
      if (fd > 3 && !open.has(fd)) return kWasi.badf;
      bytes(at, 24).fill(0);
      view().setUint8(at, fd < 3 ? kDevice : fd === 3 ? kFolder : kFile);
      view().setBigUint64(at + 8, ~0n & 0xffffffffffffffffn, true);
      view().setBigUint64(at + 16, ~0n & 0xffffffffffffffffn, true);
      return kWasi.success;
    },
    fd_fdstat_set_flags: () => kWasi.success,
    path_open(folder, lookup, name, length, flags, rights, inherited, fdflags, at) {
      const file = files.get(text(name, length));
      if (!file) return kWasi.noent;
      open.set(next, { file, at: 0 });
      view().setUint32(at, next++, true);
      return kWasi.success;
    },
    path_filestat_get(folder, flags, name, length, at) {
      const file = files.get(text(name, length));
      if (!file) return kWasi.noent;
      stat(at, kFile, file.size);
      return kWasi.success;
    },
    fd_filestat_get(fd, at) {
      if (fd < 3) stat(at, kDevice, 0);
      else if (!open.has(fd)) return kWasi.badf;
      else stat(at, kFile, open.get(fd).file.size);
      return kWasi.success;
    },
    fd_close: (fd) => (open.delete(fd) ? kWasi.success : kWasi.badf),
    fd_read(fd, iovs, count, at) {
      const one = open.get(fd);
      const done = one ? readAt(one.file, one.at, iovs, count) : 0;
      if (one) one.at += done;
      view().setUint32(at, done, true);
      return kWasi.success;
    },
    fd_pread(fd, iovs, count, offset, at) {
      if (!open.has(fd)) return kWasi.badf;
      view().setUint32(at, readAt(open.get(fd).file, Number(offset), iovs, count), true);
      return kWasi.success;
    },
    fd_seek(fd, offset, whence, at) {
      const one = open.get(fd);
      if (!one) return kWasi.spipe;
      one.at = Number(offset) + [0, one.at, one.file.size][whence];
      view().setBigUint64(at, BigInt(one.at), true);
      return kWasi.success;
    },
    fd_write(fd, iovs, count, at) {
      let done = 0;
      for (let i = 0; i < count; ++i) {
        const [place, length] = [view().getUint32(iovs + 8 * i, true), view().getUint32(iovs + 8 * i + 4, true)];
        if (written[fd]) written[fd].push(bytes(place, length).slice());
        done += length;
      }
      view().setUint32(at, done, true);
      return kWasi.success;
    },
  };
  const imports = { wasi_snapshot_preview1: new Proxy(system, { get: (known, name) => known[name] || (() => kWasi.nosys) }) };
  const instance = new WebAssembly.Instance(module, imports);
  memory = instance.exports.memory;
  let code = 0;
  try {
    instance.exports._start();
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
    code = error.code;
  }
  const joined = (parts) => {
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
    return new TextDecoder().decode(all);
  };
  return { code, output: joined(written[1]), errors: joined(written[2]), bytes: memory.buffer.byteLength };
}

if (typeof module !== "undefined") module.exports = { runEngine };
