"""Times of each kind of page of a real server over HTTP, in a repository with the documents of a folder.

    python -m benchmarks.serving.pages FOLDER [--rounds 30] [--seed 1]

One document has a history of many commits. Some proposals are open: one changes a hundred sections, and one
is in conflict. Each URL of a kind of page is requested once, and then the same URLs are requested again in
turn. The table has a row for the first requests and a row for the later requests. The first requests of a
kind with one URL, and of the largest documents, have no limit.

at once      documents, as soon as the server listens, while its index and its link graph are built
first time   the first request of each of several URLs
again        later requests of these URLs
once         the first request of the only URL

A request of `/healthz`, which does no work, is measured before each later request. The ratio of both medians
depends less on the machine, and on what else it does, than the times do.

Pings of a minimal MCP server are measured before and after the pages, and scale the limits
(`benchmarks.reports.reference_measurements`). A page of a minimal Starlette server is measured for
comparison. Prints a table; the exit code is 1 if a limit was missed.
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

from benchmarks.child import ROOT, MeasurementFailed, make_child_environment
from benchmarks.corpus import Corpus, draw_queries, make_repository
from benchmarks.reports.reference_measurements import PING_MS
from benchmarks.serving.stdio import StdioServer
from benchmarks.timing import compute_percentile, measure_seconds
from workspace.edits.operation import Operation
from workspace.edits.text import AppendContent, UpdateContent
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

SMALL_MS, LARGE_MS, CHANGES_MS = 50.0, 100.0, 200.0
"""The limits of the median: up to 1,500 documents, more documents, and the changes of a hundred sections."""

_MAX_SMALL_DOCUMENTS = 1_500  # documents, without the generated document
_HISTORY_COMMITS = 60  # commits to one document
_OPEN_PROPOSALS = 100  # proposals that change one document each
_SECTION_COUNT = 100
_ACTOR = Actor(
    Author("Benchmark", "benchmark@example.org", IdentitySource.CLIENT, "benchmark"), "page", "benchmark"
)
_LARGEST_DOCUMENT_COUNT = 10
_PING_COUNT = 200
_MINIMAL_PAGE = "minimal Starlette server"
_MANY_SECTIONS_PATH = "benchmark-of-many-sections.md"


class GeneratedContent(NamedTuple):
    """The generated content: the path of a document with many commits, and the ids of proposals.

    One proposal changes a hundred sections, one is in conflict, and the simple ones change one document each.
    """

    long_history_path: str
    many_sections_id: str
    conflicting_id: str
    simple_ids: Sequence[str]


def _make_many_sections_document() -> bytes:
    parts = (f"## Part {number}\n\nOnce there were {number} herons.\n\n" for number in range(_SECTION_COUNT))
    return ("# Many\n\n" + "".join(parts)).encode()


def create_content(workspace: Workspace, corpus: Corpus, rng: random.Random) -> GeneratedContent:
    """Commit a history of one document to the branch, and open proposals."""
    proposal_actions = workspace.proposal_actions()
    paths = sorted(path for path in corpus.documents if len(corpus.documents[path]) < 20_000)
    long_history_path, *drawn_paths = rng.sample(paths, _OPEN_PROPOSALS + 1)
    for number in range(_HISTORY_COMMITS):
        _write(workspace, _make_append(workspace, long_history_path, f"Step {number}."))
    simple_ids = []
    for number, path in enumerate(drawn_paths):
        proposal = proposal_actions.open(f"Proposal {number}", "What and why.", _ACTOR)
        _write(proposal_actions.open_branch(proposal.id), _make_append(workspace, path, f"Words {number}."))
        proposal_actions.submit(proposal.id, _ACTOR)
        proposal_actions.comment(proposal.id, _ACTOR, "A remark.", file=path)
        simple_ids.append(proposal.id)
    many_sections_proposal = proposal_actions.open("A hundred sections", "Herons are counted again.", _ACTOR)
    new_text = "Now there are {} herons, and as many storks."
    _write(
        proposal_actions.open_branch(many_sections_proposal.id),
        *(
            UpdateContent(file=_MANY_SECTIONS_PATH, slug=f"part-{number}", content=new_text.format(number))
            for number in range(_SECTION_COUNT)
        ),
    )
    proposal_actions.submit(many_sections_proposal.id, _ACTOR)
    conflicting_proposal = proposal_actions.open("In conflict", "Another writer was first.", _ACTOR)
    _write(
        proposal_actions.open_branch(conflicting_proposal.id),
        UpdateContent(file=_MANY_SECTIONS_PATH, slug="part-7", content="Seven egrets."),
    )
    proposal_actions.submit(conflicting_proposal.id, _ACTOR)
    _write(workspace, UpdateContent(file=_MANY_SECTIONS_PATH, slug="part-7", content="Seven cranes."))
    return GeneratedContent(long_history_path, many_sections_proposal.id, conflicting_proposal.id, simple_ids)


def _write(workspace: Workspace, *operations: Operation) -> None:
    """Commit a batch. Raises MeasurementFailed if it is refused."""
    result = workspace.write(
        list(operations),
        mode=BatchMode.ALL,
        tool="page",
        client="benchmark",
        base_commit=workspace.tip(),
    )
    if not result.is_committed:
        raise MeasurementFailed(f"a batch was refused: {[step.error for step in result.plan.steps]}")


def _make_append(workspace: Workspace, path: str, words: str) -> AppendContent:
    sections = workspace.snapshot().document(path).sections
    section = next(item for item in sections if item.key == item.address)
    return AppendContent(file=path, slug=section.key, content=words)


def draw_document_urls(corpus: Corpus, rounds: int, rng: random.Random) -> dict[str, list[str]]:
    """Return the URLs of documents to request during the build of the index, and others to request later.

    A small corpus has no others, so the same are requested later.
    """
    paths = sorted(corpus.documents)
    drawn_paths = rng.sample(paths, min(2 * rounds, len(paths)))
    urls = [f"/doc/{quote(path)}" for path in drawn_paths]
    return {"document, at once": urls[:rounds], "document": urls[rounds:] or urls}


def draw_page_urls(
    content: GeneratedContent, corpus: Corpus, commit: str, rounds: int, rng: random.Random
) -> dict[str, list[str]]:
    """Return the URLs of the pages that are not documents, by kind, and of the largest documents."""
    paths = sorted(corpus.documents)
    drawn_paths = rng.sample(paths, min(rounds, len(paths)))
    largest_paths = sorted(paths, key=lambda path: len(corpus.documents[path]))[-_LARGEST_DOCUMENT_COUNT:]
    folders = sorted({path.rpartition("/")[0] for path in drawn_paths} - {""})
    small_corpus = Corpus({path: corpus.documents[path] for path in drawn_paths})
    queries = draw_queries(list(small_corpus.read_section_texts()), rounds)
    return {
        "documents, the largest ten": [f"/doc/{quote(path)}" for path in largest_paths],
        "home": ["/"],
        "library": ["/library"],
        "folder": [f"/folder/{quote(folder)}" for folder in folders] or ["/"],
        "history": [f"/history/{quote(content.long_history_path)}"],
        "blame": [f"/blame/{quote(content.long_history_path)}"],
        "commit": [f"/commit/{commit}"],
        "search": [f"/search?q={quote(' '.join(query))}" for query in queries],
        "edit": [f"/edit/{quote(path)}" for path in drawn_paths],
        "create": ["/new"],
        "move": [f"/move/{quote(path)}" for path in drawn_paths],
        "remove": [f"/remove/{quote(path)}" for path in drawn_paths],
        "tasks": ["/tasks"],
        "tasks as a list": ["/tasks?view=list"],
        "drift": ["/drift"],
        "statistics": ["/statistics"],
        "traces": ["/trace"],
        "proposals": ["/proposals"],
        "proposals, filtered": ["/proposals?needs=me&path=*.md&search=proposal&author=benchmark"],
        "proposal": [f"/proposals/{id}" for id in content.simple_ids[:rounds]],
        "changes of 100 sections, first page": [f"/proposals/{content.many_sections_id}/changes?view=side"],
        "changes, inline": [f"/proposals/{content.many_sections_id}/changes?view=inline"],
        "conflicts": [f"/proposals/{content.conflicting_id}/conflicts"],
    }


@contextmanager
def run_http_server(
    command: Sequence[str], home: Path, variables: Mapping[str, str] | None = None
) -> Iterator[http.client.HTTPConnection]:
    """Yield a connection to a server. The first line that its command prints is the address.

    `variables` are added to its environment.
    """
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=make_child_environment(home) | dict(variables or {}),
        stdout=subprocess.PIPE,
        text=True,
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


class PageTimes(NamedTuple):
    """The seconds of each request of a kind of page: first requests of each URL, and later requests.

    `round_trip_times` are those of a request without work before each later request.
    """

    first_times: list[float]
    later_times: list[float]
    round_trip_times: list[float]

    @property
    def ratio(self) -> float:
        """The median of the later requests relative to that of a request without work."""
        return compute_percentile(self.later_times, 0.5) / compute_percentile(self.round_trip_times, 0.5)


def measure(
    connection: http.client.HTTPConnection, urls: Sequence[str], rounds: int, bare_url: str = "/healthz"
) -> PageTimes:
    """Measure a request of each URL, then `rounds` requests of these URLs in turn.

    Before each of the later requests, a request of `bare_url` is measured.

    Raises RuntimeError if a status is not 200.
    """

    def request_seconds(url: str) -> float:
        def request() -> None:
            connection.request("GET", url)
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                raise RuntimeError(f"{url} returned the status {response.status}")

        return measure_seconds(request)

    first_times = [request_seconds(url) for url in urls]
    later_times, round_trip_times = [], []
    for number in range(rounds):
        round_trip_times.append(request_seconds(bare_url))
        later_times.append(request_seconds(urls[number % len(urls)]))
    return PageTimes(first_times, later_times, round_trip_times)


def measure_ping_ms(home: Path) -> float:
    """Return the median of pings of the minimal server over stdio in milliseconds."""
    with StdioServer([sys.executable, "-m", "benchmarks.serving.minimal_server"], home) as server:
        server.initialize()
        return (
            compute_percentile(
                [measure_seconds(lambda: server.request("ping")) for _ in range(_PING_COUNT)], 0.5
            )
            * 1e3
        )


class TableRow(NamedTuple):
    """A row of the table: times in seconds, and the limit of their median in milliseconds, if any.

    `ratio` is the median of later requests relative to that of a request without work.
    """

    page: str
    times: list[float]
    limit_ms: float | None
    ratio: float | None = None

    @property
    def is_limit_missed(self) -> bool:
        """Return True if the median is above the limit."""
        return self.limit_ms is not None and compute_percentile(self.times, 0.5) * 1e3 > self.limit_ms


def make_rows(
    times_by_page: Mapping[str, PageTimes], document_count: int, factor: float
) -> Iterator[TableRow]:
    """Yield the rows, each with the limit of its kind multiplied by `factor`."""
    for page, times in times_by_page.items():
        kind_limit_ms = CHANGES_MS if page.startswith("changes") else _get_default_limit_ms(document_count)
        limit_ms = None if page == _MINIMAL_PAGE else kind_limit_ms * factor
        if len(times.first_times) > 1:
            # The first requests of the largest documents have no limit: the server reads and renders their
            # text once.
            yield TableRow(f"{page}, first time", times.first_times, None if "largest" in page else limit_ms)
            yield TableRow(f"{page}, again", times.later_times, limit_ms, times.ratio)
        else:
            yield TableRow(f"{page}, once", times.first_times, None)
            yield TableRow(page, times.later_times, limit_ms, times.ratio)


def _get_default_limit_ms(document_count: int) -> float:
    return SMALL_MS if document_count <= _MAX_SMALL_DOCUMENTS + 1 else LARGE_MS


def make_table(rows: Sequence[TableRow], document_count: int) -> Table:
    """Return the rows as a table in milliseconds."""
    table = Table(
        "page",
        "p50 ms",
        "p95 ms",
        "max ms",
        "by /healthz",
        "p50 must be",
        title=f"Pages of {document_count:,} documents",
    )
    for row in rows:
        values = (compute_percentile(row.times, 0.5), compute_percentile(row.times, 0.95), max(row.times))
        condition = "" if row.limit_ms is None else f"<= {row.limit_ms:.0f}"
        table.add_row(
            row.page,
            *(f"{value * 1e3:.1f}" for value in values),
            "" if row.ratio is None else f"{row.ratio:.1f}x",
            condition + " MISSED" * row.is_limit_missed,
        )
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table; return 1 if a limit was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.serving.pages", description="Measure the pages."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    rng = random.Random(options.seed)
    corpus = Corpus(
        Corpus.read(options.folder).documents | {_MANY_SECTIONS_PATH: _make_many_sections_document()}
    )
    times_by_page: dict[str, PageTimes] = {}
    with tempfile.TemporaryDirectory(prefix="docyard-pages-") as folder:
        home, repository = Path(folder), Path(folder) / "repository"
        make_repository(corpus, repository)
        workspace = Workspace.open(repository, durable=False)
        content = create_content(workspace, corpus, rng)
        document_urls = draw_document_urls(corpus, options.rounds, rng)
        other_urls = draw_page_urls(content, corpus, workspace.snapshot().commit or "", options.rounds, rng)
        ping_times_ms = [measure_ping_ms(home)]
        with run_http_server(["-m", "benchmarks.serving.minimal_pages"], home) as connection:
            times_by_page[_MINIMAL_PAGE] = measure(connection, ["/"], options.rounds, "/")
        command = ["-m", "docyard", "serve", "-C", str(repository), "--http", "127.0.0.1:0", "--no-token"]
        with run_http_server(command, home) as connection:
            at_once, later = document_urls
            times_by_page[at_once] = measure(connection, document_urls[at_once], options.rounds)
            measure(connection, ["/search?q=heron"], 1)  # waits for the index
            for page, urls in {later: document_urls[later], **other_urls}.items():
                times_by_page[page] = measure(connection, urls, options.rounds)
        ping_times_ms.append(measure_ping_ms(home))
    ping_ms = sum(ping_times_ms) / len(ping_times_ms)
    rows = list(make_rows(times_by_page, len(corpus.documents), max(1.0, ping_ms / PING_MS)))
    print(f"ping of a minimal server p50 {ping_ms:.2f} ms ({ping_ms / PING_MS:.2f}x)")
    Console().print(make_table(rows, len(corpus.documents)))
    return int(any(row.is_limit_missed for row in rows))


if __name__ == "__main__":
    sys.exit(main())
