// Opens pages of `onnxflops --format html` in Debian's Chromium: figures, controls, accessibility, hostile names.
//   node tests/web/page_test.js build/onnxflops [PICTURES]     tools/test --web calls it
// Needs puppeteer-core and axe-core (tools/setup web). With PICTURES it leaves pictures in that folder. PAGE_TEST=mouse
// runs that one alone.
"use strict";
const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { chain } = require("./model.js");
const puppeteer = require("puppeteer-core");

const root = path.join(__dirname, "..", "..");
const [program, pictures] = process.argv.slice(2).map((name) => path.resolve(name));
const work = fs.mkdtempSync(path.join(os.tmpdir(), "pages-"));
const axe = fs.readFileSync(require.resolve("axe-core"), "utf8");
const run = (...args) => execFileSync(program, args, { maxBuffer: 1 << 30, encoding: "utf8", cwd: path.join(root, "models") });
// Also what exits with 1: a budget that fails.
function runAll(...args) {
  try {
    return run(...args);
  } catch (error) {
    if (error.status !== 1) throw error;
    return error.stdout;
  }
}
const models = fs.readdirSync(path.join(root, "models")).filter((name) => name.endsWith(".onnx"));

// Writes a page; check exits with 1 where a budget fails, and writes all the same.
function write(name, ...args) {
  const file = path.join(work, `${name}.html`);
  try {
    run(...args, "-o", file);
  } catch (error) {
    if (args[0] !== "check" || error.status !== 1) throw error;
  }
  assert(fs.statSync(file).size <= 1e6, `${name} has ${fs.statSync(file).size} bytes`);
  return file;
}

let browser;
async function open(file, { width = 1400, height = 900, scheme = "light", hash = "" } = {}) {
  const page = await browser.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (message) => page.faults.push(message.text()));
  page.on("request", (request) => request.url().startsWith("file:") || page.faults.push(request.url()));
  await page.evaluateOnNewDocument(() => {
    window.refused = [];
    document.addEventListener("securitypolicyviolation", (event) => window.refused.push(event.blockedURI + event.violatedDirective));
  });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.setViewport({ width, height });
  await page.goto(`file://${file}${hash}`);
  await page.waitForSelector("html[data-ready]");
  return page;
}
async function close(page) {
  assert.deepStrictEqual(await page.evaluate(() => window.refused), []);
  assert.deepStrictEqual(page.faults, []);
  await page.close();
}

// Every figure of every module, in the page at these sizes, equals the report's.
async function compare(page, report, sizes) {
  const expected = [];
  const visit = (module) => {
    const figures = {};
    for (const [key, value] of Object.entries(module)) {
      if (value && value.expr !== undefined) figures[key] = value.value === null ? null : value.expr;
      if (key === "params" || key === "param_bytes") figures[key] = String(value);
    }
    expected.push([module.path, figures]);
    module.children.forEach(visit);
  };
  visit(report.modules);
  const faults = await page.evaluate((list, at) => {
    const tree = new Tree(JSON.parse(document.getElementById("data").textContent));
    tree.resize(new Map(Object.entries(at).map(([name, size]) => [name, BigInt(size)])));
    const wrong = [];
    for (const [modulePath, figures] of list) {
      const found = tree.find(modulePath);
      if (!found) wrong.push(`no module ${modulePath}`);
      for (const q of found ? tree.quantities : []) {
        const value = tree.one(found.node, q);
        if (figures[q.key] !== (value === null ? null : String(value))) wrong.push(`${modulePath} ${q.key}: ${value}, not ${figures[q.key]}`);
      }
    }
    return wrong.slice(0, 5);
  }, expected, sizes);
  assert.deepStrictEqual(faults, []);
  return expected.length;
}

async function figures() {
  let modules = 0;
  for (const model of models) {
    const rules = model === "custom-op.onnx" ? ["--rules", "custom-op.toml"] : [];
    const page = await open(write(model, "count", model, ...rules));
    const formulas = JSON.parse(run("count", model, ...rules, "--format", "json"));
    const names = formulas.symbols.map((symbol) => symbol.name);
    const inputs = formulas.symbols.every((symbol) => symbol.origin.kind === "input");
    const data = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).sizes);
    assert.deepStrictEqual(Object.keys(data).sort(), [...names].sort());
    for (const base of names.length === 0 ? [1] : [1, 7, 64]) {
      const at = Object.fromEntries(names.map((name, i) => [name, base + 3 * i]));
      const dims = names.flatMap((name) => ["--dim", `${name}=${at[name]}`]);
      const counted = inputs ? JSON.parse(run("count", model, ...rules, ...dims, "--format", "json")) : evaluate(structuredClone(formulas), at);
      modules += await compare(page, counted, at);
    }
    await close(page);
  }
  console.log(`figures: ${models.length} models, ${modules} modules`);
}

// Formulas at these sizes, by Python's integers: where sizes depend on data, counting at given ones takes other ways.
const kEvaluate = `
import json, sys
texts, sizes = json.load(sys.stdin)
def broadcast(*sizes):
    assert len({s for s in sizes if s != 1}) <= 1
    return max(sizes, key=lambda s: s != 1)
names = sorted(sizes, key=len, reverse=True)
def value(text):
    code = text
    for i, name in enumerate(names):
        code = code.replace(name, "(@%d@)" % i)
    for i, name in enumerate(names):
        code = code.replace("@%d@" % i, str(sizes[name]))
    return str(eval(code.replace("^", "**").replace("/", "//"), {"floor": lambda x: x, "broadcast": broadcast}))
known = {text: value(text) for text in set(texts)}
json.dump([known[text] for text in texts], sys.stdout)
`;
const values = (texts, sizes) =>
    JSON.parse(execFileSync("python3", ["-c", kEvaluate], { input: JSON.stringify([texts, sizes]), maxBuffer: 1 << 30, encoding: "utf8" }));
function evaluate(report, sizes) {
  const found = [];
  const visit = (module) => {
    found.push(...Object.values(module).filter((part) => part && part.expr !== undefined));
    module.children.forEach(visit);
  };
  visit(report.modules);
  values(found.map((quantity) => quantity.expr), sizes).forEach((value, i) => Object.assign(found[i], { expr: value, value: 0 }));
  return report;
}

// A document's value for a figure: "totals.flops", "conventions.thop.headline", "rules.NAME|WHERE|AT.actual_value".
function atPlace(document, place) {
  const dot = place.lastIndexOf("."), [first] = place.split(".");
  if (first === "rules") {
    return document.rules.find((rule) => `rules.${rule.name}|${rule.where}|${rule.at}` === place.slice(0, dot))[place.slice(dot + 1)];
  }
  if (first === "by_op") {
    const [, name, key, side] = /^by_op\.(.*)\.([^.]+)\.([^.]+)$/.exec(place);
    return document.by_op.find((row) => (row.domain ? `${row.domain}.${row.op}` : row.op) === name)[key][side];
  }
  const named = ["conventions", "formulas"].includes(first) && document[first].find((one) => place.startsWith(`${first}.${one.name}.`));
  const rest = named ? place.slice(`${first}.${named.name}.`.length) : place;
  return rest.split(".").reduce((part, key) => part[key], named || document);
}

// A figure of which nothing is known: it has no value, though no size is open.
const isUnknown = (part) => Boolean(part) && part.value === null && /^-?[0-9]+$/.test(part.expr);

// Whether a text says the value: "\u2265 396.6 GB*", "1.42 ms" of 10^-21 s, "batch = 379".
function says(text, value, place) {
  const found = /([-\u2212]?)([0-9][0-9,]*(?:\.[0-9]+)?) ?(k|M|G|T|P|E|ms|\u00b5s|ns|s|%)?/.exec(text);
  if (!found) return /^(unknown|none|any .*)$/.test(text);
  const scale = { k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18, "%": 0.01 }[found[3]] || 1;
  const seconds = { s: 1, ms: 1e-3, "\u00b5s": 1e-6, ns: 1e-9 }[found[3]];
  const unit = seconds === undefined ? scale : seconds * (/^page\.|\.time_[a-z]+_seconds(\.(base|head|delta))?$/.test(place) ? 1e21 : /_ns$/.test(place) ? 1e9 : 1);
  const said = Number(found[2].replaceAll(",", "")) * unit;
  return Math.abs(said - Math.abs(Number(value))) <= 6e-3 * Math.abs(Number(value)) && (/^[-\u2212]/.test(found[0]) === Number(value) < 0);
}

// Every figure of every kind of page is the one that its document has in JSON, at the sizes of the page, and its text says so.
async function documents() {
  let figuresSeen = 0;
  for (const [name, args] of Object.entries(kPages)) {
    const page = await open(write(name, ...args));
    const sizes = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).sizes || {});
    for (const [symbol] of Object.entries(sizes).filter(([, size]) => size === 1)) {
      await page.$eval(`[data-size="${symbol}"]`, (input) => { input.value = "3"; input.dispatchEvent(new Event("input")); });
      sizes[symbol] = 3;
    }
    const shown = await page.$$eval("[data-place]", (list) => list.map((e) => [e.dataset.place, e.dataset.value, e.textContent]));
    // The document of a pipeline has numbers, so it is asked for at those of the page.
    const dims = args[0] === "pipeline" ? Object.entries(sizes).filter(([, size]) => size === 3).flatMap(([symbol]) => ["--dim", `${symbol}=3`]) : [];
    const document = JSON.parse(runAll(...args, ...dims, "--format", "json"));
    if (args[0] === "compare") document.page = JSON.parse(run("count", ...args.slice(1), "--format", "json")).totals;
    if (document.stages) document.page = eachOf(document);
    const known = shown.filter(([place]) => !/^page\.(.*_seconds|rate)$/.test(place));
    const texts = known.map(([place]) => atPlace(document, place)).map((part) => (isUnknown(part) ? "null" : part && part.expr !== undefined ? part.expr.replace(/^1e-21\*\((.*)\)$/, "$1") : String(part)));
    const isFormula = (text) => /[a-z(]/i.test(text) && !/^([-0-9.e+]+|null|undefined)$/.test(text);
    const expected = values(texts.map((text) => (isFormula(text) ? text : "0")), sizes);
    known.forEach(([place, value, text], i) => {
      const wanted = isFormula(texts[i]) ? expected[i] : texts[i];
      const absent = ["null", "undefined"].includes(texts[i]);
      assert(absent ? value === "" : wanted === value, `${name} ${place}: ${value}, not ${wanted}`);
      assert(absent || says(text, value, place), `${name} ${place}: "${text}" of ${value}`);
    });
    if (name === "device") await times(page, document, shown);
    if (args[0] === "pipeline") pipelineTimes(document, shown);
    assert(known.length > 0 || name === "control", `${name} has no figure`);
    figuresSeen += known.length;
    await close(page);
  }
  console.log(`documents: ${Object.keys(kPages).length} pages, ${figuresSeen} figures`);
}

// What one answer of a pipeline costs.
function eachOf({ totals, per, per_count: count }) {
  if (!per) return {};
  return Object.fromEntries(["flops", "macs"].map((key) => [`each_${key}`, String(BigInt(totals[key].expr) / BigInt(count.expr))]));
}
// Times and rates of pipelines, which JSON has as decimals.
function pipelineTimes(document, shown) {
  const near = (value, wanted, what) => assert(Math.abs(Number(value) / wanted - 1) < 1e-9, `${what}: ${value}, not ${wanted}`);
  const of = (place) => shown.find(([known]) => known === place)[1];
  if (document.time) {
    near(of("page.time_seconds") / 1e21, document.time.seconds, "time");
    near(of("page.rate"), document.answers_per_second, "rate");
  }
  for (const [i, { pipeline }] of (document.points || []).entries()) {
    if (pipeline.time) near(of(`page.${i}.time_seconds`) / 1e21, pipeline.time.seconds, "time of a point");
  }
}

// Every figure of every stage, at other numbers of the parameters than those of the page, is that of a count at these numbers.
async function pipelines() {
  let seen = 0;
  for (const [name, others] of [["diffusion", "images=2,steps=7,resolution=128,guidance=1"], ["answer", "answers=2,prompt=77,tokens=5"], ["beams", "beams=1,tokens=9"],
                                ["drafts", "tokens=31"]]) {
    const page = await open(write(`pipeline-${name}`, ...kPages[name]));
    const [command, file, ...options] = kPages[name];
    const document = JSON.parse(run(command, file, ...(options[0] === "--dim" ? options.slice(2) : options), "--dim", others, "--format", "json"));
    const rows = [["", document], ...document.stages.map((stage) => [stage.name, stage])];
    const wrong = await page.evaluate((list, at) => {
      const data = JSON.parse(document.getElementById("data").textContent), tree = new Tree(data), faults = [];
      tree.resize(new Map([...tree.sizes, ...at.map(([symbol, size]) => [symbol, BigInt(size)])]));
      const same = (value, wanted, what) => (String(value) === wanted ? 0 : faults.push(`${what}: ${value}, not ${wanted}`));
      for (const [path, { totals, runs, time }] of list) {
        const { node } = tree.find(path), seconds = (key) => Number(tree.ofStage(node, key)) / 1e21;
        for (const q of tree.quantities) {
          if (q.key === "time_bound_seconds") {
            if (Math.abs(Number(tree.of(node, q)) / 1e21 / time.seconds - 1) > 1e-9) faults.push(`${path} time`);
          } else {
            same(tree.of(node, q), totals[q.key].expr, `${path} ${q.key}`);
          }
        }
        if (runs) same(tree.ofStage(node, "runs"), runs.expr, `${path} runs`);
        if (time && (seconds("arithmetic") >= seconds("memory")) !== (time.arithmetic_seconds >= time.memory_seconds)) faults.push(`${path} bound by`);
      }
      return faults.slice(0, 5);
    }, rows, others.split(",").map((dim) => dim.split("=")));
    assert.deepStrictEqual(wrong, [], name);
    seen += rows.length;
    await close(page);
  }
  // A stage that would run less often than never has no figures.
  const page = await open(write("pipeline-answer", ...kPages.answer));
  const set = (value) => page.$eval("[data-size=tokens]", (input, text) => { input.value = text; input.dispatchEvent(new Event("input")); }, value);
  await set("0");
  assert.strictEqual(await text(page, ".figures .figure"), "?");
  // GPT-2 has 1024 positions: the last token's is 512 + 598.
  await set("600");
  assert.strictEqual(await text(page, ".figures .figure"), "?");
  assert.strictEqual(await text(page, "p.bad"), "stage tokens: new + past is 1,111, at most 1,024");
  await set("16");
  assert.strictEqual(await text(page, "p.bad"), "");
  const [, shown] = /FLOPs +([0-9.]+ G)/.exec(run("pipeline", `${stages}/gpt2.toml`, "--dim", "tokens=16"));
  assert.strictEqual(await text(page, ".figures .figure"), shown);
  await page.click("[data-column=runs]");
  assert.deepStrictEqual(await page.$$eval(".tree tbody tr", (list) => list.map((row) => row.querySelector("bdi").textContent)), ["GPT-2 answers a prompt", "tokens", "prompt"]);
  await close(page);
  // The bounds of a parameter are those of its field.
  const bounded = await open(write("pipeline-diffusion", ...kPages.diffusion));
  await bounded.$eval("[data-size=guidance]", (input) => { input.value = "7"; input.dispatchEvent(new Event("input")); });
  assert.strictEqual(await bounded.$eval("[data-size=guidance]", (input) => input.getAttribute("aria-invalid")), "true");
  assert.match(await bounded.$eval("[data-size=guidance]", (input) => document.getElementById(input.getAttribute("aria-describedby")).textContent), /1 to 2.*guidance_scale/);
  await close(bounded);
  console.log(`pipelines: ${seen} rows`);
}

// The parts of the time that JSON has as seconds, or as the larger of both.
async function times(page, { roofline, totals }, shown) {
  const of = (key) => BigInt(shown.find(([place]) => place === `page.${key}`)[1]);
  const larger = of("arithmetic_seconds") > of("memory_seconds") ? of("arithmetic_seconds") : of("memory_seconds");
  assert.strictEqual(`1e-21*(${larger})`, totals.time_bound_seconds.expr);
  assert(Math.abs(Number(of("fused_estimate_seconds")) / 1e21 / roofline.fused_estimate_seconds - 1) < 1e-9);
}

const text = (page, selector) => page.$eval(selector, (element) => element.textContent);
const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));
const rows = (page) => page.$$eval(".tree tbody tr", (list) => list.length);

async function keyboard() {
  const page = await open(write("keys", "count", "clip-vit-l-14-336.onnx"));
  await page.$eval(".blocks [tabindex='0']", (element) => element.focus());
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert.strictEqual(await hash(page), "#visual.transformer");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  assert.strictEqual(await hash(page), "#visual.transformer.resblocks.0-23.attn");
  await page.keyboard.press("Escape");
  assert.strictEqual(await hash(page), "#visual.transformer.resblocks.0-23");
  for (let i = 0; i < 4; ++i) await page.keyboard.press("Escape");
  assert.strictEqual(await hash(page), "");
  await page.$eval(".tree tbody [tabindex='0']", (element) => element.focus());
  const before = await rows(page);
  await page.keyboard.press("ArrowLeft");
  assert.strictEqual(await rows(page), 1);
  await page.keyboard.press("ArrowRight");
  assert.strictEqual(await rows(page) > 3 && await rows(page) <= before, true);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.strictEqual(await hash(page), "#visual");
  await page.keyboard.press("Home");
  await page.keyboard.press("End");
  await page.$eval("input[type=search]", (element) => element.focus());
  await page.keyboard.type("out_proj");
  assert.match(await text(page, "[role=status]"), /found/);
  await page.keyboard.press("Enter");
  assert.match(await hash(page), /out_proj/);
  await close(page);
}

async function mouse() {
  const page = await open(write("mouse", "count", "gpt2.onnx", "--device", "h100-sxm", "--dtype", "bf16"));
  const flops = await text(page, ".figures .figure");
  await page.$eval("[data-size=seq]", (input) => { input.value = ""; });
  await page.type("[data-size=seq]", "1024");
  const more = await text(page, ".figures .figure");
  assert.notStrictEqual(flops, more);
  const [, shown] = /FLOPs +([0-9.]+ G)/.exec(run("count", "gpt2.onnx", "--dim", "batch=1,seq=1024"));
  assert.strictEqual(more, shown);
  await page.$eval("[data-size=seq]", (input) => { input.value = "many"; input.dispatchEvent(new Event("input")); });
  assert.strictEqual(await text(page, ".figures .figure"), "?");
  assert.strictEqual(await page.$eval("[data-size=seq]", (input) => input.getAttribute("aria-invalid")), "true");
  await page.$eval("[data-size=seq]", (input) => { input.value = "0"; input.dispatchEvent(new Event("input")); });
  assert.deepStrictEqual([await text(page, ".figures .figure"), await page.$eval("[data-size=seq]", (input) => input.getAttribute("aria-invalid"))], ["?", "true"]);
  await page.$eval("[data-size=seq]", (input) => { input.value = "1,024"; input.dispatchEvent(new Event("input")); });
  for (const [select, values] of [["Size by", ["params", "bytes", "time_estimate_seconds", "flops"]], ["Color by", ["intensity", "type"]]]) {
    const id = await page.$$eval("label", (list, name) => list.find((l) => l.textContent === name).htmlFor, select);
    for (const value of values) await page.select(`#${id}`, value);
  }
  const isOpen = () => page.$eval("#columns", (choices) => !choices.hidden);
  const box = (selector) => page.$eval(selector, (element) => element.getBoundingClientRect().toJSON());
  await page.click(".menu");
  assert((await box("#columns")).bottom <= (await box(".tree thead")).top, "the choices cover the table");
  await page.click("#column-intensity");
  assert(await isOpen());
  await page.keyboard.press("Escape");
  assert(!await isOpen());
  await page.click(".menu");
  await page.click("input[type=search]");
  assert(!await isOpen());
  assert.match(await text(page, ".tree thead"), /FLOP\/byte/);
  await page.click("[data-column=macs]");
  assert.strictEqual(await page.$eval("[data-column=macs]", (button) => button.parentElement.getAttribute("aria-sort")), "descending");
  const button = async (name) => {
    const all = await page.$$("button");
    for (const one of all) if ((await one.evaluate((b) => b.textContent)) === name) return one.click();
    throw new Error(`no button ${name}`);
  };
  await button("Expand all");
  const expanded = await rows(page);
  await button("Collapse");
  assert(await rows(page) < expanded);
  await page.evaluate(() => { navigator.clipboard.writeText = async (words) => { window.copied = words; }; });
  await button("Copy as CSV");
  assert.match(await page.evaluate(() => window.copied), /^path,type,times,flops,flops_share_percent,macs,params,intensity,lower_bound\r\n/);
  await (await page.$$(".blocks [data-id]"))[2].click();
  assert.notStrictEqual(await hash(page), "");
  await page.click(".path button");
  assert.strictEqual(await hash(page), "");
  await page.emulateMediaType("print");
  assert((await page.pdf()).length > 10000);
  await close(page);
}

// A row of 24 modules as 24 rows, in the picture and the table, and back.
async function unfold() {
  const page = await open(write("unfold", "count", "clip-vit-l-14-336.onnx"), { hash: "#visual.transformer.resblocks.0-23" });
  const before = await page.$$eval(".blocks [data-id]", (list) => list.length);
  const [flops] = await page.$$eval(".figures .figure", (list) => list.map((e) => e.textContent));
  await page.focus(".path .fold");
  await page.keyboard.press("Enter");
  assert.strictEqual(await hash(page), "#visual.transformer");
  assert.strictEqual(await page.$$eval(".blocks [aria-level='2']", (list) => list.length), 24);
  assert(await page.$$eval(".blocks [data-id]", (list) => list.length) > before);
  await page.evaluate(() => { location.hash = "#visual.transformer.resblocks.7.attn"; });
  await page.waitForFunction(() => /resblocks.7.*attn/.test(document.querySelector(".path ol").textContent));
  assert.strictEqual((await page.$$eval(".figures .figure", (list) => list.map((e) => e.textContent)))[0], flops);
  await page.evaluate(() => { location.hash = "#visual.transformer.resblocks.7"; });
  await page.waitForSelector(".path .fold");
  await page.click(".path .fold");
  assert.strictEqual(await hash(page), "#visual.transformer.resblocks.0-23");
  assert.strictEqual(await page.$$eval(".blocks [data-id]", (list) => list.length), before);
  await close(page);
}

// A page of a profile has the values of its JSON.
async function profile() {
  const args = kPages.profile;
  const page = await open(write("profile", ...args));
  const { modules, totals, runs } = JSON.parse(run(...args, "--format", "json"));
  const wrong = await page.evaluate((list) => {
    const tree = new Tree(JSON.parse(document.getElementById("data").textContent));
    const faults = [];
    for (const { path: name, work } of list) {
      const found = tree.find(name);
      const of = (key) => tree.of(found.node, tree.quantity(key));
      if (!found || of("time") !== BigInt(work.time_ns) * 10n ** 12n || of("flops") !== BigInt(work.flops)) faults.push(name);
      const rate = found && tree.rate(found.node);
      if (found && Math.abs((rate || 0) - (work.flops_per_second || 0)) > 1e-6 * work.flops_per_second) faults.push(`${name}: ${rate}`);
    }
    return faults;
  }, modules.filter((module) => module.path !== ""));
  assert.deepStrictEqual(wrong, []);
  const root = await page.evaluate(() => {
    const tree = new Tree(JSON.parse(document.getElementById("data").textContent));
    return String(tree.of(tree.root, tree.quantity("time")));
  });
  assert.strictEqual(root, `${totals.work.time_ns + runs.outside_ns}000000000000`);
  const id = await page.$$eval("label", (list) => list.find((l) => l.textContent === "Color by").htmlFor);
  for (const value of ["peak", "type", "intensity", "gap"]) await page.select(`#${id}`, value);
  await page.click("[data-column=rate]");
  assert.strictEqual(await page.$$eval("svg.chart", (list) => list.length), 1);
  await close(page);
  for (const more of [[], args.slice(3, 5)]) await profileTable([...args.slice(0, 3), ...more]);
}

// The rows of a profile's page that are not places of the model, and the row of all of it, have the figures of the screen.
async function profileTable(args) {
  const page = await open(write("profile", ...args));
  for (const one of ["nodes", "macs", "bytes", "peak", "bound"]) await page.$$eval(`#column-${one}:checked`, (list) => list.forEach((box) => box.click()));
  await page.$eval("#column-gap", (box) => box.click());
  const titles = ["time", "time_share", "flops", "flops_share", "gap", "rate", "intensity"], order = [0, 1, 3, 4, 2, 5, 6];
  assert.deepStrictEqual(await page.$$eval(".tree thead button", (list) => list.map((b) => b.dataset.column)), ["name", ...titles]);
  const cells = await page.$$eval(".tree tbody tr", (list) => list.map((row) => [...row.children].map((cell) => cell.textContent)));
  const plain = (cell) => cell.replace(/^[\u2013]$/, "-").replace(/ %$/, "").replace("\u2212", "-").replace("\u00b5", "u").replace(/^\+(?=[0-9])/, "")
      .replace(/(\.[0-9]*?)0+(?= )/, "$1").replace(/\.(?= )/, "");
  let seen = 0;
  for (const line of run(...args).split("\n")) {
    const [, name, ...rest] = /^[| ] (\(all\)|\([a-z ]+\)) {2,}(\S.*)$/.exec(line) || [];
    if (!rest[0] || name === "(outside any module)") continue;
    const row = cells.find(([first], i) => (name === "(all)" ? i === 0 : first.includes(name)));
    assert(row, `no row ${name}`);
    const screen = rest[0].split(/ {2,}/).map(plain);
    assert.deepStrictEqual(order.map((i) => plain(row[i + 1])), screen, name);
    ++seen;
  }
  assert(seen >= 2, `${seen} rows`);
  const parts = await page.evaluate(() => {
    const tree = new Tree(JSON.parse(document.getElementById("data").textContent));
    return ["time", "flops", "macs"].map((key) => tree.quantity(key)).map((q) => String(tree.of(tree.root, q) - sum(tree.root.children.map((child) => tree.of(child, q)))));
  });
  assert.deepStrictEqual(parts, ["0", "0", "0"]);
  await close(page);
}

// Pages say what was counted, as the screen does.
async function counted() {
  const squeeze = (words) => words.replace(/\n\| +/g, " ").replace(/\s+/g, " ");
  const line = (screen, label) => squeeze(new RegExp(`^${label} +(.*(?:\\n\\| (?! *did not join).*)*)`, "m").exec(screen)[1]);
  const said = (page) => page.$eval("#page", (element) => element.innerText.replace(/\s+/g, " "));
  for (const [label, ...args] of [["inputs", "count", "clip-vit-l-14-336.onnx", "--at-image", "224"],
                                  ["inputs", "count", "clip-vit-l-14-336.onnx", "--convention", "thop"],
                                  ["inputs", "compare", "clip-vit-l-14-336.onnx", "--at-image", "224"],
                                  ["samples", "mfu", "gpt2.onnx", "--lengths", "512,300,17", "--step-time", "0.01", "--peak", "989e12"],
                                  ["joined", "profile", "resnet50.onnx", `${profiles}/resnet50.profile.json`],
                                  ["joined", ...kPages.profile],
                                  ["\\|", "mfu", "gpt2.onnx", "--dim", "batch=8,seq=512", "--grad-accumulation", "4", "--step-time", "9", "--peak", "989e12",
                                   "--backward", "exact", "--recompute", "blocks"]]) {
    const page = await open(write("counted", ...args));
    assert((await said(page)).includes(line(run(...args), label)), `${args.join(" ")}: no line ${label}`);
    await close(page);
  }
  const part = await open(write("counted", "count", "clip-vit-l-14-336.onnx", "--module", "visual"));
  const [, nodes] = /([0-9,]+) nodes/.exec(run("count", "clip-vit-l-14-336.onnx", "--module", "visual"));
  assert((await said(part)).includes(`only visual, ${nodes} nodes`));
  await close(part);
}

// The figures of mfu are those of the screen, with their parameters; what cannot be is marked.
async function utilisation() {
  const args = ["mfu", "gpt2.onnx", "--lengths", "512,300,17", "--step-time", "0.01", "--device", "h100-sxm", "--dtype", "bf16"];
  const page = await open(write("mfu", ...args), { width: 1440 });
  const shown = await page.$$eval(".formulas tbody tr", (list) => list.map((row) => [...row.children].map((cell) => cell.innerText)));
  let seen = 0;
  for (const text of run(...args).split("\n")) {
    const [, name, flops, mfu, words] = /^\| (\S+) +([0-9.]+ [GT]) +([0-9.]+) +[0-9.]+ +(.+)$/.exec(text) || [];
    if (!name) continue;
    const row = shown.find(([first]) => first === name);
    assert.deepStrictEqual([row[1], row[2], row[4].split("\n")[0]], [flops, `${mfu} %`, words], name);
    ++seen;
  }
  assert(seen > 10);
  const lines = await page.$$eval(".formulas tbody th", (list) => list.map((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getClientRects().length;
  }));
  assert(lines.every((n) => n === 1), "a name is broken");
  assert.match(await text(page, ".figures"), /nothing is recomputed/);
  assert.strictEqual(await page.$$eval(".over", (list) => list.length), 0);
  await close(page);
  const above = ["mfu", "gpt2.onnx", "--dim", "batch=8,seq=1024", "--step-time", "0.001", "--device", "h100-sxm", "--dtype", "bf16"];
  execFileSync("sh", ["-c", '"$@" || test $? = 1', "sh", program, ...above, "-o", path.join(work, "above.html")],
               { cwd: path.join(root, "models"), stdio: "pipe" });
  const warned = await open(path.join(work, "above.html"));
  assert.match(await warned.$eval("[data-place=mfu]", (figure) => figure.className), /over/);
  const places = await warned.evaluate(() => [".over", ".notes", ".formulas"].map((name) => document.querySelector(name).getBoundingClientRect().top));
  assert(places[1] > places[0] && places[2] > places[1], "the warning is below the table");
  assert.match(await text(warned, ".formulas thead"), /line: 100 %/);
  await close(warned);
}

// What is of one of 24 modules, and what of all of them.
async function members() {
  const page = await open(write("members", "count", "clip-vit-l-14-336.onnx"), { hash: "#visual.transformer.resblocks.5.attn" });
  const of = (module) => JSON.parse(run("count", "clip-vit-l-14-336.onnx", "--dim", "batch=1", "--module", module, "--format", "json")).totals.flops.value;
  const short = (value) => `${(value / 1e9).toPrecision(4)} G`;
  const one = of("visual.transformer.resblocks.5.attn");
  assert((await text(page, ".details")).includes(`one of 24, all: ${short(24 * one)} (`));
  const row = await text(page, ".tree tr.marked");
  assert(row.includes("all 24 together") && row.includes(short(24 * one)), row);
  await page.evaluate(() => { location.hash = "#visual.transformer.resblocks.0-23.attn"; });
  await page.waitForFunction(() => !document.querySelector(".together"));
  assert(!/one of/.test(await text(page, ".details")));
  await close(page);
}

// A window of 390 pixels: tables of modules need no scrolling, names wrap below their beginning, a chosen tool comes into view.
async function narrow() {
  for (const name of ["count", "device", "training", "diff", "profile"]) {
    const page = await open(write(name, ...kPages[name]), { width: 390, height: 844 });
    const [table, room] = await page.$eval(".tree", (tree) => [tree.offsetWidth, tree.parentElement.clientWidth]);
    assert(table <= room, `${name}: ${table} of ${room} pixels`);
    const hanging = await page.$$eval(".tree .label", (list) => list.every((label) => {
      const range = document.createRange();
      range.selectNodeContents(label);
      return [...range.getClientRects()].every((rect) => rect.left >= label.getBoundingClientRect().left);
    }));
    assert(hanging, `${name}: a name wraps to the left of its beginning`);
    await close(page);
  }
  const page = await open(write("compare", ...kPages.compare), { width: 390, height: 844 });
  assert.strictEqual(await page.$eval("[aria-pressed=true]", (button) => button.dataset.tool), "thop");
  const way = () => page.$eval(".columns > :last-child", (section) => section.getBoundingClientRect().top / innerHeight);
  await page.$eval("[data-tool]", (button) => button.scrollIntoView({ block: "center" }));
  assert(await way() > 1);
  await page.click("[data-tool]");
  assert(await way() > -0.01 && await way() < 0.5, `the way is at ${await way()}`);
  await close(page);
}

// On paper types are no larger than names. Areas have borders. An exact backward pass has its columns.
async function looks() {
  const page = await open(write("looks", ...kPages.training));
  const titles = await page.$$eval(".tree thead button", (list) => list.map((button) => button.textContent));
  assert.deepStrictEqual(titles.map((title) => title.replace(" \u2193", "")),
                         ["module", "FLOPs", "% of FLOPs", "MACs", "backward FLOPs", "backward MACs", "params"].filter((title) => titles.includes(title)));
  assert(titles.includes("backward FLOPs") && titles.includes("backward MACs"), titles.join());
  const id = await page.$$eval("label", (list) => list.find((label) => label.textContent === "Picture").htmlFor);
  await page.select(`#${id}`, "areas");
  assert(await page.$$eval(".blocks .block rect", (list) => list.every((rect) => getComputedStyle(rect).stroke !== "none")));
  await page.emulateMediaType("print");
  const sizes = await page.$$eval(".tree .module, .tree .type, .tree .times", (list) => list.map((name) => [name.className, parseFloat(getComputedStyle(name).fontSize)]));
  const of = (name) => sizes.filter(([kind]) => kind === name).map(([, size]) => size);
  assert(Math.max(...of("type"), ...of("times")) <= Math.min(...of("module")), JSON.stringify(sizes.slice(0, 9)));
  await close(page);
}

async function links() {
  const file = write("links", "count", "clip-vit-l-14-336.onnx");
  const report = JSON.parse(run("count", "clip-vit-l-14-336.onnx", "--dim", "batch=1", "--module", "visual.transformer.resblocks.7.attn", "--format", "json"));
  const page = await open(file, { hash: "#visual.transformer.resblocks.7.attn" });
  assert.match(await text(page, ".path"), /resblocks.7.*attn/);
  const value = await page.$eval(".blocks [role=treeitem]", (block) => block.getAttribute("aria-label"));
  assert.match(value, new RegExp(`${(report.totals.flops.value / 1e9).toPrecision(4)} G`));
  await page.evaluate(() => { location.hash = "#visual.conv1"; });
  await page.waitForFunction(() => /conv1$/.test(document.querySelector(".path ol").textContent));
  await close(page);
}

const profiles = path.join(root, "tests", "data", "profile");
const stages = path.join(root, "tests", "data", "pipeline");
const kPages = {
  count: ["count", "clip-vit-l-14-336.onnx"],
  symbols: ["count", "maskrcnn-r50.onnx"],
  device: ["count", "resnet50.onnx", "--device", "h100-sxm", "--dtype", "bf16"],
  tool: ["count", "resnet50.onnx", "--convention", "thop"],
  compare: ["compare", "clip-vit-l-14-336.onnx", "--dim", "batch=1"],
  open: ["compare", "gpt2.onnx"],
  diff: ["diff", "clip-vit-l-14-336.onnx", "clip-vit-h-14.onnx", "--dim", "batch=1"],
  check: ["check", "resnet50.onnx", "--max", "flops=8 GFLOP", "--max", "layer*:macs=1 GMAC"],
  mfu: ["mfu", "gpt2.onnx", "--dim", "batch=8,seq=1024", "--step-time", "0.31", "--device", "h100-sxm", "--dtype", "bf16"],
  sweep: ["count", "gpt2.onnx", "--dim", "batch=1,8,seq=128,256,512,1024"],
  memory: ["count", "resnet50.onnx", "--memory"],
  fit: ["count", "gpt2.onnx", "--dim", "seq=1024", "--device", "h100-sxm", "--dtype", "bf16", "--fit", "80GB"],
  training: ["count", "vit-b-16.onnx", "--backward", "exact", "--optimizer", "adamw"],
  changed: ["diff", "gpt2.onnx", "gpt-124m.onnx"],
  equal: ["diff", "resnet50.onnx", "resnet50.onnx"],
  profile: ["profile", "resnet50.onnx", `${profiles}/resnet50.profile.json`, "--optimized", `${profiles}/resnet50.optimized.onnx`, "--device",
            "cpu:2:2.5:avx2:40", "--dtype", "fp32"],
  control: ["profile", `${profiles}/control.onnx`, `${profiles}/control.profile.json`],
  diffusion: ["pipeline", `${stages}/sd-tiny`, "--dim", "steps=25"],
  answer: ["pipeline", `${stages}/gpt2.toml`, "--device", "h100-sxm", "--dtype", "bf16"],
  beams: ["pipeline", `${stages}/gpt2-beams.toml`],
  drafts: ["pipeline", `${stages}/speculative.toml`],
  partly: ["pipeline", `${stages}/custom.toml`],
  stages: ["diff", `${stages}/gpt2.toml`, `${stages}/gpt2-beams.toml`, "--device", "h100-sxm", "--dtype", "bf16"],
  unknown: ["count", "custom-op.onnx"],
  unknowns: ["count", "custom-op.onnx", "--dim", "batch=1,seq=16,32"],
  uncounted: ["diff", "custom-op.onnx", "resnet50.onnx", "--dim", "batch=1,seq=16"],
  points: ["pipeline", `${stages}/gpt2.toml`, "--dim", "tokens=16,64", "--dim", "prompt=64,512", "--device", "h100-sxm", "--dtype", "bf16"],
};

async function accessibility() {
  for (const [name, args] of Object.entries(kPages)) {
    const file = write(name, ...args);
    for (const [width, height] of [[1400, 900], [390, 844]]) {
      for (const scheme of ["light", "dark"]) {
        const page = await open(file, { width, height, scheme });
        assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} is wider than ${width}`);
        if (pictures) await page.screenshot({ path: path.join(pictures, `${name}-${width}-${scheme}.png`) });
        const session = await page.createCDPSession();
        await session.send("Page.setBypassCSP", { enabled: true });
        await page.reload();
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run());
        const found = violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 200)} ${n.failureSummary}`).join(" | ")}`);
        assert.deepStrictEqual(found, [], `${name} at ${width} in ${scheme}`);
        await page.close();
      }
    }
  }
  console.log(`accessibility: ${Object.keys(kPages).length} pages, two widths, light and dark`);
}

async function hostile() {
  const evil = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>";
  const names = [`/${evil}/MatMul`, "/a\u202egpj.exe/MatMul", `/${"n".repeat(1 << 20)}/MatMul`, "/javascript:window.hacked=1/MatMul",
                 "/=cmd()/MatMul", "/constructor/MatMul", "/__proto__/toString/MatMul", "/{{7*7}}/MatMul"];
  const file = path.join(work, "hostile.onnx");
  fs.writeFileSync(file, chain(names, `<img src=x onerror=window.hacked=1>'`));
  const other = path.join(work, `<img src=x onerror=window.hacked=1>.onnx`);
  fs.writeFileSync(other, chain(names.slice(0, 3), `__proto__`));
  const control = fs.readFileSync(path.join(profiles, "control.profile.json"), "utf8"), evilRun = path.join(work, "evil.profile.json");
  fs.writeFileSync(evilRun, control.replaceAll("Mul_3_kernel_time", `${evil}\u202e_kernel_time`));
  for (const args of [["profile", path.join(profiles, "control.onnx"), evilRun, "--peak", "1e9", "--dim", "N=8"], ["count", file], ["count", other], ["compare", file], ["diff", file, other], ["check", file, "--max", "flops=1"],
                      ["count", other, "--dim", "__proto__=1,2,3"]]) {
    const page = await open(write("hostile", ...args));
    for (const search of await page.$$("input[type=search]")) await search.type("img");
    for (const summary of await page.$$("summary")) await summary.click();
    for (const button of await page.$$("section button")) await button.click().catch(() => {});
    assert.strictEqual(await page.evaluate(() => window.hacked), undefined);
    assert(!/[\u202e\u200b]/.test(await page.$eval("#page", (element) => element.innerText)), "text that turns around");
    assert.strictEqual(await page.evaluate(() => document.querySelectorAll("img, iframe, a").length), 0);
    await close(page);
  }
  console.log("hostile: nothing runs");
}

async function large() {
  const names = [];
  for (let i = 0; i < 10000; ++i) names.push(`/layers.${i % 100}/block${(i * 7919) % 10007}/MatMul`);
  fs.writeFileSync(path.join(work, "large.onnx"), chain(names));
  const file = write("large", "count", path.join(work, "large.onnx"));
  const page = await open(file);
  const took = await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd);
  const found = await page.evaluate(() => {
    const search = document.querySelector("input[type=search]"), begin = performance.now();
    search.value = "block77";
    search.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect();
    return performance.now() - begin;
  });
  console.log(`10,000 modules: ${fs.statSync(file).size} bytes, open in ${Math.round(took)} ms, search in ${Math.round(found)} ms`);
  await close(page);
}

// A sweep of all points that there may be fits. A document that does not loses entries of its lists, and the page says so.
async function folded() {
  const names = [...Array(1500).keys()].map((i) => `/block${i}/MatMul`);
  fs.writeFileSync(path.join(work, "folded.onnx"), chain(names));
  const sizes = [...Array(1000).keys()].map((i) => i + 1).join(",");
  const quantities = ["flops", "macs", "params", "param_bytes", "bytes_read", "bytes_written", "int_ops", "other_flops"];
  fs.writeFileSync(path.join(work, "folded.toml"), `[modules."block*"]\n${quantities.map((key) => `${key} = "1"\n`).join("")}`);
  for (const [args, folds] of [[["count", path.join(work, "folded.onnx"), "--dim", `batch=${sizes}`], false],
                               [["check", path.join(work, "folded.onnx"), "--dim", "batch=1", "--budgets", path.join(work, "folded.toml")], true]]) {
    const page = await open(write("folded", ...args));
    const said = await page.$$eval("#page > p", (list) => list.map((p) => p.textContent).find((words) => /entries of its lists/.test(words)) || "");
    assert.strictEqual(/^[0-9,]+ entries of its lists had no room/.test(said), folds, said);
    await close(page);
  }
}

// Where a size is missing, a page has no verdict; where a rule is not proven, the headline says so.
async function verdicts() {
  const page = await open(write("diff-open", "diff", "lstm.onnx", "llama-tiny.onnx"));
  const set = (value) => page.$eval("[data-size=seq]", (input, text) => { input.value = text; input.dispatchEvent(new Event("input")); }, value);
  await set("x");
  assert.match(await text(page, "p.verdict"), /is not known$/);
  await set("99999999999999999999");
  assert.match(await text(page, ".hint.bad"), /1 to 999,999,999,999,999,999/);
  await set("128");
  assert.match(await text(page, "p.verdict"), /^FLOPs \u00d7 37\.1, /);
  await close(page);
  // A table of positions of one of the models.
  const limited = await open(write("diff-limited", "diff", "llama-tiny.onnx", "gpt2.onnx"));
  await limited.$eval("[data-size=seq]", (input) => { input.value = "2000"; input.dispatchEvent(new Event("input")); });
  assert.match(await text(limited, ".hint.bad"), /1 to 1,024, since the model has a table/);
  await close(limited);
  // What is not counted is no 0 in a chart, either.
  const sweep = await open(write("sweep-unknown", ...kPages.unknowns));
  assert.strictEqual(await sweep.$$eval("svg.chart .point", (list) => list.length), 2);
  const cost = await sweep.$$eval("label", (list) => list.find((label) => label.textContent === "Cost").htmlFor);
  await sweep.select(`#${cost}`, "macs");
  assert.match(await text(sweep, "#page"), /There is no chart while a size is open, or where nothing is counted/);
  await close(sweep);
  const check = await open(write("check-open", "check", "gpt2.onnx", "--max", "flops=9 GFLOP"));
  assert.match(await text(check, "h1.verdict"), /1 of them not proven$/);
  assert.deepStrictEqual(await check.$$eval("thead th", (list) => list.filter((title) => ["compared", "of the limit", "left"].includes(title.textContent)).length), 0);
  await close(check);
  // A limit of seconds.
  const args = ["check", "gpt2.onnx", "--dim", "batch=1,seq=8", "--device", "t4", "--dtype", "fp16", "--max", "time_bound_seconds=1 ms"];
  const timed = await open(write("check-time", ...args));
  const [rule] = JSON.parse(run(...args, "--format", "json")).rules;
  const figure = await timed.$eval("[data-title=actual] [data-place]", (span) => [span.textContent, span.dataset.value, span.title]);
  assert.deepStrictEqual(figure, [rule.actual, String(rule.actual_value), `${rule.actual_value} s`]);
  await close(timed);
}

// Sizes that the command line refuses are refused; what follows from sizes by no formula stands beside them.
async function limits() {
  const page = await open(write("limits", "count", "gpt2.onnx"));
  const set = (value) => page.$eval("[data-size=seq]", (input, text) => { input.value = text; input.dispatchEvent(new Event("input")); }, value);
  const [{ at_most: { value: most } }] = JSON.parse(run("count", "gpt2.onnx", "--format", "json")).symbols.filter((symbol) => symbol.name === "seq");
  assert.throws(() => execFileSync(program, ["count", "gpt2.onnx", "--dim", `seq=${most + 1}`], { cwd: path.join(root, "models"), stdio: "pipe" }),
                /a table, such as that of positions/);
  await set(String(most));
  assert.strictEqual(await page.$(".hint.bad"), null);
  await set(String(most + 1));
  assert.match(await text(page, ".hint.bad"), /1 to 1,024, since the model has a table, such as that of positions/);
  await close(page);
  // A decoder without a past, as the program counts it: its mask follows.
  const past = ["count", "deployed/gpt2_past.ort_fused.onnx"];
  const decoder = await open(write("past", ...past));
  await decoder.$eval("[data-size=past_seq]", (input) => { input.value = "0"; input.dispatchEvent(new Event("input")); });
  assert.strictEqual(await decoder.$(".hint.bad"), null);
  const [, figure] = /FLOPs +([0-9.]+ G)/.exec(run(...past, "--dim", "past_seq=0"));
  assert.strictEqual(await text(decoder, ".figures .figure"), figure);
  assert.strictEqual(await decoder.$eval("[data-size=total_seq]", (input) => input.value), await decoder.$eval("[data-size=seq]", (input) => input.value));
  await decoder.$eval("[data-size=seq]", (input) => { input.value = "0"; input.dispatchEvent(new Event("input")); });
  assert.match(await text(decoder, ".hint.bad"), /^a whole number, 1 to/);
  await close(decoder);
  const detector = await open(write("loose", "count", "maskrcnn-r50.onnx"));
  const first = await detector.$$eval(".fields", ([fields]) => [...fields.children].map((field) => field.innerText.split("\n")));
  assert.deepStrictEqual(first.map(([name]) => name), ["height", "width", "resize(/transform/Resize)", "resize(/transform/Resize).3"]);
  assert.match(first[2][1], /follows from other sizes by no formula/);
  await close(detector);
}

// On paper a table with all of its columns is not cut.
async function paper() {
  for (const args of [kPages.count, kPages.device, kPages.training, kPages.profile]) {
    const page = await open(write("paper", ...args), { width: 700 });
    await page.$$eval(".choices input:not(:checked)", (list) => list.forEach((box) => box.click()));
    await page.emulateMediaType("print");
    const [needed, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert(needed <= room, `${args.join(" ")}: ${needed} of ${room} pixels`);
    await close(page);
  }
}

// On paper every sheet has the head of its table (Chromium does not repeat what is in a box of its own, as a button is), the foot is
// no larger than the text, and the mark of the chosen tool leaves its name free.
async function sheets() {
  const style = (page, selector, key) => page.$eval(selector, (element, name) => getComputedStyle(element)[name], key);
  const page = await open(write("sheets", ...kPages.count));
  await page.emulateMediaType("print");
  assert.deepStrictEqual([await style(page, ".tree thead", "display"), await style(page, ".tree thead .title", "display"), await style(page, ".tree tbody tr", "breakInside")],
                         ["table-header-group", "contents", "avoid"]);
  assert(parseFloat(await style(page, "footer", "fontSize")) <= parseFloat(await style(page, ".muted", "fontSize")));
  await close(page);
  const tools = await open(write("tools", ...kPages.compare));
  await tools.emulateMediaType("print");
  assert(parseFloat(await style(tools, "[aria-pressed=true]", "paddingLeft")) > 3);
  await close(tools);
}

// Shares and changes have one form on all pages.
async function percentages() {
  const page = await open(write("percentages", ...kPages.diff));
  const texts = await page.evaluate(() => [percent(966n, 1000n), percent(0n, 7n), percent(1n, 9999n), percent(64n, 1n), percentText(0.0663, 2), percentText(7.89e7, 2), percentText(-0.2),
    growthText(1000n, 1097n), growthText(1000n, 967n), growthText(10000n, 10001n), growthText(10000n, 9999n), growthText(100n, 1099n), growthText(100n, 1100n),
    growthText(1n, 38777n), growthText(0n, 5n), growthText(5n, 5n)]);
  assert.deepStrictEqual(texts, ["96.6 %", "0.0 %", "<0.1 %", "\u00d7 64.0", "6.63 %", "\u00d7 78.90 M", "\u221220.0 %",
                                 "+9.7 %", "\u22123.3 %", "<0.1 %", "<0.1 %", "+999.0 %", "\u00d7 11.0", "\u00d7 38,777", "", ""]);
  await close(page);
  for (const [limit, title, left] of [["8.1 GFLOP", "left", "\u22121.31 %"], ["8", "of the limit", "\u00d7 1.026 G"], ["9 GFLOP", "left", "+8.81 %"],
                                      ["8.2065 GFLOP", "left", "<0.01 % over"]]) {
    const check = await open(write("margin", "check", "resnet50.onnx", "--max", `flops=${limit}`));
    assert.strictEqual(await text(check, `td[data-title="${title}"]`), left);
    await close(check);
  }
}

// ---- "Copy as CSV" has the program's figures

// The rows of a CSV, each as an object.
function rowsOf(csv) {
  const lines = csv.trim().split(/\r?\n/).map((line) => [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell]) => cell.replace(/^"(.*)"$/, "$1")));
  return lines.slice(1).map((cells) => Object.fromEntries(lines[0].map((title, i) => [title, cells[i]])));
}
async function sizeBy(page, key) {
  const id = await page.$$eval("label", (list) => list.find((label) => label.textContent === "Size by").htmlFor);
  await page.select(`#${id}`, key);
}
// What the button copies of all rows, with all columns.
async function copied(page) {
  await page.$$eval(".choices input:not(:checked)", (list) => list.forEach((box) => box.click()));
  return rowsOf(await page.evaluate(() => new Promise((done) => {
    navigator.clipboard.writeText = async (words) => done(words);
    for (const name of ["Expand all", "Copy as CSV"]) [...document.querySelectorAll("button")].find((button) => button.textContent === name).click();
  })));
}
// Figures of both, for rows of one module. The program rounds FLOP/byte.
function sameRows(rows, wanted, keys, what) {
  let seen = 0;
  for (const row of rows.filter(({ times }) => times === "1")) {
    const other = wanted.find(({ module: path }) => path === row.path);
    if (!other) continue;
    for (const key of keys(row, other)) {
      assert.strictEqual(row[key], other[key], `${what} ${row.path} ${key}`);
      ++seen;
    }
  }
  assert(seen > 20, `${what}: ${seen} figures`);
  return seen;
}
async function spreadsheets() {
  const common = (row, other) => Object.keys(row).filter((key) => key in other && !["type", "intensity"].includes(key));
  let seen = 0;
  for (const [model, dims, ...device] of [["gpt2.onnx", "batch=7,seq=333", "--device", "h100-sxm", "--dtype", "bf16"], ["custom-op.onnx", "batch=1,seq=16"]]) {
    const page = await open(write("csv", "count", model, ...device));
    for (const [name, size] of dims.split(",").map((dim) => dim.split("="))) {
      await page.$eval(`[data-size=${name}]`, (input, value) => { input.value = value; input.dispatchEvent(new Event("input")); }, size);
    }
    seen += sameRows(await copied(page), rowsOf(run("count", model, "--dim", dims, ...device, "--format", "csv")), common, model);
    await close(page);
  }
  // The program's CSV of a diff has a change of what is counted, where its JSON and the screen have none.
  const files = ["batch=1,seq=16", "batch=1,seq=8"].map((dims, i) => {
    const file = path.join(work, `times${i}.json`);
    run("count", "gpt2.onnx", "--dim", dims, "--device", "t4", "--dtype", "fp16", "--format", "json", "-o", file);
    return file;
  });
  for (const [key, ...args] of [["flops", "diff", "custom-op.onnx", "resnet50.onnx", "--dim", "batch=1,seq=16"], ["macs", "diff", "resnet50.onnx", "custom-op.onnx", "--dim", "batch=1,seq=16"],
                                ["time_bound_seconds", "diff", ...files], ["time_estimate_seconds", "diff", ...files]]) {
    const page = await open(write("csv", ...args));
    await sizeBy(page, key);
    const list = JSON.parse(run(...args, "--format", "json")).modules, plain = rowsOf(run(...args, "--format", "csv"));
    const rows = (await copied(page)).map((row) => ({ ...row, times: list.some((module) => module.path === row.path) ? "1" : row.times }));
    const wanted = list.map((module) => {
      const row = plain.find(({ module: name }) => name === module.path), of = (side, end) => [`${key}_${end}`, module[key][side].value === null ? "" : row[`${key}_${end}`]];
      return { module: module.path, lower_bound: String(module.lower_bound), ...Object.fromEntries([of("base", "base"), of("head", "head"), of("delta", "change")]) };
    });
    seen += sameRows(rows.filter(({ path: name }) => !/[0-9]-[0-9]/.test(name)), wanted, (row, other) => Object.keys(other).filter((title) => title !== "module"), args.join(" "));
    for (const row of rows) assert(/^(-?[0-9.]+(e-[0-9]+)?)?$/.test(row[`${key}_change_percent`]), row[`${key}_change_percent`]);
    await close(page);
  }
  const profilePage = await open(write("csv", ...kPages.profile));
  const measured = rowsOf(run(...kPages.profile, "--format", "csv")).map((row) => ({ ...row, module: row.name, time_seconds: String(Number(row.time_ns) / 1e9) }));
  const rows = (await copied(profilePage)).map((row) => ({ ...row, time_seconds: String(Number(row.time_seconds)) }));
  // The program has zeros where a row has no kernel, and its type and its bytes.
  seen += sameRows(rows.filter(({ kernels }) => kernels !== "0"), measured, (row) => ["time_seconds", "kernels", ...(row.lower_bound === "true" || row.path === "" ? [] : ["flops", "macs"])], "profile");
  await close(profilePage);
  const pipelinePage = await open(write("csv", ...kPages.partly));
  const [stage] = rowsOf(run(...kPages.partly, "--dim", "batch=1,seq=128", "--format", "csv"));
  const of = (await copied(pipelinePage)).find(({ path: name }) => name === stage.stage);
  for (const key of ["runs", "flops", "macs", "params", "bytes_moved", "lower_bound"]) assert.strictEqual(of[key], stage[key], key);
  await close(pipelinePage);
  console.log(`spreadsheets: ${seen} figures`);
}

// The quantity of "Size by" has the first column, as on the screen, and its share says of what it is.
async function chosenQuantity() {
  const page = await open(write("chosen", ...kPages.count));
  await sizeBy(page, "bytes_read");
  const titles = await page.$$eval(".tree thead button", (list) => list.map((button) => button.textContent));
  assert.deepStrictEqual(titles.slice(0, 4), ["module", "bytes read", "% of bytes read", "FLOPs"]);
  const [, figure, share] = /^\|   visual .*?([0-9.]+ GB) +([0-9.]+)/m.exec(run("count", "clip-vit-l-14-336.onnx", "--sort", "bytes_read"));
  const row = await page.$$eval(".tree tbody tr", (list) => list.map((tr) => [...tr.children].map((cell) => cell.textContent)).find(([name]) => /visual/.test(name)));
  assert.deepStrictEqual(row.slice(1, 3), [figure, `${share} %`]);
  await sizeBy(page, "macs");
  assert.deepStrictEqual(await page.$$eval(".tree thead button", (list) => list.map((button) => button.textContent)), ["module", "MACs", "% of MACs", "FLOPs", "params"]);
  await close(page);
}

// A diff of reports with times has the rows of the screen, with their units and signs.
async function timesOfDiff() {
  const files = [16, 8].map((seq) => path.join(work, `of${seq}.json`));
  for (const [i, seq] of [16, 8].entries()) run("count", "gpt2.onnx", "--dim", `batch=1,seq=${seq}`, "--device", "t4", "--dtype", "fp16", "--format", "json", "-o", files[i]);
  const page = await open(write("times", "diff", ...files));
  const shown = await page.$$eval(".figures > div", (list) => list.map((one) => [...one.children].map((part) => part.textContent)));
  for (const [label, title] of [["time bound", "Least time"], ["time estimate", "Estimated time"]]) {
    const [base, head, change, part] = new RegExp(`^\\| ${label} +(.*)$`, "m").exec(run("diff", ...files))[1].split(/ {2,}/)
        .map((words) => words.replace("-", "\u2212").replace("us", "\u00b5s"));
    assert.deepStrictEqual(shown.find(([name]) => name === title), [title, head, `${change} (${part} %), base ${base}`]);
  }
  await close(page);
}

// A table of many rules: words stay whole, details have room, and the figures stand in one form.
async function rulesOfFolder() {
  const folder = path.join(work, "folder");
  fs.mkdirSync(folder);
  for (const model of models) fs.copyFileSync(path.join(root, "models", model), path.join(folder, model));
  const args = ["check", folder, "--max", "macs=20 GMAC"];
  const page = await open(write("rules", ...args), { width: 1440 });
  const rules = JSON.parse(runAll(...args, "--format", "json")).rules;
  const cells = (title) => page.$$eval(`[data-title="${title}"]`, (list) => list.map((cell) => [cell.parentElement.children[1].textContent, cell.textContent, cell.clientWidth]));
  for (const [model, part] of await cells("of the limit")) {
    const { actual_value: actual, limit_value: limit } = rules.find((rule) => path.basename(rule.model) === model);
    const times = actual === undefined ? null : Number(actual) / Number(limit);
    assert.strictEqual(part, times === null ? "" : times >= 10 ? `\u00d7 ${times.toFixed(1)}` : `${(100 * times).toFixed(2)} %`, model);
  }
  const broken = await page.$$eval("[data-title=model] bdi", (list) => list.flatMap((name) => [...name.childNodes]).filter((node) => {
    const range = document.createRange();
    range.selectNode(node);
    return node.nodeType === Node.TEXT_NODE && !node.data.includes("-") && range.getClientRects().length > 1;
  }).length);
  assert.strictEqual(broken, 0, "a word of a name is broken");
  assert((await cells("detail")).every(([, , width]) => width > 250), "a detail has no room");
  for (const width of [718, 1000]) {
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaType("print");
    const [needed, tallest] = await page.evaluate(() => [document.documentElement.scrollWidth, Math.max(...[...document.querySelectorAll(".rules tr")].map((row) => row.clientHeight))]);
    assert(needed <= width && tallest < 160, `${needed} of ${width} pixels, a row of ${tallest}`);
  }
  await close(page);
}

// What the picture leaves white has a reason below it.
async function white() {
  const args = ["count", "gpt2.onnx", "--dim", "batch=1,seq=8", "--device", "t4", "--dtype", "fp16"];
  const page = await open(write("white", ...args));
  assert.strictEqual(await text(page, "p.white"), "");
  await sizeBy(page, "time_bound_seconds");
  const { modules, totals } = JSON.parse(run(...args, "--format", "json"));
  const of = (figure) => Number(/[0-9]{4,}/.exec(figure.expr)[0]);
  const empty = 1 - of(modules.children[0].time_bound_seconds) / of(totals.time_bound_seconds);
  assert((await text(page, "p.white")).startsWith(`${(100 * empty).toFixed(1)} % of the picture is empty: the time bound of a part covers its multiply-accumulates only`));
  await close(page);
}

// A formula of open sizes stands once, as the program writes it, and without an empty chart.
async function recordOfFormula() {
  const file = path.join(work, "history.jsonl");
  runAll("check", "gpt2.onnx", "--max", "flops=9 GFLOP", "--record", file);
  const page = await open(write("history", "history", file));
  const [, formula] = /FLOPs = (.*)/.exec(run("count", "gpt2.onnx"));
  const words = await page.$eval("#page", (element) => element.innerText);
  assert.strictEqual(words.split(formula).length, 2, words);
  await page.waitForSelector(".history svg");
  assert.strictEqual(await page.$$eval("section > .histories > .history", (list) => list.filter((figure) => !figure.querySelector("svg")).length), 0);
  await close(page);
}

// The table of operators has those whose figure changed; the others say what changed.
async function operators() {
  const page = await open(write("operators", "diff", "gpt2.onnx", "gpt-124m.onnx"));
  const cells = await page.$$eval("[aria-label=Operators] tbody tr", (list) => list.map((row) => [...row.children].map((cell) => cell.textContent)));
  assert(cells.length > 0 && cells.every((row) => row.every((cell) => cell !== "")), JSON.stringify(cells));
  const others = await page.$$eval("section", (list) => list.find((one) => /^Operators/.test(one.textContent)).querySelector("details").innerText);
  assert.match(others, /^[0-9]+ operators? with equal FLOPs, different otherwise/);
  await close(page);
  // What is unknown is that, as on the screen.
  const args = ["diff", "custom-op.onnx", "resnet50.onnx", "--dim", "batch=1,seq=16"];
  const unknown = await open(write("operators", ...args));
  const rows = await unknown.$$eval("[aria-label=Operators] tbody tr", (list) => list.map((row) => [...row.children].map((cell) => cell.textContent)));
  const screen = /^ {2}operator .*\n((?:\|.*\n)+)/m.exec(run(...args))[1].trim().split("\n");
  const plain = (cell) => cell.replace(" \u2192 ", " -> ").replace("\u2212", "-").replace(/ %$/, "").replace(/^$/, "-");
  assert.deepStrictEqual(rows.map((row) => row.map(plain)).sort(), screen.map((line) => line.slice(2).replace(/ {2}\[[a-z]+\]/, "").split(/ {2,}/)).sort());
  assert(rows.some((row) => row.includes("unknown")));
  await close(unknown);
}

// What is above a roof has a reason.
async function roofs() {
  for (const [above, ...args] of [[false, ...kPages.device], [true, "count", "deployed/resnet50.qdq_s8.onnx", "--device", "h100-sxm", "--dtype", "int8"]]) {
    const page = await open(write("roofs", ...args));
    assert.strictEqual(/circles? above the roof: some of their bytes take no time/.test(await page.$eval("#page", (element) => element.innerText)), above);
    await close(page);
  }
}

(async () => {
  browser = await puppeteer.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const only = process.env.PAGE_TEST;
    for (const test of [figures, documents, pipelines, keyboard, mouse, links, unfold, profile, counted, utilisation, members, narrow, looks, hostile, large, folded, verdicts, limits, paper, sheets, percentages, operators, roofs, spreadsheets, chosenQuantity, timesOfDiff,
                        rulesOfFolder, white, recordOfFormula, accessibility]) {
      if (only && test.name !== only) continue;
      await test();
      console.log(`${test.name}: passed`);
    }
  } finally {
    await browser.close();
    fs.rmSync(work, { recursive: true });
  }
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
