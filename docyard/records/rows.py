"""The rows of a batch of calls: recorded searches, recorded calls, and searches whose results were read."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, update

from docyard.database.ids import LONG_ID_CHARACTERS, create_id
from docyard.database.tables import SEARCH_QUERIES, TOOL_CALLS
from docyard.records.counts import add_searches
from docyard.records.opt_outs import OptOuts
from docyard.records.questions import clean_question
from tools.records.searches import SearchRecord
from workspace.lru_cache import LRUCache

_UNKNOWN_OUTCOME = "UNKNOWN_TOOL"
_UNKNOWN_TOOL = "unknown"
_MAX_NAME_CHARACTERS = 200
_MAX_MISSING_WORDS = 20
_REMEMBERED_CALLERS = 2_000
_REMEMBERED_SEARCHES = 50
"""The number of the last searches of a caller whose results still count when they are read."""


class RecordTarget(NamedTuple):
    """The ids of a server, of its organization, and of its namespaces by name."""

    organization_id: str
    server_id: str
    namespace_ids: Mapping[str, str]

    def complete_name(self, name: str) -> str:
        """Return the name of a namespace; that of the only one for an empty name."""
        return next(iter(self.namespace_ids)) if not name and len(self.namespace_ids) == 1 else name


class RecordedCall(NamedTuple):
    """A call to record. `read_section` is the namespace and the address that it read."""

    get_target: Callable[[], RecordTarget]
    time_ms: int
    principal: str | None
    client: str
    tool: str
    outcome: str
    duration_ms: float
    searches: Sequence[SearchRecord]
    read_section: tuple[str, str] | None


class RowBatch(NamedTuple):
    """The rows of a batch. `clicked_ids` are those of earlier searches."""

    searches: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    clicked_ids: list[str]


class RowBuilder:
    """Builds rows, and remembers the results of searches, so that the reading of one counts as a click.

    Used by one thread. The results of an earlier process, and of another worker, are unknown to it.
    """

    def __init__(
        self, format_question: Callable[[str], str], *, has_words: bool, store_embeddings: bool
    ) -> None:
        self._format_question = format_question
        self._has_words = has_words
        self._store_embeddings = store_embeddings
        # The ids and the results of the last searches of each caller.
        self._searches: LRUCache[str, deque[tuple[str, SearchRecord]]] = LRUCache(_REMEMBERED_CALLERS)

    def build(self, calls: Iterable[RecordedCall], opt_outs: OptOuts) -> RowBatch:
        """Return the rows of calls, without those that must not be recorded."""
        batch = RowBatch([], [], [])
        rows_by_id: dict[str, dict[str, Any]] = {}
        for call in calls:
            if opt_outs.contains(call.principal, call.client):
                continue
            target = call.get_target()
            owner = {
                "organization_id": target.organization_id,
                "mcp_server_id": target.server_id,
                "mcp_server_user_id": call.principal,
                "created_at": call.time_ms,
            }
            batch.calls.append(
                {
                    "id": create_id("tcl", LONG_ID_CHARACTERS),
                    **owner,
                    # The name of an unknown tool is a text of the client.
                    "tool": _UNKNOWN_TOOL
                    if call.outcome == _UNKNOWN_OUTCOME
                    else call.tool[:_MAX_NAME_CHARACTERS],
                    "outcome": call.outcome,
                    "response_time_ms": round(call.duration_ms),
                }
            )
            reader = call.principal or call.client
            for search in call.searches:
                row = self._build_search(search, target, owner)
                if row is None:
                    continue
                rows_by_id[row["id"]] = row
                batch.searches.append(row)
                self._searches.get(reader, deque, (), _REMEMBERED_SEARCHES).append((row["id"], search))
            if call.read_section is not None:
                row_id = self._find_search(reader, target, call.read_section)
                if row_id in rows_by_id:
                    rows_by_id[row_id]["clicked"] = True
                elif row_id is not None:
                    batch.clicked_ids.append(row_id)
        return batch

    def _find_search(self, reader: str, target: RecordTarget, section: tuple[str, str]) -> str | None:
        """Return the id of the last search of a caller that found a section."""
        name, address = target.complete_name(section[0]), section[1]
        for row_id, search in reversed(self._searches.find(reader) or ()):
            if any(
                address == found_address and target.complete_name(found_name) == name
                for found_name, found_address in search.addresses
            ):
                return row_id
        return None

    def _build_search(
        self, search: SearchRecord, target: RecordTarget, owner: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Return the row of a search; None if its namespaces no longer belong to the server."""
        names = [target.complete_name(name) for name in search.result_counts]
        name = next((name for name in names if name in target.namespace_ids), None)
        if name is None:
            return None
        commits = {target.complete_name(item): commit for item, commit in search.commits.items()}
        has_embedding = self._store_embeddings and search.embedding is not None
        return {
            "id": create_id("dsq", LONG_ID_CHARACTERS),
            **owner,
            "namespace_id": target.namespace_ids[name],
            "query_text": self._format_question(search.query),
            "search_type": search.search_type,
            "result_count": sum(search.result_counts.values()),
            "walkthrough_id": search.walkthrough,
            "walkthrough_step_id": search.step,
            "response_time_ms": round(search.duration_ms),
            "query_embedding": array("f", search.embedding or ()).tobytes() if has_embedding else None,
            "commit": commits.get(name),
            "namespace_count": len(names),
            "cache_hit": search.is_cached,
            "clicked": False,
            "missing_words": [clean_question(word) for word in search.missing_words[:_MAX_MISSING_WORDS]]
            if self._has_words
            else None,
        }


def write_rows(connection: Connection, batch: RowBatch) -> None:
    """Write the rows of a batch, and add its searches to the counts."""
    if batch.calls:
        connection.execute(insert(TOOL_CALLS), batch.calls)
    if batch.searches:
        connection.execute(insert(SEARCH_QUERIES), batch.searches)
        add_searches(connection, batch.searches)
    if batch.clicked_ids:
        connection.execute(
            update(SEARCH_QUERIES).where(SEARCH_QUERIES.c.id.in_(batch.clicked_ids)).values(clicked=True)
        )
