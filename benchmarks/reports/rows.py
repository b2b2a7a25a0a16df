"""The rows of the report, each with its value, the values of other engines, and the limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from benchmarks.reports.reference_measurements import ReferenceMeasurement

Results = Mapping[str, Any]
ValueReader = Callable[[Results], float]
"""Returns a value of the results; raises KeyError if the value was not measured."""

Limits = tuple[float | None, float | None]
"""The limits for the small and the large corpus; None is no limit."""

NO_LIMITS: Limits = (None, None)
SERVERS = ("stdio", "stateless", "http")


class Row(NamedTuple):
    """A row of the report. A limit in time is scaled by its reference measurement."""

    name: str
    unit: str
    value: ValueReader
    limits: Limits = NO_LIMITS
    reference: ReferenceMeasurement | None = None
    fts5: ValueReader | None = None
    tantivy: ValueReader | None = None
    minimal_server: ValueReader | None = None


def value_at(*keys: str) -> ValueReader:
    """Return a function that reads the value at a path of keys in nested results."""

    def get_value(results: Results) -> float:
        value: Any = results
        for key in keys:
            value = value[key]
        return float(value)

    return get_value


def ratio_of(numerator: ValueReader, denominator: ValueReader) -> ValueReader:
    """Return a function that returns the ratio of two values."""
    return lambda results: numerator(results) / denominator(results)


def size_ratio(name: str) -> ValueReader:
    """Return a function that returns the bytes of an index divided by those of the corpus."""
    return ratio_of(value_at(name, "bytes"), value_at("corpus", "bytes"))


def _read_percent_not_first(kind: str) -> ValueReader:
    count, first = value_at("known", kind, "asked"), value_at("known", kind, "first")
    return lambda results: 100 * (count(results) - first(results)) / count(results)


def _first_query_rows(
    label: str, name: str, p50: Limits = NO_LIMITS, p95: Limits = NO_LIMITS
) -> tuple[Row, ...]:
    """Return the rows of the first runs of queries, and the row of the second runs."""
    read_minimal_server = (
        (lambda key: value_at("first_queries", "bare", "first", key))
        if name in SERVERS
        else (lambda key: None)
    )
    return (
        Row(
            f"{label}, first run, p50",
            "ms",
            value_at("first_queries", name, "first", "p50_ms"),
            p50,
            ReferenceMeasurement.CALL,
            minimal_server=read_minimal_server("p50_ms"),
        ),
        Row(
            f"{label}, first run, p95",
            "ms",
            value_at("first_queries", name, "first", "p95_ms"),
            p95,
            ReferenceMeasurement.CALL,
            minimal_server=read_minimal_server("p95_ms"),
        ),
        Row(
            f"{label}, first run, p99",
            "ms",
            value_at("first_queries", name, "first", "p99_ms"),
            minimal_server=read_minimal_server("p99_ms"),
        ),
        Row(f"{label}, second run, p50", "ms", value_at("first_queries", name, "second", "p50_ms")),
    )


def _http_overhead(results: Results) -> float:
    times = results["first_queries"]
    return float(times["http"]["first"]["p50_ms"] - times["stdio"]["first"]["p50_ms"])


def _second_build_ratio(results: Results) -> float:
    artifact = results["artifact"]
    return float(artifact["again_s"] / max(1.0, artifact["full_s"] / 10))


_BEST = value_at("queries", "best", "p50_ms")

QUERIES = (
    Row(
        "ten best hits of an OR query, warm, p50",
        "ms",
        _BEST,
        (0.15, 0.35),
        ReferenceMeasurement.QUERY,
        fts5=value_at("fts5", "query", "p50_ms"),
        tantivy=value_at("tantivy", "query", "p50_ms"),
    ),
    Row(
        "ten best hits of an OR query, warm, p95",
        "ms",
        value_at("queries", "best", "p95_ms"),
        (0.3, 0.9),
        ReferenceMeasurement.QUERY,
        fts5=value_at("fts5", "query", "p95_ms"),
        tantivy=value_at("tantivy", "query", "p95_ms"),
    ),
    Row(
        "query p50 relative to FTS5", "x", ratio_of(_BEST, value_at("fts5", "query", "p50_ms")), (0.05, 0.01)
    ),
    Row(
        "query p50 relative to tantivy, five fields",
        "x",
        ratio_of(_BEST, value_at("tantivy", "query", "p50_ms")),
        (1.0, 0.5),
    ),
    Row(
        "opening of the index and first query, new process",
        "ms",
        value_at("queries", "open_and_first_ms"),
        (10.0, 60.0),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
    Row("  first query alone", "ms", value_at("queries", "first_ms")),
    Row("  imports before the opening", "ms", value_at("queries", "import_ms")),
)

BUILDING = (
    Row(
        "full index from a commit, 1 process",
        "s",
        value_at("index", "1", "seconds"),
        (1.2, 9.0),
        ReferenceMeasurement.BUILD,
        fts5=value_at("fts5", "seconds"),
        tantivy=value_at("tantivy", "seconds"),
    ),
    Row("  processor time", "s", value_at("index", "1", "cpu_seconds")),
    Row(
        "full index from a commit, 2 processes",
        "s",
        value_at("index", "2", "seconds"),
        (None, 6.0),
        ReferenceMeasurement.BUILD,
        fts5=value_at("fts5", "seconds"),
        tantivy=value_at("tantivy", "seconds"),
    ),
    Row(
        "build with 2 processes relative to FTS5",
        "x",
        ratio_of(value_at("index", "2", "seconds"), value_at("fts5", "seconds")),
        (None, 2.2),
    ),
    Row("peak memory of the build", "MB", value_at("index", "peak_mb"), (120.0, 400.0)),
    Row(
        "size of the index relative to the Markdown",
        "x",
        ratio_of(value_at("index", "bytes"), value_at("corpus", "bytes")),
        (0.9, 0.9),
        fts5=size_ratio("fts5"),
        tantivy=size_ratio("tantivy"),
    ),
)

EDITS = (
    Row(
        "edit, commit and search for the edit, p50",
        "ms",
        value_at("edits", "whole", "p50_ms"),
        (12.0, 20.0),
        ReferenceMeasurement.CALL,
        fts5=value_at("fts5", "edit_p50_ms"),
    ),
    Row(
        "edit, commit and search for the edit, p95",
        "ms",
        value_at("edits", "whole", "p95_ms"),
        (18.0, 32.0),
        ReferenceMeasurement.CALL,
    ),
    Row("  edit and commit alone, p50", "ms", value_at("edits", "commit", "p50_ms")),
    Row("  processor time, p50", "ms", value_at("edits", "processor", "p50_ms")),
    Row("edit, commit and search with fsync, p50", "ms", value_at("durable_edits", "whole", "p50_ms")),
    Row("edit, commit and search with fsync, p95", "ms", value_at("durable_edits", "whole", "p95_ms")),
    Row(
        "query p50 after 300 commits relative to before",
        "x",
        ratio_of(value_at("edits", "after", "p50_ms"), value_at("edits", "before", "p50_ms")),
        (1.4, 1.4),
    ),
    Row("segments after 300 commits", "", value_at("edits", "segments"), (8, 8)),
    Row(
        "Git operations of a batch, bare, 100,000 files, p50",
        "ms",
        value_at("git", "batch", "p50_ms"),
        (1.5, 1.5),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
    Row("  processor time, p50", "ms", value_at("git", "processor", "p50_ms")),
    Row("edit, 10,000 files, bare, p50", "ms", value_at("checkout", "bare_p50_ms")),
    Row("edit, 10,000 files, checked out, p50", "ms", value_at("checkout", "checked_out_p50_ms")),
    Row(
        "cost of the work tree for an edit, p50",
        "ms",
        value_at("checkout", "more_p50_ms"),
        (5.0, 5.0),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
)

LINKS = (
    Row(
        "update of the link graph after an edit, p50",
        "ms",
        value_at("links", "update", "p50_ms"),
        (10.0, 10.0),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
    Row("update of the link graph after an edit, p95", "ms", value_at("links", "update", "p95_ms")),
    Row("backlinks of a document, p50", "ms", value_at("links", "ask", "p50_ms")),
    Row("  without a link graph", "ms", value_at("links", "scan", "p50_ms")),
    Row("full link graph from a commit, 2 processes", "s", value_at("links", "seconds")),
    Row("size of the link graph relative to the Markdown", "x", size_ratio("links")),
)


def _ratio_without(reader: str, key: str) -> ValueReader:
    return ratio_of(value_at("fast_readers", reader, key), value_at("fast_readers", "with", key))


# A fast reader is justified while the time without it is at least twice the time with it in one of the rows.
FAST_READERS = (
    Row("first list by type, processor time", "s", value_at("fast_readers", "with", "list_s")),
    Row("  without the scanner of headings", "x", _ratio_without("scanner", "list_s")),
    Row("full index, without the scanner of headings", "x", _ratio_without("scanner", "index_s")),
    Row("link graph, processor time", "s", value_at("fast_readers", "with", "links_s")),
    Row("  without the scanner of headings", "x", _ratio_without("scanner", "links_s")),
    Row("  without the linewise reader of links", "x", _ratio_without("linewise", "links_s")),
    Row("edit that adds a link, processor time, p50", "ms", value_at("fast_readers", "with", "edit_ms")),
    Row("  without the scanner of headings", "x", _ratio_without("scanner", "edit_ms")),
    Row("  without the linewise reader of links", "x", _ratio_without("linewise", "edit_ms")),
)

FIRST_QUERIES = (
    *_first_query_rows("search in the process", "questions", (1.2, 1.8)),
    Row(
        "  processor time, first run, p50",
        "ms",
        value_at("first_queries", "questions", "processor", "p50_ms"),
    ),
    *_first_query_rows("quoted phrase in the process", "phrases"),
    *_first_query_rows("search_docs over stdio", "stdio", (2.5, 3.5), (6.0, 8.0)),
    *_first_query_rows("search_docs over stdio without a handshake", "stateless", (2.5, 3.5), (6.0, 8.0)),
    *_first_query_rows("search_docs over HTTP", "http"),
    Row("p50 over HTTP minus p50 over stdio", "ms", _http_overhead, (2.0, 2.0), ReferenceMeasurement.CALL),
)

SERVING = (
    Row(
        "ping over stdio, p50",
        "ms",
        value_at("trips", "ping", "p50_ms"),
        minimal_server=value_at("trips", "bare_ping", "p50_ms"),
    ),
    Row("peak memory of a server", "MB", value_at("serving", "peak_mb"), (100.0, 200.0)),
    Row(
        "time to first tools/list relative to a minimal server",
        "x",
        value_at("start", "ratio"),
        (1.25, 1.25),
    ),
    Row("  time", "ms", value_at("start", "ours_ms"), minimal_server=value_at("start", "bare_ms")),
    Row(
        "  processor time",
        "ms",
        value_at("start", "ours_cpu_ms"),
        minimal_server=value_at("start", "bare_cpu_ms"),
    ),
    Row("  processor time relative to a minimal server", "x", value_at("start", "cpu_ratio")),
    Row(
        "first search of a server, sent immediately",
        "ms",
        value_at("first_search", "at_once_ms"),
        (100.0, 100.0),
        ReferenceMeasurement.PING,
    ),
    Row("  sent two seconds later", "ms", value_at("first_search", "warmed_up_ms")),
    Row(
        "definitions of the default tools", "bytes", value_at("start", "definitions_bytes"), (10_000, 10_000)
    ),
)

ARTIFACTS = (
    Row(
        "artifact opened with its key, new process",
        "ms",
        value_at("artifact", "open_ms"),
        (300.0, 300.0),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
    Row("  imports before the opening", "ms", value_at("artifact", "import_ms")),
    Row("artifact built from a commit", "s", value_at("artifact", "full_s")),
    Row("  second build after 10 changed files", "s", value_at("artifact", "again_s")),
    Row(
        "second build of an artifact relative to 1 s or a tenth of the first",
        "x",
        _second_build_ratio,
        (1.0, 1.0),
    ),
    Row("size of the artifact relative to the Markdown", "x", size_ratio("artifact")),
)

ADVERSARIAL = (Row("the slowest adversarial query", "ms", value_at("bombs", "worst_ms"), (200.0, 200.0)),)

KNOWN_ITEMS = (
    Row("identifiers not found first, of 100", "", _read_percent_not_first("identifiers"), (5, 5)),
    Row("remembered words not found first, of 100", "", _read_percent_not_first("remembered_words")),
)

GROUPS = {
    "Finding": KNOWN_ITEMS,
    "Queries": (*QUERIES, *ADVERSARIAL),
    "First runs": FIRST_QUERIES,
    "Building": BUILDING,
    "Edits": EDITS,
    "Links": LINKS,
    "Fast readers": FAST_READERS,
    "Serving": SERVING,
    "Artifacts": ARTIFACTS,
}
