// compare: from our count to what a tool reports

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
