// profile: where the time of a run went, and its computed work.

const kProfileKeys = ["time", "time_share", "flops_share", "flops", "rate", "peak", "intensity", "bound"];

function profileColumns(view) {
  const { tree } = view, columns = new Map();
  const add = (key, title, value, text, csvTitle = () => key) => columns.set(key, { title, value, text: (v) => (v === null ? "\u2013" : text(v)), number: true, csvTitle });
  const works = (node) => tree.of(node, tree.quantity("flops")) > 0n;
  // Nodes without a kernel have no time, and time outside kernels, or in kernels that did not join, has no known work.
  const has = (node, q) => (node.nodes > 0 || tree.of(node, q) > 0n) && tree.known(node, q) !== "nothing";
  const share = (i, q) => (node) => (has(node, q) ? tree.shares(node)[i] : null);
  const [time] = tree.quantities;
  for (const q of tree.quantities) {
    columns.set(q.key, { title: q.title, value: (node) => (has(node, q) ? tree.of(node, q) : null), q, blank: true, csvTitle: () => csvKey(q),
                         text: (v, node) => (v === null ? "\u2013" : knownText(tree.known(node, q), show(v, q.unit))) });
    if (q.key === "time") add("time_share", "time %", share(0, q), (v) => percentText(v));
    if (q.key !== "flops") continue;
    add("flops_share", "FLOPs %", share(1, q), (v) => percentText(v));
    add("gap", "time % \u2212 FLOPs %", (node) => (has(node, time) && has(node, q) ? tree.shares(node)[0] - tree.shares(node)[1] : null),
        (v) => `${v < 0 ? "\u2212" : ""}${(100 * Math.abs(v)).toFixed(1)}`, () => "time_share_minus_flops_share");
    add("rate", "GFLOP/s", (node) => tree.rate(node), (v) => String(Number((v / 1e9).toPrecision(4))), () => "flops_per_second");
    const { peak } = tree.profile;
    if (!peak) continue;
    add("peak", "peak %", (node) => (tree.rate(node) === null ? null : tree.rate(node) / peak.flops_per_second), (v) => percentText(v), () => "peak_share");
    const ridge = peak.flops_per_second / peak.bytes_per_second;
    const bound = (node) => (tree.intensity(node) === null ? null : tree.intensity(node) >= ridge ? "compute" : "memory");
    if (peak.bytes_per_second > 0) add("bound", "bound", (node) => (works(node) ? bound(node) : null), (v) => v);
  }
  add("intensity", "FLOP/byte", (node) => (works(node) ? tree.intensity(node) : null), perByte);
  columns.set("nodes", { title: "kernels", csvTitle: () => "kernels", value: (node) => BigInt(node.nodes) * node.all, text: digits });
  return columns;
}

const nanoseconds = (ns) => time(BigInt(ns) * 10n ** 12n);
const flopRate = (value) => `${siFloat(value)}FLOP/s`.replace(/(\d)FLOP/, "$1 FLOP");

function profileFigures(profile) {
  const { totals, runs, peak } = profile, { work } = totals;
  const spread = ({ least, most }) => (least === most ? null : `${nanoseconds(least)} to ${nanoseconds(most)}`);
  const executed = big(work.flops) + big(totals.flops_without_kernel);
  const kernels = Number(work.time_ns);
  const took = runs.wall_ns && runs.outside_ns === null ? runs.wall_ns.median : kernels + (runs.outside_ns || 0);
  const rate = took > 0 ? 1e9 * Number(executed) / Number(took) : null;
  const left = [runs.warmup > 0 ? `the first ${runs.warmup} left out` : "", runs.other_sizes > 0 ? `${runs.other_sizes} of other sizes left out` : ""];
  return figures([
    runs.wall_ns ? ["Run", nanoseconds(took), spread(runs.wall_ns)] : null,
    ["Kernels", exactly("totals.work.time_ns", BigInt(kernels), nanoseconds(kernels)), spread(runs.kernels_ns)],
    runs.outside_ns === null ? null : ["Outside kernels", exactly("runs.outside_ns", BigInt(runs.outside_ns), nanoseconds(runs.outside_ns)), null],
    ["FLOPs a run", knownText(knownOf(executed, work.lower_bound), si(executed)),
     executed === big(totals.counted_flops) ? "as counted" : [exactly("totals.counted_flops", big(totals.counted_flops), si(big(totals.counted_flops))), " counted"]],
    ["Achieved", rate === null ? "?" : flopRate(rate), "over a run"],
    peak && rate !== null ? ["Of the peak", percentText(rate / peak.flops_per_second), flopRate(peak.flops_per_second)] : null,
    ["Runs", String(runs.used), [profile.source, ...left].filter(Boolean).join(", ")],
  ]);
}

// Three separate figures, and the hybrid of two, which is never mixed with them.
function profileModes(profile) {
  const { estimate_flops: estimate, smart, measured, hybrid } = profile.modes;
  if (!smart && !measured) return null;
  const rows = [["estimate", si(big(estimate)), "the count"]];
  if (smart) rows.push(["smart", siFloat(smart.flops), `the count \u00d7 ${number(smart.ratio)} of ${fileName(smart.calibration)}`]);
  if (measured) {
    rows.push(["measured", si(big(measured.flops)), `${number(measured.executed_to_counted)} \u00d7 the counted ones, ${measured.source}, ` +
                                                    `${plural(measured.kernels.length, "kernel")}, ${fileName(measured.file)}`]);
    rows.push(["hybrid", si(big(hybrid.flops)), `${si(big(hybrid.from_counters))} by counters of ${plural(measured.joined, "kernel")}, ` +
                                                `${si(big(hybrid.from_count))} counted`]);
  }
  const likely = measured ? measured.reasons.map((reason) => h("li", { text: `likely: ${reason}` })) : [];
  return h("section", {}, h("h2", { text: "FLOPs" }), plainTable("FLOPs by source", [["mode"], ["FLOPs", true], ["what it is"]], rows),
           likely.length > 0 ? h("ul", { class: "notes" }, likely) : null);
}

function profileControl(profile) {
  if (profile.control.length === 0) return null;
  const rows = profile.control.slice(0, 200).map((c) => (c.taken || c.taken_as_counted
    ? [c.node, c.op, `branch ${c.taken || "?"}`, c.taken_as_counted ? `branch ${c.taken_as_counted}` : "\u2013", c.differs ? "differs" : "none"]
    : [c.node, c.op, plural(c.bodies.median, "trip"), c.counted || "\u2013", c.differs ? "differs" : "none"]));
  return h("section", {}, h("h2", { text: "Loops and branches" }),
           plainTable("Loops and branches", [["node"], ["operator"], ["ran"], ["counted"], ["difference"]], rows));
}

function profilePage(data) {
  const { profile } = data;
  data.title = fileName(profile.model);
  const { peak, notes: list } = profile;
  const roof = peak && { ...peak, peak_flops_per_second: peak.flops_per_second, peak_source: peak.source };
  const model = { path: `${data.title}: ${fileName(profile.profile)}` };
  modulesPage(data, model, () => [profileFigures(profile), lines([profile.optimized ? ["graph", fileName(profile.optimized)] : null, ["joined", data.joined]])], [`Time of ${data.title}`], null, (view) => h("div", {},
    h("p", { class: "muted", text: "First are the rows that take longest. The gap, time % \u2212 FLOPs %, says which take longer than their share of the FLOPs." +
                             (profile.runs.used > 1 ? " Times are those of the run whose time is the median." : "") }),
    roof ? rooflineChart(roof, view, true) : null, profileModes(profile), profileControl(profile),
    list.length > 0 ? h("section", {}, h("h2", { text: "Notes" }), h("ul", { class: "notes" }, list.map((text) => h("li", {}, h("bdi", { text }))))) : null));
}
