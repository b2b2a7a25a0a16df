"""A skill is not offered if Docyard wrote its text before a rule required an approval."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, ProposalSetup
from workspace.edits.documents import MoveDocument
from workspace.edits.metadata import SetMetadata
from workspace.edits.operation import Operation
from workspace.edits.text import AppendContent
from workspace.policy import unapproved_text
from workspace.policy.unapproved_text import Text, find_unapproved_texts
from workspace.skills import read_skills
from workspace.validation.skill_faults import SkillFault
from workspace.writing.plan import BatchMode

RULE = 'skills = true\noverwrite = "any"\n[[protect]]\ntypes = ["skill"]\nchecks = []\n'
MAKE_SKILL = SetMetadata(file="guide.md", metadata={"type": "skill"})


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "docs", "")


@pytest.fixture(autouse=True)
def clear_cache() -> None:
    unapproved_text._verdicts.retain(lambda key: False)


def write(setup: ProposalSetup, *operations: Operation) -> None:
    result = setup.workspace.write(
        list(operations), mode=BatchMode.ALL, tool="edit_document", client="an agent"
    )
    assert result.is_committed, [step.error for step in result.steps]


def propose_and_merge(setup: ProposalSetup, *operations: Operation) -> None:
    draft = setup.proposal_actions.propose(list(operations), AGENT_ACTOR, mode=BatchMode.ALL).proposal
    assert draft is not None
    setup.proposal_actions.submit(draft.id, AGENT_ACTOR)
    setup.approve(draft)
    setup.proposal_actions.merge(draft.id, setup.person())


def list_skills(setup: ProposalSetup) -> tuple[list[str], dict[str, SkillFault]]:
    skills = read_skills(setup.workspace.snapshot())
    return [skill.path for skill in skills.offered], dict(skills.problems)


def test_text_of_agent_before_the_rule_is_not_offered_until_it_is_approved(setup: ProposalSetup) -> None:
    write(setup, MAKE_SKILL)
    setup.repo.commit({"docyard.toml": RULE})
    assert list_skills(setup) == ([], {"guide.md": SkillFault.UNAPPROVED})
    setup.repo.commit({"other.md": "# Other\n"})
    assert list_skills(setup) == ([], {"guide.md": SkillFault.UNAPPROVED})
    propose_and_merge(setup, AppendContent(file="guide.md", slug="use", content="More."))
    assert list_skills(setup) == (["guide.md"], {})
    write(setup, AppendContent(file="notes.md", slug="_preamble", content="More."))
    assert list_skills(setup) == (["guide.md"], {})


def test_text_that_a_person_committed_with_git_is_offered(setup: ProposalSetup) -> None:
    write(setup, MAKE_SKILL)
    text = (setup.repo.path / "guide.md").read_text()
    setup.repo.commit({"guide.md": text + "\nA person's line.\n"})
    setup.repo.commit({"docyard.toml": RULE})
    assert list_skills(setup) == (["guide.md"], {})


def test_rule_without_approvals_does_not_count_as_earlier_rule(setup: ProposalSetup) -> None:
    setup.repo.commit({"docyard.toml": RULE + "approvals = 0\n"})
    draft = setup.proposal_actions.propose([MAKE_SKILL], AGENT_ACTOR, mode=BatchMode.ALL).proposal
    assert draft is not None
    setup.proposal_actions.submit(draft.id, AGENT_ACTOR)
    setup.proposal_actions.merge(draft.id, setup.person())
    setup.repo.commit({"docyard.toml": RULE})
    assert list_skills(setup) == ([], {"guide.md": SkillFault.UNAPPROVED})


def test_text_moved_before_the_rule_is_not_offered(setup: ProposalSetup) -> None:
    setup.repo.commit({"docyard.toml": RULE.replace('types = ["skill"]', 'paths = ["specs"]')})
    write(setup, MAKE_SKILL, MoveDocument(file="guide.md", new_path="free/guide.md"))
    setup.repo.commit({"docyard.toml": RULE})
    assert list_skills(setup) == ([], {"free/guide.md": SkillFault.UNAPPROVED})


def test_text_approved_under_another_rule_is_offered(setup: ProposalSetup) -> None:
    setup.repo.commit({"docyard.toml": RULE.replace('types = ["skill"]', 'paths = ["guide.md"]')})
    propose_and_merge(setup, MAKE_SKILL)
    setup.repo.commit({"docyard.toml": RULE})
    assert list_skills(setup) == (["guide.md"], {})


def test_cached_verdicts_equal_those_of_a_complete_walk(setup: ProposalSetup) -> None:
    changes: list[Callable[[], object]] = [
        lambda: write(setup, MAKE_SKILL),
        lambda: setup.repo.commit({"docyard.toml": RULE}),
        lambda: setup.repo.commit({"other.md": "# Other\n"}),
        lambda: setup.repo.commit({"docyard.toml": ""}),
        lambda: write(setup, AppendContent(file="guide.md", slug="use", content="More.")),
        lambda: setup.repo.git("revert", "--no-edit", "HEAD"),
        lambda: setup.repo.commit({"docyard.toml": RULE}),
    ]
    for change in changes:
        change()
        snapshot = setup.workspace.snapshot()
        text = Text("guide.md", snapshot.blob("guide.md"), frozenset({"skill"}))
        cached_result = find_unapproved_texts(snapshot.git, setup.repo.head(), [text])
        unapproved_text._verdicts.retain(lambda key: False)
        assert find_unapproved_texts(snapshot.git, setup.repo.head(), [text]) == cached_result
