"""The work of a training step: the one place that interprets its sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Optional, Union

from onnxflops._core import Model, Report
from onnxflops._errors import InvalidError, UnavailableError

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _number(size: str) -> Optional[int]:
    return int(size) if size.isdigit() else None


class StepWork:
    """FLOPs of a step by its sizes.

    A size is a symbol of the model's inputs; "batch" and `tokens` also mean the batch and the number of
    tokens under another name. A size that the model does not have, or has fixed at another number, is an
    error: a step of 256 samples never counts as one.
    """

    def __init__(self, model: Union[Model, Report], tokens: str = "seq", per_sample: bool = False) -> None:
        report = model.count() if isinstance(model, Model) else model
        document = report.to_dict()
        if document["convention"] != "onnxflops":
            raise UnavailableError("the report has no FLOPs of training: count() without convention= has")
        if report.training_flops is None:
            raise UnavailableError("nothing of the model is counted: Model.count() says what, and rules= gives its cost")
        training = document.get("training") or {}
        if training.get("attention") == "flash":
            raise InvalidError("MFU has no recomputation: count() with attention='math'")
        self.flops = report.training_flops
        self.lower_bound = bool(document["coverage"]["lower_bound"] or training.get("unknown"))
        self.inputs: dict[str, list[str]] = {x["name"]: x["shape"] for x in document["inputs"] if x.get("shape")}
        self._per_sample = per_sample
        self._bound: dict[str, int] = dict(document["bindings"])
        self.origins: dict[str, str] = {
            x["name"]: x["origin"]["value"] for x in document["symbols"] if x["origin"]["kind"] == "input"
        }
        rows = [x for x in document["inputs"] if x.get("shape")]
        ids = [x for x in rows if x["dtype"] in _INTEGERS and len(x["shape"]) == 2 and "mask" not in x["name"]]
        # "batch" and `tokens` in the model: a symbol, a number, or None.
        self._named: dict[str, str] = {}
        if ids or rows:
            self._named["batch"] = (ids or rows)[0]["shape"][0]
        if ids:
            self._named[tokens] = ids[0]["shape"][1]
        if per_sample:
            self._check_per_sample(document)

    def _check_per_sample(self, document: Mapping[str, Any]) -> None:
        batch = self._named.get("batch", "")
        if _number(batch) is None or self._bound.get("batch") is not None:
            raise InvalidError("per_sample=True is for a file that fixes its batch: this model has it open; leave it out of count()")
        for row in [*document["inputs"], *document["outputs"]]:
            shape = row.get("shape") or []
            if shape and shape[0] != batch:
                raise InvalidError(
                    f"per_sample=True: {row['name']!r} has the shape {'x'.join(shape)}, and a batch is {batch}: "
                    "FLOPs may not be so many for each sample. count(at_batch='batch') opens the batch"
                )

    def symbol(self, name: str) -> str:
        """The model's name of a size."""
        return name if name in self.origins or name in self._bound else self._named.get(name, "")

    @property
    def needs(self) -> set[str]:
        """The sizes that a step has to give."""
        return set() if isinstance(self.flops, int) else set(self.flops.symbols)

    def flops_of(self, sizes: Mapping[str, int]) -> int:
        """Of a step of these sizes, forward and backward."""
        found: dict[str, int] = {}
        samples, batch = 1, 1
        for name, size in sizes.items():
            if not isinstance(size, Integral) or size < 1:
                raise InvalidError(f"a step has {name} = {size!r}: it should be a whole number of 1 or more")
            symbol = self.symbol(name)
            if symbol in self.origins:
                found[symbol] = size
                continue
            fixed = self._bound.get(symbol, _number(symbol))
            if fixed is None:
                raise InvalidError(f"the model has no size {name}. It has {self._list()}")
            if fixed == size:
                continue
            if name != "batch" or not self._per_sample:
                raise InvalidError(self._fixed(name, symbol, fixed, size))
            samples, batch = size, fixed
        if isinstance(self.flops, int):
            return self.flops * samples // batch
        missing = sorted(self.needs - set(found))
        if missing:
            raise UnavailableError(f"a step needs the sizes {', '.join(missing)}: step({missing[0]}=...)")
        return self.flops.evaluate(**{name: size for name, size in found.items() if name in self.needs})

    def flops_of_samples(self, sizes: Mapping[str, int], samples: Mapping[str, Sequence[int]], packed: bool = False) -> int:
        """Of a step of samples that have these sizes each, forward and backward."""
        batch = self.symbol("batch")
        if isinstance(self.flops, int) or batch not in self.origins:
            raise InvalidError("samples of different lengths need a model with an open batch and open lengths: count() with neither")
        lists: dict[str, Sequence[int]] = {}
        for name, values in samples.items():
            symbol = self.symbol(name)
            if symbol not in self.origins:
                raise InvalidError(f"the model has no open size {name}. It has {self._list()}")
            lists[symbol] = values
        given = {self.symbol(name): size for name, size in sizes.items()}
        for name in given:
            if name not in self.origins or name in lists or name == batch:
                raise InvalidError(f"a step of samples has no other size {name}: it has {', '.join(sorted(lists))} of each sample")
        missing = sorted(self.needs - set(given) - set(lists) - {batch})
        if missing:
            raise UnavailableError(f"a step needs the sizes {', '.join(missing)}: step({missing[0]}=...)")
        left = self.flops.substitute(**{name: size for name, size in given.items() if name in self.needs})
        summed = left if isinstance(left, int) else left.sum_over(batch, packed=packed, **lists)
        return int(summed)

    def check_shape(self, name: str, shape: Sequence[int]) -> None:
        """Raises an error if a tensor's size, except on the first axis, differs from a size that the input fixes."""
        declared = self.inputs.get(name, [])
        if not declared:  # under another name, if only one has so many axes
            same = [x for x in self.inputs.values() if len(x) == len(shape)]
            declared = same[0] if len(same) == 1 and len(shape) > 2 else []
        if len(declared) != len(shape):
            return
        for axis, (fixed, size) in enumerate(zip(declared, shape)):
            if axis > 0 and _number(fixed) not in (None, int(size)):
                raise InvalidError(
                    f"a batch has {name} of {'x'.join(map(str, shape))}, and the file fixes it at {'x'.join(declared)}: "
                    "export the model at the sizes of the training"
                )

    def _list(self) -> str:
        return "the sizes " + ", ".join(sorted(self.origins)) if self.origins else "no open sizes: the file fixes them"

    def _fixed(self, name: str, symbol: str, fixed: int, size: int) -> str:
        if symbol in self._bound:
            return (
                f"a step has {name} = {size}, and count() or dim= fixed {symbol} = {fixed}: "
                "leave it out of count(), and each step gives it"
            )
        text = f"a step has {name} = {size}, and the file fixes it at {fixed}: "
        if name != "batch":
            return text + f"export the model with an open {name}"
        return text + "count(at_batch='batch') opens it, or per_sample=True counts the FLOPs of a sample for each"
