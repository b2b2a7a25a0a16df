"""Credentials: the login for each remote, and the refused credential files."""

from __future__ import annotations

from pathlib import Path

import pytest

from workspace.git.remotes.credentials import Access, Login, UnsafeCredentials
from workspace.git.remotes.url import parse_remote_url

CREDENTIAL_LINES = (
    "https://ada:first@docs.example\nhttps://bo:second@docs.example\n"
    "https://ada:other@docs.example:8443\nnonsense\nhttps://only@docs.example\n"
)


@pytest.fixture
def credential_file(tmp_path: Path) -> Path:
    """Return a valid credential file."""
    path = tmp_path / "credentials"
    path.write_text(CREDENTIAL_LINES)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    ("url", "login"),
    [
        ("https://docs.example/x", ("ada", "first")),
        ("https://bo@docs.example/x", ("bo", "second")),
        ("https://cy@docs.example/x", None),
        ("https://docs.example:8443/x", ("ada", "other")),
        ("https://sub.docs.example/x", None),
        ("http://docs.example/x", None),
        ("ssh://docs.example/x", None),
        ("https://ada:own@docs.example/x", ("ada", "own")),
    ],
)
def test_login_is_that_of_the_url_or_of_a_matching_line_of_the_credential_file(
    url: str, login: tuple[str, str] | None, credential_file: Path
) -> None:
    assert Access(file=credential_file).find_login(parse_remote_url(url), ()) == login


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o660])
def test_credential_file_open_to_others_is_refused(mode: int, credential_file: Path) -> None:
    credential_file.chmod(mode)
    with pytest.raises(UnsafeCredentials, match="others"):
        Access(file=credential_file).find_login(parse_remote_url("https://docs.example/x"), ())


def test_credential_file_in_repository_is_refused(credential_file: Path, tmp_path: Path) -> None:
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(credential_file)
    for path in (credential_file, link):
        with pytest.raises(UnsafeCredentials, match="repository"):
            Access(file=path).find_login(parse_remote_url("https://docs.example/x"), (tmp_path,))


def test_missing_credential_file_is_ignored_and_folder_refused(tmp_path: Path) -> None:
    remote_url = parse_remote_url("https://docs.example/x")
    assert Access(file=tmp_path / "none").find_login(remote_url, ()) is None
    with pytest.raises(UnsafeCredentials):
        Access(file=tmp_path).find_login(remote_url, ())


def test_forge_token_is_sent_only_to_its_host() -> None:
    access = Access(token="any", forge_tokens={"github.com": "theirs"})
    assert access.find_login(parse_remote_url("https://docs.example/x"), ()) == ("git", "any")
    access_without_token = Access(forge_tokens={"github.com": "theirs"})
    assert access_without_token.find_login(parse_remote_url("https://github.com/x"), ()) == (
        "x-access-token",
        "theirs",
    )
    assert access_without_token.find_login(parse_remote_url("https://github.com.docs.example/x"), ()) is None
    assert access_without_token.find_login(parse_remote_url("https://docs.example/x"), ()) is None
    assert access.find_login(parse_remote_url("http://docs.example/x"), ()) is None


def test_secrets_are_not_printed() -> None:
    access = Access(token="secret-1", forge_tokens={"github.com": "secret-2"})
    assert "secret" not in repr(access) + repr(Login("ada", "secret-3"))
