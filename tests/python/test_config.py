"""Configurations and names, by the classes of transformers, timm, torchvision, open_clip and diffusers."""

import importlib
import json
import subprocess
import sys
import types
import warnings

import onnxflops
import pytest
from conftest import ROOT

SMALL = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_key_value_heads": 2, **SMALL}


def need(*packages):
    return [pytest.importorskip(p, reason=f"{p} is not installed: tools/test --python-all has it") for p in packages]


def exact(model, **sizes):
    """No warning, nothing unknown."""
    report = model.count(**sizes)
    assert not report.lower_bound
    return report


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path_factory):
    """The folder of kept graphs: not that of the user."""
    folder = tmp_path_factory.mktemp("graphs")
    monkeypatch.setenv("ONNXFLOPS_CACHE", str(folder))
    return folder


# ---- kept graphs


def test_a_graph_is_kept(kept, monkeypatch):
    from onnxflops import _graphs

    key = _graphs.key_of(LLAMA, None, None, {"seq": 8})
    assert _graphs.find(key) is None
    made = _graphs.keep(key, _graphs.Graph("Llama", b"bytes", ["Llama: holds where 2 <= seq"], ("2 <= seq",), {"batch": 2}))
    assert made == _graphs.find(key) and made.path == str(kept / key / "Llama.onnx")
    assert _graphs.keep(key, made._replace(data=b"others", path=None)) == made  # another process was first
    assert [path.name for path in kept.iterdir()] == [key]
    (kept / key / "graph.json").write_text("[")
    assert _graphs.find(key) is None
    others = [_graphs.key_of({**LLAMA, "hidden_size": 65}, None, None, {"seq": 8}), _graphs.key_of(LLAMA, None, None, {"seq": 9})]
    others += [_graphs.key_of(LLAMA, "fill-mask", None, {"seq": 8}), _graphs.key_of(LLAMA, None, ["input_ids"], {"seq": 8})]
    monkeypatch.setattr(_graphs, "versions", lambda: {"torch": "3.0"})
    others.append(_graphs.key_of(LLAMA, None, None, {"seq": 8}))
    assert len({key, *others}) == 6


def test_a_graph_that_cannot_be_kept(kept, monkeypatch):
    from onnxflops import _graphs

    graph = _graphs.Graph("Llama", b"bytes", [])
    assert _graphs.key_of({"dtype": object()}, None, None, None) is None
    assert _graphs.keep(None, graph).path is None
    (kept / "file").write_text("")
    for folder in (str(kept / "file" / "below"), ""):
        monkeypatch.setenv("ONNXFLOPS_CACHE", folder)
        assert _graphs.keep("key", graph) == graph and _graphs.find("key") is None


# ---- errors that need no PyTorch


def test_without_the_packages(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"onnxflops\[transformers\]"):
        onnxflops.from_config({"model_type": "bert"})
    for function in (onnxflops.from_timm, onnxflops.from_torchvision, onnxflops.from_open_clip):
        with pytest.raises(ImportError, match="pip install"):
            function("x")
    with pytest.raises(ImportError, match="pip install"):
        onnxflops.from_diffusers({})
    for module, missing in (("lightning", ["lightning", "lightning.pytorch.callbacks", "pytorch_lightning"]), ("huggingface", ["transformers"])):
        for name in missing:
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, f"onnxflops.{module}", raising=False)
        with pytest.raises(ImportError, match=rf"onnxflops\.{module} needs .*: pip install "):
            importlib.import_module(f"onnxflops.{module}")


class FakeConfig:
    @classmethod
    def from_dict(cls, document):
        if document.get("hidden_size") == -1:
            raise ValueError("hidden_size must be\npositive")
        made = cls()
        vars(made).update(document)
        return made

    def to_dict(self):
        return vars(self)


def fake_transformers(version="5.0.0"):
    automatic = types.SimpleNamespace(CONFIG_MAPPING={"bert": FakeConfig})
    modeling = types.SimpleNamespace(MODEL_MAPPING={}, MODEL_FOR_X_MAPPING={})
    auto = types.SimpleNamespace(configuration_auto=automatic, modeling_auto=modeling)
    return types.SimpleNamespace(__version__=version, PretrainedConfig=FakeConfig, models=types.SimpleNamespace(auto=auto))


@pytest.fixture
def transformers(monkeypatch):
    package = fake_transformers()
    monkeypatch.setattr("onnxflops._config._transformers", lambda: package)
    return package


def message(error, *words, **named):
    with pytest.raises(error) as raised:
        onnxflops.from_config(*words, **named)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_nonsense(tmp_path, transformers):
    from onnxflops._config import class_of, read_config

    def read(config, trusted=False):
        return read_config(transformers, config, trusted)

    def fails(error, match, *words):
        with pytest.raises(error, match=match) as raised:
            read(*words)
        assert "\n" not in str(raised.value)

    path = tmp_path / "config.json"
    fails(onnxflops.NotFoundError, "no such file .nothing is downloaded", "org/name")
    path.write_text("{")
    fails(onnxflops.InvalidError, "config.json", path)
    path.write_text("[1]")
    fails(onnxflops.InvalidError, "JSON object", tmp_path)
    fails(onnxflops.InvalidError, "no model_type", {})
    fails(onnxflops.InvalidError, "no model_type", {"model_type": 7})
    fails(onnxflops.NotFoundError, "'brt' is not known to transformers 5.0.0: did you mean bert", {"model_type": "brt"})
    fails(onnxflops.InvalidError, "hidden_size must be positive", {"model_type": "bert", "hidden_size": -1})
    fails(TypeError, "no path, dict", 7)
    remote = {"model_type": "bert", "auto_map": {"AutoModel": "modeling_x.Model"}}
    fails(onnxflops.UnsupportedError, "modeling_x.Model.*trust_remote_code", remote)
    fails(onnxflops.UnsupportedError, "modeling_x.Model.*trust_remote_code", FakeConfig.from_dict(remote))
    fails(onnxflops.InvalidError, "beside its file", remote, True)
    config = read({"model_type": "bert", "architectures": ["NoSuchModel"]})
    with pytest.raises(onnxflops.NotFoundError, match="NoSuchModel, which architectures names"):
        class_of(transformers, config, None)
    for wrong in ("BertModel", 7, {"a": 1}):
        with pytest.raises(onnxflops.InvalidError, match="architectures should be a list of names of classes, not "):
            class_of(transformers, read({"model_type": "bert", "architectures": wrong}), None)
    with pytest.raises(onnxflops.InvalidError, match="did you mean text-generation"):
        class_of(transformers, config, "text-generatoin")
    with pytest.raises(onnxflops.UnsupportedError, match="no AutoModelForMaskedLM of model_type 'bert'"):
        class_of(transformers, config, "fill-mask")


def test_any_fault_is_one_line(tmp_path, monkeypatch):
    """The program's --with-transformers prints it."""
    from onnxflops import _config, _graphs

    def fails(config, task):
        raise RecursionError("too deep\nin a class")

    monkeypatch.setattr(_config, "graph_of", fails)
    assert _graphs._answer(["config.json"]) == {"error": "RecursionError: too deep in a class"}


def test_too_old(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "transformers", fake_transformers("4.30.2"))
    assert "4.30.2 is installed" in message(onnxflops.UnsupportedError, {"model_type": "bert"})


def test_the_hub_is_not_asked(monkeypatch):
    import os

    from onnxflops._config import offline

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with offline():
        assert os.environ["HF_HUB_OFFLINE"] == os.environ["TRANSFORMERS_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in os.environ


# ---- what a graph holds under


def test_conditions_that_hold_at_all_sizes():
    from onnxflops._conditions import holds

    limits = {"seq": (2, 512)}
    for condition in ("seq == seq", "seq > 1", "seq != 7", "torch.sym_min(512, seq) == seq", "3*batch // batch == 3"):
        assert holds(condition, limits), condition
    for condition in ("seq % 4 == 0", "seq <= 64", "batch < 64", "unknown(seq)"):
        assert not holds(condition, limits), condition


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["seq > 1"], ""),
        (["(seq + (64 - seq % 64) % 64) // 64 == 1"], "seq is 2 to 64"),
        (["torch.sym_min(seq, 128*(seq // 128)) <= 0", "batch*seq <= batch*127"], "seq is 2 to 127"),
        (["seq // 128 > 0"], "seq is at least 128"),
        (["height == 224 and width <= 300"], "height = 224; width is 1 to 300"),
        (["seq % 4 == 0"], "(seq - 4*(seq//4)) == 0"),
        (["batch == 1 or batch == 2", "float(seq) ** 0.5 == 4.0", "?"], "batch == 1 or batch == 2; float(seq) ** 0.5 == 4.0; ?"),
    ],
)
def test_conditions_as_text(texts, said):
    from onnxflops._conditions import conditions_of

    limits = {"seq": (2, 10**5)}
    assert conditions_of(texts, limits).text(limits) == said


@pytest.mark.parametrize("seq", [1, 2, 63, 64, 65, 128, 129, 4096])
@pytest.mark.parametrize(
    "text", ["(seq + (64 - seq % 64) % 64) // 64 == 1", "-seq % 64 > 0", "max(3*seq, 100, 2) >= -1 + 4*seq", "seq != 64 and seq < 129"]
)
def test_a_formula_says_what_the_condition_says(text, seq):
    from onnxflops._conditions import conditions_of

    conditions = conditions_of([text], {})
    expected = bool(eval(text, {"seq": seq}))
    if "!=" not in text:  # a single size that differs is no condition
        assert (not conditions.broken_at({"seq": seq})) == expected
    assert not conditions.broken_at({"batch": seq})


def test_a_graph_says_which_sizes_it_misses():
    from onnxflops._graphs import Graph

    graph = Graph("Llama", b"", [], ("seq < 65", "batch*seq <= 65*batch"), {"height": 224})
    assert graph.misses({"seq": 64, "batch": 8, "height": 224}) == {}
    assert graph.misses({"seq": 66, "batch": 8}) == {"seq": 66}  # batch may stay open
    assert graph.misses({"height": 225, "seq": 8}) == {"height": 225}


def test_a_graph_is_made_anew_at_sizes_that_it_misses(monkeypatch):
    from onnxflops import _config, _graphs

    asked = []

    def graph_of(config, task, sizes=None):
        asked.append((config, task, sizes))
        return _graphs.Graph("Llama", b"", [], () if sizes else ("seq < 65",), sizes or {}, "Llama.onnx")

    monkeypatch.setattr(_config, "graph_of", graph_of)
    _graphs._answer(["config.json", "", '{"batch": 2, "seq": 64}'])
    assert asked == [("config.json", None, None)]
    _graphs._answer(["config.json", "fill-mask", '{"batch": 2, "seq": 128}'])
    assert asked[1:] == [("config.json", "fill-mask", None), ("config.json", "fill-mask", {"seq": 128})]


def test_notes_of_an_export_are_checked_in_a_count():
    onnx = pytest.importorskip("onnx")
    from onnxflops._conditions import conditions_of
    from onnxflops._torch import note_sizes

    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", "seq", 8]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    made = onnx.helper.make_model(graph)
    conditions = conditions_of(["(seq + (64 - seq % 64) % 64) // 64 == 1"], {})
    found = types.SimpleNamespace(metadata_props={})
    note_sizes(found, conditions, conditions.text({}), {"width": 8})
    onnx.helper.set_model_props(made, found.metadata_props)
    model = onnxflops.load(made.SerializeToString())
    assert model.count(dim={"batch": 2, "seq": 64, "width": 8}).flops == 2 * 64 * 8
    with pytest.raises(onnxflops.InvalidError, match="This graph holds where seq is 1 to 64"):
        model.count(dim={"seq": 65})
    with pytest.raises(onnxflops.InvalidError, match="width = 9: the graph was exported at 8"):
        model.count(dim={"width": 9})


def test_module_is_the_program(program):
    words = ["ops", "--help"]
    done = subprocess.run([sys.executable, "-m", "onnxflops", *words], capture_output=True, check=False)
    assert done.returncode == 0 and done.stdout.decode() == program(*words)


# ---- with PyTorch


def test_parameters_are_the_modules():
    """Tied parameters are one, those that are not used count, buffers do not."""
    torch, _ = need("torch", "onnxscript")

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(50, 16)
            self.head = torch.nn.Linear(16, 50, bias=False)
            self.head.weight = self.embed.weight
            self.unused = torch.nn.Linear(7, 7)
            self.register_buffer("table", torch.ones(50, 16))
            self.register_buffer("factor", torch.ones(16, 16))

        def forward(self, ids):
            return self.head((self.embed(ids) + torch.nn.functional.embedding(ids, self.table)) @ self.factor)

    module = Tied().eval()
    report = onnxflops.from_torch(module, torch.zeros(2, 8, dtype=torch.int64)).count()
    assert report.params == sum(p.numel() for p in module.parameters()) == 50 * 16 + 7 * 8
    assert report.macs == 16 * (16 * 16 + 16 * 50)


def test_from_config(tmp_path):
    need("torch", "onnxscript", "transformers")
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = onnxflops.from_config(tmp_path)
    report = exact(model)
    assert set(report.symbols) == {"batch", "seq"} and "LlamaForCausalLM" in repr(report)
    assert str(report.macs) == "256*batch*seq^2 + 67840*batch*seq" and report.params == 74560
    assert report.modules["model.layers.0.mlp.gate_proj"].macs.evaluate(batch=1, seq=1) == 64 * 96
    # Against our own graph of the family, module by module, and in training.
    own = onnxflops.load(tmp_path / "config.json")
    sizes = {"batch": 2, "seq": 16}
    for path in ("model.layers.1.mlp", "model.layers.0.self_attn", "lm_head"):
        assert model.count(**sizes).modules[path].macs == own.count(**sizes).modules[path].macs, path
    assert exact(model, backward="exact", **sizes).training_flops > 2 * exact(model, **sizes).flops
    assert onnxflops.mfu(model, step_time=0.1, peak=1e12, **sizes).mfu > 0
    fixed = onnxflops.from_config(LLAMA, sizes={"seq": 16})
    assert fixed.count(batch=2).macs == own.count(**sizes).macs
    with pytest.raises(onnxflops.InvalidError, match="no size height; it has batch, seq"):
        onnxflops.from_config(LLAMA, sizes={"height": 7})
    with pytest.raises(onnxflops.InvalidError, match="takes no input nothing"):
        onnxflops.from_config(LLAMA, inputs=["nothing"])


def test_the_program_asks_the_class(tmp_path, kept):
    need("torch", "onnxscript", "transformers")
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    words = ["count", tmp_path, "--with-transformers", "--dim", "batch=1,seq=8", "--format", "json"]
    done = subprocess.run([sys.executable, "-m", "onnxflops", *words], capture_output=True, check=True, text=True)
    report = json.loads(done.stdout)
    assert report["totals"]["macs"]["value"] == 256 * 8**2 + 67840 * 8 and report["totals"]["params"] == 74560
    assert f"{sys.executable} exports it" in done.stderr
    made = [path.stat().st_mtime_ns for path in kept.glob("*/*.onnx")]
    assert str(onnxflops.from_config(tmp_path).count().macs) == "256*batch*seq^2 + 67840*batch*seq"
    assert [path.stat().st_mtime_ns for path in kept.glob("*/*.onnx")] == made


def test_with_past():
    need("torch", "onnxscript", "transformers")
    model = onnxflops.from_config(LLAMA, "text-generation-with-past")
    own = onnxflops.load(LLAMA)
    for sizes in ({"batch": 2, "seq": 1, "past": 100}, {"batch": 1, "seq": 9, "past": 7}):
        assert exact(model, **sizes).macs == own.count(**sizes).macs


def test_the_head_of_a_task():
    (transformers,) = need("transformers", "torch", "onnxscript")[:1]
    config = transformers.BertConfig(**SMALL)
    before = config.to_dict()
    head, body = onnxflops.from_config(config, "fill-mask"), onnxflops.from_config(config)
    assert config.to_dict() == before
    assert head.count().macs - body.count().macs == onnxflops.parse_expr("10496*batch*seq - 4096*batch")
    vision = transformers.ViTConfig(**{k: v for k, v in SMALL.items() if k != "vocab_size"}, image_size=32, patch_size=8)
    assert onnxflops.from_config(vision, "image-classification").count().symbols == ["batch"]


def test_what_cannot_be_exported():
    (transformers,) = need("transformers", "torch", "onnxscript")[:1]
    config = transformers.XLNetConfig(d_model=64, n_layer=1, n_head=4, d_inner=64, vocab_size=100)
    text = message(onnxflops.UnsupportedError, config)
    assert "XLNetModel cannot be exported" in text and "aten" in text


def executed(cls, config, **inputs):
    """PyTorch's own count of a run with real tensors."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        cls(config).eval()(**inputs)
    return counter.get_total_flops()


TOWER = {"depth": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 48, "out_hidden_size": 64, "fullatt_block_indexes": [1]}


def test_images_of_a_vision_tower():
    """The class computes its windows from the values of a grid."""
    (torch, _, transformers) = need("torch", "onnxscript", "transformers")
    config = transformers.CONFIG_MAPPING["qwen2_5_vl_vision"](**TOWER)
    from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VisionTransformerPretrainedModel as Tower

    model = onnxflops.from_config(config)
    assert exact(model).symbols == ["batch"]
    for images in (1, 3):  # of 16 x 16 patches
        flops = executed(Tower, config, hidden_states=torch.zeros(256 * images, 1176), grid_thw=torch.tensor([[1, 16, 16]] * images))
        assert 2 * model.count(batch=images).macs == flops
    wide = onnxflops.from_config(config, sizes={"height": 112, "width": 448})
    flops = executed(Tower, config, hidden_states=torch.zeros(256, 1176), grid_thw=torch.tensor([[1, 8, 32]]))
    assert 2 * wide.count(batch=1).macs == flops
    with pytest.raises(onnxflops.InvalidError, match="height 100 is not a multiple of 28"):
        onnxflops.from_config(config, sizes={"height": 100})
    with pytest.raises(onnxflops.UnsupportedError, match="18 x 16 patches has windows of different sizes"):
        onnxflops.from_config(config, sizes={"height": 252})


def test_images_and_text():
    (torch, _, transformers) = need("torch", "onnxscript", "transformers")
    text = {**SMALL, "num_key_value_heads": 2, "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3]}}
    tower = {"depth": 2, "embed_dim": 32, "hidden_size": 64, "num_heads": 2}
    config = transformers.Qwen2VLConfig(text_config=text, vision_config=tower, image_token_id=7)
    with pytest.warns(UserWarning, match="batch is fixed at 1"):
        model = onnxflops.from_config(config)
    assert {"seq", "batch"} & set(exact(model).symbols) == {"seq"}
    for places in (64, 70):  # 16 x 16 patches, merged by fours
        ids = torch.tensor([[7] * 64 + [1] * (places - 64)])
        images = {"pixel_values": torch.zeros(256, 1176), "image_grid_thw": torch.tensor([[1, 16, 16]])}
        flops = executed(transformers.Qwen2VLModel, config, input_ids=ids, mm_token_type_ids=(ids == 7).long(), **images)
        assert 2 * model.count(seq=places).macs == flops


def test_images_as_rows_of_patches():
    (torch, _, transformers) = need("torch", "onnxscript", "transformers")
    small = {key: SMALL[key] for key in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")}
    config = transformers.Siglip2VisionConfig(**small, num_patches=64)
    model = onnxflops.from_config(config)
    inputs = {"pixel_values": torch.zeros(2, 49, 768), "spatial_shapes": torch.tensor([[7, 7]] * 2)}
    flops = executed(transformers.Siglip2VisionModel, config, pixel_attention_mask=torch.ones(2, 49), **inputs)
    assert 2 * exact(model, batch=2, patches=49).macs == flops


def test_a_failed_export_prints_nothing(capfd):
    (transformers,) = need("transformers", "torch", "onnxscript")[:1]
    small = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    config = transformers.LEDConfig(**small, vocab_size=100, attention_window=4)
    assert "data-dependent" in message(onnxflops.UnsupportedError, config)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("package", "function", "name", "params"),
    [
        ("timm", "from_timm", "resnet18", 11689512),
        ("torchvision", "from_torchvision", "mobilenet_v3_small", 2542856),
        ("open_clip", "from_open_clip", "RN50", 102007137),
    ],
)
def test_names(package, function, name, params):
    need(package, "torch", "onnxscript")
    model = getattr(onnxflops, function)(name)
    assert exact(model).params == params and exact(model).symbols == ["batch"]
    with pytest.raises(onnxflops.NotFoundError, match=f"did you mean {name}"):
        getattr(onnxflops, function)(name + "x")


def test_diffusers():
    need("diffusers", "torch", "onnxscript")
    config = {
        "_class_name": "UNet2DConditionModel", "block_out_channels": [32, 64], "layers_per_block": 1, "sample_size": 16,
        "cross_attention_dim": 32, "attention_head_dim": 8, "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D"],
        "up_block_types": ["CrossAttnUpBlock2D", "UpBlock2D"],
    }  # fmt: skip
    with pytest.warns(UserWarning, match="batch < 64"):
        model = onnxflops.from_diffusers(config)
    assert set(exact(model).symbols) == {"batch", "seq"} and exact(model).params == 985444
    with pytest.raises(onnxflops.NotFoundError, match="no network Nothing"):
        onnxflops.from_diffusers({"_class_name": "Nothing"})


def test_the_table_of_types():
    """In the last survey, MACs and parameters of each counted type equal PyTorch's, or the difference has a reason."""
    import csv

    with open(ROOT / "tests/data/config/model_types.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["equal"] == "yes":
            assert row["params"] == row["module_params"] and 2 * int(row["macs_2"]) == int(row["flop_counter_2"]), row["type"]
        else:
            assert row["reason"], row["type"]


def test_a_family_that_is_not_known(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "led"}')
    with pytest.raises(onnxflops.InvalidError, match=r"need no Python; from_config\(\) counts it by its class"):
        onnxflops.load(path)
