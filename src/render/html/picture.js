// The picture: blocks of modules, as large as their figures. In rows, each level below its parent, or as nested areas.

const kLeastWidth = 2;  // pixels of a block; narrower neighbours share one
const kMostBlocks = 4000;

class Picture {
  constructor(view, side, title) {
    this.view = view;
    this.side = side;
    this.title = title;
    this.svg = s("svg", { class: "blocks", role: "tree", "aria-label": title });
    this.box = h("div", { class: "picture" }, this.svg);
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.svg.addEventListener("click", (event) => {
      const node = this.nodeAt(event.target);
      if (node) view.go(node);
    });
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => view.tip.hide());
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
  point(event) {
    const { view } = this, node = this.nodeAt(event.target);
    if (!node) return view.tip.hide();
    if (view.hover) view.hover(node);
    const block = event.target.closest("[data-id]");
    if (event.pointerType !== "touch") view.tip.show(event, block.dataset.others ? [block.getAttribute("aria-label")] : view.tipOf(node, this.side));
  }

  draw(scale, width = this.box.clientWidth || 800) {
    const { view, side } = this, { node: root } = view.zoom;
    if (view.tip) view.tip.hide();  // its block is replaced
    const focused = this.svg.contains(document.activeElement);
    const whole = view.of(root, side);
    this.blocks = [];
    this.svg.replaceChildren();
    if (whole === null || whole <= 0n || scale <= 0n) return this.say(whole);
    this.svg.setAttribute("role", "tree");
    this.svg.setAttribute("aria-label", this.title);
    this.svg.classList.toggle("areas", view.picture === "areas");
    const part = ratio(whole, scale);
    const height = view.picture === "areas" ? this.areas(root, width * part, Math.round(Math.min(560, Math.max(320, width * 0.5))))
                                            : this.levels(root, width * part);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("height", height);
    // Texts are next to the blocks, because full names need more room.
    this.texts = s("g", { class: "texts", "aria-hidden": "true" });
    for (const block of this.blocks) this.svg.append(this.block(block));
    this.svg.append(this.texts);
    const last = this.blocks.find((block) => block.node === this.at) || this.blocks[0];
    last.element.setAttribute("tabindex", 0);
    if (focused) last.element.focus();
  }
  say(whole) {
    const { view } = this;
    const isUnknown = view.tree.known(view.zoom.node, view.quantity, this.side) === "nothing", name = view.nameOf(view.zoom.node, this.side);
    const why = whole === null ? "There is no picture while a size is open, or where a figure has no value at these sizes."
              : isUnknown ? `There is no picture: nothing of ${name} is counted.` : `${name} has no ${view.quantity.title}.`;
    this.svg.setAttribute("height", 30);
    this.svg.removeAttribute("viewBox");
    this.svg.setAttribute("role", "img");
    this.svg.setAttribute("aria-label", why);
    this.svg.append(s("text", { class: "tick", x: 2, y: 20, text: why }));
  }

  // The children of a node, in the order of the view: [child, its part of the node]. Parts may add up to more than the whole if modules
  // share weights.
  inside(node) {
    const { view, side } = this, own = view.of(node, side);
    const children = node.children.filter((child) => (view.of(child, side) || 0n) > 0n);
    const all = sum(children.map((child) => view.of(child, side)));
    return view.ordered(children, (child) => view.of(child, side)).map((child) => [child, ratio(view.of(child, side), all > own ? all : own)]);
  }

  // ---- Rows

  // Each level is a row below its parent; returns the height.
  levels(root, width) {
    const todo = [[root, 0, width, 0]];
    while (todo.length > 0) {
      const [node, x, w, level] = todo.pop();
      this.blocks.push({ node, x, w, level });
      let from = x;
      const narrow = [];
      for (const [child, part] of this.inside(node)) {
        if (w * part < kLeastWidth || this.blocks.length + todo.length > kMostBlocks) {
          narrow.push([child, w * part]);
          continue;
        }
        todo.push([child, from, w * part, level + 1]);
        from += w * part;
      }
      const rest = narrow.reduce((total, [, wide]) => total + wide, 0);
      if (rest >= 1) this.blocks.push({ node: narrow[0][0], x: from, w: rest, level: level + 1, others: narrow.map(([child]) => child) });
    }
    this.blocks.sort((a, b) => a.level - b.level || a.x - b.x);
    const depth = Math.max(...this.blocks.map((block) => block.level)) + 1, tall = depth <= 10, height = tall ? 42 : 24;
    for (const block of this.blocks) Object.assign(block, { y: block.level * height, h: height, lines: tall ? 2 : 1, title: tall ? 18 : 16 });
    return depth * height + 1;
  }

  // ---- Areas

  // Each node is an area inside its parent's (a squarified treemap: Bruls, Huizing, van Wijk, 2000); returns the height.
  areas(root, width, height) {
    const kTitle = 20, kEdge = 3, kLeast = 9;
    const todo = [{ node: root, x: 0, y: 0, w: width, h: height, level: 0 }];
    while (todo.length > 0) {
      const block = todo.shift(), { node, x, y, w, h: tall, level } = block;
      const parts = block.others ? [] : this.inside(node);
      const room = { x: x + kEdge, y: y + kTitle, w: w - 2 * kEdge, h: tall - kTitle - kEdge };
      const opens = parts.length > 0 && room.w > 12 && room.h > 8 && this.blocks.length + todo.length < kMostBlocks;
      this.blocks.push({ ...block, lines: !opens && tall >= 38 ? 2 : 1, title: Math.min(15, tall / 2 + 4), clear: tall >= 15 });
      if (!opens) continue;
      const area = room.w * room.h, large = parts.filter(([, part]) => part * area >= kLeast * kLeast);
      const small = parts.filter(([, part]) => part * area < kLeast * kLeast), rest = small.reduce((all, [, part]) => all + part, 0);
      const list = large.map(([child, part]) => ({ node: child, part }));
      if (rest * area >= kLeast) list.push({ node: small[0][0], part: rest, others: small.map(([child]) => child) });
      todo.push(...squarify(list, room).map((found) => ({ ...found, level: level + 1 })));
    }
    return height;
  }

  // ---- Blocks

  colorOf(block) {
    const { view } = this;
    if (!block.others) return view.colorOf(block.node);
    // For many nodes without room: the most frequent of their colors.
    const weight = new Map();
    for (const node of block.others) weight.set(view.colorOf(node), (weight.get(view.colorOf(node)) || 0n) + (view.of(node, this.side) || 0n));
    return [...weight].reduce((most, next) => (next[1] > most[1] ? next : most))[0];
  }

  block(block) {
    const { view } = this, { node, x, y, w, level } = block;
    const lit = !view.hits || (block.others || [node]).some((one) => view.hits.has(one));
    const hit = view.hits && lit && !block.others && view.found.has(node);
    const name = block.others ? `${block.others.length} more` : printable(view.nameOf(node, this.side));
    const times = node.times > 1 && !view.zoom.members.has(node);
    const element = s("g", {
      class: `block ${this.colorOf(block)}${lit ? "" : " dim"}${hit ? " hit" : ""}${node === view.marked && !block.others ? " marked" : ""}`,
      role: "treeitem", tabindex: -1, "data-id": node.id, "data-others": block.others ? block.others.length : null, "aria-level": level + 1,
      "aria-selected": node === view.zoom.node ? "true" : "false",
      "aria-label": block.others ? `${plural(block.others.length, "part")} too small to draw`
                                 : `${name}${times ? `, ${node.times} times` : ""}${node.type && node.type !== name ? `, ${node.type}` : ""}: ${view.words(node)}`,
    });
    element.append(s("rect", { x: x + 0.5, y: y + 0.5, width: Math.max(w - 1, 0.5), height: Math.max(block.h - 1, 0.5), rx: 2 }));
    this.write(block, name + (times && !block.others ? `  \u00d7${node.times}` : ""), lit ? (hit ? " hit" : "") : " dim");
    block.element = element;
    return element;
  }
  // The name of a block and, below it, its figure, as far as they fit.
  write(block, name, shade) {
    const { view } = this, { node, x, y, w } = block, room = w - 12;
    if (room <= 16 || block.clear === false) return;
    const top = fit(name, room, "12.5px");
    this.texts.append(s("text", { class: `name${shade}`, x: x + 6, y: y + block.title, text: top }));
    if (block.lines < 2 || top === "") return;
    const value = block.others ? sum(block.others.map((one) => view.of(one, this.side) || 0n)) : view.of(node, this.side), share = view.shareOf(node, this.side, view.zoom.node, value);
    const figure = `${share}  \u00b7  ${knownText(view.tree.known(node, view.quantity, this.side, value), show(value, view.unit()))}`;
    const below = measure(figure, "11.5px") <= room ? figure : fit(share, room, "11.5px");
    if (!below.endsWith("\u2026")) this.texts.append(s("text", { class: `share${shade}`, x: x + 6, y: y + block.title + 15, text: below }));
  }

  key(event) {
    const here = this.blocks && this.blocks.find((block) => block.element === document.activeElement);
    if (!here) return;
    const row = this.blocks.filter((block) => block.level === here.level), at = row.indexOf(here);
    const below = () => (here.others ? null : this.blocks.find((block) => block.level === here.level + 1 && block.node.parent === here.node));
    const above = () => this.blocks.find((block) => block.level === here.level - 1 && block.node === here.node.parent);
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

// Rectangles of these parts in an area, row by row along its shorter side, as square as possible. They are shares of the whole area:
// the rest stays empty.
function squarify(list, room) {
  const out = [], area = room.w * room.h;
  let { x, y, w, h: tall } = room;
  for (let i = 0; i < list.length;) {
    const side = Math.max(1e-6, Math.min(w, tall)), row = [];
    let total = 0, worst = Infinity;
    for (; i < list.length; ++i) {
      const next = total + list[i].part * area, thick = next / side;
      const lengths = [...row, list[i]].map((one) => one.part * area / thick);
      const now = Math.max(...lengths.map((length) => Math.max(length / thick, thick / length)));
      if (now > worst) break;
      [worst, total] = [now, next];
      row.push(list[i]);
    }
    const thick = total / side;
    let from = 0;
    for (const one of row) {
      const length = one.part * area / thick;
      out.push(w >= tall ? { ...one, x, y: y + from, w: thick, h: length } : { ...one, x: x + from, y, w: length, h: thick });
      from += length;
    }
    if (w >= tall) [x, w] = [x + thick, w - thick];
    else [y, tall] = [y + thick, tall - thick];
  }
  return out;
}

// Details of the block under the pointer, shown next to it.
class Tip {
  constructor() {
    this.box = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
  }
  show(event, [name, ...texts]) {
    this.box.replaceChildren(h("bdi", { class: "name", text: name }), ...texts.filter(Boolean).map((text) => h("span", { text })));
    this.box.hidden = false;
    const { width, height } = this.box.getBoundingClientRect(), kAway = 14;
    const left = event.clientX + kAway + width > innerWidth ? event.clientX - kAway - width : event.clientX + kAway;
    const top = event.clientY + kAway + height > innerHeight ? event.clientY - kAway - height : event.clientY + kAway;
    this.box.style.left = `${Math.max(4, left)}px`;
    this.box.style.top = `${Math.max(4, top)}px`;
  }
  hide() {
    this.box.hidden = true;
  }
}
