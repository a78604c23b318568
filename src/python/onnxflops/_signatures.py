"""Functions of the engine as functions of Python: inspect.signature() and help() then know their arguments.

The engine describes each of its functions by the text of its signature and of its help, from the tables of
options that the program has. Here they become `def`s with that signature, which call the engine.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

from onnxflops import _core
from onnxflops._errors import InvalidError

_INCOMPATIBLE = "incompatible function arguments"  # nanobind's words, before a list of signatures
_OF_FIT = re.compile(r" \(bind it with (.+?)=N\); bind every other size with dim\S*")
_PLAIN = {"str": str, "int": int, "float": float, "bool": bool}
_BODY = """
    try:
        return _engine({call})
    except TypeError as error:
        if _INCOMPATIBLE not in str(error):
            raise
        raise _named(_shown, locals()) from None
    except InvalidError as error:
        _advise(error, _shown, {sizes})
        raise
"""


def _call(arguments: ast.arguments) -> str:
    """The arguments of a function as a call that hands them on."""
    words = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg is not None:
        words.append(f"*{arguments.vararg.arg}")
    words += [f"{argument.arg}={argument.arg}" for argument in arguments.kwonlyargs]
    if arguments.kwarg is not None:
        words.append(f"**{arguments.kwarg.arg}")
    return ", ".join(words)


def _named(shown: Any, given: dict[str, Any]) -> TypeError:
    """An error of one line, which names the argument of a wrong type."""
    import inspect  # late, as `import onnxflops` should be light

    for name, parameter in inspect.signature(shown).parameters.items():
        words = ["str" if word.startswith("Literal[") else word for word in str(parameter.annotation).split(" | ")]
        kinds = [word for word in words if word != "None"]
        if name not in given or not kinds or not all(word in _PLAIN for word in kinds):
            continue
        value = given[name]
        if not isinstance(value, tuple(_PLAIN[word] for word in kinds)) and not (value is None and "None" in words):
            wanted = " or ".join("an int" if word == "int" else f"a {word}" for word in kinds)
            return TypeError(f"{shown.__name__}(): {name!r} should be {wanted}, not {type(value).__name__}")
    return TypeError(f"{shown.__name__}(): an argument has a type that it does not take: help({shown.__qualname__}) says which it takes")


def _advise(error: InvalidError, shown: Any, sizes: Mapping[str, Any]) -> None:
    """Puts the error in terms of this function: a name that is no size may be that of an argument."""
    import difflib
    import inspect

    text = str(error)
    if shown.__name__ == "fit":
        text = _OF_FIT.sub(r": count(\1=N) binds it, and any other size", text)
    for name in sizes:
        similar = difflib.get_close_matches(name, inspect.signature(shown).parameters, 1, 0.75)
        if similar and f"no symbol is named {name!r}" in text and "did you mean" not in text:
            text += f"; did you mean the argument {similar[0]}=?"
    error.args = (text, *error.args[1:])


def typed(function: Any, owner: str = "") -> Any:
    """A function of the engine with its signature."""
    overloads = function.__nb_signature__
    signature, text, _ = overloads[-1]
    signature = signature.replace("@overload\n", "")
    definition = ast.parse(f"{signature}: ...").body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise TypeError(f"{signature!r} is no function")
    names = {"Any": Any, "Literal": Literal, "Mapping": Mapping, "PathLike": PathLike, "Sequence": Sequence, "InvalidError": InvalidError}
    names.update(_engine=function, _named=_named, _advise=_advise, _INCOMPATIBLE=_INCOMPATIBLE)
    sizes = "()" if definition.args.kwarg is None else definition.args.kwarg.arg
    exec(f"from __future__ import annotations\n{signature}:{_BODY.format(call=_call(definition.args), sizes=sizes)}", names)
    made: Any = names[definition.name]
    names["_shown"] = made
    made.__doc__ = text
    made.__module__ = "onnxflops"
    made.__qualname__ = owner + definition.name
    return made if len(overloads) == 1 else _any_of(function, made)


def _any_of(function: Any, shown: Any) -> Any:
    """An overloaded function, which shows the signature of its last form."""

    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except TypeError as error:
            if _INCOMPATIBLE in str(error):
                import inspect

                inspect.signature(shown).bind(*arguments, **options)
            raise
        except InvalidError as error:
            _advise(error, shown, options)
            raise

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
