"""SQLite FTS5 for comparison: it indexes the sections of a corpus, with its own porter stemmer and bm25."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.corpus import SectionText
from benchmarks.timing import compute_p50_p95_ms, compute_percentile, measure_seconds, measure_warm_seconds

PAGE_SIZE = 10
BUILD_COUNT = 3
EDIT_COUNT = 50


def measure(
    section_texts: Sequence[SectionText], queries: Sequence[Sequence[str]], folder: Path
) -> dict[str, Any]:
    """Measure builds, the size of the database in bytes, queries, and edits with a search for each edit."""
    section_rows = [(section.id, section.title, section.body) for section in section_texts]

    def search(query: Sequence[str]) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in query)
        hit_rows = database.execute(
            "SELECT id FROM section WHERE section MATCH ? ORDER BY rank LIMIT ?", (words, PAGE_SIZE)
        )
        return [row[0] for row in hit_rows]

    def edit(number: int) -> None:
        with database:
            database.execute(
                "UPDATE section SET body = body || ? WHERE rowid = ?", (f" zq{number}edit", number)
            )
        assert search([f"zq{number}edit"])

    build_times = []
    for number in range(BUILD_COUNT):
        file = folder / f"fts5-{number}.sqlite"
        database = _open_database(file)
        build_times.append(measure_seconds(partial(_build, database, section_rows)))
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = file.stat().st_size
        if number < BUILD_COUNT - 1:
            database.close()
            file.unlink()
    try:
        query_times = measure_warm_seconds(search, queries)
        edit_times = [
            measure_seconds(partial(edit, number))
            for number in range(1, min(EDIT_COUNT, len(section_texts)) + 1)
        ]
    finally:
        database.close()
    return {
        "seconds": median(build_times),
        "bytes": size,
        "query": compute_p50_p95_ms(query_times),
        "edit_p50_ms": compute_percentile(edit_times, 0.5) * 1e3,
    }


def _open_database(file: Path) -> sqlite3.Connection:
    """Open a database that does not wait for the disk, as in the measured build of Docyard."""
    database = sqlite3.connect(file)
    database.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
        "CREATE VIRTUAL TABLE section USING fts5(id UNINDEXED, title, body, tokenize = 'porter unicode61')"
    )
    return database


def _build(database: sqlite3.Connection, section_rows: Sequence[tuple[str, str, str]]) -> None:
    with database:
        database.executemany("INSERT INTO section VALUES (?, ?, ?)", section_rows)
