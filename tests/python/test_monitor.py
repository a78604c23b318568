"""MFU in training loops: the loop object, event files, samples of different sizes. What is not installed is skipped."""

import json
import os
import subprocess
import sys
import warnings

import onnxflops
import pytest
from conftest import ROOT
from onnxflops.monitor import Perf, prometheus, tensorboard, wandb
from training import Clock, Tensor, configured, counts_macs, events_of, has, need, tiny

GPT2 = ROOT / "models/gpt2.onnx"


def steps(perf, clock, count, **sizes):
    results = []
    for _ in range(count):
        clock.now += 0.5
        results.append(perf.step(**sizes))
    return results


def test_loop(gpt2):
    clock, seen = Clock(), []
    perf = Perf(gpt2, device="a100-sxm", dtype="bf16", devices=2, every=4, clock=clock, sinks=[lambda s, m: seen.append((s, m))])
    results = steps(perf, clock, 10, batch=8, seq=512)
    assert [bool(r) for r in results] == [False, False, False, True, False, False, False, True, False, False]
    mfu = onnxflops.mfu(gpt2, batch=8, seq=512, step_time=0.5, devices=2, device="a100-sxm", dtype="bf16")
    for metrics in (results[3], results[7]):
        assert metrics["perf/mfu"] == pytest.approx(mfu.mfu, rel=1e-12)
        assert metrics["perf/mfu_percent"] == pytest.approx(100 * mfu.mfu) and metrics["perf/mfu_age_steps"] == 0
        assert metrics["perf/step_time"] == 0.5 and metrics["perf/steps_per_second"] == 2
        assert metrics["perf/tokens_per_second"] == 8 * 512 * 2 and metrics["perf/samples_per_second"] == 16
        assert metrics["perf/flops_per_second"] == pytest.approx(mfu.training_flops / 0.5)
    assert [s for s, _ in seen] == [4, 8]


def test_loop_without_time(gpt2):
    clock = Clock()
    perf = Perf(gpt2, peak=1e12, every=1, clock=clock)
    assert "perf/mfu" not in perf.step(batch=1, seq=8)
    first = steps(perf, clock, 1, batch=1, seq=8)[0]
    later = perf.step(batch=1, seq=8)  # no time has passed
    assert later["perf/mfu"] == first["perf/mfu"] and later["perf/mfu_age_steps"] == 1


def test_loop_pauses(gpt2):
    clock = Clock()
    perf = Perf(gpt2, peak=1e12, every=2, clock=clock)
    steps(perf, clock, 1, batch=1, seq=8)
    perf.pause()
    perf.pause()  # the first one counts
    clock.now += 100
    perf.resume()
    perf.resume()
    assert steps(perf, clock, 1, batch=1, seq=8)[0]["perf/step_time"] == 0.5


def test_loop_arguments(gpt2):
    for wrong in ({}, {"device": "h100-sxm"}, {"peak": 0}, {"peak": float("nan")}, {"peak": 1e12, "device": "h100-sxm"},
                  {"peak": 1e12, "every": 0}, {"peak": 1e12, "devices": 0}, {"peak": 1e12, "every": 2.5}, {"peak": 1e12, "tokens": "foo"}):  # fmt: skip
        with pytest.raises(onnxflops.InvalidError):
            Perf(gpt2, **wrong)
    with pytest.raises(onnxflops.NotFoundError):
        Perf(gpt2, device="h1000", dtype="bf16")
    with pytest.raises(onnxflops.UnavailableError, match="seq"):
        Perf(gpt2, peak=1e12).step(batch=1)
    for tool in ("thop", "deepspeed"):  # its figure is not ours
        with pytest.raises(onnxflops.UnavailableError, match="without convention="):
            Perf(gpt2.count(convention=tool), peak=1e12)


def test_sizes_that_the_model_does_not_have(gpt2):
    """A step of 256 samples does not fit a model for one: an error before anything is measured."""
    resnet = onnxflops.load(ROOT / "models/resnet50.onnx")
    for model, sizes, text in (
        (resnet, {"batch": 256}, "the file fixes it at 1: count.at_batch=.batch.. opens it, or per_sample=True"),
        (gpt2.count(batch=1, seq=128), {"batch": 32, "seq": 128}, "leave it out of count"),
        (gpt2, {"batch": 1, "seq": 8, "images": 3}, "no size images. It has the sizes batch, seq"),
    ):
        perf = Perf(model, peak=1e15, every=1)
        with pytest.raises(onnxflops.InvalidError, match=text):
            perf.step(**sizes)
    with pytest.raises(onnxflops.InvalidError, match="batch = 0: it should be a whole number of 1 or more"):
        Perf(gpt2, peak=1e15).step(batch=0, seq=8)
    with pytest.raises(onnxflops.InvalidError, match="pixels of 4x3x192x192, and the file fixes it at 1x3x224x224"):
        Perf(resnet, peak=1e15).work.check_shape("pixels", (4, 3, 192, 192))
    same = Perf(gpt2.count(batch=1, seq=128), peak=1e15)
    assert same.flops(batch=1, seq=128) == gpt2.count(batch=1, seq=128).training_flops
    assert Perf(resnet, peak=1e15).flops(batch=1) == resnet.count().training_flops


def unknown_model():
    """x [1,8] -> my.Foo -> y [1,8], as the bytes of a file."""

    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    shape = field(1, b"\x08\x01") + field(1, b"\x08\x08")
    kind = field(1, b"\x08\x01" + field(2, shape))  # float, of this shape
    node = field(1, b"x") + field(2, b"y") + field(4, b"Foo") + field(7, b"my")
    x, y = (field(1, name) + field(2, kind) for name in (b"x", b"y"))
    graph = field(1, node) + field(2, b"g") + field(11, x) + field(12, y)
    opsets = [field(8, b"\x10\x11"), field(8, field(1, b"my") + b"\x10\x01")]
    return b"\x08\x08" + field(7, graph) + b"".join(opsets)


def test_nothing_is_counted():
    """An unknown figure is None, not an MFU of 0."""
    report = onnxflops.load(unknown_model()).count()
    assert (report.flops, report.macs, report.training_flops, report.params) == (None, None, None, 0)
    assert report.modules[""].flops is None and report.to_dict()["totals"]["flops"]["value"] is None
    with pytest.raises(onnxflops.UnavailableError, match="nothing of the model is counted"):
        Perf(report, peak=1e15)


def test_peak_without_its_unit(gpt2):
    clock = Clock()
    perf = Perf(gpt2, peak=312, every=1, clock=clock)
    with pytest.warns(RuntimeWarning, match=r"peak=3\.12e\+14\?"):
        steps(perf, clock, 1, batch=8, seq=64)


def test_per_sample(gpt2):
    resnet = onnxflops.load(ROOT / "models/resnet50.onnx")
    assert Perf(resnet, peak=1e15, per_sample=True).flops(batch=256) == 256 * resnet.count().training_flops
    with pytest.raises(onnxflops.InvalidError, match="has it open"):
        Perf(gpt2, peak=1e15, per_sample=True)


def test_mfu_holds_no_recomputation(gpt2):
    flash = gpt2.count(backward="exact", attention="flash")
    with pytest.raises(onnxflops.InvalidError, match="recomputation"):
        Perf(flash, peak=1e15)


def test_devices_are_the_world(gpt2, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "8")
    clock = Clock()
    one, all_ = (Perf(gpt2, peak=1e12, every=1, clock=clock, devices=n) for n in (1, None))
    clock.now += 0.5
    assert one.step(batch=8, seq=8)["perf/mfu"] == pytest.approx(8 * all_.step(batch=8, seq=8)["perf/mfu"])


def test_the_log_says_what_a_figure_is_not(gpt2):
    clock = Clock()
    unknown = onnxflops.load(ROOT / "models/custom-op.onnx")
    for model, sizes, key in ((gpt2, {"batch": 8, "seq": 64}, "above_peak"), (unknown, {}, "is_lower_bound")):
        perf = Perf(model, peak=1e6 if key == "above_peak" else 1e18, every=1, clock=clock)
        clock.now += 1
        sizes = sizes or {name: 2 for name in perf.work.needs}
        with pytest.warns(RuntimeWarning, match="cannot be" if key == "above_peak" else "lower bound"):
            assert any(name.endswith(key) for name in perf.step(**sizes))
        clock.now += 0.75
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert perf.step(**sizes)  # it is reported once


def test_resumed(gpt2):
    clock, seen = Clock(), []
    perf = Perf(gpt2, peak=1e15, every=10, first_step=1005, clock=clock, sinks=[lambda s, m: seen.append(s)])
    steps(perf, clock, 20, batch=1, seq=8)
    assert seen == [1010, 1020]


def test_monitor_follows_a_log(tmp_path):
    """A log that grows, is replaced, and grows again."""
    program = os.environ.get("ONNXFLOPS_PROGRAM") or os.path.join(os.path.dirname(sys.executable), "onnxflops")
    log, prom = tmp_path / "log.jsonl", tmp_path / "x.prom"
    line = '{{"step": {}, "step_seconds": 0.5, "batch": 1, "seq": 8}}\n'
    log.write_text(line.format(1))
    words = [program, "monitor", str(GPT2), "--log", str(log), "--follow", "--every", "1", "--peak", "1e12", "--prometheus", str(prom)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert json.loads(running.stdout.readline())["step"] == 1
            with log.open("a") as file:
                file.write(line.format(2)[:20])
                file.flush()
                file.write(line.format(2)[20:])
            assert json.loads(running.stdout.readline())["step"] == 2
            other = tmp_path / "other"
            other.write_text(line.format(3))
            other.replace(log)
            assert json.loads(running.stdout.readline())["step"] == 3
            assert 'onnxflops_steps_total{model="' in prom.read_text() and running.poll() is None
        finally:
            running.terminate()


def test_monitor_writes_for_tensorboard(program, tmp_path):
    log = ROOT / "tests/data/monitor/train.csv"
    words = ["--dtype", "bf16", "--device", "a100-sxm", "--every", "5", "--tensorboard", tmp_path / "runs/1"]
    lines = [json.loads(x) for x in program("monitor", GPT2, "--log", log, *words).splitlines()]
    events = events_of(tmp_path / "runs/1")
    names = {name for x in lines for name in x if name.startswith("perf/")}
    assert set(events) == names and len(lines) == 3
    for name in names:
        assert events[name] == [(x["step"], pytest.approx(x[name], rel=1e-6)) for x in lines if name in x]


def test_sinks(gpt2, tmp_path):
    need("tensorboard")
    clock = Clock()
    perf = Perf(gpt2, peak=1e12, every=2, clock=clock, sinks=[tensorboard(str(tmp_path))])
    results = [r for r in steps(perf, clock, 4, batch=1, seq=8) if r]
    assert events_of(tmp_path)["perf/mfu"] == [(2, pytest.approx(results[0]["perf/mfu"])), (4, pytest.approx(results[1]["perf/mfu"]))]


def test_wandb(tmp_path):
    """W&B's own library, which writes to a file until somebody sends it."""
    library = need("wandb")[0]
    with pytest.raises(onnxflops.InvalidError, match="no run"):
        wandb()(7, {})
    with library.init(mode="offline", dir=str(tmp_path), project="x", settings=library.Settings(silent=True)) as run:
        wandb()(10, {"perf/mfu": 0.5})
        wandb(run)(20, {"perf/mfu": 0.25})  # with it, step 10 is whole
        assert run.step == 20 and dict(run.summary)["perf/mfu"] == 0.5
    assert list(tmp_path.rglob("*.wandb"))


def test_prometheus():
    client = need("prometheus_client")[0]
    registry = client.CollectorRegistry()
    prometheus(registry)(7, {"perf/mfu": 0.5})
    assert registry.get_sample_value("onnxflops_perf_mfu") == 0.5


def test_from_torch():
    torch, module, model = tiny()
    report = model.count()
    assert str(report.macs) == "800*batch*seq" and report.params == 50 * 16 + 16 * 50 + 50
    big = torch.nn.Linear(4096, 4096)
    with torch.no_grad():
        report = onnxflops.from_torch(big, (torch.zeros(1, 4096),)).count()
    assert report.macs == 4096 * 4096 and report.params == 4096 * 4097


def test_samples_of_different_lengths(gpt2):
    """Padding does not count; a packed row is the sum of its samples."""
    lengths = [512, 300, 17]
    alone = sum(gpt2.count(batch=1, seq=n).training_flops for n in lengths)
    for given in ({"lengths": lengths}, {"lengths": {"seq": lengths}}, {"cu_seqlens": [0, 512, 812, 829, 829]}):
        clock = Clock()
        perf = Perf(gpt2, peak=1e15, devices=1, every=1, clock=clock)
        clock.now += 0.5
        metrics = perf.step(**given)
        assert metrics["perf/flops_per_second"] == 2 * alone
        assert metrics["perf/tokens_per_second"] == 2 * sum(lengths) and metrics["perf/samples_per_second"] == 6
        padding = metrics.get("perf/padding", 0)
        assert padding == (0 if "cu_seqlens" in given else pytest.approx(1 - 829 / (3 * 512)))


def test_tensors_without_numbers(gpt2):
    torch = need("torch")[0]
    perf = Perf(gpt2, peak=1e15, every=1)
    for given in ({"lengths": torch.empty(3, device="meta")}, {"cu_seqlens": torch.empty(3, device="meta")}):
        with pytest.raises(onnxflops.InvalidError, match="on the meta device, which has no numbers"):
            perf.step(**given)


def test_grids_of_images(qwen):
    """Images of different sizes, and the same text for each or not."""
    lengths, grids = [40, 7], [[1, 8, 12], [3, 4, 2]]
    for given, texts in (({"lengths": lengths}, lengths), ({"seq": 9}, [9, 9])):
        alone = sum(qwen.count(batch=1, seq=n, grid_t=t, grid_h=h, grid_w=w).macs for n, (t, h, w) in zip(texts, grids))
        count = qwen.count(grid_thw=grids, **given)
        assert count.macs == alone
        clock = Clock()
        perf = Perf(qwen, peak=1e15, devices=1, every=1, clock=clock)
        clock.now += 1
        metrics = perf.step(grid_thw=grids, **given)
        assert metrics["perf/flops_per_second"] == count.training_flops
        tokens = sum(t * (h // 2) * (w // 2) for t, h, w in grids)
        assert metrics["perf/tokens_per_second"] == sum(texts) + tokens and metrics["perf/samples_per_second"] == 2
        assert (metrics["perf/tokens_per_second_text"], metrics["perf/tokens_per_second_image"]) == (sum(texts), tokens)


@pytest.mark.parametrize("grids", [[], [[1, 8]], [[1, 0, 8]], [[1, 8, 8.5]], [["1", 8, 8]]])
def test_bad_grids(qwen, grids):
    with pytest.raises(onnxflops.InvalidError, match="whole numbers"):
        Perf(qwen, peak=1e15, devices=1).step(grid_thw=grids, lengths=[5])


def test_grids_that_cannot_be_merged(qwen):
    for given in ({"grid_thw": [[1, 8, 7]], "lengths": [5]}, {"batch": 1, "seq": 5, "grid_t": 1, "grid_h": 8, "grid_w": 7}):
        with pytest.raises(onnxflops.InvalidError, match="merges 2 x 2"):
            Perf(qwen, peak=1e15, devices=1).step(**given)


def stepper(model):
    """A function that gives what one step reports, in multiply-accumulates."""
    clock = Clock()

    def step(**given):
        perf = Perf(model, peak=1e15, devices=1, every=1, clock=clock)
        counts_macs(perf, model)
        return rates(perf, clock, **given)

    return step


def test_images_of_each_sample(qwen):
    """Any number of images in a sample: as the steps of each sample alone, in multiply-accumulates."""
    step = stepper(qwen)
    one, two = [1, 8, 12], [3, 4, 2]
    plain = step(lengths=[40, 7], grid_thw=[one, two])
    assert plain == step(lengths=[40, 7], grid_thw=[[one], [two]]) == step(lengths=[40, 7], grid_thw=[one, two], image_counts=[1, 1])
    alone = [step(lengths=[n], grid_thw=images)["perf/flops_per_second"] for n, images in ((40, [[one, two]]), (7, [[]]), (0, [[two, one]]))]
    row = [0, 40 + 24 + 6, 77]  # with the tokens of images
    packed = step(cu_seqlens=row, grid_thw=[[one, two], []])["perf/flops_per_second"]
    assert packed == sum(alone[:2]) == step(lengths=[40, 7], grid_thw=[[one, two], []])["perf/flops_per_second"]
    assert alone[1] == step(batch=1, seq=7, grid_t=1, grid_h=2, grid_w=2)["perf/flops_per_second_text"]
    assert step(seq=9, grid_thw=[[one, two], []]) == step(lengths=[9, 9], grid_thw=[one, two], image_counts=[2, 0])
    assert step(lengths=[9], image_counts=[0])["perf/samples_per_second"] == 1


def test_an_image_costs_what_it_costs_turned(qwen):
    """In all FLOPs, of which some are spent once in a run: no image is as wide as one and as tall as another."""
    clock = Clock()

    def step(*grids):
        perf = Perf(qwen, peak=1e15, devices=1, every=1, clock=clock)
        return rates(perf, clock, lengths=[40], grid_thw=[list(grids)])

    tall, wide = [1, 12, 4], [1, 4, 12]
    assert step(tall, wide) == step(wide, tall) == step(wide, wide)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lengths": [5], "grid_thw": [[1, 8, 8]], "image_counts": [2]}, "add up to the grids"),
        ({"lengths": [5], "grid_thw": [[1, 8, 8]], "image_counts": [2, -1]}, "add up to the grids"),
        ({"lengths": [5], "image_counts": []}, "add up to the grids"),
        ({"lengths": [5], "grid_thw": [[[1, 8, 8]]], "image_counts": [1]}, "add up to the grids"),
        ({"lengths": [5], "image_counts": [1.5]}, "whole numbers"),
        ({"lengths": [5, 6], "grid_thw": [[[1, 8, 8]], [1, 8, 8]]}, "for some samples, and not for others"),
        ({"lengths": [5, 6], "grid_thw": [[[1, 8, 8], [1, 8, 8]]]}, "2 lengths, and images for 1 samples"),
        ({"lengths": [5, 0], "grid_thw": [[[1, 8, 8]], []]}, "should have a token"),
        ({"lengths": [5], "grid_thw": [[[1, 8, 7]]]}, "merges 2 x 2"),
        ({"batch": 1, "grid_thw": [[[1, 8, 8], [1, 8, 8]]]}, "lengths= of their texts"),
    ],
)
def test_bad_images_of_samples(qwen, given, message):
    with pytest.raises(onnxflops.InvalidError, match=message):
        Perf(qwen, peak=1e15, devices=1).step(**given)


def test_images_of_samples_without_grids(gpt2):
    with pytest.raises(onnxflops.InvalidError, match="no sizes of them"):
        Perf(gpt2, peak=1e15, devices=1).step(lengths=[5, 6], grid_thw=[[[1, 8, 8], [1, 8, 8]], []])


def of_tiles(name, folder):
    """A model of transformers that cuts images into tiles, and its decoder alone."""
    config = json.loads((ROOT / "tests/data/config/vision.json").read_text())["models"][name]["config"]
    kinds = {"llama": "LlamaForCausalLM", "qwen3": "Qwen3ForCausalLM"}
    text = {"tie_word_embeddings": config.get("tie_word_embeddings", False), **config["text_config"]}
    text["architectures"] = [kinds[text["model_type"]]]
    for part in ("whole", "text"):
        (folder / part).mkdir()
    return configured(config, folder / "whole"), configured(text, folder / "text")


# Of an image of so many pixels: its sizes and tokens. A tile has 64 pixels on a side, and 4 x 4 patches.
SMALL, LARGE = (64, 128), (128, 128)
CUT = {SMALL: ({"tiles": 3, "image_rows": 4, "image_columns": 8}, 4 * 8 + 4 + 16), LARGE: ({"tiles": 5, "image_rows": 8, "image_columns": 8}, 8 * 8 + 8 + 16)}


def test_advice_on_images(gpt2, qwen, tmp_path):
    """What the message names is what the model takes."""
    for model, advice in ((gpt2, "no open sizes of images"), (qwen, "grid_thw= has the patches of this model's images")):
        with pytest.raises(onnxflops.InvalidError, match=advice):
            Perf(model, peak=1e15, devices=1).step(lengths=[5], images=[(336, 336)])
    config = json.loads((ROOT / "tests/data/config/vision.json").read_text())["models"]["mistral3-small"]["config"]
    pixtral = Perf(configured(config, tmp_path), peak=1e15, devices=1)
    with pytest.raises(onnxflops.InvalidError, match="'seq': .*, 'image_height': .*, 'image_width': .* has the sizes"):
        pixtral.step(lengths=[5], images=[(336, 336)])
    assert pixtral.step(lengths={"seq": [5], "image_height": [56], "image_width": [28]}) is None


def test_whole_numbers_as_floats(gpt2, qwen):
    """An array of floats counts as one of whole numbers, if it has these."""
    for model, given, same in (
        (gpt2, {"lengths": [5.0, 6.0]}, {"lengths": [5, 6]}),
        (gpt2, {"cu_seqlens": [0.0, 5.0, 11.0]}, {"cu_seqlens": [0, 5, 11]}),
        (qwen, {"lengths": [5, 6], "grid_thw": [[1.0, 8.0, 12.0], [1, 4, 4]]}, {"lengths": [5, 6], "grid_thw": [[1, 8, 12], [1, 4, 4]]}),
    ):
        found = []
        for sizes in (given, same):
            perf = Perf(model, peak=1e15, devices=1)
            perf.add(**sizes)
            found.append(perf._sums.values)
        assert found[0] == found[1] and found[0][0] > 0


def test_images_in_tiles(tmp_path):
    """LLaVA-NeXT: the decoder over all tokens of a sample, and the tower over each image."""
    model, decoder = of_tiles("llava-next-small", tmp_path)
    step = stepper(model)
    one_each = sum(model.count(batch=1, seq=n, **CUT[image][0]).macs for n, image in ((30, SMALL), (40, LARGE)))
    for images in ([SMALL, LARGE], [[SMALL], [LARGE]]):
        metrics = step(lengths=[30, 40], images=images)
        assert metrics["perf/flops_per_second"] == one_each
        assert metrics["perf/flops_per_second_text"] == sum(decoder.count(batch=1, seq=n, past=0).macs for n in (30, 40))
    for images in ([SMALL, LARGE], Tensor([[*SMALL], [*LARGE]]), [Tensor([*SMALL]), Tensor([*LARGE])]):
        assert model.count(lengths=[30, 40], images=images).macs == one_each
    tower = {image: model.count(batch=1, seq=1, **sizes).macs - decoder.count(batch=1, seq=1 + n, past=0).macs for image, (sizes, n) in CUT.items()}
    texts, images = [30, 40, 7], [[SMALL, LARGE], [], [LARGE]]
    tokens = [sum(CUT[image][1] for image in own) for own in images]
    expected = sum(decoder.count(batch=1, seq=n + image, past=0).macs for n, image in zip(texts, tokens))
    expected += sum(tower[image] for own in images for image in own)
    metrics = step(lengths=texts, images=images)
    assert metrics["perf/flops_per_second"] == expected
    assert (metrics["perf/tokens_per_second_text"], metrics["perf/tokens_per_second_image"]) == (sum(texts), sum(tokens))
    assert metrics == step(lengths=texts, images=[SMALL, LARGE, LARGE], image_counts=[2, 0, 1])
    sizes = {name: [[CUT[image][0][name] for image in own] for own in images] for name in CUT[SMALL][0]}
    assert metrics == step(lengths={"seq": texts, **sizes})


def test_numbers_of_tiles(tmp_path):
    """InternVL: its processor says how many tiles an image has."""
    model, decoder = of_tiles("internvl-small", tmp_path)
    step = stepper(model)
    one_each = sum(model.count(batch=1, seq=n, tiles=tiles).macs for n, tiles in ((30, 5), (40, 1)))
    for tiles in ([5, 1], [[5], [1]]):
        assert step(lengths={"seq": [30, 40], "tiles": tiles})["perf/flops_per_second"] == one_each
    assert model.count(lengths={"seq": [30, 40], "tiles": [5, 1]}).macs == one_each
    tower = {n: model.count(batch=1, seq=1, tiles=n).macs - decoder.count(batch=1, seq=1 + 4 * n, past=0).macs for n in (5, 1)}
    expected = sum(decoder.count(batch=1, seq=n, past=0).macs for n in (30 + 4 * 6, 40)) + tower[5] + tower[1]
    metrics = step(lengths={"seq": [30, 40], "tiles": [[5, 1], []]})
    assert metrics["perf/flops_per_second"] == expected
    assert metrics["perf/tokens_per_second"] == 30 + 40 + 4 * 6
    for given, message in (
        ({"lengths": {"seq": [30, 40], "tiles": [[5, 1], 2]}}, "a list for each sample"),
        ({"lengths": {"seq": [30, 40], "tiles": [[5, 0], []]}}, "1 or more"),
        ({"lengths": {"seq": [30, 40], "tiles": [[5, 1.5], []]}}, "whole numbers"),
        ({"lengths": {"seq": [30], "tiles": [[5, 1], []]}}, "1 lengths, and images for 2 samples"),
        ({"lengths": [30], "images": [SMALL]}, "LLaVA-NeXT"),
        ({"lengths": [30], "images": [(64,)]}, "its height and width"),
        ({"lengths": [30], "images": [(64, -3)]}, r"image 1 is \[64, -3\]: it should be whole numbers of 1 or more"),
        ({"lengths": [30], "images": [SMALL], "grid_thw": [[1, 2, 2]]}, "not both"),
    ):
        with pytest.raises(onnxflops.InvalidError, match=message):
            step(**given)


def test_audio(tmp_path):
    """47 s are two chunks of Whisper, each computed as a whole; torch counted the batch."""
    truth = json.loads((ROOT / "tests/data/config/audio.json").read_text())
    model = configured(truth["config"], tmp_path)
    step = stepper(model)
    batch = truth["batches"][0]
    assert batch["chunks"] == 4
    for audio in ([12.5, 30.0, 47.0], ["12.5s", "30s", "47s"], [1250, 3000, 4700]):
        metrics = step(audio=audio, seq=batch["tokens"])
        assert 2 * metrics["perf/flops_per_second"] == batch["flops"] and metrics["perf/samples_per_second"] == 4
        assert model.count(audio=audio, seq=batch["tokens"]).macs * 2 == batch["flops"]
    clock = Clock()
    short = Perf(model.count(frames=1250), peak=1e15, devices=1, every=1, clock=clock)
    metrics = rates(short, clock, audio=[12.5, 25.0], seq=4)  # three chunks of 12.5 s
    assert metrics["perf/flops_per_second"] == model.count(frames=1250, batch=3, seq=4).training_flops
    assert (metrics["perf/samples_per_second"], metrics["perf/seconds_per_second_audio"]) == (3, 37.5)
    metrics = step(audio=[12.5, 30.0, 47.0], seq=4)
    assert metrics["perf/seconds_per_second_audio"] == 89.5 and metrics["perf/padding_audio"] == pytest.approx(1 - 89.5 / 120)
    assert step(batch=2, seq=4)["perf/frames_per_second_audio"] == 6000
    rows = truth["chunks"][:4]
    texts = [row["tokens"] for row in rows]
    assert 2 * step(audio=[12.5, 30.0, 47.0], lengths=texts)["perf/flops_per_second"] == sum(row["flops"] for row in rows)
    for given, message in (
        ({"audio": [12.5, 47.0], "lengths": [5, 6]}, "makes 3 chunks of 3,000 frames, and there are 2 sizes seq"),
        ({"audio": [], "seq": 5}, "a length for each sample"),
        ({"audio": [12.5, 30], "seq": 5}, "sample 2: audio is 30, in other units than the first"),
        ({"audio": [-3.0], "seq": 5}, "of a frame or more"),
        ({"audio": [0], "seq": 5}, "of a frame or more"),
        ({"audio": [float("nan")], "seq": 5}, "of a frame or more"),
        ({"audio": [float("inf")], "seq": 5}, "of a frame or more"),
        ({"audio": ["12,5s"], "seq": 5}, "of a frame or more"),
        ({"audio": [True], "seq": 5}, "of a frame or more"),
        ({"audio": [12.5], "cu_seqlens": [0, 5]}, "a row of its own"),
    ):
        with pytest.raises(onnxflops.InvalidError, match=message):
            step(**given)


def test_audio_without_a_rate(gpt2):
    with pytest.raises(onnxflops.InvalidError, match="give frames"):
        Perf(gpt2, peak=1e15, devices=1).step(audio=[12.5], seq=5)
    with pytest.raises(onnxflops.InvalidError, match="no open sizes of audio"):
        Perf(gpt2, peak=1e15, devices=1).step(audio=[1250], seq=5)


def test_ranks_that_do_not_add_up(gpt2, monkeypatch):
    """Sizes of a step are those of all ranks: each rank giving its own would be many times too low."""
    monkeypatch.setenv("WORLD_SIZE", "8")
    with pytest.warns(RuntimeWarning, match="those of all 8 ranks together: where each rank gives its own, .*reduce=torch_sum"):
        Perf(gpt2, peak=1e15, every=1).step(lengths=[5, 6])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for told in ({"devices": 8}, {"reduce": list}):
            Perf(gpt2, peak=1e15, every=1, **told).step(lengths=[5, 6])


def rates(perf, clock, **given):
    """The metrics of a step of a second."""
    clock.now += 1
    return perf.step(**given)


def test_modalities(qwen):
    """As the report of the same samples has them; the same samples as a rectangle; summed over ranks."""
    lengths, grids = [40, 7, 300], [[1, 8, 12], [3, 4, 2], [1, 20, 30]]
    clock = Clock()
    perf = Perf(qwen, peak=1e15, devices=1, every=1, clock=clock, reduce=lambda values: [3 * x for x in values])
    for count, given in (
        (qwen.count(lengths=lengths, grid_thw=grids), {"lengths": lengths, "grid_thw": grids}),
        (qwen.count(lengths=[2000, 7], grid_thw=[[1, 2, 2], [1, 40, 60]]), {"lengths": [2000, 7], "grid_thw": [[1, 2, 2], [1, 40, 60]]}),
        (qwen.count(lengths=[9, 9], grid_thw=[[1, 4, 8]] * 2), {"batch": 2, "seq": 9, "grid_t": 1, "grid_h": 4, "grid_w": 8}),
    ):
        metrics = rates(perf, clock, **given)
        parts = {x["name"]: 3 * x["training_flops"]["value"] for x in count.to_dict()["samples"]["modalities"]}
        assert sorted(parts) == ["image", "text", "together"] and all(parts.values())
        assert {name: metrics[f"perf/flops_per_second_{name}"] for name in parts} == parts
        assert sum(parts.values()) == metrics["perf/flops_per_second"]


def test_modalities_of_sound(gpt2):
    """Text and sound that meet; a model of text alone has no parts."""
    torch, *_ = need("torch", "onnxscript")

    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.text, self.sound = torch.nn.Embedding(50, 16), torch.nn.Linear(16, 32), torch.nn.Linear(8, 32)

        def forward(self, input_ids, input_features):
            return self.text(self.embed(input_ids)) @ self.sound(input_features).transpose(1, 2)

    shapes = {"input_ids": {0: "batch", 1: "seq"}, "input_features": {0: "batch", 1: "frames"}}
    inputs = (torch.zeros(2, 5, dtype=torch.int64), torch.zeros(2, 7, 8))
    model = onnxflops.from_torch(Both().eval(), inputs, dynamic_shapes=shapes)
    clock = Clock()
    perf = Perf(model, peak=1e15, devices=1, every=1, clock=clock)
    counts_macs(perf, model)  # which are easy to tell by hand
    metrics = rates(perf, clock, lengths={"seq": [5, 9], "frames": [30, 4]})
    found = [metrics[f"perf/flops_per_second_{name}"] for name in ("text", "audio", "together")]
    assert found == [14 * 16 * 32, 34 * 8 * 32, (5 * 30 + 9 * 4) * 32]
    assert rates(perf, clock, lengths=[5, 9], audio=[30, 4])["perf/flops_per_second"] == sum(found)
    metrics = rates(Perf(gpt2, peak=1e15, devices=1, every=1, clock=clock), clock, batch=3, seq=5)
    assert not [name for name in metrics if "flops_per_second_" in name]


class OnDevice(list):
    """As a tensor on a device: reading it waits."""

    device, read = "cuda:0", 0

    def tolist(self):
        OnDevice.read += 1
        return list(self)


def test_lengths_on_a_device_are_read_when_a_result_is_due(gpt2):
    clock = Clock()
    perf = Perf(gpt2, peak=1e15, devices=1, every=2, clock=clock)
    perf.step(lengths=OnDevice([5, 6]))
    clock.now += 1
    assert OnDevice.read == 0
    metrics = perf.step(lengths=OnDevice([5, 6]))
    assert OnDevice.read == 2
    assert metrics["perf/flops_per_second"] == 2 * sum(gpt2.count(batch=1, seq=n).training_flops for n in (5, 6))


def test_a_fault_that_is_found_late(gpt2):
    """An error in a loop of one's own; in a trainer a warning, and no figure."""
    perf = Perf(gpt2, peak=1e15, devices=1, every=2)
    perf.step(lengths=OnDevice([5, 0]))
    with pytest.raises(onnxflops.InvalidError, match="1 or more"):
        perf.step(lengths=OnDevice([5, 6]))
    perf.start()
    perf._forgives = True
    perf.step(lengths=OnDevice([5, 0]))
    with pytest.warns(RuntimeWarning, match="no figures of these steps"):
        assert perf.step(lengths=OnDevice([5, 6])) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lengths": [5], "cu_seqlens": [0, 5]}, "not both"),
        ({"lengths": [5, 0]}, "1 or more"),
        ({"lengths": []}, "^lengths should have a number for each sample: there is no seq"),
        ({"lengths": 5}, "^lengths should be a list of whole numbers, not 5"),
        ({"lengths": [5, 6.5, 7]}, "^lengths should be whole numbers: sample 2 is 6.5"),
        ({"lengths": [5, float("nan")]}, "^lengths should be whole numbers: sample 2 is nan"),
        ({"lengths": [True]}, "^lengths should be whole numbers: sample 1 is True"),
        ({"cu_seqlens": [0, 5.5]}, "^cu_seqlens should be whole numbers: number 2 is 5.5"),
        ({"lengths": [5], "image_counts": [1.5]}, "^image_counts should be whole numbers: sample 1 is 1.5"),
        ({"grid_thw": 5}, "5 should be a list"),
        ({"lengths": [5, 6, -7]}, "^sample 3 has seq = -7: it should be 1 or more"),
        ({"lengths": ["5"]}, "whole numbers"),
        ({"lengths": [5.5]}, "whole numbers"),
        ({"lengths": {"frames": [5]}}, "no open size frames"),
        ({"lengths": [5], "batch": 3}, "no other size batch: it has seq of each sample"),
        ({"lengths": [5, 6], "tokens": 11}, "no other size tokens: the model has the sizes batch, seq"),
        ({"cu_seqlens": [0, 9, 5]}, "begin with 0 and go up"),
        ({"cu_seqlens": [5, 9]}, "begin with 0 and go up"),
    ],
)
def test_bad_lengths(gpt2, given, message):
    with pytest.raises(onnxflops.InvalidError, match=message):
        Perf(gpt2, peak=1e15, devices=1).step(**given)


def test_lists_of_several_sizes():
    qwen = onnxflops.load(ROOT / "tests/data/config/qwen2-5-vl")
    with pytest.raises(onnxflops.InvalidError, match="one of each size, and a batch has 2 of seq, 1 of grid_t"):
        Perf(qwen, peak=1e15, devices=1).step(lengths=[5, 6], grid_thw=[[1, 8, 12]])


@pytest.mark.parametrize(
    ("sizes", "sample"),
    [({"lengths": [5, 2000]}, "sample 2: "), ({"cu_seqlens": [0, 5, 2005]}, "sample 2: "), ({"batch": 1, "seq": 2000}, "")],
)
def test_no_figures_beyond_learned_positions(sizes, sample):
    """In the words of count()."""
    message = f"{sample}seq = 2000: the configuration has positions for at most 1024"
    model = onnxflops.load(ROOT / "tests/data/config/gpt2")
    with pytest.raises(onnxflops.InvalidError, match=f"{message}$"):
        model.count(**sizes)
    for work in (model, model.count()):
        perf = Perf(work, peak=1e15, devices=1)
        with pytest.raises(onnxflops.InvalidError, match=f"^{message}$"):
            perf.step(**sizes)
    Perf(model, peak=1e15, devices=1).step(lengths=[5, 1024])


def test_no_figures_where_a_file_fails(gpt2):
    """Its table of positions has 1024 rows."""
    perf = Perf(gpt2, peak=1e15, devices=1)
    perf.step(lengths=[5, 1024])
    for sizes in ({"lengths": [5, 1025]}, {"batch": 1, "seq": 1025}):
        with pytest.raises(onnxflops.InvalidError, match=r"(?s)seq = 1025: .*index 1024 is outside of an axis of size 1024"):
            perf.step(**sizes)
    with pytest.raises(onnxflops.InvalidError, match="seq = 1025: the model has positions for at most 1024$"):
        Perf(gpt2.count(), peak=1e15, devices=1).step(batch=1, seq=1025)


def test_plain_loop():
    torch, module, model = tiny()
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    perf = Perf(model, peak=1e9, every=5)
    for step in range(20):
        ids = torch.zeros(4, 8, dtype=torch.int64)
        optimizer.zero_grad()
        module(ids, ids)["loss"].backward()
        optimizer.step()
        metrics = perf.step(batch=4, seq=8)
        assert (metrics is not None) == (step % 5 == 4)
    same = onnxflops.mfu(model, batch=4, seq=8, step_time=metrics["perf/step_time"], peak=1e9)
    assert metrics["perf/mfu"] == pytest.approx(same.mfu, rel=1e-9)


RANK = """
import json, sys, onnxflops, torch
from onnxflops.monitor import Perf, torch_sum
rank, where, model = int(sys.argv[1]), sys.argv[2], sys.argv[3]
torch.distributed.init_process_group("gloo", init_method="file://" + where, rank=rank, world_size=4)
clock = iter(i * (1 + rank) / 8 for i in range(100))  # ranks differ in what they measure
perf = Perf(onnxflops.load(model), peak=1e9, devices=4, every=5, reduce=torch_sum, clock=lambda: next(clock))
alone = Perf(onnxflops.load(model), peak=1e9, devices=4, every=5, clock=iter(range(100)).__next__)
out = []
for step in range(10):
    out.append([perf.step(batch=2 + rank, seq=8 + step), alone.step(batch=16, seq=8)])
print(json.dumps(out[4::5]))
torch.distributed.destroy_process_group()
"""


def test_four_ranks(tmp_path, gpt2):
    need("torch")
    words = [str(tmp_path / "store"), str(GPT2)]
    ranks = [
        subprocess.Popen([sys.executable, "-c", RANK, str(r), *words], stdout=subprocess.PIPE, text=True, cwd=tmp_path) for r in range(4)
    ]
    outs = [rank.communicate(timeout=300)[0] for rank in ranks]
    assert all(rank.returncode == 0 for rank in ranks)
    results = [json.loads(out.splitlines()[-1]) for out in outs]
    assert all(result == results[0] for result in results)
    flops = gpt2.count().training_flops
    expected = sum(flops.evaluate(batch=2 + r, seq=8 + s) for r in range(4) for s in range(5))
    seconds = sum((1 + r) / 8 for r in range(4)) / 4
    assert results[0][0][0]["perf/mfu"] == pytest.approx(expected / (seconds * 4e9))
