"""The work of a training step: the one place that interprets its sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import isqrt
from numbers import Integral
from typing import Any, Optional, Union

from onnxflops._core import Expr, Model, Report, _audio_chunks, _image_sizes, parse_expr
from onnxflops._errors import InvalidError, OnnxflopsError, UnavailableError

GRID = ("grid_t", "grid_h", "grid_w")
# Of the inputs whose names begin so. Two axes of integers are text.
_MODALITIES = {
    "pixel_values": "image", "image": "image", "video": "image",
    "audio": "audio", "input_features": "audio", "input_values": "audio",
}  # fmt: skip
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _number(size: str) -> Optional[int]:
    return int(size) if size.isdigit() else None


def told_of(error: Exception) -> str:
    """What a warning says of an error: its text, with the type if it is none of onnxflops."""
    return str(error) if isinstance(error, OnnxflopsError) else f"{type(error).__name__}: {error}"


class StepWork:
    """FLOPs of a step by its sizes.

    A size is a symbol of the model's inputs; "batch" and `tokens` also mean the batch and the number of
    tokens under another name. A size that the model does not have, or has fixed at another number, is an
    error: a step of 256 samples never counts as one.
    """

    def __init__(self, model: Union[Model, Report], tokens: str = "seq", per_sample: bool = False) -> None:
        report = model.count() if isinstance(model, Model) else model
        self._of = model
        # Audio in chunks of one size: the symbol, the frames of a chunk and of a second.
        self.chunks: Optional[tuple[str, int, int]] = _audio_chunks(model)
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
        self._per_sample, self._tokens = per_sample, tokens
        self._bound: dict[str, int] = dict(document["bindings"])
        if self.chunks is not None and self.chunks[0] in self._bound:  # count(frames=1250): shorter ones
            self.chunks = (self.chunks[0], self._bound[self.chunks[0]], self.chunks[2])
        self.origins: dict[str, str] = {
            x["name"]: x["origin"]["value"] for x in document["symbols"] if x["origin"]["kind"] == "input"
        }
        # Lengths with which the model was counted.
        self._fine: dict[str, int] = {}
        self._is_config = document["model"].get("producer") == "onnxflops"
        # The sizes that a configuration has learned positions for, or a file rows in a table.
        self._most: dict[str, int] = {x["name"]: x["at_most"]["value"] for x in document["symbols"] if x.get("at_most", {}).get("value")}
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
        self._left: dict[frozenset[str], Union[int, Expr]] = {}
        self._checked = False
        self._sizes_by_kind = self._kinds_of_sizes(rows)
        # The length of audio, if a file leaves one open, and that of the texts of a decoder beside an encoder.
        self.audio = self._sizes_by_kind["audio"][0] if len(self._sizes_by_kind["audio"]) == 1 else ""
        self.decoder = next((x for x in self.inputs.get("decoder_input_ids", [])[1:2] if x in self.origins), "")
        # The sizes of text, images and audio, if the model has open sizes of two of these.
        self.modalities = self._split_sizes()
        # Those of an image.
        own = self._sizes_by_kind["image"]
        self.image_sizes: tuple[str, ...] = GRID if set(GRID) <= set(own) else tuple(own)
        # Tokens that the decoder reads besides those of the text: a formula, or "".
        self.image_formula = self._image_formula(document)
        self._image_code = compile(self.image_formula or "0", "tokens", "eval")

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

    def _kinds_of_sizes(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {"text": [], "image": [], "audio": []}
        for symbol in self.origins:
            for row in rows:
                if symbol not in row["shape"] or symbol == self._named.get("batch"):
                    continue
                kind = next((kind for begin, kind in _MODALITIES.items() if row["name"].startswith(begin)), "")
                if not kind and row["dtype"] in _INTEGERS and len(row["shape"]) == 2:
                    kind = "text"
                if kind:
                    found[kind].append(symbol)
                    break
        return found

    def _split_sizes(self) -> dict[str, list[str]]:
        found = {kind: symbols for kind, symbols in self._sizes_by_kind.items() if symbols}
        if len(found) < 2 or isinstance(self.flops, int):
            return {}
        try:
            for kind in found:
                self._without(x for other in found if other != kind for x in found[other])
        except OnnxflopsError:  # the formula does not take a size of 0
            return {}
        return found

    def _image_formula(self, document: Mapping[str, Any]) -> str:
        """A configuration counts the tokens of the text, and its logits have those of the image too."""
        outputs = [x["shape"] for x in document["outputs"] if len(x.get("shape") or []) == 3]
        if not self._is_config or not outputs or "pixel_values" not in self.inputs:
            return ""
        terms = outputs[0][1].split(" + ")
        text = self._named.get(self._tokens, "")
        if text not in terms or len(terms) < 2:
            return ""
        found = re.sub(r"floor\((\w+)/(\d+)\)", r"(\1//\2)", " + ".join(x for x in terms if x != text))
        if not re.fullmatch(r"[\w+*()/ ]+", found):
            raise UnavailableError(f"the tokens of an image are not known: {found}")
        return found

    @property
    def has_grids(self) -> bool:
        """Whether images are of any size in patches, and their tokens stand among those of the text."""
        return bool(self.image_formula) and set(GRID) <= set(self.origins)

    def image_tokens(self, sizes: Mapping[str, int]) -> int:
        """Of the image of a sample, in the decoder; 0 if they are none, or not apart from those of the text."""
        if not self.image_formula:
            return 0
        try:
            return int(eval(self._image_code, {"__builtins__": {}}, dict(sizes)))
        except NameError as error:
            raise UnavailableError(f"a step needs the sizes of its images: {self.image_formula}") from error

    def check_grids(self, grids: Sequence[Sequence[int]]) -> None:
        """Raises an error for a grid that the tower cannot merge into tokens."""
        if not self.has_grids:
            return
        merge = self.merge
        for i, (_, height, width) in enumerate(grids):
            if height % merge or width % merge:
                raise InvalidError(
                    f"image {i + 1} has {height} x {width} patches, and the model merges {merge} x {merge} into a token: it cannot take it"
                )

    def check_positions(self, sizes: Mapping[str, Sequence[int]], of_samples: bool = False) -> None:
        """Raises an error for a size beyond the positions that a configuration has learned."""
        for name, values in sizes.items():
            symbol, largest = self.symbol(name), max(values, default=0)
            most = self._most.get(symbol)
            if symbol not in self.origins or largest <= (self._fine.get(symbol, 0) if most is None else most):
                continue
            why = "" if self._is_config and most is not None else self._refusal(symbol, largest)
            if not why and most is not None:
                why = f"the {'configuration' if self._is_config else 'model'} has positions for at most {most}"
            if why:
                sample = f"sample {list(values).index(largest) + 1}: " if of_samples else ""
                raise InvalidError(f"{sample}{symbol} = {largest}: {why}")

    def _refusal(self, symbol: str, size: int) -> str:
        """Why a file cannot run with this length, or "": it has no list of its positions, and fails where they end."""
        if not isinstance(self._of, Model) or symbol != self.symbol(self._tokens):
            return ""
        try:
            count: Any = self._of.count
            count(**{symbol: size})
        except OnnxflopsError as fault:
            return str(fault)
        self._fine[symbol] = size
        return ""

    @property
    def merge(self) -> int:
        """Patches down and across that are a token; 1 without grids."""
        side = 5040  # has all likely factors
        return isqrt(side * side // self.image_tokens({"grid_t": 1, "grid_h": side, "grid_w": side})) if self.has_grids else 1

    def symbol(self, name: str) -> str:
        """The model's name of a size."""
        return name if name in self.origins or name in self._bound else self._named.get(name, "")

    @property
    def needs(self) -> set[str]:
        """The sizes that a step has to give."""
        return set() if isinstance(self.flops, int) else set(self.flops.symbols)

    def _without(self, symbols: Any) -> Union[int, Expr]:
        """The formula where these sizes are 0."""
        key = frozenset(symbols)
        if key not in self._left:
            assert not isinstance(self.flops, int)
            self._left[key] = self.flops.substitute(**dict.fromkeys(key & self.needs, 0))
        return self._left[key]

    def _parts(self, total: int, value: Callable[[Union[int, Expr]], int]) -> dict[str, int]:
        """The total by modality: each is what is left of the formula if the sizes of the others are 0.

        The rest is what they cost together: attention between text and image. As SplitByModality() of C++.
        """
        every = {x for symbols in self.modalities.values() for x in symbols}
        if not every:
            return {}
        left = {name: self._without(every - set(symbols)) for name, symbols in self.modalities.items()}
        nothing = self._without(every)
        text = self.symbol(self._tokens)
        if self.modalities.get("text") == [text] and every == {text, *self.image_sizes}:
            left["text"] = nothing = self._decoder()
            if not isinstance(nothing, int) and text in nothing.symbols:
                nothing = nothing.substitute(**{text: 0})
        found = {name: value(formula) - value(nothing) for name, formula in left.items()}
        return {**found, "together": total - sum(found.values())}

    def flops_of(self, sizes: Mapping[str, int]) -> int:
        """Of a step of these sizes, forward and backward."""
        return self.parts_of(sizes)[0]

    def parts_of(self, sizes: Mapping[str, int]) -> tuple[int, dict[str, int]]:
        """The FLOPs of a step of these sizes, and by modality."""
        found: dict[str, int] = {}
        samples, batch = 1, 1
        for name, size in sizes.items():
            if not isinstance(size, Integral) or size < 1:
                raise InvalidError(f"a step has {name} = {size!r}: it should be a whole number of 1 or more")
            symbol = self.symbol(name)
            if symbol in self.origins:
                found[symbol] = int(size)
                continue
            fixed = self._bound.get(symbol, _number(symbol))
            if fixed is None:
                raise InvalidError(f"the model has no size {name}. It has {self.list_of_sizes()}")
            if fixed == size:
                continue
            if name != "batch" or not self._per_sample:
                raise InvalidError(self._fixed(name, symbol, fixed, size))
            samples, batch = int(size), fixed
        if isinstance(self.flops, int):
            return self.flops * samples // batch, {}
        missing = sorted(self.needs - set(found))
        if missing:
            raise UnavailableError(f"a step needs the sizes {', '.join(missing)}: step({missing[0]}=...)")
        self.check_positions({symbol: [size] for symbol, size in found.items()})
        if set(GRID) <= set(found):
            self.check_grids([[found[name] for name in GRID]])

        def value(formula: Union[int, Expr]) -> int:
            return formula if isinstance(formula, int) else formula.evaluate(**{x: found[x] for x in formula.symbols})

        total = value(self.flops)
        return total, self._parts(total, value)

    def flops_of_samples(self, sizes: Mapping[str, int], samples: Mapping[str, Sequence[int]], packed: bool = False) -> int:
        """Of a step of samples that have these sizes each, forward and backward."""
        return self.parts_of_samples(sizes, samples, packed)[0]

    def parts_of_samples(
        self, sizes: Mapping[str, int], samples: Mapping[str, Sequence[int]], packed: bool = False
    ) -> tuple[int, dict[str, int]]:
        """The FLOPs of a step of samples that have these sizes each, and by modality."""
        batch = self._open_batch()
        lists: dict[str, Sequence[int]] = {}
        for name, values in samples.items():
            symbol = self.symbol(name)
            if symbol not in self.origins:
                raise InvalidError(f"the model has no open size {name}. It has {self.list_of_sizes()}")
            lists[symbol] = values
        given: dict[str, int] = {}
        for name, size in sizes.items():
            symbol = self.symbol(name)
            if symbol not in self.origins:
                raise InvalidError(f"a step of samples has no other size {name}: the model has {self.list_of_sizes()}")
            if symbol in lists or symbol == batch:
                raise InvalidError(f"a step of samples has no other size {name}: it has {', '.join(sorted(lists))} of each sample")
            given[symbol] = size
        missing = sorted(self.needs - set(given) - set(lists) - {batch})
        if missing:
            raise UnavailableError(f"a step needs the sizes {', '.join(missing)}: step({missing[0]}=...)")
        self.check_positions({name: [size] for name, size in given.items()})
        self.check_positions(lists, of_samples=True)
        if set(GRID) <= set(lists):
            self.check_grids(list(zip(*(lists[name] for name in GRID))))

        largest = {} if packed else self._largest_row(given, lists)

        def value(formula: Union[int, Expr]) -> int:
            if not isinstance(formula, int):
                formula = formula.substitute(**{name: size for name, size in given.items() if name in formula.symbols})
            if isinstance(formula, int):
                return formula
            once = formula.substitute(**{batch: 0}) if largest else 0
            if isinstance(once, int) or not largest.keys() & set(once.symbols):
                return int(formula.sum_over(batch, packed=packed, **lists))
            # Done once in a run: at the longest row, which has the longest text or the largest image, and seldom both.
            each, all_sizes = formula - once, {**{name: max(values) for name, values in lists.items()}, **largest}
            summed = each if isinstance(each, int) else int(each.sum_over(batch, packed=packed, **lists))
            return summed + once.evaluate(**{name: all_sizes[name] for name in once.symbols})

        assert not isinstance(self.flops, int)
        total = value(self.flops)
        return total, self._parts(total, value)

    def _largest_row(self, given: Mapping[str, int], lists: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """Of samples with text and images in one sequence: the largest image, and the text beside it in the longest row."""
        text = self.symbol(self._tokens)
        images = [name for name in self.image_sizes if name in lists]
        if not self.image_formula or text not in lists or not images:
            return {}
        tokens = [self.image_tokens({**given, **dict(zip(images, sizes))}) for sizes in zip(*(lists[name] for name in images))]
        most = tokens.index(max(tokens))
        return {**{name: lists[name][most] for name in images}, text: max(n + image for n, image in zip(lists[text], tokens)) - max(tokens)}

    def _open_batch(self) -> str:
        batch = self.symbol("batch")
        if isinstance(self.flops, int) or batch not in self.origins:
            raise InvalidError("samples of different lengths need a model with an open batch and open lengths: count() with neither")
        return batch

    def parts_of_rows(
        self, lengths: Sequence[int], images: Optional[Sequence[int]], grids: Sequence[Sequence[int]], packed: bool = False
    ) -> tuple[int, Optional[dict[str, int]]]:
        """The FLOPs of samples with any number of images each, and by modality.

        `lengths` are tokens of text and images, `images` are those of images, if known: they give the modalities.
        The decoder runs over all tokens of a sample, and the tower over each image: no matter whose it is.
        """
        batch, text = self._open_batch(), self.symbol(self._tokens)
        if self.has_grids:
            self.check_grids(grids)
        decoder = self._decoder()

        def summed(rows: Sequence[int]) -> int:
            rows = [n for n in rows if n]
            if not rows or isinstance(decoder, int):
                nothing = decoder if isinstance(decoder, int) else decoder.substitute(**{text: 0})
                return nothing if isinstance(nothing, int) else nothing.evaluate(**{batch: len(lengths)})
            return int(decoder.sum_over(batch, packed=packed, **{text: rows}))

        towers = self._towers(grids) if grids else 0
        total = summed(lengths) + towers
        if images is None:
            return total, None
        nothing = summed([])
        own = summed([n - image for n, image in zip(lengths, images)]) - nothing
        image = summed(images) + towers - nothing
        return total, {"text": own, "image": image, "together": total - own - image}

    def _decoder(self) -> Union[int, Expr]:
        """The FLOPs of samples without an image, by all tokens of the decoder."""
        text, base = self.symbol(self._tokens), self.image_tokens(dict.fromkeys(self.image_sizes, 0))
        left = self._without(self.image_sizes)
        if not base or isinstance(left, int):
            return left
        # An image of no size still has the tokens of the whole: these are not there without an image.
        return parse_expr(re.sub(rf"\b{re.escape(text)}\b", f"({text} - {base})", str(left)))

    def _towers(self, images: Sequence[Sequence[int]]) -> int:
        """The FLOPs of images outside of the decoder: those of samples of an image, less those of as many tokens of text."""
        batch, text = self.symbol("batch"), self.symbol(self._tokens)
        lists = {name: [image[i] for image in images] for i, name in enumerate(self.image_sizes)}
        tokens = [self.image_tokens(dict(zip(self.image_sizes, image))) for image in images]
        if not self._checked:
            self._check_apart(dict(zip(self.image_sizes, images[0])), tokens[0])
            self._checked = True

        def summed(formula: Union[int, Expr], **samples: Sequence[int]) -> int:
            """Without what is done once in a run."""
            if isinstance(formula, int):
                return 0
            each = formula - formula.substitute(**{batch: 0})
            return int(each.sum_over(batch, packed=False, **samples)) if isinstance(each, Expr) else 0

        return summed(self._without({text}), **lists) - summed(self._decoder(), **{text: tokens})

    def _check_apart(self, image: Mapping[str, int], tokens: int) -> None:
        """Raises an error if the tokens of an image do not cost the decoder what those of text do."""
        assert not isinstance(self.flops, int)
        batch, text, decoder = self.symbol("batch"), self.symbol(self._tokens), self._decoder()

        def value(formula: Union[int, Expr], sizes: Mapping[str, int]) -> int:
            return formula if isinstance(formula, int) else formula.evaluate(**{x: n for x, n in sizes.items() if x in formula.symbols})

        found = set()
        for length in (0, 1, 1000):
            for count in (0, 1):
                here = value(self.flops, {batch: count, text: length, **image})
                found.add((count, here - value(decoder, {batch: count, text: length + tokens})))
        if len(found) != 2 or (0, 0) not in found:
            raise UnavailableError("the images of a batch cannot be counted apart from its text in this model")

    def sizes_of_images(self, images: Sequence[tuple[int, int]]) -> list[list[int]]:
        """The sizes of images of a height and a width in pixels, in the order of `image_sizes`."""
        found = [_image_sizes(self._of, height, width) for height, width in images]
        if not self.image_sizes or any(set(sizes) != set(self.image_sizes) for sizes in found):
            raise InvalidError(f"images= is for a config.json of LLaVA-NeXT, which cuts images into tiles: {self._advice_on_images()}")
        return [[sizes[name] for name in self.image_sizes] for sizes in found]

    def _advice_on_images(self) -> str:
        """What gives the images of this model instead."""
        if not self.image_sizes:
            return "this model has no open sizes of images"
        if self.image_sizes == GRID:
            return "grid_thw= has the patches of this model's images"
        sizes = ", ".join(f"{name!r}: [...]" for name in (self.symbol(self._tokens), *self.image_sizes) if name)
        return f"lengths={{{sizes}}} has the sizes of this model's images"

    def frames_of(self, audio: Sequence[Any]) -> list[int]:
        """The frames of each sample's audio: whole numbers are frames, others are seconds, and so is "30s"."""
        found = []
        units = set()
        for i, given in enumerate(audio):
            frames = int(given) if isinstance(given, str) and given.isdecimal() else given
            units.add(isinstance(frames, Integral))
            if len(units) > 1:
                raise InvalidError(f"sample {i + 1}: audio is {given!r:.80}, in other units than the first: write seconds as 30.0 or '30s' throughout")
            if not isinstance(frames, Integral):
                if self.chunks is None:
                    raise InvalidError(f"sample {i + 1}: audio in seconds is for a config.json that tells the frames of a second: give frames")
                try:
                    seconds = float(given[: -len("s")] if isinstance(given, str) and given.endswith("s") else given)
                    frames = round(seconds * 1_000_000) * self.chunks[2] // 1_000_000
                except (TypeError, ValueError, OverflowError):
                    frames = 0
            if isinstance(given, bool) or frames < 1:
                raise InvalidError(f"sample {i + 1}: audio is {given!r:.80}: it should be frames, as 1250, or seconds, as 12.5, of a frame or more")
            found.append(int(frames))
        if not found:
            raise InvalidError("audio should have a length for each sample")
        return found

    def audio_size(self) -> str:
        """The size that is a number of frames, if a file leaves one open."""
        sizes = self._sizes_by_kind["audio"]
        if len(sizes) != 1:
            raise InvalidError(f"the model has {'no' if not sizes else 'several'} open sizes of audio: lengths={{'frames': [...]}} names one")
        return sizes[0]

    def frames(self, sizes: Mapping[str, int], lists: Mapping[str, Sequence[int]], count: int) -> int:
        """Of the audio of so many samples, as the model computes them; 0 without audio."""
        name, whole = (self.audio, 0) if self.chunks is None else self.chunks[:2]
        return sum(lists[name]) if name in lists else count * sizes.get(name, whole)

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

    def has(self, size: str) -> bool:
        """Whether the model names a size so, open or fixed by count()."""
        return size in self.origins or size in self._bound

    def list_of_sizes(self) -> str:
        """The open sizes, as errors name them."""
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
