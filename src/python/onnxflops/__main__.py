"""python -m onnxflops: the program that the wheel has beside the package."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig


def main() -> int:
    name = "onnxflops.exe" if os.name == "nt" else "onnxflops"
    places = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"), os.path.dirname(sys.executable)]
    paths = [os.path.join(place, name) for place in places]
    path = next((path for path in paths if os.access(path, os.X_OK)), None) or shutil.which("onnxflops")
    if path is None:
        print(f"python -m onnxflops: the program is not in {places[0]}: install the wheel again", file=sys.stderr)
        return 2
    sys.stdout.flush()
    if os.name == "nt":
        import subprocess

        return subprocess.call([path, *sys.argv[1:]])
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    raise SystemExit(main())
