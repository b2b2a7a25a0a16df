"""The changes of a document or section, newest first.

Who wrote each line of a document or section: runs of lines that one commit wrote.

What a commit changed, section by section.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import RedirectResponse, Response

from docyard.web.documents.lookup import build_crumbs, find_redirect_url, get_path, get_section, resolve_place
from docyard.web.urls import add_query
from workspace.document.addresses import SectionNotFound
from workspace.git.messages import read_trailers
from workspace.history.commits import describe_commit
from workspace.snapshot.snapshot import DocumentNotFound, Snapshot

if TYPE_CHECKING:
    from docyard.web.asked import PageRequest
    from docyard.web.documents.sidebar import DocumentContext
    from workspace.git.objects import Commit
    from workspace.history.blame import BlamedLine
    from workspace.history.commits import CommitChange, CommitInfo
    from workspace.snapshot.snapshot import Snapshot

COMMITS_PER_PAGE = 30
"""Changes of one page."""

_COMMIT = re.compile(r"[0-9a-f]{40}")


class Day(NamedTuple):
    """The changes of one day (UTC)."""

    at: datetime
    changes: list[CommitChange]


def render_history_page(asked: PageRequest) -> Response:
    """Return a page of changes. Those behind it are found by `at`, the commit it began with, and `after`.

    Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, NoHistory.
    """
    path, section = get_path(asked), get_section(asked)
    snapshot = _get_start(asked)
    try:
        page = asked.workspace.history().changes(
            snapshot, path, section or None, after=asked.query.get("after"), limit=COMMITS_PER_PAGE
        )
    except (DocumentNotFound, SectionNotFound) as error:
        url = find_redirect_url(asked, error, "history")
        if url is None:
            raise
        return RedirectResponse(url, 302)
    older = None
    if page.next is not None:
        here = asked.urls.at(None).history(path)
        older = add_query(here, section=section, ref=asked.ref, at=snapshot.commit, after=page.next)
    is_there = snapshot.entry(path) is not None
    document = snapshot.document(path) if is_there and section else None
    found = document.section_by_key(section) if document else None
    return asked.page(
        "history.html",
        path=path,
        section=section,
        heading=found.title if found else section,
        crumbs=build_crumbs(path),
        days=_group_by_day(page.entries),
        older=older,
        is_first=not asked.query.get("after"),
        is_there=is_there,
        page=page,
    )


def _get_start(asked: PageRequest) -> Snapshot:
    """Return the commit at which the first page began, else the one that is read."""
    at = asked.query.get("at", "")
    if _COMMIT.fullmatch(at) and asked.workspace.exists(at):
        return asked.workspace.at(at)
    return asked.snapshot


def _group_by_day(changes: tuple[CommitChange, ...]) -> list[Day]:
    days: list[Day] = []
    for change in changes:
        if not days or days[-1].at.date() != change.time.date():
            days.append(Day(change.time, []))
        days[-1].changes.append(change)
    return days


BLAME_LINES = 600
"""Lines of one page."""

_LONGEST = 2_000  # characters of a line that is shown


class BlameRun(NamedTuple):
    """Lines next to each other that one commit wrote, each with its number.

    `may_be_older` says that the history ends before they do. `age` is 0 for the newest commits of the page,
    and 3 for the oldest.
    """

    told: CommitInfo
    may_be_older: bool
    age: int
    lines: list[tuple[int, str]]


def render_blame_page(asked: PageRequest) -> Response:
    """Return a page of lines, of which `from` is the first.

    Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, NoHistory.
    """
    try:
        found = resolve_place(asked)
    except (DocumentNotFound, SectionNotFound) as error:
        url = find_redirect_url(asked, error, "blame")
        if url is None:
            raise
        return RedirectResponse(url, 302)
    path = found.document.path
    lines = asked.workspace.history().blame(asked.snapshot, path, found.key or None)
    given = asked.query.get("from", "")
    first = min(int(given), len(lines)) if given.isascii() and given.isdecimal() and len(given) < 9 else 0
    shown = lines[first : first + BLAME_LINES]

    def page_at(at: int) -> str:
        return add_query(
            f"{asked.urls.at(None).blame(path)}", section=found.key, ref=asked.ref, **{"from": at}
        )

    return asked.page(
        "blame.html",
        path=path,
        section=found.key,
        heading=found.section.title if found.section else "",
        title=found.document.title,
        sections=found.document.sections[:500],
        crumbs=build_crumbs(path),
        runs=_build_runs(asked, shown),
        total=len(lines),
        earlier=page_at(max(0, first - BLAME_LINES)) if first else None,
        later=page_at(first + BLAME_LINES) if first + BLAME_LINES < len(lines) else None,
    )


def _build_runs(asked: PageRequest, lines: Sequence[BlamedLine]) -> list[BlameRun]:
    history = asked.workspace.history()
    told = {id: history.commit(id) for id in dict.fromkeys(line.commit for line in lines)}
    times = sorted({one.time for one in told.values()})
    # The newest quarter of the commits stands out most, so that the eye finds what is new.
    ages = {time: min(3, 4 * (len(times) - 1 - at) // max(1, len(times))) for at, time in enumerate(times)}
    return [
        BlameRun(
            told[commit], may_be_older, ages[told[commit].time], [(one.line, _text(one)) for one in group]
        )
        for (commit, may_be_older), group in groupby(lines, lambda line: (line.commit, line.is_boundary))
    ]


def _text(line: BlamedLine) -> str:
    text = line.text.decode("utf-8", "replace").rstrip("\r\n")
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


_MOST_MESSAGE = 20_000  # characters that are shown
_MOST_PARENTS = 20
_IS_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*: \S")


class CommitMessage(NamedTuple):
    """A commit's message without its subject and without the trailers that are told in words."""

    body: str
    others: tuple[tuple[str, str], ...]


def render_commit_page(asked: PageRequest, context: DocumentContext) -> Response:
    """Return a commit and what differs from its first parent. Raises RefNotFound, NotACommit, NoHistory."""
    from docyard.web.diff import build_diff
    from workspace.revisions import find_ref

    asked.workspace.history()  # says so where there is none
    id = find_ref(asked.workspace, asked.path["id"])
    commit = asked.workspace.git.commit(id)
    view = "inline" if asked.query.get("view") == "inline" else "side"
    given = asked.query.get("offset", "")
    offset = int(given) if given.isascii() and given.isdecimal() and len(given) < 9 else 0
    before, is_shallow = _get_first_parent(asked, commit)
    changes = None if is_shallow else context.changes(before, asked.workspace.snapshot(id))
    here = asked.urls.commit(id)
    other = "inline" if view == "side" else "side"
    return asked.page(
        "commit.html",
        commit=id,
        told=describe_commit(commit),
        message=_message(commit.message),
        parents=commit.parents[:_MOST_PARENTS],
        proposal=_proposal(asked, describe_commit(commit)),
        diff=build_diff(changes, offset=offset) if changes else None,
        view=view,
        other_view=add_query(here, view=other),
        link=lambda at: add_query(here, view=view, offset=at or None),
    )


def _get_first_parent(asked: PageRequest, commit: Commit) -> tuple[Snapshot, bool]:
    """Return the first parent, None for a root commit; and whether a shallow clone lacks it."""
    git = asked.workspace.git
    if not commit.parents:
        return Snapshot(git, None), False
    if not git.has(commit.parents[0]):
        return Snapshot(git, None), True
    return asked.workspace.snapshot(commit.parents[0]), False


def _proposal(asked: PageRequest, told: CommitInfo) -> str | None:
    """Return the proposal that a commit says it came from, if there is one: anybody may write a trailer."""
    wanted = told.proposal
    if wanted is None:
        return None
    return next((one.id for one in asked.proposals if one.id == wanted), None)


def _message(message: str) -> CommitMessage:
    body = message.strip().partition("\n")[2].strip()
    above, _, last = body.rpartition("\n\n")
    others: tuple[tuple[str, str], ...] = ()
    if last and all(_IS_TRAILER.match(line) for line in last.split("\n")):
        trailers = read_trailers(message)
        others = tuple((name, value) for name, value in trailers.items() if not name.startswith("Docyard-"))
        body = above.strip()
    return CommitMessage(body if len(body) <= _MOST_MESSAGE else body[:_MOST_MESSAGE] + "…", others)
