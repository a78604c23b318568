#!/usr/bin/env python3
"""What tools/packaging/ and tools/ci/pin make of a release: bill of materials, licences, container, recipes.

    packaging_test.py PROGRAM
"""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(sys.argv[1])
PACKAGING = os.path.join(ROOT, "tools", "packaging")
RECIPES = ("conda/recipe.yaml", "homebrew/onnxflops.rb", "vcpkg/vcpkg.json", "vcpkg/portfile.cmake", "debian/changelog")
FAULTS, SKIPPED = [], []
os.environ["SOURCE_DATE_EPOCH"] = "1800000000"


def expect(condition, what):
    if not condition:
        FAULTS.append(what)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def run(*words):
    return subprocess.run([sys.executable, "-B", *words], capture_output=True, text=True, check=False)


def own_version():
    return re.search(r'ONNXFLOPS_VERSION "([^"]+)"', read(os.path.join(ROOT, "src", "api", "version.h")))[1]


def test_sbom(folder):
    expected = {  # of each file: how many components, and how many of them are linked statically
        "onnxflops-9.9.9-linux-x86_64.tar.gz": ([], 8, 3),
        "onnxflops-9.9.9.tar.gz": ([], 6, 0),
        "onnxflops-9.9.9-cp312-abi3-linux_x86_64.whl": (["--version", "nanobind=2.15.0"], 8, 3),
        "onnxflops-9.9.9.tgz": (["--version", "wasi-libc=1", "--version", "libc++=1", "--version", "compiler-rt=1", "--zig", folder], 8, 4),
        "onnxflops-9.9.9-windows-x86_64.zip": (["--version", "mingw-w64=1", "--version", "libstdc++=1"], 8, 3),
        "onnxflops-9.9.9-macos-arm64.tar.gz": (["--version", "libc++=1", "--version", "compiler-rt=1", "--zig", folder], 8, 3),
    }
    for name, (options, count, linked) in expected.items():
        path = os.path.join(folder, name)
        write(path, name)
        done = run(os.path.join(PACKAGING, "sbom"), path, *options)
        if done.returncode != 0:
            FAULTS.append(f"sbom {name}: {done.stderr}")
            continue
        text = read(path + ".spdx.json")
        document = json.loads(text)
        expect((document["spdxVersion"], document["dataLicense"], document["creationInfo"]["created"]) == ("SPDX-2.3", "CC0-1.0", "2027-01-15T08:00:00Z"),
               f"{name}: {text[:500]}")
        packages = {package["SPDXID"]: package for package in document["packages"]}
        own, *others = document["packages"]
        expect(own["versionInfo"] == own_version() and own["checksums"][0]["checksumValue"] == hashlib.sha256(name.encode()).hexdigest(), f"{name}: {own}")
        expect(len(packages) == len(document["packages"]) == count + 1, f"{name}: {list(packages)}")
        for package in others:
            expect(all(package.get(key) for key in ("name", "versionInfo", "downloadLocation", "licenseConcluded", "homepage")), f"{name}: {package}")
            expect(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]), f"{name}: {package['SPDXID']}")
        kinds = [link["relationshipType"] for link in document["relationships"]]
        expect(all(link["relatedSpdxElement"] in packages for link in document["relationships"]), f"{name}: {document['relationships']}")
        expect(kinds.count("STATIC_LINK") == linked and kinds.count("CONTAINS") == count - linked and kinds[0] == "DESCRIBES", f"{name}: {kinds}")
        validate(path + ".spdx.json")
        run(os.path.join(PACKAGING, "sbom"), path, *options)
        expect(read(path + ".spdx.json") == text, f"{name}: the second text is another")
    done = run(os.path.join(PACKAGING, "sbom"), os.path.join(folder, "none.whl"))
    expect(done.returncode == 1 and "there is no" in done.stderr, f"a file that is not there: {done.stderr}")


def validate(path):
    """By the tools of SPDX, if this Python has them."""
    try:
        from spdx_tools.spdx.parser.parse_anything import parse_file
        from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
    except ImportError:
        if not SKIPPED:
            SKIPPED.append("this Python has no spdx-tools: bills of materials are held to our own check only")
        return
    found = validate_full_spdx_document(parse_file(path))
    expect(not found, f"{path}: {found}")


def test_licences(folder):
    done = run(os.path.join(PACKAGING, "licences"), "onnxflops-9.9.9-linux-x86_64.tar.gz")
    for text in ("abseil ", "glibc ", "GCC RUNTIME LIBRARY EXCEPTION", "The text of Apache-2.0", "The text of LGPL-2.1"):
        expect(text in done.stdout, f"the licences have no {text}: {done.stderr}")
    sources = os.path.join(folder, "sources")
    write(os.path.join(sources, "licences", "libfmt-dev.txt"), "the licence of fmt, as it was gathered\n")
    done = run(os.path.join(PACKAGING, "licences"), "onnxflops-9.9.9.tar.gz", "--sources", sources)
    expect("as it was gathered" in done.stdout and "glibc" not in done.stdout, f"licences of sources: {done.stderr}")


def archive_of(folder, program):
    """As tools/release makes one."""
    path = os.path.join(folder, "onnxflops-9.9.9-linux-x86_64.tar.gz")
    with tarfile.open(path, "w:gz") as archive:
        for name, file in (("bin/onnxflops", program), ("share/doc/onnxflops/LICENSE", os.path.join(ROOT, "LICENSE"))):
            archive.add(file, f"onnxflops-9.9.9-linux-x86_64/{name}")
    return path


def test_container(folder):
    image, again = os.path.join(folder, "image.tar"), os.path.join(folder, "again.tar")
    with open(PROGRAM, "rb") as file:
        if b"ld-linux" in file.read(4096):
            SKIPPED.append("the program is not static: no container is made of it")
            return
    path = archive_of(folder, PROGRAM)
    for output in (image, again):
        done = run(os.path.join(PACKAGING, "container"), path, "-o", output)
        expect(done.returncode == 0, f"container: {done.stderr}")
    with tarfile.open(image) as archive:
        files = {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}
    with open(image, "rb") as one, open(again, "rb") as other:
        expect(one.read() == other.read(), "the second image is another")
    for name, content in files.items():
        if name.startswith("blobs/sha256/"):
            expect(name[13:] == hashlib.sha256(content).hexdigest(), f"{name} has another hash")

    def blob(part):
        content = files["blobs/" + part["digest"].replace(":", "/")]
        expect(len(content) == part["size"], f"{part}: {len(content)} bytes")
        return content

    manifest = json.loads(blob(json.loads(files["index.json"])["manifests"][0]))
    config = json.loads(blob(manifest["config"]))
    layer = gzip.decompress(blob(manifest["layers"][0]))
    expect(config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest()], f"the layer: {config}")
    expect(config["config"]["Entrypoint"] == ["/onnxflops"] and config["config"]["WorkingDir"] == "/work", f"the configuration: {config}")
    expect(json.loads(files["manifest.json"])[0]["Config"] == "blobs/" + manifest["config"]["digest"].replace(":", "/"), "what docker loads")
    root = os.path.join(folder, "root")
    with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
        archive.extractall(root)
    expect(os.path.exists(os.path.join(root, "licenses", "LICENSE")), "the image has no licence")
    shutil.copy(os.path.join(ROOT, "models", "lstm.static.onnx"), os.path.join(root, "work"))
    chroot = ["chroot", root] if os.getuid() == 0 else ["unshare", "-r", "chroot", root]
    done = subprocess.run([*chroot, "/onnxflops", "/work/lstm.static.onnx"], capture_output=True, text=True, check=False)
    if done.returncode != 0 and re.search("unshare|chroot", done.stderr):
        SKIPPED.append(f"the container's program is not run: {done.stderr.strip()}")
    else:
        expect(done.returncode == 0 and "FLOPs" in done.stdout, f"the program of the container: {done.stdout[:200]} {done.stderr}")
    done = run(os.path.join(PACKAGING, "container"), os.path.join(ROOT, "LICENSE"), "-o", again)
    expect(done.returncode == 1 and "is no program for Linux" in done.stderr, f"a container of a text: {done.stderr}")


def copy_for_pin(folder):
    place = os.path.join(folder, "pin")
    for name in ("tools/ci/pin", "action.yml", "CHANGELOG.md"):
        os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), os.path.join(place, name))
    shutil.copytree(PACKAGING, os.path.join(place, "tools", "packaging"), ignore=shutil.ignore_patterns("__pycache__"))
    write(os.path.join(place, "CHANGELOG.md"), read(os.path.join(ROOT, "CHANGELOG.md")) + "\n## [9.9.9] - 2027-01-31\n")
    return place


def sums_of(dist):
    digests = {name: hashlib.sha256(open(os.path.join(dist, name), "rb").read()).hexdigest() for name in os.listdir(dist) if name != "SHA256SUMS"}
    write(os.path.join(dist, "SHA256SUMS"), "".join(f"{digest}  {name}\n" for name, digest in digests.items()))
    return digests


def test_recipes(folder):
    """They hold a release or none, and tools/ci/pin writes one into all of them."""
    texts = {name: read(os.path.join(PACKAGING, name)) for name in RECIPES}
    unreleased = [name for name, text in texts.items() if re.search(r"\b0\.0\.0\b|\b0{64}(0{64})?\b", text)]
    expect(unreleased in ([], list(RECIPES)), f"some recipes hold no release: {unreleased}")
    place = copy_for_pin(folder)
    pin, dist = os.path.join(place, "tools", "ci", "pin"), os.path.join(place, "dist")
    done = run(pin, "--home", "https://onnxflops.invalid", os.path.join(folder, "no-dist"))
    expect(done.returncode == 0 and run(pin, os.path.join(folder, "no-dist")).returncode == 2, f"addresses before a release: {done.stderr}")
    write(os.path.join(dist, "onnxflops-9.9.9-linux-x86_64.tar.gz"), "the program")
    source = os.path.join(dist, "onnxflops-9.9.9.tar.gz")

    def write_source(name):
        with tarfile.open(source, "w:gz") as archive:
            archive.add(os.path.join(ROOT, "LICENSE"), f"onnxflops-9.9.9/{name}")
        return sums_of(dist)[os.path.basename(source)]

    write_source("action.yml")
    done = run(pin)
    expect(done.returncode == 2 and "cannot hold the hash of itself" in done.stderr, f"sources with action.yml: {done.stderr}")
    digest = write_source("LICENSE")
    codes = [run(pin, *words).returncode for words in (["--check"], ["--home", "https://example.org/x/", "--contact", "A B <a@example.org>"], ["--check"])]
    expect(codes == [1, 0, 0], f"exit codes of pin: {codes}")
    after = {name: read(os.path.join(place, "tools", "packaging", name)) for name in RECIPES}
    text = "".join(after.values()) + "".join(read(os.path.join(place, "tools", "packaging", "debian", name)) for name in ("control", "watch"))
    expect(not re.search(r"\b0\.0\.0\b|\b0{64}|\.invalid|UNRELEASED", text), "a recipe still holds no release")
    expect(text.count(digest) == 2 and "https://example.org/x/releases/download/v9.9.9/onnxflops-9.9.9.tar.gz" in text, f"recipes: {text}")
    expect("\n -- A B <a@example.org>  Sun, 31 Jan 2027 12:00:00 +0000\n" in after["debian/changelog"], after["debian/changelog"])
    write(source, "other bytes")
    expect(run(pin).returncode == 2, "a file that SHA256SUMS does not list as it is")


def test_version(folder):
    """One command writes a version into all that names it, once."""
    place = os.path.join(folder, "version")
    names = ("src/api/version.h", "CITATION.cff", "README.md", "CHANGELOG.md", "docs/install.md", ".github/ISSUE_TEMPLATE/error.yml", "tools/commands/cite.cc")
    for name in (*names, "tools/packaging/version"):
        os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), os.path.join(place, name))
    script = os.path.join(place, "tools", "packaging", "version")
    codes = [run(script, *words).returncode for words in (["9.8"], ["9.8.7", "2027-13-01"], ["9.8.7", "2027-01-31"], ["9.8.7"])]
    expect(codes == [1, 1, 0, 1], f"exit codes of version: {codes}")
    texts = {name: read(os.path.join(place, name)) for name in names}
    expect("\n## [Unreleased]\n\n## [9.8.7] - 2027-01-31\n\n" in texts["CHANGELOG.md"], "the changelog has no 9.8.7")
    expect("\nversion: 9.8.7\ndate-released: 2027-01-31\n" in texts["CITATION.cff"], texts["CITATION.cff"])
    expect('kReleased = "2027-01-31"' in texts["tools/commands/cite.cc"], texts["tools/commands/cite.cc"])
    expect('VERSION "9.8.7"\n#define ONNXFLOPS_VERSION_MAJOR 9\n#define ONNXFLOPS_VERSION_MINOR 8\n#define ONNXFLOPS_VERSION_PATCH 7\n' in
           texts["src/api/version.h"], texts["src/api/version.h"])
    old = [name for name, text in texts.items() if name != "CHANGELOG.md" and own_version() in text]
    expect(old == [], f"these still name {own_version()}: {old}")
    expect("no release yet" not in texts["README.md"] + texts["docs/install.md"], "a page still says that there is no release")


def test_needs():
    """The Debian package needs what tools/setup installs."""
    setup = read(os.path.join(ROOT, "tools", "setup"))
    needed = set(re.findall(r"\b(?:lib\w[\w+-]*|[\w-]+3)-dev\b", re.search(r"(?s)^readonly (?:header|run)_packages=\((.*?)\)$", setup, re.M)[1]))
    control = read(os.path.join(PACKAGING, "debian", "control"))
    asked = set(re.findall(r"[\w+-]+-dev\b", re.search(r"(?s)Build-Depends:(.*?)\n\S", control)[1]))
    expect(needed and needed == asked, f"debian/control needs {sorted(asked)}, tools/setup installs {sorted(needed)}")


def test_follow(folder):
    """The commands of both pages run with the archive's program, and another output is seen."""
    pages = os.path.join(folder, "share", "doc", "onnxflops")
    program = os.path.join(folder, "bin", "onnxflops")
    write(program, '#!/bin/sh\necho "ours $1"; echo more; exit 3\n')
    os.chmod(program, 0o755)
    write(os.path.join(pages, "README.md"), "```\n$ tools/run one\nours one\n...\n[exit 3]\n$ tools/run two\nours two\nmore\n[exit 3]\n```\n")
    for line, code in (("ours", 0), ("others", 1)):
        write(os.path.join(pages, "docs", "tutorial.md"), f"```\n$ tools/run three\n{line} three\nmore\n[exit 3]\n```\n")
        done = run(os.path.join(PACKAGING, "follow"), folder)
        expect((done.returncode, f"3 commands, {code} differ" in done.stdout) == (code, True), done.stdout + done.stderr)


def test_links(folder):
    """Of the pages as an archive has them, each link leads to a file; a wheel's page stands alone."""
    pages = os.path.join(folder, "share", "doc", "onnxflops")
    shutil.copytree(os.path.join(ROOT, "docs"), os.path.join(pages, "docs"))
    for name in ("README.md", "SECURITY.md", "LICENSE"):
        shutil.copy(os.path.join(ROOT, name), pages)
    for name in ("schema", "ci"):
        shutil.copytree(os.path.join(ROOT, "tools", name), os.path.join(folder, "share", "onnxflops", name))
    script = os.path.join(PACKAGING, "links.py")
    done = run(script, "--check", pages)
    expect(done.returncode == 1 and "docs/ci.md: ../action.yml: the package has no such file" in done.stdout, f"links that are dead: {done.stdout}")
    expect(run(script, pages).returncode == 0, "links are changed")
    done = run(script, "--check", pages)
    expect((done.returncode, done.stdout) == (0, ""), f"links that are still dead: {done.stdout}{done.stderr}")
    expect("[JSON Schemas](../../../onnxflops/schema)" in read(os.path.join(pages, "docs", "README.md")), "a link to what is elsewhere")
    expect("](tutorial.md)" in read(os.path.join(pages, "docs", "README.md")), "a link that lives stays")
    expect(run(script, "--check", os.path.join(folder, "share", "onnxflops")).returncode == 1, "a folder without pages")
    sys.path.insert(0, PACKAGING)
    import links
    text = "![a](docs/images/page.png) [b](docs/ci.md#x) [c](https://e.org) [d](#e) `m[i](j)` [f](no/such.md)"
    expect(links.living(text, "README.md", lambda path: False, "https://e.org/o") ==
           "![a](https://e.org/o/raw/HEAD/docs/images/page.png) [b](https://e.org/o/blob/HEAD/docs/ci.md#x) [c](https://e.org) [d](#e) `m[i](j)` [f](no/such.md)",
           "links to the repository")
    wheel = os.path.join(folder, "onnxflops-9.9.9-cp311-cp311-linux_x86_64.whl")
    info = "onnxflops-9.9.9.dist-info/"
    write(os.path.join(folder, "licences.txt"), "none\n")
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in (("onnxflops/_core.abi3.so", ""), (info + "WHEEL", "Tag: cp311-cp311-linux_x86_64\n"), (info + "RECORD", ""),
                              (info + "METADATA", "License-File: LICENSE\n\n" + read(os.path.join(ROOT, "README.md")))):
            archive.writestr(name, content)
    os.mkdir(os.path.join(folder, "out"))
    done = run(os.path.join(PACKAGING, "wheel"), wheel, os.path.join(folder, "out"), "--licences", os.path.join(folder, "licences.txt"))
    with zipfile.ZipFile(os.path.join(folder, "out", os.path.basename(wheel))) as archive:
        metadata = archive.read(info + "METADATA").decode()
    expect("THIRD_PARTY" in metadata and "Get it" in metadata and not re.search(r"\]\((?![a-z]+:|#)", metadata), f"links of a wheel: {done.stderr}")


def test_mach_o(folder):
    """A program for macOS, made by hand of its load commands: each fault is seen."""
    def library(name):
        return struct.pack("<6I", 0xC, 24 + len(name), 24, 0, 0, 0) + name
    system, signature = library(b"/usr/lib/libSystem.B.dylib\0\0\0\0\0\0"), struct.pack("<4I", 0x1D, 16, 0, 0)

    def verdict(commands, version=11, flags=0x200000, processor="arm64"):
        commands = [struct.pack("<6I", 0x32, 24, 1, version << 16, 0, 0), *commands]
        with open(os.path.join(folder, "program"), "wb") as file:
            file.write(struct.pack("<8I", 0xFEEDFACF, 0x100000C, 0, 2, len(commands), 0, flags, 0) + b"".join(commands))
        return run(os.path.join(PACKAGING, "mach_o"), os.path.join(folder, "program"), processor).stdout.partition(": ")[2].strip()
    expect(verdict([system, signature]) == "", "a program without a fault")
    expect("libx.dylib" in verdict([system, library(b"/opt/libx.dylib\0"), signature]), "another library")
    expect("signature" in verdict([system]), "no signature")
    expect("11.0" in verdict([system, signature], version=13), "another version")
    expect("random" in verdict([system, signature], flags=0), "a fixed address")
    expect("x86_64" in verdict([system, signature], processor="x86_64"), "another processor")


def test_batches(folder):
    """The folder of a build is in no batch's name: a program of the same sources would have other bytes in another folder."""
    source = os.path.join(ROOT, "cmake", "unity.cmake")
    write(os.path.join(folder, "CMakeLists.txt"), f"""cmake_minimum_required(VERSION 3.25)
project(batches LANGUAGES CXX)
set(ONNXFLOPS_UNITY ON)
include({source})
file(WRITE ${{PROJECT_BINARY_DIR}}/made.cc "")
add_library(batches src/load/wire.cc ${{PROJECT_BINARY_DIR}}/made.cc)
onnxflops_unity(batches)
""")
    write(os.path.join(folder, "src", "load", "wire.cc"), "")
    names = []
    for build in ("one", "another"):
        done = subprocess.run(["cmake", "-S", folder, "-B", os.path.join(folder, build), "-G", "Ninja"], capture_output=True, text=True, check=False)
        expect(done.returncode == 0, done.stderr)
        names.append(re.findall(r"(\S+)\.o: CXX_COMPILER", read(os.path.join(folder, build, "build.ninja"))))
    expect(len(names[0]) == 2 and names[0] == names[1], f"objects of two builds: {names}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for number, test in enumerate((test_sbom, test_licences, test_container, test_recipes, test_version, test_follow, test_links, test_mach_o, test_batches)):
            place = os.path.join(folder, str(number))
            os.mkdir(place)
            test(place)
    test_needs()
    for reason in SKIPPED:
        print(f"skipped: {reason}")
    print("\n".join(FAULTS))
    return bool(FAULTS)


if __name__ == "__main__":
    sys.exit(main())
