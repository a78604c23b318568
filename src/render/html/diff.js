// diff: what changed from one model to another.

function diffPage(data) {
  const { diff } = data;
  data.title = fileName(diff.head.path);
  const base = diff.base ? fileName(diff.base.path) : "(no base)";
  const top = (tree) => figures(["flops", "macs", "params", "bytes_read", "bytes_written"].map((key) => {
    const q = tree.quantity(key);
    if (!q) return null;
    const [before, after] = [tree.of(tree.root, q, 0), tree.of(tree.root, q, 1)];
    if (before === null || after === null) return [q.title, "?", null];
    const change = after - before, known = tree.knownChange(tree.root, q), plus = change > 0n ? "+" : "";
    const words = change === 0n && known === "exact" ? "unchanged"
                : `${knownText(known, plus + show(change, q.unit))}${before > 0n && known === "exact" ? ` (${plus}${percent(change, before)})` : ""}`;
    return [q.title, knownText(tree.known(tree.root, q, 1), show(after, q.unit)), words];
  }));
  const facts = [...diff.facts, ...diff.inputs, ...diff.outputs];
  const declared = facts.length === 0 ? null
    : h("section", {}, h("h2", { text: "What the files declare" }),
        plainTable("What the files declare", [["what"], ["base"], ["head"]],
                   facts.map((fact) => [fact.name, fact.base === undefined ? "\u2013" : fact.base,
                                        fact.head === undefined ? "\u2013" : fact.head])));
  const titles = diff.base ? [`Base: ${base}`, `Head: ${data.title}`] : [`Head: ${data.title}`];
  modulesPage(data, { ...diff.head, path: diff.base ? `${base} \u2192 ${data.title}` : diff.head.path }, top, titles, null, () => declared);
}
