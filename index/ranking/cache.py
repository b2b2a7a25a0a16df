"""What was made of an index's files and may be asked for again, kept within a limit of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Hashable
from typing import ParamSpec, TypeVar, cast

LIMIT = 64 << 20
"""The bytes that one index may keep."""

_ENTRY = 1_000  # about what an entry takes beside the numbers in its arrays


P = ParamSpec("P")
T = TypeVar("T")


class Cache:
    """Values by name. Safe to use from threads; what was asked for last stays longest."""

    def __init__(self, limit: int = LIMIT) -> None:
        """Keep values of at most `limit` bytes in all."""
        self._limit = limit
        self._size = 0
        self._values: OrderedDict[Hashable, object] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: Hashable, make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Give the value of a name; made of the arguments if it is not there, by two threads perhaps."""
        values = self._values
        try:  # without the lock: either step is done as a whole, and finds what is there
            values.move_to_end(name)
            return cast(T, values[name])
        except KeyError:
            pass
        value = make(*args, **kwargs)
        with self._lock:
            if name not in values:
                values[name] = value
                self._size += _bytes(value)
                while self._size > self._limit:
                    self._size -= _bytes(values.popitem(last=False)[1])
        return value

    def keep(self, owners: Container[Hashable]) -> None:
        """Forget the values whose names, tuples, begin with anything else than one of these.

        Arrays are views of mapped files, and a file stays open as long as there is one.
        """
        with self._lock:
            for name in list(self._values):  # listed as a whole, since others may change the order meanwhile
                if cast(tuple[Hashable, ...], name)[0] not in owners:
                    self._size -= _bytes(self._values.pop(name))

    @property
    def size(self) -> int:
        """The bytes that are kept."""
        return self._size


def _bytes(value: object) -> int:
    return _ENTRY + int(getattr(value, "nbytes", 0))
