// The pages, one for each document that the program writes.

// ---- Modules: count and diff

// A field for every size that is open. `apply` gets the sizes; one without a number is null.
function sizeFields(data, symbols, sizes, apply) {
  const origin = new Map((symbols || []).map((symbol) => [symbol.name, symbol]));
  if (sizes.size === 0) return null;
  const isInput = (name) => !origin.has(name) || origin.get(name).origin.kind === "input";
  const names = [...sizes.keys()].sort((a, b) => isInput(b) - isInput(a));
  const fields = names.map((name) => {
    const symbol = origin.get(name);
    const input = h("input", { type: "text", inputmode: "numeric", value: data.sizes[name], maxlength: 18, autocomplete: "off",
                               "data-size": name, spellcheck: "false", oninput: () => {
                                 const text = input.value.trim().replaceAll(",", "");
                                 const good = /^[0-9]{1,18}$/.test(text);
                                 input.setAttribute("aria-invalid", good ? "false" : "true");
                                 sizes.set(name, good ? BigInt(text) : null);
                                 apply(sizes);
                               } });
    const hint = symbol && symbol.at_most ? `at most ${symbol.at_most.expr.slice(0, 40)}`
               : symbol && symbol.origin.kind !== "input" ? "depends on data" : "";
    const part = field(name.length > 40 ? `${name.slice(0, 39)}\u2026` : name, input);
    if (hint !== "") part.append(h("span", { class: "hint muted", text: hint }));
    return part;
  });
  // Sizes of inputs are what a reader knows.
  const shown = fields.length <= 6 ? fields.length : Math.min(12, Math.max(1, names.filter(isInput).length));
  const first = h("div", { class: "fields" }, fields.slice(0, shown));
  const rest = fields.length > shown
    ? h("details", {}, h("summary", { text: `${plural(fields.length - shown, "more size")}, most of them depend on data` }),
        h("div", { class: "fields" }, fields.slice(shown)))
    : null;
  return h("section", { "aria-label": "Sizes" },
           h("div", { class: "sizes" }, h("h2", { text: "Sizes" }),
             h("span", { class: "muted", text: "The file leaves these open. All figures are at the sizes given here." })), first, rest);
}

function toolbar(view) {
  const search = h("input", { type: "search", placeholder: "name, path or type", autocomplete: "off", spellcheck: "false",
                              oninput: () => {
                                view.search(search.value);
                                if (view.hits) tell(`${plural(view.found.size, "row")} found`);
                              },
                              onkeydown: (event) => {
                                if (event.key !== "Enter" || !view.hits || view.found.size === 0) return;
                                const list = [...view.found];
                                view.go(list[(list.indexOf(view.zoom.node) + 1) % list.length]);
                              } });
  return h("div", { class: "bar" },
           choice("Size by", view.quantities.map((q) => [q.key, q.title]), view.quantity.key, (key) => {
             view.quantity = view.quantities.find((q) => q.key === key);
             view.change();
           }),
           view.two ? null : choice("Color by", view.colors(), view.color, (key) => {
             view.color = key;
             view.change();
           }),
           field("Search", search));
}

function breadcrumb(view) {
  const list = h("ol");
  const member = h("span");
  const box = h("nav", { class: "path", "aria-label": "Path" }, list, member);
  view.onchange(() => {
    const way = [];
    for (let n = view.zoom.node; n; n = n.parent) way.unshift(n);
    list.replaceChildren(...way.map((node) => h("li", {}, node === view.zoom.node
      ? h("bdi", { "aria-current": "true", text: view.nameOf(node) })
      : h("button", { type: "button", onclick: () => view.go(node) }, h("bdi", { text: view.nameOf(node) })))));
    const { node, members } = view.zoom;
    member.replaceChildren();
    if (node.times > 1 && numbered(node)) {
      const options = [["", `all ${node.times}`]];
      for (let i = 0; i < Math.min(node.times, 500); ++i) options.push([String(i), memberName(node, i)]);
      const chosen = members.has(node) ? String(members.get(node)) : "";
      member.append(choice("show", options, chosen, (value) => {
        const next = new Map(members);
        if (value === "") next.delete(node);
        else next.set(node, Number(value));
        view.go(node, next);
      }));
    }
    const button = (text, onclick) => member.append(h("button", { type: "button", class: "fold", text, onclick }));
    if (view.tree.canUnfold(node)) button(`Unfold ${node.times}`, () => view.unfold(node));
    if (node.folded) button(`Fold ${node.folded.times}`, () => view.fold(node));
  });
  return box;
}

// What is under the pointer or has the focus, in full.
function details(view) {
  const name = h("bdi", { class: "name" }), type = h("bdi", { class: "muted" }), words = h("span", { class: "words" });
  const draw = (node) => {
    name.textContent = node === view.zoom.node ? "" : printable(view.pathTo(node));
    type.textContent = node.type === view.nameOf(node) ? "" : printable(node.type);
    const times = view.times(node);
    const intensity = view.tree.intensity(node);
    words.textContent = printable([view.words(node), times > 1n ? `${times} times` : "",
                         view.tree.profile && view.tree.rate(node) ? `${siFloat(view.tree.rate(node))}FLOP/s` : "",
                         !view.two && intensity !== null ? `${number(intensity)} FLOP/byte` : ""].filter(Boolean).join("  \u00b7  "));
  };
  view.hover = draw;
  view.onchange(() => draw(view.zoom.node));
  return h("p", { class: "details" }, name, type, words);
}

function legend(view) {
  const box = h("ul", { class: "legend", "aria-label": "Colors" });
  view.onchange(() => box.replaceChildren(...view.legend().map(([color, text]) =>
      h("li", {}, h("span", { class: `swatch ${color}`, "aria-hidden": "true" }), h("bdi", { text })))));
  return box;
}

function pictures(view, titles) {
  const icicles = titles.map((title, side) => new Icicle(view, titles.length === 1 ? view.tree.root.sides.length - 1 : side, title));
  const draw = () => {
    const values = icicles.map((icicle) => view.of(view.zoom.node, icicle.side)).filter((value) => value !== null);
    const scale = values.reduce((a, b) => (a > b ? a : b), 0n);
    for (const icicle of icicles) icicle.draw(scale);
  };
  view.onchange(draw);
  let width = 0;
  new ResizeObserver(() => {
    if (Math.abs(icicles[0].box.clientWidth - width) < 1) return;
    width = icicles[0].box.clientWidth;
    draw();
  }).observe(icicles[0].box);
  return icicles.map((icicle, i) => [titles.length > 1 ? h("p", { class: "subtitle", text: titles[i] }) : null, icicle.box]);
}

function modulesPage(data, model, top, titles, symbols, bottom) {
  const tree = new Tree(data);
  const view = new View(tree, data.cost);
  const fields = sizeFields(data, symbols, tree.sizes, (sizes) => {
    tree.resize(sizes);
    view.change();
  });
  const table = new TreeTable(view);
  const joined = tree.rowsJoined > 0
    ? h("p", { class: "muted", text: `${plural(tree.rowsJoined, "small row")} had no room in this page and ${tree.rowsJoined === 1 ? "is" : "are"} ` +
                                     "joined: --format json has all of them." }) : null;
  const totals = h("div");
  view.onchange(() => totals.replaceChildren(top(tree)));
  const caveats = (data.caveats || []).map((text) => h("p", { class: "lead" }, h("bdi", { text })));
  page.replaceChildren(...[heading(model, [...modelWords(model), sizeWords((data.report || data.diff || data.profile).bindings || data.diff && data.diff.head_bindings)]),
                       ...caveats, totals, fields,
                       h("section", { "aria-label": "Picture" }, toolbar(view), breadcrumb(view), details(view),
                         pictures(view, titles), legend(view)),
                       table.box, joined, bottom(view), told].filter(Boolean));
  addEventListener("hashchange", () => view.goTo(pathOfAddress()));
  if (!(location.hash.length > 1 && view.goTo(pathOfAddress()))) view.change();
  told.textContent = "";
}
function pathOfAddress() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch (error) {
    return location.hash.slice(1);
  }
}

function countPage(data) {
  const { report } = data;
  data.title = fileName(report.model.path);
  const top = (tree) => {
    const of = (key) => (tree.quantity(key) ? tree.of(tree.root, tree.quantity(key)) : undefined);
    const known = (value, text) => knownText(knownOf(value, report.coverage.lower_bound), text);
    const [flops, macs, other, read, written] = ["flops", "macs", "other_flops", "bytes_read", "bytes_written"].map(of);
    const intensity = tree.intensity(tree.root);
    const [bound, estimate] = [report.totals.time_bound_zs, of("time_estimate_zs")];
    const saved = report.memory && big(report.memory.inference_peak_bytes);
    if (report.headline) {
      const value = flops === undefined ? macs : flops, assumed = (report.assumptions || []).length > 0 && !report.coverage.lower_bound;
      return figures([[report.headline_name, assumed ? knownText("assumed", show(value)) : known(value, show(value)), `as ${report.convention} counts`],
                      report.totals.params === null ? null : ["Parameters", si(big(report.totals.params))]]);
    }
    const int = of("int_ops");
    return figures([
      ["FLOPs", known(flops, show(flops)), flops > 0n ? `2 \u00d7 MACs + ${known(other, show(other))} other` : null],
      ["MACs", known(macs, show(macs)), int > 0n ? `${known(int, show(int))} integer operations` : null],
      ["Parameters", show(of("params")), show(of("param_bytes"), "B")],
      ["Bytes moved", known(sum([read, written]), show(sum([read, written]), "B")), `read ${known(read, show(read, "B"))}, written ${known(written, show(written, "B"))}`],
      report.coverage.lower_bound ? null : ["FLOP/byte", intensity === null ? "\u2013" : number(intensity), null],
      bound === undefined ? null
        : ["Time", knownText(knownOf(big(bound), true), time(big(bound))), `estimate ${known(estimate, time(estimate))}; ${report.roofline.device}, ${report.roofline.dtype}`],
      saved ? ["Peak of activations", show(saved, "B"), "inference"] : null,
    ]);
  };
  modulesPage(data, report.model, top, [`Modules of ${data.title}`], report.symbols,
              (view) => h("div", {}, report.roofline ? rooflineChart(report.roofline, view) : null,
                               report.memory && report.memory.alive ? memoryTables(report.memory, view) : null, notes(report)));
}

// --memory: what a run holds, and the tensors that are alive at its peak. No figure of it is a sum over modules.
function memoryTables(memory, view) {
  const box = h("section");
  const sizes = sizeWords(memory.at);
  const draw = () => {
    const at = (quantity, lowerBound = false, guessed = false) => {
      const value = quantity ? Formula(quantity.expr)(view.tree.sizes) : null;
      return quantity ? knownText(guessed ? "assumed" : knownOf(value, lowerBound), show(value, "B")) : null;
    };
    box.replaceChildren(h("h2", { text: "Memory" }), figures([
      ["Weights", show(big(memory.param_bytes), "B"), null],
      ["Peak of inference", at(memory.inference_peak_bytes, memory.unknown_sizes > 0), memory.at_node ? `at ${memory.at_node}` : null],
      ["Kept for training", at(memory.training_saved_bytes, memory.unknown_saved > 0, memory.training_guessed),
        memory.training_guessed ? "activations; * a part is a guess, it may be more or less" : "activations"],
      ["Gradients", show(big(memory.gradient_bytes), "B"), null],
      ["Optimizer", show(big(memory.optimizer_bytes), "B"), memory.optimizer],
    ]), memory.alive.length === 0 ? "" : h("div", {}, h("h3", { text: `Alive at the peak${sizes ? `, at ${sizes}` : ""}` }),
      plainTable("Tensors alive at the peak", [["tensor"], ["type"], ["bytes", true]], memory.alive.map((tensor) =>
        [tensor.name, `${tensor.dtype}${tensor.shape ? `[${tensor.shape.join(", ")}]` : ""}`, at(tensor.bytes)]))));
  };
  view.onchange(draw);
  return box;
}

function notes(report) {
  const items = [...report.warnings];
  const { coverage } = report;
  if (coverage.unknown > 0) {
    items.unshift(`${plural(coverage.unknown, "node")} ${coverage.unknown === 1 ? "is" : "are"} not counted; totals are lower bounds.`);
    for (const item of coverage.items) items.push(`${item.node || "(no name)"} (${item.op}): ${item.reason}`);
  }
  if (items.length === 0) return null;
  return h("section", {}, h("h2", { text: "Notes" }), h("ul", { class: "notes" }, items.map((text) => h("li", {}, h("bdi", { text })))));
}

function diffPage(data) {
  const { diff } = data;
  data.title = fileName(diff.head.path);
  const base = diff.base ? fileName(diff.base.path) : "(no base)";
  const top = (tree) => figures(["flops", "macs", "params", "bytes_read", "bytes_written"].map((key) => {
    const q = tree.quantity(key);
    if (!q) return null;
    const [before, after] = [tree.of(tree.root, q, 0), tree.of(tree.root, q, 1)];
    if (before === null || after === null) return [q.title, "?", null];
    const change = after - before, known = tree.knownChange(tree.root, q), plus = change > 0n ? "+" : "";
    const words = change === 0n && known === "exact" ? "unchanged"
                : `${knownText(known, plus + show(change, q.unit))}${before > 0n && known === "exact" ? ` (${plus}${percent(change, before)})` : ""}`;
    return [q.title, knownText(tree.known(tree.root, q, 1), show(after, q.unit)), words];
  }));
  const facts = [...diff.facts, ...diff.inputs, ...diff.outputs];
  const declared = facts.length === 0 ? null
    : h("section", {}, h("h2", { text: "What the files declare" }),
        plainTable("What the files declare", [["what"], ["base"], ["head"]],
                   facts.map((fact) => [fact.name, fact.base === undefined ? "\u2013" : fact.base,
                                        fact.head === undefined ? "\u2013" : fact.head])));
  const titles = diff.base ? [`Base: ${base}`, `Head: ${data.title}`] : [`Head: ${data.title}`];
  modulesPage(data, { ...diff.head, path: diff.base ? `${base} \u2192 ${data.title}` : diff.head.path }, top, titles, null, () => declared);
}

// ---- The roofline: modules that do the work themselves, under the roof

// The roof with points under it: {x, y, share, color, text}.
function roofline(roof, points, words, width) {
  const { peak_flops_per_second: peak } = roof;
  // Without the speed of a memory the roof is flat.
  const slope = roof.bytes_per_second > 0, ridge = slope ? peak / roof.bytes_per_second : 1, speed = peak / ridge;
  const low = 10 ** Math.floor(Math.log10(Math.min(ridge / 10, ...points.map((p) => p.x))));
  const high = 10 ** Math.ceil(Math.log10(Math.max(ridge * 10, ...points.map((p) => p.x))));
  const floor = 10 ** Math.floor(Math.log10(Math.min(low * speed, ...points.map((p) => p.y))));
  const { svg, px, py, right } = frame(`Roofline${roof.device ? ` of ${roof.device} in ${roof.dtype}` : ""}: ${words} under the roof`, width, 360,
                                       { low, high, log: true, title: "FLOP/byte", text: (v) => number(v) },
                                       { low: floor, high: Math.max(peak, ...points.map((p) => p.y)) * 2, log: true, title: "FLOP/s", text: siFloat });
  const corners = [[low, slope ? low * speed : peak], [ridge, peak], [high, peak]];
  svg.append(s("polyline", { class: "roof", points: corners.map(([x, y]) => `${px(x)},${py(y)}`).join(" ") }),
             s("text", { class: "tick", x: right - 4, y: py(peak) - 7, "text-anchor": "end",
                         text: [`${siFloat(peak)}FLOP/s`, roof.dtype].filter(Boolean).join(", ") }));
  points.sort((a, b) => b.share - a.share);
  for (const point of points.slice(0, 400)) {
    svg.append(s("circle", { class: `point ${point.color}`, cx: px(point.x), cy: py(point.y), r: 3 + 14 * Math.sqrt(point.share) },
                 s("title", { text: `${point.text}: ${number(point.x)} FLOP/byte, ${siFloat(point.y)}FLOP/s` })));
  }
  return svg;
}
function roofWords(roof) {
  const speed = roof.bytes_per_second > 0 ? `, ${siFloat(roof.bytes_per_second)}B/s${roof.memory_source ? ` (${roof.memory_source})` : ""}` : "";
  return `${[roof.device, roof.dtype].filter(Boolean).join(" in ") || "A device"}: peak ${siFloat(roof.peak_flops_per_second)}FLOP/s ` +
         `(${roof.peak_source})${speed}.`;
}

// With the estimate of a device's time (--device), or with the one that was measured (profile).
function rooflineChart(roof, view, measured = false) {
  const box = h("section", {}, h("h2", { text: "Roofline" }));
  const draw = () => {
    const { tree } = view;
    const [work, took] = [tree.quantity("flops"), tree.quantity(measured ? "time_zs" : "time_estimate_zs")];
    const points = [];
    for (const node of tree.nodes) {
      if (!node.leaf || node.kind === "others") continue;
      const [flops, zs, intensity] = [tree.of(node, work), tree.of(node, took), tree.intensity(node)];
      if (!flops || !zs || !intensity) continue;
      const share = ratio(zs, tree.of(tree.root, took));
      points.push({ x: intensity, y: Number(flops) / (Number(zs) / 1e21), share, color: view.color === "type" ? view.colorOf(node) : "family0",
                    text: `${node.path || node.label}, ${(share * 100).toFixed(1)} % of the time` });
    }
    const svg = roofline(roof, points, plural(points.length, "module"), Math.max(320, Math.min(box.clientWidth || 900, 900)));
    box.replaceChildren(h("h2", { text: "Roofline" }),
                        h("p", { class: "muted", text: `${roofWords(roof)} A circle is as large as its share of the ${measured ? "time" : "time bound"}.` }),
                        h("div", { class: "scroll" }, svg));
  };
  view.onchange(draw);
  return box;
}

// ---- compare: from our count to what a tool reports

function comparePage(data) {
  const tools = data.conventions;
  const known = tools.filter((tool) => tool.headline), none = tools.filter((tool) => !tool.headline);
  const open = known.filter((tool) => big(tool.headline) === null);
  // The one that is farthest from our count is the one that asks for reasons.
  const distance = (tool) => {
    const [from, to] = [big(tool.start), big(tool.headline)];
    return from === null || to === null ? 0 : Math.abs(ratio(to - from, from));
  };
  let chosen = tools.find((tool) => tool.name === pathOfAddress()) ||
               known.reduce((far, tool) => (far && distance(far) >= distance(tool) ? far : tool), null) || tools[0];
  const way = h("section", { class: "way", "aria-label": "Way" });
  const list = h("ul", { class: "tools", "aria-label": "Tools" });
  const draw = () => {
    list.replaceChildren(...[...known, ...none].map((tool) => {
      const { headline } = tool;
      const value = headline ? (big(headline) === null ? headline.expr : si(big(headline))) : "no figure";
      return h("li", {}, h("button", { type: "button", "data-tool": tool.name, "aria-pressed": String(tool === chosen), onclick: () => {
        chosen = tool;
        try {
          history.replaceState(null, "", `#${encodeURIComponent(tool.name)}`);
        } catch (error) {
          // A page inside of another has no address of its own.
        }
        draw();
        list.querySelector("[aria-pressed=true]").focus();
      } }, h("span", { class: "tool", text: tool.name }),
         h("span", { class: "figure", text: knownText(headline && data.lower_bound ? "atLeast" : tool.status === "assumed" && value.length <= 24 ? "assumed" : "exact",
                                              value.length > 24 ? `${value.slice(0, 23)}\u2026` : value) }),
         h("span", { class: "muted", text: headline ? (tool.unit === "mac" ? "MACs" : "FLOPs") : "" })));
    }));
    way.replaceChildren(...waterfall(chosen, data.lower_bound));
  };
  const star = tools.some((tool) => tool.status === "assumed");
  page.replaceChildren(...[heading(data.model, [...modelWords(data.model), sizeWords(data.bindings)]),
    h("p", { class: "lead", text: "What other tools report for this model, and where each difference from our count comes from." }),
    open.length > 0 ? h("p", { class: "muted", text: "Sizes are open, so figures are formulas: --dim NAME=N gives a size." }) : null,
    h("div", { class: "columns" }, h("div", {}, list, star ? h("p", { class: "muted", text: "* rests on an assumption" }) : null), way), told].filter(Boolean));
  draw();
}

// `lowerBound`: a part of the model is not counted.
function waterfall(tool, lowerBound) {
  const unit = tool.unit === "mac" ? "MACs" : "FLOPs";
  const head = [h("h2", { text: tool.name + (tool.version ? ` ${tool.version}` : "") }),
                h("p", { class: "muted", text: tool.source })];
  if (!tool.headline) return [...head, h("p", { text: tool.assumptions.join(" ") })];
  const steps = [{ name: `our count, in ${unit}`, at: big(tool.start), total: true, text: tool.start.expr }];
  for (const term of tool.terms) {
    const before = steps[steps.length - 1].at, amount = big(term.amount);
    steps.push({ name: term.name, reason: term.reason, nodes: term.nodes, amount, from: before, text: term.amount.expr, module: term.module,
                 at: before === null || amount === null ? null : before + amount });
  }
  const reached = steps[steps.length - 1].at, end = big(tool.headline);
  if (reached !== null && end !== null && reached !== end) {
    steps.push({ name: "terms that have no room here", amount: end - reached, from: reached, at: end, text: String(end - reached) });
  }
  steps.push({ name: tool.headline_name, at: end, total: true, text: tool.headline.expr });
  const most = steps.reduce((high, step) => (step.at !== null && step.at > high ? step.at : high), 1n);
  const bar = (step) => {
    if (step.at === null || (!step.total && step.from === null)) return null;
    const [low, high] = step.total ? [0n, step.at] : step.at < step.from ? [step.at, step.from] : [step.from, step.at];
    const x = 1000 * ratio(low, most), width = Math.max(1000 * ratio(high - low, most), 2);
    return s("svg", { class: "bar-cell", viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" },
             s("rect", { class: step.total ? "total" : step.amount < 0n ? "less2" : "more2", x: Math.min(x, 998), y: 0, width, height: 10 }));
  };
  const rows = steps.map((step) => h("li", { class: step.total ? "step total" : "step" },
    h("div", { class: "step-head" }, h("bdi", { class: "name", text: step.name }),
      h("span", { class: "figure", title: step.text.length < 2000 ? step.text : null,
                  text: step.total ? knownText(step.at === null && lowerBound ? "atLeast" : knownOf(step.at, lowerBound), step.at === null ? step.text : si(step.at))
                                   : step.amount === null ? step.text : `${step.amount > 0n ? "+" : ""}${si(step.amount)}` })),
    bar(step),
    step.reason ? h("p", { class: "muted" }, h("bdi", { text: step.reason }),
                    ` (${[step.module, plural(step.nodes, "node")].filter(Boolean).join(", ")})`) : null));
  const assumed = tool.assumptions.length === 0 ? null
    : h("div", {}, h("h3", { text: "Assumptions" }), h("ul", { class: "notes" }, tool.assumptions.map((text) => h("li", { text }))));
  return [...head, h("ol", { class: "waterfall" }, rows), assumed].filter(Boolean);
}

// ---- check: verdicts, what failed first

const kVerdicts = ["error", "failed", "not_proven", "allowed", "warned", "skipped", "passed"];

function checkPage(data) {
  const rules = [...data.rules].sort((a, b) => kVerdicts.indexOf(a.verdict) - kVerdicts.indexOf(b.verdict));
  const bad = rules.filter((rule) => !rule.passed).length;
  const model = data.model || { path: plural(data.models.length, "model") };
  const bar = (rule) => {
    if (rule.limit_value === undefined || rule.actual_value === undefined || BigInt(rule.limit_value) <= 0n) return "";
    const part = ratio(BigInt(rule.actual_value), BigInt(rule.limit_value));
    const most = Math.max(part, 1) * 1.05;
    return s("svg", { class: "bar-cell small", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img",
                      "aria-label": `${(part * 100).toFixed(1)} % of the limit` },
             s("rect", { class: rule.passed ? "total" : "more3", x: 0, y: 0, width: Math.max(0.5, 100 * part / most), height: 10 }),
             s("line", { class: "limit", x1: 100 / most, x2: 100 / most, y1: 0, y2: 10 }));
  };
  const columns = [
    ["verdict", (rule) => h("span", { class: `verdict ${rule.verdict}`, text: rule.verdict.replace("_", " ") })],
    ["model", (rule) => fileName(rule.model)], ["rule", (rule) => rule.name], ["where", (rule) => rule.where || "model"],
    ["at", (rule) => rule.at], ["actual", (rule) => rule.actual, true], ["limit", (rule) => rule.limit, true], ["of the limit", bar],
    ["left", (rule) => rule.margin, true], ["detail", (rule) => rule.detail],
  ].filter(([title]) => (title === "model" ? data.models : !["at", "detail"].includes(title) || rules.some((rule) => rule[title] !== "")));
  page.replaceChildren(
    heading(model, [...modelWords(data.model), data.base ? `against ${fileName(data.base.path)}` : "", data.budgets ? `budgets: ${data.budgets}` : ""]),
    h("p", { class: `verdict ${data.passed ? "passed" : "failed"}`,
             text: data.passed ? `Passed: ${plural(rules.length, "rule")}` : `Failed: ${bad} of ${plural(rules.length, "rule")}` }),
    plainTable("Rules", columns.map(([title, , right]) => [title, right]), rules.map((rule) => columns.map(([, cell]) => cell(rule)))), told);
}

// ---- mfu: utilisation, and what other formulas give

function mfuPage(data) {
  const part = (value) => `${number(value * 100)} %`;
  const rate = (value) => `${siFloat(value)}FLOP/s`.replace(/(\d)FLOP/, "$1 FLOP");
  const most = Math.max(data.mfu || 0, ...data.formulas.map((formula) => formula.mfu || 0)) || 1;
  const bar = (value, chosen) => s("svg", { class: "bar-cell small", viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" },
                                   s("rect", { class: chosen ? "family0" : "plain", x: 0, y: 0, width: Math.max(1, 1000 * value / most), height: 10 }),
                                   most > 1 ? s("line", { class: "limit", x1: 1000 / most, x2: 1000 / most, y1: 0, y2: 10 }) : null);
  const known = data.formulas.filter((formula) => formula.flops_per_step !== undefined && formula.flops_per_step !== null);
  const shown = (formula, text) => knownText(knownOf(big(formula.flops_per_step), formula.lower_bound), text);
  const missing = data.formulas.filter((formula) => !known.includes(formula));
  const reached = knownOf(big(data.training_flops), data.lower_bound);
  page.replaceChildren(...[
    heading({ path: data.model }, [sizeWords(data.bindings), `${data.devices} \u00d7 ${data.device || "device"}${data.dtype ? ` in ${data.dtype}` : ""}`]),
    figures([["MFU", knownText(reached, part(data.mfu)), data.lower_bound ? "at least: not all is counted" : `formula: ${data.counted}`],
             ["HFU", knownText(reached, part(data.hfu)), "with what is computed again"],
             ["FLOPs a step", knownText(knownOf(big(data.training_flops), data.lower_bound), si(big(data.training_flops))),
              `forward ${knownText(knownOf(big(data.forward_flops), data.lower_bound), si(big(data.forward_flops)))}`],
             ["Step", `${number(data.step_seconds)} s`, data.grad_accumulation > 1 ? `${data.grad_accumulation} runs of the model` : null],
             ["Achieved", knownText(reached, rate(data.achieved_flops_per_second)), "per device"],
             ["Peak", rate(data.peak_flops_per_second), data.peak_source]]),
    h("section", {}, h("h2", { text: "By other formulas" }),
      plainTable("MFU by formula", [["formula"], ["FLOPs a step", true], ["MFU", true], ["compared"], ["what it is"], ["source"]],
                 known.map((formula) => [formula.name, h("span", { title: digits(big(formula.flops_per_step)), text: shown(formula, si(big(formula.flops_per_step))) }),
                                         shown(formula, part(formula.mfu)), bar(formula.mfu, formula.name === data.counted), formula.formula, formula.source])),
      most > 1 ? h("p", { class: "muted", text: "The line is the peak of the devices." }) : null,
      missing.length > 0 ? h("details", {}, h("summary", { text: `${plural(missing.length, "formula")} without a figure` }),
                             h("ul", { class: "notes" }, missing.map((formula) => h("li", { text: `${formula.name}: ${formula.missing || formula.formula}` })))) : null),
    data.flops_per_byte > 0 && data.achieved_flops_per_second > 0 ? h("section", {}, h("h2", { text: "Roofline" }),
      h("p", { class: "muted", text: `${roofWords(data)} The point is what a step achieved, at the FLOP/byte of the forward pass, each operator by itself.` }),
      h("div", { class: "scroll" }, roofline(data, [{ x: data.flops_per_byte, y: data.achieved_flops_per_second, share: 0.15, color: "family0", text: "a step" }],
                                             "a step", Math.max(320, Math.min(page.clientWidth || 900, 900))))) : null,
    (data.notes || []).length > 0 ? h("section", {}, h("h2", { text: "Notes" }), h("ul", { class: "notes" }, data.notes.map((text) => h("li", { text })))) : null,
    told].filter(Boolean));
}

// ---- Sweeps: cost against size

function sweepPage(data) {
  const keys = Object.keys(data.points[0].totals);
  const titles = { flops: "FLOPs", macs: "MACs", params: "parameters" };
  const title = (key) => titles[key] || key.replaceAll("_", " ");
  const unit = (key) => (key.includes("bytes") ? "B" : key.startsWith("time_") ? "zs" : "");
  let quantity = keys.find((key) => data.points.every((point) => point.totals[key] !== null)) || keys[0];
  let [along] = [...data.symbols].sort((a, b) => count(b) - count(a));
  function count(symbol) {
    return new Set(data.points.map((point) => point.sizes[symbol])).size;
  }
  const box = h("div");
  const draw = () => {
    const lines = new Map();  // by the other sizes
    for (const point of data.points) {
      const value = big(point.totals[quantity]);
      if (value === null) continue;
      const other = data.symbols.filter((symbol) => symbol !== along).map((symbol) => `${symbol} = ${point.sizes[symbol]}`).join(", ");
      if (!lines.has(other)) lines.set(other, []);
      lines.get(other).push([Number(point.sizes[along]), value]);
    }
    const points = [...lines.values()].flat();
    if (points.length === 0) {
      box.replaceChildren(h("p", { text: "There is no chart while a size is open." }));
      return;
    }
    const xs = points.map(([x]) => x), ys = points.map(([, y]) => Number(y));
    const wide = Math.max(...xs) > 20 * Math.max(1, Math.min(...xs)) && Math.min(...xs) > 0;
    const tall = Math.max(...ys) > 200 * Math.max(1, Math.min(...ys)) && Math.min(...ys) > 0;
    const width = Math.max(320, Math.min(box.clientWidth || 900, 900));
    const axis = (values, log) => ({ low: log ? 10 ** Math.floor(Math.log10(Math.min(...values))) : 0,
                                     high: log ? 10 ** Math.ceil(Math.log10(Math.max(...values))) : Math.max(...values) * 1.05 || 1, log });
    const value = (v) => show(BigInt(Math.round(v)), unit(quantity)).replace(/\.?0+(?= |$)/, "");
    const chart = frame(`${title(quantity)} against ${along}`, width, 360, { ...axis(xs, wide), title: along.slice(0, 60), text: (v) => siFloat(v) },
                        { ...axis(ys, tall), title: title(quantity), text: value });
    let color = 0;
    const names = [];
    for (const [name, line] of lines) {
      line.sort((a, b) => a[0] - b[0]);
      const family = `family${Math.min(color++, 7)}`;
      names.push([family, name]);
      chart.svg.append(s("polyline", { class: `line ${family}`, points: line.map(([x, y]) => `${chart.px(x)},${chart.py(Number(y))}`).join(" ") }));
      for (const [x, y] of line) {
        chart.svg.append(s("circle", { class: `point ${family}`, cx: chart.px(x), cy: chart.py(Number(y)), r: 4 },
                           s("title", { text: `${along} = ${x}: ${digits(y)}` })));
      }
    }
    box.replaceChildren(h("div", { class: "scroll" }, chart.svg),
                        names.length > 1 ? h("ul", { class: "legend" }, names.map(([family, text]) =>
                            h("li", {}, h("span", { class: `swatch ${family}` }), h("bdi", { text })))) : "");
  };
  const cell = (value, key, lowerBound) => {
    const exact = big(value);
    if (value === null || value === undefined) return "\u2013";
    const lower = lowerBound && !key.startsWith("param");
    return exact === null ? String(value.expr) : h("span", { title: digits(exact), text: knownText(knownOf(exact, lower), show(exact, unit(key))) });
  };
  const shown = ["flops", "macs", "bytes_read", "bytes_written", "time_bound_zs", "time_estimate_zs", "params"].filter((key) => keys.includes(key));
  page.replaceChildren(
    heading(data.model, [...modelWords(data.model), sizeWords(data.bindings)]),
    h("div", { class: "bar" }, choice("Cost", keys.map((key) => [key, title(key)]), quantity, (key) => { quantity = key; draw(); }),
      data.symbols.length > 1 ? choice("Against", data.symbols.map((symbol) => [symbol, symbol]), along, (symbol) => { along = symbol; draw(); }) : null),
    box,
    h("section", {}, h("h2", { text: "Points" }),
      plainTable("Points", [...data.symbols.map((symbol) => [symbol, true]), ...shown.map((key) => [title(key), true])],
                 data.points.map((point) => [...data.symbols.map((symbol) => String(point.sizes[symbol])),
                                             ...shown.map((key) => cell(point.totals[key], key, point.lower_bound))]))), told);
  draw();
}

// ---- Start

const page = document.getElementById("page");
const kPages = { count: countPage, diff: diffPage, compare: comparePage, check: checkPage, mfu: mfuPage, profile: profilePage, sweep: sweepPage,
                 history: historyPage };

function start() {
  const holder = document.getElementById("data");
  const { kind } = holder.dataset;
  // Integers stay exact, where the browser tells how a number was written.
  const exact = (key, value, context) =>
      (typeof value === "number" && !Number.isSafeInteger(value) && context && /^-?[0-9]+$/.test(context.source) ? BigInt(context.source) : value);
  const data = ["count", "diff", "profile"].includes(kind) ? JSON.parse(holder.textContent) : JSON.parse(holder.textContent, exact);
  if (data.too_large) {
    page.append(h("p", { text: "This report does not fit into a page of 1 MB: --format json has all of it." }));
    return;
  }
  kPages[kind](data);
  const left = data.left_out || (data.profile && data.profile.left_out);
  if (left) {
    page.append(h("p", { class: "muted", text: `${plural(left, "entry").replace("entrys", "entries")} of its lists had no room in this page: ` +
                                               "--format json has all of them." }));
  }
  document.documentElement.dataset.ready = "true";
}
start();
