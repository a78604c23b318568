"""Expressions as text with grouped digits, and as expressions of SymPy."""

from __future__ import annotations

import re
from typing import Any

# How expressions are written: src/symbolic/symbol_name.h. Digits in a name are not numbers.
_QUOTED = r"'(?:\\.|[^'\\])*'"
_TOKEN = re.compile(
    r"(?P<function>(?:floor|min|max|broadcast)(?=\())"
    rf"|(?P<symbol>(?:[A-Za-z_][A-Za-z0-9_.]*|{_QUOTED})(?:\((?:{_QUOTED}|[A-Za-z0-9_./:-]+)\))?(?:[.#]\d+)*)"
    r"|(?P<number>\d+)|(?P<sign>//|[-+*^/(),])"
)
_FORMAT = re.compile(r"(?P<align>.?[<>=^])?(?P<width>\d+)?(?P<group>[,_])?d?")


def formatted(text: str, spec: str) -> str:
    """The result of format(): alignment, width, and "," or "_" between digits, as for an int."""
    if not spec:
        return text
    found = _FORMAT.fullmatch(spec)
    if found is None or "=" in (found["align"] or ""):
        raise ValueError(f"format {spec!r} of a formula: it may have an alignment, a width, and ',' or '_'")
    group = found["group"]
    if group:
        text = _TOKEN.sub(lambda token: f"{int(token[0]):{group}}" if token["number"] else token[0], text)
    return format(text, f"{found['align'] or '>'}{found['width'] or ''}")


def to_sympy(text: str) -> Any:
    """The same for SymPy. broadcast(a, b) is the size that is not 1."""
    try:
        import sympy
    except ImportError as error:
        raise ImportError("to_sympy() needs SymPy: pip install sympy") from error
    from onnxflops._core import _bare_name

    symbols: dict[str, Any] = {}
    code = []
    for token in _TOKEN.finditer(text):
        if token["symbol"]:
            symbol = symbols.setdefault(token[0], sympy.Symbol(_bare_name(token[0]), integer=True, nonnegative=True))
            code.append(f"s[{list(symbols.values()).index(symbol)}]")
        elif token["number"]:
            code.append(f"Integer({token[0]})")
        else:
            code.append("**" if token[0] == "^" else token[0])
    names = {
        "s": list(symbols.values()),
        "Integer": sympy.Integer,
        "floor": sympy.floor,
        "min": sympy.Min,
        "max": sympy.Max,
        "broadcast": lambda a, b: sympy.Piecewise((b, sympy.Eq(a, 1)), (a, True)),
        "__builtins__": {},
    }
    # Of tokens that are known: numbers, signs, functions and places in the list of symbols.
    return eval("".join(code), names)
