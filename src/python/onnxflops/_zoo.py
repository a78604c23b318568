"""Models of timm, torchvision, open_clip and diffusers, by their names or configurations. No weight is made."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from typing import TYPE_CHECKING, Any

from onnxflops._config import document_of, line_of, offline
from onnxflops._errors import InvalidError, NotFoundError, UnsupportedError
from onnxflops._inputs import Sizes
from onnxflops._torch import Inputs, from_meta

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnxflops._config import Config
    from onnxflops._core import Model


def from_timm(name: str, *, sizes: Mapping[str, int | None] | None = None, **kwargs: Any) -> Model:
    """The graph of a model of timm, timm.create_model(name, **kwargs), without weights.

    An image has the size of the model's configuration; `sizes` gives another, {"height": 288, "width": 288},
    or opens it, {"height": None, "width": None}. Needs torch, onnxscript and timm.
    """
    timm = _package("timm")
    if ":" in name.partition("/")[0]:
        raise UnsupportedError(f"from_timm(): {name}: nothing is downloaded; give a name of timm.list_models()")
    if not timm.is_model(name):
        raise NotFoundError(f"timm {timm.__version__} has no model {name}{_near(name, timm.list_models())}")
    module = _built(name, lambda: timm.create_model(name, pretrained=False, **kwargs))
    channels, height, width = (getattr(module, "pretrained_cfg", None) or {}).get("input_size") or (3, 224, 224)
    image = kwargs.get("img_size") or (height, width)
    height, width = image if isinstance(image, (list, tuple)) else (image, image)
    form = ("batch", kwargs.get("in_chans") or channels, "height", "width")
    return _exported(module, name, {"x": ("float", form)}, {"height": height, "width": width}, sizes)


def from_torchvision(name: str, *, sizes: Mapping[str, int | None] | None = None, **kwargs: Any) -> Model:
    """The graph of a model of torchvision, torchvision.models.get_model(name, **kwargs), without weights.

    An image has the size that the model's weights were trained for; `sizes` gives another or opens it, as
    in from_timm(). Needs torch, onnxscript and torchvision.
    """
    models = _package("torchvision").models
    if name.lower() not in models.list_models():
        raise NotFoundError(f"torchvision has no model {name}{_near(name, models.list_models())}")
    builder = models.get_model_builder(name)
    none = {key: None for key in ("weights", "weights_backbone") if key in inspect.signature(builder).parameters}
    module = _built(name, lambda: builder(**{**none, **kwargs}))
    preset = getattr(getattr(models.get_model_weights(name), "DEFAULT", None), "transforms", None)
    crop = getattr(preset, "keywords", {}).get("crop_size", 224)  # a functools.partial
    height, width = (crop if len(crop) == 2 else (crop[0], crop[0])) if isinstance(crop, (list, tuple)) else (crop, crop)
    argument = next(iter(inspect.signature(module.forward).parameters))
    form: list[int | str] = ["batch", 3, "height", "width"]
    if name in models.list_models(module=models.video):
        form = ["batch", 3, 16, "height", "width"]
    return _exported(module, name, {argument: ("float", form)}, {"height": height, "width": width}, sizes)


def from_open_clip(name: str, *, sizes: Mapping[str, int | None] | None = None, **kwargs: Any) -> Model:
    """The graph of a model of open_clip, both towers, open_clip.create_model(name, **kwargs), without weights.

    Needs torch, onnxscript and open_clip_torch.
    """
    open_clip = _package("open_clip", "open_clip_torch")
    found = open_clip.get_model_config(name)
    if found is None:
        raise NotFoundError(f"open_clip has no model {name}{_near(name, open_clip.list_models())}")
    module = _built(name, lambda: open_clip.create_model(name, device="meta", load_weights=False, **kwargs))
    size = found["vision_cfg"].get("image_size", 224)
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    length = getattr(module, "context_length", None) or found["text_cfg"].get("context_length", 77)
    forms = {"image": ("float", ("batch", 3, "height", "width")), "text": ("int", ("batch", length))}
    return _exported(module, name, forms, {"height": height, "width": width}, sizes)


def from_diffusers(config: Config, *, sizes: Mapping[str, int | None] | None = None) -> Model:
    """The graph of a network of diffusers (a UNet, a transformer, an autoencoder), from its configuration.

    `config` is the path of its config.json or of the folder, or a dict; `_class_name` names the class.
    The batch and the length of a prompt stay open, the latent image has the size of the configuration.
    Needs torch, onnxscript and diffusers.
    """
    diffusers = _package("diffusers")
    document, _ = document_of(config)
    kind = document.get("_class_name")
    if not isinstance(kind, str):
        raise InvalidError("the configuration has no _class_name: it is none of a network of diffusers")
    cls: Any = getattr(diffusers, kind, None)
    if not hasattr(cls, "forward"):
        raise NotFoundError(f"diffusers {diffusers.__version__} has no network {kind}")
    module = _built(kind, lambda: cls.from_config(document))
    side = module.config.get("sample_size") or 64
    height, width = side if isinstance(side, (list, tuple)) else (side, side)
    return _exported(module, kind, _latent_forms(module, kind), {"height": height, "width": width}, sizes)


def _latent_forms(module: Any, kind: str) -> dict[str, Any]:
    """The inputs of a diffusers network at one step."""
    config, arguments = module.config, inspect.signature(module.forward).parameters
    flat = "img_ids" in arguments or "image_rotary_emb" in arguments
    widths = ("joint_attention_dim", "cross_attention_dim", "caption_channels")
    text = next((config[key] for key in widths if config.get(key)), None)
    text = text[0] if isinstance(text, (list, tuple)) else text
    channels = config.get("in_channels")
    latent = ("float", ("batch", "image_seq", channels) if flat else ("batch", channels, "height", "width"))
    forms: dict[str, Any] = {"sample": latent, "hidden_states": latent, "timestep": ("float", ("batch",))}
    if text is not None:
        forms["encoder_hidden_states"] = ("float", ("batch", "seq", text))
    if config.get("pooled_projection_dim"):
        forms["pooled_projections"] = ("float", ("batch", config["pooled_projection_dim"]))
    if flat:
        forms["img_ids"], forms["txt_ids"] = ("float", ("image_seq", 3)), ("float", ("seq", 3))
    if config.get("guidance_embeds"):
        forms["guidance"] = ("float", ("batch",))
    if config.get("num_embeds_ada_norm"):
        forms["class_labels"] = ("int", ("batch",))
    if config.get("addition_embed_type") == "text_time":
        width = config["projection_class_embeddings_input_dim"] - 6 * config["addition_time_embed_dim"]
        forms["added_cond_kwargs"] = {"text_embeds": ("float", ("batch", width)), "time_ids": ("float", ("batch", 6))}
    missing = [
        name for name, argument in arguments.items()
        if argument.default is inspect.Parameter.empty and name not in forms and argument.kind not in (2, 4)
    ]  # fmt: skip
    if missing:
        raise UnsupportedError(f"{kind}: the form of its input {missing[0]} is not known")
    return {name: forms[name] for name in arguments if name in forms}


def _package(name: str, wheel: str | None = None) -> Any:
    """An optional package, without the network."""
    for needed in ("torch", "onnxscript", name):
        if importlib.util.find_spec(needed) is None:
            raise ImportError(f"from_{name}() needs {needed}: pip install {wheel or needed if needed == name else needed}")
    with offline():
        return importlib.import_module(name)


def _near(name: str, known: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, 1)
    return f": did you mean {near[0]}?" if near else ""


def _built(name: str, build: Callable[[], Any]) -> Any:
    import torch

    try:
        with offline():
            try:
                with torch.device("meta"):
                    return build().eval()
            except RuntimeError as error:
                if "meta tensor" not in str(error):
                    raise
                # Its constructor computes with tensors, as RegNet's of torchvision does.
                return build().to("meta").eval()
    except Exception as error:
        raise UnsupportedError(f"{name} cannot be built: {line_of(error)}") from error


def _exported(
    module: Any, name: str, forms: Mapping[str, Any], fixed: Mapping[str, int], given: Mapping[str, int | None] | None
) -> Model:
    sizes = Sizes(fixed, given or {})
    dtype = next((p.dtype for p in module.parameters() if p.dtype.is_floating_point), None)
    tensors: dict[str, Any] = {}
    axes: dict[str, Any] = {}
    for key, form in forms.items():
        if isinstance(form, dict):
            made = {inner: sizes.tensor(kind, shape, dtype) for inner, (kind, shape) in form.items()}
            tensors[key], axes[key] = ({inner: pair[i] for inner, pair in made.items()} for i in range(2))
        else:
            tensors[key], axes[key] = sizes.tensor(form[0], form[1], dtype)
    sizes.check(name)
    with offline():
        noted = {axis: size for axis, size in (given or {}).items() if size is not None}
        return from_meta(module, Inputs(tensors, axes, {}, sizes.limits), name, noted)
