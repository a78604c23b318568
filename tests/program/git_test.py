#!/usr/bin/env python3
"""`--git` of `diff` and `check` in a repository that a stranger wrote: git runs nothing and connects to nothing.

    git_test.py PROGRAM

A model's blob, or its folder, is missing, as in a partial clone, and each configuration names a program or an address. The same
configurations do run, and do connect, with plain git: the traps work.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(sys.argv[1])
FAULTS = []


def expect(condition, what):
    if not condition:
        FAULTS.append(what)


def git(*arguments, cwd):
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout.strip()


# What a remote is, where RUN is a command and HOST an address. Those of TRAPS take part in reading an object: plain git runs
# them or connects (a trap is tried in any case). Those of QUIET are for other commands of git, which nobody calls here.
TRAPS = {
    "uploadpack": {"remote.origin.url": "/x", "remote.origin.uploadpack": "RUN;"},
    "uploadpack of a file": {"remote.origin.url": "file:///x", "remote.origin.uploadpack": "RUN;"},
    "ssh": {"remote.origin.url": "ssh://x/y", "core.sshCommand": "RUN;"},
    "ssh in short": {"remote.origin.url": "x:y", "core.sshCommand": "RUN;"},
    "ssh, allowed": {"remote.origin.url": "ssh://x/y", "core.sshCommand": "RUN;", "protocol.allow": "always", "protocol.ssh.allow": "always"},
    "ext": {"remote.origin.url": "ext::RUN", "protocol.ext.allow": "always"},
    "proxy": {"remote.origin.url": "git://x/y", "core.gitProxy": "RUN"},
    "another's url": {"remote.origin.url": "aa", "url.ext::RUN.insteadOf": "aa", "protocol.ext.allow": "always"},
    "included": {"include.path": "../more"},
    "git://": {"remote.origin.url": "git://HOST/x"},
    "http://": {"remote.origin.url": "http://HOST/x", "credential.helper": "!RUN", "core.askPass": "RUN"},
}
QUIET = {
    "a group": {"remotes.origin": "other", "remote.other.url": "ssh://x/y", "core.sshCommand": "RUN;"},
    "a helper": {"remote.origin.url": "x", "remote.origin.vcs": "own", "alias.remote-own": "!RUN"},
    "a helper by URL": {"remote.origin.url": "own::x", "protocol.own.allow": "always", "alias.remote-own": "!RUN"},
    "a helper without a name": {"remote.origin.url": "x", "remote.origin.vcs": "", "alias.remote-": "!RUN"},
    "a helper named as what is allowed": {"remote.origin.url": "x", "remote.origin.vcs": "/", "protocol.allow": "always"},
    "a bundle": {"remote.origin.url": "/x", "fetch.bundleURI": "http://HOST/b"},
    "aliases": {"alias.cat-file": "!RUN", "alias.rev-parse": "!RUN", "alias.ls-tree": "!RUN", "alias.fetch": "!RUN"},
    "pagers": {"core.pager": "RUN", "pager.cat-file": "RUN", "pager.rev-parse": "RUN", "pager.ls-tree": "RUN"},
    "the index": {"core.fsmonitor": "RUN", "core.hooksPath": "../hooks", "core.alternateRefsCommand": "RUN"},
    "filters": {"filter.f.process": "RUN", "filter.f.smudge": "RUN", "diff.d.textconv": "RUN", "core.attributesFile": "../attributes"},
    "others": {"gpg.program": "RUN", "core.editor": "RUN", "submodule.m.update": "!RUN", "uploadpack.packObjectsHook": "RUN", "diff.external": "RUN"},
}
HOOKS = ("post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-auto-gc")


class Trap:
    """A folder with a command that leaves a file, and an address that notices who connects."""

    def __init__(self, folder):
        self.folder = folder
        self.command = os.path.join(folder, "run.sh")
        with open(self.command, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n: >{folder}/ran\n")
        os.chmod(self.command, 0o755)
        os.makedirs(os.path.join(folder, "hooks"))
        for hook in HOOKS:
            shutil.copy(self.command, os.path.join(folder, "hooks", hook))
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(0)

    def fill(self, value):
        host = "127.0.0.1:%d" % self.socket.getsockname()[1]
        return value.replace("RUN", self.command).replace("HOST", host)

    def sprung(self):
        """The events since the last call."""
        ran = os.path.exists(os.path.join(self.folder, "ran"))
        if ran:
            os.remove(os.path.join(self.folder, "ran"))
        try:
            self.socket.accept()[0].close()
            return "somebody connected"
        except BlockingIOError:
            return "a program ran" if ran else ""


def make_repository(folder):
    """A repository whose only commit has models/m.onnx, and the ids of its blob and of its folder."""
    os.makedirs(os.path.join(folder, "models"))
    shutil.copy(os.path.join(ROOT, "models", "lstm.static.onnx"), os.path.join(folder, "models", "m.onnx"))
    git("init", "-q", cwd=folder)
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "one", cwd=folder)
    return git("rev-parse", "HEAD:models/m.onnx", cwd=folder), git("rev-parse", "HEAD:models", cwd=folder)


def plant(trap, config, repository):
    """A copy of the repository with a configuration."""
    planted = os.path.join(trap.folder, "planted")
    shutil.rmtree(planted, ignore_errors=True)
    shutil.copytree(repository, planted)
    for key, value in {"core.repositoryformatversion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true"}.items():
        git("config", key, value, cwd=planted)
    with open(os.path.join(planted, "more"), "w", encoding="utf-8") as file:
        file.write(f'[remote "origin"]\nurl = /x\nuploadpack = {trap.command}\n')
    for key, value in config.items():
        git("config", trap.fill(key), trap.fill(value), cwd=planted)
    return planted


def remove_object(repository, name):
    path = os.path.join(repository, ".git", "objects", name[:2], name[2:])
    os.chmod(path, 0o600)
    os.remove(path)


def read_with_git(folder, blob, trap):
    """Plain git, as the program called it before it set anything: until somebody connects, since no server answers."""
    try:
        subprocess.run(["git", "cat-file", "blob", blob], cwd=folder, capture_output=True, check=False, timeout=1)
    except subprocess.TimeoutExpired:
        pass
    return trap.sprung()


def expect_quiet(name, folder, trap, message):
    for command in (["diff", "--git", "HEAD"], ["check", "--git", "HEAD", "--base-missing", "ok", "--max", "flops=+1%"]):
        environment = {**os.environ, "GIT_ALLOW_PROTOCOL": "ssh:ext:http:git:file", "GIT_NO_LAZY_FETCH": "0"}
        done = subprocess.run([PROGRAM, *command, "models/m.onnx"], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        expect(trap.sprung() == "", f"{name}: {command[0]}: a program ran, or somebody connected")
        expect(message in done.stderr and done.returncode == (2 if message else 0), f"{name}: {command[0]}: {done.returncode} {done.stderr}")


def test_missing_objects(folder):
    repository = os.path.join(folder, "repository")
    blob, tree = make_repository(repository)
    trap = Trap(folder)
    for name, config in {**TRAPS, **QUIET}.items():
        planted = plant(trap, config, repository)
        expect_quiet(name + ", nothing missing", planted, trap, "")
        remove_object(planted, blob)
        expect_quiet(name, planted, trap, "models/m.onnx at HEAD: git has the revision and not this file of it")
        expect(name in QUIET or read_with_git(planted, blob, trap) != "", f"{name}: a trap that does not work")
        trap.sprung()
        remove_object(planted, tree)
        expect_quiet(name + ", no folder", planted, trap, "not this file of it, as in a partial clone")


def test_partial_clone(folder):
    """An honest repository: existing models are read, and missing ones do not count as new."""
    origin, clone = os.path.join(folder, "origin"), os.path.join(folder, "clone")
    make_repository(origin)
    git("config", "uploadpack.allowFilter", "true", cwd=origin)
    git("clone", "-q", "--filter=blob:none", "file://" + origin, clone, cwd=folder)
    trap = Trap(folder)
    expect_quiet("a clone with its files", clone, trap, "")
    shutil.rmtree(clone)
    git("clone", "-q", "--filter=blob:none", "--no-checkout", "file://" + origin, clone, cwd=folder)
    os.mkdir(os.path.join(clone, "models"))
    shutil.copy(os.path.join(ROOT, "models", "lstm.static.onnx"), os.path.join(clone, "models", "m.onnx"))
    expect_quiet("a clone without files", clone, trap, "clone without --filter")
    missing = git("rev-list", "--objects", "--missing=print", "HEAD", cwd=clone)
    expect("?" in missing, f"it was fetched: {missing}")


def main():
    for test in (test_missing_objects, test_partial_clone):
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
    print("\n".join(FAULTS))
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
