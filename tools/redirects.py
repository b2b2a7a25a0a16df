"""Redirection of a call with an old address to the current location, or to the proposal with its document.

A read returns the text at the new location and reports `moved_to`. A write is refused, because the current
text may differ from the text that the caller read. The error contains a call with the new address.

A document that only open proposals have is not found on the branch; the error names these proposals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.arguments import OPERATIONS, resolve_target
from tools.tool import NextStep
from workspace.errors import WorkspaceError
from workspace.history.moved_addresses import Location, find_moved_location

if TYPE_CHECKING:
    from tools.tool import Answer, Context, Tool
    from workspace.history.moved_addresses import Moves
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_MISSING_DOCUMENT_CODES = ("DOCUMENT_NOT_FOUND", "CHUNK_NOT_FOUND")
_MAX_SEARCHED_PROPOSALS = 50  # the newest

_NOT_FOUND_CODES = frozenset(("DOCUMENT_NOT_FOUND", "SECTION_NOT_FOUND", "TASK_NOT_FOUND"))

# The pairs of fields that form an address: a file, and a section or task in it.
_ADDRESS_FIELDS: tuple[tuple[str, str | None], ...] = (
    ("path", None),
    ("file", "slug"),
    ("to_file", "parent_slug"),
    ("file", "parent_slug"),
    ("file", "to_slug"),
    ("file", "before"),
    ("file", "after"),
    ("file", None),
)


class RedirectedCall(NamedTuple):
    """The current location of an old address, and the call's arguments with the current address."""

    location: Location
    arguments: Mapping[str, object]


def find_current_location(context: Context, snapshot: Snapshot, file: str, slug: str | None) -> Location:
    """Return the current location of an address; the address itself if it did not move.

    Raises the errors of reading the document, but no error for an address that does not exist.
    """
    return find_moved_location(context.workspace.moves, snapshot, file, slug) or Location(file, slug, None)


def add_moved_to(location: Location, data: dict[str, Any]) -> dict[str, Any]:
    """Return an answer's data with the field `moved_to`, if the location has moved."""
    if location.moved_to is None:
        return data
    step = NextStep(f"Use '{location.address}' from now on: it was moved")
    if (next_step := data.get("next_step")) is not None:
        step = NextStep(step, ". ", next_step)
    return {**data, "moved_to": location.moved_to, "next_step": step}


def redirect_call(
    error: WorkspaceError, arguments: Mapping[str, object], snapshot: Snapshot, moves: Callable[[], Moves]
) -> RedirectedCall | None:
    """Return a failed call with the current address; None if no address in it has moved."""
    if error.code not in _NOT_FOUND_CODES:
        return None
    for file_field, slug_field in _ADDRESS_FIELDS:
        file, slug = arguments.get(file_field), arguments.get(slug_field) if slug_field else None
        if not isinstance(file, str) or (slug_field and not isinstance(slug, str)):
            continue
        with suppress(WorkspaceError):  # the call already has an error
            location = find_moved_location(
                moves, snapshot, *resolve_target(snapshot, file, slug if isinstance(slug, str) else None)
            )
            if location is not None:
                return RedirectedCall(location, _correct_fields(arguments, file_field, slug_field, location))
    return None


def add_proposals_of_document(
    answer: Answer, tool: Tool, arguments: Mapping[str, object], workspace: Workspace
) -> Answer:
    """Return the error for a missing document with the open proposals that have it, if there are any.

    In a batch, the entries of operations that failed are such errors too. The answer of a call that names a
    ref or a proposal is unchanged.
    """
    field = "proposal" if tool.writes else "ref"
    if field not in tool.arguments.model_fields or _names_version(arguments):
        return answer
    search = partial(_search_proposals, _ProposedDocuments(workspace), field)
    if (entries := answer.data.get("batch_results")) is None:
        found = search(answer.data, arguments)
        example = {} if found is None else {"example": {**arguments, field: found["proposals"][0]}}
        return answer if found is None else replace(answer, data={**answer.data, **found, **example})
    operations = arguments.get(OPERATIONS)
    if not isinstance(operations, list):
        return answer
    new_entries = [
        {**entry, **(search(entry, operation) or {})} if isinstance(operation, Mapping) else entry
        for entry, operation in zip(entries, operations, strict=False)
    ]
    return replace(answer, data={**answer.data, "batch_results": new_entries})


def find_proposals_of_document(workspace: Workspace, path: str) -> list[str]:
    """Return the ids of the open proposals that have a document, the newest first."""
    return _ProposedDocuments(workspace).find_proposals(path)


class _ProposedDocuments:
    """The documents of the newest open proposals, which are listed at the first search."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @cached_property
    def _proposals(self) -> Sequence[Proposal]:
        proposals = self._workspace.proposal_actions().list_all()
        return [proposal for proposal in proposals if proposal.is_open and proposal.tip is not None][
            :_MAX_SEARCHED_PROPOSALS
        ]

    def find_proposals(self, path: str) -> list[str]:
        """Return the ids of the proposals that have a document."""
        if not path:
            return []
        snapshots = ((proposal.id, self._workspace.snapshot(proposal.tip)) for proposal in self._proposals)
        return [id for id, snapshot in snapshots if snapshot.entry(path) is not None]


def _names_version(arguments: Mapping[str, object]) -> bool:
    return any(arguments.get(name) is not None for name in ("ref", "proposal", "new_proposal"))


def _search_proposals(
    documents: _ProposedDocuments, field: str, error: Mapping[str, Any], arguments: Mapping[str, object]
) -> dict[str, Any] | None:
    """Return the fields of an error for a document that only proposals have; None for any other error."""
    if error.get("code") not in _MISSING_DOCUMENT_CODES or "moved_to" in error or _names_version(arguments):
        return None
    addresses = (arguments.get(name) for name in ("file", "path", "chunk_id", "file_path"))
    address = next((value for value in addresses if isinstance(value, str)), "")
    ids = documents.find_proposals(address.partition("#")[0].strip("/"))
    if not ids:
        return None
    return {
        "fix": f"The document is in the proposal {ids[0]}: send the call with '{field}': '{ids[0]}'.",
        "proposals": ids,
    }


def _correct_fields(
    arguments: Mapping[str, object], file_field: str, slug_field: str | None, location: Location
) -> Mapping[str, object]:
    """Return the arguments of a call with the new address in one or two fields."""
    if slug_field not in (None, "slug") and location.file != arguments[file_field]:
        return arguments  # the section of the operation is still in the other file
    if location.slug is None:
        return {**arguments, file_field: location.file}
    other_fields = {name: value for name, value in arguments.items() if name != file_field}
    return {
        **other_fields,
        "file" if file_field == "path" else file_field: location.file,
        slug_field or "slug": location.slug,
    }
