"""Overlaps of proposals are found in both directions as in the examples of `tests/cases/overlaps.md`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.loops import loop_over
from tests.workspace.proposals.event_writer import CLIENT_AUTHOR, make_opening
from tests.workspace.proposals.review.proposal_setup import ProposalSetup
from workspace.proposals.events import Closed, Opened
from workspace.proposals.proposal import ProposalState
from workspace.proposals.review.changes import CommitChanges, compare_commits
from workspace.proposals.review.overlaps import Overlap
from workspace.snapshot.snapshot import Snapshot

CASES_FILE = Path(__file__).parents[3] / "cases" / "overlaps.md"
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


class OverlapCase(NamedTuple):
    """Two scripts that change files, and the addresses at which the changes overlap."""

    title: str
    first_script: str
    second_script: str
    addresses: tuple[str, ...]


def read_overlap_cases() -> list[OverlapCase]:
    cases = []
    for text in CASES_FILE.read_text("utf-8").split("\n## ")[1:]:
        first_script, second_script, addresses = re.findall(
            r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
        )
        cases.append(
            OverlapCase(text.partition("\n")[0], first_script, second_script, tuple(addresses.split()))
        )
    return cases


def run_script(script: str) -> dict[str, str | None]:
    """Return the texts of the files that a script changes; None for a removed file."""
    files: dict[str, str | None] = {}
    for line in script.splitlines():
        command, _, argument = line.partition(":")
        action, path = command.split()
        text, current_text = (
            argument.removeprefix(" ").replace("\\n", "\n"),
            files.get(path) or FILES.get(path, ""),
        )
        match action:
            case "replace":
                old, _, new = text.partition(" ->")
                assert old in current_text, f"{old!r} is not in {path}"
                files[path] = current_text.replace(old, new.removeprefix(" "))
            case "append" | "add":
                files[path] = current_text + text
            case "rename":
                files |= {path: None, text: current_text}
            case _:
                files[path] = None
    return files


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> ProposalSetup:
    """Return one repository for all cases: each case creates two commits on top of the first commit."""
    return ProposalSetup(tmp_path_factory.mktemp("overlaps") / "repo", FILES)


@loop_over("case", read_overlap_cases(), ids=lambda case: case.title)
def test_overlaps_are_those_of_the_example(setup: ProposalSetup, case: OverlapCase) -> None:
    for id in ("k0000001", "k0000002"):
        script = case.first_script if id == "k0000001" else case.second_script
        tip = setup.create_commit(run_script(script), setup.first_commit)
        if not (setup.store.common_dir / "refs" / "heads" / "proposals" / id).exists():
            setup.propose(id, {}, title=f"Of {id}")
        setup.move_branch(f"proposals/{id}", tip)
    first_proposal, second_proposal = setup.find_proposal("k0000001"), setup.find_proposal("k0000002")
    overlaps = setup.proposal_reviews.overlaps(first_proposal, setup.list_proposals())
    expected = (Overlap("k0000002", "Of k0000002", case.addresses),) if case.addresses else ()
    assert overlaps == expected
    reverse_overlaps = setup.proposal_reviews.overlaps(second_proposal, [first_proposal])
    assert [overlap.id for overlap in reverse_overlaps] == (["k0000001"] if case.addresses else [])
    touched_sections = setup.proposal_reviews.touched_sections(first_proposal)
    assert set(case.addresses) <= {path if key is None else f"{path}#{key}" for path, key in touched_sections}


def test_only_open_proposals_to_same_target_overlap(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", FILES)
    changed_files = {"guide.md": GUIDE.replace("Run it.", "Run it now.")}
    own_proposal = setup.propose("k0000001", changed_files)
    draft_id = "k0000002"
    setup.writer.append(
        make_opening(base=setup.first_commit, id=draft_id), by=CLIENT_AUTHOR, proposal=draft_id
    )
    setup.move_branch(f"proposals/{draft_id}", setup.create_commit(changed_files, setup.first_commit))
    setup.propose("k0000003", changed_files)
    setup.writer.append(Closed(""), by=CLIENT_AUTHOR, proposal="k0000003")
    setup.move_branch("release", setup.first_commit)
    opening = Opened("To another branch", "", "release", "proposals/k0000004", setup.first_commit)
    setup.writer.append(opening, by=CLIENT_AUTHOR, proposal="k0000004")
    setup.move_branch("proposals/k0000004", setup.create_commit(changed_files, setup.first_commit))
    merged_proposal = setup.propose("k0000005", {"guide.md": GUIDE.replace("ann", "ben")})
    setup.merge(merged_proposal)
    states = {proposal.id: proposal.state for proposal in setup.list_proposals()}
    assert states["k0000003"] is ProposalState.CLOSED
    assert states["k0000005"] is ProposalState.MERGED
    overlaps = setup.proposal_reviews.overlaps(own_proposal, setup.list_proposals())
    assert [overlap.id for overlap in overlaps] == [draft_id]


def test_proposal_without_common_path_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = ProposalSetup(tmp_path / "repo", FILES)
    own_proposal = setup.propose("k0000001", {"guide.md": GUIDE + "\nMore.\n"})
    setup.propose("k0000002", {"other.md": "# Other\n\nMore.\n"})
    overlapping_proposal = setup.propose("k0000003", {"guide.md": GUIDE + "\nElse.\n"})
    read_commits: list[str | None] = []

    def record_and_compare(old: Snapshot, new: Snapshot) -> CommitChanges:
        read_commits.append(new.commit)
        return compare_commits(old, new)

    monkeypatch.setattr("workspace.proposals.review.review.compare_commits", record_and_compare)
    overlaps = setup.proposal_reviews.overlaps(own_proposal, setup.list_proposals())
    assert [overlap.id for overlap in overlaps] == ["k0000003"]
    assert read_commits == [own_proposal.tip, overlapping_proposal.tip]
    setup.commit("main", {"other.md": "# Other\n\nOn main.\n"})
    assert (
        setup.proposal_reviews.overlaps(setup.find_proposal("k0000001"), setup.list_proposals()) == overlaps
    )
    assert read_commits == [own_proposal.tip, overlapping_proposal.tip], (
        "new commits of main do not change overlaps"
    )


def test_unreadable_proposal_does_not_hide_other_overlaps(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", FILES)
    own_proposal = setup.propose("k0000001", {"guide.md": GUIDE + "\nMore.\n"})
    damaged_proposal = setup.propose("k0000002", {"guide.md": GUIDE + "\nTorn.\n"})
    setup.propose("k0000003", {"guide.md": GUIDE + "\nElse.\n"})
    assert damaged_proposal.tip
    tree = setup.store.commit(damaged_proposal.tip).tree
    (setup.store.common_dir / "objects" / tree[:2] / tree[2:]).unlink()
    overlaps = setup.proposal_reviews.overlaps(own_proposal, setup.list_proposals())
    assert [overlap.id for overlap in overlaps] == ["k0000003"]
