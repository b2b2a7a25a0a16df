"""Conflicts of a proposal with its target: names, data and a page.

At the command line conflicts are decided by names, or by a file with the decisions.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from docyard.cli.proposals.changes import Paper, StyledText
from docyard.proposals.conflicts import ConflictSet, decode, format_version
from docyard.terminal import console
from docyard.terminal.exits import CannotError, Exit
from docyard.wording import format_count, join_words
from workspace.merge.conflict import Resolution, ResolutionChoice, UnitId, UnitKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workspace.merge.conflict import UnitId
    from workspace.merge.trees import FileConflict
    from workspace.proposals.proposal import Proposal


_LINES = 12  # of each version
_NAMED = 4  # conflicts in an example, else files
_LONGEST = 2_000  # characters of a version that a page shows


def format_conflict_name(path: str, unit: UnitId) -> str:
    """Return the name of a conflict: `text:guide.md#retries`, `document:guide.md`."""
    where = f"#{unit.where}" if unit.where else ""
    part = f"~{unit.part}" if unit.part else ""
    return f"{unit.kind}:{path}{where}{part}"


def conflicts_to_data(proposal: Proposal, found: ConflictSet) -> dict[str, Any]:
    """Return the conflicts as data. With each `choice` filled in, it decides them at these commits."""
    return {
        "proposal": proposal.id,
        "ours": proposal.content.branch,
        "theirs": proposal.content.target,
        "commit": found.commit,
        "target_commit": found.target_commit,
        "conflicts": list(map(conflict_to_data, found.conflicts)),
    }


def conflict_to_data(found: FileConflict) -> dict[str, Any]:
    """Return a conflict as data, with a `choice` to fill in."""
    path, conflict = found
    unit = conflict.unit
    return {
        "name": format_conflict_name(path, unit),
        "file": path,
        "kind": unit.kind.value,
        "where": unit.where,
        "part": unit.part,
        "base": decode(conflict.base),
        "ours": decode(conflict.ours),
        "theirs": decode(conflict.theirs),
        "choice": None,
    }


def report_conflicts(
    proposal: Proposal, found: ConflictSet, *, as_json: bool, decided: Sequence[str] = ()
) -> int:
    """Print the conflicts as data or as a page; return the exit code, 1 if there is one.

    `decided` are options that decided other conflicts. They are not stored, so the next command repeats them.
    """
    if as_json:
        console.print_json(conflicts_to_data(proposal, found))
    else:
        print_conflicts(proposal, found.conflicts, decided)
    return Exit.PROBLEMS if found.conflicts else Exit.DONE


def print_conflicts(proposal: Proposal, found: Sequence[FileConflict], decided: Sequence[str] = ()) -> None:
    """Print the conflicts, each with its versions, and how to decide them."""
    paper = Paper()
    id, target = proposal.id, proposal.content.target
    if not found:
        paper.line(f"Proposal {id} has no conflict with {target}.")
        return
    paper.line(f"{format_count(len(found), 'conflict')} of proposal {id} with {target}; nothing was merged.")
    for path, conflict in found:
        paper.head(format_conflict_name(path, conflict.unit))
        for label, version, style in (
            ("base", conflict.base, "dim"),
            ("ours", conflict.ours, "green"),
            ("theirs", conflict.theirs, "cyan"),
        ):
            _print_version(
                paper, label, format_version(conflict.unit, version), style, is_there=version is not None
            )
    paper.blank()
    once = " all of them in one command" if len(found) > 1 else ""
    paper.line(
        f"ours is the proposal, theirs is {target}. Decide{once or ' it'} for one of the two, such as:"
    )
    sides = [" --ours", " --theirs"]
    names = [shlex.quote(format_conflict_name(path, conflict.unit)) for path, conflict in found[:_NAMED]]
    if len(found) > _NAMED:
        names = [shlex.quote(path) for path in dict.fromkeys(path for path, _ in found)]
    choices = "".join(f"{sides[place % 2]} {name}" for place, name in enumerate(names[:_NAMED]))
    more = " …" if len(names) > _NAMED else ""
    before = "".join(f" {shlex.quote(word)}" for word in decided)
    paper.command(f"docyard proposals refresh {id}{before}{choices}{more}", indent=2)
    paper.line("or, also by new content, in a file:")
    paper.command(f"docyard proposals conflicts {id} --json > decisions.json", indent=2)
    paper.command(f"docyard proposals refresh {id} --resolve decisions.json", indent=2)


def _print_version(paper: Paper, label: str, text: str, style: str, *, is_there: bool) -> None:
    paper.line(StyledText(label, "bold"), indent=2)
    if not is_there:
        paper.line(StyledText("(not there)", "dim"), indent=4)
    else:
        cut = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
        paper.text(cut, indent=4, most=_LINES, style=style)


Decisions = dict[str, dict[UnitId, Resolution]]
"""Decisions on conflicts: by path, and within a document by unit."""

_LISTED = 3
_VERSIONS = ("base", "ours", "theirs")
_FORM = "`docyard proposals conflicts ID --json` prints the form."


def resolve_choices(
    conflicts: Sequence[FileConflict],
    given: Mapping[str, Mapping[UnitId, Resolution]],
    ours: Sequence[str],
    theirs: Sequence[str],
) -> Decisions:
    """Return the given decisions and those by name: of a conflict, a section, or a file.

    Raises click.UsageError for a name without a conflict, and for a conflict that is decided for both sides.
    """
    found: Decisions = {path: dict(units) for path, units in given.items()}
    chosen: dict[tuple[str, UnitId], ResolutionChoice] = {}
    for names, choice in ((ours, ResolutionChoice.OURS), (theirs, ResolutionChoice.THEIRS)):
        for name in names:
            for path, unit in _find_units(name, conflicts):
                if chosen.setdefault((path, unit), choice) is not choice:
                    raise click.UsageError(f"{format_conflict_name(path, unit)} has decisions for both sides")
                found.setdefault(path, {})[unit] = Resolution(choice)
    return found


def parse_decisions(text: str) -> Decisions:
    """Return the decisions under `conflicts` of a JSON or TOML text; those without a `choice` are left out.

    Raises CannotError for a text of another form.
    """
    found: Decisions = {}
    for number, entry in enumerate(_parse_entries(text), 1):
        if entry.get("choice") is not None:
            path, unit, resolution = _parse_decision(number, entry)
            found.setdefault(path, {})[unit] = resolution
    return found


def parse_seen_commits(text: str) -> tuple[str | None, str | None]:
    """Return the commits of the proposal and of its target that the text names."""
    data = _parse_text(text)
    named = (data.get(key) if isinstance(data, dict) else None for key in ("commit", "target_commit"))
    commit, target = (one.strip().lower() or None if isinstance(one, str) else None for one in named)
    return commit, target


def check_versions(text: str, conflicts: Sequence[FileConflict]) -> None:
    """Raise CannotError for a decision on a version of a conflict that has changed."""
    now = {(found.path, found.conflict.unit): conflict_to_data(found) for found in conflicts}
    for number, entry in enumerate(_parse_entries(text), 1):
        if entry.get("choice") is None:
            continue
        path, unit, _ = _parse_decision(number, entry)
        there = now.get((path, unit), {})
        if any(entry[side] != there[side] for side in _VERSIONS if side in entry and side in there):
            raise CannotError(
                f"decision {number} is for other versions than those in conflict now, so nothing was merged",
                fix="Print the conflicts again, and decide those.",
            )


def _find_units(name: str, conflicts: Sequence[FileConflict]) -> list[tuple[str, UnitId]]:
    """Return the units that a name denotes. Raises click.UsageError for a name without a unit."""
    from tools.errors import escape_invisible

    units = [(path, conflict.unit) for path, conflict in conflicts]
    named = [pair for pair in units if name in _list_names(*pair)]
    if not named:
        from workspace.nearest import find_nearest

        known = [escape_invisible(format_conflict_name(*pair)) for pair in units]
        close = (find_nearest(name, known) or known)[:_LISTED]
        listed = f"there is {join_words(close)}" if close else "the proposal has no conflicts"
        raise click.UsageError(f"no conflict has the name '{name[:200]}'; {listed}")
    return named


def _list_names(path: str, unit: UnitId) -> Iterator[str]:
    """Yield the names of a conflict: its own, its form in a terminal, its file, its address."""
    from tools.errors import escape_invisible

    whole = format_conflict_name(path, unit)
    yield whole
    yield escape_invisible(whole)
    yield path
    if unit.where:
        yield f"{path}#{unit.where}"


def _parse_entries(text: str) -> list[dict[str, Any]]:
    """Return the decisions in a text. Raises CannotError for a text of another form."""
    data = _parse_text(text)
    entries = data.get("conflicts") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise CannotError("the decisions have no list 'conflicts'", fix=_FORM)
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise CannotError(f"decision {number} must be an object", fix=_FORM)
    return entries


def _parse_text(text: str) -> Any:
    from workspace.config.toml import InvalidToml, load_toml

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        # A JSON list and a TOML table both begin with a bracket.
        if text.lstrip().startswith("{"):
            raise CannotError("the decisions are not JSON", fix=_FORM) from error
    try:
        return load_toml(text.encode("utf-8", "replace"))
    except InvalidToml as error:
        reason = f"the decisions are not JSON, and as TOML the file {error.reason}"
        raise CannotError(reason, fix=_FORM) from error


def _parse_decision(number: int, entry: Mapping[str, Any]) -> tuple[str, UnitId, Resolution]:
    path, kind = entry.get("file"), entry.get("kind")
    where, part = entry.get("where") or "", entry.get("part") or ""
    choice, content = entry["choice"], entry.get("content")
    if not all(isinstance(value, str) for value in (path, where, part)) or kind not in [*UnitKind]:
        raise CannotError(
            f"decision {number} does not name a conflict",
            fix=f"Keep 'file', 'kind', 'where' and 'part'. {_FORM}",
        )
    if choice not in [*ResolutionChoice]:
        words = ", ".join(f"'{word}'" for word in ResolutionChoice)
        raise CannotError(
            f"the choice of decision {number} is unknown", fix=f"The choice must be one of {words}."
        )
    if choice == ResolutionChoice.CONTENT and "content" not in entry:
        raise CannotError(
            f"decision {number} has no content",
            fix="Add the field 'content'; \"\" removes the text.",
        )
    if content is not None and not isinstance(content, str):
        raise CannotError(
            f"the content of decision {number} must be a string", fix="Write the content in quotes."
        )
    try:
        data = content.encode() if content and choice == ResolutionChoice.CONTENT else None
    except UnicodeEncodeError as error:
        raise CannotError(f"the content of decision {number} is not valid Unicode", fix=_FORM) from error
    return str(path), UnitId(UnitKind(str(kind)), where, part), Resolution(ResolutionChoice(choice), data)
