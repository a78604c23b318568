"""Where an exported graph holds: a class that branches on an open size has one of its branches in the graph.

torch.export gives conditions on open sizes as Python expressions. Those in the language of formulas (docs/rules.md: + - * // min max and
comparisons) go into the graph's metadata, where a count at other sizes is refused; the others are only told.
"""

from __future__ import annotations

import ast
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Limits = Mapping[str, tuple[int, int]]

# Keys of a graph's metadata: a text for people, the formulas with a number behind, and
HOLDS = "onnxflops.holds_where"
CONDITION = HOLDS + "."
FIXED = "onnxflops.fixed_dim."  # with the name of a size behind it, what the export fixed it at

_MOST = 4  # that a warning lists
_SAMPLES = (1, 2, 3, 5, 8, 13, 31, 64, 100, 224, 257, 384, 512, 1000, 1024, 2049)  # sizes that conditions are tried at
_LARGEST = 8192  # that a range is looked for
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class Conditions(NamedTuple):
    """What a graph holds under."""

    formulas: tuple[str, ...] = ()  # that a count checks
    others: tuple[str, ...] = ()  # that are only told

    def broken_at(self, sizes: Mapping[str, int]) -> list[str]:
        """The formulas that do not hold at these sizes. One with a size that is not given may hold."""
        return [formula for formula in self.formulas if names_of(formula) <= sizes.keys() and not _value(formula, sizes)]

    def text(self, limits: Limits) -> str:
        """For people: ranges of sizes, and what is no range; empty if there is nothing to say."""
        ranges: dict[str, range] = {}
        rest: list[str] = []
        of_one: dict[str, list[str]] = {}
        for formula in self.formulas:
            names = names_of(formula)
            if len(names) == 1:
                of_one.setdefault(min(names), []).append(formula)
            else:
                rest.append(formula)
        for name, formulas in of_one.items():
            found = _range_of(name, formulas, limits)
            if found is None:
                rest += formulas
            else:
                ranges[name] = found
        within = {**limits, **{name: (found[0], found[-1]) for name, found in ranges.items()}}
        rest = [formula for formula in (*rest, *self.others) if not holds(formula, within)]
        shown = [*(_range_text(name, found) for name, found in ranges.items()), *rest]
        more = len(shown) - _MOST
        return "; ".join(shown[:_MOST]) + (f" and {more} more" if more > 0 else "")


def conditions_of(texts: Sequence[str], limits: Limits) -> Conditions:
    """Those of torch.export that do not hold at all sizes."""
    formulas: list[str] = []
    others: list[str] = []
    for text in dict.fromkeys(texts):
        if holds(text, limits):
            continue
        try:
            condition = ast.parse(text.replace("torch.sym_", ""), mode="eval").body
        except SyntaxError:
            others.append(text)
            continue
        for part in _parts(condition):
            formula = _formula(part)
            if formula is None:
                others.append(ast.unparse(part))
            elif not holds(formula, limits):
                formulas.append(formula)
    return Conditions(tuple(dict.fromkeys(formulas)), tuple(dict.fromkeys(others)))


def names_of(condition: str) -> set[str]:
    return set(re.findall(r"(?<![\w.])[A-Za-z_]\w*(?![\w.(])", condition)) - {"and", "or", "not"}


def holds(condition: str, limits: Limits) -> bool:
    """Whether a condition of torch.export on open sizes holds at all of many sizes. Single ones may differ (!=)."""
    if " != " in condition:
        return True
    names = sorted(names_of(condition))
    values = {}
    for name in names:
        least, most = limits.get(name, (2, max(_SAMPLES)))
        values[name] = [size for size in (*_SAMPLES, most) if least <= size <= most] or [least]
    functions = SimpleNamespace(sym_min=min, sym_max=max, sym_float=float, sym_int=int)
    try:
        code = compile(condition, "<condition>", "eval")
        for turn in range(len(_SAMPLES) * 5):
            sizes = {name: values[name][turn * (2 * i + 1) % len(values[name])] for i, name in enumerate(names)}
            if not eval(code, {"__builtins__": {"min": min, "max": max}, "torch": functions}, sizes):
                return False
    except Exception:
        return False
    return True


def _parts(condition: ast.expr) -> Iterator[ast.expr]:
    if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
        for part in condition.values:
            yield from _parts(part)
    else:
        yield condition


def _formula(condition: ast.expr) -> str | None:
    """A comparison in the language of formulas; None if it has anything else."""
    if not isinstance(condition, ast.Compare) or len(condition.ops) != 1 or type(condition.ops[0]) not in _COMPARISONS:
        return None
    left, right = _term(condition.left), _term(condition.comparators[0])
    if left is None or right is None:
        return None
    return f"{left} {_COMPARISONS[type(condition.ops[0])]} {right}"


def _term(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant):
        return str(node.value) if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = _term(node.operand)
        return None if operand is None else f"(-{operand})"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max") and not node.keywords:
        operands = [_term(operand) for operand in node.args]
        return None if None in operands else f"{node.func.id}({', '.join(map(str, operands))})"
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _term(node.left), _term(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Mod):
        return f"({left} - {right}*({left}//{right}))"
    operator = _OPERATORS.get(type(node.op))
    return None if operator is None else f"({left}{operator}{right})" if operator != "+" else f"({left} + {right})"


def _value(formula: str, sizes: Mapping[str, int]) -> bool:
    """A formula of _formula(), at sizes of all its names."""

    def of(node: ast.expr) -> int:
        if isinstance(node, ast.Name):
            return sizes[node.id]
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.UnaryOp):
            return -of(node.operand)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return (min if node.func.id == "min" else max)(map(of, node.args))
        if isinstance(node, ast.BinOp):
            left, right = of(node.left), of(node.right)
            operators = {"+": left.__add__, "-": left.__sub__, "*": left.__mul__, "//": left.__floordiv__}
            return operators[_OPERATORS[type(node.op)]](right)
        if isinstance(node, ast.Compare):
            left, right = of(node.left), of(node.comparators[0])
            compared = {"==": left.__eq__, "!=": left.__ne__, "<": left.__lt__, "<=": left.__le__, ">": left.__gt__, ">=": left.__ge__}
            return int(compared[_COMPARISONS[type(node.ops[0])]](right))
        raise ValueError(f"{formula} is no formula")

    return bool(of(ast.parse(formula, mode="eval").body))


def _range_of(name: str, formulas: Sequence[str], limits: Limits) -> range | None:
    """The sizes at which all hold, if these are a range."""
    least, most = limits.get(name, (1, _LARGEST))
    sizes = [size for size in range(least, min(most, _LARGEST) + 1) if all(_value(formula, {name: size}) for formula in formulas)]
    if not sizes or sizes[-1] - sizes[0] != len(sizes) - 1:
        return None
    return range(sizes[0], most + 1 if sizes[-1] == min(most, _LARGEST) else sizes[-1] + 1)


def _range_text(name: str, found: range) -> str:
    if len(found) == 1:
        return f"{name} = {found[0]}"
    return f"{name} is at least {found[0]}" if found[-1] >= _LARGEST else f"{name} is {found[0]} to {found[-1]}"
