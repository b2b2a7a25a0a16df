"""The preview of a merge: its conflicts and checks, or the reason why no merge is possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.event_writer import CLIENT_AUTHOR
from tests.workspace.proposals.review.proposal_setup import ProposalSetup
from workspace.config.tables import ALL_CHECKS
from workspace.merge.conflict import UnitKind
from workspace.merge.trees import FILE_UNIT
from workspace.proposals.events import Closed
from workspace.proposals.review.review import Preview, ProposalReview
from workspace.workspace import Workspace

GUIDE = "# Guide\n\nHello.\n\n## Setup\n\nRun it once.\n\n## Use\n\nCall it.\n"
PROPOSAL_ID = "k0000001"


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo", {"guide.md": GUIDE, "other.md": "# Other\n\nText.\n"})


def test_clean_preview_counts_commits_behind_target(setup: ProposalSetup) -> None:
    proposal = setup.propose(PROPOSAL_ID, {"guide.md": GUIDE.replace("once", "twice")})
    first_preview = setup.proposal_reviews.preview(proposal)
    assert first_preview.is_clean
    assert first_preview.behind == 0
    assert setup.proposal_reviews.preview(proposal) is first_preview, (
        "the preview of unchanged branches is cached"
    )
    for number in range(3):
        setup.commit("main", {"other.md": f"# Other\n\nText {number}.\n"})
    preview = setup.proposal_reviews.preview(proposal)
    assert preview.is_clean
    assert preview.behind == 3
    assert [check.name for check in preview.checks] == list(ALL_CHECKS)
    assert preview.merge
    assert preview.merge.read("guide.md") == GUIDE.replace("once", "twice").encode()
    assert preview.merge.read("other.md") == b"# Other\n\nText 2.\n"


def test_preview_contains_conflicts(setup: ProposalSetup) -> None:
    proposal = setup.propose(PROPOSAL_ID, {"guide.md": GUIDE.replace("once", "twice")})
    setup.commit("main", {"guide.md": GUIDE.replace("once", "never")})
    preview = setup.proposal_reviews.preview(proposal)
    assert not preview.is_clean
    assert [(conflict.path, conflict.conflict.unit.where) for conflict in preview.conflicts] == [
        ("guide.md", "setup")
    ]
    assert b"twice" in (preview.conflicts[0].conflict.theirs or b"")


def test_document_removed_on_target_is_a_conflict(setup: ProposalSetup) -> None:
    proposal = setup.propose(PROPOSAL_ID, {"guide.md": GUIDE.replace("once", "twice")})
    setup.commit("main", {"guide.md": None})
    conflicts = setup.proposal_reviews.preview(proposal).conflicts
    assert [(conflict.path, conflict.conflict.unit.kind) for conflict in conflicts] == [
        ("guide.md", UnitKind.DOCUMENT)
    ]
    assert conflicts[0].conflict.ours is None


def test_failed_checks_are_of_the_merge_result(setup: ProposalSetup) -> None:
    files = {"other.md": "# Other\n\nSee [setup](guide.md#setup).\n"}
    proposal = setup.propose(PROPOSAL_ID, files)
    assert setup.proposal_reviews.preview(proposal).is_clean
    setup.commit("main", {"guide.md": GUIDE.replace("Setup", "Start")})
    preview = setup.proposal_reviews.preview(proposal)
    assert [check.name for check in preview.checks if not check.passed] == ["links"]
    assert not preview.conflicts
    assert not preview.is_clean


def read_reason(preview: Preview) -> str:
    assert preview.merge is None
    assert preview.conflicts == ()
    assert not preview.is_clean
    assert preview.reason
    return preview.reason


def test_preview_without_merge_has_a_reason(setup: ProposalSetup) -> None:
    proposal = setup.propose(PROPOSAL_ID, {"guide.md": GUIDE.replace("once", "twice")})
    setup.move_branch(f"proposals/{PROPOSAL_ID}", setup.create_commit({"a.md": "# A\n"}))
    unrelated_preview = setup.proposal_reviews.preview(setup.find_proposal(PROPOSAL_ID))
    assert "no common ancestor" in read_reason(unrelated_preview)
    assert not any(check.passed for check in unrelated_preview.checks)
    setup.move_branch(f"proposals/{PROPOSAL_ID}", None)
    assert (
        read_reason(setup.proposal_reviews.preview(setup.find_proposal(PROPOSAL_ID)))
        == "the proposal's branch was deleted"
    )
    assert proposal.tip
    setup.move_branch(f"proposals/{PROPOSAL_ID}", proposal.tip)
    main_commit = setup.store.tip("main")
    setup.move_branch("main", None)
    assert "'main'" in read_reason(setup.proposal_reviews.preview(setup.find_proposal(PROPOSAL_ID)))
    setup.move_branch("main", main_commit)
    setup.merge(proposal)
    assert (
        read_reason(setup.proposal_reviews.preview(setup.find_proposal(PROPOSAL_ID)))
        == "the proposal is merged already"
    )


def test_missing_commit_is_the_reason_of_the_preview(setup: ProposalSetup) -> None:
    proposal = setup.propose(PROPOSAL_ID, {"guide.md": GUIDE.replace("once", "twice")})
    assert proposal.tip
    (setup.store.common_dir / "objects" / proposal.tip[:2] / proposal.tip[2:]).unlink()
    assert "missing or broken" in read_reason(
        ProposalReview(Workspace.open(setup.repo.path)).preview(proposal)
    )


def test_closed_proposal_has_a_preview(setup: ProposalSetup) -> None:
    setup.propose(PROPOSAL_ID, {"guide.md": GUIDE.replace("once", "twice")})
    setup.writer.append(Closed(""), by=CLIENT_AUTHOR, proposal=PROPOSAL_ID)
    assert setup.proposal_reviews.preview(setup.find_proposal(PROPOSAL_ID)).is_clean


def test_invalid_settings_of_proposal_fail_all_checks(setup: ProposalSetup) -> None:
    preview = setup.proposal_reviews.preview(setup.propose(PROPOSAL_ID, {"docyard.toml": "root = 7\n"}))
    assert not preview.is_clean
    assert not any(check.passed for check in preview.checks)


def test_checks_of_resolved_merge_are_not_cached(setup: ProposalSetup) -> None:
    proposal = setup.propose(PROPOSAL_ID, {"other.md": "# Other\n\nSee [setup](guide.md#setup).\n"})
    merge = setup.build_merge(proposal)
    assert all(check.passed for check in setup.proposal_reviews.check_merge(merge))
    assert setup.proposal_reviews.check_merge(merge) is setup.proposal_reviews.check_merge(
        setup.build_merge(proposal)
    )
    resolved_merge = merge._replace(
        changes={**merge.changes, "guide.md": b"# Guide\n"},
        resolved_units=(("guide.md", FILE_UNIT),),
    )
    assert [
        check.name for check in setup.proposal_reviews.check_merge(resolved_merge) if not check.passed
    ] == ["links"]
