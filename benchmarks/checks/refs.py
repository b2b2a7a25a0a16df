"""Checks that a search at an old commit equals that of an index built from that commit alone.

    python -m benchmarks.checks.refs FOLDER [--commits 1000] [--refs 20] [--share 0.05] [--seed 1]

A repository is made of a folder of Markdown, with commits that edit, add and remove documents: no commit
differs from another in more than the given share of the paths. Then old commits are drawn. At each of them
the first query and those after it are timed, in one process, with the main index open; and all lists are
compared with those of a fresh index in its own folder.

Prints the times, and the exit code is 1 if a list differs.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import BRANCH, Corpus, draw_queries, make_repository
from benchmarks.timing import measure_seconds, percentile
from index.service import SearchIndex, SearchPage
from workspace.git import trees
from workspace.git.objects import Signature
from workspace.git.store import GitStore
from workspace.workspace import Workspace

QUERIES = 40
_START = 1_700_000_000


class Timed(NamedTuple):
    """A commit, the share of paths in which it differs from the tip, and seconds of each query."""

    commit: str
    share: float
    measure_seconds: list[float]


class Writer:
    """Writes commits that each edit, add or remove one to three of the variable documents."""

    def __init__(self, path: Path, corpus: Corpus, share: float, chance: random.Random) -> None:
        self._store = GitStore(path)
        self._ref = path / ".git" / "refs" / "heads"
        self._chance = chance
        most = max(2, int(share * len(corpus.documents)))
        named = chance.sample(sorted(corpus.documents), most // 2)
        self._texts: dict[str, bytes | None] = {name: corpus.documents[name] for name in named}
        self._texts |= dict.fromkeys((f"{name[:-3]}-more.md" for name in named), None)
        self._words = [word for name in named for word in corpus.documents[name].split()[:200]]
        self.commits = [str(self._store.tip(BRANCH))]

    def write(self) -> None:
        """Make the next commit."""
        drawn = self._chance.sample(sorted(self._texts), self._chance.randint(1, min(3, len(self._texts))))
        for name in drawn:
            self._texts[name] = self._changed(self._texts[name])
        tip = self.commits[-1]
        blobs = {
            name: self._store.put_blob(data) for name in drawn if (data := self._texts[name]) is not None
        }
        tree = trees.rewrite_tree(
            self._store, self._store.commit(tip).tree, {name: blobs.get(name) for name in drawn}
        )
        author = Signature("Benchmark", "benchmark@example.org", _START + 60 * len(self.commits))
        number = len(self.commits)
        self.commits.append(self._store.put_commit(tree, (tip,), author, author, f"Commit {number}"))
        self.name(BRANCH, self.commits[-1])

    def name(self, branch: str, commit: str) -> None:
        """Point a branch to a commit."""
        (self._ref / branch).write_text(commit + "\n")

    def _changed(self, text: bytes | None) -> bytes | None:
        chance = self._chance
        if text is not None and chance.random() < 0.1:
            return None
        words = b" ".join(chance.choices(self._words, k=40))
        if text is None:
            return b"# Something new\n\n" + words + b"\n"
        lines = text.splitlines(keepends=True)
        place = chance.randrange(len(lines) + 1)
        return b"".join((*lines[:place], b"\n", words, b"\n\n", *lines[place:]))


def main() -> int:
    """Make the repository, search, compare and print; return 1 if a list differs."""
    parser = argparse.ArgumentParser(description="Compare searches at old commits with indexes built there.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--refs", type=int, default=20)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    corpus = Corpus.read(given.folder)
    texts = list(corpus.texts())
    queries = [" ".join(words) for words in draw_queries(texts, QUERIES)]
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "repository"
        make_repository(corpus, path)
        writer = Writer(path, corpus, given.share, chance)
        for _ in range(given.commits):
            writer.write()
        drawn = chance.sample(writer.commits[:-1], min(given.refs, given.commits))
        timed_commits, found = _search(path, drawn, queries)
        wrong, afresh = _compare(path, writer, found, queries)
    _print(timed_commits, afresh)
    print(f"{len(drawn) * len(queries):>8,} lists compared, {len(wrong)} differ")
    for line in wrong[:20]:
        print(line)
    return 1 if wrong else 0


def _search(
    path: Path, commits: Sequence[str], queries: Sequence[str]
) -> tuple[list[Timed], dict[str, list[SearchPage]]]:
    index = SearchIndex(Workspace.open(path, read_only=True))
    index.search("anything")
    tip = index.workspace.snapshot()
    timed: list[Timed] = []
    found: dict[str, list[SearchPage]] = {}
    for commit in commits:
        pages = found[commit] = []
        times = [measure_seconds(lambda: pages.append(index.search(query, ref=commit))) for query in queries]  # noqa: B023
        old = index.workspace.snapshot(commit)
        number = sum(1 for _ in trees.diff_trees(tip.git, old.tree, tip.tree))
        timed.append(Timed(commit, number / len(tip.documents), times))
    index.close()
    return timed, found


def _compare(
    path: Path, writer: Writer, found: dict[str, list[SearchPage]], queries: Sequence[str]
) -> tuple[list[str], list[float]]:
    """Return the commits and queries whose pages, including cursors, differ from those of a fresh index.

    Also return the seconds of each first query of a fresh index, which include its build.
    """
    wrong: list[str] = []
    afresh: list[float] = []
    for commit, pages in found.items():
        writer.name("afresh", commit)
        with tempfile.TemporaryDirectory() as place:
            workspace = Workspace.open(path, branch="afresh", read_only=True)
            fresh = SearchIndex(workspace, location=Path(place))
            afresh.append(measure_seconds(lambda: fresh.search(queries[0])))  # noqa: B023
            compared = zip(queries, pages, strict=True)
            wrong += [f"{commit[:10]} {query!r}" for query, page in compared if fresh.search(query) != page]
            fresh.close()
    return wrong, afresh


def _print(timed_commits: Sequence[Timed], afresh: Sequence[float]) -> None:
    for one in timed_commits:
        first, *others = (1e3 * each for each in one.seconds)
        print(
            f"{one.commit[:10]} differs in {one.share:6.2%}: first {first:6.1f} ms, "
            f"then {percentile(others, 0.5):5.1f} (median) to {max(others):5.1f} ms (slowest)"
        )
    firsts = [1e3 * one.seconds[0] for one in timed_commits]
    others = [1e3 * each for one in timed_commits for each in one.seconds[1:]]
    print(f"first queries: {percentile(firsts, 0.5):.1f} ms in the median, {max(firsts):.1f} at most")
    print(f"  without an overlay, by an index of the commit: {1e3 * percentile(afresh, 0.5):.1f} ms")
    print(
        f"next queries: {percentile(others, 0.5):.1f} ms in the median, "
        f"{percentile(others, 0.95):.1f} at the 95th percentile, {max(others):.1f} at most"
    )


if __name__ == "__main__":
    sys.exit(main())
