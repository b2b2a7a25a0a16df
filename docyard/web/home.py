"""The home page: the README, the proposals that need the caller, the last changes, and open tasks.

Each part is bounded, and cached until a branch moves. The documents that a commit changed are cached for all
later tips, so that the page after a new commit compares that commit only. No part waits for a long read: the
tasks of a large workspace are read in the background, and the page shows them later.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from docyard.proposals.inbox import REASON_LABELS
from docyard.web.documents.task_boxes import build_task_form
from docyard.web.library.folders import build_sort_key
from docyard.web.library.library import render_library
from docyard.web.live import format_unfinished_version
from docyard.web.templates import mark_trusted
from workspace.errors import WorkspaceError
from workspace.git import trees
from workspace.git.ancestry import Graph
from workspace.history.growth import read_settings_id
from workspace.lru_cache import LRUCache
from workspace.task_graph import TaskState, select_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup
    from starlette.responses import Response

    from docyard.proposals.inbox import NeededProposals
    from docyard.web.page_request import PageRequest
    from docyard.web.proposals.attention_checks import AttentionChecks
    from workspace.history.commits import CommitInfo
    from workspace.proposals.attention import AttentionReason
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.derived_values import Progress
    from workspace.snapshot.snapshot import Snapshot
    from workspace.task_graph import TaskEntry

MAX_PROPOSALS, MAX_CHANGES, MAX_TASKS = 8, 8, 8
"""The maximum numbers of entries of the parts."""

_MAX_WALKED_COMMITS = 40
_MAX_PATHS_OF_CHANGE = 3
_MAX_README_BYTES = (12_000, 4_000, 1_000)  # the first whose HTML fits
_MAX_README_CHARS = 28_000
_MAX_SMALL_WORKSPACE_DOCUMENTS = 500  # a page waits for their tasks
_MAX_TASK_READ_S = 0.03  # otherwise; also for one step in the background
_MAX_CACHE_ENTRIES = 32
_MAX_CACHED_PATHS = 100_000  # of the documents that commits changed
_README_NAMES = ("readme", "index")
_LIBRARY_FIELDS = ("tasks", "page", "ref")
_TOP_HEADING = re.compile(r"<(/?)h1\b")


class HomeReadme(NamedTuple):
    """The README: its path, the HTML of its beginning, and True if its end is not shown."""

    path: str
    html: Markup
    is_cut: bool


class NeededProposal(NamedTuple):
    """A proposal that needs the caller, and the reasons."""

    proposal: Proposal
    reasons: tuple[AttentionReason, ...]


class RecentChange(NamedTuple):
    """A commit that changed documents: its first documents that exist now, and the number of all."""

    info: CommitInfo
    paths: tuple[str, ...]
    path_count: int


class HomeTasks(NamedTuple):
    """The first open tasks, the number of all, and True if they are the caller's own."""

    tasks: Sequence[TaskEntry]
    total: int
    is_own: bool


class _Paused(WorkspaceError):
    """The tasks are not read yet."""

    code = "NOT_READ_YET"


class HomeContext:
    """A cache of the parts of the home page. Thread-safe."""

    def __init__(self, checks: AttentionChecks) -> None:
        self.checks = checks
        self._readmes: LRUCache[tuple[str | None, str], HomeReadme] = LRUCache(_MAX_CACHE_ENTRIES)
        self._changes: LRUCache[str | None, Sequence[RecentChange]] = LRUCache(_MAX_CACHE_ENTRIES)
        # By commit and settings; a commit without documents has a weight, too.
        self._paths: LRUCache[tuple[str, str], Sequence[str]] = LRUCache(
            _MAX_CACHED_PATHS, weigh=lambda paths: len(paths) + 1
        )
        self._tasks: LRUCache[tuple[str, str, int], HomeTasks] = LRUCache(_MAX_CACHE_ENTRIES)

    def render_readme(self, request: PageRequest) -> HomeReadme | None:
        """Return the README of the top folder; None if there is none, or if it cannot be read."""
        snapshot = request.snapshot
        path = find_readme(snapshot)
        if path is None:
            return None
        try:
            return self._readmes.get((snapshot.tree, path), lambda: _render_readme(request, snapshot, path))
        except WorkspaceError:  # its own page shows the error
            return None

    def list_changes(self, request: PageRequest) -> Sequence[RecentChange]:
        """Return the last commits that changed documents, the newest first."""
        snapshot = request.snapshot
        if snapshot.commit is None or request.workspace.branch is None:
            return ()
        try:
            return self._changes.get(snapshot.commit, self._read_changes, snapshot)
        except WorkspaceError:  # the repository is damaged, which other pages report
            return ()

    def list_tasks(self, request: PageRequest) -> HomeTasks | None:
        """Return the caller's open tasks, else those that can be done now; None while they are being read."""
        snapshot, background = request.snapshot, request.site.background
        person = request.caller.person
        now = datetime.now(UTC)
        key = (request.version, person.name if person else "", int(now.timestamp()) // 60)
        step_key = ("tasks of the home page", snapshot.commit)
        if background.is_queued(step_key):  # a second reader would only slow down the first
            return None
        try:
            if not request.version:
                return _list_tasks(request, snapshot, now)
            # Claims expire, so the tasks are cached for a minute.
            return self._tasks.get(key, lambda: _list_tasks(request, snapshot, now))
        except _Paused:
            background.submit(step_key, lambda: _read_ahead(request, snapshot))
            return None
        except WorkspaceError:  # the page of tasks shows the error
            return HomeTasks((), 0, is_own=False)

    def _read_changes(self, snapshot: Snapshot) -> Sequence[RecentChange]:
        from workspace.history.commits import describe_commit

        git, commit, settings = snapshot.git, snapshot.commit, read_settings_id(snapshot)
        assert commit is not None
        nodes = Graph(git).first_parents(commit, max_commits=_MAX_WALKED_COMMITS + 1)
        changes: list[RecentChange] = []
        for node, parent in zip(nodes, [*nodes[1:], None], strict=True):
            if len(changes) == MAX_CHANGES or (parent is None and node.parents):
                break  # further commits are not walked, or not in this clone
            old_tree = parent.tree if parent else None
            paths = self._paths.get(
                (node.id, settings), _list_changed_documents, snapshot, old_tree, node.tree
            )
            if paths:
                shown_paths = islice(
                    (path for path in paths if path in snapshot.documents), _MAX_PATHS_OF_CHANGE
                )
                changes.append(
                    RecentChange(describe_commit(git.commit(node.id)), tuple(shown_paths), len(paths))
                )
        return tuple(changes)


def render_home(request: PageRequest, context: HomeContext) -> Response:
    """Return the home page; the page of the top folder for its own fields, and without documents."""
    if any(request.query.get(name) for name in _LIBRARY_FIELDS) or not request.snapshot.documents:
        return render_library(request)
    if request.ref is None:
        request.site.summaries.start_read_ahead(request.snapshot)
    tasks = context.list_tasks(request)
    needed = context.checks.find_needed(request)
    needed_proposals = _list_needed_proposals(request, needed)
    is_finished = tasks is not None and not (needed is not None and needed.unchecked)
    return request.page(
        "home.html",
        readme=context.render_readme(request),
        needed=needed_proposals[:MAX_PROPOSALS] if needed_proposals is not None else None,
        needed_count=len(needed_proposals or ()),
        changes=context.list_changes(request),
        tasks=tasks,
        task_form=build_task_form(request, return_query="home"),
        reason_labels=REASON_LABELS,
        branch=request.workspace.branch,
        commit=request.snapshot.commit,
        total=len(request.snapshot.documents),
        may_create=request.may_write,
        version=request.version if is_finished else format_unfinished_version(request.version),
    )


def find_readme(snapshot: Snapshot) -> str | None:
    """Return the path of the README, else the index, of the top folder of documents; None without one."""
    root = snapshot.config.root
    prefix = f"{root}/" if root else ""
    names = [
        path
        for path in snapshot.documents
        if path.startswith(prefix)
        and "/" not in path[len(prefix) :]
        and path[len(prefix) :].partition(".")[0].casefold() in _README_NAMES
    ]
    return min(names, key=lambda path: (not _is_readme(path), build_sort_key(path)), default=None)


def _is_readme(path: str) -> bool:
    return path.rpartition("/")[2].casefold().startswith(_README_NAMES[0])


def _render_readme(request: PageRequest, snapshot: Snapshot, path: str) -> HomeReadme:
    from workspace.rendering.renderer import render_text

    document = snapshot.document(path)
    start, size = document.front_matter_end, len(document.data)
    html, end = "", start
    for limit in _MAX_README_BYTES:
        end = size
        if size - start > limit:
            # The end of a section, else of a paragraph, else of a line.
            window = document.data[start : start + limit]
            starts = [item.start for item in document.sections if start < item.start <= start + limit]
            end = max(starts, default=0) or start + (
                window.rfind(b"\n\n") + 1 or window.rfind(b"\n") + 1 or limit
            )
        html = render_text(
            document.text(start, end),
            urls=request.urls,
            snapshot=snapshot,
            base_path=path,
            breaks=False,
            math=request.site.math,
        )
        if len(html) <= _MAX_README_CHARS:
            break
    else:
        html, end = "", start
    # The page has a title of its own.
    return HomeReadme(path, mark_trusted(_TOP_HEADING.sub(r"<\1h2", html)), end < size)


def _list_changed_documents(snapshot: Snapshot, old_tree: str | None, new_tree: str) -> Sequence[str]:
    """Return the paths that differ between two trees, and are documents by the settings of a snapshot."""
    changes = trees.diff_trees(snapshot.git, old_tree, new_tree)
    return tuple(change.path for change in changes if snapshot.config.is_document(change.path))


def _list_tasks(request: PageRequest, snapshot: Snapshot, now: datetime) -> HomeTasks:
    """Return the caller's open tasks, else those that are ready. Raises _Paused after a short time."""
    is_small = len(snapshot.documents) <= _MAX_SMALL_WORKSPACE_DOCUMENTS
    graph = request.workspace.task_graph(snapshot, None if is_small else _make_deadline())
    person = request.caller.person
    own_tasks = select_tasks(graph, now, owner=person.name) if person is not None else []
    tasks = own_tasks or [
        task for task in select_tasks(graph, now) if graph.get_state(task, now) is TaskState.READY
    ]
    return HomeTasks(tasks[:MAX_TASKS], len(tasks), bool(own_tasks))


def _make_deadline() -> Progress:
    """Return a function that raises _Paused when the time of one step is over."""
    deadline = time.monotonic() + _MAX_TASK_READ_S

    def check(done: int, total: int, label: str) -> None:
        if time.monotonic() > deadline:
            raise _Paused("the tasks are being read", fix="Try again in a moment.")

    return check


def _read_ahead(request: PageRequest, snapshot: Snapshot) -> bool:
    """Read tasks for a short time; return True if all are read. Documents that were read are cached."""
    try:
        request.workspace.task_graph(snapshot, _make_deadline())
    except _Paused:
        return False
    return True


def _list_needed_proposals(
    request: PageRequest, needed: NeededProposals | None
) -> Sequence[NeededProposal] | None:
    """Return the proposals that need the caller; None if the caller cannot act on proposals."""
    if needed is None:
        return None
    reasons = needed.reasons
    return [
        NeededProposal(proposal, reasons[proposal.id])
        for proposal in request.proposals
        if proposal.id in reasons
    ]
