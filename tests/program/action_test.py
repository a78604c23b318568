#!/usr/bin/env python3
"""The GitHub Action, as a runner would run it: action.yml with a released program from a server, where no compiler is.

    action_test.py PROGRAM

The runner here knows what action.yml uses of a composite action: inputs, outputs of steps, `env`, `if`, GITHUB_PATH.
"""
import functools
import hashlib
import http.server
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(sys.argv[1])
VERSION = "1.2.3"
# The programs that a step may call; there is no compiler.
TOOLS = ("bash basename cat chmod cp curl cut dirname git grep gzip head jq mkdir mktemp python3 readlink rm sed sha256sum sort tail tar touch tr "
         "uname").split()
FAULTS = []


def expect(condition, what):
    if not condition:
        FAULTS.append(what)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def scalar(text):
    text = re.sub(r"\s+# .*$", "", text).strip()
    quoted = re.fullmatch(r"'(.*)'|\"(.*)\"", text)
    return (quoted[1] or quoted[2] or "") if quoted else text


def inputs_of(action):
    """Their defaults."""
    part = re.search(r"(?ms)^inputs:\n(.*?)^outputs:", action)[1]
    return {name: scalar(default) for name, default in re.findall(r"(?ms)^  ([\w-]+):\n.*?^    default: (.*?)$", part)}


def steps_of(action):
    """Each as a dict; `env` is one, and `run` a text."""
    steps = []
    for text in re.split(r"(?m)^    - ", action.split("\n  steps:\n")[1])[1:]:
        text = "      " + text
        step = {key: scalar(value) for key, value in re.findall(r"(?m)^      (\w+): *(?!\|$)([^\n]*)$", text)}
        block = re.search(r"(?m)^      run: \|\n((?:        .*\n|\n)+)", text)
        if block:
            step["run"] = re.sub(r"(?m)^        ", "", block[1])
        env = re.search(r"(?m)^      env:.*\n((?:        .*\n?)+)", text)
        step["env"] = {key: scalar(value) for key, value in re.findall(r"(?m)^        (\w+): (.*)$", env[1])} if env else {}
        steps.append(step)
    return steps


class Runner:
    """Of one job in one checkout."""

    def __init__(self, folder, checkout, action):
        self.folder, self.checkout, self.action = folder, checkout, action
        self.tools = os.path.join(folder, "tools")
        os.mkdir(self.tools)
        for name in TOOLS:
            os.symlink(shutil.which(name), os.path.join(self.tools, name))
        # Keeps what the Action sends to GitHub.
        write(os.path.join(self.tools, "gh"), f'#!/bin/bash\necho "$@" >>{folder}/gh\ncat >>{folder}/gh\n', 0o755)

    def run(self, github, **given):
        """The exit code of the first step that fails, the outputs by "STEP.NAME", and all that was printed."""
        action = read(os.path.join(self.action, "action.yml"))
        values = {"github." + name: value for name, value in github.items()}
        values.update({"inputs." + name: self.fill(default, values) for name, default in inputs_of(action).items()})
        values.update({"inputs." + name.replace("_", "-"): value for name, value in given.items()})
        path, printed, temporary = [], "", tempfile.mkdtemp(dir=self.folder)
        for step in steps_of(action):
            if "if" in step and not self.holds(step["if"], values):
                continue
            files = {name: os.path.join(temporary, name) for name in ("GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
            for name in files.values():
                write(name, "")
            environment = {"PATH": ":".join([*path, self.tools]), "HOME": temporary, "RUNNER_TEMP": temporary, "GITHUB_ACTION_PATH": self.action,
                           "GIT_CONFIG_GLOBAL": "/dev/null", **files, **{key: self.fill(text, values) for key, text in step["env"].items()}}
            done = subprocess.run(["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]], cwd=self.checkout, env=environment,
                                  capture_output=True, text=True, check=False)
            printed += done.stdout + done.stderr
            path = read(files["GITHUB_PATH"]).split() + path
            for line in read(files["GITHUB_OUTPUT"]).splitlines():
                name, _, value = line.partition("=")
                values[f"steps.{step.get('id')}.outputs.{name}"] = value
            if done.returncode != 0:
                return done.returncode, values, printed
        return 0, values, printed

    @staticmethod
    def fill(text, values):
        return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: values.get(found[1], ""), text)

    @staticmethod
    def holds(condition, values):
        """Of comparisons that are joined by &&, or of such by ||."""
        if "||" in condition:
            return any(Runner.holds(part, values) for part in condition.split("||"))
        def value(word):
            return word.strip()[1:-1] if word.strip().startswith("'") else values.get(word.strip(), "")
        for part in condition.split("&&"):
            words = re.split(r"([!=]=)", part)
            if not (value(words[0]) if len(words) == 1 else (value(words[0]) == value(words[2])) == (words[1] == "==")):
                return False
        return True


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    """An address that hands out a folder."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def release(folder):
    """As tools/release makes it; gives its SHA-256."""
    name = f"onnxflops-{VERSION}-linux-x86_64"
    os.makedirs(os.path.join(folder, "v" + VERSION))
    path = os.path.join(folder, "v" + VERSION, name + ".tar.gz")
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        archive.add(PROGRAM, f"{name}/bin/onnxflops")
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def git(*arguments, cwd):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments], cwd=cwd, check=True, capture_output=True)


def pull_request(folder):
    """Makes ten models, one above its budget; returns the base."""
    os.mkdir(folder)
    git("-c", "init.defaultBranch=main", "init", "-q", ".", cwd=folder)
    models = ["bert-base", "clip-vit-b-32", "clip-vit-l-14-336", "gpt2", "llama-tiny", "lstm", "mobilenet-v3-large", "resnet50", "t5-small", "vit-b-16"]
    for name in models:
        shutil.copy(os.path.join(ROOT, "models", name + ".onnx"), folder)
    write(os.path.join(folder, "onnxflops.toml"), '[budget]\nflops = "+2%"\n')
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "base", cwd=folder)
    shutil.copy(os.path.join(ROOT, "models", "resnet50.onnx"), os.path.join(folder, "mobilenet-v3-large.onnx"))
    git("commit", "-qam", "head", cwd=folder)
    return subprocess.run(["git", "rev-parse", "HEAD~1"], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def copy_action(folder):
    """Where a runner keeps it."""
    action = os.path.join(folder, "_actions", "someone", "onnxflops", "v1")
    os.makedirs(os.path.join(action, "tools"))
    shutil.copy(os.path.join(ROOT, "action.yml"), action)
    shutil.copytree(os.path.join(ROOT, "tools", "ci"), os.path.join(action, "tools", "ci"))
    return action


def test_released_program(runner, github, releases, digest):
    begin = time.monotonic()
    code, values, printed = runner.run(github, version=VERSION, sha256=digest, releases=releases, github_token="t")
    print(f"the steps of ten models took {time.monotonic() - begin:.1f} s")
    expect(code == 1 and values["steps.review.outputs.passed"] == "false", f"a broken budget: {code} {printed}")
    comment = read(os.path.join(runner.checkout, values["steps.review.outputs.comment-file"]))
    expect("1 of 10 budgets failed in 1 of 10 models" in comment, f"the comment: {comment[:300]}")
    sent = read(os.path.join(runner.folder, "gh"))
    expect("repos/someone/models/issues/12/comments" in sent and "1 of 10 budgets" in sent, f"what is sent: {sent[:300]}")
    code, values, _ = runner.run(github, version=VERSION, sha256=digest, releases=releases, fail_on_alert="false", comment="false")
    expect(code == 0 and values["steps.review.outputs.passed"] == "false", f"fail-on-alert: {code}")
    expect(read(os.path.join(runner.folder, "gh")) == sent, "comment: false sends one")
    # A gate that is set wrongly is no open gate.
    for given in ({"fail_on_alert": "TRUE"}, {"fail_on_alert": ""}, {"threshold": "--help"}):
        code, _, _ = runner.run(github, version=VERSION, sha256=digest, releases=releases, comment="false", **given)
        expect(code == 2, f"{given}: {code}")
    code, _, printed = runner.run(github, version=VERSION, sha256=digest, releases=releases, comment="false", models="*.onnx\nmodel/*.onnx")
    expect(code == 2 and "no file of the repository matches 'model/*.onnx'" in printed, f"a pattern without files: {code} {printed}")


def test_refusals(runner, github, releases, digest):
    """A program other than the named release is not run."""
    for given, what in (
        ({"version": VERSION, "sha256": digest[:-1] + ("0" if digest[-1] != "0" else "1"), "releases": releases}, "it is not used"),
        ({"version": VERSION, "sha256": "", "releases": releases}, f"sha256: give that of version {VERSION}"),
        ({"version": "1.2.4", "sha256": digest, "releases": releases}, "cannot download " + releases + "/v1.2.4/onnxflops-1.2.4-"),
        ({"version": "../../x", "sha256": digest, "releases": releases}, "should be a release such as 1.0.0"),
        ({"version": "1.0.0; touch pwned", "sha256": digest, "releases": releases}, "should be a release such as 1.0.0"),
    ):
        code, values, printed = runner.run(github, **given)
        expect(code == 2 and what in printed, f"{given}: {code} {printed}")
        expect("steps.review.outputs.passed" not in values, f"{given}: a review")
    # Brackets in an address are no ranges, and what begins as an option is none.
    for address, what in ((releases + "/v[1-3]", "404"), ("--output=pwned", "cannot download --output=pwned/")):
        code, _, printed = runner.run(github, version=VERSION, sha256=digest, releases=address)
        expect(code == 2 and what in printed and "bad range" not in printed, f"{address}: {code} {printed}")
    expect(not os.path.exists(os.path.join(runner.checkout, "pwned")), "a version ran as a command")


def test_address(runner, github, digest):
    """Without one, it is that of the Action's own repository, as named by the runner or by its folder."""
    curl = os.path.join(runner.tools, "curl")
    os.remove(curl)
    write(curl, f'#!/bin/bash\necho "${{@: -1}}" >{runner.folder}/asked\nexit 22\n', 0o755)
    for repository, asked in (("other/fork", "other/fork"), ("", "someone/onnxflops")):
        runner.run({**github, "action_repository": repository}, version=VERSION, sha256=digest)
        expect(read(os.path.join(runner.folder, "asked")).strip().startswith(f"https://github.com/{asked}/releases/download/v{VERSION}/onnxflops-{VERSION}-"),
               f"the address of '{repository}'")


def test_source_and_path(runner, github):
    """`source` builds the Action's revision; a program on the PATH comes first."""
    setup = os.path.join(runner.action, "tools", "setup")
    write(setup, f'#!/bin/bash\n[ "$1" = install ] && mkdir -p "$2/bin" && cp {PROGRAM} "$2/bin/onnxflops"\n', 0o755)
    code, values, printed = runner.run(github, version="source")
    expect(code == 1 and values.get("steps.review.outputs.passed") == "false", f"source: {code} {printed}")
    os.symlink(PROGRAM, os.path.join(runner.tools, "onnxflops"))
    code, values, printed = runner.run(github, version="9.9.9")
    expect(code == 1 and "is on the PATH" in printed, f"the PATH: {code} {printed}")


def test_history(runner, github):
    """A push to the main branch is recorded on another branch; the comment of a pull request links to it."""
    server = os.path.join(runner.folder, "server")
    git("init", "-q", "--bare", server, cwd=runner.folder)
    git("remote", "add", "origin", server, cwd=runner.checkout)
    code, values, printed = runner.run({**github, "event.pull_request": "", "event_name": "push"}, history_branch="costs")
    expect(code == 0 and "steps.review.outputs.passed" not in values, f"a push: {code} {printed}")
    records = subprocess.run(["git", "show", "costs:history.jsonl"], cwd=server, capture_output=True, text=True, check=False).stdout
    expect(len(records.splitlines()) == 10, f"what is recorded: {records[:300]}")
    for branch in ("-x", "--upload-pack=touch pwned", "a b", "a..b", "a\n::error::b", "/x", "x.lock", "@{-1}"):
        for event in ("push", "pull_request"):
            code, values, printed = runner.run({**github, "event_name": event}, history_branch=branch)
            expect(code == 2 and "history-branch: " in printed and "is no name of a branch" in printed and "\n::" not in printed, f"{branch}, {event}: {code} {printed}")
    branches = subprocess.run(["git", "branch", "--format", "%(refname:short)"], cwd=server, capture_output=True, text=True, check=False).stdout.split()
    expect(branches == ["costs"] and not os.path.exists(os.path.join(runner.checkout, "pwned")), f"branches: {branches}")
    code, values, printed = runner.run({**github, "server_url": "https://github.com"}, history_branch="costs", github_token="t")
    comment = read(os.path.join(runner.checkout, values["steps.review.outputs.comment-file"]))
    expect(code == 1 and "(https://github.com/someone/models/blob/costs/history.md)" in comment, f"the link: {code} {comment[-300:]} {printed}")


def test_pin(folder):
    """tools/ci/pin writes a release into action.yml, and sees when it is another."""
    place = os.path.join(folder, "pin")
    os.makedirs(os.path.join(place, "tools", "ci"))
    os.makedirs(os.path.join(place, "dist"))
    shutil.copy(os.path.join(ROOT, "action.yml"), place)
    pin = shutil.copy(os.path.join(ROOT, "tools", "ci", "pin"), os.path.join(place, "tools", "ci"))
    write(os.path.join(place, "dist", "SHA256SUMS"), f"{'1' * 64}  onnxflops-1.2.3-linux-x86_64.tar.gz\n{'2' * 64}  onnxflops_1.2.3_amd64.deb\n")
    before = inputs_of(read(os.path.join(place, "action.yml")))
    codes = [subprocess.run([pin, *words], capture_output=True, check=False).returncode for words in (["--check"], [], ["--check"])]
    expect(codes == [1, 0, 0], f"exit codes of pin: {codes}")
    after = inputs_of(read(os.path.join(place, "action.yml")))
    expect(after == {**before, "version": "1.2.3", "sha256": "1" * 64}, f"what is pinned: {after}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        digest = release(os.path.join(folder, "releases"))
        releases = serve(os.path.join(folder, "releases"))
        checkout = os.path.join(folder, "checkout")
        base = pull_request(checkout)
        github = {"action_repository": "someone/onnxflops", "repository": "someone/models", "event.pull_request.base.sha": base,
                  "event.pull_request": "yes", "event.pull_request.number": "12"}
        runner = Runner(folder, checkout, copy_action(folder))
        test_released_program(runner, github, releases, digest)
        test_refusals(runner, github, releases, digest)
        test_address(runner, github, digest)
        test_source_and_path(runner, github)
        test_history(runner, github)
        test_pin(folder)
    print("\n".join(FAULTS))
    return bool(FAULTS)


if __name__ == "__main__":
    sys.exit(main())
