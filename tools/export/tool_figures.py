#!/usr/bin/env python3
"""Asks tools that count PyTorch models for their figures of the modules of tool_cases.py, and exports these, without weights.

Usage: tool_figures.py OUT [CASE...]    writes OUT/NAME.dynamo.onnx, OUT/NAME.ts.onnx, OUT/figures.json (gradients on, as the tools' documents
                                        call them) and OUT/figures_no_grad.json; with names, only these are asked again.

    python3 -m venv venv && venv/bin/pip install torch onnx onnxscript fvcore ptflops calflops thop
    venv/bin/pip install --target ultralytics --no-deps ultralytics-thop     # a second package named thop: THOP_FORK=ultralytics
    # pytorchcv: PYTHONPATH has model_stats.py of osmr/imgclsmob, pytorch/, whose zoo the package pytorchcv is
    DS_BUILD_OPS=0 venv/bin/pip install deepspeed                            # only where its profiler is wanted

Each tool runs in a process of its own for each module: some leave PyTorch changed. "none" is a tool that ends with an error. Tools that are not
installed have no figures; torchinfo turns gradients off itself. All run on a CPU in eval mode, once with gradients and once under torch.no_grad().
"""
import contextlib
import importlib
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
import traceback

import onnx
import torch

from strip import strip_weights
from tool_cases import CASES, PRELUDE


def write_module(folder):
    """The cases as a file of Python, since exporters write its lines into what they export."""
    text = [PRELUDE]
    for name, inputs, made, done in CASES:
        names = ", ".join(part.split(":")[0] for part in inputs.split())
        text.append(f"\n\nclass {''.join(word.title() for word in name.split('_'))}(nn.Module):")
        text += ["    def __init__(self):", "        super().__init__()"]
        text += [f"        {line.strip()}" for line in made.split(";") if line.strip()]
        text.append(f"\n    def forward(self, {names}):")
        text += [f"        {line[1:] if line.startswith(' ') else line}" for line in done.split(";")]
    path = os.path.join(folder, "cases.py")
    with open(path, "w") as file:
        file.write("\n".join(text) + "\n")
    spec = importlib.util.spec_from_file_location("cases", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = module
    spec.loader.exec_module(module)
    return module


def make(cases, name, inputs):
    torch.manual_seed(0)
    model = getattr(cases, "".join(word.title() for word in name.split("_")))().eval()
    values = {}
    for part in inputs.split():
        key, *kind, sizes = part.split(":")
        sizes = [int(size) for size in sizes.split(",")]
        values[key] = torch.randint(0, 7, sizes) if kind == ["int"] else torch.randn(sizes)
        if kind == ["bool"]:  # a mask that hides the end of the last
            values[key] = torch.zeros(sizes, dtype=torch.bool)
            values[key][-1, ..., -1] = True
    return model, values


# ---- the tools

def thop(model, values):
    import thop as tool
    return tool.profile(model, inputs=tuple(values.values()), verbose=False)[0]


def thop_fork(model, values):
    sys.path.insert(0, os.environ["THOP_FORK"])
    return thop(model, values)


def fvcore(model, values):
    from fvcore.nn import FlopCountAnalysis
    return FlopCountAnalysis(model, tuple(values.values())).unsupported_ops_warnings(False).uncalled_modules_warnings(False).total()


def ptflops(model, values, backend="pytorch"):
    from ptflops import get_model_complexity_info
    return get_model_complexity_info(model, (1,), input_constructor=lambda _: values, as_strings=False, print_per_layer_stat=False, backend=backend)[0]


def ptflops_aten(model, values):
    return ptflops(model, values, "aten")


def calflops(model, values):
    from calflops import calculate_flops
    return calculate_flops(model, args=list(values.values()), print_results=False, print_detailed=False, output_as_string=False)[0]


def deepspeed(model, values):
    from deepspeed.profiling.flops_profiler import get_model_profile
    return get_model_profile(model, args=list(values.values()), print_profile=False, detailed=False, as_string=False)[0]


def flop_counter_mode_cpu(model, values):
    from torch.utils.flop_counter import FlopCounterMode
    with FlopCounterMode(display=False) as counter:
        model(*values.values())
    return counter.get_total_flops()


def flop_counter_mode(model, values):
    with torch.device("meta"):
        model = model.to("meta")
        return flop_counter_mode_cpu(model, {key: value.to("meta") for key, value in values.items()})


def torch_profiler(model, values):
    with torch.profiler.profile(with_flops=True, activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        model(*values.values())
    return sum(event.flops or 0 for event in profile.events())


def torchinfo(model, values):
    from torchinfo import summary
    return summary(model, input_data=list(values.values()), verbose=0).total_mult_adds


def torchprofile(model, values):
    from torchprofile import profile_macs
    return profile_macs(model, tuple(values.values()))


def mmengine(model, values):
    from mmengine.analysis import get_model_complexity_info
    return get_model_complexity_info(model, inputs=tuple(values.values()), show_table=False, show_arch=False)["flops"]


def fvcore_activations(model, values):
    from fvcore.nn import ActivationCountAnalysis
    return ActivationCountAnalysis(model, tuple(values.values())).unsupported_ops_warnings(False).uncalled_modules_warnings(False).total()


def pytorchcv(model, values):
    from model_stats import measure_model
    return measure_model(model, [tuple(value.shape) for value in values.values()])[0] // 2


TOOLS = {"thop": thop, "thop@ultralytics-2.2.3": thop_fork, "fvcore": fvcore, "ptflops": ptflops, "ptflops-aten": ptflops_aten, "calflops": calflops,
         "deepspeed": deepspeed, "flop-counter-mode": flop_counter_mode, "flop-counter-mode-cpu": flop_counter_mode_cpu, "torch-profiler": torch_profiler,
         "torchinfo": torchinfo, "torchprofile": torchprofile, "mmengine": mmengine, "fvcore-activations": fvcore_activations,
         "pytorchcv": pytorchcv}
NEEDS = {"thop@ultralytics-2.2.3": None, "ptflops-aten": "ptflops", "flop-counter-mode": "torch", "flop-counter-mode-cpu": "torch", "torch-profiler": "torch", "fvcore-activations": "fvcore",
         "pytorchcv": "model_stats"}


def is_installed(tool):
    package = NEEDS.get(tool, tool)
    return "THOP_FORK" in os.environ if package is None else importlib.util.find_spec(package) is not None


def in_process(work, gradients=False):
    """The result of `work` in a separate process; "none" if it fails."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        result = "none"
        try:
            with contextlib.redirect_stdout(io.StringIO()), torch.set_grad_enabled(gradients):
                figure = work()
                result = figure if figure is None else int(figure)
                if result is None:
                    result = "none"
        except BaseException:
            if "VERBOSE" in os.environ:
                traceback.print_exc()
        os.write(write, json.dumps(result).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else "none"


def drop_folders(path):
    """Takes the folders of this machine out of the stack traces."""
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        for prop in node.metadata_props:
            if prop.key.endswith("stack_trace"):
                prop.value = re.sub(r'File "(?:[^"]*/(?:site-packages|tmp[^/"]*)/)?', 'File "', prop.value)
    del model.metadata_props[:]
    onnx.save(model, path)


def export(cases, name, inputs, path, dynamo):
    model, values = make(cases, name, inputs)
    torch.set_grad_enabled(not dynamo)  # TorchScript knows no operator for the fast path of attention
    how = {"opset_version": 20 if dynamo else 17, "dynamo": dynamo}
    if dynamo:
        how["external_data"] = False
    torch.onnx.export(model, tuple(values.values()), path, input_names=list(values), **how)
    strip_weights(path, limit=8)
    drop_folders(path)
    return 1


def load_tools(cases, out):
    """Everything that processes would load again; only what none of them changes."""
    import torch.utils.flop_counter  # noqa: F401
    for package in ("fvcore.nn", "ptflops", "calflops", "thop" if "THOP_FORK" not in os.environ else "ptflops", "deepspeed.profiling.flops_profiler"):
        with contextlib.suppress(ImportError), contextlib.redirect_stdout(io.StringIO()):
            importlib.import_module(package)
    for dynamo in (True, False):
        export(cases, "linear", "x:3,6", os.path.join(out, "warm.onnx"), dynamo)
    os.remove(os.path.join(out, "warm.onnx"))


def main():
    out, wanted = sys.argv[1], sys.argv[2:]
    os.makedirs(out, exist_ok=True)
    folder = tempfile.mkdtemp()
    cases = write_module(folder)
    load_tools(cases, out)
    kept = {True: os.path.join(out, "figures.json"), False: os.path.join(out, "figures_no_grad.json")}  # by whether gradients are on
    figures = {True: {}, False: {}}
    for gradients, path in kept.items():
        if wanted and os.path.exists(path):
            with open(path) as file:
                figures[gradients] = json.load(file)
    for name, inputs, *_ in CASES:
        if wanted and name not in wanted:
            continue
        exports = {}
        for kind in ("dynamo", "ts"):
            path = os.path.join(out, f"{name}.{kind}.onnx")
            exports[kind] = in_process(lambda: export(cases, name, inputs, path, kind == "dynamo")) == 1
        for gradients in figures:
            figures[gradients][name] = {tool: in_process(lambda: run(*make(cases, name, inputs)), gradients) for tool, run in TOOLS.items() if is_installed(tool)}
        print(name, exports, figures[True][name], flush=True)
    for gradients, path in kept.items():
        with open(path, "w") as file:
            json.dump(dict(sorted(figures[gradients].items())), file, indent=0)


if __name__ == "__main__":
    main()
