"""Tokens are created, trusted, revoked and recognized; unsafe files are refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.loops import loop_over
from workspace.policy.tokens import (
    ALL_SCOPES,
    READ_SCOPE,
    TOKENS_PATH,
    DamagedTokens,
    InvalidPerson,
    InvalidToken,
    Person,
    TokenExists,
    Tokens,
    UnknownToken,
    UnsafeTokens,
)

ANA = Person("ana", "Ana Li", "ana@example.org")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def tokens(folder: Path) -> Tokens:
    return Tokens(folder)


def test_token_is_recognized_without_storing_its_secret(tokens: Tokens, folder: Path) -> None:
    secret = tokens.add(*ANA)
    assert re.fullmatch("docyard_ana_[0-9a-f]{48}", secret)
    assert tokens.person(secret) == Tokens(folder).person(secret) == ANA
    assert tokens.list() == (ANA,)
    data = (folder / TOKENS_PATH).read_bytes()
    assert secret.encode() not in data
    assert secret.rpartition("_")[2].encode() not in data
    assert (folder / TOKENS_PATH).stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in (folder / "docyard").iterdir()) == ["tokens.json", "write.lock"]
    known_token = tokens.find_owner("ana")
    assert known_token is not None
    assert known_token.key.hex() not in repr(known_token)


def test_unknown_secret_is_refused(tokens: Tokens) -> None:
    secret, other_secret = tokens.add(*ANA), tokens.add("ben", "Ben", "ben@example.org")
    mixed_secret = f"docyard_ana_{other_secret.rpartition('_')[2]}"
    changed_secret = secret[:-1] + ("0" if secret[-1] != "0" else "1")
    digest = (tokens.key("ana") or b"").hex()
    for invalid_secret in (
        mixed_secret,
        changed_secret,
        secret.upper(),
        secret + "0",
        secret[:-1],
        "",
        "ana",
        digest,
        "\ud800",
    ):
        with pytest.raises(InvalidToken) as error_info:
            tokens.person(invalid_secret)
        assert (
            not invalid_secret
            or invalid_secret == "ana"
            or invalid_secret not in f"{error_info.value.message}{error_info.value.fix}"
        )


def test_revoked_token_is_unknown(tokens: Tokens) -> None:
    secret = tokens.add(*ANA)
    key = tokens.key("ana")
    assert tokens.revoke("ana") == ANA
    assert (tokens.key("ana"), tokens.list()) == (None, ())
    with pytest.raises(InvalidToken):
        tokens.person(secret)
    with pytest.raises(UnknownToken):
        tokens.revoke("ana")
    tokens.add(*ANA)
    assert tokens.key("ana") not in (None, key)


def test_unknown_name_returns_nearest_name(tokens: Tokens) -> None:
    tokens.add(*ANA)
    with pytest.raises(UnknownToken) as error_info:
        tokens.revoke("anna")
    assert error_info.value.details["candidates"] == ["ana"]
    with pytest.raises(UnknownToken) as error_info:
        tokens.revoke("\x1b[2J" * 10_000)
    assert len(error_info.value.message) < 400
    assert error_info.value.message.isprintable()


def test_trusted_token_has_same_key(tokens: Tokens, folder: Path) -> None:
    secret = tokens.add(*ANA)
    other_tokens = Tokens(folder / "elsewhere")
    (folder / "elsewhere").mkdir()
    assert other_tokens.trust(secret, "Ana", "ana@work.example") == Person("ana", "Ana", "ana@work.example")
    assert other_tokens.key("ana") == tokens.key("ana")
    assert other_tokens.trust(secret, "Ana Li", "ana@example.org") == other_tokens.person(secret) == ANA
    with pytest.raises(TokenExists):
        other_tokens.trust("docyard_ana_" + "0" * 48, "Ana", "ana@example.org")
    for invalid_secret in ("docyard_ana_short", "0" * 48, f"docyard_ANA_{'0' * 48}", secret + "\n"):
        with pytest.raises(InvalidToken, match="the text is not a token"):
            other_tokens.trust(invalid_secret, "Ana", "ana@example.org")


def test_duplicate_token_name_is_refused(tokens: Tokens) -> None:
    secret = tokens.add(*ANA)
    with pytest.raises(TokenExists):
        tokens.add("ana", "Another", "other@example.org")
    assert tokens.person(secret) == ANA


@loop_over(
    ("field", "person"),
    [
        ("token", ("", "Ana", "a@b.c")),
        ("token", ("Ana", "Ana", "a@b.c")),
        ("token", ("ana_li", "Ana", "a@b.c")),
        ("token", ("-ana", "Ana", "a@b.c")),
        ("token", ("ana\n", "Ana", "a@b.c")),
        ("token", ("ana\x1b[2J", "Ana", "a@b.c")),
        ("token", ("аna", "Ana", "a@b.c")),  # noqa: RUF001 - the first letter is Cyrillic
        ("token", ("../ana", "Ana", "a@b.c")),
        ("token", ("a" * 10_000, "Ana", "a@b.c")),
        ("name", ("ana", "", "a@b.c")),
        ("name", ("ana", "Ana\nLi", "a@b.c")),
        ("name", ("ana", "Ana <", "a@b.c")),
        ("name", ("ana", "A" * 10_000, "a@b.c")),
        ("name", ("ana", "Ana\u202e", "a@b.c")),
        ("email", ("ana", "Ana", "")),
        ("email", ("ana", "Ana", "a b@c")),
        ("email", ("ana", "Ana", "a@b>")),
        ("email", ("ana", "Ana", "a@b\0")),
        ("email", ("ana", "Ana", "a" * 10_000)),
    ],
)
def test_invalid_person_is_refused(
    tokens: Tokens, folder: Path, field: str, person: tuple[str, str, str]
) -> None:
    with pytest.raises(InvalidPerson) as error_info:
        tokens.add(*person)
    assert error_info.value.details["field"] == field
    assert len(error_info.value.message + error_info.value.fix) < 300
    assert not (folder / TOKENS_PATH).exists()


def test_upper_case_name_is_refused_with_suggestion(tokens: Tokens) -> None:
    tokens.add(*ANA)
    with pytest.raises(InvalidPerson, match="name of the token is invalid") as error_info:
        tokens.add("Ana", "Ana", "ana@example.org")
    assert "such as 'ana'" in error_info.value.fix


def make_file_readable(folder: Path) -> None:
    (folder / TOKENS_PATH).chmod(0o644)


def make_file_writable(folder: Path) -> None:
    (folder / TOKENS_PATH).chmod(0o620)


def link_file(folder: Path) -> None:
    (folder / TOKENS_PATH).rename(folder / "other.json")
    (folder / TOKENS_PATH).symlink_to(folder / "other.json")


def link_folder(folder: Path) -> None:
    (folder / "docyard").rename(folder / "other")
    (folder / "docyard").symlink_to(folder / "other")


def make_file_a_pipe(folder: Path) -> None:
    (folder / TOKENS_PATH).unlink()
    os.mkfifo(folder / TOKENS_PATH, 0o600)


def make_file_a_folder(folder: Path) -> None:
    (folder / TOKENS_PATH).unlink()
    (folder / TOKENS_PATH).mkdir()


@pytest.mark.parametrize(
    "make_unsafe",
    [make_file_readable, make_file_writable, link_file, link_folder, make_file_a_pipe, make_file_a_folder],
)
def test_unsafe_file_is_not_used(tokens: Tokens, folder: Path, make_unsafe: Callable[[Path], None]) -> None:
    secret = tokens.add(*ANA)
    make_unsafe(folder)
    for call in (
        tokens.list,
        lambda: tokens.key("ana"),
        lambda: tokens.person(secret),
        lambda: Tokens(folder).person(secret),
    ):
        with pytest.raises(UnsafeTokens) as error_info:
            call()
        assert str(folder) not in error_info.value.message + error_info.value.fix


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can change the owner")
def test_file_of_another_owner_is_not_used(tokens: Tokens, folder: Path) -> None:
    tokens.add(*ANA)
    other_user_id = 12345
    os.chown(folder / TOKENS_PATH, other_user_id, -1)
    with pytest.raises(UnsafeTokens, match="belongs to another user"):
        tokens.list()


def test_truncated_file_is_neither_used_nor_overwritten(tokens: Tokens, folder: Path) -> None:
    tokens.add(*ANA)
    data = (folder / TOKENS_PATH).read_bytes()
    for end in range(len(data) - 1):
        (folder / TOKENS_PATH).write_bytes(data[:end])
        with pytest.raises(DamagedTokens):
            Tokens(folder).list()
    with pytest.raises(DamagedTokens):
        tokens.add("ben", "Ben", "ben@example.org")
    assert (folder / TOKENS_PATH).read_bytes() == data[:end]
    (folder / TOKENS_PATH).write_bytes(data)
    assert tokens.list() == (ANA,)


TOKEN_ENTRY = {"token": "ana", "name": "Ana", "email": "a@b.c", "digest": "0" * 64}


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        {"version": 1, "tokens": {}},
        {"version": 4, "tokens": []},
        {"version": 2, "tokens": [{**TOKEN_ENTRY, "scopes": "docs:read"}]},
        {"version": 2, "tokens": [{**TOKEN_ENTRY, "scopes": ["docs:all"]}]},
        {"version": 2, "tokens": [{**TOKEN_ENTRY, "scopes": [["docs:read"]]}]},
        {"version": 2, "tokens": [{**TOKEN_ENTRY, "expires_at": True}]},
        {"version": 2, "tokens": [{**TOKEN_ENTRY, "expires_at": "never"}]},
        {"version": 2, "tokens": [{**TOKEN_ENTRY, "old_digests": ["0"]}]},
        {"version": 2, "tokens": [{**TOKEN_ENTRY, "old_digests": "0" * 64}]},
        {"version": 1, "tokens": [[]]},
        {"version": 1, "tokens": [TOKEN_ENTRY, TOKEN_ENTRY]},
        {"version": 1, "tokens": [{**TOKEN_ENTRY, "digest": ""}]},
        {"version": 1, "tokens": [{**TOKEN_ENTRY, "digest": None}]},
        {"version": 1, "tokens": [{**TOKEN_ENTRY, "token": "Ana"}]},
        {"version": 1, "tokens": [{**TOKEN_ENTRY, "email": ""}]},
        {"version": 1, "tokens": [], "more": "x" * 2_000_000},
    ],
)
def test_invalid_file_raises_damaged_tokens(tokens: Tokens, folder: Path, content: object) -> None:
    tokens.add(*ANA)
    (folder / TOKENS_PATH).write_text(json.dumps(content))
    with pytest.raises(DamagedTokens):
        tokens.list()


def test_deeply_nested_file_raises_damaged_tokens(tokens: Tokens, folder: Path) -> None:
    tokens.add(*ANA)
    (folder / TOKENS_PATH).write_bytes(b"[" * 1_000_000)
    with pytest.raises(DamagedTokens):
        tokens.list()


ADD_TOKENS_SCRIPT = """
import sys
import time
from pathlib import Path
from workspace.policy.tokens import Tokens
tokens = Tokens(Path(sys.argv[1]))
for number in range(15):
    tokens.add(f"{sys.argv[2]}{number}", "Someone", "a@example.org")
"""


@pytest.mark.process
def test_parallel_processes_lose_no_token(tokens: Tokens, folder: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", ADD_TOKENS_SCRIPT, str(folder), name]) for name in ("a", "b")
    ]
    assert [process.wait(60) for process in processes] == [0, 0]
    expected = {f"{name}{number}" for name in "ab" for number in range(15)}
    assert {person.token for person in tokens.list()} == expected


def test_file_left_by_crash_is_replaced(tokens: Tokens, folder: Path) -> None:
    (folder / "docyard").mkdir()
    (folder / f"{TOKENS_PATH}.new").write_bytes(b"{")
    secret = tokens.add(*ANA)
    assert tokens.person(secret) == ANA
    assert not (folder / f"{TOKENS_PATH}.new").exists()


def test_token_has_only_its_scopes(tokens: Tokens, folder: Path) -> None:
    full_secret = tokens.add(*ANA)
    assert json.loads((folder / TOKENS_PATH).read_text())["version"] == 1
    read_secret = tokens.add("reader", "Ana", "ana@example.org", scopes=frozenset({READ_SCOPE}))
    # An earlier version would take a restricted token for an unrestricted one.
    assert json.loads((folder / TOKENS_PATH).read_text())["version"] == 2
    for known_tokens in (tokens, Tokens(folder)):
        assert known_tokens.authenticate(full_secret).scopes == ALL_SCOPES
        assert known_tokens.authenticate(read_secret).scopes == {READ_SCOPE}


def test_expired_token_does_not_authenticate(tokens: Tokens) -> None:
    now = int(time.time())
    valid_secret = tokens.add(*ANA, expires_at=now + 1_000)
    expired_secret = tokens.add("old", "Ana", "ana@example.org", expires_at=now)
    assert tokens.person(valid_secret) == ANA
    with pytest.raises(InvalidToken, match="expired"):
        tokens.person(expired_secret)
    # Its key still verifies the approvals that were given before.
    assert tokens.find_owner("old") is not None


def test_rotated_token_keeps_its_old_key_for_seals(tokens: Tokens, folder: Path) -> None:
    first_secret = tokens.add(*ANA, scopes=frozenset({READ_SCOPE}))
    first_key = tokens.key("ana")
    second_secret = tokens.rotate("ana")
    for known_tokens in (tokens, Tokens(folder)):
        owner = known_tokens.authenticate(second_secret)
        assert (owner.person, owner.scopes) == (ANA, {READ_SCOPE})
        assert owner.old_keys == (first_key,) != (owner.key,)
        with pytest.raises(InvalidToken):
            known_tokens.person(first_secret)
    for _ in range(20):
        tokens.rotate("ana")
    assert len(Tokens(folder).read_all()["ana"].old_keys) == 10
    with pytest.raises(UnknownToken):
        tokens.rotate("none")
