"""A decoder with its cache of keys and values among the inputs: a step of decoding, and serving."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from onnxflops._errors import UnsupportedError
from onnxflops._inputs import number
from onnxflops._torch import Inputs

if TYPE_CHECKING:
    import torch

    from onnxflops._inputs import Maker


def with_cache(module: Any, maker: Maker) -> Inputs:
    """Gives forward() of a decoder the arguments input_ids and past, a list of keys and values by layer."""
    from transformers import DynamicCache

    name = type(module).__name__
    arguments = inspect.signature(type(module).forward).parameters
    key = next((key for key in ("past_key_values", "cache") if key in arguments), None)
    if key is None or "input_ids" not in arguments or getattr(module.config, "is_encoder_decoder", False):
        raise UnsupportedError(f"{name} has no cache that is known here")
    config = module.config
    text: Any = config.get_text_config(decoder=True) if hasattr(config, "get_text_config") else config
    layers = number(text, "num_hidden_layers")
    heads = number(text, "num_key_value_heads") or number(text, "num_attention_heads")
    queries, width = number(text, "num_attention_heads"), number(text, "hidden_size")
    if layers is None or heads is None or queries is None or width is None:
        raise UnsupportedError(f"{name}: its configuration does not say which cache it has")
    head = number(text, "head_dim") or width // queries
    ids, axes = maker.tensor("input_ids")
    dtype = next(p.dtype for p in module.parameters() if p.dtype.is_floating_point)
    original = module.forward

    def forward(input_ids: torch.Tensor, past: list[list[torch.Tensor]]) -> Any:
        cache = DynamicCache(config=config)
        for layer, (keys, values) in enumerate(past):
            cache.update(keys, values, layer)
        done = original(input_ids=input_ids, **{key: cache, "use_cache": True})
        now = getattr(done, key)
        return done[0], [[layer.keys, layer.values] for layer in now.layers]

    module.forward = forward
    made = [[maker.sizes.tensor("float", ("batch", heads, "past", head), dtype) for _ in range(2)] for _ in range(layers)]
    maker.sizes.check(name)
    tensors, shapes = ([[pair[i] for pair in layer] for layer in made] for i in range(2))
    renamed = {}
    for layer in range(layers):
        for place, word in enumerate(("key", "value")):
            renamed[f"past_{layer}_{place}"] = f"past_key_values.{layer}.{word}"
    return Inputs({"input_ids": ids, "past": tensors}, {"input_ids": axes, "past": shapes}, renamed, maker.sizes.limits)
