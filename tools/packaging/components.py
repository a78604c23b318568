"""Third-party components of a released file: names, licences, versions and the texts of the licences. For sbom and licences."""

import argparse
import glob
import importlib.metadata
import os
import re
import subprocess
import sys
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
OWN_LICENCE = "Apache-2.0"
AUTHORS = "the authors of onnxflops"


class Component(NamedTuple):
    name: str
    licence: str  # as SPDX writes it
    home: str
    debian: str = ""  # the package that it is compiled from; dpkg-query may match several by a pattern
    pypi: str = ""
    zig: tuple = ()  # files of its licence in ziglang
    header_only: bool = False


LIBRARIES = (
    Component("abseil", "Apache-2.0", "https://abseil.io/", "libabsl-dev"),
    Component("fmt", "MIT WITH fmt-exception", "https://fmt.dev/", "libfmt-dev", header_only=True),
    Component("nlohmann-json", "MIT", "https://json.nlohmann.me/", "nlohmann-json3-dev", header_only=True),
    Component("tomlplusplus", "MIT", "https://marzer.github.io/tomlplusplus/", "libtomlplusplus-dev", header_only=True),
    Component("protozero", "BSD-2-Clause AND Apache-2.0", "https://github.com/mapbox/protozero", "libprotozero-dev", header_only=True),
    Component("cli11", "BSD-3-Clause", "https://github.com/CLIUtils/CLI11", "libcli11-dev", header_only=True),
)
NANOBIND = Component("nanobind", "BSD-3-Clause AND MIT", "https://github.com/wjakob/nanobind", pypi="nanobind")
GCC_RUNTIME = (
    Component("libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org/", "libstdc++-*-dev"),
    Component("glibc", "LGPL-2.1-or-later", "https://www.gnu.org/software/libc/", "libc6-dev"),
)
LLVM = Component("libc++", "Apache-2.0 WITH LLVM-exception", "https://libcxx.llvm.org/",
                 zig=("lib/libcxx/LICENSE.TXT", "lib/libcxxabi/LICENSE.TXT", "lib/libunwind/LICENSE.TXT"))
ZIG = Component("compiler-rt", "MIT", "https://ziglang.org/", zig=("LICENSE",))
WASI = Component("wasi-libc", "Apache-2.0 WITH LLVM-exception AND MIT AND BSD-2-Clause", "https://github.com/WebAssembly/wasi-libc",
                 zig=("lib/libc/wasi/LICENSE", "lib/libc/wasi/LICENSE-APACHE-LLVM", "lib/libc/wasi/LICENSE-MIT",
                      "lib/libc/wasi/libc-bottom-half/cloudlibc/LICENSE", "lib/libc/wasi/libc-top-half/musl/COPYRIGHT"))
MUSL = Component("musl", "MIT", "https://musl.libc.org/", zig=("lib/libc/musl/COPYRIGHT",))
MINGW_RUNTIME = (
    Component("libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org/", "g++-mingw-w64-x86-64-posix"),
    Component("mingw-w64", "ZPL-2.1", "https://www.mingw-w64.org/", "mingw-w64-x86-64-dev"),
)


def fail(what):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {what}")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def own_version():
    return re.search(r'ONNXFLOPS_VERSION "([^"]+)"', read(os.path.join(ROOT, "src", "api", "version.h")))[1]


def is_source(artefact):
    return re.fullmatch(r"onnxflops-[0-9.]+\.tar\.gz", os.path.basename(artefact)) is not None


def components_of(artefact, by_zig):
    """The components of a released file of this name, compiled by g++ or zig."""
    name = os.path.basename(artefact)
    found = LIBRARIES
    if is_source(name):
        return found
    if name.endswith(".tgz"):  # of npm: the library without the program
        return tuple(part for part in found if part.name != "cli11") + (WASI, LLVM, ZIG)
    is_wheel = name.endswith(".whl")  # which loads the C library of the system
    if is_wheel:
        found += (NANOBIND,)
    if not by_zig and "-win" in name:
        return found + MINGW_RUNTIME
    if not by_zig:
        return found + (GCC_RUNTIME[:1] if is_wheel else GCC_RUNTIME)
    if "linux" in name and not is_wheel:
        found += (MUSL,)
    return found + (LLVM, ZIG)


class Origins:
    """Where versions and licences are looked up."""

    def __init__(self, given, sources, zig):
        self.given = dict(pair.split("=", 1) for pair in given)
        self.sources, self.zig = sources, zig

    def package(self, component):
        """The installed Debian package, (name, source, version); of several the newest."""
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${source:Package} ${source:Version} ${db:Status-Abbrev}\n", component.debian],
                              capture_output=True, text=True, check=False)
        rows = [line.split() for line in done.stdout.splitlines() if line.rstrip().endswith("ii")]
        return max(rows, key=lambda row: [int(part) for part in re.findall(r"\d+", row[0])], default=None)

    def zig_version(self):
        infos = glob.glob(os.path.join(os.path.dirname(os.path.abspath(self.zig)), "ziglang-*.dist-info"))
        return re.search(r"ziglang-(.+)\.dist-info", infos[0])[1] if infos else "of unknown version"

    def version(self, component):
        """(version, package URL)."""
        name = component.name
        if name in self.given:
            return self.given[name], f"pkg:generic/{name.replace('+', '%2B')}@{self.given[name]}"
        if component.zig and self.zig:
            return f"as in ziglang {self.zig_version()}", f"pkg:pypi/ziglang@{self.zig_version()}"
        if component.pypi:
            try:
                version = importlib.metadata.version(component.pypi)
            except importlib.metadata.PackageNotFoundError:
                fail(f"this Python has no {name}: run with one that has, or give --version {name}=VERSION")
            return version, f"pkg:pypi/{component.pypi}@{version}"
        row = self.package(component) if component.debian else None
        if row is None:
            fail(f"the version of {name} is unknown: give --version {name}=VERSION, or install {component.debian or name}")
        return row[2], f"pkg:deb/debian/{row[1].replace('+', '%2B')}@{row[2].replace('+', '%2B')}?arch=source"

    def texts(self, component):
        """The texts that must be distributed with it."""
        paths = []
        if component.zig and self.zig:
            paths = [os.path.join(self.zig, name) for name in component.zig]
        elif self.sources and component.debian:
            paths = [os.path.join(self.sources, "licences", f"{component.debian}.txt")]
        if component.pypi:
            try:
                files = importlib.metadata.files(component.pypi) or []
            except importlib.metadata.PackageNotFoundError:
                fail(f"this Python has no {component.name}, whose licence is needed: run with one that has")
            paths = [str(file.locate()) for file in files if re.match(r"licen[cs]e|copying", os.path.basename(file), re.I)]
        if component.debian and not (paths and os.path.exists(paths[0])):
            row = self.package(component)
            paths = [os.path.join("/usr/share/doc", row[0] if row else component.debian, "copyright")]
        for path in paths:
            if not os.path.exists(path):
                fail(f"there is no {path}, the licence of {component.name}")
        if not paths:
            fail(f"the licence of {component.name} is found nowhere")
        return [read(path).strip() + "\n" for path in paths]


def arguments(description, artefact_help, output_help):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("artefact", help=artefact_help)
    parser.add_argument("-o", "--output", metavar="FILE", help=output_help)
    parser.add_argument("--zig", metavar="FOLDER", help="it was compiled by PyPI's ziglang, whose package is this folder; default: by g++")
    parser.add_argument("--sources", metavar="FOLDER", help="what `tools/setup sources` made: licences are taken from there")
    parser.add_argument("--version", metavar="NAME=VERSION", action="append", default=[], help="of what is not installed here")
    parser.add_argument("--without", metavar="NAME", action="append", default=[], help="a component that this file does not contain")
    given = parser.parse_args()
    parts = [part for part in components_of(given.artefact, given.zig) if part.name not in given.without]
    return given, parts, Origins(given.version, given.sources, given.zig)
