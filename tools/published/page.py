#!/usr/bin/env python3
"""Writes docs/published.md, docs/published/*.md, docs/published-table.html and src/settings/zoos.csv from the rows in tests/data/published/.

  tools/published/page.py            writes them
  tools/published/page.py --check    fails if one of them is not that of the rows

NAME.csv are rows of reproduce.py, NAME_tools.csv those of ask_tool.py; reasons.csv says by hand why a figure is not reproduced, tables.csv what
the zoos' tables are, and not_run.csv their figures that have not been run.
"""
import csv
import html
import io
import json
import os
import sys
import textwrap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reproduce  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(ROOT, "tests", "data", "published")
COMMAND = "tools/published/page.py"
WRITTEN = f"<!-- written by {COMMAND} from tests/data/published/ -->"
BACK = "[Published figures, reproduced](../published.md) has the other tables, and how the figures are made."


def read(name):
    path = os.path.join(DATA, name)
    if not os.path.exists(path):
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def key_of(row):
    return row["zoo"], row["model"], row["size"], row["quantity"]


def rows_of(zoo):
    """The rows of a zoo, each with what its own tool gives and why it is not reproduced."""
    tools = {key_of(row): row for row in read(f"{zoo}_tools.csv")}
    reasons = {key_of(row): row["reason"] for row in read("reasons.csv")}
    rows = read(f"{zoo}.csv")
    for row in rows:
        row["tool"] = tools.get(key_of(row), {}).get("figure", "")
        row["counter"] = tools.get(key_of(row), {}).get("tool", "")
        if row["verdict"] != "same":
            row["reason"] = reasons.get(key_of(row)) or found_reason(row)
    return rows


def found_reason(row):
    if row["verdict"] == "not built":
        return "Not built: " + row["reason"]
    if row["tool"] and row["tool"] == row["theirs"]:
        return "The tool itself gives our figure for this module: the published one is of another version, input or program."
    if row["tool"]:
        return f"The tool itself gives {int(row['tool']):,} for this module: the reason is not known yet."
    return "The reason is not known yet."


def padded(row):
    """The published figure with all decimals of its zoo, whose tables leave zeros at the end out."""
    decimals = next(decimals for _, quantity, _, decimals, _ in reproduce.ZOOS[row["zoo"]] if quantity == row["quantity"])
    number, _, unit = row["published"].partition(" ")
    if row["zoo"] == "mmpretrain" and reproduce.step_of(number, 0, 0) > 1:
        places = 9 - len(str(reproduce.step_of(number, 0, 0))) + 1
        return f"{int(number) / 10 ** 9:.{places}f} G"
    whole, _, part = number.partition(".")
    return f"{whole}.{part.ljust(decimals, '0')} {unit}" if decimals else f"{grouped(number)} {unit}".rstrip()


def grouped(number):
    return f"{int(number):,}" if number else ""


def percent(part, whole):
    """Rounded down: 99.9 % is not all."""
    return f"{1000 * part // whole / 10:.1f} %" if part < whole else "all"


# ---- the page in Markdown

WHERE = {"macs": "MACs", "activations": "activations", "params": "parameters"}


def wrapped(text):
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def shares(tables, zoos):
    lines = ["| table | figures | run | same to the last digit | of those run |", "|---|---:|---:|---:|---:|"]
    for table in tables:
        zoo, quantity = table["zoo"], table["quantity"]
        rows = [row for row in zoos[zoo] if row["quantity"] == quantity]
        same = sum(row["verdict"] == "same" for row in rows)
        lines.append(f"| [{zoo}](published/{zoo}.md), {WHERE[quantity]} | {int(table['figures']):,} | {len(rows):,} | {same:,} | {percent(same, len(rows))} |")
    return lines


def zoo_page(zoo, tables, rows):
    text = [f"# Published figures of {zoo}", "", WRITTEN, "", wrapped(tables[0]["about"]), ""]
    for table in tables:
        of = [row for row in rows if row["quantity"] == table["quantity"]]
        models = len({(row["model"], row["size"]) for row in of})
        asked = [row for row in of if row["tool"]]
        equal = sum(row["tool"] == row["theirs"] for row in asked)
        line = f"- **{WHERE[table['quantity']]}**: {table['counts']} Run here: {models:,} of {int(table['figures']):,}."
        if asked:
            line += f" {asked[0]['counter']} ran on {len(asked):,} of these modules and gave our figure, to the last integer digit, for {equal:,}."
        text += [textwrap.fill(line, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)]
    built = {}
    for row in rows:
        if row["verdict"] == "same":
            built.setdefault(row["built"], set()).add((row["model"], row["size"]))
    line = f"- **Built** as the first of these that gives all figures: {', '.join(reproduce.BUILDS[zoo])}. " + "; ".join(
        f"{name}: {len(models):,} model{'s' * (len(models) > 1)}" for name, models in built.items()) + "."
    text += [textwrap.fill(line, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False), ""]
    missed = [row for row in rows if row["verdict"] != "same"]
    if missed:
        text += ["| not reproduced | published | here | why |", "|---|---:|---:|---|"]
        for row in missed:
            size = f" at {row['size']}" if row["size"] else ""
            text.append(f"| {row['model']}{size} | {padded(row)} {WHERE[row['quantity']]} | {grouped(row['theirs']) or 'not built'} | {row['reason'].replace('|', '/')} |")
    else:
        text.append("Every figure that was run is reproduced.")
    return "\n".join([*text, "", wrapped(BACK), ""])


def name_of(row):
    return row["model"].replace("3_5", "3.5").replace("_", " ")


def throughput_page(rows):
    """NVIDIA's table of rates of training: the FLOPs of a token that it implies."""
    known = [row for row in rows if row["least"]]
    same = sum(row["verdict"] == "same" for row in known)
    text = ["# Published rates of training with Megatron-Bridge", "", WRITTEN, "",
            wrapped("docs/performance-summary.md of NVIDIA-NeMo/Megatron-Bridge at 067f987 has tokens and TFLOP a second of each GPU, and no FLOPs. Their quotient is the FLOPs of a "
                    "token in a training step. Samples a second are whole numbers in this table, and so are TFLOP, so that a row has two bounds. "
                    f"num_floating_point_operations, from the published configuration, is between the bounds in {same} of {len(known)} rows. "
                    "Our own figure is 3 times the products of `onnxflops --causal half`."), "",
            "| model, system | published, GFLOP | the function | ours | why ours differs |", "|---|---:|---:|---:|---|"]
    outside = [row for row in known if row["verdict"] != "same"]
    for number, row in enumerate(known):
        why = "" if number > 0 and known[number - 1]["model"] == row["model"] else row["why"]
        figure = row["megatron_bridge"] + ("" if row["verdict"] == "same" else ", outside")
        text.append(f"| {name_of(row)}, {row['system']} | {row['least']} to {row['most']} | {figure} | {row['ours']} | {why} |")
    for row in outside:
        bound = float(row["most"]) if float(row["megatron_bridge"]) > float(row["most"]) else float(row["least"])
        far = 100 * abs(float(row["megatron_bridge"]) / bound - 1)
        others = [other for other in known if other["model"] == row["model"]]
        disjoint = max(float(other["least"]) for other in others) > min(float(other["most"]) for other in others)
        excluded = " The bounds of the rows of this model exclude each other, so that no figure is between both." if disjoint else ""
        text += ["", wrapped(f"{name_of(row)} on {row['system']} is {far:.3f} % outside of its bounds.{excluded}")]
    return "\n".join([*text, "", wrapped(BACK), ""])


def model_zoo_page(rows):
    """Open Model Zoo's figures beside those of its tool."""
    same = sum(row["verdict"] == "same" for row in rows)
    pooled = sum(row["verdict"] == "same with one output" for row in rows)
    text = ["# Published figures of Open Model Zoo", "", WRITTEN, "",
            wrapped("The column GFLOPs of openvinotoolkit/open_model_zoo at 7ef5b91, of models that timm and torchvision have. OpenVINO's Model Analyzer "
                    "(d9fe351) ran on what Model Optimizer 2023.3 makes of our export (opset 11, random weights), with a mean and a scale of each channel as the "
                    f"zoo has them. Of {len(rows)} figures {same} are the same to the last digit, {pooled} more with the older operator of max "
                    f"pooling, and {len(rows) - same - pooled} are not."), "",
            wrapped("The convention model_analyzer counts the file, in which mean and scale are not: they are 2 FLOPs for each element of the input, 301,056 for an "
                    "image of 224 x 224."), "",
            "| model | built from | published | the tool | one output of max pooling | the convention | same | why not |", "|---|---|---:|---:|---:|---:|---|---|"]
    for row in rows:
        figures = " | ".join(grouped(row[name]) for name in ("tool", "tool_one_output", "convention"))
        text.append(f"| {row['model']} | {row['built']} | {row['published']} | {figures} | {row['verdict']} | {row['reason']} |")
    return "\n".join([*text, "", wrapped(BACK), ""])


def markdown(tables, zoos):
    rows = [row for zoo in zoos.values() for row in zoo]
    same = sum(row["verdict"] == "same" for row in rows)
    left = sum(int(table["figures"]) for table in tables) - len(rows)
    text = ["# Published figures, reproduced", "", WRITTEN, "",
            wrapped(f"**{len(rows):,} published figures were run. {same:,} come out the same, to the last digit that the zoo prints. "
                    f"{len(rows) - same:,} do not.** {left:,} more figures of these tables have not been run yet."), "",
            wrapped("Each model is built without weights from its package, exported, and counted by the convention of the tool that made the zoo's figure. "
                    "No rule is bent for a row: rules come from the tools' sources. For a figure that is not the same, the tool that the zoo uses runs on the same "
                    "module, too: its result is the second opinion."), "",
            wrapped("[published-table.html](published-table.html) is the searchable table: one file without a network, with every row, its figure by our own "
                    "definition, and why two figures differ. Download it and open it in a browser."), ""]
    text += shares(tables, zoos) + [""]
    text += [wrapped("The page of a table says what its figures count, what they leave out, and why each figure that is not the same differs. "
                     "[Rates of training with Megatron-Bridge](published/megatron-bridge.md) are another kind of figure: TFLOP/s and tokens a second, "
                     "whose quotient is the FLOPs of a token. [Open Model Zoo](published/open_model_zoo.md) has figures of OpenVINO's Model Analyzer."), ""]
    text += ["## Two figures for one model", "",
             wrapped("These rows of public tables cannot both be the cost of the same thing. The last column says what differs."), "",
             "| model | figures | what differs |", "|---|---|---|"]
    text += [f"| {row['model']} | {row['figures']} | {row['differs']} |" for row in read("contradictions.csv")]
    text += ["", "## Run it again", "",
             wrapped("The tables are public: [tests/data/README.md](../tests/data/README.md#published-figures) names them, and the versions. A run that was "
                     "stopped goes on, and a model that has a row is not built again."), "",
             "```", "pip install onnxflops timm torchvision pytorchcv torch onnxscript fvcore",
             "tools/published/reproduce.py timm timm.csv tests/data/published/timm.csv",
             "tools/published/ask_tool.py tests/data/published/timm.csv tests/data/published/timm_tools.csv",
             "tools/published/nemo.py MEGATRON_BRIDGE nemo_26_08.csv tests/data/published/nemo.csv", "tools/published/page.py", "```", ""]
    return "\n".join(text)


# ---- the searchable table

def page(tables, zoos):
    with open(os.path.join(ROOT, "tools", "published", "page.html"), encoding="utf-8") as file:
        template = file.read()
    rows, reasons, built = [], [], []

    def index(table, text):
        if text not in table:
            table.append(text)
        return table.index(text)

    for zoo, of in zoos.items():
        for row in of:
            rows.append([list(zoos).index(zoo), row["model"], row["size"], row["quantity"][0], padded(row), int(row["theirs"] or 0),
                         int(row["ours"] or 0), int(row["params"] or 0), ["same", "differs", "not built"].index(row["verdict"]),
                         index(reasons, row["reason"] if row["verdict"] != "same" else ""), index(built, row["built"]), int(row["tool"] or 0)])
    same = sum(row[8] == 0 for row in rows)
    about = [{"zoo": zoo, "counts": {table["quantity"][0]: table["counts"] for table in tables if table["zoo"] == zoo},
              "convention": {table["quantity"][0]: " or ".join(dict.fromkeys(row["convention"] for row in of if row["quantity"] == table["quantity"]))
                              for table in tables if table["zoo"] == zoo}} for zoo, of in zoos.items()]
    data = json.dumps({"zoos": about, "reasons": reasons, "built": built, "rows": rows}, separators=(",", ":"), ensure_ascii=False)
    figures = [("figures run", f"{len(rows):,}"), ("same to the last digit", f"{same:,}"), ("not reproduced", f"{len(rows) - same:,}"),
               ("not run yet", f"{sum(int(table['figures']) for table in tables) - len(rows):,}")]
    return (template.replace("{{figures}}", "".join(f"<div><dt>{html.escape(name)}</dt><dd>{value}</dd></div>" for name, value in figures))
            .replace("{{data}}", data.replace("<", "\\u003c")))


# ---- the table of `onnxflops audit --zoo`

UNITS = {"macs": "MACs", "activations": "activations"}  # parameters are no cost
CUT = "The zoo's table cuts digits off instead of rounding."
MMCV = "The figure is that of mmcv's older counter, which is no convention of this program: tools/published/zoo_rules.py has its rules."
TRAINING = "The figure is that of mmengine's and fvcore's counter in training mode: 5 for each element of a batch norm instead of 2."


def note(row):
    """What differs from a convention of the program though the figure is the same."""
    if reproduce.is_cut(row["zoo"], row["model"]):
        return CUT
    return MMCV if row["convention"] == "mmcv" else TRAINING if row["built"].endswith("in training mode") else ""


def zoo_table(zoos):
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["zoo", "model", "size", "built", "figure", "reason"])
    for zoo, of in zoos.items():
        for row in of:
            if row["verdict"] != "not built" and row["quantity"] in UNITS:
                unit = UNITS[row["quantity"]]
                out.writerow([zoo, row["model"], row["size"], row["built"], f"{padded(row)} {unit}", row["reason"] if row["verdict"] != "same" else note(row)])
    run = {key_of(row) for of in zoos.values() for row in of}
    for row in read("not_run.csv"):
        if key_of(row) not in run:
            out.writerow([row["zoo"], row["model"], row["size"], "", f"{padded(row)} {UNITS[row['quantity']]}", ""])
    return text.getvalue()


def main():
    tables = read("tables.csv")
    zoos = {zoo: rows_of(zoo) for zoo in dict.fromkeys(table["zoo"] for table in tables)}
    faults = []
    written = {"docs/published.md": markdown(tables, zoos), "docs/published/megatron-bridge.md": throughput_page(read("nemo.csv")),
               "docs/published/open_model_zoo.md": model_zoo_page(read("open_model_zoo.csv")),
               "docs/published-table.html": page(tables, zoos), "src/settings/zoos.csv": zoo_table(zoos)}
    for zoo, of in zoos.items():
        written[f"docs/published/{zoo}.md"] = zoo_page(zoo, [table for table in tables if table["zoo"] == zoo], of)
    for name, text in written.items():
        path = os.path.join(ROOT, name)
        if "--check" not in sys.argv[1:]:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        elif not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
            faults.append(f"{name} is not that of tests/data/published/: run {COMMAND}")
    print("\n".join(faults), end="\n" if faults else "")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
