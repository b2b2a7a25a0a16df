"""Checkboxes that renderers do not show as tasks, and wrong ids, fields and dependencies of tasks.

A task is a list item that begins with `[ ]` or `[x]`, white space, and text (GitHub Flavored Markdown
0.29 §5.3).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from workspace.document.splices import Splice
from workspace.document.tasks import FIELD_LINE, LIST_FIELDS
from workspace.markdown.lines import LIST_MARKER_BYTES
from workspace.task_graph import TaskLocation, find_circle, find_task, format_circle, list_references
from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext

_ANY_BOX = re.compile(rb"\[[ \t]{0,3}[xX]?[ \t]{0,3}\]")
_BOX = re.compile(
    rb"^[ \t>]*%b(?P<gap>[ \t]*)(?P<box>%b)(?P<after>[^\r\n]*)" % (LIST_MARKER_BYTES, _ANY_BOX.pattern),
    re.MULTILINE,
)
_MAX_SHOWN_CHARACTERS = 200
_MAX_SEARCHED_TASKS = 1_000
"""The number of tasks that are searched for a circle, so that a long chain is checked in linear time."""

_CHECKBOXES = (b"[ ]", b"[x]", b"[X]")
# The characters that follow the brackets in a link, a reference, a definition or a footnote.
_LINK_CONTINUATIONS = (b"(", b"[", b":")
_FIELD = re.compile(rb"^[ \t>]+" + FIELD_LINE.encode(), re.IGNORECASE | re.MULTILINE)


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    data, body_start = context.data, context.document.front_matter_end
    if not _ANY_BOX.search(data):
        return
    for match in _BOX.finditer(data, body_start):
        byte_finding = _check_box(match)
        if byte_finding and not context.is_literal(byte_finding.start):
            yield byte_finding
    yield from _find_repeated_fields(context)
    yield from _find_repeated_ids(context)
    yield from _find_claims_without_time(context)
    yield from _find_wrong_dependencies(context)


def _check_box(match: re.Match[bytes]) -> ByteFinding | None:
    box, text_after = match["box"], match["after"]
    start, end = match.span("box")
    if text_after.startswith(_LINK_CONTINUATIONS):
        return None
    if box not in _CHECKBOXES:
        checkbox = b"[x]" if box.strip(b"[] \t") else b"[ ]"
        shown_box = box.decode().replace("\t", " ")
        fix = (Splice(start, end, checkbox),) if match["gap"] and text_after[:1] in (b" ", b"\t") else ()
        return ByteFinding(
            start,
            end,
            f"'{shown_box}' is not a checkbox, so this is not a task",
            f"Write {checkbox.decode()}.",
            fix,
        )
    if not match["gap"]:
        return ByteFinding(
            start, end, "no space before the checkbox, so this is not a list item", "Write - [ ] with spaces."
        )
    if not text_after.strip():
        return ByteFinding(
            start, end, "the checkbox has no text, so this is not a task", "Write the text of the task."
        )
    if text_after[:1] not in (b" ", b"\t"):
        fix = (Splice(end, end, b" "),) if box == b"[ ]" else ()
        return ByteFinding(
            start,
            end,
            "no space after the checkbox, so this is not a task",
            "Write a space after the checkbox.",
            fix,
        )
    return None


def _find_repeated_fields(context: RuleContext) -> Iterator[ByteFinding]:
    """Yield the fields that a task has twice: the last one counts, and the others are ignored."""
    name_counts = Counter(name.lower() for name in _FIELD.findall(context.data))
    if not any(count > 1 for count in name_counts.values()):
        return
    for task in context.document.all_tasks:
        field_names: set[str] = set()
        for field in task.fields:
            if field.name in field_names and field.name not in LIST_FIELDS:
                yield ByteFinding(
                    field.start,
                    field.end,
                    f"the task has the field '{field.name}' twice, and the last one counts",
                    "Keep one of them.",
                )
            field_names.add(field.name)


def _find_repeated_ids(context: RuleContext) -> Iterator[ByteFinding]:
    """Yield the tasks whose id another task, or a section, of the document has."""
    ids = {section.anchor for section in context.document.sections}
    for task in context.document.all_tasks:
        if task.id is not None and task.id in ids:
            yield ByteFinding(
                task.title_start,
                task.title_end,
                f"the id '{task.id}' is used twice in this document, so a dependency may name the wrong task",
                "Give the task another id.",
            )
        ids.add(task.id)


def _find_claims_without_time(context: RuleContext) -> Iterator[ByteFinding]:
    """Yield the claims that never expire, because their time is missing or invalid."""
    for task in context.document.all_tasks:
        if task.claim is not None and task.claim.until is None:
            field = next(field for field in reversed(task.fields) if field.name == "claimed by")
            yield ByteFinding(
                field.value_start,
                field.value_end,
                "the claim has no valid time, so it never expires",
                "Write Claimed by: name until 2026-12-31T12:00Z, in UTC.",
            )


def _find_wrong_dependencies(context: RuleContext) -> Iterator[ByteFinding]:
    """Yield the dependencies that name no task, and those by which a task waits for itself."""
    document, find_document = context.document, context.file_tree.document
    for section in document.sections:
        for task in document.tasks(section):
            location = TaskLocation(document.path, section, task)
            for field in task.fields:
                if field.name != "depends on":
                    continue
                for reference in list_references(document.path, field.list_entries()):
                    if find_task(find_document, reference) is None:
                        message = (
                            f"the task depends on '{reference[:_MAX_SHOWN_CHARACTERS]}', which is no task"
                        )
                        fix = "Write path#id, and {#id} at the end of that task's title."
                    elif circle := find_circle(find_document, location, [reference], _MAX_SEARCHED_TASKS):
                        message = f"the task waits for itself: {format_circle(circle)}"
                        fix = "Remove a dependency of the circle."
                    else:
                        continue
                    yield ByteFinding(field.value_start, field.value_end, message, fix)


RULE = Rule(
    "malformed-task",
    Severity.WARNING,
    "A checkbox is not a task, or a field of a task is wrong.",
    _find_problems,
)
