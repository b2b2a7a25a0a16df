"""Writes whose commit exists as soon as the branch of a remote is at it, because other nodes write it too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import repositories
from tests.repositories import Repo
from tests.soak.crash import ChildOutcome, fork_and_kill
from tests.workspace.sync.conftest import SyncPair, open_sync_pair
from tests.workspace.sync.proxy import Proxy
from workspace.edits.tasks import AddTask
from workspace.git.remotes.credentials import Access
from workspace.git.remotes.exchange import PushNotBegun, RemoteUnreachable
from workspace.git.remotes.remote import GitRemotes, RemoteMoved
from workspace.git.store import GitStore
from workspace.publishing.after_commit import record_commits
from workspace.publishing.locks import Busy
from workspace.sync.branches import SyncState
from workspace.sync.exchange import build_peer
from workspace.sync.sync import sync
from workspace.sync.upstream import RemoteUpstream, ResultUnknown, UpstreamDiverged
from workspace.workspace import Workspace
from workspace.writing.idempotency import KeyedRequest
from workspace.writing.plan import BatchMode
from workspace.writing.write import WriteResult

pytestmark = pytest.mark.process

PAGE = {"page.md": "# Page\n\n## Tasks {#tasks}\n\n- [ ] Begin\n"}


class MovableLease:
    """A lease that a test moves; `lost_checks` is the number of checks that fail."""

    def __init__(self) -> None:
        self.token = 1
        self.lost_checks = 0

    @contextmanager
    def use(self) -> Iterator[int]:
        yield self.token

    def check(self) -> bool:
        self.lost_checks -= 1
        if self.lost_checks >= 0:
            self.token += 1  # the next use is another term
            return False
        return True


class Node:
    """The clone of one node, with its upstream."""

    def __init__(self, path: Path, access: Access | None = None) -> None:
        self.workspace = Workspace.open(path, durable=False)
        self.store = self.workspace.git
        assert isinstance(self.store, GitStore)
        self.lease = MovableLease()
        self.upstream = RemoteUpstream(self.workspace, lambda: access or Access(), self.lease)
        self.store.upstream = self.upstream

    def add_task(self, title: str, key: str | None = None) -> WriteResult:
        """Add a task to the page, and return the result."""
        operation = AddTask(file="page.md", slug="tasks", title=title)
        request = None if key is None else KeyedRequest(key, "0" * 64, lambda plan: {})
        return self.workspace.write(
            [operation], mode=BatchMode.ALL, tool="add_task", client="test", keyed_request=request
        )

    @property
    def tip(self) -> str | None:
        return self.workspace.tip()


@pytest.fixture
def remote_repo(tmp_path: Path) -> Repo:
    return repositories.create_bare_repository(tmp_path / "docs.git", PAGE)


@pytest.fixture
def nodes(remote_repo: Repo, tmp_path: Path) -> Iterator[list[Node]]:
    """Yield two nodes, each with a bare clone."""
    opened_nodes = []
    for name in ("first", "second"):
        remote_repo.git("clone", "-q", "--bare", str(remote_repo.path), str(tmp_path / name))
        opened_nodes.append(Node(tmp_path / name))
    yield opened_nodes
    for node in opened_nodes:
        node.upstream.close()


def read_titles(repo: Repo) -> list[str]:
    page = repo.git("show", "main:page.md")
    return [line.removeprefix("- [ ] ") for line in page.splitlines() if line.startswith("- [")]


@pytest.mark.guarantee
def test_each_write_is_in_the_remote_before_it_is_answered(nodes: list[Node], remote_repo: Repo) -> None:
    first, second = nodes
    for number, node in enumerate((first, second, second, first, second)):
        result = node.add_task(f"Task {number}")
        assert result.is_committed
        assert result.commit == node.tip == remote_repo.head()
        assert node.store.commit_at("refs/remotes/origin/main") == result.commit
    assert read_titles(remote_repo) == ["Begin", *(f"Task {number}" for number in range(5))]
    first.upstream.follow()
    assert first.tip == second.tip
    assert remote_repo.fsck() == ""


def test_write_over_each_transport(sync_pair_per_transport: SyncPair) -> None:
    pair = sync_pair_per_transport
    pair.push_as_other_user(PAGE)
    node = Node(pair.local_repo.path, pair.access)
    try:
        assert node.add_task("First").commit == pair.read_remote_tip()
        pair.push_as_other_user({"other.md": "# Other\n"})
        assert node.add_task("Second").commit == pair.read_remote_tip()
        assert read_titles(pair.remote_repo) == ["Begin", "First", "Second"]
        assert pair.local_repo.status() == ""
        tip = node.tip
        assert node.upstream.push("topic", None, tip)
        assert not node.upstream.push("topic", None, pair.remote_repo.git("rev-parse", "main~1").strip())
        assert node.upstream.push("topic", tip, None)
        assert pair.remote_repo.git("branch", "--list", "topic") == ""
    finally:
        node.upstream.close()


@pytest.fixture(
    params=["file", "git", *(pytest.param(name, marks=pytest.mark.slow) for name in ("http", "ssh"))]
)
def pair(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Iterator[SyncPair]:
    """Yield a clone of a folder, and one of a server."""
    with open_sync_pair(request.param, tmp_path, home) as opened_pair:
        yield opened_pair


@pytest.mark.guarantee
def test_branch_that_was_moved_back_is_not_moved_forward_again(pair: SyncPair) -> None:
    """The commit descends from the remote's branch, so only the comparison with its base refuses the push."""
    pair.push_as_other_user(PAGE)
    node = Node(pair.local_repo.path, pair.access)
    try:
        base = node.add_task("First").commit
        node.lease.token += 1
        pair.remote_repo.git("update-ref", "refs/heads/main", f"{base}~1")
        commit = pair.local_repo.commit({"new.md": "# New\n"})
        assert not node.upstream.push("main", base, commit)
        assert pair.read_remote_tip() == pair.local_repo.git("rev-parse", f"{base}~1").strip()
        with GitRemotes(node.store.git_dir, durable=False) as remotes:
            peer = build_peer(node.workspace, remotes, "origin", pair.url, pair.access)
            errors = remotes.push(peer, {"main": commit}, expected={"main": base})
            assert isinstance(errors["main"], RemoteMoved)
            assert remotes.push(peer, {"main": commit}) == {}  # without an expected commit, it is moved
        assert pair.read_remote_tip() == commit
    finally:
        node.upstream.close()


@pytest.mark.guarantee
def test_write_after_a_lost_lease_is_planned_again(nodes: list[Node], remote_repo: Repo) -> None:
    first, second = nodes
    first.add_task("First")
    second.add_task("Second")
    first.lease.lost_checks = 2
    result = first.add_task("Third")
    assert result.commit == remote_repo.head()
    assert read_titles(remote_repo) == ["Begin", "First", "Second", "Third"]


@pytest.mark.guarantee
def test_lease_that_is_lost_again_and_again_is_busy(nodes: list[Node], remote_repo: Repo) -> None:
    first, _ = nodes
    tip = remote_repo.head()
    first.lease.lost_checks = 1_000
    with pytest.raises(Busy, match="nothing was changed"):
        first.add_task("First")
    assert (first.tip, remote_repo.head()) == (tip, tip)


@pytest.mark.guarantee
def test_commit_of_another_node_is_not_that_of_a_call_that_failed(nodes: list[Node]) -> None:
    first, second = nodes
    first.add_task("First")
    tip = second.add_task("Second").commit
    first.lease.lost_checks = 100
    with record_commits() as record, pytest.raises(Busy):
        first.add_task("Third")
    assert first.tip == tip
    assert record.commit is None


def test_commits_of_a_person_in_the_clone_are_pushed_with_the_next_lease(
    remote_repo: Repo, tmp_path: Path
) -> None:
    clone = repositories.clone_repository(remote_repo, tmp_path / "here")
    node = Node(clone.path)
    try:
        clone.commit({"own.md": "# Own\n"})
        assert node.add_task("First").commit == remote_repo.head()
        assert "own.md" in remote_repo.git("ls-tree", "--name-only", "main")
        clone.commit({"mine.md": "# Mine\n"})
        other = repositories.clone_repository(remote_repo, tmp_path / "other")
        other.commit({"theirs.md": "# Theirs\n"})
        other.git("push", "-q", "origin", "HEAD:main")
        node.lease.token += 1
        with pytest.raises(UpstreamDiverged):
            node.add_task("Second")
    finally:
        node.upstream.close()


@pytest.mark.guarantee
def test_proposal_with_other_commits_than_the_remote_is_refused_and_other_branches_are_not(
    remote_repo: Repo, tmp_path: Path
) -> None:
    """A plan on the commits of this clone can never be pushed, so another attempt is useless."""
    branch = "proposals/k7m2q9xa-words"
    clone = repositories.clone_repository(remote_repo, tmp_path / "here")
    clone.git("switch", "-q", "-c", branch)
    clone.commit({"first.md": "# First\n"})
    clone.git("push", "-q", "origin", branch)
    ours = clone.commit({"ours.md": "# Ours\n"})
    plan = clone.commit({"plan.md": "# Plan\n"})
    clone.git("reset", "-q", "--hard", ours)
    clone.git("switch", "-q", "main")
    other = repositories.clone_repository(remote_repo, tmp_path / "other")
    other.git("switch", "-q", branch)
    theirs = other.commit({"theirs.md": "# Theirs\n"})
    other.git("push", "-q", "origin", branch)
    node = Node(clone.path)
    try:
        with node.upstream.hold(), pytest.raises(UpstreamDiverged) as raised:
            node.upstream.push(branch, ours, plan)
        assert branch in raised.value.message
        assert "docyard sync" in raised.value.fix
        assert remote_repo.git("rev-parse", branch).strip() == theirs
        assert node.add_task("First").commit == remote_repo.head()
        sync(Workspace.open(clone.path, durable=False), Access())
        merged = clone.git("rev-parse", branch).strip()
        with node.upstream.hold():
            assert node.upstream.push(branch, merged, merged)
    finally:
        node.upstream.close()


def test_failure_in_the_clone_after_the_push_is_a_caveat(
    nodes: list[Node], remote_repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = nodes
    first.add_task("First")
    tip = first.tip

    def fail(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, record_commits() as record:
        patch.setattr("workspace.publishing.batch_objects.BatchObjects.write_copy", fail)
        result = first.add_task("Second")
    assert result.is_committed
    assert result.commit == record.commit == remote_repo.head()
    assert (first.tip, len(record.caveats)) == (tip, 1)
    assert "does not have the commit" in record.caveats[0]
    assert first.add_task("Third").commit == remote_repo.head()
    assert read_titles(remote_repo) == ["Begin", "First", "Second", "Third"]


@pytest.mark.parametrize(
    "step", [pytest.param(24, id="sample"), pytest.param(5, id="slow", marks=pytest.mark.slow)]
)
def test_node_killed_before_any_change_of_its_clone_loses_and_repeats_nothing(
    remote_repo: Repo, tmp_path: Path, step: int
) -> None:
    """The change of the remote is between two of these changes."""
    remote_repo.git("clone", "-q", "--bare", str(remote_repo.path), str(tmp_path / "here"))
    change_number, outcome, committed_before_retry = 1, ChildOutcome.KILLED, 0
    while outcome is ChildOutcome.KILLED:
        tip = remote_repo.head()
        title, key = f"Task {change_number}", f"key-{change_number}"
        outcome = fork_and_kill(
            lambda title=title, key=key: Node(tmp_path / "here").add_task(title, key),
            change_number=change_number,
        )
        committed_before_retry += remote_repo.head() != tip
        node = Node(tmp_path / "here")
        try:
            node.add_task(title, key)
            assert read_titles(remote_repo).count(title) == 1
            assert node.tip == remote_repo.head()
        finally:
            node.upstream.close()
        change_number += step
    assert committed_before_retry > 1  # also one that was killed after its push
    assert remote_repo.fsck() == ""


def test_synchronization_only_follows_the_remote(nodes: list[Node], remote_repo: Repo) -> None:
    first, second = nodes
    commit = first.add_task("First").commit
    assert sync(second.workspace, Access()).state is SyncState.UP_TO_DATE
    assert second.tip == commit


@pytest.fixture
def cut_node(tmp_path: Path, home: Path) -> Iterator[tuple[SyncPair, Proxy, Node]]:
    """Yield a node that reaches its remote through a proxy, and has written once."""
    with open_sync_pair("git", tmp_path, home) as pair:
        assert pair.port is not None
        pair.push_as_other_user(PAGE)
        with Proxy(pair.port) as proxy:
            pair.set_remote_port(proxy.port)
            node = Node(pair.local_repo.path, pair.access)
            node.add_task("First")
            proxy.cut(None)
            yield pair, proxy, node
            node.upstream.close()


@pytest.mark.guarantee
def test_push_whose_connection_is_cut_succeeded_if_the_remote_has_the_commit(
    cut_node: tuple[SyncPair, Proxy, Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair, proxy, node = cut_node
    node.add_task("Second")
    total = proxy.count_forwarded_bytes(upward=False)
    sent = proxy.count_forwarded_bytes(upward=True)
    list_branches = GitRemotes.list_branches

    def list_without_cut(*arguments: Any, **options: Any) -> dict[str, str]:
        proxy.cut(None)
        return list_branches(*arguments, **options)

    monkeypatch.setattr(GitRemotes, "list_branches", list_without_cut)
    # The last bytes are the remote's report: it has moved the branch already.
    proxy.cut(total - 1)
    assert node.add_task("Third").commit == pair.read_remote_tip()
    tip = pair.read_remote_tip()
    proxy.cut(sent - 100, upward=True)  # in the pack
    with pytest.raises(RemoteUnreachable) as raised:
        node.add_task("Fourth")
    assert not isinstance(raised.value, PushNotBegun)
    assert pair.read_remote_tip() == node.tip == tip
    assert node.add_task("Fourth").commit == pair.read_remote_tip()
    assert read_titles(pair.remote_repo) == ["Begin", "First", "Second", "Third", "Fourth"]


@pytest.mark.parametrize("cut_bytes", [0, 1])
def test_push_that_cannot_begin_changes_nothing_though_the_remote_cannot_be_read(
    cut_node: tuple[SyncPair, Proxy, Node], cut_bytes: int
) -> None:
    pair, proxy, node = cut_node
    tip = pair.read_remote_tip()
    proxy.cut(cut_bytes)
    with pytest.raises(RemoteUnreachable):
        node.add_task("Second")
    assert node.tip == tip
    proxy.cut(None)
    assert node.add_task("Second").commit == pair.read_remote_tip()
    assert read_titles(pair.remote_repo) == ["Begin", "First", "Second"]


def test_write_is_refused_while_the_folder_of_the_remote_is_missing(
    nodes: list[Node], remote_repo: Repo, tmp_path: Path
) -> None:
    node = nodes[0]
    tip = node.add_task("First").commit
    remote_repo.path.rename(tmp_path / "moved.git")
    with pytest.raises(RemoteUnreachable):
        node.add_task("Second")
    assert node.tip == tip
    (tmp_path / "moved.git").rename(remote_repo.path)
    assert node.add_task("Second").commit == remote_repo.head()
    assert read_titles(remote_repo) == ["Begin", "First", "Second"]


def test_push_has_an_unknown_result_if_the_remote_cannot_be_read(
    cut_node: tuple[SyncPair, Proxy, Node],
) -> None:
    pair, proxy, node = cut_node
    node.add_task("Second")
    total = proxy.count_forwarded_bytes(upward=False)
    proxy.cut(total - 1)
    with pytest.raises(ResultUnknown) as raised:
        node.add_task("Third")
    assert "idempotency_key" in raised.value.fix
    proxy.cut(None)
    assert node.add_task("Fourth").commit == pair.read_remote_tip()
    assert read_titles(pair.remote_repo) == ["Begin", "First", "Second", "Third", "Fourth"]
