// The npm package, installed into a fresh project: its results equal the program's, and its types are correct.
//   node tests/web/npm_test.js build/onnxflops build/web/npm [--no-types]     tools/test --web and --npm call it; types take typescript
"use strict";
const assert = require("node:assert");
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const root = path.join(__dirname, "..", "..");
const [program, folder] = process.argv.slice(2, 4).map((name) => path.resolve(name));
const work = fs.mkdtempSync(path.join(os.tmpdir(), "npm-"));

function run(command, words, options = {}) {
  const done = spawnSync(command, words, { cwd: work, encoding: "utf8", maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "pipe"], timeout: 120000 });
  assert.strictEqual(done.status, options.code ?? 0, `${command} ${words.join(" ")}: ${done.stderr}${done.stdout}`);
  return options.code ? done.stderr : done.stdout;
}
const native = (...words) => run(program, words);

function install() {
  const name = run("npm", ["pack", "--silent", folder]).trim();
  fs.writeFileSync(path.join(work, "package.json"), '{"name": "fresh", "private": true}\n');
  run("npm", ["install", "--offline", "--no-audit", "--no-fund", "--silent", `./${name}`]);
  for (const model of ["resnet50", "lstm", "lstm.static", "gpt2", "clip-vit-l-14-336", "custom-op"]) {
    fs.copyFileSync(path.join(root, "models", `${model}.onnx`), path.join(work, `${model}.onnx`));
  }
  fs.copyFileSync(path.join(root, "models", "custom-op.toml"), path.join(work, "custom-op.toml"));
  fs.writeFileSync(path.join(work, "bad.toml"), "[op\n");
  run("mkfifo", ["pipe"]);
  console.log(`${name}: ${fs.statSync(path.join(work, name)).size} bytes`);
}

// As a program of a user would call it.
async function functions() {
  process.chdir(work);
  const { compare, count, diff, OnnxflopsError, parse } = await import(path.join(work, "node_modules", "onnxflops", "index.mjs"));
  assert.strictEqual(await count("resnet50.onnx", { format: "text" }), native("count", "resnet50.onnx", "--format", "json"));
  assert.strictEqual(await count("resnet50.onnx", { format: "html" }), native("count", "resnet50.onnx", "--format", "html"));
  const absolute = path.join(work, "resnet50.onnx");
  assert.strictEqual(await count(absolute, { format: "text" }), native("count", absolute, "--format", "json"));
  const report = await count("gpt2.onnx", { dim: { batch: 8, seq: 1024 } });
  assert.deepStrictEqual(report, parse(native("count", "gpt2.onnx", "--dim", "batch=8,seq=1024", "--format", "json")));
  assert.strictEqual(String(report.totals.flops.value), report.totals.flops.expr);
  const rules = fs.readFileSync("custom-op.toml", "utf8");
  assert.strictEqual((await count("custom-op.onnx", { rules })).coverage.lower_bound, false);
  const bytes = new Uint8Array(fs.readFileSync("lstm.onnx"));
  const expected = native("count", "lstm.onnx", "--format", "json");
  for (const model of [bytes, bytes.buffer, new Blob([bytes])]) {
    assert.strictEqual(await count(model, { name: "lstm.onnx", format: "text" }), expected);
  }
  assert.strictEqual(await compare("resnet50.onnx", { format: "text" }), native("compare", "resnet50.onnx", "--format", "json"));
  const names = ["lstm.static.onnx", "resnet50.onnx"];
  assert.strictEqual(await diff(...names, { format: "text" }), native("diff", ...names, "--format", "json"));
  await assert.rejects(count("no-such.onnx"), OnnxflopsError);
  await assert.rejects(count(new Uint8Array(100)), /only zeros/);
  await assert.rejects(count("gpt2.onnx", { dim: { nothing: 1 } }), /nothing/);
  await assert.rejects(count(7), TypeError);
  await assert.rejects(count("gpt2.onnx", { format: "csv" }), TypeError);
  await assert.rejects(count(null), TypeError);
  for (const [options, what] of [[{ dims: { batch: 1 } }, /'dims' is not an option of count; the options are dim, rules, name, format/],
    [{ dim: new Map([["batch", 1]]) }, /dim should be an object/], [{ dim: "batch=1" }, /dim should be an object/], [null, /options of count/],
    [{ rules: 7 }, /rules should be a text/], [{ name: 7 }, /name should be a text/]]) {
    await assert.rejects(count("gpt2.onnx", options), (error) => error instanceof TypeError && what.test(error.message));
  }
  await assert.rejects(diff("lstm.onnx", "lstm.onnx", { Dim: {} }), /'Dim' is not an option of diff/);
  await assert.rejects(count(path.join(work, "pipe")), /is a named pipe/);
  assert.deepStrictEqual(parse('{"#": 12345678901234567890, "a": ["12345678901234567890", 9007199254740991, -9007199254740993]}'),
    { "#": 12345678901234567890n, a: ["12345678901234567890", 9007199254740991, -9007199254740993n] });
}

function command() {
  const call = (words, options) => run(path.join(work, "node_modules", ".bin", "onnxflops"), words, options);
  const version = JSON.parse(fs.readFileSync(path.join(folder, "package.json"))).version;
  assert.strictEqual(run("npx", ["--no-install", "onnxflops", "--version"]), `onnxflops ${version} (WebAssembly)\n`);
  assert(native("--version").startsWith(`onnxflops ${version} `));
  const { totals } = JSON.parse(native("count", "resnet50.onnx", "--format", "json"));
  assert.strictEqual(call(["resnet50.onnx"]), `FLOPs  ${totals.flops.expr}\nMACs   ${totals.macs.expr}\nother  ${totals.other_flops.expr}\nparams ${totals.params}\n`);
  assert.match(call(["custom-op.onnx"]), /^FLOPs {2}>= /);
  assert.doesNotMatch(call(["count", "custom-op.onnx", "--rules", "custom-op.toml"]), />=/);
  assert.strictEqual(call(["gpt2.onnx", "--dim=batch=1,seq=8", "--format", "json"]), native("count", "gpt2.onnx", "--dim", "batch=1,seq=8", "--format", "json"));
  call(["compare", "resnet50.onnx", "-o", "page.html"]);
  assert.strictEqual(fs.readFileSync(path.join(work, "page.html"), "utf8"), native("compare", "resnet50.onnx", "--format", "html"));
  // The same mistakes, and the words that the program has for them.
  for (const words of [["no-such.onnx"], ["gpt2.onnx", "--dim", "batch"], ["gpt2.onnx", "--dim", "=3"], ["gpt2.onnx", "--dim=batch=-1"],
    ["gpt2.onnx", "--dim", "batch=1", "--dim", "batch=2"], ["gpt2.onnx", "--dim", "batch=1,batch=2"], ["gpt2.onnx", "--dim", "nothing=1"],
    ["lstm.onnx", "-o", "lstm.onnx"], ["lstm.onnx", "-o", "./lstm.onnx"], ["lstm.onnx", "--rules", "no-such.toml"], ["\x1b\n\u202e.onnx"],
    ["lstm.onnx", "--rules", "\x1b[31m\u202e\u00e9.toml"], ["lstm.onnx", "--rules", "bad.toml"], ["lstm.onnx", "--rules", "."]]) {
    assert.strictEqual(call(words, { code: 2 }), run(program, words, { code: 2 }), words.join(" "));
  }
  // Usage names another help, and fewer commands and options.
  for (const words of [[], ["lstm.onnx", "--format", "json", "--format", "html"], ["lstm.onnx", "--dim"], ["lstm.onnx", "--format"], ["count"],
    ["lstm.onnx", "-o", "--rules", "custom-op.toml"], ["compare"]]) {
    const expected = run(program, words, { code: 2 }).replace(/onnxflops \w+ --help/, "onnxflops --help");
    assert.strictEqual(call(words, { code: 2 }), expected, words.join(" "));
  }
  for (const [words, what] of [[["diff", "lstm.onnx"], "diff needs BASE and HEAD"], [["lstm.onnx", "gpt2.onnx"], "'gpt2.onnx' is one too many"],
    [["lstm.onnx", "--nope"], "--nope is not an option of count"], [["lstm.onnx", "--dims=batch=1"], "--dims is not an option of count"],
    [["diff", "lstm.onnx", "lstm.onnx", "--version"], "--version is not an option of diff"], [["lstm.onnx", "--format", "csv"], "--format 'csv': it should be"],
    [["toString", "lstm.onnx"], "'toString' is neither a command nor a file"], [["-"], "standard input"], [["."], ".: is a directory"],
    [["pipe"], "pipe: is a named pipe"], [["lstm.onnx", "--rules", "pipe"], "--rules 'pipe': is a named pipe"],
    [["lstm.onnx", "-o", "no/such.json"], "cannot write to 'no/such.json': no such directory"], [["lstm.onnx", "-o", "."], "cannot write to '.'"],
    [["lstm.onnx", "--\x1b[1m"], "--\\x1b[1m is not an option"], [["lstm.onnx", "-o", "new.onnx"], "cannot write to 'new.onnx'"]]) {
    const message = call(words, { code: 2 });
    assert(message.startsWith("onnxflops: ") && message.includes(what) && message.trim().split("\n").length === 1, message);
  }
  assert.match(call(["--", "lstm.onnx"]), /^FLOPs /);
  fs.writeFileSync(path.join(work, "escape.onnx"), Buffer.from(fs.readFileSync(path.join(work, "gpt2.onnx"), "latin1").replaceAll("batch", "b\x1b[1m"), "latin1"));
  assert.match(call(["escape.onnx"]), /^FLOPs[^\x1b]*b\\x1b\[1m[^\x1b]*$/);
  assert.deepStrictEqual(fs.readFileSync(path.join(work, "lstm.onnx")), fs.readFileSync(path.join(root, "models", "lstm.onnx")));
}

// A reader that has enough, and a disk that is full.
function outputs() {
  const call = (rest) => spawnSync("bash", ["-c", `node_modules/.bin/onnxflops lstm.onnx ${rest}`], { cwd: work, encoding: "utf8" });
  const cut = call("--format html | head -c 10; exit ${PIPESTATUS[0]}");
  assert.deepStrictEqual([cut.status, cut.stdout, cut.stderr], [141, "<!DOCTYPE ", ""]);
  if (!fs.existsSync("/dev/full")) return;
  const full = call(">/dev/full");
  assert.deepStrictEqual([full.status, full.stderr], [2, "onnxflops: cannot write to standard output: no space left on device\n"]);
}

function types() {
  const [compiler] = (process.env.NODE_PATH ?? "").split(":").map((at) => path.join(at, "typescript", "bin", "tsc")).filter(fs.existsSync);
  assert(compiler, "typescript is not installed: tools/setup web");
  const check = (line, code) => {
    fs.writeFileSync(path.join(work, "use.mts"), `import { count, compare, diff, type ReportDocument } from "onnxflops";\n${line}\nexport {};\n`);
    run(process.execPath, [compiler, "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom", "use.mts"],
      { code });
  };
  check(`const report: ReportDocument = await count("m.onnx", { dim: { batch: 1 } });
const flops: string | undefined = report.totals.flops?.expr;
const name: "onnxflops.compare/1" = (await compare(new Uint8Array())).schema;
const empty: boolean = (await diff("a", "b")).empty;
const page: string = await count("m.onnx", { format: "html" });
console.log(flops, name, empty, page);`);
  check("console.log((await count('m.onnx')).totals.flps);", 2);
  check("await count(7);", 2);
}

async function main() {
  install();
  await functions();
  command();
  outputs();
  if (process.argv[4] !== "--no-types") types();
  process.chdir(root);
  fs.rmSync(work, { recursive: true });
  console.log("the npm package gives what the program gives");
}

main();
