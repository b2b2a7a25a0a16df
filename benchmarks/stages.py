"""The stages of a run, in order: each measures one subject and returns its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.child import measure
from benchmarks.corpus import Corpus, Text, TooSmall, draw_queries, make_repository
from benchmarks.documents import shortcuts
from benchmarks.engines import fts5, tantivy
from benchmarks.reports.figures import machine, versions
from benchmarks.search import full_index, known_items
from benchmarks.search.lists import check_same
from benchmarks.search.query_sets import QuerySets, draw_query_sets
from benchmarks.serving import first_queries, server_memory, startup
from index.building.build import MIN_DOCUMENTS_FOR_CHILDREN

QUERIES = 200
BUILDS = 3
PROCESSES = 5
COMMITS = 300
EDITS = 50
COMMONEST = 500

Results = dict[str, Any]


@dataclass
class Bench:
    """The input of the stages: a corpus, a repository made of it, and queries drawn from it."""

    home: Path
    repository: Path
    texts: list[Text]
    drawn: list[list[str]]
    corpus: Results
    is_indexed: bool = field(default=False)

    @classmethod
    def of(cls, corpus: Corpus, home: Path) -> Bench:
        """Make the repository. Raises TooSmall."""
        texts = list(corpus.texts())
        about = {"files": len(corpus.documents), "bytes": corpus.size, "sections": len(texts)}
        bench = cls(home, home / "repository", texts, draw_queries(texts, QUERIES), about)
        make_repository(corpus, bench.repository)
        return bench

    @property
    def queries(self) -> list[str]:
        """Return the queries as a person types them."""
        return [" ".join(words) for words in self.drawn]

    def draw_query_sets(self) -> QuerySets:
        """Return the queries for the measurement of first runs, and others for the warm-up."""
        return draw_query_sets(self.texts, self.queries)

    def about(self) -> Results:
        """Return the corpus, the machine and the versions."""
        return {"corpus": self.corpus, "machine": machine(), "versions": versions()}

    def measure(self, module: str, **arguments: Any) -> Results:
        """Measure the repository in a fresh process; build its index first if necessary."""
        self.ensure_index()
        return measure(module, self.home, repository=self.repository, **arguments)

    def ensure_index(self) -> None:
        """Build the index at the place of a server's index, if it is missing."""
        if not self.is_indexed:
            measure("search.server_index", self.home, repository=self.repository)
            self.is_indexed = True


def _fts5(bench: Bench) -> Results:
    return {"fts5": fts5.measure(bench.texts, bench.drawn, bench.home)}


def _tantivy(bench: Bench) -> Results:
    if not tantivy.is_installed():
        return {}
    return {"tantivy": tantivy.measure(bench.texts, bench.drawn, bench.home)}


def _index(bench: Bench) -> Results:
    """Return medians of a few builds per number of processes, and the maximum of memory and bytes."""
    found: Results = {}
    for processes in full_index.PROCESSES:
        builds = [
            measure(
                "search.full_index",
                bench.home,
                repository=bench.repository,
                processes=processes,
                folder=bench.home / f"index-{processes}-{number}",
            )
            for number in range(BUILDS)
        ]
        found[str(processes)] = {key: median(build[key] for build in builds) for key in builds[0]}
        if processes == 1 or bench.corpus["files"] >= MIN_DOCUMENTS_FOR_CHILDREN:  # as many as a server uses
            found["peak_mb"] = max([found.get("peak_mb", 0.0), *(build["peak_mb"] for build in builds)])
        found["bytes"] = max([found.get("bytes", 0), *(build["bytes"] for build in builds)])
    return {"index": found}


def _queries(bench: Bench) -> Results:
    """Measure warm queries in one process and first queries in several. Raises ListsDiffer."""
    warm = bench.measure("search.queries", queries=bench.queries)
    fresh = [
        bench.measure("search.queries", queries=bench.queries, first=number, warm=False)
        for number in range(PROCESSES)
    ]
    lists = {"one process": warm.pop("lists")}
    lists |= {f"new process {number}": one.pop("lists") for number, one in enumerate(fresh, start=1)}
    typical = {key: median(one[key] for one in fresh) for key in fresh[0]}
    both = median(one["open_ms"] + one["first_ms"] for one in fresh)
    compared = check_same(bench.queries, lists)
    return {"queries": warm | typical | {"open_and_first_ms": both, "same_lists": compared}}


def _known(bench: Bench) -> Results:
    """Return how often a known item was found first; nothing if the corpus has too few items."""
    try:
        drawn = known_items.draw(bench.texts)
    except TooSmall:
        return {}
    found = bench.measure("search.known_items", drawn=drawn)
    return {"known": {kind: {key: found[kind][key] for key in ("asked", "first", "mrr")} for kind in drawn}}


def _start(bench: Bench) -> Results:
    bench.ensure_index()
    return {
        "start": startup.measure_start(bench.repository, bench.home)
        | {"definitions_bytes": startup.definitions_bytes(bench.repository)},
        "first_search": startup.measure_first_search(bench.repository, bench.home, bench.queries),
        "serving": server_memory.measure_memory(bench.repository, bench.home, bench.queries),
    }


def _trips(bench: Bench) -> Results:
    bench.ensure_index()
    return {"trips": startup.measure_pings(bench.repository, bench.home)}


def _first_queries(bench: Bench) -> Results:
    """Measure first runs of queries in a process, over stdio and over HTTP; phrases in a process only."""
    sets = bench.draw_query_sets()
    in_process = bench.measure("search.first_queries", **sets._asdict())
    return {
        "asks": {
            **{name: in_process[name] for name in ("questions", "phrases")},
            **first_queries.measure(bench.repository, bench.home, sets),
        }
    }


def _edits(bench: Bench) -> Results:
    """Measure followed commits; compare the lists with those of a new process and of a rebuild."""
    edits = bench.measure("documents.edits", count=COMMITS, durable=False, queries=bench.queries)
    fresh = bench.measure("search.queries", queries=bench.queries, warm=False)
    durable = bench.measure("documents.edits", count=EDITS, durable=True, queries=bench.queries)
    rebuilt = bench.measure("search.rebuild", queries=bench.queries)
    compared = check_same(
        bench.queries, {"after 300 commits": edits.pop("lists"), "a new process": fresh["lists"]}
    )
    compared += check_same(
        bench.queries, {"after more commits": durable.pop("lists"), "a rebuild": rebuilt["lists"]}
    )
    return {"edits": edits | {"same_lists": compared}, "durable_edits": durable}


def _links(bench: Bench) -> Results:
    return {"links": bench.measure("documents.link_graph", count=EDITS)}


def _shortcuts(bench: Bench) -> Results:
    """Measure waiting times of users with all quick readers, and without each of them."""
    modes = {"with": None, **{name: name for name in shortcuts.READERS}}
    return {
        "shortcuts": {
            mode: bench.measure("documents.shortcuts", without=name, count=EDITS)
            for mode, name in modes.items()
        }
    }


def _artifact(bench: Bench) -> Results:
    """Measure an artifact of the repository, and compare its lists with those of the repository.

    Raises ListsDiffer.
    """
    place = {"out": bench.home / "artifact", "key": bench.home / "artifact.key"}
    built = bench.measure("search.artifact", **place)
    opened = [
        measure("search.artifact_opening", bench.home, queries=bench.queries, **place)
        for _ in range(PROCESSES)
    ]
    fresh = bench.measure("search.queries", queries=bench.queries, warm=False)
    lists = {"the repository": fresh["lists"], "its artifact": opened[0]["lists"]}
    compared = check_same(bench.queries, lists)
    typical = {key: median(one[key] for one in opened) for key in ("import_ms", "open_ms")}
    return {"artifact": built | typical | {"same_lists": compared}}


def _git(bench: Bench) -> Results:
    return {"git": measure("git.commits", bench.home, folder=bench.home, count=EDITS)}


def _checkout(bench: Bench) -> Results:
    return {"checkout": measure("git.checkout", bench.home, folder=bench.home, count=EDITS)}


def _bombs(bench: Bench) -> Results:
    counts = Counter(word for text in bench.texts for word in {*text.body.lower().split()} if word.isalpha())
    words = [word for word, _ in counts.most_common(COMMONEST)]
    return {"bombs": bench.measure("search.adversarial_queries", words=words)}


STAGES: Mapping[str, tuple[str, Callable[[Bench], Results]]] = {
    "fts5": ("SQLite FTS5", _fts5),
    "tantivy": ("tantivy", _tantivy),
    "index": ("Full index", _index),
    "queries": ("Queries", _queries),
    "known": ("Known items", _known),
    "bombs": ("Adversarial queries", _bombs),
    "start": ("Starting servers", _start),
    "trips": ("Round trips over stdio", _trips),
    "asks": ("First asks", _first_queries),
    "edits": ("Edits", _edits),
    "links": ("The link graph", _links),
    "shortcuts": ("Quick readers", _shortcuts),
    "artifact": ("Artifacts", _artifact),
    "git": ("Commits among 100,000 files", _git),
    "checkout": ("A work tree of 10,000 files", _checkout),
}
"""The title and the function of each stage, by name."""
