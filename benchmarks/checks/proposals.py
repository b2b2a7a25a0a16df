"""Measure many open proposals, over a folder of real Markdown.

    python -m benchmarks.checks.proposals FOLDER [--open 200] [--merges 20] [--seed 1]

The documents of the folder are committed to a repository. Proposals are opened in sequence while the branch
moves. Each proposal appends text to one section in each of one to three documents of a small set, so many
proposals overlap. Then views and merges alternate, so that the branch has moved before each view but the
first. Proposals in conflict are not merged.

list           every proposal with its state
view           a proposal with its state, changes as Markdown, preview of the merge with checks, comments, and
               overlaps with all other proposals
second view    the same view again, while no branch has moved
merge          a merge of a proposal, with its checks
durable merge  a merge of a proposal, with fsync
new process    the imports, the list, and a view, in a new process

FTS5's queries are measured in the same run and scale the limits. Pings of a minimal server are printed for
comparison. Prints the times as a table; the exit code is 1 if a scaled limit was missed.
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

from benchmarks.child import ROOT, make_child_environment
from benchmarks.corpus import Corpus, draw_queries, make_repository
from benchmarks.engines.fts5 import measure as measure_fts5
from benchmarks.reports.reference_measurements import PING_MS, SMALL
from benchmarks.serving.stdio import StdioServer
from benchmarks.timing import compute_percentile, measure_seconds
from workspace.diff.formats import format_markdown
from workspace.edits.text import AppendContent
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

VIEW_MS, MERGE_MS = 100.0, 150.0
"""The limits of the medians for 200 open proposals on the small corpus, on the reference machine."""

_TOUCHED_DOCUMENT_COUNT = 60  # documents that proposals may touch
_PING_COUNT = 200
_QUERY_COUNT = 50
_MAX_CHARACTERS = 20_000  # characters of Markdown
_ACTOR = Actor(
    Author("Benchmark", "benchmark@example.org", IdentitySource.CLIENT, "benchmark"), "check", "benchmark"
)


class ProposalTimes(NamedTuple):
    """Seconds of each round of each measurement, and the average number of overlaps."""

    list_all: list[float]
    view: list[float]
    second_view: list[float]
    merge: list[float]
    durable_merge: list[float]
    overlaps: float


def open_proposals(workspace: Workspace, corpus: Corpus, count: int, rng: random.Random) -> list[str]:
    """Open `count` proposals and return their ids. The branch gets a commit after every second proposal."""
    paths = sorted(corpus.documents)
    touched_paths = rng.sample(paths, min(_TOUCHED_DOCUMENT_COUNT, len(paths)))
    proposal_actions = workspace.proposal_actions()
    ids = []
    for number in range(count):
        proposal = proposal_actions.open(f"Proposal {number}", "What and why.", _ACTOR)
        words = f"Words of proposal {number}, and some more of them."
        operations = [
            _make_append(workspace, path, words, rng) for path in rng.sample(touched_paths, rng.randint(1, 3))
        ]
        proposal_actions.open_branch(proposal.id).write(
            operations, mode=BatchMode.ALL, tool="check", client="benchmark"
        )
        proposal_actions.submit(proposal.id, _ACTOR)
        proposal_actions.comment(
            proposal.id, _ACTOR, "A remark.", file=operations[0].file, slug=operations[0].slug
        )
        ids.append(proposal.id)
        if number % 2:
            operation = _make_append(workspace, rng.choice(paths), f"Step {number}.", rng)
            workspace.write([operation], mode=BatchMode.ALL, tool="check", client="benchmark")
    return ids


def _make_append(workspace: Workspace, path: str, words: str, rng: random.Random) -> AppendContent:
    sections = workspace.snapshot().document(path).sections
    section = rng.choice([item for item in sections if item.key == item.address])
    return AppendContent(file=path, slug=section.key, content=words)


def view_proposal(workspace: Workspace, proposal_id: str) -> int:
    """View a proposal as a reviewer does; return the number of overlapping proposals."""
    all_proposals = workspace.proposal_actions().list_all()
    proposal = workspace.proposal_actions().find(proposal_id)
    proposal_reviews = workspace.proposal_reviews()
    changes = proposal_reviews.changes(proposal)
    format_markdown(changes.documents, _MAX_CHARACTERS)
    proposal_reviews.preview(proposal)
    proposal_reviews.comments(proposal)
    return len(proposal_reviews.overlaps(proposal, all_proposals))


def measure_proposals(
    workspace: Workspace, ids: Sequence[str], merges: int, rng: random.Random
) -> ProposalTimes:
    """Measure alternating views and merges; skip merges of proposals with conflicts."""
    proposal_actions, proposal_reviews = workspace.proposal_actions(), workspace.proposal_reviews()
    view_proposal(workspace, ids[0])
    unmerged_ids = rng.sample(list(ids), len(ids))
    times = ProposalTimes([], [], [], [], [], 0.0)
    overlap_count = 0
    while unmerged_ids and len(times.durable_merge) < merges:
        merged_id, viewed_id = unmerged_ids.pop(), rng.choice(ids)
        if proposal_reviews.preview(proposal_actions.find(merged_id)).conflicts:
            continue
        times.list_all.append(measure_seconds(proposal_actions.list_all))
        times.view.append(measure_seconds(lambda: view_proposal(workspace, viewed_id)))  # noqa: B023
        times.second_view.append(measure_seconds(lambda: view_proposal(workspace, viewed_id)))  # noqa: B023
        overlap_count += view_proposal(workspace, viewed_id)
        workspace.durable = len(times.merge) > len(times.durable_merge)
        merge_times = times.durable_merge if workspace.durable else times.merge
        merge_times.append(measure_seconds(lambda: proposal_actions.merge(merged_id, _ACTOR)))  # noqa: B023
    return times._replace(overlaps=overlap_count / max(1, len(times.view)))


def measure_new_process(folder: Path, proposal_id: str, home: Path) -> float:
    """Return the seconds that a new process takes to view a proposal and exit."""
    code = (
        "import sys; from pathlib import Path; from benchmarks.checks.proposals import view_proposal; "
        "from workspace.workspace import Workspace; "
        "view_proposal(Workspace.open(Path(sys.argv[1])), sys.argv[2])"
    )
    command = [sys.executable, "-c", code, str(folder), proposal_id]
    return measure_seconds(
        lambda: subprocess.run(command, cwd=ROOT, env=make_child_environment(home), check=True)
    )


def measure_reference_times(corpus: Corpus, home: Path) -> tuple[float, float]:
    """Return the medians of FTS5's queries and of pings of the minimal server, in milliseconds."""
    section_texts = list(corpus.read_section_texts())
    results = measure_fts5(section_texts, draw_queries(section_texts, _QUERY_COUNT), home)
    with StdioServer([sys.executable, "-m", "benchmarks.serving.minimal_server"], home) as server:
        server.initialize()
        ping_times = [measure_seconds(lambda: server.request("ping")) for _ in range(_PING_COUNT)]
    return results["query"]["p50_ms"], compute_percentile(ping_times, 0.5) * 1e3


def main() -> int:
    """Run from the command line; return 1 if a limit was missed."""
    parser = argparse.ArgumentParser(description="Measure many open proposals.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--open", type=int, default=200)
    parser.add_argument("--merges", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    corpus = Corpus.read(options.folder)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        repository = home / "repository"
        make_repository(corpus, repository)
        workspace = Workspace.open(repository, durable=False)
        start = time.perf_counter()
        ids = open_proposals(workspace, corpus, options.open, rng)
        elapsed = time.perf_counter() - start
        print(f"{len(corpus.documents):,} documents, {len(ids)} proposals in {elapsed:.0f} s")
        new_process_s = measure_new_process(repository, ids[-1], home)
        times = measure_proposals(workspace, ids, options.merges, rng)
        query_ms, ping_ms = measure_reference_times(corpus, home)
    factor = max(1.0, query_ms / SMALL.query_ms)
    print(f"FTS5's query p50 {query_ms:.2f} ms ({factor:.2f}x)")
    print(f"ping of a minimal server p50 {ping_ms:.2f} ms ({ping_ms / PING_MS:.2f}x)")
    print(f"a proposal overlaps with {times.overlaps:.1f} other proposals on average")
    missed_count = 0
    limits = {"view": VIEW_MS * factor, "merge": MERGE_MS * factor}
    for field in ("list_all", "view", "second_view", "merge", "durable_merge"):
        name, values = field.removesuffix("_all").replace("_", " "), getattr(times, field)
        p50, p95 = (compute_percentile(values, fraction) * 1e3 for fraction in (0.5, 0.95))
        limit = limits.get(name)
        verdict = (
            "" if limit is None else f"  p50 must be <= {limit:.0f}: {'met' if p50 <= limit else 'MISSED'}"
        )
        missed_count += limit is not None and p50 > limit
        print(f"{name:14} p50 {p50:7.1f} ms  p95 {p95:7.1f} ms{verdict}")
    print(f"new process    {new_process_s * 1e3:11.0f} ms")
    return 1 if missed_count else 0


if __name__ == "__main__":
    sys.exit(main())
