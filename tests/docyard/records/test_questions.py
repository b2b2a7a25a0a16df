"""The keys of hashes: equal on nodes that share a database of indexes, and no hash is orphaned."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from docyard.records.questions import HashKeys, get_question_format
from index.postgres.options import create_engine_options
from tests.databases import postgres  # noqa: F401
from tests.postgres_server import PostgresServer

DOWN_URL = "postgresql://docyard@127.0.0.1:1/docyard"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(tmp_path, monkeypatch, "first")


def use_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))


def test_key_of_the_file_is_stored_once(tmp_path: Path) -> None:
    key = HashKeys().get_key()
    assert HashKeys().list_keys() == [key]
    assert (tmp_path / "first/docyard/records-key").read_bytes() == key
    assert get_question_format("hash", HashKeys())("Retry?") == get_question_format("hash", HashKeys())(
        " retry? "
    )


def test_folder_that_cannot_be_written_gives_one_key_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    use_home(tmp_path, monkeypatch, "file")
    assert HashKeys().get_key() == HashKeys().get_key()


@pytest.mark.process
def test_nodes_hash_with_the_key_of_the_first(
    postgres: PostgresServer,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = postgres.create_database()
    first_key = HashKeys().get_key()  # before the move to the database
    assert HashKeys(create_engine_options(url)).get_key() == first_key
    use_home(tmp_path, monkeypatch, "second")
    second_key = HashKeys(create_engine_options(DOWN_URL)).get_key()
    assert second_key != first_key
    keys = HashKeys(create_engine_options(url))
    assert keys.get_key() == first_key
    # The own hashes of this node are found by erasures.
    assert set(keys.list_keys()) == {first_key, second_key}
    # A node without the database, and one after the loss of the tables, use the same key.
    assert HashKeys(create_engine_options(DOWN_URL)).get_key() == first_key
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE docyard_index_keys")
    assert HashKeys(create_engine_options(url)).get_key() == first_key
