"""A proposal that is submitted becomes one pull request, by whichever way it is submitted."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.forges.errors import ForgeDenied
from docyard.forges.forge_repository import ForgeAccess
from docyard.forges.pull_request_report import build_announcer
from docyard.forges.pull_requests import OpenedPullRequest, format_marker, open_pull_request
from index.service import SearchIndex
from tests import repositories
from tests.docyard.forges.conftest import MAINLY_ONE, Setting
from tests.docyard.forges.local_forge import PASSWORD, Fault
from tools.registry import Toolbox
from tools.toolsets import TOOLSETS
from workspace.git.remotes.credentials import Access
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, KnownBy
from workspace.proposals.proposal import Proposal
from workspace.sync.push import push_proposal
from workspace.workspace import Workspace

pytestmark = pytest.mark.process

ACTOR = Actor(Author("Ada", "ada@example.org", KnownBy.GIT), "test", "tests")
Clone = repositories.Repo
Capture = pytest.CaptureFixture[str]

ON_ONE = pytest.mark.parametrize("started", ["github"], indirect=True)
"""What the adapters have no part in is tested with one of them."""

MAINLY_ON_ONE = pytest.mark.parametrize("started", MAINLY_ONE, indirect=True)


@pytest.fixture(scope="module")
def cloned(started: Setting, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone whose remote is the forge, as Git knows it; it leads to the bare repository."""
    path = tmp_path_factory.mktemp("clone") / "docs"
    started.bare.git("clone", "-q", ".", str(path))
    clone = Clone(path)
    clone.git("config", "user.name", repositories.NAME)
    clone.git("config", "user.email", repositories.EMAIL)
    url = f"http://127.0.0.1:1/{started.local.git_path}"
    clone.git("remote", "set-url", "origin", url)
    clone.git("config", f"url.{started.bare.path}.insteadOf", url)
    clone.commit({"docyard.toml": f'[forge]\nkind = "{started.local.kind}"\n'})
    clone.git("push", "-q", "origin", "main")
    return clone


@pytest.fixture
def clone(setting: Setting, cloned: Clone, monkeypatch: pytest.MonkeyPatch) -> Clone:
    monkeypatch.setenv("DOCYARD_FORGE_URL", setting.local.url)
    monkeypatch.setenv("DOCYARD_FORGE_TOKEN", PASSWORD)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    return cloned


@pytest.fixture
def workspace(clone: Clone) -> Workspace:
    return Workspace.open(clone.path, durable=False)


@pytest.fixture(scope="module")
def submitted(cloned: Clone) -> Proposal:
    """A proposal of which no pull request ever comes."""
    return proposed(cloned, Workspace.open(cloned.path, durable=False), "In vain")


def proposed(clone: Clone, workspace: Workspace, title: str = "Say it anew") -> Proposal:
    """A proposal with one commit, submitted."""
    made = workspace.proposing().open(title, "Because @ana asked.", ACTOR)
    clone.git("switch", "-q", made.content.branch)
    clone.commit({f"pages/{made.id}.md": f"# {title}\n\nWords.\n"})
    clone.git("switch", "-q", "main")
    return workspace.proposing().submit(made.id, ACTOR).proposal


def opened(setting: Setting, workspace: Workspace, proposal: Proposal) -> OpenedPullRequest:
    return open_pull_request(workspace, proposal, setting.forge, Access())


@ON_ONE
def test_its_branch_and_its_words_are_pushed_and_it_is_opened(
    setting: Setting, clone: Clone, workspace: Workspace
) -> None:
    one = proposed(clone, workspace)
    main_there = setting.bare.git("rev-parse", "main")
    done = opened(setting, workspace, one)
    found = done.pull_request
    assert done.is_new
    assert done.send_error is None
    assert (found.head_branch, found.head_sha, found.target) == (one.content.branch, one.tip, "main")
    assert found.title == "Say it anew"
    assert found.body.startswith("Because @\u200bana asked.\n\n### `pages/")
    assert found.body.endswith(format_marker(one.id))
    for branch in (one.content.branch, "docyard/discussion"):
        assert setting.bare.git("rev-parse", branch) == clone.git("rev-parse", branch)
    assert setting.bare.git("rev-parse", "main") == main_there
    (thread,) = workspace.proposing().find(one.id).content.threads
    assert thread.comment.text == f"Opened as pull request [1]({found.url})."


@MAINLY_ON_ONE
def test_done_again_it_is_brought_up_to_date_and_else_left_alone(
    setting: Setting, clone: Clone, workspace: Workspace
) -> None:
    one = proposed(clone, workspace)
    number = opened(setting, workspace, one).pull_request.number
    setting.local.asked.clear()
    again = opened(setting, workspace, one)
    assert (again.is_new, again.pull_request.number) == (False, number)
    assert {asked.method for asked in setting.local.asked} == {"GET"}
    workspace.proposing().edit(one.id, ACTOR, title="Say it better", description="Shorter.")
    renamed = opened(setting, workspace, workspace.proposing().find(one.id)).pull_request
    assert (renamed.number, renamed.title) == (number, "Say it better")
    assert renamed.body.startswith("Shorter.\n\n### ")
    assert len(setting.local.state.pull_requests) == 1


@ON_ONE
def test_a_slower_call_does_not_bring_back_older_words(
    setting: Setting, clone: Clone, workspace: Workspace
) -> None:
    """It looked at the proposal before somebody else edited it, and is done after they are."""
    before = proposed(clone, workspace)
    workspace.proposing().edit(before.id, ACTOR, title="Say it better", description="Shorter.")
    opened(setting, workspace, workspace.proposing().find(before.id))
    late = opened(setting, workspace, before).pull_request
    for found in (late, setting.forge.get(late.number)):
        assert (found.title, found.body.partition("\n")[0]) == ("Say it better", "Shorter.")


@MAINLY_ON_ONE
def test_one_that_was_closed_there_is_reopened_by_another_submission(
    setting: Setting, clone: Clone, workspace: Workspace
) -> None:
    one = proposed(clone, workspace)
    number = opened(setting, workspace, one).pull_request.number
    setting.forge.close(number)
    again = opened(setting, workspace, one)
    assert (again.pull_request.number, again.pull_request.state, again.is_new) == (number, "open", False)


@ON_ONE
@pytest.mark.slow
def test_a_branch_that_was_deleted_there_comes_back(
    setting: Setting, clone: Clone, workspace: Workspace
) -> None:
    one = proposed(clone, workspace)
    opened(setting, workspace, one)
    setting.local.state.delete_branch(one.content.branch)
    assert opened(setting, workspace, one).pull_request.head_sha == one.tip


@ON_ONE
@pytest.mark.slow
def test_words_that_the_remote_has_are_joined_first(
    setting: Setting, clone: Clone, workspace: Workspace, tmp_path: Path
) -> None:
    opened(setting, workspace, proposed(clone, workspace))
    setting.bare.git("clone", "-q", ".", str(tmp_path / "other"))
    other = Clone(tmp_path / "other")
    other.git("config", "user.name", "Bea")
    other.git("config", "user.email", "bea@example.org")
    other.git("branch", "-q", "docyard/discussion", "origin/docyard/discussion")
    Workspace.open(other.path, durable=False).proposing().open("Elsewhere", "", ACTOR)
    other.git("push", "-q", "origin", "docyard/discussion")
    there = setting.bare.git("rev-parse", "docyard/discussion").strip()
    done = opened(setting, workspace, proposed(clone, workspace, "Another"))
    assert done.send_error is None
    assert setting.bare.git("rev-parse", "docyard/discussion") == clone.git("rev-parse", "docyard/discussion")
    clone.git("merge-base", "--is-ancestor", there, "docyard/discussion")


@ON_ONE
def test_a_branch_with_commits_of_others_there_is_not_pushed_over(
    setting: Setting, clone: Clone, workspace: Workspace
) -> None:
    one = proposed(clone, workspace)
    opened(setting, workspace, one)
    theirs = setting.commit(one.content.branch, "# Theirs\n", "theirs.md")
    assert opened(setting, workspace, one).pull_request.head_sha == theirs  # they went on from ours
    clone.git("switch", "-q", one.content.branch)
    clone.commit({"ours.md": "# Ours\n"})
    clone.git("switch", "-q", "main")
    announced = build_announcer(workspace, lambda: access(setting), Access)(
        workspace.proposing().find(one.id)
    )
    assert announced is not None
    assert announced.error is not None
    assert "docyard sync --branch" in announced.error.fix
    assert setting.bare.git("rev-parse", one.content.branch).strip() == theirs


@ON_ONE
def test_whoever_was_stopped_before_its_link_was_said_says_it_the_next_time(
    setting: Setting, clone: Clone, workspace: Workspace
) -> None:
    one = proposed(clone, workspace)
    push_proposal(workspace, Access(), one.content.branch)
    found = setting.opened(one.content.branch)
    for _ in range(2):
        done = opened(setting, workspace, one)
        assert (done.is_new, done.send_error) == (False, None)
    (thread,) = workspace.proposing().find(one.id).content.threads
    assert thread.comment.text == f"Opened as pull request [{found.number}]({found.url})."
    assert setting.bare.git("rev-parse", "docyard/discussion") == clone.git("rev-parse", "docyard/discussion")


@ON_ONE
def test_two_at_once_make_one(setting: Setting, clone: Clone, workspace: Workspace) -> None:
    one = proposed(clone, workspace)
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: opened(setting, workspace, one), range(2)))
    assert {found.pull_request.number for found in done} == {1}
    assert sorted(found.is_new for found in done) == [False, True]


@ON_ONE
@pytest.mark.parametrize("kind", ["after", pytest.param("cut", marks=pytest.mark.slow)])
def test_an_answer_that_is_lost_opens_no_second_one(
    setting: Setting, clone: Clone, workspace: Workspace, kind: str
) -> None:
    one = proposed(clone, workspace)
    setting.local.faults.append(Fault(kind=kind, status=409, method="POST"))
    if kind == "cut":  # nothing was done, and so the error stands; the next time opens it
        announced = build_announcer(workspace, lambda: access(setting), Access)(one)
        assert announced is not None
        assert announced.error is not None
    assert opened(setting, workspace, one).pull_request.number == 1
    assert len(setting.local.state.pull_requests) == 1


@ON_ONE
def test_a_token_that_may_only_read_is_denied(setting: Setting, clone: Clone, workspace: Workspace) -> None:
    reader = setting.adapter(setting.local.reader)
    with pytest.raises(ForgeDenied):
        open_pull_request(workspace, proposed(clone, workspace), reader, Access())
    reader.close_connections()


def access(setting: Setting, token: str | None = PASSWORD) -> ForgeAccess:
    return ForgeAccess(setting.local.url, token)


@MAINLY_ON_ONE
def test_the_command_opens_it_and_names_it(
    setting: Setting, clone: Clone, workspace: Workspace, capsys: Capture
) -> None:
    one = proposed(clone, workspace)
    assert main(["proposals", "submit", one.id, "-C", str(clone.path)]) == 0
    assert "Opened pull request 1, https://forge.example/ana/" in " ".join(capsys.readouterr().out.split())
    assert main(["proposals", "submit", one.id, "-C", str(clone.path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["pull_request"]
    assert (told["number"], told["new"], told["forge"]) == (1, False, setting.local.kind)


@ON_ONE
def test_the_command_opens_none_with_no_forge(
    setting: Setting, clone: Clone, workspace: Workspace, capsys: Capture
) -> None:
    one = proposed(clone, workspace)
    assert main(["proposals", "submit", one.id, "-C", str(clone.path), "--no-forge", "--json"]) == 0
    assert "pull_request" not in json.loads(capsys.readouterr().out)
    assert setting.local.asked == []


@ON_ONE
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault(status=401), "FORGE_DENIED"),
        (Fault(status=403), "FORGE_DENIED"),
        (Fault(status=404), "FORGE_NOT_FOUND"),
        (Fault(status=422), "FORGE_REFUSED"),
        (Fault(status=429, headers={"retry-after": "900"}), "FORGE_LIMITED"),
        (Fault(status=500), "FORGE_FAILED"),
        (Fault(kind="nonsense"), "FORGE_UNREACHABLE"),
    ],
    ids=["401", "403", "404", "422", "429", "500", "nonsense"],
)
def test_a_forge_that_fails_undoes_nothing(
    setting: Setting, clone: Clone, submitted: Proposal, capsys: Capture, fault: Fault, code: str
) -> None:
    setting.local.faults.append(Fault(fault.kind, fault.status, fault.headers, times=9))
    assert main(["proposals", "submit", submitted.id, "-C", str(clone.path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["state"] == "open"
    assert told["pull_request"]["error"]["code"] == code
    assert told["pull_request"]["error"]["fix"]
    assert PASSWORD not in json.dumps(told)


@ON_ONE
def test_the_tool_opens_it_and_says_what_did_not_work(
    setting: Setting, clone: Clone, workspace: Workspace
) -> None:
    workspace.announcer = build_announcer(workspace, lambda: access(setting), Access)
    toolbox = Toolbox(workspace, SearchIndex(workspace), TOOLSETS, False)
    one = proposed(clone, workspace)
    call = {"proposal": one.id, "action": "submit"}
    done = toolbox.call("update_proposal", call, client="tests").data
    assert done["pull_request"]["number"] == 1
    assert done["pull_request"]["new"] is True
    assert done["pull_request"]["url"].startswith("https://forge.example/")
    workspace.announcer = build_announcer(workspace, lambda: access(setting, None), Access)
    lacking = toolbox.call("update_proposal", call, client="tests").data
    assert lacking["pull_request"] is None
    assert lacking["state"] == "open"
    assert "there is no token for 127.0.0.1" in lacking["hints"][0]
    assert "DOCYARD_FORGE_TOKEN" in lacking["hints"][0]


def test_without_a_forge_everything_works_alone(tmp_path: Path, capsys: Capture) -> None:
    repo = repositories.normal(tmp_path / "alone")
    workspace = Workspace.open(repo.path, durable=False)
    one = proposed(repo, workspace)
    assert build_announcer(workspace, ForgeAccess, Access)(one) is None
    assert main(["proposals", "submit", one.id, "-C", str(repo.path), "--json"]) == 0
    assert "pull_request" not in json.loads(capsys.readouterr().out)
