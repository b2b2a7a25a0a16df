"""The URL of a section for a citation: the operator's template, the forge's page, or a resource URI."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from workspace.git.remotes.url import RemoteUrl, Transport, UnsupportedRemote, parse_remote_url

# The page of a file at a commit, and its lines, for each well-known host.
_PAGE_TEMPLATES = {
    "github.com": "https://github.com/{repository}/blob/{commit}/{path}#L{line}-L{end_line}",
    "gitlab.com": "https://gitlab.com/{repository}/-/blob/{commit}/{path}#L{line}-{end_line}",
    "codeberg.org": "https://codeberg.org/{repository}/src/commit/{commit}/{path}#L{line}-L{end_line}",
}
_RESOURCE_TEMPLATE = "doc:///{namespace}/{path}#{anchor}"
_SSH_HOSTS = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}
_SAFE_IN_PATH = "/:@!$&'(*+),;="  # RFC 3986 §3.3, pchar
_SAFE_IN_FRAGMENT = _SAFE_IN_PATH + "?"


class CitedSection(NamedTuple):
    """A section in a source: its document, its key, its lines, and the commit (None outside Git).

    `folder` is the folder of the source in its repository, or an empty text.
    """

    namespace: str
    folder: str
    path: str
    key: str
    commit: str | None
    line: int
    end_line: int


def format_permalink(section: CitedSection, template: str | None, remote_url: str | None) -> str:
    """Return the URL of a section. `remote_url` is the URL of the source's repository, if it is known."""
    if template is None:
        template = _find_page_template(remote_url) if remote_url and section.commit else _RESOURCE_TEMPLATE
    page = quote(_read_page(section), safe=_SAFE_IN_PATH) if "{page}" in template else ""
    return template.format(
        namespace=quote(section.namespace, safe=""),
        path=quote(section.path, safe=_SAFE_IN_PATH),
        page=page,
        anchor=quote(section.key, safe=_SAFE_IN_FRAGMENT),
        commit=section.commit or "",
        line=section.line,
        end_line=section.end_line,
    )


def _read_page(section: CitedSection) -> str:
    """Return the path of a document within the folder of its source, without its suffix."""
    path = section.path.removeprefix(f"{section.folder}/") if section.folder else section.path
    return path.removesuffix(".md").removesuffix(".markdown")


@lru_cache(maxsize=1_000)
def _find_page_template(remote_url: str) -> str:
    """Return the template of a page on a well-known forge, of a repository on it; else of a resource."""
    try:
        url = parse_remote_url(remote_url)
    except UnsupportedRemote:
        return _RESOURCE_TEMPLATE
    template = _PAGE_TEMPLATES.get(_SSH_HOSTS.get(url.host, url.host))
    if template is None or url.transport is Transport.FILE:
        return _RESOURCE_TEMPLATE
    return template.replace("{repository}", quote(_read_repository_path(url), safe="/~"))


def _read_repository_path(url: RemoteUrl) -> str:
    path = urlsplit(url.url).path if "://" in url.url else url.url.partition(":")[2]
    return path.strip("/").removesuffix(".git")
