#!/usr/bin/env python3
"""Whether a file that somebody else made holds no more than our comments do: exit code 0, else 1 with the reason.

    tools/ci/plain_comment.py comment.md

The file must follow the grammar of what `--format comment`, `--review` and review.sh write. All else is refused, whatever GitHub
would make of it. So no entity, link, mention, reference, fence, formula or HTML needs to be known here: what we do not write does
not pass. Text of a model is in code spans, which GitHub shows as it is, so a code span may hold anything that can be seen.
"""
import re
import sys

MOST_BYTES = 60_000

# kNotPrintable of src/base/utf8.cc: invisible characters, and those that change the direction of text. A test compares both.
NOT_PRINTABLE = (
    (0x0000, 0x001f), (0x007f, 0x00a0), (0x00ad, 0x00ad), (0x034f, 0x034f), (0x0600, 0x0605), (0x061c, 0x061c), (0x06dd, 0x06dd),
    (0x070f, 0x070f), (0x0890, 0x0891), (0x08e2, 0x08e2), (0x115f, 0x1160), (0x1680, 0x1680), (0x17b4, 0x17b5), (0x180b, 0x180f),
    (0x2000, 0x200f), (0x2028, 0x202f), (0x205f, 0x206f), (0x2800, 0x2800), (0x3000, 0x3000), (0x3164, 0x3164), (0xd800, 0xf8ff),
    (0xfdd0, 0xfdef), (0xfe00, 0xfe0f), (0xfeff, 0xfeff), (0xffa0, 0xffa0), (0xfff0, 0xfffc), (0xfffe, 0xffff), (0x110bd, 0x110bd),
    (0x110cd, 0x110cd), (0x13430, 0x1345f), (0x16fe4, 0x16fe4), (0x1bca0, 0x1bca3), (0x1d159, 0x1d159), (0x1d173, 0x1d17a),
    (0x1fffe, 0x1ffff), (0x2fffe, 0x2ffff), (0x3fffe, 0x10ffff))

# Titles of kQuantities and kDerivedQuantities in src/cost/amounts.h. A test compares both.
QUANTITIES = ("FLOPs", "MACs", "other FLOPs", "integer ops", "params", "param bytes", "bytes read", "bytes written", "foldable FLOPs",
              "activations", "BOPs", "backward FLOPs", "backward MACs", "time bound", "time estimate", "bytes moved", "training FLOPs")
TITLES = ("", "module", "stage", "operator", "nodes", "node", "file", "head", "change", "%", "base", "rule", "limit", "actual", "margin", "verdict",
          "model", "FLOPs", "params", "peak activations", *("base " + title for title in QUANTITIES))
WORDS = ("new", "gone", "passed", "warned", "failed", "skipped", "allowed", "not proven", "error", "unknown", "-")
FOLDS = ("All quantities", "Changes at all sizes", "Modules", "Operators", "Nodes", "Files", "All rules", "Stages")

# Rules below see each code span as this one sign, which no file holds.
CODE = "\0"
# More digits together could be the name of a commit.
NUMBER = r"(?![0-9.,]*[0-9]{7})[0-9][0-9.,]*"
UNIT = r"(?:[kMGTPE]|[kMGTPE]?(?:B|FLOP|MAC|op|%|s|ms|us|ns))"
BOUND = "(?:(?:&gt;|&lt;|>)=(?: |&nbsp;))?"
FIGURE = rf"(?:-|{BOUND}(?:&lt;)?[-+]?{NUMBER}(?:(?: |&nbsp;){UNIT})?(?:(?: |&nbsp;)counted)?)"
SIDES = rf"{FIGURE}(?: \u2192 {FIGURE})?"
# Of the table of a review: a verdict, a change, figures of both sides.
JUDGED = "|".join((*QUANTITIES, "peak activations", "memory", "operators", "domains", "opset", "fixed", "mfu", "profile"))
FAILED = rf"(?:failed|not proven): (?:{JUDGED})(?:, (?:{JUDGED}))*(?: and {NUMBER} more)?"
VERDICT = rf"(?:{FAILED}(?:; {FAILED})?|passed, FLOPs not known|no budget)"
LIMITED = "|".join((*QUANTITIES, "peak activations", "memory"))
CHANGE = (rf"(?:new|gone|unknown|{FIGURE}|with integer ops (?:new|{FIGURE})|(?:{LIMITED}) (?:new|unknown|{FIGURE})|same cost, other file|renamed|"
          rf"takes other inputs|{CODE} fixed at {NUMBER}(?:, {CODE} fixed at {NUMBER})*|{CODE}(?:, {CODE})* now open)")
REVIEW_CELL = rf"(?:{VERDICT}|{CHANGE}(?:; {CHANGE})*|{SIDES}(?:; integer ops {SIDES}| \({SIDES}\))?|memory {SIDES})"
CELL = rf"(?:{CODE}|\*\*{REVIEW_CELL}\*\*|{REVIEW_CELL}|\*\*{CODE}\*\*|(\*\*)?(?:{'|'.join(WORDS)}|{FIGURE}(?: -&gt; {FIGURE})?)(?(1)\*\*))?"
FIRST_CELL = rf"(?:&emsp;)*{CELL}"

MAIN = "(?:FLOPs|MACs|params)"
CHANGED = rf"{MAIN} (?:new|unknown|{BOUND}(?:-|0|&lt;0\.1|[-+]{NUMBER}) %(?: more| less)?(?: counted)?)"
EQUAL = rf"equal {MAIN}(?:, {MAIN})?(?: and {MAIN})?"
COUNTS = rf"; {NUMBER} (?:module|stage)s? (?:changed|new|gone|moved)(?:, {NUMBER} (?:new|gone|moved))*"
RENAMED = rf"; {NUMBER} modules? renamed"
DIFF = rf"there is no base: everything is new|nothing (?:that is counted )?changed|(?:{CHANGED}|{EQUAL})(?:, (?:{CHANGED}|{EQUAL}))*(?:{COUNTS})?(?:{RENAMED})?"
RULES = (rf"(?:{NUMBER} (?:of {NUMBER} )?rules?|{NUMBER} (?:of them not proven|near the limit|allowed by exceptions|not judged)|"
         rf"no rule for {NUMBER} models?|error in {NUMBER} models?)")
CHECK = rf"(?:passed|failed): {RULES}(?:, {RULES})*"
CODES = rf"{CODE}(?:, {CODE})*"
HEADLINE = (rf"(?:error in {NUMBER} of {NUMBER} models?|{NUMBER} of {NUMBER} budgets? failed in {NUMBER} of {NUMBER} models?(?:, {NUMBER} of them not proven)?|"
            rf"all {NUMBER} budgets hold|{NUMBER} budgets? holds?|no budget for {NUMBER} models?|no budget applies to any model|FLOPs not known in {NUMBER} models?|"
            rf"budgets lost by renaming {NUMBER} models?|budgets of {NUMBER} names? without a model|"
            rf"no model changed its cost|open sizes now fixed in {NUMBER} models?|{NUMBER} models? renamed and changed|"
            rf"{NUMBER} (?:allowed by exceptions|not judged|near the limit|models? changed|models? renamed|models? gone|new models?))")

SENTENCE = re.compile("|".join((
    rf"\*\*{CODE}\*\* (?:{DIFF}|{CHECK})",
    rf"Figures at {CODES}(?:, \.\.\.)?\.",
    r"What did not fit is left out: onnxflops (?:diff|check) prints all of it\.",
    rf"\*\*onnxflops: {HEADLINE}(?:; {HEADLINE})*\*\*",
    rf"{NUMBER} models? did not change\.",
    rf"Models that are gone: (?:{CODES}(?: and {NUMBER} other)?|{NUMBER})",
    rf"Not reviewed, since an error came first \(the log says which\): {NUMBER} of {NUMBER} models\.",
    rf"The workflow did not fetch Git LFS files: actions/checkout does with {CODE}\.",
    r"Budgets are read from the base, which has none yet: nothing is held to those that are new here\.",
    r"This pull request changes budgets\. It is held to those of the base; the new ones hold after the merge\."
    r"(?: To accept a higher limit, merge that first\.)?")))
ITEM = re.compile(rf"- (?:(?:model|models|base|budgets|check): )?{CODE}")
MARKER = re.compile(r"<!-- onnxflops:(?:review|(?:diff|check):[A-Za-z0-9_./]*) -->")
OPENING = re.compile(rf"<details><summary>(?:{'|'.join(FOLDS)})</summary>")
RULE_CELL = re.compile(r":---|---:")


class Refused(Exception):
    """The reason."""


def text_of(data):
    if len(data) > MOST_BYTES:
        raise Refused("more than 60,000 bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("it is not UTF-8") from error
    for sign in set(text) - {"\n"}:
        if any(first <= ord(sign) <= last for first, last in NOT_PRINTABLE):
            raise Refused(f"the sign U+{ord(sign):04X}, which cannot be seen")
    if "@" in text:
        raise Refused("a mention")
    return text


def without_code(line):
    """The line with CODE for each code span, and the texts of these. Each ends on its line."""
    rest, codes = "", []
    while "`" in line:
        before, line = line.split("`", 1)
        fence = len(line) - len(line.lstrip("`")) + 1
        line = line[fence - 1:]
        end = re.search(rf"(?<!`)`{{{fence}}}(?!`)", line)
        if not end:
            raise Refused("code without end")
        rest += before + CODE
        codes.append(line[:end.start()])
        line = line[end.end():]
    return rest + line, codes


def cells_of(line):
    """Of a row of a table. A bar divides cells also where it stands in code, unless a backslash is before it."""
    rest, codes = without_code(line)
    if any("|" in code.replace("\\|", "") or code.endswith("\\") or "\\\\|" in code for code in codes):
        raise Refused("a bar in code")
    if not re.fullmatch(r"\|(?: [^|]* \||  \|)+", rest):
        raise Refused("a row that is not as our tables have it")
    return [cell.strip(" ") for cell in rest[1:-1].split("|")]


class Grammar:
    """Lines in their order."""

    def __init__(self):
        self.last = "nothing"  # the kind of the line before
        self.columns = 0
        self.open = False  # a fold

    def require(self, *kinds):
        if self.last not in kinds:
            raise Refused("a line that does not belong here")

    def row(self, line):
        cells = cells_of(line)
        if self.last == "titles":
            if len(cells) != self.columns or not all(RULE_CELL.fullmatch(cell) for cell in cells):
                raise Refused("a table without its second line")
            return "row"
        if self.last == "row":
            first, *others = cells
            if len(cells) != self.columns or not re.fullmatch(FIRST_CELL, first) or not all(re.fullmatch(CELL, cell) for cell in others):
                raise Refused("a cell that is neither code nor a figure")
            return "row"
        self.require("empty")
        self.columns = len(cells)
        if not all(cell in TITLES + (CODE,) for cell in cells):
            raise Refused("a title that our tables do not have")
        return "titles"

    def kind(self, line):
        """Of the next line."""
        if line == "":
            self.require("empty", "marker", "sentence", "item", "row", "fold")
            return "empty"
        if MARKER.fullmatch(line):
            self.require("nothing", "empty")
            return "marker"
        if line.startswith("|"):
            return self.row(line)
        if OPENING.fullmatch(line) or line == "</details>":
            self.require("empty")
            if self.open != (line == "</details>"):
                raise Refused("a fold in a fold, or the end of none")
            self.open = not self.open
            return "fold"
        rest, _ = without_code(line)
        if ITEM.fullmatch(rest):
            self.require("empty", "item")
            return "item"
        if SENTENCE.fullmatch(rest):
            self.require("empty", "marker")
            return "sentence"
        raise Refused("text that our comments do not have")


def check(data):
    """Raises Refused."""
    text = text_of(data)
    if not text.endswith("\n"):
        raise Refused("the last line has no end")
    grammar = Grammar()
    for number, line in enumerate(text[:-1].split("\n"), 1):
        try:
            if number == 1 and not MARKER.fullmatch(line):
                raise Refused("the first line is not ours")
            grammar.last = grammar.kind(line)
        except Refused as error:
            raise Refused(f"line {number}: {error}") from error
    if grammar.open or grammar.last == "titles":
        raise Refused("a fold or a table without end")


def main():
    path = sys.argv[1]
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    try:
        check(data)
    except Refused as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
