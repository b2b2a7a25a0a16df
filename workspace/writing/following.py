"""What follows an operation: links are mended, and its answer says which, and what leads nowhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document
    from workspace.edits import Operation, Outcome
    from workspace.links.inbound import Inbound
    from workspace.links.updates import Relinked
    from workspace.snapshot.overlay import Overlay

MOST_TOLD = 100
"""Files and links that an answer lists at most."""
_NAMED = 3


def follow(
    operation: Operation, outcome: Outcome, before: Overlay, after: Overlay, inbound: Inbound | None
) -> tuple[Outcome, Sequence[tuple[Document, Document]]]:
    """Mends the links in `after`, which an operation made of `before`.

    Answers with what the operation tells by then, and the documents whose texts are elsewhere, or have other
    links: as they were and as they are.
    """
    survival = outcome.survival
    if survival is None:
        return outcome, ()
    # Imported here because a server answers its first questions without looking at links.
    from workspace.links.inbound import ScannedInbound
    from workspace.links.updates import relink
    from workspace.links.warnings import doubts

    doubted = doubts(before, after, survival)
    moved = [
        (before.document(path), after.document(now))
        for path, now in survival.documents.items()
        if now is not None and now != path
    ]
    relinked = relink(before, after, survival, inbound or ScannedInbound())
    answer = {**outcome.answer, **_told(relinked, always=operation.tells_links)}
    if relinked.anchored:
        known = answer.get("anchors_added")
        answer["anchors_added"] = [*(known if isinstance(known, list) else ()), *relinked.anchored]
    hints = (*outcome.hints, *_hints(relinked))
    return replace(outcome, answer=answer, hints=hints, doubts=doubted), (*moved, *relinked.revised)


def warned(outcome: Outcome, overlay: Overlay) -> Outcome:
    """An outcome with its warnings, when the whole batch has run."""
    if not outcome.doubts:
        return outcome
    from workspace.links.warnings import warnings

    return replace(outcome, hints=(*outcome.hints, *warnings(overlay, outcome.doubts)))


def _told(relinked: Relinked, *, always: bool) -> dict[str, object]:
    told: dict[str, object] = {}
    if always or relinked.files:
        told["links_rewritten"] = relinked.total
        told["files_rewritten"] = sorted(relinked.files)[:MOST_TOLD]
    if relinked.broken:
        told["broken_links"] = [link._asdict() for link in relinked.broken[:MOST_TOLD]]
        told["broken_links_total"] = len(relinked.broken)
    return told


def _hints(relinked: Relinked) -> list[str]:
    hints: list[str] = []
    if relinked.left:
        where = _named([f"{link.file} line {link.line}" for link in relinked.left])
        hints.append(f"links that would have to be written anew were left as they were: {where}")
    if relinked.unread:
        hints.append(f"too large to be read, so links there stay as they were: {_named(relinked.unread)}")
    return hints


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
