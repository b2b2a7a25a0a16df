"""A document on its page: rendered, with its outline, what stands around it, and where it is edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import RedirectResponse, Response

from docyard.web.documents.diagrams import DIAGRAM, PAGE_POLICY, frame_url
from docyard.web.documents.dressing import Doors, dressed
from docyard.web.documents.lookup import crumbs, path_of, redirection
from docyard.web.live import unfinished
from docyard.web.proposals.view import STATE_TAGS
from workspace.config.config import LimitExceeded
from workspace.document.sections import PREAMBLE
from workspace.snapshot.snapshot import DocumentNotFound, NotADocument

if TYPE_CHECKING:
    from docyard.web.documents.sidebar import Surroundings
    from docyard.web.request import Asked
    from workspace.document.document import Document

_COUNTED = 1_000_000  # bytes of a document whose tasks are counted


class Progress(NamedTuple):
    """The tasks of a document."""

    done: int
    total: int


def document_page(asked: Asked, surroundings: Surroundings) -> Response:
    """The page of a document; another file as it is, a folder in the library, what moved at its new place.

    Raises DocumentNotFound, NotADocument, RefNotFound.
    """
    path = path_of(asked)
    try:
        document = asked.snapshot.document(path)
    except LimitExceeded as error:
        return _too_large(asked, path, surroundings, error)
    except NotADocument:
        raise
    except DocumentNotFound as error:
        url = _elsewhere(asked, path) or redirection(asked, error, "document")
        if url is None:
            raise
        return RedirectResponse(url, 302)
    from workspace.rendering import Options, render

    options = Options(math=asked.site.math, mermaid=asked.site.mermaid is not None)
    rendered = render(asked.snapshot, path, urls=asked.urls, options=options)
    proposal = proposal_read(asked)
    may_edit = asked.may_write and (asked.ref is None or proposal is not None)
    last = surroundings.last_change(asked, path)
    doors = Doors(path, asked.ref, last.has_history, may_edit, proposal or "")
    backlinks = surroundings.backlinks(asked, document)
    is_reading = asked.ref is None and (not last.is_known or backlinks is None) and asked.site.is_reading
    diagrams = frame_url(asked) if DIAGRAM in rendered.html else ""
    page = asked.page(
        "document.html",
        document=document,
        crumbs=crumbs(path),
        shown=dressed(rendered, doors),
        doors=doors,
        rendered=rendered,
        outline=[entry for entry in rendered.outline if entry.id != PREAMBLE],
        change=last.change,
        progress=_progress(document),
        backlinks=backlinks,
        is_reading=is_reading and backlinks is None,
        proposals=surroundings.proposals(asked, path) if asked.ref is None else (),
        proposal=proposal,
        state_tags=STATE_TAGS,
        may_edit=may_edit,
        diagrams=diagrams,
        version=unfinished(asked.version) if is_reading else asked.version,
    )
    if diagrams:
        page.headers["Content-Security-Policy"] = PAGE_POLICY
    return page


def proposal_read(asked: Asked) -> str | None:
    """The open proposal whose branch is read; None for any other ref."""
    from workspace.proposal_ids import read_id

    id = read_id(asked.ref) if asked.ref else None
    if id is None:
        return None
    return next((one.id for one in asked.proposals if one.id == id and one.is_open), None)


def _elsewhere(asked: Asked, path: str) -> str | None:
    """The URL of what stands at a path and is no document."""
    entry = asked.snapshot.entry(path)
    if entry is None:
        return None
    return asked.urls.folder(path) if entry.is_tree else asked.urls.raw(path) if entry.is_blob else None


def _progress(document: Document) -> Progress | None:
    if len(document.data) > _COUNTED:
        return None
    tasks = document.all_tasks
    return Progress(sum(task.is_done for task in tasks), len(tasks)) if tasks else None


def _too_large(asked: Asked, path: str, surroundings: Surroundings, error: LimitExceeded) -> Response:
    """The page of a document that is over a limit: what can be told without reading it."""
    change = surroundings.last_change(asked, path).change
    return asked.page("too_large.html", path=path, crumbs=crumbs(path), error=error, change=change)
