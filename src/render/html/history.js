// ---- history: a chart for each model and quantity, and the changes

const kStatusKnown = { exact: "exact", lower_bound: "atLeast", unknown: "nothing" };
const shortCommit = (commit) => (commit ? commit.slice(0, 7) : "no commit");
const dayOf = (date) => date.slice(0, 10);

// "8.207 G", "unknown", or a formula if it depends on open sizes.
function recordedText(point, unit) {
  if (point.status === "missing") return "no figure";
  if (point.status === "open") return point.expr ? grouped(point.expr) : "a formula";
  return knownText(kStatusKnown[point.status], point.value === null ? "" : show(big(point.value), unit));
}
function changeText(before, after, sameSizes) {
  if (!sameSizes || before.status !== "exact" || after.status !== "exact") return "";
  return growthText(big(before.value), big(after.value));
}

// The lowest and highest figure of a chart's axis, with margins. A budget far above stays outside.
// The axis begins at 0 unless the figures are close together: then small changes would be no height.
function rangeOf(values, limits) {
  let low = Math.min(...values), high = Math.max(...values);
  const near = limits.filter((limit) => limit <= high * 3 && limit * 3 >= low);
  low = Math.min(low, ...near);
  high = Math.max(high, ...near);
  const room = Math.max((high - low) * 0.12, high * 0.01, 1);
  const isWide = low >= 0 && low <= high / 2;
  return { low: isWide ? 0 : low >= 0 ? Math.max(0, low - room) : low - room, high: high + room, near };
}

// The pieces of each line: figures with equal sizes and standing, [{place, end, value, point}, ...].
function pieces(points, series, isWeights) {
  const list = [];
  let open = null, at = null;
  const sizesAt = (place) => series.sizes.filter((sizes) => sizes.place <= place).pop();
  points.forEach((point, i) => {
    if (point.value === null) {
      open = null;
      return;
    }
    const end = (i + 1 < points.length ? points[i + 1].place : series.records) - 1;
    if (!open || points[i - 1].status !== point.status || (!isWeights && at !== sizesAt(point.place))) list.push(open = []);
    at = sizesAt(end);
    open.push({ place: point.place, end, value: Number(big(point.value)), point });
  });
  return list;
}

// Each from halfway between two records.
function budgetLines(chart, limits, near, axis) {
  const begin = (limit) => (limit.place === 0 ? chart.left : chart.px(limit.place - 0.5));
  limits.forEach((limit, i) => {
    if (limit.value === null || !near.includes(Number(limit.value))) return;
    const next = i + 1 < limits.length ? begin(limits[i + 1]) : chart.right;
    const y = chart.py(Number(limit.value)), x = begin(limit);
    chart.svg.append(s("line", { class: "budget", x1: x, x2: next, y1: y, y2: y }));
    if (i + 1 === limits.length) {
      chart.svg.append(s("text", { class: "tick", x: next - 4, y: y - 6, "text-anchor": "end", text: `budget ${axis(Number(limit.value))}` }));
    }
  });
}

// The commits of changes below the axis; if there is no room for all, the latest are shown.
function commitLabels(chart, changes) {
  let free = chart.right + 10;
  for (const { change, point } of [...changes].reverse()) {
    const x = chart.px(point.place), text = [shortCommit(point.commit), change].filter(Boolean).join(" ");
    const half = measure(text, "12px") / 2;
    const at = Math.max(chart.left + half - 8, Math.min(chart.right - half + 10, x));
    if (at + half > free) continue;
    free = at - half - 12;
    chart.svg.append(s("line", { class: "mark", x1: x, x2: x, y1: point.value === null ? chart.top : chart.py(Number(big(point.value))), y2: chart.bottom }),
                     s("text", { class: "tick commit", x: at, y: chart.bottom + 17, "text-anchor": "middle", text }));
  }
}

function historyChart(series, quantity, width) {
  const height = 220, left = 66, right = 14, top = 16, bottom = 46;
  const isWeights = ["params", "param_bytes"].includes(quantity.quantity);
  const list = pieces(quantity.points, series, isWeights);
  const values = list.flat().map((piece) => piece.value);
  const svg = s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
                         "aria-label": `${quantity.title}: ${quantity.points.map((p) => recordedText(p, quantity.unit)).slice(-20).join(", ")}` });
  const limits = quantity.limits.filter((limit) => limit.value !== null).map((limit) => Number(limit.value));
  const { low, high, near } = rangeOf(values, limits);
  const chart = {
    svg, left, top, right: width - right, bottom: height - bottom,
    px: (place) => (series.records === 1 ? (left + width - right) / 2 : left + 8 + (place / (series.records - 1)) * (width - right - left - 16)),
    py: (value) => height - bottom - ((value - low) / (high - low)) * (height - bottom - top),
  };
  const axis = quantity.unit === "s" ? (v) => time(BigInt(Math.round(v))) : (v) => `${siFloat(v)}${quantity.unit !== "B" ? "" : / [kMGTPE]$/.test(siFloat(v)) ? "B" : " B"}`;
  for (const v of ticks(low, high, false, 4).filter(Number.isInteger)) {
    svg.append(s("line", { class: "grid", x1: left, x2: chart.right, y1: chart.py(v), y2: chart.py(v) }),
               s("text", { class: "tick", x: left - 8, y: chart.py(v) + 4, "text-anchor": "end", text: axis(v) }));
  }
  svg.append(s("line", { class: "grid", x1: left, x2: chart.right, y1: chart.bottom, y2: chart.bottom }),
             s("text", { class: "tick", x: left, y: height - 8, text: dayOf(series.first.date) }));
  if (low !== 0) svg.append(s("text", { class: "tick", x: (left + chart.right) / 2, y: height - 8, "text-anchor": "middle", text: "axis not from 0" }));
  budgetLines(chart, quantity.limits, near, axis);
  const changes = [];
  let before = null;
  for (const point of quantity.points) {
    if (point.status === "missing") continue;
    if (before && (before.value !== point.value || before.status !== point.status || before.expr !== point.expr)) {
      const sameSizes = isWeights || !series.sizes.some((sizes) => sizes.place > before.place && sizes.place <= point.place);
      changes.push({ point, change: point.value === null ? point.status : sameSizes ? changeText(before, point, true) : "other sizes" });
    }
    before = point;
  }
  commitLabels(chart, changes);
  for (const run of list) {
    const corners = run.flatMap((piece) => [piece.place, piece.end].map((place) => `${chart.px(place).toFixed(1)} ${chart.py(piece.value).toFixed(1)}`));
    svg.append(s("path", { class: "line family0", d: `M${corners.join("L")}` }));
    for (const piece of run) {
      const limit = [...quantity.limits].reverse().find((l) => l.place <= piece.place);
      const over = limit && limit.value !== null && big(piece.point.value) > big(limit.value);
      const words = `${dayOf(piece.point.date)} ${shortCommit(piece.point.commit)}: ${recordedText(piece.point, quantity.unit)}${over ? ", above the budget" : ""}`;
      svg.append(s("circle", { class: `point ${over ? "over" : "family0"}${piece.point.status === "lower_bound" ? " bound" : ""}`, cx: chart.px(piece.place), cy: chart.py(piece.value), r: 4 }, s("title", { text: words })));
    }
  }
  if (series.records > 1) svg.append(s("text", { class: "tick", x: chart.right, y: height - 8, "text-anchor": "end", text: dayOf(series.last.date) }));
  const budget = limits.length > 0 && !near.includes(limits[limits.length - 1]) ? limits[limits.length - 1] : null;
  return [svg, budget === null ? null : h("p", { class: "muted", text: `budget ${axis(budget)}, outside of the chart` })].filter(Boolean);
}

// Draws a chart once its element has a width, and again when the width changes.
const kDrawn = new WeakMap();
const chartPlaces = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const { draw, width } = kDrawn.get(target), room = Math.floor(target.clientWidth);
    if (room === 0 || room === width) continue;
    kDrawn.set(target, { draw, width: room });
    target.replaceChildren(...[draw(room)].flat());
  }
});
function historyFigure(series, quantity) {
  const place = h("div", {}), last = quantity.points[quantity.points.length - 1];
  kDrawn.set(place, { draw: (width) => historyChart(series, quantity, width), width: 0 });
  chartPlaces.observe(place);
  return h("figure", { class: "history" }, h("figcaption", {}, h("span", { text: quantity.title }),
           h("span", { class: "figure", title: last.value === null ? null : exactDigits(big(last.value), quantity.unit), text: recordedText(last, quantity.unit) })), place);
}

function historySeries(series) {
  const isMain = (q) => q.points.length > 1 || q.limits.length > 0 || ["flops", "params"].includes(q.quantity);
  const main = series.quantities.filter(isMain), other = series.quantities.filter((q) => !isMain(q));
  // Without a number there is no chart: formulas of open sizes, and what is unknown.
  const hasChart = (q) => q.points.some((point) => point.value !== null);
  const charts = (list) => [h("div", { class: "histories" }, list.filter(hasChart).map((q) => historyFigure(series, q))),
                            lines(list.filter((q) => !hasChart(q)).map((q) => [q.title, recordedText(q.points[q.points.length - 1], q.unit)]))];
  const span = (end) => `${dayOf(end.date)} (${shortCommit(end.commit)})`;
  return h("section", {}, h("h2", { class: "path-title" }, h("bdi", { text: series.model })),
    h("p", { class: "muted", text: [series.sizes.map((sizes) => sizeWords(sizes.at) || "sizes of the file").join(" \u2192 "), plural(series.records, "record"),
                                    series.records > 1 ? `${span(series.first)} to ${span(series.last)}` : span(series.first)].filter(Boolean).join("  \u00b7  ") }),
    charts(main), other.length === 0 ? null : h("details", {}, h("summary", { text: `${plural(other.length, "more quantity").replace("quantitys", "quantities")}, unchanged` }), charts(other)));
}

// Seconds, which a history has as decimals, become whole amounts.
function readTimes(data) {
  const read = (figure, unit) => {
    if (unit === "s") figure.value = amountOf(figure.value, unit);
  };
  for (const q of data.series.flatMap((series) => series.quantities)) [...q.points, ...q.limits].forEach((figure) => read(figure, q.unit));
  for (const c of data.changes || []) [c.before, c.after].forEach((figure) => read(figure, c.unit));
}

function historyPage(data) {
  readTimes(data);
  const first = data.series.map((series) => series.first.date).sort()[0], last = data.series.map((series) => series.last.date).sort().pop();
  const columns = [["commit, model"], ["quantity"], ["before \u2192 after", true], ["change", true]];
  const titles = new Map(data.series.flatMap((series) => series.quantities.map((q) => [q.quantity, q.title])));
  const row = (c) => {
    const change = changeText(c.before, c.after, !c.after_sizes && !c.after_device), same = recordedText(c.before, c.unit) === recordedText(c.after, c.unit);
    const text = (figure) => (same && figure.value !== null ? exactDigits(big(figure.value), c.unit) : recordedText(figure, c.unit));
    const notes = [c.after_sizes ? [c.before_sizes, c.after_sizes].map((sizes) => sizeWords(sizes) || "sizes of the file").join(" \u2192 ") : "",
                   c.after_device ? `on ${c.before_device || "an unnamed device"} \u2192 ${c.after_device}` : "",
                   c.versions ? `onnxflops ${c.versions.join(" \u2192 ")}${c.same_file ? ", same file" : ""}` : ""].filter(Boolean).join("; ");
    return [[h("span", { class: "whole", text: dayOf(c.date) }), " ", h("code", { title: c.commit, text: shortCommit(c.commit) }), " ", h("bdi", { text: c.model })],
            [h("span", { class: "whole", text: titles.get(c.quantity) }), notes ? h("span", { class: "type", text: notes }) : null],
            h("span", { class: "sides" }, h("span", { class: "whole", text: `${text(c.before)} \u2192` }), " ", h("span", { class: "whole", text: text(c.after) })), change];
  };
  page.replaceChildren(
    heading({ path: data.file }, [plural(data.commits, "commit"), plural(data.models, "model"), plural(data.records, "record"),
                                  dayOf(first) === dayOf(last) ? dayOf(first) : `${dayOf(first)} to ${dayOf(last)}`]),
    h("p", { class: "muted", text: "In the order of the file. A dashed line is a budget." }),
    ...data.series.map(historySeries),
    h("section", {}, h("h2", { text: "Changes" }), !data.changes ? h("p", { text: "They do not fit into a page of 1 MB: --format csv has all of them." })
      : data.changes.length === 0 ? h("p", { text: "No figure changed." })
      : plainTable("Changes", columns, data.changes.map(row))), told);
}
