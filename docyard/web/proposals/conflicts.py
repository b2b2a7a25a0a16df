"""Conflicts of a proposal with its target: shown, and decided all on one form.

A decision counts for the commits that it was made on. Where one of them has gone on, nothing is merged, and
what was chosen and written stays in the form.

The decisions that a form holds: for each conflict a side, or words of one's own.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, NamedTuple

from docyard.proposals.conflicts import ConflictSet, find_conflicts, format_version
from docyard.terminal.exits import CannotError
from docyard.web.diff import DiffRows, build_rows
from docyard.web.errors import get_status
from docyard.web.proposals.view import build_head
from docyard.wording import format_author
from workspace.errors import WorkspaceError
from workspace.merge.commits import MergeConflict
from workspace.merge.conflict import Resolution, ResolutionChoice, UnitConflict, UnitKind
from workspace.proposals.actions.refresh import ConflictChanged, RefreshDecisions
from workspace.proposals.events import Refreshed
from workspace.publishing.after_commit import has_committed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from workspace.merge.conflict import UnitConflict, UnitId
    from workspace.merge.trees import FileConflict, Resolutions
    from workspace.proposals.events import Event
    from workspace.proposals.proposal import Proposal


class FormDecision(NamedTuple):
    """What a form says of a conflict: a choice (None: not yet), new words, and a digest of what was shown."""

    choice: ResolutionChoice | None
    content: str
    seen: str


def format_conflict_id(path: str, unit: UnitId) -> str:
    """Return the id of a conflict in a form: the same for the same unit of a file at all commits."""
    named = "\0".join((path, unit.kind.value, unit.where, unit.part))
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def digest_versions(conflict: UnitConflict) -> str:
    """Return a digest of the three versions of a conflict."""
    told = hashlib.sha256()
    for version in (conflict.base, conflict.ours, conflict.theirs):
        told.update(b"-" if version is None else b"+%d\n%b" % (len(version), version))
    return told.hexdigest()[:16]


def parse_decisions(fields: Mapping[str, str]) -> dict[str, FormDecision]:
    """Return the decisions in the fields `choice-ID`, `content-ID` and `seen-ID`, by conflict id."""
    ids = dict.fromkeys(
        name.partition("-")[2] for name in fields if name.startswith(("choice-", "content-", "seen-"))
    )
    return {
        id: FormDecision(
            _choice(fields.get(f"choice-{id}", "")),
            fields.get(f"content-{id}", ""),
            fields.get(f"seen-{id}", ""),
        )
        for id in ids
    }


def build_resolutions(conflicts: Sequence[FileConflict], decided: Mapping[str, FormDecision]) -> Resolutions:
    """Return what was decided of some conflicts."""
    found: dict[str, dict[UnitId, Resolution]] = {}
    for path, conflict in conflicts:
        one = decided.get(format_conflict_id(path, conflict.unit))
        if one is not None and one.choice is not None:
            content = _content(conflict, one.content) if one.choice is ResolutionChoice.CONTENT else None
            found.setdefault(path, {})[conflict.unit] = Resolution(one.choice, content)
    return found


def digest_decisions(decided: Mapping[str, FormDecision]) -> str:
    """Return what tells whether a form that is sent again with its key asks for the same."""
    said = sorted(
        (id, one.choice, one.content if one.choice is ResolutionChoice.CONTENT else "")
        for id, one in decided.items()
    )
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _choice(text: str) -> ResolutionChoice | None:
    return ResolutionChoice(text) if text in [*ResolutionChoice] else None


def _content(conflict: UnitConflict, text: str) -> bytes | None:
    """Return the new text as bytes, with the line endings of the file, which browsers do not send."""
    if not text:
        return None
    data = text.encode("utf-8", "replace")
    if conflict.unit.kind is UnitKind.DOCUMENT:
        versions = [version for version in (conflict.ours, conflict.theirs, conflict.base) if version]
        if versions and b"\r\n" in versions[0]:
            data = data.replace(b"\n", b"\r\n")
    return data


MAX_CONFLICTS = 100
"""Conflicts on one form."""

_LONGEST = 200_000  # characters that are edited on a page
_COMMIT = re.compile("[0-9a-f]{40}")

_KINDS = {
    UnitKind.DOCUMENT: "The whole file",
    UnitKind.METADATA: "Front matter",
    UnitKind.SECTION: "A section with all below it",
    UnitKind.HEADING: "A heading",
    UnitKind.TEXT: "Text",
    UnitKind.TASK: "A task",
    UnitKind.POSITION: "Where it stands",
}


class VersionView(NamedTuple):
    """One version of a unit: how it differs from the base, or why it is not shown."""

    rows: DiffRows
    note: str = ""


class ConflictView(NamedTuple):
    """A conflict with its versions, and what was chosen by now.

    `content` is what stands in the field for one's own words; None where there can be none.
    `has_changed` says that a choice was made on other versions than these.
    """

    id: str
    seen: str
    path: str
    where: str
    kind: str
    base: VersionView | None
    ours: VersionView
    theirs: VersionView
    choice: str
    content: str | None
    has_changed: bool
    problem: str


def render_conflicts_page(asked: PageRequest) -> Response:
    """Return the conflicts of a proposal as they are now. Raises ProposalNotFound."""
    one = asked.workspace.proposing().find(asked.path["id"])
    return _page(asked, one, _find_conflicts(asked, one), {})


def handle_conflicts_form(asked: PageRequest, one: Proposal) -> Response:
    """Merge the target as the form decides, or return the form with its content."""
    decided = parse_decisions(asked.fields)
    commit, target = asked.fields.get("commit", ""), asked.fields.get("target", "")
    if not _COMMIT.fullmatch(commit) or not _COMMIT.fullmatch(target):
        return _page(asked, one, _find_conflicts(asked, one), decided, status=409)

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        return build_resolutions(conflicts, decided)

    decisions = RefreshDecisions(choose, commit, target, digest_decisions(decided))
    proposing = asked.workspace.proposing()
    try:
        proposing.refresh(one.id, asked.actor, decisions, request=asked.fields.get("key") or None)
    except ConflictChanged as error:
        one = proposing.find(one.id)
        return _page(asked, one, ConflictSet(error.tip, error.theirs, error.conflicts), decided, changed=True)
    except MergeConflict as error:
        return _page(asked, one, _find_conflicts(asked, one, target), decided, left=len(error.conflicts))
    except WorkspaceError as error:
        if has_committed():
            raise
        one = proposing.find(one.id)
        return _page(
            asked, one, _find_conflicts(asked, one, target if one.is_open else None), decided, error=error
        )
    return asked.redirect(asked.urls.proposal(one.id))


def _find_conflicts(asked: PageRequest, one: Proposal, target: str | None = None) -> ConflictSet:
    """Return the current conflicts, or those with an earlier target commit that a form names."""
    if target is not None:
        return ConflictSet(one.tip, target, asked.workspace.reviewing().conflicts(one, target))
    try:
        return find_conflicts(asked.workspace, one)
    except CannotError:  # a branch is gone, which the page says
        return ConflictSet(one.tip, None, ())


def _page(
    asked: PageRequest,
    one: Proposal,
    found: ConflictSet,
    decided: Mapping[str, FormDecision],
    *,
    changed: bool = False,
    left: int = 0,
    error: WorkspaceError | None = None,
    status: int | None = None,
) -> Response:
    shown = [
        _build_view(path, conflict, decided, error) for path, conflict in found.conflicts[:MAX_CONFLICTS]
    ]
    kept = {each.id for each in shown} if one.is_open and asked.may_write else set[str]()
    lost = [each.content for id, each in decided.items() if id not in kept and each.content.strip()]
    if status is None:
        status = get_status(error) if error is not None else 409 if changed or left else 200
    return asked.page(
        "conflicts.html",
        status=status,
        **build_head(asked, one),
        commit=found.commit,
        target_commit=found.target_commit,
        conflicts=shown,
        more=max(0, len(found.conflicts) - MAX_CONFLICTS),
        changed=changed,
        left=left,
        error=error,
        lost=lost,
        refreshed=_last_refresh(asked, one) if changed else None,
    )


def _last_refresh(asked: PageRequest, one: Proposal) -> tuple[str, Event] | None:
    """Return who took the target in last, and what they said by it."""
    events = asked.workspace.proposing().list_events(one)
    found = next((event for event in reversed(events) if isinstance(event.body, Refreshed)), None)
    return None if found is None else (format_author(found.author), found)


def _build_view(
    path: str,
    conflict: UnitConflict,
    decided: Mapping[str, FormDecision],
    error: WorkspaceError | None,
) -> ConflictView:
    unit, id, seen = conflict.unit, format_conflict_id(path, conflict.unit), digest_versions(conflict)
    before = decided.get(id)
    has_changed = before is not None and before.seen not in ("", seen)
    choice = before.choice.value if before is not None and before.choice and not has_changed else ""
    base = _text(unit, conflict.base)
    is_wrong = error is not None and error.details.get("unit") == unit
    content = _get_initial_text(conflict)
    if content is not None and before is not None and before.content.strip():
        content = before.content
    return ConflictView(
        id,
        seen,
        path,
        unit.where,
        _KINDS[unit.kind],
        _version(unit, conflict.base, None) if conflict.base is not None else None,
        _version(unit, conflict.ours, base),
        _version(unit, conflict.theirs, base),
        choice,
        content,
        has_changed,
        f"{error.message}. {error.fix}" if error is not None and is_wrong else "",
    )


def _version(unit: UnitId, data: bytes | None, base: str | None) -> VersionView:
    if data is None:
        return VersionView(DiffRows(), "Not there: this side removed it, or never had it.")
    text = _text(unit, data)
    if text is None:
        return VersionView(DiffRows(), f"{len(data):,} bytes that are no text.")
    if not text.strip():
        return VersionView(DiffRows(), "Empty.")
    return VersionView(build_rows(text if base is None else base, text))


def _text(unit: UnitId, data: bytes | None) -> str | None:
    """Return a version as text; None for what is none."""
    if data is None or b"\0" in data:
        return None
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    return format_version(unit, data).replace("\r\n", "\n")


def _get_initial_text(conflict: UnitConflict) -> str | None:
    """Return the initial text of the field: ours, else theirs; None for a place, and for binary data."""
    if conflict.unit.kind is UnitKind.POSITION:
        return None
    data = conflict.ours if conflict.ours is not None else conflict.theirs
    text = _text(conflict.unit, data)
    return text if text is not None and len(text) <= _LONGEST else None
