"""An index that was read, and what is made of one generation of it when it is asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from index.location import SCHEMA
from index.port import State
from index.ranking.cache import Cache
from index.ranking.statistics import Statistics
from index.segments.generation import Generation, counted
from index.segments.store import Store


@dataclass(frozen=True, eq=False)
class Opened:
    """One generation of a store. `cache` outlives it. Safe to use from threads."""

    store: Store
    generation: Generation
    cache: Cache
    _values: dict[str, Mapping[str, int]] = field(default_factory=dict, init=False)

    @property
    def folder(self) -> Path | None:
        """Where the index is; None if it is in memory."""
        return self.store.folder

    @property
    def state(self) -> State:
        return self.generation.state

    @cached_property
    def edition(self) -> str:
        """What decides the lists: how they are made, the commit, and which of its documents were left out."""
        edition = f"{SCHEMA}:{self.state.commit or ''}"
        left_out = self.state.unreadable
        if not left_out:
            return edition
        return f"{edition}:{hashlib.sha256(json.dumps(sorted(left_out)).encode()).hexdigest()[:16]}"

    @cached_property
    def statistics(self) -> Statistics:
        return Statistics(self.generation.parts, self.cache)

    def values(self, key: str) -> Mapping[str, int]:
        """Count the live sections that have each value of a taxonomy key."""
        if key not in self._values:
            self._values[key] = counted(self.generation.parts, key)
        return self._values[key]

    def similar(self, word: str, most: int) -> tuple[str, ...]:
        """Give at most so many terms that a misspelt word may stand for."""
        from index.ranking.similar import similar

        return similar(self.statistics, word, most)
