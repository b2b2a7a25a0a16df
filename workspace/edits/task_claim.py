"""The operation by which somebody claims a task: at most one claim of a task is valid at a time.

A claim is the field `Claimed by: name until time`. Its holder proves it by a secret, which is computed from
the field and a key, so that nothing secret is stored.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import resolve_task
from workspace.document.splices import Edit, EditContext, StructureChanged
from workspace.document.tasks import Claim
from workspace.edits.content import InvalidContent
from workspace.edits.operation import DocumentOperation, Outcome
from workspace.edits.task_text import add_id, build_task_result, check_field_value, write_fields
from workspace.errors import WorkspaceError
from workspace.paths import check_path
from workspace.task_graph import TaskLocation, list_missing, list_requirements

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.snapshot.overlay import Overlay

_SECRET_BYTES = 15
_MAX_NAME_CHARACTERS = 100
_MAX_LISTED_TASKS = 10


class TaskClaimed(WorkspaceError):
    """An error: somebody else holds the task. `claimed_by` and `until` are those of the valid claim."""

    code = "TASK_CLAIMED"


class TaskNotReady(WorkspaceError):
    """An error: the task is done, blocked, or waits for the tasks in `waits_for`."""

    code = "TASK_NOT_READY"


class ClaimAction(StrEnum):
    """A change of a claim."""

    CLAIM = "claim"
    RENEW = "renew"
    RELEASE = "release"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTask(DocumentOperation):
    """The claim of a task until a time, its renewal, or its release.

    `claimant` is the name of a new claim, and `secret` proves an earlier one. `key` is the key of secrets,
    and `old_keys` are those before a rotation, with which earlier secrets were made.
    """

    name: ClassVar[str] = "claim_task"
    targets_task: ClassVar[bool | None] = True

    file: str
    slug: str
    action: ClaimAction
    time: datetime
    until: datetime
    claimant: str = ""
    secret: str = ""
    key: bytes = field(repr=False)
    old_keys: tuple[bytes, ...] = field(default=(), repr=False)

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Write or remove the claim. Raises the errors of `locate` and `make_edit`."""
        self.locate(overlay)
        return DocumentOperation.apply(self, overlay, context)

    def locate(self, overlay: Overlay) -> TaskLocation:
        """Return the task; for a new claim, raise TaskNotReady unless the task is ready.

        Raises the errors of `Overlay.document` and `resolve_task`.
        """
        path = check_path(self.file)
        location = TaskLocation(path, *resolve_task(overlay.document(path), self.slug))
        if self.action is ClaimAction.CLAIM:
            _check_ready(overlay, location)
        return location

    def compute_claim(self, location: TaskLocation, claim: Claim | None) -> Claim | None:
        """Return the claim after the operation, None after a release; `claim` is the current one.

        Raises TaskClaimed, and InvalidContent for the claimant's name.
        """
        is_holder = claim is not None and self._proves(location, claim)
        if claim is not None and not is_holder and claim.is_valid_at(self.time):
            raise _make_claimed_error(location.address, claim)
        if self.action is not ClaimAction.CLAIM and not is_holder:
            raise TaskClaimed(
                f"this secret proves no claim of '{location.address}': it expired, was released or was "
                "replaced",
                fix="Claim the task again, if it is still ready.",
            )
        if self.action is ClaimAction.RELEASE:
            return None
        return Claim(claim.name if claim is not None and is_holder else self._read_claimant(), self.until)

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit. Raises the errors of `compute_claim` and `resolve_task`."""
        section, task = resolve_task(document, self.slug)
        location = TaskLocation(document.path, section, task)
        new_claim = self.compute_claim(location, task.claim)
        result = build_task_result(section, task)
        summary = f"{self.action.value.capitalize()} task {location.address} of {document.path}"
        field_splices = write_fields(document, task, [("Claimed by", str(new_claim or ""))])
        if new_claim is None:
            return Edit(tuple(field_splices), {**result, "released": True}, summary)
        id, splices = task.id, field_splices
        if id is None:
            id, id_splice = add_id(document, task)
            # The first field may begin where the id is inserted.
            splices = [id_splice, *field_splices]
        return Edit(tuple(splices), {**result, "id": id, "claimed_by": str(new_claim)}, summary)

    def revise(self, document: Document, context: EditContext) -> tuple[Document, Edit]:
        """Return the edited document and the edit. Raises the errors of `make_edit`, and StructureChanged."""
        new_document, edit = DocumentOperation.revise(self, document, context)
        _, task = resolve_task(new_document, str(edit.result["task"]))
        if (task.claim and str(task.claim)) != edit.result.get("claimed_by") or (
            "id" in edit.result and task.id != edit.result["id"]
        ):
            raise StructureChanged(
                f"after this edit '{edit.result['task']}' of {document.path} would not have the claim",
                fix="Use a name in plain words, and close every code fence and comment in the list.",
            )
        return new_document, edit

    def _read_claimant(self) -> str:
        name = check_field_value("Claimed by", self.claimant)
        if not name or len(name) > _MAX_NAME_CHARACTERS:
            problem = f"must have 1 to {_MAX_NAME_CHARACTERS} characters ({len(name)})"
        elif "until" in name.casefold().split():
            problem = "must not contain the word 'until', which precedes the time of a claim"
        elif not name.isprintable():
            character = next(character for character in name if not character.isprintable())
            problem = f"must not contain an invisible character (U+{ord(character):04X})"
        else:
            return name
        raise InvalidContent(
            f"the claimant's name {problem}",
            fix="Set 'name' to your name, such as the name of the agent and a number.",
        )

    def _proves(self, location: TaskLocation, claim: Claim) -> bool:
        id = location.task.id
        if not self.secret or id is None:
            return False
        secret = self.secret.encode("utf-8", "replace")
        return any(
            hmac.compare_digest(make_claim_secret(key, id, str(claim)).encode(), secret)
            for key in (self.key, *self.old_keys)
        )


def make_claim_secret(key: bytes, id: str, claim: str) -> str:
    """Return the secret that proves a claim, which is given as in its field.

    The path of the document is not part of the secret, so that the holder of a task that moved keeps it.
    """
    message = "\0".join(["claim", id, claim]).encode("utf-8", "surrogatepass")
    digest = hmac.digest(key, message, hashlib.sha256)
    return base64.b32encode(digest[:_SECRET_BYTES]).decode().lower()


def _make_claimed_error(address: str, claim: Claim) -> TaskClaimed:
    until = claim.until
    return TaskClaimed(
        f"'{address}' is claimed by {claim}",
        fix="Claim another task that is ready."
        + (f" The claim expires at {str(claim).rpartition(' ')[2]}." if until is not None else ""),
        claimed_by=claim.name,
        until=str(claim).rpartition(" ")[2] if until is not None else None,
    )


def _check_ready(overlay: Overlay, location: TaskLocation) -> None:
    """Raise TaskNotReady for a task that is done, blocked, or waits for other tasks."""
    task = location.task
    if task.is_done:
        raise TaskNotReady(f"'{location.address}' is done already", fix="Claim another task that is ready.")
    if reason := task.field("blocked"):
        raise TaskNotReady(
            f"'{location.address}' is blocked: {reason}",
            fix="Claim another task that is ready.",
            blocked=reason,
        )
    waits_for = [
        item.reference for item in list_requirements(overlay.find, location) if not item.task.is_done
    ]
    waits_for += list_missing(overlay.find, location)
    if waits_for:
        raise TaskNotReady(
            f"'{location.address}' waits for {', '.join(waits_for[:_MAX_LISTED_TASKS])}",
            fix="Claim one of these tasks, or another one that is ready.",
            waits_for=waits_for[:_MAX_LISTED_TASKS],
        )
