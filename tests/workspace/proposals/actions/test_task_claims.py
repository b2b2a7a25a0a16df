"""Claims of tasks in protected documents: one at a time, in one repository and after clones are merged."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repositories import Repo, create_repository
from workspace.document.tasks import Claim
from workspace.edits.task_claim import ClaimAction, ClaimTask, TaskClaimed
from workspace.git.objects import Signature
from workspace.proposal_ids import DISCUSSION_BRANCH
from workspace.proposals.actions.repository import Actor
from workspace.proposals.actions.task_claims import replay_claims
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Author, Claimed, Event, IdentitySource
from workspace.workspace import Workspace

PLAN = "# Plan\n\n- [ ] One {#one}\n- [ ] Two {#two}\n"
SETTINGS = '[[protect]]\npaths = ["plan.md"]\n'
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
AUTHOR = Author("Ada", "ada@example.org", IdentitySource.CLIENT, "tester")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repo", {"plan.md": PLAN, "docyard.toml": SETTINGS})


def make_claim(name: str, *, time: datetime = NOW, hours: int = 1, slug: str = "one") -> ClaimTask:
    return ClaimTask(
        file="plan.md",
        slug=slug,
        action=ClaimAction.CLAIM,
        time=time,
        until=time + timedelta(hours=hours),
        claimant=name,
        key=b"key",
    )


def run(repo: Repo, operation: ClaimTask) -> Claim | None:
    workspace = Workspace.open(repo.path, durable=False)
    actor = Actor(AUTHOR, "claim_task", "tester")
    return workspace.proposal_actions().task_claims.run(operation, actor).claim


def list_names(repo: Repo, time: datetime = NOW) -> dict[str, str]:
    workspace = Workspace.open(repo.path, durable=False)
    recorded = workspace.proposal_actions().task_claims.read(workspace.snapshot(), time)
    claims = recorded.claims if recorded is not None else {}
    return {id: claim.name for (_, id), claim in claims.items() if claim.is_valid_at(time)}


def test_claims_expire_and_are_replaced(repo: Repo) -> None:
    # Events have the time of the clock, so the claim is made in the past.
    past = datetime.now(UTC) - timedelta(hours=3)
    run(repo, make_claim("Ana", time=past))
    assert list_names(repo, past) == {"one": "Ana"}
    now = datetime.now(UTC)
    assert list_names(repo, now) == {}
    run(repo, make_claim("Ben", time=now))
    with pytest.raises(TaskClaimed):
        run(repo, make_claim("Cleo", time=now))
    run(repo, make_claim("Cleo", time=now, slug="two"))
    assert list_names(repo, now) == {"one": "Ben", "two": "Cleo"}


def test_claim_of_the_month_before_is_valid(repo: Repo) -> None:
    last_day = datetime(2026, 10, 31, 23, tzinfo=UTC)
    run(repo, make_claim("Ana", time=last_day, hours=48))
    assert list_names(repo, datetime(2026, 11, 1, 12, tzinfo=UTC)) == {"one": "Ana"}
    with pytest.raises(TaskClaimed):
        run(repo, make_claim("Ben", time=datetime(2026, 11, 1, 12, tzinfo=UTC)))


def test_threads_of_several_workspaces_get_one_claim(repo: Repo) -> None:
    time = datetime.now(UTC)
    winners: list[str] = []
    barrier = threading.Barrier(8)

    def claim(name: str) -> None:
        barrier.wait()
        try:
            run(repo, make_claim(name, time=time))
        except TaskClaimed:
            return
        winners.append(name)

    threads = [threading.Thread(target=claim, args=(f"agent-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(winners) == 1
    assert list_names(repo, time) == {"one": winners[0]}


def test_earlier_claim_of_two_clones_counts_in_both(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "-q", str(repo.path), str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    time = datetime.now(UTC)
    run(repo, make_claim("Ana", time=time))
    run(clone, make_claim("Ben", time=time))
    assert (list_names(repo, time), list_names(clone, time)) == ({"one": "Ana"}, {"one": "Ben"})
    for target, source in ((repo, clone), (clone, repo)):
        target.git("fetch", "-q", str(source.path), DISCUSSION_BRANCH)
        theirs = target.git("rev-parse", "FETCH_HEAD").strip()
        event_log = EventLog(Workspace.open(target.path, durable=False).git, durable=False)
        event_log.merge_commit(theirs, Signature("Ada", "ada@example.org", 1))
    assert (list_names(repo, time), list_names(clone, time)) == ({"one": "Ana"}, {"one": "Ana"})


def make_event(number: int, body: Claimed, minute: int) -> Event:
    return Event(f"{number:016x}", "x", NOW + timedelta(minutes=minute), AUTHOR, body)


NAMES = st.sampled_from(["Ana", "Ben", "Cleo"])


@given(st.lists(st.tuples(NAMES, st.integers(0, 3), st.integers(1, 9), st.booleans()), max_size=12))
def test_valid_claim_is_replaced_only_by_an_event_that_names_it(
    steps: list[tuple[str, int, int, bool]],
) -> None:
    """Each step claims a task at a time, honestly or without regard to the current claim."""
    minute, holder = 0, None
    events: list[Event] = []
    for number, (name, delay, duration, is_honest) in enumerate(steps):
        minute += delay
        time = NOW + timedelta(minutes=minute)
        claim = Claim(name, time + timedelta(minutes=duration))
        body = Claimed("plan.md", "one", str(claim), str(holder) if is_honest and holder else None)
        events.append(make_event(number, body, minute))
        if holder is None or not holder.is_valid_at(time) or is_honest:
            holder = claim
    expected = {("plan.md", "one"): holder} if holder else {}
    assert replay_claims(events, NOW).claims == expected
