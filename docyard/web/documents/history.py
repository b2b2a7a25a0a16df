"""The changes of a document or section, newest first."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import RedirectResponse, Response

from docyard.web.documents.lookup import crumbs, path_of, redirection, section_of
from docyard.web.urls import with_query
from workspace.document.addresses import SectionNotFound
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from docyard.web.request import Asked
    from workspace.history import Change
    from workspace.snapshot.snapshot import Snapshot

PAGE = 30
"""Changes of one page."""

_COMMIT = re.compile(r"[0-9a-f]{40}")


class Day(NamedTuple):
    """The changes of one day (UTC)."""

    at: datetime
    changes: list[Change]


def history_page(asked: Asked) -> Response:
    """A page of changes. Those behind it are found by `at`, the commit it began with, and `after`.

    Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, NoHistory.
    """
    path, section = path_of(asked), section_of(asked)
    snapshot = _beginning(asked)
    try:
        page = asked.workspace.history().changes(
            snapshot, path, section or None, after=asked.query.get("after"), limit=PAGE
        )
    except (DocumentNotFound, SectionNotFound) as error:
        url = redirection(asked, error, "history")
        if url is None:
            raise
        return RedirectResponse(url, 302)
    older = None
    if page.next is not None:
        here = asked.urls.at(None).history(path)
        older = with_query(here, section=section, ref=asked.ref, at=snapshot.commit, after=page.next)
    is_there = snapshot.entry(path) is not None
    document = snapshot.document(path) if is_there and section else None
    found = document.section_by_key(section) if document else None
    return asked.page(
        "history.html",
        path=path,
        section=section,
        heading=found.title if found else section,
        crumbs=crumbs(path),
        days=_days(page.entries),
        older=older,
        is_first=not asked.query.get("after"),
        is_there=is_there,
        page=page,
    )


def _beginning(asked: Asked) -> Snapshot:
    """The commit at which the first page began, else the one that is read."""
    at = asked.query.get("at", "")
    if _COMMIT.fullmatch(at) and asked.workspace.exists(at):
        return asked.workspace.at(at)
    return asked.snapshot


def _days(changes: tuple[Change, ...]) -> list[Day]:
    days: list[Day] = []
    for change in changes:
        if not days or days[-1].at.date() != change.time.date():
            days.append(Day(change.time, []))
        days[-1].changes.append(change)
    return days
