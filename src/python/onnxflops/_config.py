"""Models from configurations, by the classes of an installed transformers."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import warnings
from typing import TYPE_CHECKING, Any, Union

from onnxflops import _core, _graphs
from onnxflops._errors import InvalidError, NotFoundError, OnnxflopsError, UnsupportedError
from onnxflops._graphs import Graph

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onnxflops._core import Model
    from onnxflops._torch import Exported, Inputs

Config = Union[str, "os.PathLike[str]", "Mapping[str, Any]", Any]

_OLDEST = (4, 56)
_WITH_PAST = "-with-past"
# The words of transformers' pipelines and of Optimum, and the class that stands for each.
_TASKS = {
    "audio-classification": "AudioClassification",
    "audio-frame-classification": "AudioFrameClassification",
    "audio-xvector": "AudioXVector",
    "automatic-speech-recognition": "SpeechSeq2Seq",
    "ctc": "CTC",
    "depth-estimation": "DepthEstimation",
    "document-question-answering": "DocumentQuestionAnswering",
    "feature-extraction": "",
    "fill-mask": "MaskedLM",
    "image-classification": "ImageClassification",
    "image-segmentation": "ImageSegmentation",
    "image-text-to-text": "ImageTextToText",
    "image-to-image": "ImageToImage",
    "instance-segmentation": "InstanceSegmentation",
    "keypoint-detection": "KeypointDetection",
    "mask-generation": "MaskGeneration",
    "masked-im": "MaskedImageModeling",
    "multiple-choice": "MultipleChoice",
    "next-sentence-prediction": "NextSentencePrediction",
    "object-detection": "ObjectDetection",
    "pretraining": "PreTraining",
    "question-answering": "QuestionAnswering",
    "semantic-segmentation": "SemanticSegmentation",
    "table-question-answering": "TableQuestionAnswering",
    "text-classification": "SequenceClassification",
    "text-generation": "CausalLM",
    "text-to-audio": "TextToWaveform",
    "text2text-generation": "Seq2SeqLM",
    "token-classification": "TokenClassification",
    "universal-segmentation": "UniversalSegmentation",
    "video-classification": "VideoClassification",
    "visual-question-answering": "VisualQuestionAnswering",
    "zero-shot-image-classification": "ZeroShotImageClassification",
    "zero-shot-object-detection": "ZeroShotObjectDetection",
}


def from_config(
    config: Config,
    task: str | None = None,
    *,
    inputs: Sequence[str] | None = None,
    sizes: Mapping[str, int | None] | None = None,
    trust_remote_code: bool = False,
    name: str | None = None,
) -> Model:
    """The graph of a configuration, by the class of the installed transformers. No weight is made.

    `config` is a path of a config.json or of its folder, a dict, or a PretrainedConfig. The class is the
    one that `architectures` names; `task` takes another head: "text-generation", "fill-mask",
    "feature-extraction", "image-classification" and the other words of transformers and Optimum.
    "text-generation-with-past" has a cache of keys and values.

    The sizes of the inputs stay open, except those of images that the configuration fixes. `sizes` fixes
    others, {"seq": 512}, or opens one, {"height": None}. `inputs` names the arguments of forward() that
    become inputs, instead of the usual ones.

    Nothing is downloaded. Code in a configuration's folder (auto_map) is refused without `trust_remote_code`.
    The graph is kept for the next call, in the folder of the variable ONNXFLOPS_CACHE (empty: nowhere) or the
    user's folder for such files: it takes a configuration and the versions of the packages for its name.
    Needs torch, onnxscript and transformers. Raises UnsupportedError with the reason if the class cannot
    be exported.
    """
    graph = graph_of(config, task, inputs=inputs, sizes=sizes, trust_remote_code=trust_remote_code)
    for text in graph.warnings:
        warnings.warn(text, stacklevel=2)
    return _core._load_bytes(graph.data, name or graph.cls)


def graph_of(
    config: Config,
    task: str | None = None,
    *,
    inputs: Sequence[str] | None = None,
    sizes: Mapping[str, int | None] | None = None,
    trust_remote_code: bool = False,
) -> Graph:
    """The same as an ONNX file without weights: the kept one, or a new one."""
    _require_packages()
    key = None
    if not trust_remote_code:  # code of its own may change, with the same configuration
        document = config.to_dict() if hasattr(config, "to_dict") else None
        if document is None and (isinstance(config, (str, os.PathLike)) or hasattr(config, "items")):
            document, _ = document_of(config)
        key = None if document is None else _graphs.key_of(document, task, inputs, sizes)
    return _graphs.find(key) or _graphs.keep(key, _export(config, task, inputs, sizes, trust_remote_code))


def _export(
    config: Config,
    task: str | None,
    inputs: Sequence[str] | None,
    sizes: Mapping[str, int | None] | None,
    trust_remote_code: bool,
) -> Graph:
    transformers = _transformers()
    from onnxflops._cache import with_cache
    from onnxflops._grids import tower_of, with_grids
    from onnxflops._inputs import Maker, names_of

    with offline():
        found = read_config(transformers, config, trust_remote_code)
        with_past = task is not None and task.endswith(_WITH_PAST)
        cls = class_of(transformers, found, task[: -len(_WITH_PAST)] if task and with_past else task, trust_remote_code)
        module = build(cls, found)
        maker = Maker(module, module.config, dict(sizes or {}))
        tower = None if with_past or inputs else tower_of(module)
        if with_past:
            forms = [with_cache(module, maker)]
        elif tower is not None:
            forms = with_grids(module, tower, maker)
        else:
            forms = [maker.make(list(inputs))] if inputs else maker.forms(names_of(module, module.config))
        fixed = {axis: size for axis, size in (sizes or {}).items() if size is not None}
        made = _first_export(module, forms, cls.__name__, fixed, as_is=tower is None)
        return Graph(cls.__name__, made.data, made.told, made.conditions.formulas, made.fixed)


def _first_export(module: Any, forms: Sequence[Inputs], name: str, fixed: Mapping[str, int], as_is: bool) -> Exported:
    """The export of the first form of inputs that can be exported: by the class as it is, or as transformers exports it.

    The error is that of the first.
    """
    from onnxflops._torch import export_meta

    first: UnsupportedError | None = None
    for patches in (contextlib.nullcontext, export_patches) if as_is else (export_patches,):
        for made in forms:
            try:
                with patches():
                    return export_meta(module, made, name, fixed)
            except UnsupportedError as error:
                first = first or error
    raise first if first is not None else UnsupportedError(f"{name} has no inputs")


@contextlib.contextmanager
def export_patches() -> Iterator[None]:
    """The changes that transformers makes to its classes for an export: other forms of the same computation."""
    from onnxflops._torch import constants_kept

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module("transformers.exporters.exporter_dynamo")  # it registers them
            utils: Any = importlib.import_module("transformers.exporters.utils")
            stack.enter_context(utils.apply_patches("dynamo"))
        stack.enter_context(constants_kept())
        yield


def _require_packages() -> None:
    """torch, and what exports."""
    for needed in ("torch", "onnxscript", "transformers"):
        if importlib.util.find_spec(needed) is None:
            raise ImportError(f"from_config() needs {needed}: pip install 'onnxflops[transformers]'")


def _transformers() -> Any:
    with offline():
        import transformers
    version = tuple(int(x) for x in transformers.__version__.split(".")[:2])
    if version < _OLDEST:
        raise UnsupportedError(
            f"from_config() needs transformers {_OLDEST[0]}.{_OLDEST[1]} or later; {transformers.__version__} is installed"
        )
    return transformers


@contextlib.contextmanager
def offline() -> Iterator[None]:
    """Keeps classes from downloading anything from Hugging Face's hub."""
    before = {key: os.environ.get(key) for key in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")}
    os.environ.update(dict.fromkeys(before, "1"))
    constants: Any = None
    with contextlib.suppress(ImportError):  # it reads the variable once
        constants = importlib.import_module("huggingface_hub.constants")
    was_offline = getattr(constants, "HF_HUB_OFFLINE", None)
    if constants is not None:
        constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        if constants is not None:
            constants.HF_HUB_OFFLINE = was_offline
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def document_of(config: Config) -> tuple[dict[str, Any], str | None]:
    """The keys of a configuration that is not a transformers object yet, and its folder."""
    if not isinstance(config, (str, os.PathLike)):
        return dict(config), None
    path = os.fspath(config)
    path = os.path.join(path, "config.json") if os.path.isdir(path) else path
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except FileNotFoundError:
        raise NotFoundError(f"{path}: no such file (nothing is downloaded: give the path of a config.json)") from None
    except (OSError, ValueError) as error:
        raise InvalidError(f"{path}: {error}") from None
    if not isinstance(document, dict):
        raise InvalidError(f"{path}: a configuration is a JSON object")
    return document, os.path.dirname(path) or "."


def read_config(transformers: Any, config: Config, trust_remote_code: bool) -> Any:
    """The PretrainedConfig that `config` is or describes."""
    if isinstance(config, transformers.PretrainedConfig):
        _refuse_code(getattr(config, "auto_map", None), trust_remote_code)
        return type(config).from_dict(config.to_dict())  # only a copy is changed
    if not isinstance(config, (str, os.PathLike)) and not hasattr(config, "items"):
        raise TypeError(f"from_config(): {type(config).__name__} is no path, dict or PretrainedConfig")
    document, folder = document_of(config)
    _refuse_code(document.get("auto_map"), trust_remote_code)
    kind = document.get("model_type")
    if document.get("auto_map"):
        if folder is None:
            raise InvalidError("from_config(): code of a configuration is beside its file: give the path")
        return transformers.AutoConfig.from_pretrained(folder, trust_remote_code=True, local_files_only=True)
    if not isinstance(kind, str):
        raise InvalidError("the configuration has no model_type")
    known = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    if kind not in known:
        import difflib

        near = difflib.get_close_matches(kind, list(known.keys()), 1)
        hint = f": did you mean {near[0]}?" if near else ""
        raise NotFoundError(f"model_type {kind!r} is not known to transformers {transformers.__version__}{hint}")
    try:
        return known[kind].from_dict(document)
    except Exception as error:
        raise InvalidError(f"{known[kind].__name__}: {line_of(error)}") from error


def _refuse_code(auto_map: Any, trust_remote_code: bool) -> None:
    if auto_map and not trust_remote_code:
        code = next(iter(auto_map.values())) if isinstance(auto_map, dict) else auto_map
        raise UnsupportedError(
            f"the configuration names code of its own (auto_map: {code}), which is not run: trust_remote_code=True allows it"
        )


def line_of(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:300]}" if lines else type(error).__name__


def class_of(transformers: Any, config: Any, task: str | None, trust_remote_code: bool = False) -> Any:
    """The class of the head: of `task`, of `architectures`, or the model itself."""
    if getattr(config, "auto_map", None) and trust_remote_code:
        return _remote_class(config, task)
    if task is not None:
        return _class_of_task(transformers, config, task)
    architectures = getattr(config, "architectures", None) or []
    if not isinstance(architectures, (list, tuple)):
        raise InvalidError(f"architectures should be a list of names of classes, not {architectures!r}")
    for named in architectures:
        cls = getattr(transformers, str(named), None)
        if not hasattr(cls, "forward"):
            raise NotFoundError(f"transformers {transformers.__version__} has no class {named}, which architectures names")
        return cls
    auto = transformers.models.auto.modeling_auto
    for mapping in [auto.MODEL_MAPPING, *(value for key, value in vars(auto).items() if _is_mapping(key))]:
        if type(config) in mapping:
            return _first(mapping[type(config)])
    return _class_beside(config)


def _is_mapping(name: str) -> bool:
    return name.startswith("MODEL_FOR_") and name.endswith("_MAPPING")


def _first(classes: Any) -> Any:
    return classes[0] if isinstance(classes, (tuple, list)) else classes


def _class_of_task(transformers: Any, config: Any, task: str) -> Any:
    if task not in _TASKS:
        import difflib

        near = difflib.get_close_matches(task, _TASKS, 1)
        raise InvalidError(f"task {task!r} is not known{f': did you mean {near[0]}?' if near else ''}")
    name = f"AutoModelFor{_TASKS[task]}" if _TASKS[task] else "AutoModel"
    heads = [name, "AutoModelForCTC"] if task == "automatic-speech-recognition" else [name]
    for head in heads:
        mapping = getattr(getattr(transformers, head, None), "_model_mapping", {})
        if type(config) in mapping:
            return _first(mapping[type(config)])
    raise UnsupportedError(f"transformers {transformers.__version__} has no {name} of model_type {config.model_type!r}")


def _class_beside(config: Any) -> Any:
    """A part of a model, which no Auto class has: the class that has this type of configuration."""
    here = type(config).__module__
    with contextlib.suppress(ImportError):
        module = importlib.import_module(here.replace(".configuration_", ".modeling_"))
        classes = [
            value
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__
            and getattr(value, "config_class", None) is type(config)
            and "forward" in vars(value)
        ]  # fmt: skip
        if classes:
            return min(classes, key=lambda cls: not cls.__name__.endswith("Model"))
    raise UnsupportedError(f"transformers has no class that takes {type(config).__name__} alone")


def _remote_class(config: Any, task: str | None) -> Any:
    from transformers.dynamic_module_utils import get_class_from_dynamic_module

    head = f"AutoModelFor{_TASKS.get(task, '')}" if task and _TASKS.get(task) else "AutoModel"
    auto_map = config.auto_map
    reference = auto_map.get(head) if task else next((v for k, v in auto_map.items() if k.startswith("AutoModel")), None)
    if reference is None:
        raise UnsupportedError(f"auto_map of the configuration has no {head}")
    return get_class_from_dynamic_module(reference, config._name_or_path, local_files_only=True)


def build(cls: Any, config: Any) -> Any:
    """A module of a class on the device meta, which holds no numbers."""
    import torch

    _settle(config)
    try:
        with torch.device("meta"):
            make = getattr(cls, "_from_config", cls)
            dtype = getattr(config, "dtype" if hasattr(config, "dtype") else "torch_dtype", None)
            module = make(config, **({"dtype": dtype} if isinstance(dtype, torch.dtype) else {})).eval()
    except OnnxflopsError:
        raise
    except ImportError as error:
        raise UnsupportedError(f"{cls.__name__} cannot be built: {line_of(error)}") from error
    except Exception as error:
        raise InvalidError(f"{cls.__name__} cannot be built: {line_of(error)}") from error
    return module


def _settle(config: Any) -> None:
    """No cache, and experts that take exactly their tokens, in a form that can be exported."""
    for part in [config, *(value for value in vars(config).values() if hasattr(value, "model_type"))]:
        for key, value in (("use_cache", False), ("_experts_implementation", "batched_mm")):
            with contextlib.suppress(AttributeError, ValueError, TypeError):
                if key != "use_cache" or hasattr(part, key):
                    setattr(part, key, value)
