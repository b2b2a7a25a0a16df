"""What went wrong, as a page: its status, what to do next, and what may have been meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from workspace.document.addresses import AmbiguousAddress, SectionNotFound
from workspace.errors import WorkspaceError
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from starlette.responses import Response

    from docyard.web.asked import PageRequest

_MOST_SECTIONS = 20  # that an error proposes

_STATUS = {
    "READ_ONLY": 403,
    "PROTECTED": 403,
    "NEEDS_PERSON": 403,
    "OWN_PROPOSAL": 403,
    "FORM_REFUSED": 403,
    "CONFLICT": 409,
    "CONFLICT_CHANGED": 409,
    "MERGE_CONFLICT": 409,
    "MERGE_BLOCKED": 409,
    "PROPOSAL_MOVED": 409,
    "WORDS_CHANGED": 409,
    "PROPOSAL_ENDED": 409,
    "NOTHING_PROPOSED": 409,
    "NOT_ANNOUNCED": 502,
    "IDEMPOTENCY_KEY_REUSED": 409,
    "WORKTREE_CONFLICT": 409,
    "WORKTREE_BUSY": 409,
    "NO_HISTORY": 404,
    "NOT_IN_HISTORY": 404,
    "LIMIT_EXCEEDED": 413,
    "DAMAGED_REPO": 500,
    "BUSY": 503,
    "INDEX_BUSY": 503,
    "REPOSITORY_GONE": 503,
}


def render_error_page(asked: PageRequest, error: WorkspaceError) -> Response:
    """Return the page that says what is wrong, and what to do next."""
    near = error.details.get("candidates") if isinstance(error, DocumentNotFound) else None
    folders = error.details.get("folders")
    nearest = [
        *({"label": one, "url": asked.urls.document(one)} for one in _paths(near)),
        *({"label": one, "url": asked.urls.folder(one)} for one in _paths(folders)),
        *_sections(asked, error),
    ]
    return asked.page("error.html", status=get_status(error), error=error, reference=None, nearest=nearest)


def _paths(given: object) -> list[str]:
    """Return the paths among what an error proposes."""
    return [one for one in given if isinstance(one, str) and one != "."] if isinstance(given, list) else []


def _sections(asked: PageRequest, error: WorkspaceError) -> Iterator[Mapping[str, str]]:
    """Yield the sections of the document that an address without a section of its own may have meant."""
    path = asked.path.get("path")
    if not path or not isinstance(error, (AmbiguousAddress, SectionNotFound)):
        return
    for one in error.details.get("candidates", ())[:_MOST_SECTIONS]:
        key, label = (
            (one, one) if isinstance(one, str) else (one["slug"], f"{one['title']}, line {one['line']}")
        )
        yield {"label": label, "url": asked.urls.document(path, key)}


def get_status(error: WorkspaceError) -> int:
    """Return the status of an answer that says what is wrong."""
    return _STATUS.get(error.code) or (404 if error.code.endswith("NOT_FOUND") else 400)
