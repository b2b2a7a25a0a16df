"""The submission of a proposal opens or updates its pull request, by command or by tool."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.forges.errors import ForgeAccessDenied
from docyard.forges.forge_repository import ForgeAccess
from docyard.forges.pull_request_report import build_pull_request_opener
from docyard.forges.pull_requests import OpenedPullRequest, format_marker, open_pull_request
from index.service import SearchIndex
from tests import repositories
from tests.docyard.forges.conftest import GITHUB_AND_SLOW_KINDS, ForgeClientSetup
from tests.docyard.forges.local_forge import FULL_TOKEN, Fault
from tools.dispatcher import ToolDispatcher
from tools.toolsets import TOOLSETS
from workspace.git.remotes.credentials import Access
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource
from workspace.proposals.proposal import Proposal
from workspace.sync.push import push_proposal
from workspace.workspace import Workspace

pytestmark = pytest.mark.process

ACTOR = Actor(Author("Ada", "ada@example.org", IdentitySource.GIT), "test", "tests")
Clone = repositories.Repo
Capture = pytest.CaptureFixture[str]

ON_GITHUB = pytest.mark.parametrize("shared_forge_setup", ["github"], indirect=True)
"""Parameters for tests that do not depend on the kind of forge."""

ON_GITHUB_AND_SLOW_KINDS = pytest.mark.parametrize("shared_forge_setup", GITHUB_AND_SLOW_KINDS, indirect=True)


@pytest.fixture(scope="module")
def shared_clone(shared_forge_setup: ForgeClientSetup, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """Return a clone whose remote URL is that of the forge; `insteadOf` maps it to the bare repository."""
    path = tmp_path_factory.mktemp("clone") / "docs"
    shared_forge_setup.bare_repo.git("clone", "-q", ".", str(path))
    clone = Clone(path)
    clone.git("config", "user.name", repositories.NAME)
    clone.git("config", "user.email", repositories.EMAIL)
    url = f"http://127.0.0.1:1/{shared_forge_setup.local_forge.git_path}"
    clone.git("remote", "set-url", "origin", url)
    clone.git("config", f"url.{shared_forge_setup.bare_repo.path}.insteadOf", url)
    clone.commit({"docyard.toml": f'[forge]\nkind = "{shared_forge_setup.local_forge.kind}"\n'})
    clone.git("push", "-q", "origin", "main")
    return clone


@pytest.fixture
def clone(forge_setup: ForgeClientSetup, shared_clone: Clone, monkeypatch: pytest.MonkeyPatch) -> Clone:
    monkeypatch.setenv("DOCYARD_FORGE_URL", forge_setup.local_forge.url)
    monkeypatch.setenv("DOCYARD_FORGE_TOKEN", FULL_TOKEN)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    return shared_clone


@pytest.fixture
def workspace(clone: Clone) -> Workspace:
    return Workspace.open(clone.path, durable=False)


@pytest.fixture(scope="module")
def submitted_proposal(shared_clone: Clone) -> Proposal:
    """Return a submitted proposal whose pull request is never opened."""
    return create_proposal(
        shared_clone, Workspace.open(shared_clone.path, durable=False), "Rewrite another text"
    )


def create_proposal(clone: Clone, workspace: Workspace, title: str = "Rewrite the text") -> Proposal:
    """Create a submitted proposal with one commit."""
    proposal = workspace.proposal_actions().open(title, "Because @ana asked.", ACTOR)
    clone.git("switch", "-q", proposal.content.branch)
    clone.commit({f"pages/{proposal.id}.md": f"# {title}\n\nWords.\n"})
    clone.git("switch", "-q", "main")
    return workspace.proposal_actions().submit(proposal.id, ACTOR).proposal


def submit_to_forge(
    forge_setup: ForgeClientSetup, workspace: Workspace, proposal: Proposal
) -> OpenedPullRequest:
    return open_pull_request(workspace, proposal, forge_setup.forge, Access())


@ON_GITHUB
def test_submission_pushes_branch_and_opens_pull_request(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace
) -> None:
    proposal = create_proposal(clone, workspace)
    remote_main = forge_setup.bare_repo.git("rev-parse", "main")
    result = submit_to_forge(forge_setup, workspace, proposal)
    pull_request = result.pull_request
    assert result.is_new
    assert result.send_error is None
    assert (pull_request.head_branch, pull_request.head_sha, pull_request.target) == (
        proposal.content.branch,
        proposal.tip,
        "main",
    )
    assert pull_request.title == "Rewrite the text"
    assert pull_request.body.startswith("Because @\u200bana asked.\n\n### `pages/")
    assert pull_request.body.endswith(format_marker(proposal.id))
    for branch in (proposal.content.branch, "docyard/discussion"):
        assert forge_setup.bare_repo.git("rev-parse", branch) == clone.git("rev-parse", branch)
    assert forge_setup.bare_repo.git("rev-parse", "main") == remote_main
    (thread,) = workspace.proposal_actions().find(proposal.id).content.threads
    assert thread.comment.text == f"Opened as pull request [1]({pull_request.url})."


@ON_GITHUB_AND_SLOW_KINDS
def test_second_submission_updates_only_changed_fields(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace
) -> None:
    proposal = create_proposal(clone, workspace)
    number = submit_to_forge(forge_setup, workspace, proposal).pull_request.number
    forge_setup.local_forge.requests.clear()
    second_result = submit_to_forge(forge_setup, workspace, proposal)
    assert (second_result.is_new, second_result.pull_request.number) == (False, number)
    assert {request.method for request in forge_setup.local_forge.requests} == {"GET"}
    workspace.proposal_actions().edit(
        proposal.id, ACTOR, title="Rewrite the whole text", description="Shorter."
    )
    renamed_request = submit_to_forge(
        forge_setup, workspace, workspace.proposal_actions().find(proposal.id)
    ).pull_request
    assert (renamed_request.number, renamed_request.title) == (number, "Rewrite the whole text")
    assert renamed_request.body.startswith("Shorter.\n\n### ")
    assert len(forge_setup.local_forge.state.pull_requests) == 1


@ON_GITHUB
def test_submission_of_older_state_does_not_overwrite_newer_text(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace
) -> None:
    """Submit an older state of a proposal after another caller submitted a newer one."""
    older_proposal = create_proposal(clone, workspace)
    workspace.proposal_actions().edit(
        older_proposal.id, ACTOR, title="Rewrite the whole text", description="Shorter."
    )
    submit_to_forge(forge_setup, workspace, workspace.proposal_actions().find(older_proposal.id))
    updated_request = submit_to_forge(forge_setup, workspace, older_proposal).pull_request
    for pull_request in (updated_request, forge_setup.forge.get(updated_request.number)):
        assert (pull_request.title, pull_request.body.partition("\n")[0]) == (
            "Rewrite the whole text",
            "Shorter.",
        )


@ON_GITHUB_AND_SLOW_KINDS
def test_submission_reopens_closed_pull_request(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace
) -> None:
    proposal = create_proposal(clone, workspace)
    number = submit_to_forge(forge_setup, workspace, proposal).pull_request.number
    forge_setup.forge.close(number)
    second_result = submit_to_forge(forge_setup, workspace, proposal)
    assert (second_result.pull_request.number, second_result.pull_request.state, second_result.is_new) == (
        number,
        "open",
        False,
    )


@ON_GITHUB
@pytest.mark.slow
def test_submission_restores_branch_deleted_on_forge(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace
) -> None:
    proposal = create_proposal(clone, workspace)
    submit_to_forge(forge_setup, workspace, proposal)
    forge_setup.local_forge.state.delete_branch(proposal.content.branch)
    assert submit_to_forge(forge_setup, workspace, proposal).pull_request.head_sha == proposal.tip


@ON_GITHUB
@pytest.mark.slow
def test_remote_discussion_is_merged_before_push(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace, tmp_path: Path
) -> None:
    submit_to_forge(forge_setup, workspace, create_proposal(clone, workspace))
    forge_setup.bare_repo.git("clone", "-q", ".", str(tmp_path / "other"))
    other_clone = Clone(tmp_path / "other")
    other_clone.git("config", "user.name", "Bea")
    other_clone.git("config", "user.email", "bea@example.org")
    other_clone.git("branch", "-q", "docyard/discussion", "origin/docyard/discussion")
    Workspace.open(other_clone.path, durable=False).proposal_actions().open("Rewrite another page", "", ACTOR)
    other_clone.git("push", "-q", "origin", "docyard/discussion")
    remote_commit = forge_setup.bare_repo.git("rev-parse", "docyard/discussion").strip()
    result = submit_to_forge(forge_setup, workspace, create_proposal(clone, workspace, "Rewrite more"))
    assert result.send_error is None
    assert forge_setup.bare_repo.git("rev-parse", "docyard/discussion") == clone.git(
        "rev-parse", "docyard/discussion"
    )
    clone.git("merge-base", "--is-ancestor", remote_commit, "docyard/discussion")


@ON_GITHUB
def test_remote_commits_of_others_are_not_overwritten(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace
) -> None:
    proposal = create_proposal(clone, workspace)
    submit_to_forge(forge_setup, workspace, proposal)
    other_commit = forge_setup.commit(proposal.content.branch, "# Another\n", "other.md")
    assert submit_to_forge(forge_setup, workspace, proposal).pull_request.head_sha == other_commit
    clone.git("switch", "-q", proposal.content.branch)
    clone.commit({"own.md": "# Text\n"})
    clone.git("switch", "-q", "main")
    report = build_pull_request_opener(workspace, lambda: make_access(forge_setup), Access)(
        workspace.proposal_actions().find(proposal.id)
    )
    assert report is not None
    assert report.error is not None
    assert "docyard sync --branch" in report.error.fix
    assert forge_setup.bare_repo.git("rev-parse", proposal.content.branch).strip() == other_commit


@ON_GITHUB
def test_missing_comment_with_link_is_added_by_next_submission(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace
) -> None:
    proposal = create_proposal(clone, workspace)
    push_proposal(workspace, Access(), proposal.content.branch)
    pull_request = forge_setup.open_pull_request(proposal.content.branch)
    for _ in range(2):
        result = submit_to_forge(forge_setup, workspace, proposal)
        assert (result.is_new, result.send_error) == (False, None)
    (thread,) = workspace.proposal_actions().find(proposal.id).content.threads
    assert thread.comment.text == f"Opened as pull request [{pull_request.number}]({pull_request.url})."
    assert forge_setup.bare_repo.git("rev-parse", "docyard/discussion") == clone.git(
        "rev-parse", "docyard/discussion"
    )


@ON_GITHUB
def test_concurrent_submissions_open_one_pull_request(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace
) -> None:
    proposal = create_proposal(clone, workspace)
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: submit_to_forge(forge_setup, workspace, proposal), range(2)))
    assert {result.pull_request.number for result in results} == {1}
    assert sorted(result.is_new for result in results) == [False, True]


@ON_GITHUB
@pytest.mark.parametrize("kind", ["after_request", pytest.param("incomplete", marks=pytest.mark.slow)])
def test_lost_response_opens_no_second_pull_request(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace, kind: str
) -> None:
    proposal = create_proposal(clone, workspace)
    forge_setup.local_forge.faults.append(Fault(kind=kind, status=409, method="POST"))
    if kind == "incomplete":  # the forge opened no pull request, so the next submission opens one
        report = build_pull_request_opener(workspace, lambda: make_access(forge_setup), Access)(proposal)
        assert report is not None
        assert report.error is not None
    assert submit_to_forge(forge_setup, workspace, proposal).pull_request.number == 1
    assert len(forge_setup.local_forge.state.pull_requests) == 1


@ON_GITHUB
def test_read_only_token_is_denied(forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace) -> None:
    reader = forge_setup.create_client(forge_setup.local_forge.read_only_token)
    with pytest.raises(ForgeAccessDenied):
        open_pull_request(workspace, create_proposal(clone, workspace), reader, Access())
    reader.close_connections()


def make_access(forge_setup: ForgeClientSetup, token: str | None = FULL_TOKEN) -> ForgeAccess:
    return ForgeAccess(forge_setup.local_forge.url, token)


@ON_GITHUB_AND_SLOW_KINDS
def test_command_opens_and_prints_pull_request(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace, capsys: Capture
) -> None:
    proposal = create_proposal(clone, workspace)
    assert main(["proposals", "submit", proposal.id, "-C", str(clone.path)]) == 0
    assert "Opened pull request 1, https://forge.example/ana/" in " ".join(capsys.readouterr().out.split())
    assert main(["proposals", "submit", proposal.id, "-C", str(clone.path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["pull_request"]
    assert (data["number"], data["new"], data["forge"]) == (1, False, forge_setup.local_forge.kind)


@ON_GITHUB
def test_command_with_no_forge_option_opens_no_pull_request(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace, capsys: Capture
) -> None:
    proposal = create_proposal(clone, workspace)
    assert main(["proposals", "submit", proposal.id, "-C", str(clone.path), "--no-forge", "--json"]) == 0
    assert "pull_request" not in json.loads(capsys.readouterr().out)
    assert forge_setup.local_forge.requests == []


@ON_GITHUB
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault(status=401), "FORGE_DENIED"),
        (Fault(status=403), "FORGE_DENIED"),
        (Fault(status=404), "FORGE_NOT_FOUND"),
        (Fault(status=422), "FORGE_REFUSED"),
        (Fault(status=429, headers={"retry-after": "900"}), "FORGE_LIMITED"),
        (Fault(status=500), "FORGE_FAILED"),
        (Fault(kind="not_json"), "FORGE_UNREACHABLE"),
    ],
    ids=["401", "403", "404", "422", "429", "500", "not_json"],
)
def test_forge_failure_leaves_proposal_submitted(
    forge_setup: ForgeClientSetup,
    clone: Clone,
    submitted_proposal: Proposal,
    capsys: Capture,
    fault: Fault,
    code: str,
) -> None:
    forge_setup.local_forge.faults.append(Fault(fault.kind, fault.status, fault.headers, times=9))
    assert main(["proposals", "submit", submitted_proposal.id, "-C", str(clone.path), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["state"] == "open"
    assert data["pull_request"]["error"]["code"] == code
    assert data["pull_request"]["error"]["fix"]
    assert FULL_TOKEN not in json.dumps(data)


@ON_GITHUB
def test_tool_opens_pull_request_or_reports_failure(
    forge_setup: ForgeClientSetup, clone: Clone, workspace: Workspace
) -> None:
    workspace.pull_request_opener = build_pull_request_opener(
        workspace, lambda: make_access(forge_setup), Access
    )
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False)
    proposal = create_proposal(clone, workspace)
    call = {"proposal": proposal.id, "action": "submit"}
    result = dispatcher.call("update_proposal", call, client="tests").data
    assert result["pull_request"]["number"] == 1
    assert result["pull_request"]["new"] is True
    assert result["pull_request"]["url"].startswith("https://forge.example/")
    workspace.pull_request_opener = build_pull_request_opener(
        workspace, lambda: make_access(forge_setup, None), Access
    )
    failed_result = dispatcher.call("update_proposal", call, client="tests").data
    assert failed_result["pull_request"] is None
    assert failed_result["state"] == "open"
    assert "no token is set for 127.0.0.1" in failed_result["hints"][0]
    assert "DOCYARD_FORGE_TOKEN" in failed_result["hints"][0]


def test_submission_without_forge_succeeds(tmp_path: Path, capsys: Capture) -> None:
    repo = repositories.create_repository(tmp_path / "alone")
    workspace = Workspace.open(repo.path, durable=False)
    proposal = create_proposal(repo, workspace)
    assert build_pull_request_opener(workspace, ForgeAccess, Access)(proposal) is None
    assert main(["proposals", "submit", proposal.id, "-C", str(repo.path), "--json"]) == 0
    assert "pull_request" not in json.loads(capsys.readouterr().out)
