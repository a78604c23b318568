// diff: what changed from one model to another.

function diffPage(data) {
  const { diff } = data;
  if (data.memory) diff.totals.memory_bytes = data.memory;
  const [base, head] = diff.base ? fileNames(diff.base.path, diff.head.path) : ["(no base)", fileName(diff.head.path)];
  [data.title, data.base_title] = [head, base];
  const sized = new Sized(sizesOf(data));
  const top = (tree) => {
    sized.sizes = tree.sizes;
    const changes = totalChanges(data, tree, sized);
    const isMissing = [...sized.sizes.values()].includes(null);
    const verdict = isMissing ? "A size is missing: the change is not known" : changeWords(data, changes);
    return [h("p", { class: "verdict", text: verdict }), figures(changes.map(changeFigure))];
  };
  const notes = (data.notes || []).length === 0 ? null
    : h("section", {}, h("h2", { text: "Runs" }), h("ul", { class: "notes" }, data.notes.map((text) => h("li", {}, h("bdi", { text })))));
  const bottom = (view) => h("div", {}, operatorTable(data, view, sized), declaredTable(diff), notes);
  const titles = diff.base ? [`Base: ${base}`, `Head: ${head}`] : [`Head: ${head}`];
  modulesPage(data, { ...diff.head, title: diff.base ? `${base} \u2192 ${head}` : head }, top, titles, data.symbols, bottom);
}

// The totals that a reader looks for, at the sizes of the page: {key, title, unit, base, head, known, knownHead}.
function totalChanges(data, tree, sized) {
  const { totals } = data.diff;
  const titles = { flops: "FLOPs", macs: "MACs", params: "Parameters", param_bytes: "Bytes of parameters", bytes_read: "Bytes read", bytes_written: "Bytes written",
                   int_ops: "Integer operations", bops: "BOPs", peak_activation_bytes: "Peak of activations", memory_bytes: "Memory", time_bound_seconds: "Least time",
                   time_estimate_seconds: "Estimated time" };
  const isShown = (key) => totals[key] && (key !== "int_ops" || ["base", "head"].some((side) => totals[key][side].expr !== "0"));
  return Object.keys(titles).filter(isShown).map((key) => {
    const [before, after] = [sized.of(totals[key].base), sized.of(totals[key].head)];
    const q = tree.quantity(key), peak = data.peak_lower_bounds;
    const knownOfSide = (side, value) => (q ? tree.known(tree.root, q, side) : knownOf(value, Boolean(peak) && peak[side]));
    const change = before === null || after === null ? null : after - before;
    return { key, title: titles[key], unit: key.includes("bytes") ? "B" : key.endsWith("seconds") ? "s" : "", before, after, change,
             knownBase: knownOfSide(0, before), knownHead: knownOfSide(1, after),
             known: knownOfChange(knownOfSide(0, before), knownOfSide(1, after), change) };
  });
}

// "+9.7 %", "unchanged", "new"; "" if unknown.
function changePercent({ before, after, change, known }) {
  if (change === null || known === "nothing") return "";
  if (change === 0n && known === "exact") return "unchanged";
  if (before === 0n) return after === 0n ? "" : "new";
  return known === "exact" ? growthText(before, after) : "";
}

// [title, figure, text below it]: the head's figure, and its change.
function changeFigure(total) {
  const { key, title, unit, before, after, change, known, knownBase, knownHead } = total;
  const figure = exactly(`totals.${key}.head`, after, knownText(knownHead, show(after, unit)), {}, unit);
  if (change === null) return [title, figure, null];
  const part = changePercent(total);
  const words = part === "unchanged" ? part
    : [exactly(`totals.${key}.delta`, change, knownText(known, (change > 0n ? "+" : "") + show(change, unit)), {}, unit), part ? ` (${part})` : "", ", base ",
       exactly(`totals.${key}.base`, before, knownText(knownBase, show(before, unit)), {}, unit)];
  return [title, figure, words];
}

// "No change", or "FLOPs +9.7 %, MACs +9.8 %; 3 modules changed".
function changeWords({ diff, modules_in_words: modules }, changes) {
  if (!diff.base) return "There is no base: everything is new";
  if (diff.empty) return diff.lower_bound ? "No change of what is counted" : "No change";
  const main = changes.filter(({ key }) => ["flops", "macs", "params"].includes(key));
  const inWords = (total) => {
    if (total.known === "nothing") return "unknown";
    const part = changePercent(total);
    return part.startsWith("<") ? `${part} ${total.change > 0n ? "more" : "less"}` : part;
  };
  const figures = main.map((total) => [total.title.replace("Parameters", "parameters"), inWords(total)]).filter(([, part]) => part !== "");
  const equal = figures.length > 0 && figures.every(([, part]) => part === "unchanged");
  return [equal ? "Equal totals" : figures.map((words) => words.join(" ")).join(", "), modules].filter(Boolean).join("; ");
}

// "Conv 16 \u2192 16: bytes read": an operator that differs, but not in the quantity of the page.
function otherDifference(op, tree, sized) {
  const differs = tree.quantities.filter((q) => op[q.key] && sized.of(op[q.key].base) !== sized.of(op[q.key].head));
  const why = differs.length > 0 ? `: ${differs.map((q) => q.title).join(", ")}` : op.base_nodes === op.head_nodes ? ": different at other sizes" : "";
  return `${opLabel(op)} ${op.base_nodes} \u2192 ${op.head_nodes}${why}`;
}
// The label of an operator: "Conv", "com.example.FusedMlp".
const opLabel = (op) => (op.domain ? `${op.domain}.${op.op}` : op.op);
// An operator's figures of a quantity, at the sizes of the page, and how far each is known.
function operatorChange(op, quantity, sized, lower) {
  const parts = quantity.parts || [quantity];
  const of = (side) => sum(parts.map((part) => (op[part.key] ? sized.of(op[part.key][side]) : null)));
  const [before, after] = [of("base"), of("head")], change = before === null || after === null ? null : after - before;
  const [knownBase, knownHead] = [before, after].map((value, side) => knownOf(value, lower[side]));
  return { op, before, after, change, knownBase, knownHead, known: knownOfChange(knownBase, knownHead, change) };
}
// Operators whose figure changed, or may have, the largest change first. Those that changed in another way are listed below, with
// what changed.
function operatorTable({ diff, op_lower_bounds: lowerBounds }, view, sized) {
  const box = h("section"), lower = new Map(Object.entries(lowerBounds || {}));
  const draw = () => {
    const { quantity: q } = view, parts = q.parts || [q];
    if (diff.by_op.length === 0 || parts.some((part) => part.weights)) return box.replaceChildren();
    const size = ({ known, change, before, after }) => (known === "nothing" ? abs((after || 0n) - (before || 0n)) : abs(change || 0n));
    const all = diff.by_op.map((op) => operatorChange(op, q, sized, lower.get(opLabel(op)) || [false, false])).sort((a, b) => (size(a) < size(b) ? 1 : -1));
    const isShown = ({ known, change }) => known !== "exact" || change !== 0n;
    const shown = all.filter(isShown), others = all.filter((one) => !isShown(one) && one.op.status !== "same");
    const row = ({ op, before, after, change, known, knownBase, knownHead }) => {
      const place = `by_op.${opLabel(op)}.${q.key}`;
      const cell = (side, value, standing) => exactly(`${place}.${side}`, value, knownText(standing, show(value, q.unit)), {}, q.unit);
      return [opLabel(op), `${op.base_nodes} \u2192 ${op.head_nodes}`, cell("base", before, knownBase), cell("head", after, knownHead),
              exactly(`${place}.delta`, change, knownText(known, (change > 0n ? "+" : "") + show(change, q.unit)), {}, q.unit),
              changePercent({ before, after, change, known })];
    };
    const same = all.length - shown.length - others.length;
    box.replaceChildren(h("h2", { text: "Operators" }),
      shown.length === 0 ? "" : plainTable("Operators", [["operator"], ["nodes", true], ["base", true], ["head", true], [`change of ${q.title}`, true], ["%", true]],
                                           shown.map(row), true),
      others.length === 0 ? "" : h("details", {}, h("summary", { text: `${plural(others.length, "operator")} with equal ${q.title}, different otherwise` }),
                                   h("ul", { class: "notes" }, others.map(({ op }) => h("li", {}, h("bdi", { text: otherDifference(op, view.tree, sized) }))))),
      same > 0 ? h("p", { class: "muted", text: `${plural(same, "operator")} ${same === 1 ? "is" : "are"} equal.` }) : "");
  };
  view.onchange(draw);
  return box;
}

function declaredTable(diff) {
  const facts = [...diff.facts, ...diff.inputs, ...diff.outputs];
  if (facts.length === 0) return null;
  const side = (text) => (text === undefined ? "\u2013" : text);
  return h("section", {}, h("h2", { text: "What the files declare" }),
           plainTable("What the files declare", [["what"], ["base"], ["head"]], facts.map((fact) => [fact.name, side(fact.base), side(fact.head)]), true));
}
