"""Conflicts as data, and the parser of resolutions. A resolution is the data of a conflict with a choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.arguments import Arguments, InvalidArguments, make_field_error, remove_nulls
from workspace.merge.conflict import Resolution, ResolutionChoice, UnitId, UnitKind
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tools.tool import Data
    from workspace.merge.trees import FileConflict

_VERSIONS = ("base", "ours", "theirs")
_MAX_CONFLICTS = 100
_MAX_VERSION_CHARACTERS = 20_000  # of one version
_MAX_SINGLE_RESOLUTIONS = 10  # an example with more conflicts has one resolution for each file
CHOICES = tuple(choice.value for choice in ResolutionChoice)


class _Resolution(Arguments):
    """One of the `resolutions`: the fields of a shown conflict, and a choice.

    A resolution without `kind` resolves all conflicts of a document or section that no other resolution
    names.
    """

    file: str
    kind: str | None = None
    where: str = ""
    part: str = ""
    choice: str
    content: str | None = None


def describe_conflicts(conflicts: Sequence[FileConflict], max_characters: int) -> Data:
    """Return conflicts as data: `file`, `kind`, `where` and `part` identify one, and its versions follow.

    Texts are shown up to a limit of characters; a conflict with a cut text has `truncated`.
    `more_conflicts` counts the omitted conflicts.
    """
    entries: list[Data] = []
    for file_conflict in conflicts[:_MAX_CONFLICTS]:
        data, max_characters = _describe_conflict(file_conflict, max_characters)
        entries.append(data)
    omitted_count = len(conflicts) - len(entries)
    return {"conflicts": entries, **({"more_conflicts": omitted_count} if omitted_count > 0 else {})}


def _describe_conflict(file_conflict: FileConflict, max_characters: int) -> tuple[Data, int]:
    unit = file_conflict.conflict.unit
    data: Data = {"file": file_conflict.path, "kind": unit.kind.value, "where": unit.where}
    if unit.part:
        data["part"] = unit.part
    versions: dict[str, bytes | None] = {name: getattr(file_conflict.conflict, name) for name in _VERSIONS}
    data |= dict.fromkeys(_VERSIONS)
    existing_versions = {name: version for name, version in versions.items() if version is not None}
    # The shortest version first: the longer ones share the rest of the budget, so that all are shown.
    for index, name in enumerate(sorted(existing_versions, key=lambda name: len(existing_versions[name]))):
        version = existing_versions[name]
        text = version[: 4 * _MAX_VERSION_CHARACTERS].decode("utf-8", "replace")
        limit = max(0, min(max_characters // (len(existing_versions) - index), _MAX_VERSION_CHARACTERS))
        data[name] = text[:limit]
        if len(text) > limit or len(version) > 4 * _MAX_VERSION_CHARACTERS:
            data["truncated"] = True
        max_characters -= min(len(text), limit)
    return data, max_characters


def suggest_resolutions(conflicts: Iterable[Data]) -> list[Data]:
    """Return `resolutions` for conflicts, all with the choice ours, for the caller to change.

    For many conflicts the result has one resolution for each file.
    """
    entries = list(conflicts)
    if len(entries) > _MAX_SINGLE_RESOLUTIONS:
        return [{"file": file, "choice": "ours"} for file in dict.fromkeys(data["file"] for data in entries)]
    id_fields = ("file", "kind", "where", "part")
    return [
        {**{name: data[name] for name in id_fields if name in data}, "choice": "ours"} for data in entries
    ]


def complete_resolutions(items: Sequence[Any], conflicts: Iterable[Data]) -> list[Data]:
    """Return the resolutions of a call, and suggestions for the remaining conflicts."""
    suggestions = suggest_resolutions(conflicts)
    suggested_ids = {_identify(data) for data in suggestions}
    resolutions = [
        {name: value for name, value in item.items() if name not in _IGNORED_FIELDS} for item in items
    ]
    return [*(item for item in resolutions if _identify(item) not in suggested_ids), *suggestions]


def _identify(data: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(data.get(name) or "") for name in ("file", "kind", "where", "part"))


def read_resolutions(
    items: Sequence[Any], conflicts: Sequence[FileConflict]
) -> Mapping[str, Mapping[UnitId, Resolution]]:
    """Return the resolutions of a call, by file and unit; `conflicts` are the conflicts to resolve.

    Raises InvalidArguments with the index of the invalid resolution.
    """
    resolutions: dict[str, dict[UnitId, Resolution]] = {}
    general_resolutions: list[tuple[int, _Resolution, ResolutionChoice]] = []
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise _build_resolution_error(index, "must be an object")
        fields = {name: value for name, value in remove_nulls(item).items() if name not in _IGNORED_FIELDS}
        item_resolution = _parse_resolution(index, fields)
        choice = ResolutionChoice(_check_value(index, "choice", item_resolution.choice, CHOICES))
        if item_resolution.kind is None:
            general_resolutions.append((index, item_resolution, choice))
            continue
        unit = UnitId(
            UnitKind(_check_value(index, "kind", item_resolution.kind, _KINDS)),
            item_resolution.where,
            item_resolution.part,
        )
        if choice is ResolutionChoice.CONTENT and item_resolution.content is None:
            raise _build_resolution_error(
                index, "must have 'content'", "Give the new text as 'content'; \"\" removes the part."
            )
        if choice is not ResolutionChoice.CONTENT and item_resolution.content is not None:
            raise _build_resolution_error(
                index,
                f"must not have 'content' with choice '{choice}'",
                "Set 'choice' to 'content', or omit 'content'.",
            )
        content = item_resolution.content.encode("utf-8", "replace") if item_resolution.content else None
        file_resolutions = resolutions.setdefault(item_resolution.file, {})
        if unit in file_resolutions:
            raise _build_resolution_error(
                index, "names the same conflict as another resolution", "Remove one of the two."
            )
        file_resolutions[unit] = Resolution(choice, content)
    for index, item_resolution, choice in general_resolutions:
        _add_general_resolution(index, item_resolution, choice, conflicts, resolutions)
    return resolutions


def _add_general_resolution(
    index: int,
    resolution: _Resolution,
    choice: ResolutionChoice,
    conflicts: Sequence[FileConflict],
    resolutions: dict[str, dict[UnitId, Resolution]],
) -> None:
    """Add a resolution for each unresolved conflict of a file or section."""
    if choice is ResolutionChoice.CONTENT:
        raise _build_resolution_error(
            index, "must have 'kind' if its choice is 'content'", "Give 'kind' too."
        )
    units = [
        file_conflict.conflict.unit
        for file_conflict in conflicts
        if file_conflict.path == resolution.file
        and resolution.where in ("", file_conflict.conflict.unit.where)
    ]
    if not units:
        files = list(dict.fromkeys(file_conflict.path for file_conflict in conflicts))
        nearest = find_nearest(resolution.file, files) or files[:1]
        fix = (
            f"There is a conflict in '{nearest[0]}'."
            if nearest
            else "Refresh without resolutions: there are no conflicts."
        )
        raise _build_resolution_error(index, "names a conflict that does not exist", fix)
    for unit in units:
        resolutions.setdefault(resolution.file, {}).setdefault(unit, Resolution(choice))


_KINDS = tuple(kind.value for kind in UnitKind)
_IGNORED_FIELDS = frozenset((*_VERSIONS, "name", "truncated"))


def _parse_resolution(index: int, fields: Mapping[str, object]) -> _Resolution:
    from pydantic import ValidationError

    try:
        return _Resolution.model_validate(fields)
    except ValidationError as error:
        explanation = make_field_error(error.errors(include_url=False)[0], _Resolution)
        raise _build_resolution_error(index, explanation.message, explanation.fix) from error


def _check_value(index: int, field: str, value: str, valid_values: Sequence[str]) -> str:
    if value not in valid_values:
        nearest = find_nearest(value, valid_values)
        fix = f"Did you mean '{nearest[0]}'?" if nearest else f"Use one of {', '.join(valid_values)}."
        raise _build_resolution_error(index, f"has an unknown {field} '{value[:50]}'", fix)
    return value


def _build_resolution_error(
    index: int, problem: str, fix: str = "Copy the conflict, and add 'choice'."
) -> InvalidArguments:
    return InvalidArguments(f"'resolutions[{index}]': {problem}", fix=fix, field="resolutions")
