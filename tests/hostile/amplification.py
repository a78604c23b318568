#!/usr/bin/env python3
"""Holds the program to what SECURITY.md promises of files under a megabyte: time, memory and output of every command.

    amplification.py PROGRAM                 runs every command on every model; exit code 1 if one takes more than the promise.
                                             Three forms run on every model, the others on a quarter of the models each
    amplification.py PROGRAM --every-form    runs every form on every model: before a release, and after work on a writer
    amplification.py PROGRAM --only TEXT     the models, or the commands, whose name holds TEXT; may be repeated
    amplification.py PROGRAM --all           prints what each run takes, and goes on with a model that is refused
    amplification.py PROGRAM --write NAME    writes a model to standard output

The models are in MODULES: each has a dict MODELS of functions that return bytes. Time is counted in instructions of the process where
the kernel counts them. Elsewhere it is processor time, divided by what a fixed piece of work took beside it, so that a slow machine
makes no difference and a busy one little: two cores that share their caches make it differ by NOISE.
"""

import argparse
import csv
import ctypes
import importlib
import os
import queue
import resource
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = ("walk_models", "size_models", "list_models", "convention_models")

# The promise of SECURITY.md. A second is 3e9 instructions: a core of 3 GHz at one per cycle, which is typical of code that sometimes
# waits for memory.
INSTRUCTIONS_PER_SECOND = 3_000_000_000
SECONDS = {"count": 1.0, "explain": 1.0, "mfu": 1.0, "compare": 1.0, "estimate": 1.0, "diff": 2.0, "check": 2.0, "pipeline": 2.0, "audit": 2.0}
MEMORY = 256 << 20
MEMORY_OF_TWO = 384 << 20  # of diff and check, which hold two models
# Models that take more, as SECURITY.md names them, and what each may take: times the seconds, times the memory.
ABOVE = {
    # 200,000 nodes and 68,000 operators, each with a row.
    "tiny_nodes": (2, 2.5),
    "unknown_ops": (1.5, 1.5),
    # Rows that repeat long names: texts of 120 to 285 MB, which are held whole.
    "dims_60": (1.5, 2.5),
    "long_module_rows": (1.5, 1.5),
    # 33,000 calls, each 60 deep, of modules with paths of up to 4 kB.
    "deep_call_modules": (3, 2),
    # Long walks, which compare and diff take several times.
    "same_place": (2, 1),
    "visits": (2.5, 1),
    "calls_of_torch": (2, 1),
    "scopes_prefixes": (2, 1),
    # Arithmetic up to its limit, with --memory.
    "dims_60_distinct": (2, 1),
    "elements_per_call": (2, 1),
    "weights_of_symbols": (2, 1),
    "scales_of_many_terms": (2, 1),
}
OUTPUT = 320 << 20
ERRORS = 100_000  # bytes of standard error
MODEL = 1 << 20  # a model has less
# Stops a run that is far beyond the promise.
HARD_SECONDS, HARD_MEMORY, HARD_OUTPUT = 20, 2 << 30, 1 << 30
# The processor time that CALIBRATION takes on the machine where 3e9 instructions of the program took a second.
CALIBRATION_SECONDS = 0.5
NOISE = 1.5  # of processor time, where the kernel does not count instructions
TRIES = 3  # of a run that took too long: the least counts

CALIBRATION = """
import random
r = random.Random(1)
words = [str(r.random()) for _ in range(40_000)]
for _ in range(4):
    table = {}
    for w in words:
        table[w] = table.get(w[:5], 0) + len(w)
    words.sort(key=lambda w: (w[-3:], w))
    words.sort()
"""

SELF = "{the model}"  # as an argument
COPY = "{a copy}"
COUNT = [
    [],
    ["--no-fold", "--exact"],
    ["--by", "op", "--no-fold"],
    ["--by", "node", "--no-fold"],
    ["--format", "json"],
    ["--format", "csv", "--depth", "64"],
    ["--format", "markdown", "--no-fold"],
    ["--by", "op", "--format", "csv"],
    ["--format", "model-explorer"],
    ["--format", "perfetto"],
    ["--format", "folded"],
    ["--by", "op", "--annotate", COPY],
    ["--by", "node", "--format", "json"],
    ["--by", "node", "--format", "csv"],
    ["--by", "node", "--format", "markdown", "--no-fold"],
    ["--causal", "half", "--strict"],
    ["--convention", "fvcore", "--format", "json"],
    ["--convention", "onnx-tool", "--by", "op"],
    ["--convention", "xla", "--no-fold"],
    ["--convention", "thop", "--by", "node", "--format", "json"],
    ["--upper"],
    ["--at-batch", "3"],
    ["--at-image", "64"],
    ["--memory"],
    ["--backward", "exact"],
    ["--backward", "exact", "--recompute", "blocks", "--optimizer", "adam", "--format", "json"],
]
COMPARE = [
    [],
    ["--format", "json"],
    ["--by", "module", "--format", "json"],
    ["--terms-nodes"],
    ["--terms-nodes", "--by", "module", "--format", "markdown"],
    ["--from", "thop", "--to", "fvcore"],
]
DIFF = [[SELF], [SELF, "--format", "json"], [SELF, "--by", "node"]]
# A budget of every kind, for everything: one that holds, one that is broken, and those relative to a base.
BUDGETS = """
[budget]
flops = "1 FLOP"
"other_flops / flops" = "1%"
bytes_read = {limit = "+1%", warn = "-1%"}
peak_activation_bytes = {limit = "+1%", warn = 1}
[modules."*"]
flops = "+0%"
[modules."*.*"]
macs = "1 MAC"
[operators]
allow = ["Conv"]
[domains]
forbid = ["*"]
[opset]
max = 1
[at]
batch = "1..8"
"""
BUDGETS_FILE = "{the budgets}"  # as an argument
CHECK = [
    ["--budgets", BUDGETS_FILE, "--against", SELF],
    ["--budgets", BUDGETS_FILE, "--against", SELF, "--format", "sarif"],
    ["--budgets", BUDGETS_FILE, "--against", SELF, "--format", "comment"],
]
MFU = [["--step-time", "1", "--peak", "1e12"]]
ESTIMATE = [[]]
# The model as three stages: often, with a probability, and as often as an open parameter says.
STAGES = """
[parameters]
runs = 25
images = "?"
[[stage]]
name = "often"
model = "model.onnx"
times = "runs"
[[stage]]
name = "at times"
model = "model.onnx"
probability = 0.25
[[stage]]
name = "for each"
model = "model.onnx"
times = "images*runs"
"""
PIPELINE = [[], ["--format", "json"]]  # a sweep takes as long for each of its points
# A published figure of the model, and of the stages.
FIGURE, FIGURE_OF_STAGES = "{a figure}", "{a figure of the stages}"
# A zoo has many figures of one model.
AUDIT = [[FIGURE, "--format", "json"], [FIGURE_OF_STAGES, "--format", "csv"], [SELF, "--zoo", "timm:resnet50"]]
STAGES_FILE = "{the stages}"
COMPARE += [[STAGES_FILE], [STAGES_FILE, "--with", "all", "--format", "json"]]
FORMS = {"count": COUNT, "compare": COMPARE, "diff": DIFF, "check": CHECK, "mfu": MFU, "estimate": ESTIMATE, "pipeline": PIPELINE,
         "audit": AUDIT}
# These run on every model: the shortest way through each stage, and the longest list. The other forms write the same figures, so a
# form that is slow with many models is found with a quarter of them. The names of model and form decide which quarter runs.
LIST = ["--by", "node", "--format", "csv"]
ALWAYS = {"count", "compare", " ".join(["count", *LIST])}
SHARE = 4


def most_seconds(name, command):
    """The limits of the promise for a call."""
    return SECONDS[command] * ABOVE.get(name, (1, 1))[0]


def most_memory(name, command):
    return (MEMORY_OF_TWO if command in ("diff", "check") else MEMORY) * ABOVE.get(name, (1, 1))[1]


class Counter:
    """Counts the instructions of one child and its children; opened before it runs the program."""

    HARDWARE, INSTRUCTIONS = 0, 1
    DISABLED, INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR, ENABLE_ON_EXEC = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 12
    SYSTEM_CALL = {"x86_64": 298, "aarch64": 241}

    def __init__(self, pid):
        attributes = ctypes.create_string_buffer(128)
        flags = self.DISABLED | self.INHERIT | self.EXCLUDE_KERNEL | self.EXCLUDE_HYPERVISOR | self.ENABLE_ON_EXEC
        struct.pack_into("=IIQ", attributes, 0, self.HARDWARE, len(attributes), self.INSTRUCTIONS)
        struct.pack_into("=Q", attributes, 40, flags)
        number = self.SYSTEM_CALL.get(os.uname().machine)
        call = ctypes.CDLL(None, use_errno=True).syscall
        self.fd = -1 if number is None else call(number, attributes, pid, -1, -1, 0)

    def read(self):
        """The count, or None where the kernel does not count."""
        if self.fd < 0:
            return None
        count = struct.unpack("=Q", os.read(self.fd, 8))[0]
        os.close(self.fd)
        return count or None


def run(command, out, err):
    """Exit code, instructions or None, seconds of processor time, and peak memory of a command."""
    ready, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.read(ready, 1)
            os.dup2(out, 1)
            os.dup2(err, 2)
            resource.setrlimit(resource.RLIMIT_AS, (HARD_MEMORY, HARD_MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (HARD_SECONDS, HARD_SECONDS))
            resource.setrlimit(resource.RLIMIT_FSIZE, (HARD_OUTPUT, HARD_OUTPUT))
            os.execv(command[0], command)
        finally:
            os._exit(127)
    os.close(ready)
    counter = Counter(pid)
    os.write(go, b"x")
    os.close(go)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), counter.read(), usage.ru_utime, usage.ru_maxrss << 10


class Stopwatch:
    """The seconds that a command takes on the machine of INSTRUCTIONS_PER_SECOND, whatever else this one does."""

    def __init__(self):
        self.calibrated, self.pace = 0.0, 1.0

    def measure(self, command, out, err, most):
        """Exit code, seconds, and peak memory of a command, and whether it took longer than `most`. A run that took too long is
        repeated, because other work on the machine can only make it slower, with the fixed work measured anew. `out` and `err` are the
        paths of the last run's output."""
        seconds, too_long = float("inf"), True
        for _ in range(TRIES):
            with open(out, "wb") as out_file, open(err, "wb") as err_file:
                code, instructions, cpu, memory = run(command, out_file.fileno(), err_file.fileno())
            seconds = min(seconds, instructions / INSTRUCTIONS_PER_SECOND if instructions else cpu / self.slowness())
            too_long = seconds > most * (1 if instructions else NOISE)
            if not too_long or seconds >= HARD_SECONDS:
                break
            self.calibrated = float("-inf")
        return code, seconds, memory, too_long

    def slowness(self):
        """How many times as long as on the machine of CALIBRATION_SECONDS a fixed piece of work takes now."""
        if time.monotonic() - self.calibrated > 10:
            with open(os.devnull, "wb") as null:
                _, _, cpu, _ = run([sys.executable, "-S", "-c", CALIBRATION], null.fileno(), null.fileno())
            self.pace, self.calibrated = cpu / CALIBRATION_SECONDS, time.monotonic()
        return self.pace


def models():
    """All models, by name. Not made in the measuring process, whose memory would count for its children."""
    return {name: make for module in MODULES for name, make in importlib.import_module(module).MODELS.items()}


def own(*arguments):
    """The standard output of this file, run with other arguments."""
    return subprocess.run([sys.executable, "-B", __file__, "-", *arguments], stdout=subprocess.PIPE, check=True).stdout


class Maker:
    """A process that writes models into a file, one after another."""

    def __init__(self, path):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([sys.executable, "-B", __file__, "-", "--serve", path], stdin=pipe, stdout=pipe, text=True)

    def make(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != "made\n":
            raise RuntimeError(f"{name} is not made")

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def serve(path):
    """The process that Maker runs."""
    made = models()
    for line in sys.stdin:
        with open(path, "wb") as file:
            file.write(made[line.rstrip("\n")]())
        print("made", flush=True)


def nodes_to_explain(table):
    """The costliest node and the last one, of a table of nodes as CSV."""
    csv.field_size_limit(HARD_OUTPUT)
    costliest, last, most = None, None, (-1, -1)
    with open(table, newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            flops = row["flops"] or "0"
            cost = (len(flops), int(flops)) if flops.isdigit() else (len(flops), 0)
            last = row["node"]
            if cost > most:
                costliest, most = last, cost
    return [n for n in dict.fromkeys((costliest, last)) if n and len(n) < 100_000]


def is_due(name, command, options):
    """Whether a model and a form are in each other's quarter."""
    form = " ".join([command, *options])
    return form in ALWAYS or zlib.crc32(f"{name} {form}".encode()) % SHARE == 0


class Hunt:
    def __init__(self, program, names, only, everything, every_form):
        self.program, self.only, self.everything, self.every_form = program, only, everything, every_form
        self.jobs = queue.SimpleQueue()
        for name in names:
            self.jobs.put(name)
        self.faults, self.runs = [], 0
        self.lock = threading.Lock()
        self.worst = {command: {"seconds": (0, ""), "memory": (0, ""), "output": (0, "")} for command in SECONDS}

    def work(self):
        """Takes models until there are none."""
        with tempfile.TemporaryDirectory() as folder:
            worker = Worker(self, folder)
            try:
                while not self.jobs.empty():
                    worker.model(self.jobs.get_nowait())
            except queue.Empty:  # the other took the last
                pass
            finally:
                worker.maker.close()

    def note(self, command, what, measured, faults):
        with self.lock:
            self.runs += 1
            for key, value in measured.items():
                self.worst[command][key] = max(self.worst[command][key], (value, what))
            for fault in faults:
                self.faults.append(f"{what}: {fault}")
                print(f"{what}: {fault}", flush=True)
            if self.everything:
                print(f"{what}: {measured['seconds']:.2f} s, {measured['memory'] >> 20} MiB, {measured['output']:,} bytes", flush=True)


class Worker:
    def __init__(self, hunt, folder):
        self.hunt = hunt
        self.path, self.out, self.err = (os.path.join(folder, name) for name in ("model.onnx", "out", "err"))
        self.files = {SELF: self.path, BUDGETS_FILE: os.path.join(folder, "budgets.toml"), COPY: os.path.join(folder, "copy.onnx")}
        self.stages = os.path.join(folder, "stages.toml")
        self.files[STAGES_FILE] = self.stages
        self.files |= {FIGURE: os.path.join(folder, "figure.csv"), FIGURE_OF_STAGES: os.path.join(folder, "stages.csv")}
        figures = [(self.files[FIGURE], "name,model,figure\nx,model.onnx,4.1 GMACs\n"),
                   (self.files[FIGURE_OF_STAGES], "name,model,figure,dim\nx,stages.toml,4.1 GMACs,images=2\n")]
        for path, text in ((self.files[BUDGETS_FILE], BUDGETS), (self.stages, STAGES), *figures):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        self.stopwatch = Stopwatch()
        self.maker = Maker(self.path)

    def model(self, name):
        """Every command on one model. If `count` refuses a model, the others refuse it in the same place; only some of them run then."""
        self.maker.make(name)
        size = os.path.getsize(self.path)
        if size >= MODEL:
            self.hunt.note("count", name, {"seconds": 0, "memory": 0, "output": 0}, [f"a model of {size:,} bytes, which no promise is about"])
        refused, explained = False, []
        for command, forms in FORMS.items():
            for options in self.forms(name, command, forms):
                if options and options != LIST and refused and not self.hunt.everything:
                    continue
                code = self.command(name, command, options)
                if command == "count" and not options:
                    refused = code == 2
                if options == LIST and code == 0:
                    explained = nodes_to_explain(self.out)
        for n in explained:
            self.command(name, "explain", [n])

    def forms(self, name, command, forms):
        """Those of a command that run on a model."""
        return forms if self.hunt.every_form or self.hunt.only else [f for f in forms if is_due(name, command, f)]

    def command(self, name, command, options):
        """Runs a command. Returns its exit code; None for what --only leaves out."""
        what = f"{name}: {command} {' '.join(o[:60] for o in options)}".rstrip()
        if self.hunt.only and not any(text in what for text in self.hunt.only):
            return None
        of = {"pipeline": [self.stages], "audit": []}.get(command, [self.path])  # an audit names its model among the options
        limit, room = command, most_memory(name, command)
        if STAGES_FILE in options:  # two comparisons: of any sizes, and of those of the stages
            of, limit, room = [], "pipeline", most_memory(name, "diff")
        words = [self.hunt.program, command, *of, *(self.files.get(o, o) for o in options)]
        code, seconds, memory, too_long = self.stopwatch.measure(words, self.out, self.err, most_seconds(name, limit))
        measured = {"seconds": seconds, "memory": memory, "output": os.path.getsize(self.out)}
        faults = [] if code in (0, 1, 2) else [f"exit code {code}"]
        faults += [f"{seconds:.2f} s"] if too_long else []
        faults += [f"{memory >> 20} MiB"] if memory > room else []
        faults += [f"{measured['output']:,} bytes of output"] if measured["output"] > OUTPUT else []
        faults += ["an error of more bytes than that"] if os.path.getsize(self.err) > ERRORS else []
        self.hunt.note(command, what, measured, faults)
        return code


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--every-form", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--serve", metavar="PATH")
    arguments = parser.parse_args()
    if arguments.write:
        sys.stdout.buffer.write(models()[arguments.write]())
        return 0
    if arguments.serve:
        serve(arguments.serve)
        return 0
    if arguments.names:
        print("\n".join(models()))
        return 0
    names = own("--names").decode().split()
    chosen = [n for n in names if n in arguments.only]
    hunt = Hunt(os.path.abspath(arguments.program), chosen or names, [] if chosen else arguments.only, arguments.all, arguments.every_form or bool(chosen))
    workers = [threading.Thread(target=hunt.work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for command, worst in hunt.worst.items():
        for key, (value, what) in worst.items():
            print(f"most {key} of {command}: {value:,.2f} in {what}")
    print(f"{len(names)} models, {hunt.runs} runs, {len(hunt.faults)} faults")
    return 1 if hunt.faults else 0


if __name__ == "__main__":
    sys.exit(main())
