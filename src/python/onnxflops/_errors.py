"""The exceptions of onnxflops. Their texts are those of the program, in which options are arguments."""

import errno


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
        self.errno = errno.ENOENT
