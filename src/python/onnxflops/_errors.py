"""The exceptions of onnxflops. Their texts are those of the program, in which options are arguments."""

import errno
import os
import re


class OnnxflopsError(Exception):
    """Something about a model or a request. `limit` names the limit that is met, or is ""."""

    limit: str

    def __init__(self, message: str, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit


class InvalidError(OnnxflopsError, ValueError):
    """The model contradicts itself or the request, or an argument has no meaning."""


class NotFoundError(OnnxflopsError, LookupError):
    """There is no such file, node, module, tool or device."""


class LimitError(OnnxflopsError, OverflowError):
    """A limit is met, or a figure is beyond 128 bits."""


class UnavailableError(OnnxflopsError):
    """There is no such figure here: a size is open, a tool has none, a peak is not known."""


class UnsupportedError(OnnxflopsError, NotImplementedError):
    """A request that is not supported."""


class NoSuchFileError(NotFoundError, FileNotFoundError):
    """There is no such file."""

    def __init__(self, message: str, limit: str = "") -> None:
        super().__init__(message, limit)
        path = re.sub(r": no such file\b.*", "", message, flags=re.DOTALL).rpartition(": ")[2]
        named = re.fullmatch(r"[a-z_]+='(.*)'", path, re.DOTALL)  # of an argument
        self.errno, self.strerror, self.filename = errno.ENOENT, os.strerror(errno.ENOENT), named[1] if named else path

    def __str__(self) -> str:
        return str(self.args[0])
