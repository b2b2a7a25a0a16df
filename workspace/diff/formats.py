"""Changes as data: plain lists and mappings that JSON can hold, under names that stay."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from workspace.diff.changes import Kind
from workspace.diff.text import edits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.diff.changes import DocumentChange, Place, SectionChange

Data = dict[str, object]


def as_data(changes: Iterable[DocumentChange], most: int = 100_000) -> Data:
    """`{"documents": [...], "more": n}`, of at most `most` characters as JSON.

    A document has `kind`, `path`, `title`, `changes`, and where it applies `old_path` and `unread` (the code
    of an error). A change has `kind`, `address`, `title`, `line`, where it applies `field`, `old_address`,
    `old_title`, `old_path` and `path` (moved from or to another document), `below` and `old_below` (moved),
    and the texts `before` and `after`. `words` are edits, in order: the characters [`start`, `end`) of
    `before`, which are `old`, became `new`; applied from the last to the first they give `after`. A text too
    long for what is left is given as `is_cut: true` alone. `more` counts the changes that are left out.
    """
    documents: list[Data] = []
    left, more = most, 0
    for document in changes:
        head = _document(document)
        left -= _size(head)
        if left < 0:
            more += len(document.sections) or 1
            continue
        documents.append(head)
        told: list[Data] = []
        head["changes"] = told
        for change in document.sections:
            data = _change(change, document.path) if left > 0 else {}
            if data and _size(data) > left:
                data = {name: value for name, value in data.items() if name not in _TEXTS} | {"is_cut": True}
            left -= _size(data) if data else 1
            if left < 0:
                more += 1
            else:
                told.append(data)
    return {"documents": documents, "more": more}


_TEXTS = frozenset({"before", "after", "words"})


def _document(document: DocumentChange) -> Data:
    data: Data = {"kind": document.kind.value, "path": document.path, "title": document.title}
    if document.old_path not in (None, document.path):
        data["old_path"] = document.old_path
    if document.unread:
        data["unread"] = document.unread
    data["changes"] = []
    return data


def _change(change: SectionChange, path: str) -> Data:
    before, after, place = change.before, change.after, change.place
    data: Data = {
        "kind": change.kind.value,
        "address": place.address,
        "title": place.title,
        "line": place.line,
    }
    if change.field:
        data["field"] = change.field
    if before and after:
        data |= _turned(before, after, change.kind, path)
    if change.kind not in (Kind.MOVED, Kind.TASK_MOVED, Kind.TASK_COMPLETED, Kind.TASK_REOPENED):
        data |= _texts(before, after)
    return data


def _turned(before: Place, after: Place, kind: Kind, path: str) -> Data:
    data: Data = {}
    if before.address != after.address:
        data["old_address"] = before.address
    if before.title != after.title:
        data["old_title"] = before.title
    if kind is Kind.MOVED and before.path != after.path:
        data |= {"path": after.path} if path == before.path else {"old_path": before.path}
    if kind in (Kind.MOVED, Kind.TASK_MOVED):
        data |= {"below": list(after.below), "old_below": list(before.below)}
    return data


def _texts(before: Place | None, after: Place | None) -> Data:
    data: Data = {}
    if before:
        data["before"] = before.text
    if after:
        data["after"] = after.text
    if before and after:
        data["words"] = [
            {
                "start": edit.start,
                "end": edit.end,
                "old": before.text[edit.start : edit.end],
                "new": after.text[edit.new_start : edit.new_end],
            }
            for edit in edits(before.text, after.text)
        ]
    return data


def _size(data: Data) -> int:
    return len(json.dumps(data, ensure_ascii=False))
