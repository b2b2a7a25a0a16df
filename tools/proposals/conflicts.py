"""Conflicts as data, and the same data with a choice as their resolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.arguments import Arguments, InvalidArguments, explain, without_nulls
from workspace.merge.conflict import Resolution, ResolutionChoice, UnitId, UnitKind
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tools.tool import Data
    from workspace.merge.trees import FileConflict

_VERSIONS = ("base", "ours", "theirs")
_MOST = 100
_LONGEST = 20_000  # characters of one version
_EACH = 10  # conflicts that an example decides one by one
CHOICES = tuple(choice.value for choice in ResolutionChoice)


class _Resolution(Arguments):
    """One of the `resolutions`: a conflict as it was shown, and how it is decided.

    Without `kind`, all conflicts of a document, or of a section, are meant that no other one decides.
    """

    file: str
    kind: str | None = None
    where: str = ""
    part: str = ""
    choice: str
    content: str | None = None


def conflicts_data(conflicts: Sequence[FileConflict], room: int) -> Data:
    """Return conflicts as data: `file`, `kind`, `where` and `part` identify one, and its versions follow.

    Texts are shown up to the character budget; a cut one has `truncated`. Conflicts that are left out are
    counted in `more_conflicts`.
    """
    shown: list[Data] = []
    for found in conflicts[:_MOST]:
        data, room = _conflict(found, room)
        shown.append(data)
    more = len(conflicts) - len(shown)
    return {"conflicts": shown, **({"more_conflicts": more} if more > 0 else {})}


def _conflict(found: FileConflict, room: int) -> tuple[Data, int]:
    unit = found.conflict.unit
    data: Data = {"file": found.path, "kind": unit.kind.value, "where": unit.where}
    if unit.part:
        data["part"] = unit.part
    versions: dict[str, bytes | None] = {name: getattr(found.conflict, name) for name in _VERSIONS}
    data |= dict.fromkeys(_VERSIONS)
    there = {name: version for name, version in versions.items() if version is not None}
    # The shortest first: what it leaves is the room of the longer ones, so that none is shown alone.
    for place, name in enumerate(sorted(there, key=lambda name: len(there[name]))):
        version = there[name]
        text = version[: 4 * _LONGEST].decode("utf-8", "replace")
        most = max(0, min(room // (len(there) - place), _LONGEST))
        data[name] = text[:most]
        if len(text) > most or len(version) > 4 * _LONGEST:
            data["truncated"] = True
        room -= min(len(text), most)
    return data, room


def suggest_resolutions(conflicts: Iterable[Data]) -> list[Data]:
    """Return the shortest `resolutions` for conflicts: all choose ours, for the caller to change.

    Of many conflicts, one for each file is returned.
    """
    shown = list(conflicts)
    if len(shown) > _EACH:
        return [{"file": file, "choice": "ours"} for file in dict.fromkeys(data["file"] for data in shown)]
    named = ("file", "kind", "where", "part")
    return [{**{name: data[name] for name in named if name in data}, "choice": "ours"} for data in shown]


def complete_resolutions(items: Sequence[Any], conflicts: Iterable[Data]) -> list[Data]:
    """Return the resolutions of a call, and suggestions for the conflicts that they leave open."""
    rest = suggest_resolutions(conflicts)
    left = {_identify(data) for data in rest}
    given = [{name: value for name, value in item.items() if name not in _SHOWN_ONLY} for item in items]
    return [*(item for item in given if _identify(item) not in left), *rest]


def _identify(data: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(data.get(name) or "") for name in ("file", "kind", "where", "part"))


def read_resolutions(
    items: Sequence[Any], conflicts: Sequence[FileConflict]
) -> Mapping[str, Mapping[UnitId, Resolution]]:
    """Return the resolutions of a call, by file and unit; `conflicts` is what there is to decide.

    Raises InvalidArguments, which names the wrong one.
    """
    found: dict[str, dict[UnitId, Resolution]] = {}
    wide: list[tuple[int, _Resolution, ResolutionChoice]] = []
    for place, item in enumerate(items):
        if not isinstance(item, dict):
            raise _wrong(place, "must be an object")
        fields = {name: value for name, value in without_nulls(item).items() if name not in _SHOWN_ONLY}
        decided = _read(place, fields)
        choice = ResolutionChoice(_known(place, "choice", decided.choice, CHOICES))
        if decided.kind is None:
            wide.append((place, decided, choice))
            continue
        unit = UnitId(UnitKind(_known(place, "kind", decided.kind, _KINDS)), decided.where, decided.part)
        if choice is ResolutionChoice.CONTENT and decided.content is None:
            raise _wrong(place, "has no 'content'", 'Give the text that is to stand there; "" removes it.')
        if choice is not ResolutionChoice.CONTENT and decided.content is not None:
            raise _wrong(place, f"has 'content' and chooses '{choice}'", "Choose 'content', or leave it out.")
        content = decided.content.encode("utf-8", "replace") if decided.content else None
        of_file = found.setdefault(decided.file, {})
        if unit in of_file:
            raise _wrong(place, "decides what another one decides", "Keep one of the two.")
        of_file[unit] = Resolution(choice, content)
    for place, decided, choice in wide:
        _decide_all(place, decided, choice, conflicts, found)
    return found


def _decide_all(
    place: int,
    decided: _Resolution,
    choice: ResolutionChoice,
    conflicts: Sequence[FileConflict],
    found: dict[str, dict[UnitId, Resolution]],
) -> None:
    """Decide what is in conflict in a file, or a section, and not decided yet."""
    if choice is ResolutionChoice.CONTENT:
        raise _wrong(place, "gives content, and does not say for which conflict", "Give 'kind' too.")
    meant = [
        one.conflict.unit
        for one in conflicts
        if one.path == decided.file and decided.where in ("", one.conflict.unit.where)
    ]
    if not meant:
        files = list(dict.fromkeys(one.path for one in conflicts))
        near = find_nearest(decided.file, files) or files[:1]
        fix = f"There is one in '{near[0]}'." if near else "Refresh without resolutions: nothing conflicts."
        raise _wrong(place, "names no conflict", fix)
    for unit in meant:
        found.setdefault(decided.file, {}).setdefault(unit, Resolution(choice))


_KINDS = tuple(kind.value for kind in UnitKind)
_SHOWN_ONLY = frozenset((*_VERSIONS, "name", "truncated"))


def _read(place: int, fields: Mapping[str, object]) -> _Resolution:
    from pydantic import ValidationError

    try:
        return _Resolution.model_validate(fields)
    except ValidationError as error:
        told = explain(error.errors(include_url=False)[0], _Resolution)
        raise _wrong(place, told.message, told.fix) from error


def _known(place: int, field: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        near = find_nearest(value, known)
        fix = f"Did you mean '{near[0]}'?" if near else f"There are {', '.join(known)}."
        raise _wrong(place, f"has an unknown {field} '{value[:50]}'", fix)
    return value


def _wrong(place: int, what: str, fix: str = "Copy the conflict, and add 'choice'.") -> InvalidArguments:
    return InvalidArguments(f"'resolutions[{place}]': {what}", fix=fix, field="resolutions")
