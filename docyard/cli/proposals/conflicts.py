"""Conflicts of a proposal with its target: their names, and their output as JSON or as a page.

At the command line a user resolves conflicts by their names, or with a file of decisions.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from docyard.cli.proposals.changes import PagePrinter, StyledText
from docyard.proposals.conflicts import ConflictSet, decode_version, format_version
from docyard.terminal import console, styles
from docyard.terminal.exits import CommandError, Exit
from docyard.terminal.suggested_commands import complete_commands
from docyard.wording import format_count, join_words
from workspace.merge.conflict import Resolution, ResolutionChoice, UnitId, UnitKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workspace.merge.conflict import UnitId
    from workspace.merge.trees import FileConflict
    from workspace.proposals.proposal import Proposal


AUTHORSHIP_WARNING = (
    "Resolving a conflict makes you an author of the proposal, who cannot approve it. To approve it "
    "yourself, ask an agent to resolve the conflicts."
)
"""The warning for a user who is about to resolve conflicts."""

_MAX_VERSION_LINES = 12
_MAX_EXAMPLES = 4  # the example command names conflicts; if there are more of them, it names their files
_MAX_VERSION_CHARS = 2_000


def format_conflict_name(path: str, unit: UnitId) -> str:
    """Return the name of a conflict: `text:guide.md#retries`, `document:guide.md`."""
    location = f"#{unit.where}" if unit.where else ""
    unit_part = f"~{unit.part}" if unit.part else ""
    return f"{unit.kind}:{path}{location}{unit_part}"


def conflicts_to_data(proposal: Proposal, conflict_set: ConflictSet) -> dict[str, Any]:
    """Return the conflicts as data. The user fills in the `choice` fields for `parse_decisions`."""
    return {
        "proposal": proposal.id,
        "ours": proposal.content.branch,
        "theirs": proposal.content.target,
        "commit": conflict_set.commit,
        "target_commit": conflict_set.target_commit,
        "conflicts": list(map(conflict_to_data, conflict_set.conflicts)),
    }


def conflict_to_data(file_conflict: FileConflict) -> dict[str, Any]:
    """Return a conflict as data, with a `choice` to fill in."""
    path, conflict = file_conflict
    unit = conflict.unit
    return {
        "name": format_conflict_name(path, unit),
        "file": path,
        "kind": unit.kind.value,
        "where": unit.where,
        "part": unit.part,
        "base": decode_version(conflict.base),
        "ours": decode_version(conflict.ours),
        "theirs": decode_version(conflict.theirs),
        "choice": None,
    }


def report_conflicts(
    proposal: Proposal, conflict_set: ConflictSet, *, as_json: bool, earlier_options: Sequence[str] = ()
) -> int:
    """Print the conflicts as data or as a page. Return the exit code, which is 1 if there is a conflict.

    `earlier_options` are options that resolved other conflicts. The printed command repeats them, because the
    decisions are not stored.
    """
    if as_json:
        console.print_json(conflicts_to_data(proposal, conflict_set))
    else:
        print_conflicts(proposal, conflict_set.conflicts, earlier_options)
    return Exit.PROBLEMS if conflict_set.conflicts else Exit.DONE


def print_conflicts(
    proposal: Proposal, conflicts: Sequence[FileConflict], earlier_options: Sequence[str] = ()
) -> None:
    """Print the conflicts, each with its versions, and the commands that resolve them."""
    printer = PagePrinter()
    id, target = proposal.id, proposal.content.target
    if not conflicts:
        printer.print_line(f"Proposal {id} has no conflict with {target}.")
        return
    printer.print_line(
        f"{format_count(len(conflicts), 'conflict')} of proposal {id} with {target}; nothing was merged."
    )
    for path, conflict in conflicts:
        printer.print_heading(format_conflict_name(path, conflict.unit))
        for label, version, style in (
            ("base", conflict.base, styles.MUTED),
            ("ours", conflict.ours, styles.OURS),
            ("theirs", conflict.theirs, styles.THEIRS),
        ):
            _print_version(
                printer, label, format_version(conflict.unit, version), style, exists=version is not None
            )
    printer.print_blank_line()
    scope = "all conflicts in one command" if len(conflicts) > 1 else "the conflict"
    printer.print_line(f"ours is the proposal, theirs is {target}. Select a side for {scope}, such as:")
    sides = [" --ours", " --theirs"]
    names = [
        shlex.quote(format_conflict_name(path, conflict.unit)) for path, conflict in conflicts[:_MAX_EXAMPLES]
    ]
    if len(conflicts) > _MAX_EXAMPLES:
        names = [shlex.quote(path) for path in dict.fromkeys(path for path, _ in conflicts)]
    example_options = "".join(
        f"{sides[position % 2]} {name}" for position, name in enumerate(names[:_MAX_EXAMPLES])
    )
    ellipsis = " …" if len(names) > _MAX_EXAMPLES else ""
    earlier_text = "".join(f" {shlex.quote(word)}" for word in earlier_options)
    side_command = f"docyard proposals refresh {id}{earlier_text}{example_options}{ellipsis}"
    printer.print_command(complete_commands(side_command), indent=2)
    printer.print_line("or keep both texts, ours first, with --union;")
    printer.print_line("or write the decisions, which may contain new text, into a file:")
    for file_command in (
        f"docyard proposals conflicts {id} --json > decisions.json",
        f"docyard proposals refresh {id} --resolve decisions.json",
    ):
        printer.print_command(complete_commands(file_command), indent=2)
    printer.print_line(AUTHORSHIP_WARNING)


def _print_version(printer: PagePrinter, label: str, text: str, style: str, *, exists: bool) -> None:
    printer.print_line(StyledText(label, styles.TITLE), indent=2)
    if not exists:
        printer.print_line(StyledText("(does not exist)", styles.MUTED), indent=4)
    else:
        excerpt = text if len(text) <= _MAX_VERSION_CHARS else text[:_MAX_VERSION_CHARS] + "…"
        printer.print_text(excerpt, indent=4, max_lines=_MAX_VERSION_LINES, style=style)


Decisions = dict[str, dict[UnitId, Resolution]]
"""Decisions on conflicts: by path, and within a document by unit."""

_MAX_SUGGESTIONS = 3
_VERSION_FIELDS = ("base", "ours", "theirs")
_TEMPLATE_HINT = "`docyard proposals conflicts ID --json` prints a template."


def resolve_choices(
    conflicts: Sequence[FileConflict],
    decisions: Mapping[str, Mapping[UnitId, Resolution]],
    ours: Sequence[str],
    theirs: Sequence[str],
    union: Sequence[str] = (),
) -> Decisions:
    """Return `decisions` and the decisions for the conflicts that `ours`, `theirs` and `union` name.

    A name may be the name of a conflict, the address of a section, or the path of a file. Raises
    click.UsageError if no conflict has a name, or if a conflict has two decisions.
    """
    all_decisions: Decisions = {path: dict(units) for path, units in decisions.items()}
    choices: dict[tuple[str, UnitId], ResolutionChoice] = {}
    for names, choice in (
        (ours, ResolutionChoice.OURS),
        (theirs, ResolutionChoice.THEIRS),
        (union, ResolutionChoice.UNION),
    ):
        for name in names:
            for path, unit in _find_conflicts(name, conflicts):
                if choices.setdefault((path, unit), choice) is not choice:
                    raise click.UsageError(f"{format_conflict_name(path, unit)} has two decisions")
                all_decisions.setdefault(path, {})[unit] = Resolution(choice)
    return all_decisions


def parse_decisions(text: str) -> Decisions:
    """Return the decisions of a JSON or TOML text: those of a list, or of the field `conflicts`.

    Entries without a `choice` are skipped. Raises CommandError if the text has another structure.
    """
    decisions: Decisions = {}
    for number, entry in enumerate(_parse_entries(text), 1):
        if entry.get("choice") is not None:
            path, unit, resolution = _parse_decision(number, entry)
            decisions.setdefault(path, {})[unit] = resolution
    return decisions


def parse_commits(text: str) -> tuple[str | None, str | None]:
    """Return the commits of the proposal and of its target that the text names; None for a missing field."""
    parsed_text = _parse_text(text)
    values = (
        parsed_text.get(key) if isinstance(parsed_text, dict) else None for key in ("commit", "target_commit")
    )
    commit, target = (value.strip().lower() or None if isinstance(value, str) else None for value in values)
    return commit, target


def check_versions(text: str, conflicts: Sequence[FileConflict]) -> None:
    """Raise CommandError if a decision was made for other versions than the current ones in `conflicts`."""
    current_versions = {
        (file_conflict.path, file_conflict.conflict.unit): conflict_to_data(file_conflict)
        for file_conflict in conflicts
    }
    for number, entry in enumerate(_parse_entries(text), 1):
        if entry.get("choice") is None:
            continue
        path, unit, _ = _parse_decision(number, entry)
        current = current_versions.get((path, unit), {})
        if any(entry[side] != current[side] for side in _VERSION_FIELDS if side in entry and side in current):
            raise CommandError(
                f"decision {number} is for earlier versions of the conflict, so nothing was merged",
                fix="Print the conflicts again, and resolve the current versions.",
            )


def _find_conflicts(name: str, conflicts: Sequence[FileConflict]) -> list[tuple[str, UnitId]]:
    """Return the conflicts with the given name. Raises click.UsageError if no conflict has the name."""
    from workspace.escapes import escape_invisible

    units = [(path, conflict.unit) for path, conflict in conflicts]
    matches = [(path, unit) for path, unit in units if name in _list_names(path, unit)]
    if not matches:
        from workspace.nearest import find_nearest

        names = [escape_invisible(format_conflict_name(path, unit)) for path, unit in units]
        nearest = (find_nearest(name, names) or names)[:_MAX_SUGGESTIONS]
        suggestion = (
            f"the conflicts include {join_words(nearest)}" if nearest else "the proposal has no conflicts"
        )
        raise click.UsageError(f"no conflict has the name '{name[:200]}'; {suggestion}")
    return matches


def _list_names(path: str, unit: UnitId) -> Iterator[str]:
    """Yield the names of a conflict: its full name (also with escaped characters), its file, its address."""
    from workspace.escapes import escape_invisible

    full_name = format_conflict_name(path, unit)
    yield full_name
    yield escape_invisible(full_name)
    yield path
    if unit.where:
        yield f"{path}#{unit.where}"


def _parse_entries(text: str) -> list[dict[str, Any]]:
    """Return the decisions in a text. Raises CommandError if the text has another structure."""
    parsed_text = _parse_text(text)
    entries = parsed_text.get("conflicts") if isinstance(parsed_text, dict) else parsed_text
    if not isinstance(entries, list):
        raise CommandError("the decisions have no list 'conflicts'", fix=_TEMPLATE_HINT)
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise CommandError(f"decision {number} must be an object", fix=_TEMPLATE_HINT)
    return entries


def _parse_text(text: str) -> Any:
    from workspace.config.toml import InvalidToml, load_toml

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        # A JSON list and a TOML table both begin with a bracket.
        if text.lstrip().startswith("{"):
            raise CommandError("the decisions are not JSON", fix=_TEMPLATE_HINT) from error
    try:
        return load_toml(text.encode("utf-8", "replace"))
    except InvalidToml as error:
        reason = f"the decisions are not JSON, and as TOML the file {error.reason}"
        raise CommandError(reason, fix=_TEMPLATE_HINT) from error


def _parse_decision(number: int, entry: Mapping[str, Any]) -> tuple[str, UnitId, Resolution]:
    path, kind = entry.get("file"), entry.get("kind")
    location, unit_part = entry.get("where") or "", entry.get("part") or ""
    choice, content = entry["choice"], entry.get("content")
    if not all(isinstance(value, str) for value in (path, location, unit_part)) or kind not in [*UnitKind]:
        raise CommandError(
            f"decision {number} does not name a conflict",
            fix=f"Keep 'file', 'kind', 'where' and 'part'. {_TEMPLATE_HINT}",
        )
    if choice not in [*ResolutionChoice]:
        words = ", ".join(f"'{word}'" for word in ResolutionChoice)
        raise CommandError(
            f"the choice of decision {number} is unknown", fix=f"The choice must be one of {words}."
        )
    if choice == ResolutionChoice.CONTENT and "content" not in entry:
        raise CommandError(
            f"decision {number} has no content",
            fix="Add the field 'content'; \"\" removes the text.",
        )
    if content is not None and not isinstance(content, str):
        raise CommandError(
            f"the content of decision {number} must be a string", fix="Write the content in quotes."
        )
    try:
        encoded_content = content.encode() if content and choice == ResolutionChoice.CONTENT else None
    except UnicodeEncodeError as error:
        raise CommandError(
            f"the content of decision {number} is not valid Unicode", fix=_TEMPLATE_HINT
        ) from error
    return (
        str(path),
        UnitId(UnitKind(str(kind)), location, unit_part),
        Resolution(ResolutionChoice(choice), encoded_content),
    )
