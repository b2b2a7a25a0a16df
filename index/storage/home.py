"""Where the index of a branch lives now: chosen when it is needed, given up when it cannot be written."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from index.storage.location import Location, find_location

REFUSED_FOR = 300.0
"""Seconds for which a folder that could not be written is left alone."""


class Home:
    """The first place of several that can be written, else none: then the index is kept in memory.

    `name` says whose index it is, and `candidates` gives the folders in which that may live, the best first.
    A place is kept until another index is asked for, its folder is gone, or it is given up. Safe in several
    threads: a switch of the branch gives two of them two names.
    """

    def __init__(self, name: Callable[[], str], candidates: Callable[[str], Iterable[Path]]) -> None:
        self._name = name
        self._candidates = candidates
        self._refused: dict[Path, float] = {}
        self._settled: str | None = None
        self._location: Location | None = None
        self._lock = threading.RLock()

    def settle(self) -> Location | None:
        """Give the place where the index lives, chosen again if need be."""
        name = self._name()
        with self._lock:
            if name != self._settled or self._is_to_move():
                self._settled = None
                self._location = self._find(name)
                self._settled = name
            return self._location

    def look(self) -> Location | None:
        """Give the place without moving from one that is given up or gone."""
        with self._lock:
            return self._location if self._settled is not None else self._find(self._name())

    def give_up(self, location: Location) -> None:
        """Look for another place from now on, and leave this one alone for a while."""
        with self._lock:
            if location.folder.is_dir():
                self._refused[location.folder] = time.monotonic() + REFUSED_FOR
            self.leave()

    def leave(self) -> None:
        """Choose anew next time."""
        with self._lock:
            self._settled = self._location = None

    def _is_to_move(self) -> bool:
        now = time.monotonic()
        lapsed = [folder for folder, until in self._refused.items() if until <= now]
        for folder in lapsed:
            del self._refused[folder]
        return bool(lapsed) or (self._location is not None and not self._location.folder.is_dir())

    def _find(self, name: str) -> Location | None:
        return find_location(self._candidates(name), self._refused)
