"""Definitions of the rows of the report: readers of values, and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from benchmarks.reports.reference_measurements import ReferenceMeasurement

Results = Mapping[str, Any]
ValueReader = Callable[[Results], float]
"""A function that returns a value of the results. Raises KeyError if the value was not measured."""

Limits = tuple[float | None, float | None]
"""The limits for small and for large corpora; None means no limit."""

NO_LIMITS: Limits = (None, None)
SERVERS = ("stdio", "stateless", "http")


class RowDefinition(NamedTuple):
    """A row of the report. A limit in time is scaled by the reference measurement of the row."""

    name: str
    unit: str
    read_value: ValueReader
    limits: Limits = NO_LIMITS
    reference: ReferenceMeasurement | None = None
    read_fts5: ValueReader | None = None
    read_tantivy: ValueReader | None = None
    read_minimal_server: ValueReader | None = None


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


def size_ratio(subject: str) -> ValueReader:
    """Return a function that returns the bytes in the results of a subject divided by those of the corpus."""
    return ratio_of(value_at(subject, "bytes"), value_at("corpus", "bytes"))


def _percent_not_first(kind: str) -> ValueReader:
    count, first = value_at("known_items", kind, "query_count"), value_at("known_items", kind, "first")
    return lambda results: 100 * (count(results) - first(results)) / count(results)


def _make_first_query_rows(
    label: str, name: str, p50: Limits = NO_LIMITS, p95: Limits = NO_LIMITS
) -> tuple[RowDefinition, ...]:
    """Return the rows of the first runs of queries, and the row of the second runs."""
    make_reader = (
        (lambda key: value_at("first_queries", "minimal_server", "first", key))
        if name in SERVERS
        else (lambda key: None)
    )
    return (
        RowDefinition(
            f"{label}, first run, p50",
            "ms",
            value_at("first_queries", name, "first", "p50_ms"),
            p50,
            ReferenceMeasurement.CALL,
            read_minimal_server=make_reader("p50_ms"),
        ),
        RowDefinition(
            f"{label}, first run, p95",
            "ms",
            value_at("first_queries", name, "first", "p95_ms"),
            p95,
            ReferenceMeasurement.CALL,
            read_minimal_server=make_reader("p95_ms"),
        ),
        RowDefinition(
            f"{label}, first run, p99",
            "ms",
            value_at("first_queries", name, "first", "p99_ms"),
            read_minimal_server=make_reader("p99_ms"),
        ),
        RowDefinition(f"{label}, second run, p50", "ms", value_at("first_queries", name, "second", "p50_ms")),
    )


def _compute_http_overhead(results: Results) -> float:
    times = results["first_queries"]
    return float(times["http"]["first"]["p50_ms"] - times["stdio"]["first"]["p50_ms"])


def _compute_second_build_ratio(results: Results) -> float:
    artifact = results["artifact"]
    return float(artifact["second_build_s"] / max(1.0, artifact["first_build_s"] / 10))


_TOP_TEN_P50 = value_at("queries", "top_ten", "p50_ms")

QUERIES = (
    RowDefinition(
        "ten best hits of an OR query, warm, p50",
        "ms",
        _TOP_TEN_P50,
        (0.15, 0.35),
        ReferenceMeasurement.QUERY,
        read_fts5=value_at("fts5", "query", "p50_ms"),
        read_tantivy=value_at("tantivy", "query", "p50_ms"),
    ),
    RowDefinition(
        "ten best hits of an OR query, warm, p95",
        "ms",
        value_at("queries", "top_ten", "p95_ms"),
        (0.3, 0.9),
        ReferenceMeasurement.QUERY,
        read_fts5=value_at("fts5", "query", "p95_ms"),
        read_tantivy=value_at("tantivy", "query", "p95_ms"),
    ),
    RowDefinition(
        "query p50 relative to FTS5",
        "x",
        ratio_of(_TOP_TEN_P50, value_at("fts5", "query", "p50_ms")),
        (0.05, 0.01),
    ),
    RowDefinition(
        "query p50 relative to tantivy, five fields",
        "x",
        ratio_of(_TOP_TEN_P50, value_at("tantivy", "query", "p50_ms")),
        (1.0, 0.5),
    ),
    RowDefinition(
        "opening of the index and first query, new process",
        "ms",
        value_at("queries", "open_and_first_ms"),
        (10.0, 60.0),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
    RowDefinition("  first query alone", "ms", value_at("queries", "first_ms")),
    RowDefinition("  imports before the opening", "ms", value_at("queries", "import_ms")),
)

BUILDING = (
    RowDefinition(
        "full index from a commit, 1 process",
        "s",
        value_at("index", "1", "seconds"),
        (1.2, 9.0),
        ReferenceMeasurement.BUILD,
        read_fts5=value_at("fts5", "seconds"),
        read_tantivy=value_at("tantivy", "seconds"),
    ),
    RowDefinition("  processor time", "s", value_at("index", "1", "cpu_seconds")),
    RowDefinition(
        "full index from a commit, 2 processes",
        "s",
        value_at("index", "2", "seconds"),
        (None, 6.0),
        ReferenceMeasurement.BUILD,
        read_fts5=value_at("fts5", "seconds"),
        read_tantivy=value_at("tantivy", "seconds"),
    ),
    RowDefinition(
        "build with 2 processes relative to FTS5",
        "x",
        ratio_of(value_at("index", "2", "seconds"), value_at("fts5", "seconds")),
        (None, 2.2),
    ),
    RowDefinition("peak memory of the build", "MB", value_at("index", "peak_mb"), (120.0, 400.0)),
    RowDefinition(
        "size of the index relative to the Markdown",
        "x",
        ratio_of(value_at("index", "bytes"), value_at("corpus", "bytes")),
        (0.9, 0.9),
        read_fts5=size_ratio("fts5"),
        read_tantivy=size_ratio("tantivy"),
    ),
)

EDITS = (
    RowDefinition(
        "edit, commit and search for the edit, p50",
        "ms",
        value_at("edits", "edit_and_search", "p50_ms"),
        (12.0, 20.0),
        ReferenceMeasurement.CALL,
        read_fts5=value_at("fts5", "edit_p50_ms"),
    ),
    RowDefinition(
        "edit, commit and search for the edit, p95",
        "ms",
        value_at("edits", "edit_and_search", "p95_ms"),
        (18.0, 32.0),
        ReferenceMeasurement.CALL,
    ),
    RowDefinition("  edit and commit alone, p50", "ms", value_at("edits", "commit", "p50_ms")),
    RowDefinition("  processor time, p50", "ms", value_at("edits", "processor_time", "p50_ms")),
    RowDefinition(
        "edit, commit and search with fsync, p50",
        "ms",
        value_at("durable_edits", "edit_and_search", "p50_ms"),
    ),
    RowDefinition(
        "edit, commit and search with fsync, p95",
        "ms",
        value_at("durable_edits", "edit_and_search", "p95_ms"),
    ),
    RowDefinition(
        "query p50 after 300 commits relative to before",
        "x",
        ratio_of(value_at("edits", "queries_after", "p50_ms"), value_at("edits", "queries_before", "p50_ms")),
        (1.4, 1.4),
    ),
    RowDefinition("segments after 300 commits", "", value_at("edits", "segments"), (8, 8)),
    RowDefinition(
        "Git operations of a batch, bare, 100,000 files, p50",
        "ms",
        value_at("git", "batch", "p50_ms"),
        (1.5, 1.5),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
    RowDefinition("  processor time, p50", "ms", value_at("git", "processor_time", "p50_ms")),
    RowDefinition("edit, 10,000 files, bare, p50", "ms", value_at("checkout", "bare_p50_ms")),
    RowDefinition("edit, 10,000 files, checked out, p50", "ms", value_at("checkout", "checked_out_p50_ms")),
    RowDefinition(
        "cost of the work tree for an edit, p50",
        "ms",
        value_at("checkout", "difference_p50_ms"),
        (5.0, 5.0),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
)

LINKS = (
    RowDefinition(
        "update of the link graph after an edit, p50",
        "ms",
        value_at("links", "update", "p50_ms"),
        (10.0, 10.0),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
    RowDefinition("update of the link graph after an edit, p95", "ms", value_at("links", "update", "p95_ms")),
    RowDefinition("backlinks of a document, p50", "ms", value_at("links", "backlinks_query", "p50_ms")),
    RowDefinition("  without a link graph", "ms", value_at("links", "backlinks_scan", "p50_ms")),
    RowDefinition("full link graph from a commit, 2 processes", "s", value_at("links", "seconds")),
    RowDefinition("size of the link graph relative to the Markdown", "x", size_ratio("links")),
)


def _ratio_without(reader: str, key: str) -> ValueReader:
    return ratio_of(value_at("fast_readers", reader, key), value_at("fast_readers", "all_readers", key))


# A fast reader is justified while the work of one row takes at least twice the time without the reader.
FAST_READERS = (
    RowDefinition(
        "first list by type, processor time", "s", value_at("fast_readers", "all_readers", "list_s")
    ),
    RowDefinition("  without the scanner of headings", "x", _ratio_without("scanner", "list_s")),
    RowDefinition("full index, without the scanner of headings", "x", _ratio_without("scanner", "index_s")),
    RowDefinition("link graph, processor time", "s", value_at("fast_readers", "all_readers", "links_s")),
    RowDefinition("  without the scanner of headings", "x", _ratio_without("scanner", "links_s")),
    RowDefinition("  without the linewise reader of links", "x", _ratio_without("linewise", "links_s")),
    RowDefinition(
        "edit that adds a link, processor time, p50", "ms", value_at("fast_readers", "all_readers", "edit_ms")
    ),
    RowDefinition("  without the scanner of headings", "x", _ratio_without("scanner", "edit_ms")),
    RowDefinition("  without the linewise reader of links", "x", _ratio_without("linewise", "edit_ms")),
)

FIRST_QUERIES = (
    *_make_first_query_rows("search in the process", "questions", (1.2, 1.8)),
    RowDefinition(
        "  processor time, first run, p50",
        "ms",
        value_at("first_queries", "questions", "processor_time", "p50_ms"),
    ),
    *_make_first_query_rows("quoted phrase in the process", "phrases"),
    *_make_first_query_rows("search_docs over stdio", "stdio", (2.5, 3.5), (6.0, 8.0)),
    *_make_first_query_rows(
        "search_docs over stdio without a handshake", "stateless", (2.5, 3.5), (6.0, 8.0)
    ),
    *_make_first_query_rows("search_docs over HTTP", "http"),
    RowDefinition(
        "p50 over HTTP minus p50 over stdio",
        "ms",
        _compute_http_overhead,
        (2.0, 2.0),
        ReferenceMeasurement.CALL,
    ),
)

SERVING = (
    RowDefinition(
        "ping over stdio, p50",
        "ms",
        value_at("round_trips", "docyard_ping", "p50_ms"),
        read_minimal_server=value_at("round_trips", "minimal_server_ping", "p50_ms"),
    ),
    RowDefinition("peak memory of a server", "MB", value_at("serving", "peak_mb"), (100.0, 200.0)),
    RowDefinition(
        "time to first tools/list relative to a minimal server",
        "x",
        value_at("start", "ratio"),
        (1.25, 1.25),
    ),
    RowDefinition(
        "  time",
        "ms",
        value_at("start", "docyard_ms"),
        read_minimal_server=value_at("start", "minimal_server_ms"),
    ),
    RowDefinition(
        "  processor time",
        "ms",
        value_at("start", "docyard_cpu_ms"),
        read_minimal_server=value_at("start", "minimal_server_cpu_ms"),
    ),
    RowDefinition("  processor time relative to a minimal server", "x", value_at("start", "cpu_ratio")),
    RowDefinition(
        "first search of a server, sent immediately",
        "ms",
        value_at("first_search", "sent_immediately_ms"),
        (100.0, 100.0),
        ReferenceMeasurement.PING,
    ),
    RowDefinition("  sent two seconds later", "ms", value_at("first_search", "sent_after_warm_up_ms")),
    RowDefinition(
        "definitions of the default tools", "bytes", value_at("start", "definitions_bytes"), (10_000, 10_000)
    ),
)

SOURCES = (
    RowDefinition(
        "search_documentation over HTTP with 100 sources relative to one, first run, p50",
        "x",
        ratio_of(value_at("sources", "hundred", "p50_ms"), value_at("sources", "one", "p50_ms")),
        (1.3, 1.3),
    ),
    RowDefinition("  with one source", "ms", value_at("sources", "one", "p50_ms")),
    RowDefinition(
        "time to first tools/list with 100 sources", "s", value_at("sources", "start_s"), (3.0, 3.0)
    ),
    RowDefinition(
        "mean of 1 / rank in the right one of three sources relative to all three",
        "x",
        ratio_of(value_at("sources", "fusion", "right_mrr"), value_at("sources", "fusion", "all_mrr")),
        (1.25, 1.25),
    ),
)

ARTIFACTS = (
    RowDefinition(
        "artifact opened with its key, new process",
        "ms",
        value_at("artifact", "open_ms"),
        (300.0, 300.0),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
    RowDefinition("  imports before the opening", "ms", value_at("artifact", "import_ms")),
    RowDefinition("artifact built from a commit", "s", value_at("artifact", "first_build_s")),
    RowDefinition("  second build after 10 changed files", "s", value_at("artifact", "second_build_s")),
    RowDefinition(
        "second build of an artifact relative to 1 s or a tenth of the first",
        "x",
        _compute_second_build_ratio,
        (1.0, 1.0),
    ),
    RowDefinition("size of the artifact relative to the Markdown", "x", size_ratio("artifact")),
)

ADVERSARIAL = (
    RowDefinition(
        "the slowest adversarial query", "ms", value_at("adversarial_queries", "slowest_ms"), (200.0, 200.0)
    ),
)

KNOWN_ITEMS = (
    RowDefinition("identifiers not found first, of 100", "", _percent_not_first("identifiers"), (5, 5)),
    RowDefinition("remembered words not found first, of 100", "", _percent_not_first("remembered_words")),
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
    "Many sources": SOURCES,
    "Artifacts": ARTIFACTS,
}
