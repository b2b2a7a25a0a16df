"""The documents that a merge may have made worse: those that it changes, and those that link to what went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.links.fragments import names_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from workspace.links.inbound import Inbound
    from workspace.merge.trees_package import Merge
    from workspace.proposals.review.state import State


def changed_documents(merge: Merge) -> list[str]:
    """The paths of the documents that a merge changes or adds, in order."""
    is_document = merge.ours.config.is_document
    files = ((path, merge.entry(path)) for path in merge.changes if is_document(path))
    return [path for path, found in files if isinstance(found, bytes) or (found and found.is_blob)]


def linking_documents(merge: Merge, before: State, after: State, inbound: Inbound) -> list[str]:
    """Other documents that may link to what is there no more: a file, a folder, a place in a document."""
    vanished = list(_vanished(merge, before, after))
    if not vanished:
        return []
    found = inbound.linking_to(merge.ours, vanished)
    return [path for path in found if path not in merge.changes]


def _vanished(merge: Merge, before: State, after: State) -> Iterator[str]:
    folders: set[str] = set()
    for path in merge.changes:
        if not after.world.exists(path) or after.world.is_folder(path):
            yield path
            folders.update(_above(path))
            continue
        old, new = before.document(path), after.document(path)
        if old is not None and (new is None or _lacks_names(before, path, after)):
            yield path
    yield from sorted(folder for folder in folders if not after.world.exists(folder))


def _lacks_names(before: State, path: str, after: State) -> bool:
    """Whether a name by which links reach a place of a document is gone."""
    old, new = before.document(path), after.document(path)
    if old is None or new is None:
        return old is not None
    dialect = before.config.links.dialect
    if names_of(old, dialect).keys() - names_of(new, dialect).keys():
        return True
    # A wiki link may name a heading by its words.
    return before.config.links.wiki and bool(
        {one.title for one in old.sections} - {one.title for one in new.sections}
    )


def _above(path: str) -> Collection[str]:
    names = path.split("/")[:-1]
    return ["/".join(names[:depth]) for depth in range(1, len(names) + 1)]
