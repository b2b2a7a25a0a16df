"""Pull requests with commands and a local test forge of each kind.

The forge implements the documented API on a real bare repository, in which Git itself merges.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from docyard.cli.main import main
from docyard.forges.relay import format_forge_name
from tests.docyard.forges.conftest import GITHUB_AND_SLOW_KINDS
from tests.docyard.forges.forge_scene import ForgeScene, open_forge_scene
from tests.docyard.forges.local_forge import PASSWORD
from tests.workspace.proposals.actions.scene import AGENT
from workspace.proposals.proposal import ProposalState

Run = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module", params=GITHUB_AND_SLOW_KINDS)
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeScene]:
    with open_forge_scene(request.param, tmp_path_factory.mktemp(request.param)) as forge_scene:
        yield forge_scene


@pytest.fixture
def run(scene: ForgeScene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command in the clone with --json and returns its data."""
    monkeypatch.setenv("DOCYARD_FORGE_URL", scene.local.url)
    monkeypatch.setenv("DOCYARD_FORGE_TOKEN", PASSWORD)

    def run(*arguments: str, code: int = 0) -> dict[str, Any]:
        assert main([*arguments, "--json", "-C", str(scene.repo.path)]) == code, capsys.readouterr()
        data: dict[str, Any] = json.loads(capsys.readouterr().out)
        return data

    return run


def test_pull_request_is_opened_updated_reviewed_and_merged_on_forge(scene: ForgeScene, run: Run) -> None:
    page = scene.choose_page()
    proposal = scene.open("Describe more")
    scene.append(proposal.id, "More.", page)
    pull_request_result = run("proposals", "submit", proposal.id)["pull_request"]
    assert pull_request_result["new"] is True
    number = pull_request_result["number"]
    pull_request = scene.local.state.find_pull_request(number)
    assert (pull_request.head, pull_request.target, pull_request.title) == (
        proposal.content.branch,
        "main",
        "Describe more",
    )
    assert "More." in pull_request.body
    assert f"docyard proposal {proposal.id}" in pull_request.body

    scene.local.state.review(number, "ana", "changes_requested", "Explain *why*.")
    scene.local.state.comment(number, "ben", "I like it.")
    (pull_request_report,) = run("sync")["forge"]["pull_requests"]
    # Reviews of GitLab have no text, so the text of the review is a comment.
    assert (pull_request_report["reviews"], pull_request_report["comments"]) == (
        1,
        2 if scene.local.kind == "gitlab" else 1,
    )
    assert scene.reload(proposal).state is ProposalState.CHANGES_REQUESTED
    comments = {
        str(event.author.name): str(event.body)
        for event in scene.proposal_actions.list_events(scene.reload(proposal))
    }
    assert "Explain *why*." in comments["ana"]
    assert "I like it." in comments["ben"]

    scene.add_commit(proposal, "Because of the herons.")
    update_result = run("proposals", "submit", proposal.id)["pull_request"]
    assert (update_result["number"], update_result["new"]) == (number, False)
    assert scene.local.state.find_pull_request(number).last_head == scene.reload(proposal).tip
    assert "herons" in scene.local.state.find_pull_request(number).body
    assert scene.reload(proposal).state is ProposalState.OPEN

    for review in scene.local.state.find_pull_request(number).reviews:
        review.verdict = "commented"
    scene.local.state.review(number, "ana", "approved", "Now it is clear.")
    run("sync")
    assert scene.reload(proposal).state is ProposalState.APPROVED

    head = scene.local.state.find_pull_request(number).last_head
    scene.local.state.merge(number, head, "Merge it", "ana")
    (pull_request_report,) = run("sync")["forge"]["pull_requests"]
    assert (pull_request_report["state"], pull_request_report["done"]) == ("merged", [])
    assert scene.reload(proposal).state is ProposalState.MERGED
    assert "herons" in scene.show(page)
    # The comments of the forge are pushed to the remote.
    assert "ana" in scene.remote.git("log", "--format=%an", "docyard/discussion")


def test_merge_in_clone_merges_pull_request(scene: ForgeScene, run: Run) -> None:
    proposal, number = scene.create_pull_request()
    run("proposals", "merge", proposal.id)
    run("sync")
    assert scene.local.state.find_pull_request(number).state == "merged"
    assert scene.reload(proposal).state is ProposalState.MERGED
    scene.check_sound()


def test_pull_request_and_proposal_close_each_other(scene: ForgeScene, run: Run) -> None:
    squashed_proposal, first_number = scene.create_pull_request()
    abandoned_proposal, second_number = scene.create_pull_request()
    unwanted_proposal, third_number = scene.create_pull_request()
    commit = scene.local.state.merge(first_number, None, "Squash it", "ana", method="squash")
    scene.forge.close(second_number)
    scene.proposal_actions.close(unwanted_proposal.id, AGENT, "Not now.")
    pull_requests = run("sync")["forge"]["pull_requests"]
    actions = {item["proposal"]: item["done"] for item in pull_requests if item["done"]}
    assert actions == {
        squashed_proposal.id: ["closed"],
        abandoned_proposal.id: ["closed"],
        unwanted_proposal.id: ["closed_there"],
    }
    forge_name = format_forge_name(scene.local.kind)
    merge_text = f"Merged on {forge_name} as {commit[:12]}"
    for proposal, text in ((squashed_proposal, merge_text), (abandoned_proposal, f"Closed on {forge_name}")):
        current = scene.reload(proposal)
        assert current.state is ProposalState.CLOSED
        assert text in str(scene.proposal_actions.list_events(current)[-1].body)
    assert scene.local.state.find_pull_request(third_number).state == "closed"


def test_conflict_on_forge_is_reported_and_resolved_by_refresh(scene: ForgeScene, run: Run) -> None:
    proposal, number = scene.create_pull_request()
    scene.repo.commit({scene.find_page(proposal): "# Page\n\n## Use\n\nUse it. Less.\n"})
    scene.repo.git("push", "-q", "origin", "main")
    pull_requests = run("sync")["forge"]["pull_requests"]
    assert [item["waits"] for item in pull_requests if item["proposal"] == proposal.id] == ["conflict"]
    # Git cannot merge both lines; a merge by sections preserves both.
    run("proposals", "refresh", proposal.id)
    scene.push(scene.reload(proposal))
    assert scene.local.state.is_mergeable(scene.local.state.find_pull_request(number))


@pytest.mark.parametrize("scene", ["github"], indirect=True)  # the behaviour does not depend on the kind
def test_missing_token_is_reported_and_other_steps_run(
    scene: ForgeScene, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCYARD_FORGE_TOKEN")
    scene.repo.commit({"other.md": "# Other\n"})
    result = run("sync", code=1)
    assert (result["state"], result["pushed"]) == ("level", 1)
    assert result["forge"]["error"]["code"] == "NO_FORGE_TOKEN"
