// pipeline: the cost of several models, each a stage. Stages are the modules of the page.

const kStageKeys = ["runs", "flops", "share", "macs", "params", "bytes", "time_bound_seconds", "bound"];
const formulasOf = (texts) => Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Formula(text)]));
// With a probability, as many as are expected: "184.6 of 512".
function runsText(runs, { part, whole }) {
  if (BigInt(part) === BigInt(whole)) return digits(runs);
  return `${Number((Number(runs) * Number(part) / Number(whole)).toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 })} of ${digits(runs)}`;
}
// What the bound on a time comes from.
const boundBy = (arithmetic, memory) => (arithmetic === null || memory === null ? null : arithmetic >= memory ? "compute" : "memory");

// The columns of the terminal first, then the others.
function stageColumns(view, columns) {
  const { tree } = view;
  columns.delete("nodes");
  columns.set("runs", { title: "runs", number: true, value: (node) => tree.ofStage(node, "runs"),
                        text: (value, node) => (value === null ? "" : runsText(value, tree.probabilities[node.nodes])) });
  const time = columns.get("time_bound_seconds");
  if (time) {
    const { known } = time;
    Object.assign(time, { title: "time", known: (node) => (known(node) === "nothing" ? "nothing" : "atLeast") });
    columns.set("bound", { title: "bound by", number: true, value: (node) => boundBy(tree.ofStage(node, "arithmetic"), tree.ofStage(node, "memory")),
                           text: (value) => value || "" });
  }
  const first = kStageKeys.filter((key) => columns.has(key));
  return new Map([...first, ...[...columns.keys()].filter((key) => !first.includes(key))].map((key) => [key, columns.get(key)]));
}

function pipelinePage(data) {
  if (data.points) return pipelineSweepPage(data);
  const { report } = data;
  data.title = report.title || fileName(report.file);
  const open = Object.keys(data.sizes).length > 0;
  data.fields = ["Parameters", "All figures are at the numbers given here."];
  // Numbers that no field has.
  const fixed = report.parameters.filter(({ name, value, formula }) => value !== null && formula === "" && !(name in data.sizes));
  data.words = [report.title ? fileName(report.file) : "", `${plural(report.stages.length, "stage")}`,
                sizeWords(open ? Object.fromEntries(fixed.map(({ name, value }) => [name, value])) : { ...report.bindings, ...report.at })];
  const top = (tree) => [pipelineFigures({ report, tree, lower: report.totals.lower_bound }), lines([
    formulaLine(["flops", "macs"].map((key) => [key === "flops" ? "FLOPs" : "MACs", `formulas.${key}`, { expr: report.formulas[key] }]), report.totals.lower_bound)])];
  const notes = () => h("section", {}, h("h2", { text: "What each stage runs" }),
                        h("ul", { class: "notes" }, data.notes.map((text) => h("li", {}, h("bdi", { text })))));
  const bounds = report.parameters.map((parameter) => ({ ...parameter, origin: { kind: "input" } }));
  modulesPage(data, { title: data.title, path: report.file }, top, [`Stages of ${data.title}`], bounds, notes);
}

// The totals, at the numbers of the page.
function pipelineFigures({ report, tree, lower }) {
  const at = (key) => tree.of(tree.root, tree.quantity(key)), known = (value) => knownOf(value, lower);
  const shown = (key, value = at(key), unit = "", place = `totals.${key}`) => exactly(place, value, knownText(known(value), show(value, unit)), {}, unit);
  const moved = sum([at("bytes_read"), at("bytes_written")]);
  const per = report.per ? tree.all.per(tree.sizes) : null;
  const each = (key) => (at(key) === null ? null : floorDivide(at(key), per));
  const [macs, other, flops] = ["macs", "other_flops", "flops"].map(at);
  const integer = ![macs, other, flops].includes(null) && 2n * macs + other > flops;  // as on the screen
  return figures([
    ["FLOPs", shown("flops"), [`2 \u00d7 ${integer ? "floating-point " : ""}MACs + `, shown("other_flops"), ` other${report.expected ? ", as expected by the probabilities" : ""}`]],
    per > 1n ? [`FLOPs for each of ${digits(per)} ${report.per}`, shown("flops", each("flops"), "", "page.each_flops"),
                [shown("macs", each("macs"), "", "page.each_macs"), " MACs"]] : null,
    ["MACs", shown("macs"), integer ? [shown("int_ops"), " integer operations"] : null],
    ["Parameters", exactly("totals.params", at("params"), si(at("params"))),
     [exactly("totals.param_bytes", at("param_bytes"), show(at("param_bytes"), "B")), ", shared ones once"]],
    ["Bytes moved", shown("bytes_moved", moved, "B"), null],
    tree.all.memory_bytes ? ["Memory", shown("memory", tree.all.memory_bytes(tree.sizes), "B", "memory_bytes"),
                        report.loaded === "in turn" ? "weights and activations of one stage at a time" : "weights of all stages and activations of one"] : null,
    pipelineTime({ report, tree, per }),
  ]);
}

// A bound on the time of all stages, one after another.
function pipelineTime({ report, tree, per }) {
  if (!report.time) return null;
  const took = tree.of(tree.root, tree.quantity("time_bound_seconds"));
  const rate = took === null || took <= 0n || (report.per && !(per > 0n)) ? null : Number(per || 1n) * 1e21 / Number(took);
  const slower = boundBy(tree.ofStage(tree.root, "arithmetic"), tree.ofStage(tree.root, "memory"));
  return ["Time", exactly("page.time_seconds", took, knownText("atLeast", time(took)), {}, "s"),
          [`on ${report.device} in ${report.dtype}, stages one after another${slower ? `, bound by ${slower}` : ""}${tree.all.memory ? "" : ", nothing for memory: the cache is not known"}; `,
           rate === null ? "" : [exactly("page.rate", rate, rateText(rate)),
                                 ` ${report.per || "answers"} per second`]]];
}

const rateText = (rate) => (rate === null ? "?" : knownText("atMost", Number(rate.toPrecision(4)).toLocaleString("en")));

// Several numbers for a name: the chart and the table of a sweep.
function pipelineSweepPage(data) {
  const reports = data.points.map((point) => point.pipeline), [first] = reports, { title, file, time: timed } = first;
  const points = data.points.map(({ sizes, pipeline }) => {
    const { lower_bound: lower, ...totals } = pipeline.totals;
    totals.memory_bytes = pipeline.memory_bytes;
    if (timed) totals.time_bound_seconds = { expr: String(amountOf(pipeline.time.seconds, "s")) };
    return { sizes, totals, lower_bound: lower };
  });
  sweepPage({
    points, symbols: data.symbols, model: { path: file, title },
    bindings: Object.fromEntries(Object.entries({ ...first.bindings, ...first.at }).filter(([name]) => !data.symbols.includes(name))),
    shown: ["flops", "macs", "bytes_moved", "memory_bytes", "time_bound_seconds"],
    titles: { memory_bytes: "memory", time_bound_seconds: timed ? `least time on ${first.device} in ${first.dtype}` : "" },
    place: (key, i) => ({ memory_bytes: `points.${i}.pipeline.memory_bytes`, time_bound_seconds: `page.${i}.time_seconds` }[key] ||
                        `points.${i}.pipeline.totals.${key}`),
    more: timed ? [[`${first.per || "answers"} per second`, (i) => rateText(reports[i].answers_per_second)]] : [],
  });
}
