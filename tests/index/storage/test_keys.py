"""The user's key, which is created once and only read from a private file; imports that load no engine."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from index.service import SearchIndex
from index.storage.keys import (
    KEY_BYTES,
    USER_KEYS,
    _load_user_key,
    load_or_create_key,
    load_user_key,
)
from tests.repositories import Repo


def test_key_is_created_once(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "key"
    key = load_or_create_key(file)
    assert key == load_or_create_key(file) == file.read_bytes()
    assert key is not None
    assert len(key) == KEY_BYTES
    assert [entry.name for entry in file.parent.iterdir()] == ["key"]


def test_key_readable_by_others_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "key"
    load_or_create_key(file)
    file.chmod(0o644)
    assert load_or_create_key(file) is None


def test_symlink_or_key_of_wrong_length_is_not_used(tmp_path: Path) -> None:
    key_file = tmp_path / "real"
    key_file.write_bytes(b"x" * KEY_BYTES)
    key_file.chmod(0o600)
    (tmp_path / "link").symlink_to(key_file)
    assert load_or_create_key(tmp_path / "link") is None
    key_file.write_bytes(b"short")
    assert load_or_create_key(key_file) is None


def test_key_stays_in_memory_if_home_is_unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    _load_user_key.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: load_user_key(), range(64)))) == 1


def test_renamed_key_verifies_until_it_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    _load_user_key.cache_clear()
    old_key = load_user_key()
    assert tuple(USER_KEYS.list_verification_keys()) == (old_key,)
    file, old_file = tmp_path / "docyard/key", tmp_path / "docyard/old-key"
    file.rename(old_file)
    _load_user_key.cache_clear()  # the next process
    new_key = load_user_key()
    assert new_key != old_key
    assert tuple(USER_KEYS.list_verification_keys()) == (new_key, old_key)
    old_file.chmod(0o644)
    assert tuple(USER_KEYS.list_verification_keys()) == (new_key,)
    old_file.unlink()
    assert tuple(USER_KEYS.list_verification_keys()) == (new_key,)
    _load_user_key.cache_clear()


@pytest.mark.process
def test_metadata_is_read_without_loading_the_engine(index: SearchIndex, repo: Repo) -> None:
    index.update_to_tip()
    script = (
        "import sys; from pathlib import Path; from workspace.workspace import Workspace\n"
        "from index.service import SearchIndex\n"
        "print(SearchIndex(Workspace.open(Path(sys.argv[1]))).metadata().stats.total_files)\n"
        "print([name for name in ('whoosh', 'Stemmer', 'markdown_it') if name in sys.modules])\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", script, str(repo.path)], capture_output=True, text=True, check=True
    )
    assert process.stdout.split("\n")[:2] == ["4", "[]"]


@pytest.mark.process
def test_importing_the_service_loads_no_engine() -> None:
    script = (
        "import sys, index.service; print([m for m in ('whoosh', 'pydantic', 'Stemmer') if m in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
