"""The engines that tests compare, and a history of commits that an engine indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from index.documents import IndexedDocument, SectionRecord, UnreadableDocument
from index.port import Engine, Query, Results, State
from index.postgres.database import Database
from index.postgres.storage import PostgresStorage
from index.query import parse_query
from index.segments.file_storage import FileStorage
from index.storage.location import IndexLocation
from index.whoosh_engine.engine import WhooshEngine
from tests.index.reference import ReferenceEngine

ReadSection = Callable[[SectionRecord], bytes]

ENGINES: dict[str, Callable[[Path, ReadSection, str], Engine]] = {
    "reference": lambda folder, read, url: ReferenceEngine(),
    "whoosh": lambda folder, read, url: WhooshEngine(FileStorage(make_location(folder), durable=False), read),
    "postgres": lambda folder, read, url: WhooshEngine(open_postgres_storage(folder, url), read),
}


def make_location(folder: Path) -> IndexLocation:
    return IndexLocation(lambda: "index", lambda name: [folder / name])


def open_postgres_storage(folder: Path, url: str, **options: Any) -> PostgresStorage:
    """Return the storage of one node, which has its segments in a folder."""
    return PostgresStorage(Database(url), lambda: "docs main", make_location(folder), **options)


@dataclass(frozen=True)
class Commit:
    """A complete commit, from which an engine rebuilds its index."""

    commit: str | None
    documents: dict[str, IndexedDocument | UnreadableDocument]

    def paths(self) -> tuple[str, ...]:
        return tuple(sorted(self.documents))

    def read_documents(self, paths: Iterable[str]) -> Iterator[IndexedDocument | UnreadableDocument]:
        return (self.documents[path] for path in paths)


@dataclass
class History:
    """Successive commits `c1`, `c2` and so on, and the engine that indexes them.

    `database_url` is that of the engine `postgres`. `documents` contains the documents of the last commit,
    `blobs` the bytes of the documents of all commits.
    """

    engine_name: str
    folder: Path
    database_url: str = ""
    tip: str | None = None
    documents: dict[str, IndexedDocument | UnreadableDocument] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.engine = self.open()

    def open(self) -> Engine:
        """Open the engine as another process does."""
        return ENGINES[self.engine_name](self.folder, self.read, self.database_url)

    def read(self, record: SectionRecord) -> bytes:
        return self.blobs[record.blob][record.body : record.end]

    def commit(self, *upserts: IndexedDocument | UnreadableDocument, deletes: Iterable[str] = ()) -> State:
        """Make the next commit, and index it."""
        base, self.tip = self.tip, f"c{int(self.tip[1:]) + 1}" if self.tip else "c1"
        deletes = tuple(deletes)
        self.documents = {path: document for path, document in self.documents.items() if path not in deletes}
        self.documents |= {document.path: document for document in upserts}
        self.blobs |= {
            document.blob: document.data for document in upserts if isinstance(document, IndexedDocument)
        }
        return self.engine.apply(base, self.tip, sorted(upserts, key=lambda document: document.path), deletes)

    def rebuild(self) -> State:
        return self.engine.rebuild(Commit(self.tip, self.documents))

    def search(self, query: Query | str, **options: object) -> Results:
        parsed_query = parse_query(query) if isinstance(query, str) else query
        return self.engine.search(parsed_query, **options)  # type: ignore[arg-type]

    def search_ids(self, query: Query | str, **options: object) -> list[str]:
        return [hit.record.chunk_id for hit in self.search(query, **options).hits]

    def state(self) -> State | None:
        """Return the engine's state, without the time."""
        state = self.engine.state()
        return replace(state, indexed_at="") if state else None
