"""The checks of a key file: its size, its mode, and the kind of file."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from index.storage.keys import KEY_BYTES, InvalidKeyFile, read_key_file


@pytest.fixture(scope="module")
def key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def test_key_file_must_have_32_bytes_and_private_mode(tmp_path: Path, key: bytes) -> None:
    file = tmp_path / "key"
    with pytest.raises(InvalidKeyFile, match="does not exist"):
        read_key_file(file)
    file.write_bytes(key)
    file.chmod(0o600)
    assert read_key_file(file) == key
    link = tmp_path / "link"
    link.symlink_to(file)
    assert read_key_file(link) == key
    file.chmod(0o644)
    with pytest.raises(InvalidKeyFile, match="only its owner"):
        read_key_file(file)
    file.chmod(0o600)
    file.write_bytes(key[:-1])
    with pytest.raises(InvalidKeyFile, match="exactly 32 bytes"):
        read_key_file(file)
    with pytest.raises(InvalidKeyFile):
        read_key_file(tmp_path)
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(InvalidKeyFile):
        read_key_file(link)
