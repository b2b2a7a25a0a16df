"""Pull requests from end to end, by commands, against a test forge of each kind.

The forge implements the documented API on a real bare repository, in which Git itself merges.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from docyard.cli.main import main
from docyard.forges.relay import format_forge_name
from tests.docyard.forges.conftest import MAINLY_ONE
from tests.docyard.forges.forge_scene import ForgeScene, open_forge_scene
from tests.docyard.forges.local_forge import PASSWORD
from tests.workspace.proposals.actions.scene import AGENT
from workspace.proposals.proposal import ProposalState

Run = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module", params=MAINLY_ONE)
def here(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeScene]:
    with open_forge_scene(request.param, tmp_path_factory.mktemp(request.param)) as made:
        yield made


@pytest.fixture
def run(here: ForgeScene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in the clone with --json, check its exit code, and return its data."""
    monkeypatch.setenv("DOCYARD_FORGE_URL", here.local.url)
    monkeypatch.setenv("DOCYARD_FORGE_TOKEN", PASSWORD)

    def run(*arguments: str, code: int = 0) -> dict[str, Any]:
        assert main([*arguments, "--json", "-C", str(here.repo.path)]) == code, capsys.readouterr()
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return run


def test_pull_request_is_opened_updated_reviewed_and_merged_on_forge(here: ForgeScene, run: Run) -> None:
    page = here.page()
    proposal = here.open("Say more of it")
    here.append(proposal.id, "More.", page)
    opened = run("proposals", "submit", proposal.id)["pull_request"]
    assert opened["new"] is True
    number = opened["number"]
    there = here.local.state.one(number)
    assert (there.head, there.target, there.title) == (proposal.content.branch, "main", "Say more of it")
    assert "More." in there.body
    assert f"docyard proposal {proposal.id}" in there.body

    here.local.state.review(number, "ana", "changes_requested", "Say *why*.")
    here.local.state.comment(number, "ben", "I like it.")
    (followed,) = run("sync")["forge"]["pull_requests"]
    # GitLab reviews have no text: it is posted as a comment.
    assert (followed["reviews"], followed["comments"]) == (1, 2 if here.local.kind == "gitlab" else 1)
    assert here.now(proposal).state is ProposalState.CHANGES_REQUESTED
    comments = {
        str(event.author.name): str(event.body)
        for event in here.proposal_actions.list_events(here.now(proposal))
    }
    assert "Say *why*." in comments["ana"]
    assert "I like it." in comments["ben"]

    here.rewrite(proposal, "Because of the herons.")
    again = run("proposals", "submit", proposal.id)["pull_request"]
    assert (again["number"], again["new"]) == (number, False)
    assert here.local.state.one(number).last_head == here.now(proposal).tip
    assert "herons" in here.local.state.one(number).body
    assert here.now(proposal).state is ProposalState.OPEN

    for review in here.local.state.one(number).reviews:
        review.verdict = "commented"
    here.local.state.review(number, "ana", "approved", "Now it is clear.")
    run("sync")
    assert here.now(proposal).state is ProposalState.APPROVED

    head = here.local.state.one(number).last_head
    here.local.state.merge(number, head, "Merge it", "ana")
    (followed,) = run("sync")["forge"]["pull_requests"]
    assert (followed["state"], followed["done"]) == ("merged", [])
    assert here.now(proposal).state is ProposalState.MERGED
    assert "herons" in here.show(page)
    # The comments of the forge are pushed to the remote.
    assert "ana" in here.there.git("log", "--format=%an", "docyard/discussion")


def test_merge_in_clone_merges_pull_request(here: ForgeScene, run: Run) -> None:
    proposal, number = here.create_pull_request()
    run("proposals", "merge", proposal.id)
    run("sync")
    assert here.local.state.one(number).state == "merged"
    assert here.now(proposal).state is ProposalState.MERGED
    here.check_sound()


def test_closing_on_either_side_closes_the_other(here: ForgeScene, run: Run) -> None:
    squashed, first = here.create_pull_request()
    given_up, second = here.create_pull_request()
    unwanted, third = here.create_pull_request()
    commit = here.local.state.merge(first, None, "Squash it", "ana", how="squash")
    here.forge.close(second)
    here.proposal_actions.close(unwanted.id, AGENT, "Not now.")
    followed = run("sync")["forge"]["pull_requests"]
    found = {one["proposal"]: one["done"] for one in followed if one["done"]}
    assert found == {
        squashed.id: ["closed"],
        given_up.id: ["closed"],
        unwanted.id: ["closed_there"],
    }
    place = format_forge_name(here.local.kind)
    merged = f"Merged on {place} as {commit[:12]}"
    for proposal, text in ((squashed, merged), (given_up, f"Closed on {place}")):
        now = here.now(proposal)
        assert now.state is ProposalState.CLOSED
        assert text in str(here.proposal_actions.list_events(now)[-1].body)
    assert here.local.state.one(third).state == "closed"


def test_conflict_on_forge_is_reported_and_resolved_by_refresh(here: ForgeScene, run: Run) -> None:
    proposal, number = here.create_pull_request()
    here.repo.commit({here.page_of(proposal): "# Page\n\n## Use\n\nUse it. Less.\n"})
    here.repo.git("push", "-q", "origin", "main")
    followed = run("sync")["forge"]["pull_requests"]
    assert [one["waits"] for one in followed if one["proposal"] == proposal.id] == ["conflict"]
    # Git cannot merge both lines; a merge by sections preserves both.
    run("proposals", "refresh", proposal.id)
    here.push(here.now(proposal))
    assert here.local.state.mergeable(here.local.state.one(number))


@pytest.mark.parametrize("here", ["github"], indirect=True)  # the same for every kind
def test_missing_token_is_reported_and_other_steps_run(
    here: ForgeScene, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCYARD_FORGE_TOKEN")
    here.repo.commit({"other.md": "# Other\n"})
    found = run("sync", code=1)
    assert (found["state"], found["pushed"]) == ("level", 1)
    assert found["forge"]["error"]["code"] == "NO_FORGE_TOKEN"
