"""Functions of the engine as functions of Python: inspect.signature() and help() then know their arguments.

The engine describes each of its functions by the text of its signature and of its help, from the tables of
options that the program has. Here they become `def`s with that signature, which call the engine.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

from onnxflops import _core


def _call(arguments: ast.arguments) -> str:
    """The arguments of a function as a call that hands them on."""
    words = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg is not None:
        words.append(f"*{arguments.vararg.arg}")
    words += [f"{argument.arg}={argument.arg}" for argument in arguments.kwonlyargs]
    if arguments.kwarg is not None:
        words.append(f"**{arguments.kwarg.arg}")
    return ", ".join(words)


def typed(function: Any, owner: str = "") -> Any:
    """A function of the engine with its signature."""
    overloads = function.__nb_signature__
    signature, text, _ = overloads[-1]
    signature = signature.replace("@overload\n", "")
    definition = ast.parse(f"{signature}: ...").body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise TypeError(f"{signature!r} is no function")
    names = {"Any": Any, "Literal": Literal, "Mapping": Mapping, "PathLike": PathLike, "Sequence": Sequence, "_engine": function}
    exec(f"from __future__ import annotations\n{signature}: return _engine({_call(definition.args)})", names)
    made: Any = names[definition.name]
    made.__doc__ = text
    made.__module__ = "onnxflops"
    made.__qualname__ = owner + definition.name
    return made if len(overloads) == 1 else _any_of(function, made)


def _any_of(function: Any, shown: Any) -> Any:
    """An overloaded function, which shows the signature of its last form."""

    def call(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options)

    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(call, name, getattr(shown, name))
    call.__wrapped__ = shown  # type: ignore[attr-defined]
    return call


def install() -> None:
    """Puts them in the place of the engine's functions and methods."""
    for name, value in list(vars(_core).items()):
        if not name.startswith("_") and type(value).__name__ == "nb_func":
            setattr(_core, name, typed(value))
        elif isinstance(value, type) and value.__module__.endswith("_core"):
            for method, function in list(vars(value).items()):
                if not method.startswith("_") and type(function).__name__ == "nb_method":
                    setattr(value, method, typed(function, f"{value.__name__}."))
