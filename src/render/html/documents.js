// The pages, one for each document that the program writes.

// ---- The roofline: modules that do the work themselves, under the roof

// The roof with points under it: {x, y, share, color, text}.
function roofline(roof, points, words, width) {
  const { peak_flops_per_second: peak } = roof;
  // Without a memory bandwidth the roof is flat.
  const slope = roof.bytes_per_second > 0, ridge = slope ? peak / roof.bytes_per_second : 1, speed = peak / ridge;
  const low = 10 ** Math.floor(Math.log10(Math.min(ridge / 10, ...points.map((p) => p.x))));
  const high = 10 ** Math.ceil(Math.log10(Math.max(ridge * 10, ...points.map((p) => p.x))));
  const floor = 10 ** Math.floor(Math.log10(Math.min(low * speed, ...points.map((p) => p.y))));
  const { svg, px, py, right } = frame(`Roofline${roof.device ? ` of ${roof.device} in ${roof.dtype}` : ""}: ${words} under the roof`, width, 360,
                                       { low, high, log: true, title: "FLOP/byte", text: (v) => number(v) },
                                       { low: floor, high: Math.max(peak, ...points.map((p) => p.y)) * 2, log: true, title: "FLOP/s", text: siFloat });
  const above = points.filter((point) => point.y > 1.005 * Math.min(peak, slope ? point.x * speed : peak)).length;
  const corners = [[low, slope ? low * speed : peak], [ridge, peak], [high, peak]];
  svg.append(s("polyline", { class: "roof", points: corners.map(([x, y]) => `${px(x)},${py(y)}`).join(" ") }),
             s("text", { class: "tick", x: right - 4, y: py(peak) - 7, "text-anchor": "end",
                         text: [`${siFloat(peak)}FLOP/s`, roof.dtype].filter(Boolean).join(", ") }));
  points.sort((a, b) => b.share - a.share);
  for (const point of points.slice(0, 400)) {
    svg.append(s("circle", { class: `point ${point.color}`, cx: px(point.x), cy: py(point.y), r: 3 + 14 * Math.sqrt(point.share) },
                 s("title", { text: `${point.text}: ${perByte(point.x)} FLOP/byte, ${siFloat(point.y)}FLOP/s` })));
  }
  return { svg, above };
}
// Why points are above a roof, which bounds bytes from memory and multiply-accumulates in one type.
const aboveWords = (above, measured) => (above === 0 ? "" : `${plural(above, "circle")} above the roof: ` +
  (measured ? "the cache held some of their bytes, the time is that of a launch, or the device is another one. "
            : "some of their bytes take no time, those of work on constants and of tensors that a kernel reads in a narrower type. "));
function roofWords(roof) {
  const speed = roof.bytes_per_second > 0 ? `, ${siFloat(roof.bytes_per_second)}B/s${roof.memory_source ? ` (${roof.memory_source})` : ""}` : "";
  return `${[roof.device, roof.dtype].filter(Boolean).join(" in ") || "A device"}: peak ${siFloat(roof.peak_flops_per_second)}FLOP/s ` +
         `(${roof.peak_source})${speed}.`;
}

// With the estimated time on a device (--device), or the measured time (profile).
function rooflineChart(roof, view, measured = false) {
  const box = h("section", {}, h("h2", { text: "Roofline" }));
  const draw = () => {
    const { tree } = view;
    const [work, took] = [tree.quantity("flops"), tree.quantity(measured ? "time" : "time_estimate_seconds")];
    const points = [];
    for (const node of tree.nodes) {
      if (!node.leaf || node.kind === "others") continue;
      const [flops, spent, intensity] = [tree.of(node, work), tree.of(node, took), tree.intensity(node)];
      if (!flops || !spent || !intensity) continue;
      const share = ratio(spent, tree.of(tree.root, took));
      points.push({ x: intensity, y: Number(flops) / (Number(spent) / 1e21), share, color: view.color === "type" ? view.colorOf(node) : "family0",
                    text: `${node.path || node.label}, ${percentText(share)} of the time` });
    }
    const { svg, above } = roofline(roof, points, plural(points.length, "module"), Math.max(320, Math.min(box.clientWidth || 900, 900)));
    box.replaceChildren(h("h2", { text: "Roofline" }),
                        h("p", { class: "muted", text: `${roofWords(roof)} A circle is as large as its share of the ${measured ? "time" : "estimated time"}. ${aboveWords(above, measured)}`.trim() }),
                        h("div", { class: "scroll" }, svg));
  };
  view.onchange(draw);
  return box;
}

// ---- check: verdicts, failures first

const kVerdicts = ["error", "failed", "not_proven", "allowed", "warned", "skipped", "passed"];

// The figure as a part of the limit: "91.2 %", "\u00d7 57.8".
function partText(rule) {
  if (!rule.margin) return "";
  const part = ratio(amountOf(rule.actual_value, rule.unit), amountOf(rule.limit_value, rule.unit));
  return knownText(rule.lower_bound ? "atLeast" : "exact", percentText(part, 2));
}
// What is left of the limit: "+2.15 %", "<0.01 % over".
function marginText(rule) {
  if (!rule.margin) return "";
  const text = rule.margin.replace(/^[^-+]*/, "");  // without the sign of a bound
  return knownText(rule.lower_bound ? "atMost" : "exact", minus(text.replace(/-(<.*)/, "$1 over").replace("+<", "<")));
}
// The program's text of a limit or figure; what grew more than tenfold with the factor: "\u00d7 38,777 (12.3 G, base 318 k)".
function shownText(rule, side) {
  if (side !== "actual" || !(rule.growth_percent > 1000)) return minus(rule[side]);
  return rule.actual.replace(/^\+[^%]*%/, growthText(amountOf(rule.base_value, rule.unit), amountOf(rule.actual_value, rule.unit)));
}

// A text or, if it is long, a formula that wraps between its terms.
const formulaCell = (text) => (text.length <= 28 ? text : h("div", { class: "detail" }, breakable(text, /(?<=[*+/])/)));

function checkPage(data) {
  const rules = [...data.rules].sort((a, b) => kVerdicts.indexOf(a.verdict) - kVerdicts.indexOf(b.verdict));
  const bad = rules.filter((rule) => !rule.passed).length, unproven = rules.filter((rule) => rule.verdict === "not_proven").length;
  const model = data.model || { path: plural(data.models.length, "model") };
  const bar = (rule) => {
    if (rule.limit_value === undefined || rule.actual_value === undefined || amountOf(rule.limit_value, rule.unit) <= 0n) return "";
    const part = ratio(amountOf(rule.actual_value, rule.unit), amountOf(rule.limit_value, rule.unit));
    const most = Math.max(part, 1) * 1.05;
    return s("svg", { class: "bar-cell small", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img",
                      "aria-label": `${percentText(part)} of the limit` },
             s("rect", { class: rule.passed ? "total" : "more3", x: 0, y: 0, width: Math.max(0.5, 100 * part / most), height: 10 }),
             s("line", { class: "limit", x1: 100 / most, x2: 100 / most, y1: 0, y2: 10 }));
  };
  const placed = (rule, side) => {
    if (rule[`${side}_value`] === undefined) return formulaCell(shownText(rule, side));
    const value = amountOf(rule[`${side}_value`], rule.unit), place = `rules.${rule.name}|${rule.where}|${rule.at}.${side}_value`;
    return exactly(place, value, shownText(rule, side), { class: "whole", "data-value": plainDigits(value, rule.unit) }, rule.unit);
  };
  // A figure of more than eleven times its limit has no useful rest: then every rule has its part of the limit.
  const isFar = rules.some((rule) => rule.margin_percent < -1000);
  const columns = [
    ["verdict", (rule) => h("span", { class: `verdict ${rule.verdict}`, text: rule.verdict.replace("_", " ") })],
    ["model", (rule) => breakable(fileName(rule.model))], ["rule", (rule) => breakable(rule.name)], ["where", (rule) => breakable(rule.where || "model")],
    ["at", (rule) => rule.at], ["actual", (rule) => placed(rule, "actual"), true], ["limit", (rule) => placed(rule, "limit"), true],
    ["compared", bar], isFar ? ["of the limit", partText, true] : ["left", marginText, true],
    ["detail", (rule) => (rule.detail ? h("div", { class: "detail" }, rule.detail.split(/(--[a-z-]+)/).map((text, i) => (i % 2 === 1 ? h("span", { class: "whole", text }) : breakable(text)))) : "")],
  ].filter(([title, cell]) => (title === "model" ? data.models : rules.some((rule) => cell(rule) !== "")));
  const budgets = [data.budgets, rules.some((rule) => rule.line === 0 && !["unlisted", "error"].includes(rule.kind)) ? "--max" : ""].filter(Boolean).join(", ");
  const positions = data.positions || model.positions || [];
  const notes = positions.length === 0 ? "" : h("ul", { class: "notes" }, positions.map((text) => h("li", {}, h("bdi", { text }))));
  page.replaceChildren(
    h("header", { class: "head" },
      h("h1", { class: `verdict ${data.passed ? "passed" : "failed"}`,
                text: data.passed ? `Passed: ${plural(rules.length, "rule")}` : `Failed: ${bad} of ${plural(rules.length, "rule")}${unproven > 0 ? `, ${unproven} of them not proven` : ""}` }),
      h("p", { class: "lead" }, h("bdi", { text: [fileName(model.path), data.base ? `against ${fileName(data.base.path)}` : ""].filter(Boolean).join(" ") })),
      h("p", { class: "muted", text: [...modelWords(data.model), budgets ? `budgets: ${budgets}` : ""].filter(Boolean).join("  \u00b7  ") })),
    plainTable("Rules", columns.map(([title, , right]) => [title, right]), rules.map((rule) => columns.map(([, cell]) => cell(rule))), true, "rules"), notes, told);
}

// ---- mfu: utilisation, and the figures of other formulas

// "3 x 2 x MACs; n=124439808 t=512 (longest sample)"
function formulaWords({ formula, parameters, length_of: of, length_setting: setting }) {
  const ofLength = of ? ` (${of}${setting ? ` as ${setting}` : ""})` : "";
  const values = Object.entries(parameters || {}).map(([name, value]) => `${name}=${value}${["t", "s2"].includes(name) ? ofLength : ""}`);
  return [formula, values.join(" ")].filter(Boolean).join("; ");
}

function mfuPage(data) {
  const part = (share) => percentText(share, 2), above = data.mfu > 1 || data.hfu > 1, again = data.recompute_flops > 0;
  const rate = (value) => `${siFloat(value)}FLOP/s`.replace(/(\d)FLOP/, "$1 FLOP");
  const most = Math.max(data.mfu || 0, ...data.formulas.map((formula) => formula.mfu || 0)) || 1;
  const bar = (value, chosen) => s("svg", { class: "bar-cell small", viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" },
                                   s("rect", { class: chosen ? "family0" : "plain", x: 0, y: 0, width: Math.max(1, 1000 * value / most), height: 10 }),
                                   most > 1 ? s("line", { class: "limit", x1: 1000 / most, x2: 1000 / most, y1: 0, y2: 10 }) : null);
  const known = data.formulas.filter((formula) => formula.flops_per_step !== undefined && formula.flops_per_step !== null);
  const shown = (formula, text) => knownText(knownOf(big(formula.flops_per_step), formula.lower_bound), text);
  const missing = data.formulas.filter((formula) => !known.includes(formula));
  const reached = knownOf(big(data.training_flops), data.lower_bound);
  const whole = (key) => exactly(key, big(data[key]), knownText(knownOf(big(data[key]), data.lower_bound), si(big(data[key]))));
  const share = (key) => exactly(key, data[key], knownText(reached, part(data[key])), data[key] > 1 ? { class: "over" } : {});
  const notes = (data.notes || []).length === 0 ? null
    : h("section", {}, h("h2", { text: "Notes" }), h("ul", { class: "notes" }, data.notes.map((text) => h("li", { text }))));
  const placed = (formula, key, value, text) => exactly(`formulas.${formula.name}.${key}`, value, shown(formula, text));
  page.replaceChildren(...[
    heading({ path: data.model }, [sizeWords(data.bindings), `${data.devices} \u00d7 ${data.device || "device"}${data.dtype ? ` in ${data.dtype}` : ""}`]),
    figures([["MFU", share("mfu"), data.lower_bound ? "at least: not all is counted" : `formula: ${data.counted}`],
             ["HFU", share("hfu"), again ? "with what is computed again" : "nothing is recomputed"],
             ["FLOPs a step", whole("training_flops"), ["forward ", whole("forward_flops")]],
             ["Step", exactly("step_seconds", data.step_seconds, `${Number(data.step_seconds.toPrecision(6))} s`), data.grad_accumulation > 1 ? `${data.grad_accumulation} runs of the model` : null],
             ["Achieved", exactly("achieved_flops_per_second", data.achieved_flops_per_second, knownText(reached, rate(data.achieved_flops_per_second))), "per device"],
             ["Peak", exactly("peak_flops_per_second", data.peak_flops_per_second, rate(data.peak_flops_per_second)), data.peak_source]]),
    above ? h("p", { class: "lead over", text: "More than 100 % cannot be: see the notes." }) : null,
    lines(data.lines), above ? notes : null,
    h("section", {}, h("h2", { text: "By other formulas" }),
      plainTable("MFU by formula", [["formula"], ["FLOPs a step", true], ["MFU", true], ...(again ? [["HFU", true]] : []), [most > 1 ? "compared; line: 100 %" : "compared"], ["what it is"]],
                 known.map((formula) => [formula.name, placed(formula, "flops_per_step", big(formula.flops_per_step), si(big(formula.flops_per_step))),
                                         placed(formula, "mfu", formula.mfu, part(formula.mfu)),
                                         ...(again ? [placed(formula, "hfu", formula.hfu, part(formula.hfu))] : []),
                                         bar(formula.mfu, formula.name === data.counted),
                                         h("div", {}, formulaWords(formula), h("div", { class: "muted", text: formula.source }))]), true, "formulas"),
      missing.length > 0 ? h("details", {}, h("summary", { text: `${plural(missing.length, "formula")} without a figure` }),
                             h("ul", { class: "notes" }, missing.map((formula) => h("li", { text: `${formula.name}: ${formula.missing || formula.formula}` })))) : null),
    data.flops_per_byte > 0 && data.achieved_flops_per_second > 0 ? h("section", {}, h("h2", { text: "Roofline" }),
      h("p", { class: "muted", text: `${roofWords(data)} The point is one training step on one device: the FLOP/s that it achieved, and the FLOP/byte of its forward pass. Bytes are counted for each operator alone, without fusion.` }),
      h("div", { class: "scroll" }, roofline(data, [{ x: data.flops_per_byte, y: data.achieved_flops_per_second, share: 0.15, color: "family0", text: "a step" }],
                                             "a step", Math.max(320, Math.min(page.clientWidth || 900, 900))).svg)) : null,
    above ? null : notes, told].filter(Boolean));
}

// ---- Sweeps: cost against size

// Points without totals use the formulas of the document, at their own sizes and the common ones (for the page that counts,
// tools/web/page.js).
function workOut(data) {
  const { totals, at } = data;
  if (!totals) return;
  for (const point of data.points) {
    const sized = new Sized(new Map(Object.entries({ ...at, ...point.sizes }).map(([name, size]) => [name, BigInt(size)])));
    point.totals = Object.fromEntries(Object.entries(totals).filter(([, total]) => total !== null).map(([key, total]) => {
      const value = sized.of(total);
      return [key, value === null ? total : { expr: String(value) }];
    }));
  }
}

// The document of a sweep. A pipeline has its own figures to show: `shown` are their keys, `place` is where the document has one,
// `more` are further columns: [title, text of a point].
function sweepPage(data) {
  workOut(data);
  const place = data.place || ((key, i) => `points.${i}.totals.${key}`), more = data.more || [];
  const keys = Object.keys(data.points[0].totals);
  const titles = { flops: "FLOPs", macs: "MACs", params: "parameters", ...data.titles };
  const title = (key) => titles[key] || key.replace(/_seconds$/, "").replaceAll("_", " ");
  const unit = (key) => (key.includes("bytes") ? "B" : key.startsWith("time_") ? "s" : "");
  const isLower = (point, key) => point.lower_bound && !key.startsWith("param");
  let quantity = keys.find((key) => data.points.every((point) => point.totals[key] !== null)) || keys[0];
  let [along] = [...data.symbols].sort((a, b) => count(b) - count(a));
  function count(symbol) {
    return new Set(data.points.map((point) => point.sizes[symbol])).size;
  }
  const box = h("div");
  const draw = () => {
    const lines = new Map();  // by the other sizes
    for (const point of data.points) {
      const value = big(point.totals[quantity]);
      if (value === null || knownOf(value, isLower(point, quantity)) === "nothing") continue;
      const other = data.symbols.filter((symbol) => symbol !== along).map((symbol) => `${symbol} = ${point.sizes[symbol]}`).join(", ");
      if (!lines.has(other)) lines.set(other, []);
      lines.get(other).push([Number(point.sizes[along]), value]);
    }
    const points = [...lines.values()].flat();
    if (points.length === 0) {
      box.replaceChildren(h("p", { text: "There is no chart while a size is open, or where nothing is counted." }));
      return;
    }
    const xs = points.map(([x]) => x), ys = points.map(([, y]) => Number(y));
    const wide = Math.max(...xs) > 20 * Math.max(1, Math.min(...xs)) && Math.min(...xs) > 0;
    const tall = Math.max(...ys) > 200 * Math.max(1, Math.min(...ys)) && Math.min(...ys) > 0;
    const width = Math.max(320, Math.min(box.clientWidth || 900, 900));
    const axis = (values, log) => ({ low: log ? 10 ** Math.floor(Math.log10(Math.min(...values))) : 0,
                                     high: log ? 10 ** Math.ceil(Math.log10(Math.max(...values))) : Math.max(...values) * 1.05 || 1, log });
    const value = (v) => show(BigInt(Math.round(v)), unit(quantity)).replace(/\.?0+(?= |$)/, "");
    const chart = frame(`${title(quantity)} against ${along}`, width, 360, { ...axis(xs, wide), title: along.slice(0, 60), text: (v) => siFloat(v) },
                        { ...axis(ys, tall), title: title(quantity), text: value });
    let color = 0;
    const names = [];
    for (const [name, line] of lines) {
      line.sort((a, b) => a[0] - b[0]);
      const family = `family${Math.min(color++, 7)}`;
      names.push([family, name]);
      chart.svg.append(s("polyline", { class: `line ${family}`, points: line.map(([x, y]) => `${chart.px(x)},${chart.py(Number(y))}`).join(" ") }));
      for (const [x, y] of line) {
        chart.svg.append(s("circle", { class: `point ${family}`, cx: chart.px(x), cy: chart.py(Number(y)), r: 4 },
                           s("title", { text: `${along} = ${x}: ${exactDigits(y, unit(quantity))}` })));
      }
    }
    box.replaceChildren(h("div", { class: "scroll" }, chart.svg),
                        names.length > 1 ? h("ul", { class: "legend" }, names.map(([family, text]) =>
                            h("li", {}, h("span", { class: `swatch ${family}` }), h("bdi", { text })))) : "");
  };
  const cell = (point, key, i) => {
    const value = point.totals[key], exact = big(value);
    if (value === null || value === undefined) return "\u2013";
    const text = () => knownText(knownOf(exact, isLower(point, key)), show(exact, unit(key)));
    return exact === null ? String(value.expr) : exactly(place(key, i), exact, text(), {}, unit(key));
  };
  const shown = (data.shown || ["flops", "macs", "bytes_read", "bytes_written", "time_bound_seconds", "time_estimate_seconds", "params"]).filter((key) => keys.includes(key));
  page.replaceChildren(
    heading(data.model, [...modelWords(data.model), sizeWords(data.bindings)]),
    h("div", { class: "bar" }, choice("Cost", keys.map((key) => [key, title(key)]), quantity, (key) => { quantity = key; draw(); }),
      data.symbols.length > 1 ? choice("Against", data.symbols.map((symbol) => [symbol, symbol]), along, (symbol) => { along = symbol; draw(); }) : null),
    box,
    h("section", {}, h("h2", { text: "Points" }),
      plainTable("Points", [...data.symbols.map((symbol) => [symbol, true]), ...shown.map((key) => [title(key), true]), ...more.map(([words]) => [words, true])],
                 data.points.map((point, i) => [...data.symbols.map((symbol) => String(point.sizes[symbol])),
                                             ...shown.map((key) => cell(point, key, i)), ...more.map(([, of]) => of(i))]))), told);
  draw();
}

// ---- Start

const page = document.getElementById("page");
const kPages = { count: countPage, diff: diffPage, compare: comparePage, check: checkPage, mfu: mfuPage, profile: profilePage, sweep: sweepPage,
                 history: historyPage, pipeline: pipelinePage };

// On paper nothing can be unfolded.
function openForPaper() {
  const closed = [...document.querySelectorAll("section details:not([open]), .lines details:not([open])")];
  for (const details of closed) details.open = true;
  addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
  }, { once: true });
}

function start() {
  const holder = document.getElementById("data");
  const { kind } = holder.dataset;
  // Integers stay exact if the browser gives the source text of numbers.
  const exact = (key, value, context) =>
      (typeof value === "number" && !Number.isSafeInteger(value) && context && /^-?[0-9]+$/.test(context.source) ? BigInt(context.source) : value);
  const data = ["count", "diff", "profile"].includes(kind) ? JSON.parse(holder.textContent) : JSON.parse(holder.textContent, exact);
  if (data.too_large) {
    page.append(h("p", { text: "This report does not fit into a page of 1 MB: --format json has all of it." }));
    return;
  }
  kPages[kind](data);
  const left = data.left_out || (data.profile && data.profile.left_out);
  if (left) {
    page.append(h("p", { class: "muted", text: `${plural(left, "entry").replace("entrys", "entries")} of its lists had no room in this page: ` +
                                               "--format json has all of them." }));
  }
  addEventListener("beforeprint", openForPaper);
  document.documentElement.dataset.ready = "true";
}
start();
