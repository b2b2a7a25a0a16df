"""Overlaps of proposals: the cases of `tests/cases/overlaps.md` in both directions, and skipped proposals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.loops import loop_over
from tests.workspace.proposals.event_writer import AGENT, make_opening
from tests.workspace.proposals.review.scene import Scene
from workspace.proposals.events import Closed, Opened
from workspace.proposals.proposal import ProposalState
from workspace.proposals.review.changes import CommitChanges, compare_commits
from workspace.proposals.review.overlaps import Overlap
from workspace.snapshot.snapshot import Snapshot

CASES = Path(__file__).parents[3] / "cases" / "overlaps.md"
GUIDE = """\
---
tags: [a]
owner: ann
---
# Guide

## Setup

Run it.

## Use

Call it.

- [ ] Try

### Often

Daily.

#### Exactly

At nine.
"""
FILES = {"guide.md": GUIDE, "other.md": "# Other\n\nText.\n"}


class Case(NamedTuple):
    title: str
    one: str
    other: str
    addresses: tuple[str, ...]


def cases() -> list[Case]:
    found = []
    for text in CASES.read_text("utf-8").split("\n## ")[1:]:
        one, other, addresses = re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        found.append(Case(text.partition("\n")[0], one, other, tuple(addresses.split())))
    return found


def changed(script: str) -> dict[str, str | None]:
    """Return the files that a script changes."""
    files: dict[str, str | None] = {}
    for line in script.splitlines():
        head, _, rest = line.partition(":")
        action, path = head.split()
        text, now = rest.removeprefix(" ").replace("\\n", "\n"), files.get(path) or FILES.get(path, "")
        match action:
            case "replace":
                old, _, new = text.partition(" ->")
                assert old in now, f"{old!r} is not in {path}"
                files[path] = now.replace(old, new.removeprefix(" "))
            case "append" | "add":
                files[path] = now + text
            case "rename":
                files |= {path: None, text: now}
            case _:
                files[path] = None
    return files


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Return one repository for all cases: each has two commits of its own."""
    return Scene(tmp_path_factory.mktemp("overlaps") / "repo", FILES)


@loop_over("case", cases(), ids=lambda case: case.title)
def test_overlaps_match_case(scene: Scene, case: Case) -> None:
    for id in ("k0000001", "k0000002"):
        script = case.one if id == "k0000001" else case.other
        tip = scene.made(changed(script), scene.first)
        if not (scene.store.common_dir / "refs" / "heads" / "proposals" / id).exists():
            scene.propose(id, {}, title=f"Of {id}")
        scene.move(f"proposals/{id}", tip)
    one, other = scene.one("k0000001"), scene.one("k0000002")
    found = scene.proposal_reviews.overlaps(one, scene.all())
    expected = (Overlap("k0000002", "Of k0000002", case.addresses),) if case.addresses else ()
    assert found == expected
    back = scene.proposal_reviews.overlaps(other, [one])
    assert [overlap.id for overlap in back] == (["k0000001"] if case.addresses else [])
    touched = scene.proposal_reviews.touched_sections(one)
    assert set(case.addresses) <= {path if key is None else f"{path}#{key}" for path, key in touched}


def test_only_open_proposals_to_same_target_overlap(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", FILES)
    change = {"guide.md": GUIDE.replace("Run it.", "Run it now.")}
    mine = scene.propose("k0000001", change)
    draft = "k0000002"
    scene.writer.append(make_opening(base=scene.first, id=draft), by=AGENT, proposal=draft)
    scene.move(f"proposals/{draft}", scene.made(change, scene.first))
    scene.propose("k0000003", change)
    scene.writer.append(Closed(""), by=AGENT, proposal="k0000003")
    scene.move("release", scene.first)
    elsewhere = Opened("To another branch", "", "release", "proposals/k0000004", scene.first)
    scene.writer.append(elsewhere, by=AGENT, proposal="k0000004")
    scene.move("proposals/k0000004", scene.made(change, scene.first))
    merged = scene.propose("k0000005", {"guide.md": GUIDE.replace("ann", "ben")})
    scene.merge(merged)
    states = {one.id: one.state for one in scene.all()}
    assert states["k0000003"] is ProposalState.CLOSED
    assert states["k0000005"] is ProposalState.MERGED
    found = scene.proposal_reviews.overlaps(mine, scene.all())
    assert [overlap.id for overlap in found] == [draft]


def test_proposal_without_common_path_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(tmp_path / "repo", FILES)
    mine = scene.propose("k0000001", {"guide.md": GUIDE + "\nMore.\n"})
    scene.propose("k0000002", {"other.md": "# Other\n\nMore.\n"})
    overlapping = scene.propose("k0000003", {"guide.md": GUIDE + "\nElse.\n"})
    read: list[str | None] = []

    def counted(old: Snapshot, new: Snapshot) -> CommitChanges:
        read.append(new.commit)
        return compare_commits(old, new)

    monkeypatch.setattr("workspace.proposals.review.review.compare_commits", counted)
    found = scene.proposal_reviews.overlaps(mine, scene.all())
    assert [overlap.id for overlap in found] == ["k0000003"]
    assert read == [mine.tip, overlapping.tip]
    scene.commit("main", {"other.md": "# Other\n\nOn main.\n"})
    assert scene.proposal_reviews.overlaps(scene.one("k0000001"), scene.all()) == found
    assert read == [mine.tip, overlapping.tip], "new commits of main do not change overlaps"


def test_unreadable_proposal_does_not_hide_other_overlaps(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", FILES)
    mine = scene.propose("k0000001", {"guide.md": GUIDE + "\nMore.\n"})
    torn = scene.propose("k0000002", {"guide.md": GUIDE + "\nTorn.\n"})
    scene.propose("k0000003", {"guide.md": GUIDE + "\nElse.\n"})
    assert torn.tip
    tree = scene.store.commit(torn.tip).tree
    (scene.store.common_dir / "objects" / tree[:2] / tree[2:]).unlink()
    found = scene.proposal_reviews.overlaps(mine, scene.all())
    assert [overlap.id for overlap in found] == ["k0000003"]
