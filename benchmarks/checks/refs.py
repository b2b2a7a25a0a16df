"""Check that a search at an old commit equals a search of an index built from this commit alone.

    python -m benchmarks.checks.refs FOLDER [--commits 1000] [--refs 20] [--share 0.05] [--seed 1]

The documents of a folder are committed to a repository, with commits that edit, add and remove documents. No
two commits differ in more than the given share of the paths (--share; at least two paths). Then `--refs` old
commits are drawn. At each old commit, the first query and later queries are timed, in one process, with the
index of the tip open. The first page of results of each query is compared with that of a new index.

Prints the times; the exit code is 1 if a page differs.
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
from benchmarks.timing import compute_percentile, measure_seconds
from index.service import SearchIndex, SearchPage
from workspace.git import trees
from workspace.git.objects import Signature
from workspace.git.store import GitStore
from workspace.workspace import Workspace

QUERY_COUNT = 40
_START_TIME = 1_700_000_000


class TimedCommit(NamedTuple):
    """A commit, the share of paths in which the commit and the tip differ, and the seconds of each query."""

    commit: str
    changed_share: float
    seconds: list[float]


class CommitWriter:
    """A writer of commits, each of which edits, adds or removes one to three of a fixed set of documents."""

    def __init__(self, path: Path, corpus: Corpus, max_changed_share: float, rng: random.Random) -> None:
        self._store = GitStore(path)
        self._heads_folder = path / ".git" / "refs" / "heads"
        self._rng = rng
        max_documents = max(2, int(max_changed_share * len(corpus.documents)))
        variable_paths = rng.sample(sorted(corpus.documents), max_documents // 2)
        self._data_by_path: dict[str, bytes | None] = {
            name: corpus.documents[name] for name in variable_paths
        }
        self._data_by_path |= dict.fromkeys((f"{name[:-3]}-more.md" for name in variable_paths), None)
        self._words = [word for name in variable_paths for word in corpus.documents[name].split()[:200]]
        self.commits = [str(self._store.tip(BRANCH))]

    def write_commit(self) -> None:
        """Write the next commit."""
        paths = self._rng.sample(
            sorted(self._data_by_path), self._rng.randint(1, min(3, len(self._data_by_path)))
        )
        for name in paths:
            self._data_by_path[name] = self._edit_data(self._data_by_path[name])
        tip = self.commits[-1]
        blobs = {
            name: self._store.put_blob(data)
            for name in paths
            if (data := self._data_by_path[name]) is not None
        }
        tree = trees.rewrite_tree(
            self._store, self._store.commit(tip).tree, {name: blobs.get(name) for name in paths}
        )
        author = Signature("Benchmark", "benchmark@example.org", _START_TIME + 60 * len(self.commits))
        number = len(self.commits)
        self.commits.append(self._store.put_commit(tree, (tip,), author, author, f"Commit {number}"))
        self.set_branch(BRANCH, self.commits[-1])

    def set_branch(self, branch: str, commit: str) -> None:
        """Point a branch to a commit."""
        (self._heads_folder / branch).write_text(commit + "\n")

    def _edit_data(self, data: bytes | None) -> bytes | None:
        rng = self._rng
        if data is not None and rng.random() < 0.1:
            return None
        words = b" ".join(rng.choices(self._words, k=40))
        if data is None:
            return b"# Something new\n\n" + words + b"\n"
        lines = data.splitlines(keepends=True)
        line_number = rng.randrange(len(lines) + 1)
        return b"".join((*lines[:line_number], b"\n", words, b"\n\n", *lines[line_number:]))


def main() -> int:
    """Make the repository, search, compare and print; return 1 if a page differs."""
    parser = argparse.ArgumentParser(
        description="Compare searches at old commits with searches of indexes built from these commits."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--commits", type=int, default=1000, help="number of commits to write")
    parser.add_argument("--refs", type=int, default=20, help="number of old commits to search")
    parser.add_argument(
        "--share", type=float, default=0.05, help="largest share of paths in which two commits differ"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    corpus = Corpus.read(options.folder)
    section_texts = list(corpus.read_section_texts())
    queries = [" ".join(words) for words in draw_queries(section_texts, QUERY_COUNT)]
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "repository"
        make_repository(corpus, path)
        writer = CommitWriter(path, corpus, options.share, rng)
        for _ in range(options.commits):
            writer.write_commit()
        commits = rng.sample(writer.commits[:-1], min(options.refs, options.commits))
        timed_commits, pages_by_commit = _search_commits(path, commits, queries)
        differences, build_times = _compare_with_new_indexes(path, writer, pages_by_commit, queries)
    _print_times(timed_commits, build_times)
    print(f"{len(differences):,} of {len(commits) * len(queries):,} pages of results differ")
    for line in differences[:20]:
        print(line)
    return 1 if differences else 0


def _search_commits(
    path: Path, commits: Sequence[str], queries: Sequence[str]
) -> tuple[list[TimedCommit], dict[str, list[SearchPage]]]:
    index = SearchIndex(Workspace.open(path, read_only=True))
    index.search("anything")
    tip = index.workspace.snapshot()
    timed_commits: list[TimedCommit] = []
    pages_by_commit: dict[str, list[SearchPage]] = {}
    for commit in commits:
        pages = pages_by_commit[commit] = []
        times = [measure_seconds(lambda: pages.append(index.search(query, ref=commit))) for query in queries]  # noqa: B023
        old_snapshot = index.workspace.snapshot(commit)
        changed_paths = sum(1 for _ in trees.diff_trees(tip.git, old_snapshot.tree, tip.tree))
        timed_commits.append(TimedCommit(commit, changed_paths / len(tip.documents), times))
    index.close()
    return timed_commits, pages_by_commit


def _compare_with_new_indexes(
    path: Path, writer: CommitWriter, pages_by_commit: dict[str, list[SearchPage]], queries: Sequence[str]
) -> tuple[list[str], list[float]]:
    """Return the commits and queries whose pages, including cursors, differ from those of a new index.

    Also return the seconds of the first query of each new index, which include the build.
    """
    differences: list[str] = []
    build_times: list[float] = []
    for commit, pages in pages_by_commit.items():
        writer.set_branch("new-index", commit)
        with tempfile.TemporaryDirectory() as index_folder:
            workspace = Workspace.open(path, branch="new-index", read_only=True)
            new_index = SearchIndex(workspace, location=Path(index_folder))
            build_times.append(measure_seconds(lambda: new_index.search(queries[0])))  # noqa: B023
            query_pages = zip(queries, pages, strict=True)
            differences += [
                f"{commit[:10]} {query!r}" for query, page in query_pages if new_index.search(query) != page
            ]
            new_index.close()
    return differences, build_times


def _print_times(timed_commits: Sequence[TimedCommit], build_times: Sequence[float]) -> None:
    for timed_commit in timed_commits:
        first_query_ms, *later_ms = (1e3 * value for value in timed_commit.seconds)
        print(
            f"{timed_commit.commit[:10]} differs from the tip in {timed_commit.changed_share:6.2%} of paths: "
            f"first query {first_query_ms:6.1f} ms, later queries: "
            f"median {compute_percentile(later_ms, 0.5):5.1f} ms, maximum {max(later_ms):5.1f} ms"
        )
    first_ms = [1e3 * timed_commit.seconds[0] for timed_commit in timed_commits]
    later_ms = [1e3 * value for timed_commit in timed_commits for value in timed_commit.seconds[1:]]
    print(f"first queries: median {compute_percentile(first_ms, 0.5):.1f} ms, maximum {max(first_ms):.1f} ms")
    print(
        "first queries of new indexes, with the builds: "
        f"median {1e3 * compute_percentile(build_times, 0.5):.1f} ms"
    )
    print(
        f"later queries: median {compute_percentile(later_ms, 0.5):.1f} ms, "
        f"95th percentile {compute_percentile(later_ms, 0.95):.1f} ms, maximum {max(later_ms):.1f} ms"
    )


if __name__ == "__main__":
    sys.exit(main())
