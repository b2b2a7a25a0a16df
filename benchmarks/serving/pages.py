"""Measures each page of a real server over HTTP, in a repository made of a folder of real Markdown.

    python -m benchmarks.serving.pages FOLDER [--rounds 30] [--seed 1]

One document has a history of many commits. A few proposals are open: one changes a hundred sections, and
one is in conflict. Kinds with many pages are requested at different addresses first, and then at the same
ones again. For other pages and the largest documents, the first time is reported separately.

at once      documents, as soon as the server listens, while its index and its link graph are built
first time   documents that were not requested before
again        the same ones

A bare round trip is measured before and after, and limits are scaled by it, as all time limits are
(`benchmarks.reports.yardsticks`). A page of a bare Starlette server is measured for comparison. Prints a
table; the exit code is 1 if a limit was missed.
"""

from __future__ import annotations

import argparse
import http.client
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from rich.console import Console
from rich.table import Table

from benchmarks.child import ROOT, environment
from benchmarks.corpus import Corpus, draw_queries, make_repository
from benchmarks.reports.yardsticks import TRIP_MS
from benchmarks.serving.stdio import Peer
from benchmarks.timing import percentile, seconds
from workspace.edits import AppendContent, UpdateContent
from workspace.edits.operation import Operation
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, KnownBy
from workspace.workspace import Workspace
from workspace.writing.plan import Mode

SMALL_MS, LARGE_MS, CHANGES_MS = 50.0, 100.0, 200.0
"""The limits of the median: up to 1,500 documents, more of them, and the changes of a hundred sections."""

_SMALL = 1_500  # documents, except the generated one
_PAST = 60  # commits to one document
_OPEN = 20  # proposals in addition to the two special ones
_SECTIONS = 100
_ACTOR = Actor(Author("Benchmark", "benchmark@example.org", KnownBy.CLIENT, "benchmark"), "page", "benchmark")
_LARGE = 10
_TRIPS = 200
_BARE = "bare Starlette"
_WIDE = "benchmark-of-many-sections.md"


class Made(NamedTuple):
    """The generated content: a document with many commits, and the ids of proposals."""

    aged: str
    wide: str
    disputed: str
    plain: Sequence[str]


def _many_sections() -> bytes:
    parts = (f"## Part {number}\n\nOnce there were {number} herons.\n\n" for number in range(_SECTIONS))
    return ("# Many\n\n" + "".join(parts)).encode()


def fill(workspace: Workspace, corpus: Corpus, chance: random.Random) -> Made:
    """Make a history and proposals."""
    proposal_actions = workspace.proposal_actions()
    paths = sorted(path for path in corpus.documents if len(corpus.documents[path]) < 20_000)
    aged, *drawn = chance.sample(paths, _OPEN + 1)
    for number in range(_PAST):
        _write(workspace, _addition(workspace, aged, f"Step {number}."))
    plain = []
    for number, path in enumerate(drawn):
        opened = proposal_actions.open(f"Proposal {number}", "What and why.", _ACTOR)
        _write(proposal_actions.open_branch(opened.id), _addition(workspace, path, f"Words {number}."))
        proposal_actions.submit(opened.id, _ACTOR)
        proposal_actions.comment(opened.id, _ACTOR, "A remark.", file=path)
        plain.append(opened.id)
    wide = proposal_actions.open("A hundred sections", "Herons are counted again.", _ACTOR)
    new_text = "Now there are {} herons, and as many storks."
    _write(
        proposal_actions.open_branch(wide.id),
        *(
            UpdateContent(file=_WIDE, slug=f"part-{number}", content=new_text.format(number))
            for number in range(_SECTIONS)
        ),
    )
    proposal_actions.submit(wide.id, _ACTOR)
    disputed = proposal_actions.open("In conflict", "Another writer was first.", _ACTOR)
    _write(
        proposal_actions.open_branch(disputed.id),
        UpdateContent(file=_WIDE, slug="part-7", content="Seven egrets."),
    )
    proposal_actions.submit(disputed.id, _ACTOR)
    _write(workspace, UpdateContent(file=_WIDE, slug="part-7", content="Seven cranes."))
    return Made(aged, wide.id, disputed.id, plain)


def _write(workspace: Workspace, *operations: Operation) -> None:
    workspace.write(list(operations), mode=Mode.ALL, tool="page", client="benchmark")


def _addition(workspace: Workspace, path: str, words: str) -> AppendContent:
    sections = workspace.snapshot().document(path).sections
    section = next(one for one in sections if one.key == one.address)
    return AppendContent(file=path, slug=section.key, content=words)


def documents(corpus: Corpus, rounds: int, chance: random.Random) -> dict[str, list[str]]:
    """Return the URLs of documents to request while the server reads them, and later."""
    paths = sorted(corpus.documents)
    drawn = chance.sample(paths, min(2 * rounds, len(paths)))
    urls = [f"/doc/{quote(path)}" for path in drawn]
    return {"document, at once": urls[:rounds], "document": urls[rounds:] or urls}


def addresses(
    made: Made, corpus: Corpus, head: str, rounds: int, chance: random.Random
) -> dict[str, list[str]]:
    """Return one or more URLs of each other kind of page."""
    paths = sorted(corpus.documents)
    drawn = chance.sample(paths, min(rounds, len(paths)))
    large = sorted(paths, key=lambda path: len(corpus.documents[path]))[-_LARGE:]
    folders = sorted({path.rpartition("/")[0] for path in drawn} - {""})
    some = Corpus({path: corpus.documents[path] for path in drawn})
    words = draw_queries(list(some.texts()), rounds)
    return {
        "documents, the largest ten": [f"/doc/{quote(path)}" for path in large],
        "library": ["/"],
        "folder": [f"/folder/{quote(folder)}" for folder in folders] or ["/"],
        "history": [f"/history/{quote(made.aged)}"],
        "blame": [f"/blame/{quote(made.aged)}"],
        "commit": [f"/commit/{head}"],
        "search": [f"/search?q={quote(' '.join(query))}" for query in words],
        "proposals": ["/proposals"],
        "proposal": [f"/proposals/{id}" for id in made.plain],
        "changes, 100 sections": [f"/proposals/{made.wide}/changes?view=side"],
        "changes, inline": [f"/proposals/{made.wide}/changes?view=inline"],
        "conflicts": [f"/proposals/{made.disputed}/conflicts"],
    }


@contextmanager
def listening(command: Sequence[str], home: Path) -> Iterator[http.client.HTTPConnection]:
    """Yield a connection to a server whose command prints its address first."""
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env=environment(home), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        url = urlsplit(process.stdout.readline().strip())
        connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=120)
        yield connection
        connection.close()
    finally:
        process.terminate()
        process.wait()


class Times(NamedTuple):
    """Seconds of a kind of page: the first request of each address, and later requests."""

    first: list[float]
    later: list[float]


def measure(connection: http.client.HTTPConnection, urls: Sequence[str], rounds: int) -> Times:
    """Measure each request. Raises RuntimeError for a status other than 200."""

    def request_seconds(url: str) -> float:
        def work() -> None:
            connection.request("GET", url)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{url} was answered with {answer.status}")

        return seconds(work)

    first = [request_seconds(url) for url in urls]
    return Times(first, [request_seconds(urls[number % len(urls)]) for number in range(rounds)])


def round_trip(home: Path) -> float:
    """Return milliseconds of a bare round trip over stdio."""
    with Peer([sys.executable, "-m", "benchmarks.serving.bare_server"], home) as peer:
        peer.initialize()
        return percentile([seconds(lambda: peer.request("ping")) for _ in range(_TRIPS)], 0.5) * 1e3


class Line(NamedTuple):
    """A line of the table: times in seconds, and the limit of their median in milliseconds, if any."""

    page: str
    times: list[float]
    most: float | None

    @property
    def is_missed(self) -> bool:
        """Return True if the median is above the limit."""
        return self.most is not None and percentile(self.times, 0.5) * 1e3 > self.most


def lines(found: Mapping[str, Times], documents: int, scale: float) -> Iterator[Line]:
    """Yield the lines, each with the limit of its kind multiplied by `scale`."""
    for page, times in found.items():
        by_kind = CHANGES_MS if page.startswith("changes") else _each_ms(documents)
        most = None if page == _BARE else by_kind * scale
        if len(times.first) > 1:
            # The first time of the largest has no limit: their text is read and rendered once.
            yield Line(f"{page}, first time", times.first, None if "largest" in page else most)
            yield Line(f"{page}, again", times.later, most)
        else:
            yield Line(f"{page}, once", times.first, None)
            yield Line(page, times.later, most)


def _each_ms(documents: int) -> float:
    return SMALL_MS if documents <= _SMALL + 1 else LARGE_MS


def table(shown: Sequence[Line], documents: int) -> Table:
    """Return the lines as a table in milliseconds."""
    found = Table(
        "page", "p50 ms", "p95 ms", "most ms", "p50 must be", title=f"Pages of {documents:,} documents"
    )
    for line in shown:
        numbers = (percentile(line.times, 0.5), percentile(line.times, 0.95), max(line.times))
        must = "" if line.most is None else f"<= {line.most:.0f}"
        found.add_row(
            line.page, *(f"{each * 1e3:.1f}" for each in numbers), must + " MISSED" * line.is_missed
        )
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print a table; return 1 if a limit was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.serving.pages", description="Measures the pages."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(words)
    chance = random.Random(options.seed)
    corpus = Corpus(Corpus.read(options.folder).documents | {_WIDE: _many_sections()})
    found: dict[str, Times] = {}
    with tempfile.TemporaryDirectory(prefix="docyard-pages-") as folder:
        home, repo = Path(folder), Path(folder) / "repository"
        make_repository(corpus, repo)
        workspace = Workspace.open(repo, durable=False)
        made = fill(workspace, corpus, chance)
        read = documents(corpus, options.rounds, chance)
        other_urls = addresses(made, corpus, workspace.snapshot().commit or "", options.rounds, chance)
        trips = [round_trip(home)]
        with listening(["-m", "benchmarks.serving.bare_pages"], home) as connection:
            found[_BARE] = measure(connection, ["/"], options.rounds)
        served = ["-m", "docyard", "serve", "-C", str(repo), "--http", "127.0.0.1:0", "--no-token"]
        with listening(served, home) as connection:
            at_once, later = read
            found[at_once] = measure(connection, read[at_once], options.rounds)
            measure(connection, ["/search?q=heron"], 1)  # this request waits for the index
            for name, urls in {later: read[later], **other_urls}.items():
                found[name] = measure(connection, urls, options.rounds)
        trips.append(round_trip(home))
    trip = sum(trips) / len(trips)
    shown = list(lines(found, len(corpus.documents), max(1.0, trip / TRIP_MS)))
    print(f"bare round trip p50 {trip:.2f} ms ({trip / TRIP_MS:.2f}x)")
    Console().print(table(shown, len(corpus.documents)))
    return int(any(line.is_missed for line in shown))


if __name__ == "__main__":
    sys.exit(main())
