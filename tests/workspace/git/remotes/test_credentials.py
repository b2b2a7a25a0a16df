"""Which secret is shown to which remote, and from which files none is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from workspace.git.remotes.credentials import Access, Login, UnsafeCredentials
from workspace.git.remotes.url import parse_remote_url

LINES = (
    "https://ada:first@docs.example\nhttps://bo:second@docs.example\n"
    "https://ada:other@docs.example:8443\nnonsense\nhttps://only@docs.example\n"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A credential file as it should be."""
    path = tmp_path / "credentials"
    path.write_text(LINES)
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
def test_the_file_is_by_host(url: str, login: tuple[str, str] | None, file: Path) -> None:
    assert Access(file=file).login(parse_remote_url(url), ()) == login


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o660])
def test_a_file_that_others_can_open_is_not_used(mode: int, file: Path) -> None:
    file.chmod(mode)
    with pytest.raises(UnsafeCredentials, match="others"):
        Access(file=file).login(parse_remote_url("https://docs.example/x"), ())


def test_a_file_in_the_repository_is_not_used(file: Path, tmp_path: Path) -> None:
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(file)
    for path in (file, link):
        with pytest.raises(UnsafeCredentials, match="repository"):
            Access(file=path).login(parse_remote_url("https://docs.example/x"), (tmp_path,))


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    address = parse_remote_url("https://docs.example/x")
    assert Access(file=tmp_path / "none").login(address, ()) is None
    with pytest.raises(UnsafeCredentials):
        Access(file=tmp_path).login(address, ())


def test_a_token_for_any_remote_and_for_a_forge() -> None:
    access = Access(token="any", forge_tokens={"github.com": "theirs"})
    assert access.login(parse_remote_url("https://docs.example/x"), ()) == ("git", "any")
    forge = Access(forge_tokens={"github.com": "theirs"})
    assert forge.login(parse_remote_url("https://github.com/x"), ()) == ("x-access-token", "theirs")
    assert forge.login(parse_remote_url("https://github.com.docs.example/x"), ()) is None
    assert forge.login(parse_remote_url("https://docs.example/x"), ()) is None
    assert access.login(parse_remote_url("http://docs.example/x"), ()) is None


def test_secrets_are_not_printed() -> None:
    access = Access(token="secret-1", forge_tokens={"github.com": "secret-2"})
    assert "secret" not in repr(access) + repr(Login("ada", "secret-3"))
