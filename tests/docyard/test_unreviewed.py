"""Tools, commands and pages show text that no approval covers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.cli.sync_report import needs_resolution
from docyard.commands.doctor import check_all
from docyard.sync import Synchronizer
from index.service import SearchIndex
from tests import repositories
from tests.docyard.web.proposals.pages import ProposalPages, extract_text
from tests.repositories import Repo
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, ProposalSetup
from tools.dispatcher import ToolDispatcher
from tools.toolsets import TOOLSETS
from workspace.edits.documents import MoveDocument
from workspace.git.remotes.credentials import Access
from workspace.proposals.proposal import Proposal
from workspace.sync.sync import sync
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

PROTECTION_RULE = '[[protect]]\npaths = ["specs/**"]\nchecks = []\n'


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo", PROTECTION_RULE)


@pytest.fixture
def proposal(setup: ProposalSetup) -> Proposal:
    """Return an approved proposal that moves a document to a protected path; the document is edited later."""
    move = MoveDocument(file="guide.md", new_path="specs/guide.md")
    draft = setup.proposal_actions.propose([move], AGENT_ACTOR, mode=BatchMode.ALL).proposal
    assert draft is not None
    setup.proposal_actions.submit(draft.id, AGENT_ACTOR)
    approved_proposal = setup.approve(draft)
    setup.write("Nobody has read this.", "guide.md", "use")
    return approved_proposal


def format_findings(folder: Path) -> str:
    return "\n".join(
        f"{finding.severity} | {finding.message} | {finding.fix}" for finding in check_all(folder, None)
    )


def test_view_proposal_shows_unreviewed_changes_and_refresh(setup: ProposalSetup, proposal: Proposal) -> None:
    dispatcher = ToolDispatcher(setup.workspace, SearchIndex(setup.workspace), TOOLSETS, False)
    response = dispatcher.call("view_proposal", {"proposal": proposal.id}, client="t")
    assert [requirement["code"] for requirement in response.data["missing"]][:2] == [
        "NEEDS_REFRESH",
        "NEEDS_APPROVAL",
    ]
    [document] = response.data["unreviewed"]["documents"]
    assert document["path"] == "specs/guide.md"
    assert [change["after"] for change in document["changes"]] == ["Use it.\n\nNobody has read this.\n"]
    [review] = response.data["reviews"]
    assert (review["holds"], review["void"]) == (False, "unseen")
    assert "Nobody has read this." in response.data["rendered"]
    assert 'action="refresh"' in response.data["next_step"] or "refresh" in response.data["next_step"]
    merge_response = dispatcher.call(
        "update_proposal", {"proposal": proposal.id, "action": "merge"}, client="t"
    )
    assert merge_response.is_error


def test_proposals_show_prints_unreviewed_changes(
    setup: ProposalSetup, proposal: Proposal, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["proposals", "show", proposal.id, "-C", str(setup.repo.path)]) == 0
    output = capsys.readouterr().out
    assert "Changes from main that a merge would add without a review" in output
    assert "Nobody has read this." in output
    assert "the merge would add changes of main to specs/guide.md, made to guide.md" in output
    assert f"next: docyard proposals refresh -C {setup.repo.path} {proposal.id}" in output
    assert main(["proposals", "show", proposal.id, "--json", "-C", str(setup.repo.path)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [document["path"] for document in data["unreviewed"]["documents"]] == ["specs/guide.md"]
    assert main(["proposals", "refresh", proposal.id, "-C", str(setup.repo.path)]) == 0
    capsys.readouterr()
    assert main(["proposals", "show", proposal.id, "--json", "-C", str(setup.repo.path)]) == 0
    assert json.loads(capsys.readouterr().out)["unreviewed"] is None


def test_page_of_proposal_shows_unreviewed_changes(setup: ProposalSetup, proposal: Proposal) -> None:
    page = extract_text(ProposalPages(setup).get_proposal_page(proposal))
    assert "Not reviewed yet" in page
    assert "Nobody has read this." in page
    refusal = ProposalPages(setup).send_refused_form(proposal, "merge", 409, commit=proposal.tip or "")
    assert "no reviewer of the proposal has seen" in extract_text(refusal)


def test_doctor_lists_void_approvals(setup: ProposalSetup, proposal: Proposal) -> None:
    messages = format_findings(setup.repo.path)
    assert "approvals of 1 proposal are void, because a merge has protected changes" in messages
    assert f"docyard proposals refresh {proposal.id}" in messages
    setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
    assert "are void" not in format_findings(setup.repo.path)


@pytest.mark.process
def test_sync_that_would_bypass_review_is_reported_everywhere(
    setup: ProposalSetup, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a server that pushes, `docyard sync` and `docyard doctor` report the path and the rule."""
    setup.repo.commit({"docyard.toml": f'{PROTECTION_RULE}[remote]\npush = "commit"\n'})
    remote = repositories.create_bare_repository(tmp_path / "there.git")
    setup.repo.git("remote", "add", "origin", str(remote.path))
    setup.repo.git("push", "-q", "--force", "origin", "main")
    other_clone = Repo(tmp_path / "other")
    remote.git("clone", "-q", str(remote.path), str(other_clone.path))
    other_clone.git("config", "user.name", "Bo")
    other_clone.git("config", "user.email", "bo@example.org")
    other_clone.git("mv", "guide.md", "specs/guide.md")
    other_clone.git("commit", "-qm", "Reviewed elsewhere")
    other_clone.git("push", "-q")
    their_commit = other_clone.head()
    setup.write("Nobody has read this.", "guide.md", "use")
    our_commit = setup.repo.head()
    workspace = Workspace.open(setup.repo.path, durable=False)
    index = SearchIndex(workspace)
    dispatcher = ToolDispatcher(workspace, index, None, False)
    synchronizer = Synchronizer(workspace, Access)
    synchronizer._exchange_if_due(is_last=False)
    sync_report = dispatcher.call("list_documents", {}, client="t").data["sync"]
    assert sync_report["state"] == "diverged"
    assert "specs/guide.md is protected by rule 1" in sync_report["error"]
    assert main(["sync", "-C", str(setup.repo.path)]) != 0
    assert "specs/guide.md is protected by rule 1" in capsys.readouterr().err
    assert "error | specs/guide.md is protected by rule 1" in format_findings(setup.repo.path)
    assert (setup.repo.head(), remote.git("rev-parse", "main").strip()) == (our_commit, their_commit)
    assert main(["sync", "--theirs", "specs/guide.md", "-C", str(setup.repo.path)]) == 0
    assert "Nobody" not in setup.show("specs/guide.md")
    assert not needs_resolution(sync(Workspace.open(setup.repo.path, durable=False), Access()))
    assert "is protected by" not in format_findings(setup.repo.path)
    index.close()


@pytest.mark.process
def test_hand_edit_of_protected_path_is_reported_before_and_after_push(
    setup: ProposalSetup,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    remote = repositories.create_bare_repository(tmp_path / "there.git")
    setup.repo.git("remote", "add", "origin", str(remote.path))
    setup.repo.git("push", "-q", "--force", "origin", "main")
    setup.repo.git("fetch", "-q")
    command = ["sync", "-C", str(setup.repo.path)]
    commit = setup.repo.commit({"specs/api.md": "# API\n"})
    message = f"commit {commit[:12]} was made with Git and has no review: it changes specs/api.md, which is"
    assert f"note | {message} protected by rule 1" in format_findings(setup.repo.path)
    assert main(command) == 0
    error_output = capsys.readouterr().err
    assert f"warning: {message} protected by rule 1 of docyard.toml\n" in error_output
    assert f"`docyard proposals create -C {setup.repo.path} TITLE`" in error_output
    assert message not in format_findings(setup.repo.path)
    assert main(command) == 0
    assert capsys.readouterr().err == ""
    commit = setup.repo.commit({"specs/api.md": "# API\n\nAgain.\n"})
    assert main([*command, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["unreviewed"] == [
        {"commit": commit, "paths": ["specs/api.md"], "rule": 1}
    ]
    assert captured.err == ""
    commit = setup.repo.commit({"docyard.toml": f'{PROTECTION_RULE}[remote]\npush = "commit"\n'})
    Synchronizer(Workspace.open(setup.repo.path, durable=False), Access)._exchange_if_due(is_last=False)
    assert f"pushed: commit {commit[:12]} was made with Git" in caplog.text
