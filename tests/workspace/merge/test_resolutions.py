"""New content for a conflict replaces the unit, with any line endings."""

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

# The versions of both sides, the unit in conflict, and its resolution.
CONFLICTS = {
    UnitId(UnitKind.METADATA, "owner"): ("owner: x", "owner: y", "owner: z", "owner: both"),
    UnitId(UnitKind.HEADING, "setup"): ("## Setup", "## Start", "## Begin", "## Before"),
    UnitId(UnitKind.TEXT, "setup", "1"): ("Second words.", "Mine.", "Yours.", "Ours now.\n\nBoth."),
    UnitId(UnitKind.TEXT, "setup", "2"): ("- an apple", "- my apple", "- your apple", "- apple\n- fig"),
    UnitId(UnitKind.TASK, "tasks[0]"): ("Water", "Rain", "Snow", "- [x] Wet\n  - Criteria: wet\n- [ ] Sun"),
    UnitId(UnitKind.TEXT, "end"): ("Last words.", "My words.", "Your words.", "Both words.\n\n- one"),
}


def merged(
    was: str, mine: str, yours: str, resolutions: Mapping[UnitId, Resolution], *, ending: str, last: str
) -> MergedDocument:
    texts = (BASE, BASE.replace(was, mine), BASE.replace(was, yours))
    base, ours, theirs = (
        Document.parse((text + last).replace("\n", ending).encode(), "guide.md") for text in texts
    )
    return merge_documents(base, ours, theirs, resolutions)


@loop_over("unit", CONFLICTS, ids=lambda unit: f"{unit.kind}-{unit.where}{unit.part}")
def test_new_content_replaces_unit_in_conflict(unit: UnitId) -> None:
    was, mine, yours, content = CONFLICTS[unit]
    old = was if unit.kind is not UnitKind.TASK else "- [ ] Water\n  - Criteria: wet"
    for ending in ("\n", "\r\n"):
        for last in ("", "\n"):
            wanted = (BASE.replace(old, content) + last).replace("\n", ending).encode()
            for around in ("{}", "{}\n", "\n{}\n\n", "{}\r\n", "  \n{}\n \n"):
                decided = {unit: Resolution(ResolutionChoice.CONTENT, around.format(content).encode())}
                found = merged(was, mine, yours, decided, ending=ending, last=last)
                assert (found.conflicts, found.resolved) == ((), (unit,))
                assert found.data == wanted


@loop_over("unit", CONFLICTS, ids=lambda unit: f"{unit.kind}-{unit.where}{unit.part}")
def test_copied_version_equals_chosen_side(unit: UnitId) -> None:
    for ending in ("\n", "\r\n"):
        [conflict] = merged(*CONFLICTS[unit][:3], {}, ending=ending, last="\n").conflicts
        assert conflict.unit == unit
        for choice, version in (
            (ResolutionChoice.OURS, conflict.ours),
            (ResolutionChoice.THEIRS, conflict.theirs),
        ):
            assert version is not None
            by_choice = merged(*CONFLICTS[unit][:3], {unit: Resolution(choice)}, ending=ending, last="\n")
            for text in (version, version.replace(b"\r\n", b"\n"), version + b"\n"):
                copied = {unit: Resolution(ResolutionChoice.CONTENT, text)}
                assert merged(*CONFLICTS[unit][:3], copied, ending=ending, last="\n") == by_choice


def test_heading_in_resolution_gets_level_of_its_position() -> None:
    unit = UnitId(UnitKind.HEADING, "setup")
    decided = {unit: Resolution(ResolutionChoice.CONTENT, b"#### Before\n")}
    found = merged(*CONFLICTS[unit][:3], decided, ending="\n", last="\n")
    assert (found.data, found.conflicts) == ((BASE.replace("## Setup", "## Before") + "\n").encode(), ())


@loop_over(
    ("kind", "where", "content"),
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
def test_resolution_that_changes_structure_is_refused(kind: UnitKind, where: str, content: str) -> None:
    unit = UnitId(kind, where)
    decided = {unit: Resolution(ResolutionChoice.CONTENT, content.encode())}
    with pytest.raises(InvalidResolution) as caught:
        merged(*CONFLICTS[unit][:3], decided, ending="\n", last="\n")
    assert caught.value.fix
    assert caught.value.details["unit"] == unit
