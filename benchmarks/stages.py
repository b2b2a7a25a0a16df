"""The stages of a run, in order: each measures one subject and gives what it found."""

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
from benchmarks.search import indexing, known_items
from benchmarks.search.lists import check_same
from benchmarks.search.questions import Questions, draw_questions
from benchmarks.serving import first_asks, serving, startup
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
    """What the stages work on: a corpus, a repository made of it, and queries drawn from it."""

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
        """The queries as a person types them."""
        return [" ".join(words) for words in self.drawn]

    def questions(self) -> Questions:
        """The questions that are asked once."""
        return draw_questions(self.texts, self.queries)

    def about(self) -> Results:
        """Return the corpus, the machine and the versions."""
        return {"corpus": self.corpus, "machine": machine(), "versions": versions()}

    def measure(self, module: str, **arguments: Any) -> Results:
        """A measurement of the repository in a fresh process; its index is built before, if need be."""
        self.ensure_index()
        return measure(module, self.home, repository=self.repository, **arguments)

    def ensure_index(self) -> None:
        """Build the index where a server would look for it, unless that is done."""
        if not self.is_indexed:
            measure("search.following", self.home, repository=self.repository)
            self.is_indexed = True


def _fts5(bench: Bench) -> Results:
    return {"fts5": fts5.measure(bench.texts, bench.drawn, bench.home)}


def _tantivy(bench: Bench) -> Results:
    if not tantivy.is_installed():
        return {}
    return {"tantivy": tantivy.measure(bench.texts, bench.drawn, bench.home)}


def _index(bench: Bench) -> Results:
    """Medians of a few builds by so many processes, and the most memory and bytes of any."""
    found: Results = {}
    for processes in indexing.PROCESSES:
        builds = [
            measure(
                "search.indexing",
                bench.home,
                repository=bench.repository,
                processes=processes,
                folder=bench.home / f"index-{processes}-{number}",
            )
            for number in range(BUILDS)
        ]
        found[str(processes)] = {key: median(build[key] for build in builds) for key in builds[0]}
        if processes == 1 or bench.corpus["files"] >= MIN_DOCUMENTS_FOR_CHILDREN:  # as many as a server takes
            found["peak_mb"] = max([found.get("peak_mb", 0.0), *(build["peak_mb"] for build in builds)])
        found["bytes"] = max([found.get("bytes", 0), *(build["bytes"] for build in builds)])
    return {"index": found}


def _queries(bench: Bench) -> Results:
    """Warm queries in one process, first ones in several, and all their lists. Raises ListsDiffer."""
    warm = bench.measure("search.querying", queries=bench.queries)
    fresh = [
        bench.measure("search.querying", queries=bench.queries, first=number, warm=False)
        for number in range(PROCESSES)
    ]
    lists = {"one process": warm.pop("lists")}
    lists |= {f"new process {number}": one.pop("lists") for number, one in enumerate(fresh, start=1)}
    typical = {key: median(one[key] for one in fresh) for key in fresh[0]}
    both = median(one["open_ms"] + one["first_ms"] for one in fresh)
    compared = check_same(bench.queries, lists)
    return {"queries": warm | typical | {"open_and_first_ms": both, "same_lists": compared}}


def _known(bench: Bench) -> Results:
    """Return how often a known item was found first; nothing where the corpus has too few to draw."""
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
        "serving": serving.measure_memory(bench.repository, bench.home, bench.queries),
    }


def _trips(bench: Bench) -> Results:
    bench.ensure_index()
    return {"trips": startup.measure_pings(bench.repository, bench.home)}


def _asks(bench: Bench) -> Results:
    """First asks in a process, over stdio and over HTTP; quoted phrases apart, which read many sections."""
    questions = bench.questions()
    in_process = bench.measure("search.first_asks", **questions._asdict())
    return {
        "asks": {
            **{name: in_process[name] for name in ("questions", "phrases")},
            **first_asks.measure(bench.repository, bench.home, questions),
        }
    }


def _edits(bench: Bench) -> Results:
    """Commits, each followed; then the lists of who followed, of a new process and of a rebuild: the same."""
    edits = bench.measure("documents.editing", count=COMMITS, durable=False, queries=bench.queries)
    fresh = bench.measure("search.querying", queries=bench.queries, warm=False)
    durable = bench.measure("documents.editing", count=EDITS, durable=True, queries=bench.queries)
    rebuilt = bench.measure("search.rebuilding", queries=bench.queries)
    compared = check_same(
        bench.queries, {"after 300 commits": edits.pop("lists"), "a new process": fresh["lists"]}
    )
    compared += check_same(
        bench.queries, {"after more commits": durable.pop("lists"), "a rebuild": rebuilt["lists"]}
    )
    return {"edits": edits | {"same_lists": compared}, "durable_edits": durable}


def _links(bench: Bench) -> Results:
    return {"links": bench.measure("documents.linking", count=EDITS)}


def _shortcuts(bench: Bench) -> Results:
    """Measure what users wait for with all quick readers, and without each of them."""
    modes = {"with": None, **{name: name for name in shortcuts.READERS}}
    return {
        "shortcuts": {
            mode: bench.measure("documents.shortcuts", without=name, count=EDITS)
            for mode, name in modes.items()
        }
    }


def _artifact(bench: Bench) -> Results:
    """Return an artifact of the repository; what it answers is what the repository answers.

    Raises ListsDiffer.
    """
    place = {"out": bench.home / "artifact", "key": bench.home / "artifact.key"}
    built = bench.measure("search.artifact", **place)
    opened = [
        measure("search.artifact_opening", bench.home, queries=bench.queries, **place)
        for _ in range(PROCESSES)
    ]
    fresh = bench.measure("search.querying", queries=bench.queries, warm=False)
    lists = {"the repository": fresh["lists"], "its artifact": opened[0]["lists"]}
    compared = check_same(bench.queries, lists)
    typical = {key: median(one[key] for one in opened) for key in ("import_ms", "open_ms")}
    return {"artifact": built | typical | {"same_lists": compared}}


def _git(bench: Bench) -> Results:
    return {"git": measure("git.committing", bench.home, folder=bench.home, count=EDITS)}


def _checkout(bench: Bench) -> Results:
    return {"checkout": measure("git.checkout", bench.home, folder=bench.home, count=EDITS)}


def _bombs(bench: Bench) -> Results:
    counts = Counter(word for text in bench.texts for word in {*text.body.lower().split()} if word.isalpha())
    words = [word for word, _ in counts.most_common(COMMONEST)]
    return {"bombs": bench.measure("search.bombs", words=words)}


STAGES: Mapping[str, tuple[str, Callable[[Bench], Results]]] = {
    "fts5": ("SQLite FTS5", _fts5),
    "tantivy": ("tantivy", _tantivy),
    "index": ("Full index", _index),
    "queries": ("Queries", _queries),
    "known": ("Known items", _known),
    "bombs": ("Nasty queries", _bombs),
    "start": ("Starting servers", _start),
    "trips": ("Round trips over stdio", _trips),
    "asks": ("First asks", _asks),
    "edits": ("Edits", _edits),
    "links": ("The link graph", _links),
    "shortcuts": ("Quick readers", _shortcuts),
    "artifact": ("Artifacts", _artifact),
    "git": ("Commits among 100,000 files", _git),
    "checkout": ("A work tree of 10,000 files", _checkout),
}
"""What a person sees of each stage, and what it does, by its name."""
