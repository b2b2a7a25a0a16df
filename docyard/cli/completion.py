"""What a shell may complete a word of the command line to: addresses, refs, proposals, types, toolsets.

A shell waits for this at every press of a key, so nothing is parsed but the one document whose sections are
asked for, folders are listed one at a time, and nothing is imported before it is needed. Where something is
wrong nothing is proposed: the command itself says what it is.
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

MOST = 300
"""Candidates that a shell is given."""

PART = "part"
"""The kind of a candidate after which more may follow, so that the shell adds no space."""

P = ParamSpec("P")
Items = list["CompletionItem[str]"]


def _bounded(find: Callable[P, Iterable[CompletionItem[str]]]) -> Callable[P, Items]:
    """Return a function's first candidates that a shell can take; none of them where something is wrong."""

    @wraps(find)
    def candidates(*arguments: P.args, **keywords: P.kwargs) -> Items:
        from workspace.errors import WorkspaceError

        try:
            fit = (item for item in find(*arguments, **keywords) if item.value.isprintable())
            return list(islice(fit, MOST))
        except (WorkspaceError, OSError):
            return []

    return candidates


@_bounded
def addresses(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Paths, a folder at a time; behind a `#` the addresses of sections, and in brackets those of tasks."""
    workspace = _workspace(context)
    return _addresses(workspace, workspace.at(context.params.get("ref")), _folder(context), incomplete)


@_bounded
def proposed_addresses(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield the same, of the proposal that was named before."""
    workspace = _workspace(context)
    one = workspace.proposing().one(context.params["proposal"])
    return _addresses(workspace, workspace.snapshot(one.tip), _folder(context), incomplete)


@_bounded
def proposals(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield ids of proposals, the newest first, those that are merged or closed behind the others."""
    ended = ("merged", "closed")
    found = sorted(_workspace(context).proposing().all(), key=lambda one: one.state.value in ended)
    return (_item(one.id, help=one.words.title) for one in found if one.id.startswith(incomplete))


@_bounded
def refs(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """HEAD, branches, tags and remote branches."""
    from workspace.git.reader import GitReader
    from workspace.revisions import list_ref_names

    names = list_ref_names(GitReader(_folder(context)))
    return (_item(name) for name in names if name.startswith(incomplete))


@_bounded
def branches(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Branches."""
    from workspace.git.reader import GitReader

    names = GitReader(_folder(context)).branches()
    return (_item(name) for name in names if name.startswith(incomplete))


@_bounded
def types(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Yield the types of documents, the workspace's own among them."""
    from workspace.snapshot.document_types import read_types

    names = read_types(_workspace(context).snapshot())
    return (_item(name) for name in names if name.startswith(incomplete))


@_bounded
def toolsets(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """Toolsets, of which several stand behind one another with commas."""
    from tools.toolsets import TOOLSETS

    before, comma, begun = incomplete.rpartition(",")
    given = before.split(",")
    names = (name for name in TOOLSETS if name.startswith(begun) and name not in given)
    return (_item(f"{before}{comma}{name}", type=PART) for name in names)


def _addresses(
    workspace: Workspace, snapshot: Snapshot, here: Path, incomplete: str
) -> Iterator[CompletionItem[str]]:
    from docyard.cli.addresses import from_root
    from workspace.document.addresses import split_address
    from workspace.texts.text_file import LazyFilePaths

    if "#" not in incomplete:
        yield from _paths(workspace, snapshot, here, incomplete)
        return
    place = from_root(incomplete, workspace, snapshot, here)
    path, fragment = split_address(place, LazyFilePaths(snapshot))
    if fragment is None:
        yield from _paths(workspace, snapshot, here, incomplete)
        return
    typed = incomplete[: len(incomplete) - len(fragment)]
    for address, title in _places(snapshot, path, fragment):
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


def _paths(
    workspace: Workspace, snapshot: Snapshot, here: Path, incomplete: str
) -> Iterator[CompletionItem[str]]:
    """What begins so in the folder that is typed: counted from the current folder, else from the root."""
    from docyard.cli.addresses import relative

    typed = incomplete[: incomplete.rfind("/") + 1]
    begun, root, found = incomplete[len(typed) :], workspace.git.worktree, 0
    folders = []
    if root is not None:
        folders.append(relative(root.resolve(), (here, here.resolve()), here / (typed or ".")))
    folders.append(typed.rstrip("/"))
    for folder in dict.fromkeys(folder for folder in folders if folder is not None):
        for name in _names(snapshot, "" if folder == "." else folder, begun):
            found += 1
            yield _item(typed + name, type=PART)
        if found:
            return


def _names(snapshot: Snapshot, folder: str, begun: str) -> Iterator[str]:
    """Yield the folders and documents of a folder that begin so; other files where no document does."""
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


def _places(snapshot: Snapshot, path: str, fragment: str) -> Iterator[tuple[str, str]]:
    """The addresses and titles of the sections of a text, or of the tasks of the section that is named."""
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
