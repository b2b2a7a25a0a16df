"""The decisions that a form holds: for each conflict a side, or words of one's own."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

from workspace.merge.conflict import Choice, Conflict, Resolution, UnitKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.merge.conflict import UnitId
    from workspace.merge.trees_package import FileConflict, Resolutions


class Decided(NamedTuple):
    """What a form says of a conflict: a choice (None: not yet), new words, and a digest of what was shown."""

    choice: Choice | None
    content: str
    seen: str


def conflict_id(path: str, unit: UnitId) -> str:
    """Names a conflict in a form: the same unit of the same file has the same name at all commits."""
    named = "\0".join((path, unit.kind.value, unit.where, unit.part))
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def seen_digest(conflict: Conflict) -> str:
    """A digest of the three versions of a conflict."""
    told = hashlib.sha256()
    for version in (conflict.base, conflict.ours, conflict.theirs):
        told.update(b"-" if version is None else b"+%d\n%b" % (len(version), version))
    return told.hexdigest()[:16]


def read(fields: Mapping[str, str]) -> dict[str, Decided]:
    """The decisions of a form's fields `choice-ID`, `content-ID` and `seen-ID`, by the ids of conflicts."""
    ids = dict.fromkeys(
        name.partition("-")[2] for name in fields if name.startswith(("choice-", "content-", "seen-"))
    )
    return {
        id: Decided(
            _choice(fields.get(f"choice-{id}", "")),
            fields.get(f"content-{id}", ""),
            fields.get(f"seen-{id}", ""),
        )
        for id in ids
    }


def resolutions(conflicts: Sequence[FileConflict], decided: Mapping[str, Decided]) -> Resolutions:
    """What was decided of some conflicts."""
    found: dict[str, dict[UnitId, Resolution]] = {}
    for path, conflict in conflicts:
        one = decided.get(conflict_id(path, conflict.unit))
        if one is not None and one.choice is not None:
            content = _content(conflict, one.content) if one.choice is Choice.CONTENT else None
            found.setdefault(path, {})[conflict.unit] = Resolution(one.choice, content)
    return found


def digest(decided: Mapping[str, Decided]) -> str:
    """What tells whether a form that is sent again with its key asks for the same."""
    said = sorted(
        (id, one.choice, one.content if one.choice is Choice.CONTENT else "") for id, one in decided.items()
    )
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _choice(text: str) -> Choice | None:
    return Choice(text) if text in [*Choice] else None


def _content(conflict: Conflict, text: str) -> bytes | None:
    """New words as bytes; a whole file keeps the line ends that it has, which a browser does not send."""
    if not text:
        return None
    data = text.encode("utf-8", "replace")
    if conflict.unit.kind is UnitKind.DOCUMENT:
        versions = [version for version in (conflict.ours, conflict.theirs, conflict.base) if version]
        if versions and b"\r\n" in versions[0]:
            data = data.replace(b"\n", b"\r\n")
    return data
