"""Tokens that nodes share: what one node adds or revokes counts on all of them at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.repositories import Repo, create_repository
from workspace.errors import WorkspaceError
from workspace.policy.shared_tokens import SharedTokens, StoredTokens, TokensChanged
from workspace.policy.tokens import (
    TOKENS_PATH,
    DamagedTokens,
    InvalidToken,
    SharedTokensNote,
    TokenFile,
    Tokens,
)
from workspace.workspace import Workspace

FORMER_PATH = "docyard/tokens-before-sharing.json"


class MemoryStorage:
    """A storage in memory, which may be down."""

    def __init__(self) -> None:
        self.stored: tuple[int, bytes] | None = None
        self.is_down = False

    def _check(self) -> None:
        if self.is_down:
            raise WorkspaceError("the storage is down")

    def read(self, known_version: int | None) -> StoredTokens | None:
        self._check()
        if self.stored is None:
            return None
        version, data = self.stored
        return StoredTokens(version, None if version == known_version else data)

    def create(self, data: bytes) -> None:
        self._check()
        self.stored = self.stored or (1, data)

    def replace(self, data: bytes, version: int) -> bool:
        self._check()
        if self.stored is None or self.stored[0] != version:
            return False
        self.stored = version + 1, data
        return True


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def repos(tmp_path: Path) -> tuple[Repo, Repo]:
    first, second = (create_repository(tmp_path / name, {"a.md": "# A\n"}) for name in ("first", "second"))
    return first, second


def open_tokens(repo: Repo, storage: MemoryStorage) -> Tokens:
    folder = Workspace.open(repo.path).git.common_dir
    return Tokens(folder, SharedTokens(folder, storage))


def open_file(repo: Repo) -> Tokens:
    return Tokens(Workspace.open(repo.path).git.common_dir)


def read_file(repo: Repo, path: str = TOKENS_PATH) -> dict[str, object]:
    content: dict[str, object] = json.loads((repo.path / ".git" / path).read_text())
    return content


@pytest.mark.guarantee
def test_revoked_token_counts_on_no_node(repos: tuple[Repo, Repo], storage: MemoryStorage) -> None:
    first, second = (open_tokens(repo, storage) for repo in repos)
    secret = first.add("ana", "Ana Li", "ana@example.org")
    assert second.person(secret).name == "Ana Li"
    assert second.find_owner("ana") is not None
    second.revoke("ana")
    for tokens in (first, second):
        assert tokens.find_owner("ana") is None
        with pytest.raises(InvalidToken):
            tokens.authenticate(secret)
    # Nor without the storage: neither a node that has read it, nor a command that does not know it.
    storage.is_down = True
    for tokens in (first, second, *(open_file(repo) for repo in repos)):
        with pytest.raises(WorkspaceError):
            tokens.authenticate(secret)


def test_first_node_stores_its_file_and_others_keep_theirs_aside(
    repos: tuple[Repo, Repo], storage: MemoryStorage
) -> None:
    secrets = [
        open_file(repo).add(name, name, f"{name}@example.org")
        for repo, name in zip(repos, ("ana", "ben"), strict=True)
    ]
    first, second = (open_tokens(repo, storage) for repo in repos)
    assert [person.token for person in first.list()] == ["ana"]
    assert [person.token for person in second.list()] == ["ana"]
    assert second.person(secrets[0]).token == "ana"
    with pytest.raises(InvalidToken):
        second.person(secrets[1])
    for repo in repos:
        assert read_file(repo) == {"version": 3, "tokens": []}
        assert ((repo.path / ".git" / TOKENS_PATH).stat().st_mode & 0o777) == 0o600
        with pytest.raises(SharedTokensNote):
            open_file(repo).list()
        with pytest.raises(SharedTokensNote):
            open_file(repo).add("cy", "Cy", "cy@example.org")
    assert read_file(repos[1], FORMER_PATH)["tokens"]
    second.trust(secrets[1], "ben", "ben@example.org")
    assert first.person(secrets[1]).token == "ben"


def test_tokens_of_a_lost_storage_are_not_read_from_a_file(
    repos: tuple[Repo, Repo], storage: MemoryStorage
) -> None:
    open_file(repos[0]).add("ana", "Ana", "ana@example.org")
    assert open_tokens(repos[0], storage).list()
    storage.stored = None
    assert open_tokens(repos[0], storage).list() == ()
    open_tokens(repos[0], storage).add("ben", "Ben", "ben@example.org")
    assert [person.token for person in open_tokens(repos[1], storage).list()] == ["ben"]


def test_second_of_two_changes_at_once_is_refused(repos: tuple[Repo, Repo], storage: MemoryStorage) -> None:
    folders = [Workspace.open(repo.path).git.common_dir for repo in repos]
    first, second = (SharedTokens(folder, storage) for folder in folders)
    Tokens(folders[0], first).add("ana", "Ana", "ana@example.org")

    def add_after_a_change_of_another_node() -> None:
        with first.edit() as tokens:
            Tokens(folders[1], second).revoke("ana")
            tokens["ben"] = tokens["ana"]

    with pytest.raises(TokensChanged):
        add_after_a_change_of_another_node()
    assert first.read() == {}


def test_damaged_content_is_not_used(repos: tuple[Repo, Repo], storage: MemoryStorage) -> None:
    storage.stored = 1, b"{"
    with pytest.raises(DamagedTokens):
        open_tokens(repos[0], storage).list()


def test_export_writes_the_file_of_a_node(repos: tuple[Repo, Repo], storage: MemoryStorage) -> None:
    secret = open_tokens(repos[0], storage).add("ana", "Ana", "ana@example.org")
    folder = Workspace.open(repos[1].path).git.common_dir
    assert SharedTokens(folder, storage).export() == 1
    assert open_file(repos[1]).person(secret).token == "ana"
    assert list(TokenFile(folder).read()) == ["ana"]
    # The setting of the engine is still there.
    open_tokens(repos[0], storage).revoke("ana")
    with pytest.raises(InvalidToken):
        open_tokens(repos[1], storage).person(secret)


def test_branches_of_a_workspace_share_the_source(repos: tuple[Repo, Repo], storage: MemoryStorage) -> None:
    repos[0].git("branch", "other")
    workspace = Workspace.open(repos[0].path)
    other = workspace.for_branch("other")
    workspace.share_tokens(SharedTokens(workspace.git.common_dir, storage))
    secret = other.tokens.add("ana", "Ana", "ana@example.org")
    assert open_tokens(repos[1], storage).person(secret) == workspace.tokens.person(secret)
