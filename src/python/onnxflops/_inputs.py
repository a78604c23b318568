"""Example inputs of a class of transformers, from the signature of forward() and the configuration."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any

from onnxflops._errors import InvalidError, UnsupportedError
from onnxflops._torch import Inputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch

# Example sizes for open dimensions in the export. They differ, and none is 1, because torch.export would fix it.
_EXAMPLES = {
    "batch": 2, "seq": 12, "decoder_seq": 10, "past": 9, "height": 224, "width": 224, "frames": 96, "samples": 6400,
    "options": 3, "video_frames": 4, "time": 48,
    "patches": 36,
}  # fmt: skip
_MOST = 10**5
# Nobody asks for less of a sound or an image.
_LIMITS = {"samples": (1000, _MOST), "frames": (16, _MOST), "height": (32, _MOST), "width": (32, _MOST)}
# By argument of forward(): the kind of numbers, and the axes. A number or "name?" stands in the configuration.
_FORMS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "input_ids": ("int", ("batch", "seq")),
    "attention_mask": ("ones", ("batch", "seq")),
    "decoder_input_ids": ("int", ("batch", "decoder_seq")),
    "token_type_ids": ("int", ("batch", "seq")),
    "bbox": ("int", ("batch", "seq", 4)),
    "qformer_input_ids": ("int", ("batch", "seq")),
    "classes_input_ids": ("int", ("batch", "seq")),
    "inputs_embeds": ("float", ("batch", "seq", "hidden_size?")),
    "hidden_states": ("float", ("batch", "seq", "hidden_size?")),
    "query_embeds": ("float", ("batch", "seq", "hidden_size?")),
    "encoder_hidden_states": ("float", ("batch", "frames", "encoder_hidden_size?")),
    "pixel_values": ("float", ("batch", "channels?", "height", "width")),
    "image": ("float", ("batch", "channels?", "height", "width")),
    "prompt_pixel_values": ("float", ("batch", "channels?", "height", "width")),
    "prompt_masks": ("float", ("batch", "channels?", "height", "width")),
    "pixel_values_videos": ("float", ("batch", "frames?", "channels?", "height", "width")),
    "pixel_mask": ("ones", ("batch", "height", "width")),
    "input_values": ("float", ("batch", "samples")),
    "input_features": ("float", ("batch", "frames", "features?")),
    "audio_mel": ("float", ("batch", "frames", "features?")),
    "spectrogram": ("float", ("batch", "frames", "features?")),
    "past_values": ("float", ("batch", "context_length?", "series?")),
    "spatial_shapes": ("ones", ("batch", 2)),
    "aspect_ratio_ids": ("ones", ("batch", 1)),
    "aspect_ratio_mask": ("ones", ("batch", 1, "max_num_tiles?")),
    "pixel_position_ids": ("int", ("batch", "patches", 2)),
    "image_position_ids": ("int", ("batch", "patches", 2)),
    "flattened_patches": ("float", ("batch", "seq", "patch_features?")),
}  # fmt: skip
_NAMES = {  # what configurations call a number, the likeliest first
    "hidden_size": ("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "hidden_dim"),
    "encoder_hidden_size": ("encoder_hidden_size", "cross_attention_hidden_size", "hidden_size", "d_model"),
    "channels": ("num_channels", "in_channels", "in_chans", "num_input_channels", "channels", "audio_channels"),
    "features": (
        "num_mel_bins", "feature_projection_input_dim", "input_feat_per_channel", "input_feat_size", "input_dim",
        "feature_size", "n_mels", "model_in_dim", "mel_dim",
    ),
    "frames": ("num_frames", "frames_per_clip", "tubelet_frames"),
    "context_length": ("context_length", "input_size"),
    "series": ("num_input_channels", "input_size"),
    "vocab_size": ("vocab_size", "text_vocab_size"),
    "positions": ("max_position_embeddings", "n_positions", "max_target_positions", "max_sequence_length", "n_ctx"),
}  # fmt: skip
# Arguments that are optional in the signature and that some classes read all the same.
_MORE = ("spatial_shapes", "pixel_attention_mask", "input_features_mask", "image_position_ids", "aspect_ratio_ids", "aspect_ratio_mask")
# Forms that some classes take where they refuse the usual one: a sound with its one channel.
_OTHER_FORMS: dict[str, tuple[str, tuple[Any, ...]]] = {"input_values": ("float", ("batch", 1, "samples"))}
_MOST_DEPTH = 3  # of configurations in configurations
_PARTS = (
    "text_config", "vision_config", "audio_config", "encoder", "decoder", "encoder_config", "backbone_config", "speech_encoder",
)  # fmt: skip


def numbers(config: Any, name: str, depth: int = 0) -> Iterator[Any]:
    """The values of a number's names in `config` and its parts."""
    for key in _NAMES.get(name, (name,)):
        value = getattr(config, key, None)
        if value is not None and not isinstance(value, str):
            yield value
    for part in _PARTS:
        inner = getattr(config, part, None)
        if hasattr(inner, "to_dict") and inner is not config and depth < _MOST_DEPTH:
            yield from numbers(inner, name, depth + 1)


def number(config: Any, name: str) -> int | None:
    for value in numbers(config, name):
        if isinstance(value, (list, tuple)) and value:
            value = value[0]
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def image_size(config: Any) -> tuple[int, int] | None:
    """Height and width, if the configuration fixes them."""
    for value in numbers(config, "image_size"):
        if isinstance(value, dict):
            value = (value.get("height"), value.get("width"))
        pair = tuple(value) if isinstance(value, (list, tuple)) else (value, value)
        if len(pair) == 1:
            pair *= 2
        if len(pair) == 2 and all(isinstance(x, int) and x > 0 for x in pair):
            return pair
    return None


def names_of(module: torch.nn.Module, config: Any) -> list[str]:
    """The arguments of forward() that a model of this class is given in use."""
    arguments = inspect.signature(type(module).forward).parameters
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = {
        name
        for name, argument in arguments.items()
        if name != "self" and argument.default is inspect.Parameter.empty and argument.kind not in variadic
    }
    given = set(required)
    if "input_ids" in arguments and not given & {"inputs_embeds", "hidden_states", "input_values", "input_features", "image"}:
        given.add("input_ids")
    main = getattr(module, "main_input_name", None)
    if main in arguments and main in _FORMS and not (main == "input_ids" and required):
        given.add(main)
    has_parts = any(getattr(config, part, None) is not None for part in ("vision_config", "backbone_config"))
    if "pixel_values" in arguments and (has_parts or not given & set(_FORMS)):
        given.add("pixel_values")
    for name in ("input_features", "input_values"):
        if name in arguments and (getattr(config, "audio_config", None) is not None or not given & set(_FORMS)):
            given.add(name)
            break
    if "decoder_input_ids" in arguments:
        given.add("decoder_input_ids")
    if "inputs_embeds" in given and "input_ids" in given and "inputs_embeds" not in required:
        given.discard("inputs_embeds")
    if "attention_mask" in arguments and given & {"input_ids"}:
        given.add("attention_mask")
    return [name for name in arguments if name in given]


class Sizes:
    """Which sizes of inputs are fixed, and what the open ones are in the export."""

    def __init__(self, fixed: Mapping[str, int], given: Mapping[str, int | None]) -> None:
        self.fixed = {**fixed, **{axis: size for axis, size in given.items() if size is not None}}
        for axis in given:
            if given[axis] is None:
                self.fixed.pop(axis, None)
        self.examples = dict(_EXAMPLES)
        self.limits = dict(_LIMITS)
        self.given, self._used = set(given), set[str]()

    def use(self, *axes: str) -> None:
        """Sizes that the module has, which are no axis of an input."""
        self._used.update(axes)

    def tensor(self, kind: str, form: Sequence[int | str], dtype: Any = None) -> tuple[torch.Tensor, dict[int, str]]:
        """A tensor of "float", "int" or "ones", and its open axes."""
        import torch

        axes = {axis: size for axis, size in enumerate(form) if isinstance(size, str) and size not in self.fixed}
        shape = [self.fixed.get(size, self.examples.get(size, 7)) if isinstance(size, str) else size for size in form]
        self._used |= {size for size in form if isinstance(size, str)}
        make = torch.ones if kind == "ones" else torch.zeros
        return make(shape, dtype=(dtype or torch.float32) if kind == "float" else torch.int64), axes

    def check(self, name: str) -> None:
        """An error for a size that was given and that no input has."""
        for unknown in sorted(self.given - self._used):
            raise InvalidError(f"{name} has no size {unknown}; it has {', '.join(sorted(self._used)) or 'none'}")


class Maker:
    """Makes the inputs of one module of transformers."""

    def __init__(self, module: torch.nn.Module, config: Any, given: Mapping[str, int | None]) -> None:
        self.module, self.config, self.name = module, config, type(module).__name__
        self._other: dict[str, tuple[str, tuple[Any, ...]]] = {}
        self.sizes = Sizes(dict(zip(("height", "width"), image_size(config) or ())), given)
        positions = number(config, "positions")
        if positions is not None:
            for axis in ("seq", "decoder_seq"):
                self.sizes.examples[axis] = max(2, min(positions, self.sizes.examples[axis]))
                self.sizes.limits[axis] = (2, max(2, positions))

    def make(self, names: Sequence[str]) -> Inputs:
        arguments = inspect.signature(type(self.module).forward).parameters
        for name in names:
            if name not in arguments:
                raise InvalidError(f"{self.name} takes no input {name}; it takes {', '.join(list(arguments)[1:])}")
        made = {name: self.tensor(name) for name in arguments if name in names}
        self.sizes.check(self.name)
        tensors = {name: tensor for name, (tensor, _) in made.items()}
        return Inputs(tensors, {name: axes for name, (_, axes) in made.items()}, {}, self.sizes.limits)

    def forms(self, names: Sequence[str]) -> list[Inputs]:
        """The inputs to try, the likeliest first: those named, with optional ones, and with the sizes of the images as numbers."""
        arguments = inspect.signature(type(self.module).forward).parameters
        made = [self.make(names)]
        more = [name for name in _MORE if name in arguments and name not in names]
        if more and (self.takes_patches() or set(names) & {"input_features", "pixel_values"}):
            with contextlib.suppress(UnsupportedError):
                made.append(self.make([*names, *more]))
        for other in sorted(set(names) & set(_OTHER_FORMS)):
            with contextlib.suppress(UnsupportedError):
                made.append(self._in_other_form(names, other))
        if "image_sizes" in arguments and "pixel_values" in names and {"height", "width"} <= self.sizes.fixed.keys():
            made.append(self._with_image_sizes(names))
        return made

    def _in_other_form(self, names: Sequence[str], other: str) -> Inputs:
        self._other = {other: _OTHER_FORMS[other]}
        try:
            return self.make(names)
        finally:
            self._other = {}

    def _with_image_sizes(self, names: Sequence[str]) -> Inputs:
        """Of a fixed number of images, since the class has a loop over them."""
        fixed = self.sizes.fixed
        batch = fixed.setdefault("batch", 1)
        tensors = self.make([name for name in names if name != "image_sizes"])
        told = f"{self.name} has a loop over images, so batch is fixed at {batch}; sizes={{'batch': N}} gives another"
        sizes = [(fixed["height"], fixed["width"])] * batch
        return tensors._replace(constants={"image_sizes": sizes}, told=() if "batch" in self.sizes.given else (told,))

    def takes_patches(self) -> bool:
        """Whether an image is rows of patches, padded to one length."""
        arguments = inspect.signature(type(self.module).forward).parameters
        return any(name in arguments for name in ("spatial_shapes", "pixel_position_ids", "image_position_ids"))

    def tensor(self, name: str) -> tuple[torch.Tensor, dict[int, str]]:
        kind, form = self.form(name)
        sizes = [self.configured(size[:-1], name) if isinstance(size, str) and size.endswith("?") else size for size in form]
        dtype = next((p.dtype for p in self.module.parameters() if p.dtype.is_floating_point), None)
        return self.sizes.tensor(kind, sizes, dtype)

    def configured(self, size: str, name: str) -> int:
        found = number(self.config, size)
        if found is None and size == "channels":
            return 3
        if found is None:
            raise UnsupportedError(f"{self.name}: the configuration has no {size} for the input {name}")
        return found

    def form(self, name: str) -> tuple[str, tuple[Any, ...]]:
        """Of an argument; some names mean other shapes in other classes."""
        config = self.config
        if name in self._other:
            return self._other[name]
        if name == "input_values" and number(config, "features") and number(config, "max_length"):
            return "float", ("batch", number(config, "max_length"), "features?")  # a spectrogram
        if name == "input_values" and number(config, "audio_channels"):
            return "float", ("batch", "audio_channels?", "samples")
        if name == "input_features" and number(config, "max_source_positions") and number(config, "num_mel_bins"):
            if not hasattr(config, "input_feat_per_channel"):
                return "float", ("batch", "num_mel_bins?", 2 * (number(config, "max_source_positions") or 0))
        if name == "pixel_values" and number(config, "frames") and "text_config" not in vars(config):
            return "float", ("batch", "frames?", "channels?", "height", "width")
        if name == "pixel_values" and self.takes_patches():
            return "float", ("batch", "patches", self.configured("channels", name) * self.configured("patch_size", name) ** 2)
        if name == "pixel_values" and number(config, "max_num_tiles"):
            return "float", ("batch", 1, "max_num_tiles?", "channels?", "height", "width")
        if name == "pixel_attention_mask":
            return "ones", ("batch", "patches") if self.takes_patches() else ("batch", "height", "width")
        if name == "input_features_mask":
            kind, form = self.form("input_features")
            return "ones", ("batch", next((size for size in form[1:] if size == "frames" or isinstance(size, int)), "frames"))
        if name in _FORMS:
            return _FORMS[name]
        raise UnsupportedError(f"{self.name}: the form of its input {name} is not known")
