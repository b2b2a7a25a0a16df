"""The conflicts of a proposal with its target, and the form that resolves all of them.

A form has a choice for each conflict: one side, both, or a text of the user. The choices are valid for the
commits that the form shows. If a branch has moved since, nothing is merged, and the form is shown again with
its content.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, NamedTuple

from docyard.proposals.conflicts import ConflictSet, SideHistory, find_conflicts, format_version
from docyard.terminal.exits import CommandError
from docyard.web.diff.diff import DiffRows, build_rows
from docyard.web.errors import get_status
from docyard.web.proposals.authorship import would_lose_approval
from docyard.web.proposals.view import build_common_variables
from docyard.wording import format_author
from workspace.errors import WorkspaceError
from workspace.markdown.slugs import PREAMBLE
from workspace.merge.commits import MergeConflict
from workspace.merge.conflict import Resolution, ResolutionChoice, UnitConflict, UnitKind
from workspace.merge.union import join_sides
from workspace.proposals.actions.refresh import ConflictChanged, RefreshResolutions
from workspace.proposals.events import Refreshed
from workspace.publishing.after_commit import has_committed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from workspace.history.commits import CommitInfo
    from workspace.merge.conflict import UnitConflict, UnitId
    from workspace.merge.trees import FileConflict, Resolutions
    from workspace.proposals.events import Event
    from workspace.proposals.proposal import Proposal


class FormChoice(NamedTuple):
    """The user's choice for a conflict (None if nothing is chosen), and a new text.

    `versions_digest` is the digest of the versions that the form showed. `discarded_digest` is the digest of
    the text that the form has said it discards.
    """

    choice: ResolutionChoice | None
    content: str
    versions_digest: str
    discarded_digest: str = ""


def format_conflict_id(path: str, unit: UnitId) -> str:
    """Return the id of a conflict in a form, which depends only on the unit of the file, not on commits."""
    name = "\0".join((path, unit.kind.value, unit.where, unit.part))
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def digest_versions(conflict: UnitConflict) -> str:
    """Return a digest of the three versions of a conflict."""
    digest = hashlib.sha256()
    for version in (conflict.base, conflict.ours, conflict.theirs):
        digest.update(b"-" if version is None else b"+%d\n%b" % (len(version), version))
    return digest.hexdigest()[:16]


def parse_form_choices(fields: Mapping[str, str]) -> dict[str, FormChoice]:
    """Return the choices in the fields `choice-ID`, `content-ID`, `seen-ID` and `discarded-ID`, by id."""
    ids = dict.fromkeys(
        name.partition("-")[2] for name in fields if name.startswith(("choice-", "content-", "seen-"))
    )
    return {
        id: FormChoice(
            _parse_choice(fields.get(f"choice-{id}", "")),
            fields.get(f"content-{id}", ""),
            fields.get(f"seen-{id}", ""),
            fields.get(f"discarded-{id}", ""),
        )
        for id in ids
    }


def build_resolutions(
    conflicts: Sequence[FileConflict], form_choices: Mapping[str, FormChoice]
) -> Resolutions:
    """Return the resolutions of the conflicts for which the form has a choice.

    A choice that would discard the user's own text is none, until the form has said so.
    """
    resolutions: dict[str, dict[UnitId, Resolution]] = {}
    for path, conflict in conflicts:
        form_choice = form_choices.get(format_conflict_id(path, conflict.unit))
        if form_choice is None or form_choice.choice is None:
            continue
        if _find_discarded_digest(conflict, form_choice) in ("", form_choice.discarded_digest):
            has_text = form_choice.choice is ResolutionChoice.CONTENT
            content = _encode_content(conflict, form_choice.content) if has_text else None
            resolutions.setdefault(path, {})[conflict.unit] = Resolution(form_choice.choice, content)
    return resolutions


def digest_form_choices(form_choices: Mapping[str, FormChoice]) -> str:
    """Return a digest of the choices, which shows if a form that is sent twice has the same choices."""
    choices = sorted(
        (
            id,
            form_choice.choice,
            form_choice.content if form_choice.choice is ResolutionChoice.CONTENT else "",
        )
        for id, form_choice in form_choices.items()
    )
    return hashlib.sha256(json.dumps(choices).encode()).hexdigest()


def _find_discarded_digest(conflict: UnitConflict, form_choice: FormChoice) -> str:
    """Return the digest of an own text that a choice discards; "" if it discards none."""
    text = form_choice.content.strip()
    if form_choice.choice in (None, ResolutionChoice.CONTENT) or not text:
        return ""
    if text == (_get_initial_text(conflict) or "").strip():
        return ""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _parse_choice(text: str) -> ResolutionChoice | None:
    return ResolutionChoice(text) if text in [*ResolutionChoice] else None


def _encode_content(conflict: UnitConflict, text: str) -> bytes | None:
    """Return the new text as bytes; None for an empty text.

    A whole file gets CRLF line endings if it had them, because a form has only LF line endings.
    """
    if not text:
        return None
    content = text.encode("utf-8", "replace")
    if conflict.unit.kind is UnitKind.DOCUMENT:
        versions = [version for version in (conflict.ours, conflict.theirs, conflict.base) if version]
        if versions and b"\r\n" in versions[0]:
            content = content.replace(b"\n", b"\r\n")
    return content


MAX_CONFLICTS = 100
"""The maximum number of conflicts on one form."""

_MAX_TEXT_CHARS = 200_000  # a longer text cannot be edited on the page
_COMMIT_ID = re.compile("[0-9a-f]{40}")

_KIND_LABELS = {
    UnitKind.DOCUMENT: "The whole file",
    UnitKind.METADATA: "Front matter",
    UnitKind.SECTION: "A section with its subsections",
    UnitKind.HEADING: "A heading",
    UnitKind.TEXT: "Text",
    UnitKind.TASK: "A task",
    UnitKind.POSITION: "Position",
}


class VersionView(NamedTuple):
    """One version of a unit: its differences from the base, or a note if they are not shown.

    `origin` describes the commit that wrote the version on its side; None if it is unknown.
    """

    rows: DiffRows
    note: str = ""
    origin: CommitInfo | None = None


class ConflictView(NamedTuple):
    """A conflict with its versions, and the current choice. `base` is None if the base lacks the unit.

    `content` is the text in the field of the user's text; None if the conflict has no such field. `has_union`
    is true if both texts can stay.
    `is_choice_outdated` is true if the choice was made for other versions. `discarded_digest` is the digest
    of an own text that the choice would discard.
    """

    id: str
    versions_digest: str
    path: str
    where: str
    kind: str
    base: VersionView | None
    ours: VersionView
    theirs: VersionView
    choice: str
    content: str | None
    has_union: bool
    is_choice_outdated: bool
    problem: str
    discarded_digest: str = ""


def render_conflicts_page(request: PageRequest) -> Response:
    """Return the page of a proposal's current conflicts. Raises ProposalNotFound."""
    proposal = request.workspace.proposal_actions().find(request.path_params["id"])
    return _render_page(request, proposal, _find_conflicts(request, proposal), {})


def handle_conflicts_form(request: PageRequest, proposal: Proposal) -> Response:
    """Merge the target with the choices of the form, or return the form with its content."""
    form_choices = parse_form_choices(request.fields)
    commit, target = request.fields.get("commit", ""), request.fields.get("target", "")
    if not _COMMIT_ID.fullmatch(commit) or not _COMMIT_ID.fullmatch(target):
        return _render_page(request, proposal, _find_conflicts(request, proposal), form_choices, status=409)
    if would_lose_approval(request, proposal) and request.fields.get("as_author") != "yes":
        return _render_page(
            request,
            proposal,
            _find_conflicts(request, proposal, target),
            form_choices,
            needs_confirmation=True,
        )

    def resolve(conflicts: Sequence[FileConflict]) -> Resolutions:
        return build_resolutions(conflicts, form_choices)

    refresh_resolutions = RefreshResolutions(resolve, commit, target, digest_form_choices(form_choices))
    proposal_actions = request.workspace.proposal_actions()
    try:
        proposal_actions.refresh(
            proposal.id, request.actor, refresh_resolutions, key=request.fields.get("key") or None
        )
    except ConflictChanged as error:
        proposal = proposal_actions.find(proposal.id)
        return _render_page(
            request,
            proposal,
            ConflictSet(error.tip, error.theirs, error.conflicts),
            form_choices,
            has_branch_moved=True,
        )
    except MergeConflict as error:
        return _render_page(
            request,
            proposal,
            _find_conflicts(request, proposal, target),
            form_choices,
            unresolved_count=len(error.conflicts),
        )
    except WorkspaceError as error:
        if has_committed():
            raise
        proposal = proposal_actions.find(proposal.id)
        return _render_page(
            request,
            proposal,
            _find_conflicts(request, proposal, target if proposal.is_open else None),
            form_choices,
            error=error,
        )
    return request.redirect(request.urls.proposal(proposal.id))


def _find_conflicts(request: PageRequest, proposal: Proposal, target: str | None = None) -> ConflictSet:
    """Return the current conflicts, or those with an earlier target commit that a form names."""
    if target is not None:
        return ConflictSet(
            proposal.tip, target, request.workspace.proposal_reviews().conflicts(proposal, target)
        )
    try:
        return find_conflicts(request.workspace, proposal)
    except CommandError:  # a branch is missing, which the page shows
        return ConflictSet(proposal.tip, None, ())


def _render_page(
    request: PageRequest,
    proposal: Proposal,
    conflict_set: ConflictSet,
    form_choices: Mapping[str, FormChoice],
    *,
    has_branch_moved: bool = False,
    unresolved_count: int = 0,
    error: WorkspaceError | None = None,
    needs_confirmation: bool = False,
    status: int | None = None,
) -> Response:
    sides = [
        SideHistory(request.workspace, commit) if commit is not None and conflict_set.conflicts else None
        for commit in (conflict_set.commit, conflict_set.target_commit)
    ]
    views = [
        _build_conflict_view(path, conflict, form_choices, error, sides)
        for path, conflict in conflict_set.conflicts[:MAX_CONFLICTS]
    ]
    editable_ids = {view.id for view in views} if proposal.is_open and request.may_write else set[str]()
    unused_texts = [
        form_choice.content
        for id, form_choice in form_choices.items()
        if id not in editable_ids and form_choice.content.strip()
    ]
    if status is None:
        status = (
            get_status(error)
            if error is not None
            else 409
            if has_branch_moved or unresolved_count or needs_confirmation
            else 200
        )
    return request.page(
        "conflicts.html",
        status=status,
        **build_common_variables(request, proposal),
        commit=conflict_set.commit,
        target_commit=conflict_set.target_commit,
        conflicts=views,
        omitted_count=max(0, len(conflict_set.conflicts) - MAX_CONFLICTS),
        has_branch_moved=has_branch_moved,
        unresolved_count=unresolved_count,
        error=error,
        unused_texts=unused_texts,
        needs_confirmation=needs_confirmation,
        ends_approval=would_lose_approval(request, proposal),
        last_refresh=_find_last_refresh(request, proposal) if has_branch_moved else None,
    )


def _find_last_refresh(request: PageRequest, proposal: Proposal) -> tuple[str, Event] | None:
    """Return the author and the event of the last refresh; None if the proposal was never refreshed."""
    events = request.workspace.proposal_actions().list_events(proposal)
    refresh = next((event for event in reversed(events) if isinstance(event.body, Refreshed)), None)
    return None if refresh is None else (format_author(refresh.author), refresh)


def _build_conflict_view(
    path: str,
    conflict: UnitConflict,
    form_choices: Mapping[str, FormChoice],
    error: WorkspaceError | None,
    sides: Sequence[SideHistory | None],
) -> ConflictView:
    unit, id, versions_digest = (
        conflict.unit,
        format_conflict_id(path, conflict.unit),
        digest_versions(conflict),
    )
    form_choice = form_choices.get(id)
    is_choice_outdated = form_choice is not None and form_choice.versions_digest not in ("", versions_digest)
    choice = (
        form_choice.choice.value
        if form_choice is not None and form_choice.choice and not is_choice_outdated
        else ""
    )
    base_text = _decode(unit, conflict.base)
    discarded_digest = _find_discarded_digest(conflict, form_choice) if form_choice is not None else ""
    if discarded_digest:
        choice = ""
    is_invalid = error is not None and error.details.get("unit") == unit
    content = _get_initial_text(conflict)
    if content is not None and form_choice is not None and form_choice.content.strip():
        content = form_choice.content
    our_view, their_view = (
        _build_version_view(unit, version, base_text)._replace(
            origin=side.find_commit(path, conflict, version) if side is not None else None
        )
        for version, side in zip((conflict.ours, conflict.theirs), sides, strict=True)
    )
    return ConflictView(
        id,
        versions_digest,
        path,
        "introduction" if unit.where == PREAMBLE else unit.where,
        _KIND_LABELS[unit.kind],
        _build_version_view(unit, conflict.base, None) if conflict.base is not None else None,
        our_view,
        their_view,
        choice,
        content,
        join_sides(conflict) is not None,
        is_choice_outdated,
        f"{error.message}. {error.fix}" if error is not None and is_invalid else "",
        discarded_digest,
    )


def _build_version_view(unit: UnitId, version: bytes | None, base_text: str | None) -> VersionView:
    if version is None:
        return VersionView(DiffRows(), "This side does not have this part.")
    text = _decode(unit, version)
    if text is None:
        return VersionView(DiffRows(), f"{len(version):,} bytes of binary data.")
    if not text.strip():
        return VersionView(DiffRows(), "Empty.")
    return VersionView(build_rows(text if base_text is None else base_text, text))


def _decode(unit: UnitId, version: bytes | None) -> str | None:
    """Return a version as text; None for binary data, or if the version does not exist."""
    if version is None or b"\0" in version:
        return None
    try:
        version.decode()
    except UnicodeDecodeError:
        return None
    return format_version(unit, version).replace("\r\n", "\n")


def _get_initial_text(conflict: UnitConflict) -> str | None:
    """Return the initial text of the field: ours, else theirs.

    Return None if there is no such field: for a position, binary data or a long text.
    """
    if conflict.unit.kind is UnitKind.POSITION:
        return None
    version = conflict.ours if conflict.ours is not None else conflict.theirs
    text = _decode(conflict.unit, version)
    return text if text is not None and len(text) <= _MAX_TEXT_CHARS else None
