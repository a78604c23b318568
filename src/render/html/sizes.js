// Fields for sizes that a file leaves open, and the formulas that depend on them.

// Formulas hold for sizes of inputs from 1, and from 0 for a decoder's past and for those that depend on data.
const kMostSize = 10n ** 18n - 1n;
const sizeRule = (least, most) => (most === undefined ? `a whole number, ${least} to ${digits(kMostSize)}` : `a whole number, ${least} to ${digits(BigInt(most))}`);

// The program's words for a size beyond the rows of a table.
const kTable = "since the model has a table, such as that of positions, with no more rows";
// What a size is that no input has, where it does not depend on data.
const kOrigins = { sizes: "follows from other sizes by no formula: set it, too", trips: "changes in a loop", trip_count: "trips of a loop" };

// A field for every size. `sizes` are the shown sizes; `apply` is called when a field changes, with
// null for a field without a number.
function sizeFields(sizes, symbols, apply, [title, words] = ["Sizes", "The file leaves these open. All figures are at the sizes given here."]) {
  const origin = new Map((symbols || []).map((symbol) => [symbol.name, symbol]));
  if (sizes.size === 0) return null;
  const isInput = (name) => !origin.has(name) || origin.get(name).origin.kind === "input";
  // What is computed from sizes, without a formula or a bound: it stays as it is where the others change.
  const isLoose = (name) => !isInput(name) && !origin.get(name).at_most && origin.get(name).origin.kind === "sizes";
  const rank = (name) => (isInput(name) ? 0 : isLoose(name) ? 1 : 2);
  const names = [...sizes.keys()].sort((a, b) => rank(a) - rank(b));
  // As in the program, what is the sum of others follows them until a reader sets it.
  const sums = new Map((symbols || []).filter(({ name, sum: of }) => of && sizes.has(name)).map(({ name, sum: of }) => [name, Formula(of.expr)]));
  const fields = names.map((name) => sizeField(name, origin.get(name), sizes, (changed) => {
    sums.delete(name);
    for (const [other, of] of sums) {
      const value = of(changed);
      if (value === null) continue;
      changed.set(other, value);
      fields[names.indexOf(other)].querySelector("input").value = String(value);
    }
    apply(changed);
  }));
  // A reader knows only sizes of inputs, and must give those that follow from them by no formula.
  const known = names.filter((name) => rank(name) < 2).length;
  const shown = fields.length <= 6 ? fields.length : Math.min(12, Math.max(1, known));
  const first = h("div", { class: "fields" }, fields.slice(0, shown));
  const rest = fields.length > shown
    ? h("details", {}, h("summary", { text: `${plural(fields.length - shown, "more size")}, most of them depend on data` }),
        h("div", { class: "fields" }, fields.slice(shown)))
    : null;
  return h("section", { "aria-label": title },
           h("div", { class: "sizes" }, h("h2", { text: title }), h("span", { class: "muted", text: words })), first, rest);
}

function sizeField(name, symbol, sizes, apply) {
  const ofInput = !symbol || symbol.origin.kind === "input";
  const { least = ofInput ? 1 : 0, about } = symbol || {};  // of a parameter
  const limit = symbol && symbol.at_most ? bare(symbol.at_most.expr) : "";
  const most = symbol && symbol.most !== undefined ? symbol.most : /^[0-9]+$/.test(limit) ? limit : undefined;
  const bound = limit === "" ? "" : `at most ${most === limit ? digits(BigInt(limit)) : symbol.at_most.expr.slice(0, 40)}`;
  const kind = bound || kOrigins[symbol && symbol.origin.kind] || (ofInput ? "" : "depends on data");
  const hint = h("span", { class: "hint muted", "aria-live": "polite", text: kind });
  const input = h("input", { type: "text", inputmode: "numeric", value: String(sizes.get(name)), maxlength: 18, autocomplete: "off", "data-size": name,
                             spellcheck: "false", oninput: () => {
                               const text = input.value.trim().replaceAll(",", ""), isNumber = /^[0-9]{1,18}$/.test(text);
                               const good = isNumber && BigInt(text) >= BigInt(least) && (most === undefined || BigInt(text) <= BigInt(most));
                               input.setAttribute("aria-invalid", good ? "false" : "true");
                               hint.classList.toggle("bad", !good);
                               const rule = [sizeRule(least, most), most === undefined ? bound : "", ofInput && limit ? kTable : "", about];
                               hint.textContent = printable(good ? kind : rule.filter(Boolean).join(", "));
                               sizes.set(name, good ? BigInt(text) : null);
                               apply(sizes);
                             } });
  hint.id = `hint-${sizeField.count = (sizeField.count || 0) + 1}`;
  input.setAttribute("aria-describedby", hint.id);
  const part = field(name.length > 40 ? `${name.slice(0, 39)}\u2026` : name, input);
  part.title = printable(name);
  part.append(hint);
  return part;
}

const sizesOf = (data) => new Map(Object.entries(data.sizes || {}).map(([name, size]) => [name, BigInt(size)]));

// Quantities of a document at the sizes of a page; each formula is read once.
class Sized {
  constructor(sizes) {
    this.sizes = sizes;
    this.known = new Map();
  }
  // The value of {"expr"}, of a text, or of an integer; null if it is missing or has no value.
  of(quantity) {
    if (quantity === null || quantity === undefined) return null;
    const text = typeof quantity === "object" ? quantity.expr : String(quantity);
    if (!this.known.has(text)) this.known.set(text, Formula(text));
    return this.known.get(text)(this.sizes);
  }
}

// Names of the sizes in a formula, each as often as it occurs.
function symbolsOf(written) {
  const text = bare(written);
  const names = [];
  for (let at = 0; at < text.length;) {
    kSymbol.lastIndex = kFunction.lastIndex = kInteger.lastIndex = at;
    const other = kFunction.exec(text) || kInteger.exec(text), symbol = other ? null : kSymbol.exec(text);
    if (symbol) names.push(symbol[0]);
    at += (other || symbol || [text[at]])[0].length;
  }
  return names;
}

// A formula as printed by the program, with grouped digits; numbers in names are not changed.
function grouped(text) {
  let out = "";
  for (let at = 0; at < text.length;) {
    kSymbol.lastIndex = kInteger.lastIndex = kFunction.lastIndex = at;
    const call = kFunction.exec(text), integer = call ? null : kInteger.exec(text), symbol = call || integer ? null : kSymbol.exec(text);
    const found = (call || integer || symbol || [text[at]])[0];
    out += integer ? digits(BigInt(found)) : found;
    at += found.length;
  }
  return out;
}
