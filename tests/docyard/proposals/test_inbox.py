"""The inbox reads from branches, rules, CODEOWNERS and tokens whom each proposal concerns."""

from __future__ import annotations

from pathlib import Path

from docyard.proposals.inbox import get_inbox
from tests.workspace.proposals.actions.proposal_setup import GIT_ACTOR, RULE, ProposalSetup
from workspace.policy.tokens import Tokens
from workspace.proposals.attention import ApprovalCount, Attention
from workspace.proposals.proposal import Proposal


def read(setup: ProposalSetup, proposal: Proposal) -> Attention:
    proposals = setup.proposal_actions.list_all()
    current = setup.proposal_actions.find(proposal.id)
    return get_inbox(setup.workspace).read_all((current,), proposals)[proposal.id]


def test_rule_of_the_target_governs_the_proposal(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", RULE.replace("= 1", '= 1\napprovers = ["bea"]'))
    setup.person("bea")
    proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
    attention = read(setup, proposal)
    assert [person.name for person in attention.awaited_people] == ["Bea"]
    assert attention.approvals == ApprovalCount(0, 1)
    setup.approve(proposal)
    assert read(setup, proposal).awaited_people == ()
    Tokens(setup.workspace.git.common_dir).revoke("bea")
    assert read(setup, proposal).approvals == ApprovalCount(0, 1)


def test_approvals_of_a_merged_proposal_stay_after_a_new_token(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", RULE)
    bea = setup.person("bea").person
    proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
    setup.approve(proposal)
    setup.proposal_actions.merge(proposal.id, setup.person("cid"))
    tokens = Tokens(setup.workspace.git.common_dir)
    assert bea is not None
    for prepare in (lambda: None, lambda: tokens.revoke("bea"), lambda: tokens.add("bea", *bea[1:])):
        prepare()
        attention = read(setup, proposal)
        assert [person.name for person in attention.approved_by] == ["Bea"]
        assert attention.approvals == ApprovalCount(1, 0)


def test_code_owners_of_the_target_are_reviewers(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo")
    bea = setup.person("bea").person
    proposal = setup.submit_proposal()
    assert read(setup, proposal).reviewers == ()
    setup.repo.commit({"docs/CODEOWNERS": "*.md @cid\n/guide.md @bea\n"})
    assert [person.name for person in read(setup, proposal).awaited_people] == ["Bea"]
    setup.repo.commit({".github/CODEOWNERS": "[Docs]\n* @bea\n"})
    attention = read(setup, proposal)
    assert attention.reviewers == ()
    assert "section, which only GitLab reads" in attention.notes[0]
    assert attention.find_reasons(get_inbox(setup.workspace).identify(bea))


def test_conflicts_are_found_in_changed_paths(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo")
    proposal = setup.submit_proposal("Here is more.", slug="use")
    assert read(setup, proposal).has_conflicts is False
    setup.repo.commit({"notes.md": "# Notes\n"})
    assert read(setup, proposal).has_conflicts is False
    setup.write("Elsewhere.", "guide.md", "install")
    assert read(setup, proposal).has_conflicts is False
    setup.repo.commit({"guide.md": "# Guide\n"})
    assert read(setup, proposal).has_conflicts is True
    proposals = setup.proposal_actions.list_all()
    inbox = get_inbox(setup.workspace)
    stranger = inbox.identify(setup.person("bea").person)
    assert inbox.read_all(proposals, proposals, person=stranger)[proposal.id].has_conflicts is None
    assert inbox.identify(None).name


def test_unchecked_merge_leaves_conflicts_unknown(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo")
    setup.submit_proposal("Here is more.", slug="use")
    setup.write("At the same place.", "guide.md", "use")
    proposals = setup.proposal_actions.list_all()
    attentions = get_inbox(setup.workspace).read_all(proposals, proposals, max_merge_s=0)
    assert [attention.has_conflicts for attention in attentions.values()] == [None]


def test_folder_that_the_target_replaced_by_a_file_conflicts(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo")
    proposal = setup.submit_proposal("More.", "specs/api.md", "calls")
    setup.repo.git("rm", "-rq", "specs")
    setup.repo.commit({"specs": "A file.\n"})
    assert read(setup, proposal).has_conflicts is True


def test_damaged_tokens_and_settings_name_no_person(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", RULE)
    proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
    path = setup.workspace.git.common_dir / "docyard" / "tokens.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("{")
    path.chmod(0o600)
    setup.repo.commit({"docyard.toml": "[[protect]\n"})
    assert read(setup, proposal).awaits_anyone


def test_commit_written_by_hand_makes_an_author(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo")
    proposal = setup.submit_proposal()
    bea = setup.person("bea").person
    assert bea is not None
    me = get_inbox(setup.workspace).identify(bea)
    assert read(setup, proposal).find_reasons(me)
    setup.repo.git("switch", "-q", proposal.content.branch)
    setup.repo.write({"guide.md": "# Guide\n"})
    setup.repo.git("add", "-A")
    setup.repo.git("-c", f"user.email={bea.email}", "-c", "user.name=Bea", "commit", "-qm", "By hand")
    setup.repo.git("switch", "-q", "main")
    assert read(setup, proposal).find_reasons(me) == ()
    assert GIT_ACTOR.author.email
