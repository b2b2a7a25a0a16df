"""Shell completion of addresses, refs, proposals, types and toolsets.

A shell calls this at every key press. So only the one document whose sections are completed is parsed,
folders are listed one at a time, and imports are late. After an error there are no candidates: the command
itself reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, ParamSpec

import click

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem

    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

MAX_CANDIDATES = 300
"""Candidates that a shell receives."""

PARTIAL = "part"
"""The kind of a candidate that may be continued, so that the shell adds no space."""

P = ParamSpec("P")
Items = list["CompletionItem[str]"]


def _limit_candidates(find: Callable[P, Iterable[CompletionItem[str]]]) -> Callable[P, Items]:
    """Return at most MAX_CANDIDATES of a function's candidates; none after an error."""

    @wraps(find)
    def candidates(*arguments: P.args, **keywords: P.kwargs) -> Items:
        from workspace.errors import WorkspaceError

        try:
            fit = (item for item in find(*arguments, **keywords) if item.value.isprintable())
            return list(islice(fit, MAX_CANDIDATES))
        except (WorkspaceError, OSError):
            return []

    return candidates


@_limit_candidates
def complete_addresses(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield paths, a folder at a time; after a `#` section addresses, in brackets task addresses."""
    workspace = _workspace(context)
    return _list_addresses(workspace, workspace.at(context.params.get("ref")), _folder(context), incomplete)


@_limit_candidates
def complete_proposal_addresses(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield the addresses of the proposal that was named before."""
    workspace = _workspace(context)
    one = workspace.proposing().one(context.params["proposal"])
    return _list_addresses(workspace, workspace.snapshot(one.tip), _folder(context), incomplete)


@_limit_candidates
def complete_proposals(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield ids of proposals, the newest first; merged and closed proposals come last."""
    ended = ("merged", "closed")
    found = sorted(_workspace(context).proposing().all(), key=lambda one: one.state.value in ended)
    return (_item(one.id, help=one.words.title) for one in found if one.id.startswith(incomplete))


@_limit_candidates
def complete_refs(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield HEAD, branches, tags and remote branches."""
    from workspace.git.reader import GitReader
    from workspace.revisions import list_ref_names

    names = list_ref_names(GitReader(_folder(context)))
    return (_item(name) for name in names if name.startswith(incomplete))


@_limit_candidates
def complete_branches(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield branches."""
    from workspace.git.reader import GitReader

    names = GitReader(_folder(context)).branches()
    return (_item(name) for name in names if name.startswith(incomplete))


@_limit_candidates
def complete_types(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield document types, including those of the workspace."""
    from workspace.snapshot.document_types import read_types

    names = read_types(_workspace(context).snapshot())
    return (_item(name) for name in names if name.startswith(incomplete))


@_limit_candidates
def complete_toolsets(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield toolsets; several are separated by commas."""
    from tools.toolsets import TOOLSETS

    before, comma, begun = incomplete.rpartition(",")
    given = before.split(",")
    names = (name for name in TOOLSETS if name.startswith(begun) and name not in given)
    return (_item(f"{before}{comma}{name}", type=PARTIAL) for name in names)


def _list_addresses(
    workspace: Workspace, snapshot: Snapshot, here: Path, incomplete: str
) -> Iterator[CompletionItem[str]]:
    from docyard.cli.addresses import resolve_relative_address
    from workspace.document.addresses import split_address
    from workspace.texts.text_file import LazyFilePaths

    if "#" not in incomplete:
        yield from _list_paths(workspace, snapshot, here, incomplete)
        return
    place = resolve_relative_address(incomplete, workspace, snapshot, here)
    path, fragment = split_address(place, LazyFilePaths(snapshot))
    if fragment is None:
        yield from _list_paths(workspace, snapshot, here, incomplete)
        return
    typed = incomplete[: len(incomplete) - len(fragment)]
    for address, title in _list_places(snapshot, path, fragment):
        if address.startswith(fragment):
            yield _item(typed + address, help=title or None)


def _item(value: str, *, type: str = "plain", help: str | None = None) -> CompletionItem[str]:
    # Every command imports this module, and few are asked for completions.
    from click.shell_completion import CompletionItem

    return CompletionItem(value, type, help)


def _folder(context: click.Context) -> Path:
    from docyard.open_workspace import find_folder

    return find_folder(context.params.get("repo"))


def _workspace(context: click.Context) -> Workspace:
    from docyard.open_workspace import open_workspace

    return open_workspace(context.params.get("repo"), context.params.get("branch"))


def _list_paths(
    workspace: Workspace, snapshot: Snapshot, here: Path, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield matching paths in the typed folder: relative to the current folder, else to the root."""
    from docyard.cli.addresses import to_repository_path

    typed = incomplete[: incomplete.rfind("/") + 1]
    begun, root, found = incomplete[len(typed) :], workspace.git.worktree, 0
    folders = []
    if root is not None:
        folders.append(to_repository_path(root.resolve(), (here, here.resolve()), here / (typed or ".")))
    folders.append(typed.rstrip("/"))
    for folder in dict.fromkeys(folder for folder in folders if folder is not None):
        for name in _list_names(snapshot, "" if folder == "." else folder, begun):
            found += 1
            yield _item(typed + name, type=PARTIAL)
        if found:
            return


def _list_names(snapshot: Snapshot, folder: str, begun: str) -> Iterator[str]:
    """Yield matching folders and documents of a folder; other files if no document matches."""
    entry = snapshot.entry(folder) if folder else None
    tree = snapshot.tree if not folder else entry.id if entry is not None and entry.is_tree else None
    if tree is None:
        return
    within = f"{folder}/" if folder else ""
    fit = [item for item in snapshot.git.tree(tree) if item.name.startswith(begun)]
    readable = [item for item in fit if item.is_blob and snapshot.config.is_readable(within + item.name)]
    documents = [item for item in readable if snapshot.config.is_document(within + item.name)]
    yield from (f"{item.name}/" for item in fit if item.is_tree and not item.name.startswith("."))
    yield from (item.name for item in documents or readable)


def _list_places(snapshot: Snapshot, path: str, fragment: str) -> Iterator[tuple[str, str]]:
    """Yield the addresses and titles of a text's sections, or of the tasks of the named section."""
    from workspace.document.addresses import format_task_address, resolve_section
    from workspace.texts.outline import read_outline
    from workspace.texts.text_file import read_text

    text = read_text(snapshot, path)
    section, bracket, _ = fragment.partition("[")
    if not bracket:
        yield from ((entry.address, entry.title) for entry in read_outline(text).entries)
    elif text.document is not None:
        found = resolve_section(text.document, section)
        yield from ((format_task_address(found, task), task.title) for task in text.document.tasks(found))
