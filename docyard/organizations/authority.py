"""Administrators: what they may change, and the repositories and URLs that they may name.

The operator may change everything. An administrator of an organization changes this organization only. They
name repositories in folders, and URLs of hosts, that the operator listed in [operator]:

    roots = ["/srv/git/{organization}"]
    url_hosts = ["github.com/{organization}", "git.example.org:8443"]

`{organization}` is the slug of the organization. Without it, the administrators of all organizations may name
the same repositories. The path after a host is the beginning of the path of a URL.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import unquote, urlsplit

from docyard.caller import Principal
from docyard.organizations.objects import Fields, Kind, ObjectKey
from docyard.organizations.plan import Action, Change
from workspace.errors import WorkspaceError
from workspace.git.remotes.url import Transport, UnsupportedRemote, parse_remote_url

PATH_FIELDS = ("repo", "artifact", "key")
"""The settings of a namespace that are paths."""

_UNCHECKED_FIELDS = frozenset({"description", "permalink", "every"})
_SSH_USER = "git"
_MAX_ALTERNATES_BYTES = 100_000


class NotPermitted(WorkspaceError):
    """Only the operator may make this change."""

    code: ClassVar[str] = "NOT_PERMITTED"


class PlaceNotPermitted(WorkspaceError):
    """The operator has not listed the folder of a path, or the host of a URL."""

    code: ClassVar[str] = "PLACE_NOT_PERMITTED"


class Administrator(NamedTuple):
    """A principal who changes organizations. `organization` is the slug of theirs; None for the operator."""

    principal: Principal
    organization: str | None = None


OPERATOR = Administrator(Principal("operator", "operator"))
"""The operator at the command line."""


class Places(NamedTuple):
    """The folders and hosts that the operator listed; `folder` is that of the configuration file."""

    folder: Path
    roots: tuple[str, ...] = ()
    url_hosts: tuple[str, ...] = ()


def check_change(administrator: Administrator, change: Change) -> None:
    """Raise NotPermitted if the administrator may not make a change of their organization."""
    if administrator.organization is None:
        return
    if change.key.kind is Kind.ORGANIZATION and change.action is not Action.CHANGE:
        raise NotPermitted(f"only the operator may {change.action} organizations", fix="Ask the operator.")
    if change.key.kind is Kind.SERVER and change.action is not Action.REMOVE and "host" in change.field_names:
        raise NotPermitted("only the operator may set the host of a server", fix="Ask the operator.")


def check_rename(administrator: Administrator, key: ObjectKey) -> None:
    """Raise NotPermitted if the administrator may not rename an object of their organization."""
    if administrator.organization is not None and key.kind is Kind.ORGANIZATION:
        raise NotPermitted("only the operator may rename organizations", fix="Ask the operator.")


def restrict_settings(administrator: Administrator, places: Places, old: Fields, new: Fields) -> Fields:
    """Return the settings of a namespace with paths in which no part is a symbolic link.

    The settings of the operator, and those that name the same documents as before, are returned unchanged.
    Raises PlaceNotPermitted; the message is the same whether a path outside the roots exists or not.
    """
    organization = administrator.organization
    names = {name for name in (*old, *new) if old.get(name) != new.get(name)}
    if organization is None or names <= _UNCHECKED_FIELDS:
        return new
    if "url" in new:
        _check_url(new["url"], [_insert_slug(entry, organization) for entry in places.url_hosts])
    roots = [
        (places.folder / Path(_insert_slug(root, organization)).expanduser()).resolve()
        for root in places.roots
    ]
    return {**new, **dict(_resolve_paths(places.folder, roots, new))}


def _insert_slug(entry: str, organization: str) -> str:
    return entry.replace("{organization}", organization)


def _resolve_paths(folder: Path, roots: list[Path], fields: Fields) -> Iterator[tuple[str, Any]]:
    for name in PATH_FIELDS:
        if name not in fields:
            continue
        try:
            path = (folder / fields[name]).resolve()
            is_permitted = _is_in(path, roots)
            if is_permitted and name == "repo":
                git_folder = _find_git_folder(path)
                is_permitted = git_folder is not None and all(
                    _is_in(folder, roots) for folder in (git_folder, *_list_object_folders(git_folder))
                )
        except (OSError, RuntimeError, ValueError):  # a loop of symbolic links, or a path with a zero byte
            is_permitted = False
        if not is_permitted:
            what = "a repository" if name == "repo" else "a path"
            raise PlaceNotPermitted(
                f"{name} must be {what} in a folder that the operator listed",
                fix="Name another path, or ask the operator to add the folder to `roots` in [operator].",
                field=name,
            )
        yield name, str(path)


def _is_in(path: Path, roots: list[Path]) -> bool:
    return any(path == root or root in path.parents for root in roots)


def _find_git_folder(path: Path) -> Path | None:
    """Return the Git folder of a repository at a path; None if there is none.

    Git would search the folders above for a repository. A file `.git`, which may name any folder, is not
    followed.
    """
    for folder in (path / ".git", path):
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
            # A file `commondir` names the folder of another repository, as in a linked working tree.
            return None if (folder / "commondir").exists() else folder.resolve()
    return None


def _list_object_folders(git_folder: Path) -> Iterator[Path]:
    """Yield the folders in which Git reads objects and refs, those of other repositories included."""
    yield (git_folder / "refs").resolve()
    pending = [(git_folder / "objects").resolve()]
    seen: set[Path] = set()
    while pending:
        folder = pending.pop()
        if folder in seen:
            continue
        seen.add(folder)
        yield folder
        alternates = folder / "info" / "alternates"
        if alternates.is_file():
            for line in alternates.read_bytes()[:_MAX_ALTERNATES_BYTES].splitlines():
                if line.startswith(b'"'):  # Git would read a quoted path
                    yield Path("/")
                elif line and not line.startswith(b"#"):
                    pending.append((folder / os.fsdecode(line)).resolve())


def _check_url(url: str, url_hosts: list[str]) -> None:
    """Raise PlaceNotPermitted unless the operator listed the host, the port and the path of a URL."""
    try:
        address = parse_remote_url(url)
        if "://" in url:
            parts = urlsplit(url)
            host, port, path = parts.hostname or "", parts.port, parts.path
            user = None if parts.username is None and parts.password is None else parts.username or "?"
        else:
            host, port, path, user = address.host, None, url.partition(":")[2], address.user
    except (UnsupportedRemote, ValueError):
        raise _refuse_url("is not a URL of a repository") from None
    is_ssh = address.transport is Transport.SSH
    if not is_ssh and address.transport is not Transport.HTTPS:
        raise _refuse_url("must begin with https:// or ssh://, or be host:path")
    if user is not None and not (is_ssh and user == _SSH_USER and address.password is None):
        raise _refuse_url(f"must contain no user, except {_SSH_USER}@ for SSH")
    path_parts = unquote(path).strip("/").split("/")
    if ".." in path_parts or "." in path_parts or "\\" in unquote(path):
        raise _refuse_url("must contain no . or .. as a part of its path")
    server = f"{host.lower()}:{port}" if port is not None else host.lower()
    for entry in url_hosts:
        listed_server, _, listed_path = entry.partition("/")
        listed_parts = [part for part in listed_path.split("/") if part]
        if server == listed_server.lower() and path_parts[: len(listed_parts)] == listed_parts:
            return
    raise _refuse_url("must have a host and a path that the operator listed")


def _refuse_url(reason: str) -> PlaceNotPermitted:
    return PlaceNotPermitted(
        f"url {reason}",
        fix="Name another URL, or ask the operator to add the host to `url_hosts` in [operator].",
        field="url",
    )
