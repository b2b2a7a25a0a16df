"""The tokens of people in PostgreSQL: two nodes with clones of their own."""

from __future__ import annotations

import threading
from pathlib import Path

import psycopg
import pytest

from index.port import EngineUnavailable
from index.postgres.options import create_engine_options
from index.postgres.shared_tokens import PostgresTokenStorage, open_shared_tokens, share_tokens
from tests.postgres_server import run_postgres
from tests.repositories import Repo, clone_repository, create_bare_repository, create_repository
from workspace.policy.shared_tokens import TokensChanged
from workspace.policy.tokens import InvalidToken, Tokens
from workspace.workspace import Workspace

pytestmark = pytest.mark.process


@pytest.fixture
def remote(tmp_path: Path) -> Repo:
    return create_bare_repository(tmp_path / "docs.git")


def open_node(remote: Repo, path: Path, url: str) -> Tokens:
    clone = clone_repository(remote, path) if not path.exists() else Repo(path)
    workspace = Workspace.open(clone.path)
    share_tokens(workspace, create_engine_options(url))
    return workspace.tokens


@pytest.mark.guarantee
def test_token_that_one_node_revokes_is_refused_by_the_other(remote: Repo, url: str, tmp_path: Path) -> None:
    first, second = (open_node(remote, tmp_path / name, url) for name in ("first", "second"))
    secret = first.add("ana", "Ana Li", "ana@example.org")
    assert second.person(secret).email == "ana@example.org"
    new_secret = second.rotate("ana")
    with pytest.raises(InvalidToken):
        first.authenticate(secret)
    assert first.person(new_secret).token == "ana"
    first.revoke("ana")
    with pytest.raises(InvalidToken):
        second.authenticate(new_secret)
    assert second.list() == ()
    with psycopg.connect(url) as connection:
        [[content]] = connection.execute("SELECT content FROM docyard_tokens").fetchall()
    assert new_secret.rpartition("_")[2] not in bytes(content).decode()


@pytest.mark.guarantee
def test_no_token_counts_while_the_database_is_down(remote: Repo, tmp_path: Path) -> None:
    with run_postgres() as server:
        url = server.create_database()
        node = open_node(remote, tmp_path / "node", url)
        secret = node.add("ana", "Ana Li", "ana@example.org")
        server.stop()
        for call in (node.list, lambda: node.authenticate(secret), lambda: node.revoke("ana")):
            with pytest.raises(EngineUnavailable):
                call()
        server.start()
        restarted = open_node(remote, tmp_path / "node", url)
        assert restarted.person(secret).token == "ana"


def test_nodes_that_add_tokens_at_once_lose_none(remote: Repo, url: str, tmp_path: Path) -> None:
    nodes = [open_node(remote, tmp_path / name, url) for name in ("first", "second")]

    def add(number: int) -> None:
        for index in range(5):
            while True:
                try:
                    nodes[number].add(f"ana-{number}-{index}", "Ana", "ana@example.org")
                except TokensChanged:
                    continue
                break

    threads = [threading.Thread(target=add, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(nodes[0].list()) == len(nodes[1].list()) == 10


def test_version_of_a_lost_table_does_not_return(url: str) -> None:
    storage = PostgresTokenStorage(create_engine_options(url).database, "docs")  # type: ignore[arg-type]
    assert storage.read(None) is None
    storage.create(b"one")
    first = storage.read(None)
    assert first is not None
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE docyard_tokens")
    storage.create(b"two")
    storage.create(b"three")
    second = storage.read(first.version)
    assert second is not None
    assert second.data == b"two"
    assert not storage.replace(b"four", first.version)
    assert storage.replace(b"four", second.version)
    third = storage.read(second.version)
    assert third is not None
    assert third.data == b"four"


def test_repository_without_a_remote_or_an_engine_keeps_its_file(
    url: str, remote: Repo, tmp_path: Path
) -> None:
    plain = Workspace.open(create_repository(tmp_path / "plain", {"a.md": "# A\n"}).path)
    assert open_shared_tokens(plain, create_engine_options(url)) is None
    clone = Workspace.open(clone_repository(remote, tmp_path / "clone").path)
    assert open_shared_tokens(clone, create_engine_options(None)) is None
    assert open_shared_tokens(clone, create_engine_options(url)) is not None
