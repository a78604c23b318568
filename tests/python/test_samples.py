"""Batches of samples of different sizes against torch, which counted each sample in a run of its own: tests/data/config/ragged.json.

Batches are drawn here. A batch takes the sum of its samples, in rows and packed. CLIP also compares each image with each text.
Attention in packed rows is held to the masks of flex_attention and the count of varlen_attn: tests/data/config/packed.json.
"""

import itertools
import json
import random

import pytest
from conftest import ROOT
from training import Clock, configured, counts_macs

import onnxflops
from onnxflops.monitor import Perf

RAGGED = json.loads((ROOT / "tests/data/config/ragged.json").read_text())
PACKED = json.loads((ROOT / "tests/data/config/packed.json").read_text())
BATCHES = 63  # of each of 16 models
GRID = ("grid_t", "grid_h", "grid_w")


def arguments(points):
    """What count() takes for these samples."""
    names = [name for name in points[0]["sizes"] if name not in GRID]
    given = {"lengths": {name: [point["sizes"][name] for point in points] for name in names}}
    if "grid_t" in points[0]["sizes"]:
        given["grid_thw"] = [[point["sizes"][name] for name in GRID] for point in points]
    return given


def flops(points):
    return sum(point["flops"] for point in points)


def logits_of_others(config, samples):
    """FLOPs of the products of each image with the texts of the other samples."""
    return 2 * config["projection_dim"] * samples * (samples - 1) if config["model_type"] == "clip" else 0


@pytest.mark.parametrize("name", RAGGED["models"])
def test_a_batch_is_the_sum_of_its_samples(name, tmp_path):
    config, points = RAGGED["models"][name]["config"], RAGGED["models"][name]["points"]
    model, draw = configured(config, tmp_path), random.Random(name)
    for _ in range(BATCHES):
        batch = draw.choices(points, k=draw.randint(1, 40))
        truth = flops(batch) + logits_of_others(config, len(batch))
        assert 2 * model.count(**arguments(batch)).macs == truth, batch
        if config["model_type"] != "clip":
            assert 2 * model.count(**arguments(batch), packed=True).macs == truth, batch


@pytest.mark.parametrize("name", RAGGED["models"])
def test_order_parts_and_rectangles(name, tmp_path):
    """Figures of one count against those of another one."""
    config, points = RAGGED["models"][name]["config"], RAGGED["models"][name]["points"]
    model, draw = configured(config, tmp_path), random.Random(name)
    for _ in range(5):
        batch = draw.choices(points, k=draw.randint(2, 40))
        whole = model.count(**arguments(batch))
        # The order.
        other = model.count(**arguments(draw.sample(batch, len(batch))))
        assert (whole.flops, whole.macs, whole.training_flops) == (other.flops, other.macs, other.training_flops)
        # Two parts, and the products between them.
        cut = draw.randint(1, len(batch) - 1)
        between = logits_of_others(config, len(batch)) - logits_of_others(config, cut) - logits_of_others(config, len(batch) - cut)
        assert 2 * sum(model.count(**arguments(part)).macs for part in (batch[:cut], batch[cut:])) + between == 2 * whole.macs
        # One sample several times is a plain batch.
        same = [batch[0]] * cut
        plain = model.count(batch=cut, **batch[0]["sizes"])
        assert model.count(**arguments(same)).macs == plain.macs


@pytest.mark.parametrize("name", RAGGED["several"])
def test_samples_with_several_images_or_none(name, tmp_path):
    """Steps of a second, in multiply-accumulates."""
    model, draw, clock = configured(RAGGED["models"][name]["config"], tmp_path), random.Random(name), Clock()
    perf = Perf(model, peak=1e15, devices=1, every=1, clock=clock)
    counts_macs(perf, model)
    merge = RAGGED["models"][name]["config"]["vision_config"].get("spatial_merge_size", 2)
    for _ in range(30):
        batch = draw.choices(RAGGED["several"][name], k=draw.randint(1, 20))
        lengths, grids = [point["seq"] for point in batch], [point["grids"] for point in batch]
        flat = {"grid_thw": sum(grids, []), "image_counts": [len(images) for images in grids]}
        rows = [n + sum(t * h * w for t, h, w in images) // merge**2 for n, images in zip(lengths, grids)]
        for given in ({"lengths": lengths, "grid_thw": grids}, {"cu_seqlens": [0, *itertools.accumulate(rows)], **flat}):
            clock.now += 1
            assert 2 * perf.step(**given)["perf/flops_per_second"] == flops(batch), batch


def test_a_packed_row_has_the_tokens_of_its_images():
    """Of 32 x 48 and 20 x 24 patches, four a token: 384 and 120 beside texts of 100 and 40."""
    model, grids = onnxflops.load(ROOT / "tests/data/config/qwen2-5-vl"), [[1, 32, 48], [1, 20, 24]]
    packed = model.count(lengths=[100, 40], packed=True, grid_thw=grids)
    assert model.count(cu_seqlens=[0, 484, 644], grid_thw=grids).to_dict() == packed.to_dict()
    with pytest.raises(onnxflops.InvalidError, match="sample 1: it has 300 tokens, and its image 384"):
        model.count(cu_seqlens=[0, 300, 644], grid_thw=grids)


def test_a_packed_row_has_the_tokens_of_images_of_one_size(tmp_path):
    """gemma3-small has 16 for each image, which nothing has to name."""
    config = json.loads((ROOT / "tests/data/config/vision.json").read_text())["models"]["gemma3-small"]["config"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    model, clock = onnxflops.load(tmp_path), Clock()
    perf = Perf(model, peak=1e15, devices=1, every=1, clock=clock)
    clock.now += 1
    expected = model.count(lengths=[20, 44], packed=True).to_dict()["totals"]["training_flops"]["value"]
    assert perf.step(cu_seqlens=[0, 36, 96])["perf/flops_per_second"] == expected
    with pytest.raises(onnxflops.InvalidError, match="sample 1 of cu_seqlens has 15 tokens, and its image 16"):
        perf.step(cu_seqlens=[0, 15, 96])


def attention_macs(report):
    return sum(row["macs"] for row in report.rows("op") if row["op"] == "Attention")


@pytest.mark.parametrize("name", PACKED["models"])
def test_attention_of_a_packed_row_is_that_of_its_mask(name, tmp_path):
    """Documents block by block, the triangles in them, and the square of the row."""
    model = configured(PACKED["models"][name]["config"], tmp_path)
    for batch in PACKED["models"][name]["batches"]:
        ends, truth = [0, *itertools.accumulate(batch["lengths"])], batch["macs"]
        documents, row = attention_macs(model.count(cu_seqlens=ends)), attention_macs(model.count(cu_seqlens=ends, packed_as_row=True))
        assert (documents, row) == (truth["document"], truth["row"]), batch
        assert (2 * documents, 2 * row) == (batch["counted"]["varlen"], batch["counted"]["flex"]), batch
        if name != "bert":
            assert attention_macs(model.count(cu_seqlens=ends, causal="half")) == truth["causal"], batch
