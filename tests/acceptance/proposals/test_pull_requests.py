"""Commands that open, update and merge pull requests on a local test forge of each kind.

The forge implements the documented API on a real bare repository, in which Git itself merges.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from docyard.cli.main import main
from docyard.forges.event_conversion import format_forge_name
from tests.docyard.forges.conftest import GITHUB_AND_SLOW_KINDS
from tests.docyard.forges.forge_setup import ForgeSetup, open_forge_setup
from tests.docyard.forges.local_forge import FULL_TOKEN
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR
from workspace.proposals.proposal import ProposalState

Run = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module", params=GITHUB_AND_SLOW_KINDS)
def setup(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeSetup]:
    with open_forge_setup(request.param, tmp_path_factory.mktemp(request.param)) as forge_setup:
        yield forge_setup


@pytest.fixture
def run(setup: ForgeSetup, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command in the clone with --json and returns its data."""
    monkeypatch.setenv("DOCYARD_FORGE_URL", setup.local_forge.url)
    monkeypatch.setenv("DOCYARD_FORGE_TOKEN", FULL_TOKEN)

    def run(*arguments: str, exit_code: int = 0) -> dict[str, Any]:
        assert main([*arguments, "--json", "-C", str(setup.repo.path)]) == exit_code, capsys.readouterr()
        data: dict[str, Any] = json.loads(capsys.readouterr().out)
        return data

    return run


def test_pull_request_is_opened_updated_reviewed_and_merged_on_forge(setup: ForgeSetup, run: Run) -> None:
    page = setup.choose_page()
    proposal = setup.open("Describe more")
    setup.append(proposal.id, "More.", page)
    pull_request_result = run("proposals", "submit", proposal.id)["pull_request"]
    assert pull_request_result["new"] is True
    number = pull_request_result["number"]
    pull_request = setup.local_forge.state.find_pull_request(number)
    assert (pull_request.head, pull_request.target, pull_request.title) == (
        proposal.content.branch,
        "main",
        "Describe more",
    )
    assert "More." in pull_request.body
    assert f"docyard proposal {proposal.id}" in pull_request.body

    setup.local_forge.state.review(number, "ana", "changes_requested", "Explain *why*.")
    setup.local_forge.state.comment(number, "ben", "I like it.")
    (pull_request_report,) = run("sync")["forge"]["pull_requests"]
    # Reviews of GitLab have no text, so the text of the review is a comment.
    assert (pull_request_report["reviews"], pull_request_report["comments"]) == (
        1,
        2 if setup.local_forge.kind == "gitlab" else 1,
    )
    assert setup.reload(proposal).state is ProposalState.CHANGES_REQUESTED
    comments = {
        str(event.author.name): str(event.body)
        for event in setup.proposal_actions.list_events(setup.reload(proposal))
    }
    assert "Explain *why*." in comments["ana"]
    assert "I like it." in comments["ben"]

    setup.add_commit(proposal, "Because of the herons.")
    update_result = run("proposals", "submit", proposal.id)["pull_request"]
    assert (update_result["number"], update_result["new"]) == (number, False)
    assert setup.local_forge.state.find_pull_request(number).last_head == setup.reload(proposal).tip
    assert "herons" in setup.local_forge.state.find_pull_request(number).body
    assert setup.reload(proposal).state is ProposalState.OPEN

    for review in setup.local_forge.state.find_pull_request(number).reviews:
        review.verdict = "commented"
    setup.local_forge.state.review(number, "ana", "approved", "Now it is clear.")
    run("sync")
    assert setup.reload(proposal).state is ProposalState.APPROVED

    head = setup.local_forge.state.find_pull_request(number).last_head
    setup.local_forge.state.merge(number, head, "Merge it", "ana")
    (pull_request_report,) = run("sync")["forge"]["pull_requests"]
    assert (pull_request_report["state"], pull_request_report["done"]) == ("merged", [])
    assert setup.reload(proposal).state is ProposalState.MERGED
    assert "herons" in setup.show(page)
    # The comments of the forge are pushed to the remote.
    assert "ana" in setup.remote.git("log", "--format=%an", "docyard/discussion")


def test_merge_in_clone_merges_pull_request(setup: ForgeSetup, run: Run) -> None:
    proposal, number = setup.create_pull_request()
    run("proposals", "merge", proposal.id)
    run("sync")
    assert setup.local_forge.state.find_pull_request(number).state == "merged"
    assert setup.reload(proposal).state is ProposalState.MERGED
    setup.check_repository_intact()


def test_pull_request_and_proposal_close_each_other(setup: ForgeSetup, run: Run) -> None:
    squashed_proposal, first_number = setup.create_pull_request()
    abandoned_proposal, second_number = setup.create_pull_request()
    unwanted_proposal, third_number = setup.create_pull_request()
    commit = setup.local_forge.state.merge(first_number, None, "Squash it", "ana", method="squash")
    setup.forge.close(second_number)
    setup.proposal_actions.close(unwanted_proposal.id, AGENT_ACTOR, "Not now.")
    pull_requests = run("sync")["forge"]["pull_requests"]
    actions = {
        pull_request["proposal"]: pull_request["done"]
        for pull_request in pull_requests
        if pull_request["done"]
    }
    assert actions == {
        squashed_proposal.id: ["closed"],
        abandoned_proposal.id: ["closed"],
        unwanted_proposal.id: ["closed_there"],
    }
    forge_name = format_forge_name(setup.local_forge.kind)
    merge_text = f"Merged on {forge_name} as {commit[:12]}"
    for proposal, text in ((squashed_proposal, merge_text), (abandoned_proposal, f"Closed on {forge_name}")):
        closed_proposal = setup.reload(proposal)
        assert closed_proposal.state is ProposalState.CLOSED
        assert text in str(setup.proposal_actions.list_events(closed_proposal)[-1].body)
    assert setup.local_forge.state.find_pull_request(third_number).state == "closed"


def test_conflict_on_forge_is_reported_and_resolved_by_refresh(setup: ForgeSetup, run: Run) -> None:
    proposal, number = setup.create_pull_request()
    setup.repo.commit({setup.find_page(proposal): "# Page\n\n## Use\n\nUse it. Less.\n"})
    setup.repo.git("push", "-q", "origin", "main")
    pull_requests = run("sync")["forge"]["pull_requests"]
    assert [
        pull_request["waits"] for pull_request in pull_requests if pull_request["proposal"] == proposal.id
    ] == ["conflict"]
    # Git cannot merge both lines; a merge by sections preserves both.
    run("proposals", "refresh", proposal.id)
    setup.push(setup.reload(proposal))
    assert setup.local_forge.state.is_mergeable(setup.local_forge.state.find_pull_request(number))


@pytest.mark.parametrize("setup", ["github"], indirect=True)  # the behaviour does not depend on the kind
def test_missing_token_is_reported_and_other_steps_run(
    setup: ForgeSetup, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCYARD_FORGE_TOKEN")
    setup.repo.commit({"other.md": "# Other\n"})
    result = run("sync", exit_code=1)
    assert (result["state"], result["pushed"]) == ("level", 1)
    assert result["forge"]["error"]["code"] == "NO_FORGE_TOKEN"
