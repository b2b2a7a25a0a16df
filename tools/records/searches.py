"""The searches of one call, for the records of a server. Without a record, nothing is collected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """One question that a call searched for.

    `result_counts` are the numbers of results by searched namespace, that of the best result first; the
    namespace of a server of one repository is empty. `commits` are the searched commits by namespace.
    `addresses` are the namespaces and addresses of the results, `walkthrough` and `step` those under way.
    `embedding` is the vector of the question, if one was used. A further page of the same results is not
    recorded.
    """

    query: str
    search_type: str
    result_counts: Mapping[str, int]
    commits: Mapping[str, str | None]
    addresses: tuple[tuple[str, str], ...]
    missing_words: tuple[str, ...]
    duration_ms: float
    is_cached: bool = False
    walkthrough: str | None = None
    step: str | None = None
    embedding: Sequence[float] | None = None


# A context variable, because many function calls are between the response and the search.
_RECORDS: ContextVar[list[SearchRecord] | None] = ContextVar("searches of this call", default=None)


@contextmanager
def record_searches() -> Iterator[list[SearchRecord]]:
    """Collect the searches of the block."""
    records: list[SearchRecord] = []
    token = _RECORDS.set(records)
    try:
        yield records
    finally:
        _RECORDS.reset(token)


def are_searches_recorded() -> bool:
    """Return True if the searches of this call are collected."""
    return _RECORDS.get() is not None


def add_search(record: SearchRecord) -> None:
    """Add a search to the records of this call, if they are collected."""
    records = _RECORDS.get()
    if records is not None:
        records.append(record)


def name_searched_namespace(namespace: str) -> None:
    """Set the namespace of the searches of this call that name none."""
    records = _RECORDS.get() or []
    for number, record in enumerate(records):
        if "" in record.result_counts:
            records[number] = replace(
                record,
                result_counts={namespace: record.result_counts[""]},
                commits={namespace: record.commits.get("")},
                addresses=tuple((namespace, address) for _, address in record.addresses),
            )
