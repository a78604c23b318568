// The tree of modules, and the common part of its picture and its table.

const kKinds = ["module", "own", "operator", "others"];
const kMostUnfolded = 10000;  // rows, at once

// The rows of src/report/html_tree.h as nodes, and their figures at the sizes of the page.
class Tree {
  constructor(data) {
    this.quantities = data.tree.quantities.map(([key, title, unit, weights], index) => ({ key, title, unit, index, weights: weights === 1 }));
    this.profile = data.profile || null;
    this.stageNames = data.stages ? data.report.stages.map((stage) => stage.name) : [];
    this.probabilities = data.stages ? data.report.stages.map((stage) => stage.probability) : [];
    this.exactBackward = Boolean(data.report && data.report.training);
    [this.stages, this.all] = data.stages ? [data.stages.map(formulasOf), formulasOf(data.all)] : [null, null];  // of a pipeline
    this.limits = (data.limits || []).map((limit) => ({ ...limit, of: Formula(limit.value) }));
    this.noun = data.stages ? "stage" : data.noun || "module";
    this.formulas = data.tree.formulas.map((text) => ({ text, of: null }));
    this.amounts = data.tree.amounts;
    this.nodes = [];
    this.rowsJoined = data.tree.rows_joined;
    const open = [];
    for (const row of data.tree.rows) {
      const [depth, kind, name, last, times, type, nodes, lower, status, ...rest] = row;
      const [sides, base] = [rest.filter((part) => typeof part === "number"), rest.filter((part) => typeof part === "string")];
      const node = { id: this.nodes.length, depth, kind: kKinds[kind], name, last: last || name, times,
                     type: data.tree.types[type], nodes, lower, status, sides, base,
                     parent: open[depth - 1] || null, children: [] };
      node.label = depth === 0 ? node.type || data.title : node.kind === "operator" ? node.name || node.type : label(node);
      node.baseLabel = depth === 0 ? data.base_root || data.base_title || node.label : baseLabel(node);
      node.path = pathOf(node);
      node.all = node.parent ? node.parent.all * BigInt(times) : 1n;
      node.text = `${node.path} ${node.type} ${node.label}`.toLowerCase();
      if (node.parent) node.parent.children.push(node);
      open.length = depth;
      open[depth] = node;
      this.nodes.push(node);
    }
    this.root = this.nodes[0];
    this.resize(new Map(Object.entries(data.sizes).map(([name, size]) => [name, BigInt(size)])));
    this.classify();
  }

  // Returns why there are no figures at these sizes, or "".
  resize(sizes) {
    this.sizes = sizes;
    this.values = new Array(this.formulas.length);
    // A stage cannot run less often than never: there are no figures at such numbers.
    const negative = (node) => [this.ofStage(node, "runs"), this.of(node, this.quantities[0])].some((value) => value !== null && value < 0n);
    const why = this.broken();
    if (this.stages && (this.nodes.some(negative) || why)) [this.sizes, this.values] = [new Map(), new Array(this.formulas.length)];
    return why;
  }
  // The first limit of a stage that does not hold, as a text; "" if all do. A stage without runs has none.
  broken() {
    const limit = this.limits.find(({ stage, of, most }) => this.stages[stage].runs(this.sizes) !== 0n && of(this.sizes) > BigInt(most));
    return limit ? `stage ${this.stageNames[limit.stage]}: ${limit.what} is ${digits(limit.of(this.sizes))}, at most ${digits(BigInt(limit.most))}` : "";
  }
  value(formula) {
    if (this.values[formula] === undefined) {
      const known = this.formulas[formula];
      known.of = known.of || Formula(known.text);
      this.values[formula] = known.of(this.sizes);
    }
    return this.values[formula];
  }
  // The figure of one of the modules of the node.
  one(node, quantity, side = 0) {
    if (quantity.parts) return sum(quantity.parts.map((part) => this.one(node, part, side)));
    return this.value(this.amounts[node.sides[side]][quantity.index]);
  }
  // The figure of all its modules in the model.
  of(node, quantity, side = 0) {
    const one = this.one(node, quantity, side);
    return one === null ? null : one * node.all;
  }
  // The standing of `value`, the figure of a node.
  known(node, quantity, side = 0, value = this.of(node, quantity, side)) {
    return knownOf(value, !quantity.weights && quantity.key !== "time" && ((node.lower >> side) & 1) === 1);
  }
  // "96.6 %" of `whole`; if a part of that is not counted, it may be less. `value` and `all` are their figures.
  shareText(node, quantity, side = 0, whole = this.root, value = this.of(node, quantity, side), all = this.of(whole, quantity, side)) {
    const text = percent(value, all);
    if (this.known(whole, quantity, side) === "exact") return text;
    return this.known(node, quantity, side) === "exact" ? knownText("atMost", text) : "\u2013";
  }
  knownChange(node, quantity) {
    const [base, head] = [0, 1].map((side) => this.of(node, quantity, side));
    const change = base === null || head === null ? null : head - base;
    return knownOfChange(this.known(node, quantity, 0), this.known(node, quantity, 1), change);
  }
  formulaOf(node, quantity, side = 0) {
    return quantity.parts ? null : this.formulas[this.amounts[node.sides[side]][quantity.index]].text;
  }
  quantity(key) {
    return this.quantities.find((q) => q.key === key);
  }
  // Operations per byte; null if no bytes are moved, or a part is not counted.
  intensity(node, side = 0) {
    if (((node.lower >> side) & 1) === 1) return null;
    // The bytes of nodes without a kernel are not known.
    if (node === this.root && this.profile && big(this.profile.totals.flops_without_kernel) > 0n) return null;
    const [work, ...moved] = ["flops", "bytes", "bytes_read", "bytes_written"].map((key) => this.quantity(key))
        .map((q) => q && this.one(node, q, side));
    if (!work && work !== 0n) return null;
    const bytes = moved.reduce((all, part) => all + (part || 0n), 0n);
    return bytes > 0n ? ratio(work, bytes) : null;
  }
  // In a pipeline: what a stage, or all of them, has beside its quantities.
  ofStage(node, key) {
    const own = node.kind !== "module" ? {} : node.parent ? this.stages[node.nodes] : this.all;
    return own[key] ? own[key](this.sizes) : null;
  }
  // In a profile: FLOP/s of a node; null if it took no time, or does no work.
  rate(node) {
    const [work, time] = ["flops", "time"].map((key) => this.of(node, this.quantity(key)));
    return work > 0n && time > 0n ? 1e21 * Number(work) / Number(time) : null;
  }
  // In a profile: its shares of a run's time and FLOPs.
  shares(node) {
    const of = (one, key) => Number(this.of(one, this.quantity(key)));
    return ["time", "flops"].map((key) => of(node, key) / (of(this.root, key) || 1));
  }

  // The class of a module; without one, the operator that does most of its work.
  familyOf(node) {
    const type = node.kind === "own" && node.parent ? node.parent.type : node.type;
    if (type) return type;
    const cost = (child) => this.of(child, this.quantities[0]) || 0n;
    const [first, ...rest] = node.children;
    return first ? rest.reduce((most, child) => (cost(child) > cost(most) ? child : most), first).type : node.label;
  }
  // Classes of the modules that do the work themselves, the costliest first: these have a color.
  classify() {
    const weight = new Map();
    for (const node of this.nodes) {
      node.leaf = node.kind !== "operator" && node.children.every((child) => child.kind === "operator");
      if (!node.leaf) continue;
      const cost = this.of(node, this.quantities[0], node.sides.length - 1) || 0n;
      node.family = this.familyOf(node);
      weight.set(node.family, (weight.get(node.family) || 0n) + cost);
    }
    weight.delete("");
    const order = [...weight].sort((a, b) => (a[1] < b[1] ? 1 : a[1] > b[1] ? -1 : 0));
    // A color for parts of at least 1/200.
    const floor = sum(order.map(([, cost]) => cost)) / 200n;
    const dear = order.filter(([, cost], i) => cost > floor || i === 0);
    this.families = new Map(dear.slice(0, 7).map(([family], i) => [family, i]));
  }

  // True if the modules of a row can be shown side by side.
  canUnfold(node) {
    let inside = 0;
    for (const todo = [node]; todo.length > 0; ++inside) todo.push(...todo.pop().children);
    return node.times > 1 && numbered(node) !== null && inside * node.times <= kMostUnfolded;
  }
  // Replaces a row by one row for each of its modules. Their children do not change.
  unfold(node) {
    const copy = (from, parent, name) => {
      const own = name === null ? {} : { name, last: name, times: 1, folded: node };
      const made = { ...from, ...own, parent, children: [] };
      made.label = name === null ? from.label : label(made);
      made.path = pathOf(made);
      made.all = parent.all * BigInt(made.times);
      made.text = `${made.path} ${made.type} ${made.label}`.toLowerCase();
      made.children = from.children.map((child) => copy(child, made, null));
      return made;
    };
    const members = [...Array(node.times).keys()].map((i) => copy(node, node.parent, memberName(node, i)));
    node.parent.children.splice(node.parent.children.indexOf(node), 1, ...members);
    this.renumber();
    return members;
  }
  // The row that a module was unfolded from, again.
  fold(member) {
    const { folded, parent } = member;
    const first = parent.children.findIndex((child) => child.folded === folded);
    parent.children.splice(first, folded.times, folded);
    this.renumber();
    return folded;
  }
  renumber() {
    this.nodes = [];
    for (const todo = [this.root]; todo.length > 0;) {
      const node = todo.pop();
      node.id = this.nodes.length;
      this.nodes.push(node);
      todo.push(...[...node.children].reverse());
    }
  }

  // Finds the node of a path, and which module it is in its row and in the rows above.
  find(path) {
    let node = this.root;
    const members = new Map();
    for (let rest = path; rest !== "";) {
      const next = node.children.map((child) => [child, memberIn(child, rest)]).find(([, found]) => found);
      if (!next) return null;
      const [child, [member, length]] = next;
      if (member !== null) members.set(child, member);
      node = child;
      rest = rest.slice(length).replace(/^\./, "");
    }
    return { node, members };
  }
}

// The base's name of a node, which may differ.
function baseLabel(node) {
  const [name, last] = node.base;
  if (!name) return node.label;
  return label({ ...node, name, last: last || name, parent: { ...node.parent, name: node.parent.base[0] || node.parent.name } });
}

// Where in its name a row of several counts: {prefix, first, suffix}.
function numbered(node) {
  for (const found of node.name.matchAll(/[0-9]+/g)) {
    const prefix = node.name.slice(0, found.index), suffix = node.name.slice(found.index + found[0].length);
    const first = Number(found[0]);
    if (`${prefix}${first + node.times - 1}${suffix}` === node.last) return { prefix, first, suffix };
  }
  return null;
}
function label(node) {
  const n = node.times > 1 && numbered(node);
  const name = n ? `${n.prefix}${n.first}\u2013${n.first + node.times - 1}${n.suffix}` : node.name;
  // A number alone is not a useful name: "layer3.0".
  return /^[0-9\u2013]+$/.test(name) && node.parent.parent ? `${node.parent.name}.${name}` : name;
}
function range(node) {
  const n = numbered(node);
  return `${n.prefix}${n.first}-${n.first + node.times - 1}${n.suffix}`;
}
function memberName(node, member) {
  const n = numbered(node);
  return n ? `${n.prefix}${n.first + member}${n.suffix}` : node.name;
}
function pathOf(node) {
  if (!node.parent) return "";
  const name = node.kind === "operator" ? `[${node.name || node.type}]`
             : node.times > 1 && numbered(node) ? range(node) : node.name;
  return node.parent.path ? `${node.parent.path}.${name}` : name;
}
// Whether a path begins with the node: [which of them, length of its name]; the number is null where
// the path names all of them.
function memberIn(node, path) {
  const begins = (name) => path.startsWith(name) && (path.length === name.length || path[name.length] === ".");
  const own = node.path.slice(node.parent.path ? node.parent.path.length + 1 : 0);
  if (begins(own)) return [null, own.length];
  const n = node.times > 1 ? numbered(node) : null;
  if (!n || !path.startsWith(n.prefix)) return null;
  const found = /^[0-9]+/.exec(path.slice(n.prefix.length));
  const member = found ? Number(found[0]) - n.first : -1;
  if (member < 0 || member >= node.times) return null;
  const name = memberName(node, member);
  return begins(name) ? [member, name.length] : null;
}

const signOf = (change) => (change > 0n ? "more" : change < 0n ? "less" : "same");

// The common part of the picture and the table.
class View {
  constructor(tree, cost) {
    this.tree = tree;
    this.two = tree.root.sides.length > 1;
    const read = tree.quantity("bytes_read"), written = tree.quantity("bytes_written");
    this.quantities = [...tree.quantities];
    if (read && written) {
      this.quantities.push({ key: "bytes", title: "bytes moved", unit: "B", parts: [read, written] });
    }
    this.quantity = tree.quantity(cost) || tree.quantities[0];
    this.color = this.colors()[0][0];
    this.order = "cost";
    this.picture = "levels";
    this.zoom = { node: tree.root, members: new Map() };
    this.marked = null;
    this.searched = "";
    this.found = new Set();  // by a search
    this.hits = null;        // these, and what they are in; null without a search
    this.changed = [];
  }
  onchange(draw) {
    this.changed.push(draw);
  }
  change() {
    for (const draw of this.changed) draw();
  }
  // The ways to color blocks.
  colors() {
    if (this.two) return [["change", "change"]];
    const { profile } = this.tree;
    return [...(profile ? [["gap", "time over FLOPs"]] : []), ...(profile && profile.peak ? [["peak", "share of the peak"]] : []),
            ["type", this.tree.stages ? "stage" : "type"], ["intensity", "FLOP/byte"]];
  }
  // The figure of a node in the present view: of one of several modules if that is chosen.
  of(node, side = 0, quantity = this.quantity) {
    const one = this.tree.one(node, quantity, side);
    return one === null ? null : one * this.times(node);
  }
  times(node) {
    let times = node.all;
    for (const [chosen] of this.zoom.members) {
      if (chosen === node || isIn(node, chosen)) times /= BigInt(chosen.times);
    }
    return times;
  }
  // If one of several modules is shown: how many the row of the table sums; else 1.
  together(node) {
    return node.all / this.times(node);
  }
  // The row's figure next to that of one module: "one of 24, all: 149.6 G (37.7 %)".
  togetherWords(node) {
    const many = this.together(node);
    if (many === 1n) return "";
    const side = this.two ? 1 : 0, value = this.tree.of(node, this.quantity, side);
    const share = this.tree.shareText(node, this.quantity, side);
    return `one of ${many}, all: ${knownText(this.tree.known(node, this.quantity, side, value), show(value, this.unit()))} (${share})`;
  }
  nameOf(node, side = 1) {
    if (this.two && side === 0) return node.baseLabel;
    return this.zoom.members.has(node) ? memberName(node, this.zoom.members.get(node)) : node.label;
  }
  // Nodes in the order of the view: by cost, or in the order of execution.
  ordered(nodes, cost) {
    if (this.order === "run") return nodes;
    const list = nodes.map((node) => [node, cost(node)]);
    list.sort((a, b) => (a[1] === b[1] ? 0 : a[1] === null || (b[1] !== null && a[1] < b[1]) ? 1 : -1));
    return list.map(([node]) => node);
  }
  // The share of a node, at the number of modules that is shown, in another that is shown.
  shareOf(node, side, whole, value = this.of(node, side)) {
    return this.tree.shareText(node, this.quantity, side, whole, value, this.of(whole, side));
  }
  // "3.4 %" of the model and, if a part is shown, of that part.
  shareWords(node, side) {
    const { node: shown } = this.zoom, value = this.of(node, side);
    const part = (whole) => this.shareOf(node, side, whole, value);
    if (shown === this.tree.root || node === shown) return `${part(this.tree.root)}${shown === this.tree.root ? "" : " of the model"}`;
    return `${part(shown)} of ${this.nameOf(shown, side)}, ${part(this.tree.root)} of the model`;
  }
  go(node, members) {
    if (!members) {
      members = new Map([...this.zoom.members].filter(([chosen]) => chosen === node || isIn(node, chosen)));
    }
    this.zoom = { node, members };
    this.marked = node;
    const path = this.pathTo(node);
    try {
      history.replaceState(null, "", path ? `#${encodeURIComponent(path)}` : "#");
    } catch (error) {
      // A page inside another page has no address.
    }
    this.change();
    tell(`${this.nameOf(node)}: ${this.words(node)}`);
  }
  pathTo(node) {
    const names = [];
    for (let n = node; n.parent; n = n.parent) {
      names.unshift(this.zoom.members.has(n) ? memberName(n, this.zoom.members.get(n))
                                             : n.path.slice(n.parent.path ? n.parent.path.length + 1 : 0));
    }
    return names.join(".");
  }
  unfold(node) {
    const members = this.tree.unfold(node);
    this.search(this.searched);
    this.go(this.zoom.members.has(node) ? members[this.zoom.members.get(node)] : node.parent, new Map());
    tell(`${plural(members.length, "module")} side by side`);
  }
  fold(member) {
    const folded = this.tree.fold(member);
    this.search(this.searched);
    this.go(folded, new Map());
  }
  goTo(path) {
    const found = this.tree.find(path);
    if (found) this.go(found.node, found.members);
    return found !== null;
  }
  search(text) {
    this.searched = text;
    const words = text.trim().toLowerCase();
    this.hits = null;
    this.found = new Set();
    if (words !== "") {
      this.hits = new Set();
      for (const node of this.tree.nodes) {
        if (!node.text.includes(words)) continue;
        this.found.add(node);
        for (let n = node; n && !this.hits.has(n); n = n.parent) this.hits.add(n);
      }
    }
    this.change();
  }
  unit() {
    return this.quantity.unit;
  }
  // The text next to the pointer: the name, then one line each.
  tipOf(node, side) {
    const times = this.times(node), intensity = this.two ? null : this.tree.intensity(node);
    const renamed = this.two && node.baseLabel !== node.label ? `base: ${node.baseLabel}, head: ${node.label}` : "";
    return [this.nameOf(node, side), node.type === this.nameOf(node, side) ? "" : node.type, this.words(node),
            this.togetherWords(node), [times > 1n ? `${times} times` : "", intensity === null ? "" : `${perByte(intensity)} FLOP/byte`].filter(Boolean).join(", "), renamed];
  }
  words(node) {
    const last = this.two ? 1 : 0;
    const value = this.of(node, last);
    const known = this.tree.known(node, this.quantity, last, value);
    const words = [`${knownText(known, show(value, this.unit()))} ${this.unit() ? "" : this.quantity.title}`.trim(),
                   known === "nothing" ? "" : this.shareWords(node, last)].filter(Boolean);
    if (this.two) {
      const base = this.of(node, 0);
      if (base !== null && value !== null) {
        const change = this.tree.knownChange(node, this.quantity);
        words.push(value === base && change === "exact" ? "unchanged"
          : `${knownText(change, `${value > base ? "+" : ""}${show(value - base, this.unit())}`)} against the base`);
      }
    }
    return words.join(", ");
  }
  colorOf(node) {
    if (this.color === "change") {
      const base = this.of(node, 0), head = this.of(node, 1);
      if (base === null || head === null || this.tree.knownChange(node, this.quantity) === "nothing") return "plain";
      const by = base === 0n ? 1 : Math.abs(ratio(head - base, base));
      return base === head ? "plain" : `${signOf(head - base)}${by >= 0.2 ? 3 : by >= 0.05 ? 2 : 1}`;
    }
    if (this.color === "gap") {
      if (this.tree.known(node, this.tree.quantity("flops")) === "nothing") return "plain";
      const [time, work] = this.tree.shares(node);
      const by = work > 0 ? time / work : Infinity;
      return time < 0.0005 || (by < 1.25 && by > 0.8) ? "plain"
                                                      : by > 1 ? `more${by >= 4 ? 3 : by >= 2 ? 2 : 1}` : `less${by <= 0.25 ? 3 : by <= 0.5 ? 2 : 1}`;
    }
    if (this.color === "peak") {
      const rate = this.tree.rate(node), part = rate === null ? 0 : rate / this.tree.profile.peak.flops_per_second;
      if (part > 1) return "less3";
      return rate === null ? "plain" : `heat${part < 0.01 ? 0 : part < 0.05 ? 1 : part < 0.2 ? 2 : part < 0.5 ? 3 : 4}`;
    }
    if (this.color === "intensity") {
      const value = this.tree.intensity(node);
      if (value === null) return "plain";
      return `heat${value < 1 ? 0 : value < 10 ? 1 : value < 100 ? 2 : value < 1000 ? 3 : 4}`;
    }
    const leaf = node.kind === "operator" ? node.parent : node;
    if (!leaf.leaf) return "box";
    const family = this.tree.families.get(leaf.family);
    return `${node.kind === "operator" ? "op" : ""} family${family === undefined ? 7 : family}`;
  }
  legend() {
    if (this.color === "change") {
      return [["more3", "20 % more, or new"], ["more2", "5 % more"], ["more1", "more"], ["plain", "unchanged, or unknown"],
              ["less1", "less"], ["less2", "5 % less"], ["less3", "20 % less, or gone"]];
    }
    if (this.color === "gap") {
      return [["more3", "share of time 4 times that of FLOPs, or no FLOPs"], ["more2", "2 times"], ["more1", "more"], ["plain", "equal, or not known"],
              ["less1", "less"], ["less2", "half"], ["less3", "a quarter"]];
    }
    if (this.color === "peak") {
      return [["heat0", "below 1 % of the peak"], ["heat1", "1 to 5 %"], ["heat2", "5 to 20 %"], ["heat3", "20 to 50 %"],
              ["heat4", "50 % and more"], ["less3", "above the peak"], ["plain", "no FLOPs"]];
    }
    if (this.color === "intensity") {
      return [["heat0", "below 1 FLOP/byte"], ["heat1", "1 to 10"], ["heat2", "10 to 100"],
              ["heat3", "100 to 1,000"], ["heat4", "1,000 and more"]];
    }
    const list = [...this.tree.families].map(([family, i]) => [`family${i}`, family]);
    const rest = this.tree.nodes.some((node) => node.leaf && !this.tree.families.has(node.family));
    return rest ? [...list, ["family7", "others"]] : list;
  }
}

function isIn(node, outer) {
  for (let n = node.parent; n; n = n.parent) {
    if (n === outer) return true;
  }
  return false;
}
