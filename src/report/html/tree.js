// The tree of modules: the picture, the table, and what keeps them in step.

const kKinds = ["module", "own", "operator", "others"];
const kMaxTableRows = 300;
const kLeastWidth = 2;  // pixels of a block; narrower neighbours share one

// The rows of src/report/html_tree.h as nodes, and their figures at the sizes of the page.
class Tree {
  constructor(data) {
    this.quantities = data.tree.quantities.map(([key, title, unit], index) => ({ key, title, unit, index }));
    this.formulas = data.tree.formulas.map((text) => ({ text, of: Formula(text) }));
    this.amounts = data.tree.amounts;
    this.nodes = [];
    this.rowsJoined = data.tree.rows_joined;
    const open = [];
    for (const row of data.tree.rows) {
      const [depth, kind, name, last, times, type, nodes, atLeast, status, ...sides] = row;
      const node = { id: this.nodes.length, depth, kind: kKinds[kind], name, last: last || name, times,
                     type: data.tree.types[type], nodes, atLeast: atLeast === 1, status, sides,
                     parent: open[depth - 1] || null, children: [] };
      node.label = depth === 0 ? node.type || data.title : node.kind === "operator" ? node.type : label(node);
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

  resize(sizes) {
    this.sizes = sizes;
    this.values = new Array(this.formulas.length);
  }
  value(formula) {
    if (this.values[formula] === undefined) this.values[formula] = this.formulas[formula].of(this.sizes);
    return this.values[formula];
  }
  // Of one of the modules that the node stands for.
  one(node, quantity, side = 0) {
    if (quantity.parts) return sum(quantity.parts.map((part) => this.one(node, part, side)));
    return this.value(this.amounts[node.sides[side]][quantity.index]);
  }
  // Of all that it stands for, in the model.
  of(node, quantity, side = 0) {
    const one = this.one(node, quantity, side);
    return one === null ? null : one * node.all;
  }
  formulaOf(node, quantity, side = 0) {
    return quantity.parts ? null : this.formulas[this.amounts[node.sides[side]][quantity.index]].text;
  }
  quantity(key) {
    return this.quantities.find((q) => q.key === key);
  }
  // Operations per byte; null where nothing is moved.
  intensity(node, side = 0) {
    const [work, read, written] = ["flops", "bytes_read", "bytes_written"].map((key) => this.quantity(key))
        .map((q) => q && this.one(node, q, side));
    if (!work && work !== 0n) return null;
    const bytes = (read || 0n) + (written || 0n);
    return bytes > 0n ? ratio(work, bytes) : null;
  }

  // The class of a module; without one, the operator that does most of its work.
  familyOf(node) {
    if (node.kind === "others") return "";
    const type = node.kind === "own" && node.parent ? node.parent.type : node.type;
    if (type) return type;
    const cost = (child) => this.of(child, this.quantities[0]) || 0n;
    const [first, ...rest] = node.children;
    return first ? rest.reduce((most, child) => (cost(child) > cost(most) ? child : most), first).type : node.label;
  }
  // Classes of the modules that do the work themselves, the dearest first: these have a color.
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
    // A color for what is a two-hundredth at least.
    const floor = sum(order.map(([, cost]) => cost)) / 200n;
    const dear = order.filter(([, cost], i) => cost > floor || i === 0);
    this.families = new Map(dear.slice(0, 7).map(([family], i) => [family, i]));
  }

  // A path leads to a node, and to which of the modules that its row and those above stand for.
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
  // A number alone says nothing: "layer3.0".
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
  const name = node.kind === "operator" ? `[${node.type}]`
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

// What the picture and the table have in common.
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
    this.color = this.two ? "change" : "type";
    this.zoom = { node: tree.root, members: new Map() };
    this.marked = null;
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
  // The figure of a node, seen from where the view is: of one of several modules if that is chosen.
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
  nameOf(node) {
    return this.zoom.members.has(node) ? memberName(node, this.zoom.members.get(node)) : node.label;
  }
  // What a block is as large as: in a comparison the larger side, so that what went has a place.
  weight(node, side) {
    return this.of(node, side);
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
      // A page inside of another has no address of its own.
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
  goTo(path) {
    const found = this.tree.find(path);
    if (found) this.go(found.node, found.members);
    return found !== null;
  }
  search(text) {
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
  words(node) {
    const last = this.two ? 1 : 0;
    const value = this.of(node, last), whole = this.of(this.tree.root, last);
    const least = node.atLeast ? "at least " : "";
    const words = [`${least}${show(value, this.unit())} ${this.unit() ? "" : this.quantity.title}`.trim(),
                   percent(value, whole)];
    if (this.two) {
      const base = this.of(node, 0);
      if (base !== null && value !== null) {
        words.push(value === base ? "unchanged"
                                  : `${value > base ? "+" : ""}${show(value - base, this.unit())} against the base`);
      }
    }
    return words.join(", ");
  }
  colorOf(node) {
    if (node.kind === "others") return "plain";
    if (this.color === "change") {
      const base = this.of(node, 0), head = this.of(node, 1);
      if (base === null || head === null) return "plain";
      const by = base === 0n ? 1 : Math.abs(ratio(head - base, base));
      return base === head ? "plain" : `${signOf(head - base)}${by >= 0.2 ? 3 : by >= 0.05 ? 2 : 1}`;
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
      return [["more3", "20 % more, or new"], ["more2", "5 % more"], ["more1", "more"], ["plain", "unchanged"],
              ["less1", "less"], ["less2", "5 % less"], ["less3", "20 % less, or gone"]];
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

// ---- The picture

class Icicle {
  constructor(view, side, title) {
    this.view = view;
    this.side = side;
    this.title = title;
    this.svg = s("svg", { class: "icicle", role: "tree", "aria-label": title });
    this.box = h("div", { class: "picture" }, this.svg);
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.svg.addEventListener("click", (event) => {
      const node = this.nodeAt(event.target);
      if (node) view.go(node);
    });
    this.svg.addEventListener("pointerover", (event) => {
      const node = this.nodeAt(event.target);
      if (node && view.hover) view.hover(node);
    });
    this.svg.addEventListener("focusin", (event) => {
      const node = this.nodeAt(event.target);
      if (!node) return;
      this.at = node;
      if (view.hover) view.hover(node);
    });
  }
  nodeAt(target) {
    const block = target.closest ? target.closest("[data-id]") : null;
    return block ? this.view.tree.nodes[Number(block.dataset.id)] : null;
  }

  draw(scale) {
    const { view, side } = this, { node: root } = view.zoom;
    const focused = this.svg.contains(document.activeElement);
    const width = this.box.clientWidth || 800;
    const whole = view.of(root, side);
    this.blocks = [];
    this.svg.replaceChildren();
    if (whole === null || whole <= 0n || scale <= 0n) {
      const why = whole === null ? "There is no picture while a size is open: give it above."
                                 : `${view.nameOf(root)} has no ${view.quantity.title}.`;
      this.svg.setAttribute("height", 30);
      this.svg.setAttribute("role", "img");
      this.svg.setAttribute("aria-label", why);
      this.svg.append(s("text", { class: "tick", x: 2, y: 20, text: why }));
      return;
    }
    this.svg.setAttribute("role", "tree");
    this.svg.setAttribute("aria-label", this.title);
    this.place(root, 0, width * ratio(whole, scale), 0);
    const depth = Math.max(...this.blocks.map((block) => block.level)) + 1;
    const tall = depth <= 10;
    const height = tall ? 42 : 24;
    this.svg.setAttribute("height", depth * height + 1);
    this.svg.setAttribute("width", width);
    for (const block of this.blocks) this.svg.append(this.block(block, height, tall));
    const last = this.blocks.find((block) => block.node === this.at) || this.blocks[0];
    last.element.setAttribute("tabindex", 0);
    if (focused) last.element.focus();
  }

  // Blocks of a node and what is in it, `level` rows down.
  place(top, left, width, first) {
    const { view, side } = this;
    const todo = [[top, left, width, first]];
    while (todo.length > 0) {
      const [node, x, w, level] = todo.pop();
      this.blocks.push({ node, x, w, level });
      const children = node.children.map((child) => [child, view.of(child, side) || 0n]).filter(([, v]) => v > 0n);
      if (children.length === 0) continue;
      children.sort((a, b) => (a[1] < b[1] ? 1 : a[1] > b[1] ? -1 : 0));
      // Parts may add up to more than the whole, where modules share weights.
      const inside = sum(children.map(([, v]) => v)), own = view.of(node, side);
      const all = inside > own ? inside : own;
      let from = x;
      const narrow = [];
      for (const [child, value] of children) {
        const wide = w * ratio(value, all);
        if (wide < kLeastWidth) {
          narrow.push([child, wide]);
          continue;
        }
        todo.push([child, from, wide, level + 1]);
        from += wide;
      }
      const rest = narrow.reduce((total, [, wide]) => total + wide, 0);
      if (rest >= 1) this.blocks.push({ node: narrow[0][0], x: from, w: rest, level: level + 1, others: narrow.length });
    }
    this.blocks.sort((a, b) => a.level - b.level || a.x - b.x);
  }

  block(block, height, tall) {
    const { view } = this, { node, x, w, level } = block;
    const y = level * height, lit = !view.hits || view.hits.has(node);
    const hit = view.hits && lit && view.found.has(node);
    const name = block.others ? `${block.others} more` : view.nameOf(node);
    const value = view.of(node, this.side);
    const share = percent(value, view.of(view.tree.root, this.side));
    const element = s("g", {
      class: `block ${block.others ? "plain" : view.colorOf(node)}${lit ? "" : " dim"}${hit ? " hit" : ""}` +
             `${node === view.marked && !block.others ? " marked" : ""}`,
      role: "treeitem", tabindex: -1, "data-id": node.id, "aria-level": level + 1,
      "aria-selected": node === view.zoom.node ? "true" : "false",
      "aria-label": block.others ? `${plural(block.others, "part")} too small to draw`
                                 : `${name}${node.times > 1 && !view.zoom.members.has(node) ? `, ${node.times} times` : ""}` +
                                   `${node.type && node.type !== name ? `, ${node.type}` : ""}: ${view.words(node)}`,
    });
    element.append(s("rect", { x: x + 0.5, y: y + 0.5, width: Math.max(w - 1, 0.5), height: height - 1, rx: 2 }));
    const room = w - 12;
    if (room > 16 && !block.others) {
      const times = node.times > 1 && !view.zoom.members.has(node) ? `  \u00d7${node.times}` : "";
      const top = fit(name + times, room, "12.5px");
      element.append(s("text", { class: "name", x: x + 6, y: y + (tall ? 18 : 16), text: top }));
      if (tall && top !== "") {
        const figure = `${share}  \u00b7  ${show(value, view.unit())}`;
        const below = measure(figure, "11.5px") <= room ? figure : fit(share, room, "11.5px");
        if (!below.endsWith("\u2026")) {
          element.append(s("text", { class: "share", x: x + 6, y: y + 33, text: below }));
        }
      }
    }
    block.element = element;
    return element;
  }

  key(event) {
    const here = this.blocks && this.blocks.find((block) => block.element === document.activeElement);
    if (!here) return;
    const row = this.blocks.filter((block) => block.level === here.level);
    const at = row.indexOf(here);
    const middle = (block) => block.x + block.w / 2;
    const below = () => this.blocks.find((b) => b.level === here.level + 1 && b.x >= here.x - 0.01 && b.x < here.x + here.w);
    const above = () => this.blocks.find((b) => b.level === here.level - 1 && b.x <= middle(here) && middle(here) <= b.x + b.w);
    const to = { ArrowLeft: () => row[at - 1], ArrowRight: () => row[at + 1], ArrowDown: below, ArrowUp: above,
                 Home: () => this.blocks[0], End: () => row[row.length - 1] }[event.key];
    if (to) {
      const next = to();
      if (next) {
        here.element.setAttribute("tabindex", -1);
        next.element.setAttribute("tabindex", 0);
        next.element.focus();
      } else if (event.key === "ArrowUp" && this.view.zoom.node.parent) {
        this.up();
      }
    } else if (event.key === "Enter" || event.key === " ") {
      this.at = here.node;
      this.view.go(here.node);
    } else if (event.key === "Escape") {
      this.up();
    } else {
      return;
    }
    event.preventDefault();
  }
  up() {
    const { node } = this.view.zoom;
    this.at = node;
    if (node.parent) this.view.go(node.parent);
  }
}

// ---- The table

class TreeTable {
  constructor(view) {
    this.view = view;
    this.open = new Set();
    this.most = kMaxTableRows;
    this.sort = { key: null, down: true };
    const keys = view.two ? [] : ["flops", "share", "macs", "params"];
    this.columns = this.allColumns();
    this.chosen = new Set(view.two ? ["base", "head", "change", "percent"] : keys.filter((key) => this.columns.has(key)));
    if (!view.two) this.chosen.add(view.quantity.key);
    this.openByCost();
    this.body = h("tbody");
    this.titles = h("tr");
    this.table = h("table", { role: "treegrid", "aria-label": "Modules and operators", class: "tree" },
                   h("thead", {}, this.titles), this.body);
    this.more = h("button", { type: "button", onclick: () => { this.most *= 4; this.draw(); } });
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => this.click(event));
    this.box = h("section", { "aria-label": "Table" },
                 h("div", { class: "bar" }, h("h2", { text: "Modules" }), this.chooser(),
                   h("button", { type: "button", text: "Expand all", onclick: () => this.openAll(true) }),
                   h("button", { type: "button", text: "Collapse", onclick: () => this.openAll(false) }),
                   h("button", { type: "button", text: "Copy as CSV", onclick: () => this.copy() })),
                 h("div", { class: "scroll" }, this.table), this.more);
    view.onchange(() => this.reveal());
  }

  allColumns() {
    const { view } = this, columns = new Map();
    if (view.two) {
      const of = (side) => (node) => view.tree.of(node, view.quantity, side);
      const change = (node) => sum([of(1)(node), of(0)(node) === null ? null : -of(0)(node)]);
      const text = (value) => show(value, view.unit());
      columns.set("base", { title: "base", value: of(0), text });
      columns.set("head", { title: "head", value: of(1), text });
      columns.set("change", { title: "change", value: change, signed: true,
                              text: (value) => (value > 0n ? "+" : "") + text(value) });
      columns.set("percent", { title: "%", value: change, signed: true, text: (value, node) => {
        const base = of(0)(node);
        if (value === 0n) return "";
        return base === 0n ? "new" : of(1)(node) === 0n ? "gone" : `${value > 0n ? "+" : ""}${percent(value, base)}`;
      } });
      return columns;
    }
    for (const q of view.quantities) {
      columns.set(q.key, { title: q.title, value: (node) => view.tree.of(node, q), text: (v) => show(v, q.unit), q });
      if (q !== view.tree.quantities[0]) continue;
      columns.set("share", { title: "share", value: (node) => view.tree.of(node, view.quantity),
                             text: (v) => percent(v, view.tree.of(view.tree.root, view.quantity)) });
    }
    columns.set("intensity", { title: "FLOP/byte", value: (node) => view.tree.intensity(node), number: true,
                               text: (v) => (v === null ? "\u2013" : number(v)) });
    columns.set("nodes", { title: "nodes", value: (node) => BigInt(node.nodes) * node.all, text: digits });
    return columns;
  }

  chooser() {
    return h("details", { class: "menu" }, h("summary", { text: "Columns" }),
             h("div", { class: "choices" }, [...this.columns].map(([key, column]) => {
               const box = h("input", { type: "checkbox", id: `column-${key}`, checked: this.chosen.has(key),
                                        onchange: () => {
                                          if (box.checked) this.chosen.add(key);
                                          else this.chosen.delete(key);
                                          this.draw();
                                        } });
               return h("div", {}, box, h("label", { for: `column-${key}`, text: column.title }));
             })));
  }

  // As far as a screen shows rows: the dearest first.
  openByCost() {
    const { tree } = this.view;
    const cost = (node) => sum(node.sides.map((_, side) => tree.of(node, this.view.quantity, side))) || 0n;
    const floor = cost(tree.root) / 100n;
    const queue = [tree.root];
    let rows = 1;
    while (queue.length > 0) {
      queue.sort((a, b) => (cost(a) < cost(b) ? 1 : -1));
      const node = queue.shift();
      if (node.children.every((child) => child.kind === "operator") || cost(node) < floor) continue;
      if (rows + node.children.length > 36) continue;
      rows += node.children.length;
      this.open.add(node);
      queue.push(...node.children.filter((child) => child.children.length > 0));
    }
  }
  openAll(open) {
    this.open = new Set(open ? this.view.tree.nodes.filter((node) => node.children.length > 0) : [this.view.tree.root]);
    this.draw();
  }
  // What the picture marks has a row in sight.
  reveal() {
    for (let n = this.view.marked && this.view.marked.parent; n; n = n.parent) this.open.add(n);
    this.draw();
  }

  // Rows in sight, in order.
  rows() {
    const { hits, tree } = this.view;
    const column = this.columns.get(this.sort.key);
    const value = column ? column.value : (node) => sum(node.sides.map((_, side) => tree.of(node, this.view.quantity, side)));
    const sorted = (children) => {
      const list = children.filter((child) => !hits || hits.has(child)).map((child) => [child, value(child)]);
      if (this.sort.key === "name") list.sort((a, b) => a[0].label.localeCompare(b[0].label, "en", { numeric: true }));
      else list.sort((a, b) => (a[1] === b[1] ? 0 : a[1] === null || (b[1] !== null && a[1] < b[1]) ? 1 : -1));
      if (!this.sort.down) list.reverse();
      return list.map(([child]) => child);
    };
    const list = [], todo = [tree.root];
    while (todo.length > 0) {
      const node = todo.pop();
      list.push(node);
      if (this.open.has(node) || (hits && this.view.found.size < 200)) todo.push(...sorted(node.children).reverse());
    }
    return list;
  }

  draw() {
    const { view } = this;
    const active = document.activeElement, kept = active && active.closest ? active.closest("tr[data-id]") : null;
    const keptId = kept && this.body.contains(kept) ? kept.dataset.id : null;
    this.drawTitles();
    const rows = this.rows();
    this.shown = rows.slice(0, this.most);
    this.body.replaceChildren(...this.shown.map((node) => this.row(node)));
    this.more.hidden = rows.length <= this.most;
    this.more.textContent = `Show more of ${plural(rows.length, "row")}`;
    const first = this.body.querySelector(`tr[data-id="${keptId === null ? (view.marked || view.tree.root).id : keptId}"]`) ||
                  this.body.firstElementChild;
    if (first) first.setAttribute("tabindex", 0);
    if (keptId !== null && first) first.focus();
  }

  drawTitles() {
    const title = (key, text, right) => {
      const sorted = this.sort.key === key;
      return h("th", { scope: "col", role: "columnheader", class: right ? "number" : "first",
                       "aria-sort": sorted ? (this.sort.down ? "descending" : "ascending") : null },
               h("button", { type: "button", class: "title", "data-column": key, text: text + (sorted ? (this.sort.down ? " \u2193" : " \u2191") : ""),
                             onclick: () => {
                               this.sort = { key, down: sorted ? !this.sort.down : true };
                               this.draw();
                               this.titles.querySelector(`[data-column="${key}"]`).focus();
                             } }));
    };
    this.titles.replaceChildren(title("name", "module", false),
                                ...[...this.columns].filter(([key]) => this.chosen.has(key))
                                    .map(([key, column]) => title(key, column.title, true)));
  }

  row(node) {
    const { view } = this;
    const inside = node.children.length > 0, open = inside && (this.open.has(node) || Boolean(view.hits));
    const name = h("td", { role: "rowheader", class: "first" },
                   h("span", { class: `step level${Math.min(node.depth, 12)}` }),
                   h("span", { class: "arrow", "aria-hidden": "true", text: inside ? (open ? "\u25be" : "\u25b8") : "" }),
                   h("span", { class: `swatch ${view.colorOf(node)}`, "aria-hidden": "true" }),
                   h("bdi", { class: node.kind === "operator" ? "operator" : "module", text: node.label }),
                   node.times > 1 ? h("span", { class: "times", text: `\u00d7${node.times}` }) : null,
                   node.type && node.type !== node.label ? h("bdi", { class: "type", text: node.type }) : null);
    const cells = [...this.columns].filter(([key]) => this.chosen.has(key)).map(([, column]) => {
      const value = column.value(node);
      const formula = value === null && column.q ? view.tree.formulaOf(node, column.q) : null;
      const mark = node.atLeast && column.q ? "\u2265 " : "";
      return h("td", { role: "gridcell", class: `number${column.signed && value ? ` ${signOf(value)}` : ""}`,
                       title: value === null ? formula : column.number ? null : digits(value),
                       text: value === null && !column.number ? "?" : mark + column.text(value, node) });
    });
    return h("tr", { role: "row", "data-id": node.id, tabindex: -1, "aria-level": node.depth + 1,
                     "aria-expanded": inside ? String(open) : null,
                     class: `${node === view.marked ? "marked" : ""}${view.hits && view.found.has(node) ? " hit" : ""}` || null },
             name, cells);
  }

  nodeOf(target) {
    const row = target.closest("tr[data-id]");
    return row ? this.view.tree.nodes[Number(row.dataset.id)] : null;
  }
  toggle(node) {
    if (this.open.has(node)) this.open.delete(node);
    else this.open.add(node);
    this.draw();
  }
  click(event) {
    const node = this.nodeOf(event.target);
    if (!node) return;
    if (event.target.classList.contains("arrow")) this.toggle(node);
    else this.view.go(node);
  }
  key(event) {
    const node = this.nodeOf(event.target);
    if (!node) return;
    const at = this.shown.indexOf(node), open = this.open.has(node);
    const focus = (to) => {
      if (!to || !this.shown.includes(to)) return;
      event.target.closest("tr").setAttribute("tabindex", -1);
      const row = this.body.children[this.shown.indexOf(to)];
      row.setAttribute("tabindex", 0);
      row.focus();
    };
    const keys = {
      ArrowDown: () => focus(this.shown[at + 1]),
      ArrowUp: () => focus(this.shown[at - 1]),
      Home: () => focus(this.shown[0]),
      End: () => focus(this.shown[this.shown.length - 1]),
      ArrowRight: () => (node.children.length > 0 && !open ? this.toggle(node) : focus(this.shown[at + 1])),
      ArrowLeft: () => (open ? this.toggle(node) : focus(node.parent)),
      Enter: () => this.view.go(node),
      Escape: () => this.view.zoom.node.parent && this.view.go(this.view.zoom.node.parent),
    };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  }

  // Every digit; what a spreadsheet would take for a formula is text.
  csv() {
    const cell = (text) => {
      const safe = /^[=+\-@\t\r;]/.test(text) && !/^-?[0-9]+$/.test(text) ? `'${text}` : text;
      return /[",\n\r;']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    const columns = [...this.columns].filter(([key]) => this.chosen.has(key));
    const lines = [["path", "type", "times", ...columns.map(([key]) => key)]];
    for (const node of this.rows()) {
      lines.push([node.path, node.type, String(node.times), ...columns.map(([key, column]) => {
        const value = column.value(node);
        if (key === "share" || key === "percent") return column.text(value, node);
        return value === null ? (column.q && this.view.tree.formulaOf(node, column.q)) || "" : String(value);
      })]);
    }
    return `${lines.map((line) => line.map(cell).join(",")).join("\r\n")}\r\n`;
  }
  async copy() {
    const text = this.csv();
    try {
      await navigator.clipboard.writeText(text);
    } catch (error) {
      const area = h("textarea", { "aria-label": "CSV" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    tell(`${plural(this.rows().length, "row")} copied as CSV`);
  }
}
