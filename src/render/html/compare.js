// compare: from our count to what other tools report.

function comparePage(data) {
  const { compare } = data;
  const tools = compare.conventions, known = tools.filter((tool) => tool.headline), none = tools.filter((tool) => !tool.headline);
  const sized = new Sized(sizesOf(data)), inside = insideNames(data);
  // Both in the tool's unit; if the tool counts a training step, so does our figure.
  const rowOf = (tool) => {
    const [start, theirs] = [sized.of(tool.start), sized.of(tool.headline)];
    return { tool, theirs, part: start === null || theirs === null || start === 0n ? null : ratio(theirs, start * BigInt(tool.passes)) };
  };
  // Opens with the tool that people ask about most.
  const asked = ["thop", "fvcore"].map((name) => known.find((tool) => tool.name === name)).find(Boolean);
  let chosen = tools.find((tool) => tool.name === pathOfAddress()) || asked || known[0] || tools[0];
  const state = { data, sized, inside, lower: compare.lower_bound };
  const way = h("section", { class: "way", "aria-label": "Way" }), list = h("ul", { class: "tools", "aria-label": "Tools" }), ours = h("div");
  const draw = () => {
    const rows = known.map(rowOf).sort((a, b) => (a.part === b.part ? 0 : a.part === null || (b.part !== null && a.part < b.part) ? 1 : -1));
    const most = Math.max(1, ...rows.map(({ part }) => part || 0));
    const items = rows.map((row) => ({ part: row.part || 0, item: toolItem(row, most, row.tool === chosen, state, () => {
      chosen = row.tool;
      try {
        history.replaceState(null, "", `#${encodeURIComponent(chosen.name)}`);
      } catch (error) {
        // A page inside another page has no address.
      }
      draw();
      list.querySelector("[aria-pressed=true]").focus({ preventScroll: true });
      // On a narrow screen the way is below the list.
      if (way.getBoundingClientRect().top > list.getBoundingClientRect().bottom) way.scrollIntoView();
    }) }));
    const before = items.findIndex(({ part }) => part < 1), own = { item: ourItem(most) };
    items.splice(before < 0 ? items.length : before, 0, own);
    list.replaceChildren(...items.map(({ item }) => item));
    ours.replaceChildren(ourFigures(state));
    way.replaceChildren(...waterfall(chosen, state));
  };
  const fields = sizeFields(sized.sizes, data.symbols, draw);
  const notes = [tools.some((tool) => tool.status === "assumed") ? "* rests on an assumption." : "",
                 known.some((tool) => tool.passes > 1) ? "Figures of a training step are compared with three times our forward pass." : ""].filter(Boolean);
  page.replaceChildren(...[heading(compare.model, [...(data.stages.length > 0 ? [] : modelWords(compare.model)), sizeWords(compare.bindings)]),
    h("p", { class: "lead", text: "What other tools report, and where each difference from our count comes from." }), ours,
    lines([["inputs", data.inputs], ["samples", data.samples], ["stages", data.stages]]), fields,
    h("div", { class: "columns" },
      h("section", { class: "way", "aria-label": "Tools" }, h("h2", { text: "In percent of our count" }), list,
        notes.length > 0 ? h("p", { class: "muted", text: notes.join(" ") }) : null,
        none.length > 0 ? h("details", {}, h("summary", { text: `${plural(none.length, "tool")} without a figure` }),
                            h("ul", { class: "notes" }, none.map((tool) => h("li", {}, h("bdi", { text: `${tool.name}: ${tool.assumptions.join(" ")}` }))))) : null),
      way), told].filter(Boolean));
  draw();
}

function ourFigures({ data, sized, lower }) {
  const of = (key) => {
    const value = sized.of(data[key]);
    return exactly(`page.${key}`, value, knownText(knownOf(value, lower), si(value)));
  };
  return figures([["Our FLOPs", of("flops")], ["Our MACs", of("macs")]]);
}
const unitOf = (tool) => (tool.unit === "mac" ? "MACs" : "FLOPs");
function bar(part, most, kind) {
  return s("svg", { class: "bar-cell", viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" },
           s("rect", { class: kind, x: 0, y: 0, width: Math.max(1, 1000 * part / most), height: 10 }),
           s("line", { class: "limit", x1: 1000 / most, x2: 1000 / most, y1: 0, y2: 10 }));
}
function ourItem(most) {
  return h("li", { class: "ours" }, h("span", { class: "tool", text: "our count" }), bar(1, most, "family0"), h("span", { class: "share", text: percentText(1) }), h("span"));
}
// The standing of a tool's figure.
function knownOfTool(tool, { inside, lower }) {
  return lower ? "atLeast" : tool.status === "assumed" || restsOn(tool.headline, inside) ? "assumed" : "exact";
}
function toolItem({ tool, theirs, part }, most, isChosen, state, choose) {
  const known = knownOfTool(tool, state);
  // A tool that reads the file with its sizes open gives one number for all sizes.
  const isNumber = (quantity) => /^-?[0-9]+$/.test(bare(quantity.expr)), ofOpenFile = isNumber(tool.headline) && !isNumber(tool.start);
  const text = theirs === null ? "no figure at these sizes"
    : `${knownText(known, si(theirs))} ${unitOf(tool)}${tool.passes > 1 ? " a step" : ""}${ofOpenFile ? ", sizes left open" : ""}`;
  const share = part === null ? "" : part === 0 && theirs > 0n ? percentText(1e-6) : percentText(part);
  return h("li", {}, h("button", { type: "button", "data-tool": tool.name, "aria-pressed": String(isChosen), onclick: choose },
    h("span", { class: "tool", text: tool.name }), part === null ? h("span") : bar(part, most, isChosen ? "more2" : "total"),
    h("span", { class: "share", text: share }), exactly(`conventions.${tool.name}.headline`, theirs, text, { class: "figure muted" })));
}

// "our count, in MACs"
function startName(tool) {
  return `${tool.from || "our count"}, in ${unitOf(tool)}`;
}
function stepFigure(step, lowerBound) {
  const value = step.total ? step.at : step.amount;
  const text = value === null ? "?" : step.total ? knownText(knownOf(value, lowerBound), si(value)) : `${value > 0n ? "+" : ""}${si(value)}`;
  const formula = /^-?[0-9]+$/.test(step.text) || step.text.length > 2000 ? "" : ` = ${grouped(step.text)}`;
  if (!step.place) return h("span", { class: "figure", title: value === null ? "" : digits(value), text });
  return exactly(step.place, value, text, { class: "figure", title: value === null ? step.text.slice(0, 2000) : digits(value) + formula });
}

// A step for each term; of a pipeline all stages that have it are one, with a part for each.
function termSteps(tool, place, { sized, stages }) {
  const steps = tool.terms.map((term, i) => ({ name: term.name, reason: term.reason, nodes: term.nodes, module: term.module, amount: sized.of(term.amount),
                                               text: term.amount.expr, place: `${place}.terms.${i}.amount` }));
  if (!stages) return steps;
  const groups = new Map();
  for (const step of steps) groups.set(step.name, [...(groups.get(step.name) || []), step]);
  return [...groups.values()].map((parts) => {
    if (parts.length === 1) return parts[0];
    const amount = parts.some((part) => part.amount === null) ? null : parts.reduce((sum, part) => sum + part.amount, 0n);
    return { name: parts[0].name, reason: parts[0].reason, amount, text: String(amount), parts };
  });
}

// The steps from our count to a tool's figure, at the sizes of the page.
function waterfall(tool, { data, sized, lower: lowerBound }) {
  const head = [h("h2", { text: tool.name + (tool.version ? ` ${tool.version}` : "") }),
                h("p", { class: "muted", text: tool.source })];
  if (!tool.headline) return [...head, h("p", { text: tool.assumptions.join(" ") })];
  const place = `conventions.${tool.name}`;
  const steps = [{ name: startName(tool), at: sized.of(tool.start), total: true, text: tool.start.expr, place: `${place}.start` }];
  for (const step of termSteps(tool, place, { sized, stages: data.stages.length > 0 })) {
    const before = steps[steps.length - 1].at;
    steps.push({ ...step, from: before, at: before === null || step.amount === null ? null : before + step.amount });
  }
  const reached = steps[steps.length - 1].at, end = sized.of(tool.headline);
  if (reached !== null && end !== null && reached !== end) {
    steps.push({ name: "terms that have no room here", amount: end - reached, from: reached, at: end, text: String(end - reached) });
  }
  steps.push({ name: tool.headline_name, at: end, total: true, text: tool.headline.expr, place: `${place}.headline` });
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
      stepFigure(step, lowerBound)),
    bar(step),
    step.reason ? h("p", { class: "muted" }, h("bdi", { text: step.reason }),
                    step.nodes === undefined ? "" : ` (${[step.module, plural(step.nodes, "node")].filter(Boolean).join(", ")})`) : null,
    step.parts ? h("ul", { class: "notes" }, step.parts.map((part) => h("li", {}, h("bdi", { text: `${part.module}: ` }), stepFigure(part, lowerBound)))) : null));
  const assumed = tool.assumptions.length === 0 ? null
    : h("div", {}, h("h3", { text: "Assumptions" }), h("ul", { class: "notes" }, tool.assumptions.map((text) => h("li", { text }))));
  return [...head, h("ol", { class: "waterfall" }, rows), assumed].filter(Boolean);
}

