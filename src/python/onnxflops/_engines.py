"""Where the tasks of a scan run: threads of this process, Dask, Ray."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any, Optional, Protocol, Union

from onnxflops._errors import InvalidError
from onnxflops._tasks import Done, Task, run

IN_FLIGHT = 3  # tasks for each worker: one runs, others wait for it
_SECONDS_OF_A_LOOK = 5.0  # how often a cluster is asked how many workers it has


class WorkerLost(Exception):
    """A worker ended before its task did."""


Finished = tuple[Task, Union[Done, BaseException]]


class Engine(Protocol):
    def __enter__(self) -> Engine: ...
    def __exit__(self, *_: object) -> None: ...
    def workers(self) -> int: ...
    def submit(self, task: Task) -> None: ...
    def finished(self) -> Iterator[Finished]:
        """Tasks that are done, once there is one."""
        ...


def make_engine(name: str, workers: Optional[int], client: Any) -> Engine:
    if workers is not None and not hasattr(workers, "__index__"):
        raise TypeError(f"scan(): 'workers' should be an int, not {type(workers).__name__}")
    if workers is not None and workers < 1:
        raise InvalidError(f"scan(): workers={workers}: it should be 1 or more")
    if name == "local":
        return _Local(workers)
    if name == "dask":
        return _Dask(workers, client)
    if name == "ray":
        return _Ray(workers)
    raise InvalidError(f"scan(): engine {name!r}: it should be local, dask or ray")


class _Local:
    """Counting is done without the GIL, and fetching waits."""

    def __init__(self, workers: Optional[int]) -> None:
        from concurrent.futures import Future, ThreadPoolExecutor

        self._workers = workers or min(32, (os.cpu_count() or 1) + 4)
        self._pool, self._stop = ThreadPoolExecutor(self._workers), threading.Event()
        self._running: dict[Future[Done], Task] = {}

    def __enter__(self) -> _Local:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()  # a task then writes its finished rows
        self._pool.shutdown(cancel_futures=True)

    def workers(self) -> int:
        return self._workers

    def submit(self, task: Task) -> None:
        self._running[self._pool.submit(run, task, self._stop)] = task

    def finished(self) -> Iterator[Finished]:
        from concurrent.futures import FIRST_COMPLETED, wait

        for future in wait(self._running, return_when=FIRST_COMPLETED).done:
            yield self._running.pop(future), future.exception() or future.result()


class _Cluster:
    """A cluster that may grow and shrink."""

    def __init__(self) -> None:
        self._counted, self._looked = 0, float("-inf")

    def workers(self) -> int:
        if time.monotonic() > self._looked + _SECONDS_OF_A_LOOK:
            self._counted, self._looked = self._ask(), time.monotonic()
        return max(1, self._counted)

    def _ask(self) -> int:
        raise NotImplementedError


class _Dask(_Cluster):
    def __init__(self, workers: Optional[int], client: Any) -> None:
        try:
            import distributed
        except ImportError as error:
            raise ImportError("engine='dask' needs distributed: pip install 'onnxflops[dask]'") from error
        super().__init__()
        dask: Any = distributed  # its functions have no types
        self._own = client is None
        threads = None if workers is None else 1
        self._client = client or dask.Client(n_workers=workers, threads_per_worker=threads, dashboard_address=None)
        self._done: Any = dask.as_completed()
        self._running: dict[Any, Task] = {}
        self._killed: type[BaseException] = dask.scheduler.KilledWorker

    def __enter__(self) -> _Dask:
        return self

    def __exit__(self, *_: object) -> None:
        for future in list(self._running):
            future.cancel()
        if self._own:
            self._client.close()  # closes its cluster as well

    def _ask(self) -> int:
        return sum(self._client.nthreads().values())

    def submit(self, task: Task) -> None:
        future = self._client.submit(run, task, pure=False)
        self._running[future] = task
        self._done.add(future)

    def finished(self) -> Iterator[Finished]:
        for future in self._done.next_batch():
            task = self._running.pop(future)
            try:
                yield task, future.result()
            except self._killed:
                yield task, WorkerLost()
            except Exception as error:
                yield task, error


class _Ray(_Cluster):
    def __init__(self, workers: Optional[int]) -> None:
        try:
            import ray
        except ImportError as error:
            raise ImportError("engine='ray' needs Ray: pip install 'onnxflops[ray]'") from error
        super().__init__()
        self._ray: Any = ray
        self._own = not ray.is_initialized()
        if self._own:
            ray.init(num_cpus=workers)
        self._remote = self._ray.remote(max_retries=1)(run)
        self._running: dict[Any, Task] = {}

    def __enter__(self) -> _Ray:
        return self

    def __exit__(self, *_: object) -> None:
        for waiting in self._running:
            self._ray.cancel(waiting)
        if self._own:
            self._ray.shutdown()

    def _ask(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 1))

    def submit(self, task: Task) -> None:
        self._running[self._remote.remote(task)] = task

    def finished(self) -> Iterator[Finished]:
        exceptions = self._ray.exceptions
        ready, _ = self._ray.wait(list(self._running), num_returns=1)
        for reference in ready:
            task = self._running.pop(reference)
            try:
                yield task, self._ray.get(reference)
            except (exceptions.WorkerCrashedError, exceptions.OutOfMemoryError, exceptions.NodeDiedError):
                yield task, WorkerLost()
            except exceptions.RayTaskError as error:
                yield task, error.cause or error
