"""A Ray cluster as an executor: `bbpe.shard(..., executor=bbpe.ray.RayExecutor())`, and so for `bbpe.count`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar, cast

from .lazy import safe_import

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class RayExecutor(Executor):
    """Runs calls as tasks of the Ray cluster that this process is connected to, or of a new one on this machine.

    All nodes must see the files and the folder.  The cluster stays when the executor is shut down.

    Args:
        **options: Options of tasks, as of `ray.remote`, such as `num_cpus` (1 by default), `max_retries` or
            `scheduling_strategy`.

    Raises:
        ImportError: ray is not installed.

    Example:
        >>> import bbpe.ray
        >>> with bbpe.ray.RayExecutor() as executor:  # doctest: +SKIP
        ...     bbpe.shard("/shared/*.jsonl.zst", "/shared/out", tok, eos="<|endoftext|>", executor=executor)

    """

    def __init__(self, **options: Any) -> None:
        try:
            safe_import("ray")
            import ray
        except ImportError as error:
            raise ImportError("RayExecutor needs ray; install it with: pip install 'bbpe[ray]'") from error
        if not ray.is_initialized():
            ray.init()
        self._ray: Any = ray
        self._options = {"num_cpus": 1, **options}

    @property
    def _max_workers(self) -> int:
        """The tasks that the cluster runs at once, as it is now."""
        each = self._options["num_cpus"] or 1
        return max(int(self._ray.cluster_resources().get("CPU", 1) // each), 1)

    def submit(
        self, fn: Callable[_Arguments, _Result], /, *args: _Arguments.args, **kwargs: _Arguments.kwargs
    ) -> Future[_Result]:
        """Start a task.

        Args:
            fn: A function that can be pickled.
            *args: Its arguments.
            **kwargs: Its keyword arguments.

        Returns:
            The future of its result; cancelling it does not end a task that runs.

        """
        task = self._ray.remote(**self._options)(_call)
        return cast("Future[_Result]", task.remote(fn, args, kwargs).future())


def _call(function: Callable[..., _Result], arguments: tuple[Any, ...], options: dict[str, Any]) -> _Result:
    # a function that is a partial or built in cannot be a task itself
    return function(*arguments, **options)
