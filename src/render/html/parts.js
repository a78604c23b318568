"use strict";
// Shared by all pages: exact numbers, formulas, elements. Text from a model always stays text:
// no code here or elsewhere makes markup from a string.

// ---- Elements

// Invisible characters, and those that change the direction of text, are escaped, as in all outputs.
const kUnseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]|(?! )\p{Zs}/gu;
const printable = (text) => String(text).replace(kUnseen, (c) => {
  const code = c.codePointAt(0);
  return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
});
const kSaid = ["title", "aria-label"];

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = printable(value);
    else element.setAttribute(name, value === true ? "" : kSaid.includes(name) ? printable(value) : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "string" ? printable(child) : child);
  }
  return element;
}
const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
const s = (tag, properties, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);

// A text that may wrap after these signs, and elsewhere only if a word of it has no room.
function breakable(text, signs = /(?<=[._/-])/) {
  const words = text.split(signs);
  if (words.length === 1 && text.length <= 40) return text;
  const isLong = words.length > 100 || words.some((word) => word.length > 40);
  return h("bdi", isLong ? { class: "anywhere", text } : {}, isLong ? [] : words.map((word, i) => (i === 0 ? word : [h("wbr"), word])));
}

// ---- Integers of any size

const big = (value) => {
  if (value === null || value === undefined) return null;
  if (typeof value === "object") return value.expr === undefined ? null : Formula(value.expr)(new Map());
  return BigInt(value);
};
const abs = (v) => (v < 0n ? -v : v);
const sum = (values) => values.reduce((a, b) => (a === null || b === null ? null : a + b), 0n);

// "396.6 G": four digits, rounded half up, as in the program.
function si(value) {
  if (value === null) return "?";
  const v = abs(value), sign = value < 0n ? "\u2212" : "";
  if (v < 1000n) return sign + v;
  for (let unit = 1; unit <= 6; ++unit) {
    const scale = 10n ** BigInt(3 * unit);
    for (let decimals = 3; decimals >= 1; --decimals) {
      const rounded = (v * 10n ** BigInt(decimals) + scale / 2n) / scale;
      if (rounded >= 10000n) continue;
      const text = String(rounded).padStart(decimals + 1, "0");
      return `${sign}${text.slice(0, -decimals)}.${text.slice(-decimals)} ${"kMGTPE"[unit - 1]}`;
    }
  }
  return `${sign}${(v + 5n * 10n ** 17n) / 10n ** 18n} E`;
}
const digits = (value) => (value === null ? "?" : String(value).replace(/\B(?=(\d{3})+$)/g, ","));
// A time, which is kept as a whole number of 10^-21 s: "1.183 ms".
function time(value) {
  if (value === null) return "?";
  const seconds = Number(abs(value)) / 1e21, sign = value < 0n ? "\u2212" : "";
  for (const [unit, scale] of [["s", 1], ["ms", 1e3], ["\u00b5s", 1e6], ["ns", 1e9]]) {
    if (seconds * scale >= 1 || unit === "ns") return `${sign}${Number((seconds * scale).toPrecision(4))} ${unit}`;
  }
  return "";
}
// Every digit, as programs read it and the program's CSV has it: "395219472384", or of seconds "0.000009006311".
function plainDigits(value, unit) {
  if (unit !== "s") return String(value);
  const text = String(abs(value)).padStart(22, "0");
  return `${value < 0n ? "-" : ""}${`${text.slice(0, -21)}.${text.slice(-21)}`.replace(/\.?0+$/, "")}`;
}
// The same for people: "395,219,472,384", "0.000009006311 s".
const exactDigits = (value, unit) => (unit === "s" && value !== null ? `${plainDigits(value, unit)} s` : digits(value));
// The reverse, from a number of seconds in JSON: by its decimals, which a product with 1e21 would round.
function amountOf(value, unit) {
  if (unit !== "s" || value === null) return big(value);
  const [, whole, part = "", exponent = "0"] = /^(-?[0-9]+)(?:\.([0-9]+))?(?:e([-+]?[0-9]+))?$/.exec(String(value));
  const shift = 21 - part.length + Number(exponent), all = BigInt(whole + part);
  return shift >= 0 ? all * 10n ** BigInt(shift) : all / 10n ** BigInt(-shift);
}
function show(value, unit) {
  if (unit === "s") return time(value);
  const text = si(value);
  return unit === "B" && value !== null ? (/ [kMGTPE]$/.test(text) ? `${text}B` : `${text} B`) : text;
}
// The standing of a figure, as in src/render/known.h: the only code of a page that decides how it is shown.
const kKnownTexts = {
  exact: (text) => text, assumed: (text) => `${text}*`, atLeast: (text) => `\u2265 ${text}`, atMost: (text) => `\u2264 ${text}`,
  counted: (text) => `${text} counted`, nothing: () => "unknown",
};
const knownText = (known, text) => kKnownTexts[known](text);
// The standing of a figure; if `lowerBound` is true, a part of it is not counted.
const knownOf = (value, lowerBound) => (!lowerBound ? "exact" : value === 0n || value === null ? "nothing" : "atLeast");
function knownOfChange(base, head, change) {
  if (base === "nothing" || head === "nothing") return "nothing";
  if (base !== "exact" && head !== "exact") return "counted";
  if (base === "exact") return head === "atLeast" && change !== null && change <= 0n ? "nothing" : head;
  return change !== null && change >= 0n ? "nothing" : "atMost";
}
const ratio = (a, b) => (b === 0n || a === null || b === null ? 0 : Number(a * 1000000n / b) / 1e6);

// ---- Shares and changes: the only code of a page that writes a percentage

// "\u00d7 64.0", "\u00d7 38,777", "\u00d7 1.033 G": what is ten times the whole or more, of which percent have too many digits.
const factorText = (share) => `\u00d7 ${share >= 1e6 ? si(BigInt(Math.round(share))) : share >= 100 ? digits(BigInt(Math.round(share))) : share.toFixed(1)}`;
// "96.6 %", "\u22123.3 %", "<0.1 %" (of either sign), "\u00d7 64.0".
function percentText(share, decimals = 1) {
  const size = Math.abs(share), sign = share < 0 ? "\u2212" : "", least = 10 ** -decimals;
  if (share >= 10) return factorText(share);
  if (size > 0 && 100 * size < least / 2) return `<${least.toFixed(decimals)} %`;
  return `${sign}${(100 * size).toFixed(decimals)} %`;
}
// The share of two integers, rounded half up as in the program.
function percent(part, whole) {
  if (part === null || whole === null || whole === 0n) return "\u2013";
  const tenths = (abs(part) * 2000n + abs(whole)) / (2n * abs(whole));
  if (tenths === 0n) return part === 0n ? "0.0 %" : "<0.1 %";
  return percentText(Number(part < 0n === whole < 0n ? tenths : -tenths) / 1000);
}
// A change: "+9.7 %", "\u22123.3 %", "<0.1 %"; "\u00d7 38,777" if the new figure is that many times the old one; "" if there is none.
function growthText(before, after) {
  if (before === null || after === null || before === 0n || before === after) return "";
  const change = after - before;
  if (change >= 10n * abs(before)) return factorText(ratio(after, before));
  const text = percent(change, before);
  return change > 0n && !text.startsWith("<") ? `+${text}` : text;
}
// Text of the program with a sign in front: "\u22123.31 %".
const minus = (text) => text.replace(/^-(?=[0-9<])/, "\u2212");
const number = (value) => (value >= 1e6 || (value !== 0 && Math.abs(value) < 1e-3)
  ? value.toExponential(2) : String(Number(value.toPrecision(3))));
// FLOP/byte: "0.62", "11.6", "1,024", as in the program.
const perByte = (value) => (value >= 100 ? digits(BigInt(Math.round(value)))
  : value >= 10 ? value.toFixed(1) : value > 0 && value < 0.005 ? "<0.01" : value.toFixed(2));
function plural(count, noun) {
  return `${digits(BigInt(count))} ${noun}${Number(count) === 1 ? "" : "s"}`;
}

// ---- Formulas, as Expr::ToString of src/symbolic/expr.h writes them

const kQuotedName = "'(?:[^'\\\\]|\\\\(?:[\\\\'nt]|x[0-9a-fA-F]{2}))*'";
const kSymbol = new RegExp(`(?:${kQuotedName}|[A-Za-z_][A-Za-z0-9_.]*)(?:\\((?:${kQuotedName}` +
    "|[A-Za-z0-9_./:-]+)\\))?(?:[.#][0-9]+)*", "y");
const kFunction = /(floor|min|max|broadcast)\(/y;
const kInteger = /[0-9]+/y;

function floorDivide(a, b) {
  if (b === 0n) throw new RangeError("divides by zero");
  const quotient = a / b;
  return quotient * b !== a && (a < 0n) !== (b < 0n) ? quotient - 1n : quotient;
}
function broadcast(a, b) {
  if (a === b || b === 1n) return a;
  if (a === 1n) return b;
  throw new RangeError("broadcasts different sizes");
}
const kFunctions = {
  min: (values) => values.reduce((a, b) => (a < b ? a : b)),
  max: (values) => values.reduce((a, b) => (a > b ? a : b)),
  broadcast: (values) => values.reduce(broadcast),
};

// A formula without the factor of one in seconds, "1e-21*(2*batch)".
const bare = (text) => text.replace(/^1e-21\*\((.*)\)$/s, "$1");
// A function from sizes to the value; null if a size is missing or the value does not exist.
function Formula(written) {
  if (written === null) return () => null;
  const text = bare(written);
  if (/^-?[0-9]+$/.test(text)) {
    const value = BigInt(text);
    return () => value;
  }
  let at = 0;
  const match = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  const take = (sign) => {
    while (text[at] === " ") ++at;
    if (text[at] !== sign) return false;
    ++at;
    while (text[at] === " ") ++at;
    return true;
  };
  const need = (sign) => {
    if (!take(sign)) throw new SyntaxError(`no formula: ${text.slice(0, 80)}`);
  };
  const atom = () => {
    if (take("-")) {
      const inner = power();
      return (sizes) => -inner(sizes);
    }
    if (take("(")) {
      const inner = total();
      need(")");
      return inner;
    }
    const integer = match(kInteger);
    if (integer) {
      const value = BigInt(integer[0]);
      return () => value;
    }
    const called = match(kFunction);
    if (called) return call(called[1]);
    const symbol = match(kSymbol);
    if (!symbol) throw new SyntaxError(`no formula: ${text.slice(0, 80)}`);
    return (sizes) => {
      const size = sizes.get(symbol[0]);
      if (size === undefined || size === null) throw new RangeError("a size is missing");
      return size;
    };
  };
  const call = (name) => {
    const operands = [total()];
    if (name === "floor") {
      need("/");
      const divisor = power();
      need(")");
      return (sizes) => floorDivide(operands[0](sizes), divisor(sizes));
    }
    while (take(",")) operands.push(total());
    need(")");
    return (sizes) => kFunctions[name](operands.map((operand) => operand(sizes)));
  };
  const power = () => {
    const base = atom();
    if (!take("^")) return base;
    const exponent = BigInt(match(kInteger)[0]);
    return (sizes) => base(sizes) ** exponent;
  };
  const product = () => {
    const factors = [power()];
    while (take("*")) factors.push(power());
    return factors.length === 1 ? factors[0]
                                : (sizes) => factors.reduce((value, factor) => value * factor(sizes), 1n);
  };
  const total = () => {
    const terms = [take("-") ? [product(), -1n] : [product(), 1n]];
    for (;;) {
      if (take("+")) terms.push([product(), 1n]);
      else if (take("-")) terms.push([product(), -1n]);
      else break;
    }
    if (terms.length === 1 && terms[0][1] === 1n) return terms[0][0];
    return (sizes) => terms.reduce((value, [term, sign]) => value + sign * term(sizes), 0n);
  };
  let formula = null;
  try {
    formula = total();
    if (at !== text.length) formula = null;
  } catch (error) {
    formula = null;  // no formula of ours, or one too deep to be read
  }
  return (sizes) => {
    try {
      return formula ? formula(sizes) : null;
    } catch (error) {
      if (error instanceof RangeError) return null;
      throw error;
    }
  };
}

// ---- Parts of a page

const fileName = (path) => path.slice(path.lastIndexOf("/") + 1) || "model";
// Names that distinguish two files: with their folders if the file names are equal.
function fileNames(first, second) {
  const parts = [first, second].map((path) => path.split("/"));
  const end = (list, n) => list.slice(-n).join("/");
  let n = 1;
  while (n < Math.max(parts[0].length, parts[1].length) && end(parts[0], n) === end(parts[1], n)) ++n;
  return parts.map((list) => end(list, n) || "model");
}

function heading(model, words) {
  return h("header", { class: "head" }, h("h1", { text: model.title || fileName(model.path) }),
           h("p", { class: "muted", text: words.filter(Boolean).join("  \u00b7  ") }));
}
function modelWords(model) {
  if (!model || model.nodes === undefined) return [];
  const opsets = Object.entries(model.opsets)
      .map(([domain, version]) => `${domain === "ai.onnx" ? "opset" : domain} ${version}`);
  return [model.producer, opsets.join(", "), plural(model.nodes, "node")];
}
const sizeWords = (bindings) =>
    Object.entries(bindings || {}).map(([name, size]) => `${name} = ${size}`).join(", ");

// [title, figure, text below it]; the figure is a text or comes from `exactly`.
function figures(list) {
  return h("dl", { class: "figures" }, list.filter(Boolean).map(
      ([title, figure, below]) =>
          h("div", {}, h("dt", { text: title }), h("dd", { class: "figure" }, figure),
            below ? h("dd", { class: "muted" }, below) : null)));
}
// Every digit of what `text` shows: a bound stays one, and what is unknown has none.
function digitsUnder(text, value, unit) {
  if (typeof value !== "bigint" || text === knownText("nothing")) return null;
  const [bound] = /^[\u2264\u2265] /.exec(text) || [""];
  return bound + exactDigits(value, unit);
}
// A figure that also shows every digit on request: its place in the document ("totals.flops") and its exact value.
function exactly(place, value, text, properties = {}, unit = "") {
  return h("span", { "data-place": place, "data-value": value === null || text === knownText("nothing") ? "" : String(value),
                     title: digitsUnder(text, value, unit), text, ...properties });
}
// Facts under labels: [label, texts]. Empty texts, and labels without any, are left out.
function lines(list) {
  const rows = list.filter(Boolean).map(([label, ...texts]) => [label, texts.flat().filter(Boolean)]).filter(([, texts]) => texts.length > 0);
  return rows.length === 0 ? null
    : h("dl", { class: "lines" }, rows.map(([label, texts]) => [h("dt", { text: label }), h("dd", {}, texts.map((text) => h("span", { class: "fact" }, text)))]));
}

function field(label, control) {
  control.id = control.id || `field-${field.count = (field.count || 0) + 1}`;
  return h("div", { class: "field" }, h("label", { for: control.id, text: label }), control);
}
function choice(label, options, chosen, onchange) {
  const control = h("select", { onchange: () => onchange(control.value) },
                    options.map(([value, text]) =>
                        h("option", { value, selected: value === chosen, text })));
  return field(label, control);
}
// Text for screen readers: descriptions of pictures, and results of actions.
const told = h("div", { role: "status", class: "unseen" });
function tell(text) {
  told.textContent = printable(text);
}

// A plain table: columns are [title, is a number]; cells are texts or elements. With `stacks`, a narrow screen shows each row as a
// block, with the title next to each cell.
function plainTable(caption, columns, rows, stacks = false, kind = "") {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, h("table", { class: [stacks ? "stacks" : "", kind].filter(Boolean).join(" ") || null },
      h("caption", { class: "unseen", text: caption }),
      h("thead", {}, h("tr", {}, columns.map(([title, right]) =>
          h("th", { scope: "col", class: right ? "number" : null, text: title })))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => {
        const blank = cell === "" || cell === null ? "blank" : "";
        const properties = { class: [columns[i][1] ? "number" : "", blank].filter(Boolean).join(" ") || null, "data-title": columns[i][0] };
        if (i === 0) return h("th", { scope: "row", ...properties }, cell);
        return h("td", properties, cell);
      }))))));
}

// The width of a text, measured without drawing it.
const measure = (() => {
  const context = document.createElement("canvas").getContext("2d");
  const family = "system-ui, sans-serif";
  return (text, font) => {
    if (!context) return text.length * 7;
    context.font = `${font} ${family}`;
    return context.measureText(text).width;
  };
})();
// The text, or as much of its beginning as fits, with "..."; "" if nothing fits.
function fit(text, width, font) {
  if (text.length * 20 > width && text.length > 400) text = text.slice(0, 400);
  if (measure(text, font) <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(`${text.slice(0, middle)}\u2026`, font) <= width) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? "" : `${text.slice(0, low)}\u2026`;
}

// Round figures from `low` to `high` for an axis; powers of ten if it is logarithmic.
function ticks(low, high, logarithmic, most = 6) {
  const list = [];
  if (logarithmic) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first + 1) / most));
    for (let e = first; e <= last; e += step) list.push(10 ** e);
    return list;
  }
  const rough = (high - low) / most || 1;
  const base = 10 ** Math.floor(Math.log10(rough));
  const step = base * [1, 2, 5, 10].find((factor) => factor * base >= rough);
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) list.push(v);
  return list;
}
const siFloat = (value) => si(BigInt(Math.round(value))).replace(/\.0+(?= )|(?<=\.[0-9]*[1-9])0+(?= )/, "");

// A frame with two axes: {x, y} with low, high, log, title, text. Returns what to draw into it.
function frame(label, width, height, x, y) {
  const left = 62, right = 18, top = 14, bottom = 46;
  const place = (axis, from, to) => (value) => {
    const f = axis.log ? Math.log : (v) => v;
    const part = (f(value) - f(axis.low)) / ((f(axis.high) - f(axis.low)) || 1);
    return from + Math.min(1, Math.max(0, part)) * (to - from);
  };
  const px = place(x, left, width - right), py = place(y, height - bottom, top);
  const svg = s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  for (const v of ticks(x.low, x.high, x.log, width < 500 ? 4 : 7)) {
    svg.append(s("line", { class: "grid", x1: px(v), x2: px(v), y1: top, y2: height - bottom }),
               s("text", { class: "tick", x: px(v), y: height - bottom + 16, "text-anchor": "middle", text: x.text(v) }));
  }
  for (const v of ticks(y.low, y.high, y.log)) {
    svg.append(s("line", { class: "grid", x1: left, x2: width - right, y1: py(v), y2: py(v) }),
               s("text", { class: "tick", x: left - 8, y: py(v) + 4, "text-anchor": "end", text: y.text(v) }));
  }
  svg.append(s("text", { class: "axis", x: width - right, y: height - 10, "text-anchor": "end", text: x.title }),
             s("text", { class: "axis", x: left + 6, y: top + 10, text: y.title }));
  return { svg, px, py, left, right: width - right, top, bottom: height - bottom };
}
