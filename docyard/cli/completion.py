"""Shell completion of addresses, refs, commits, proposals, types, owners, toolsets and queries.

A user waits for the candidates. So only the document whose sections are completed is parsed, only the typed
folder is listed, and modules are imported on demand. After an error there are no candidates: the command
itself reports the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, ParamSpec

import click

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem

    from workspace.git.reader import GitReader
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

MAX_CANDIDATES = 300
"""The maximum number of candidates."""

PARTIAL = "part"
"""The kind of a candidate that the user may continue, so that the shell adds no space."""

P = ParamSpec("P")
Candidates = list["CompletionItem[str]"]


def _limit_candidates(find_candidates: Callable[P, Iterable[CompletionItem[str]]]) -> Callable[P, Candidates]:
    """Wrap a function so that it returns at most MAX_CANDIDATES candidates; after an error, an empty list."""

    @wraps(find_candidates)
    def list_candidates(*arguments: P.args, **keywords: P.kwargs) -> Candidates:
        from workspace.errors import WorkspaceError

        try:
            matches = (item for item in find_candidates(*arguments, **keywords) if item.value.isprintable())
            return list(islice(matches, MAX_CANDIDATES))
        except (WorkspaceError, OSError):
            return []

    return list_candidates


@_limit_candidates
def complete_addresses(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield the paths in one folder; after `#` addresses of sections, and after `[` addresses of tasks."""
    workspace = _open_workspace(context)
    return _list_addresses(
        workspace, workspace.at(context.params.get("ref")), _find_folder(context), incomplete
    )


@_limit_candidates
def complete_proposal_addresses(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield the addresses in the proposal that the command line names."""
    workspace = _open_workspace(context)
    proposal = workspace.proposal_actions().find(context.params["proposal_id"])
    return _list_addresses(workspace, workspace.snapshot(proposal.tip), _find_folder(context), incomplete)


@_limit_candidates
def complete_proposals(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield ids of proposals, the newest first; merged and closed proposals come last."""
    ended_states = ("merged", "closed")
    proposals = sorted(
        _open_workspace(context).proposal_actions().list_all(),
        key=lambda proposal: proposal.state.value in ended_states,
    )
    return (
        _build_candidate(proposal.id, help=proposal.content.title)
        for proposal in proposals
        if proposal.id.startswith(incomplete)
    )


@_limit_candidates
def complete_refs(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield HEAD, the names of branches, tags and remote branches, and recent commits after a part of an id.

    The second ref of a range such as `main..` is completed, too.
    """
    from workspace.git.reader import GitReader
    from workspace.revisions import list_ref_names

    dots = incomplete.rfind("..") + 2 if ".." in incomplete else 0  # no name of a ref contains two dots
    start, prefix = incomplete[:dots], incomplete[dots:]
    git = GitReader(_find_folder(context))
    for name in list_ref_names(git):
        if name.startswith(prefix):
            yield _build_candidate(start + name)
    if _ID_PREFIX.fullmatch(prefix):
        for id, subject in _list_recent_commits(git):
            if id.startswith(prefix):
                yield _build_candidate(start + id, help=subject)


_ID_PREFIX = re.compile("[0-9a-f]{1,40}")
_MAX_COMMITS = 1_000


def _list_recent_commits(git: GitReader) -> Iterator[tuple[str, str]]:
    """Yield the ids and subjects of the newest commits in the first-parent history of HEAD."""
    from workspace.git.ancestry import Graph

    tip = git.head().commit
    for node in Graph(git).first_parents(tip, max_commits=_MAX_COMMITS) if tip is not None else ():
        yield node.id, git.commit(node.id).message.partition("\n")[0]


@_limit_candidates
def complete_proposal_tip(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield the tip of the proposal that the command line names: an approval of another commit is refused."""
    # Click assigns no arguments while the value of an option is missing.
    proposal_id = context.params.get("proposal_id") or next(iter(context.args), None)
    if proposal_id is not None:
        proposal = _open_workspace(context).proposal_actions().find(proposal_id)
        if proposal.tip is not None and proposal.tip.startswith(incomplete):
            yield _build_candidate(proposal.tip, help=proposal.content.title)


@_limit_candidates
def complete_owners(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield the names of assignees of tasks, and of those who hold a claim."""
    from datetime import UTC, datetime

    workspace = _open_workspace(context)
    tasks = workspace.task_graph(workspace.at(context.params.get("ref"))).tasks
    time = datetime.now(UTC)
    names = {name for task in tasks for name in task.list_owners(time)}
    prefix = incomplete.casefold()
    return (_build_candidate(name) for name in sorted(names) if name.casefold().startswith(prefix))


@_limit_candidates
def complete_branches(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield names of branches."""
    from workspace.git.reader import GitReader

    names = GitReader(_find_folder(context)).branches()
    return (_build_candidate(name) for name in names if name.startswith(incomplete))


@_limit_candidates
def complete_types(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield names of document types, including those of the workspace."""
    from workspace.snapshot.document_types import read_document_types

    names = read_document_types(_open_workspace(context).snapshot())
    return (_build_candidate(name) for name in names if name.startswith(incomplete))


@_limit_candidates
def complete_query(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield the fields of a query, such as `type:`; after the colon, the values of that field, or paths.

    Values come from the metadata of the index, which may be older than the branch.
    """
    from index.operators import PATH, TAG, WORD_FIELDS

    term = incomplete.lstrip("(")
    parentheses = incomplete[: len(incomplete) - len(term)]
    name, colon, value = term.partition(":")
    if colon and name == PATH:
        snapshot = _open_workspace(context).at(context.params.get("ref"))
        folder = value[: value.rfind("/") + 1]
        for entry in _list_names(snapshot, folder.strip("/"), value[len(folder) :]):
            yield _build_candidate(f"{parentheses}{name}:{folder}{entry}", type=PARTIAL)
        return
    values = _read_values(context)
    if not colon:
        for field in (*WORD_FIELDS, PATH, TAG, *values):
            if field.startswith(term):
                yield _build_candidate(f"{parentheses}{field}:", type=PARTIAL)
        return
    key = "tags" if name == TAG and TAG not in values else name
    for candidate in values.get(key, ()):
        if candidate.startswith(value.removeprefix('"')) and '"' not in candidate:
            quoted_value = (
                f'"{candidate}"' if _NEEDS_QUOTES.search(candidate) or value.startswith('"') else candidate
            )
            yield _build_candidate(f"{parentheses}{name}:{quoted_value}")


_NEEDS_QUOTES = re.compile(r"[\s(),;*\u201c-\u201f\u00ab\u00bb]|^[\[<>:]|^//")
"""The pattern of a value that a query must quote."""


def _read_values(context: click.Context) -> Mapping[str, Collection[str]]:
    """Return the values of each key of the taxonomy from the metadata of the index or of an artifact."""
    from docyard.open_workspace import find_folder
    from index.service import SearchIndex

    if (folder := context.params.get("artifact")) is not None:
        from index.artifacts.artifact import open_artifact

        metadata = open_artifact(find_folder(folder)).metadata
        return {key: facet.listed_values for key, facet in metadata.taxonomy.items()}
    workspace = _open_workspace(context)
    index_metadata = SearchIndex(workspace).metadata()
    taxonomy = index_metadata.taxonomy if index_metadata is not None else {}
    keys = workspace.at(context.params.get("ref")).config.taxonomy_keys
    return {key: taxonomy[key].listed_values if key in taxonomy else () for key in keys}


@_limit_candidates
def complete_toolsets(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield names of toolsets. Each candidate repeats the names and commas that were typed before."""
    from tools.toolsets import TOOLSETS

    typed_names, comma, prefix = incomplete.rpartition(",")
    chosen_names = typed_names.split(",")
    names = (name for name in TOOLSETS if name.startswith(prefix) and name not in chosen_names)
    return (_build_candidate(f"{typed_names}{comma}{name}", type=PARTIAL) for name in names)


def _list_addresses(
    workspace: Workspace, snapshot: Snapshot, current_folder: Path, incomplete: str
) -> Iterator[CompletionItem[str]]:
    from docyard.cli.addresses import resolve_relative_address
    from workspace.document.addresses import split_address
    from workspace.texts.text_file import LazyFilePaths

    if "#" not in incomplete:
        yield from _list_paths(workspace, snapshot, current_folder, incomplete)
        return
    address = resolve_relative_address(incomplete, workspace, snapshot, current_folder)
    path, fragment = split_address(address, LazyFilePaths(snapshot))
    if fragment is None:
        yield from _list_paths(workspace, snapshot, current_folder, incomplete)
        return
    document_prefix = incomplete[: len(incomplete) - len(fragment)]
    for candidate, title in _list_fragments(snapshot, path, fragment):
        if candidate.startswith(fragment):
            yield _build_candidate(document_prefix + candidate, help=title or None)


def _build_candidate(value: str, *, type: str = "plain", help: str | None = None) -> CompletionItem[str]:
    # Every command imports this module, but only completion requests need Click's class.
    from click.shell_completion import CompletionItem

    return CompletionItem(value, type, help)


def _find_folder(context: click.Context) -> Path:
    from docyard.open_workspace import find_folder

    return find_folder(context.params.get("repo"))


def _open_workspace(context: click.Context) -> Workspace:
    from docyard.open_workspace import open_workspace

    return open_workspace(
        context.params.get("repo"), context.params.get("branch"), warns=False, checks_settings=False
    )


def _list_paths(
    workspace: Workspace, snapshot: Snapshot, current_folder: Path, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield matching paths in the typed folder, which is relative to the current folder, else to the root."""
    from docyard.cli.addresses import to_repository_path

    typed_folder = incomplete[: incomplete.rfind("/") + 1]
    prefix, root, has_matches = incomplete[len(typed_folder) :], workspace.git.worktree, False
    folders = []
    if root is not None:
        folders.append(
            to_repository_path(
                root.resolve(),
                (current_folder, current_folder.resolve()),
                current_folder / (typed_folder or "."),
            )
        )
    folders.append(typed_folder.rstrip("/"))
    for folder in dict.fromkeys(folder for folder in folders if folder is not None):
        for name in _list_names(snapshot, "" if folder == "." else folder, prefix):
            has_matches = True
            yield _build_candidate(typed_folder + name, type=PARTIAL)
        if has_matches:
            return


def _list_names(snapshot: Snapshot, folder: str, prefix: str) -> Iterator[str]:
    """Yield the names of matching folders and documents in a folder; if no document matches, other files."""
    entry = snapshot.entry(folder) if folder else None
    tree = snapshot.tree if not folder else entry.id if entry is not None and entry.is_tree else None
    if tree is None:
        return
    parent = f"{folder}/" if folder else ""
    matches = [item for item in snapshot.git.tree(tree) if item.name.startswith(prefix)]
    readable_entries = [
        item for item in matches if item.is_blob and snapshot.config.is_readable(parent + item.name)
    ]
    documents = [item for item in readable_entries if snapshot.config.is_document(parent + item.name)]
    yield from (f"{item.name}/" for item in matches if item.is_tree and not item.name.startswith("."))
    yield from (item.name for item in documents or readable_entries)


def _list_fragments(snapshot: Snapshot, path: str, fragment: str) -> Iterator[tuple[str, str]]:
    """Yield the addresses and titles of a text's sections, or of the tasks of the named section."""
    from workspace.document.addresses import format_task_address, resolve_section
    from workspace.texts.outline import read_outline
    from workspace.texts.text_file import read_text

    text = read_text(snapshot, path)
    section, bracket, _ = fragment.partition("[")
    if not bracket:
        yield from ((entry.address, entry.title) for entry in read_outline(text).entries)
    elif text.document is not None:
        target_section = resolve_section(text.document, section)
        yield from (
            (format_task_address(target_section.key, task), task.title)
            for task in text.document.tasks(target_section)
        )
