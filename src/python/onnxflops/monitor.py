"""MFU in a training loop.

    from onnxflops.monitor import Perf

    perf = Perf(onnxflops.load("gpt2.onnx"), device="h100-sxm", dtype="bf16", every=10)
    for batch in loader:
        ...
        metrics = perf.step(batch=64, seq=1024)   # of the whole step; None but every 10 steps
        if metrics: print(metrics["perf/mfu"])
        if evaluate: perf.pause(); ...; perf.resume()

Samples of different lengths count without padding: perf.step(lengths=[512, 300, 17]), or, packed into
one row, perf.step(cu_seqlens=[0, 512, 812, 829]). Sizes are those of a step on all devices. With
`reduce`, each rank gives its own, and the ranks sum them: Perf(..., reduce=torch_sum). Sinks receive
every result: Perf(..., sinks=[tensorboard("runs/1")]).

For trainers: onnxflops.huggingface and onnxflops.lightning. From a log: `onnxflops monitor`.
"""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

from onnxflops._batch import Rows, grids_of, lists_of, rows_of, sizes_of, told_by
from onnxflops._core import Model, Report, peak_flops_per_second
from onnxflops._errors import InvalidError
from onnxflops._lists import listed, whole
from onnxflops._step import GRID, StepWork, told_of

__all__ = ["Lengths", "Metrics", "Perf", "Reduce", "Sink", "prometheus", "tensorboard", "torch_sum", "wandb"]

_MOST_PENDING = 64  # batches that wait on a device: a byte or more for each token
Metrics = dict[str, float]
# Of the samples of a batch: a list or an array, or one for each of the model's sizes.
Lengths = Union[Sequence[int], Mapping[str, Sequence[int]], Any]
# Of the image or clip of each sample: frames, and patches down and across; [samples, 3]. Or a list of these for each sample.
Grids = Union[Sequence[Sequence[int]], Sequence[Sequence[Sequence[int]]], Any]
# Heights and widths in pixels: of each sample's image, or a list of these for each sample.
Images = Union[Sequence[tuple[int, int]], Sequence[Sequence[tuple[int, int]]], Any]
Sink = Callable[[int, Metrics], None]
# Sums each number over all ranks, and is the same on all of them.
Reduce = Callable[[Sequence[float]], Sequence[float]]


def _is_on_device(values: Any) -> bool:
    """Whether reading it waits for a device."""
    device = str(getattr(getattr(values, "device", None), "type", getattr(values, "device", "cpu")))
    if hasattr(values, "tolist") and device == "meta":
        raise InvalidError("a step has a tensor on the meta device, which has no numbers: give the sizes of a real batch")
    return hasattr(values, "tolist") and device != "None" and not device.startswith("cpu")


def _check_samples(lists: Mapping[str, Sequence[int]]) -> None:
    """Raises an error unless each sample has one size, 1 or more, of every list."""
    for name, values in lists.items():
        if not values:
            raise InvalidError(f"lengths should have a number for each sample: there is no {name}")
        if min(values) < 1:
            raise InvalidError(f"sample {values.index(min(values)) + 1} has {name} = {min(values)}: it should be 1 or more")
    if len({len(values) for values in lists.values()}) > 1:
        found = ", ".join(f"{len(values)} of {name}" for name, values in lists.items())
        raise InvalidError(f"each sample should have one of each size, and a batch has {found}")


def _images_of(grid_thw: Optional[Grids], image_counts: Optional[Sequence[int]]) -> tuple[list[list[int]], Optional[list[int]]]:
    """The grids of all images, and how many each sample has: None if it is one each."""
    rows = [] if grid_thw is None else listed(grid_thw)
    counts = None if image_counts is None else whole(image_counts, "image_counts", "sample")
    nested = any(isinstance(row, list) and (not row or isinstance(row[0], list)) for row in rows)
    if nested and counts is None:
        if any(not isinstance(images, list) or any(not isinstance(grid, list) for grid in images) for images in rows):
            raise InvalidError("grid_thw has a list of grids for some samples, and not for others")
        counts = [len(images) for images in rows]
        rows = [row for images in rows for row in images]
    elif counts is not None and (nested or min(counts, default=-1) < 0 or sum(counts) != len(rows)):
        raise InvalidError(
            "image_counts should be the number of images of each sample, and add up to the grids of grid_thw: "
            f"{image_counts!r:.80}, {len(rows)} grids"
        )
    if (not rows and counts is None) or any(not isinstance(row, list) or len(row) != len(GRID) for row in rows):
        raise InvalidError("grid_thw should be three whole numbers of 1 or more for each image: frames, height and width in patches")
    return _sizes_of_images(rows, "grid_thw"), None if counts and set(counts) == {1} else counts


def _sizes_of_images(rows: Sequence[Any], name: str) -> list[list[int]]:
    """Whole numbers of 1 or more."""
    found = []
    for i, row in enumerate(rows):
        sizes = whole(row, f"{name}: image {i + 1}")
        if min(sizes, default=0) < 1:
            raise InvalidError(f"{name}: image {i + 1} is {sizes}: it should be whole numbers of 1 or more")
        found.append(sizes)
    return found


class _Sums:
    """What batches add up to: FLOPs, tokens, samples, tokens with padding, frames of audio without and with padding, and FLOPs and
    tokens by modality.

    `parts` has the same names on all ranks. `unsplit` counts the batches whose modalities nothing told.
    """

    def __init__(self, work: StepWork) -> None:
        self.flops: float = 0  # whole numbers stay exact
        self.tokens: float = 0
        self.samples: float = 0
        self.places: float = 0
        self.unsplit: float = 0
        self.frames: float = 0
        self.frame_places: float = 0
        self.pending: list[tuple[dict[str, Any], dict[str, int], set[str]]] = []  # batches on a device, to be read later
        self.parts: dict[str, float] = {}
        if work.modalities:
            self.parts.update({f"flops_per_second_{name}": 0 for name in (*work.modalities, "together")})
        if work.image_formula:
            self.parts.update(tokens_per_second_text=0, tokens_per_second_image=0)

    def add(
        self,
        flops: tuple[int, Optional[Mapping[str, int]]],
        tokens: int,
        samples: int,
        places: int,
        images: Optional[int] = None,
        frames: tuple[int, int] = (0, 0),
    ) -> None:
        """A batch: its FLOPs, and by modality; its tokens, and how many of them are those of images; frames without and with padding."""
        total, parts = flops
        self.flops += total
        self.tokens += tokens
        self.samples += samples
        self.places += places
        self.frames += frames[0]
        self.frame_places += frames[1]
        if not self.parts:
            return
        if parts is None or images is None:
            self.unsplit += 1
            return
        for name, part in parts.items():
            self.parts[f"flops_per_second_{name}"] += part
        if "tokens_per_second_image" in self.parts:
            self.parts["tokens_per_second_text"] += tokens - images
            self.parts["tokens_per_second_image"] += images

    @property
    def values(self) -> list[float]:
        own = [self.flops, self.tokens, self.samples, self.places, self.unsplit, self.frames, self.frame_places]
        return [*own, *self.parts.values()]

    @values.setter
    def values(self, values: Sequence[float]) -> None:
        self.flops, self.tokens, self.samples, self.places, self.unsplit, self.frames, self.frame_places, *parts = values
        self.parts = dict(zip(self.parts, parts))


class Perf:
    """Counts steps, and measures MFU every so many of them.

    `model` is a Model, or a Report of one; sizes that vary must be open. A size of a step that the model
    does not have is an error at the first step. If the file fixes the batch, `per_sample` counts its FLOPs
    for each sample of a step. `devices` is the number of devices that share a step: by default the ranks of
    torch.distributed. Sizes of a step are those of all devices; with `reduce` (torch_sum) each rank gives its
    own. The peak is that of `device` in `dtype`, or `peak` in FLOP/s of one device. `tokens`
    names the size that is a number of tokens, for perf/tokens_per_second: a step has batch x tokens, and those
    of images where a configuration has both.
    `first_step` is the number of steps that a resumed training has already done.
    """

    def __init__(
        self,
        model: Union[Model, Report],
        *,
        device: Optional[str] = None,
        dtype: Optional[str] = None,
        peak: Optional[float] = None,
        devices: Optional[int] = None,
        every: int = 10,
        tokens: str = "seq",
        per_sample: bool = False,
        first_step: int = 0,
        reduce: Optional[Reduce] = None,
        sinks: Sequence[Sink] = (),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if (peak is None) == (device is None):
            raise InvalidError("Perf: one of device= (with dtype=) and peak= gives the peak")
        if device is not None:
            if dtype is None:
                raise InvalidError("Perf: device= needs dtype=: what it computes in, such as bf16")
            peak = peak_flops_per_second(device, dtype)
        if peak is None or not 0 < peak < float("inf"):
            raise InvalidError("Perf: the peak should be above 0")
        if not hasattr(every, "__index__") or every < 1 or (devices is not None and devices < 1):
            raise InvalidError("Perf: every and devices should be 1 or more, and every a whole number")
        self._model, self._per_sample = model, per_sample
        self.work = StepWork(model, tokens, per_sample)
        if tokens != "seq" and not self.work.has(tokens):
            raise InvalidError(f"Perf: the model has no size tokens={tokens!r}. It has {self.work.list_of_sizes()}")
        self.flops_per_step = self.work.flops
        self.devices = devices
        self._device_peak = peak
        self._told: set[str] = set()
        self._every, self._tokens, self._reduce, self._clock = every, tokens, reduce, clock
        self._sinks = list(sinks)
        self._step = first_step
        self._mfu: Optional[float] = None
        self._mfu_step = 0
        self._forgives = False  # faults of batches that are read late
        self._paused: Optional[float] = None
        self._begin()

    def _count_as(self, model: Union[Model, Report]) -> None:
        """Counts the steps of this model from here."""
        if model is not self._model:
            self._model, self.work = model, StepWork(model, self._tokens, self._per_sample)
            self.flops_per_step = self.work.flops
            self._begin()

    def now(self) -> float:
        """Seconds, of the clock that steps are measured by."""
        return self._clock()

    def _begin(self) -> None:
        self._start, self._paused = self._clock(), None
        self._steps, self._sums = 0, _Sums(self.work)
        self._pending: list[tuple[Any, ...]] = []
        self._spoilt = False

    def start(self) -> None:
        """Forgets the steps and the time until now: after loading or compiling."""
        self._begin()

    def pause(self) -> None:
        """What follows is no training, until resume(): an evaluation, a checkpoint."""
        if self._paused is None:
            self._paused = self._clock()

    def resume(self) -> None:
        """Training goes on. The time since pause() is not counted."""
        if self._paused is not None:
            self._start += self._clock() - self._paused
            self._paused = None

    @property
    def peak(self) -> float:
        """FLOP/s of all devices."""
        return self._device_peak * (world_size() if self.devices is None else self.devices)

    def flops(self, **sizes: int) -> int:
        """Of a step of these sizes, forward and backward."""
        return self.work.flops_of(sizes)

    def warn(self, text: str, about: str = "") -> None:
        """Says something once: `about` is what, where the text has more than figures that change."""
        about = about or re.sub(r"\d+", "", text)
        if about not in self._told:
            self._told.add(about)
            warnings.warn(f"onnxflops: {text}", RuntimeWarning, stacklevel=3)

    def begin(self, step: int) -> None:
        """Steps are counted from here: where a resumed training goes on. Forgets what was measured."""
        self._step = step
        self._begin()

    def _sum_by(self, reduce: Reduce) -> None:
        """Ranks give their own sizes, and `reduce` sums them, as that of the constructor."""
        self._reduce = reduce

    @property
    def reduces(self) -> bool:
        """Whether ranks give their own sizes."""
        return self._reduce is not None

    def add(
        self,
        *,
        lengths: Optional[Lengths] = None,
        cu_seqlens: Optional[Sequence[int]] = None,
        grid_thw: Optional[Grids] = None,
        image_counts: Optional[Sequence[int]] = None,
        images: Optional[Images] = None,
        audio: Union[Sequence[Any], int, None] = None,
        **sizes: int,
    ) -> None:
        """A batch of the step that goes on: with gradient accumulation a step has several.

        `lengths` has the lengths of the samples in a padded batch: a list or an array, or a dict of these by
        the model's sizes. `cu_seqlens` has the start of each sample in a packed row, and the end of the last;
        the row has the tokens of images, too, and `lengths` those of the text. `grid_thw` has frames, height
        and width in patches of each sample's image, as image_grid_thw has them.
        Samples with several images, or none, have a list of grids each: [[[1, 8, 12]], [[1, 4, 6], [1, 8, 2]], []];
        or `image_counts` says how many of the grids are of each sample: [1, 2, 0].
        `images` has heights and widths in pixels, for models that cut images into tiles; a list of them for
        each sample as well. `audio` has the length of each sample's audio: whole numbers are frames, others
        seconds. A model that takes audio in chunks runs each chunk as a sample, with a text of its own.
        Each may be a tensor on a device; it is read only when a result is due.
        """
        given = cu_seqlens if lengths is None else lengths
        if isinstance(images, int):  # a size of this name
            sizes, images = {**sizes, "images": images}, None
        if isinstance(audio, int):
            sizes, audio = {**sizes, "audio": audio}, None
        if any(x is not None for x in (given, grid_thw, image_counts, images, audio)):
            if lengths is not None and cu_seqlens is not None:
                raise InvalidError("a batch has lengths= or cu_seqlens=, not both")
            if grid_thw is not None and images is not None:
                raise InvalidError("a batch has grid_thw= or images=, not both")
            pending = (given, cu_seqlens is not None, sizes, grid_thw, image_counts, images, audio)
            lists = (*(given.values() if isinstance(given, Mapping) else (given,)), grid_thw, image_counts, audio)
            if any(_is_on_device(x) for x in (*lists, *(grid_thw if isinstance(grid_thw, (list, tuple)) else ()))):
                self._pending.append(pending)
            else:
                self._add_samples(*pending)
            return
        self._add_rectangle(self._sums, sizes)

    def _add_rectangle(self, sums: _Sums, sizes: dict[str, int]) -> None:
        """Samples of the same sizes."""
        flops = self.work.parts_of(sizes)
        samples = sizes.get("batch", 0)
        images = samples * self.work.image_tokens(sizes)
        tokens = samples * sizes.get(self._tokens, 0) + images
        frames = self.work.frames(sizes, {}, samples)
        sums.add(flops, tokens, samples, tokens, images, (frames, frames))

    def _add_samples(
        self,
        given: Any,
        packed: bool,
        sizes: dict[str, int],
        grid_thw: Optional[Grids],
        image_counts: Optional[Sequence[int]],
        images: Optional[Images],
        audio: Optional[Sequence[Any]],
    ) -> None:
        """Samples of different lengths: what is padding counts nothing."""
        named = dict(given) if isinstance(given, Mapping) else {} if given is None else {self._tokens: given}
        pictures, counts = self._pictures_of(named, images, image_counts) if grid_thw is None else ([], None)
        lists = {name: whole(x, "cu_seqlens") if packed else whole(x, self._name_of(name), "sample") for name, x in named.items()}
        if packed:
            ends = lists[self._tokens]
            lists = {self._tokens: [b - a for a, b in zip(ends, ends[1:]) if b != a]}
            if len(ends) < 2 or ends[0] != 0 or min(lists[self._tokens], default=0) < 1:
                raise InvalidError("cu_seqlens should begin with 0 and go up to where the last sample ends")
        if grid_thw is not None:
            pictures, counts = _images_of(grid_thw, image_counts)
        if packed and pictures and self.work.image_formula:
            lists = {self._tokens: self._texts_of(lists[self._tokens], pictures, counts)}
        elif packed and self.work.image_formula and counts is None:  # an image each, of one size
            rows, image = lists[self._tokens], self.work.image_tokens(sizes)
            if min(rows) < image:
                raise InvalidError(f"sample {rows.index(min(rows)) + 1} of cu_seqlens has {min(rows)} tokens, and its image {image}")
            lists = {self._tokens: [row - image for row in rows]}
        if counts is not None:
            self._add_images(lists, packed, sizes, pictures, counts)
            return
        if pictures:
            names = GRID if grid_thw is not None else self.work.image_sizes
            lists.update({name: [picture[i] for picture in pictures] for i, name in enumerate(names)})
        own = None if audio is None else self.work.frames_of(listed(audio))
        if own is not None and self._add_audio(lists, packed, sizes, own):
            return
        _check_samples(lists)
        flops = self.work.parts_of_samples(sizes, lists, packed)
        count = len(next(iter(lists.values()), []))
        lengths = lists.get(self._tokens) or [sizes.get(self._tokens, 0)] * count
        tokens = self._image_tokens(sizes, lists, len(lengths))
        rows = [n + image for n, image in zip(lengths, tokens)]
        places = sum(rows) if packed else len(rows) * max(rows, default=0)
        self._sums.add(flops, sum(rows), len(rows), places, sum(tokens), self._frames(sizes, lists, count, packed, own))

    def _texts_of(self, rows: Sequence[int], pictures: Sequence[Sequence[int]], counts: Optional[Sequence[int]]) -> list[int]:
        """The texts of samples in a row, where all their tokens are those of images, too."""
        each = [1] * len(pictures) if counts is None else counts
        if len(each) != len(rows):
            raise InvalidError(f"a batch has {len(rows)} samples in cu_seqlens, and images for {len(each)}")
        tokens = iter([self.work.image_tokens(dict(zip(self.work.image_sizes, picture))) for picture in pictures])
        images = [sum(next(tokens) for _ in range(count)) for count in each]
        for i, (row, image) in enumerate(zip(rows, images), 1):
            if image > row:
                raise InvalidError(f"sample {i} of cu_seqlens has {row} tokens, and its images have {image}")
        return [row - image for row, image in zip(rows, images)]

    def _name_of(self, size: str) -> str:
        """What a caller gave a list of this size as."""
        return "lengths" if size == self._tokens else f"lengths[{size!r}]"

    def _frames(
        self, sizes: Mapping[str, int], lists: Mapping[str, Sequence[int]], count: int, packed: bool, own: Optional[Sequence[int]]
    ) -> tuple[int, int]:
        """The frames of a batch without and with padding; `own` are those of its audio, if that is known."""
        work = self.work
        frames = work.frames(sizes, lists, count)
        places = frames if packed or work.audio not in lists else count * max(lists[work.audio])
        return frames if own is None else sum(own), places

    def _pictures_of(
        self, named: dict[str, Any], images: Optional[Images], image_counts: Optional[Sequence[int]]
    ) -> tuple[list[list[int]], Optional[list[int]]]:
        """The sizes of all images, and how many each sample has: by their pixels, or by lists of `named`, which are taken out of it."""
        work, counts = self.work, None if image_counts is None else whole(image_counts, "image_counts", "sample")
        if images is not None:
            rows = listed(images)
            if not all(isinstance(row, (list, tuple)) for row in rows):
                raise InvalidError("images should be a height and a width for each image, or a list of these for each sample")
            if any(not row or isinstance(row[0], (list, tuple)) for row in rows):
                counts, rows = [len(row) for row in rows], [image for row in rows for image in row]
            if any(not isinstance(image, list) or len(image) != 2 for image in rows) or (not rows and counts is None):
                raise InvalidError("images should be two whole numbers of 1 or more for each image: its height and width")
            pictures = work.sizes_of_images([(height, width) for height, width in _sizes_of_images(rows, "images")])
        else:
            own = {name: listed(values) for name, values in named.items() if work.symbol(name) in work.image_sizes}
            nested = any(isinstance(row, list) for values in own.values() for row in values)
            if counts is None and not nested:
                return [], None
            if not own:
                return _images_of(None, counts)
            if set(own) != set(work.image_sizes):
                raise InvalidError("image_counts= needs grid_thw=, images= or the sizes of images among lengths=")
            if nested:
                shapes = [[len(row) if isinstance(row, list) else -1 for row in values] for values in own.values()]
                if counts is not None or any(shape != shapes[0] or -1 in shape for shape in shapes):
                    raise InvalidError("sizes of images should have a list for each sample, of as many images")
                counts = shapes[0]
                own = {name: [size for row in values for size in row] for name, values in own.items()}
            pictures = [list(sizes) for sizes in zip(*(whole(own[name], self._name_of(name), "image") for name in work.image_sizes))]
            if any(len(values) != len(pictures) for values in own.values()) or any(min(sizes) < 1 for sizes in pictures):
                raise InvalidError("sizes of images should be whole numbers of 1 or more, one of each for every image")
            for name in own:
                del named[name]
        if counts is not None and (min(counts, default=-1) < 0 or sum(counts) != len(pictures)):
            raise InvalidError(f"image_counts do not add up to {len(pictures)} images: {counts!r:.80}")
        return pictures, None if counts and set(counts) == {1} else counts

    def _add_audio(self, lists: dict[str, list[int]], packed: bool, sizes: dict[str, int], frames: list[int]) -> bool:
        """Adds the frames to `lists`; True if chunks of one size are counted already, each a sample."""
        work = self.work
        if work.chunks is None:
            lists[work.audio_size()] = frames
            return False
        symbol, size, _ = work.chunks
        chunks = sum(-(-n // size) for n in frames)
        if packed:
            raise InvalidError("each chunk of audio is a row of its own, and cu_seqlens are those of one row")
        if sizes.get("batch", chunks) not in (chunks, len(frames)):
            raise InvalidError(f"a batch of {sizes['batch']} has audio of {len(frames)} samples")
        for name, values in lists.items():
            if len(values) != chunks:
                raise InvalidError(
                    f"the audio of {len(frames)} samples makes {chunks} chunks of {size:,} frames, and there are {len(values)} sizes {name}: "
                    "each chunk has a text of its own"
                )
        if symbol in work.origins:  # the report leaves the frames open
            lists[symbol] = [size] * chunks
        if lists:
            return False
        self._add_rectangle(self._sums, {**sizes, "batch": chunks})
        self._sums.frames -= chunks * size - sum(frames)
        return True

    def _add_images(
        self, lists: Mapping[str, Sequence[int]], packed: bool, sizes: Mapping[str, int], grids: Sequence[Sequence[int]], counts: Sequence[int]
    ) -> None:
        """Samples of any number of images: the tower runs over each image, and the decoder over a sample with the tokens of its images."""
        work = self.work
        if not work.image_formula or not work.image_sizes:
            raise InvalidError("any number of images in a sample is for a config.json that has them in patches or tiles: the model has no sizes of them")
        given = {**dict.fromkeys(lists, True), **sizes}
        if set(given) != {self._tokens}:
            raise InvalidError(f"samples with any number of images have lengths= of their texts, or {self._tokens}= of all, and no other size")
        texts = list(lists[self._tokens]) if lists else [sizes[self._tokens]] * len(counts)
        if len(texts) != len(counts):
            raise InvalidError(f"a batch has {len(texts)} lengths, and images for {len(counts)} samples")
        work.check_positions({self._tokens: texts}, of_samples=True)
        tokens = iter([work.image_tokens(dict(zip(work.image_sizes, grid))) for grid in grids])
        images = [sum(next(tokens) for _ in range(count)) for count in counts]
        rows = [text + image for text, image in zip(texts, images)]
        if min(texts) < 0 or min(rows) < 1:
            raise InvalidError("a sample should have a token: of its text, or of an image")
        flops = work.parts_of_rows(rows, images, grids, packed)
        self._sums.add(flops, sum(rows), len(rows), sum(rows) if packed else len(rows) * max(rows), sum(images))

    def _image_tokens(self, sizes: Mapping[str, int], lists: Mapping[str, Sequence[int]], count: int) -> list[int]:
        """Of each sample."""
        if not self.work.image_formula:
            return [0] * count
        return [self.work.image_tokens({**sizes, **{name: values[i] for name, values in lists.items()}}) for i in range(count)]

    def _add_batch(self, sums: _Sums, batch: Any, given: dict[str, int], config: Any, later: bool = False) -> None:
        """A trainer's batch: what its tensors tell, and the sizes that the user gave. `config` is that of its model.

        With `later`, what is on a device is read when a result is due, or when there are many of them.
        """
        told = told_by(batch, config, self.work)
        sums.pending.append((told, {**sizes_of(batch, self.work, self._tokens), **given}, set(given)))
        if not (later and any(_is_on_device(x) for x in told.values())) or len(sums.pending) == _MOST_PENDING:
            self._read(sums)

    def _read(self, sums: _Sums) -> None:
        """Counts the batches that wait."""
        pending, sums.pending = sums.pending, []
        for told, sizes, given in pending:
            self._add_told(sums, told, sizes, given)

    def _add_told(self, sums: _Sums, told: dict[str, Any], sizes: dict[str, int], given: set[str]) -> None:
        work, tokens = self.work, self._tokens
        fixed = tokens in given or work.symbol(tokens) not in work.origins
        rows = None if fixed else rows_of(told, bool(work.image_formula), self.warn)
        if rows is not None and rows.packed:
            sizes["batch"] = 1  # a row
        has_batch = work.symbol("batch") in work.origins
        others = lists_of(told, work, sizes, given) if has_batch else {}
        if others and not (rows is not None and rows.packed):
            self._add_lists(sums, sizes, rows, others)
            return
        if rows is None or not rows.lengths or (not has_batch and not work.image_formula):
            self._add_rectangle(sums, sizes)
            return
        lengths, images, total = rows.lengths, rows.images, sum(rows.lengths)
        if work.has_grids and not set(GRID) & given:
            grids = grids_of(told)
            if images is None and not grids:
                images = [0] * len(lengths)
            work.check_grids(grids)
            found = sum(work.image_tokens(dict(zip(GRID, grid))) for grid in grids)
            known = found if images is None else sum(images)
            if found != known or found > total:
                raise InvalidError(
                    f"a batch has {known if images is not None else total} tokens{' of images' if images is not None else ''}, and the "
                    f"images of image_grid_thw and video_grid_thw ({len(grids)}) have {found}"
                )
            flops = work.parts_of_rows(lengths, images, grids, rows.packed)
            sums.add(flops, total, len(lengths), rows.places, None if images is None else known)
            return
        one, texts = 0, lengths
        if work.image_formula:  # an image of the same size for each sample
            one = work.image_tokens(sizes)
            if images is None or any(image != one for image in images):
                has = "nothing tells where the tokens of images are" if images is None else f"samples have {min(images)} to {max(images)}"
                raise InvalidError(f"the model has one image of {one} tokens in each sample, and in a batch {has}: it cannot be counted")
            texts = [n - one for n in lengths]
        flops = work.parts_of_samples(self._sizes_beside(sizes, {work.symbol(tokens): texts}), {tokens: texts}, rows.packed)
        sums.add(flops, total, len(lengths), rows.places, one * len(lengths))

    def _sizes_beside(self, sizes: Mapping[str, int], lists: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """The sizes that all samples have, without those that `lists` has for each."""
        work = self.work
        own = {work.symbol("batch"), *lists}
        return {name: size for name, size in sizes.items() if work.symbol(name) not in own}

    def _add_lists(self, sums: _Sums, sizes: Mapping[str, int], rows: Optional[Rows], lists: dict[str, list[int]]) -> None:
        """Samples that have lengths of audio, or of a text beside that of an encoder."""
        work, text = self.work, self.work.symbol(self._tokens)
        count = len(next(iter(lists.values())))
        if rows is not None and len(rows.lengths) == count:
            lists = {text: rows.lengths, **lists}
        rest = self._sizes_beside(sizes, lists)
        flops = work.parts_of_samples(rest, lists)
        width = sizes.get(self._tokens, sizes.get(text, 0))
        tokens = sum(lists[text]) if text in lists else count * width
        places = {**sizes, work.audio: sizes.get(work.audio, 0)}
        sums.add(flops, tokens, count, count * width, 0, (work.frames(rest, lists, count), work.frames(places, {}, count)))

    def _spoil(self) -> None:
        """A batch is not counted, so the next result is None; with `reduce`, on all ranks."""
        self._spoilt = True

    def end_step(self) -> Optional[Metrics]:
        """A step has ended, and add() got its batches."""
        self._step += 1
        self._steps += 1
        return self._measure() if self._step % self._every == 0 else None

    def step(
        self,
        *,
        lengths: Optional[Lengths] = None,
        cu_seqlens: Optional[Sequence[int]] = None,
        grid_thw: Optional[Grids] = None,
        image_counts: Optional[Sequence[int]] = None,
        images: Optional[Images] = None,
        audio: Union[Sequence[Any], int, None] = None,
        **sizes: int,
    ) -> Optional[Metrics]:
        """A step has ended. What it took, where a result is due: the means since the last one."""
        self.add(
            lengths=lengths, cu_seqlens=cu_seqlens, grid_thw=grid_thw, image_counts=image_counts, images=images, audio=audio, **sizes
        )
        return self.end_step()

    def _measure(self) -> Optional[Metrics]:
        seconds = self._clock() - self._start
        try:
            for pending in self._pending:
                self._add_samples(*pending)
            self._read(self._sums)
        except Exception as error:
            if not self._forgives:
                raise
            self.warn(f"no figures of these steps: {told_of(error)}")
            self._spoil()
        spoilt: float = self._spoilt
        if self._reduce is None and self.devices is None and world_size() > 1:
            self.warn(
                f"the sizes of a step are taken as those of all {world_size()} ranks together: where each rank gives its own, "
                f"Perf(..., reduce=torch_sum) sums them; else devices={world_size()} says so"
            )
        if self._reduce is not None:
            *self._sums.values, spoilt, ranks, summed = self._reduce([*self._sums.values, spoilt, 1.0, seconds])
            seconds = summed / ranks
        if spoilt:
            self._begin()
            return None
        sums = self._sums
        metrics = self.metrics(
            self._step, seconds, self._steps, sums.flops, sums.tokens, sums.samples, sums.places, {} if sums.unsplit else sums.parts,
            sums.frames, sums.frame_places,
        )  # fmt: skip
        self._begin()
        for sink in self._sinks:
            sink(self._step, metrics)
        return metrics

    def metrics(
        self,
        step: int,
        seconds: float,
        steps: int,
        flops: float,
        tokens: float,
        samples: float,
        places: float = 0,
        parts: Optional[Mapping[str, float]] = None,
        frames: float = 0,
        frame_places: float = 0,
    ) -> Metrics:
        """What so many steps that took so long give. Without a time, MFU is the last one, with its age.

        `places` are the tokens with padding: perf/padding is the part of them that holds none.
        `parts` are FLOPs and tokens by modality, by the names of their rates.
        `frames` and `frame_places` are those of audio, without and with padding.
        """
        found: Metrics = {}
        if seconds > 0 and steps > 0:
            self._mfu, self._mfu_step = flops / (seconds * self.peak), step
            found["perf/step_time"] = seconds / steps
            found["perf/steps_per_second"] = steps / seconds
            found["perf/flops_per_second"] = flops / seconds
            if tokens:
                found["perf/tokens_per_second"] = tokens / seconds
            if samples:
                found["perf/samples_per_second"] = samples / seconds
            if places > tokens > 0:
                found["perf/padding"] = 1 - tokens / places
            if frames:
                found["perf/frames_per_second_audio"] = frames / seconds
                if self.work.chunks is not None:
                    found["perf/seconds_per_second_audio"] = frames / self.work.chunks[2] / seconds
            if frame_places > frames > 0:
                found["perf/padding_audio"] = 1 - frames / frame_places
            found.update({f"perf/{name}": part / seconds for name, part in (parts or {}).items()})
        if self._mfu is not None:
            found["perf/mfu"] = self._mfu
            found["perf/mfu_percent"] = 100 * self._mfu
            found["perf/mfu_age_steps"] = step - self._mfu_step
            self._qualify(found, self._mfu)
        return found

    def _qualify(self, found: Metrics, mfu: float) -> None:
        """Logs caveats together with the figure."""
        if self.work.lower_bound:
            found["perf/mfu_is_lower_bound"] = 1.0
            self.warn("perf/mfu is a lower bound: a part of the model is not counted")
        if mfu > 1:
            found["perf/mfu_is_above_peak"] = 1.0
            factor = 1e12 if self._device_peak < 1e4 else 1e9  # of a peak that lacks its unit
            unit = f" (peak={self._device_peak * factor:g}?)" if self._device_peak < 1e7 and 1e-6 < mfu / factor <= 1 else ""
            self.warn(
                f"perf/mfu is {100 * mfu:.4g} %, and more than 100 % cannot be: check devices ({self.peak / self._device_peak:g}), "
                f"the peak{unit} and its dtype, and the sizes of a step",
                "above the peak",
            )


def world_size() -> int:
    """The ranks of torch.distributed; before it begins, those that the launcher states."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        return int(torch.distributed.get_world_size())
    stated = os.environ.get("WORLD_SIZE", "")
    return int(stated) if stated.isdigit() and int(stated) > 0 else 1


def _is_distributed() -> bool:
    """Whether ranks of torch.distributed can ask each other."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.distributed.is_available() and torch.distributed.is_initialized())


def torch_sum(values: Sequence[float]) -> Sequence[float]:
    """Sums over all ranks of torch.distributed."""
    import torch

    tensor = torch.tensor(values, dtype=torch.float64)
    if torch.distributed.is_initialized():
        if torch.distributed.get_backend() == "nccl":
            tensor = tensor.cuda()
        torch.distributed.all_reduce(tensor)
    result: list[float] = tensor.tolist()
    return result


def _sum_over_ranks(values: Sequence[float], batches: int) -> Sequence[float]:
    """Sums over the `batches` that ranks have: some ranks may share one. Where ranks cannot ask each other, all have as much as this one."""
    if batches == 1 or not _is_distributed():
        return [x * batches for x in values]
    share = batches / world_size()
    return [x * share for x in torch_sum(values)]


def tensorboard(directory: str) -> Sink:
    """Event files by TensorBoard's own library: pip install 'onnxflops[tensorboard]'."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(directory)

    def write(step: int, metrics: Metrics) -> None:
        values = [Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))
        writer.flush()

    return write


def wandb(run: Any = None) -> Sink:
    """Weights & Biases: a run of wandb.init(), or the one that is active."""

    def write(step: int, metrics: Metrics) -> None:
        target = run
        if target is None:
            import wandb as library

            target = library.run
        if target is None:
            raise InvalidError("there is no run of W&B: wandb.init() makes one")
        target.log(metrics, step=step)

    return write


def prometheus(registry: Any = None) -> Sink:
    """Gauges of prometheus_client, which it serves or pushes: onnxflops_perf_mfu and the like."""
    import prometheus_client

    gauges: dict[str, Any] = {}
    where = {} if registry is None else {"registry": registry}

    def write(step: int, metrics: Metrics) -> None:
        for name, value in metrics.items():
            if name not in gauges:
                gauges[name] = prometheus_client.Gauge("onnxflops_" + name.replace("/", "_"), name, **where)
            gauges[name].set(value)

    return write


