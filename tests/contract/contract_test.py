#!/usr/bin/env python3
"""Nothing that the last release promised is gone, unless the version says so: docs/versions.md.

    tests/contract/contract_test.py PROGRAM

Adding is allowed. tests/python/test_contract.py looks at the engine of the Python package, which only an installed package has.
"""
import json
import sys

import cpp_names
import description
import python_names

HEADER = """
#define ONNXFLOPS_A 1
namespace onnxflops {
// void Comment();
constexpr int kOne = 1, kTwo[] = {1, 2};
enum class Color : int { kRed = 1, kBlue };
enum Plain { kPlain };
struct Point {
  struct Inner { int deep = 0; };
  std::map<int, std::vector<int>> a, b = {{1, {2}}};
  Point(int x) : a{}, b(x) {}
  friend bool operator==(const Point& a, const Point& b) { return true; }
  Point operator+(int) const;
  const char* text = "struct Not { int in_text; };";
 private:
  int hidden;
};
class Shut { int hidden; public: void Open() const noexcept; };
class Forward;
template <typename T, int N = 2> T Make(T value, int (*call)(int) = nullptr);
using Alias = std::vector<int>;
}  // namespace onnxflops
"""
NAMES = {"macro ONNXFLOPS_A", "kOne", "kTwo", "Color", "Color::kRed", "Color::kBlue", "Plain", "kPlain", "Point", "Point::Inner",
         "Point::Inner::deep", "Point::a", "Point::b", "Point::Point", "Point::operator+", "Point::text", "Shut", "Shut::Open", "Make", "Alias"}
MODULE = """
__all__ = ["Open", "run"]
class Open:
    size: int
    def __len__(self) -> int: ...
    def at(self, /, *, batch=1, _own=2, **sizes): ...
    def _hidden(self): ...
def run(path, *, fast=False): ...
def not_listed(): ...
"""
PYTHON = {"m.Open", "m.Open.size", "m.Open.__len__", "m.Open.at", "m.Open.at(batch)", "m.Open.at(**)", "m.run", "m.run(path)", "m.run(fast)"}


def faults_of_the_readers():
    if cpp_names.names_of(HEADER) != NAMES:
        yield f"names of C++: {sorted(cpp_names.names_of(HEADER) ^ NAMES)}"
    if python_names.names_of(MODULE, "m") != PYTHON:
        yield f"names of Python: {sorted(python_names.names_of(MODULE, 'm') ^ PYTHON)}"


def faults_of_the_comparison(present):
    """A line that is gone from any section is found, and allowed where the version allows it."""
    for section, lines in present.items():
        released = {**present, "version": "1.2.3", section: [*lines, "what is gone"]}
        allowed = [now for now in ("1.2.3", "1.2.4", "1.3.0", "2.0.0") if not description.broken(released, present, now)]
        if allowed != (["1.3.0", "2.0.0"] if section == "figures" else ["2.0.0"]):
            yield f"{section}: what is gone is allowed in {allowed}"
        if description.broken({**released, "version": "0.1.0"}, present, "0.2.0"):
            yield f"{section}: before 1.0.0 a new minor version may break"
        if description.broken({**present, "version": "1.2.3", section: lines[1:]}, present, "1.2.3"):
            yield f"{section}: adding is not allowed"


def main():
    present = description.describe(description.Program(sys.argv[1]))
    with open(description.RELEASED, encoding="utf-8") as file:
        released = json.load(file)
    faults = [*faults_of_the_readers(), *faults_of_the_comparison(present)]
    faults += [f"exit code: not {code} {call}" for code, call in description.EXIT_CODES if f"{code} {call}" not in present["exit_codes"]]
    faults += [f"{section} describes nothing" for section, lines in present.items() if len(lines) < 8]
    faults += description.broken(released, present, description.version())
    print("\n".join(faults))
    if faults:
        print("docs/versions.md says what may change in which version, and tests/contract/remake what to do at a release")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
