"""The repositories and URLs that administrators of organizations may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.caller import Principal
from docyard.organizations.authority import (
    OPERATOR,
    Administrator,
    PlaceNotPermitted,
    Places,
    restrict_settings,
)

ADMIN = Administrator(Principal("token:1", "Ana", "acme"), "acme")


def make_repository(path: Path) -> Path:
    (path / "objects").mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    return path


@pytest.fixture
def places(tmp_path: Path) -> Places:
    make_repository(tmp_path / "git" / "acme" / "api.git")
    make_repository(tmp_path / "git" / "acme" / "work" / ".git")
    make_repository(tmp_path / "git" / "globex" / "api.git")
    make_repository(tmp_path / ".git")
    return Places(
        tmp_path, ("git/{organization}",), ("github.com/{organization}", "git.example.org:8443", "[::1]")
    )


def restrict(places: Places, **fields: object) -> dict[str, object]:
    return dict(restrict_settings(ADMIN, places, {}, fields))


@pytest.mark.parametrize(
    "path", ["git/acme/api.git", "git/acme/work", "./git/acme/../acme/api.git", "git/globex/../acme/api.git"]
)
def test_repository_in_a_root_is_permitted(places: Places, path: str) -> None:
    resolved = restrict(places, repo=path)["repo"]
    assert resolved == str((places.folder / path).resolve())


@pytest.mark.parametrize(
    "path",
    [
        "git/globex/api.git",
        "git/globex/missing.git",
        "git/acme/../globex/api.git",
        "git/acme",
        "git/acme/missing",
        "git",
        ".",
        "/",
        "/etc",
        "~",
        "\0",
        "git/acme-2/api.git",
        "link",
        "git/acme/link",
        "git/acme/loop",
        "git/acme/file",
        "x" * 5_000,
    ],
)
def test_repository_elsewhere_is_refused_with_one_message(places: Places, path: str) -> None:
    acme = places.folder / "git" / "acme"
    make_repository(places.folder / "git" / "acme-2" / "api.git")
    (places.folder / "link").symlink_to(places.folder / "git" / "globex" / "api.git")
    (acme / "link").symlink_to(places.folder / "git" / "globex" / "api.git")
    (acme / "loop").symlink_to(acme / "loop")
    (acme / "file").mkdir()
    (acme / "file" / ".git").write_text(f"gitdir: {places.folder}/git/globex/api.git\n")
    with pytest.raises(PlaceNotPermitted) as raised:
        restrict(places, repo=path)
    assert raised.value.message == "repo must be a repository in a folder that the operator listed"


def test_git_folder_that_is_a_link_is_refused(places: Places) -> None:
    work = places.folder / "git" / "acme" / "other"
    work.mkdir()
    (work / ".git").symlink_to(places.folder / "git" / "globex" / "api.git")
    with pytest.raises(PlaceNotPermitted):
        restrict(places, repo="git/acme/other")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("objects/info/alternates", "{globex}/objects\n"),
        ("objects/info/alternates", "# pool\n../../../globex/api.git/objects"),
        ("objects/info/alternates", "../../work/.git/objects\n"),  # which has alternates, too
        ("objects/info/alternates", '"{globex}/objects"\n'),
        ("commondir", "{globex}\n"),
    ],
)
def test_repository_with_objects_of_another_is_refused(places: Places, file: str, text: str) -> None:
    acme, globex = places.folder / "git" / "acme", places.folder / "git" / "globex" / "api.git"
    for folder, content in ((acme / "work" / ".git", "{globex}/objects"), (acme / "api.git", text)):
        path = folder / (file if folder.name == "api.git" else "objects/info/alternates")
        path.parent.mkdir(exist_ok=True)
        path.write_text(content.format(globex=globex))
    with pytest.raises(PlaceNotPermitted):
        restrict(places, repo="git/acme/api.git")


@pytest.mark.parametrize("name", ["objects", "refs"])
def test_repository_with_a_linked_folder_is_refused(places: Places, name: str) -> None:
    folder = places.folder / "git" / "acme" / "api.git" / name
    if folder.exists():
        folder.rmdir()
    folder.symlink_to(places.folder / "git" / "globex" / "api.git" / "objects")
    with pytest.raises(PlaceNotPermitted):
        restrict(places, repo="git/acme/api.git")


def test_repository_may_share_objects_within_the_roots(places: Places) -> None:
    info = places.folder / "git" / "acme" / "api.git" / "objects" / "info"
    info.mkdir()
    (info / "alternates").write_text("../../work/.git/objects\n")
    assert restrict(places, repo="git/acme/api.git")


def test_artifact_and_key_are_in_a_root_too(places: Places) -> None:
    assert restrict(places, artifact="git/acme/out", key="git/acme/key")["key"].endswith("/git/acme/key")
    with pytest.raises(PlaceNotPermitted):
        restrict(places, artifact="git/globex/out")
    with pytest.raises(PlaceNotPermitted) as raised:
        restrict(places, artifact="git/acme/out", key="/etc/passwd")
    assert raised.value.details["field"] == "key"


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/docs.git",
        "https://GitHub.com/acme/docs",
        "ssh://git@github.com/acme/docs.git",
        "ssh://github.com/acme/docs.git",
        "git@github.com:acme/docs.git",
        "https://git.example.org:8443/any/docs.git",
    ],
)
def test_url_of_a_listed_host_is_permitted(places: Places, url: str) -> None:
    assert restrict(places, url=url)["url"] == url


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/globex/docs.git",
        "https://github.com/acme-2/docs.git",
        "https://github.com/acme/../globex/docs.git",
        "https://github.com/acme/%2e%2e/globex/docs.git",
        "https://github.com/acme/./docs.git",
        "https://github.com",
        "https://github.com:8443/acme/docs.git",
        "https://github.com.evil.example/acme/docs.git",
        "https://evil.example/github.com/acme",
        "https://github.com@evil.example/acme/docs.git",
        "https://ana@github.com/acme/docs.git",
        "https://:x@github.com/acme/docs.git",
        "ssh://root@github.com/acme/docs.git",
        "root@github.com:acme/docs.git",
        "git@github.com:globex/docs.git",
        "https://git.example.org/any/docs.git",
        "http://127.0.0.1/acme/docs.git",
        "http://github.com/acme/docs.git",
        "git://github.com/acme/docs.git",
        "file:///srv/globex",
        "/srv/globex",
        "ext::sh -c id",
        "-oProxyCommand=id",
        "https://[::1/acme",
        "https://github.com\\@evil.example/acme/docs.git",
        "https://github.com/acme\\..\\globex",
        "https://github.com/acme/..%5Cglobex",
    ],
)
def test_other_url_is_refused(places: Places, url: str) -> None:
    with pytest.raises(PlaceNotPermitted) as raised:
        restrict(places, url=url)
    assert "globex" not in raised.value.message


def test_operator_names_any_place(places: Places) -> None:
    for fields in ({"repo": "/etc"}, {"url": "https://any.example/x"}, {"artifact": "../out", "key": "/k"}):
        assert restrict_settings(OPERATOR, places, {}, fields) == fields


def test_place_of_the_operator_stays_if_only_its_description_changes(places: Places) -> None:
    old = {"repo": "/srv/secret.git", "folder": "public"}
    new = {**old, "description": "Public part", "permalink": "https://example.org/{path}"}
    assert restrict_settings(ADMIN, places, old, new) == new
    for change in ({"folder": "private"}, {"ref": "secret"}, {"folder": None}):
        with pytest.raises(PlaceNotPermitted):
            restrict_settings(ADMIN, places, old, {**old, **change})
