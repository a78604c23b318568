"""What a training trains: adapters of PEFT, or a part of the parameters, by the module that a trainer has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional, Union

from onnxflops._core import Model, Report
from onnxflops._errors import InvalidError, NotFoundError, OnnxflopsError

_PEFT, _PREFIXES = "base_model.model.", ("module.", "_orig_mod.")  # of PEFT; of DDP and torch.compile


def _elements(parameter: Any) -> int:
    return int(getattr(parameter, "ds_numel", None) or parameter.numel())  # DeepSpeed keeps a part of it


def _plain(name: str) -> str:
    """As the model calls it; a module of Lightning may have the model of PEFT at any name."""
    name = name.rpartition(_PEFT)[2]
    while prefix := next((x for x in _PREFIXES if name.startswith(x)), ""):
        name = name[len(prefix) :]
    return name


class _Adapters:
    """The LoRA layers that train in a module."""

    def __init__(self, module: Any) -> None:
        self.ranks: dict[str, tuple[int, bool]] = {}  # by the path of the layer, and whether it is DoRA
        self.elements = 0
        self.nf4 = False
        self.several = False  # adapters on one layer
        self.of_parameter = ""  # the layer whose parameter itself has an adapter: target_parameters
        types = set()
        modules = dict(module.named_modules())
        for name, layer in modules.items():
            for adapter in _trained_adapters(layer):
                if hasattr(layer, "parameter_name"):
                    self.of_parameter = f"{_plain(name)}.{layer.parameter_name}"
                self.several = self.several or _plain(name) in self.ranks
                magnitudes: Any = getattr(layer, "lora_magnitude_vector", ())
                dora = adapter in magnitudes
                self.ranks[_plain(name)] = (int(layer.r[adapter]), dora)
                parts = (layer.lora_A, layer.lora_B, magnitudes) if dora else (layer.lora_A, layer.lora_B)
                self.elements += sum(_elements(x[adapter].weight) for x in parts)
                base = layer.base_layer
                types.add(type(base))
                self.nf4 = self.nf4 or type(base).__name__ == "Linear4bit"
        # Layers of the same kind that have none: an end of a path may be theirs, too.
        self._others = [_plain(name) for name, layer in modules.items() if type(layer) in types and not name.endswith(".base_layer")]

    def setting(self) -> Union[str, list[str]]:
        """As count(lora=...) takes it: by the last parts of paths where that is the same layers. A text for each rank."""
        targets: dict[tuple[int, bool], list[str]] = {}
        for path, kind in self.ranks.items():
            end = path.rsplit(".", 1)[-1]
            others = [*self._others, *(x for x in self.ranks if self.ranks[x] != kind)]
            target = path if any(x == end or x.endswith("." + end) for x in others) else end
            if target not in targets.setdefault(kind, []):
                targets[kind].append(target)
        base = ",base=nf4" if self.nf4 else ""
        texts = [f"r={rank}{',dora' if dora else ''}{base}:{','.join(sorted(names))}" for (rank, dora), names in targets.items()]
        return texts[0] if len(texts) == 1 else texts


def _trained_adapters(layer: Any) -> list[str]:
    """The active adapters of a layer that train."""
    pairs: Any = getattr(layer, "lora_A", None)
    if not hasattr(pairs, "keys") or not hasattr(layer, "base_layer"):
        return []
    active = getattr(layer, "active_adapters", ())
    return [x for x in active if x in pairs and hasattr(pairs[x], "weight") and pairs[x].weight.requires_grad]


def _is_part(model: Union[Model, Report]) -> bool:
    """Whether a report trains a part of the parameters."""
    if isinstance(model, Model):
        return False
    training = model.to_dict().get("training") or {}
    return bool(training.get("trained_params", 0) < training.get("params", 0))


def _adapters_of_file(model: Model, dora: bool, more: Sequence[str] = ()) -> Optional[Report]:
    """Of a file that has the adapters, such as an export of a PeftModel. `more` trains besides."""
    adapters = ["*.lora_A.*", "*.lora_B.*", *(["*.lora_magnitude_vector.*"] if dora else [])]
    try:
        report = model.count(backward="exact", trained=adapters)
    except NotFoundError:
        return None
    return model.count(backward="exact", trained=[*adapters, *more]) if more else report


def _embeddings_of(module: Any) -> list[tuple[str, Any]]:
    """The embeddings whose outputs get gradients by a hook of transformers or peft, and then others as wide."""
    named = {name: x for name, x in module.named_modules() if hasattr(x, "embedding_dim")}
    hooked = [(name, x) for name, x in named.items() if any("inputs_require_grad" in getattr(h, "__name__", "") for h in x._forward_hooks.values())]
    wide = {x.embedding_dim for _, x in hooked}
    return [*hooked, *((name, x) for name, x in named.items() if x.embedding_dim in wide and not any(x is own for _, own in hooked))]


def _first_trained(module: Any) -> Optional[str]:
    """A parameter whose training takes the gradients up to the first layer's inputs, and costs no product: "" if there is none.

    None if gradients stop before, as they do where nothing makes the outputs of the embeddings need them.
    """
    embeddings = _embeddings_of(module)
    if not embeddings:
        return None
    uses = [id(parameter) for _, parameter in module.named_parameters(remove_duplicate=False)]
    for name, embedding in embeddings:
        if uses.count(id(embedding.weight)) == 1:  # not that of the logits as well
            return f"{_plain(name)}.weight"
    names = [_plain(name) for name, _ in module.named_parameters()]
    return next((name for name in names if name.endswith("layers.0.input_layernorm.weight")), "")


def _trained_params(report: Report) -> int:
    return int((report.to_dict().get("training") or {}).get("trained_params", 0))


def _lora_params(report: Report) -> int:
    document = report.to_dict()
    found = document.get("lora") or {"params": _trained_params(report)}
    return int(found["params"])


def _with_inputs(model: Model, report: Report, module: Any, adapters: _Adapters, warn: Callable[[str], None]) -> Report:
    """The report with the gradients of the first layer's inputs, if enable_input_require_grads() of the module asks for them."""
    name = _first_trained(module)
    if name is None:
        return report
    try:
        if not name:
            raise InvalidError("its embeddings are those of its logits as well")
        dora = any(dora for _, dora in adapters.ranks.values())
        found = _adapters_of_file(model, dora, [f"*{name}"]) or model.count(lora=adapters.setting(), trained=[f"*{name}"])
        if _trained_params(found) <= _trained_params(report):
            raise NotFoundError(f"the model has no {name}")
        return found
    except OnnxflopsError as error:
        warn(
            "the inputs of the first layer get gradients (enable_input_require_grads(), gradient checkpointing), and the count has none "
            f"before the first adapter, so that perf/mfu is too low: {error}"
        )
        return report


def has_input_gradients(module: Any) -> bool:
    """Whether the outputs of the embeddings need gradients though nothing before them trains."""
    return bool(_embeddings_of(module))


def as_trained(model: Union[Model, Report], module: Any, warn: Callable[[str], None]) -> Union[Model, Report]:
    """The model, or a report of the training of the adapters that `module` has.

    Raises an error for adapters that count() cannot add. Warns if a part of the parameters trains, and the
    count is that of a training of all.
    """
    names = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
    if all(parameter.requires_grad for parameter in module.parameters()) or not names:
        return model
    trained, total = sum(map(_elements, names.values())), sum(map(_elements, module.parameters()))
    some = f"{trained:,} of {total:,} parameters train"
    adapters = _Adapters(module)
    if not adapters.ranks:
        if not _is_part(model):
            warn(f"{some}, and the count is that of a training of all: count(backward='exact', trained=[...]) gives a report of this one")
        return model
    setting = adapters.setting()
    if isinstance(model, Report):
        if not _is_part(model):
            warn(f"adapters of PEFT train, and the report trains all parameters: count(lora={setting!r}) gives one of the adapters")
        return model
    others = sorted(_plain(name) for name in names if not {"lora_A", "lora_B", "lora_magnitude_vector"} & set(name.split(".")))
    if others:
        raise InvalidError(
            f"adapters of PEFT train, and {others[0]} as well ({len(others)} more than LoRA's): give a report of that training, "
            f"count(lora={setting!r}, trained=[...]), instead of the model"
        )
    if adapters.of_parameter:
        raise InvalidError(
            f"an adapter of PEFT is on the parameter {adapters.of_parameter} itself (target_parameters), and lora= takes layers: "
            "give a report of that training instead of the model"
        )
    if adapters.several:
        raise InvalidError("several adapters on a layer of PEFT train, and lora= takes one: give the report of an export of this PeftModel")
    try:
        report = _adapters_of_file(model, any(dora for _, dora in adapters.ranks.values())) or model.count(lora=setting)
    except OnnxflopsError as error:
        raise InvalidError(f"adapters of PEFT train, and the model cannot have them: {error}. Give a report of that training instead") from error
    if _lora_params(report) != adapters.elements:
        raise InvalidError(
            f"adapters of PEFT train {adapters.elements:,} parameters, and count(lora={setting!r}) has {_lora_params(report):,}: "
            "give a report of that training instead of the model"
        )
    return _with_inputs(model, report, module, adapters, warn)
