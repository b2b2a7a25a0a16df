"""The rows of the report: the value of each, the compared values, and the limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from benchmarks.reports.yardsticks import Yardstick

Results = Mapping[str, Any]
Value = Callable[[Results], float]
"""Reads a value from results; raises KeyError if it was not measured."""

Limits = tuple[float | None, float | None]
"""Limits for small and for large."""

NO_LIMITS: Limits = (None, None)
SERVERS = ("stdio", "stateless", "http")


class Row(NamedTuple):
    """One line. `limits` are for small and for large; a limit in time grows with its yardstick."""

    name: str
    unit: str
    value: Value
    limits: Limits = NO_LIMITS
    yardstick: Yardstick | None = None
    fts5: Value | None = None
    tantivy: Value | None = None
    bare: Value | None = None


def at(*keys: str) -> Value:
    """Return a function that reads the value under these keys."""

    def value(results: Results) -> float:
        found: Any = results
        for key in keys:
            found = found[key]
        return float(found)

    return value


def ratio(one: Value, other: Value) -> Value:
    """Return the ratio of two values."""
    return lambda results: one(results) / other(results)


def by_size(name: str) -> Value:
    """Return the ratio of the bytes of an index to those of the corpus."""
    return ratio(at(name, "bytes"), at("corpus", "bytes"))


def _not_first(kind: str) -> Value:
    count, first = at("known", kind, "asked"), at("known", kind, "first")
    return lambda results: 100 * (count(results) - first(results)) / count(results)


def _first_query_rows(
    label: str, name: str, p50: Limits = NO_LIMITS, p95: Limits = NO_LIMITS
) -> tuple[Row, ...]:
    """Return the rows of the first runs of queries, and the row of their second runs."""
    bare = (lambda key: at("asks", "bare", "first", key)) if name in SERVERS else (lambda key: None)
    return (
        Row(
            f"{label}, first ask, p50",
            "ms",
            at("asks", name, "first", "p50_ms"),
            p50,
            Yardstick.CALL,
            bare=bare("p50_ms"),
        ),
        Row(
            f"{label}, first ask, p95",
            "ms",
            at("asks", name, "first", "p95_ms"),
            p95,
            Yardstick.CALL,
            bare=bare("p95_ms"),
        ),
        Row(f"{label}, first ask, p99", "ms", at("asks", name, "first", "p99_ms"), bare=bare("p99_ms")),
        Row(f"{label}, second ask, p50", "ms", at("asks", name, "second", "p50_ms")),
    )


def _http_overhead(results: Results) -> float:
    times = results["asks"]
    return float(times["http"]["first"]["p50_ms"] - times["stdio"]["first"]["p50_ms"])


def _again(results: Results) -> float:
    built = results["artifact"]
    return float(built["again_s"] / max(1.0, built["full_s"] / 10))


_BEST = at("queries", "best", "p50_ms")

QUERIES = (
    Row(
        "ten best by OR, warm, p50",
        "ms",
        _BEST,
        (0.10, 0.25),
        Yardstick.QUERY,
        fts5=at("fts5", "query", "p50_ms"),
        tantivy=at("tantivy", "query", "p50_ms"),
    ),
    Row(
        "ten best by OR, warm, p95",
        "ms",
        at("queries", "best", "p95_ms"),
        (0.25, 0.8),
        Yardstick.QUERY,
        fts5=at("fts5", "query", "p95_ms"),
        tantivy=at("tantivy", "query", "p95_ms"),
    ),
    Row("the p50 by FTS5's", "x", ratio(_BEST, at("fts5", "query", "p50_ms")), (0.05, 0.01)),
    Row("the p50 by tantivy's, five fields", "x", ratio(_BEST, at("tantivy", "query", "p50_ms")), (1.0, 0.8)),
    Row(
        "index opened and first query, new process",
        "ms",
        at("queries", "open_and_first_ms"),
        (10.0, 60.0),
        Yardstick.BOTH,
    ),
    Row("  of it, the query", "ms", at("queries", "first_ms")),
    Row("  imports before it", "ms", at("queries", "import_ms")),
)

BUILDING = (
    Row(
        "full index from a commit, 1 process",
        "s",
        at("index", "1", "seconds"),
        (0.8, 5.0),
        Yardstick.BUILD,
        fts5=at("fts5", "seconds"),
        tantivy=at("tantivy", "seconds"),
    ),
    Row("  of it, processor time", "s", at("index", "1", "cpu_seconds")),
    Row(
        "full index from a commit, 2 processes",
        "s",
        at("index", "2", "seconds"),
        (None, 3.0),
        Yardstick.BUILD,
        fts5=at("fts5", "seconds"),
        tantivy=at("tantivy", "seconds"),
    ),
    Row(
        "the build with 2 processes by FTS5's",
        "x",
        ratio(at("index", "2", "seconds"), at("fts5", "seconds")),
        (None, 1.2),
    ),
    Row("peak memory while building", "MB", at("index", "peak_mb"), (120.0, 400.0)),
    Row(
        "index by the bytes of Markdown",
        "x",
        ratio(at("index", "bytes"), at("corpus", "bytes")),
        (0.9, 0.9),
        fts5=by_size("fts5"),
        tantivy=by_size("tantivy"),
    ),
)

FOLLOWING = (
    Row(
        "section edited, committed, found, p50",
        "ms",
        at("edits", "whole", "p50_ms"),
        (6.0, 15.0),
        Yardstick.BOTH,
        fts5=at("fts5", "edit_p50_ms"),
    ),
    Row(
        "section edited, committed, found, p95",
        "ms",
        at("edits", "whole", "p95_ms"),
        (12.0, 30.0),
        Yardstick.BOTH,
    ),
    Row("  of it, until committed, p50", "ms", at("edits", "commit", "p50_ms")),
    Row("  processor time of the whole, p50", "ms", at("edits", "processor", "p50_ms")),
    Row("the same with fsync, p50", "ms", at("durable_edits", "whole", "p50_ms")),
    Row("the same with fsync, p95", "ms", at("durable_edits", "whole", "p95_ms")),
    Row(
        "query p50 after 300 commits, by before",
        "x",
        ratio(at("edits", "after", "p50_ms"), at("edits", "before", "p50_ms")),
        (1.4, 1.4),
    ),
    Row("segments after 300 commits", "", at("edits", "segments"), (8, 8)),
    Row(
        "Git's part of a bare batch, 100,000 files, p50",
        "ms",
        at("git", "batch", "p50_ms"),
        (1.5, 1.5),
        Yardstick.BOTH,
    ),
    Row("  its processor time, p50", "ms", at("git", "processor", "p50_ms")),
    Row("edit, 10,000 files, bare, p50", "ms", at("checkout", "bare_p50_ms")),
    Row("edit, 10,000 files, checked out, p50", "ms", at("checkout", "checked_out_p50_ms")),
    Row("  what the work tree costs, p50", "ms", at("checkout", "more_p50_ms"), (5.0, 5.0), Yardstick.BOTH),
)

LINKING = (
    Row(
        "link graph follows an edit, p50", "ms", at("links", "follow", "p50_ms"), (10.0, 10.0), Yardstick.BOTH
    ),
    Row("link graph follows an edit, p95", "ms", at("links", "follow", "p95_ms")),
    Row("backlinks of a document, p50", "ms", at("links", "ask", "p50_ms")),
    Row("  without a graph", "ms", at("links", "scan", "p50_ms")),
    Row("link graph made from a commit, 2 processes", "s", at("links", "seconds")),
    Row("link graph by the bytes of Markdown", "x", by_size("links")),
)


def _without(reader: str, key: str) -> Value:
    return ratio(at("shortcuts", reader, key), at("shortcuts", "with", key))


# A quick reader is worth its code while one of its rows is 2x or more: the wait without it.
SHORTCUTS = (
    Row("first list by type, processor time", "s", at("shortcuts", "with", "list_s")),
    Row("  without the scanner of headings", "x", _without("scanner", "list_s")),
    Row("full index, without the scanner of headings", "x", _without("scanner", "index_s")),
    Row("link graph, processor time", "s", at("shortcuts", "with", "links_s")),
    Row("  without the scanner of headings", "x", _without("scanner", "links_s")),
    Row("  without the linewise reader of links", "x", _without("linewise", "links_s")),
    Row("edit with a link, processor time, p50", "ms", at("shortcuts", "with", "edit_ms")),
    Row("  without the scanner of headings", "x", _without("scanner", "edit_ms")),
    Row("  without the linewise reader of links", "x", _without("linewise", "edit_ms")),
)

FIRST_QUERIES = (
    *_first_query_rows("whole answer in the process", "questions", (1.2, 1.8)),
    Row("  its processor time, first ask, p50", "ms", at("asks", "questions", "processor", "p50_ms")),
    *_first_query_rows("quoted phrase in the process", "phrases"),
    *_first_query_rows("search_docs over stdio", "stdio", (2.5, 3.5), (6.0, 8.0)),
    *_first_query_rows("the same without a handshake", "stateless", (2.5, 3.5), (6.0, 8.0)),
    *_first_query_rows("search_docs over HTTP", "http"),
    Row("p50 over HTTP, more than over stdio", "ms", _http_overhead, (2.0, 2.0), Yardstick.CALL),
)

SERVING = (
    Row("ping over stdio, p50", "ms", at("trips", "ping", "p50_ms"), bare=at("trips", "bare_ping", "p50_ms")),
    Row("peak memory while serving", "MB", at("serving", "peak_mb"), (100.0, 200.0)),
    Row(
        "first tools/list by the bare server's",
        "x",
        at("start", "ratio"),
        (1.25, 1.25),
    ),
    Row("  its time", "ms", at("start", "ours_ms"), bare=at("start", "bare_ms")),
    Row("  its processor time", "ms", at("start", "ours_cpu_ms"), bare=at("start", "bare_cpu_ms")),
    Row("  processor time by the bare server's", "x", at("start", "cpu_ratio")),
    Row(
        "first search of a server, sent when it is ready",
        "ms",
        at("first_search", "at_once_ms"),
        (100.0, 100.0),
        Yardstick.TRIP,
    ),
    Row("  two seconds after it was ready", "ms", at("first_search", "warmed_up_ms")),
    Row("definitions of the default tools", "bytes", at("start", "definitions_bytes"), (12_000, 12_000)),
)

ARTIFACTS = (
    Row(
        "artifact opened with its key, new process",
        "ms",
        at("artifact", "open_ms"),
        (300.0, 300.0),
        Yardstick.BOTH,
    ),
    Row("  imports before it", "ms", at("artifact", "import_ms")),
    Row("artifact built from a commit", "s", at("artifact", "full_s")),
    Row("  built again after 10 changed files", "s", at("artifact", "again_s")),
    Row("  that by a second, or by a tenth of the first", "x", _again, (1.0, 1.0)),
    Row("artifact by the bytes of Markdown", "x", by_size("artifact")),
)

ADVERSARIAL = (Row("the slowest adversarial query", "ms", at("bombs", "worst_ms"), (200.0, 200.0)),)

FINDING = (
    Row("identifiers not found first, of 100", "", _not_first("identifiers"), (5, 5)),
    Row("reminders not found first, of 100", "", _not_first("reminders")),
)

GROUPS = {
    "Finding": FINDING,
    "Queries": (*QUERIES, *ADVERSARIAL),
    "First asks": FIRST_QUERIES,
    "Building": BUILDING,
    "Following": FOLLOWING,
    "Links": LINKING,
    "Quick readers": SHORTCUTS,
    "Serving": SERVING,
    "Artifacts": ARTIFACTS,
}
