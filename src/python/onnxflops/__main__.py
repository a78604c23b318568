"""The program, which is in the extension: `onnxflops` and `python -m onnxflops`."""

from __future__ import annotations

import os
import signal
import sys

from onnxflops import _core


def main() -> int:
    # Signals as a program begins with them: the interpreter has changed these, and would wait for the program's end.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    for name in ("SIGPIPE", "SIGXFSZ"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    os.environ.setdefault("ONNXFLOPS_PYTHON", sys.executable or "python3")  # for --with-transformers
    return _core._run_program([os.fsencode(word) for word in sys.argv[1:]])


if __name__ == "__main__":
    raise SystemExit(main())
