"""Whatever is given, there is an answer or an exception, and the interpreter goes on."""

import importlib.util
import os
import random
import re

import onnxflops
import pytest
from conftest import ROOT
from onnxflops import _core
from onnxflops._engines import make_engine
from onnxflops._sources import expand
from onnxflops.monitor import Perf

CORPUS = sorted(p for p in (ROOT / "tests/fuzz/corpus").rglob("*") if p.is_file())

ODD = [
    None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, 2**127, 2**128, -(2**200), 10**5000, 0.0, 1.5, float("nan"),
    float("inf"), "", "batch", "x" * 10000, "\ud800", "a\0b", "a=b", b"", b"\xff", (), [], {}, [[]], [1, 2], ["a", None],
    {"a": 1}, {1: 2}, {"batch": None}, {"\ud800": 1}, {"image": (1, 2)}, {"image": "x"}, object(), int, print, range(3),
    set(), iter([]), slice(1), memoryview(b"x"), [[[[[[[[[[[[1]]]]]]]]]]]], NotImplemented, Ellipsis,
]  # fmt: skip


class Odd:
    """Raises whatever is asked of it."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __index__(self):
        raise RuntimeError("index")

    def __iter__(self):
        raise RuntimeError("iter")

    def __fspath__(self):
        raise RuntimeError("fspath")


class OddItems(dict):
    """A mapping whose items are not pairs."""

    def items(self):
        return [1, (2,), (3, 4, 5)]


ODD += [Odd(), OddItems(a=1)]

CALM = (onnxflops.OnnxflopsError, ImportError, TypeError, ValueError, RuntimeError, OverflowError, LookupError, OSError, AttributeError)


def calls(gpt2):  # any model will do: the smallest
    report = gpt2.count()
    options = re.findall(r"(\w+): ", type(gpt2).count.__doc__.split("->")[0]) or []
    yield "load", lambda x: onnxflops.load(x)
    yield "name", lambda x: onnxflops.load(b"", name=x)
    for name in [*options, "batch", "seq", "nosuch", "format"]:
        yield f"count {name}", lambda x, name=name: gpt2.count(**{name: x})
    bound = gpt2.count(batch=2, seq=3)
    yield "at of a bound count", lambda x: bound.at(batch=x)
    yield "at", lambda x: report.at(batch=x)
    yield "modules", lambda x: report.modules[x]
    yield "filter", lambda x: report.modules.filter(x)
    yield "contains", lambda x: x in report.modules
    yield "rows", lambda x: report.rows(x)
    yield "compare", lambda x: gpt2.compare(x)
    yield "explain", lambda x: gpt2.explain(x)
    yield "diff", lambda x: onnxflops.diff(gpt2, x)
    yield "delta", lambda x: onnxflops.diff(gpt2, gpt2).delta(x)
    yield "check", lambda x: onnxflops.check(gpt2, x)
    yield "against", lambda x: onnxflops.check(gpt2, against=x)
    yield "max", lambda x: onnxflops.check(gpt2, max=x)
    yield "mfu", lambda x: onnxflops.mfu(x, step_time=1, peak=1e12)
    for name in ("step_time", "devices", "device", "dtype", "peak", "nosuch"):
        yield f"mfu {name}", lambda x, name=name: onnxflops.mfu(gpt2, **{"batch": 1, "seq": 8, name: x})
    yield "peak", lambda x: onnxflops.peak_flops_per_second(x, x)
    yield "parse", lambda x: onnxflops.parse_expr(x)
    for sign in ("__add__", "__rsub__", "__mul__", "__pow__", "__lt__", "__eq__"):
        yield sign, lambda x, sign=sign: getattr(report.flops, sign)(x)
    names = (gpt2.count, gpt2.compare, report.at, report.flops.evaluate, report.flops.substitute)
    for function in names:  # names of sizes, not only sizes
        yield f"name in {function.__name__}", lambda x, function=function: function(**{x: 1})
    yield "mfu of a report", lambda x: onnxflops.mfu(report, step_time=x, peak=x)
    yield "option of diff", lambda x: onnxflops.diff(gpt2, gpt2, causal=x)
    yield "option of explain", lambda x: gpt2.explain("x", dim=x)
    for name in ("device", "dtype", "peak", "devices", "every", "tokens", "reduce", "clock"):
        yield f"Perf {name}", lambda x, name=name: Perf(gpt2, **{"peak": 1e9, "every": 1, name: x}).step(batch=1, seq=1)
    yield "step", lambda x: Perf(gpt2, peak=1e9, every=1).step(batch=x, seq=x)
    yield "pandas", lambda x: report.to_pandas(x)
    yield "evaluate", lambda x: report.flops.evaluate(batch=x, seq=x)
    yield "substitute", lambda x: report.flops.substitute(batch=x)


def test_odd_arguments():
    tried = 0
    for name, call in calls(onnxflops.load(ROOT / "models/lstm.onnx")):
        for value in ODD:
            try:
                call(value)
            except CALM as error:
                assert isinstance(str(error), str), name
            tried += 1
    assert tried > 3000


def hostile_models():
    spec = importlib.util.spec_from_file_location("hostile_models", ROOT / "tests/hostile/models.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MODELS


def use(source):
    try:
        report = onnxflops.load(source).count()
        assert report.to_json() and report._repr_html_() and report.rows("op") is not None and str(report)
        report.rows("node")
    except onnxflops.OnnxflopsError as error:
        assert str(error)


@pytest.mark.parametrize("path", CORPUS[:: max(1, len(CORPUS) // 1500)], ids=lambda p: f"{p.parent.name}/{p.name}")
def test_hostile_files(path):
    use(path.read_bytes())
    use(str(path))


@pytest.mark.parametrize("name", hostile_models())
def test_hostile_models(name):
    use(hostile_models()[name]())


def test_mutated_models(gpt2):
    data = bytearray((ROOT / "models/lstm.onnx").read_bytes())
    rng = random.Random(1)
    for _ in range(300):
        mutated = bytearray(data)
        for _ in range(rng.randint(1, 8)):
            mutated[rng.randrange(len(mutated))] = rng.randrange(256)
        try:
            onnxflops.load(bytes(mutated[: rng.randint(0, len(mutated))])).count().to_json()
        except onnxflops.OnnxflopsError:
            pass


def test_errors_are_the_programs(program, tmp_path):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"\x08")
    for path in (bad, tmp_path / "none.onnx"):
        with pytest.raises(onnxflops.OnnxflopsError) as raised:
            onnxflops.load(path)
        assert program(path, code=2) == f"onnxflops: {raised.value}\n"
    with pytest.raises(onnxflops.InvalidError) as raised:
        onnxflops.load(ROOT / "models/gpt2.onnx").count(bath=8)
    assert program(ROOT / "models/gpt2.onnx", "--dim", "bath=8", code=2) == f"onnxflops: {raised.value}\n"


def test_errors_name_arguments(gpt2):
    for call, text in (
        ({"backward": "exat"}, "backward='exat': it should be 2x or exact"),
        ({"frozen": "m"}, "frozen needs backward='exact'"),
        ({"fit": "many"}, "fit='many': "),
    ):
        with pytest.raises(onnxflops.InvalidError) as raised:
            gpt2.count(batch=1, seq=8, **call)
        assert str(raised.value).startswith(text) and " --" not in str(raised.value)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda m: m.count().modules[0], "modules[...]: a path should be a str, not int"),
        (lambda m: m.count().rows(5), "rows(): 'by' should be a str, not int"),
        (lambda m: m.count().fit(5.5), "fit(): 'bytes' should be an int or a str, not float"),
        (lambda m: m.explain(5), "explain(): 'node' should be a str, not int"),
        (lambda m: m.compare(5), "compare(): 'with_' should be a str or a list of them, not int"),
        (lambda m: pow(m.count().flops, 2, 5), "unsupported operand type(s) for ** or pow(): 'Expr', 'int', 'int'"),
        (lambda m: onnxflops.peak_flops_per_second("h100-sxm", 1), "peak_flops_per_second(): 'dtype' should be a str, not int"),
        (lambda m: onnxflops.mfu(step_time=1), "missing a required argument: 'model'"),
        (lambda m: expand(5, {}), "scan(): 'sources' should be a path, a URL, or a list of them, not int"),
        (lambda m: make_engine("local", "x", None), "scan(): 'workers' should be an int, not str"),
        (lambda m: onnxflops.mfu(m.count(), batch=8), "mfu() of a report, which has its sizes and options: 'batch' is no argument"),
        (lambda m: m.count(batch=[1, 2]), "count(): 'batch' should be an int, not list: Model.sweep(...) counts at several sizes"),
        (lambda m: m.count(dim={"seq": (1, 2)}), "count(): 'dim': 'seq' should be an int, not tuple: Model.sweep(...) counts at several sizes"),
    ],
)  # fmt: skip
def test_wrong_types_name_their_argument(gpt2, call, text):
    with pytest.raises(TypeError) as raised:
        call(gpt2)
    assert str(raised.value) == text


def test_the_way_is_named():
    """Of what people try first."""
    for name in ("count", "compare", "sweep"):
        with pytest.raises(AttributeError, match=rf"module 'onnxflops' has no attribute '{name}': load\(path\)\.{name}\("):
            getattr(onnxflops, name)
    with pytest.raises(AttributeError, match=r"^'Model' object has no attribute 'flops': count\(\)\.flops$"):
        onnxflops.load(ROOT / "models/lstm.onnx").flops
    assert not hasattr(onnxflops.Model, "flops") and not hasattr(onnxflops.load(ROOT / "models/lstm.onnx"), "__array__")
    with pytest.raises(onnxflops.InvalidError, match=r"models: is a directory, .*: scan\(folder, out\) counts all models below it$"):
        onnxflops.load(ROOT / "models")


def test_misspelt_options_are_suggested(gpt2):
    for call, name in ((gpt2.count, "optimizer"), (gpt2.count, "at_image"), (lambda **given: onnxflops.mfu(gpt2, **given), "step_time")):
        with pytest.raises(onnxflops.InvalidError, match=f"; did you mean the argument {name}="):
            call(**{name[:-2] + name[-1]: 1})
    with pytest.raises(onnxflops.InvalidError, match=r": fit: symbol 'seq' is not bound: count\(seq=N\) binds it, and any other size"):
        gpt2.count().fit("80GiB")


def test_odd_pickles(gpt2):
    """Unpickling uses the loaders of files and formulas: untrusted bytes give errors."""
    for what in (gpt2, gpt2.count(batch=2), gpt2.count().flops):
        function, arguments = what.__reduce__()
        for place in range(len(arguments)):
            for value in ODD:
                try:
                    function(*arguments[:place], value, *arguments[place + 1 :])
                except CALM as error:
                    assert isinstance(str(error), str)


def test_advice_names_arguments(gpt2):
    rate = {"step_time": 0.41, "peak": 1e15}
    with pytest.raises(onnxflops.UnavailableError, match=r"sizes are open, dim=\{\.\.\.\} sets them: batch, seq"):
        onnxflops.mfu(gpt2, **rate)
    with pytest.raises(onnxflops.InvalidError, match="device=NAME with dtype, or peak='FLOP/s', is needed"):
        onnxflops.mfu(gpt2, step_time=0.41, batch=1, seq=8)
    with pytest.raises(onnxflops.NotFoundError, match="^.*frozen='nothing' matches no parameter"):
        gpt2.count(backward="exact", frozen="nothing")


def test_classes():
    with pytest.raises(LookupError):
        onnxflops.load("/no/such/file.onnx")
    for call in (lambda: onnxflops.load("missing"), lambda: onnxflops.load(ROOT / "models/lstm.onnx").count(rules="missing")):
        with pytest.raises(FileNotFoundError, match="missing.*: no such file") as raised:
            call()
        assert (raised.value.filename, raised.value.strerror) == ("missing", "No such file or directory")
    with pytest.raises(ValueError, match="null"):
        onnxflops.load("a\0b")
    assert os.path.basename(onnxflops.__file__) == "__init__.py"


SETTINGS = re.compile(r'\bWithSettings\(\s*((?:"(?:[^"\\\n]|\\.)*"\s*)+)')


def test_texts_of_the_library_are_in_words_of_python():
    """No text that names a setting has an option of the program in Python, but for commands between backticks."""
    texts = []
    for path in sorted((ROOT / "src").rglob("*.cc")):
        if path.relative_to(ROOT / "src").as_posix().startswith(("check/edit_budgets", "history/", "monitor/")):  # only the program has them
            continue
        for found in SETTINGS.finditer(path.read_text(encoding="utf-8")):
            text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found[1])).replace("\\n", "\n")
            texts.append(re.sub(r"\{([a-z][a-z-]*)(?: ([^{}]+))?\}", lambda at: f"--{at[1]}" + (f" {at[2]}" if at[2] and at[2] != "on" else ""), text))
    assert len(texts) > 80
    shown = {text: re.sub(r"`[^`]*`", "", _core._screen_words(text)) for text in texts if "--" in re.sub(r"`[^`]*`", "", text)}
    assert len(shown) > 60
    assert {text: words for text, words in shown.items() if re.search(r"--[a-z]", words)} == {}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(rows under 1 % joined: --depth N opens them; costliest: --top 10)", "(rows under 1 % joined)"),
        ("submodules of 5 rows not shown: --depth N opens them", "submodules of 5 rows not shown"),
        ("batch = 1 (assumed; --dim sets sizes)", "batch = 1 (assumed; dim={...} sets sizes)"),
        ("--at-batch 8 counts at another batch; --at-batch batch opens it", "at_batch=8 counts at another batch; at_batch='batch' opens it"),
        ("or --at-image HEIGHTxWIDTH counts at another size", "or at_image='HEIGHTxWIDTH' counts at another size"),
        ("name one, as --fit 80GiB:seq. Open sizes: seq", "name one, as fit='80GiB:seq'. Open sizes: seq"),
        ("--dim 'batch=1..': '' should be a number", "batch='1..': '' should be a number"),
        ("--dim: no parameter is named 'x'", "dim: no parameter is named 'x'"),
        ("--frozen NAME takes one out", "frozen=NAME takes one out"),
        ("if so: --tied onnx::MatMul_1=m.wte.weight", "if so: tied={'onnx::MatMul_1': 'm.wte.weight'}"),
        ("--lengths 'my size'=5,3 gives them", "lengths={'my size': [5,3]} gives them"),
        ("budgets.toml, --max", "budgets.toml, max={...}"),
        ("--rules no.toml: no such file", "rules='no.toml': no such file"),
        ("thumb; onnxflops compare MODEL --with NAME has every term", "thumb; compare([\"NAME\"]) has every term"),
        ("; --prefill and --decode set them together", "; serving(prefill=...) and serving(decode=...) set them together"),
        ("then --decode 1@512 is the step after it", "then serving(decode=\"1@512\") is the step after it"),
        ("* rests on a guess, which --with NAME prints", "* rests on a guess, which compare([\"NAME\"]) prints"),
        ("every term: --with NAME, or --with all", "every term: compare([\"NAME\"])"),
        ("not found in the model: h (--parameter NAME=N gives it)", "not found in the model: h (parameter={'NAME': N} gives it)"),
        ("symbols (bind them with --dim NAME=N):", "symbols (bind them with NAME=N):"),
        ("3 gaps (--format json lists them)", "3 gaps"),
        ("(long: --exact shows it)", "(long)"),
        ("'<a--b>' --image-tokens", "'<a--b>' --image-tokens"),
        ("`onnxflops explain MODEL NODE --template` writes it", "`onnxflops explain MODEL NODE --template` writes it"),
    ],
)
def test_words_of_screens(text, wanted):
    assert _core._screen_words(text) == wanted
