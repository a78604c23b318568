// The page: files in, a report out. kEngine (WebAssembly, base64), kWorker (a script) and kSample (a model) stand before this.
"use strict";

const at = (id) => document.getElementById(id);
// Files are [{ name, blob }]: a second file with the same name is put in a folder named by its number, "2/config.json".
const state = { files: [], command: "count", calls: 0, shown: null, open: [], of: "" };

const worker = new Worker(URL.createObjectURL(new Blob([kWorker], { type: "text/javascript" })));
const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
worker.postMessage({ engine: bytesOf(kEngine) });
const waiting = new Map();
worker.onmessage = ({ data }) => {
  waiting.get(data.id)(data);
  waiting.delete(data.id);
};
function call(words) {
  const id = ++state.calls;
  worker.postMessage({ id, words, files: state.files.map(({ name, blob }) => [name, blob]) });
  return new Promise((resolve) => waiting.set(id, resolve));
}

const isRules = (file) => file.name.endsWith(".toml");
const models = () => state.files.filter((file) => !isRules(file));
// The models that the command takes.
function taken() {
  const list = models(), chosen = (id, otherwise) => list[Number(at(id).value || otherwise)] || list[otherwise];
  return state.command === "diff" ? [chosen("base", 0), chosen("head", 1)] : [chosen("model", 0)];
}

// ---- Sizes: a field for each that the file leaves open, with a number or, for a sweep, several

const kMostPoints = 1000;
const numbersOf = (text) => text.split(/[\s,;]+/).filter(Boolean);
const isGood = (text) => numbersOf(text).every((number) => /^[0-9]{1,18}$/.test(number));
const given = () => state.open.filter(({ text }) => text.trim() !== "" && isGood(text)).map(({ name, text }) => [name, numbersOf(text)]);
const isSweep = () => state.command === "count" && given().some(([, sizes]) => sizes.length > 1);

function sizeField(open, i) {
  const input = document.createElement("input"), label = document.createElement("label"), hint = document.createElement("span"), box = document.createElement("div");
  Object.assign(input, { id: `size-${i}`, type: "text", value: open.text, placeholder: "open", autocomplete: "off", spellcheck: false });
  input.dataset.size = open.name;
  input.setAttribute("aria-describedby", `hint-${i}`);
  Object.assign(label, { htmlFor: input.id, textContent: open.name });
  Object.assign(hint, { id: `hint-${i}`, className: "hint" });
  box.className = "field";
  const check = () => {
    const good = isGood(open.text), several = numbersOf(open.text).length > 1 && state.command !== "count";
    input.setAttribute("aria-invalid", String(!good || several));
    hint.textContent = !good ? "a whole number, 0 or more; several, as 1, 8, 64, make a sweep" : several ? "several sizes make a sweep of the cost only" : "";
    return good && !several;
  };
  input.addEventListener("input", () => {
    open.text = input.value;
    clearTimeout(sizeField.pause);
    if (check()) sizeField.pause = setTimeout(run, 300);
  });
  box.append(label, input, hint);
  check();
  return box;
}
function drawSizes() {
  at("sizes").replaceChildren(...state.open.map(sizeField));
  at("sizes").hidden = state.open.length === 0;
}
// The sizes of inputs that a report leaves open. Earlier ones stay, because a given size is no longer open.
function learnSizes(html) {
  const data = dataOf(html), symbols = data.symbols || (data.report && data.report.symbols);
  const names = symbols ? symbols.filter((symbol) => symbol.origin.kind === "input").map((symbol) => symbol.name) : Object.keys(data.sizes || {});
  const fresh = names.filter((name) => !state.open.some((open) => open.name === name));
  if (fresh.length === 0) return;
  state.open.push(...fresh.map((name) => ({ name, text: "" })));
  drawSizes();
}

// ---- Requests to the engine

function options(everySize) {
  const rules = state.files.find(isRules);
  const dims = given().filter(([, sizes]) => everySize || sizes.length === 1).flatMap(([name, sizes]) => ["--dim", `${name}=${sizes.join(",")}`]);
  return [...dims, ...(rules ? ["--rules", rules.name] : [])];
}
const words = (format, everySize = false) => [state.command, format, ...options(everySize), ...taken().map((file) => file.name)];
// The command line of the program with the same result.
function command(format, file) {
  const quoted = (word) => (/^[A-Za-z0-9_.,=/:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  const [command, , ...all] = words(format, true);
  const rest = all.map((word) => (word.startsWith("-") && state.files.some((known) => known.name === word) ? `./${word}` : word));
  return ["onnxflops", command, ...rest, ...(file ? ["-o", file] : ["--format", format])].map(quoted).join(" ");
}

function choose(files) {
  for (const blob of files) {
    const same = (known) => known.blob.name === blob.name && known.blob.size === blob.size && known.blob.lastModified === blob.lastModified;
    const rest = state.files.filter((known) => !same(known) && !(isRules(blob) && isRules(known)));
    let name = blob.name;
    for (let i = 2; rest.some((known) => known.name === name); ++i) name = `${i}/${blob.name}`;
    state.files = [...rest, { name, blob }];
  }
  if (models().length > 1 && state.command === "count") state.command = "diff";
  draw();
  run();
}
async function chooseSample() {
  const stream = new Blob([bytesOf(kSample.gzip)]).stream().pipeThrough(new DecompressionStream("gzip"));
  choose([new File([await new Response(stream).blob()], kSample.name, { lastModified: 0 })]);
}

function fillChoice(id, list, otherwise) {
  const select = at(id), chosen = select.options.length > 1 ? select.value : "";  // of one there was no choice
  select.replaceChildren(...list.map((file, i) => new Option(file.name, String(i))));
  select.value = chosen !== "" && Number(chosen) < list.length ? chosen : String(Math.min(otherwise, list.length - 1));
}

function draw() {
  const list = models(), several = list.length > 1;
  at("begin").hidden = list.length > 0;
  at("tools").hidden = list.length === 0;
  document.body.classList.toggle("full", list.length > 0);
  if (!several && state.command === "diff") state.command = "count";
  for (const radio of document.querySelectorAll("[name=command]")) {
    radio.checked = radio.value === state.command;
    if (radio.value === "diff") radio.disabled = !several;
  }
  if (list.length > 0) {
    fillChoice("model", list, 0);
    fillChoice("base", list, 0);
    fillChoice("head", list, 1);
  }
  at("which").hidden = !several || state.command === "diff";
  at("pair").hidden = state.command !== "diff";
  const rules = state.files.find(isRules);
  at("rules").textContent = rules ? `rules: ${rules.name}` : "";
}

// ---- Its answers

const kData = /(<script type="application\/json" id="data" data-kind=")(\w+)(">)([^]*?)(<\/script>)/;
const dataOf = (html) => JSON.parse(kData.exec(html)[4]);

// The page of a count as one of a sweep: the formulas of its totals at each point, which the script of the page works out.
function sweepPage(html) {
  const { report, sizes, long_totals: long } = dataOf(html), along = given().filter(([, list]) => list.length > 1);
  const totals = Object.fromEntries(Object.entries(report.totals).map(([key, total]) => [key, long[key] ? { expr: long[key] } : total]));
  let points = [{}];
  for (const [name, list] of along) points = points.flatMap((point) => list.map((size) => ({ ...point, [name]: Number(size) })));
  if (points.length > kMostPoints) return null;
  const inputs = Object.fromEntries(report.symbols.filter((symbol) => symbol.origin.kind === "input").map((symbol) => [symbol.name, sizes[symbol.name]]));
  const fixed = Object.fromEntries(Object.entries(inputs).filter(([name]) => !along.some(([one]) => one === name)));
  const sweep = { model: report.model, bindings: { ...report.bindings, ...fixed }, symbols: along.map(([name]) => name), at: { ...sizes, ...fixed },
                  totals, points: points.map((point) => ({ sizes: point, lower_bound: report.coverage.lower_bound })) };
  const text = JSON.stringify(sweep).replaceAll("<", "\\u003c");
  return html.replace(kData, (all, begin, kind, middle, data, end) => `${begin}sweep${middle}${text}${end}`);
}

// A report, or the reason why there is none. The largest sizes of a sweep decide whether all fit the model.
async function ask() {
  if (isSweep()) {
    const largest = given().flatMap(([name, sizes]) => ["--dim", `${name}=${sizes.reduce((a, b) => (BigInt(a) > BigInt(b) ? a : b))}`]);
    const [first, format, ...rest] = words("json");
    const tried = await call([first, format, ...largest, ...rest.filter((word, i) => word !== "--dim" && rest[i - 1] !== "--dim")]);
    if (tried.code !== 0) return tried;
  }
  const result = await call(words("html"));
  if (result.code !== 0) return result;
  learnSizes(result.output);
  const output = isSweep() ? sweepPage(result.output) : result.output;
  return output === null ? { code: 2, errors: `a sweep has at most ${kMostPoints} points\n` } : { ...result, output };
}

async function run() {
  if (models().length === 0) return;
  const of = taken().map((file) => file.name).join("\0");
  if (of !== state.of) {
    [state.of, state.open] = [of, state.open.filter(({ text }) => text !== "")];
    drawSizes();
  }
  at("status").textContent = "counting \u2026";
  const asked = words("html", true).join("\0"), result = await ask();
  if (asked !== words("html", true).join("\0")) return;  // something else is wanted by now
  const good = result.code === 0;
  state.shown = good ? result.output : null;
  at("status").textContent = good
    ? `${Math.round(result.milliseconds)} ms, ${result.read.toLocaleString("en")} bytes read` : "";
  at("fault").textContent = good ? "" : result.errors.replace(/^onnxflops: /, "");
  at("fault").hidden = good;
  at("report").hidden = !good;
  at("save-json").disabled = isSweep();
  at("command").textContent = command("html", "report.html");
  if (!good) return;
  // Names of a model cannot do harm in this frame: no origin, no network, scripts by their hashes.
  const frame = document.createElement("iframe");
  frame.id = "report";
  frame.title = "Report";
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.srcdoc = result.output;
  at("report").replaceWith(frame);
}

function save(text, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

at("choose").addEventListener("click", () => at("files").click());
at("add").addEventListener("click", () => at("files").click());
at("sample").addEventListener("click", chooseSample);
at("files").addEventListener("change", () => {
  choose([...at("files").files]);
  at("files").value = "";
});
at("clear").addEventListener("click", () => {
  [state.files, state.open, state.of] = [[], [], ""];
  for (const id of ["model", "base", "head"]) at(id).replaceChildren();
  drawSizes();
  draw();
  at("choose").focus();
});
for (const id of ["model", "base", "head"]) at(id).addEventListener("change", run);
at("swap").addEventListener("click", () => {
  [at("base").value, at("head").value] = [at("head").value, at("base").value];
  run();
});
for (const radio of document.querySelectorAll("[name=command]")) {
  radio.addEventListener("change", () => {
    state.command = radio.value;
    drawSizes();
    draw();
    run();
  });
}
at("save-page").addEventListener("click", () => state.shown && save(state.shown, "report.html", "text/html"));
at("save-json").addEventListener("click", async () => {
  const result = await call(words("json"));
  if (result.code === 0) save(result.output, "report.json", "application/json");
});
at("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText(at("command").textContent).catch(() => {});
  at("status").textContent = "command copied";
});
addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("over");
});
addEventListener("dragleave", () => document.body.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  choose([...event.dataTransfer.files]);
});
document.documentElement.dataset.ready = "true";
