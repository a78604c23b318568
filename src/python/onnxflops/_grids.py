"""Images as rows of patches, with a grid whose values the class reads: Qwen-VL, GLM-V, Kimi and others.

A trace has no values. transformers has functions that compute what a class reads from a grid, and forms of its classes
that can be traced (transformers.exporters). They run before the trace, for images of one size.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from onnxflops._errors import InvalidError, UnsupportedError
from onnxflops._inputs import number
from onnxflops._torch import Inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import torch

    from onnxflops._inputs import Maker

_SIDE = 224  # of an image, if the configuration fixes none
_MOST_SIDE = 448  # what is called image_size may be the most of many
_MERGED = ("spatial_merge_size", "merge_kernel_size", "merge_size", "adapter_merge_size")


class Patches:
    """The patches of `batch` images of one size, for a vision tower."""

    def __init__(self, tower: torch.nn.Module, maker: Maker) -> None:
        config, sizes = tower.config, maker.sizes
        side = number(config, "patch_size")
        if side is None:
            raise UnsupportedError(f"{type(tower).__name__}: the configuration has no patch_size")
        unit = side * max(number(config, key) or 1 for key in _MERGED)
        for axis in ("height", "width"):
            given = axis in sizes.given and sizes.fixed.get(axis)
            if given and given % unit:
                raise InvalidError(f"{maker.name}: {axis} {given} is not a multiple of {unit}, the side of its patches that it merges")
            sizes.fixed[axis] = given or min(sizes.fixed.get(axis, _SIDE), _MOST_SIDE) // unit * unit
        sizes.use("height", "width")
        self.grid = [1, sizes.fixed["height"] // side, sizes.fixed["width"] // side]
        self.count = self.grid[1] * self.grid[2]
        self.frames = number(config, "temporal_patch_size") or number(config, "patch_temporal") or 1
        self.channels, self.side = number(config, "channels") or 3, side
        self.merge = number(config, "spatial_merge_size") or 1
        self.dtype = next(p.dtype for p in tower.parameters() if p.dtype.is_floating_point)

    def forms(self) -> Iterator[tuple[int, ...]]:
        """The sizes that a patch may have: channels and sides, or a row of numbers."""
        if self.frames == 1:
            yield (self.channels, self.side, self.side)
        yield (self.channels * self.frames * self.side**2,)

    def arguments(self, tower: torch.nn.Module, batch: int) -> dict[str, Any]:
        """What the tower takes beside the patches."""
        import torch

        made = {"grid_thw": torch.tensor([self.grid] * batch)}
        if "merge_sizes" in names_of_forward(tower):
            made["merge_sizes"] = torch.tensor([self.merge] * batch)
        return made


def names_of_forward(module: torch.nn.Module) -> list[str]:
    return [name for name in inspect.signature(type(module).forward).parameters if name != "self"]


def tower_of(module: torch.nn.Module) -> torch.nn.Module | None:
    """The part that takes patches and grids: the module itself, or its vision tower."""
    names = names_of_forward(module)
    if "grid_thw" in names:
        return module
    if "image_grid_thw" not in names:
        return None
    return next((part for part in module.modules() if hasattr(part, "config") and "grid_thw" in names_of_forward(part)), None)


def with_grids(module: Any, tower: Any, maker: Maker) -> list[Inputs]:
    """Gives forward() the patches of each image instead of a grid. The inputs are those to try, the likeliest first.

    If the class splits images by the values of the grid, their number is fixed.
    """
    images, sizes = Patches(tower, maker), maker.sizes
    module.forward = _forward_of_tower(tower, images) if tower is module else _forward_of_both(module, tower, images)
    tries = [{"batch": 1, **sizes.fixed}]
    if tower is module and "batch" not in sizes.fixed:
        tries.insert(0, sizes.fixed)
    made = []
    for fixed in tries:
        sizes.fixed = fixed
        told = f"{maker.name} has a loop over images, so batch is fixed at {fixed.get('batch')}; sizes={{'batch': N}} gives another"
        tensors = {} if tower is module else {name: maker.tensor(name) for name in ("input_ids", "attention_mask")}
        for form in images.forms():
            tensors["patches"] = sizes.tensor("float", ("batch", images.count, *form), images.dtype)
            made.append(Inputs(
                {name: tensor for name, (tensor, _) in tensors.items()}, {name: axes for name, (_, axes) in tensors.items()},
                {}, sizes.limits, told=(told,) if "batch" in fixed and "batch" not in sizes.given else (),
            ))  # fmt: skip
    sizes.check(maker.name)
    return made


def _forward_of_tower(tower: Any, images: Patches) -> Callable[..., Any]:
    import torch

    one = _precomputed(tower, images)
    read = {key: one[key].tolist() for key in ("grid_thw", "merge_sizes") if key in one}  # by loops of a class
    original, first = tower.forward, names_of_forward(tower)[0]

    def repeated(key: str, value: Any, batch: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if key.startswith("cu_"):
            return torch.nn.functional.pad(value.diff().repeat(batch).cumsum(0, dtype=value.dtype), (1, 0))
        if key in read and isinstance(batch, int):
            return torch.tensor(read[key] * batch)  # a trace keeps its values
        return value.repeat(batch, *[1] * (value.dim() - 1))

    def forward(patches: torch.Tensor) -> Any:
        more = {key: repeated(key, value, patches.shape[0]) for key, value in one.items()}
        return original(**{first: patches.flatten(0, 1), **more})

    return forward


def _forward_of_both(module: Any, tower: Any, images: Patches) -> Callable[..., Any]:
    import torch

    of_tower, original = _forward_of_tower(tower, images), module.forward
    first = names_of_forward(tower)[0]
    has_places = hasattr(module, "get_rope_index")  # three numbers for each token

    def visual(*words: Any, **named: Any) -> Any:
        rows = words[0] if words else named[first]
        return of_tower(rows.unflatten(0, (-1, images.count)))

    def forward(input_ids: torch.Tensor, attention_mask: torch.Tensor, patches: torch.Tensor) -> Any:
        grid = torch.tensor([images.grid] * patches.shape[0])
        named: dict[str, Any] = {"input_ids": input_ids, "attention_mask": attention_mask, "image_grid_thw": grid}
        if has_places:
            named["position_ids"] = torch.zeros_like(input_ids).expand(3, -1, -1)
        return original(pixel_values=patches.flatten(0, 1), **named)

    tower.forward = visual
    return forward


def _precomputed(tower: torch.nn.Module, images: Patches) -> dict[str, Any]:
    """What transformers computes from the grid of one image before a trace."""
    try:
        from transformers.exporters.utils import precompute_export_inputs
    except ImportError as error:
        raise UnsupportedError(f"{type(tower).__name__}: images with a grid need a later transformers") from error
    made = images.arguments(tower, 1)
    precompute_export_inputs(tower, made)
    for key, value in made.items():
        if key.startswith("cu_") and len(set(value.diff().tolist())) > 1:
            raise UnsupportedError(
                f"{type(tower).__name__}: an image of {images.grid[1]} x {images.grid[2]} patches has windows of different sizes, which "
                "cannot be exported: sizes={'height': H, 'width': W} gives another size"
            )
    return {key: value for key, value in made.items() if value is not None}
