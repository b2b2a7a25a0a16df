"""How conflicts are decided on the command line: by names, and by a file that was filled in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from docyard.cli.proposals.conflicts import conflict_data, conflict_name
from docyard.cli.proposals.lines import joined
from docyard.terminal.exits import CannotError
from workspace.merge.conflict import Choice, Resolution, UnitId, UnitKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workspace.merge.trees_package import FileConflict

Decisions = dict[str, dict[UnitId, Resolution]]
"""How conflicts are decided: by path, and within a document by unit."""

_LISTED = 3
_VERSIONS = ("base", "ours", "theirs")
_FORM = "`docyard proposals conflicts ID --json` prints the form."


def decided(
    conflicts: Sequence[FileConflict],
    given: Mapping[str, Mapping[UnitId, Resolution]],
    ours: Sequence[str],
    theirs: Sequence[str],
) -> Decisions:
    """What is given, and what names decide: a conflict's own, that of a section, or that of a file.

    Raises click.UsageError for a name of no conflict, and for a conflict that is decided for both sides.
    """
    found: Decisions = {path: dict(units) for path, units in given.items()}
    chosen: dict[tuple[str, UnitId], Choice] = {}
    for names, choice in ((ours, Choice.OURS), (theirs, Choice.THEIRS)):
        for name in names:
            for path, unit in _named(name, conflicts):
                if chosen.setdefault((path, unit), choice) is not choice:
                    raise click.UsageError(f"{conflict_name(path, unit)} is decided for both sides")
                found.setdefault(path, {})[unit] = Resolution(choice)
    return found


def read_decisions(text: str) -> Decisions:
    """The decisions that a JSON or TOML text holds under `conflicts`, less those with no `choice` yet.

    Raises CannotError for a text of another form.
    """
    found: Decisions = {}
    for number, entry in enumerate(_entries(text), 1):
        if entry.get("choice") is not None:
            path, unit, resolution = _decision(number, entry)
            found.setdefault(path, {})[unit] = resolution
    return found


def seen_commits(text: str) -> tuple[str | None, str | None]:
    """The commits of the proposal and of its target that such a text says its conflicts are of."""
    data = _parsed(text)
    named = (data.get(key) if isinstance(data, dict) else None for key in ("commit", "target_commit"))
    commit, target = (one.strip().lower() or None if isinstance(one, str) else None for one in named)
    return commit, target


def check_versions(text: str, conflicts: Sequence[FileConflict]) -> None:
    """Raises CannotError for a decision that shows another version of a conflict than there is now."""
    now = {(found.path, found.conflict.unit): conflict_data(found) for found in conflicts}
    for number, entry in enumerate(_entries(text), 1):
        if entry.get("choice") is None:
            continue
        path, unit, _ = _decision(number, entry)
        there = now.get((path, unit), {})
        if any(entry[side] != there[side] for side in _VERSIONS if side in entry and side in there):
            raise CannotError(
                f"decision {number} is on other words than those in conflict now, so nothing was merged",
                fix="Have the conflicts printed again, and decide those.",
            )


def _named(name: str, conflicts: Sequence[FileConflict]) -> list[tuple[str, UnitId]]:
    """The units that a name means. Raises click.UsageError if there is none."""
    from tools.errors import visible

    units = [(path, conflict.unit) for path, conflict in conflicts]
    meant = [pair for pair in units if name in _names(*pair)]
    if not meant:
        from workspace.document.addresses import nearest

        known = [visible(conflict_name(*pair)) for pair in units]
        close = (nearest(name, known) or known)[:_LISTED]
        listed = f"there is {joined(close)}" if close else "there is none at all"
        raise click.UsageError(f"no conflict is called '{name[:200]}'; {listed}")
    return meant


def _names(path: str, unit: UnitId) -> Iterator[str]:
    """What a conflict can be called: its name, also as a terminal shows it, its address, its file."""
    from tools.errors import visible

    whole = conflict_name(path, unit)
    yield whole
    yield visible(whole)
    yield path
    if unit.where:
        yield f"{path}#{unit.where}"


def _entries(text: str) -> list[dict[str, Any]]:
    """The decisions that a text holds. Raises CannotError for a text of another form."""
    data = _parsed(text)
    entries = data.get("conflicts") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise CannotError("the decisions have no list 'conflicts'", fix=_FORM)
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise CannotError(f"decision {number} is no object", fix=_FORM)
    return entries


def _parsed(text: str) -> Any:
    from workspace.config.toml import InvalidToml, load_toml

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        # A list of JSON and a table of TOML begin alike.
        if text.lstrip().startswith("{"):
            raise CannotError("the decisions are not JSON", fix=_FORM) from error
    try:
        return load_toml(text.encode("utf-8", "replace"))
    except InvalidToml as error:
        reason = f"the decisions are not JSON, and as TOML the file {error.reason}"
        raise CannotError(reason, fix=_FORM) from error


def _decision(number: int, entry: Mapping[str, Any]) -> tuple[str, UnitId, Resolution]:
    path, kind = entry.get("file"), entry.get("kind")
    where, part = entry.get("where") or "", entry.get("part") or ""
    choice, content = entry["choice"], entry.get("content")
    if not all(isinstance(value, str) for value in (path, where, part)) or kind not in [*UnitKind]:
        raise CannotError(f"decision {number} does not name a conflict", fix=f"Keep what is there. {_FORM}")
    if choice not in [*Choice]:
        words = ", ".join(f"'{word}'" for word in Choice)
        raise CannotError(f"the choice of decision {number} is unknown", fix=f"It is one of {words}.")
    if choice == Choice.CONTENT and "content" not in entry:
        raise CannotError(
            f"decision {number} has no content",
            fix="Add it as 'content'; \"\" removes what is there.",
        )
    if content is not None and not isinstance(content, str):
        raise CannotError(f"the content of decision {number} is no text", fix="Write it as a string.")
    try:
        data = content.encode() if content and choice == Choice.CONTENT else None
    except UnicodeEncodeError as error:
        raise CannotError(f"the content of decision {number} is not valid Unicode", fix=_FORM) from error
    return str(path), UnitId(UnitKind(str(kind)), where, part), Resolution(Choice(choice), data)
