"""SQLite FTS5 for comparison: given sections, its porter stemmer and its own bm25."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.corpus import Text
from benchmarks.timing import percentile, seconds, spread, warm_seconds

PAGE = 10
BUILDS = 3


def measure(texts: Sequence[Text], queries: Sequence[Sequence[str]], folder: Path) -> dict[str, Any]:
    """Measure the build, the bytes of the file, queries, and one section replaced and found."""
    rows = [(text.id, text.title, text.body) for text in texts]

    def search(query: Sequence[str]) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in query)
        rows = database.execute(
            "SELECT id FROM section WHERE section MATCH ? ORDER BY rank LIMIT ?", (words, PAGE)
        )
        return [row[0] for row in rows]

    def edit(number: int) -> None:
        with database:
            database.execute(
                "UPDATE section SET body = body || ? WHERE rowid = ?", (f" zq{number}edit", number)
            )
        assert search([f"zq{number}edit"])

    builds = []
    for number in range(BUILDS):
        file = folder / f"fts5-{number}.sqlite"
        database = _open_database(file)
        builds.append(seconds(partial(_build, database, rows)))
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = file.stat().st_size
        if number < BUILDS - 1:
            database.close()
            file.unlink()
    try:
        times = warm_seconds(search, queries)
        edits = [seconds(partial(edit, number)) for number in range(1, min(50, len(texts)) + 1)]
    finally:
        database.close()
    return {
        "seconds": median(builds),
        "bytes": size,
        "query": spread(times),
        "edit_p50_ms": percentile(edits, 0.5) * 1e3,
    }


def _open_database(file: Path) -> sqlite3.Connection:
    """Open a database without waits for the disk, as in our own build."""
    database = sqlite3.connect(file)
    database.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
        "CREATE VIRTUAL TABLE section USING fts5(id UNINDEXED, title, body, tokenize = 'porter unicode61')"
    )
    return database


def _build(database: sqlite3.Connection, rows: Sequence[tuple[str, str, str]]) -> None:
    with database:
        database.executemany("INSERT INTO section VALUES (?, ?, ?)", rows)
