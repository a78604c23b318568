#!/usr/bin/env python3
"""What `check` and `diff` write for CI systems, and what a pull request does with it.

    ci_test.py PROGRAM

XML and JSON are read back; names that attack each format come out as data. A repository with two commits is
compared with itself, as the templates of tools/ci/ do.
"""
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(sys.argv[1])
MODEL = os.path.join(ROOT, "models", "lstm.static.onnx")
FAILING = '[budget]\nmacs = "1 MMAC"\nparams = "1 M"\nflops = {limit = "80 MFLOP", warn = "40 MFLOP"}\n'
FAULTS = []


def expect(condition, what):
    if not condition:
        FAULTS.append(what)


def run(*arguments, cwd, code=0, **environment):
    done = subprocess.run([PROGRAM, *arguments], cwd=cwd, capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    expect(done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}: {done.stderr[:300]}")
    return done.stdout


def expect_error(text, *arguments, cwd, **environment):
    done = subprocess.run([PROGRAM, *arguments], cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    expect(done.returncode == 2 and text in done.stderr, f"{arguments}: {done.returncode} {done.stderr[:300]}")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def copy(source, target):
    with open(source, "rb") as file, open(target, "wb") as out:
        out.write(file.read())


FORMATS = ["junit", "github", "gitlab", "sarif", "benchmark", "badge", "comment", "markdown", "json"]


def check_formats(folder, model, budgets):
    """All formats in one call, as texts."""
    write(os.path.join(folder, "b.toml"), budgets)
    outputs = [part for name in FORMATS for part in ("--output", f"{name}=out.{name}")]
    run("check", model, "--budgets", "b.toml", *outputs, cwd=folder, code=1)
    return {name: read(os.path.join(folder, "out." + name)) for name in FORMATS}


def expect_junit(text, valid=True):
    """That a text is what Jenkins' schema allows, says xmllint of Debian's libxml2-utils."""
    schema = os.path.join(ROOT, "tests", "data", "junit-10.xsd")
    done = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", schema, "-"], input=text, capture_output=True, text=True, check=False)
    expect((done.returncode == 0) == valid, f"junit: {done.stderr[:300]}")


def test_formats(folder):
    copy(MODEL, os.path.join(folder, "m.onnx"))
    texts = check_formats(folder, "m.onnx", FAILING)
    expect_junit(texts["junit"])
    suite = ElementTree.fromstring(texts["junit"]).find("testsuite")
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    expect(cases == {"budget.macs": ["failure"], "budget.params": ["system-out"], "budget.flops": ["system-out"]}, f"junit {cases}")
    expect((suite.get("tests"), suite.get("failures")) == ("3", "1"), "junit's counts")
    expect(all(case.get("classname") and float(case.get("time")) >= 0 for case in suite), "what readers of JUnit ask for")
    for old, new in ((" classname=", " class="), (" errors=\"0\"", ""), ("testcase", "case"), ("<failure", "<fault")):
        expect_junit(texts["junit"].replace(old, new), valid=False)
    annotations = texts["github"].splitlines()
    expect(sorted(line.split(" ")[0] for line in annotations) == ["::error", "::warning"], f"github {annotations}")
    expect("file=b.toml,line=2," in texts["github"], "the place of an annotation")
    issues = json.loads(texts["gitlab"])
    expect([i["severity"] for i in issues] == ["minor", "major"] or [i["severity"] for i in issues] == ["major", "minor"], "gitlab")
    for issue in issues:  # what GitLab's documentation requires
        expect({"description", "check_name", "fingerprint", "severity", "location"} <= set(issue), "a field of GitLab's")
        expect(issue["location"]["lines"]["begin"] >= 1, "a line of GitLab's")
    expect(len({i["fingerprint"] for i in issues}) == 2, "fingerprints differ")
    sarif = json.loads(texts["sarif"])
    expect(sarif["version"] == "2.1.0", "sarif's version")
    rules = {rule["id"] for rule in sarif["runs"][0]["tool"]["driver"]["rules"]}
    for result in sarif["runs"][0]["results"]:
        expect(result["ruleId"] in rules, "sarif's rule is declared")
        expect(result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1, "sarif's line")
    expect({r["level"] for r in sarif["runs"][0]["results"]} == {"error", "warning"}, "sarif's levels")
    figures = {f["name"]: f["value"] for f in json.loads(texts["benchmark"])}
    expect(figures["m.onnx: budget.macs"] == 23695360, f"benchmark {figures}")
    expect(json.loads(texts["badge"])["message"] == "1 failed", "badge")
    expect(texts["comment"].startswith("<!-- onnxflops:check:m.onnx -->\n"), "the marker of a comment")
    summary = os.path.join(folder, "summary.md")
    write(summary, "before\n")
    run("check", "m.onnx", "--budgets", "b.toml", "--summary", cwd=folder, code=1, GITHUB_STEP_SUMMARY=summary)
    expect(read(summary) == "before\n" + texts["markdown"], "the summary is added")
    far = check_formats(folder, "m.onnx", "[budget]\nmacs = 1\n")["comment"]
    expect("| **`-2.37e+09 %`** |" in far and is_plain(os.path.join(folder, "out.comment")) == "", f"many digits are plain: {far}")


def check_sizes(folder, at, *arguments, code=0):
    write(os.path.join(folder, "s.toml"), f'[budget]\nmacs = "10 GMAC"\n[at]\n{at}\n')
    done = subprocess.run([PROGRAM, "check", *arguments, "--budgets", "s.toml", "--format", "json"], cwd=folder, capture_output=True, text=True, check=False)
    expect(done.returncode == code, f"sizes {at}: exit code {done.returncode}: {done.stderr}")
    return done.stderr, [rule["at"] for rule in json.loads(done.stdout)["rules"]] if code == 0 else []


def test_summary(folder):
    """The file of --summary is held to what -o is: inputs, other models and binary files stay as they are."""
    for name in ("m.onnx", "other.onnx"):
        copy(MODEL, os.path.join(folder, name))
    write(os.path.join(folder, "b.toml"), '[budget]\nmacs = "1 GMAC"\n')
    with open(os.path.join(folder, "weights.bin"), "wb") as file:
        file.write(b"abc\0def")
    os.symlink("m.onnx", os.path.join(folder, "link.md"))
    os.link(os.path.join(folder, "b.toml"), os.path.join(folder, "hard.md"))
    os.mkdir(os.path.join(folder, "folder.md"))
    reasons = {"m.onnx": "the input 'm.onnx'", "link.md": "the input 'm.onnx'", "b.toml": "the input 'b.toml'", "hard.md": "the input 'b.toml'",
               "other.onnx": "it is an ONNX model", "weights.bin": "it is no text file", "folder.md": "Is a directory"}
    contents = {name: os.path.isfile(os.path.join(folder, name)) and open(os.path.join(folder, name), "rb").read() for name in reasons}
    call = ("check", "m.onnx", "--budgets", "b.toml", "--summary")
    for name, reason in reasons.items():
        expect_error(reason, *call, cwd=folder, GITHUB_STEP_SUMMARY=name)
        expect(not contents[name] or open(os.path.join(folder, name), "rb").read() == contents[name], f"--summary wrote to {name}")
    expect_error("two outputs have one name", *call, "-o", "s.md", cwd=folder, GITHUB_STEP_SUMMARY="./s.md")
    write(os.path.join(folder, "s.md"), "before\n")
    limited = ["bash", "-c", 'ulimit -f 0; exec "$@"', "_", PROGRAM, *call, "--format", "github"]
    done = subprocess.run(limited, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "GITHUB_STEP_SUMMARY": "s.md"})
    expect(done.returncode == 2 and "File too large" in done.stderr, f"a full disk: {done.returncode} {done.stderr}")
    expect(read(os.path.join(folder, "s.md")) == "before\n", "an error leaves the summary")
    for environment in ({}, {"GITHUB_STEP_SUMMARY": ""}, {"GITHUB_STEP_SUMMARY": "new.md"}, {"GITHUB_STEP_SUMMARY": "/dev/null"}):
        run(*call, cwd=folder, **environment)
    expect("| rule |" in read(os.path.join(folder, "new.md")), "a summary that is new")


def test_sizes(folder):
    """Of several models some have the symbols of [at]. A name that none has is a mistake."""
    for name in ("lstm", "resnet50"):
        copy(os.path.join(ROOT, "models", name + ".onnx"), os.path.join(folder, name + ".onnx"))
    both = ("lstm.onnx", "resnet50.onnx")
    without, at = check_sizes(folder, 'batch = 2\nseq = "1..8"', *both)
    expect(without.count("resnet50.onnx: has no symbol named") == 2 and "lstm.onnx" not in without, without)
    expect(at == ["batch = 2, seq = 1..8", ""], f"sizes at {at}")
    expect(check_sizes(folder, 'batch = 2\nseq = "1..8"', *both, "--dim", "seq=3")[1][0] == "batch = 2, seq = 3", "--dim comes first")
    error, _ = check_sizes(folder, "bacth = 2\nseq = 1", *both, code=2)
    expect("s.toml: [at]: no model has a symbol named 'bacth'; did you mean batch?" in error, error)
    check_sizes(folder, "bacth = 2\nseq = 1", "lstm.onnx", code=2)
    check_sizes(folder, "seq = 1", "resnet50.onnx", "--dim", "batch=1", code=2)
    for sizes in ("batch = 2", 'batch = "1..8"'):
        expect("checked without it" in check_sizes(folder, sizes, "resnet50.onnx")[0], "a model without open sizes")
    expect("'bacth': checked without it" in check_sizes(folder, 'bacth = "1..8"', *both, code=1)[0], "what is open is not proven")
    expect("'seq'" in check_sizes(folder, "batch = 1", *both, "--dim", "seq=3")[0], "a size of the call")


def test_initial_budgets(folder):
    """Budgets written by --init hold at once, except for sizes of data that contradict each other and for uncounted nodes."""
    for name in ("gpt2", "maskrcnn-r50", "custom-op"):
        copy(os.path.join(ROOT, "models", name + ".onnx"), os.path.join(folder, "m.onnx"))
        budgets = os.path.join(folder, "onnxflops.toml")
        run("check", "m.onnx", "--init", cwd=folder)
        write(budgets, read(budgets).replace("# lower_bounds", "lower_bounds"))
        run("check", "m.onnx", cwd=folder)
        expect(("# macs" in read(budgets)) == (name == "maskrcnn-r50"), f"limits with sizes of data: {name}")
        os.remove(budgets)


ATTACKS = ["</testsuite><x>&", "]]>", "::error::pwned", "a%0A::warning::b", "`@admin` <img src=x> --> [l](http://x)", "\u202e\x1b[31m\nline", "a|b"]


def test_attacks(folder):
    """Names of files, modules and rules are data in every format."""
    writer = [sys.executable, "-B", os.path.join(ROOT, "tests", "hostile", "models.py"), "names-that-attack"]
    model = os.path.join(folder, "<!-- --> @x `m`.onnx")
    with open(model, "wb") as out:
        subprocess.run(writer, stdout=out, check=True)
    rules = "".join(f"[modules.{json.dumps(name)}]\nflops = 1\n" for name in ATTACKS)
    texts = check_formats(folder, model, '[modules."*"]\nflops = "0"\n' + rules)
    expect_junit(texts["junit"])
    suite = ElementTree.fromstring(texts["junit"])[0]
    expect({case.tag for case in suite} == {"testcase"}, "junit's elements")
    for line in texts["github"].splitlines():
        expect(re.match(r"::(error|warning) file=[^:,]*,line=\d+,title=[^:,]*::", line), f"an annotation: {line[:100]}")
        expect("\x1b" not in line and "%0A" not in line.replace("%250A", ""), f"an annotation: {line[:100]}")
    for name in ("gitlab", "sarif", "benchmark", "badge", "json"):
        json.loads(texts[name])
    comment = texts["comment"]
    expect(is_plain(os.path.join(folder, "out.comment")) == "", f"names that attack are plain: {is_plain(os.path.join(folder, 'out.comment'))}")
    expect(len(comment) <= 60_000, "a comment's length")
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", comment)
    tags = set(re.findall(r"<[^>]*>", outside))
    expect(tags <= {"<details>", "<summary>", "</summary>", "</details>"} | {comment.split("\n")[0]}, f"tags {tags}")
    expect("@" not in comment, "a mention")


def git(*arguments, cwd):
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout


def test_repository(folder):
    """Two commits: what the templates run."""
    git("init", "-q", cwd=folder)
    os.mkdir(os.path.join(folder, "models"))
    model = os.path.join(folder, "models", "m.onnx")
    copy(MODEL, model)
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "one", cwd=folder)
    copy(os.path.join(ROOT, "models", "lstm.onnx"), model)
    git("commit", "-qam", "two", cwd=folder)
    table = run("diff", "--git", "HEAD~1", "models/m.onnx", cwd=folder)
    expect("axis 0 of ids is 2 in the base" in table and "axis 1 of ids is 20 in the base" in table, table)
    inside = run("diff", "--git", "HEAD~1", "m.onnx", cwd=os.path.join(folder, "models"))
    expect(inside.splitlines()[2:] == table.splitlines()[2:], "the same from another folder")
    expect("nothing changed" in run("diff", "--git", "HEAD", "models/m.onnx", cwd=folder), "no change")
    comment = run("diff", "--git", "HEAD~1", "models/m.onnx", "--format", "comment", cwd=folder)
    expect(comment.startswith("<!-- onnxflops:diff:models/m.onnx -->\n"), "the marker")
    copy(MODEL, os.path.join(folder, "models", "new.onnx"))
    expect_error("it is not in revision HEAD; --base-missing ok", "diff", "--git", "HEAD", "models/new.onnx", cwd=folder)
    new = run("diff", "--git", "HEAD", "models/new.onnx", "--base-missing", "ok", cwd=folder)
    expect("everything is new" in new, "a new model")
    for revision in ("no-such-branch", "-x", "HEAD:models/m.onnx"):
        run("diff", f"--git={revision}", "models/m.onnx", cwd=folder, code=2)
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 123\n"
    write(model, pointer)
    write(os.path.join(folder, "pointer.onnx"), pointer)
    git("commit", "-qam", "three", cwd=folder)
    copy(MODEL, model)
    expect_error("git lfs fetch origin HEAD (git lfs pull", "diff", "--git", "HEAD", "models/m.onnx", cwd=folder)
    expect_error("git lfs pull", "count", "pointer.onnx", cwd=folder)
    test_lfs(folder, pointer)
    line = re.search("git config diff.onnx.textconv '(.*)'\n", read(os.path.join(ROOT, "docs", "diff.md")))[1]
    git("config", "diff.onnx.textconv", line.replace("onnxflops", PROGRAM), cwd=folder)
    write(os.path.join(folder, ".gitattributes"), "*.onnx diff=onnx\n")
    pointed = git("diff", "HEAD~1", "HEAD", "--", "models/m.onnx", cwd=folder)
    expect("MACs" in pointed and "Binary files" not in pointed, f"textconv of a pointer: {pointed[:300]}")
    shown = git("diff", "HEAD~2", "HEAD~1", "--", "models/m.onnx", cwd=folder)
    expect("MACs" in shown and "Binary files" not in shown, "textconv")


def test_lfs(folder, pointer):
    """The object of a pointer is read from the store of git-lfs. A text that is not a hash names no file."""
    store = os.path.join(folder, ".git", "lfs", "objects", "00", "00")
    os.makedirs(store)
    copy(MODEL, os.path.join(store, "0" * 64))
    expect("nothing changed" in run("diff", "--git", "HEAD", "models/m.onnx", cwd=folder), "the object of a pointer")
    bad = pointer.replace("0" * 64, "../" * 21 + "x")
    write(os.path.join(folder, "models", "m.onnx"), bad)
    git("commit", "-qam", "four", cwd=folder)
    copy(MODEL, os.path.join(folder, "models", "m.onnx"))
    expect_error("git lfs pull", "diff", "--git", "HEAD", "models/m.onnx", cwd=folder)
    git("reset", "-q", "--hard", "HEAD~1", cwd=folder)


BARE_CONFIG = """[core]
repositoryformatversion = 1
bare = true
[extensions]
partialClone = origin
[remote "origin"]
url = .
promisor = true
uploadpack = "touch pwned; false"
"""


def test_git_of_others(folder):
    """A folder that looks like a repository runs nothing, and a hook's GIT_DIR does not change what a path means."""
    git("init", "-q", cwd=folder)
    evil = os.path.join(folder, "evil")
    for part in ("objects/k", "refs/heads"):
        os.makedirs(os.path.join(evil, part))
    write(os.path.join(evil, "HEAD"), "ref: refs/heads/main\n")
    write(os.path.join(evil, "config"), BARE_CONFIG)
    write(os.path.join(evil, "refs", "heads", "main"), "1" * 40 + "\n")
    copy(MODEL, os.path.join(evil, "m.onnx"))
    copy(os.path.join(ROOT, "models", "lstm.onnx"), os.path.join(folder, "m.onnx"))
    os.mkdir(os.path.join(folder, "sub"))
    copy(MODEL, os.path.join(folder, "sub", "m.onnx"))
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "one", cwd=folder)
    expect_error("is in no repository that git reads", "diff", "--git", "HEAD", "evil/m.onnx", cwd=folder)
    expect(not any("pwned" in names for _, _, names in os.walk(folder)), "a configuration in the repository ran a program")
    for place in (".git", os.path.join(folder, ".git")):
        expect("nothing changed" in run("diff", "--git", "HEAD", "sub/m.onnx", cwd=folder, GIT_DIR=place), "a hook's GIT_DIR")


def test_check_of_revisions(folder):
    """check --git: several models, each with itself at a revision; a new one with nothing."""
    git("init", "-q", cwd=folder)
    copy(MODEL, os.path.join(folder, "m.onnx"))
    write(os.path.join(folder, "onnxflops.toml"), "[budget]\nmacs = \"+1%\"\n")
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "one", cwd=folder)
    copy(MODEL, os.path.join(folder, "new.onnx"))
    expect_error("new.onnx: it is not in revision HEAD", "check", "--git", "HEAD", "m.onnx", "new.onnx", cwd=folder)
    run("check", "--git", "HEAD", "m.onnx", "new.onnx", "--base-missing", "ok", "--decision", "d.json", cwd=folder)
    bases = [model.get("base") for model in json.loads(read(os.path.join(folder, "d.json")))["models"]]
    with open(MODEL, "rb") as file:
        expect(bases == [{"path": "HEAD:m.onnx", "sha256": hashlib.sha256(file.read()).hexdigest()}, None], f"a decision's bases: {bases}")
    expect_error("give one of them", "check", "--git", "HEAD", "--against", "m.onnx", "m.onnx", cwd=folder)
    shutil.copytree(os.path.join(ROOT, "tests", "data", "config", "gpt2"), os.path.join(folder, "gpt2"))
    expect_error("gpt2: a folder; --git takes a file", "diff", "--git", "HEAD", "gpt2", cwd=folder)
    copy(os.path.join(ROOT, "models", "mobilenet-v3-large.onnx"), os.path.join(folder, "m.onnx"))
    run("check", "--git", "HEAD", "m.onnx", cwd=folder, code=1)


def review(folder, code, **environment):
    """The stderr of review.sh, and its comment."""
    script = os.path.join(ROOT, "tools", "ci", "review.sh")
    done = subprocess.run([script], cwd=folder, env={**os.environ, "ONNXFLOPS": PROGRAM, "BASE": "HEAD", "OUT": "out", **environment},
                          capture_output=True, text=True, check=False)
    expect(done.returncode == code, f"review {environment}: exit code {done.returncode}, not {code}: {done.stderr[:300]}")
    return done.stderr + read(os.path.join(folder, "out", "comment.md"))


def expect_refused_out(folder):
    """Results never go where a pull request has put a link or a file of its own."""
    done = subprocess.run([os.path.join(ROOT, "tools", "ci", "review.sh")], cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "ONNXFLOPS": PROGRAM, "BASE": "HEAD", "OUT": "taken"})
    expect(done.returncode == 2 and "OUT: 'taken' is a part of the repository" in done.stderr, f"OUT: {done.stderr}")


def test_review(folder):
    """A mistake in the arguments of review.sh is an error that names it. New and removed models are reported."""
    git("init", "-q", cwd=folder)
    for name in ("m.onnx", "old.onnx", "a b.onnx"):
        copy(MODEL, os.path.join(folder, name))
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "one", cwd=folder)
    expect("BUDGETS: there is no file 'typo.toml'" in review(folder, 2, BUDGETS="typo.toml"), "a file of budgets that is not there")
    expect("BASE: there is no revision 'no-such'" in review(folder, 2, BASE="no-such"), "a base that is not there")
    expect("BASE: there is no revision '--all'" in review(folder, 2, BASE="--all"), "a base that is an option")
    expect("no file of the repository matches 'typo/*.onnx'" in review(folder, 2, MODELS="typo/*.onnx"), "a pattern without files")
    expect("no file of the repository matches 'typo/*.onnx'" in review(folder, 2, MODELS="*.onnx\ntypo/*.onnx"), "one pattern of two without files")
    expect("no file of the repository matches '--typo'" in review(folder, 2, MODELS="*.onnx\n--typo"), "a pattern that looks like an option")
    expect("there is no program 'no-such'" in review(folder, 2, ONNXFLOPS="no-such"), "a program that is not there")
    expect("**onnxflops: no model changed its cost**" in review(folder, 0), "nothing changed")
    review(folder, 0, MODELS="*.onnx\n:!typo.onnx\n:(exclude)other.onnx")
    os.mkdir(os.path.join(folder, "taken"))
    write(os.path.join(folder, "taken", "comment.md"), "")
    git("add", "taken", cwd=folder)
    expect_refused_out(folder)
    write(os.path.join(folder, "mine.toml"), "[budget]\nmacs = 1\n")
    git("add", "mine.toml", cwd=folder)
    expect("Budgets are read from the base" in review(folder, 0, BUDGETS="mine.toml"), "budgets that are new")
    test_review_of_links(folder)
    git("rm", "-q", "old.onnx", "a b.onnx", cwd=folder)
    comment = review(folder, 0, MODELS="*.onnx\nold.onnx")
    expect("2 models gone" in comment and "| `old.onnx` |" in comment and "| `a b.onnx` |" in comment, "models that are gone")
    expect(is_plain(os.path.join(folder, "out", "comment.md")) == "", "a plain comment")


def test_review_of_links(folder):
    """A link brings no model from elsewhere into a comment, and is an error."""
    with tempfile.TemporaryDirectory() as elsewhere:
        secret = os.path.join(elsewhere, "secret.onnx")
        copy(os.path.join(ROOT, "models", "mobilenet-v3-large.onnx"), secret)
        os.symlink(secret, os.path.join(folder, "link.onnx"))
        git("add", "link.onnx", cwd=folder)
        text = review(folder, 2)
    expect("'link.onnx' is a symbolic link, which is not followed" in text, f"a link: {text}")
    expect("Conv" not in text and "an error came first (the log says which): 1 of" in text, f"a link: {text}")
    expect("link.onnx" not in review(folder, 0, MODELS="*.onnx\n:!link.onnx"), "a link that is left out")
    git("rm", "-qf", "link.onnx", cwd=folder)


def test_templates(folder):
    """The script that the templates share, in a repository with two commits."""
    script = os.path.join(ROOT, "tools", "ci", "review.sh")
    git("init", "-q", cwd=folder)
    copy(MODEL, os.path.join(folder, "m.onnx"))
    write(os.path.join(folder, "onnxflops.toml"), "[budget]\nmacs = \"+1%\"\n")
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "one", cwd=folder)
    copy(os.path.join(ROOT, "models", "mobilenet-v3-large.onnx"), os.path.join(folder, "m.onnx"))
    copy(MODEL, os.path.join(folder, "same.onnx"))
    write(os.path.join(folder, "onnxflops.toml"), "[budget]\nmacs = \"+1000000%\"\n")
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "two", cwd=folder)
    environment = {**os.environ, "ONNXFLOPS": PROGRAM, "BASE": "HEAD~1", "MODELS": "*.onnx", "OUT": "out"}
    done = subprocess.run([script], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    expect(done.returncode == 1, f"the budgets are the base's: {done.returncode} {done.stdout}{done.stderr}")
    comment = read(os.path.join(folder, "out", "comment.md"))
    expect(comment.startswith("<!-- onnxflops:review -->\n") and "m.onnx" in comment and "same.onnx" in comment, comment[:300])
    expect_junit(read(os.path.join(folder, "out", "budgets.xml")))
    expect("::error file=onnxflops.toml,line=2," in done.stdout, f"an annotation of the file in the repository: {done.stdout}")
    expect(tempfile.gettempdir() not in comment + done.stdout, "a path of this machine")
    hook = os.path.join(ROOT, "tools", "ci", "pre_commit.sh")
    for limit, code in (("+0%", 0), ("-50%", 1)):
        write(os.path.join(folder, "onnxflops.toml"), f'[budget]\nmacs = "{limit}"\n')
        done = subprocess.run([hook, "m.onnx"], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        expect(done.returncode == code, f"the hook, {limit}: {done.returncode} {done.stdout}{done.stderr}")
    test_program_of_hook(folder)
    hostile_fork(folder, script, environment)
    environment["BASE"] = "HEAD"
    done = subprocess.run([script], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"nothing changed: {done.returncode} {done.stdout}{done.stderr}")


def test_program_of_hook(folder):
    """Without a program on the PATH, the one that was installed with the hook runs, as a wheel and the packages put them; else an error says what to do."""
    tools = os.path.join(folder, "tools-of-hook")
    os.mkdir(tools)
    for name in ("bash", "dirname", "git", "readlink"):
        os.symlink(shutil.which(name), os.path.join(tools, name))
    for hook, program in (("wheel/bin/onnxflops-pre-commit", "wheel/bin/onnxflops"), ("usr/share/onnxflops/ci/pre_commit.sh", "usr/bin/onnxflops"),
                          ("alone/pre_commit.sh", None)):
        hook = os.path.join(tools, hook)
        os.makedirs(os.path.dirname(hook))
        shutil.copy(os.path.join(ROOT, "tools", "ci", "pre_commit.sh"), hook)
        if program:
            os.makedirs(os.path.dirname(os.path.join(tools, program)), exist_ok=True)
            os.symlink(PROGRAM, os.path.join(tools, program))
        done = subprocess.run([hook, "m.onnx"], cwd=folder, env={"PATH": tools}, capture_output=True, text=True, check=False)
        if program:
            expect(done.returncode == 1 and "macs" in done.stdout, f"{program}: {done.returncode} {done.stdout}{done.stderr}")
        else:
            expect(done.returncode == 2 and "there is no program 'onnxflops' on the PATH" in done.stderr, f"no program: {done.returncode} {done.stderr}")
    shutil.rmtree(tools)


def is_plain(path):
    done = subprocess.run([os.path.join(ROOT, "tools", "ci", "plain_comment.py"), path], capture_output=True, text=True, check=False)
    expect((done.returncode == 0) == (done.stderr == ""), f"a reason: {done.stderr}")
    return done.stderr


def test_workflows(folder):
    """docs/ci.md says what action.yml does. actionlint, where it is installed, takes that and the workflows for forks."""
    action = read(os.path.join(ROOT, "action.yml"))
    usage = "\n".join(line[4:] for line in action.splitlines() if line.startswith("#   "))
    expect("```yaml\n" + usage + "\n```" in read(os.path.join(ROOT, "docs", "ci.md")), "the workflow of docs/ci.md is that of action.yml")
    if not shutil.which("actionlint"):
        return
    workflows = os.path.join(folder, ".github", "workflows")
    os.makedirs(workflows)
    git("init", "-q", cwd=folder)
    copy(os.path.join(ROOT, "action.yml"), os.path.join(folder, "action.yml"))
    texts = {"use.yml": usage, **{name: read(os.path.join(ROOT, "tools", "ci", name)) for name in ("fork-review.yml", "fork-comment.yml")}}
    for name, text in texts.items():
        write(os.path.join(workflows, name), text.replace("OWNER/onnxflops@REVISION", "./") + "\n")
    for path in glob.glob(os.path.join(ROOT, ".github", "workflows", "*.yml")):
        copy(path, os.path.join(workflows, os.path.basename(path)))
    done = subprocess.run(["actionlint"], cwd=folder, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"actionlint: {done.stdout}")


def test_documents(folder):
    """The files of budgets in docs/ci.md and of devices in docs/performance.md are taken as they stand there."""
    def shown(page):
        return re.findall(r"(?s)```toml\n(.*?)```", read(os.path.join(ROOT, "docs", page)))
    models = os.path.join(ROOT, "models")
    clip = os.path.join(models, "clip-vit-l-14-336.onnx")
    profiled = [os.path.join(ROOT, "tests", "data", "profile", name) for name in ("resnet50.profile.json", "resnet50.optimized.onnx")]
    calls = [(0, clip, "--against", clip),
             (0, os.path.join(models, "resnet50.onnx")),
             (1, os.path.join(models, "gpt2.onnx"), "--dim", "batch=8,seq=1024", "--step-time", "0.31"),
             (1, os.path.join(models, "resnet50.onnx"), "--profile", profiled[0], "--optimized", profiled[1])]
    for (code, *arguments), text in zip(calls, shown("ci.md"), strict=True):
        write(os.path.join(folder, "b.toml"), text)
        run("check", *arguments, "--budgets", "b.toml", cwd=folder, code=code)
    [text] = shown("performance.md")
    write(os.path.join(folder, "d.toml"), text)
    run("devices", "my-chip", "--devices-file", "d.toml", cwd=folder)


def hostile_fork(folder, script, environment):
    """A pull request of a stranger: names that attack, a model that is none, a link, and budgets of its own. Nothing runs, and the
    comment holds what fork-comment.yml lets through."""
    git("checkout", "-qb", "fork", cwd=folder)
    name = "a b'$(touch pwned)`touch pwned`;touch pwned @x <b>.onnx"
    with open(os.path.join(folder, name), "wb") as out:
        subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tests", "hostile", "models.py"), "names-that-attack"], stdout=out, check=True)
    write(os.path.join(folder, "-rf.onnx"), "no model")
    os.symlink("/etc/passwd", os.path.join(folder, "link.onnx"))
    write(os.path.join(folder, "onnxflops.toml"), "[budget]\nmacs = \"1 PMAC\"\n")
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "attack", cwd=folder)
    base = {**environment, "BASE": "main~1", "OUT": "fork-out", "MODELS": "*.onnx"}
    done = subprocess.run([script], cwd=folder, env=base, capture_output=True, text=True, check=False)
    expect(done.returncode == 2, f"a file that is no model is trouble: {done.returncode} {done.stderr[:300]}")
    expect("an error came first" in read(os.path.join(folder, "fork-out", "comment.md")), "what is not reviewed is said")
    expect(not os.path.exists(os.path.join(folder, "pwned")), "a name ran as a command")
    expect("root:" not in done.stdout + done.stderr, "a link was read")
    path = os.path.join(folder, "fork-out", "comment.md")
    comment = read(path)
    expect(is_plain(path) == "", f"what the second workflow checks: {is_plain(path)}")
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", comment)
    tags = {tag for tag in re.findall(r"<[^>]*>", outside) if not tag.startswith("<!-- onnxflops:")}
    expect(tags <= {"<details>", "<summary>", "</summary>", "</details>"}, f"tags {tags}")
    git("checkout", "-q", "main", cwd=folder)


def main():
    for test in (test_formats, test_summary, test_sizes, test_initial_budgets, test_attacks, test_documents, test_workflows, test_repository, test_git_of_others, test_check_of_revisions, test_review, test_templates):
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
    print("\n".join(FAULTS))
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
