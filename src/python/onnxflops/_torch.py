"""Models from PyTorch's modules: the one road through PyTorch's ONNX exporter."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import traceback
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from onnxflops import _core
from onnxflops._conditions import CONDITION, FIXED, HOLDS, Conditions, conditions_of
from onnxflops._errors import InvalidError, UnsupportedError
from onnxflops._export import program_to_onnx, to_onnx

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import torch

_MOST_REASON = 300  # characters of PyTorch's reason in an error
_MOST_CONSTANTS = 4096  # elements


def from_torch(
    module: torch.nn.Module,
    example_inputs: tuple[Any, ...] | torch.Tensor,
    *,
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    name: str | None = None,
) -> _core.Model:
    """The graph of a module, by torch.export and PyTorch's ONNX exporter. No weight is written.

    `example_inputs` are the arguments of forward(). `dynamic_shapes` is passed to torch.export: sizes named
    there stay symbols, {"x": {0: "batch"}}. Tensors on the device meta, in the module or among the inputs,
    take no memory. Needs torch and onnxscript.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError("from_torch() needs PyTorch: pip install 'onnxflops[torch]'") from error
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"from_torch(): 'module' should be a torch.nn.Module, not {_type_of(module)}")
    inputs, kwargs = _off_meta((_arguments(example_inputs), kwargs))
    called = name or type(module).__name__
    if module.training:
        warnings.warn(
            f"{called} is in training mode: dropout and normalisation count as in training; after eval(), as in inference",
            stacklevel=2,
        )
    try:
        with _quiet(), _fake(module):
            program = to_onnx(module, inputs, kwargs, dynamic_shapes)
    except Exception as error:
        _refuse(module, inputs, kwargs, called, error)
    if program is None:
        raise UnsupportedError(f"from_torch(): {called} cannot be exported: torch.onnx.export gives no model")
    return _model_of(program.model, module, called)


def _type_of(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _arguments(example_inputs: Any) -> tuple[Any, ...]:
    """The positional arguments of forward()."""
    import torch

    if isinstance(example_inputs, torch.Tensor):
        return (example_inputs,)
    if hasattr(example_inputs, "items"):
        raise TypeError("from_torch(): 'example_inputs' has names: give them as from_torch(module, (), kwargs={...})")
    if not isinstance(example_inputs, (tuple, list)):
        raise TypeError(
            f"from_torch(): 'example_inputs' should be a tensor, or a tuple of forward()'s arguments, not {_type_of(example_inputs)}"
        )
    return tuple(example_inputs)


def _refuse(
    module: torch.nn.Module, inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, name: str, error: Exception
) -> NoReturn:
    """Raises the error of an export that fails: InvalidError if forward() itself takes no such inputs."""
    fault = _fault_of_forward(module, inputs, kwargs or {})
    if fault is None:
        raise UnsupportedError(f"from_torch(): {name} cannot be exported: {_reason(error)}") from error
    given = [_shape_of(value) for value in inputs] + [f"{key}={_shape_of(value)}" for key, value in (kwargs or {}).items()]
    raise InvalidError(
        f"from_torch(): forward() of {name} does not take these example_inputs and kwargs ({', '.join(given)}): {_reason(fault)}"
    ) from error


def _shape_of(value: Any) -> str:
    if not hasattr(value, "shape"):
        return type(value).__name__
    return f"{str(value.dtype).rpartition('.')[2]}{[*map(int, value.shape)]}"


def _fault_of_forward(module: torch.nn.Module, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception | None:
    """The error of forward() itself, on tensors without data; of PyTorch's own classes it is one of the trace."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils import _pytree

    with _quiet(), _fake(module), torch.no_grad(), FakeTensorMode(allow_non_fake_inputs=True) as mode:
        try:
            inputs, kwargs = _pytree.tree_map_only(torch.Tensor, mode.from_tensor, (inputs, kwargs))
            module(*inputs, **kwargs)
        except Exception as error:
            return None if type(error).__module__.startswith("torch") else error
    return None


class Inputs(NamedTuple):
    """The options of a module's export."""

    tensors: dict[str, Any]  # by argument of forward(): a tensor, or a list of pairs of them
    axes: dict[str, Any]  # in the same form: {axis: name of the open size}
    renamed: dict[str, str]  # inputs of the graph that get another name
    limits: dict[str, tuple[int, int]]  # the least and the most that an open size may be, where that is known
    constants: dict[str, Any] = {}  # arguments that are no tensors
    told: tuple[str, ...] = ()  # what to warn of


def from_meta(module: torch.nn.Module, inputs: Inputs, name: str, fixed: Mapping[str, int] | None = None) -> _core.Model:
    """The graph of a module whose tensors are on the device meta. Sizes that the caller `fixed` are noted in it."""
    exported = export_meta(module, inputs, name, fixed)
    for text in exported.told:
        warnings.warn(text, stacklevel=3)
    return _core._load_bytes(exported.data, name)


class Exported(NamedTuple):
    """A graph as the bytes of an ONNX file without weights, and what it holds under."""

    data: bytes
    told: list[str]  # what to warn of
    conditions: Conditions
    fixed: dict[str, int]  # what its class, or who asked for it, fixed open sizes at


def export_meta(module: torch.nn.Module, inputs: Inputs, name: str, fixed: Mapping[str, int] | None = None) -> Exported:
    """The same as an ONNX file."""
    import torch
    from torch.export import Dim
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils import _pytree

    settings: Any = importlib.import_module("torch.fx.experimental._config")
    shapes = _pytree.tree_map_only(str, lambda _: Dim.AUTO, inputs.axes)
    with _quiet(), _fake(module):  # which restores forward()
        if inputs.constants:
            module.forward = with_constants(module, inputs)
        try:
            # The CPU's fused attention has other strides than the products into which the exporter decomposes it.
            with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), settings.patch(backed_size_oblivious=True):
                program = torch.export.export(module, (), kwargs=inputs.tensors, dynamic_shapes=shapes, strict=False)
                exported = program_to_onnx(program)
        except Exception as error:
            raise UnsupportedError(f"{name} cannot be exported: {_reason(error)}") from error
    if exported is None:
        raise UnsupportedError(f"{name} cannot be exported: torch.onnx.export gives no model")
    told = list(inputs.told)
    found = _name_sizes(exported.model, inputs, name)
    if found:
        places = (f"{size} at {value} in {place}" for size, (value, place) in found.items())
        told.append(f"{name}: the class fixes {', '.join(places)}; sizes={{...}} gives another size")
    conditions = _conditions(program, inputs)
    text = conditions.text(inputs.limits)
    if text:
        told.append(f"{name}: the graph holds where {text}. For other sizes, fix them: sizes={{...}}")
    all_fixed = {**(fixed or {}), **{size: value for size, (value, _) in found.items()}}
    _add_unused(exported.model, module)
    note_sizes(exported.model, conditions, text, all_fixed)
    return Exported(_without_weights(exported.model), told, conditions, all_fixed)


def note_sizes(model: Any, conditions: Conditions, text: str, fixed: Mapping[str, int]) -> None:
    """Puts into a graph's metadata which sizes it is for. A count at others is refused."""
    if conditions.formulas:
        model.metadata_props[HOLDS] = text
    for number, formula in enumerate(conditions.formulas):
        model.metadata_props[f"{CONDITION}{number}"] = formula
    for size, value in fixed.items():
        model.metadata_props[FIXED + size] = str(value)


def with_constants(module: torch.nn.Module, inputs: Inputs) -> Any:
    """forward() with the inputs' constants given. torch.export reads the names of the others from its signature."""
    import inspect

    original = module.forward

    def forward(**tensors: Any) -> Any:
        return original(**tensors, **inputs.constants)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(name, kind) for name in inputs.tensors])
    forward.__signature__ = signature  # type: ignore[attr-defined]
    return forward


def _off_meta(inputs: Any) -> Any:
    """Inputs on the device meta become zeros of the CPU, where the tensors of _fake() are."""
    import torch
    from torch.utils import _pytree

    return _pytree.tree_map_only(
        torch.Tensor, lambda tensor: torch.zeros_like(tensor, device="cpu") if tensor.is_meta else tensor, inputs
    )


@contextlib.contextmanager
def _fake(module: torch.nn.Module) -> Iterator[None]:
    """Has fake tensors of the CPU in the place of those on meta: the module's code makes others on the CPU.

    Afterwards the module is as it was, also where its code keeps tensors of a trace, as timm's LeViT does.
    """
    before = []
    for part in module.modules():
        held = [value for value in vars(part).values() if type(value) in (dict, list)]  # others may be frozen
        before.append((part, dict(vars(part)), [(value, value.copy()) for value in held]))
    try:
        _make_fake(module)
        yield
    finally:
        for part, attributes, copies in before:
            vars(part).clear()
            vars(part).update(attributes)
            for value, copy in copies:
                value.clear()
                if isinstance(value, dict):
                    value.update(copy)
                else:
                    value.extend(copy)


def _make_fake(module: torch.nn.Module) -> None:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    known: dict[int, Any] = {}  # tied parameters stay tied

    def fake(tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor) or not tensor.is_meta:
            return tensor
        if id(tensor) not in known:
            made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
            is_parameter = isinstance(tensor, torch.nn.Parameter)
            # The old tensor is kept, so that its id stays its own.
            known[id(tensor)] = (torch.nn.Parameter(made, tensor.requires_grad) if is_parameter else made, tensor)
        return known[id(tensor)][0]

    with FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv()):
        for part in module.modules():
            # Attributes are tensors that the class did not register, or lists of them, as torch.nn.LSTM has.
            for tensors in (part._parameters, part._buffers, vars(part)):
                tensors.update({key: fake(value) for key, value in tensors.items()})
            for value in vars(part).values():
                if type(value) is list:
                    value[:] = [fake(item) for item in value]


@contextlib.contextmanager
def constants_kept() -> Iterator[None]:
    """Computes with the values of small constants in a trace, not only of single numbers: code may read them."""
    found: list[Any] = []
    for name in ("torch._subclasses.fake_tensor", "torch.fx.experimental.proxy_tensor"):
        module: Any = importlib.import_module(name)
        if hasattr(module, "CONSTANT_NUMEL_LIMIT"):
            found.append((module, module.CONSTANT_NUMEL_LIMIT))
            module.CONSTANT_NUMEL_LIMIT = _MOST_CONSTANTS
    try:
        yield
    finally:
        for module, limit in found:
            module.CONSTANT_NUMEL_LIMIT = limit


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silences the exporter's log, and the graph that it prints if it fails: a failure raises an error with its reason."""
    import io
    import logging

    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _reason(error: BaseException) -> str:
    """In one line: the operator, the first sentence of PyTorch's reason, and the line of the class."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = next((line for line in lines if not line.endswith(":")), type(error).__name__)
    operator = re.search(r"OpOverload\(op='([\w.]+)'|\b(aten\.\w+(?:\.\w+)?|\w+::\w+(?:\.\w+)?)", str(error))
    if operator and (operator[1] or operator[2]) not in text:
        text = f"{operator[1] or operator[2]}: {text}"
    if not isinstance(error, UnsupportedError) and type(error).__name__ not in text:
        text = f"{type(error).__name__}: {text}"
    if len(text) > _MOST_REASON:
        text = text[: _MOST_REASON - 3] + "..."
    outside = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if f"{os.sep}torch{os.sep}" not in frame.filename and f"{os.sep}onnx" not in frame.filename
    ]
    if outside:
        frame = outside[-1]
        text += f" ({os.path.basename(frame.filename)}, line {frame.lineno}: {frame.line})"
    return text


def _name_sizes(model: Any, inputs: Inputs, name: str) -> dict[str, tuple[int, str]]:
    """Gives open sizes of a graph's inputs the names that `inputs` has, and the inputs theirs.

    Returns those that the class fixed, each at what and in which input.

    A size that the class fixed in one input and not in another would count two batches in one model.
    """
    import onnx_ir
    from torch.utils import _pytree

    def is_axes(value: Any) -> bool:
        return isinstance(value, dict) and all(isinstance(key, int) for key in value)

    axes = _pytree.tree_leaves([inputs.axes[key] for key in inputs.tensors], is_leaf=is_axes)
    names: dict[str, str] = {}
    fixed: dict[str, tuple[int, str]] = {}
    for value, named in zip(model.graph.inputs, axes):
        for axis, size in named.items():
            text = str(getattr(value.shape[axis], "value", value.shape[axis]))
            if text.isdigit():
                fixed[size] = (int(text), str(value.name))
            else:
                names.setdefault(text, size)
    for size in fixed.keys() & set(names.values()):
        at, place = fixed[size]
        raise UnsupportedError(f"{name}: the class fixes {size} at {at} in {place}, and not elsewhere: sizes={{{size!r}: N}} gives it")
    values = [*model.graph.inputs]
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        values += [value for node in graph.all_nodes() for value in node.outputs]
    for value in values:
        for axis, dim in enumerate(value.shape or ()):
            if isinstance(dim, onnx_ir.SymbolicDim) and dim.value is not None:
                value.shape[axis] = int(dim.value) if dim.value.isdigit() else _renamed(dim.value, names)
    for value in model.graph.inputs:
        if value.name in inputs.renamed:
            value.name = inputs.renamed[value.name]
    return fixed


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), text)


def _conditions(program: Any, inputs: Inputs) -> Conditions:
    """What the graph holds under, if the class branches on an open size."""

    def size_of(found: re.Match[str]) -> str:
        value: Any = inputs.axes
        for key in re.findall(r"\[('?\w+'?)\]", found[1]):
            value = value[key.strip("'") if key.startswith("'") else int(key)]
        return str(value.get(int(found[2]), "?"))

    guards = getattr(program, "_guards_code", None) or []
    texts = [re.sub(r"L((?:\['?\w+'?\])+)\.size\(\)\[(\d+)\]", size_of, guard) for guard in guards]
    return conditions_of(texts, inputs.limits)


def _model_of(model: Any, module: torch.nn.Module, name: str) -> _core.Model:
    _add_unused(model, module)
    return _core._load_bytes(_without_weights(model), name)


def _add_unused(model: Any, module: torch.nn.Module) -> None:
    """Adds the parameters that the exporter removed since forward() does not use them.

    Tied ones are one. It has its last name, as torch.onnx.export() gives it: one trace would take the first.
    """
    import onnx_ir

    named: dict[int, tuple[Any, list[str]]] = {}
    for key, parameter in module.named_parameters(remove_duplicate=False):
        named.setdefault(id(parameter), (parameter, []))[1].append(key)
    initializers = model.graph.initializers
    for parameter, keys in named.values():
        present = [key for key in keys if key in initializers]
        for other in present[1:]:
            initializers[other].replace_all_uses_with(initializers[present[0]])
            del initializers[other]
        if present:
            if present[0] != keys[-1]:
                _rename(initializers, present[0], keys[-1])
            continue
        value = onnx_ir.Value(name=keys[0], type=onnx_ir.TensorType(_dtype_of(parameter)))
        value.shape = onnx_ir.Shape(parameter.shape)
        value.const_value = _outside(keys[0], value.dtype, value.shape)
        initializers[keys[0]] = value


def _rename(initializers: Any, old: str, new: str) -> None:
    value = initializers.pop(old)
    value.name = new
    if value.const_value is not None:
        value.const_value.name = new
    initializers[new] = value


def _dtype_of(tensor: Any) -> Any:
    """torch.float8_e4m3fn is FLOAT8E4M3FN."""
    import onnx_ir

    name = str(tensor.dtype).rpartition(".")[2].upper().replace("FLOAT8_", "FLOAT8")
    return onnx_ir.DataType[{"FLOAT32": "FLOAT", "FLOAT64": "DOUBLE"}.get(name, name)]


def _outside(name: str, dtype: Any, shape: Any) -> Any:
    """A tensor whose data is in a file that is not there."""
    import math

    import onnx_ir

    length = math.ceil(dtype.itemsize * math.prod(shape))
    return onnx_ir.ExternalTensor("weights", 0, length, dtype, shape=shape, name=name, base_dir="")


def _without_weights(model: Any) -> bytes:
    """The bytes of the exporter's model. Large weights, and those without data, are named as data of another file."""
    import onnx_ir
    from torch._subclasses.fake_tensor import FakeTensor

    most_elements = 1024  # smaller tensors may be sizes, which the graph depends on
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        for value in getattr(graph, "initializers", {}).values():
            tensor = value.const_value
            if tensor is None:
                continue
            raw = getattr(tensor, "raw", None)
            has_data = not (isinstance(raw, FakeTensor) or getattr(raw, "is_meta", False))
            if tensor.size > most_elements or not has_data:
                value.const_value = _outside(tensor.name or value.name, tensor.dtype, tensor.shape)
    proto = onnx_ir.serde.serialize_model(model)
    data: bytes = proto.SerializeToString()
    return data
