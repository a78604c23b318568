"""What a batch of a trainer has: the sizes of its tensors, the lengths of its samples, and their images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any, NamedTuple, Optional

from onnxflops._errors import InvalidError
from onnxflops._lists import whole
from onnxflops._positions import AS_FIRST, AS_LAST, LABELLED, NO_LABEL, spans_of
from onnxflops._step import GRID, StepWork

# Its first axis is the batch; in other tensors it may be the patches of all images.
_BY_SAMPLE = ("input_ids", "inputs_embeds", "attention_mask", "labels")
_SOUNDS = ("input_features", "input_values")
_NO_LABEL = -100  # of a place that is padding, in transformers and torch
# What a byte says of a token in a mask: _marks().
_PRESENT, _BEGINS, _NUMBERED, _WRONG = 1, 2, 4, 8


class Rows(NamedTuple):
    """The samples of a batch."""

    lengths: list[int]  # without padding; with the tokens of images where these stand among those of the text
    packed: bool  # several samples may share a row
    places: int  # tokens with padding
    images: Optional[list[int]]  # of each sample's tokens, those of images and clips; None where nothing tells them


def sizes_of(batch: Any, work: StepWork, tokens: str) -> dict[str, int]:
    """The model's sizes in the tensors of a batch."""
    found: dict[str, int] = {}
    items = batch.items() if hasattr(batch, "items") else ()
    tensors = {name: x.shape for name, x in items if not _is_nested(x) and hasattr(x, "shape")}
    for name in (*(x for x in _BY_SAMPLE if x in tensors), *tensors):
        shape = tensors[name]
        if len(shape) > 0:
            found.setdefault("batch", int(shape[0]))
    for name, shape in tensors.items():
        work.check_shape(name, shape)
        if name == "input_ids" and len(shape) == 2 and work.symbol(tokens):
            found[tokens] = int(shape[1])
        if name == "labels" and len(shape) == 2 and work.decoder and "decoder_input_ids" not in tensors:
            found[work.decoder] = int(shape[1])  # the model shifts them
        declared = work.inputs.get(name, [])
        if len(declared) == len(shape):
            batch_symbol = work.symbol("batch")
            found.update({s: int(n) for s, n in zip(declared, shape) if s in work.origins and s != batch_symbol})
    return found


def told_by(batch: Any, config: Any = None, work: Optional[StepWork] = None) -> dict[str, Any]:
    """What rows_of(), lists_of() and grids_of() read, in a byte for each token: it may wait on a device.

    `config` is that of a model of transformers.
    """
    if not hasattr(batch, "get"):
        return {}

    def tensor(name: str) -> Any:
        found = batch.get(name)
        return found if hasattr(found, "short") and not _is_nested(found) else None  # a tensor of torch

    found = {name: batch.get(name) for name in ("cu_seq_lens_q", "image_grid_thw", "video_grid_thw")}
    if _is_nested(batch.get("input_ids")):
        found["cu_seq_lens_q"] = _ends_of(batch.get("input_ids"))
    ids, mask = tensor("input_ids"), tensor("attention_mask")
    pairs = _pairs(batch.get("attention_mask"))
    sound, texts, labels = tensor("feature_attention_mask"), None, tensor("labels")
    no_text = ids is None and tensor("inputs_embeds") is None
    if no_text and any(tensor(name) is not None for name in _SOUNDS):
        sound, mask, pairs = mask if sound is None else sound, None, None  # a mask of the audio
    if work is not None and work.decoder:
        texts = tensor("decoder_attention_mask")
        if texts is None and labels is not None and len(labels.shape) == 2:
            texts = labels != _NO_LABEL
    spots = _spots(tensor("mm_token_type_ids"), ids, config)
    positions = tensor("position_ids")
    positions = positions[None] if positions is not None and len(positions.shape) == 1 else positions  # of a row
    tokens = ids if ids is not None else tensor("inputs_embeds")
    found.update(
        position_ids=positions,
        marks=None if positions is None else _marks_of(ids, None if work is None or work.decoder else labels),
        input_ids=None if ids is None else ids.bool(),
        attention_mask=None if mask is None or len(mask.shape) > 2 else _marks(mask),
        pairs=pairs,
        mm_token_type_ids=None if spots is None else spots.byte(),
        audio_mask=None if sound is None or work is None or not work.audio else sound != 0,
        decoder_mask=None if texts is None else texts != 0,
        places=None if tokens is None or len(tokens.shape) < 2 else int(tokens.shape[0]) * int(tokens.shape[1]),
    )
    return {name: x for name, x in found.items() if x is not None}


def rows_of(told: dict[str, Any], by_shapes: bool = False, warn: Callable[[str], None] = lambda text: None) -> Optional[Rows]:
    """The samples, or None if only the shapes of its tensors tell them; `by_shapes` gives those too.

    Warns of padding that counts as work.
    """
    ids, mask, places = (told.get(name) for name in ("input_ids", "attention_mask", "position_ids"))
    spots, ends = told.get("mm_token_type_ids"), told.get("cu_seq_lens_q")
    if spots is not None and mask is not None and spots.shape != mask.shape:
        raise InvalidError(f"a batch has mm_token_type_ids {list(spots.shape)} beside attention_mask {list(mask.shape)}")
    if ends is None and places is not None and mask is None and (rows := _placed(told, warn)) is not None:
        return rows if by_shapes or rows.packed or sum(rows.lengths) < rows.places else None
    if ends is not None:
        bounds = _bounds(ends, told.get("places"))
        spans = [(a, b) for a, b in zip(bounds, bounds[1:]) if b > a]
        lengths = [b - a for a, b in spans]
        if not lengths:
            raise InvalidError(f"a batch has cu_seq_lens_q without a token: {_short(bounds)}")
        row = None if spots is None else [spot for line in spots.tolist() for spot in line]
        return Rows(lengths, True, told.get("places", bounds[-1]), None if row is None else [sum(row[a:b]) for a, b in spans])
    if mask is not None:
        _check_shape(mask, ids, told.get("places"))
        if len(mask.shape) == 2:
            return _masked(mask, spots)
    if "pairs" in told:
        warn(
            f"a batch has {told['pairs']}: it does not tell the lengths of samples, so padding counts as work; a mask of two axes, "
            "cu_seq_lens_q or position_ids tell them"
        )
    if by_shapes and ids is not None and len(ids.shape) == 2:
        count, length = ids.shape
        return Rows([length] * count, False, ids.numel(), None if spots is None else spots.sum(-1).tolist())
    return None


def lists_of(told: dict[str, Any], work: StepWork, sizes: Mapping[str, int], given: Set[str]) -> dict[str, list[int]]:
    """The lengths of each sample's audio, and of the text that a decoder writes, where tensors tell them: by the model's sizes."""
    found: dict[str, list[int]] = {}
    for name, size in (("audio_mask", work.audio), ("decoder_mask", work.decoder)):
        mask = told.get(name)
        if mask is None or size in {"", *(work.symbol(x) for x in given)}:
            continue
        if len(mask.shape) == 2 and mask.shape[1] == sizes.get(size):
            found[size] = [max(1, n) for n in mask.sum(-1).tolist()]  # what is all padding still runs
    return found


def _placed(told: dict[str, Any], warn: Callable[[str], None]) -> Optional[Rows]:
    """By positions, [rows, n], or [3 or 4, rows, n] with one on each axis of an image: they begin again with each sample of a row.

    None if nothing tells the rows.
    """
    places: Any = told["position_ids"]
    ids, spots, marks = (told.get(name) for name in ("input_ids", "mm_token_type_ids", "marks"))
    if len(places.shape) not in (2, 3) or places.shape[-1] == 0:
        return None
    planes = (places if len(places.shape) == 3 else places[None]).tolist()
    count = len(planes[0]) if ids is None else 1 if len(ids.shape) == 1 else int(ids.shape[0])
    if len(planes[0]) not in (1, count):
        return None
    tokens = count * int(places.shape[-1])
    kinds = None if spots is None or spots.numel() != tokens else spots.reshape(count, -1).tolist()
    seen = None if marks is None or marks.numel() != tokens else marks.tolist()
    lengths, images, shared, unsure = list[int](), list[int](), count == 1, False
    for i in range(count):  # a single row of positions is that of every row of tokens
        spans, doubt = spans_of([plane[i % len(plane)] for plane in planes], None if seen is None else seen[i], count == 1)
        lengths += [b - a for a, b in spans]
        images += [0 if kinds is None else sum(kinds[i][a:b]) for a, b in spans]
        shared, unsure = shared or len(spans) > 1, unsure or doubt
    if not lengths:
        raise InvalidError("a batch has position_ids of padding alone: they go up from 0 within each sample")
    if unsure:
        warn(
            "a batch has position_ids that stand still, and nothing tells whether that is padding or samples of one token: it counts as "
            "work; a mask of two axes or labels tell it"
        )
    return Rows(lengths, shared, tokens, None if spots is None else images)


def _bounds(ends: Any, places: Optional[int]) -> list[int]:
    """Where the samples of a row begin, and where the last one ends; what follows is padding."""
    bounds = whole(ends, "a batch has cu_seq_lens_q that is wrong: it")
    if len(bounds) < 2 or bounds[0] != 0 or any(b < a for a, b in zip(bounds, bounds[1:])):
        raise InvalidError(f"a batch has cu_seq_lens_q that does not begin with 0 and go up to where the last sample ends: {_short(bounds)}")
    if places is not None and bounds[-1] > places:
        raise InvalidError(f"a batch has cu_seq_lens_q up to {bounds[-1]}, and {places} tokens")
    return bounds


def _check_shape(mask: Any, ids: Any, places: Optional[int]) -> None:
    """A mask is as large as the tokens, whose padding it tells."""
    if ids is not None and ids.shape != mask.shape:
        raise InvalidError(f"a batch has attention_mask {list(mask.shape)} beside input_ids {list(ids.shape)}")
    if ids is None and places is not None and mask.numel() != places:
        raise InvalidError(f"a batch has attention_mask {list(mask.shape)} beside inputs_embeds of {places} tokens")


def _short(values: list[int]) -> str:
    most = 8
    return str(values) if len(values) <= most else f"{str(values[:most])[:-1]}, ...]"


def _marks_of(ids: Any, labels: Any) -> Any:
    """What positions alone do not tell of tokens, in a byte for each."""
    if ids is None or len(ids.shape) != 2 or ids.shape[1] == 0:
        return None
    marks = (ids == ids[:, :1]).byte() * AS_FIRST + (ids == ids[:, -1:]).byte() * AS_LAST
    if labels is not None and labels.shape == ids.shape:
        marks = marks + (labels == _NO_LABEL).byte() * NO_LABEL + LABELLED
    return marks


def _is_nested(x: Any) -> bool:
    """Whether it is a tensor whose rows have lengths of their own."""
    return bool(getattr(x, "is_nested", False))


def _ends_of(ids: Any) -> Any:
    """Where the rows of a nested tensor begin, and where the last one ends."""
    if hasattr(ids, "offsets") and ids.lengths() is None:
        return ids.offsets()
    ends = [0]
    for row in ids.unbind():
        ends.append(ends[-1] + int(row.shape[0]))
    return ends


def _pairs(mask: Any) -> Optional[str]:
    """What a mask is that does not tell lengths: one of pairs of tokens, or no tensor."""
    if mask is None or (hasattr(mask, "short") and len(mask.shape) <= 2):
        return None
    if hasattr(mask, "short"):
        return f"attention_mask {list(mask.shape)}, of pairs of tokens"
    return f"attention_mask of the type {type(mask).__name__}"


def _marks(mask: Any) -> Any:
    """What _masked() needs of a mask, in a byte for each token; made where the mask is, without waiting for it."""
    present = mask != 0
    if len(mask.shape) != 2:
        return present
    begins = present.new_ones(present.shape)
    begins[:, 1:] = mask[:, 1:] != mask[:, :-1]
    wrong = ~(mask >= 0)  # also NaN
    if mask.is_floating_point():
        wrong = wrong | (mask != mask.floor())
    return present.byte() * _PRESENT + begins.byte() * _BEGINS + (mask > 1).byte() * _NUMBERED + wrong.byte() * _WRONG


def _masked(marks: Any, spots: Any) -> Rows:
    """By the marks of a mask of 0 and 1, or of one that numbers the samples of each row from 1."""
    if bool((marks >= _WRONG).any()):
        raise InvalidError("a batch has attention_mask with negative numbers or fractions: 1 is a token and 0 padding, or samples have numbers from 1")
    present = marks & _PRESENT
    if bool((marks & _NUMBERED).any()):
        lengths, images = list[int](), list[int]()
        for line, marked in zip(marks.tolist(), (marks * 0 if spots is None else spots).tolist()):
            for mark, spot in zip(line, marked):
                if not mark & _PRESENT:
                    continue
                if mark & _BEGINS:
                    lengths.append(0)
                    images.append(0)
                lengths[-1] += 1
                images[-1] += spot
        return Rows(lengths, True, marks.numel(), None if spots is None else images)
    found = present.sum(-1).tolist()
    of_images = [0] * len(found) if spots is None else (spots * present).sum(-1).tolist()
    kept = [(n, image) for n, image in zip(found, of_images) if n > 0]
    if not kept:
        raise InvalidError("a batch has attention_mask of padding alone: 1 is a token and 0 padding")
    return Rows([n for n, _ in kept], False, marks.numel(), None if spots is None else [image for _, image in kept])


def _spots(types: Any, ids: Any, config: Any) -> Any:
    """Where the tokens of images and clips stand in input_ids: as the processor marks them, or by their numbers."""
    if types is not None:
        return (types == 1) | (types == 2)
    names = ("image_token_id", "image_token_index", "video_token_id", "video_token_index")
    numbers = {number for number in (getattr(config, name, None) for name in names) if isinstance(number, int)}
    if ids is None or not numbers:
        return None
    found = ids == min(numbers)
    for number in numbers:
        found = found | (ids == number)
    return found


def grids_of(told: dict[str, Any]) -> list[list[int]]:
    """Frames, height and width in patches of the images and clips of a batch."""
    found: list[list[int]] = []
    for name in ("image_grid_thw", "video_grid_thw"):
        grids = told.get(name)
        if grids is None:
            continue
        rows = grids.tolist() if hasattr(grids, "tolist") else grids
        if not isinstance(rows, (list, tuple)) or any(not isinstance(row, (list, tuple)) or len(row) != len(GRID) for row in rows):
            raise InvalidError(f"a batch has {name} that is not three numbers for each image: frames, height and width in patches")
        for i, row in enumerate(rows):
            sizes = whole(row, f"a batch has {name} that is wrong: image {i + 1}")
            if min(sizes) < 1:
                raise InvalidError(f"a batch has {name} with {sizes} for image {i + 1}: frames, height and width in patches are 1 or more")
            found.append(sizes)
    return found
