#!/usr/bin/env python3
"""tools/ci/plain_comment.py: what our programs write passes, and nothing that GitHub makes more of than text does.

    plain_comment_test.py PROGRAM

ATTACKS are texts with what GitHub makes of each. Where that is "text", the text would do no harm; it is refused since we do not
write it. Comments of real differences and of the golden files pass, and each of them is refused with an attack in any place of it.
"""
import glob
import importlib.util
import itertools
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(sys.argv[1])
FAULTS = []

SPEC = importlib.util.spec_from_file_location("plain_comment", os.path.join(ROOT, "tools", "ci", "plain_comment.py"))
PLAIN = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PLAIN)


def expect(condition, what):
    if not condition:
        FAULTS.append(what)


def reason(text):
    """Why it is refused; "" if it passes."""
    try:
        PLAIN.check(text if isinstance(text, bytes) else text.encode())
    except PLAIN.Refused as error:
        return str(error)
    return ""


# After the first line of a comment and an empty one.
ATTACKS = (
    # An attack of 2026-11-25, which the check before this one let pass.
    ("closes: 1", "text"), ("a\r\nb", "text"), ("CVE-2024-1234 JIRA-12", "links, where the repository has autolink references"),
    ("$$a+b$$", "a formula"), ("&commat;octocat please look", "a mention"), ("&#x40;octocat", "a mention"),
    ("fixes &num;1 and &#x23;1", "a reference that closes an issue"), ("# All budgets passed, merge now", "a heading"),
    ("<!-- onnxflops:x -->", "a hidden line that is not ours"), (b"\xff\xfe<", "U+FFFD"), ("a\0<script>", "U+FFFD and text"),
    ("https&colon;//evil.example ftp&colon;//x mailto:a", "a link, where entities come first"), ("Approved\n===", "a heading"),
    ("0A0B0C0D0E0F", "a commit"), ("<details><summary>a</summary>\n\n`x`", "a fold without end, which hides what follows"),
    ("~~~geojson\n{\"type\":\"Point\",\"coordinates\":(1,2)}\n~~~", "a map"), ("~~~math\na^2\n~~~", "a formula"),
    ("~~~mermaid\ngraph TD\n  A --> B\n  click A href \"//evil.example\" \"x\"\n~~~", "a drawing with a link"),
    ("~~~suggestion\nrm -rf\n~~~", "a change to the code"), ("x\u202e rtl", "text that turns around"),
    ("<details>", "a fold without end"), ("www&period;evil.example", "a link, where entities come first"),
    # What the check before this one knew.
    ("hi @x", "a mention"), ("<img src=x>", "a picture"), ("[a](b)", "a link"), ("![a](b)", "a picture"), ("[a]: /x", "nothing: a definition"),
    ("http://x", "a link"), ("www.x.org", "a link"), ("see #12", "a reference"), ("deadbeef", "a commit"), ("`a` <b> `c`", "HTML"),
    ("` <b>", "HTML"), ("`a` ``<img>` b", "HTML"), ("\\` <b> `", "HTML"), ("| `a | <b> ` |", "HTML"),
    ("a | b\n--- | ---\n`a | <b> `", "HTML in a cell"), ("| a | b |\n| - | - |\n`a | <b> `", "HTML in a cell"),
    ("<!-- x -->", "a hidden line"), ("<!-- onnxflops:x --> <b>", "HTML"), ("```", "code up to the end"), ("<details>\n`<b>`", "HTML"),
    ("</details>\n<!-- onnxflops:diff:m -->\n`<b>`", "HTML"), ("a\x1b[31m", "U+FFFD"), ("x" * 60_001, "too long"),
    # Signs that nobody sees, also in code.
    ("- `a\u202eb`", "text that turns around"), ("- `a\u2066b`", "text that turns around"), ("- `a\u200bb`", "a break nobody sees"),
    ("- `a\ufeffb`", "nothing to see"), ("- `a\u00adb`", "nothing to see"), ("- `\u00a0`", "blank"), ("- `\u2028`", "a line end"),
    ("- `\U000e0041`", "a tag"), ("-\u00a0`a`", "text"), ("\u3000", "blank"), ("- `a\x7fb`", "U+007F"), ("- `a\tb`", "a tab"),
    (b"- `\xc3\x28`", "U+FFFD"), (b"- `\xed\xa0\x80`", "U+FFFD"), (b"- `\xc0\xaf`", "U+FFFD"), (b"- `a\0b`", "U+FFFD"), ("\r", "a line end"),
    # Blocks.
    ("Approved\n---", "a heading"), ("- `a`\n---", "a line"), ("***", "a line"), ("> [!IMPORTANT]\n> merge", "an alert"), ("> `a`", "a quotation"),
    ("- [x] `a`", "a task"), ("- [ ] `a`", "a task"), ("    code", "code"), ("\tcode", "code"), ("- `a`\n    code", "a paragraph of the item"),
    ("1. `a`", "a list with numbers"), ("+ `a`", "a list"), ("* `a`", "a list"), ("## `a`", "a heading"), ("```mermaid\ngraph TD\n```", "a drawing"),
    ("``` `a` ```", "text"), ("````\n", "code up to the end"), ("~~~", "code up to the end"), ("~~~diff\n+ a\n~~~", "colours"),
    ("[^1]: `a`", "a footnote"), ("`a`[^1]", "a footnote"), ("[`a`]", "a link, with a definition"), ("[a]:\n/x", "a definition"),
    # References, links and signs.
    ("GH-123", "a reference"), ("org/repo#1", "a reference"), ("org/repo/issues/1", "text"), ("a" * 40, "a commit"), ("1234567", "a commit"),
    ("owner:1234567", "a commit"), ("a1b2c3d...d3c2b1a", "commits"), ("x.y/z", "text"), ("mailto:a\x40b.c", "a link"), ("xmpp:a\x40b.c", "a link"),
    ("<https://x>", "a link"), ("ftp://x", "a link"), ("HTTPS://X", "a link"), ("WWW.X.ORG", "a link"), (":x:", "an emoji"), ("$a$", "a formula"),
    ("$`a`$", "a formula"), ("**`a`** $`b`$", "a formula"), ("\\(a\\)", "text"), ("~~`a`~~", "a line through it"), ("a  \nb", "a line end"),
    ("a\\\nb", "a line end"), ("&lt;b&gt;", "text"), ("&#60;b&#62;", "text"), ("&#8238;a", "text that turns around"), ("&rlm;a", "text that turns around"),
    ("&ZeroWidthSpace;", "nothing to see"), ("&NewLine;", "a space"), ("&amp;commat;x", "text"), ("&#64;x", "a mention"), ("&#0064;x", "a mention"),
    ("&lsqb;a&rsqb;&lpar;b&rpar;", "text"), ("&dollar;a&dollar;", "text"), ("&grave;a&grave;", "text"), ("&emsp;`a`", "text"),
    # HTML and folds.
    ("<details open><summary>Modules</summary>\n\n</details>", "an open fold"), ("<DETAILS>\n\n</DETAILS>", "a fold"), ("</details>", "the end of none"),
    ("<details><summary>Modules</summary>\n`a`\n\n</details>", "text in HTML"), ("<details><summary>Modules</summary>\n\n- `a`\n</details>", "text"),
    ("<details><summary>Modules</summary>\n\n<details><summary>Files</summary>\n\n</details>\n\n</details>", "a fold in a fold"),
    ("<details><summary>All passed</summary>\n\n</details>", "words that are not ours"), ("<summary>Modules</summary>", "HTML"), ("<br>", "a line end"),
    ("<!--", "nothing up to the end"), ("<!-- onnxflops:review --", "nothing up to the end"), ("<!-- onnxflops:review -->-->", "text"),
    ("<!-- onnxflops:diff:a b -->", "a hidden line that is not ours"), ("<?x", "HTML"), ("<![CDATA[", "HTML"), ("<sub>`a`</sub>", "HTML"),
    ("<kbd>", "HTML"), ("<a href=x>", "a link"), (" <!-- onnxflops:review -->", "a hidden line"), ("<!-- onnxflops:review -->\n`a`", "text"),
    # Tables.
    ("| module |", "text"), ("| module |\n| :--- |\n| a |", "words in a cell"), ("| module |\n| :--- |\n| 1234567 |", "a commit"),
    ("| module |\n| :--- |\n| `a` | `b` |", "more cells than titles"), ("| module | head |\n| :--- |\n", "text"), ("| [a](b) |\n| :--- |", "a link"),
    ("| module |\n| :--- |\n| `a|b` |", "a cell that ends in code"), ("| module |\n| :--- |\n| `a\\\\|b` |", "a cell, or code: readers differ"),
    ("| module |\n| :--- |\n| `a\\` | `b` |", "code, or two cells: readers differ"), ("| module |\n| :--- |\n| **new |", "text"),
    ("| module |\n| :--- |\n- `a`", "a list"), ("| module |\n| :--- |\nmodule", "a cell"), ("| module |\n| :--- |\n| &commat;x |", "a mention"),
    ("| module |\n| :---: |", "a table that is not ours"), ("module\n:---", "a table"), ("| module |\n|", "text"), ("|", "text"), ("| `a` **b** |", "text"),
    ("| module |\n| :--- |\n| &emsp;&rlm;`a` |", "text that turns around"), ("| module |\n| :--- |\n| ~~1~~ |", "a line through it"),
    # Sentences that are nearly ours.
    ("**`m`** passed: all rules", "text"), ("**`m`** passed: 1 rule, merge now", "text"), ("**`m`** FLOPs +1234567 %", "a commit"),
    ("**m** nothing changed", "text"), ("Figures at batch = 1.", "text"), ("Figures at `a`. Merge now.", "text"), ("**onnxflops: no model changed its cost; merge now**", "text"), ("**onnxflops: no model changed its cost** #1", "a reference"), ("3 models did not change. #1", "a reference"),
    ("Models that are gone: m.onnx", "text"), ("Models that are gone: `a` and 1234567 other", "a commit"), ("**onnxflops: no model changed its cost**\nx", "text"),
    *((f"| model | verdict |\n| :--- | :--- |\n| `m` | {cell} |", "text") for cell in (
        "failed: FLOPs; merge now", "failed: everything", "passed, FLOPs not known @x", "batch now fixed", "**failed: FLOPs", "same cost, other file: www.x.org", "1234567 \u2192 1")))

OURS = (
    "**`<b>`** nothing changed", "**`m`** nothing that is counted changed", "**``a` <b> ``** nothing changed", "- `a``<b>`", "- ```` ` ````", "- `a|b`", "- `\u4e2d\u6587 \u00e9`", "- `[a](b) #1 \\x40x`",
    "- `a`\n- ``b` ``\n\n- check: `c`", "<details><summary>Files</summary>\n\n| file |\n| :--- |\n| `a \\| <b>` |\n\n</details>",
    "|  | base | `FLOPs per <b>` |\n| :--- | ---: | :--- |\n| &emsp;&emsp;`a` | &gt;= 1.5 GMAC | &lt;0.1 |\n| **`b`** | **-1,630.00 %** | **not proven** |\n| 48 -&gt; 0 |  | - |",
    "**`m`** FLOPs +12.0 %, MACs &lt;0.1 % more, equal params; 2 modules changed, 1 new, 3 gone, 4 moved; 1 module renamed",
    "**`m`** FLOPs >= +9.7 %, MACs unknown, params &lt;= 0 %", "**`m`** FLOPs +1.0 % counted\n\n- `a`\n- `b`",
    "| base |\n| :--- |\n| unknown |\n| &lt;= +8.2 G |\n| **+1.0 counted** |", "**`m`** equal FLOPs, MACs and params", "**`m`** there is no base: everything is new", "**`m`** FLOPs new, equal MACs and params",
    "**`m`** failed: 2 of 3 rules, 1 of them not proven, 1 near the limit, 1 allowed by exceptions, 1 not judged", "**`m`** passed: 1,000 rules",
    "**`m`** failed: error in 1 model, no rule for 2 models, 7 rules", "**`m`** passed: no rule for 1 model",
    "Models that are gone: `a`, `b` and 2 other", "Models that are gone: 3", "Figures at `batch = 1`, `seq = 2`, ....",
    "<!-- onnxflops:diff:models/m.onnx -->\n**`m`** nothing changed\n\n<!-- onnxflops:check: -->\n**`m`** passed: 1 rule",
    "**onnxflops: 2 of 3 budgets failed in 1 of 2 models, 1 of them not proven; 1 model changed; 2 new models**", "**onnxflops: no model changed its cost**", "**onnxflops: all 12 budgets hold; no model changed its cost**",
    "**onnxflops: error in 1 of 3 models; FLOPs not known in 1 model; 1 budget holds; no budget for 2 models; budgets lost by renaming 1 model; 1 not judged; 1 model changed; open sizes now fixed in 1 model**\n\n| model | verdict | change | FLOPs | params | peak activations |\n| :--- | :--- | ---: | ---: | ---: | ---: |\n"
    "| **`a.onnx`** | **failed: FLOPs, peak activations and 2 more; not proven: MACs** | **FLOPs -85.4 %; with integer ops +14.2 %; param bytes -74.9&nbsp;%; peak activations new; training FLOPs +1,727.1&nbsp;%; `batch` fixed at 2, `seq` fixed at 20; `x` now open** | "
    "**449.1&nbsp;M \u2192 65.56&nbsp;M; integer ops 0 \u2192 447.5 M** | **5.471 M (21.88 MB \u2192 5.530 MB)** | **&gt;= 3 MB** |\n"
    "| `b` | `no model` |  |  |  |  |\n| `c` | passed, FLOPs not known | same cost, other file | 8.2 G |  |  |\n| `d` | no budget | renamed; takes other inputs |  |  |  |\n\n3 models did not change.",
    "This pull request changes budgets. It is held to those of the base; the new ones hold after the merge. To accept a higher limit, merge that first.",
    "The workflow did not fetch Git LFS files: actions/checkout does with `lfs: true`.",
    "<details><summary>All quantities</summary>\n\n- `a`\n\n</details>\n\nNot reviewed, since an error came first (the log says which): 1 of 2 models.")


def comment(text):
    return b"<!-- onnxflops:review -->\n\n" + (text if isinstance(text, bytes) else text.encode()) + b"\n"


def test_attacks():
    for text, made in ATTACKS:
        expect(reason(comment(text)) != "", f"it passes: {text[:60]!r}, of which GitHub makes {made}")
    for text in OURS:
        expect(reason(comment(text)) == "", f"it is refused: {text!r}: {reason(comment(text))}")
    whole = (b"", b"\n", b"<!-- onnxflops:review -->", b"No model changed its cost.\n", b"\xef\xbb\xbf<!-- onnxflops:review -->\n", b"\n<!-- onnxflops:review -->\n")
    for text in whole:
        expect(reason(text) != "", f"it passes: {text!r}")


def test_tables():
    """The lists of the script are those of the program."""
    with open(os.path.join(ROOT, "src", "base", "utf8.cc"), encoding="utf-8") as file:
        ranges = re.search(r"kNotPrintable\[\] = \{(.*?)\n\};", file.read(), re.DOTALL)[1]
    found = tuple((int(first, 16), int(last, 16)) for first, last in re.findall(r"\{(0x\w+), (0x\w+)\}", ranges))
    expect(found == PLAIN.NOT_PRINTABLE, "kNotPrintable of src/base/utf8.cc differs")
    with open(os.path.join(ROOT, "src", "cost", "amounts.h"), encoding="utf-8") as file:
        text = file.read()
    rows = re.search(r"kQuantities\[\] = \{(.*?)\n\};", text, re.DOTALL)[1]
    titles = re.findall(r'\{"\w+", "([^"]+)"', rows) + re.findall(r'Quantity k\w+ = \{\s*"\w+",\s*"([^"]+)"', text)
    expect(tuple(dict.fromkeys(titles)) == PLAIN.QUANTITIES, "titles of quantities differ")


def golden_comments():
    for path in glob.glob(os.path.join(ROOT, "tests", "golden", "*.txt")):
        with open(path, encoding="utf-8") as file:
            for call in re.split(r"(?m)^\$ ", file.read())[1:]:
                output = re.split(r"(?m)^\[(?:stderr|exit \d+)\]$|^# ", call.split("\n", 1)[1])[0]
                if output.startswith("<!-- onnxflops:"):
                    yield os.path.basename(path), output


EVERY = int(os.environ.get("ONNXFLOPS_EVERY", "1"))  # of the pairs of models: tests/sample.h
MODELS = ("lstm", "lstm.static", "mobilenet-v3-large", "resnet50", "custom-op", "gpt2", "clip-vit-b-32.ts17", "maskrcnn-r50")


def made_comments():
    """Of models against each other, and of budgets that hold and do not."""
    with tempfile.TemporaryDirectory() as folder:
        budgets = os.path.join(folder, "b.toml")
        with open(budgets, "w", encoding="utf-8") as file:
            file.write('[budget]\nmacs = "10 GMAC"\nparams = {limit = "1 G", warn = "1 M"}\nbytes_read = "+5%"\n[operators]\nforbid = ["LSTM"]\n')
        paths = [os.path.join(ROOT, "models", name + ".onnx") for name in MODELS]
        options = itertools.cycle(([], ["--by", "node"], ["--by", "op", "--exact"], ["--sort", "bytes_read"], ["--sort", "int_ops", "--exact"]))
        for (base, head), option in itertools.islice(zip(itertools.permutations(paths, 2), options), 0, None, EVERY):
            yield ["diff", base, head, "--format", "comment", *option]
            yield ["check", head, "--against", base, "--budgets", budgets, "--format", "comment"]
        bases = os.path.join(folder, "bases")
        os.mkdir(bases)
        for path, base in zip(paths[:-1], paths[1:]):
            os.symlink(base, os.path.join(bases, os.path.basename(path)))
        yield ["check", *paths, "--against", bases, "--base-missing", "ok", "--no-budgets", "--review", "-"]
        yield ["check", *paths, folder, "--against", bases, "--base-missing", "ok", "--budgets", budgets, "--review", "-", "-o", "/dev/null"]


PIPELINES = ("gpt2.toml", "gpt2-beams.toml", "speculative.toml", "cascade.toml", "sd-tiny")


def comments_on_pipelines():
    """Of pipelines against each other: other stages, open parameters, probabilities, times, budgets that hold and do not."""
    data = os.path.join(ROOT, "tests", "data")
    with tempfile.TemporaryDirectory() as folder:
        budgets = os.path.join(folder, "b.toml")
        with open(budgets, "w", encoding="utf-8") as file:
            file.write('[budget]\nflops = "+5%"\nmemory_bytes = {limit = "1 TB", warn = "1 MB"}\n"params" = "1 k"\n[models.typo.budget]\nmacs = "1 GMAC"\n')
        for base, head in zip(PIPELINES, PIPELINES[1:] + PIPELINES[:1]):
            yield ["diff", *(os.path.join(data, "pipeline", name) for name in (base, head)), "--format", "comment"]
        heads = []
        for base, head in zip(PIPELINES[:3], PIPELINES[1:3] + PIPELINES[:1]):
            for side, name in (("bases", base), ("heads", head)):
                os.makedirs(os.path.join(folder, side), exist_ok=True)
                with open(os.path.join(data, "pipeline", name), encoding="utf-8") as file:
                    text = file.read().replace('"../', f'"{data}/')
                with open(os.path.join(folder, side, base), "w", encoding="utf-8") as file:
                    file.write(text)
            heads.append(os.path.join(folder, "heads", base))
        bases = os.path.join(folder, "bases")
        for options in (["--no-budgets"], ["--no-budgets", "--device", "h100-sxm", "--dtype", "bf16"], ["--budgets", budgets, "-o", "/dev/null"], ["--budgets", budgets, "--dim", "tokens=5", "-o", "/dev/null"]):
            yield ["check", *heads, "--against", bases, "--review", "-", *options]
            yield ["check", *heads, "--against", folder, "--base-missing", "ok", "--review", "-", *options]


def test_ours():
    comments = list(golden_comments())
    expect(len(comments) >= 2, f"golden comments: {comments}")
    for call in itertools.chain(made_comments(), comments_on_pipelines()):
        done = subprocess.run([PROGRAM, *call], capture_output=True, text=True, check=False)
        expect(done.returncode in (0, 1, 2), f"{call}: {done.stderr}")
        expect(done.stdout != "", f"{call}: no comment")
        comments.append((" ".join(os.path.basename(word) for word in call), done.stdout))
    for name, text in comments:
        expect(reason(text) == "", f"{name}: {reason(text)}")
    splice(comments[0][1])


def splice(text):
    """An attack in any place of a comment that passes: a line of its own, at the end of a line, and at its beginning."""
    lines = text.split("\n")
    for attack, i in itertools.product(("&commat;x", "~~~", "[a](b)", "#1", "<b>", "\u202e", "$a$"), range(len(lines))):
        for line in ([attack, lines[i]], [lines[i] + attack], [attack + lines[i]]):
            expect(reason("\n".join(lines[:i] + line + lines[i + 1:])) != "", f"it passes: {line}")


def main():
    for test in (test_attacks, test_tables, test_ours):
        test()
    print("\n".join(FAULTS))
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
