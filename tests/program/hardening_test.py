#!/usr/bin/env python3
"""The programs that are shipped are built so that a mistake in them is hard to use: hardening_test.py LIBRARY PROGRAM...

LIBRARY is our own archive, whose objects show what they were compiled with. Debian's archives, which the programs hold as well, have
no marks of their own for control-flow protection (CET), so that the programs have none either: the linker keeps a mark that all have.
"""

import re
import subprocess
import sys
import unittest

LIBRARY, *PROGRAMS = sys.argv[1:]


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

    def test_compiled_with_checks(self):
        objects = len(re.findall(r"^File: ", readelf("--file-header", LIBRARY), re.MULTILINE))
        self.assertGreater(objects, 10)
        # CMakeLists.txt names nine files that go without; the others are a batch each, or a file each.
        self.assertGreater(self.objects_that_call("__stack_chk_fail"), 0.9 * (objects - 9))
        self.assertGreater(self.objects_that_call("_ZSt21__glibcxx_assert_fail\\w+"), 0.4 * objects)
        self.assertGreater(self.objects_that_call("__\\w+_chk"), 0)

    def test_control_flow_protection(self):
        # Linux gives programs shadow stacks, but no tracking of indirect branches.
        notes = readelf("--notes", LIBRARY).split("\nFile: ")[1:]
        self.assertEqual([n.split("\n")[0] for n in notes if not re.search("x86 feature: .*SHSTK", n)], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
