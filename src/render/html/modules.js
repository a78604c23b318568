// A page of modules: the common part of the pages of count, diff, profile and pipeline.

function toolbar(view) {
  const search = h("input", { type: "search", placeholder: "name, path or type", autocomplete: "off", spellcheck: "false",
                              oninput: () => {
                                view.search(search.value);
                                if (view.hits) tell(`${plural(view.found.size, "row")} found${view.tree.rowsJoined > 0 ? " among those that have room here" : ""}`);
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
           choice("Picture", [["levels", "levels"], ["areas", "areas"]], view.picture, (key) => {
             view.picture = key;
             view.change();
           }),
           choice("Order", [["cost", "by cost"], ["run", "as executed"]], view.order, (key) => {
             view.order = key;
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

// Full details of the module under the pointer or with the focus.
function details(view) {
  const name = h("bdi", { class: "name" }), type = h("bdi", { class: "muted" }), words = h("span", { class: "words" });
  const draw = (node) => {
    name.textContent = node === view.zoom.node ? "" : printable(view.pathTo(node));
    type.textContent = node.type === view.nameOf(node) ? "" : printable(node.type);
    const times = view.times(node);
    const intensity = view.tree.intensity(node);
    words.textContent = printable([view.words(node), view.togetherWords(node), times > 1n ? `${times} times` : "",
                         view.tree.profile && view.tree.rate(node) ? `${siFloat(view.tree.rate(node))}FLOP/s` : "",
                         !view.two && intensity !== null ? `${perByte(intensity)} FLOP/byte` : ""].filter(Boolean).join("  \u00b7  "));
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
  const list = titles.map((title, side) => new Picture(view, titles.length === 1 ? view.tree.root.sides.length - 1 : side, title));
  const draw = (room) => {
    const values = list.map((picture) => view.of(view.zoom.node, picture.side)).filter((value) => value !== null);
    const scale = values.reduce((a, b) => (a > b ? a : b), 0n);
    for (const picture of list) picture.draw(scale, room);
  };
  view.onchange(() => draw());
  let width = 0;
  new ResizeObserver(() => {
    if (Math.abs(list[0].box.clientWidth - width) < 1) return;
    width = list[0].box.clientWidth;
    draw();
  }).observe(list[0].box);
  const kPaper = 690;  // pixels of a sheet between its margins
  addEventListener("beforeprint", () => draw(kPaper));
  addEventListener("afterprint", () => draw());
  return list.map((picture, i) => [titles.length > 1 ? h("p", { class: "subtitle", text: titles[i] }) : null, picture.box]);
}

// The share of the merged rows in the model.
function joinedWords(view) {
  const { tree } = view;
  const parts = tree.nodes.filter((node) => node.kind === "others").map((node) => tree.of(node, view.quantity, node.sides.length - 1));
  const share = percent(sum(parts), tree.of(tree.root, view.quantity, tree.root.sides.length - 1));
  return `${plural(tree.rowsJoined, "small row")} had no room in this page and ${tree.rowsJoined === 1 ? "is" : "are"} joined as "others", which have ` +
         `${share} of the ${view.quantity.title}: --format json has all of them.`;
}

// What the picture of the chosen module leaves white, because its parts do not have it.
function whiteWords(view) {
  const { node } = view.zoom, side = view.two ? 1 : 0, values = node.children.map((child) => view.of(child, side));
  const own = view.of(node, side), parts = sum(values);
  if (view.quantity.key !== "time_bound_seconds" || node.children.length === 0 || own === null || parts === null || parts >= own) return "";
  return `${percent(own - parts, own)} of the picture is empty: the time bound of a part covers its multiply-accumulates only, that of the model also the bytes of a run, ` +
         "which take longer here. Size by time estimate to see where a run spends its time.";
}

// --module: what is counted of the model.
const partWords = ({ part, report }) => (part ? `only ${part}, ${plural(report.coverage.nodes, "node")}` : "");

function modulesPage(data, model, top, titles, symbols, bottom) {
  const tree = new Tree(data);
  const view = new View(tree, data.cost);
  view.tip = new Tip();
  const broken = h("p", { class: "bad", "aria-live": "polite" });
  const fields = sizeFields(tree.sizes, symbols, (sizes) => {
    broken.textContent = printable(tree.resize(sizes));
    view.change();
  }, data.fields);
  const table = new TreeTable(view);
  const white = h("p", { class: "muted white" });
  view.onchange(() => { white.textContent = printable(whiteWords(view)); });
  const joined = h("p", { class: "muted" });
  view.onchange(() => { joined.textContent = joinedWords(view); });
  const totals = h("div");
  view.onchange(() => totals.replaceChildren(...[top(tree, view)].flat().filter(Boolean)));
  const caveats = (data.caveats || []).map((text) => h("p", { class: "lead" }, h("bdi", { text })));
  const words = data.words || [...modelWords(model), partWords(data), sizeWords((data.report || data.diff || data.profile).bindings || data.diff && data.diff.head_bindings)];
  page.replaceChildren(...[heading(model, words),
                       ...caveats, totals, fields, fields && data.limits ? broken : null,
                       h("section", { "aria-label": "Picture" }, toolbar(view), breadcrumb(view), details(view),
                         pictures(view, titles), white, legend(view)),
                       table.box, tree.rowsJoined > 0 ? joined : null, bottom(view), view.tip.box, told].filter(Boolean));
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

