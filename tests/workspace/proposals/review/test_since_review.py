"""The changes of a proposal since a reviewed commit: those of its authors, and not those of its target."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.review.proposal_setup import ProposalSetup
from workspace.proposals.review.since_review import ChangesSinceReview

GUIDE = "# Guide\n\nHello.\n\n## Setup\n\nRun it once.\n\nThen wait.\n\n## Use\n\nUse it.\n"
FILES = {"guide.md": GUIDE, "other.md": "# Other\n\nText.\n", "logo.svg": "<svg/>"}
ID, BRANCH = "k0000001", "proposals/k0000001"
REVIEWED_GUIDE = GUIDE.replace("once", "twice")


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    """Return a repository with a proposal that changes the guide; its tip was reviewed."""
    proposal_setup = ProposalSetup(tmp_path / "repo", FILES)
    proposal_setup.propose(ID, {"guide.md": REVIEWED_GUIDE})
    return proposal_setup


def find_changes(setup: ProposalSetup, reviewed: str) -> ChangesSinceReview:
    changes = setup.proposal_reviews.changes_since(setup.find_proposal(ID), reviewed)
    assert changes is not None
    return changes


def list_sections(changes: ChangesSinceReview) -> list[tuple[str, str, str]]:
    return [
        (document.path, section.kind.value, section.location.address)
        for document in changes.changes.documents
        for section in document.section_changes
    ]


def get_tip(setup: ProposalSetup) -> str:
    tip = setup.find_proposal(ID).tip
    assert tip is not None
    return tip


def refresh(setup: ProposalSetup, files: dict[str, str | bytes | None], *changed: str) -> None:
    """Commit files to the target, and merge them into the proposal; `changed` are texts of the guide."""
    main_commit = setup.commit("main", files)
    setup.commit(BRANCH, {**files, **({"guide.md": changed[0]} if changed else {})}, main_commit)


def test_changed_sections_since_review_are_found(setup: ProposalSetup) -> None:
    reviewed = get_tip(setup)
    setup.commit(BRANCH, {"guide.md": REVIEWED_GUIDE.replace("Use it", "Use it well"), "new.md": "# New\n"})
    changes = find_changes(setup, reviewed)
    assert list_sections(changes) == [("guide.md", "changed", "use"), ("new.md", "added", "_preamble")]
    assert (changes.changes.base, changes.changes.tip) == (reviewed, get_tip(setup))
    assert changes.merged_paths == frozenset()


def test_review_of_the_tip_has_no_later_changes(setup: ProposalSetup) -> None:
    assert find_changes(setup, get_tip(setup)).is_empty


def test_refresh_is_no_change_since_review(setup: ProposalSetup) -> None:
    reviewed = get_tip(setup)
    main_guide = GUIDE.replace("Then wait.", "Then wait a minute.")
    refresh(
        setup,
        {"guide.md": main_guide, "other.md": None, "third.md": "# Third\n", "logo.svg": "<svg></svg>"},
        main_guide.replace("once", "twice"),
    )
    assert find_changes(setup, reviewed).is_empty


def test_change_next_to_a_refresh_is_found_without_the_text_of_the_target(setup: ProposalSetup) -> None:
    reviewed = get_tip(setup)
    main_guide = GUIDE.replace("Then wait.", "Then wait a minute.").replace("Hello", "Good day")
    refresh(setup, {"guide.md": main_guide}, main_guide.replace("once", "three times"))
    setup.commit(BRANCH, {"other.md": "# Other\n\nMore text.\n"})
    changes = find_changes(setup, reviewed)
    assert list_sections(changes) == [
        ("guide.md", "changed", "setup"),
        ("other.md", "changed", "_preamble"),
    ]
    change = changes.changes.documents[0].section_changes[0]
    assert change.before is not None
    assert "wait a minute" in change.before.text
    assert changes.merged_paths == {"guide.md"}


def test_withdrawn_change_is_a_change(setup: ProposalSetup) -> None:
    reviewed = get_tip(setup)
    setup.commit(BRANCH, {"guide.md": GUIDE})
    assert list_sections(find_changes(setup, reviewed)) == [("guide.md", "changed", "setup")]


def test_change_of_the_target_that_was_undone_in_a_refresh_is_a_change(setup: ProposalSetup) -> None:
    reviewed = get_tip(setup)
    main_commit = setup.commit("main", {"other.md": "# Other\n\nChanged.\n"})
    setup.commit(BRANCH, {}, main_commit)
    assert list_sections(find_changes(setup, reviewed)) == [("other.md", "changed", "_preamble")]


def test_resolution_of_a_conflict_is_a_change(setup: ProposalSetup) -> None:
    reviewed = get_tip(setup)
    refresh(
        setup,
        {"guide.md": GUIDE.replace("once", "five times")},
        GUIDE.replace("once", "twice or five times"),
    )
    assert list_sections(find_changes(setup, reviewed)) == [("guide.md", "changed", "setup")]


def test_document_that_was_renamed_since_review_is_found_next_to_a_refresh(setup: ProposalSetup) -> None:
    reviewed = get_tip(setup)
    refresh(setup, {"other.md": "# Other\n\nChanged.\n"})
    setup.commit(BRANCH, {"guide.md": None, "manual.md": REVIEWED_GUIDE})
    [document] = find_changes(setup, reviewed).changes.documents
    assert (document.old_path, document.path) == ("guide.md", "manual.md")


def test_rebased_proposal_is_compared_without_the_new_base(setup: ProposalSetup) -> None:
    reviewed = get_tip(setup)
    main_commit = setup.commit("main", {"other.md": "# Other\n\nChanged.\n"})
    guide = REVIEWED_GUIDE.replace("Use it", "Use it well")
    setup.move_branch(BRANCH, setup.create_commit({"guide.md": guide}, main_commit))
    assert list_sections(find_changes(setup, reviewed)) == [("guide.md", "changed", "use")]


def test_missing_commit_and_merged_proposal_have_no_changes_since_review(setup: ProposalSetup) -> None:
    proposal = setup.find_proposal(ID)
    assert setup.proposal_reviews.changes_since(proposal, "0" * 40) is None
    tip = get_tip(setup)
    setup.move_branch("main", tip)
    assert setup.proposal_reviews.changes_since(setup.find_proposal(ID), tip) is None
