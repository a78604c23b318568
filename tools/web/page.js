// The page: files in, a report out. kEngine (WebAssembly, base64) and kWorker (a script) stand before this.
"use strict";

const at = (id) => document.getElementById(id);
const state = { files: [], command: "count", calls: 0, shown: null };

const worker = new Worker(URL.createObjectURL(new Blob([kWorker], { type: "text/javascript" })));
worker.postMessage({ engine: Uint8Array.from(atob(kEngine), (c) => c.charCodeAt(0)) });
const waiting = new Map();
worker.onmessage = ({ data }) => {
  waiting.get(data.id)(data);
  waiting.delete(data.id);
};
function call(words) {
  const id = ++state.calls;
  worker.postMessage({ id, words, files: state.files.map((file) => [file.name, file]) });
  return new Promise((resolve) => waiting.set(id, resolve));
}

const isRules = (file) => file.name.endsWith(".toml");
const models = () => state.files.filter((file) => !isRules(file));

// "batch=1, seq=128": what stands between commas, each a size.
function options() {
  const dims = at("sizes").value.split(",").map((text) => text.trim()).filter(Boolean);
  const rules = state.files.find(isRules);
  return [...dims.flatMap((dim) => ["--dim", dim]), ...(rules ? ["--rules", rules.name] : [])];
}
function words(format) {
  const names = models().map((file) => file.name);
  return [state.command, format, ...options(), ...(state.command === "diff" ? names.slice(0, 2) : [names[Number(at("model").value) || 0]])];
}
// The same by the program, as a shell reads it.
function command(format, file) {
  const quoted = (word) => (/^[A-Za-z0-9_.,=/:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  const [command, , ...all] = words(format);
  const rest = all.map((word) => (word.startsWith("-") && state.files.some((known) => known.name === word) ? `./${word}` : word));
  return ["onnxflops", command, ...rest, ...(file ? ["-o", file] : ["--format", format])].map(quoted).join(" ");
}

function choose(files) {
  for (const file of files) {
    state.files = [...state.files.filter((known) => known.name !== file.name), file];
  }
  if (models().length > 1 && state.command === "count") state.command = "diff";
  draw();
  run();
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
  const model = at("model"), chosen = model.value;
  model.replaceChildren(...list.map((file, i) => {
    const option = document.createElement("option");
    option.value = String(i);
    option.textContent = file.name;
    return option;
  }));
  if (chosen !== "" && Number(chosen) < list.length) model.value = chosen;
  at("which").hidden = !several || state.command === "diff";
  at("pair").hidden = state.command !== "diff";
  at("pair").textContent = state.command === "diff" ? `${list[0].name} \u2192 ${list[1].name}` : "";
  const rules = state.files.find(isRules);
  at("rules").textContent = rules ? `rules: ${rules.name}` : "";
}

async function run() {
  if (models().length === 0) return;
  at("status").textContent = "counting \u2026";
  const asked = words("html");
  const result = await call(asked);
  if (asked.join("\0") !== words("html").join("\0")) return;  // something else is wanted by now
  const good = result.code === 0;
  state.shown = good ? result.output : null;
  at("status").textContent = good
    ? `${Math.round(result.milliseconds)} ms, ${result.read.toLocaleString("en")} bytes read` : "";
  at("fault").textContent = good ? "" : result.errors.replace(/^onnxflops: /, "");
  at("fault").hidden = good;
  at("report").hidden = !good;
  at("command").textContent = command("html", "report.html");
  if (!good) return;
  // Names of a model cannot get out of there: no origin, no network, scripts by their hashes.
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
at("files").addEventListener("change", () => choose([...at("files").files]));
at("clear").addEventListener("click", () => {
  state.files = [];
  at("files").value = "";
  at("sizes").value = "";
  draw();
  at("choose").focus();
});
at("model").addEventListener("change", run);
for (const radio of document.querySelectorAll("[name=command]")) {
  radio.addEventListener("change", () => {
    state.command = radio.value;
    draw();
    run();
  });
}
let pause;
at("sizes").addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(run, 300);
});
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
