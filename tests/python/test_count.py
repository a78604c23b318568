"""Figures from Python are those of the program."""

import io
import json
import pickle

import onnxflops
import pytest
from conftest import MODELS, ROOT

CLIP = ROOT / "models/clip-vit-l-14-336.onnx"


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.name)
def test_json_is_the_programs(path, program):
    report = onnxflops.load(str(path)).count()
    assert report.to_json() == program("count", path, "--format", "json")
    assert report.to_dict()["totals"]["flops"]["expr"] == str(report.flops)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch": 8}, ["--dim", "batch=8"]),
        ({"dim": {"batch": 8}, "by": "node"}, ["--dim", "batch=8", "--by", "node"]),
        ({"input": {"image": (2, 3, 336, 336)}, "module": "visual"}, ["--input", "image=2x3x336x336", "--module", "visual"]),
        ({"batch": 1, "backward": "exact", "frozen": "visual"}, ["--dim", "batch=1", "--backward", "exact", "--frozen", "visual"]),
        ({"batch": 1, "device": "h100-sxm", "dtype": "bf16"}, ["--dim", "batch=1", "--device", "h100-sxm", "--dtype", "bf16"]),
        ({"batch": 1, "memory": True, "optimizer": "adamw"}, ["--dim", "batch=1", "--memory", "--optimizer", "adamw"]),
        ({"batch": 1, "lora": "r=16:c_fc"}, ["--dim", "batch=1", "--lora", "r=16:c_fc"]),
        ({"convention": "thop"}, ["--convention", "thop"]),
    ],
    ids=str,
)
def test_options_are_the_programs(options, words, program):
    report = onnxflops.load(CLIP).count(**options)
    assert report.to_json() == program("count", CLIP, *words, "--format", "json")


def test_documents_are_the_programs(program):
    m = onnxflops.load(CLIP)
    assert m.compare(["thop", "fvcore"]).to_json() == program("compare", CLIP, "--with", "thop,fvcore", "--format", "json")
    node = m.count().rows("node")[20]["name"]
    assert m.explain(node, batch=2).to_json() == program("explain", CLIP, node, "--dim", "batch=2", "--format", "json")
    other = ROOT / "models/openclip224-vit-l-14-336.onnx"
    assert onnxflops.diff(CLIP, other, batch=1).to_json() == program("diff", CLIP, other, "--dim", "batch=1", "--format", "json")
    words = ["--dim", "batch=8", "--step-time", "0.41", "--devices", "8", "--device", "h100-sxm", "--dtype", "bf16"]
    mfu = onnxflops.mfu(m.count(batch=8), step_time=0.41, devices=8, device="h100-sxm", dtype="bf16")
    assert mfu.to_json() == program("mfu", CLIP, *words, "--format", "json")
    assert mfu.mfu == pytest.approx(3 * m.count(batch=8).flops / (0.41 * 8 * 989.4e12))


def test_check(tmp_path, program):
    budgets = tmp_path / "onnxflops.toml"
    budgets.write_text('[budget]\nmacs = "198 GMAC"\n[at]\nbatch = "1..1"\n')
    check = onnxflops.check(CLIP, budgets)
    assert check.passed and bool(check)
    assert check.to_json() == program("check", CLIP, "--budgets", budgets, "--format", "json")
    with pytest.raises(onnxflops.InvalidError, match="max="):
        onnxflops.check(CLIP)
    tight = onnxflops.check(onnxflops.load(CLIP), max="macs=197 GMAC", batch=1)
    assert not tight and "197 GMAC" in str(tight)


def test_open_sizes(gpt2):
    r = gpt2.count()
    assert sorted(r.symbols) == ["batch", "seq"]
    assert str(r.flops) == "37872*batch*seq^2 + 247614102*batch*seq"
    assert r.at(batch=8, seq=512).flops == gpt2.count(batch=8, seq=512).flops == r.flops.evaluate(batch=8, seq=512)
    assert str(r.at(batch=1).flops) == "37872*seq^2 + 247614102*seq"
    assert isinstance(r.params, int) and r.params == 124439808 or r.params > 10**8


def test_at_other_sizes_than_counted(gpt2):
    r = gpt2.count(batch=8, seq=512)
    assert r.at(batch=64).flops == gpt2.count(batch=64, seq=512).flops
    assert r.at(batch=1, seq=1).macs == gpt2.count(batch=1, seq=1).macs and r.at().flops == r.flops
    half = gpt2.count(batch=8, seq=512, backward="exact")  # an option has formulas of its own
    assert half.at(batch=2).training_flops == gpt2.count(batch=2, seq=512, backward="exact").training_flops
    with pytest.raises(onnxflops.InvalidError, match="bath"):
        r.at(bath=1)


def test_expr(gpt2):
    flops, macs = gpt2.count().flops, gpt2.count().macs
    assert flops - 2 * macs == gpt2.count().other_flops
    assert 1 + flops == flops + 1 and flops * 2 - flops == flops and flops - flops == 0
    assert flops > macs and not flops < macs and macs <= flops and flops != macs and flops != "x"
    assert {flops: 1}[gpt2.count().flops] == 1
    assert onnxflops.parse_expr("3*batch^2") == onnxflops.parse_expr("batch") ** 2 * 3
    assert (-flops).evaluate(batch=1, seq=1) == -flops.evaluate(batch=1, seq=1)
    with pytest.raises(onnxflops.UnavailableError, match="seq"):
        flops.evaluate(batch=1)
    with pytest.raises(onnxflops.UnavailableError, match="depends on the sizes"):
        flops < 10**12  # noqa: B015
    for kind in (int, float):
        with pytest.raises(onnxflops.UnavailableError, match="evaluate"):
            kind(flops)
    with pytest.raises(onnxflops.LimitError, match="128 bits"):
        flops * 2**100 * 2**20
    with pytest.raises(TypeError):
        flops + "1"


def test_modules():
    r = onnxflops.load(CLIP).count(batch=1)
    assert r.modules["visual.transformer"].macs == 190_612_249_344 or r.modules["visual.transformer"].macs > 10**11
    assert len(r.modules) == len(list(r.modules)) and "visual" in r.modules and "no" not in r.modules and 5 not in r.modules
    root = next(iter(r.modules))
    assert root.path == "" and root.parent is None and root.flops == r.flops
    for module in r.modules:
        if module.children:
            assert sum(c.flops for c in module.children) == module.flops
            assert all(c.parent.path == module.path for c in module.children)
    blocks = r.modules.filter("visual.transformer.resblocks.*.mlp")
    assert len(blocks) == 24 and len({b.macs for b in blocks}) == 1
    with pytest.raises(onnxflops.NotFoundError, match="did you mean visual"):
        r.modules["visul"]


def test_rows_add_up():
    r = onnxflops.load(CLIP).count(batch=1)
    assert sum(row["flops"] for row in r.rows("op")) == r.flops
    assert sum(row["flops"] for row in r.rows("node")) == r.flops
    assert r.rows()[0]["flops"] == r.flops and len(r.rows("module")) == len(r.modules)


def test_pandas():
    pytest.importorskip("pandas", reason="pandas is not installed: tools/test --python-all has it")
    r = onnxflops.load(CLIP).count(batch=1)
    for by in ("module", "op", "node"):
        frame = r.to_pandas(by=by)
        assert list(frame.columns) == list(r.rows(by)[0]) and len(frame) == len(r.rows(by))
    assert r.to_pandas("op").flops.sum() == r.flops


def test_sources(gpt2):
    path = ROOT / "models/gpt2.onnx"
    data = path.read_bytes()
    figures = {gpt2.count().flops}
    for source in (data, bytearray(data), memoryview(data), io.BytesIO(data)):
        figures.add(onnxflops.load(source).count().flops)
    with path.open("rb") as file:
        model = onnxflops.load(file)
        assert model.path == str(path)
        figures.add(model.count().flops)

    class ModelProto:
        def SerializeToString(self):
            return data

    figures.add(onnxflops.load(ModelProto()).count().flops)
    assert len(figures) == 1
    config = ROOT / "tests/data/config/gpt2/config.json"
    expected = onnxflops.load(config).count().flops
    assert onnxflops.load(config.parent).count().flops == expected
    assert onnxflops.load(config.read_bytes()).count().flops == expected
    assert onnxflops.load(json.loads(config.read_text())).count().flops == expected


def test_html():
    html = onnxflops.load(CLIP).count(batch=1)._repr_html_()
    assert html.count("<details") == html.count("</details>") and "<details open>" in html and "class=\"bar\"" in html
    assert "396.6 G" in html and "batch = 1" in html
    # Of open sizes, figures are shown at those that the program assumes, and the formula.
    html = onnxflops.load(ROOT / "models/gpt2.onnx").count()._repr_html_()
    assert "32.32 G" in html and "seq = 128 (assumed)" in html and "37872*batch*seq^2" in html and "69.4%" in html


def test_pages_are_the_programs(program):
    m = onnxflops.load(CLIP)
    assert m.count(batch=1).to_html() == program("count", CLIP, "--dim", "batch=1", "--format", "html")
    assert m.compare(["thop"]).to_html() == program("compare", CLIP, "--with", "thop", "--format", "html")
    other = ROOT / "models/openclip224-vit-l-14-336.onnx"
    assert onnxflops.diff(CLIP, other, batch=1).to_html() == program("diff", CLIP, other, "--dim", "batch=1", "--format", "html")
    limits = ["--max", "macs=198 GMAC", "--dim", "batch=1", "--format", "html"]
    assert onnxflops.check(CLIP, max="macs=198 GMAC", batch=1).to_html() == program("check", CLIP, *limits)
    words = ["--dim", "batch=8", "--step-time", "0.41", "--peak", "1e15", "--format", "html"]
    assert onnxflops.mfu(m, batch=8, step_time=0.41, peak=1e15).to_html() == program("mfu", CLIP, *words)


def test_unknown_is_not_zero():
    r = onnxflops.load(ROOT / "models/custom-op.onnx").count(batch=1, seq=128)
    assert r.lower_bound and "FLOPs &gt;= 459.5 k" in r._repr_html_() and ">= 459520" in repr(r)
    assert "3 nodes are not counted: figures are lower bounds" in r._repr_html_()
    by_op = {row["op"]: row for row in r.rows("op")}
    assert by_op["FusedMlp"]["flops"] is None and by_op["FusedMlp"]["lower_bound"]
    assert by_op["LayerNormalization"]["flops"] == 459520 and not by_op["LayerNormalization"]["lower_bound"]
    assert "params" not in by_op["FusedMlp"] and "params" not in r.rows("node")[0] and r.rows()[0]["params"] == r.params
    ranges = onnxflops.load(ROOT / "models/maskrcnn-r50.onnx").count()._repr_html_()
    assert "22 sizes that depend on data" in ranges and "no upper bound is known" in ranges
    comparison = onnxflops.load(CLIP).compare(["thop", "xla"])
    assert comparison.standings == {"thop": "exact", "xla": "assumed"} and set(comparison.headlines) == {"thop", "xla"}


def test_names_in_html_are_data():
    from onnxflops._html import _line

    class Module:
        name, type, own = "<script>alert(1)</script>", "<b>", False

    line = _line(Module(), "1", 1.0)
    assert "<script>" not in line and "<b>" not in line


def test_screen(program):
    m = onnxflops.load(CLIP)
    assert str(m.count(batch=1)) == program("count", CLIP, "--dim", "batch=1")
    assert repr(m.compare(["thop"])) == program("compare", CLIP, "--with", "thop")
    assert repr(m.count().at(batch=64)) == "<onnxflops.Totals: FLOPs 25380683074432>"
    assert repr(m.count()) == f"<onnxflops.Report of {CLIP}: FLOPs 396573173038*batch>"


def test_objects_do_not_change(gpt2):
    r = gpt2.count()
    for what in (gpt2, r, r.modules, r.at(batch=1), r.modules[""], r.flops):
        with pytest.raises((AttributeError, TypeError)):
            what.flops = 1
        with pytest.raises(TypeError):
            pickle.dumps(what)


def test_samples_of_different_lengths(gpt2, tmp_path):
    lengths = [512, 300, 17]
    summed = gpt2.count(lengths=lengths)
    assert summed.macs == sum(gpt2.count(batch=1, seq=n).macs for n in lengths)
    file = tmp_path / "lengths.txt"
    file.write_text("512\n300\n17\n")
    for given in ({"lengths": file}, {"lengths": {"seq": tuple(lengths)}}, {"lengths": "512,300,17"}):
        assert gpt2.count(**given).flops == summed.flops
    packed = gpt2.count(cu_seqlens=[0, 512, 812, 829])
    assert packed.macs == summed.macs and packed.to_dict()["samples"]["layout"] == "packed"
    assert gpt2.count(lengths=lengths, packed_as_row=True).flops == gpt2.count(batch=1, seq=829).flops
    with pytest.raises(onnxflops.InvalidError, match="size 1: '0'"):
        gpt2.count(lengths=[0])
    mfu = onnxflops.mfu(gpt2, lengths=lengths, step_time=0.1, peak=1e15)
    assert mfu.forward_flops == summed.flops and mfu.to_dict()["samples"]["count"] == 3


def test_sum_over():
    formula = onnxflops.parse_expr("3*batch*seq^2 + seq + 5*batch*other")
    assert formula.sum_over("batch", seq=[2, 4]) == onnxflops.parse_expr("10*other") + 3 * (4 + 16) + 4
    with pytest.raises(onnxflops.InvalidError, match="one size of every list"):
        formula.sum_over("batch", seq=[2, 4], other=[1])
