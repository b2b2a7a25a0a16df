"""The keys that nodes share: what one node signs, the others accept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from index.cursors import InvalidCursor, sign_token, verify_token
from index.postgres.database import Database
from index.postgres.shared_keys import SharedSigningKeys, get_or_create_keys, rotate_signing_key
from index.storage.keys import USER_KEYS, SigningKeys, _load_user_key
from tests.postgres_server import PostgresServer, run_postgres

pytestmark = pytest.mark.process

VALUES = ["list", None, "0" * 16, "position"]
UseHome = Callable[[str], None]


@pytest.fixture
def use_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[UseHome]:
    """Return a function that continues on another node, whose user has a key of their own."""

    def use(name: str) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
        _load_user_key.cache_clear()

    use("first")
    yield use
    _load_user_key.cache_clear()


class Clock:
    """A clock that goes on by two seconds with each reading."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 2.0
        return self.now


def open_keys(url: str) -> SharedSigningKeys:
    return SharedSigningKeys(Database(url), clock=Clock())


def sign(keys: SigningKeys) -> str:
    return sign_token(keys.get_signing_key(), VALUES)


def accepts(keys: SigningKeys, token: str) -> bool:
    try:
        return verify_token(keys.list_verification_keys(), token, 4) == VALUES
    except InvalidCursor:
        return False


@pytest.mark.guarantee
def test_token_of_one_node_is_valid_on_another(url: str, use_home: UseHome) -> None:
    first, second = open_keys(url), open_keys(url)
    token, own_token = sign(first), sign(USER_KEYS)
    use_home("second")
    assert accepts(second, token)
    assert not accepts(second, own_token)
    second_token = sign(second)
    use_home("first")
    assert accepts(first, second_token)
    # What this node has signed before it shared keys stays valid on it.
    assert accepts(first, own_token)


def test_nodes_that_start_together_have_one_key(url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = pool.map(lambda _: open_keys(url).get_signing_key(), range(8))
        assert len(set(keys)) == 1
    with psycopg.connect(url) as connection:
        [row] = connection.execute("SELECT length(key), previous_key FROM docyard_index_keys").fetchall()
    assert row == (32, None)


@pytest.mark.guarantee
def test_token_of_the_key_before_a_rotation_is_valid_until_the_next_one(url: str) -> None:
    running = open_keys(url)
    token = sign(running)
    rotate_signing_key(Database(url))
    restarted = open_keys(url)
    new_token = sign(restarted)
    assert new_token != token
    assert accepts(restarted, token)
    assert accepts(running, new_token)  # it reads the keys again
    assert sign(running) == new_token
    rotate_signing_key(Database(url))
    assert accepts(restarted, sign(open_keys(url)))
    assert accepts(restarted, new_token)
    assert not accepts(restarted, token)


def test_tokens_that_no_key_has_signed_cause_few_queries(
    url: str, monkeypatch: pytest.MonkeyPatch, use_home: UseHome
) -> None:
    keys = SharedSigningKeys(Database(url), clock=lambda: 0.0)
    foreign_token = sign_token(bytes(32), VALUES)
    assert not accepts(keys, foreign_token)
    rotate_signing_key(Database(url))
    assert not accepts(keys, sign(open_keys(url)))  # the clock has not moved


def test_node_signs_with_its_own_key_until_the_database_is_up(use_home: UseHome) -> None:
    with run_postgres() as server:
        url = server.create_database()
        server.stop()
        keys = SharedSigningKeys(Database(url))
        own_token = sign(keys)
        assert own_token == sign(USER_KEYS)
        assert accepts(keys, own_token)
        session_key = keys.get_session_key("records")
        assert session_key == USER_KEYS.get_session_key("records")
        server.start()
        keys = SharedSigningKeys(Database(url))
        shared_token = sign(keys)
        assert shared_token != own_token
        assert accepts(keys, own_token)
        assert keys.get_session_key("records") != session_key
        server.stop()
        assert sign(keys) == shared_token
        assert accepts(keys, own_token)


def test_sessions_of_two_nodes_have_equal_tokens(url: str, use_home: UseHome) -> None:
    first_key = open_keys(url).get_session_key("postgresql://one.example.org/records")
    use_home("second")
    rotate_signing_key(Database(url))
    assert open_keys(url).get_session_key("postgresql://two.example.org/records") == first_key


def test_fork_uses_the_keys_of_its_parent(url: str) -> None:
    keys = open_keys(url)
    token = sign(keys)
    process_id = os.fork()
    if process_id == 0:
        os._exit(0 if accepts(keys, token) and sign(keys) == token else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(process_id, 0)[1]) == 0
    assert sign(keys) == token


def test_first_key_of_a_purpose_wins(url: str) -> None:
    database = Database(url)
    assert get_or_create_keys(database, "questions", b"a" * 32).key == b"a" * 32
    assert get_or_create_keys(database, "questions", b"b" * 32).key == b"a" * 32
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE docyard_index_keys")
    assert get_or_create_keys(database, "questions", b"b" * 32).key == b"b" * 32


def test_replica_is_read_if_the_primary_server_is_down(postgres: PostgresServer) -> None:
    url = postgres.create_database()
    expected_key = open_keys(url).get_signing_key()
    down = Database("postgresql://docyard@127.0.0.1:1/docyard")
    assert SharedSigningKeys(down, Database(url)).get_signing_key() == expected_key
