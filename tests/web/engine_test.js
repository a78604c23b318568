// Counts in the page of tools/web: the engine gives byte for byte what the program gives, and the page works by mouse and keyboard.
//   node tests/web/engine_test.js build/onnxflops build/web/page [PICTURES]     tools/test --web calls it
"use strict";
const assert = require("node:assert");
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");
const { runEngine } = require("../../tools/web/wasi.js");
const { chain } = require("./model.js");
const puppeteer = require("puppeteer-core");

const root = path.join(__dirname, "..", "..");
const [program, folder, pictures] = process.argv.slice(2).map((name) => path.resolve(name));
const work = fs.mkdtempSync(path.join(os.tmpdir(), "engine-"));
const axe = fs.readFileSync(require.resolve("axe-core"), "utf8");
const code = fs.readFileSync(path.join(folder, "site", "engine.js"), "utf8");
const engine = new WebAssembly.Module(Buffer.from(/kEngine = "([^"]+)"/.exec(code)[1], "base64"));

// A file on disk that counts the bytes read from it.
function file(name) {
  const fd = fs.openSync(name);
  return { size: fs.fstatSync(fd).size, fd, read(offset, length) {
    const bytes = Buffer.alloc(length);
    fs.readSync(fd, bytes, 0, length, offset);
    return bytes;
  } };
}

// One call of both, in the folder of the files.
function same(cwd, command, format, options, ...names) {
  const native = spawnSync(program, [command, "--format", format, ...options, "--", ...names], { cwd, encoding: "utf8", maxBuffer: 1 << 30 });
  const used = [...names, ...options.filter((word) => word.endsWith(".toml"))];
  const files = new Map(used.map((name) => [name, file(path.join(cwd, name))]));
  const result = runEngine(engine, [command, format, ...options, ...names], files);
  for (const one of files.values()) fs.closeSync(one.fd);
  const what = `${command} ${format} ${options.join(" ")} ${names.join(" ")}`;
  assert.strictEqual(result.errors, native.stderr.replace(/^ {2}--limit .*\n/m, ""), what);  // which a page has not
  assert.strictEqual(result.code, native.status, what);
  assert(result.output === native.stdout, `${what}: another output`);
  return result;
}

function models() {
  const at = path.join(root, "models");
  const list = fs.readdirSync(at).filter((name) => name.endsWith(".onnx"));
  for (const name of list) {
    const rules = name === "custom-op.onnx" ? ["--rules", "custom-op.toml"] : [];
    for (const format of ["json", "html"]) same(at, "count", format, rules, name);
    same(at, "compare", "json", rules, name);
  }
  for (const format of ["json", "html"]) {
    same(at, "compare", format, ["--dim", "batch=1"], "clip-vit-l-14-336.onnx");
    same(at, "diff", format, ["--dim", "batch=1"], "clip-vit-l-14-336.onnx", "clip-vit-h-14.onnx");
  }
  same(at, "count", "json", ["--dim", "nothing=1"], "gpt2.onnx");
  console.log(`${list.length} models: the same bytes`);
}

// Damaged files: every error has the same words.
function mutants() {
  const bytes = fs.readFileSync(path.join(root, "models", "lstm.onnx"));
  let seed = 12345;
  const random = (below) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  for (let i = 0; i < 300; ++i) {
    const mutant = Buffer.from(bytes.subarray(0, i % 3 === 0 ? random(bytes.length) : bytes.length));
    for (let k = 0; k < 1 + i % 5 && mutant.length > 0; ++k) mutant[random(mutant.length)] = random(256);
    fs.writeFileSync(path.join(work, "mutant.onnx"), mutant);
    same(work, "count", "json", [], "mutant.onnx");
  }
  const hostile = spawnSync("python3", [path.join(root, "tests", "hostile", "models.py")], { encoding: "utf8" }).stdout.split("\n").filter(Boolean);
  let compared = 0;
  for (const name of hostile) {
    const made = spawnSync("python3", [path.join(root, "tests", "hostile", "models.py"), name], { maxBuffer: 1 << 28 });
    if (made.status !== 0 || made.stdout.length > 3e6) continue;
    fs.writeFileSync(path.join(work, "hostile.onnx"), made.stdout);
    same(work, "count", "json", [], "hostile.onnx");
    ++compared;
  }
  console.log(`300 mutants and ${compared} hostile files: the same words`);
}

let browser;
async function open(address, { width = 1400, height = 900, scheme = "light" } = {}) {
  const page = await browser.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (message) => page.faults.push(message.text()));
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.setViewport({ width, height });
  await page.goto(address);
  await page.waitForSelector("html[data-ready]");
  return page;
}
async function give(page, ...names) {
  const input = await page.$("#files");
  await input.uploadFile(...names);
  await done(page);
}
const done = (page) => page.waitForFunction(() => /read$/.test(document.getElementById("status").textContent) ||
                                                  !document.getElementById("fault").hidden, { timeout: 60000 });
async function report(page) {
  const frame = await (await page.waitForSelector("iframe#report")).contentFrame();
  await frame.waitForSelector("html[data-ready]");
  return frame;
}
const inModels = (name) => path.join(root, "models", name);

async function use(address) {
  const page = await open(address);
  const asked = [];
  page.on("request", (request) => /^(blob|data|about):/.test(request.url()) || asked.push(request.url()));
  await give(page, inModels("clip-vit-l-14-336.onnx"));
  let frame = await report(page);
  assert.strictEqual(await frame.$eval(".figures .figure", (e) => e.textContent), "396.6 G");
  assert.strictEqual(await page.$eval("#command", (e) => e.textContent), "onnxflops count clip-vit-l-14-336.onnx -o report.html");
  await frame.$eval(".blocks [tabindex='0']", (e) => e.focus());
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.match(await frame.$eval(".path", (e) => e.textContent), /visual/);
  await page.type("#sizes [data-size=batch]", "1");
  await page.waitForFunction(() => /batch=1/.test(document.getElementById("command").textContent));
  await page.click("[value=compare]");
  await page.waitForFunction(() => /^onnxflops compare/.test(document.getElementById("command").textContent));
  await done(page);
  frame = await report(page);
  await frame.waitForSelector(".waterfall");
  await give(page, inModels("clip-vit-h-14.onnx"));
  await page.click("[value=diff]");
  await page.waitForFunction(() => /^onnxflops diff/.test(document.getElementById("command").textContent));
  await done(page);
  frame = await report(page);
  await frame.waitForSelector(".picture + .subtitle, .subtitle");
  await page.click("#clear");
  await give(page, inModels("custom-op.onnx"), inModels("custom-op.toml"));
  assert.match(await page.$eval("#command", (e) => e.textContent), /--rules custom-op.toml/);
  await page.click("#clear");
  fs.writeFileSync(path.join(work, "broken.onnx"), "<html>");
  await give(page, path.join(work, "broken.onnx"));
  assert.match(await page.$eval("#fault", (e) => e.textContent), /^broken.onnx: an HTML page/);
  assert.deepStrictEqual(page.faults, []);
  assert.deepStrictEqual(asked, []);
  await page.close();
}

// The page saves the output of the command line that it shows; and files may be dropped.
async function saved(address) {
  const page = await open(address);
  const session = await page.createCDPSession();
  await session.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: work });
  const config = path.join(root, "tests", "data", "config", "gpt2", "config.json");
  await give(page, config);
  await page.type("#sizes [data-size=batch]", "1");
  await page.type("#sizes [data-size=seq]", "64");
  await page.waitForFunction(() => /seq=64/.test(document.getElementById("command").textContent));
  await done(page);
  const command = (await page.$eval("#command", (e) => e.textContent)).split(" ");
  assert.deepStrictEqual(command, ["onnxflops", "count", "--dim", "batch=1", "--dim", "seq=64", "config.json", "-o", "report.html"]);
  for (const [button, name] of [["#save-json", "report.json"], ["#save-page", "report.html"]]) {
    const file = path.join(work, name);
    await page.click(button);
    for (let i = 0; i < 100 && !(fs.existsSync(file) && fs.statSync(file).size > 0); ++i) await new Promise((wait) => setTimeout(wait, 100));
    const native = spawnSync(program, [...command.slice(1, -1), path.join(work, `native-${name}`)], { cwd: path.dirname(config), encoding: "utf8" });
    assert.strictEqual(native.status, 0, native.stderr);
    assert(fs.readFileSync(file).equals(fs.readFileSync(path.join(work, `native-${name}`))), name);
    fs.rmSync(file);
  }
  await page.click("#clear");
  const bytes = ["lstm.onnx", "gpt2.onnx"].map((name) => [name, fs.readFileSync(inModels(name)).toString("base64")]);
  await page.evaluate((files) => {
    const dropped = new DataTransfer();
    for (const [name, content] of files) dropped.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], name));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
  }, bytes);
  await page.waitForFunction(() => /^onnxflops diff .*lstm.onnx gpt2.onnx/.test(document.getElementById("command").textContent));
  await done(page);
  await report(page);
  assert.deepStrictEqual(page.faults, []);
  await page.close();
}

const shownCommand = (page, pattern) => page.waitForFunction((text) => new RegExp(text).test(document.getElementById("command").textContent), {}, pattern);
const firstFigure = async (page) => (await report(page)).$eval(".figures .figure", (e) => e.textContent);

// A sample, two files of one name, two of three models compared, and a sweep.
async function several(address) {
  const page = await open(address);
  await page.click("#sample");
  await done(page);
  const sample = spawnSync(program, ["clip-vit-b-32.onnx"], { cwd: path.join(root, "models"), encoding: "utf8" }).stdout;
  assert.strictEqual(await firstFigure(page), /FLOPs +([0-9.]+ G)/.exec(sample)[1]);
  await page.click("#clear");
  for (const [folder, name] of [["one", "resnet50.onnx"], ["two", "vit-b-16.onnx"]]) {
    fs.mkdirSync(path.join(work, folder), { recursive: true });
    fs.copyFileSync(inModels(name), path.join(work, folder, "model.onnx"));
    await give(page, path.join(work, folder, "model.onnx"));
  }
  await shownCommand(page, "^onnxflops diff model.onnx 2/model.onnx ");
  await done(page);
  let frame = await report(page);
  assert.match(await frame.$eval("h1", (e) => e.textContent), /^model.onnx \u2192 2\/model.onnx$/);
  await give(page, path.join(work, "two", "model.onnx"));  // the same once more
  assert.strictEqual(await page.$$eval("#model option", (list) => list.length), 2);
  await give(page, inModels("lstm.onnx"));
  await page.select("#base", "2");
  await page.select("#head", "0");
  await shownCommand(page, "^onnxflops diff lstm.onnx model.onnx ");
  await page.click("#swap");
  await shownCommand(page, "^onnxflops diff model.onnx lstm.onnx ");
  await page.click("#clear");
  await give(page, inModels("gpt2.onnx"));
  await page.type("#sizes [data-size=batch]", "1, 8");
  await page.type("#sizes [data-size=seq]", "128 1024");
  await shownCommand(page, "--dim batch=1,8 --dim seq=128,1024 gpt2.onnx");
  await page.waitForFunction(() => document.getElementById("save-json").disabled);
  await done(page);
  frame = await report(page);
  const native = JSON.parse(spawnSync(program, ["gpt2.onnx", "--dim", "batch=1,8,seq=128,1024", "--format", "json"], { cwd: path.join(root, "models"), encoding: "utf8" }).stdout);
  const shown = await frame.$$eval("[data-place]", (list) => list.map((e) => [e.dataset.place, e.dataset.value]));
  assert(shown.length >= 4 * native.points.length);
  for (const [place, value] of shown) {
    const [, i, key] = /^points\.([0-9]+)\.totals\.(.*)$/.exec(place), total = native.points[Number(i)].totals[key];
    assert.strictEqual(value, total.expr || String(total), place);
  }
  await page.type("#sizes [data-size=seq]", "x");
  assert.match(await page.$eval("#hint-1", (e) => e.textContent), /a whole number, 0 or more/);
  await page.$eval("#sizes [data-size=seq]", (input) => { input.value = "128, 4096"; input.dispatchEvent(new Event("input")); });
  await page.waitForFunction(() => /index 4095/.test(document.getElementById("fault").textContent));
  assert.deepStrictEqual(page.faults, []);
  await page.close();
}

async function hostile(address) {
  const evil = "</script><script>parent.hacked=1</script><img src=x onerror='parent.hacked=1'>";
  fs.writeFileSync(path.join(work, "evil.onnx"), chain([`/${evil}/MatMul`, "/a/MatMul"], evil));
  const page = await open(address);
  await give(page, path.join(work, "evil.onnx"));
  const frame = await report(page);
  assert.strictEqual(await page.evaluate(() => window.hacked), undefined);
  assert.strictEqual(await frame.evaluate(() => document.querySelectorAll("img").length), 0);
  assert.strictEqual(await page.evaluate(() => fetch("/").then(() => "sent", () => "refused")), "refused");
  await page.close();
}

// A sparse file of 1.9 GB, whose weights are a hole.
async function large(address) {
  const name = path.join(work, "large.onnx");
  const varint = (v) => { const out = []; for (; v >= 128; v = Math.floor(v / 128)) out.push(v % 128 + 128); return Buffer.from([...out, v]); };
  const field = (number, bytes) => Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
  const size = 1.9e9, elements = size / 4;
  const shape = (dims) => Buffer.concat(dims.map((d) => Buffer.concat([Buffer.from([8]), varint(d)])));
  const tensor = Buffer.concat([shape([1000, elements / 1000]), Buffer.from([0x10, 1]), field(8, Buffer.from("w")), varint(9 * 8 + 2), varint(size)]);
  const io = (id, dims) => field(id, Buffer.concat([field(1, Buffer.from(id === 11 ? "x" : "y")), field(2, field(1, Buffer.concat([
    Buffer.from([8, 1]), field(2, Buffer.concat(dims.map((d) => field(1, Buffer.concat([Buffer.from([8]), varint(d)])))))])))]));
  const node = field(1, Buffer.concat([field(1, Buffer.from("x")), field(1, Buffer.from("w")), field(2, Buffer.from("y")), field(4, Buffer.from("MatMul"))]));
  const before = Buffer.concat([node, varint(5 * 8 + 2), varint(tensor.length + size), tensor]);
  const after = Buffer.concat([io(11, [1, 1000]), io(12, [1, elements / 1000])]);
  const head = Buffer.concat([Buffer.from([8, 8]), varint(7 * 8 + 2), varint(before.length + size + after.length), before]);
  const tail = Buffer.concat([after, field(8, Buffer.from([0x10, 17]))]);
  const fd = fs.openSync(name, "w");
  fs.writeSync(fd, head, 0, head.length, 0);
  fs.writeSync(fd, tail, 0, tail.length, head.length + size);
  fs.closeSync(fd);
  const page = await open(address);
  await give(page, name);
  const frame = await report(page);
  assert.strictEqual(await frame.$eval(".figures .figure", (e) => e.textContent), "950.0 M");
  // The engine has as many addresses as the file has bytes; memory are those that it writes to.
  const one = file(name), resident = () => process.memoryUsage().rss / 1e6, resting = resident();
  const { code } = runEngine(engine, ["count", "html", "large.onnx"], new Map([["large.onnx", one]]));
  const used = resident() - resting;
  fs.closeSync(one.fd);
  assert.strictEqual(code, 0);
  assert(used < 64, `${used} MB of memory`);
  console.log(`1.9 GB: ${await page.$eval("#status", (e) => e.textContent)}; ${Math.max(0, used).toFixed(1)} MB more memory`);
  await page.close();
}

async function look(address) {
  for (const [width, height] of [[1400, 900], [390, 844]]) {
    for (const scheme of ["light", "dark"]) {
      for (const name of ["start", "report"]) {
        const page = await open(address, { width, height, scheme });
        if (name === "report") {
          await give(page, inModels("clip-vit-l-14-336.onnx"));
          await report(page);
        }
        assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `wider than ${width}`);
        if (pictures) await page.screenshot({ path: path.join(pictures, `page-${name}-${width}-${scheme}.png`) });
        await (await page.createCDPSession()).send("Page.setBypassCSP", { enabled: true });
        await page.reload();
        if (name === "report") await give(page, inModels("lstm.onnx"));
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run({ exclude: ["iframe"] }));
        assert.deepStrictEqual(violations.map((v) => `${v.id}: ${v.nodes[0].html} ${v.nodes[0].failureSummary}`), [], `${name} at ${width} in ${scheme}`);
        await page.close();
      }
    }
  }
}

(async () => {
  models();
  mutants();
  browser = await puppeteer.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  const kTypes = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
  const server = http.createServer((request, response) => {
    const name = path.join(folder, "site", request.url === "/" ? "index.html" : path.basename(request.url));
    if (!fs.existsSync(name)) return response.writeHead(404).end();
    return response.writeHead(200, { "content-type": kTypes[path.extname(name)] }).end(fs.readFileSync(name));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.on("listening", resolve));
  try {
    for (const address of [`file://${folder}/onnxflops.html`, `http://127.0.0.1:${server.address().port}/`]) {
      for (const test of [use, saved, several, hostile, large, look]) await test(address);
      console.log(`${address.startsWith("file") ? "one file" : "a folder"}: passed`);
    }
  } finally {
    await browser.close();
    server.close();
    fs.rmSync(work, { recursive: true });
  }
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
