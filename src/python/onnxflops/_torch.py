"""Models from PyTorch's modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxflops import _core

if TYPE_CHECKING:
    import torch


def from_torch(
    module: torch.nn.Module,
    example_inputs: tuple[Any, ...] | torch.Tensor,
    *,
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    name: str | None = None,
) -> _core.Model:
    """The graph of a module, by torch.export and PyTorch's ONNX exporter. No weight is written.

    `example_inputs` are the arguments of forward(). `dynamic_shapes` is that of torch.export: what it
    names stays a symbol, {"x": {0: "batch"}}. Needs torch and onnxscript.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError("from_torch() needs PyTorch: pip install 'onnxflops[torch]'") from error
    inputs = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    program = torch.onnx.export(
        module, inputs, kwargs=kwargs, dynamic_shapes=dynamic_shapes, dynamo=True, optimize=False, verbose=False
    )
    if program is None:
        raise RuntimeError("torch.onnx.export gives no model")
    return _core._load_bytes(_without_weights(program.model), name or type(module).__name__)


def _without_weights(model: Any) -> bytes:
    """The bytes of the exporter's model. Large weights are named as data in a file that is not there."""
    import onnx_ir

    most_elements = 1024  # smaller tensors may be sizes, which the graph depends on
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        for value in getattr(graph, "initializers", {}).values():
            tensor = value.const_value
            if tensor is None or tensor.size <= most_elements:
                continue
            value.const_value = onnx_ir.ExternalTensor(
                "weights", 0, tensor.nbytes, tensor.dtype, shape=tensor.shape, name=tensor.name or value.name, base_dir=""
            )
    proto = onnx_ir.serde.serialize_model(model)
    data: bytes = proto.SerializeToString()
    return data
