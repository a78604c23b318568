#!/usr/bin/env python3
"""What the program does with the pipes, files and signals around it: program_test.py PROGRAM, run at the root of the repository."""

import collections
import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
ROOT = os.path.abspath(".")
MODELS = {
    "M": os.path.abspath("models/lstm.static.onnx"),
    "C": os.path.abspath("models/custom-op.onnx"),
    "R": os.path.abspath("models/custom-op.toml"),
    "T": os.path.abspath("tests/data/text/layer.onnxtxt"),
}
NO_WRITER = "a named pipe that no program writes to (waited 2 s, pipe-wait-ms); start the writer first"


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def shell(self, command, code=0, error=""):
        """Standard output of a command of bash in a folder of its own, held to its exit code and error message."""
        script = f'set -o pipefail; onnxflops() {{ "{PROGRAM}" "$@"; }}; {command}'
        run = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env={**os.environ, **MODELS}, capture_output=True, text=True, timeout=120
        )
        self.assertEqual((run.returncode, run.stderr), (code, error and f"onnxflops: {error}\n"), command)
        return run.stdout

    def totals(self, command):
        return re.findall(r"^(?:FLOPs|params) .*", self.shell(command), re.MULTILINE)


HELPS = ("count", "compare", "explain", "diff", "check", "mfu", "ops", "devices", "profile", "audit", "history", "cite", "completion")


class CiteTest(ProgramTest):
    def test_facts_are_those_of_the_citation_file(self):
        with open(os.path.join(ROOT, "CITATION.cff"), encoding="utf-8") as file:
            facts = dict(re.findall(r'^(\w[\w-]*): "?(.*?)"?$', file.read(), re.MULTILINE))
            file.seek(0)
            authors = re.findall(r'- name: "(.*)"', file.read())
        entry = " ".join(self.shell("onnxflops cite").split())
        for fact in (facts["title"], facts["version"], facts["license"], facts["date-released"], *authors):
            self.assertIn(fact.rstrip("."), entry)
        self.assertIn(facts["message"].rstrip("."), entry)
        self.assertIn(f"year = {{{facts['date-released'][:4]}}}", entry)


class NarrowTest(ProgramTest):
    """Every line keeps to a narrow terminal, whatever names are in it."""

    LONG = "a" * 300

    def held(self, command, width):
        for line in self.shell(f"COLUMNS={width} onnxflops {command}").splitlines():
            self.assertLessEqual(len(line), width, f"{command}: {line}")

    def test_tables(self):
        root = os.path.join(ROOT, "models")
        for width in (60, 80):
            for command in (
                "ops",
                "explain LSTM",
                "explain Attention",
                "compare --list",
                f"explain {root}/clip-vit-l-14-336.onnx visual",
                f"diff {root}/resnet50.onnx {root}/deployed/resnet50.qdq_s8.onnx",
                f"audit {ROOT}/tests/data/audit/published.csv",
                f"{root}/lstm.onnx {root}/custom-op.onnx",
                f"compare {root}/lstm.onnx {root}/lstm.static.onnx",
                f"profile {root}/resnet50.onnx {ROOT}/tests/data/profile/resnet50.profile.json --peak 1e11",
            ):
                self.held(command, width)

    def test_names_longer_than_a_line(self):
        text = '<ir_version: 8, opset_import: ["": 17]> g (float[NAMEn,4] NAMEx) => (float[NAMEn,4] y) { y = Relu(NAMEx) }'
        with open(os.path.join(self.folder, "a.onnxtxt"), "w", encoding="utf-8") as file:
            file.write(text.replace("NAME", self.LONG))
        for command in ("count", "count --by node", "count --top 1", "explain", "compare", "compare --with macs"):
            self.held(f"{command} a.onnxtxt{' y' if command == 'explain' else ''}", 60)


class StrictTest(ProgramTest):
    MODEL = """<ir_version: 8, opset_import: ["": 17]> g (float[4,4] x) => (float[2,n] y)
    { i = NonZero(x)  f = Cast<to = 1>(i)  y = Relu(f) }"""

    def test_a_size_that_depends_on_data(self):
        with open(os.path.join(self.folder, "a.onnxtxt"), "w", encoding="utf-8") as file:
            file.write(self.MODEL)
        text = self.shell("onnxflops a.onnxtxt")
        self.assertRegex(text, r"(?m)^range +at least 16 FLOPs, at most 48 +from 1 size that depends on data\b")
        name = re.search(r"(?m)^[| ]*(nonzero\S*)  axis", text)
        error = "--strict: a.onnxtxt: open: 1 size that depends on data; --dim sets sizes, --upper counts at their upper bounds"
        self.shell("onnxflops a.onnxtxt --strict | cat", 1, error)
        self.shell("onnxflops a.onnxtxt --strict --upper")
        self.shell(f"onnxflops a.onnxtxt --strict --dim '{name[1]}=3'")


class InputTest(ProgramTest):
    def test_a_model_comes_through_any_pipe(self):
        expected = self.totals("onnxflops $M")
        self.assertEqual(len(expected), 2)
        for command in (
            "cat $M | onnxflops -",
            "onnxflops - < $M",
            "onnxflops /dev/stdin < $M",
            "cat $M | onnxflops /dev/stdin",
            "onnxflops <(cat $M)",
            "onnxflops <(sleep 3; cat $M)",
            "(sleep 3; cat $M) | onnxflops -",
            "mkfifo a; cat $M > a & onnxflops a; wait",
            "mkfifo b; { sleep 0.5; cat $M > b; } & onnxflops b; wait",
        ):
            self.assertEqual(self.totals(command), expected, command)

    def test_text_and_rules_come_through_pipes(self):
        text, rules = self.totals("onnxflops $T"), self.totals("onnxflops $C --rules $R")
        self.assertEqual(self.totals("mkfifo a.onnxtxt; cat $T > a.onnxtxt & onnxflops a.onnxtxt; wait"), text)
        self.assertEqual(self.totals("onnxflops $C --rules <(cat $R)"), rules)
        self.assertEqual(self.totals("cat $R | onnxflops $C --rules /dev/stdin"), rules)

    def test_a_named_pipe_without_a_writer_is_refused(self):
        self.shell("mkfifo a a.onnxtxt")
        self.shell("onnxflops count a", 2, f"a: {NO_WRITER}")
        self.shell("onnxflops compare a", 2, f"a: {NO_WRITER}")
        self.shell("onnxflops explain a x", 2, f"a: {NO_WRITER}")
        self.shell("onnxflops count a.onnxtxt", 2, f"a.onnxtxt: {NO_WRITER}")
        self.shell("onnxflops count $C --rules a", 2, f"--rules 'a': {NO_WRITER}")
        self.shell("onnxflops ops --rules a", 2, f"--rules 'a': {NO_WRITER}")

    def test_what_holds_no_model_and_no_rules(self):
        self.shell("onnxflops <(true)", 2, "/dev/fd/63: is empty")
        self.shell("mkfifo a; : > a & onnxflops a", 2, "a: is empty")
        self.shell("onnxflops - <&-", 2, "standard input: cannot be read: Bad file descriptor")
        self.shell("onnxflops ops --rules /dev/null", 2, "--rules '/dev/null': is a device, not a file")
        self.shell("onnxflops monitor $C --peak 1e12 --log /dev/zero", 2, "--log /dev/zero: is a device, not a file")
        self.shell("onnxflops ops --rules /", 2, "--rules '/': is a directory, not a file")


def terminal():
    """Both ends of a pseudo-terminal. Skipped if /dev/pts is not mounted, as in a bare chroot."""
    try:
        return os.openpty()
    except OSError as error:
        raise unittest.SkipTest(f"no pseudo-terminals here: {error}") from error


def all_of(master):
    """All output of a pseudo-terminal until its other end is closed; one read returns at most 4 KiB."""
    shown = b""
    try:
        while part := os.read(master, 1 << 16):
            shown += part
    except OSError:
        pass  # the other end is closed
    os.close(master)
    return shown


class ColorTest(ProgramTest):
    def sequences(self, **variables):
        """How many lines of a table on a terminal hold an escape sequence."""
        master, slave = terminal()
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR")} | {"TERM": "xterm"} | variables
        subprocess.run([PROGRAM, MODELS["M"], "--depth", "0"], cwd=self.folder, env=env, stdout=slave, check=True, timeout=60)
        os.close(slave)
        return sum(b"\x1b[" in line for line in all_of(master).split(b"\n"))

    def test_a_terminal_has_color_unless_it_is_switched_off(self):
        self.assertGreater(self.sequences(), 0)
        self.assertEqual((self.sequences(NO_COLOR="1"), self.sequences(CLICOLOR="0")), (0, 0))


class WidthTest(ProgramTest):
    """Every screen keeps to the width of its terminal."""

    CALLS = (
        "count models/clip-vit-l-14-336.onnx",
        "count models/maskrcnn-r50.onnx",
        "count models/maskrcnn-r50.onnx --upper --top 5",
        "count models/resnet50.onnx models/gpt2.onnx",
        "count models/gpt2.onnx --dim batch=1,seq=1..40",
        "compare models/clip-vit-l-14-336.onnx",
        "compare models/gpt2.onnx --with thop",
        "compare models/lstm.static.onnx --with all",
        "compare models/resnet50.onnx models/gpt2.onnx",
        "explain models/resnet50.onnx layer1.0",
        "explain models/resnet50.onnx /conv1/Conv",
        "explain models/gpt2.onnx /m/transformer/h.0/attn/c_attn/Gemm",
        "audit tests/data/audit/published.csv",
        "ops",
        "--help",
        *(f"{command} --help" for command in HELPS),
    )

    def screen(self, call, columns):
        master, slave = terminal()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")} | {"TERM": "xterm"}
        with subprocess.Popen([PROGRAM, *call.split()], cwd=ROOT, env=env, stdout=slave, stderr=subprocess.PIPE) as run:
            os.close(slave)
            shown = all_of(master)
            error = run.stderr.read().decode()
        self.assertEqual((run.returncode, error), (0, ""), call)
        return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).splitlines()

    def test_a_screen_holds_what_a_user_came_for(self):
        """Whoever looks at 24 lines sees the totals, and the line of the next command."""
        for call in (
            "models/resnet50.onnx",
            "models/clip-vit-l-14-336.onnx --dim batch=1",
            "models/deployed/mobilenet_v3_large.qdq_u8_ort_all.onnx",
            "models/gpt2.onnx --dim batch=8,seq=512",
            "compare models/openclip224-vit-l-14-336-visual.onnx --with thop",
            "models/deployed/llama_tiny_gqa.genai_int4.onnx --prefill 512 --decode 1@512",
            "check models/resnet50.onnx --max flops=9GFLOP --max layer*:macs=1.5GMAC",
        ):
            for columns in (80, 200):
                self.assertLess(len(self.screen(call, columns)), 24, f"{call} at {columns} columns")

    def test_no_line_is_wider_than_the_terminal(self):
        for columns in (60, 80, 120, 200):
            for call in self.CALLS[: 2 if columns < 80 else None]:
                wide = [line for line in self.screen(call, columns) if len(line) > columns]
                self.assertEqual(wide, [], f"{call} at {columns} columns")


class ManyModelsTest(ProgramTest):
    def test_threads_do_not_change_what_is_printed(self):
        self.shell("mkdir m; for i in 1 2 3 4 5 6 7 8 9; do cp $M m/$i.onnx; cp $C m/c$i.onnx; done; echo x > m/bad.onnx; : > m/empty.onnx")
        run = lambda jobs: subprocess.run([PROGRAM, "m", "-j", jobs], cwd=self.folder, capture_output=True, text=True, timeout=60)
        one, many = run("1"), run("16")
        self.assertEqual((one.returncode, one.stdout, one.stderr), (many.returncode, many.stdout, many.stderr))
        self.assertEqual(one.returncode, 2)
        self.assertEqual([line.split(":")[1].strip() for line in one.stderr.splitlines()[:-1]], ["m/bad.onnx", "m/empty.onnx"])
        names = re.findall(r"^\| m/(\S+)", one.stdout, re.MULTILINE)
        self.assertEqual(names, sorted(names))
        self.assertEqual(len(names), 18)

    def test_a_terminal_shows_progress_and_then_nothing_of_it(self):
        self.shell("mkdir m; for i in {1..400}; do cp $M m/$i.onnx; done")
        master, slave = terminal()
        with open(os.path.join(self.folder, "rows"), "w+b") as rows:
            call = [PROGRAM, "m", "--format", "jsonl", "-j", "1"]
            with subprocess.Popen(call, cwd=self.folder, stdout=rows, stderr=slave) as run:
                os.close(slave)
                shown = all_of(master).decode()  # empty where it was done before the first bar
            rows.seek(0)
            self.assertEqual((run.returncode, rows.read().count(b"\n")), (0, 400))
        self.assertRegex(shown, r"^((\r\[#* *\] \d+ of 400 models)+\r\x1b\[K)?$")


class PrintTest(ProgramTest):
    CALLS = (
        "count M",
        "count M --by node --format json",
        "count M --strict -o /dev/stdout",
        "compare M",
        "compare M --with thop --format markdown",
        "compare --list",
        "explain M /o/MatMul",
        "explain Conv",
        "ops",
        "--version",
        "--help",
        "count --help",
        "count M C",
        "count M --dim x=1,2 --help",
        "help count",
        "compare --help",
        "explain --help",
        "ops --help",
    )

    def run_without_reader(self, call, **options):
        reader, writer = os.pipe()
        os.close(reader)
        arguments = [MODELS.get(word, word) for word in call.split()]
        run = subprocess.run([PROGRAM, *arguments], stdout=writer, stderr=subprocess.PIPE, timeout=60, **options)
        os.close(writer)
        return run.returncode, run.stderr

    def test_nothing_is_said_when_the_reader_has_gone(self):
        ignore = lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        for call in self.CALLS:
            self.assertEqual(self.run_without_reader(call), (-signal.SIGPIPE, b""), call)
            self.assertEqual(self.run_without_reader(call, preexec_fn=ignore), (-signal.SIGPIPE, b""), call)

    def test_head(self):
        self.assertEqual(self.shell("onnxflops ops --format json | head -3", 128 + signal.SIGPIPE).count("\n"), 3)

    def test_other_faults_are_reported(self):
        for call in ("count $M", "--help", "ops", "compare --list", "--version"):
            self.shell(f"onnxflops {call} > /dev/full", 2, "cannot write to standard output: No space left on device")
            self.shell(f"onnxflops {call} >&-", 2, "cannot write to standard output: Bad file descriptor")

    def test_closed_streams_are_no_files(self):
        self.shell("onnxflops $T -o out <&- >&- 2>&-; onnxflops $T > expected; cmp out expected")


class OutputFileTest(ProgramTest):
    def test_no_command_writes_over_what_it_reads(self):
        self.shell("cp $M m; cp $C c; cp $R r; sha256sum m c r > sums; ln m hard; ln -s m link")
        for call, where, what in (
            ("count m -o m", "'m'", "the input 'm'"),
            ("count c m -o ./hard", "'./hard'", "the input 'm'"),
            ("m --format json -o link", "'link'", "the input 'm'"),
            ("- -o m < m", "'m'", "standard input"),
            ("m >> m", "standard output", "the input 'm'"),
            ("compare link -o m", "'m'", "the input 'link'"),
            ("explain m /o/MatMul -o m", "'m'", "the input 'm'"),
            ("count c --rules r -o r", "'r'", "the input 'r'"),
            ("explain Conv --rules r -o r", "'r'", "the input 'r'"),
            ("ops --rules r -o r", "'r'", "the input 'r'"),
        ):
            self.shell(f"onnxflops {call}", 2, f"cannot write to {where}: it is the same file as {what}")
        for call in ("count m", "compare m", "compare --list", "explain Conv", "ops"):
            self.shell(f"onnxflops {call} -o c", 2, "cannot write to 'c': it is an ONNX model; delete it first, or give another name")
        self.shell("sha256sum --quiet -c sums")

    def test_places(self):
        report = self.shell("onnxflops $M")
        self.assertEqual(self.shell("onnxflops $M -o /dev/null"), "")
        self.assertEqual(self.shell("onnxflops $M -o /dev/stdout"), report)
        self.assertEqual(self.shell("onnxflops $M -o /dev/stdout | cat"), report)
        self.assertEqual(self.shell("{ echo head; onnxflops $M -o /dev/stdout; } > a; cat a"), "head\n" + report)
        self.assertEqual(self.shell("onnxflops $M -o >(cat > b); sleep 0.5; cat b"), report)
        self.assertEqual(self.shell("mkfifo p; onnxflops $M -o p & cat p"), report)
        self.assertEqual(self.shell("echo old > c; onnxflops $M -o ./-; mv ./- c; cat c"), report)

    def test_places_that_cannot_be_written(self):
        self.shell("mkdir d; mkfifo p")
        for where, why in (
            ("d", "Is a directory"),
            ("d/", "Is a directory"),
            ("new/", "No such file or directory"),
            ("none/a", "No such file or directory"),
            ("/dev/full", "No space left on device"),
            ("p", "it is a named pipe that no program reads from (waited 2 s); start the reader first"),
        ):
            self.shell(f"onnxflops $M -o {where}", 2, f"cannot write to '{where}': {why}")
        self.assertEqual(self.shell("ls -A . d"), ".:\nd\np\n\nd:\n")

    def test_a_signal_leaves_a_whole_file_or_none(self):
        whole = self.shell("onnxflops $M --by node --format json -o whole; cat whole")
        for number in (signal.SIGINT, signal.SIGUSR1, signal.SIGALRM, signal.SIGKILL):
            for milliseconds in range(0, 10):
                path = os.path.join(self.folder, "new")
                run = subprocess.Popen([PROGRAM, MODELS["M"], "--by", "node", "--format", "json", "-o", path])
                time.sleep(milliseconds / 1000)
                run.send_signal(number)
                self.assertIn(run.wait(), (0, -number))
                self.assertLessEqual({*os.listdir(self.folder)}, {"new", "whole"})
                if os.path.exists(path):
                    with open(path, encoding="utf-8") as file:
                        self.assertEqual(file.read(), whole)
                    os.remove(path)


class DevicesTest(ProgramTest):
    def test_json_and_the_table_of_a_device_say_the_same(self):
        devices = json.loads(self.shell("onnxflops devices --format json"))["devices"]
        listed = [line.split(",")[0].strip('"') for line in self.shell("onnxflops devices --format csv").splitlines()[1:]]
        self.assertEqual([device["name"] for device in devices], listed)
        for device in devices:
            text = " ".join(re.sub(r"(?m)^\|", "", self.shell(f"onnxflops devices {device['name']}")).split())
            facts = [device["title"], *device["aliases"], device["memory_source"], device["note"]]
            numbers = {"memory_bytes": "bytes of memory", "bytes_per_second": "bytes per second"}
            facts += [f"{device[key]:,} {unit}" for key, unit in numbers.items() if device[key] is not None]
            facts += [peak["source"] for peak in device["peaks"]]
            self.assertEqual([fact for fact in facts if " ".join(fact.split()) not in text], [], device["name"])
            for peak in device["peaks"]:
                shown = [float(number) for number in re.findall(rf"\b{peak['dtype']} ([0-9.]+) ", text)]
                self.assertTrue(any(abs(number * 1e12 / peak["flops_per_second"] - 1) < 0.001 for number in shown), peak)


class HelpTest(ProgramTest):
    def test_no_option_of_the_short_form_says_only_its_name(self):
        """Half a sentence about an option is not help: "Use color.", "Causal attention."."""
        for command in ("count", "check", "mfu", "pipeline"):
            text = self.shell(f"onnxflops {command} --help")
            said = dict(re.findall(r"(?m)^  (--[a-z-]+)(?: \S+)? {2,}(\S.*)$", text))
            for name in {"--color", "--causal", "--attention", "--recompute", "--cu-seqlens"} & said.keys():
                self.assertGreater(len(said[name].split()), 4, (command, name, said[name]))


class CompletionTest(ProgramTest):
    COMMANDS = ("count", "compare", "explain", "ops", "audit", "completion")

    def complete(self, *words):
        """Bash's completions of the last word."""
        line = " ".join(f"'{word}'" for word in words)
        script = f"source <(onnxflops completion bash); COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _onnxflops; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return self.shell(script).split()

    def test_every_option_is_in_each(self):
        spelled = {
            "bash": lambda name: rf"[\" ]{name}[\" ]",
            "zsh": lambda name: rf"'\*?{name}\[",
            "fish": lambda name: rf" -[ls] {name.lstrip('-')} ",
            "man": lambda name: rf"(?m)^\.B {re.escape(name.replace('-', chr(92) + '-'))}( |$)",
        }
        for form, pattern in spelled.items():
            text = self.shell(f"onnxflops completion {form}")
            for command in self.COMMANDS:
                names = re.findall(r"(?m)^  (--?[a-z-]+)", self.shell(f"onnxflops {command} --help"))
                for name in set(names) - {"-h"}:
                    self.assertRegex(text, pattern(name), (form, command))

    def test_the_man_page_has_all_of_the_help(self):
        """Word for word, under the heading of each command; what breaks lines and marks options aside."""

        def words(text):
            return collections.Counter(re.sub(r"\\f[IRB]|\\(?=-)", "", text.replace("\\e", "\\")).split())

        sections = re.split(r"(?m)^\.SH ", self.shell("onnxflops completion man"))
        sections = dict(re.findall(r"(?s)^ONNXFLOPS (\w+)\n(.*)", section)[0] for section in sections if section.startswith("ONNXFLOPS "))
        self.assertEqual(sorted(sections), sorted({*HELPS, "estimate", "monitor", "pipeline"}))
        for command, section in sections.items():
            text = re.sub(r"(?m) \(\w+\):$", "", self.shell(f"onnxflops {command} --help all"))
            headings = {"usage:": 1, "Options:": 1, "Help:": 1, "-h": 1}
            self.assertEqual(words(text) - words(section) - collections.Counter(headings), {}, command)

    def test_bash_offers_what_fits(self):
        self.shell("mkdir d; touch d/a.onnx model.onnx")
        self.assertEqual(self.complete("onnxflops", "co"), ["count", "compare", "completion"])
        self.assertEqual(self.complete("onnxflops", "mo"), ["monitor", "model.onnx"])
        self.assertEqual(self.complete("onnxflops", "mod"), ["model.onnx"])
        self.assertEqual(self.complete("onnxflops", "count", "--by", ""), ["module", "op", "node"])
        self.assertEqual(self.complete("onnxflops", "model.onnx", "--by", "n"), ["node"])
        self.assertEqual(self.complete("onnxflops", "compare", "model.onnx", "--by", ""), ["module"])
        self.assertEqual(self.complete("onnxflops", "count", "model.onnx", "--redact"), ["--redact-names"])
        self.assertEqual(self.complete("onnxflops", "compare", "model.onnx", "--redact"), [])
        self.assertEqual(self.complete("onnxflops", "count", "--convention", "tho"), ["thop"])
        self.assertEqual(self.complete("onnxflops", "count", "d/"), ["d/a.onnx"])
        self.assertEqual(self.complete("onnxflops", "count", "--dim", ""), [])
        self.assertEqual(self.complete("onnxflops", "count", "--device", "h1"), ["h100-sxm", "h100-pcie"])
        self.assertEqual(self.complete("onnxflops", "count", "--sort", "mac"), ["macs"])
        self.assertEqual(self.complete("onnxflops", "explain", "ConvT"), ["ConvTranspose"])
        self.assertEqual(self.complete("onnxflops", "explain", MODELS["M"], "r"), ["r"])
        self.assertEqual(self.complete("onnxflops", "mfu", "model.onnx", "--device", "h1"), ["h100-sxm", "h100-pcie"])

    def test_bash_offers_modules_of_the_model(self):
        model = os.path.join(ROOT, "models", "resnet50.onnx")
        for words in (("count", model, "--module"), (model, "--module"), ("mfu", model, "--frozen"), ("count", "--rules", "none", model, "--trained")):
            self.assertEqual(self.complete("onnxflops", *words, "layer1.0.c"), ["layer1.0.conv1", "layer1.0.conv2", "layer1.0.conv3"], words)
        self.assertEqual(self.complete("onnxflops", "count", "--module", "layer"), [])

    def test_bash_completes_the_last_of_a_list(self):
        self.assertEqual(self.complete("onnxflops", "compare", "model.onnx", "--with", "thop,fvcore-t"), ["thop,fvcore-torch1"])
        self.assertEqual(self.complete("onnxflops", "count", "model.onnx", "--columns", "flops,mac"), ["flops,macs"])


if __name__ == "__main__":
    unittest.main()
