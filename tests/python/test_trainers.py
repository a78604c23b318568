"""What the callbacks of trainers make of batches: Hugging Face and Lightning. What is not installed is skipped."""

import json
import os
import pathlib
import socket
import subprocess
import sys
from types import SimpleNamespace

import onnxflops
import pytest
from conftest import ROOT
from onnxflops.monitor import Perf
from training import QWEN, Clock, batch_sums, configured, counts_macs, events_of, has, need, tiny


def test_hugging_face(tmp_path):
    transformers, _ = need("transformers", "accelerate")
    torch, module, model = tiny()
    from onnxflops.huggingface import add_perf

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 80

        def __getitem__(self, i):
            ids = torch.arange(8) + i % 40
            return {"input_ids": ids, "labels": ids}

    report_to = "tensorboard" if has("tensorboard") else "none"
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(tmp_path / "runs")
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=20, logging_steps=5, per_device_train_batch_size=2, gradient_accumulation_steps=2,
        report_to=report_to, include_num_input_tokens_seen=True, use_cpu=True, save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    trainer = transformers.Trainer(module, arguments, train_dataset=Data())
    callback = add_perf(trainer, model, peak=1e9)
    trainer.train()
    logs = [x for x in trainer.state.log_history if "perf/mfu" in x]
    assert [x["step"] for x in logs] == [5, 10, 15, 20]
    for x in logs:
        same = onnxflops.mfu(model, batch=4, seq=8, step_time=x["perf/step_time"], peak=1e9)
        assert x["perf/mfu"] == pytest.approx(same.mfu, rel=1e-9)
        assert x["perf/tokens_per_second"] == pytest.approx(32 / x["perf/step_time"])
    assert callback.last["perf/mfu"] > 0
    if report_to == "tensorboard":
        tags = events_of(tmp_path / "runs")
        assert any(tag.endswith("perf/mfu") for tag in tags), tags


def test_hugging_face_evaluates(gpt2):
    """Evaluations and checkpoints, after a log and between logs, do not count as training."""
    need("transformers")
    from onnxflops.huggingface import PerfCallback

    clock, state = Clock(), SimpleNamespace(global_step=0, num_input_tokens_seen=0, log_history=[])
    args = SimpleNamespace(train_batch_size=2, gradient_accumulation_steps=1, world_size=1)
    callback = PerfCallback(Perf(gpt2, peak=1e12, clock=clock), {"seq": 8}, "seq")
    callback.on_train_begin(args, state, None)
    for step in range(1, 9):
        callback.take([{"input_ids": SimpleNamespace(shape=(2, 8))}])
        clock.now += 0.5
        state.global_step = step
        callback.on_step_end(args, state, None)
        if step % 4 == 0:
            clock.now += 0.125  # of the log itself
            callback.on_log(args, state, None, logs={"loss": 1.0})
            assert callback.last["perf/step_time"] == (4 * 0.5 + 0.125) / 4
        if step in (2, 4):
            for event in (callback.on_evaluate, callback.on_save):
                clock.now += 100
                logs = {"eval_loss": 1.0}
                callback.on_log(args, state, None, logs=logs)
                event(args, state, None)
                assert list(logs) == ["eval_loss"]


def hugging_face_trainer(tmp_path, rows=80, batch=2, accumulate=2, **arguments):
    transformers, _ = need("transformers", "accelerate")
    torch, module, model = tiny()
    data = [{"input_ids": torch.arange(8) + i % 40, "labels": torch.arange(8)} for i in range(rows)]
    settings = transformers.TrainingArguments(
        output_dir=str(tmp_path), per_device_train_batch_size=batch, gradient_accumulation_steps=accumulate, report_to="none",
        use_cpu=True, save_strategy="no", disable_tqdm=True, logging_steps=1, **arguments,
    )  # fmt: skip
    return transformers.Trainer(module, settings, train_dataset=data), model


def test_hugging_face_short_batches(tmp_path):
    """10 rows in steps of 2 x 3: 6, then 3 + 1. Nothing gives seq, and no tokens are counted."""
    trainer, model = hugging_face_trainer(tmp_path, rows=10, batch=3, num_train_epochs=1)
    from onnxflops.huggingface import add_perf

    add_perf(trainer, model, peak=1e15)
    trainer.train()
    logs = [x for x in trainer.state.log_history if "perf/mfu" in x]
    assert [round(x["perf/samples_per_second"] * x["perf/step_time"]) for x in logs] == [6, 4]
    for x, samples in zip(logs, (6, 4)):
        assert x["perf/flops_per_second"] * x["perf/step_time"] == pytest.approx(model.count().training_flops.evaluate(batch=samples, seq=8))


def test_hugging_face_finds_lengths(tmp_path):
    """In a mask, in where a packed row's samples end, and in positions that begin again."""
    trainer, model = hugging_face_trainer(tmp_path, max_steps=2)
    torch = need("torch")[0]
    from onnxflops.huggingface import add_perf

    ids, row = torch.ones(2, 8, dtype=torch.long), torch.ones(1, 13, dtype=torch.long)
    mask = torch.tensor([[1] * 8, [1] * 5 + [0] * 3])
    batches = (
        {"input_ids": ids, "attention_mask": mask},
        {"input_ids": row, "cu_seq_lens_q": torch.tensor([0, 8, 13])},
        {"input_ids": row, "cu_seq_lens_q": torch.tensor([0.0, 8.0, 13.0])},
        {"input_ids": row, "cu_seq_lens_q": [0, 8, 13, 13]},
        {"input_ids": row, "attention_mask": torch.tensor([[65536] * 8 + [131072] * 5])},
        {"input_ids": row, "position_ids": torch.tensor([[*range(8), *range(5)]])},
    )
    training = model.count().training_flops
    for i, batch in enumerate(batches):
        callback = add_perf(trainer, model, peak=1e15)
        callback.take([batch])
        sums = callback._sums
        assert sums.flops == training.sum_over("batch", packed=i > 0, seq=[8, 5])
        assert (sums.samples, sums.tokens) == (2, 13)


class Qwen:
    """The class of transformers, and batches as its processor makes them."""

    def __init__(self):
        self.torch, self.transformers = need("torch", "transformers")
        ids = {"image_token_id": 98, "video_token_id": 97, "vision_start_token_id": 96, "pad_token_id": 0}
        config = self.transformers.AutoConfig.for_model(**{**QWEN, **ids})
        config._attn_implementation = "eager"
        self.module = self.transformers.Qwen2VLForConditionalGeneration(config)

    def batch(self, samples):
        """Of samples (texts, images, clips): their tokens of text, and grids. Padded on the right."""
        rows, types = [], []
        for text, images, clips in samples:
            row, left = [], text
            for number, grids in ((98, images), (97, clips)):
                for t, h, w in grids:
                    row += [5] * min(left, 2) + [number] * (t * (h // 2) * (w // 2))
                    left -= min(left, 2)
            row += [5] * left
            rows.append(row)
            types.append([{98: 1, 97: 2}.get(token, 0) for token in row])
        return self.collated(rows, types, samples)

    def collated(self, rows, types, samples):
        tensor, longest = self.torch.tensor, max(map(len, rows))
        found = {
            "input_ids": tensor([row + [0] * (longest - len(row)) for row in rows]),
            "attention_mask": tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows]),
            "mm_token_type_ids": tensor([row + [0] * (longest - len(row)) for row in types]),
        }
        for i, pixels, name in ((1, "pixel_values", "image_grid_thw"), (2, "pixel_values_videos", "video_grid_thw")):
            if grids := [grid for sample in samples for grid in sample[i]]:
                found[name] = tensor(grids)
                found[pixels] = self.torch.zeros(int(found[name].prod(-1).sum()), 3 * 2 * 14 * 14)
        return found

    def executed(self, text, images=(), clips=()):
        """The FLOPs of a sample alone, by FlopCounterMode."""
        from torch.utils.flop_counter import FlopCounterMode

        batch = self.batch([(text, images, clips)])
        places = self.torch.zeros(3, *batch["input_ids"].shape, dtype=self.torch.int64)  # images without a text between have none
        with self.torch.no_grad(), FlopCounterMode(display=False) as counter:
            self.module(**batch, position_ids=places, use_cache=False)
        return counter.get_total_flops()


SAMPLES = [
    (12, [(1, 8, 12)], []),
    (30, [(1, 4, 6), (1, 8, 2), (1, 4, 6)], []),  # several images, two of them of one size
    (21, [], []),
    (9, [(1, 4, 4)], [(3, 4, 6)]),
    (7, [], [(2, 2, 4)]),
]


def test_images_of_a_batch(qwen):
    """Any number of images and clips in a sample, padded and packed: each sample as transformers executes it alone."""
    case = Qwen()
    torch = case.torch
    whole = sum(case.executed(*sample) for sample in SAMPLES)
    text = sum(case.executed(text) for text, _, _ in SAMPLES)
    image = sum(case.executed(0, images, clips) for _, images, clips in SAMPLES if images or clips)
    padded = case.batch(SAMPLES)
    present = padded["attention_mask"] == 1
    lengths = present.sum(-1).tolist()
    ends = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    row = {name: padded[name][present][None] for name in ("input_ids", "mm_token_type_ids")}
    row.update({name: padded[name] for name in ("image_grid_thw", "video_grid_thw")})
    numbers = torch.cat([torch.full((n,), i + 1) for i, n in enumerate(lengths)])[None]
    places = torch.cat([torch.arange(n) for n in lengths])[None]
    axes = case.module.model.get_rope_index(
        padded["input_ids"], padded["mm_token_type_ids"], padded["image_grid_thw"], padded["video_grid_thw"],
        attention_mask=padded["attention_mask"],
    )[0]  # [3, samples, length]  # fmt: skip
    axes = torch.cat([axes[:, i, :n] for i, n in enumerate(lengths)], 1)[:, None]
    without = {name: x for name, x in padded.items() if name != "mm_token_type_ids"}
    batches = [
        (padded, None), (without, case.module.config), ({**padded, "attention_mask": present.float()}, None),
        ({**row, "cu_seq_lens_q": torch.tensor(ends)}, None), ({**row, "attention_mask": numbers}, None),
        *(({**row, "position_ids": found}, None) for found in (places, places + 2, axes, torch.cat([places[None], axes]))),
    ]  # fmt: skip
    for batch, config in batches:
        flops, parts, sums = batch_sums(qwen, batch, config)
        assert flops == whole
        assert parts == {"text": text, "image": image, "together": whole - text - image}
        assert (sums.samples, sums.tokens, sums.parts["tokens_per_second_text"]) == (5, sum(lengths), sum(s[0] for s in SAMPLES))
    flops, _, sums = batch_sums(qwen, without)  # nothing tells the text from the images
    assert flops == whole and sums.unsplit == 1
    turned = {**padded, "image_grid_thw": padded["image_grid_thw"].flip(0)}
    assert batch_sums(qwen, turned)[0] == whole
    plain = {name: padded[name] for name in ("input_ids", "attention_mask")}
    assert batch_sums(qwen, plain)[2].unsplit == 0  # text alone
    alone = case.batch([SAMPLES[2], SAMPLES[2]])
    del alone["attention_mask"]  # a rectangle
    assert batch_sums(qwen, alone)[0] == 2 * case.executed(21)


def test_several_images_of_a_step(qwen):
    """Perf.step() of samples with any number of images, as transformers executes each sample alone."""
    case = Qwen()
    tensor = case.torch.tensor
    texts = [text for text, _, _ in SAMPLES]
    nested = [[*images, *clips] for _, images, clips in SAMPLES]
    flat, counts = [grid for images in nested for grid in images], [1, 3, 0, 2, 1]
    tokens = sum(t * (h // 2) * (w // 2) for t, h, w in flat)
    for given in (
        {"grid_thw": nested}, {"grid_thw": flat, "image_counts": counts},
        {"grid_thw": [tensor(images).reshape(-1, 3) for images in nested]},
        {"grid_thw": tensor(flat), "image_counts": tensor(counts)},
    ):  # fmt: skip
        perf = Perf(qwen, peak=1e15, devices=1)
        counts_macs(perf, qwen)
        perf.add(lengths=tensor(texts), **given)
        assert 2 * perf._sums.flops == sum(case.executed(*sample) for sample in SAMPLES)
        assert (perf._sums.samples, perf._sums.tokens) == (5, sum(texts) + tokens)
        assert perf._sums.parts["tokens_per_second_image"] == tokens


def test_images_that_are_not_in_the_text(qwen):
    """Grids and tokens that contradict each other are an error at first, and then one warning."""
    case = Qwen()
    batch = case.batch(SAMPLES)
    fewer = {**batch, "image_grid_thw": batch["image_grid_thw"][1:]}
    for wrong, message in (
        (fewer, "66 tokens of images, and the images of .* have 42"),
        ({**batch, "image_grid_thw": batch["image_grid_thw"] + 1}, "merges 2 x 2"),
        ({**batch, "image_grid_thw": batch["image_grid_thw"][:, 1:]}, "not three numbers"),
    ):
        with pytest.raises(onnxflops.InvalidError, match=message):
            batch_sums(qwen, wrong)
    from onnxflops.huggingface import PerfCallback

    callback = PerfCallback(Perf(qwen, peak=1e15, devices=1), {}, "seq")
    callback.take([batch])
    with pytest.warns(RuntimeWarning, match="no perf/mfu of these steps") as told:
        callback.take([fewer])
        callback.take([{**fewer, "image_grid_thw": fewer["image_grid_thw"][1:]}])
    assert len(told) == 1 and callback._fails


def test_batches_on_a_device_are_read_when_a_result_is_due(qwen, monkeypatch):
    """Every look at a tensor waits for its device. A fault that is found late is a warning."""
    case = Qwen()
    from onnxflops.huggingface import PerfCallback

    batch, reads = case.batch(SAMPLES), []
    one = batch_sums(qwen, batch)[2].tokens
    callback = PerfCallback(Perf(qwen, peak=1e15, devices=1), {}, "seq")
    callback.take([batch])  # the first is read at once
    assert callback._sums.tokens == one
    for name in ("tolist", "__bool__", "item", "__int__"):
        original = getattr(case.torch.Tensor, name)
        monkeypatch.setattr(case.torch.Tensor, name, lambda self, original=original: [reads.append(1), original(self)][1])
    monkeypatch.setattr("onnxflops.monitor._is_on_device", lambda x: hasattr(x, "tolist"))
    state = SimpleNamespace(global_step=70, num_input_tokens_seen=0, log_history=[])
    for _ in range(69):
        callback.take([batch])
        assert callback._sums.tokens in (one, 65 * one)
        assert bool(reads) == (callback._sums.tokens > one)  # 64 are the most that wait
    logs = {"loss": 1.0}
    callback.on_log(None, state, None, logs=logs)
    assert logs["perf/tokens_per_second"] * logs["perf/step_time"] == pytest.approx(one)
    callback.take([{**batch, "image_grid_thw": batch["image_grid_thw"][1:]}])
    state.global_step, logs = 71, {"loss": 1.0}
    with pytest.warns(RuntimeWarning, match="no perf/mfu of these steps"):
        callback.on_log(None, state, None, logs=logs)
    assert list(logs) == ["loss"]


def test_images_of_one_size(tmp_path):
    """A configuration of images of a fixed size counts tokens of text, and batches have both: 16 of each row are the image's."""
    torch = need("torch")[0]
    vision = {"model_type": "clip_vision_model", "hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
              "intermediate_size": 200, "image_size": 64, "patch_size": 16}  # fmt: skip
    model = configured({"model_type": "llava", "text_config": {"model_type": "llama", **QWEN["text_config"]} | {"rope_scaling": None},
                        "vision_config": vision}, tmp_path)  # fmt: skip
    types = torch.tensor([[1] * 16 + [0] * 9, [0] * 3 + [1] * 16 + [0] * 6])
    mask = torch.tensor([[1] * 25, [1] * 21 + [0] * 4])
    batch = {"input_ids": 5 - types, "attention_mask": mask, "mm_token_type_ids": types, "pixel_values": torch.zeros(2, 3, 64, 64)}
    assert batch_sums(model, batch)[0] == 2 * (model.count(batch=1, seq=9).macs + model.count(batch=1, seq=5).macs)
    for wrong in ({**batch, "mm_token_type_ids": types * 0}, {**batch, "mm_token_type_ids": None}):
        with pytest.raises(onnxflops.InvalidError, match="one image of 16 tokens in each sample"):
            batch_sums(model, wrong)


def test_hugging_face_images(tmp_path, qwen):
    """A Trainer logs the FLOPs of text and images. Twice the same image is a clip of two frames."""
    case = Qwen()
    need("accelerate")
    from onnxflops.huggingface import add_perf

    samples = [(10, [(1, 4, 6)], []), (14, [(1, 8, 4), (1, 8, 4)], [])]

    def collate(rows):
        batch = case.batch(rows)
        return {**batch, "labels": batch["input_ids"]}

    arguments = case.transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=2, logging_steps=1, per_device_train_batch_size=2, report_to="none", use_cpu=True,
        save_strategy="no", disable_tqdm=True, remove_unused_columns=False,
    )  # fmt: skip
    trainer = case.transformers.Trainer(case.module, arguments, train_dataset=samples, data_collator=collate)
    add_perf(trainer, qwen, peak=1e12)
    trainer.train()

    def per_sample(seq, t, h, w):  # and once in a run
        one, two = (qwen.count(batch=n, seq=seq, grid_t=t, grid_h=h, grid_w=w).training_flops for n in (1, 2))
        return two - one, 2 * one - two

    (small, _), (large, once) = per_sample(10, 1, 4, 6), per_sample(14, 2, 8, 4)
    for log in trainer.state.log_history[:2]:
        seconds = log["perf/step_time"]
        assert log["perf/flops_per_second"] * seconds == pytest.approx(small + large + once, rel=1e-12)
        parts = [log[f"perf/flops_per_second_{name}"] for name in ("text", "image", "together")]
        assert sum(parts) == pytest.approx(log["perf/flops_per_second"]) and min(parts) > 0
        assert log["perf/tokens_per_second_text"] * seconds == pytest.approx(24)
        assert log["perf/tokens_per_second_image"] * seconds == pytest.approx(6 + 16)
        assert log["perf/tokens_per_second"] * seconds == pytest.approx(24 + 22)
        assert log["perf/padding"] == pytest.approx(1 - 46 / 60)


HUGGING_FACE_RANK = """
import json, os, sys, torch, transformers
import onnxflops
from onnxflops.huggingface import add_perf
from training import tiny
rank, folder = int(sys.argv[1]), sys.argv[2]
os.environ.update(RANK=sys.argv[1], LOCAL_RANK=sys.argv[1], WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[3])
_, inner, model = tiny()
class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = inner
    def forward(self, input_ids, labels, attention_mask):
        return self.inner(input_ids, labels)
module = Module()
class Data(torch.utils.data.Dataset):
    def __len__(self): return 64
    def __getitem__(self, i):
        n = 1 + i % 8
        ids = torch.tensor([1] * n + [0] * (8 - n))
        return {"input_ids": ids, "labels": ids, "attention_mask": torch.tensor([1] * n + [0] * (8 - n))}
arguments = transformers.TrainingArguments(
    output_dir=folder, max_steps=6, logging_steps=3, per_device_train_batch_size=2, use_cpu=True, save_strategy="no",
    disable_tqdm=True, report_to="none", ddp_backend="gloo")
trainer = transformers.Trainer(module, arguments, train_dataset=Data())
callback = add_perf(trainer, model, peak=1e12)
seen, take = [], callback.take
def record(batches):
    seen.append([batch["attention_mask"].sum(-1).tolist() for batch in batches])
    take(batches)
callback.take = record
trainer.train()
print(json.dumps([callback.last, seen[3:]]))
"""


def ranks_of(script, tmp_path, *words):
    """What two processes print last."""
    path = {"PYTHONPATH": os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path])}
    ranks = [
        subprocess.Popen([sys.executable, "-c", script, str(r), str(tmp_path), *words], stdout=subprocess.PIPE, text=True, cwd=tmp_path,
                         env={**os.environ, **path})
        for r in range(2)
    ]  # fmt: skip
    outs = [rank.communicate(timeout=600)[0] for rank in ranks]
    assert all(rank.returncode == 0 for rank in ranks)
    return [json.loads(out.splitlines()[-1]) for out in outs]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def test_hugging_face_ranks_add_up(tmp_path):
    """Two ranks have samples of different lengths: both log the FLOPs of all of them."""
    need("torch", "transformers", "accelerate")
    model = tiny()[2]
    (last, one), (other_last, other) = ranks_of(HUGGING_FACE_RANK, tmp_path, free_port())
    assert one != other
    lengths = [n for batches in one + other for batch in batches for n in batch]
    expected = model.count().training_flops.sum_over("batch", seq=lengths)
    for metrics in (last, other_last):
        assert metrics["perf/mfu"] * 2e12 * 3 * metrics["perf/step_time"] == pytest.approx(expected)
        assert metrics["perf/samples_per_second"] * 3 * metrics["perf/step_time"] == pytest.approx(12)
        assert metrics["perf/padding"] == pytest.approx(1 - sum(lengths) / (8 * len(lengths)))


def test_hugging_face_fails_before_training(tmp_path):
    trainer, model = hugging_face_trainer(tmp_path, max_steps=2)
    from onnxflops.huggingface import add_perf

    with pytest.raises(onnxflops.InvalidError, match="fixes"):
        add_perf(trainer, onnxflops.load(ROOT / "models/resnet50.onnx"), peak=1e15)
    with pytest.raises(onnxflops.InvalidError, match="leave it out"):
        add_perf(trainer, model.count(batch=1), peak=1e15)
    with pytest.raises(onnxflops.InvalidError, match="every is the Trainer's"):
        add_perf(trainer, model, peak=1e15, every=5)
    callback = add_perf(trainer, model, peak=1e15)
    callback._first = False
    with pytest.warns(RuntimeWarning, match="no perf/mfu of these steps"):
        callback.take([{"input_ids": [1]}])  # later on it is no reason to stop


def test_lightning_steps(tmp_path):
    """Five batches, two of them a step: 8, 8, and 3 rows. Checkpoints and evaluations are nobody's time."""
    lightning = need("lightning")[0]
    torch, module, model = tiny()
    from onnxflops.lightning import PerfCallback

    clock = Clock()

    class Module(lightning.pytorch.LightningModule):
        def __init__(self):
            super().__init__()
            self.inner = module

        def training_step(self, batch, index):
            clock.now += 0.25
            return self.inner(batch, batch)["loss"]

        def validation_step(self, batch, index):
            clock.now += 100

        def on_save_checkpoint(self, checkpoint):
            clock.now += 1000

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    class Logger(lightning.pytorch.loggers.CSVLogger):
        seen = []

        def log_metrics(self, metrics, step=None):
            if "device/mfu" in metrics:
                self.seen.append((step, metrics))

    rows = torch.zeros(19, 8, dtype=torch.int64)
    loader = torch.utils.data.DataLoader(rows, batch_size=4)
    callback = PerfCallback(model, sizes=lambda b: {"batch": len(b), "seq": b.shape[1]}, peak=1e12, every=1, clock=clock)
    saver = lightning.pytorch.callbacks.ModelCheckpoint(str(tmp_path), every_n_train_steps=1, save_top_k=-1)
    trainer = lightning.pytorch.Trainer(
        max_epochs=1, accumulate_grad_batches=2, accelerator="cpu", callbacks=[saver, callback], logger=Logger(str(tmp_path)),
        enable_progress_bar=False, val_check_interval=2, num_sanity_val_steps=0,
    )  # fmt: skip
    trainer.fit(Module(), loader, loader)
    assert [step for step, _ in Logger.seen] == [1, 2, 3]
    taken = [(m["device/step_time"], m["device/samples_per_second"] * m["device/step_time"]) for _, m in Logger.seen]
    assert taken == [(0.5, 8), (0.5, 8), (0.25, 3)]
    fixed = PerfCallback(model.count(batch=1, seq=8), sizes=lambda b: {"batch": len(b)}, peak=1e12)
    trainer = lightning.pytorch.Trainer(max_epochs=1, accelerator="cpu", callbacks=[fixed], logger=False, enable_checkpointing=False)
    with pytest.raises(onnxflops.InvalidError, match="leave it out"):
        trainer.fit(Module(), loader)


def test_lightning(tmp_path):
    lightning = need("lightning", "tensorboard")[0]
    torch, module, model = tiny()
    from onnxflops.lightning import PerfCallback

    class Module(lightning.pytorch.LightningModule):
        def __init__(self):
            super().__init__()
            self.inner = module

        def training_step(self, batch, index):
            return self.inner(batch, batch)["loss"]

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    loader = torch.utils.data.DataLoader(torch.zeros(80, 8, dtype=torch.int64), batch_size=4)
    callback = PerfCallback(model, sizes=lambda b: {"batch": len(b), "seq": b.shape[1]}, peak=1e9, every=5)
    logger = lightning.pytorch.loggers.TensorBoardLogger(str(tmp_path), name="", version="")
    trainer = lightning.pytorch.Trainer(
        max_steps=20, accelerator="cpu", callbacks=[callback], logger=logger, enable_progress_bar=False, enable_checkpointing=False
    )
    trainer.fit(Module(), loader)
    events = events_of(tmp_path)
    assert [step for step, _ in events["device/mfu"]] == [5, 10, 15, 20]
    same = onnxflops.mfu(model, batch=4, seq=8, step_time=events["device/step_time"][-1][1], peak=1e9)
    assert events["device/mfu"][-1][1] == pytest.approx(same.mfu, rel=1e-5)


def test_lightning_finds_the_batch(tmp_path, qwen):
    """Without sizes: lengths, images, and the numbers of their tokens in the configuration."""
    lightning = need("lightning")[0]
    case = Qwen()
    from onnxflops.lightning import PerfCallback, _config_of

    class Module(lightning.pytorch.LightningModule):
        def __init__(self):
            super().__init__()
            self.inner = case.module

        def training_step(self, batch, index):
            return self.inner(**batch, labels=batch["input_ids"]).loss

        def configure_optimizers(self):
            return case.torch.optim.SGD(self.parameters(), 0.1)

    batch = case.batch(SAMPLES)

    def trained(batches, callback):
        trainer = lightning.pytorch.Trainer(
            max_steps=1, accelerator="cpu", callbacks=[callback], logger=False, enable_progress_bar=False, enable_checkpointing=False
        )
        trainer.fit(Module(), case.torch.utils.data.DataLoader(batches, batch_size=None))
        return callback.last

    assert _config_of(Module()).image_token_id == 98
    found = PerfCallback(qwen, peak=1e12, every=1)
    last = trained([batch], found)
    perf = Perf(qwen, peak=1e12)
    perf._add_batch(perf._sums, batch, {}, None)
    assert last["device/flops_per_second"] * last["device/step_time"] == pytest.approx(perf._sums.flops)
    assert last["device/tokens_per_second_image"] * last["device/step_time"] == pytest.approx(66)
    with pytest.raises(onnxflops.InvalidError, match="a Tensor without names"):
        trained(case.torch.zeros(2, 8), PerfCallback(qwen, peak=1e12))


LIGHTNING_RANK = """
import json, os, sys, torch
import onnxflops
os.environ.update(LOCAL_RANK=sys.argv[1], NODE_RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[3])
try:
    import lightning.pytorch as lightning
except ImportError:
    import pytorch_lightning as lightning
from onnxflops.lightning import PerfCallback
from training import tiny
_, inner, model = tiny()
rank, fails = int(sys.argv[1]), sys.argv[4] == "fails"
class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.inner = inner
    def training_step(self, batch, index):
        return self.inner(batch, batch)["loss"]
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)
    def train_dataloader(self):
        return torch.utils.data.DataLoader(torch.zeros(16, 8, dtype=torch.int64), batch_size=2)
asked = []
def sizes(batch):
    asked.append(1)
    if fails and rank == 1 and len(asked) == 3:
        raise RuntimeError("no sizes")
    return {"lengths": [8, 3 + rank]}
callback = PerfCallback(model, sizes=sizes, peak=1e12, every=2)
trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_steps=2, callbacks=[callback], logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Module())
print(json.dumps(callback.last))
"""


@pytest.mark.parametrize("fails", ["", "fails"])
def test_lightning_ranks_add_up(tmp_path, fails):
    """Also a rank that cannot count a batch takes part in the sum, and then none has a figure."""
    need("torch")
    if not has("lightning") and not has("pytorch_lightning"):
        need("lightning")
    model = tiny()[2]
    results = ranks_of(LIGHTNING_RANK, tmp_path, free_port(), fails)
    if fails:
        assert results == [{}, {}]
        return
    expected = 2 * model.count().training_flops.sum_over("batch", seq=[8, 3, 8, 4])
    for metrics in results:
        assert metrics["device/mfu"] * 2e12 * 2 * metrics["device/step_time"] == pytest.approx(expected)


WHISPER = {
    "model_type": "whisper", "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 100, "num_mel_bins": 16, "max_target_positions": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip


class Whisper:
    """The class of transformers, and batches as a collator for speech makes them: labels of -100 are padding."""

    texts, frames = [9, 4, 6], [1250, 3000, 700]

    def __init__(self):
        self.torch, transformers = need("torch", "transformers")
        config = transformers.AutoConfig.for_model(**WHISPER)
        config._attn_implementation = "eager"
        self.module = transformers.WhisperForConditionalGeneration(config)

    def batch(self):
        tensor = self.torch.tensor
        return {
            "input_features": self.torch.zeros(3, 16, 3000),
            "attention_mask": tensor([[1] * n + [0] * (3000 - n) for n in self.frames]),  # of the features
            "labels": tensor([[5] * n + [-100] * (max(self.texts) - n) for n in self.texts]),
        }

    def executed(self, text):
        """The FLOPs of a sample alone, by FlopCounterMode."""
        from torch.utils.flop_counter import FlopCounterMode

        ids = self.torch.full((1, text), 5)
        with self.torch.no_grad(), FlopCounterMode(display=False) as counter:
            self.module(input_features=self.torch.zeros(1, 16, 3000), decoder_input_ids=ids, use_cache=False)
        return counter.get_total_flops()


def test_texts_of_whisper(tmp_path):
    """Each text at its own length and each chunk as a whole: as transformers executes a sample alone."""
    case = Whisper()
    model = configured(WHISPER, tmp_path)
    batch, whole = case.batch(), sum(case.executed(n) for n in case.texts)
    ids = case.torch.full((3, 9), 5)
    mask = (batch["labels"] != -100).long()
    features = {"input_features": batch["input_features"]}
    for given in (
        batch, {**features, "labels": batch["labels"]}, {**batch, "decoder_input_ids": ids},
        {**features, "decoder_input_ids": ids, "decoder_attention_mask": mask},
    ):  # fmt: skip
        flops, _, sums = batch_sums(model, given)
        assert flops == whole
        assert (sums.samples, sums.tokens, sums.places) == (3, sum(case.texts), 27)
        assert (sums.frames, sums.frame_places) == (9000, 9000)  # all of a chunk is computed
    flops, _, sums = batch_sums(model, {**features, "decoder_input_ids": ids})  # nothing tells the padding
    assert flops == 3 * case.executed(9) and (sums.tokens, sums.frames) == (27, 9000)


def test_hugging_face_whisper(tmp_path):
    """A Trainer's batches tell the texts of Whisper by their labels: no sizes are given."""
    torch, transformers, _ = need("torch", "transformers", "accelerate")
    from onnxflops.huggingface import add_perf

    case = Whisper()
    batch = case.batch()
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=1, logging_steps=1, per_device_train_batch_size=3, use_cpu=True, save_strategy="no",
        report_to="none", disable_tqdm=True,
    )  # fmt: skip
    rows = [{name: x[i] for name, x in batch.items()} for i in range(3)]
    trainer = transformers.Trainer(case.module, arguments, train_dataset=rows)
    model = configured(WHISPER, tmp_path)
    callback = add_perf(trainer, model, peak=1e15)
    trainer.train()
    last, seconds = callback.last, callback.last["perf/step_time"]
    expected = model.count().training_flops.sum_over("batch", seq=case.texts)
    assert last["perf/flops_per_second"] * seconds == pytest.approx(expected)
    assert last["perf/tokens_per_second"] * seconds == pytest.approx(sum(case.texts))
    assert last["perf/frames_per_second_audio"] * seconds == pytest.approx(9000)
    assert last["perf/seconds_per_second_audio"] * seconds == pytest.approx(90)
    assert "perf/padding_audio" not in last


def sound_model(torch):
    """A layer from 8 features of a frame to 16, with the batch and the frames open."""

    class Sound(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 16, bias=False)

        def forward(self, input_features):
            return self.layer(input_features)

    return onnxflops.from_torch(Sound(), torch.zeros(2, 5, 8), dynamic_shapes={"input_features": {0: "batch", 1: "frames"}})


def test_a_wrong_list_while_training(tmp_path):
    """At first an error, later one warning, and never a figure."""
    trainer, model = hugging_face_trainer(tmp_path, max_steps=2)
    torch = need("torch")[0]
    from onnxflops.huggingface import add_perf

    row = torch.ones(1, 13, dtype=torch.long)
    right, wrong = ({"input_ids": row, "cu_seq_lens_q": torch.tensor(ends)} for ends in ([0, 8, 13], [0, 8, 100]))
    with pytest.raises(onnxflops.InvalidError, match="up to 100, and 13 tokens"):
        add_perf(trainer, model, peak=1e15).take([wrong])
    callback = add_perf(trainer, model, peak=1e15)
    callback.take([right])
    with pytest.warns(RuntimeWarning, match="no perf/mfu of these steps: a batch has cu_seq_lens_q up to 100"):
        callback.take([wrong])
    assert callback._fails


def test_frames_of_a_mask():
    """The mask of features tells the length of each sound, where the model counts by it; by hand."""
    torch, _ = need("torch", "onnxscript")
    model = sound_model(torch)
    features = {"input_features": torch.zeros(3, 40, 8)}
    mask = torch.tensor([[1] * n + [0] * (40 - n) for n in (40, 7, 21)])
    for given, frames in (
        ({**features, "attention_mask": mask}, 68),
        ({**features, "feature_attention_mask": mask}, 68),
        ({**features, "attention_mask": mask[:, :10]}, 120),  # not of these frames
        (features, 120),
    ):
        flops, _, sums = batch_sums(model, given)
        assert flops == 2 * frames * 8 * 16
        assert (sums.samples, sums.tokens, sums.frames, sums.frame_places) == (3, 0, frames, 120)
    clock = Clock()
    perf = Perf(model, peak=1e15, devices=1, every=1, clock=clock)
    for given in ({"audio": [40, 7, 21]}, {"lengths": {"frames": [40, 7, 21]}}):
        clock.now += 1
        metrics = perf.step(**given)
        assert metrics["perf/frames_per_second_audio"] == 68 and metrics["perf/padding_audio"] == pytest.approx(52 / 120)
        assert "perf/seconds_per_second_audio" not in metrics


def test_labels_of_an_encoder_and_a_decoder(tmp_path):
    """T5: the mask tells the lengths of the encoder, labels those of the decoder; each sample as transformers executes it alone."""
    torch, transformers = need("torch", "transformers")
    from torch.utils.flop_counter import FlopCounterMode

    config = {"model_type": "t5", "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 100}
    model = configured(config, tmp_path)
    module = transformers.T5ForConditionalGeneration(transformers.AutoConfig.for_model(**config)).eval()
    samples, whole = [(8, 3), (5, 6)], 0
    for source, target in samples:
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            module(input_ids=torch.ones(1, source).long(), decoder_input_ids=torch.ones(1, target).long(), use_cache=False)
        whole += counter.get_total_flops()
    batch = {
        "input_ids": torch.ones(2, 8).long(),
        "attention_mask": torch.tensor([[1] * n + [0] * (8 - n) for n, _ in samples]),
        "labels": torch.tensor([[5] * n + [-100] * (6 - n) for _, n in samples]),
    }
    flops, _, sums = batch_sums(model, batch)
    assert flops == whole
    assert (sums.samples, sums.tokens, sums.places) == (2, 13, 16)
