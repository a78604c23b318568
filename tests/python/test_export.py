"""from_torch(): one trace gives what two give, a table that is kept, and modules on the device meta."""

import onnxflops
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: tools/test --python-all has it")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: tools/test --python-all has it")

from onnxflops import _export  # noqa: E402


class Net(torch.nn.Module):
    """Operators that are decomposed, change their input, are views, or are removed."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.lstm = torch.nn.LSTM(8, 8, batch_first=True)
        self.register_buffer("mask", torch.ones(16, 16))

    def forward(self, x):
        x = torch.nn.functional.relu_(self.norm(self.conv(x))).flatten(2).transpose(1, 2).contiguous()
        x = self.layer(x, src_mask=self.mask.tril() + torch.zeros(16))
        x, _ = self.lstm(torch.nn.functional.dropout(x, 0.5, self.training))
        first, second = x.chunk(2, -1)
        first = first.reshape(-1, 4).clone()
        first[0] = 1
        return first.std(-1), second.softmax(-1) @ second.mT, x.nonzero()


class Branches(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x @ x.T, lambda x: (x @ x.T) @ (x @ x.T), (x,))


class InFile(torch.nn.Module):
    """A module may ask what it runs for."""

    def forward(self, x):
        return x @ x if torch.onnx.is_in_onnx_export() else x


class WithoutGradients(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            x = self.linear(x)
        return x * 2


def net():
    torch.manual_seed(0)
    return Net().eval(), torch.zeros(1, 3, 4, 4)


def public_report(monkeypatch, module, inputs, **options):
    """The result of torch.onnx.export() alone."""
    with monkeypatch.context() as patch:
        patch.setattr(_export, "_private_parts", lambda: None)
        return onnxflops.from_torch(module, inputs, **options).count()


@pytest.fixture
def programs(monkeypatch):
    """The programs of single traces; None where there was none."""
    made = []
    trace = _export._trace

    def noted(*arguments):
        made.append(trace(*arguments))
        return made[-1]

    monkeypatch.setattr(_export, "_trace", noted)
    return made


def in_file():
    return InFile().eval(), torch.zeros(4, 4)


def tied():
    return Tied().eval(), torch.zeros(2, 8, dtype=torch.int64)


@pytest.mark.parametrize("make", [net, in_file, tied])
def test_one_trace_is_enough(make, programs, monkeypatch):
    module, inputs = make()
    assert onnxflops.from_torch(module, inputs).count().to_json() == public_report(monkeypatch, module, inputs).to_json()
    assert len(programs) == 1 and programs[0] is not None, "the private parts of this PyTorch are not used: see _export.py"
    assert onnxflops.from_torch(InFile().eval(), torch.zeros(4, 4)).count().macs == 64


def test_modules_without_gradients(programs, monkeypatch):
    """Two traces lose the module of what runs without gradients."""
    module, inputs = WithoutGradients().eval(), torch.zeros(2, 4)
    report, public = onnxflops.from_torch(module, inputs).count(), public_report(monkeypatch, module, inputs)
    assert (report.flops, report.macs, report.params) == (public.flops, public.macs, public.params)
    assert report.modules["linear"].macs == report.macs == 2 * 4 * 4 and programs[0] is not None


def test_branches_are_traced_twice(programs, monkeypatch):
    module, inputs = Branches().eval(), torch.zeros(4, 4)
    assert onnxflops.from_torch(module, inputs).count().to_json() == public_report(monkeypatch, module, inputs).to_json()
    assert programs == [None]


def test_open_sizes(programs, monkeypatch):
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
    options = {"dynamic_shapes": ({0: "batch"},)}
    report = onnxflops.from_torch(module, torch.zeros(3, 4), **options).count()
    assert report.to_json() == public_report(monkeypatch, module, torch.zeros(3, 4), **options).to_json()
    assert str(report.macs) == "48*batch" and programs == []


def test_the_table_is_kept(monkeypatch):
    from torch.onnx._internal.exporter import _registration

    made = []
    make = _registration.ONNXRegistry.from_torchlib

    def noted(**options):
        made.append(options)
        return make(**options)

    module, inputs = torch.nn.Linear(4, 4).eval(), torch.zeros(1, 4)
    monkeypatch.setattr(_registration.ONNXRegistry, "from_torchlib", staticmethod(noted))
    monkeypatch.setattr(_export, "_kept", None)
    assert [onnxflops.from_torch(module, inputs).count().macs for _ in range(3)] == [16] * 3
    assert len(made) == 1
    library = torch.library.Library("onnxflops_test", "DEF")  # a package that brings operators
    library.define("other(Tensor x) -> Tensor")
    assert onnxflops.from_torch(module, inputs).count().macs == 16 and len(made) == 2
    library._destroy()


@pytest.mark.parametrize("change", ["old", "missing", "failing"])
def test_without_the_private_parts(change, monkeypatch):
    """torch.onnx.export() does it, with its own errors."""
    if change == "old":
        monkeypatch.setattr(_export, "_OLDEST", (99, 0))
    if change == "missing":
        monkeypatch.setattr(_export, "_EXPORTER", "torch.onnx.nothing")
    if change == "failing":
        monkeypatch.setattr(_export, "_table", lambda private: private.nothing)
    assert onnxflops.from_torch(torch.nn.Linear(4, 4).eval(), torch.zeros(1, 4)).count().macs == 16
    with pytest.raises(onnxflops.InvalidError, match=r"Linear does not take .*float32\[1, 5\]"):
        onnxflops.from_torch(torch.nn.Linear(4, 4).eval(), torch.zeros(1, 5))


def test_training_is_told_once():
    with pytest.warns(UserWarning) as told:
        assert onnxflops.from_torch(torch.nn.Linear(4, 4), torch.zeros(1, 4)).count().macs == 16
    assert len(told) == 1 and "training mode" in str(told[0].message) and told[0].filename == __file__


class Refuses(torch.nn.Module):
    def forward(self, x):
        return x * x.sum().item() if x.sum() > 0 else torch.linalg.eig(x)[0].item()


@pytest.mark.parametrize(
    ("module", "inputs", "kwargs", "error", "text"),
    [
        ("x", torch.zeros(1), None, TypeError, "'module' should be a torch.nn.Module, not str"),
        (torch.nn.Linear, torch.zeros(1), None, TypeError, "'module' should be a torch.nn.Module, not the class Linear"),
        (torch.nn.Linear(4, 4).eval(), {"input": torch.zeros(1, 4)}, None, TypeError, "kwargs={...}"),
        (torch.nn.Linear(4, 4).eval(), 5, None, TypeError, "'example_inputs' should be a tensor, or a tuple of forward()'s arguments, not int"),
        (torch.nn.Linear(4, 4).eval(), torch.zeros(1, 5), None, onnxflops.InvalidError, "example_inputs and kwargs (float32[1, 5])"),
        (torch.nn.Linear(4, 4).eval(), (), {"inpt": torch.zeros(1, 4)}, onnxflops.InvalidError, "(inpt=float32[1, 4])"),
        (Refuses().eval(), torch.zeros(2, 2), None, onnxflops.UnsupportedError, "Refuses cannot be exported: "),
    ],
)
def test_errors_name_the_argument(module, inputs, kwargs, error, text, caplog):
    """One error in one line, which has PyTorch's as its cause, and no log."""
    with pytest.raises(error) as raised:
        onnxflops.from_torch(module, inputs, kwargs=kwargs)
    assert str(raised.value).startswith("from_torch(): ") and text in str(raised.value) and "\n" not in str(raised.value)
    assert not [record for record in caplog.records if record.levelno >= 30] and (error is TypeError or raised.value.__cause__ is not None)


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(50, 16), torch.nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight
        self.unused = torch.nn.Linear(7, 7)
        self.register_buffer("mask", torch.ones(8, 8))
        self.scale = torch.ones(16)  # not registered
        self.lstm = torch.nn.LSTM(16, 16, batch_first=True)

    def forward(self, ids):
        x = self.embed(ids) * self.scale + torch.arange(16.0)
        return self.head(self.mask.tril() @ torch.ones(8, 8) @ self.lstm(x)[0])


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_meta(device):
    """A module that was built on meta counts as one with numbers, wherever its inputs are, and stays as it was."""
    with torch.device("meta"):
        module = Tied().eval()
    ids = torch.zeros(2, 8, dtype=torch.int64, device=device)
    report = onnxflops.from_torch(module, ids).count()
    assert report.to_json() == onnxflops.from_torch(Tied().eval(), torch.zeros(2, 8, dtype=torch.int64)).count().to_json()
    lstm = 2 * 64 * 16
    assert report.params == 50 * 16 + 7 * 8 + lstm + 2 * 64
    assert report.macs == 8 * 8 * 8 + 2 * 8 * 8 * 16 + 16 * 16 * 50 + 16 * lstm
    by_name = onnxflops.from_torch(module, (), kwargs={"ids": ids}).count()
    assert by_name.macs == report.macs
    tensors = [*module.parameters(), *module.buffers(), module.scale, *module.lstm._flat_weights]
    assert all(tensor.is_meta for tensor in tensors) and module.head.weight is module.embed.weight


class Cache(torch.nn.Module):
    """Keeps a tensor of its forward pass, as timm's LeViT does."""

    def __init__(self):
        super().__init__()
        self.linear, self.cache, self.calls = torch.nn.Linear(4, 4), {}, 0

    def forward(self, x):
        self.calls += 1
        if "bias" not in self.cache:
            self.cache["bias"] = self.linear.bias * 2
        return self.linear(x) + self.cache["bias"]


def test_the_module_stays_as_it_was():
    module, inputs = Cache().eval(), torch.ones(1, 4)
    assert [onnxflops.from_torch(module, inputs).count().macs for _ in range(2)] == [16, 16]
    assert module.cache == {} and module.calls == 0
    with torch.no_grad():
        assert torch.equal(module(inputs), module.linear(inputs) + 2 * module.linear.bias)


def test_meta_is_restored_after_an_error():
    with torch.device("meta"):
        module = torch.nn.Linear(4, 4).eval()
    with pytest.raises(onnxflops.InvalidError, match="does not take"):
        onnxflops.from_torch(module, torch.zeros(1, 5))
    assert module.weight.is_meta and type(module.weight) is torch.nn.Parameter


def test_meta_takes_no_memory():
    """Weights of 4 TB, and an open size."""
    with torch.device("meta"):
        module = torch.nn.Linear(10**6, 10**6, bias=False).eval()
    model = onnxflops.from_torch(module, torch.zeros(2, 10**6, device="meta"), dynamic_shapes=({0: "batch"},))
    assert str(model.count().macs) == "1000000000000*batch" and model.count().params == 10**12


@pytest.mark.parametrize("private", [True, False])
def test_conv3d_without_bias(monkeypatch, private):
    """onnxscript 0.7.2 writes a file that no runtime accepts."""
    if not private:
        monkeypatch.setattr(_export, "_private_parts", lambda: None)
    module = torch.nn.Conv3d(3, 8, (1, 3, 3), stride=(2, 1, 1), padding=(0, 1, 0), groups=1, bias=False).eval()
    report = onnxflops.from_torch(module, torch.zeros(1, 3, 4, 8, 8)).count()
    assert (report.macs, report.params) == (8 * 2 * 8 * 6 * 27, 8 * 27)


@pytest.mark.parametrize("private", [True, False])
def test_squeeze_of_an_axis_that_is_not_one(monkeypatch, private):
    """PyTorch leaves it as it is. The exporter's Squeeze would be an error in a runtime, and here."""
    if not private:
        monkeypatch.setattr(_export, "_private_parts", lambda: None)

    class Squeezes(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x.squeeze(2).squeeze(0).squeeze(1))

    report = onnxflops.from_torch(Squeezes().eval(), torch.zeros(3, 1, 5, 2), dynamic_shapes=({0: "batch"},)).count()
    assert str(report.flops) == "10*batch"


def test_a_constructor_that_computes():
    """RegNet of torchvision reads the values of tensors, which meta has none of."""
    from onnxflops import _zoo

    def build():
        return torch.nn.Sequential(*(torch.nn.Linear(int(width), 4) for width in torch.arange(1, 3)))

    module = _zoo._built("net", build)
    assert [tuple(p.shape) for p in module.parameters()] == [(4, 1), (4,), (4, 2), (4,)]
    assert all(p.is_meta for p in module.parameters()) and not module.training
