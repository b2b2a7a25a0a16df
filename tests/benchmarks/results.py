"""Sample results of a complete run on a corpus as large as `small`. Every value is within its limit."""

from __future__ import annotations

from typing import Any


def make_complete_results() -> dict[str, Any]:
    """Return the results of a run on a machine as fast as the reference machine."""
    times = {"p50_ms": 0.05, "p95_ms": 0.1}
    first_queries = {name: times | {"p99_ms": 0.2} for name in ("first", "processor_time", "second")}
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
            "top_ten": times,
            "import_ms": 80.0,
            "open_and_first_ms": 8.0,
            "first_ms": 1.0,
            "equal_list_count": 1_000,
        },
        "known_items": {
            kind: {"query_count": 100, "first": 99, "mrr": 0.99}
            for kind in ("identifiers", "remembered_words")
        },
        "adversarial_queries": {"slowest_ms": 20.0, "slowest_query": "stars, 300", "query_count": 100},
        "start": {
            "ratio": 1.0,
            "docyard_ms": 500.0,
            "minimal_server_ms": 500.0,
            "docyard_cpu_ms": 500.0,
            "minimal_server_cpu_ms": 500.0,
            "cpu_ratio": 1.0,
            "definitions_bytes": 9_900,
        },
        "first_search": {"sent_immediately_ms": 50.0, "sent_after_warm_up_ms": 5.0},
        "serving": {"peak_mb": 90.0},
        "round_trips": {"docyard_ping": times, "minimal_server_ping": {"p50_ms": 0.43, "p95_ms": 0.5}},
        "first_queries": {
            **dict.fromkeys(("questions", "phrases", "stdio", "stateless", "http"), first_queries),
            "minimal_server": {"first": {"p50_ms": 0.7, "p95_ms": 1.0, "p99_ms": 2.0}},
        },
        "sources": {
            "one": times,
            "hundred": times,
            "start_s": 1.5,
            "fusion": {"right_mrr": 0.9, "all_mrr": 0.9},
        },
        "node_load": {
            f"{kind}_{count}": {"scaled_calls_per_second": 200.0, "server_cpu_ms": 2.0}
            for kind in ("files", "nodes")
            for count in (1, 2, 4)
        },
        "engine": {
            "build_s": 1.0,
            "bytes": 3_000_000,
            "first_ms": 50.0,
            "first_in_files_ms": 8.0,
            "once": {"postgres": times, "files": times},
            "warm": {"postgres": times, "files": times},
            "index_commit": times,
            "visible": times,
        },
        "http_load": {
            name: {
                "calls_per_second": 100.0,
                "p99_ms": 50.0,
                "server_cpu_ms": 6.0,
                "client_cpu_share": 0.1,
                "machine_factor": 2.0,
                "scaled_calls_per_second": 200.0,
                "scaled_p99_ms": 25.0,
            }
            for name in ("processes_1", "most_processes", "minimal")
        },
        "planning": {
            "tasks": times,
            "tasks_after_commit": times,
            "first_tasks_s": 0.1,
            "first_drift_s": 0.5,
            "first_trace_s": 0.5,
        },
        "vectors": {
            "words": times,
            "hybrid": times,
            "added_resident_mb": 10.0,
            "section_bytes": 1_200.0,
            "hash": {
                "rebuild_s": 1.0,
                "embed_s": 0.2,
                "index_ratio": 0.2,
                "artifact_s": 1.0,
                "artifact_with_vectors_s": 1.2,
                "artifact_ratio": 0.2,
            },
        },
        "edits": {
            "edit_and_search": times,
            "commit": times,
            "processor_time": times,
            "queries_before": times,
            "queries_after": times,
            "segments": 6,
            "equal_list_count": 400,
        },
        "durable_edits": {"edit_and_search": times, "commit": times, "processor_time": times, "segments": 6},
        "links": {
            "seconds": 1.0,
            "bytes": 1_000_000,
            "update": times,
            "backlinks_query": times,
            "backlinks_scan": times,
        },
        "fast_readers": {
            "all_readers": {"list_s": 1.0, "index_s": 1.0, "links_s": 1.0, "edit_ms": 1.0},
            "scanner": {"list_s": 2.2, "index_s": 1.9, "links_s": 2.0, "edit_ms": 1.0},
            "linewise": {"list_s": 1.0, "index_s": 1.0, "links_s": 2.0, "edit_ms": 1.0},
        },
        "artifact": {
            "first_build_s": 2.0,
            "second_build_s": 0.3,
            "bytes": 6_000_000,
            "open_ms": 40.0,
            "import_ms": 200.0,
            "equal_list_count": 200,
        },
        "git": {"files": 100_000, "batch": times, "processor_time": times},
        "checkout": {"checked_out_p50_ms": 5.0, "bare_p50_ms": 2.0, "difference_p50_ms": 3.0},
    }
