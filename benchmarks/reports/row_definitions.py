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


def make_value_reader(*keys: str) -> ValueReader:
    """Return a function that reads the value at a path of keys in nested results."""

    def get_value(results: Results) -> float:
        value: Any = results
        for key in keys:
            value = value[key]
        return float(value)

    return get_value


def make_ratio_reader(numerator: ValueReader, denominator: ValueReader) -> ValueReader:
    """Return a function that returns the ratio of two values."""
    return lambda results: numerator(results) / denominator(results)


def make_size_ratio_reader(subject: str) -> ValueReader:
    """Return a function that returns the bytes in the results of a subject divided by those of the corpus."""
    return make_ratio_reader(make_value_reader(subject, "bytes"), make_value_reader("corpus", "bytes"))


def _make_percent_not_first_reader(kind: str) -> ValueReader:
    read_count, read_first_count = (
        make_value_reader("known_items", kind, "query_count"),
        make_value_reader("known_items", kind, "first"),
    )
    return lambda results: 100 * (read_count(results) - read_first_count(results)) / read_count(results)


def _make_first_query_rows(
    label: str, name: str, p50: Limits = NO_LIMITS, p95: Limits = NO_LIMITS
) -> tuple[RowDefinition, ...]:
    """Return the rows of the first runs of queries, and the row of the second runs."""
    make_reader = (
        (lambda key: make_value_reader("first_queries", "minimal_server", "first", key))
        if name in SERVERS
        else (lambda key: None)
    )
    return (
        RowDefinition(
            f"{label}, first run, p50",
            "ms",
            make_value_reader("first_queries", name, "first", "p50_ms"),
            p50,
            ReferenceMeasurement.CALL,
            read_minimal_server=make_reader("p50_ms"),
        ),
        RowDefinition(
            f"{label}, first run, p95",
            "ms",
            make_value_reader("first_queries", name, "first", "p95_ms"),
            p95,
            ReferenceMeasurement.CALL,
            read_minimal_server=make_reader("p95_ms"),
        ),
        RowDefinition(
            f"{label}, first run, p99",
            "ms",
            make_value_reader("first_queries", name, "first", "p99_ms"),
            read_minimal_server=make_reader("p99_ms"),
        ),
        RowDefinition(
            f"{label}, second run, p50", "ms", make_value_reader("first_queries", name, "second", "p50_ms")
        ),
    )


def _compute_http_overhead(results: Results) -> float:
    times = results["first_queries"]
    return float(times["http"]["first"]["p50_ms"] - times["stdio"]["first"]["p50_ms"])


def _compute_second_build_ratio(results: Results) -> float:
    artifact = results["artifact"]
    return float(artifact["second_build_s"] / max(1.0, artifact["first_build_s"] / 10))


_TOP_TEN_P50 = make_value_reader("queries", "top_ten", "p50_ms")

QUERIES = (
    RowDefinition(
        "ten best hits of an OR query, warm, p50",
        "ms",
        _TOP_TEN_P50,
        (0.15, 0.35),
        ReferenceMeasurement.QUERY,
        read_fts5=make_value_reader("fts5", "query", "p50_ms"),
        read_tantivy=make_value_reader("tantivy", "query", "p50_ms"),
    ),
    RowDefinition(
        "ten best hits of an OR query, warm, p95",
        "ms",
        make_value_reader("queries", "top_ten", "p95_ms"),
        (0.3, 0.9),
        ReferenceMeasurement.QUERY,
        read_fts5=make_value_reader("fts5", "query", "p95_ms"),
        read_tantivy=make_value_reader("tantivy", "query", "p95_ms"),
    ),
    RowDefinition(
        "query p50 relative to FTS5",
        "x",
        make_ratio_reader(_TOP_TEN_P50, make_value_reader("fts5", "query", "p50_ms")),
        (0.05, 0.01),
    ),
    RowDefinition(
        "query p50 relative to tantivy, five fields",
        "x",
        make_ratio_reader(_TOP_TEN_P50, make_value_reader("tantivy", "query", "p50_ms")),
        (1.0, 0.5),
    ),
    RowDefinition(
        "opening of the index and first query, new process",
        "ms",
        make_value_reader("queries", "open_and_first_ms"),
        (10.0, 60.0),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
    RowDefinition("  first query alone", "ms", make_value_reader("queries", "first_ms")),
    RowDefinition("  imports before the opening", "ms", make_value_reader("queries", "import_ms")),
)

BUILDING = (
    RowDefinition(
        "full index from a commit, 1 process",
        "s",
        make_value_reader("index", "1", "seconds"),
        (1.2, 9.0),
        ReferenceMeasurement.BUILD,
        read_fts5=make_value_reader("fts5", "seconds"),
        read_tantivy=make_value_reader("tantivy", "seconds"),
    ),
    RowDefinition("  processor time", "s", make_value_reader("index", "1", "cpu_seconds")),
    RowDefinition(
        "full index from a commit, 2 processes",
        "s",
        make_value_reader("index", "2", "seconds"),
        (None, 6.0),
        ReferenceMeasurement.BUILD,
        read_fts5=make_value_reader("fts5", "seconds"),
        read_tantivy=make_value_reader("tantivy", "seconds"),
    ),
    RowDefinition(
        "build with 2 processes relative to FTS5",
        "x",
        make_ratio_reader(make_value_reader("index", "2", "seconds"), make_value_reader("fts5", "seconds")),
        (None, 2.2),
    ),
    RowDefinition("peak memory of the build", "MB", make_value_reader("index", "peak_mb"), (120.0, 400.0)),
    RowDefinition(
        "size of the index relative to the Markdown",
        "x",
        make_ratio_reader(make_value_reader("index", "bytes"), make_value_reader("corpus", "bytes")),
        (0.9, 0.9),
        read_fts5=make_size_ratio_reader("fts5"),
        read_tantivy=make_size_ratio_reader("tantivy"),
    ),
)

EDITS = (
    RowDefinition(
        "edit, commit and search for the edit, p50",
        "ms",
        make_value_reader("edits", "edit_and_search", "p50_ms"),
        (12.0, 20.0),
        ReferenceMeasurement.CALL,
        read_fts5=make_value_reader("fts5", "edit_p50_ms"),
    ),
    RowDefinition(
        "edit, commit and search for the edit, p95",
        "ms",
        make_value_reader("edits", "edit_and_search", "p95_ms"),
        (18.0, 32.0),
        ReferenceMeasurement.CALL,
    ),
    RowDefinition("  edit and commit alone, p50", "ms", make_value_reader("edits", "commit", "p50_ms")),
    RowDefinition("  processor time, p50", "ms", make_value_reader("edits", "processor_time", "p50_ms")),
    RowDefinition(
        "edit, commit and search with fsync, p50",
        "ms",
        make_value_reader("durable_edits", "edit_and_search", "p50_ms"),
    ),
    RowDefinition(
        "edit, commit and search with fsync, p95",
        "ms",
        make_value_reader("durable_edits", "edit_and_search", "p95_ms"),
    ),
    RowDefinition(
        "query p50 after 300 commits relative to before",
        "x",
        make_ratio_reader(
            make_value_reader("edits", "queries_after", "p50_ms"),
            make_value_reader("edits", "queries_before", "p50_ms"),
        ),
        (1.4, 1.4),
    ),
    RowDefinition("segments after 300 commits", "", make_value_reader("edits", "segments"), (8, 8)),
    RowDefinition(
        "Git operations of a batch, bare, 100,000 files, p50",
        "ms",
        make_value_reader("git", "batch", "p50_ms"),
        (1.5, 1.5),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
    RowDefinition("  processor time, p50", "ms", make_value_reader("git", "processor_time", "p50_ms")),
    RowDefinition("edit, 10,000 files, bare, p50", "ms", make_value_reader("checkout", "bare_p50_ms")),
    RowDefinition(
        "edit, 10,000 files, checked out, p50", "ms", make_value_reader("checkout", "checked_out_p50_ms")
    ),
    RowDefinition(
        "cost of the work tree for an edit, p50",
        "ms",
        make_value_reader("checkout", "difference_p50_ms"),
        (5.0, 5.0),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
)

LINKS = (
    RowDefinition(
        "update of the link graph after an edit, p50",
        "ms",
        make_value_reader("links", "update", "p50_ms"),
        (10.0, 10.0),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
    RowDefinition(
        "update of the link graph after an edit, p95", "ms", make_value_reader("links", "update", "p95_ms")
    ),
    RowDefinition(
        "backlinks of a document, p50", "ms", make_value_reader("links", "backlinks_query", "p50_ms")
    ),
    RowDefinition("  without a link graph", "ms", make_value_reader("links", "backlinks_scan", "p50_ms")),
    RowDefinition("full link graph from a commit, 2 processes", "s", make_value_reader("links", "seconds")),
    RowDefinition("size of the link graph relative to the Markdown", "x", make_size_ratio_reader("links")),
)


PLANNING = (
    RowDefinition(
        "list_tasks, 1,500 documents with 5,000 tasks, p50",
        "ms",
        make_value_reader("planning", "tasks", "p50_ms"),
        (20.0, 20.0),
        ReferenceMeasurement.CALL,
    ),
    RowDefinition(
        "  directly after a commit, p50", "ms", make_value_reader("planning", "tasks_after_commit", "p50_ms")
    ),
    RowDefinition("  first call", "s", make_value_reader("planning", "first_tasks_s")),
    RowDefinition(
        "view_drift, 10,000 commits, first call",
        "s",
        make_value_reader("planning", "first_drift_s"),
        (1.0, 1.0),
        ReferenceMeasurement.CALL,
    ),
    RowDefinition(
        "view_trace, 1,000 identifiers, first call",
        "s",
        make_value_reader("planning", "first_trace_s"),
        (1.0, 1.0),
        ReferenceMeasurement.CALL,
    ),
)


def _make_ratio_without_reader(reader: str, key: str) -> ValueReader:
    return make_ratio_reader(
        make_value_reader("fast_readers", reader, key), make_value_reader("fast_readers", "all_readers", key)
    )


# A fast reader is justified while the work of one row takes at least twice the time without the reader.
FAST_READERS = (
    RowDefinition(
        "first list by type, processor time", "s", make_value_reader("fast_readers", "all_readers", "list_s")
    ),
    RowDefinition("  without the scanner of headings", "x", _make_ratio_without_reader("scanner", "list_s")),
    RowDefinition(
        "full index, without the scanner of headings", "x", _make_ratio_without_reader("scanner", "index_s")
    ),
    RowDefinition(
        "link graph, processor time", "s", make_value_reader("fast_readers", "all_readers", "links_s")
    ),
    RowDefinition("  without the scanner of headings", "x", _make_ratio_without_reader("scanner", "links_s")),
    RowDefinition(
        "  without the linewise reader of links", "x", _make_ratio_without_reader("linewise", "links_s")
    ),
    RowDefinition(
        "edit that adds a link, processor time, p50",
        "ms",
        make_value_reader("fast_readers", "all_readers", "edit_ms"),
    ),
    RowDefinition("  without the scanner of headings", "x", _make_ratio_without_reader("scanner", "edit_ms")),
    RowDefinition(
        "  without the linewise reader of links", "x", _make_ratio_without_reader("linewise", "edit_ms")
    ),
)

FIRST_QUERIES = (
    *_make_first_query_rows("search in the process", "questions", (1.2, 1.8)),
    RowDefinition(
        "  processor time, first run, p50",
        "ms",
        make_value_reader("first_queries", "questions", "processor_time", "p50_ms"),
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
        make_value_reader("round_trips", "docyard_ping", "p50_ms"),
        read_minimal_server=make_value_reader("round_trips", "minimal_server_ping", "p50_ms"),
    ),
    RowDefinition("peak memory of a server", "MB", make_value_reader("serving", "peak_mb"), (100.0, 200.0)),
    RowDefinition(
        "time to first tools/list relative to a minimal server",
        "x",
        make_value_reader("start", "ratio"),
        (1.25, 1.25),
    ),
    RowDefinition(
        "  time",
        "ms",
        make_value_reader("start", "docyard_ms"),
        read_minimal_server=make_value_reader("start", "minimal_server_ms"),
    ),
    RowDefinition(
        "  processor time",
        "ms",
        make_value_reader("start", "docyard_cpu_ms"),
        read_minimal_server=make_value_reader("start", "minimal_server_cpu_ms"),
    ),
    RowDefinition(
        "  processor time relative to a minimal server", "x", make_value_reader("start", "cpu_ratio")
    ),
    RowDefinition(
        "first search of a server, sent immediately",
        "ms",
        make_value_reader("first_search", "sent_immediately_ms"),
        (100.0, 100.0),
        ReferenceMeasurement.PING,
    ),
    RowDefinition(
        "  sent two seconds later", "ms", make_value_reader("first_search", "sent_after_warm_up_ms")
    ),
    RowDefinition(
        "definitions of the default tools",
        "bytes",
        make_value_reader("start", "definitions_bytes"),
        (10_000, 10_000),
    ),
)

SOURCES = (
    RowDefinition(
        "search_documentation over HTTP with 100 sources relative to one, first run, p50",
        "x",
        make_ratio_reader(
            make_value_reader("sources", "hundred", "p50_ms"), make_value_reader("sources", "one", "p50_ms")
        ),
        (1.3, 1.3),
    ),
    RowDefinition("  with one source", "ms", make_value_reader("sources", "one", "p50_ms")),
    RowDefinition(
        "time to first tools/list with 100 sources", "s", make_value_reader("sources", "start_s"), (3.0, 3.0)
    ),
    RowDefinition(
        "mean of 1 / rank in the right one of three sources relative to all three",
        "x",
        make_ratio_reader(
            make_value_reader("sources", "fusion", "right_mrr"),
            make_value_reader("sources", "fusion", "all_mrr"),
        ),
        (1.25, 1.25),
    ),
)

VECTORS = (
    RowDefinition(
        "hybrid search in the process, first run, p50",
        "ms",
        make_value_reader("vectors", "hybrid", "p50_ms"),
        (30.0, 30.0),
    ),
    RowDefinition("  by words alone", "ms", make_value_reader("vectors", "words", "p50_ms")),
    RowDefinition(
        "hybrid search in the process, first run, p95",
        "ms",
        make_value_reader("vectors", "hybrid", "p95_ms"),
        (50.0, 50.0),
    ),
    RowDefinition("  by words alone", "ms", make_value_reader("vectors", "words", "p95_ms")),
    RowDefinition(
        "resident memory that vectors add",
        "MB",
        make_value_reader("vectors", "added_resident_mb"),
        (150.0, 150.0),
    ),
    RowDefinition(
        "bytes of vectors on disk for each section", "bytes", make_value_reader("vectors", "section_bytes")
    ),
    RowDefinition(
        "time that `hash` takes to embed an index, relative to its rebuild",
        "x",
        make_value_reader("vectors", "hash", "index_ratio"),
    ),
    RowDefinition("  index rebuild", "s", make_value_reader("vectors", "hash", "rebuild_s")),
    RowDefinition("  embedding", "s", make_value_reader("vectors", "hash", "embed_s")),
    RowDefinition(
        "time that `hash` adds to the build of an artifact",
        "x",
        make_value_reader("vectors", "hash", "artifact_ratio"),
        (0.3, 0.3),
    ),
    RowDefinition("  artifact without vectors", "s", make_value_reader("vectors", "hash", "artifact_s")),
    RowDefinition(
        "  artifact with vectors", "s", make_value_reader("vectors", "hash", "artifact_with_vectors_s")
    ),
)

ARTIFACTS = (
    RowDefinition(
        "artifact opened with its key, new process",
        "ms",
        make_value_reader("artifact", "open_ms"),
        (300.0, 300.0),
        ReferenceMeasurement.QUERY_AND_BUILD,
    ),
    RowDefinition("  imports before the opening", "ms", make_value_reader("artifact", "import_ms")),
    RowDefinition("artifact built from a commit", "s", make_value_reader("artifact", "first_build_s")),
    RowDefinition(
        "  second build after 10 changed files", "s", make_value_reader("artifact", "second_build_s")
    ),
    RowDefinition(
        "second build of an artifact relative to 1 s or a tenth of the first",
        "x",
        _compute_second_build_ratio,
        (1.0, 1.0),
    ),
    RowDefinition("size of the artifact relative to the Markdown", "x", make_size_ratio_reader("artifact")),
)

ADVERSARIAL = (
    RowDefinition(
        "the slowest adversarial query",
        "ms",
        make_value_reader("adversarial_queries", "slowest_ms"),
        (200.0, 200.0),
    ),
)

KNOWN_ITEMS = (
    RowDefinition(
        "identifiers not found first, of 100", "", _make_percent_not_first_reader("identifiers"), (5, 5)
    ),
    RowDefinition(
        "remembered words not found first, of 100", "", _make_percent_not_first_reader("remembered_words")
    ),
)

_MINIMAL_RATE = make_value_reader("http_load", "minimal", "calls_per_second")


def _make_load_rows(label: str, name: str, max_p99: Limits = NO_LIMITS) -> tuple[RowDefinition, ...]:
    """Return the rows of a server that answers many clients at once."""
    read_rate = make_value_reader("http_load", name, "calls_per_second")
    return (
        RowDefinition(f"{label}: searches", "/s", read_rate, read_minimal_server=_MINIMAL_RATE),
        RowDefinition(
            "  time of a search relative to a call of a minimal server",
            "x",
            make_ratio_reader(_MINIMAL_RATE, read_rate),
        ),
        RowDefinition(
            "  p99",
            "ms",
            make_value_reader("http_load", name, "p99_ms"),
            read_minimal_server=make_value_reader("http_load", "minimal", "p99_ms"),
        ),
        RowDefinition(
            "  time of a ping relative to the reference machine",
            "x",
            make_value_reader("http_load", name, "machine_factor"),
        ),
        RowDefinition(
            "  searches on the reference machine",
            "/s",
            make_value_reader("http_load", name, "scaled_calls_per_second"),
        ),
        RowDefinition(
            "  p99 on the reference machine",
            "ms",
            make_value_reader("http_load", name, "scaled_p99_ms"),
            max_p99,
        ),
    )


LOAD = (
    *_make_load_rows("32 clients, one process", "processes_1"),
    RowDefinition(
        "  processor time of a search",
        "ms",
        make_value_reader("http_load", "processes_1", "server_cpu_ms"),
        read_minimal_server=make_value_reader("http_load", "minimal", "server_cpu_ms"),
    ),
    *_make_load_rows("32 clients, a process for each processor", "most_processes", (None, 100.0)),
    RowDefinition(
        "  processor time of the clients",
        "",
        make_value_reader("http_load", "most_processes", "client_cpu_share"),
    ),
)

_WARM_IN_POSTGRES, _WARM_IN_FILES = (
    make_value_reader("engine", "warm", name, "p50_ms") for name in ("postgres", "files")
)

SHARED_INDEX = (
    RowDefinition("first question of a new node", "ms", make_value_reader("engine", "first_ms")),
    RowDefinition("  with an index in files", "ms", make_value_reader("engine", "first_in_files_ms")),
    RowDefinition(
        "then each question once, p50", "ms", make_value_reader("engine", "once", "postgres", "p50_ms")
    ),
    RowDefinition("  p95", "ms", make_value_reader("engine", "once", "postgres", "p95_ms")),
    RowDefinition(
        "  with an index in files, p50", "ms", make_value_reader("engine", "once", "files", "p50_ms")
    ),
    RowDefinition(
        "  with an index in files, p95", "ms", make_value_reader("engine", "once", "files", "p95_ms")
    ),
    RowDefinition(
        "warm question relative to an index in files, p50",
        "x",
        make_ratio_reader(_WARM_IN_POSTGRES, _WARM_IN_FILES),
        (1.3, 1.3),
    ),
    RowDefinition(
        "indexing of a commit by the first node, p50",
        "ms",
        make_value_reader("engine", "index_commit", "p50_ms"),
    ),
    RowDefinition(
        "search of the second node that finds it, p50", "ms", make_value_reader("engine", "visible", "p50_ms")
    ),
    RowDefinition("  p95", "ms", make_value_reader("engine", "visible", "p95_ms")),
    RowDefinition("full build into the database", "s", make_value_reader("engine", "build_s")),
    RowDefinition("size in the database", "bytes", make_value_reader("engine", "bytes")),
)

_NODE_LOADS = {
    f"{kind}_{count}": f"{count} {noun if count == 1 else plural} {place}"
    for kind, noun, plural, place in (
        ("files", "process", "processes", "with files"),
        ("nodes", "node", "nodes", "with PostgreSQL"),
    )
    for count in (1, 2, 4)
}

NODE_LOAD = tuple(
    row
    for name, label in _NODE_LOADS.items()
    for row in (
        RowDefinition(
            f"32 clients, {label}: searches on the reference machine",
            "/s",
            make_value_reader("node_load", name, "scaled_calls_per_second"),
        ),
        RowDefinition(
            "  processor time of a search", "ms", make_value_reader("node_load", name, "server_cpu_ms")
        ),
    )
)

GROUPS = {
    "Finding": KNOWN_ITEMS,
    "Queries": (*QUERIES, *ADVERSARIAL),
    "First runs": FIRST_QUERIES,
    "Building": BUILDING,
    "Edits": EDITS,
    "Links": LINKS,
    "Planning": PLANNING,
    "Fast readers": FAST_READERS,
    "Serving": SERVING,
    "Many sources": SOURCES,
    "Many clients": LOAD,
    "Past one machine": (*SHARED_INDEX, *NODE_LOAD),
    "Search by meaning": VECTORS,
    "Artifacts": ARTIFACTS,
}
