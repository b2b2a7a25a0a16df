"""Requests: a commit records the idempotency key of a call in its trailers, and a request log finds it."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import repositories
from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.repositories import Repo
from workspace.errors import LimitExceeded
from workspace.git.messages import MAX_MESSAGE_LENGTH, format_commit_message, read_trailers
from workspace.git.objects import Commit
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore
from workspace.snapshot.overlay import Overlay
from workspace.snapshot.snapshot import Snapshot
from workspace.writing import idempotency
from workspace.writing.idempotency import (
    MAX_RESULT_LENGTH,
    MAX_SCANNED_COMMITS,
    InvalidKey,
    KeyedRequest,
    KeyReused,
    RecordedRequest,
    RequestLog,
    compute_call_digest,
)
from workspace.writing.plan import Plan

pytestmark = pytest.mark.smoke

DIGEST = compute_call_digest("tag_document", {"file": "a.md"})
IDEMPOTENCY_KEYS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=200)
TEXT = st.text(st.characters(), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
)
RESULTS = st.dictionaries(TEXT, JSON, max_size=4)


class CommitGraph:
    """A repository in which tests create commits on no branch; a request log needs only a tip."""

    def __init__(self, path: Path) -> None:
        self.repo = repositories.create_repository(path)
        self.store = GitStore(path)
        self.tree = self.store.commit(self.repo.head()).tree
        snapshot = Snapshot(self.store, self.repo.head())
        self.plan = Plan(snapshot, Overlay(snapshot), (), {})

    def commit(self, parents: Sequence[str], message: str) -> str:
        signature = repositories.make_signature()
        return self.store.put_commit(self.tree, parents, signature, signature, message)

    def commit_with_key(
        self,
        parents: Sequence[str],
        key: str,
        result: Mapping[str, object] | None = None,
        *,
        message: str | None = None,
        client: str = "agent",
    ) -> str:
        request = KeyedRequest(key, DIGEST, lambda _: result or {})
        trailers = request.build_trailers(self.plan)
        return self.commit(parents, format_message(message, client, trailers))

    def add_commits(self, tip: str, length: int) -> str:
        for number in range(length):
            tip = self.commit((tip,), f"{number}\n")
        return tip


def format_message(message: str | None, client: str, trailers: Mapping[str, str]) -> str:
    return format_commit_message(
        ["Tag a.md"], paths=["a.md"], message=message, tool="tag_document", client=client, trailers=trailers
    )


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> CommitGraph:
    return CommitGraph(tmp_path_factory.mktemp("history") / "repo")


class CountingReader(GitReader):
    """A reader that counts its reads of commits."""

    read_count = 0

    def commit(self, id: str) -> Commit:
        self.read_count += 1
        return super().commit(id)


# Texts that could forge trailers: trailers, paragraph ends in Git, Python and Unicode, and long texts.
FORGED_TEXTS = (
    "Docyard-Request: forged",
    f"Docyard-Request-Digest: {DIGEST}",
    "Docyard-Result: {}",
    "Docyard-Client: x",
    "(cherry picked from commit 0)",
    "Signed-off-by: x <x>",
    *("\n", "\n\n", "\r", "\r\n", "\n \n", "\n\t\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\0"),
    *("---\n", "# ", ": ", " ", "x", "x" * (MAX_MESSAGE_LENGTH - 1)),
)
FORGERIES = st.lists(st.sampled_from(FORGED_TEXTS), max_size=12).map("".join)


@given(IDEMPOTENCY_KEYS, RESULTS, st.none() | TEXT | FORGERIES, TEXT | FORGERIES)
@settings(max_examples=scale_examples(100))
def test_recorded_request_is_found_with_any_message_and_client(
    history: CommitGraph, key: str, result: dict[str, Any], message: str | None, client: str
) -> None:
    first_commit = history.repo.head()
    commit = history.commit_with_key((first_commit,), key, result, message=message, client=client)
    log = RequestLog(history.store)
    assert log.find_by_key(commit, key) == RecordedRequest(commit, DIGEST, json.loads(json.dumps(result)))
    assert key == "forged" or log.find_by_key(commit, "forged") is None
    assert log.find_by_key(first_commit, key) is None


@given(FORGERIES, FORGERIES)
@settings(max_examples=scale_examples(100))
def test_request_cannot_be_forged_by_message_or_client(
    history: CommitGraph, message: str, client: str
) -> None:
    commit = history.commit((history.repo.head(),), format_message(message, client, {}))
    assert RequestLog(history.store).find_by_key(commit, "forged") is None
    assert list(read_trailers(history.store.commit(commit).message)) == ["Docyard-Tool", "Docyard-Client"]


def test_git_reads_the_same_trailers(history: CommitGraph) -> None:
    forged_message = (
        f"Mine\n\nDocyard-Request: forged\nDocyard-Request-Digest: {DIGEST}\nDocyard-Result: {{}}"
    )
    commit = history.commit_with_key(
        (history.repo.head(),), "key-1", {"a": "é\u2028\n"}, message=forged_message
    )
    trailers = history.repo.git("log", "-1", "--format=%(trailers:only)", commit).strip().splitlines()
    assert trailers == [
        "Docyard-Tool: tag_document",
        "Docyard-Client: agent",
        "Docyard-Request: key-1",
        f"Docyard-Request-Digest: {DIGEST}",
        'Docyard-Result: {"a":"\\u00e9\\u2028\\n"}',
    ]


def test_long_result_is_compressed_in_the_message(history: CommitGraph) -> None:
    entry = {"success": True, "slug": "endpoints/search", "created": True}
    result = {"batch_results": [entry] * 200}
    commit = history.commit_with_key((history.repo.head(),), "long", result)
    assert len(history.store.commit(commit).message) < 1_000
    request = RequestLog(history.store).find_by_key(commit, "long")
    assert request is not None
    assert request.result == result


def test_result_over_the_limit_is_refused(history: CommitGraph) -> None:
    for length in (MAX_RESULT_LENGTH, MAX_RESULT_LENGTH + 1):
        result = {"a": "x" * (length - len('{"a":""}'))}
        if length == MAX_RESULT_LENGTH:
            commit = history.commit_with_key((history.repo.head(),), "limit", result)
            request = RequestLog(history.store).find_by_key(commit, "limit")
            assert request is not None
            assert request.result == result
        else:
            with pytest.raises(LimitExceeded, match="1,000,001 characters"):
                history.commit_with_key((history.repo.head(),), "limit", result)


@loop_over("key", ["", "a b", "a\n", "\x7f", "é", "x" * 201])
def test_invalid_key_is_refused(key: str) -> None:
    with pytest.raises(InvalidKey):
        KeyedRequest(key, DIGEST, lambda _: {})


def compress(data: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(data)).decode()


@loop_over(
    "lines",
    [
        ("Docyard-Request: k",),
        ("Docyard-Request: k", "Docyard-Result: {}"),
        ("Docyard-Request: k", f"Docyard-Request-Digest: {DIGEST}"),
        ("Docyard-Request: k", f"Docyard-Request-Digest: {DIGEST[1:]}", "Docyard-Result: {}"),
        ("Docyard-Request: k", f"Docyard-Request-Digest: {DIGEST}", "Docyard-Result: []"),
        ("Docyard-Request: k", f"Docyard-Request-Digest: {DIGEST}", "Docyard-Result: {"),
        ("Docyard-Request: k", f"Docyard-Request-Digest: {DIGEST}", 'Docyard-Result: {"a":' + "[" * 100_000),
        ("Docyard-Request: k", f"Docyard-Request-Digest: {DIGEST}", "Docyard-Result: A"),
        ("Docyard-Request: k", f"Docyard-Request-Digest: {DIGEST}", "Docyard-Result: ééé"),
        (
            "Docyard-Request: k",
            f"Docyard-Request-Digest: {DIGEST}",
            f"Docyard-Result: {compress(b'{}')[:-8]}",
        ),
        ("Docyard-Request: k", f"Docyard-Request-Digest: {DIGEST}", f"Docyard-Result: {compress(b'[1]')}"),
        ("Docyard-Request: k", f"Docyard-Request-Digest: {DIGEST}", f"Docyard-Result: {compress(b'x')}"),
        (
            "Docyard-Request: k",
            f"Docyard-Request-Digest: {DIGEST}",
            "Docyard-Result: {}",
            "Docyard-Result: {}",
        ),
        (
            "Docyard-Request: k",
            "Docyard-Request: k",
            f"Docyard-Request-Digest: {DIGEST}",
            "Docyard-Result: {}",
        ),
    ],
    ids=range(14),
)
def test_malformed_trailers_are_ignored(history: CommitGraph, lines: tuple[str, ...]) -> None:
    real_commit = history.commit_with_key((history.repo.head(),), "k", {"real": True})
    message = "Malformed\n\n" + "\n".join(lines)
    broken_commit = history.commit((real_commit,), message)
    log = RequestLog(history.store)
    assert log.find_by_key(history.commit((history.repo.head(),), message), "k") is None
    assert log.find_by_key(broken_commit, "k") == RecordedRequest(real_commit, DIGEST, {"real": True})


def test_large_compressed_result_is_not_decompressed(history: CommitGraph) -> None:
    compressed_result = compress(b'{"a":"' + b"x" * 50_000_000 + b'"}')
    trailers = f"Docyard-Request: k\nDocyard-Request-Digest: {DIGEST}\nDocyard-Result: {compressed_result}"
    commit = history.commit((history.repo.head(),), f"Large\n\n{trailers}")
    tracemalloc.start()
    assert RequestLog(history.store).find_by_key(commit, "k") is None
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 10_000_000


def test_same_key_for_another_call_is_an_error(history: CommitGraph) -> None:
    commit = history.commit_with_key((history.repo.head(),), "key")
    log = RequestLog(history.store)
    recorded_request = log.find_recorded_request(commit, KeyedRequest("key", DIGEST, lambda _: {}))
    assert recorded_request is not None
    assert recorded_request.commit == commit
    with pytest.raises(KeyReused) as error_info:
        log.find_recorded_request(
            commit, KeyedRequest("key", compute_call_digest("tag_document", {"file": "b.md"}), lambda _: {})
        )
    assert error_info.value.details == {"used_in": commit}
    assert "new idempotency_key" in error_info.value.fix
    assert log.find_recorded_request(commit, KeyedRequest("other", DIGEST, lambda _: {})) is None
    assert log.find_by_key(None, "key") is None


@given(RESULTS, RESULTS)
@settings(max_examples=scale_examples(50))
def test_digest_is_independent_of_key_order(
    arguments: dict[str, Any], other_arguments: dict[str, Any]
) -> None:
    assert compute_call_digest("t", arguments) == compute_call_digest("t", dict(reversed(arguments.items())))
    assert (compute_call_digest("t", arguments) == compute_call_digest("t", other_arguments)) == (
        json.dumps(arguments, sort_keys=True) == json.dumps(other_arguments, sort_keys=True)
    )
    assert compute_call_digest("t", arguments) != compute_call_digest("u", arguments)


def test_too_deeply_nested_arguments_are_refused() -> None:
    nested_list: list[Any] = []
    for _ in range(100_000):
        nested_list = [nested_list]
    with pytest.raises(LimitExceeded, match="too deeply"):
        compute_call_digest("t", {"a": nested_list})


def test_request_is_not_found_after_a_thousand_commits(history: CommitGraph) -> None:
    keyed_commit = history.commit_with_key((history.repo.head(),), "old")
    last_commit = history.add_commits(keyed_commit, MAX_SCANNED_COMMITS - 1)
    reused_log = RequestLog(history.store)
    for log in (reused_log, RequestLog(history.store)):
        request = log.find_by_key(last_commit, "old")
        assert request is not None
        assert request.commit == keyed_commit
    next_commit = history.add_commits(last_commit, 1)
    for log in (reused_log, RequestLog(history.store)):
        assert log.find_by_key(next_commit, "old") is None
    assert reused_log.find_by_key(last_commit, "old") is not None, (
        "after a reset, the limit includes the commit again"
    )


def test_log_reads_only_new_commits(history: CommitGraph) -> None:
    git = CountingReader(history.repo.path)
    log = RequestLog(git)
    tip = history.add_commits(history.repo.head(), 50)
    all_commits = 51
    assert log.find_by_key(tip, "none") is None
    assert git.read_count == all_commits
    assert log.find_by_key(tip, "none") is None
    assert git.read_count == all_commits
    newer_commit = history.commit_with_key((history.add_commits(tip, 3),), "new")
    assert log.find_by_key(newer_commit, "new") is not None
    assert git.read_count == all_commits + 4 + 1, "four new commits, and the commit with the key"
    assert log.find_by_key(tip, "new") is None, "after a reset, the branch does not contain the commit"
    assert git.read_count == all_commits + 4 + 1


@given(st.data())
@settings(max_examples=scale_examples(60))
def test_reused_log_finds_the_same_requests_as_a_new_log(history: CommitGraph, data: st.DataObject) -> None:
    """Move the branch in any way: commits, merges, resets and rewrites, with a limit of six commits."""
    limit = 6
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(idempotency, "MAX_SCANNED_COMMITS", limit)
        log = RequestLog(history.store)
        parents: dict[str, list[str]] = {}
        keys: dict[str, str | None] = {}
        for number in range(data.draw(st.integers(1, 25))):
            parent_ids = data.draw(st.lists(st.sampled_from(sorted(parents)), max_size=2)) if parents else []
            if parents and data.draw(st.booleans()):
                parent_ids = [list(parents)[-1], *parent_ids][:2]
            key = data.draw(st.none() | st.sampled_from("abc"))
            commit = (
                history.commit_with_key(parent_ids, key, {"number": number})
                if key
                else history.commit(parent_ids, f"{number}\n")
            )
            parents[commit], keys[commit] = parent_ids, key
            if data.draw(st.booleans()):
                tip = data.draw(st.sampled_from(sorted(parents)))
                scanned_commits = [tip]
                while len(scanned_commits) < limit and parents[scanned_commits[-1]]:
                    scanned_commits.append(parents[scanned_commits[-1]][0])
                searched_key = data.draw(st.sampled_from("abc"))
                expected = [commit for commit in scanned_commits if keys[commit] == searched_key][-1:]
                request = log.find_by_key(tip, searched_key)
                assert [request.commit] * bool(request) == expected if request else not expected


def commit_request(repo: Repo, key: str, path: str) -> str:
    """Add a file in a commit with an idempotency key on the current branch, and return the commit."""
    request = KeyedRequest(key, DIGEST, lambda _: {"path": path})
    snapshot = Snapshot(GitReader(repo.path), repo.head())
    text = format_message(None, "agent", request.build_trailers(Plan(snapshot, Overlay(snapshot), (), {})))
    return repo.commit({path: "# New\n"}, text)


def find_request(repo: Repo, key: str) -> str | None:
    request = RequestLog(GitReader(repo.path)).find_by_key(repo.head(), key)
    return request.commit if request else None


def test_rebase_cherry_pick_and_amend_preserve_a_request(repo: Repo) -> None:
    repo.git("switch", "-q", "-c", "topic")
    commit_request(repo, "key", "new.md")
    repo.git("switch", "-q", "main")
    repo.commit({"other.md": "# Other\n"})
    repo.git("cherry-pick", "-x", "-s", "topic")
    assert "cherry picked" in repo.git("log", "-1", "--format=%B")
    assert find_request(repo, "key") == repo.head()
    repo.git("reset", "-q", "--hard", "HEAD^")
    assert find_request(repo, "key") is None
    repo.git("switch", "-q", "topic")
    repo.git("rebase", "-q", "main")
    assert find_request(repo, "key") == repo.head()
    repo.git("commit", "-q", "--amend", "--reset-author", "--no-edit")
    assert find_request(repo, "key") == repo.head()


def test_request_in_a_second_parent_is_not_found(repo: Repo) -> None:
    repo.git("switch", "-q", "-c", "topic")
    commit_request(repo, "key", "new.md")
    repo.git("switch", "-q", "main")
    repo.commit({"other.md": "# Other\n"})
    repo.git("merge", "-q", "--no-edit", "topic")
    assert find_request(repo, "key") is None


def test_shallow_clone_finds_only_requests_in_its_history(repo: Repo, tmp_path: Path) -> None:
    commit_request(repo, "old", "a.md")
    newer_commit = commit_request(repo, "new", "b.md")
    repo.commit({"c.md": "# C\n"})
    clone = Repo(tmp_path / "clone")
    repo.git("clone", "-q", "--depth", "2", f"file://{repo.path}", str(clone.path))
    assert (clone.path / ".git" / "shallow").exists()
    log = RequestLog(GitReader(clone.path))
    for _ in range(2):
        request = log.find_by_key(clone.head(), "new")
        assert request is not None
        assert request.commit == newer_commit
        assert log.find_by_key(clone.head(), "old") is None
    clone.git("fetch", "-q", "--unshallow")
    assert log.find_by_key(clone.head(), "old") is not None


def test_missing_commit_is_an_error(history: CommitGraph) -> None:
    tip = history.commit(("1" * 40,), "Its parent was lost\n")
    with pytest.raises(DamagedRepository):
        RequestLog(history.store).find_by_key(tip, "key")
