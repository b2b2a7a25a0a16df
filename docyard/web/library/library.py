"""The library: a folder's folders and documents, a hundred at a time, or all below it with open tasks.

What a folder holds: the folders in it, each with how many documents are below, and its documents.

The routes of the library, of search, and of what every page listens to.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.routing import Route

from docyard.web.library.search import render_search
from docyard.web.live import build_events_endpoint
from docyard.web.request import answer_get
from docyard.web.urls import add_query
from workspace.errors import WorkspaceError
from workspace.git.repository import DamagedRepository
from workspace.nearest import find_nearest
from workspace.paths import check_path
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from docyard.web.asked import PageRequest
    from docyard.web.site import Site
    from docyard.web.summaries import DocumentSummary
    from workspace.git.objects import Signature
    from workspace.snapshot.snapshot import Snapshot


class Folder(NamedTuple):
    """A folder, and how many documents are in it and below."""

    path: str
    documents: int

    @property
    def name(self) -> str:
        """Its own name."""
        return self.path.rpartition("/")[2]


class FolderContents(NamedTuple):
    """What is in a folder: its folders and its own documents by name, and all documents below it."""

    folders: Sequence[Folder]
    documents: Sequence[str]
    below: Sequence[str]


def list_folder(snapshot: Snapshot, folder: str) -> FolderContents:
    """Return what a folder holds; the empty path is the top one.

    Raises DocumentNotFound if there is no document.
    """
    paths = list(snapshot.documents)
    if folder:
        # Paths are in order, so that those of a folder stand side by side: `0` comes right after `/`.
        paths = paths[bisect_left(paths, f"{folder}/") : bisect_left(paths, f"{folder}0")]
        if not paths:
            raise build_not_found_error(snapshot, folder)
    start = len(folder) + 1 if folder else 0
    counts: Counter[str] = Counter()
    documents = []
    for path in paths:
        name, slash, _ = path[start:].partition("/")
        if slash:
            counts[name] += 1
        else:
            documents.append(path)
    folders = [Folder(join_path(folder, name), count) for name, count in counts.items()]
    folders.sort(key=lambda one: sort_key(one.path))
    return FolderContents(folders, sorted(documents, key=sort_key), paths)


def join_path(folder: str, name: str) -> str:
    """Return the path of a name in a folder; the empty path is the top one."""
    return f"{folder}/{name}" if folder else name


def sort_key(path: str) -> tuple[str, str]:
    """As people sort names: capital letters make no difference, and what introduces a folder comes first."""
    name = path.rpartition("/")[2].casefold()
    return ("" if name.partition(".")[0] in ("readme", "index") else name, path)


def build_not_found_error(snapshot: Snapshot, folder: str) -> DocumentNotFound:
    """Return the error for a folder without documents, with the nearest folders."""
    folders = {
        path.rsplit("/", depth)[0] for path in snapshot.documents for depth in range(1, path.count("/") + 1)
    }
    close = find_nearest(folder, sorted(folders))
    return DocumentNotFound(
        f"there is no folder '{folder[:200]}' with documents",
        fix=f"Did you mean '{close[0]}'?" if close else "Begin at the top of the library.",
        folders=close,
    )


ROWS = 100
"""Folders and documents on one page."""

TOGETHER = 60
"""Documents below a folder that are all shown on its page, each with the folder that it is in."""

_TAGS = 4


class DocumentRow(NamedTuple):
    """A document as the library shows it; `author` is who changed it last, where that is known."""

    path: str
    summary: DocumentSummary
    type: str
    tags: tuple[str, ...]
    more_tags: int
    author: Signature | None
    commit: str | None

    @property
    def name(self) -> str:
        """The document's file name."""
        return self.path.rpartition("/")[2]


class FolderGroup(NamedTuple):
    """The documents of a folder further down; `name` is its path from the folder that is shown."""

    folder: Folder
    name: str
    rows: Sequence[DocumentRow]


def render_library(asked: PageRequest) -> Response:
    """Return the top folder, or the one that the address names."""
    folder = asked.path.get("path", "").strip("/")
    if folder:
        folder = check_path(folder)
    snapshot = asked.snapshot
    is_open_only = asked.query.get("tasks") == "open"
    page = _page_number(asked.query.get("page", ""))
    if not snapshot.documents and not folder:
        return asked.page("library.html", **_place(asked, folder), **_nothing())
    here = list_folder(snapshot, folder)
    if asked.ref is None:
        asked.site.summaries.read_ahead(snapshot)
    first = (page - 1) * ROWS
    if is_open_only:
        found = list(islice(_with_open(asked, snapshot, here.below), first, first + ROWS + 1))
        shown: Sequence[Folder | str] = found[:ROWS]
        is_more = len(found) > ROWS
    else:
        every: list[Folder | str] = [*here.folders, *here.documents]
        shown = every[first : first + ROWS]
        is_more = len(every) > first + ROWS
    is_together = not is_open_only and bool(here.folders) and len(here.below) <= TOGETHER
    if is_together:
        shown, is_more = here.documents, False
    rows = _rows(asked, snapshot, [path for path in shown if isinstance(path, str)])
    address = asked.urls.folder(folder)
    kept = {"tasks": "open" if is_open_only else None, "ref": asked.ref}
    plain = address.partition("?")[0]
    return asked.page(
        "library.html",
        **_place(asked, folder),
        folders=[one for one in shown if isinstance(one, Folder)],
        rows=rows,
        groups=_groups(asked, snapshot, folder, here.below) if is_together else (),
        total=len(here.below),
        open_only=is_open_only,
        toggle=add_query(plain, tasks=None if is_open_only else "open", ref=asked.ref),
        page=page,
        earlier=add_query(plain, page=page - 1 if page > 2 else None, **kept) if page > 1 else None,
        later=add_query(plain, page=page + 1, **kept) if is_more else None,
    )


def _place(asked: PageRequest, folder: str) -> Mapping[str, Any]:
    """Return where one is: the folder, those above it, and the branch and commit that are read."""
    parts = folder.split("/") if folder else []
    above = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
    return {
        "folder": folder,
        "above": [(path.rpartition("/")[2], path) for path in above],
        "name": parts[-1] if parts else asked.workspace.name,
        "branch": asked.workspace.branch if asked.ref is None else None,
        "commit": asked.snapshot.commit,
        "has_commits": _has_commits(asked),
    }


def _nothing() -> Mapping[str, Any]:
    return {
        "folders": (),
        "rows": (),
        "groups": (),
        "total": 0,
        "open_only": False,
        "toggle": "",
        "page": 1,
        "earlier": None,
        "later": None,
    }


def _has_commits(asked: PageRequest) -> bool:
    """Return True if the commit is one of a history, and no tree of an artifact."""
    return asked.snapshot.commit is not None and asked.workspace.branch is not None


def _page_number(text: str) -> int:
    """Return the page that is asked for, from 1; the first for what is no number."""
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 8 else 1


def _with_open(asked: PageRequest, snapshot: Snapshot, paths: Iterable[str]) -> Iterator[str]:
    """Yield the documents that have tasks to be done."""
    return (path for path in paths if asked.site.summaries.has_open(snapshot, path))


def _rows(asked: PageRequest, snapshot: Snapshot, paths: Sequence[str]) -> list[DocumentRow]:
    changed = asked.site.changed.of(snapshot) if _has_commits(asked) else {}
    authors: dict[str, Signature | None] = {}
    rows = []
    for path in paths:
        summary = asked.site.summaries.of(snapshot, path)
        commit = changed.get(path)
        if commit is not None and commit not in authors:
            authors[commit] = _author(snapshot, commit)
        kind, tags = _facets(snapshot, path, summary)
        author = authors[commit] if commit else None
        rows.append(DocumentRow(path, summary, kind, tags[:_TAGS], len(tags[_TAGS:]), author, commit))
    return rows


def _groups(asked: PageRequest, snapshot: Snapshot, folder: str, below: Sequence[str]) -> list[FolderGroup]:
    """Return the documents further down, by folder."""
    paths: dict[str, list[str]] = {}
    for path in below:
        above = path.rpartition("/")[0]
        if above != folder:
            paths.setdefault(above, []).append(path)
    start = len(folder) + 1 if folder else 0
    return [
        FolderGroup(
            Folder(above, len(found)), above[start:], _rows(asked, snapshot, sorted(found, key=sort_key))
        )
        for above, found in sorted(paths.items(), key=lambda item: item[0].casefold())
    ]


def _author(snapshot: Snapshot, commit: str) -> Signature | None:
    try:
        return snapshot.git.commit(commit).author
    except DamagedRepository:
        return None


def _facets(snapshot: Snapshot, path: str, summary: DocumentSummary) -> tuple[str, tuple[str, ...]]:
    try:
        values = snapshot.taxonomy.values(path, summary.facets)
    except WorkspaceError:  # of a manifest that cannot be read; `docyard validate` tells of it
        return "", ()
    return ", ".join(values.get("type", ())), values.get("tags", ())


def build_library_routes(site: Site) -> list[BaseRoute]:
    """Return the routes."""
    return [
        Route("/", answer_get(site, render_library)),
        Route("/folder/{path:path}", answer_get(site, render_library)),
        Route("/search", answer_get(site, render_search)),
        Route("/events", build_events_endpoint(site)),
    ]
