"""Measures many open proposals, over a folder of real Markdown.

    python -m benchmarks.checks.proposals FOLDER [--open 200] [--merges 20] [--seed 1]

A repository is made of the folder, and proposals are opened one after the other while its branch moves. Each
adds words to sections of one to three documents, which are drawn from a few, so that many overlap. Then
views and merges alternate, so that the branch has moved before each view.

listed       every proposal with its state
view         one with its state, its changes as Markdown, a preview of its merge with checks, its comments,
             and its overlaps with all others
again        the same once more, while nothing has moved
merge        a merge of one, with its checks
synced       a merge of another one, with fsync
new process  the imports, the list, and a view, by a new process

FTS5's queries and a bare round trip are measured in the same run, as a measure of the machine's speed. Prints
the times as a table; the exit code is 1 if a scaled limit was missed.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.child import ROOT, child_environment
from benchmarks.corpus import Corpus, draw_queries, make_repository
from benchmarks.engines.fts5 import measure as measure_fts5
from benchmarks.reports.yardsticks import SMALL, TRIP_MS
from benchmarks.serving.stdio import StdioServer
from benchmarks.timing import measure_seconds, percentile
from workspace.diff.formats import format_markdown
from workspace.edits import AppendContent
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, KnownBy
from workspace.workspace import Workspace
from workspace.writing.plan import Mode

VIEW_MS, MERGE_MS = 100.0, 150.0
"""The limits for 200 open proposals on the small corpus, on the reference machine."""

_DRAWN = 60  # documents that proposals touch
_TRIPS = 200
_QUERIES = 50
_SHOWN = 20_000  # characters of Markdown
_ACTOR = Actor(
    Author("Benchmark", "benchmark@example.org", KnownBy.CLIENT, "benchmark"), "check", "benchmark"
)


class Times(NamedTuple):
    """Seconds of each round of each measurement, and the average number of overlaps."""

    listed: list[float]
    view: list[float]
    again: list[float]
    merge: list[float]
    synced: list[float]
    overlaps: float


def fill(workspace: Workspace, corpus: Corpus, count: int, chance: random.Random) -> list[str]:
    """Open `count` proposals and return their ids; the branch gets a commit after every other one."""
    paths = sorted(corpus.documents)
    drawn = chance.sample(paths, min(_DRAWN, len(paths)))
    proposal_actions = workspace.proposal_actions()
    ids = []
    for number in range(count):
        opened = proposal_actions.open(f"Proposal {number}", "What and why.", _ACTOR)
        words = f"Words of proposal {number}, and some more of them."
        operations = [
            _addition(workspace, path, words, chance) for path in chance.sample(drawn, chance.randint(1, 3))
        ]
        proposal_actions.open_branch(opened.id).write(
            operations, mode=Mode.ALL, tool="check", client="benchmark"
        )
        proposal_actions.submit(opened.id, _ACTOR)
        proposal_actions.comment(
            opened.id, _ACTOR, "A remark.", file=operations[0].file, slug=operations[0].slug
        )
        ids.append(opened.id)
        if number % 2:
            step = _addition(workspace, chance.choice(paths), f"Step {number}.", chance)
            workspace.write([step], mode=Mode.ALL, tool="check", client="benchmark")
    return ids


def _addition(workspace: Workspace, path: str, words: str, chance: random.Random) -> AppendContent:
    sections = workspace.snapshot().document(path).sections
    section = chance.choice([one for one in sections if one.key == one.address])
    return AppendContent(file=path, slug=section.key, content=words)


def view(workspace: Workspace, name: str) -> int:
    """View a proposal as a reviewer does; return the number of overlapping ones."""
    every = workspace.proposal_actions().list_all()
    proposal = workspace.proposal_actions().find(name)
    proposal_reviews = workspace.proposal_reviews()
    changes = proposal_reviews.changes(proposal)
    format_markdown(changes.documents, _SHOWN)
    proposal_reviews.preview(proposal)
    proposal_reviews.comments(proposal)
    return len(proposal_reviews.overlaps(proposal, every))


def measure(workspace: Workspace, ids: Sequence[str], merges: int, chance: random.Random) -> Times:
    """Measure alternating views and merges; skip proposals with conflicts."""
    proposal_actions, proposal_reviews = workspace.proposal_actions(), workspace.proposal_reviews()
    view(workspace, ids[0])
    waiting = chance.sample(list(ids), len(ids))
    times = Times([], [], [], [], [], 0.0)
    found = 0
    while waiting and len(times.synced) < merges:
        name, viewed = waiting.pop(), chance.choice(ids)
        if proposal_reviews.preview(proposal_actions.find(name)).conflicts:
            continue
        times.listed.append(measure_seconds(proposal_actions.list_all))
        times.view.append(measure_seconds(lambda: view(workspace, viewed)))  # noqa: B023
        times.again.append(measure_seconds(lambda: view(workspace, viewed)))  # noqa: B023
        found += view(workspace, viewed)
        workspace.durable = len(times.merge) > len(times.synced)
        merge_times = times.synced if workspace.durable else times.merge
        merge_times.append(measure_seconds(lambda: proposal_actions.merge(name, _ACTOR)))  # noqa: B023
    return times._replace(overlaps=found / max(1, len(times.view)))


def new_process(folder: Path, name: str, home: Path) -> float:
    """Measure a process that views one proposal and ends, in seconds."""
    code = (
        "import sys; from pathlib import Path; from benchmarks.checks.proposals import view; "
        "from workspace.workspace import Workspace; view(Workspace.open(Path(sys.argv[1])), sys.argv[2])"
    )
    command = [sys.executable, "-c", code, str(folder), name]
    return measure_seconds(lambda: subprocess.run(command, cwd=ROOT, env=child_environment(home), check=True))


def scale(corpus: Corpus, home: Path) -> tuple[float, float]:
    """Return milliseconds of FTS5's median query and of a bare round trip."""
    texts = list(corpus.texts())
    found = measure_fts5(texts, draw_queries(texts, _QUERIES), home)
    with StdioServer([sys.executable, "-m", "benchmarks.serving.bare_server"], home) as peer:
        peer.initialize()
        trips = [measure_seconds(lambda: peer.request("ping")) for _ in range(_TRIPS)]
    return found["query"]["p50_ms"], percentile(trips, 0.5) * 1e3


def main() -> int:
    """Run from the command line; return 1 if a limit was missed."""
    parser = argparse.ArgumentParser(description="Measure many open proposals.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--open", type=int, default=200)
    parser.add_argument("--merges", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    corpus = Corpus.read(options.folder)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        repository = home / "repository"
        make_repository(corpus, repository)
        workspace = Workspace.open(repository, durable=False)
        begun = time.perf_counter()
        ids = fill(workspace, corpus, options.open, chance)
        took = time.perf_counter() - begun
        print(f"{len(corpus.documents):,} documents, {len(ids)} proposals in {took:.0f} s")
        alone = new_process(repository, ids[-1], home)
        times = measure(workspace, ids, options.merges, chance)
        query, trip = scale(corpus, home)
    by = max(1.0, query / SMALL.query_ms)
    print(f"FTS5's query p50 {query:.2f} ms ({by:.2f}x)")
    print(f"bare round trip p50 {trip:.2f} ms ({trip / TRIP_MS:.2f}x)")
    print(f"a proposal overlaps with {times.overlaps:.1f} others")
    missed = 0
    limits = {"view": VIEW_MS * by, "merge": MERGE_MS * by}
    for name in ("listed", "view", "again", "merge", "synced"):
        values = getattr(times, name)
        p50, p95 = (percentile(values, share) * 1e3 for share in (0.5, 0.95))
        most = limits.get(name)
        verdict = "" if most is None else f"  p50 must be <= {most:.0f}: {'met' if p50 <= most else 'MISSED'}"
        missed += most is not None and p50 > most
        print(f"{name:12} p50 {p50:7.1f} ms  p95 {p95:7.1f} ms{verdict}")
    print(f"new process  {alone * 1e3:11.0f} ms")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
