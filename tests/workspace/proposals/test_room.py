"""Room for words: a flood of remarks, said or planted, hides no verdict and no end."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.workspace.proposals.actions.scene import AGENT as CLIENT
from tests.workspace.proposals.actions.scene import RULE, Scene
from tests.workspace.proposals.saying import ADA, AGENT, BEA, COMMIT, ID, NOON, Speaker, opening
from workspace.proposal_ids import BRANCH
from workspace.proposals import discussion
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.discussion import Discussion
from workspace.proposals.events import (
    Author,
    Closed,
    Commented,
    EventBody,
    InvalidEventText,
    Reopened,
    ReviewDecision,
    Reviewed,
    encode_event,
)
from workspace.proposals.proposal import ProposalState

ASKS = Reviewed(ReviewDecision.REQUEST_CHANGES, "Do not merge this.", COMMIT)


@pytest.fixture(autouse=True)
def _little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discussion, "MAX_EVENTS", 100)
    monkeypatch.setattr(discussion, "MOST_BYTES", 80_000)


def fill(speaker: Speaker, by: Author, *words: EventBody) -> int:
    """Says words again and again until there is no room for them."""
    for number in range(200):
        try:
            speaker.say(words[number % len(words)], by=by)
        except InvalidEventText:
            return number
    raise AssertionError("there was no end")


def plant(repo: Repo, id: str, words: EventBody, count: int) -> None:
    """Commits events to the discussion that no log has taken."""
    repo.git("checkout", "-q", BRANCH)
    events = (encode_event(id, words, AGENT, NOON - timedelta(seconds=number)) for number in range(count))
    repo.commit({f"{id}/{name}": data for name, data in events}, "Mischief")
    repo.git("checkout", "-q", "main")


@pytest.mark.parametrize(
    "text",
    [
        "Why?",
        pytest.param("w" * 5_000, marks=pytest.mark.slow),
        pytest.param("😀" * 2_000, marks=pytest.mark.slow),
    ],
)
def test_remarks_leave_room_for_verdicts_and_ends(repo: Repo, text: str) -> None:
    speaker = Speaker(repo.path)
    speaker.say(opening())
    fill(speaker, BEA, Commented(text))
    ends = fill(speaker, AGENT, ASKS, Closed("No."), Reopened())
    assert ends > 20, "a client's"
    said = [speaker.say(words, by=BEA).events[0] for words in (ASKS, Closed("No."))]
    for log in (speaker.log, Speaker(repo.path).log):
        found = log.read().events_of(ID)
        assert found.events[-2:] == (*said,)
        assert (found.unreadable, found.unread) == (0, 0)


def test_what_is_long_may_fill_no_more_than_remarks(repo: Repo) -> None:
    speaker = Speaker(repo.path)
    speaker.say(opening())
    assert fill(speaker, ADA, Closed("n" * 17_000), Reopened("n" * 17_000)) == 2
    speaker.say(ASKS)


def test_planted_remarks_do_not_hide_a_request(repo: Repo) -> None:
    speaker = Speaker(repo.path)
    speaker.say(opening())
    speaker.say(ASKS, by=BEA)
    plant(repo, ID, Commented("A planted remark, " * 20), 150)
    tip = repo.git("rev-parse", BRANCH).strip()
    found = speaker.log.read().events_of(ID)
    assert ASKS in [event.body for event in found.events]
    assert (len(found.events), found.unread) == (100, 52)
    assert Discussion(speaker.store, [tip]).events_of(ID) == found, "what was read before changes nothing"
    with pytest.raises(InvalidEventText):
        speaker.say(Closed())


def test_what_is_missing_is_looked_for_again(repo: Repo) -> None:
    speaker = Speaker(repo.path)
    speaker.say(opening())
    speaker.say(ASKS)
    blob = repo.git("rev-parse", f"{BRANCH}:{ID}/{speaker_file(repo)}").strip()
    path = repo.path / ".git" / "objects" / blob[:2] / blob[2:]
    away = path.rename(repo.path / ".git" / "away")
    log = Speaker(repo.path).log
    assert (len(log.read().events_of(ID).events), log.read().events_of(ID).unread) == (1, 1)
    away.rename(path)
    assert (len(log.read().events_of(ID).events), log.read().events_of(ID).unread) == (2, 0)


def speaker_file(repo: Repo) -> str:
    """The last event's file."""
    return repo.git("ls-tree", "--name-only", f"{BRANCH}:{ID}").splitlines()[-1]


def test_nothing_protected_is_merged_over_words_that_were_not_read(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", RULE)
    free = scene.proposed()
    bound = scene.proposed(file="specs/api.md", slug="calls")
    scene.approve(bound)
    for proposal in (free, bound):
        plant(scene.repo, proposal.id, Commented("A planted remark, " * 20), 150)
    for proposal, actor in ((bound, scene.person()), (free, CLIENT)):
        with pytest.raises(MergeBlocked) as blocked:
            scene.proposing.merge(proposal.id, actor)
        assert blocked.value.details["blocks"][0]["code"] == "WORDS_UNREAD"
    assert scene.proposing.merge(free.id, scene.person()).proposal.state is ProposalState.MERGED
