"""Who wrote each line of a document or section: runs of lines that one commit wrote."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import RedirectResponse, Response

from docyard.web.documents.lookup import crumbs, meant, redirection
from docyard.web.urls import with_query
from workspace.document.addresses import SectionNotFound
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from docyard.web.request import Asked
    from workspace.history import BlamedLine, Told

PAGE = 600
"""Lines of one page."""

_LONGEST = 2_000  # characters of a line that is shown


class Run(NamedTuple):
    """Lines next to each other that one commit wrote, each with its number.

    `may_be_older` says that the history ends before they do. `age` is 0 for the newest commits of the page,
    and 3 for the oldest.
    """

    told: Told
    may_be_older: bool
    age: int
    lines: list[tuple[int, str]]


def blame_page(asked: Asked) -> Response:
    """A page of lines, of which `from` is the first.

    Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, NoHistory.
    """
    try:
        found = meant(asked)
    except (DocumentNotFound, SectionNotFound) as error:
        url = redirection(asked, error, "blame")
        if url is None:
            raise
        return RedirectResponse(url, 302)
    path = found.document.path
    lines = asked.workspace.history().blame(asked.snapshot, path, found.key or None)
    given = asked.query.get("from", "")
    first = min(int(given), len(lines)) if given.isascii() and given.isdecimal() and len(given) < 9 else 0
    shown = lines[first : first + PAGE]

    def page_at(at: int) -> str:
        return with_query(
            f"{asked.urls.at(None).blame(path)}", section=found.key, ref=asked.ref, **{"from": at}
        )

    return asked.page(
        "blame.html",
        path=path,
        section=found.key,
        heading=found.section.title if found.section else "",
        title=found.document.title,
        sections=found.document.sections[:500],
        crumbs=crumbs(path),
        runs=_runs(asked, shown),
        total=len(lines),
        earlier=page_at(max(0, first - PAGE)) if first else None,
        later=page_at(first + PAGE) if first + PAGE < len(lines) else None,
    )


def _runs(asked: Asked, lines: Sequence[BlamedLine]) -> list[Run]:
    history = asked.workspace.history()
    told = {id: history.commit(id) for id in dict.fromkeys(line.commit for line in lines)}
    times = sorted({one.time for one in told.values()})
    # The newest quarter of the commits stands out most, so that the eye finds what is new.
    ages = {time: min(3, 4 * (len(times) - 1 - at) // max(1, len(times))) for at, time in enumerate(times)}
    return [
        Run(told[commit], may_be_older, ages[told[commit].time], [(one.line, _text(one)) for one in group])
        for (commit, may_be_older), group in groupby(lines, lambda line: (line.commit, line.is_boundary))
    ]


def _text(line: BlamedLine) -> str:
    text = line.text.decode("utf-8", "replace").rstrip("\r\n")
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
