"""The event log: said once and for all, by however many writers, in whichever clone."""

from __future__ import annotations

import json
import multiprocessing
import random
import threading
from contextlib import suppress
from itertools import permutations
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo, cloned
from tests.workspace.proposals.saying import ADA, AGENT, BEA, COMMIT, ID, NOON, Speaker, opening
from workspace.git.reader import GitReader
from workspace.git.store import GitStore, ReadOnly
from workspace.proposal_ids import BRANCH
from workspace.proposals import proposal
from workspace.proposals.discussion import Discussion
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import (
    Closed,
    Commented,
    Edited,
    EventBody,
    InvalidEventText,
    Reopened,
    Submitted,
)
from workspace.publishing.locks import AnotherWriter, Busy
from workspace.publishing.publish import Publication
from workspace.publishing.refs import BranchMoved
from workspace.writing.idempotency import KeyReused

OTHER_ID = "z0000001"


@pytest.fixture
def speaker(repo: Repo) -> Speaker:
    return Speaker(repo.path)


def commits(repo: Repo, branch: str = BRANCH) -> list[str]:
    return repo.git("log", "--format=%s", branch).splitlines()


def paths(repo: Repo, branch: str = BRANCH) -> list[str]:
    return repo.git("ls-tree", "-r", "--name-only", branch).splitlines()


def test_words_are_files_on_a_branch_of_their_own(repo: Repo, speaker: Speaker) -> None:
    before = repo.git("rev-parse", "main", "HEAD"), repo.status()
    opened = speaker.say(opening(), by=ADA)
    said = speaker.say(Commented("Why?"), Closed(), by=BEA)
    assert speaker.said() == (*opened.events, *said.events)
    assert [event.after for event in speaker.said()] == [(), (opened.events[0].id,), (said.events[0].id,)]
    assert commits(repo) == [
        f"Edit proposals/{ID}: 2 changes",
        f"Open proposal {ID}",
    ]
    assert said.commit == repo.git("rev-parse", BRANCH).strip()
    assert f"Docyard-Proposal: {ID}" in repo.git("log", "-1", "--format=%b", BRANCH)
    assert repo.git("log", "-1", "--format=%an <%ae>", BRANCH) == "Bea <bea@example.org>\n"
    assert len(paths(repo)) == 3
    assert all(path.startswith(f"{ID}/20260131T1200") for path in paths(repo))
    assert (repo.git("rev-parse", "main", "HEAD"), repo.status()) == before
    assert repo.fsck() == ""


def test_nothing_is_said_in_a_repository_without_the_branch(repo: Repo) -> None:
    discussion = EventLog(GitReader(repo.path)).read()
    assert discussion.proposals == discussion.tips == ()
    assert discussion.events_of(ID).events == ()


def test_a_reader_says_nothing(repo: Repo) -> None:
    log = EventLog(GitReader(repo.path))
    with pytest.raises(ReadOnly):
        log.append(ID, [opening()], ADA, tool="t", client="c")


def test_words_that_could_not_be_read_again_are_refused(repo: Repo, speaker: Speaker) -> None:
    for words in (Submitted("main"), Edited(title="t" * 10_000), Edited(title="  "), Commented("\udc80")):
        with pytest.raises(InvalidEventText) as error:
            speaker.say(words)
        assert error.value.fix
    assert BRANCH not in repo.git("branch", "--list")


def test_a_retry_of_a_call_says_nothing_twice(repo: Repo, speaker: Speaker) -> None:
    speaker.say(opening())
    first = speaker.say(Commented("Why?"), request="key-1")
    again = speaker.say(Commented("Why?"), request="key-1")
    assert again == (first.commit, first.events, True)
    assert speaker.say(Commented(" Why?\r\n"), request="key-1").is_repeat
    assert not speaker.say(Commented("Why?"), request="key-2").is_repeat
    assert len(speaker.said()) == 3
    with pytest.raises(KeyReused):
        speaker.say(Closed(), request="key-1")


def test_a_writer_that_comes_second_adds_to_what_the_first_said(speaker: Speaker) -> None:
    speaker.say(opening())
    seen = speaker.log.read()
    speaker.say(Commented("First"), by=BEA)
    speaker.say(Commented("Second"), by=AGENT, seen=seen)
    assert [told_text(event.body) for event in speaker.said()[1:]] == ["First", "Second"]
    assert speaker.said()[1].after == speaker.said()[2].after


def told_text(words: object) -> str:
    assert isinstance(words, Commented)
    return words.text


def test_another_program_that_moves_the_branch_meanwhile_loses_nothing(
    repo: Repo, speaker: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    speaker.say(opening())
    publish, times = Publication.publish, 0

    def after_another(publication: Publication, batch: object) -> str:
        nonlocal times
        times += 1
        if times == 1:
            tip = repo.git("rev-parse", BRANCH).strip()
            other = repo.git("commit-tree", f"{tip}^{{tree}}", "-p", tip, "-m", "A person's").strip()
            repo.git("update-ref", f"refs/heads/{BRANCH}", other)
        return publish(publication, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(Publication, "publish", after_another)
    speaker.say(Closed())
    assert commits(repo) == [f"Close proposal {ID}", "A person's", f"Open proposal {ID}"]
    assert len(speaker.said()) == 2


def test_after_some_attempts_it_is_busy(
    repo: Repo, speaker: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(publication: Publication, batch: object) -> str:
        raise BranchMoved(None)

    monkeypatch.setattr(Publication, "publish", never)
    with pytest.raises(Busy):
        speaker.say(opening())


@pytest.mark.process
def test_many_writers_at_once_lose_nothing_and_double_nothing(repo: Repo) -> None:
    Speaker(repo.path).say(opening())
    context = multiprocessing.get_context("spawn")
    writers: list[SpawnProcess | threading.Thread] = [
        context.Process(target=_talk, args=(str(repo.path), "one")),
        threading.Thread(target=_talk, args=(str(repo.path), "two")),
        threading.Thread(target=_talk, args=(str(repo.path), "three")),
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    said = Speaker(repo.path).said()
    texts = sorted(event.body.text for event in said if isinstance(event.body, Commented))
    assert texts == sorted(f"{name} {number}" for name in ("one", "two", "three") for number in range(5))
    assert repo.fsck() == ""
    assert len(commits(repo)) == 16


def _talk(path: str, name: str) -> None:
    log = EventLog(GitStore(Path(path)), durable=False)
    for number in range(5):
        said = None
        while said is None:
            with suppress(AnotherWriter):  # a busy machine may keep one waiting for too long
                said = log.append(ID, [Commented(f"{name} {number}")], ADA, tool="t", client=name)


def test_a_fresh_clone_shows_every_word(repo: Repo, speaker: Speaker, tmp_path: Path) -> None:
    speaker.say(opening())
    speaker.say(Commented("Why?"))
    other = Speaker(cloned(repo, tmp_path / "clone").path)
    assert other.log.read().proposals == (ID,)
    assert other.said() == speaker.said()


def test_the_first_word_in_a_clone_goes_on_from_what_was_fetched(
    repo: Repo, speaker: Speaker, tmp_path: Path
) -> None:
    speaker.say(opening())
    theirs = cloned(repo, tmp_path / "clone")
    other = Speaker(theirs.path)
    other.say(Commented("From the clone"))
    assert theirs.git("log", "--format=%s", BRANCH).splitlines() == commits_of(ID, "Comment on", "Open")
    theirs.git("push", "-q", "origin", BRANCH)
    assert speaker.said() == other.said()
    assert len(speaker.said()) == 2


def commits_of(id: str, *done: str) -> list[str]:
    return [f"{what} proposal {id}" for what in done]


def test_what_was_said_elsewhere_is_taken_in(repo: Repo, speaker: Speaker, tmp_path: Path) -> None:
    speaker.say(opening())
    theirs = cloned(repo, tmp_path / "clone")
    other = Speaker(theirs.path, NOON.replace(hour=13))
    other.say(Commented("From the clone"))
    speaker.say(Commented("From here"))
    speaker.say(opening(id=OTHER_ID), proposal=OTHER_ID)
    repo.git("fetch", "-q", str(theirs.path), f"{BRANCH}:refs/remotes/clone/{BRANCH}")
    before = speaker.said()
    tip = repo.git("rev-parse", f"refs/remotes/clone/{BRANCH}").strip()
    ours = repo.git("rev-parse", BRANCH).strip()
    merged = speaker.log.merge_commit(tip, repositories.signature())
    assert repo.git("log", "-1", "--format=%P", BRANCH).split() == [ours, tip]
    assert len(paths(repo)) == 4
    assert speaker.said() == before  # it was read already, from what was fetched
    assert len(speaker.said()) == 3
    assert speaker.log.merge_commit(tip, repositories.signature()) == merged
    theirs.git("fetch", "-q", "origin", f"{BRANCH}:refs/remotes/origin/{BRANCH}")
    assert other.log.merge_commit(merged, repositories.signature()) == merged, "it only goes forward"
    assert theirs.git("rev-parse", BRANCH).strip() == merged
    assert repo.fsck() == theirs.fsck() == ""


def test_two_clones_that_both_began_the_discussion(repo: Repo, speaker: Speaker, tmp_path: Path) -> None:
    theirs = cloned(repo, tmp_path / "clone")
    other = Speaker(theirs.path)
    speaker.say(opening())
    other.say(opening(id=OTHER_ID), proposal=OTHER_ID)
    repo.git("fetch", "-q", str(theirs.path), BRANCH)
    speaker.log.merge_commit(repo.git("rev-parse", "FETCH_HEAD").strip(), repositories.signature())
    assert speaker.log.read().proposals == (ID, OTHER_ID)


def test_a_deletion_elsewhere_takes_nothing_away(repo: Repo, speaker: Speaker, tmp_path: Path) -> None:
    speaker.say(opening())
    speaker.say(Commented("Why?"))
    theirs = cloned(repo, tmp_path / "clone")
    theirs.git("checkout", "-q", BRANCH)
    first, second = paths(theirs)
    theirs.git("rm", "-q", second)
    theirs.write({first: "{}\n"})
    tip = theirs.commit({}, "Censor")
    repo.git("fetch", "-q", str(theirs.path), BRANCH)
    speaker.log.merge_commit(tip, repositories.signature())
    discussion = Discussion(speaker.store, [repo.git("rev-parse", BRANCH).strip()])
    assert len(discussion.events_of(ID).events) == 2
    assert discussion.events_of(ID).unreadable == 1


def test_a_folder_in_the_place_of_an_event_takes_nothing_away(
    repo: Repo, speaker: Speaker, tmp_path: Path
) -> None:
    speaker.say(opening())
    theirs = cloned(repo, tmp_path / "clone")
    theirs.git("checkout", "-q", BRANCH)
    (path,) = paths(theirs)
    theirs.git("rm", "-q", path)
    tip = theirs.commit({f"{path}/file.json": "{}\n"}, "Mischief")
    repo.git("fetch", "-q", str(theirs.path), BRANCH)
    closed = speaker.say(Closed())
    theirs.git("fetch", "-q", "origin", BRANCH)
    Speaker(theirs.path).log.merge_commit(closed.commit, repositories.signature())
    assert len(paths(theirs)) == 2, "what has no room there is left out"
    speaker.log.merge_commit(tip, repositories.signature())
    assert len(Discussion(speaker.store, [repo.git("rev-parse", BRANCH).strip()]).events_of(ID).events) == 2
    assert repo.fsck() == theirs.fsck() == ""


def test_a_merge_by_hand_is_as_good(repo: Repo, speaker: Speaker, tmp_path: Path) -> None:
    speaker.say(opening())
    theirs = cloned(repo, tmp_path / "clone")
    Speaker(theirs.path).say(Commented("From the clone"), now=lambda: NOON)
    speaker.say(Commented("From here"))
    theirs.git("checkout", "-q", BRANCH)
    theirs.git("pull", "-q", "--no-rebase", "--no-edit", "origin", BRANCH)
    assert len(Speaker(theirs.path).said()) == 3


def test_any_interleaving_of_writers_comes_to_the_same(tmp_path: Path) -> None:
    """Three clones speak; whoever takes in whom first, all of them end up with the same proposal."""
    origin = repositories.normal(tmp_path / "origin")
    Speaker(origin.path).say(opening(base=COMMIT))
    words: list[tuple[EventBody, ...]] = [
        (Closed(), Reopened()),
        (Edited(title="Another"), Closed()),
        (Commented("Why?"), Submitted(COMMIT)),
    ]
    clones = [cloned(origin, tmp_path / name) for name in ("one", "two", "three")]
    for repo, said in zip(clones, words, strict=True):
        Speaker(repo.path).say(*said)
        origin.git("fetch", "-q", str(repo.path), f"{BRANCH}:refs/talk/{repo.path.name}")
    found = set()
    for number, order in enumerate(permutations(clones)):
        copy = cloned(origin, tmp_path / f"copy-{number}")
        copy.git("fetch", "-q", "origin", "refs/talk/*:refs/talk/*")
        speaker = Speaker(copy.path)
        for repo in order:
            tip = copy.git("rev-parse", f"refs/talk/{repo.path.name}").strip()
            speaker.log.merge_commit(tip, repositories.signature())
        found.add((copy.git("rev-parse", f"{BRANCH}^{{tree}}"), proposal.replay_events(speaker.said())))
    assert len(found) == 1


def test_files_that_are_no_events_are_left_out_and_counted(repo: Repo, speaker: Speaker) -> None:
    speaker.say(opening())
    folder = repo.path / ID
    repo.git("checkout", "-q", BRANCH)
    (event,) = paths(repo)
    text = (repo.path / event).read_text()
    repo.write(
        {
            f"{ID}/20260131T120000000Z-9f2c51d0a7b3e846.json": text,  # the name of another
            f"{ID}/huge.json": "[" * 2_000_000,
            f"{ID}/deep.json": "[" * 300_000,
            f"{ID}/binary.json": b"\x00\xff" * 100,
            f"{ID}/sub/{Path(event).name}": text,
            f"{ID}/{'n' * 200}.json": text,
            f"{ID}/with space.json": text,
            f"{OTHER_ID}/{Path(event).name}": text,
            "README.md": "# Words\n",
            "main/x.json": text,
            "Makefile": "all:\n",
        }
    )
    (folder / "link.json").symlink_to("/etc/passwd")
    repo.commit({}, "Mischief")
    repo.git("checkout", "-q", "main")
    discussion = speaker.log.read()
    assert discussion.proposals == (ID, OTHER_ID)
    assert len(discussion.events_of(ID).events) == 1
    assert discussion.events_of(ID).unreadable == 8
    assert discussion.events_of(OTHER_ID)[:3] == ((), 1, 0)
    speaker.say(Closed())
    assert len(speaker.said()) == 2


def test_a_file_where_a_folder_is_said_to_be_is_no_proposal(repo: Repo, speaker: Speaker) -> None:
    repo.git("checkout", "-q", "--orphan", BRANCH)
    repo.git("rm", "-rfq", ".")
    repo.commit({ID: "no folder\n"}, "Mischief")
    repo.git("checkout", "-q", "main")
    assert speaker.log.read().proposals == ()


def test_the_branch_may_be_checked_out(repo: Repo, speaker: Speaker) -> None:
    speaker.say(opening())
    repo.git("checkout", "-q", BRANCH)
    speaker.say(Closed())
    assert repo.status() == ""
    assert len(list((repo.path / ID).iterdir())) == 2


def test_an_event_is_json_that_anyone_can_read(repo: Repo, speaker: Speaker) -> None:
    speaker.say(opening("Ünïcode 🎉"))
    (path,) = paths(repo)
    raw = repo.git("show", f"{BRANCH}:{path}")
    assert "Ünïcode 🎉" in raw
    assert json.loads(raw)["words"]["title"] == "Ünïcode 🎉"


def test_a_reading_goes_on_from_the_one_before(
    repo: Repo, speaker: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    speaker.say(opening())
    speaker.say(*(Commented(str(number)) for number in range(20)))
    speaker.said()
    speaker.say(Closed())
    read: list[str] = []
    real = GitStore.blob_within

    def counted(store: GitStore, id: str, most: int) -> bytes | None:
        read.append(id)
        return real(store, id, most)

    monkeypatch.setattr(GitStore, "blob_within", counted)
    assert len(speaker.said()) == 22
    assert len(read) == 1
    speaker.said()
    assert len(read) == 1


def test_a_shuffled_discussion_reads_alike(repo: Repo, speaker: Speaker) -> None:
    """What is read of several tips does not depend on which of them comes first."""
    speaker.say(opening())
    tips = []
    for number in range(4):
        speaker.say(Commented(str(number)))
        tips.append(repo.git("rev-parse", BRANCH).strip())
        repo.git("update-ref", f"refs/heads/{BRANCH}", f"{BRANCH}~1")
    every = set()
    for seed in range(10):
        random.Random(seed).shuffle(tips)
        every.add(Discussion(speaker.store, tips).events_of(ID))
    assert len(every) == 1
    assert len(next(iter(every)).events) == 5
