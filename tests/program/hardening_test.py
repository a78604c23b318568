#!/usr/bin/env python3
"""The programs that are shipped are built so that a mistake in them is hard to use: hardening_test.py BUILD LIBRARY PROGRAM...

BUILD holds compile_commands.json: every object is compiled with all of FLAGS, and nothing takes one back. No file is left out.

LIBRARY is our own archive, whose objects show what they were compiled with. Debian's archives, which the programs hold as well, have
no marks of their own for control-flow protection (CET), so that the programs have none either: the linker keeps a mark that all have.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import unittest

BUILD, LIBRARY, *PROGRAMS = sys.argv[1:]

FLAGS = (
    "-fPIC",
    "-fvisibility=hidden",
    "-fstack-protector-strong",
    "-fstack-clash-protection",
    "-fcf-protection=return",
    "-ftrivial-auto-var-init=zero",
    "-D_FORTIFY_SOURCE=3",
    "-D_GLIBCXX_ASSERTIONS",
)
TAKEN_BACK = re.compile(
    r"-fno-(pic|PIC|stack-protector|stack-clash-protection)|-fcf-protection=none|-ftrivial-auto-var-init=(?!zero)"
    r"|-U_GLIBCXX_ASSERTIONS|-D_FORTIFY_SOURCE=(?!3)|-fstack-protector$|-w$"
)


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout


class ProgramTest(unittest.TestCase):
    def each(self, *arguments):
        for program in PROGRAMS:
            with self.subTest(program=program):
                yield readelf(*arguments, program)

    def test_position_independent_and_static(self):
        for text in self.each("--file-header", "--segments", "--dynamic"):
            self.assertRegex(text, r"Type: +DYN")
            self.assertRegex(text, r"\(FLAGS_1\) .*\bPIE\b")
            self.assertNotRegex(text, r"INTERP|\(NEEDED\)|TEXTREL")

    def test_nothing_is_both_writable_and_executable(self):
        for text in self.each("--segments"):
            self.assertRegex(text, r"GNU_STACK .* RW +0x")
            self.assertNotRegex(text, r"\bRWE\b")

    def test_tables_of_addresses_are_read_only(self):
        for text in self.each("--segments", "--dynamic"):
            self.assertRegex(text, r"GNU_RELRO")
            self.assertRegex(text, r"\(FLAGS_1\) .*\bNOW\b")

    def test_checks_are_linked(self):
        for text in self.each("--symbols"):
            for check in ("__stack_chk_fail", "__chk_fail", "_ZSt21__glibcxx_assert_fail\\w+"):
                self.assertRegex(text, rf"FUNC .* {check}\n")


class LibraryTest(unittest.TestCase):
    def objects_that_call(self, function):
        return len(re.findall(rf"UND {function}\n", readelf("--symbols", LIBRARY)))

    def test_every_file_is_compiled_with_all_flags(self):
        with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
            commands = [shlex.split(command["command"]) for command in json.load(file)]
        objects = {arguments[arguments.index("-o") + 1]: arguments for arguments in commands}
        archived = re.findall(r"^File: .*\((.*)\)$", readelf("--file-header", LIBRARY), re.MULTILINE)
        self.assertLessEqual(set(archived), {os.path.basename(name) for name in objects})
        for name, arguments in objects.items():
            with self.subTest(object=name):
                self.assertEqual([flag for flag in FLAGS if flag not in arguments], [])
                self.assertEqual([argument for argument in arguments if TAKEN_BACK.match(argument)], [])
                fortify = [argument for argument in arguments if "_FORTIFY_SOURCE" in argument]
                self.assertEqual(fortify[-1], "-D_FORTIFY_SOURCE=3")

    def test_compiled_with_checks(self):
        objects = len(re.findall(r"^File: ", readelf("--file-header", LIBRARY), re.MULTILINE))
        self.assertGreater(objects, 10)
        self.assertGreater(self.objects_that_call("__stack_chk_fail"), 0.9 * objects)
        self.assertGreater(self.objects_that_call("_ZSt21__glibcxx_assert_fail\\w+"), 0.9 * objects)
        self.assertGreater(self.objects_that_call("__\\w+_chk"), 0)

    def test_control_flow_protection(self):
        # Linux gives programs shadow stacks, but no tracking of indirect branches.
        notes = readelf("--notes", LIBRARY).split("\nFile: ")[1:]
        self.assertEqual([n.split("\n")[0] for n in notes if not re.search("x86 feature: .*SHSTK", n)], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
