"""Only one scan at a time writes into a folder: a lock that ends with its process, however that ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

from onnxflops._errors import OnnxflopsError

_NAME = ".scan.lock"  # readers of a dataset skip names that begin with a dot
_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)


@contextmanager
def only_scan_of(folder: str) -> Iterator[None]:
    path = os.path.join(folder, _NAME)
    file = _open_locked(folder, path)
    try:
        yield
    finally:
        if file is not None:
            _release(path, file)


def _open_locked(folder: str, path: str) -> Optional[int]:
    """The open file of the lock. None where none can be: in a folder that cannot be written, or without locks."""
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return None
        try:
            _lock(file)
            # The scan that ended meanwhile removed the file, and another may have made a new one.
            if os.path.samestat(os.fstat(file), os.stat(path)):
                return file
        except FileNotFoundError:
            pass
        except OSError as error:
            os.close(file)
            if error.errno not in _TAKEN:
                return None
            raise OnnxflopsError(f"scan(): another scan is writing to {folder}: wait until it ends, or give another folder") from None
        os.close(file)


def _lock(file: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _release(path: str, file: int) -> None:
    if os.name == "nt":  # an open file cannot be removed there
        os.close(file)
        try:
            os.remove(path)
        except OSError:  # another scan has opened it
            pass
        return
    try:
        os.remove(path)
    except OSError:
        pass
    os.close(file)
