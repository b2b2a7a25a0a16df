"""A skill that a synchronization merges is offered if its own side required an approval."""

from __future__ import annotations

from tests.workspace.sync.conftest import SyncPair
from tests.workspace.sync.test_gate import PAGE_TEXT
from tests.workspace.sync.test_gate_clones import Clone, build_append, make_clones
from workspace.edits.metadata import SetMetadata
from workspace.policy import unapproved_text
from workspace.skills import read_skills
from workspace.validation.skill_faults import SkillFault

RULES = 'skills = true\noverwrite = "any"\n[[protect]]\ntypes = ["skill"]\nchecks = []\n'
MAKE_SKILL = SetMetadata(file="free/a.md", metadata={"type": "skill"})


def merge_other_clone(first_clone: Clone, second_clone: Clone) -> None:
    """Synchronize both clones, so that the second one merges the commits of the first one."""
    first_clone.sync()
    second_clone.write(build_append("free/b.md"))
    second_clone.sync()
    assert len(second_clone.repo.git("log", "-1", "--format=%P").split()) == 2


def test_skill_from_remote_has_the_review_of_its_side(file_sync_pair: SyncPair) -> None:
    files = {"docyard.toml": RULES, "free/a.md": PAGE_TEXT, "free/b.md": PAGE_TEXT}
    first_clone, second_clone = make_clones(file_sync_pair, files)
    first_clone.propose_and_merge(MAKE_SKILL)
    merge_other_clone(first_clone, second_clone)
    skills = read_skills(second_clone.workspace.snapshot())
    assert [skill.path for skill in skills.offered] == ["free/a.md"]


def test_direct_write_in_remote_before_the_rule_is_no_skill(file_sync_pair: SyncPair) -> None:
    files = {"docyard.toml": 'overwrite = "any"\n', "free/a.md": PAGE_TEXT, "free/b.md": PAGE_TEXT}
    first_clone, second_clone = make_clones(file_sync_pair, files)
    first_clone.write(MAKE_SKILL)
    merge_other_clone(first_clone, second_clone)
    second_clone.repo.commit({"docyard.toml": RULES})
    unapproved_text._verdicts.retain(lambda key: False)
    skills = read_skills(second_clone.workspace.snapshot())
    assert dict(skills.problems) == {"free/a.md": SkillFault.UNAPPROVED}
