// count: the cost of a model.

function countPage(data) {
  const { report } = data;
  data.title = fileName(report.model.path);
  for (const [key, expr] of Object.entries(data.long_totals)) report.totals[key].expr = expr;
  const sized = new Sized(sizesOf(data));
  const top = (tree) => {
    sized.sizes = tree.sizes;
    const of = { data, report, tree, sized, lower: report.coverage.lower_bound, inside: insideNames(report) };
    return report.headline ? [toolFigures(of), lines([["inputs", data.inputs], formulaLine([["figure", "headline", report.headline]], of.lower), ...data.lines])]
                           : [rangeWords(of), totalFigures(of), lines(totalLines(of))];
  };
  modulesPage(data, report.model, top, [`Modules of ${data.title}`], report.symbols,
              (view) => h("div", {}, report.roofline ? rooflineChart(report.roofline, view) : null,
                               report.memory && report.memory.alive ? memoryTables(report.memory, view) : null, notes(report)));
}

// Names of sizes that no input has.
const insideNames = (report) => new Set((report.symbols || []).filter((symbol) => symbol.origin.kind !== "input").map((symbol) => symbol.name));
const restsOn = (quantity, names) => names.size > 0 && quantity && quantity.expr && symbolsOf(quantity.expr).some((name) => names.has(name));

// A total as a figure, with its unit.
function total(of, key, { unit = "", lower = of.lower, known = null } = {}) {
  const quantity = of.report.totals[key], value = of.sized.of(quantity);
  return exactly(`totals.${key}`, value, knownText(known || knownOf(value, lower), show(value, unit)), {}, unit);
}

// The figure of another tool.
function toolFigures({ report, sized, lower }) {
  const value = sized.of(report.headline), assumed = (report.assumptions || []).length > 0 && !lower;
  const params = report.totals.params === null ? null : big(report.totals.params);
  return figures([[report.headline_name, exactly("headline", value, knownText(assumed ? "assumed" : knownOf(value, lower), show(value))), `as ${report.convention} counts`],
                  params === null ? null : ["Parameters", exactly("totals.params", params, si(params))]]);
}

// Whether the sizes are those that the page came with: the names of the largest other operators are of these.
const isAsCounted = ({ data, sized }) => [...sizesOf(data)].every(([name, size]) => sized.sizes.get(name) === size);

function totalFigures(of) {
  const { report, tree, sized, lower, data } = of, { totals, memory } = report;
  const [flops, int] = [totals.flops, totals.int_ops].map((quantity) => sized.of(quantity));
  const intensity = tree.intensity(tree.root);
  const integer = report.int_census && report.int_census.mac.expr !== "0";
  return figures([
    ["FLOPs", total(of, "flops"), flops > 0n ? [`2 \u00d7 ${integer ? "floating-point " : ""}MACs + `, total(of, "other_flops"), ` other ${isAsCounted(of) ? data.others : ""}`] : null],
    ["MACs", total(of, "macs"), int > 0n ? [total(of, "int_ops"), " integer operations"] : null],
    ["Parameters", exactly("totals.params", big(totals.params), si(big(totals.params))), exactly("totals.param_bytes", big(totals.param_bytes), show(big(totals.param_bytes), "B"))],
    ["Bytes moved", total(of, "bytes_moved", { unit: "B" }), ["read ", total(of, "bytes_read", { unit: "B" }), ", written ", total(of, "bytes_written", { unit: "B" })]],
    lower ? null : [integer ? "Operations/byte" : "FLOP/byte", intensity === null ? "\u2013" : perByte(intensity), null],
    trainingFigure(of),
    ...timeFigures(of),
    memory && memory.inference_peak_bytes ? ["Peak of activations", total(of, "peak_activation_bytes", { unit: "B", lower: memory.unknown_sizes > 0 }), "inference"] : null,
    ...fitFigures(memory),
  ]);
}

function trainingFigure(of) {
  const { report: { training }, data, lower } = of;
  if (!data.trains) return null;
  const unknown = training && training.unknown.length > 0;
  return ["Training step", total(of, "training_flops", { lower: lower || unknown }),
          training ? ["forward + ", total(of, "backward_flops"), " backward (exact)"] : "FLOPs, 3 \u00d7 forward"];
}

// A bound on the time of a run, and estimates of it.
function timeFigures(of) {
  const { report: { roofline, totals }, data, lower, inside } = of;
  if (!roofline) return [];
  const guessed = restsOn(totals.time_bound_seconds, inside);
  const { times } = data, fused = times ? of.sized.of(times.fused_estimate_seconds) : null;
  return [
    ["Time", total(of, "time_bound_seconds", { unit: "s", lower: true, known: guessed ? "exact" : null }),
     `on ${roofline.device} in ${roofline.dtype}${guessed ? "; no bound at other sizes" : ", no run is faster"}`],
    ["Estimate", total(of, "time_estimate_seconds", { unit: "s" }),
     ["node by node", times ? ["; ", exactly("page.fused_estimate_seconds", fused, knownText(knownOf(fused, lower), time(fused)), {}, "s"), " with element-wise operators fused"] : null]],
  ];
}

// --fit: the largest size at which a run fits into the given memory.
function fitFigures(memory) {
  if (!memory || !memory.fit) return [];
  const { fit } = memory, words = { training_cross_entropy: "training with loss cross_entropy" };
  if (memory.optimizer === "none") words.training = "training without an optimizer";
  const runs = ["inference", "training", "training_cross_entropy"].filter((run) => fit[`${run}_at_most`] !== undefined);
  const fitsMore = (run) => fit[run] === undefined || big(fit[run]) > big(fit.inference);
  const isLess = memory.kv_cache && fit.inference !== undefined && runs.some(fitsMore);
  return runs.map((run) => {
    const largest = fit[run] === undefined ? null : big(fit[run]);
    const known = fit[`${run}_at_most`] ? "atMost" : fit[`${run}_guessed`] ? "assumed" : "exact";
    const text = largest === null ? `any ${fit.symbol}` : largest === 0n ? "none" : knownText(known, `${fit.symbol} = ${digits(largest)}`);
    const how = largest === 0n ? `${fit.symbol} = 1 is too large` : fit[`${run}_of_model`] ? "as much as the model takes" : "the largest that fits";
    const cache = run === "inference" && isLess ? ", with the KV cache, which training does not make" : "";
    return [`Fits ${show(big(fit.bytes), "B")}: ${words[run] || run}`, exactly(`memory.fit.${run}`, largest, text), `${how}${cache}`];
  });
}

// ---- Lines below the figures

function totalLines(of) {
  const { report, data, lower } = of, { totals } = report;
  return [
    ["inputs", data.inputs],
    formulaLine([["FLOPs", "totals.flops", totals.flops], ["MACs", "totals.macs", totals.macs]], lower),
    typesLine(of),
    foldedLine(of),
    trainingLine(of),
    boundLine(of),
    ...data.lines,
  ];
}

// Formulas of totals that depend on sizes; long ones are folded.
function formulaLine(list, lower) {
  const kLong = 160;
  return ["formula", list.filter(([, , quantity]) => quantity && !/^-?[0-9]+$/.test(bare(quantity.expr))).map(([name, place, { expr }]) => {
    const code = h("code", { "data-formula": place, text: grouped(expr) });
    if (expr.endsWith("...")) return `${name}: too long for a page, --format json has it`;
    const words = [`${name} ${lower ? "\u2265" : "="} `, code];
    return expr.length <= kLong ? words : h("details", {}, h("summary", { text: `${name}: ${digits(BigInt(expr.length))} characters` }), words);
  })];
}

// The range of figures if sizes that no input has are different.
function rangeWords(of) {
  const { report, sized, data, lower } = of;
  if (data.inside === "") return null;
  const end = (place, quantity) => {
    const value = sized.of(quantity);
    return exactly(place, value, si(value));
  };
  const parts = [["flops", "FLOPs"], ["macs", "MACs"]].filter(([key]) => report.totals[key].at_least !== undefined).map(([key, title]) => {
    const { at_least: low, at_most: high } = report.totals[key];
    const ends = ["at least ", low ? end(`totals.${key}.at_least`, low) : "0", ` ${title}, `];
    return [...ends, high && !lower ? ["at most ", end(`totals.${key}.at_most`, high)] : "no upper bound is known", "; "];
  });
  return h("p", { class: "lead" }, `Figures are at the sizes below. For ${data.inside} no formula is known: the fields set them (1 unless set), whatever the other sizes are: `, parts, data.range_notes.join("; "));
}

// The operand types of multiplications, unless all are one floating-point type.
function typesLine({ report, sized, lower }) {
  const types = Object.entries(report.macs_by_dtype || {}).map(([type, macs]) => [type, sized.of(macs)]);
  if (types.length === 0 || (types.length === 1 && /^(bfloat|float|double)[0-9]*$/.test(types[0][0]))) return null;
  types.sort((a, b) => (a[1] < b[1] ? 1 : -1));
  const bops = sized.of(report.bops);
  return ["types", [...types.map(([type, macs]) => [`${type}: `, exactly(`macs_by_dtype.${type}`, macs, knownText(knownOf(macs, lower), si(macs))), " MACs"]),
                    bops === null ? null : [exactly("bops", bops, knownText(knownOf(bops, lower), si(bops))), " BOPs (MACs \u00d7 bits \u00d7 bits)"]]];
}

function foldedLine(of) {
  const { report: { totals }, sized } = of, [folded, flops] = [totals.foldable_flops, totals.flops].map((quantity) => sized.of(quantity));
  return folded > 0n && folded * 1000n >= flops ? ["folded", [["of the FLOPs, ", total(of, "foldable_flops"), " work on constants; a runtime computes them once"]]] : null;
}

// The weights that an exact backward pass trains, and its other parts.
function trainingLine(of) {
  const { training } = of.report;
  if (!training) return null;
  const more = (key, words) => {
    const value = of.sized.of(training[key]);
    return [`${words}: `, exactly(`training.${key}`, value, si(value)), " more"];
  };
  const unknown = training.unknown[0];
  return ["training", [
    [exactly("training.trained_params", big(training.trained_params), si(big(training.trained_params))), " of ",
     exactly("training.params", big(training.params), si(big(training.params))), " params trained"],
    training.attentions > 0 ? `attention ${training.attention}: ${plural(training.attentions, "place")}, ${training.flash_attentions} as flash` : null,
    training.recompute === "none" ? null : more("recompute_flops", `recompute ${training.recompute}`),
    training.optimizer === "none" ? null : more("optimizer_flops", `optimizer ${training.optimizer}`),
    unknown ? `${plural(training.unknown.length, "gradient")} unknown, such as that of ${unknown.node} (${unknown.op}): ${unknown.reason}` : null,
  ]];
}

// The cause of the bound on the time.
function boundLine({ report: { roofline }, data: { times }, sized }) {
  if (!roofline) return null;
  const took = (key) => {
    const value = sized.of(times[key]);
    return exactly(`page.${key}`, value, time(value), {}, "s");
  };
  const cache = roofline.cache_bytes;
  return ["time", [
    times ? ["multiply-accumulates ", took("arithmetic_seconds"), ` at ${siFloat(roofline.peak_flops_per_second)}FLOP/s`] : null,
    times && cache !== null ? [`inputs, parameters and outputs, once each as ${roofline.dtype} or narrower, beyond a cache of ${show(big(cache), "B")}: `, took("memory_seconds"),
                               ` at ${siFloat(roofline.bytes_per_second)}B/s`] : null,
    `memory-bound below ${number(roofline.ridge_intensity)} FLOP/byte`,
  ]];
}

// --memory: the memory of a run, and the tensors alive at its peak. None of its figures is a sum over modules.
function memoryTables(memory, view) {
  const box = h("section");
  const sizes = sizeWords(memory.at);
  const draw = () => {
    const sized = new Sized(view.tree.sizes);
    const at = (key, quantity = memory[key], lowerBound = false, guessed = false) => {
      const value = sized.of(quantity);
      return quantity === undefined ? "?" : exactly(`memory.${key}`, value, knownText(guessed ? "assumed" : knownOf(value, lowerBound), show(value, "B")));
    };
    // Formulas of training hold from some sizes on; at the sizes of the count there are figures.
    const from = BigInt(memory.training_formulas_from || 1), sizeAt = view.tree.sizes;
    const asCounted = Object.entries(memory.at || {}).every(([name, size]) => sizeAt.get(name) === BigInt(size));
    const holds = (quantity) => !quantity || asCounted || symbolsOf(quantity.expr).every((name) => !(sizeAt.get(name) < from));
    const trained = (key, figure, ...known) => {
      if (!holds(memory[key])) return "?";
      return at(key, asCounted && memory[figure] !== undefined ? memory[figure] : memory[key], ...known);
    };
    const outside = holds(memory.training_saved_bytes) && holds(memory.training_peak_bytes) ? null : `count at these sizes: the formula holds for sizes from ${from} on`;
    const alive = memory.alive.map((tensor, i) =>
        [tensor.name, `${tensor.dtype}${tensor.shape ? `[${tensor.shape.join(", ")}]` : ""}`, at(`alive.${i}.bytes`, tensor.bytes)]);
    const guess = "* a part is a guess, it may be more or less", step = memory.training_peak_in;
    box.replaceChildren(h("h2", { text: "Memory" }), figures([
      ["Weights", at("param_bytes"), null],
      ["Peak of inference", at("inference_peak_bytes", memory.inference_peak_bytes, memory.unknown_sizes > 0), memory.at_node && asCounted ? `at ${memory.at_node}` : null],
      ["Kept for training", trained("training_saved_bytes", "training_saved_value", memory.unknown_saved > 0, memory.training_guessed),
        outside || (memory.training_guessed ? `activations; ${guess}` : "activations")],
      ["Gradients", at("gradient_bytes"), null],
      ["Optimizer", at("optimizer_bytes"), memory.optimizer],
      step ? ["Peak of a training step", trained("training_peak_bytes", "training_peak_value", memory.training_peak_lower_bound, memory.training_guessed),
              outside || (asCounted ? `in ${step}${memory.training_peak_at_node ? ` of ${memory.training_peak_at_node}` : ""}` : null)] : null,
    ]), alive.length === 0 ? "" : h("div", {}, h("h3", { text: `Alive at the peak of inference${sizes ? `, which is that at ${sizes}` : ""}${asCounted ? "" : "; bytes at the sizes above"}` }),
      plainTable("Tensors alive at the peak", [["tensor"], ["type"], ["bytes", true]], alive, true)));
  };
  view.onchange(draw);
  return box;
}

function notes(report) {
  const items = [...report.warnings];
  const { coverage } = report;
  if (coverage.unknown > 0) {
    for (const item of coverage.items) items.push(`${item.node || "(no name)"} (${item.op}): ${item.reason}`);
  }
  if (items.length === 0) return null;
  return h("section", {}, h("h2", { text: "Notes" }), h("ul", { class: "notes" }, items.map((text) => h("li", {}, h("bdi", { text })))));
}

