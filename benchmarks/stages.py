"""The stages of a run, in order. Each stage measures one subject and returns its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.child import measure
from benchmarks.corpus import Corpus, CorpusTooSmall, SectionText, draw_queries, make_repository
from benchmarks.documents import fast_readers
from benchmarks.engines import fts5, postgres, tantivy
from benchmarks.reports.report_rows import describe_machine, list_package_versions
from benchmarks.search import full_index, known_items
from benchmarks.search.query_sets import QuerySets, draw_query_sets
from benchmarks.search.result_lists import check_equal_result_lists
from benchmarks.serving import first_queries, http_load, node_load, server_memory, sources, startup
from index.building.build import MIN_DOCUMENTS_FOR_CHILDREN

QUERY_COUNT = 200
BUILD_COUNT = 3
PROCESS_COUNT = 5
COMMIT_COUNT = 300
EDIT_COUNT = 50
COMMON_WORD_COUNT = 500

Results = dict[str, Any]


@dataclass
class BenchmarkContext:
    """The input of the stages: the counts of a corpus, a repository made of it, and queries drawn from it.

    `home` is a folder for temporary files. `is_indexed` is True after the index was built.
    """

    home: Path
    repository: Path
    section_texts: list[SectionText]
    query_words: list[list[str]]
    corpus_counts: Results
    is_indexed: bool = field(default=False)

    @classmethod
    def create(cls, corpus: Corpus, home: Path) -> BenchmarkContext:
        """Make the repository. Raises CorpusTooSmall."""
        section_texts = list(corpus.read_section_texts())
        corpus_counts = {"files": len(corpus.documents), "bytes": corpus.size, "sections": len(section_texts)}
        bench = cls(
            home, home / "repository", section_texts, draw_queries(section_texts, QUERY_COUNT), corpus_counts
        )
        make_repository(corpus, bench.repository)
        return bench

    @property
    def queries(self) -> list[str]:
        """Return the queries as text, as a user types them."""
        return [" ".join(words) for words in self.query_words]

    def draw_query_sets(self) -> QuerySets:
        """Return the queries for the measurement of first runs, and queries for the warm-up."""
        return draw_query_sets(self.section_texts, self.queries)

    def describe(self) -> Results:
        """Return the counts of the corpus, the machine and the versions."""
        return {
            "corpus": self.corpus_counts,
            "machine": describe_machine(),
            "versions": list_package_versions(),
        }

    def measure(self, module: str, **arguments: Any) -> Results:
        """Return the measurement of the repository in a new process; build its index first if necessary."""
        self.ensure_index()
        return measure(module, self.home, repository=self.repository, **arguments)

    def ensure_index(self) -> None:
        """Build the index and the link graph where a server reads them, once for each run."""
        if not self.is_indexed:
            measure("search.server_index", self.home, repository=self.repository)
            self.is_indexed = True


def _measure_fts5(bench: BenchmarkContext) -> Results:
    return {"fts5": fts5.measure(bench.section_texts, bench.query_words, bench.home)}


def _measure_tantivy(bench: BenchmarkContext) -> Results:
    if not tantivy.is_installed():
        return {}
    return {"tantivy": tantivy.measure(bench.section_texts, bench.query_words, bench.home)}


def _measure_index(bench: BenchmarkContext) -> Results:
    """Return medians of a few builds for each number of processes, and the maximum of memory and bytes.

    The memory is that of the builds with a number of processes that a server may use for this corpus.
    """
    results: Results = {}
    for processes in full_index.PROCESS_COUNTS:
        builds = [
            measure(
                "search.full_index",
                bench.home,
                repository=bench.repository,
                processes=processes,
                folder=bench.home / f"index-{processes}-{number}",
            )
            for number in range(BUILD_COUNT)
        ]
        results[str(processes)] = {key: median(build[key] for build in builds) for key in builds[0]}
        # A server uses several processes only for many documents.
        if processes == 1 or bench.corpus_counts["files"] >= MIN_DOCUMENTS_FOR_CHILDREN:
            results["peak_mb"] = max([results.get("peak_mb", 0.0), *(build["peak_mb"] for build in builds)])
        results["bytes"] = max([results.get("bytes", 0), *(build["bytes"] for build in builds)])
    return {"index": results}


def _measure_queries(bench: BenchmarkContext) -> Results:
    """Measure warm queries in one process and first queries in several. Raises ResultListsDiffer."""
    warm_results = bench.measure("search.queries", queries=bench.queries)
    runs = [
        bench.measure("search.queries", queries=bench.queries, first_query_number=number, warm=False)
        for number in range(PROCESS_COUNT)
    ]
    lists_by_origin = {"one process": warm_results.pop("result_lists")}
    lists_by_origin |= {
        f"new process {number}": run.pop("result_lists") for number, run in enumerate(runs, start=1)
    }
    medians = {key: median(run[key] for run in runs) for key in runs[0]}
    open_and_first_ms = median(run["open_ms"] + run["first_ms"] for run in runs)
    list_count = check_equal_result_lists(bench.queries, lists_by_origin)
    return {
        "queries": warm_results
        | medians
        | {"open_and_first_ms": open_and_first_ms, "equal_list_count": list_count}
    }


def _measure_known_items(bench: BenchmarkContext) -> Results:
    """Return how often a known item was the first hit, and the mean of 1 / rank.

    Return no result if the corpus has too few items.
    """
    try:
        items = known_items.draw_items(bench.section_texts)
    except CorpusTooSmall:
        return {}
    results = bench.measure("search.known_items", items=items)
    return {
        "known_items": {
            kind: {key: results[kind][key] for key in ("query_count", "first", "mrr")} for kind in items
        }
    }


def _measure_starts(bench: BenchmarkContext) -> Results:
    bench.ensure_index()
    return {
        "start": startup.measure_start(bench.repository, bench.home)
        | {"definitions_bytes": startup.measure_definitions_bytes(bench.repository)},
        "first_search": startup.measure_first_searches(bench.repository, bench.home, bench.queries),
        "serving": server_memory.measure_memory(bench.repository, bench.home, bench.queries),
    }


def _measure_round_trips(bench: BenchmarkContext) -> Results:
    bench.ensure_index()
    return {"round_trips": startup.measure_pings(bench.repository, bench.home)}


def _measure_first_queries(bench: BenchmarkContext) -> Results:
    """Measure first and second runs of queries: in a process, over stdio and over HTTP.

    Phrases are measured only in a process.
    """
    query_sets = bench.draw_query_sets()
    in_process = bench.measure("search.first_queries", **query_sets._asdict())
    return {
        "first_queries": {
            **{name: in_process[name] for name in ("questions", "phrases")},
            **first_queries.measure(bench.repository, bench.home, query_sets),
        }
    }


def _measure_sources(bench: BenchmarkContext) -> Results:
    """Measure a server of 100 sources, and searches of three sources if the corpus has enough known items."""
    servers = sources.measure_servers(bench.repository, bench.home, bench.draw_query_sets())
    try:
        fusion = sources.measure_fusion(bench.repository, bench.home, bench.section_texts)
    except CorpusTooSmall:
        return {"sources": servers}
    return {"sources": servers | {"fusion": fusion}}


def _measure_http_load(bench: BenchmarkContext) -> Results:
    return {"http_load": http_load.measure_load(bench.repository, bench.home, bench.section_texts)}


def _measure_node_load(bench: BenchmarkContext) -> Results:
    """Measure nodes that share an index; return no result if there is no PostgreSQL."""
    if not postgres.is_available():
        return {}
    with postgres.run_server() as url:
        load = node_load.measure_load(bench.repository, bench.home, bench.section_texts, url)
    return {"node_load": load}


def _measure_edits(bench: BenchmarkContext) -> Results:
    """Measure edits and searches; compare the result lists with those of a new process and of a rebuild.

    Raises ResultListsDiffer.
    """
    edits = bench.measure("documents.edits", count=COMMIT_COUNT, durable=False, queries=bench.queries)
    new_process = bench.measure("search.queries", queries=bench.queries, warm=False)
    durable_edits = bench.measure("documents.edits", count=EDIT_COUNT, durable=True, queries=bench.queries)
    rebuild = bench.measure("search.rebuild", queries=bench.queries)
    list_count = check_equal_result_lists(
        bench.queries,
        {"after 300 commits": edits.pop("result_lists"), "a new process": new_process["result_lists"]},
    )
    list_count += check_equal_result_lists(
        bench.queries,
        {"after more commits": durable_edits.pop("result_lists"), "a rebuild": rebuild["result_lists"]},
    )
    return {"edits": edits | {"equal_list_count": list_count}, "durable_edits": durable_edits}


def _measure_links(bench: BenchmarkContext) -> Results:
    return {"links": bench.measure("documents.link_graph", count=EDIT_COUNT)}


def _measure_fast_readers(bench: BenchmarkContext) -> Results:
    """Measure processor times with all fast readers, and without each of them."""
    modes = {"all_readers": None, **{name: name for name in fast_readers.READERS}}
    return {
        "fast_readers": {
            mode: bench.measure("documents.fast_readers", without=name, count=EDIT_COUNT)
            for mode, name in modes.items()
        }
    }


def _measure_artifact(bench: BenchmarkContext) -> Results:
    """Measure an artifact of the repository, and compare its result lists with those of the repository.

    Raises ResultListsDiffer.
    """
    paths = {"artifact_folder": bench.home / "artifact", "key_file": bench.home / "artifact.key"}
    build = bench.measure("search.artifact", **paths)
    openings = [
        measure("search.artifact_opening", bench.home, queries=bench.queries, **paths)
        for _ in range(PROCESS_COUNT)
    ]
    new_process = bench.measure("search.queries", queries=bench.queries, warm=False)
    lists_by_origin = {
        "the repository": new_process["result_lists"],
        "its artifact": openings[0]["result_lists"],
    }
    list_count = check_equal_result_lists(bench.queries, lists_by_origin)
    medians = {key: median(opening[key] for opening in openings) for key in ("import_ms", "open_ms")}
    return {"artifact": build | medians | {"equal_list_count": list_count}}


def _measure_engine(bench: BenchmarkContext) -> Results:
    """Measure an index that nodes share in PostgreSQL, next to the index in files.

    Raises ResultListsDiffer. Return no result if there is no PostgreSQL.
    """
    if not postgres.is_available():
        return {}
    with postgres.run_server() as url:
        folder = bench.home / "nodes"
        folder.mkdir(mode=0o700)
        build = bench.measure("search.shared_index", url=url, folder=folder / "first", step="build")
        runs = [
            bench.measure(
                "search.shared_index",
                url=url,
                folder=folder / f"new-{number}",
                step="comparison",
                queries=bench.queries,
            )
            for number in range(BUILD_COUNT)
        ]
        lists_by_origin = {
            f"{name}, process {number}": result_lists
            for number, run in enumerate(runs)
            for name, result_lists in run.pop("result_lists").items()
        }
        list_count = check_equal_result_lists(bench.queries, lists_by_origin)
        commits = bench.measure(
            "search.shared_index",
            url=url,
            folder=folder / "commits",
            step="commits",
            commit_count=EDIT_COUNT,
        )
    return {
        "engine": {
            "build_s": build["build_s"],
            "bytes": build["bytes"],
            "first_ms": median(run["first_ms"] for run in runs),
            "first_in_files_ms": median(run["first_in_files_ms"] for run in runs),
            **{
                kind: {
                    name: _compute_medians([run[kind][name] for run in runs])
                    for name in ("postgres", "files")
                }
                for kind in ("once", "warm")
            },
            "index_commit": commits["index_commit"],
            "visible": commits["visible"],
            "equal_list_count": list_count,
        }
    }


def _measure_vectors(bench: BenchmarkContext) -> Results:
    """Measure searches with and without vectors in alternating processes, and builds with `hash`.

    Return medians of a few processes.
    """
    disk = bench.measure("search.vectors_on_disk")
    query_sets = bench.draw_query_sets()
    queries = {"queries": query_sets.queries, "warm_up": query_sets.warm_up}
    runs: dict[bool, list[Results]] = {False: [], True: []}
    for _ in range(BUILD_COUNT):
        for with_vectors, results in runs.items():
            results.append(bench.measure("search.vectors", **queries, with_vectors=with_vectors))
    builds = [_measure_hash_builds(bench, bench.home / f"hash-{number}") for number in range(BUILD_COUNT)]
    words, hybrid = (_compute_medians(runs[with_vectors]) for with_vectors in (False, True))
    return {
        "vectors": {
            "words": words,
            "hybrid": hybrid,
            "added_resident_mb": hybrid["resident_mb"] - words["resident_mb"],
            "section_bytes": disk["bytes"] / disk["sections"],
            "hash": _compute_medians(builds),
        }
    }


def _measure_hash_builds(bench: BenchmarkContext, folder: Path) -> Results:
    """Measure builds with and without the vectors of `hash`, and the ratio of the time that they add."""
    folder.mkdir()
    index, artifact, artifact_with_vectors = (
        bench.measure("search.hash_builds", folder=folder / build, build=build)
        for build in ("index", "artifact", "artifact_with_vectors")
    )
    return {
        "rebuild_s": index["rebuild_s"],
        "embed_s": index["embed_s"],
        "index_ratio": index["embed_s"] / index["rebuild_s"],
        "artifact_s": artifact["seconds"],
        "artifact_with_vectors_s": artifact_with_vectors["seconds"],
        "artifact_ratio": artifact_with_vectors["seconds"] / artifact["seconds"] - 1,
    }


def _compute_medians(runs: Sequence[Results]) -> Results:
    return {key: median(run[key] for run in runs) for key in runs[0]}


def _measure_planning(bench: BenchmarkContext) -> Results:
    folder = bench.home / "planning"
    folder.mkdir()
    return {"planning": measure("documents.planning", bench.home, folder=folder)}


def _measure_git(bench: BenchmarkContext) -> Results:
    return {"git": measure("git.commits", bench.home, folder=bench.home, count=EDIT_COUNT)}


def _measure_checkout(bench: BenchmarkContext) -> Results:
    return {"checkout": measure("git.checkout", bench.home, folder=bench.home, count=EDIT_COUNT)}


def _measure_adversarial_queries(bench: BenchmarkContext) -> Results:
    counts = Counter(
        word for text in bench.section_texts for word in {*text.body.lower().split()} if word.isalpha()
    )
    words = [word for word, _ in counts.most_common(COMMON_WORD_COUNT)]
    return {"adversarial_queries": bench.measure("search.adversarial_queries", words=words)}


STAGES: Mapping[str, tuple[str, Callable[[BenchmarkContext], Results]]] = {
    "fts5": ("SQLite FTS5", _measure_fts5),
    "tantivy": ("tantivy", _measure_tantivy),
    "index": ("Full index", _measure_index),
    "queries": ("Queries", _measure_queries),
    "known_items": ("Known items", _measure_known_items),
    "adversarial_queries": ("Adversarial queries", _measure_adversarial_queries),
    "start": ("Starting servers", _measure_starts),
    "round_trips": ("Round trips over stdio", _measure_round_trips),
    "first_queries": ("First runs of queries", _measure_first_queries),
    "sources": ("Many sources", _measure_sources),
    "http_load": ("Many clients over HTTP", _measure_http_load),
    "node_load": ("Many clients of several nodes", _measure_node_load),
    "vectors": ("Search by meaning", _measure_vectors),
    "edits": ("Edits", _measure_edits),
    "links": ("The link graph", _measure_links),
    "fast_readers": ("Fast readers", _measure_fast_readers),
    "artifact": ("Artifacts", _measure_artifact),
    "engine": ("An index that nodes share in PostgreSQL", _measure_engine),
    "planning": ("Tasks, drift and traces", _measure_planning),
    "git": ("Commits among 100,000 files", _measure_git),
    "checkout": ("A work tree of 10,000 files", _measure_checkout),
}
"""The title and the function of each stage, by name."""
