#!/usr/bin/env python3
"""Every file includes the headers of the standard library and of Abseil that it uses: directly or through headers of ours.

The library is compiled in batches, or with a precompiled header of both, so the compiler does not notice a missing one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ("src", "ops", "tools", "tests")

# Header: what stands after "std::" or "absl::" (a regular expression). Templates and functions whose header is always there
# where they make sense, as std::begin with a container, are left out.
STANDARD = {
    "algorithm": "(any_of|all_of|none_of|binary_search|clamp|copy|copy_n|count|count_if|equal|fill|fill_n|find|find_if|"
                 "lower_bound|max|max_element|min|min_element|remove_if|replace|reverse|rotate|search|sort|stable_sort|"
                 "transform|unique|upper_bound)",
    "array": "array",
    "atomic": "atomic",
    "bit": "(bit_cast|bit_width|countl_zero|countr_zero|has_single_bit|popcount)",
    "cmath": "(ceil|exp|fabs|floor|frexp|isfinite|isinf|isnan|ldexp|log|log10|log2|pow|round|sqrt|trunc)",
    "cstring": "(memchr|memcmp|memcpy|memset|strlen)",
    "deque": "deque",
    "functional": "(function|greater|hash|less|plus)",
    "initializer_list": "initializer_list",
    "limits": "numeric_limits",
    "map": "(map|multimap)",
    "memory": "(make_shared|make_unique|shared_ptr|unique_ptr)",
    "mutex": "(call_once|lock_guard|mutex|once_flag|unique_lock)",
    "numeric": "(accumulate|gcd|iota|lcm)",
    "optional": "(nullopt|optional)",
    "set": "(multiset|set)",
    "string": "(string|to_string)",
    "tuple": "(make_tuple|tie|tuple)",
    "utility": "(exchange|forward|make_pair|move|pair|swap)",
    "variant": "(get_if|holds_alternative|monostate|variant|visit)",
    "vector": "vector",
}
ABSEIL = {
    "cleanup/cleanup": "Cleanup",
    "container/btree_map": "btree_map",
    "container/btree_set": "btree_set",
    "container/flat_hash_map": "flat_hash_map",
    "container/flat_hash_set": "flat_hash_set",
    "container/inlined_vector": "InlinedVector",
    "functional/function_ref": "FunctionRef",
    "numeric/int128": "u?int128",
    "status/status": "(InternalError|InvalidArgumentError|OkStatus|Status|StatusCode)",
    "status/statusor": "StatusOr",
    "strings/ascii": "(AsciiStrTo\\w+|ascii_\\w+|Strip\\w*AsciiWhitespace)",
    "strings/escaping": "(BytesToHexString|CEscape|CHexEscape)",
    "strings/match": "(EndsWith|EqualsIgnoreCase|StartsWith|StrContains)",
    "strings/numbers": "Simple\\w+",
    "strings/str_cat": "(Hex|StrAppend|StrCat)",
    "strings/str_format": "StrFormat",
    "strings/str_join": "StrJoin",
    "strings/str_split": "(ByChar|MaxSplits|StrSplit)",
    "strings/string_view": "string_view",
    "strings/strip": "(ConsumePrefix|ConsumeSuffix|StripPrefix|StripSuffix)",
    "types/span": "(MakeConstSpan|MakeSpan|Span)",
}
USES = {header: re.compile(rf"\bstd::{names}\b") for header, names in STANDARD.items()}
USES |= {f"absl/{header}.h": re.compile(rf"\babsl::{names}\b") for header, names in ABSEIL.items()}
USES["cstdint"] = re.compile(r"\bu?int(8|16|32|64)_t\b")
USES["cstddef"] = re.compile(r"\bsize_t\b")


def read(path):
    """The headers a file names, and its code without comments and texts."""
    text = path.read_text()
    includes = re.findall(r'^#include [<"]([^">]+)[">]', text, re.MULTILINE)
    code = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', re.sub(r"//[^\n]*", "", text))
    return includes, code


def reached(name, files):
    """All headers that a file includes by itself or by headers of ours."""
    seen, queue = set(), [name]
    while queue:
        header = queue.pop()
        if header not in seen:
            seen.add(header)
            queue += files[header][0] if header in files else []
    return seen


def main():
    # The consumer of the installed library is compiled without a precompiled header.
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")
             if path.suffix in (".h", ".cc") and path.parent.name != "consumer"]
    files = {str(path.relative_to(ROOT)): read(path) for path in paths}
    missing = []
    for name, (_, code) in sorted(files.items()):
        headers = reached(name, files)
        missing += [f"{name} does not include {header}" for header, use in USES.items()
                    if header not in headers and use.search(code)]
    print("\n".join(missing) or f"{len(files)} files include what they use of the standard library and of Abseil")
    return 1 if missing or len(files) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
