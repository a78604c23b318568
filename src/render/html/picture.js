// The picture: an icicle, each block as wide as what it stands for.

const kLeastWidth = 2;  // pixels of a block; narrower neighbours share one

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
    // Texts are beside the blocks, whose names say more than has room.
    this.texts = s("g", { class: "texts", "aria-hidden": "true" });
    for (const block of this.blocks) this.svg.append(this.block(block, height, tall));
    this.svg.append(this.texts);
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
    const name = block.others ? `${block.others} more` : printable(view.nameOf(node));
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
    const room = w - 12, shade = lit ? (hit ? " hit" : "") : " dim";
    if (room > 16 && !block.others) {
      const times = node.times > 1 && !view.zoom.members.has(node) ? `  \u00d7${node.times}` : "";
      const top = fit(name + times, room, "12.5px");
      this.texts.append(s("text", { class: `name${shade}`, x: x + 6, y: y + (tall ? 18 : 16), text: top }));
      if (tall && top !== "") {
        const known = view.tree.known(node, view.quantity, this.side, value);
        const figure = `${share}  \u00b7  ${knownText(known, show(value, view.unit()))}`;
        const below = measure(figure, "11.5px") <= room ? figure : fit(share, room, "11.5px");
        if (!below.endsWith("\u2026")) {
          this.texts.append(s("text", { class: `share${shade}`, x: x + 6, y: y + 33, text: below }));
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
