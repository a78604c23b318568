#!/usr/bin/env python3
"""Which types of transformers onnxflops.from_config() counts, and whether the count is what PyTorch executes.

  python3 tools/export/model_types.py tests/data/config/model_types.csv [--types NAME,..] [--seconds N] [--retry]
  python3 tools/export/model_types.py tests/data/config/model_types.csv --sample 10 [--seed TEXT]

needs: onnxflops, torch, onnxscript, transformers. Types that the table has are left out, unless --retry is given and they are not
equal. Each type is a configuration of its class's defaults with two layers, in a process of its own that has 180 seconds of
the processor. Widths stay, since nothing is allocated on the device meta. The order is that of a hash: part of a table is a fair sample.

With --sample so many types of the table that are equal or explained, drawn by the seed, are made again and held to their rows; the table
stays as it is, and the exit code is 1 if a figure differs.

exported is "fixed" if the class is exported only with fixed sizes, once for each of two sizes, or if its export fixes one; the reason
then says why.

A row has the MACs at two sizes, and what torch.utils.flop_counter counts when the class itself runs at the same sizes, on the
device meta or, if it reads values, on the CPU (2 per multiply-accumulate of contractions). equal is "yes" if that is twice the MACs
at both and params is the sum over module.parameters(); "explained" if the figure is the one of `onnxflops compare --with
flop-counter-mode`, whose terms are then the reason, or that of FlopCounterMode's formulas on the shapes of torch.export's program, without
what no output uses; where MACs depend on values, with all values 3 and all 5. Else it is "no".
"""
import argparse
import contextlib
import csv
import hashlib
import multiprocessing
import os
import resource
import time
import warnings

COLUMNS = (
    "type", "class", "built", "exported", "macs_1", "macs_2", "flop_counter_1", "flop_counter_2", "params", "module_params", "equal",
    "reason",
)  # fmt: skip
SECONDS = 180  # of the processor, for a type
TOO_LONG = f"more than {SECONDS} s"
MOST_SECONDS = 1800  # by the clock, on a machine that others use as well
MOST_REAL_MACS = 1e12  # of a run on the CPU
SIZES = (
    {"batch": 2, "seq": 14, "decoder_seq": 10, "height": 192, "width": 224, "frames": 80, "samples": 6000, "patches": 36},
    {"batch": 3, "seq": 22, "decoder_seq": 6, "height": 256, "width": 160, "frames": 112, "samples": 9000, "patches": 72},
)
LAYERS = (
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers", "num_encoder_layers",
    "num_decoder_layers", "encoder_num_hidden_layers", "decoder_num_hidden_layers", "depth", "num_hidden_groups", "e_layers",
    "d_layers",
    "encoder_depth", "decoder_depth", "attention_layers", "vision_layers", "text_layers", "num_blocks", "num_conv_layers",
    "speech_decoder_layers", "speech_encoder_layers", "n_codes_layers",
)  # fmt: skip
NO_DEFAULTS = {  # what a class cannot be built without, and its configuration has no default of
    "deepseek_v2": {"num_experts_per_tok": 6},
    "nemotron": {"num_key_value_heads": 8},
}
BY_LAYER = ("layer_types", "mlp_layer_types", "layers_block_type", "attention_types", "no_rope_layers", "indexer_types")


def smaller(document):
    """The same with two layers in each stack."""
    made = {}
    for key, value in document.items():
        if isinstance(value, dict):
            value = smaller(value)
        elif key in LAYERS and isinstance(value, int) and not isinstance(value, bool):
            value = min(value, 2)
        elif key == "depths" and isinstance(value, (list, tuple)):
            value = [min(depth, 1) for depth in value]
        elif key in BY_LAYER and isinstance(value, (list, tuple)):
            value = list(value)[:2]
        made[key] = value
    return made


def configuration(kind):
    from transformers import CONFIG_MAPPING

    config = CONFIG_MAPPING[kind](**NO_DEFAULTS.get(kind, {}))
    try:
        return CONFIG_MAPPING[kind].from_dict(smaller(config.to_dict()))
    except Exception:
        return config


def executed(cls, config, sizes, macs):
    """FlopCounterMode after a run of the class itself.

    On the device meta, or on fake CPU tensors if the class mixes devices. A class that reads values runs on the CPU, with weights
    that nobody wrote, if it is small; else on fake tensors in the form that transformers exports.
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    def fake(module):
        _make_fake(module)
        return FakeTensorMode(allow_non_fake_inputs=True)

    from onnxflops._config import build, export_patches
    from onnxflops._torch import _make_fake

    os.environ["TRANSFORMERS_DISABLE_TORCH_CHECK"] = "1"  # that a prompt has as many places as an image has features
    with contextlib.suppress(Exception):
        return counted(build(cls, config), sizes, lambda module: torch.device("meta"))
    with contextlib.suppress(Exception):
        return counted(build(cls, config), sizes, fake)
    if macs <= MOST_REAL_MACS:
        with contextlib.suppress(Exception):
            return counted(on_cpu(cls, config), sizes, lambda module: torch.device("cpu"))
    with export_patches():
        return counted(build(cls, config), sizes, fake, as_exported=True)


def counted(module, sizes, mode_of, as_exported=False):
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    module.requires_grad_(False)
    mode = mode_of(module)
    with mode:
        forms = forms_of(module, sizes, as_exported)
    reason = None
    for made in forms:
        with mode, torch.no_grad():
            counter = FlopCounterMode(display=False, depth=8)
            try:
                with counter:
                    module(**made.tensors, **made.constants)
                return counter
            except Exception as error:
                reason = reason or error
    raise reason


def forms_of(module, sizes, as_exported):
    """The arguments of a class at these sizes, in the forms that it may take."""
    from onnxflops._grids import tower_of, with_grids
    from onnxflops._inputs import Maker, names_of

    maker = Maker(module, module.config, {})
    tower = tower_of(module)
    if tower is None:
        maker.sizes.fixed = {**sizes, **maker.sizes.fixed}
        return maker.forms(names_of(module, module.config))
    if as_exported or tower is not module:
        maker.sizes.fixed["batch"] = sizes["batch"] if tower is module else 1
        maker.sizes.examples.update(sizes)
        return list(with_grids(module, tower, maker))
    return list(rows_of_patches(module, maker, sizes["batch"]))


def rows_of_patches(tower, maker, batch):
    """The arguments of a vision tower itself."""
    import torch
    from onnxflops._grids import Patches, names_of_forward
    from onnxflops._torch import Inputs

    patches = Patches(tower, maker)
    more = patches.arguments(tower, batch)
    first = names_of_forward(tower)[0]
    for form in patches.forms():
        yield Inputs({first: torch.zeros(batch * patches.count, *form, dtype=patches.dtype), **more}, {}, {}, {})


def on_cpu(cls, config):
    """A module with real tensors, whose memory is not touched before it is used."""
    import torch
    from onnxflops._config import _settle
    from transformers.initialization import no_init_weights

    _settle(config)
    with no_init_weights(), torch.device("cpu"):
        return getattr(cls, "_from_config", cls)(config).eval()


def row_of(kind, send):
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    warnings.filterwarnings("ignore")
    row = dict.fromkeys(COLUMNS, "")
    row.update(type=kind, built="no", exported="no", equal="no")
    try:
        fill(kind, row, lambda: send.send(row))
    except Exception as error:
        row["reason"] = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
    send.send(row)


def fill(kind, row, note):
    import onnxflops
    import transformers
    from onnxflops._config import build, class_of, graph_of, offline

    with offline():
        cls = class_of(transformers, configuration(kind), None)
        row["class"] = cls.__name__
        module = build(cls, configuration(kind))
        row["module_params"] = sum(parameter.numel() for parameter in module.parameters())
        row["built"] = "yes"
        note()
        named, points = axes_and_sizes(module)
        try:
            models = [onnxflops.from_config(configuration(kind))] * 2
            row["exported"] = "yes"
            row["reason"] = fixed_by(models[0], named, points)
        except onnxflops.UnsupportedError as error:
            row["reason"] = str(error)[:300]
        note()
        if row["reason"]:
            models = [fixed(kind, named, sizes) for sizes in points]
            row["exported"] = "fixed"
            note()
        row["params"] = models[0].count().params
        differences = []
        for number, (sizes, model) in enumerate(zip(points, models), 1):
            given = {name: sizes[name] for name in model.count().symbols if name in sizes}
            at = model.count(dim=given)
            if not named and "batch" not in given:
                sizes = {**sizes, "batch": graph_of(configuration(kind)).fixed.get("batch", 1)}  # a tower of one image, or as exported
            row[f"macs_{number}"] = at.macs
            if at.lower_bound:
                raise ValueError("a part is not counted, so this is a lower bound")
            note()
            if not isinstance(at.macs, int):
                row["reason"] = f"MACs depend on values: {at.macs}"[:200]
                if not is_same_by_values(at.macs, exported_flops(cls, configuration(kind), sizes)):
                    raise ValueError(row["reason"])
                row["reason"] = f"torch.export's program agrees by FlopCounterMode's formulas, where all values are 3 and 5. {row['reason']}"[:300]
                differences.append(None)
                continue
            try:
                flops = executed(cls, configuration(kind), sizes, at.macs).get_total_flops()
            except Exception as error:
                if exported_flops(cls, configuration(kind), sizes) != 2 * at.macs:
                    raise
                row["reason"] = f"not run ({type(error).__name__}: {' '.join(str(error).split())[:100]}): FlopCounterMode's formulas give it for torch.export's program"
                differences.append(None)
                continue
            row[f"flop_counter_{number}"] = flops
            if 2 * at.macs != flops:
                differences.append((model, given, sizes, flops))
        row["equal"] = "yes" if not differences else "no"
        explain(differences, cls, kind, row)
        if row["params"] != row["module_params"]:
            row["equal"], row["reason"] = "no", f"other params; {row['reason']}"


def axes_and_sizes(module):
    """The sizes of the inputs of a class by name, and two points that it has positions for."""
    from onnxflops._grids import tower_of
    from onnxflops._inputs import Maker, names_of

    maker = Maker(module, module.config, {})
    points = [{axis: min(size, maker.sizes.limits.get(axis, (0, size))[1]) for axis, size in sizes.items()} for sizes in SIZES]
    if tower_of(module) is not None:
        return set(), points
    made = maker.forms(names_of(module, module.config))[0]  # others have the same axes
    named = {axis for axes in made.axes.values() for axis in axes.values()}
    if "batch" not in named:  # a loop over images
        points = [{**sizes, "batch": 1} for sizes in points]
    return named, points


def fixed_by(model, named, points):
    """The reason why a model is counted at fixed sizes: those that its export fixes, or those that do not fit it; else empty."""
    import onnxflops

    try:
        symbols = model.count().symbols
        closed = sorted(named - set(symbols))
        if closed:
            return f"the export fixes {', '.join(closed)}"
        for sizes in points:
            model.count(dim={name: sizes[name] for name in symbols if name in sizes})
    except (onnxflops.InvalidError, onnxflops.LimitError) as error:
        return str(error)[:300]
    return ""


def fixed(kind, named, sizes):
    """The model with all sizes fixed, since it cannot be exported with open ones."""
    import onnxflops

    return onnxflops.from_config(configuration(kind), sizes={axis: sizes[axis] for axis in named})


def explain(differences, cls, kind, row):
    """If our figure of the tool is right at each size, its terms are the reason; or the export leaves out what the class computes."""
    for difference in differences:
        row["equal"] = "explained"
        if difference is None:
            continue
        model, given, sizes, flops = difference
        comparison = model.compare(["flop-counter-mode"], dim=given)
        if comparison.headlines["flop-counter-mode"] == flops:
            terms = comparison.to_dict()["conventions"][0]["terms"]
            row["reason"] = "; ".join(f"{term['name']}: {term['reason']}" for term in terms)[:300]
        elif same_as_exported(2 * model.count(dim=given).macs, exported_flops(cls, configuration(kind), sizes), row):
            unused = flops - 2 * model.count(dim=given).macs
            row["reason"] = f"no output uses {unused} of the FLOPs: torch.export's program does not have them{row['reason']}"[:300]
        else:
            row["equal"] = "no"
            row["reason"] = f"flop-counter-mode gives {comparison.headlines['flop-counter-mode']}"
            return


def exported_flops(cls, config, sizes):
    """What FlopCounterMode's formulas give for torch.export's program at these sizes, without what no output uses; None if there is none.

    Where sizes depend on values, it is a formula of sympy.
    """
    import torch
    from onnxflops._config import build, export_patches
    from onnxflops._grids import tower_of
    from onnxflops._torch import _fake, with_constants

    for patches in (contextlib.nullcontext, export_patches):
        module = build(cls, config)
        if tower_of(module) is not None and patches is contextlib.nullcontext:
            continue
        with torch.no_grad(), contextlib.suppress(Exception), _fake(module), patches():
            made = forms_of(module, sizes, as_exported=True)[0]
            if made.constants:
                module.forward = with_constants(module, made)
            return flops_of(torch.export.export(module, (), kwargs=made.tensors, strict=False))
    return None


def same_as_exported(ours, flops, row):
    """Whether exported_flops() is ours. Sizes that a class reads from a tensor, and our graph has as constants, are then the reason."""
    import sympy

    row["reason"] = ""
    if flops is None or isinstance(flops, int):
        return ours == flops
    size = sympy.Symbol("size", integer=True, positive=True)
    found = sympy.solve(flops.subs({name: size for name in flops.free_symbols}) - ours, size)
    row["reason"] = f", if each of the {len(flops.free_symbols)} sizes that the class reads from a tensor is {found}"
    return bool(found)


def flops_of(program):
    import torch
    from torch.utils import _pytree
    from torch.utils.flop_counter import flop_registry

    # Decomposed, it has no calls that change a tensor in place, which count as used. So do checks of a tensor's type.
    graph = program.run_decompositions().graph_module.graph
    for node in list(graph.nodes):
        if node.target is torch.ops.aten._assert_tensor_metadata.default:
            graph.erase_node(node)
    graph.eliminate_dead_code()
    value = lambda node: node.meta["val"] if isinstance(node, torch.fx.Node) else node
    flops = 0
    for node in graph.nodes:
        formula = flop_registry.get(getattr(node.target, "_overloadpacket", None))
        if formula is not None:
            args, kwargs = _pytree.tree_map(value, (node.args, node.kwargs))
            flops += formula(*args, **kwargs, out_val=value(node))
    return flops.node.expr if isinstance(flops, torch.SymInt) else flops


def is_same_by_values(macs, flops):
    """Whether MACs that depend on values are those of exported_flops(): where all values are 3, and where they are 5."""
    if flops is None or isinstance(flops, int):
        return False
    at = lambda size: int(macs.evaluate(**{name: size for name in macs.symbols})) * 2 == int(flops.subs({name: size for name in flops.free_symbols}))
    return at(3) and at(5)


def types_of(given):
    import transformers

    if given:
        return given
    return sorted(transformers.CONFIG_MAPPING.keys(), key=lambda name: hashlib.sha256(name.encode()).digest())


def read(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8", newline="") as file:
        return {row["type"]: row for row in csv.DictReader(file)}


def write(path, rows):
    with open(path + ".tmp", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in sorted(rows))
    os.replace(path + ".tmp", path)


def measure(kind):
    """The row of a type, or the part that is finished when its time is over."""
    receive, send = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=row_of, args=(kind, send), daemon=True)
    process.start()
    send.close()
    row = {**dict.fromkeys(COLUMNS, ""), "type": kind, "built": "no", "exported": "no", "equal": "no"}
    end = time.monotonic() + MOST_SECONDS
    while receive.poll(max(0.0, end - time.monotonic())):
        try:
            row = dict(receive.recv())
        except EOFError:
            break
    process.kill()
    process.join()
    if row["equal"] == "no" and not row["reason"]:
        row["reason"] = TOO_LONG
    return row


def verdict_of(kept, made):
    """Whether a type gives what its row has. Reasons are prose. A slow machine may not finish one, which is no other figure."""
    if made["reason"] == TOO_LONG:
        return "not finished"
    return "same" if all(kept[column] == str(made[column]) for column in COLUMNS if column != "reason") else "OTHER"


def hold(rows, number, seed):
    """Measures a sample of the types again. Whether all give the figures of their rows."""
    counted = [kind for kind in rows if rows[kind]["equal"] in ("yes", "explained")]
    order = sorted(counted, key=lambda kind: hashlib.sha256(f"{seed} {kind}".encode()).digest())
    good = True
    for kind in order[:number]:
        begin = time.monotonic()
        row = measure(kind)
        verdict = verdict_of(rows[kind], row)
        print(f"{kind}: {row['macs_1']} and {row['macs_2']} MACs, {row['params']} parameters: {verdict} ({time.monotonic() - begin:.0f} s)", flush=True)
        if verdict == "OTHER":
            good = False
            print(f"  kept: {rows[kind]}\n  made: {row}", flush=True)
    return good


def warm_up():
    """Modules that every process needs are imported once, before the fork."""
    import onnxflops
    import onnxflops._config
    import onnxflops._inputs
    import torch
    import torch.utils.flop_counter
    import transformers.models.auto.modeling_auto  # noqa: F401

    torch.set_num_threads(1)
    onnxflops.from_torch(torch.nn.Linear(2, 2).eval(), torch.zeros(2, 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--types", type=lambda text: text.split(","), default=[])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no type after so many")
    parser.add_argument("--retry", action="store_true")
    parser.add_argument("--sample", type=int, help="hold so many types to their rows")
    parser.add_argument("--seed", default="", help="what --sample draws by")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
    warm_up()
    rows = read(arguments.table)
    if arguments.sample:
        raise SystemExit(0 if hold(rows, arguments.sample, arguments.seed) else 1)
    for kind in types_of(arguments.types):
        if kind in rows and not arguments.types and not (arguments.retry and rows[kind]["equal"] == "no"):
            continue
        if time.monotonic() > end:
            break
        begin = time.monotonic()
        rows[kind] = measure(kind)
        write(arguments.table, rows)
        print(f"{time.monotonic() - begin:5.1f} s", kind, {k: v for k, v in rows[kind].items() if k != "type"}, flush=True)


if __name__ == "__main__":
    main()
