// The table of the same tree.

const kMaxTableRows = 300;  // before a button shows more

const titleOf = ({ title }) => (typeof title === "function" ? title() : title);
const unitOfColumn = ({ q, unit }) => (q ? q.unit : unit ? unit() : "");
// The program's title in CSV. Times have their unit there.
const csvKey = ({ key, unit, parts }) => (parts ? `${key}_moved` : unit === "s" && !key.endsWith("_seconds") ? `${key}_seconds` : key);
// Six digits for what is no integer: "0.00272305".
const plainNumber = (value) => String(Number(value.toPrecision(6)));
// A percentage as a plain number: "-3.29835"; "" if there is no whole.
const plainPercent = (part, whole) => (part === null || whole === null || whole === 0n ? "" : plainNumber(100 * Number(part) / Number(whole)));

class TreeTable {
  constructor(view) {
    this.view = view;
    this.open = new Set();
    this.most = kMaxTableRows;
    this.sort = { key: null, down: true };
    this.columns = view.tree.profile ? profileColumns(view) : view.tree.stages ? stageColumns(view, this.allColumns()) : this.allColumns();
    const keys = this.firstColumns();
    this.chosen = new Set(keys.filter((key) => this.columns.has(key)));
    this.boxes = new Map();     // of the choice of columns, by key
    this.followed = null;       // the quantity of "Size by"
    this.isFollowing = false;   // if its column is shown for that alone
    if (view.tree.profile) [this.sort.key, this.followed] = ["time", "time"];
    this.openByCost();
    this.body = h("tbody");
    this.titles = h("tr");
    this.table = h("table", { role: "treegrid", "aria-label": view.tree.noun === "stage" ? "Stages" : "Modules and operators", class: "tree" },
                   h("thead", {}, this.titles), this.body);
    this.more = h("button", { type: "button", onclick: () => { this.most *= 4; this.draw(); } });
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => this.click(event));
    const [menu, choices] = this.chooser();
    this.box = h("section", { "aria-label": "Table" },
                 h("div", { class: "bar" }, h("h2", { text: view.tree.noun === "stage" ? "Stages" : "Modules" }), menu,
                   h("button", { type: "button", text: "Expand all", onclick: () => this.openAll(true) }),
                   h("button", { type: "button", text: "Collapse", onclick: () => this.openAll(false) }),
                   h("button", { type: "button", text: "Copy as CSV", onclick: () => this.copy() })),
                 choices, h("div", { class: "scroll" }, this.table), this.more);
    view.onchange(() => this.reveal());
  }

  // The columns of the screen's table; on a narrow window, as many as it shows without scrolling. An exact backward pass has columns of its own.
  firstColumns() {
    const { view } = this;
    const narrow = innerWidth <= 700;
    if (view.two) return narrow ? ["change", "percent"] : ["base", "head", "change", "percent"];
    if (view.tree.profile) return narrow ? ["time_share", "flops_share"] : kProfileKeys;
    if (narrow) return ["share"];
    if (view.tree.stages) return kStageKeys;
    return ["flops", "share", "macs", ...(view.tree.exactBackward ? ["backward_flops", "backward_macs"] : []), "params"];
  }
  allColumns() {
    const { view } = this, columns = new Map();
    if (view.two) {
      const of = (side) => (node) => view.tree.of(node, view.quantity, side);
      const change = (node) => sum([of(1)(node), of(0)(node) === null ? null : -of(0)(node)]);
      const text = (value) => show(value, view.unit());
      const known = (side) => (node) => view.tree.known(node, view.quantity, side);
      const knownChange = (node) => view.tree.knownChange(node, view.quantity);
      const unit = () => view.unit(), csvTitle = (end) => () => `${csvKey(view.quantity)}_${end}`;
      columns.set("base", { title: () => `base ${view.quantity.title}`, value: of(0), text, known: known(0), unit, csvTitle: csvTitle("base") });
      columns.set("head", { title: "head", value: of(1), text, known: known(1), unit, csvTitle: csvTitle("head") });
      columns.set("change", { title: "change", value: change, signed: true, known: knownChange, unit, csvTitle: csvTitle("change"),
                              text: (value) => (value > 0n ? "+" : "") + text(value) });
      const growth = (value, node) => {
        const base = of(0)(node);
        if (value === 0n || knownChange(node) === "nothing") return "";
        return base === 0n ? "new" : of(1)(node) === 0n ? "gone" : growthText(base, of(1)(node));
      };
      columns.set("percent", { title: "%", value: change, signed: true, text: growth, csvTitle: csvTitle("change_percent"),
                               csv: (node) => (knownChange(node) === "exact" ? plainPercent(change(node), of(0)(node)) : "") });
      return columns;
    }
    // Those of a backward pass are next to those of the forward pass.
    const kFirst = ["flops", "macs", "backward_flops", "backward_macs"];
    const place = ({ key }) => (kFirst.includes(key) ? kFirst.indexOf(key) : kFirst.length);
    for (const q of [...view.quantities].sort((a, b) => place(a) - place(b))) {
      columns.set(q.key, { title: q.title, value: (node) => view.tree.of(node, q), text: (v) => show(v, q.unit), q, csvTitle: () => csvKey(q),
                           known: (node) => view.tree.known(node, q) });
      if (q !== view.tree.quantities[0]) continue;
      columns.set("share", { title: () => `% of ${view.quantity.title}`, share: true, value: (node) => view.tree.of(node, view.quantity),
                             text: (v, node) => (v === null ? "\u2013" : view.tree.shareText(node, view.quantity)),
                             csvTitle: () => `${csvKey(view.quantity)}_share_percent`, csv: (node) => this.plainShare(node) });
    }
    columns.set("intensity", { title: "FLOP/byte", value: (node) => view.tree.intensity(node), number: true,
                               text: (v) => (v === null ? "\u2013" : perByte(v)) });
    columns.set("nodes", { title: "nodes", value: (node) => BigInt(node.nodes) * node.all, text: digits });
    return columns;
  }

  // The share of a row in percent; "" if a part of one of both is not counted.
  plainShare(node) {
    const { tree, quantity } = this.view, isExact = [node, tree.root].every((one) => tree.known(one, quantity) === "exact");
    return isExact ? plainPercent(tree.of(node, quantity), tree.of(tree.root, quantity)) : "";
  }

  // The quantity of "Size by" has a column, which goes with it unless a reader chose it.
  follow() {
    const { key } = this.view.quantity;
    if (this.view.two || key === this.followed) return;
    if (this.isFollowing) this.choose(this.followed, false);
    this.isFollowing = !this.chosen.has(key);
    this.choose(key, true);
    this.followed = key;
  }
  choose(key, on) {
    if (on) this.chosen.add(key);
    else this.chosen.delete(key);
    if (this.boxes.has(key)) this.boxes.get(key).checked = on;
  }
  // The shown columns, [key, column]. As on the screen the quantity of "Size by" is first, and its share beside it.
  chosenColumns() {
    const list = [...this.columns].filter(([key]) => this.chosen.has(key));
    if (!this.columns.has("share")) return list;
    const first = ["runs", this.view.quantity.key, "share"], place = ([key]) => (first.includes(key) ? first.indexOf(key) : first.length);
    return list.sort((a, b) => place(a) - place(b));
  }

  // A button, and the choices that it opens above the table, where they cover nothing.
  chooser() {
    const choices = h("div", { class: "choices", id: "columns", hidden: true }, [...this.columns].map(([key, column]) => {
      const box = h("input", { type: "checkbox", id: `column-${key}`, checked: this.chosen.has(key),
                               onchange: () => {
                                 this.choose(key, box.checked);
                                 if (key === this.followed) this.isFollowing = false;
                                 this.draw();
                               } });
      this.boxes.set(key, box);
      const label = h("label", { for: `column-${key}` });
      this.view.onchange(() => { label.textContent = titleOf(column); });
      return h("div", {}, box, label);
    }));
    const open = (on) => {
      choices.hidden = !on;
      menu.setAttribute("aria-expanded", String(on));
    };
    const menu = h("button", { type: "button", class: "menu", "aria-expanded": "false", "aria-controls": "columns", text: "Columns",
                               onclick: () => open(choices.hidden) });
    document.addEventListener("click", ({ target }) => {
      if (!choices.hidden && !menu.contains(target) && !choices.contains(target)) open(false);
    });
    document.addEventListener("keydown", ({ key }) => {
      if (key !== "Escape" || choices.hidden) return;
      if (choices.contains(document.activeElement)) menu.focus();
      open(false);
    });
    return [menu, choices];
  }

  // Opens as many rows as fit a screen, the costliest first.
  openByCost() {
    const { tree } = this.view;
    const cost = (node) => sum(node.sides.map((_, side) => tree.of(node, this.view.quantity, side))) || 0n;
    const floor = cost(tree.root) / 100n;
    // The first level with several parts, whatever their number.
    let top = tree.root;
    while (top.children.length === 1 && top.children[0].children.length > 0) {
      this.open.add(top);
      [top] = top.children;
    }
    this.open.add(top);
    const queue = [...top.children];
    let rows = 1 + top.children.length;
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
  // The module marked in the picture gets a visible row.
  reveal() {
    for (let n = this.view.marked && this.view.marked.parent; n; n = n.parent) this.open.add(n);
    this.draw();
  }

  // Visible rows, in order.
  rows() {
    const { hits, tree } = this.view;
    const column = this.columns.get(this.sort.key);
    const value = column ? column.value : (node) => sum(node.sides.map((_, side) => tree.of(node, this.view.quantity, side)));
    const sorted = (children) => {
      const seen = children.filter((child) => !hits || hits.has(child));
      if (this.sort.key === null && this.view.order === "run") return seen;
      const list = seen.map((child) => [child, value(child)]);
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
    this.follow();
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
    // Paper has no room to scroll: letters are smaller there.
    this.table.classList.toggle("many", this.chosen.size > 8);
    this.table.classList.toggle("most", this.chosen.size > 13);
    this.titles.replaceChildren(title("name", this.view.tree.noun, false),
                                ...this.chosenColumns().map(([key, column]) => title(key, titleOf(column), true)));
  }

  row(node) {
    const { view } = this;
    const together = node === view.marked ? view.together(node) : 1n, inside = node.children.length > 0, open = inside && (this.open.has(node) || Boolean(view.hits));
    // Names wrap below their beginning.
    const name = h("td", { role: "rowheader", class: "first" }, h("div", { class: "place" },
                   h("span", { class: `step level${Math.min(node.depth, 12)}` }),
                   h("span", { class: "arrow", "aria-hidden": "true", text: inside ? (open ? "\u25be" : "\u25b8") : "" }),
                   h("span", { class: `swatch ${view.colorOf(node)}`, "aria-hidden": "true" }),
                   h("div", { class: "label" },
                     h("bdi", { class: node.kind === "operator" ? "operator" : "module", text: node.label }),
                     node.times > 1 ? h("span", { class: "times", text: `\u00d7${node.times}` }) : null,
                     together > 1n ? h("span", { class: "times together", text: `all ${together} together` }) : null,
                     node.type && node.type !== node.label ? h("bdi", { class: "type", text: node.type }) : null)));
    const cells = this.chosenColumns().map(([, column]) => {
      const value = column.value(node), known = column.known ? column.known(node) : "exact";
      const text = value === null && !column.number && !column.share && !column.blank ? "?" : knownText(known, column.text(value, node));
      return h("td", { role: "gridcell", class: `number${column.signed && value && known !== "nothing" ? ` ${signOf(value)}` : ""}`,
                       title: value === null ? this.formulaOf(column, node) : column.number || column.csv ? null : digitsUnder(text, value, unitOfColumn(column)), text });
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

  // The formula of what has no value while a size is missing; null without one.
  formulaOf(column, node) {
    const text = column.q && !column.blank ? this.view.tree.formulaOf(node, column.q) : null;
    return text && column.q.unit === "s" ? `1e-21*(${text})` : text;
  }
  // What a row has in CSV: every digit, times in seconds; empty if it is unknown.
  plain(column, node) {
    if (column.csv) return column.csv(node);
    if (column.known && column.known(node) === "nothing") return "";
    const value = column.value(node);
    if (value === null) return this.formulaOf(column, node) || "";
    if (typeof value === "bigint") return plainDigits(value, unitOfColumn(column));
    return typeof value === "number" ? plainNumber(value) : value;
  }
  // Text that a spreadsheet would read as a formula is quoted.
  csv() {
    const cell = (text) => {
      const safe = /^[=+\-@\t\r;]/.test(text) && !/^-?[0-9.]+(e[-+]?[0-9]+)?$/.test(text) ? `'${text}` : text;
      return /[",\n\r;']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    const columns = this.chosenColumns();
    const lines = [["path", "type", "times", ...columns.map(([key, column]) => (column.csvTitle ? column.csvTitle() : key)), "lower_bound"]];
    for (const node of this.rows()) {
      lines.push([node.path, node.type, String(node.times), ...columns.map(([, column]) => this.plain(column, node)), String(node.lower !== 0)]);
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
