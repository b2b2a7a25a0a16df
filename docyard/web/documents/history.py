"""Pages of history: the changes of a document or section, its blame, and the changes of a commit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import RedirectResponse, Response

from docyard.web.documents.lookup import (
    build_crumbs,
    find_redirect_url,
    get_path,
    get_section,
    resolve_target,
)
from docyard.web.urls import add_query
from workspace.document.addresses import SectionNotFound
from workspace.git.messages import read_trailers
from workspace.history.commits import describe_commit
from workspace.snapshot.snapshot import DocumentNotFound, Snapshot

if TYPE_CHECKING:
    from docyard.web.documents.sidebar import DocumentContext
    from docyard.web.page_request import PageRequest
    from workspace.git.objects import Commit
    from workspace.history.blame import BlamedLine
    from workspace.history.commits import CommitChange, CommitInfo
    from workspace.snapshot.snapshot import Snapshot

COMMITS_PER_PAGE = 30
"""The maximum number of commits on one page of history."""

_COMMIT_ID = re.compile(r"[0-9a-f]{40}")


class DayChanges(NamedTuple):
    """The changes of one day (UTC)."""

    time: datetime
    changes: list[CommitChange]


def render_history_page(request: PageRequest) -> Response:
    """Return a page of changes.

    The link to the next page has two parameters: `at` is the commit at which the first page began, and
    `after` is the position in its history where the next page begins.

    Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, NoHistory.
    """
    path, section = get_path(request), get_section(request)
    snapshot = _get_start_snapshot(request)
    try:
        page = request.workspace.history().changes(
            snapshot, path, section or None, after=request.query.get("after"), limit=COMMITS_PER_PAGE
        )
    except (DocumentNotFound, SectionNotFound) as error:
        url = find_redirect_url(request, error, "history")
        if url is None:
            raise
        return RedirectResponse(url, 302)
    older_url = None
    if page.next is not None:
        url = request.urls.at(None).history(path)
        older_url = add_query(url, section=section, ref=request.ref, at=snapshot.commit, after=page.next)
    exists = snapshot.entry(path) is not None
    document = snapshot.document(path) if exists and section else None
    named_section = document.section_by_key(section) if document else None
    return request.page(
        "history.html",
        path=path,
        section=section,
        heading=named_section.title if named_section else section,
        crumbs=build_crumbs(path),
        days=_group_by_day(page.entries),
        older_url=older_url,
        is_first=not request.query.get("after"),
        exists=exists,
        page=page,
    )


def _get_start_snapshot(request: PageRequest) -> Snapshot:
    """Return the snapshot of `at`, at which the first page began; else the requested snapshot."""
    start_commit = request.query.get("at", "")
    if _COMMIT_ID.fullmatch(start_commit) and request.workspace.has_commit(start_commit):
        return request.workspace.at(start_commit)
    return request.snapshot


def _group_by_day(changes: tuple[CommitChange, ...]) -> list[DayChanges]:
    days: list[DayChanges] = []
    for change in changes:
        if not days or days[-1].time.date() != change.time.date():
            days.append(DayChanges(change.time, []))
        days[-1].changes.append(change)
    return days


BLAME_LINES_PER_PAGE = 300
"""The maximum number of lines on one page of blame."""

_MAX_LINE_CHARS = 2_000
_MAX_LISTED_SECTIONS = 500


class BlameRun(NamedTuple):
    """Consecutive lines of one commit, each with its number.

    `may_be_older` is true if the readable history ends at this commit. `age` is 0 for the newest commits of
    the page, and 3 for the oldest.
    """

    info: CommitInfo
    may_be_older: bool
    age: int
    lines: list[tuple[int, str]]


def render_blame_page(request: PageRequest) -> Response:
    """Return a page of lines; the query field `from` is the number of lines before it.

    Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, NoHistory.
    """
    try:
        target = resolve_target(request)
    except (DocumentNotFound, SectionNotFound) as error:
        url = find_redirect_url(request, error, "blame")
        if url is None:
            raise
        return RedirectResponse(url, 302)
    path = target.document.path
    lines = request.workspace.history().blame(request.snapshot, path, target.key or None)
    start_text = request.query.get("from", "")
    first_index = (
        min(int(start_text), len(lines))
        if start_text.isascii() and start_text.isdecimal() and len(start_text) < 9
        else 0
    )
    page_lines = lines[first_index : first_index + BLAME_LINES_PER_PAGE]

    def build_page_url(start: int) -> str:
        return add_query(
            f"{request.urls.at(None).blame(path)}", section=target.key, ref=request.ref, **{"from": start}
        )

    return request.page(
        "blame.html",
        path=path,
        section=target.key,
        heading=target.section.title if target.section else "",
        title=target.document.title,
        sections=target.document.sections[:_MAX_LISTED_SECTIONS],
        crumbs=build_crumbs(path),
        runs=_build_runs(request, page_lines),
        total=len(lines),
        earlier_url=build_page_url(max(0, first_index - BLAME_LINES_PER_PAGE)) if first_index else None,
        later_url=build_page_url(first_index + BLAME_LINES_PER_PAGE)
        if first_index + BLAME_LINES_PER_PAGE < len(lines)
        else None,
    )


def _build_runs(request: PageRequest, lines: Sequence[BlamedLine]) -> list[BlameRun]:
    history = request.workspace.history()
    commits = {id: history.commit(id) for id in dict.fromkeys(line.commit for line in lines)}
    times = sorted({commit.time for commit in commits.values()})
    # The newest quarter of the commits is highlighted the most.
    ages = {
        time: min(3, 4 * (len(times) - 1 - index) // max(1, len(times))) for index, time in enumerate(times)
    }
    return [
        BlameRun(
            commits[commit],
            may_be_older,
            ages[commits[commit].time],
            [(line.line, _format_line(line)) for line in group],
        )
        for (commit, may_be_older), group in groupby(lines, lambda line: (line.commit, line.is_boundary))
    ]


def _format_line(line: BlamedLine) -> str:
    text = line.text.decode("utf-8", "replace").rstrip("\r\n")
    return text if len(text) <= _MAX_LINE_CHARS else text[:_MAX_LINE_CHARS] + "…"


_MAX_MESSAGE_CHARS = 20_000
_MAX_PARENTS = 20
_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*: \S")


class CommitMessage(NamedTuple):
    """The body of a commit's message, and its trailers that are not Docyard's."""

    body: str
    other_trailers: tuple[tuple[str, str], ...]


def render_commit_page(request: PageRequest, context: DocumentContext) -> Response:
    """Return the page of a commit and its changes since its first parent.

    Raises RefNotFound, NotACommit, NoHistory.
    """
    from docyard.web.diff.views import VIEWS, build_view, finish_page, read_view
    from workspace.revisions import resolve_branch_ref

    request.workspace.history()  # raises NoHistory for an artifact
    id = resolve_branch_ref(request.workspace, request.path_params["id"])
    commit = request.workspace.git.commit(id)
    view = read_view(request)
    offset_text = request.query.get("offset", "")
    offset = (
        int(offset_text) if offset_text.isascii() and offset_text.isdecimal() and len(offset_text) < 9 else 0
    )
    parent, is_shallow = _get_first_parent(request, commit)
    snapshot = request.workspace.snapshot(id)
    diff, diagrams = None, ""
    if not is_shallow:
        changes = context.find_changes(parent, snapshot)
        diff, diagrams = build_view(request, view, changes, (parent, snapshot), offset=offset)
    url = request.urls.commit(id)
    page = request.page(
        "commit.html",
        commit=id,
        info=describe_commit(commit),
        message=_parse_message(commit.message),
        parents=commit.parents[:_MAX_PARENTS],
        proposal=_find_proposal(request, describe_commit(commit)),
        diff=diff,
        view=view,
        views=VIEWS,
        view_url=lambda view: add_query(url, view=view, offset=offset or None),
        diagrams=diagrams,
        page_url=lambda offset: add_query(url, view=view, offset=offset or None),
    )
    return finish_page(request, page, diagrams)


def _get_first_parent(request: PageRequest, commit: Commit) -> tuple[Snapshot, bool]:
    """Return the snapshot of the first parent, and True if a shallow clone lacks that parent."""
    git = request.workspace.git
    if not commit.parents:
        return Snapshot(git, None), False
    if not git.has_object(commit.parents[0]):
        return Snapshot(git, None), True
    return request.workspace.snapshot(commit.parents[0]), False


def _find_proposal(request: PageRequest, info: CommitInfo) -> str | None:
    """Return the id of the proposal that a commit's trailer names; None if no such proposal exists.

    Any author may write a trailer, so the id may be wrong.
    """
    id = info.proposal
    if id is None:
        return None
    return next((proposal.id for proposal in request.proposals if proposal.id == id), None)


def _parse_message(message: str) -> CommitMessage:
    body = message.strip().partition("\n")[2].strip()
    text, _, last_paragraph = body.rpartition("\n\n")
    other_trailers: tuple[tuple[str, str], ...] = ()
    if last_paragraph and all(_TRAILER.match(line) for line in last_paragraph.split("\n")):
        trailers = read_trailers(message)
        other_trailers = tuple(
            (name, value) for name, value in trailers.items() if not name.startswith("Docyard-")
        )
        body = text.strip()
    return CommitMessage(
        body if len(body) <= _MAX_MESSAGE_CHARS else body[:_MAX_MESSAGE_CHARS] + "…", other_trailers
    )
