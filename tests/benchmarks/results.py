"""Sample results of a complete run: the corpus has the size of `small`, every figure is within its limit."""

from __future__ import annotations

from typing import Any


def make_complete_results() -> dict[str, Any]:
    """Return the results of a run on a machine as fast as the reference machine."""
    times = {"p50_ms": 0.05, "p95_ms": 0.1}
    first_queries = {name: times | {"p99_ms": 0.2} for name in ("first", "processor", "second")}
    build = {"seconds": 0.25, "cpu_seconds": 0.2, "bytes": 3_000_000}
    engine = {"seconds": 0.25, "bytes": 10_000_000, "query": {"p50_ms": 2.5, "p95_ms": 8.0}}
    return {
        "corpus": {"files": 1_500, "bytes": 6_000_000, "sections": 14_259},
        "machine": "2 cores",
        "versions": ["SQLite 3.40"],
        "fts5": engine | {"edit_p50_ms": 0.2},
        "tantivy": engine,
        "index": {"1": build, "2": build, "peak_mb": 100.0, "bytes": 3_000_000},
        "queries": {
            "best": times,
            "import_ms": 80.0,
            "open_and_first_ms": 8.0,
            "first_ms": 1.0,
            "same_lists": 1_000,
        },
        "known": {
            kind: {"asked": 100, "first": 99, "mrr": 0.99} for kind in ("identifiers", "remembered_words")
        },
        "bombs": {"worst_ms": 20.0, "worst": "stars, 300", "asked": 100},
        "start": {
            "ratio": 1.0,
            "ours_ms": 500.0,
            "bare_ms": 500.0,
            "ours_cpu_ms": 500.0,
            "bare_cpu_ms": 500.0,
            "cpu_ratio": 1.0,
            "definitions_bytes": 9_900,
        },
        "first_search": {"at_once_ms": 50.0, "warmed_up_ms": 5.0},
        "serving": {"peak_mb": 90.0},
        "trips": {"ping": times, "bare_ping": {"p50_ms": 0.43, "p95_ms": 0.5}},
        "first_queries": {
            **dict.fromkeys(("questions", "phrases", "stdio", "stateless", "http"), first_queries),
            "bare": {"first": {"p50_ms": 0.7, "p95_ms": 1.0, "p99_ms": 2.0}},
        },
        "edits": {
            "whole": times,
            "commit": times,
            "processor": times,
            "before": times,
            "after": times,
            "segments": 6,
            "same_lists": 400,
        },
        "durable_edits": {"whole": times, "commit": times, "processor": times, "segments": 6},
        "links": {
            "seconds": 1.0,
            "bytes": 1_000_000,
            "update": times,
            "ask": times,
            "scan": times,
        },
        "fast_readers": {
            "with": {"list_s": 1.0, "index_s": 1.0, "links_s": 1.0, "edit_ms": 1.0},
            "scanner": {"list_s": 2.2, "index_s": 1.9, "links_s": 2.0, "edit_ms": 1.0},
            "linewise": {"list_s": 1.0, "index_s": 1.0, "links_s": 2.0, "edit_ms": 1.0},
        },
        "artifact": {
            "full_s": 2.0,
            "again_s": 0.3,
            "bytes": 6_000_000,
            "open_ms": 40.0,
            "import_ms": 200.0,
            "same_lists": 200,
        },
        "git": {"files": 100_000, "batch": times, "processor": times},
        "checkout": {"checked_out_p50_ms": 5.0, "bare_p50_ms": 2.0, "more_p50_ms": 3.0},
    }
