"""The changes of a proposal: from its base to its tip, or the changes of its merge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.event_writer import CLIENT_AUTHOR
from tests.workspace.proposals.review.proposal_setup import ProposalSetup
from workspace.diff.changes import ChangeKind, DocumentChangeKind
from workspace.diff.text import diff_texts
from workspace.proposals.events import Refreshed
from workspace.proposals.proposal import ProposalState
from workspace.proposals.review import changes as changes_module
from workspace.proposals.review.changes import CommitChanges

GUIDE = "# Guide\n\nHello.\n\n## Setup\n\nRun it once.\n\n## Use\n\n- [ ] Try\n"
FILES = {"guide.md": GUIDE, "other.md": "# Other\n\nText.\n", "logo.svg": "<svg/>"}


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo", FILES)


def list_sections(changes: CommitChanges) -> list[tuple[str, str, str]]:
    return [
        (document.path, section.kind.value, section.location.address)
        for document in changes.documents
        for section in document.section_changes
    ]


def test_changes_since_base_list_sections_and_files(setup: ProposalSetup) -> None:
    new_guide = GUIDE.replace("once", "twice").replace("[ ]", "[x]") + "\n## More\n\nNew.\n"
    proposal = setup.propose("k0000001", {"guide.md": new_guide, "logo.svg": "<svg></svg>", "new.txt": "x"})
    setup.commit("main", {"other.md": "# Other\n\nChanged on main.\n"})
    changes = setup.proposal_reviews.changes(setup.find_proposal("k0000001"))
    assert (changes.base, changes.tip) == (setup.first_commit, proposal.tip)
    assert list_sections(changes) == [
        ("guide.md", "changed", "setup"),
        ("guide.md", "task_completed", "use[0]"),
        ("guide.md", "added", "more"),
    ]
    assert changes.files == ("logo.svg", "new.txt")
    assert changes.paths == {"guide.md", "logo.svg", "new.txt"}
    first_change = changes.documents[0].section_changes[0]
    assert first_change.before
    assert first_change.after
    word_edits = [
        (
            first_change.before.text[edit.start : edit.end],
            first_change.after.text[edit.new_start : edit.new_end],
        )
        for edit in diff_texts(first_change.before.text, first_change.after.text)
    ]
    assert word_edits == [("once", "twice")]


def test_refreshed_changes_are_not_changes_of_proposal(setup: ProposalSetup) -> None:
    proposal = setup.propose("k0000001", {"guide.md": GUIDE.replace("once", "twice")})
    main_commit = setup.commit("main", {"other.md": "# Other\n\nChanged on main.\n"})
    branch = "proposals/k0000001"
    tip = setup.commit(branch, {"other.md": "# Other\n\nChanged on main.\n"}, main_commit)
    setup.writer.append(Refreshed(tip, main_commit), by=CLIENT_AUTHOR, proposal="k0000001")
    changes = setup.proposal_reviews.changes(setup.find_proposal("k0000001"))
    assert changes.base == main_commit
    assert list_sections(changes) == [("guide.md", "changed", "setup")]
    assert proposal.tip != changes.tip


def test_merged_proposal_shows_changes_of_its_merge(setup: ProposalSetup) -> None:
    proposal = setup.propose("k0000001", {"guide.md": GUIDE.replace("once", "twice")})
    target_commit = setup.commit("main", {"other.md": "# Other\n\nChanged on main.\n"})
    merge_commit = setup.merge(proposal)
    setup.commit("main", {"guide.md": None})
    for has_branch in (True, False):
        if not has_branch:
            setup.move_branch("proposals/k0000001", None)
        merged_proposal = setup.find_proposal("k0000001")
        assert merged_proposal.state is ProposalState.MERGED
        changes = setup.proposal_reviews.changes(merged_proposal)
        assert (changes.base, changes.tip) == (target_commit, merge_commit)
        assert list_sections(changes) == [("guide.md", "changed", "setup")]


def test_fast_forward_merged_proposal_shows_its_changes(setup: ProposalSetup) -> None:
    setup.propose("k0000001", {"guide.md": GUIDE.replace("once", "twice")})
    tip = setup.commit("proposals/k0000001", {"other.md": "# Other\n\nMore.\n"})
    setup.move_branch("main", tip)
    changes = setup.proposal_reviews.changes(setup.find_proposal("k0000001"))
    assert (changes.base, changes.tip) == (setup.first_commit, tip)
    assert [document.path for document in changes.documents] == ["guide.md", "other.md"]


def test_deleted_branch_has_no_changes_and_unrelated_branch_has_all(setup: ProposalSetup) -> None:
    setup.propose("k0000001", {"guide.md": None})
    setup.move_branch("proposals/k0000001", None)
    deleted_proposal = setup.find_proposal("k0000001")
    assert deleted_proposal.state is ProposalState.GONE
    assert setup.proposal_reviews.changes(deleted_proposal) == CommitChanges(None, None)
    assert setup.proposal_reviews.touched_sections(deleted_proposal) == frozenset()
    assert setup.proposal_reviews.overlaps(deleted_proposal, setup.list_proposals()) == ()
    setup.move_branch("proposals/k0000001", setup.create_commit({"a.md": "# A\n"}))
    changes = setup.proposal_reviews.changes(setup.find_proposal("k0000001"))
    assert changes.base is None
    assert [(document.path, document.kind) for document in changes.documents] == [
        ("a.md", DocumentChangeKind.ADDED)
    ]


def test_proposal_to_deleted_target_shows_changes_since_base(setup: ProposalSetup) -> None:
    setup.propose("k0000001", {"guide.md": GUIDE.replace("once", "twice")})
    setup.move_branch("main", None)
    changes = setup.proposal_reviews.changes(setup.find_proposal("k0000001"))
    assert changes.base == setup.first_commit
    assert list_sections(changes) == [("guide.md", "changed", "setup")]


def test_invalid_settings_list_changes_as_files(setup: ProposalSetup) -> None:
    proposal = setup.propose("k0000001", {"docyard.toml": "root = 7\n", "guide.md": "# Guide\n"})
    changes = setup.proposal_reviews.changes(proposal)
    assert changes.documents == ()
    assert changes.files == ("docyard.toml", "guide.md")
    assert changes.reason
    assert setup.proposal_reviews.touched_sections(proposal) == {("docyard.toml", None), ("guide.md", None)}


def test_changes_over_limit_are_listed_by_path(setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes_module, "MAX_DOCUMENTS", 2)
    files = {"guide.md": GUIDE + "More.\n", "other.md": None, "third.md": "# Third\n"}
    changes = setup.proposal_reviews.changes(setup.propose("k0000001", files))
    assert [(document.path, document.kind, document.section_changes) for document in changes.documents] == [
        ("guide.md", DocumentChangeKind.CHANGED, ()),
        ("other.md", DocumentChangeKind.REMOVED, ()),
        ("third.md", DocumentChangeKind.ADDED, ()),
    ]
    assert changes.reason
    assert ChangeKind.CHANGED not in [
        section.kind for document in changes.documents for section in document.section_changes
    ]
