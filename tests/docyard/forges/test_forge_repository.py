"""The URL of a forge's API is derived from the remote; no committed file selects the host for the token."""

from __future__ import annotations

import pytest

from docyard.forges.errors import NoForgeToken, NotAForge
from docyard.forges.forge_repository import ForgeAccess, resolve_forge_repository
from tests.loops import loop_over
from workspace.config.config import WorkspaceConfig
from workspace.errors import InvalidConfig
from workspace.git.remotes.url import parse_remote_url

ACCESS = ForgeAccess(token="tok-1", tokens={"github.com": "tok-hub"})


@loop_over(
    ("url", "kind", "api", "segments"),
    [
        ("https://github.com/ana/docs.git", None, "https://api.github.com", ("ana", "docs")),
        ("git@github.com:ana/docs.git", None, "https://api.github.com", ("ana", "docs")),
        ("ssh://git@ssh.github.com:443/ana/docs", None, "https://api.github.com", ("ana", "docs")),
        ("https://gitlab.com/a/b/c/docs.git", None, "https://gitlab.com/api/v4", ("a", "b", "c", "docs")),
        ("git@codeberg.org:ana/docs.git", None, "https://codeberg.org/api/v1", ("ana", "docs")),
        ("https://git.example/ana/docs", "github", "https://git.example/api/v3", ("ana", "docs")),
        ("https://git.example:8443/a/docs", "gitea", "https://git.example:8443/api/v1", ("a", "docs")),
        ("ssh://git@git.example:2222/a/docs", "gitlab", "https://git.example/api/v4", ("a", "docs")),
        ("https://user:pw@git.example/a/docs", "gitea", "https://git.example/api/v1", ("a", "docs")),
        ("https://github.com/ana/docs.git", "gitlab", "https://api.github.com", ("ana", "docs")),
    ],
)
def test_api_url_is_derived_from_the_remote(
    url: str, kind: str | None, api: str, segments: tuple[str, ...]
) -> None:
    repository = resolve_forge_repository(parse_remote_url(url), kind, ACCESS)
    assert (repository.api_url, repository.segments, repository.token) == (api, segments, "tok-1")
    assert "tok-1" not in repr(repository)


@loop_over(
    ("url", "kind"),
    [
        ("https://git.example/ana/docs", None),
        ("http://git.example/ana/docs", "gitea"),
        ("git://git.example/ana/docs", "gitea"),
        ("/srv/docs.git", "gitea"),
        ("https://github.com/docs", None),
        ("https://github.com/ana/docs/more", None),
        ("https://github.com/../docs", None),
        ("https://github.com/ana/..", None),
        ("https://github.com/ana/d%2Focs", None),
        ("git@github.com:docs", None),
    ],
)
def test_remote_without_forge_is_refused_with_fix(url: str, kind: str | None) -> None:
    with pytest.raises(NotAForge) as error:
        resolve_forge_repository(parse_remote_url(url), kind, ACCESS)
    assert error.value.fix


def test_token_of_a_host_is_sent_to_that_host_only() -> None:
    access = ForgeAccess(tokens={"github.com": "tok-hub"})
    assert (
        resolve_forge_repository(parse_remote_url("https://github.com/a/b"), None, access).token == "tok-hub"
    )
    with pytest.raises(NoForgeToken) as error:
        resolve_forge_repository(parse_remote_url("https://gitlab.com/a/b"), None, access)
    assert "DOCYARD_FORGE_TOKEN" in error.value.fix
    with pytest.raises(NoForgeToken):
        resolve_forge_repository(
            parse_remote_url("https://github.com/a/b"), "github", make_access("https://git.example")
        )


def make_access(url: str, token: str | None = None) -> ForgeAccess:
    return ForgeAccess(url, token, {"github.com": "tok-hub"})


@loop_over("token", ["", "a b\nX-Evil: 1", "töken"])
def test_invalid_token_is_refused(token: str) -> None:
    with pytest.raises(NoForgeToken):
        resolve_forge_repository(parse_remote_url("https://github.com/a/b"), None, ForgeAccess(token=token))


@loop_over(
    ("url", "remote", "api", "segments"),
    [
        ("http://127.0.0.1:3000", "/srv/ana/docs.git", "http://127.0.0.1:3000/api/v1", ("ana", "docs")),
        ("https://web.example/", "git@ssh.example:ana/docs", "https://web.example/api/v1", ("ana", "docs")),
        (
            "https://web.example/git",
            "https://web.example/git/ana/docs",
            "https://web.example/git/api/v1",
            ("ana", "docs"),
        ),
    ],
)
def test_environment_url_overrides_api_url_of_remote(
    url: str, remote: str, api: str, segments: tuple[str, ...]
) -> None:
    repository = resolve_forge_repository(parse_remote_url(remote), "gitea", make_access(url, "tok-1"))
    assert (repository.api_url, repository.segments) == (api, segments)


@loop_over(
    "url",
    [
        "http://git.example",
        "ftp://git.example",
        "git.example",
        "https://ana:pw@git.example",
        "https://git.example?x=1",
        "https://git.example/#x",
        "https://git.example:port",
        "https://",
    ],
)
def test_unsafe_environment_url_is_refused(url: str) -> None:
    with pytest.raises(NotAForge, match="DOCYARD_FORGE_URL"):
        resolve_forge_repository(
            parse_remote_url("https://github.com/a/b"), "gitea", make_access(url, "tok-1")
        )


def test_forge_settings_contain_only_the_kind() -> None:
    assert WorkspaceConfig.read(b"").forge is None
    empty_settings = WorkspaceConfig.read(b"[forge]\n").forge
    assert empty_settings is not None
    assert empty_settings.kind is None
    gitea_settings = WorkspaceConfig.read(b'[forge]\nkind = "gitea"\n').forge
    assert gitea_settings is not None
    assert gitea_settings.kind == "gitea"


@loop_over(
    ("line", "message"),
    [
        ('kind = "bitbucket"', "must be"),
        ('token = "x"', "DOCYARD_FORGE_TOKEN"),
        ('Token = "x"', "DOCYARD_FORGE_TOKEN"),
        ('url = "https://evil.example"', "must not contain an address"),
        ('api = "https://evil.example"', "must not contain an address"),
        ("other = 1", "no setting 'forge.other'"),
    ],
)
def test_forge_settings_other_than_a_known_kind_are_refused(line: str, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        WorkspaceConfig.read(f"[forge]\n{line}\n".encode())
