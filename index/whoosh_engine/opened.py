"""An index that was read, and what is made of one generation of it when it is asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from index.page import Record
from index.phrases import required_terms, verifier
from index.port import GenerationGone, Query, Results, State
from index.ranking.cache import ArrayCache
from index.ranking.results import best
from index.ranking.statistics import Statistics
from index.segments.generation import Generation, counted
from index.segments.store import Store
from index.storage.location import SCHEMA


@dataclass(frozen=True, eq=False)
class Opened:
    """One generation of a store. `cache` outlives it. Safe to use from threads."""

    store: Store
    generation: Generation
    cache: ArrayCache
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

    def search(
        self,
        query: Query,
        read: Callable[[Record], bytes],
        *,
        offset: int = 0,
        limit: int = 10,
        generation: str | None = None,
    ) -> Results:
        """Give the hits [offset, offset + limit) of a query; `read` gives the text of a section as Markdown.

        Raises GenerationGone if that is another generation than this one.
        """
        self._check(generation)
        stretch = best(
            self.statistics,
            query,
            offset=offset,
            limit=limit,
            required=[term for phrase in query.phrases for term in required_terms(phrase)],
            verify=verifier(query.phrases, read) if query.phrases else None,
        )
        return Results(stretch.hits, stretch.more, self.edition, self.state, stretch.partial)

    def values(self, key: str) -> Mapping[str, int]:
        """Count the live sections that have each value of a taxonomy key."""
        if key not in self._values:
            self._values[key] = counted(self.generation.parts, key)
        return self._values[key]

    def similar(self, word: str, most: int) -> tuple[str, ...]:
        """Give at most so many terms that a misspelt word may stand for."""
        from index.similar import similar

        return similar(self.statistics, word, most)

    def _check(self, generation: str | None) -> None:
        if generation is not None and generation != self.edition:
            raise GenerationGone(
                "the documents have changed since the first page of the list",
                fix="Begin again with the first page.",
                generation=self.edition,
                commit=self.state.commit,
            )
