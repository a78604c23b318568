"""The extension that the interpreter of embedded_main.cc has inside, where the package looks for it."""

import sys

import _onnxflops_core

sys.modules["onnxflops._core"] = _onnxflops_core
