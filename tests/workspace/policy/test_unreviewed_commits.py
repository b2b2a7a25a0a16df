"""Commits made with Git are found if they change a protected path, with the path and the rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.workspace.proposals.actions.proposal_setup import ProposalSetup
from workspace.policy.unreviewed_commits import find_unreviewed_commits
from workspace.workspace import Workspace

RULES = '[[protect]]\npaths = ["a/**"]\nchecks = []\n[[protect]]\npaths = ["specs/**"]\nchecks = []\n'


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo", RULES)


def find_since(repo: Repo, base: str | None) -> list[tuple[str, tuple[str, ...], int]]:
    git = Workspace.open(repo.path, durable=False).git
    return [tuple(commit) for commit in find_unreviewed_commits(git, repo.head(), base)]  # type: ignore[misc]


def test_commits_by_hand_are_found_with_path_and_rule(setup: ProposalSetup) -> None:
    base = setup.repo.head()
    first = setup.repo.commit({"specs/new.md": "# New\n", "free.md": "# Free\n"})
    setup.repo.commit({"free.md": "# Free\n\nMore.\n"})
    last = setup.repo.commit({"docyard.toml": ""})
    assert find_since(setup.repo, base) == [(last, ("docyard.toml",), 1), (first, ("specs/new.md",), 2)]
    assert find_since(setup.repo, first) == [(last, ("docyard.toml",), 1)]
    assert find_since(setup.repo, None) == []


def test_first_rules_by_hand_need_no_review(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", "")
    base = setup.repo.head()
    setup.repo.commit({"docyard.toml": RULES})
    assert find_since(setup.repo, base) == []


def test_direct_writes_and_merges_by_docyard_are_not_found(setup: ProposalSetup) -> None:
    base = setup.repo.head()
    setup.write("A direct write.", "guide.md", "use")
    proposal = setup.submit_proposal("Reviewed text.", "specs/api.md", "calls")
    setup.approve(proposal)
    setup.proposal_actions.merge(proposal.id, setup.person())
    assert "Reviewed text." in setup.show("specs/api.md")
    assert find_since(setup.repo, base) == []


def test_merge_by_hand_counts_only_changes_that_base_lacks(setup: ProposalSetup) -> None:
    setup.repo.git("branch", "theirs")
    setup.repo.git("branch", "other")
    setup.repo.commit({"free.md": "# Free\n"})
    for branch, path in (("theirs", "specs/theirs.md"), ("other", "specs/other.md")):
        setup.repo.git("switch", "-q", branch)
        setup.repo.commit({path: "# New\n"})
    setup.repo.git("switch", "-q", "main")
    setup.repo.git("merge", "-q", "--no-edit", "theirs")
    base = setup.repo.git("rev-parse", "theirs").strip()
    assert find_since(setup.repo, base) == []
    setup.repo.git("merge", "-q", "--no-edit", "other")
    assert find_since(setup.repo, base) == [(setup.repo.head(), ("specs/other.md",), 2)]
