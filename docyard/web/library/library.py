"""The library: pages of a folder's subfolders and documents, or of all documents below with open tasks."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.routing import Route

from docyard.web.endpoints import build_get_endpoint
from docyard.web.library.folders import Folder, build_sort_key, list_folder
from docyard.web.library.navigation import build_tree
from docyard.web.library.proposed_documents import find_proposed_documents
from docyard.web.library.search import render_search
from docyard.web.library.suggestions import render_suggestions
from docyard.web.live import build_events_endpoint
from docyard.web.urls import LIBRARY_PATH, add_query
from workspace.errors import WorkspaceError
from workspace.git.repository import DamagedRepository
from workspace.paths import check_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from docyard.web.page_request import PageRequest
    from docyard.web.site import Site
    from docyard.web.summaries import DocumentSummary
    from workspace.git.objects import Signature
    from workspace.snapshot.snapshot import Snapshot


ROWS_PER_PAGE = 50
"""The number of folders and documents on one page."""

MAX_GROUPED_DOCUMENTS = 60
"""A folder with at most this many documents shows all documents below it, grouped by folder."""

_MAX_TAGS = 4


class DocumentRow(NamedTuple):
    """A document in the library.

    `author` is the author of its last change, and `commit` that change; both are None if unknown.
    `omitted_tag_count` is the number of tags that `tags` does not list.
    """

    path: str
    summary: DocumentSummary
    type: str
    tags: tuple[str, ...]
    omitted_tag_count: int
    author: Signature | None
    commit: str | None

    @property
    def name(self) -> str:
        """Return the document's file name."""
        return self.path.rpartition("/")[2]


class FolderGroup(NamedTuple):
    """The documents of one folder below the shown folder; `name` is its path relative to the shown folder."""

    folder: Folder
    name: str
    rows: Sequence[DocumentRow]


def render_library(request: PageRequest) -> Response:
    """Return the page of the folder in the URL; if the URL names no folder, the page of the top folder."""
    folder = request.path_params.get("path", "").strip("/")
    if folder:
        folder = check_path(folder)
    snapshot = request.snapshot
    has_open_task_filter = request.query.get("tasks") == "open"
    page = request.page_number
    if not snapshot.documents and not folder:
        return request.page("library.html", **_build_location(request, folder), **_build_empty_variables())
    contents = list_folder(snapshot, folder)
    if request.ref is None:
        request.site.summaries.start_read_ahead(snapshot)
    first_index = (page - 1) * ROWS_PER_PAGE
    if has_open_task_filter:
        open_documents = list(
            islice(
                _filter_by_open_tasks(request, snapshot, contents.documents_below),
                first_index,
                first_index + ROWS_PER_PAGE + 1,
            )
        )
        page_entries: Sequence[Folder | str] = open_documents[:ROWS_PER_PAGE]
        has_more = len(open_documents) > ROWS_PER_PAGE
    else:
        entries: list[Folder | str] = [*contents.folders, *contents.documents]
        page_entries = entries[first_index : first_index + ROWS_PER_PAGE]
        has_more = len(entries) > first_index + ROWS_PER_PAGE
    is_grouped = (
        not has_open_task_filter
        and bool(contents.folders)
        and len(contents.documents_below) <= MAX_GROUPED_DOCUMENTS
    )
    if is_grouped:
        page_entries, has_more = contents.documents, False
    rows = _build_rows(request, snapshot, [path for path in page_entries if isinstance(path, str)])
    folder_url = request.urls.folder(folder)
    proposed = find_proposed_documents(request)
    filters = {"tasks": "open" if has_open_task_filter else None, "ref": request.ref}
    base_url = folder_url.partition("?")[0]
    return request.page(
        "library.html",
        **_build_location(request, folder),
        tree=build_tree(snapshot, folder, removed_paths=proposed.removed_paths if proposed else ()),
        proposed=proposed,
        folders=[entry for entry in page_entries if isinstance(entry, Folder)],
        rows=rows,
        groups=_build_groups(request, snapshot, folder, contents.documents_below) if is_grouped else (),
        total=len(contents.documents_below),
        has_open_task_filter=has_open_task_filter,
        toggle_url=add_query(base_url, tasks=None if has_open_task_filter else "open", ref=request.ref),
        page=page,
        earlier_url=add_query(base_url, page=page - 1 if page > 2 else None, **filters) if page > 1 else None,
        later_url=add_query(base_url, page=page + 1, **filters) if has_more else None,
    )


def _build_location(request: PageRequest, folder: str) -> Mapping[str, Any]:
    """Return the variables of the template for the folder, its parents, and the branch and commit."""
    parts = folder.split("/") if folder else []
    parents = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
    return {
        "folder": folder,
        "parents": [(path.rpartition("/")[2], path) for path in parents],
        "name": parts[-1] if parts else request.workspace.repository_name,
        "branch": request.workspace.branch if request.ref is None else None,
        "commit": request.snapshot.commit,
        "has_commits": _has_commits(request),
        "may_create": request.may_write and request.ref is None,
    }


def _build_empty_variables() -> Mapping[str, Any]:
    return {
        "tree": None,
        "proposed": None,
        "folders": (),
        "rows": (),
        "groups": (),
        "total": 0,
        "has_open_task_filter": False,
        "toggle_url": "",
        "page": 1,
        "earlier_url": None,
        "later_url": None,
    }


def _has_commits(request: PageRequest) -> bool:
    """Return True if the snapshot has a history, which an artifact does not have."""
    return request.snapshot.commit is not None and request.workspace.branch is not None


def _filter_by_open_tasks(request: PageRequest, snapshot: Snapshot, paths: Iterable[str]) -> Iterator[str]:
    """Yield the documents with open tasks."""
    return (path for path in paths if request.site.summaries.has_open_tasks(snapshot, path))


def _build_rows(request: PageRequest, snapshot: Snapshot, paths: Sequence[str]) -> list[DocumentRow]:
    commit_by_path = request.site.last_changes.get(snapshot) if _has_commits(request) else {}
    authors: dict[str, Signature | None] = {}
    rows = []
    for path in paths:
        summary = request.site.summaries.get(snapshot, path)
        commit = commit_by_path.get(path)
        if commit is not None and commit not in authors:
            authors[commit] = _find_author(snapshot, commit)
        type_names, tags = _read_facets(snapshot, path, summary)
        author = authors[commit] if commit else None
        rows.append(
            DocumentRow(path, summary, type_names, tags[:_MAX_TAGS], len(tags[_MAX_TAGS:]), author, commit)
        )
    return rows


def _build_groups(
    request: PageRequest, snapshot: Snapshot, folder: str, documents_below: Sequence[str]
) -> list[FolderGroup]:
    """Return the documents that are not directly in `folder`, grouped by their own folder."""
    paths_by_folder: dict[str, list[str]] = {}
    for path in documents_below:
        parent = path.rpartition("/")[0]
        if parent != folder:
            paths_by_folder.setdefault(parent, []).append(path)
    start = len(folder) + 1 if folder else 0
    return [
        FolderGroup(
            Folder(parent, len(paths)),
            parent[start:],
            _build_rows(request, snapshot, sorted(paths, key=build_sort_key)),
        )
        for parent, paths in sorted(paths_by_folder.items(), key=lambda item: item[0].casefold())
    ]


def _find_author(snapshot: Snapshot, commit: str) -> Signature | None:
    try:
        return snapshot.git.commit(commit).author
    except DamagedRepository:
        return None


def _read_facets(snapshot: Snapshot, path: str, summary: DocumentSummary) -> tuple[str, tuple[str, ...]]:
    try:
        values = snapshot.taxonomy.values(path, summary.facets)
    except WorkspaceError:  # a manifest cannot be read, which `docyard validate` reports
        return "", ()
    return ", ".join(values.get("type", ())), values.get("tags", ())


def build_library_routes(site: Site) -> list[BaseRoute]:
    """Return the routes of the library, of search, and of the events of open pages."""
    return [
        Route(LIBRARY_PATH, build_get_endpoint(site, render_library)),
        Route("/folder/{path:path}", build_get_endpoint(site, render_library)),
        Route("/search", build_get_endpoint(site, render_search)),
        Route("/suggest", build_get_endpoint(site, render_suggestions)),
        Route("/events", build_events_endpoint(site)),
    ]
