"""The event log: each event is appended once, with any number of writers and clones."""

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
from tests.repositories import Repo, clone_repository
from tests.workspace.proposals.event_writer import (
    CLIENT_AUTHOR,
    COMMIT,
    GIT_AUTHOR,
    NOON,
    PROPOSAL_ID,
    TOKEN_AUTHOR,
    EventWriter,
    make_opening,
)
from workspace.git.reader import GitReader
from workspace.git.store import GitStore, ReadOnly
from workspace.proposal_ids import DISCUSSION_BRANCH
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
COMMENTS_PER_WRITER = 5


@pytest.fixture
def writer(repo: Repo) -> EventWriter:
    return EventWriter(repo.path)


def list_commit_subjects(repo: Repo, branch: str = DISCUSSION_BRANCH) -> list[str]:
    return repo.git("log", "--format=%s", branch).splitlines()


def list_event_paths(repo: Repo, branch: str = DISCUSSION_BRANCH) -> list[str]:
    return repo.git("ls-tree", "-r", "--name-only", branch).splitlines()


def test_events_are_files_on_the_discussion_branch(repo: Repo, writer: EventWriter) -> None:
    old_state = repo.git("rev-parse", "main", "HEAD"), repo.status()
    opening_result = writer.append(make_opening(), by=GIT_AUTHOR)
    append_result = writer.append(Commented("Why?"), Closed(), by=TOKEN_AUTHOR)
    assert writer.events() == (*opening_result.events, *append_result.events)
    assert [event.after for event in writer.events()] == [
        (),
        (opening_result.events[0].id,),
        (append_result.events[0].id,),
    ]
    assert list_commit_subjects(repo) == [
        f"Edit proposals/{PROPOSAL_ID}: 2 changes",
        f"Open proposal {PROPOSAL_ID}",
    ]
    assert append_result.commit == repo.git("rev-parse", DISCUSSION_BRANCH).strip()
    assert f"Docyard-Proposal: {PROPOSAL_ID}" in repo.git("log", "-1", "--format=%b", DISCUSSION_BRANCH)
    assert repo.git("log", "-1", "--format=%an <%ae>", DISCUSSION_BRANCH) == "Bea <bea@example.org>\n"
    assert len(list_event_paths(repo)) == 3
    assert all(path.startswith(f"{PROPOSAL_ID}/20260131T1200") for path in list_event_paths(repo))
    assert (repo.git("rev-parse", "main", "HEAD"), repo.status()) == old_state
    assert repo.fsck() == ""


def test_repository_without_discussion_branch_has_no_events(repo: Repo) -> None:
    discussion = EventLog(GitReader(repo.path)).read()
    assert discussion.proposals == discussion.tips == ()
    assert discussion.events_of(PROPOSAL_ID).events == ()


def test_read_only_log_cannot_append(repo: Repo) -> None:
    log = EventLog(GitReader(repo.path))
    with pytest.raises(ReadOnly):
        log.append(PROPOSAL_ID, [make_opening()], GIT_AUTHOR, tool="t", client="c")


def test_invalid_events_are_refused(repo: Repo, writer: EventWriter) -> None:
    for body in (Submitted("main"), Edited(title="t" * 10_000), Edited(title="  "), Commented("\udc80")):
        with pytest.raises(InvalidEventText) as error_info:
            writer.append(body)
        assert error_info.value.fix
    assert DISCUSSION_BRANCH not in repo.git("branch", "--list")


def test_retry_with_same_key_appends_once(repo: Repo, writer: EventWriter) -> None:
    writer.append(make_opening())
    first_result = writer.append(Commented("Why?"), idempotency_key="key-1")
    retry_result = writer.append(Commented("Why?"), idempotency_key="key-1")
    assert retry_result == (first_result.commit, first_result.events, True)
    assert writer.append(Commented(" Why?\r\n"), idempotency_key="key-1").is_repeat
    assert not writer.append(Commented("Why?"), idempotency_key="key-2").is_repeat
    assert len(writer.events()) == 3
    with pytest.raises(KeyReused):
        writer.append(Closed(), idempotency_key="key-1")


def test_parallel_events_are_both_preserved(writer: EventWriter) -> None:
    writer.append(make_opening())
    seen_discussion = writer.log.read()
    writer.append(Commented("First"), by=TOKEN_AUTHOR)
    writer.append(Commented("Second"), by=CLIENT_AUTHOR, seen=seen_discussion)
    assert [read_comment_text(event.body) for event in writer.events()[1:]] == ["First", "Second"]
    assert writer.events()[1].after == writer.events()[2].after


def read_comment_text(body: object) -> str:
    assert isinstance(body, Commented)
    return body.text


def test_branch_moved_by_another_program_loses_no_event(
    repo: Repo, writer: EventWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.append(make_opening())
    publish, call_count = Publication.publish, 0

    def publish_after_other(publication: Publication, batch: object) -> str:
        nonlocal call_count
        call_count += 1
        if call_count == 1:
            tip = repo.git("rev-parse", DISCUSSION_BRANCH).strip()
            other_commit = repo.git("commit-tree", f"{tip}^{{tree}}", "-p", tip, "-m", "With git").strip()
            repo.git("update-ref", f"refs/heads/{DISCUSSION_BRANCH}", other_commit)
        return publish(publication, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(Publication, "publish", publish_after_other)
    writer.append(Closed())
    assert list_commit_subjects(repo) == [
        f"Close proposal {PROPOSAL_ID}",
        "With git",
        f"Open proposal {PROPOSAL_ID}",
    ]
    assert len(writer.events()) == 2


def test_constantly_moving_branch_raises_busy(
    repo: Repo, writer: EventWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(publication: Publication, batch: object) -> str:
        raise BranchMoved(None)

    monkeypatch.setattr(Publication, "publish", fail)
    with pytest.raises(Busy):
        writer.append(make_opening())


@pytest.mark.process
def test_parallel_writers_append_each_event_once(repo: Repo) -> None:
    EventWriter(repo.path).append(make_opening())
    context = multiprocessing.get_context("spawn")
    writers: list[SpawnProcess | threading.Thread] = [
        context.Process(target=_append_comments, args=(str(repo.path), "one")),
        threading.Thread(target=_append_comments, args=(str(repo.path), "two")),
        threading.Thread(target=_append_comments, args=(str(repo.path), "three")),
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    events = EventWriter(repo.path).events()
    texts = sorted(event.body.text for event in events if isinstance(event.body, Commented))
    names = ("one", "two", "three")
    assert texts == sorted(f"{name} {number}" for name in names for number in range(COMMENTS_PER_WRITER))
    assert repo.fsck() == ""
    opening_count = 1
    assert len(list_commit_subjects(repo)) == opening_count + len(names) * COMMENTS_PER_WRITER


def _append_comments(path: str, name: str) -> None:
    log = EventLog(GitStore(Path(path)), durable=False)
    for number in range(COMMENTS_PER_WRITER):
        result = None
        while result is None:
            with suppress(AnotherWriter):  # a writer may time out on a busy machine
                result = log.append(
                    PROPOSAL_ID, [Commented(f"{name} {number}")], GIT_AUTHOR, tool="t", client=name
                )


def test_fresh_clone_reads_all_events(repo: Repo, writer: EventWriter, tmp_path: Path) -> None:
    writer.append(make_opening())
    writer.append(Commented("Why?"))
    other_writer = EventWriter(clone_repository(repo, tmp_path / "clone").path)
    assert other_writer.log.read().proposals == (PROPOSAL_ID,)
    assert other_writer.events() == writer.events()


def test_first_event_in_clone_continues_fetched_branch(
    repo: Repo, writer: EventWriter, tmp_path: Path
) -> None:
    writer.append(make_opening())
    clone_repo = clone_repository(repo, tmp_path / "clone")
    other_writer = EventWriter(clone_repo.path)
    other_writer.append(Commented("From the clone"))
    assert clone_repo.git("log", "--format=%s", DISCUSSION_BRANCH).splitlines() == format_commit_subjects(
        PROPOSAL_ID, "Comment on", "Open"
    )
    clone_repo.git("push", "-q", "origin", DISCUSSION_BRANCH)
    assert writer.events() == other_writer.events()
    assert len(writer.events()) == 2


def format_commit_subjects(id: str, *actions: str) -> list[str]:
    return [f"{action} proposal {id}" for action in actions]


def test_events_of_another_clone_are_merged(repo: Repo, writer: EventWriter, tmp_path: Path) -> None:
    writer.append(make_opening())
    clone_repo = clone_repository(repo, tmp_path / "clone")
    other_writer = EventWriter(clone_repo.path, NOON.replace(hour=13))
    other_writer.append(Commented("From the clone"))
    writer.append(Commented("From here"))
    writer.append(make_opening(id=OTHER_ID), proposal=OTHER_ID)
    repo.git(
        "fetch", "-q", str(clone_repo.path), f"{DISCUSSION_BRANCH}:refs/remotes/clone/{DISCUSSION_BRANCH}"
    )
    old_events = writer.events()
    tip = repo.git("rev-parse", f"refs/remotes/clone/{DISCUSSION_BRANCH}").strip()
    our_commit = repo.git("rev-parse", DISCUSSION_BRANCH).strip()
    merge_commit = writer.log.merge_commit(tip, repositories.make_signature())
    assert repo.git("log", "-1", "--format=%P", DISCUSSION_BRANCH).split() == [our_commit, tip]
    assert len(list_event_paths(repo)) == 4
    assert writer.events() == old_events  # the fetched events were read before the merge
    assert len(writer.events()) == 3
    assert writer.log.merge_commit(tip, repositories.make_signature()) == merge_commit
    clone_repo.git("fetch", "-q", "origin", f"{DISCUSSION_BRANCH}:refs/remotes/origin/{DISCUSSION_BRANCH}")
    assert other_writer.log.merge_commit(merge_commit, repositories.make_signature()) == merge_commit, (
        "the merge must be a fast-forward"
    )
    assert clone_repo.git("rev-parse", DISCUSSION_BRANCH).strip() == merge_commit
    assert repo.fsck() == clone_repo.fsck() == ""


def test_unrelated_discussions_of_two_clones_are_merged(
    repo: Repo, writer: EventWriter, tmp_path: Path
) -> None:
    clone_repo = clone_repository(repo, tmp_path / "clone")
    other_writer = EventWriter(clone_repo.path)
    writer.append(make_opening())
    other_writer.append(make_opening(id=OTHER_ID), proposal=OTHER_ID)
    repo.git("fetch", "-q", str(clone_repo.path), DISCUSSION_BRANCH)
    writer.log.merge_commit(repo.git("rev-parse", "FETCH_HEAD").strip(), repositories.make_signature())
    assert writer.log.read().proposals == (PROPOSAL_ID, OTHER_ID)


def test_event_deleted_in_another_clone_is_preserved(repo: Repo, writer: EventWriter, tmp_path: Path) -> None:
    writer.append(make_opening())
    writer.append(Commented("Why?"))
    clone_repo = clone_repository(repo, tmp_path / "clone")
    clone_repo.git("checkout", "-q", DISCUSSION_BRANCH)
    first_path, second_path = list_event_paths(clone_repo)
    clone_repo.git("rm", "-q", second_path)
    clone_repo.write({first_path: "{}\n"})
    tip = clone_repo.commit({}, "Delete an event")
    repo.git("fetch", "-q", str(clone_repo.path), DISCUSSION_BRANCH)
    writer.log.merge_commit(tip, repositories.make_signature())
    discussion = Discussion(writer.store, [repo.git("rev-parse", DISCUSSION_BRANCH).strip()])
    assert len(discussion.events_of(PROPOSAL_ID).events) == 2
    assert discussion.events_of(PROPOSAL_ID).unreadable_count == 1


def test_folder_at_path_of_event_removes_no_event(repo: Repo, writer: EventWriter, tmp_path: Path) -> None:
    writer.append(make_opening())
    clone_repo = clone_repository(repo, tmp_path / "clone")
    clone_repo.git("checkout", "-q", DISCUSSION_BRANCH)
    (path,) = list_event_paths(clone_repo)
    clone_repo.git("rm", "-q", path)
    tip = clone_repo.commit({f"{path}/file.json": "{}\n"}, "Replace an event by a folder")
    repo.git("fetch", "-q", str(clone_repo.path), DISCUSSION_BRANCH)
    close_result = writer.append(Closed())
    clone_repo.git("fetch", "-q", "origin", DISCUSSION_BRANCH)
    EventWriter(clone_repo.path).log.merge_commit(close_result.commit, repositories.make_signature())
    assert len(list_event_paths(clone_repo)) == 2, "a file at the path of the folder is left out"
    writer.log.merge_commit(tip, repositories.make_signature())
    assert (
        len(
            Discussion(writer.store, [repo.git("rev-parse", DISCUSSION_BRANCH).strip()])
            .events_of(PROPOSAL_ID)
            .events
        )
        == 2
    )
    assert repo.fsck() == clone_repo.fsck() == ""


def test_manual_git_merge_preserves_all_events(repo: Repo, writer: EventWriter, tmp_path: Path) -> None:
    writer.append(make_opening())
    clone_repo = clone_repository(repo, tmp_path / "clone")
    EventWriter(clone_repo.path).append(Commented("From the clone"), now=lambda: NOON)
    writer.append(Commented("From here"))
    clone_repo.git("checkout", "-q", DISCUSSION_BRANCH)
    clone_repo.git("pull", "-q", "--no-rebase", "--no-edit", "origin", DISCUSSION_BRANCH)
    assert len(EventWriter(clone_repo.path).events()) == 3


def test_any_order_of_merges_gives_the_same_tree(tmp_path: Path) -> None:
    """Three clones append events; all orders of merges give the same proposal."""
    origin = repositories.create_repository(tmp_path / "origin")
    EventWriter(origin.path).append(make_opening(base=COMMIT))
    bodies_by_clone: list[tuple[EventBody, ...]] = [
        (Closed(), Reopened()),
        (Edited(title="Another"), Closed()),
        (Commented("Why?"), Submitted(COMMIT)),
    ]
    clones = [clone_repository(origin, tmp_path / name) for name in ("one", "two", "three")]
    for repo, bodies in zip(clones, bodies_by_clone, strict=True):
        EventWriter(repo.path).append(*bodies)
        origin.git("fetch", "-q", str(repo.path), f"{DISCUSSION_BRANCH}:refs/clones/{repo.path.name}")
    results = set()
    for number, order in enumerate(permutations(clones)):
        copy_repo = clone_repository(origin, tmp_path / f"copy-{number}")
        copy_repo.git("fetch", "-q", "origin", "refs/clones/*:refs/clones/*")
        writer = EventWriter(copy_repo.path)
        for repo in order:
            tip = copy_repo.git("rev-parse", f"refs/clones/{repo.path.name}").strip()
            writer.log.merge_commit(tip, repositories.make_signature())
        results.add(
            (
                copy_repo.git("rev-parse", f"{DISCUSSION_BRANCH}^{{tree}}"),
                proposal.replay_events(writer.events()),
            )
        )
    assert len(results) == 1


def test_files_that_are_not_events_are_skipped_and_counted(repo: Repo, writer: EventWriter) -> None:
    writer.append(make_opening())
    folder = repo.path / PROPOSAL_ID
    repo.git("checkout", "-q", DISCUSSION_BRANCH)
    (event,) = list_event_paths(repo)
    text = (repo.path / event).read_text()
    repo.write(
        {
            f"{PROPOSAL_ID}/20260131T120000000Z-9f2c51d0a7b3e846.json": text,  # the name of another event
            f"{PROPOSAL_ID}/huge.json": "[" * 2_000_000,
            f"{PROPOSAL_ID}/deep.json": "[" * 300_000,
            f"{PROPOSAL_ID}/binary.json": b"\x00\xff" * 100,
            f"{PROPOSAL_ID}/sub/{Path(event).name}": text,
            f"{PROPOSAL_ID}/{'n' * 200}.json": text,
            f"{PROPOSAL_ID}/with space.json": text,
            f"{OTHER_ID}/{Path(event).name}": text,
            "README.md": "# Words\n",
            "main/x.json": text,
            "Makefile": "all:\n",
        }
    )
    (folder / "link.json").symlink_to("/etc/passwd")
    repo.commit({}, "Add other files")
    repo.git("checkout", "-q", "main")
    discussion = writer.log.read()
    assert discussion.proposals == (PROPOSAL_ID, OTHER_ID)
    assert len(discussion.events_of(PROPOSAL_ID).events) == 1
    assert discussion.events_of(PROPOSAL_ID).unreadable_count == 8
    assert discussion.events_of(OTHER_ID)[:3] == ((), 1, 0)
    writer.append(Closed())
    assert len(writer.events()) == 2


def test_file_at_path_of_folder_is_not_a_proposal(repo: Repo, writer: EventWriter) -> None:
    repo.git("checkout", "-q", "--orphan", DISCUSSION_BRANCH)
    repo.git("rm", "-rfq", ".")
    repo.commit({PROPOSAL_ID: "no folder\n"}, "Add a file")
    repo.git("checkout", "-q", "main")
    assert writer.log.read().proposals == ()


def test_checked_out_discussion_branch_is_updated(repo: Repo, writer: EventWriter) -> None:
    writer.append(make_opening())
    repo.git("checkout", "-q", DISCUSSION_BRANCH)
    writer.append(Closed())
    assert repo.status() == ""
    assert len(list((repo.path / PROPOSAL_ID).iterdir())) == 2


def test_event_file_is_readable_json(repo: Repo, writer: EventWriter) -> None:
    writer.append(make_opening("Ünïcode 🎉"))
    (path,) = list_event_paths(repo)
    event_json = repo.git("show", f"{DISCUSSION_BRANCH}:{path}")
    assert "Ünïcode 🎉" in event_json
    assert json.loads(event_json)["words"]["title"] == "Ünïcode 🎉"


def test_second_read_decodes_only_new_events(
    repo: Repo, writer: EventWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.append(make_opening())
    writer.append(*(Commented(str(number)) for number in range(20)))
    writer.events()
    writer.append(Closed())
    read_ids: list[str] = []
    blob_within = GitStore.blob_within

    def record_and_read(store: GitStore, id: str, limit: int) -> bytes | None:
        read_ids.append(id)
        return blob_within(store, id, limit)

    monkeypatch.setattr(GitStore, "blob_within", record_and_read)
    assert len(writer.events()) == 22
    assert len(read_ids) == 1
    writer.events()
    assert len(read_ids) == 1


def test_order_of_tips_does_not_change_events(repo: Repo, writer: EventWriter) -> None:
    writer.append(make_opening())
    tips = []
    for number in range(4):
        writer.append(Commented(str(number)))
        tips.append(repo.git("rev-parse", DISCUSSION_BRANCH).strip())
        repo.git("update-ref", f"refs/heads/{DISCUSSION_BRANCH}", f"{DISCUSSION_BRANCH}~1")
    results = set()
    for seed in range(10):
        random.Random(seed).shuffle(tips)
        results.add(Discussion(writer.store, tips).events_of(PROPOSAL_ID))
    assert len(results) == 1
    assert len(next(iter(results)).events) == 5
