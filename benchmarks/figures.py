"""Which figures are shown of all that was measured, beside what, and which of them have a target."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.report import Figure

SMALL = 7_000_000
"""Bytes of Markdown up to which the targets that hang on a corpus's size hold."""

FULL_INDEX_S = 5.0
EDIT_MS = 40.0
START_RATIO = 1.1
DEFINITIONS_BYTES = 12_000
CHECKOUT_MS = 5.0

_PACKAGES = ("docyard", "mcp", "whoosh", "pygit2", "tantivy")


def figures(results: Mapping[str, Any]) -> list[Figure]:
    """One line of the report each, in its order."""
    is_small = results["corpus"]["bytes"] <= SMALL
    return [*_index(results, is_small), *_queries(results), *_edits(results, is_small), *_server(results)]


def about(results: Mapping[str, Any]) -> list[str]:
    """What was measured with: the corpus, the machine in general words, the versions."""
    corpus = results["corpus"]
    versions = [f"SQLite {sqlite3.sqlite_version}"]
    for name in _PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return [
        f"{corpus['files']:,} files, {corpus['bytes'] / 1e6:.1f} MB, {corpus['sections']:,} sections",
        f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}",
        ", ".join(versions),
    ]


def _index(results: Mapping[str, Any], is_small: bool) -> list[Figure]:
    index, size = results["index"], results["corpus"]["bytes"]
    beside = results["beside"].items()
    return [
        Figure(
            "full index from a commit",
            index["seconds"],
            "s",
            {name: other["seconds"] for name, other in beside},
            FULL_INDEX_S if is_small else None,
        ),
        Figure("  of it, processor time", index["cpu_seconds"], "s"),
        Figure("peak memory while building", index["peak_mb"], "MB"),
        Figure("index, by the bytes of Markdown", index["bytes"] / size, "x", _shares(results)),
    ]


def _shares(results: Mapping[str, Any]) -> dict[str, float]:
    return {name: other["bytes"] / results["corpus"]["bytes"] for name, other in results["beside"].items()}


def _queries(results: Mapping[str, Any]) -> list[Figure]:
    query = results["query"]
    rows = [Figure("first answer of a new process", query["first_ms"], "ms")]
    for key, name in (("p50_ms", "p50"), ("p95_ms", "p95")):
        beside = {engine: other["query"][key] for engine, other in results["beside"].items()}
        rows.append(Figure(f"ten best by OR, {name}", query["rank"][key], "ms", beside))
    for key, name in (("p50_ms", "p50"), ("p95_ms", "p95")):
        rows.append(Figure(f"whole answer with snippets, {name}", query["search"][key], "ms"))
    return [*rows, Figure("peak memory while serving", query["peak_mb"], "MB")]


def _edits(results: Mapping[str, Any], is_small: bool) -> list[Figure]:
    edit, durable = results["edit"], results["durable_edit"]
    fts5 = {"FTS5": results["beside"]["FTS5"]["edit_p50_ms"]}
    return [
        Figure(
            "section edited, committed, found, p50",
            edit["whole"]["p50_ms"],
            "ms",
            fts5,
            EDIT_MS if is_small else None,
        ),
        Figure("section edited, committed, found, p95", edit["whole"]["p95_ms"], "ms"),
        Figure("  of it, until committed, p50", edit["commit"]["p50_ms"], "ms"),
        Figure("  processor time of the whole, p50", edit["processor"]["p50_ms"], "ms"),
        Figure("the same with fsync, p50", durable["whole"]["p50_ms"], "ms"),
        Figure("the same with fsync, p95", durable["whole"]["p95_ms"], "ms"),
        *_checkout(results["checkout"]),
    ]


def _checkout(checkout: Mapping[str, Any]) -> list[Figure]:
    return [
        Figure("edit, 10,000 files, bare, p50", checkout["bare_p50_ms"], "ms"),
        Figure("edit, 10,000 files, checked out, p50", checkout["checked_out_p50_ms"], "ms"),
        Figure("  what the work tree costs, p50", checkout["more_p50_ms"], "ms", target=CHECKOUT_MS),
    ]


def _server(results: Mapping[str, Any]) -> list[Figure]:
    start, trips = results["start"], results["trips"]
    rows = [
        Figure("first tools/list over stdio", start["ours_ms"], "ms", {"bare mcp": start["bare_ms"]}),
        Figure("  by the bare server's, median of pairs", start["ratio"], "x", target=START_RATIO),
    ]
    if "cpu_ratio" in start:
        rows += [
            Figure("  its processor time", start["ours_cpu_ms"], "ms", {"bare mcp": start["bare_cpu_ms"]}),
            Figure("  processor time by the bare server's", start["cpu_ratio"], "x"),
        ]
    return [
        *rows,
        Figure(
            "definitions of the default tools",
            results["definitions_bytes"],
            "bytes",
            target=DEFINITIONS_BYTES,
        ),
        Figure(
            "ping over stdio, p50", trips["ping"]["p50_ms"], "ms", {"bare mcp": trips["bare_ping"]["p50_ms"]}
        ),
        Figure("search_docs over stdio, p50", trips["search"]["p50_ms"], "ms"),
        Figure("search_docs over stdio, p95", trips["search"]["p95_ms"], "ms"),
    ]
