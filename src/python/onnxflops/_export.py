"""PyTorch's ONNX exporter, without its repeated work.

torch.onnx.export() traces a module for torch.export and once more for the decompositions, and reads its table of
operators from their sources at every call. Here the trace of the module already has the decompositions, and the table
is cached. The graph is the same with two exceptions: tied parameters may have the first of their names instead of the
last, and calls under no_grad or autocast keep their module, which two traces lose.

This uses private parts of PyTorch. If one is missing, or fails, torch.onnx.export() does everything.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

_OLDEST = (2, 15)  # of PyTorch: in older ones the private parts are not known to mean the same
_EXPORTER = "torch.onnx._internal.exporter"


class _Table(NamedTuple):
    """The operators that the exporter knows."""

    names: list[str]  # the operators that PyTorch had at that time: a package may bring others later
    registry: Any
    composite: dict[Any, Any]  # decompositions of operators that are composite already while a module is traced
    other: dict[Any, Any]  # those that a second trace would do


_kept: _Table | None = None


def to_onnx(
    module: torch.nn.Module, inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, dynamic_shapes: Any
) -> Any:
    """torch.onnx.export() of a module, not optimized."""
    import torch

    has_keywords = not kwargs and inputs and isinstance(inputs[-1], dict)  # the exporter takes them from there
    if not module.training and not has_keywords:  # the exporter warns of training
        private = _private_parts()
        if private is not None:
            try:
                return _export(private, module, inputs, kwargs, dynamic_shapes)
            except Exception:  # the public function succeeds, or raises its own error
                pass
    return torch.onnx.export(
        module, inputs, kwargs=kwargs, dynamic_shapes=dynamic_shapes, dynamo=True, optimize=False, verbose=False,
        custom_translation_table=_translations(),
    )  # fmt: skip


def program_to_onnx(program: torch.export.ExportedProgram) -> Any:
    """torch.onnx.export() of a program, not optimized."""
    import torch

    private = _private_parts()
    if private is not None:
        try:
            return _translate(private, program, _with(_table(private).registry, _translations()))
        except Exception:
            pass
    return torch.onnx.export(
        program, dynamo=True, optimize=False, verbose=False, custom_translation_table=_translations()
    )


def _translations() -> dict[Any, Any]:
    """Operators that the exporter has no translation for, or a wrong one."""
    import torch

    op: Any = importlib.import_module("onnxscript").opset18

    def is_all_true(self: Any) -> Any:
        return op.Cast(op.ReduceMin(op.Cast(self, to=6), keepdims=0), to=9)  # int32, bool

    # onnxscript 0.7.2 gives a convolution without bias one of two axes, which no runtime accepts.
    def conv3d(
        input: Any, weight: Any, bias: Any = None, stride: Any = (1, 1, 1), padding: Any = (0, 0, 0),
        dilation: Any = (1, 1, 1), groups: int = 1,
    ) -> Any:  # fmt: skip
        strides, pads, dilations = ([*values] * (3 // len(values)) for values in (stride, padding, dilation))
        inputs = (input, weight) if bias is None else (input, weight, bias)
        return op.Conv(*inputs, strides=strides, pads=pads * 2, dilations=dilations, group=groups)

    # PyTorch leaves an axis of another size, and an open one, as it is; ONNX takes that for an error.
    def squeeze(self: Any, dim: int) -> Any:
        shape = self.shape
        is_one = shape is None or (len(shape) > 0 and shape[dim] == 1)
        return op.Squeeze(self, [dim]) if is_one else op.Identity(self)

    aten = torch.ops.aten
    return {aten._is_all_true.default: is_all_true, aten.conv3d.default: conv3d, aten.squeeze.dim: squeeze}


def _private_parts() -> SimpleNamespace | None:
    """The modules of PyTorch with the private parts used here, or None if one is missing."""
    import torch

    try:
        if tuple(int(x) for x in torch.__version__.split(".")[:2]) < _OLDEST:
            return None
        found = SimpleNamespace(
            core=importlib.import_module(f"{_EXPORTER}._core"),
            registration=importlib.import_module(f"{_EXPORTER}._registration"),
            decomp=importlib.import_module(f"{_EXPORTER}._decomp"),
            shapes=importlib.import_module(f"{_EXPORTER}._dynamic_shapes"),
            capture=importlib.import_module(f"{_EXPORTER}._capture_strategies"),
            flags=importlib.import_module(f"{_EXPORTER}._flags"),
            opsets=importlib.import_module("torch.onnx._constants"),
            trace=importlib.import_module("torch.export._trace"),
            program=importlib.import_module("torch.export.exported_program"),
            settings=importlib.import_module("torch.fx.experimental._config"),
        )
    except (ImportError, ValueError):
        return None
    return found


def _table(private: SimpleNamespace) -> _Table:
    """The table of operators: the cached one, unless PyTorch has new operators since."""
    import torch

    global _kept
    names = torch._C._dispatch_get_all_op_names()
    if _kept is None or _kept.names != names:
        registry = private.registration.ONNXRegistry.from_torchlib(opset_version=private.opsets.ONNX_DEFAULT_OPSET)
        known = set(private.decomp.get_onnx_implemented_overloads(registry))
        table = private.decomp.create_onnx_friendly_decomposition_table(known)
        composite, other = private.program._split_decomp_table_to_cia_and_python_decomp(dict(table))
        _kept = _Table(torch._C._dispatch_get_all_op_names(), registry, composite, other)
    return _kept


def _with(registry: Any, translations: Mapping[Any, Any]) -> Any:
    """A copy of a registry with other translations. The exporter changes lists of a registry in place."""
    copy = type(registry)()
    copy._opset_version = registry._opset_version
    copy.functions = {key: list(found) for key, found in registry.functions.items()}
    for operator, translation in translations.items():
        copy.register_op(operator, translation, is_complex=False)
    return copy


def _translate(private: SimpleNamespace, model: Any, registry: Any, **more: Any) -> Any:
    """The function that torch.onnx.export() calls with its own registry."""
    opset = private.opsets.ONNX_DEFAULT_OPSET
    return private.core.export(model, registry=registry, verbose=False, optimize=False, opset_version=opset, **more)


def _export(
    private: SimpleNamespace,
    module: torch.nn.Module,
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    dynamic_shapes: Any,
) -> Any:
    table = _table(private)
    registry = _with(table.registry, _translations())
    program = _trace(private, table, module, inputs, kwargs) if dynamic_shapes is None else None
    if program is not None:
        return _translate(private, program, registry)
    shapes, are_named = private.shapes.convert_str_to_export_dim(dynamic_shapes)
    exported = _translate(private, module, registry, args=inputs, kwargs=kwargs, dynamic_shapes=shapes)
    if are_named:
        exported._rename_dynamic_axes(dynamic_shapes)
    return exported


def _trace(
    private: SimpleNamespace,
    table: _Table,
    module: torch.nn.Module,
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
) -> torch.export.ExportedProgram | None:
    """The decomposed program of a module at fixed sizes, or None if it may differ from the result of two traces."""

    def trace() -> Any:
        composite = private.program._override_composite_implicit_decomp(table.composite)
        with private.settings.patch(backed_size_oblivious=True), composite:
            return private.trace._export(module, inputs, kwargs, strict=False, pre_dispatch=False)

    try:
        # Modules may ask torch.onnx.is_in_onnx_export().
        program = private.flags.set_onnx_exporting_flag(trace)()
    except Exception:
        return None
    operators = {node.target for node in program.graph.nodes if node.op != "output"}
    if any(node.op == "get_attr" for node in program.graph.nodes):  # branches and loops have graphs of their own
        return None
    if not operators & table.other.keys():
        program.run_decompositions = lambda *_, **__: program  # the exporter calls it
    return program
