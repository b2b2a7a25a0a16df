"""New content for a conflict replaces the unit, whatever its line endings are."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.loops import loop_over
from workspace.document.document import Document
from workspace.merge.conflict import (
    InvalidResolution,
    MergedDocument,
    Resolution,
    ResolutionChoice,
    UnitId,
    UnitKind,
)
from workspace.merge.documents import merge_documents

BASE = """---
owner: x
tags: [a]
---
# Guide

## Setup

First words.

Second words.

- an apple
- a pear

## Tasks

- [ ] Water
  - Criteria: wet
- [ ] Soil

## End

Last words."""

# For each unit in conflict: its text in the base, in ours and in theirs, and the content of the resolution.
CONFLICTS = {
    UnitId(UnitKind.METADATA, "owner"): ("owner: x", "owner: y", "owner: z", "owner: both"),
    UnitId(UnitKind.HEADING, "setup"): ("## Setup", "## Start", "## Begin", "## Before"),
    UnitId(UnitKind.TEXT, "setup", "1"): ("Second words.", "Mine.", "Yours.", "Ours now.\n\nBoth."),
    UnitId(UnitKind.TEXT, "setup", "2"): ("- an apple", "- my apple", "- your apple", "- apple\n- fig"),
    UnitId(UnitKind.TASK, "tasks[0]"): ("Water", "Rain", "Snow", "- [x] Wet\n  - Criteria: wet\n- [ ] Sun"),
    UnitId(UnitKind.TEXT, "end"): ("Last words.", "My words.", "Your words.", "Both words.\n\n- one"),
}


def merge_replacements(
    base_text: str,
    ours_text: str,
    theirs_text: str,
    resolutions: Mapping[UnitId, Resolution],
    *,
    ending: str,
    last_ending: str,
) -> MergedDocument:
    """Merge two versions of `BASE`, in which the text of each side replaces `base_text`."""
    texts = (BASE, BASE.replace(base_text, ours_text), BASE.replace(base_text, theirs_text))
    base, ours, theirs = (
        Document.parse((text + last_ending).replace("\n", ending).encode(), "guide.md") for text in texts
    )
    return merge_documents(base, ours, theirs, resolutions)


@loop_over("unit", CONFLICTS, ids=lambda unit: f"{unit.kind}-{unit.where}{unit.part}")
def test_new_content_replaces_unit_in_conflict(unit: UnitId) -> None:
    base_text, ours_text, theirs_text, content = CONFLICTS[unit]
    old = base_text if unit.kind is not UnitKind.TASK else "- [ ] Water\n  - Criteria: wet"
    for ending in ("\n", "\r\n"):
        for last_ending in ("", "\n"):
            expected = (BASE.replace(old, content) + last_ending).replace("\n", ending).encode()
            for template in ("{}", "{}\n", "\n{}\n\n", "{}\r\n", "  \n{}\n \n"):
                resolutions = {unit: Resolution(ResolutionChoice.CONTENT, template.format(content).encode())}
                result = merge_replacements(
                    base_text, ours_text, theirs_text, resolutions, ending=ending, last_ending=last_ending
                )
                assert (result.conflicts, result.resolved_units) == ((), (unit,))
                assert result.data == expected


@loop_over("unit", CONFLICTS, ids=lambda unit: f"{unit.kind}-{unit.where}{unit.part}")
def test_copied_version_equals_chosen_side(unit: UnitId) -> None:
    for ending in ("\n", "\r\n"):
        [conflict] = merge_replacements(*CONFLICTS[unit][:3], {}, ending=ending, last_ending="\n").conflicts
        assert conflict.unit == unit
        for choice, version in (
            (ResolutionChoice.OURS, conflict.ours),
            (ResolutionChoice.THEIRS, conflict.theirs),
        ):
            assert version is not None
            expected = merge_replacements(
                *CONFLICTS[unit][:3], {unit: Resolution(choice)}, ending=ending, last_ending="\n"
            )
            for text in (version, version.replace(b"\r\n", b"\n"), version + b"\n"):
                resolutions = {unit: Resolution(ResolutionChoice.CONTENT, text)}
                assert (
                    merge_replacements(*CONFLICTS[unit][:3], resolutions, ending=ending, last_ending="\n")
                    == expected
                )


def test_heading_in_resolution_gets_level_of_its_position() -> None:
    unit = UnitId(UnitKind.HEADING, "setup")
    resolutions = {unit: Resolution(ResolutionChoice.CONTENT, b"#### Before\n")}
    result = merge_replacements(*CONFLICTS[unit][:3], resolutions, ending="\n", last_ending="\n")
    assert (result.data, result.conflicts) == ((BASE.replace("## Setup", "## Before") + "\n").encode(), ())


@loop_over(
    ("kind", "location", "content"),
    [
        (UnitKind.TEXT, "end", "Words.\n\n## More\n\nWords."),
        (UnitKind.TEXT, "end", "```\nopen"),
        (UnitKind.TEXT, "end", "---\nowner: x\n---\n"),
        (UnitKind.TASK, "tasks[0]", "Wet"),
        (UnitKind.TASK, "tasks[0]", "- [ ] Wet\n\nand words"),
        (UnitKind.HEADING, "setup", "Before"),
        (UnitKind.HEADING, "setup", "## Before\n\nWords."),
        (UnitKind.HEADING, "setup", "## Before\n\n## After"),
        (UnitKind.METADATA, "owner", "both"),
        (UnitKind.METADATA, "owner", "owner: both\nsecond: both"),
        (UnitKind.METADATA, "owner", "owner: a: b"),
    ],
)
def test_resolution_that_changes_structure_is_refused(kind: UnitKind, location: str, content: str) -> None:
    unit = UnitId(kind, location)
    resolutions = {unit: Resolution(ResolutionChoice.CONTENT, content.encode())}
    with pytest.raises(InvalidResolution) as error_info:
        merge_replacements(*CONFLICTS[unit][:3], resolutions, ending="\n", last_ending="\n")
    assert error_info.value.fix
    assert error_info.value.details["unit"] == unit
