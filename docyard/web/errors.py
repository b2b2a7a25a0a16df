"""The page of an error: its status, its fix, and suggested targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from docyard.wording import shorten
from workspace.document.addresses import AmbiguousAddress, SectionNotFound
from workspace.errors import WorkspaceError
from workspace.proposals.proposal import ProposalNotFound
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from starlette.responses import Response

    from docyard.web.page_request import PageRequest

_MAX_SECTIONS = 20
_MAX_TITLE_CHARACTERS = 100

_STATUS_BY_CODE = {
    "READ_ONLY": 403,
    "NOT_WRITABLE": 403,
    "PROTECTED": 403,
    "NEEDS_PERSON": 403,
    "OWN_PROPOSAL": 403,
    "NOT_PERMITTED": 403,
    "PLACE_NOT_PERMITTED": 403,
    "FORM_REFUSED": 403,
    "ALREADY_EXISTS": 409,
    "CONFLICT": 409,
    "CONFLICT_CHANGED": 409,
    "MERGE_CONFLICT": 409,
    "MERGE_BLOCKED": 409,
    "PROPOSAL_MOVED": 409,
    "WORDS_CHANGED": 409,
    "PROPOSAL_ENDED": 409,
    "NOTHING_PROPOSED": 409,
    "SUGGESTION_REFUSED": 409,
    "NOT_ANNOUNCED": 502,
    "IDEMPOTENCY_KEY_REUSED": 409,
    "WORKTREE_CONFLICT": 409,
    "WORKTREE_BUSY": 409,
    "NO_HISTORY": 404,
    "NOT_IN_HISTORY": 404,
    "LIMIT_EXCEEDED": 413,
    "DAMAGED_REPO": 500,
    "BUSY": 503,
    "DATABASE_UNAVAILABLE": 503,
    "ENGINE_UNAVAILABLE": 503,
    "INDEX_BUSY": 503,
    "REPOSITORY_GONE": 503,
}


def render_error_page(request: PageRequest, error: WorkspaceError) -> Response:
    """Return the page of an error, with its fix and suggested targets."""
    documents = error.details.get("candidates") if isinstance(error, DocumentNotFound) else None
    folders = error.details.get("folders")
    nearest = [
        *({"label": path, "url": request.urls.document(path)} for path in _select_paths(documents)),
        *({"label": path, "url": request.urls.folder(path)} for path in _select_paths(folders)),
        *_suggest_sections(request, error),
        *_suggest_proposals(request, error),
    ]
    return request.page("error.html", status=get_status(error), error=error, reference=None, nearest=nearest)


def _select_paths(candidates: object) -> list[str]:
    """Return the paths among the candidates of an error."""
    if not isinstance(candidates, list):
        return []
    return [path for path in candidates if isinstance(path, str) and path != "."]


def _suggest_sections(request: PageRequest, error: WorkspaceError) -> Iterator[Mapping[str, str]]:
    """Yield the sections that an unknown or ambiguous address may mean."""
    path = request.path_params.get("path")
    if not path or not isinstance(error, (AmbiguousAddress, SectionNotFound)):
        return
    for candidate in error.details.get("candidates", ())[:_MAX_SECTIONS]:
        key, label = (
            (candidate, candidate)
            if isinstance(candidate, str)
            else (candidate["slug"], f"{candidate['title']}, line {candidate['line']}")
        )
        yield {"label": label, "url": request.urls.document(path, key)}


def _suggest_proposals(request: PageRequest, error: WorkspaceError) -> Iterator[Mapping[str, str]]:
    """Yield the proposals that an unknown or ambiguous id may mean, and the list of proposals."""
    if not isinstance(error, ProposalNotFound):
        return
    titles = {proposal.id: proposal.content.title for proposal in request.proposals}
    for id in error.details.get("candidates", ()):
        if id in titles:
            yield {
                "label": f"{shorten(titles[id], _MAX_TITLE_CHARACTERS)} ({id})",
                "url": request.urls.proposal(id),
            }
    yield {"label": "All open proposals", "url": request.urls.proposals()}


def get_status(error: WorkspaceError) -> int:
    """Return the HTTP status of an error."""
    return _STATUS_BY_CODE.get(error.code) or (404 if error.code.endswith("NOT_FOUND") else 400)
