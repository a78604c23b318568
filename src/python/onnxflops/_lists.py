"""Lists of whole numbers that callers and trainers give."""

from __future__ import annotations

from typing import Any, Optional

from onnxflops._errors import InvalidError


def listed(values: Any) -> list[Any]:
    """Arrays as lists, also those in a list."""
    found = values.tolist() if hasattr(values, "tolist") else values
    if not hasattr(found, "__iter__"):
        raise InvalidError(f"{found!r:.80} should be a list")
    return [listed(x) if isinstance(x, (list, tuple)) or hasattr(x, "tolist") else x for x in found]


def as_whole(value: Any) -> Optional[int]:
    """A number as an array may have it: 512 and 512.0, not 512.5 or True."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def whole(values: Any, name: str, each: str = "number") -> list[int]:
    """The whole numbers of an argument. `each` is what an error calls one of them."""
    items = values.tolist() if hasattr(values, "tolist") else values
    if not hasattr(items, "__iter__") or isinstance(items, (str, bytes)):
        raise InvalidError(f"{name} should be a list of whole numbers, not {values!r:.80}")
    found = []
    for i, item in enumerate(items):
        value = item.tolist() if hasattr(item, "tolist") else item
        number = as_whole(value)
        if number is None:
            raise InvalidError(f"{name} should be whole numbers: {each} {i + 1} is {value!r:.80}")
        found.append(number)
    return found
