"""Figures from Python are those of the program."""

import array
import copy
import inspect
import io
import json
import os
import pickle

import onnxflops
import pytest
from conftest import MODELS, ROOT
from training import Tensor

CLIP = ROOT / "models/clip-vit-l-14-336.onnx"


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.name)
def test_json_is_the_programs(path, program):
    report = onnxflops.load(str(path)).count()
    assert report.to_json() == program("count", path, "--format", "json")
    assert report.to_dict()["totals"]["flops"]["expr"] == str(report.flops)


def test_backward_has_one_name():
    report = onnxflops.load(str(ROOT / "models/resnet50.onnx")).count(backward="exact")
    layers = [module for module in report.modules if module.path.count(".") == 0 and module.path]
    assert report.backward_flops != 2 * report.flops
    assert sum(module.backward_flops for module in layers) == report.backward_flops
    assert report.bytes_moved == report.bytes_read + report.bytes_written


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
        ({"module": ["visual", "!visual.conv1"]}, ["--module", "visual,!visual.conv1"]),
    ],
    ids=str,
)
def test_options_are_the_programs(options, words, program):
    report = onnxflops.load(CLIP).count(**options)
    assert report.to_json() == program("count", CLIP, *words, "--format", "json")


def test_documents_are_the_programs(program):
    m = onnxflops.load(CLIP)
    assert m.compare(["thop", "fvcore"]).to_json() == program("compare", CLIP, "--with", "thop,fvcore", "--format", "json")
    gpt2 = ROOT / "models/gpt2.onnx"
    batch = program("compare", gpt2, "--lengths", "512,300,17", "--with", "palm,torchtitan", "--format", "json")
    assert onnxflops.load(gpt2).compare(["palm", "torchtitan"], lengths=[512, 300, 17]).to_json() == batch
    assert m.compare(quantity="activations").to_json() == program("compare", CLIP, "--quantity", "activations", "--format", "json")
    for words in (["visual"], ["visual.transformer.resblocks.0,visual.conv1", "batch=4"]):
        options = {"module": words[0], **({"batch": 4} if words[1:] else {})}
        part = m.compare(["thop", "flop-counter-mode"], **options)
        arguments = ["--module", words[0], *(["--dim", words[1]] if words[1:] else [])]
        assert part.to_json() == program("compare", CLIP, "--with", "thop,flop-counter-mode", *arguments, "--format", "json")
    with pytest.raises(onnxflops.NotFoundError, match="no_such"):
        m.compare(["thop"], module="no_such")
    with pytest.raises(ValueError, match="quantity='no_such': it should be work or activations"):
        m.compare(quantity="no_such")
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
    with pytest.raises(onnxflops.InvalidError, match=r"'ceil' is no function of a formula: floor, min, max and broadcast are, and \(a \+"):
        onnxflops.parse_expr("3*ceil(seq/2)")
    assert onnxflops.parse_expr("3*batch^2") == onnxflops.parse_expr("batch") ** 2 * 3
    assert (-flops).evaluate(batch=1, seq=1) == -flops.evaluate(batch=1, seq=1)
    with pytest.raises(onnxflops.UnavailableError, match="seq"):
        flops.evaluate(batch=1)
    with pytest.raises(onnxflops.UnavailableError, match="depends on the sizes"):
        flops < 10**12  # noqa: B015
    with pytest.raises(onnxflops.InvalidError, match="no size 'bath'; did you mean batch"):
        flops.evaluate(batch=1, seq=1, bath=2)
    for kind in (int, float):
        with pytest.raises(onnxflops.UnavailableError, match="batch, seq: evaluate"):
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
    assert "396.6 G" in html and "batch = 1" in html and "resblocks.0-23" in html
    # Of open sizes, figures are shown at those that the program assumes, and the formula.
    html = onnxflops.load(ROOT / "models/gpt2.onnx").count()._repr_html_()
    assert "32.32 G" in html and "seq = 128 (assumed" in html and "37,872*batch*seq^2" in html and ">69.4<" in html


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
    assert r.lower_bound and "&gt;= 459.5 k" in r._repr_html_() and ">= 459520" in repr(r)
    assert r.figures["flops"].status == "at_least" and r.figures["flops"].value == 459520
    assert r.figures["params"].status == "exact" and str(r.figures["flops"]) == ">= 459520"
    by_op = {row["op"]: row for row in r.rows("op")}
    assert by_op["FusedMlp"]["flops"] is None and by_op["FusedMlp"]["lower_bound"]
    assert by_op["LayerNormalization"]["flops"] == 459520 and not by_op["LayerNormalization"]["lower_bound"]
    assert "params" not in by_op["FusedMlp"] and "params" not in r.rows("node")[0] and r.rows()[0]["params"] == r.params
    comparison = onnxflops.load(CLIP).compare(["thop", "xla"])
    assert comparison.standings == {"thop": "exact", "xla": "assumed"} and set(comparison.headlines) == {"thop", "xla"}


def test_names_in_html_are_data():
    from onnxflops._html import _list, _table, _waterfall

    bad = "<script>alert(1)</script>"
    columns = [(bad, False, False), ("%", True, False)]
    for html in (_table(bad, columns, [([bad, "5.0"], 0, False, False)], [bad]), _list(bad, [bad], True), _waterfall(bad, [(bad, bad, 1, True)], [bad])):
        assert "<script>" not in html and "&lt;script&gt;" in html


def test_images_of_another_size(program):
    """As the program counts them; convolutions grow with the pixels."""
    resnet = ROOT / "models/resnet50.onnx"
    m = onnxflops.load(resnet)
    assert m.count(at_image=448).to_json() == program("count", resnet, "--at-image", "448", "--format", "json")
    last = 2048 * 1000  # the layer after the pooling
    assert m.count(at_image=448).macs - last == 4 * (m.count().macs - last)
    with pytest.raises(onnxflops.InvalidError, match="at_image='x'"):
        m.count(at_image="x")


def test_another_batch(program):
    """A number, or a name, which makes formulas; weights stay."""
    m = onnxflops.load(ROOT / "models/resnet50.onnx")
    assert m.count(at_batch=8).to_json() == program("count", ROOT / "models/resnet50.onnx", "--at-batch", "8", "--format", "json")
    assert m.count(at_batch=64).flops == 64 * m.count().flops and m.count(at_batch=64).params == m.count().params
    assert m.count(at_batch="samples").at(samples=3).flops == 3 * m.count().flops
    with pytest.raises(onnxflops.InvalidError, match="at_batch='8x'"):
        m.count(at_batch="8x")


def test_screen(program):
    m = onnxflops.load(CLIP)
    shown = program("count", CLIP, "--dim", "batch=1")
    assert ": --depth N opens them; costliest: --top 10)" in shown
    assert str(m.count(batch=1)) == shown.replace(": --depth N opens them; costliest: --top 10", "")
    assert repr(m.compare(["thop"])) == program("compare", CLIP, "--with", "thop").replace("--dim", "dim={...}")
    assert repr(m.count().at(batch=64)) == "<onnxflops.Totals: FLOPs 25380683074432>"
    assert repr(m.count()) == f"<onnxflops.Report of {CLIP}: FLOPs 396573173038*batch>"


def test_objects_do_not_change(gpt2):
    r = gpt2.count()
    for what in (gpt2, r, r.modules, r.at(batch=1), r.modules[""], r.flops):
        with pytest.raises((AttributeError, TypeError)):
            what.flops = 1


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


def test_lists_are_arrays_as_well(gpt2):
    """Arrays and tensors were an error that named no argument."""
    for given in (
        {"lengths": [512, 300, 17]},
        {"lengths": {"seq": [512, 300, 17]}},
        {"cu_seqlens": [0, 512, 812, 829]},
    ):
        (name, values), counted = *given.items(), gpt2.count(**given)
        mfu = onnxflops.mfu(gpt2, **given, step_time=0.1, peak=1e15)
        for kind in (Tensor, lambda x: array.array("i", x), lambda x: [Tensor(n) for n in x]):
            same = {name: {key: kind(x) for key, x in values.items()} if isinstance(values, dict) else kind(values)}
            assert gpt2.count(**same).flops == counted.flops
            assert onnxflops.mfu(gpt2, **same, step_time=0.1, peak=1e15).mfu == mfu.mfu
    qwen = onnxflops.load(ROOT / "tests/data/config/qwen2-5-vl")
    grids = [[1, 32, 48], [1, 20, 24]]
    for given in (Tensor(grids), [Tensor(grid) for grid in grids]):
        assert qwen.count(lengths=Tensor([100, 40]), grid_thw=given).flops == qwen.count(lengths=[100, 40], grid_thw=grids).flops
    whisper, texts = onnxflops.load(ROOT / "tests/data/config/whisper"), [10, 20, 30, 40]
    for audio in ([12.5, 30.0, 47.0], [1250, 3000, 4700]):
        assert whisper.count(lengths=texts, audio=Tensor(audio)).flops == whisper.count(lengths=texts, audio=audio).flops
    for name in ("lengths", "cu_seqlens"):
        with pytest.raises(onnxflops.InvalidError, match=name):
            gpt2.count(**{name: Tensor([0.0, 5.5])})
    with pytest.raises(TypeError, match="one image for each sample: Perf.step"):
        gpt2.count(lengths=[40], grid_thw=Tensor([[[1, 8, 12], [3, 4, 2]]]))

    class OnNoDevice(Tensor):
        def tolist(self):
            raise NotImplementedError("a tensor without data")

    with pytest.raises(TypeError, match="count\\(\\): 'lengths' cannot be read: .*a tensor without data"):
        gpt2.count(lengths=OnNoDevice([5]))


def test_sum_over():
    formula = onnxflops.parse_expr("3*batch*seq^2 + seq + 5*batch*other")
    assert formula.sum_over("batch", seq=[2, 4]) == onnxflops.parse_expr("10*other") + 3 * (4 + 16) + 4
    with pytest.raises(onnxflops.InvalidError, match="one size of every list"):
        formula.sum_over("batch", seq=[2, 4], other=[1])


def test_views_of_a_notebook():
    """Each result has its own view, made of the parts of its screen, with a link to the program's page."""
    m = onnxflops.load(CLIP)
    other = ROOT / "models/openclip224-vit-l-14-336.onnx"
    results = [
        m.compare(["thop"]), onnxflops.diff(CLIP, other, batch=1), onnxflops.check(m, max="macs=198 GMAC", batch=1),
        onnxflops.mfu(m, batch=8, step_time=0.41, peak=1e15), m.sweep(batch=[1, 8]),
    ]  # fmt: skip
    for result in results:
        html = result._repr_html_()
        assert html.startswith("<style>") and "data:text/html;base64," in html
        assert html.count("<div") == html.count("</div>") and html.count("<details") == html.count("</details>")
    assert "135,937,916,928" in results[0]._repr_html_() and "198 GMAC" in results[2]._repr_html_()


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.name)
def test_pickle_and_copy(path):
    model = onnxflops.load(path)
    report = model.count()
    for what in (model, report, report.flops, report.bytes_read, report.figures["flops"], list(report.modules)[-1]):
        again = pickle.loads(pickle.dumps(what))
        assert again == what and hash(again) == hash(what)
        if not isinstance(what, int):
            assert copy.copy(what) is what and copy.deepcopy(what) is what
    assert pickle.loads(pickle.dumps(report)).to_json() == report.to_json()


def test_results_are_values(gpt2):
    report, same = gpt2.count(), gpt2.count(dim={})
    module = list(report.modules)[3]
    assert report.figures["flops"] == same.figures["flops"] != report.figures["macs"] and report.figures == same.figures
    assert module == same.modules[module.path] != report.modules[""] and module in set(same.modules)
    assert module != gpt2.count(batch=2).modules[module.path]
    assert report.at(batch=2, seq=8) == gpt2.count(batch=2).at(seq=8) != report.at(batch=2, seq=9)
    assert hash(report.at(batch=2, seq=8)) == hash(same.at(batch=2, seq=8)) and copy.copy(report.at(batch=2, seq=8)) == report.at(batch=2, seq=8)
    results = (gpt2, report, module, report.flops, report.figures["flops"], report.at(batch=2, seq=8))
    assert not any(what == other for what in results for other in (None, "x", 5)) and None not in report.modules
    with pytest.raises(TypeError, match="unsupported operand"):
        report.flops + None


def test_a_figure_that_is_none_suggests_another(gpt2):
    with pytest.raises(KeyError, match="no figure 'flop'; did you mean flops?"):
        gpt2.count().figures["flop"]
    assert gpt2.count().figures.get("flop") is None


def test_screens_of_parts_have_that_part_alone(gpt2):
    fit = gpt2.count(seq=8).fit("80GiB")
    assert f"  inference               {fit.inference:,}  exact" in str(fit).splitlines()
    memory = gpt2.count(batch=1, seq=8, memory=True).memory
    for text in (str(memory), memory._repr_html_()):
        assert "training step" in text and "c_fc" not in text and "FLOPs" not in text


def test_pickle_of_other_sources(gpt2, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes((ROOT / "models/lstm.onnx").read_bytes())
    model = onnxflops.load(path)
    kept = pickle.dumps(model)
    path.write_bytes(path.read_bytes() + b"")
    os.utime(path, ns=(1, 1))
    with pytest.raises(onnxflops.UnavailableError, match="changed since load"):
        pickle.dumps(model)
    path.unlink()
    assert pickle.loads(pickle.dumps(pickle.loads(kept))) == model
    config = onnxflops.load(ROOT / "tests/data/config/gpt2/config.json")
    data = onnxflops.load((ROOT / "models/lstm.onnx").read_bytes())
    for source in (config, data):
        assert pickle.loads(pickle.dumps(source)) == source
    report = gpt2.count(batch=2, backward="exact", frozen=["m.transformer.wte*"], input={"input_ids": ("batch", 16)})
    again = pickle.loads(pickle.dumps(report))
    assert again == report and again.training_flops == report.training_flops and again.at(batch=3).macs == report.at(batch=3).macs
    assert gpt2 != data and gpt2.count() != gpt2.count(batch=2) and gpt2 != 1 and report != 1


def test_division():
    e = onnxflops.parse_expr
    n, b = e("n"), e("b")
    assert (6 * n * b) / (2 * b) == 3 * n and (4 * n) / 2 == 2 * n and (n * b) / n == b
    for formula, other, sizes in [(7 * n + 3, 2, [0, 1, 5, 9]), (n, 5, [0, 4, 5, 99]), (3 * n, -2, [1, 2, 7])]:
        for size in sizes:
            value = formula.evaluate(n=size)
            quotient, rest = formula // other, formula % other
            at = lambda x, size=size: x if isinstance(x, int) else x.evaluate(n=size)  # noqa: E731
            assert at(quotient) == value // other and at(rest) == value % other
    assert (17 // (n + 1)).evaluate(n=3) == 4 and (17 % (n + 1)).evaluate(n=3) == 1
    with pytest.raises(onnxflops.InvalidError, match="not a whole number at all sizes"):
        n / 2
    with pytest.raises(onnxflops.InvalidError, match="not a whole number at all sizes"):
        1 / n
    for divide in (lambda: n / 0, lambda: n // 0, lambda: n % 0):
        with pytest.raises(ZeroDivisionError):
            divide()


def test_format(gpt2):
    flops = gpt2.count().flops
    assert f"{flops}" == str(flops) and f"{flops:,}" == "37,872*batch*seq^2 + 247,614,102*batch*seq"
    assert f"{flops:_d}" == "37_872*batch*seq^2 + 247_614_102*batch*seq"
    n = onnxflops.parse_expr("12345*n1000 + 6")
    assert f"{n:>20,}" == "    12,345*n1000 + 6" and f"{n:<20}|" == "12345*n1000 + 6     |" and f"{n:18}" == f"{n:>18}"
    for spec in (".3g", "x", "010", "e"):
        with pytest.raises(ValueError, match="of a formula"):
            format(n, "=" + spec if spec == "010" else spec)


def test_sympy(gpt2):
    sympy = pytest.importorskip("sympy", reason="sympy is not installed: tools/test --python-all has it")
    for text in ("3*n^2 + 2*m - 7", "floor((n + 3)/2)*m", "min(n, m) + max(n, 3)", "broadcast(n, m)", "'past + 1'*n"):
        expr = onnxflops.parse_expr(text)
        there = expr.to_sympy()
        names = {str(symbol): symbol for symbol in there.free_symbols}
        for n, m in ((1, 5), (4, 4), (5, 1)):
            sizes = {name: {"n": n, "m": m}.get(name, 9) for name in expr.symbols}
            if text.startswith("broadcast") and n != m and 1 not in (n, m):
                continue
            assert there.subs({names[k]: v for k, v in sizes.items()}) == sympy.Integer(expr.evaluate(**sizes))
    assert len(gpt2.count().flops.to_sympy().free_symbols) == 2


def test_facts(gpt2):
    """What a report tells of the model, and how far its figures are known."""
    report = gpt2.count()
    assert (report.opset, report.nodes, report.standing) == (17, len(report.rows("node")), "exact")
    assert gpt2.count(convention="thop").standing == gpt2.compare("thop").standings["thop"] == "assumed"
    partial = onnxflops.load(ROOT / "models/custom-op.onnx").count()
    assert partial.standing == partial.figures["flops"].status == "at_least"


def test_signatures(gpt2):
    """Of all that is public: arguments by name, with a line of help for each option."""
    for function in (gpt2.count, gpt2.sweep, gpt2.compare, onnxflops.diff, onnxflops.check, onnxflops.mfu, onnxflops.profile, onnxflops.estimate, onnxflops.audit, onnxflops.pipeline):
        parameters = inspect.signature(function).parameters
        options = [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY]
        assert len(options) > 5 and "options" not in parameters
        for option in options:
            assert f"\n  {option}: " in function.__doc__, option
    signature = inspect.signature(gpt2.count)
    assert signature.parameters["backward"].default is None and "exact" in signature.parameters["backward"].annotation
    assert list(inspect.signature(gpt2.count().flops.evaluate).parameters) == ["sizes"]
    assert list(inspect.signature(onnxflops.load).parameters) == ["source", "name", "storage_options"]
    gpt2.count(**{p.name: p.default for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY}).to_json()


def test_misspelt_arguments(gpt2):
    """An argument that cannot be a size is no size."""
    with pytest.raises(TypeError, match="'memry' is no argument; did you mean memory"):
        gpt2.count(memry=True)
    with pytest.raises(onnxflops.InvalidError, match="no symbol is named 'sq'; symbols: batch, seq"):
        gpt2.count(batch=1, seq=8).at(sq=3)


def test_sweep(gpt2, program):
    sweep = gpt2.sweep(batch=[1, 8], seq="128..512*2")
    assert [sizes for sizes, _ in sweep.points][:2] == [{"batch": 1, "seq": 128}, {"batch": 1, "seq": 256}] and len(sweep.points) == 6
    for sizes, totals in sweep.points:
        assert totals.flops == gpt2.count(**sizes).flops
    words = ["--dim", "batch=1,8", "--dim", "seq=128..512*2", "--format", "json"]
    assert sweep.to_json() == program("count", gpt2.path, *words)
    with pytest.raises(onnxflops.InvalidError, match="several values"):
        gpt2.sweep(batch=1)


def test_memory_and_fit(gpt2):
    r = gpt2.count(batch=1, seq=128)
    memory = gpt2.count(batch=1, seq=128, memory=True).to_dict()["memory"]
    assert r.memory.to_dict() == memory and r.memory.inference_peak_bytes > 0
    assert r.memory.status["param_bytes"] == "exact" and r.memory.param_bytes == r.param_bytes
    fit = gpt2.count(seq=128).fit("8GiB")
    assert fit.symbol == "batch" and fit.bytes == 8 * 2**30 and fit.inference > fit.training > 0
    assert gpt2.count(batch=1).fit(2**33, "seq").symbol == "seq"


def test_serving(program):
    config = ROOT / "tests/data/config/gpt2/config.json"
    serving = onnxflops.load(config).count(batch=1).serving(prefill=512, decode="1@512")
    assert serving.to_json() == program("count", config, "--dim", "batch=1", "--prefill", "512", "--decode", "1@512", "--format", "json")
    for name in ("requests", "experts"):
        assert f"{name}: Always refused: Report.serving({name}=...) counts the step of a server" in onnxflops.Model.count.__doc__
        with pytest.raises(onnxflops.UnsupportedError, match=r"Report\.serving\(\) counts the step of a server"):
            onnxflops.load(config).count(**{name: "2"})


def test_a_table_has_plain_columns():
    """What is a dict in a row is columns of their own in a table."""
    pytest.importorskip("pandas", reason="pandas is not installed: tools/test --python-all has it")
    report = onnxflops.load(ROOT / "tests/data/config/gpt2").count(batch=1, device="h100-sxm", dtype="bf16")
    serving = report.serving(prefill=512, decode="1@512")
    table = serving.to_pandas()
    assert list(table["time_seconds"]) == [row["time"]["seconds"] for row in serving.rows()]
    assert table["bindings_past"][1] == 512 and not {"time", "bindings"} & set(table)


def test_the_step_of_a_server(program):
    data = ROOT / "tests/data"
    words = ["--device", "h100-sxm", "--dtype", "bf16", "--memory", "--format", "json"]
    expected = program("count", data / "config/gpt2", "--requests", data / "step.csv", *words)
    report = onnxflops.load(data / "config/gpt2").count(device="h100-sxm", dtype="bf16", memory=True)
    rows = [{"prompt": 512}, {"prompt": 700, "cached": 384, "chunk": 128}, {"prompt": 300, "generated": 1}, {"prompt": 400, "cached": None, "generated": 401}]
    for requests in (data / "step.csv", str(data / "step.csv"), rows, tuple(rows), iter(rows)):
        assert report.serving(requests=requests).to_json() == expected
    # 64 of 12 layers of keys and values of 768 float32 elements are cached, and 3 new ones.
    small = report.serving(requests=[{"prompt": 64, "generated": 1}, {"prompt": 2}]).steps["step"]
    assert small["cache_bytes"] == (65 + 2) * 12 * 2 * 768 * 4 and small["tokens"] == 3


@pytest.mark.parametrize(("model", "file"), [("qwen2-5-vl", "step_images.csv"), ("whisper", "step_audio.jsonl")])
def test_images_and_audio_of_requests(model, file):
    report = onnxflops.load(ROOT / "tests/data/config" / model).count()
    rows = {
        "qwen2-5-vl": [{"prompt": 900, "grid_thw": [(1, 32, 48), (1, 20, 24)]}, {"prompt": 1500, "cached": 1024, "chunk": 256, "grid_thw": Tensor([[1, 32, 46]])}, {"prompt": 300, "generated": 40, "grid_thw": []}],
        "whisper": [{"prompt": 4, "audio": 12.5}, {"prompt": 4, "audio": ["30.0s"]}, {"prompt": 4, "generated": 9, "audio": None}],
    }
    by_file = report.serving(requests=ROOT / "tests/data" / file)
    assert report.serving(requests=rows[model]).to_json() == by_file.to_json()
    images = onnxflops.load(ROOT / "tests/data/config/qwen2-5-vl").count()
    pixels = images.serving(requests=[{"prompt": 900, "images": [(448, 672), "280x336"]}])
    assert pixels.to_json() == images.serving(requests=[{"prompt": 900, "grid_thw": [[1, 32, 48], [1, 20, 24]]}]).to_json()


def test_experts_of_a_step():
    config = b"""{"model_type": "mixtral", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 320, "torch_dtype": "float32"}"""
    report = onnxflops.load(config).count()
    rows = [{"prompt": 5, "generated": 1}, {"prompt": 9, "generated": 2}]
    read = [report.serving(requests=rows, experts=experts).to_dict()["steps"][0]["weights_read_bytes"]["value"] for experts in (2, 3, [3, 2])]
    assert read[1] - read[0] == 2 * 4 * 3 * 64 * 128 and read[2] - read[0] == 4 * 3 * 64 * 128


def test_bad_requests(tmp_path):
    report = onnxflops.load(ROOT / "tests/data/config/gpt2").count()
    for rows, error in (
        ([], "requests: there are no requests"),
        ([{"prompt": 4}, {"cached": 4}], "requests: request 2: a request has no prompt"),
        ([{"prompt": 4.0}], r"requests: request 1: prompt = '4\.0': it should be a whole number"),
        ([{"prompt": True}], "request 1: prompt = 'true'"),
        ([{"promt": 4}], "request 1: there is no column 'promt'"),
        ([{"prompt": 4}, {"prompt": 1000, "generated": 60}], "requests: request 2: 1 token after 1059: the configuration has positions for at most 1024"),
    ):
        with pytest.raises(ValueError, match=error):
            report.serving(requests=rows)
    (tmp_path / "step.csv").write_text("prompt\n8\n-1\n")
    with pytest.raises(ValueError, match=r"requests='.*step\.csv': line 3: prompt = '-1'"):
        report.serving(requests=tmp_path / "step.csv")
    with pytest.raises(ValueError, match=r"requests='.*step_long\.csv': line 3: 1 token after 1059"):
        report.serving(requests=ROOT / "tests/data/step_long.csv")
    with pytest.raises(FileNotFoundError, match="none.csv"):
        report.serving(requests="none.csv")
    with pytest.raises(ValueError, match="experts"):
        report.serving(requests=[{"prompt": 4}], experts=2)
    with pytest.raises(ValueError, match="says what is served"):
        report.serving()
    for rows in ({"prompt": 4}, 5):
        with pytest.raises(TypeError, match="a path, or a list with a dict for each request"):
            report.serving(requests=rows)
    with pytest.raises(TypeError, match="request 1 of 'requests' should be a dict"):
        report.serving(requests=[4])
    with pytest.raises(TypeError, match="request 2 of 'requests' cannot be object"):
        report.serving(requests=[{"prompt": 4}, {"prompt": object()}])


def test_profile(program):
    model, profile, optimized = (ROOT / f"tests/data/profile/control.{end}" for end in ("onnx", "profile.json", "optimized.onnx"))
    words = [model, profile, "--optimized", optimized, "--warmup", "0", "--format", "json"]
    joined = onnxflops.profile(onnxflops.load(model), profile, optimized=optimized, warmup=0)
    assert joined.to_json() == program("profile", *words)
    assert joined.to_json() != onnxflops.profile(model, profile, warmup=0).to_json()
    with pytest.raises(FileNotFoundError, match="none.json"):
        onnxflops.profile(model, "none.json")


def test_units(gpt2):
    """Of figures: those in which a budget is written."""
    figures = gpt2.count(batch=1, seq=8).figures
    assert {name: figures[name].unit for name in ("flops", "macs", "param_bytes")} == {"flops": "FLOP", "macs": "MAC", "param_bytes": "B"}
    for name in ("flops", "macs", "param_bytes"):
        assert onnxflops.check(gpt2, max=f"{name}=1 P{figures[name].unit}", batch=1, seq=8).passed


def test_estimate_audit_devices_ops(program, tmp_path):
    config = ROOT / "tests/data/config/gpt2/config.json"
    words = ["estimate", config, "--dim", "batch=2,seq=64", "--format", "json"]
    assert onnxflops.estimate(config, batch=2, seq=64).to_json() == program(*words)
    table = tmp_path / "zoo.csv"
    table.write_text(f"name,model,figure\nCLIP,{CLIP},197.6 GMACs\nnone,no.onnx,1 GMACs\n")
    audit = onnxflops.audit(table)
    published = json.loads(program("audit", table, "--dim", "batch=1", "--format", "json", code=None))
    assert onnxflops.audit(table, dim={"batch": 1}).to_dict() == published and published["rows"][0]["figure"] > 10**11
    assert len(audit.errors) == 2 and "no such file" in audit.errors[1]
    with pytest.raises(onnxflops.InvalidError, match="^unit='x': it should be a unit of figures"):
        onnxflops.audit(table, unit="x")
    assert onnxflops.devices() == json.loads(program("devices", "--format", "json"))["devices"]
    assert [d["name"] for d in onnxflops.devices("h100-sxm")] == ["h100-sxm"]
    assert onnxflops.ops() == json.loads(program("ops", "--format", "json"))["operators"]
    assert {op["op"] for op in onnxflops.ops("Conv")} == {"Conv"}
    with pytest.raises(onnxflops.NotFoundError):
        onnxflops.ops("Cnov")


def test_history(program):
    file = ROOT / "tests/history/history.jsonl"
    shown = json.loads(program("history", file, "--model", "image.onnx", "--quantity", "flops", "--format", "json"))
    history = onnxflops.history(file, model="image.onnx", quantity=["flops"])
    assert history.to_dict() == shown and len(history.rows()) == len(shown["changes"]) == 2
    first = history.rows()[0]
    assert (first["model"], first["quantity"], first["before"], first["after"], first["status"]) == ("image.onnx", "flops", 8206520296, 35242321366, "exact")
    assert "<html" in history.to_html() and "image.onnx" in str(history)
    with pytest.raises(onnxflops.NotFoundError, match="no model matches"):
        onnxflops.history(file, model="none")
    with pytest.raises(onnxflops.InvalidError, match="quantity"):
        onnxflops.history(file, quantity="flop")


def test_pipeline(program):
    """It is the program's, and its figures are those of the JSON."""
    folder, file = ROOT / "tests/data/pipeline/sd-tiny", ROOT / "tests/data/pipeline/gpt2.toml"
    assert onnxflops.pipeline(folder, steps=25).to_json() == program("pipeline", folder, "--dim", "steps=25", "--format", "json")
    assert onnxflops.pipeline(folder, steps=25).to_html() == program("pipeline", folder, "--dim", "steps=25", "--format", "html")
    answer = onnxflops.pipeline(str(file), tokens=100, device="h100-sxm", dtype="bf16")
    shown = json.loads(program("pipeline", file, "--dim", "tokens=100", "--device", "h100-sxm", "--dtype", "bf16", "--format", "json"))
    assert answer.to_dict() == shown and not answer.lower_bound and "tokens per second" in str(answer)
    assert answer.figures == {name: amount["value"] for name, amount in shown["totals"].items() if name != "lower_bound"}
    assert answer.formulas["flops"].evaluate(answers=1, prompt=512, tokens=100) == answer.figures["flops"]
    assert sum(figures["flops"] for figures in answer.stages.values()) == answer.figures["flops"]
    assert [(row["name"], row["runs"], row["flops"]) for row in answer.rows()] == [
        (name, runs, answer.stages[name]["flops"]) for name, runs in (("prompt", 1), ("tokens", 99))]
    assert sum(row["seconds"] for row in answer.rows()) == pytest.approx(shown["time"]["seconds"])
    assert answer.memory_bytes == shown["memory_bytes"]["value"]
    with pytest.raises(onnxflops.NotFoundError, match="token"):
        onnxflops.pipeline(file, tokens_of=3)
    with pytest.raises(FileNotFoundError, match="none.toml"):
        onnxflops.pipeline("none.toml")


def test_reviews_of_pipelines(tmp_path):
    """By hand: a guided image of n steps runs the denoiser n times."""
    folder, beams = ROOT / "tests/data/pipeline/sd-tiny", ROOT / "tests/data/pipeline/gpt2-beams.toml"
    flops = onnxflops.pipeline(folder, steps=25).figures["flops"]
    assert onnxflops.check(folder, max={"flops": f"{flops} FLOP"}, steps=25)
    assert not onnxflops.check(str(folder), max={"flops": f"{flops - 1} FLOP"}, steps=25)
    changed = onnxflops.diff(folder, folder, steps=25)
    assert "nothing changed" in str(changed) or "no change" in str(changed)
    assert onnxflops.check(beams, max={"flops": "+1 %"}, against=beams)
    with pytest.raises(onnxflops.InvalidError, match="the other side is none"):
        onnxflops.diff(CLIP, beams)


def test_explain_says_what_was_meant(gpt2):
    with pytest.raises(onnxflops.NotFoundError, match="similar: "):
        gpt2.explain("MatMul")


def test_explain_a_module(program):
    m = onnxflops.load(CLIP)
    part = m.explain("visual.conv1", batch=1)
    assert part.to_json() == program("explain", CLIP, "visual.conv1", "--dim", "batch=1", "--format", "json")
    assert str(part) == program("explain", CLIP, "visual.conv1", "--dim", "batch=1")
    assert (part.node, part.op, part.macs) == ("visual.conv1", "", 24 * 24 * 1024 * 3 * 14 * 14)
    node = m.explain("node_Conv_2481", batch=1)
    assert [(term["kind"], term["amount"]) for term in node.terms] == [("mac", part.macs)] and part.terms == []
    for one in (part, node):
        assert "346,816,512" in one._repr_html_().replace(str(part.macs), "346,816,512") or "346.8 M" in one._repr_html_()


CUSTOM = ROOT / "models/custom-op.onnx"


def test_what_is_not_counted_is_a_warning(program):
    report = onnxflops.load(CUSTOM).count(batch=1, seq=16)
    told = "3 nodes are not counted (com.example.FusedMlp, Add, com.example.MergeTokens): figures are lower bounds"
    assert report.warnings == [told] and report.lower_bound
    shown = program("count", CUSTOM, "--dim", "batch=1,seq=16")
    assert shown.count("lower bounds") == str(report).count("lower bounds") == 2, "in the head, and above the list"
    assert onnxflops.load(CLIP).count().warnings == []


RESNET = ROOT / "models/resnet50.onnx"


def test_unknown_is_none_in_rows():
    """Never 0: of a model, its modules and its operators, in whatever has rows."""
    diff = onnxflops.diff(CUSTOM, RESNET, batch=1, seq=16)
    rows = {row["path"]: row for row in diff.rows()}
    assert rows["mlp"]["flops_base"] is rows["mlp"]["macs_base"] is rows["mlp"]["flops_delta"] is None and rows["mlp"]["flops_head"] == 0
    assert rows[""]["macs_base"] is rows[""]["macs_delta"] is rows[""]["flops_delta"] is None and rows[""]["macs_head"] == 4089184256
    assert next(row for row in diff.rows("op") if row["op"] == "Add")["flops_base"] is None
    opened = {row["path"]: row for row in onnxflops.diff(RESNET, CUSTOM).rows()}
    assert opened[""]["macs_head"] is opened[""]["macs_delta"] is None
    [first, _] = onnxflops.load(CUSTOM).sweep(batch=1, seq=[8, 16]).rows()
    assert first["macs"] is first["int_ops"] is None and first["flops"] == 28720


def test_times_of_open_sizes_are_none_in_rows(gpt2):
    rows = gpt2.sweep(seq=[1, 64], device="t4", dtype="fp16").rows()
    assert [row["time_bound_seconds"] for row in rows] == [None, None] and str(rows[0]["macs"]) == "123550464*batch"


def test_diff_and_check_of_reports(tmp_path, program):
    """A side is a model, a report, or the JSON of one, as text, as bytes or in a file."""
    m = onnxflops.load(RESNET)
    base, head = m.count(at_image=224), m.count(at_image=336)
    change = head.macs - base.macs
    for size, report in ((224, base), (336, head)):
        (tmp_path / f"{size}.json").write_text(report.to_json())
    for one, other in ((base, head), (base.to_json(), head.to_json().encode()), (tmp_path / "224.json", str(tmp_path / "336.json")), (m, head)):
        diff = onnxflops.diff(one, other)
        assert diff.delta("macs") == change and not diff.is_empty
    assert onnxflops.diff(m, m).delta("peak_activation_bytes") == 0
    one, two = m.count(memory=True), m.count(memory=True, at_batch=2)
    assert onnxflops.diff(one, two).delta("peak_activation_bytes") == two.memory.inference_peak_bytes - one.memory.inference_peak_bytes > 0
    with pytest.raises(onnxflops.InvalidError, match="one of the reports has no peak_activation_bytes: give diff\\(\\) models, or reports"):
        onnxflops.diff(base, head).delta("peak_activation_bytes")
    same = onnxflops.diff(base, head)
    assert same.to_json() == program("diff", tmp_path / "224.json", tmp_path / "336.json", "--format", "json")
    titles = [line for line in str(same).splitlines() if line.startswith(("base", "head"))]
    assert "input float32[1, 3, 224, 224]" in titles[0] and "input float32[1, 3, 336, 336]" in titles[1]
    with pytest.raises(onnxflops.InvalidError, match="at_image= is of a count"):
        onnxflops.diff(base, head, at_image=224)
    limit = {"macs": 5e9}
    assert onnxflops.check(base, max=limit) and not onnxflops.check(head, max=limit)
    assert not onnxflops.check(head.to_json(), max=limit)
    for against in (m, base, base.to_json().encode(), base.to_dict(), tmp_path / "224.json", RESNET):
        check = onnxflops.check(base, against=against, max="macs=+1%")
        assert check.passed and check.rows()[0]["growth_percent"] == 0
    with pytest.raises(onnxflops.InvalidError, match="at_image= is of a count"):
        onnxflops.check(base, max=limit, at_image=224)


def test_positions_that_figures_rest_on():
    """A count at another size of images says which constants it takes as in a model of that size; so do a diff and a check of it."""
    m = onnxflops.load(CLIP)
    report = m.count(at_image=224)
    [text] = report.to_dict()["model"]["positions"]
    assert "is taken as [257, 1024] instead of [577, 1024]" in text and text in report.warnings
    for base in (report, report.to_json()):
        diff = onnxflops.diff(base, m)
        assert diff.to_dict()["base"]["positions"] == [text] and "positions" not in diff.to_dict()["head"]
        assert "at another size of images: in the base" in str(diff)
    check = onnxflops.check(m, max={"macs": "1T"}, at_image=224)
    assert check.to_dict()["model"]["positions"] == [text] and "instead of [577, 1024]" in str(check)


def test_rows_of_results(gpt2):
    """Numbers of the documents as ints and formulas."""
    report = onnxflops.load(RESNET).count()
    comparison = onnxflops.load(RESNET).compare(["thop"])
    assert report.macs + sum(term["amount"] for term in comparison.rows()) == comparison.headlines["thop"]
    assert {term["tool"] for term in comparison.rows()} == {"thop"}
    mfu = onnxflops.mfu(report, step_time=0.1, device="h100-sxm", dtype="bf16")
    assert {row["name"]: row["mfu"] for row in mfu.rows()}["2x"] == pytest.approx(mfu.mfu)
    assert not [row for row in mfu.rows() if "--" in str(row)]
    check = onnxflops.check(report, max="macs=1 GMAC")
    assert [(row["limit_value"], row["actual_value"], row["passed"]) for row in check.rows()] == [(10**9, report.macs, False)]
    other = onnxflops.load(ROOT / "models/llama-tiny.onnx")  # whose sizes are open, too
    diff = onnxflops.diff(gpt2, other)
    rows = {row["path"]: row for row in diff.rows()}
    assert rows[""]["flops_delta"] == diff.delta() and isinstance(rows[""]["flops_base"], onnxflops.Expr)
    assert sum(row["macs_delta"] for row in diff.rows("op")) == diff.delta("macs")
    nodes = onnxflops.diff(gpt2.count(by="node"), other.count(by="node")).rows("node")
    assert sum(row["macs_delta"] for row in nodes) == diff.delta("macs")
    with pytest.raises(onnxflops.InvalidError, match="count\\(by='node'\\)"):
        diff.rows("node")
    with pytest.raises(onnxflops.InvalidError, match="it should be module or op or node"):
        diff.rows("modul")
    sweep = gpt2.sweep(batch=[1, 8], seq=16)
    assert list(sweep.rows()[0])[:4] == ["model", "seq", "batch", "flops"]
    assert {(row["model"], row["seq"]) for row in sweep.rows()} == {(gpt2.path, 16)}
    assert [(row["batch"], row["flops"]) for row in sweep.rows()] == [(at["batch"], totals.flops) for at, totals in sweep.points]
    folder = ROOT / "tests/data/profile"
    profile = onnxflops.profile(folder / "control.onnx", folder / "control.profile.json", warmup=1)
    kernels, modules = profile.rows(), profile.rows("module")
    assert sum(row["flops"] for row in kernels) == modules[0]["flops"] == 101632


def test_count_names_the_method_for_a_step_of_a_server(gpt2):
    for option in ({"experts": 4}, {"requests": "step.csv"}, {"requests": [{"prompt": 5}]}):
        with pytest.raises(onnxflops.UnsupportedError, match=r"Report.serving\(\) counts the step"):
            gpt2.count(batch=1, seq=4, **option)
    with pytest.raises(TypeError, match=r"an argument of Report.serving\(\)"):
        gpt2.count(batch=1, seq=4, prefill=8)


def test_one_image_for_each_sample(gpt2):
    """Several were read as images of other samples."""
    for grids in ([[[1, 8, 12], [3, 4, 2]], []], [[1, 8, 12], []]):
        with pytest.raises(TypeError, match="one image for each sample: Perf.step"):
            gpt2.count(lengths=[40, 7], grid_thw=grids)


def test_loss_asks_for_memory(gpt2):
    with_loss = gpt2.count(seq=512, loss="cross_entropy")
    assert with_loss.fit("80GB").training < gpt2.count(seq=512).fit("80GB").training
    options = {"seq": 512, "batch": 1, "loss": "cross_entropy"}
    assert gpt2.count(**options).memory.training_bytes == gpt2.count(memory=True, **options).memory.training_bytes


def test_a_float_is_no_part_of_a_formula(gpt2):
    flops = gpt2.count().flops
    for call in (
        lambda: flops / 1e9, lambda: 1e9 / flops, lambda: flops * 2.0, lambda: 2.0 + flops, lambda: flops // 2.0, lambda: flops % 2.0,
        lambda: flops**0.5, lambda: flops < 1e9, lambda: flops - 1.0,
    ):  # fmt: skip
        with pytest.raises(TypeError, match="a float: a formula is exact.* evaluate"):
            call()
    assert flops != 1e9


def test_documents_of_parts():
    """They are parts of the report's own, and a notebook shows them."""
    gpt2 = onnxflops.load(ROOT / "models/gpt2.onnx")
    report = gpt2.count(seq=8)
    whole = json.loads(gpt2.count(seq=8, fit="8GiB").to_json())["memory"]
    fit, memory = report.fit("8GiB"), gpt2.count(seq=8, fit="8GiB").memory
    assert json.loads(fit.to_json()) == fit.to_dict() == whole["fit"] and json.loads(memory.to_json()) == whole
    assert f"{whole['fit']['inference']:,}" in fit._repr_html_()
    totals = report.at(batch=2)
    for shown, figure in ((totals, totals.macs), (report.modules[""], report.modules[""].macs)):
        assert str(figure) in shown._repr_html_()
    assert "h.0" in report.modules._repr_html_() and "inference" in memory._repr_html_()


def test_steps_of_serving():
    serving = onnxflops.load(ROOT / "tests/data/config/gpt2/config.json").count(batch=1).serving(prefill=8, decode="1@8")
    # GPT-2: 12 layers, keys and values of 768 elements of 4 bytes, for 8 and for 9 tokens.
    assert [serving.steps[name]["cache_bytes"] for name in ("prefill", "decode")] == [12 * 2 * 768 * 4 * tokens for tokens in (8, 9)]
    assert [(s["tokens"], s["past"]) for s in serving.steps.values()] == [(8, 0), (1, 8)]
    assert [s["flops"] for s in serving.steps.values()] == [s["flops"]["value"] for s in serving.to_dict()["steps"]]
