"""The changes of a proposal, a page at a time, as Markdown and as equivalent data; and its commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools.history.descriptions import commit_data
from tools.pages import cut_text
from tools.tool import call
from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import Context, Data
    from workspace.diff.changes import DocumentChange
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import CommitChanges, ProposedCommit

MAX_PAGE_CHARACTERS = 40_000
"""Characters of Markdown, and of data as JSON, on a page of several documents."""

_MOST = 1_000_000  # characters of one document's changes that can be paged through, behind an offset
_FILES = 100


class NotChanged(WorkspaceError):
    """The proposal does not change this document or section. `candidates` are the nearest that it changes."""

    code = "NOT_CHANGED"


class ChangesPage(NamedTuple):
    """Changes as data and as Markdown, and where more begins: a document's number, or a character of one."""

    data: Data
    markdown: str
    next: int | None


def render_changes(
    context: Context, changes: CommitChanges, proposal: str, first: int, room: int = MAX_PAGE_CHARACTERS
) -> ChangesPage:
    """Return the documents from one on that fit; the first is cut if it does not fit alone."""
    from workspace.diff.changes import DocumentKind
    from workspace.diff.formats import format_data, format_markdown

    documents = changes.documents
    told: list[Data] = []
    texts: list[str] = []
    markdown_left = data_left = room
    at = first
    while at < len(documents):
        one = documents[at]
        text = format_markdown([one], room)
        data = format_data([one], room)
        is_cut = _is_cut(data) or len(text) > room - 100
        size = len(text), len(str(data))
        if told and (is_cut or size[0] > markdown_left or size[1] > data_left):
            break
        entry = _entry(one, data)
        if is_cut:
            entry |= {"truncated": True, "rest": str(call("view_proposal", proposal=proposal, file=one.path))}
            text += f"\nMore of it: {entry['rest']}\n"
        elif one.kind is DocumentKind.ADDED:
            versions = _versions(context, changes, one, None)
            entry |= versions
            text += _describe_versions(versions)
        told.append(entry)
        texts.append(text)
        markdown_left -= size[0]
        data_left -= size[1]
        at += 1
        if is_cut or min(markdown_left, data_left) <= 0:
            break
    files = list(changes.files) if at >= len(documents) else []
    return ChangesPage(
        {"documents": told, **_files(files)}, "\n".join(texts), at if at < len(documents) else None
    )


def render_change(
    context: Context,
    changes: CommitChanges,
    file: str,
    slug: str | None,
    offset: int,
    room: int = MAX_PAGE_CHARACTERS,
) -> ChangesPage:
    """Return the changes of one document or section, and the calls that read both versions.

    Raises NotChanged.
    """
    from workspace.diff.formats import format_data, format_markdown

    one = next((one for one in changes.documents if file in (one.path, one.old_path)), None)
    if one is None:
        paths = sorted({path for one in changes.documents for path in (one.path, one.old_path) if path})
        raise _not_changed(f"'{file[:200]}'", find_nearest(file, paths) or paths[:5], "file")
    if slug is not None:
        one = _narrow_to_section(one, slug)
    versions = _versions(context, changes, one, slug)
    text, rest = cut_text(format_markdown([one], offset + _MOST) + _describe_versions(versions), offset, room)
    data = format_data([one], room)
    return ChangesPage({"documents": [{**_entry(one, data), **versions}], "more": data["more"]}, text, rest)


def _narrow_to_section(one: DocumentChange, slug: str) -> DocumentChange:
    """Return what happened in a section and below it."""
    from workspace.proposals.review.changes import select_section

    found = select_section(one, slug)
    if found is None:
        addresses = list(dict.fromkeys(change.section for change in one.sections))
        close = find_nearest(slug, addresses) or addresses[:5]
        raise _not_changed(f"'{slug[:200]}' of '{one.path[:200]}'", close, "slug")
    return found


def _not_changed(what: str, candidates: Sequence[str], field: str) -> NotChanged:
    fix = f"Name what it changes, such as '{candidates[0]}'." if candidates else "It changes no document."
    return NotChanged(
        f"{what} is not changed by this proposal", fix=fix, candidates=list(candidates), field=field
    )


def _is_cut(data: Data) -> bool:
    if data["more"]:
        return True
    documents = data["documents"]
    assert isinstance(documents, list)
    return any(change.get("is_cut") for told in documents for change in told["changes"])


def _entry(one: DocumentChange, data: Data) -> Data:
    documents = data["documents"]
    return dict(documents[0]) if isinstance(documents, list) and documents else {"path": one.path}


def _versions(
    context: Context, changes: CommitChanges, one: DocumentChange, slug: str | None
) -> dict[str, str]:
    """Return the calls that read a document or section before and after its change."""
    from workspace.diff.changes import DocumentKind

    tool = next((name for name in ("view_document", "get_doc") if context.offers(name)), None)
    found: dict[str, str] = {}
    if tool is None:
        return found
    for name, path, ref in (("before", one.old_path, changes.base), ("after", one.path, changes.tip)):
        is_there = one.kind is not (DocumentKind.ADDED if name == "before" else DocumentKind.REMOVED)
        if path is not None and ref is not None and is_there:
            place: Data = {"file": path, **({"slug": slug} if slug else {})}
            if tool == "get_doc":
                place = {"chunk_id": f"{path}#{slug}" if slug else path}
            found[f"read_{name}"] = str(call(tool, **place, ref=ref))
    return found


def _describe_versions(versions: Mapping[str, str]) -> str:
    """Return the same calls as lines of the page."""
    lines = (f"- {name.removeprefix('read_')}: {step}" for name, step in versions.items())
    return "\nTo read it whole:\n\n" + "\n".join(lines) + "\n" if versions else ""


def _files(files: Sequence[str]) -> Data:
    if not files:
        return {}
    from tools.write_target import list_names

    return {"files": list_names(files, _FILES)}


_MAX_COMMITS = 30


def commits_data(context: Context, proposal: Proposal) -> Data:
    """Return the commits of a proposal, newest first; `more_commits` reports that older ones are left out."""
    found = context.workspace.reviewing().commits(proposal)
    more = {"more_commits": True} if len(found) > _MAX_COMMITS else {}
    return {"commits": [_commit(one) for one in found[:_MAX_COMMITS]], **more}


def _commit(one: ProposedCommit) -> Data:
    refresh = {"refresh": True} if one.is_refresh else {}
    return {"commit": one.told.commit, **commit_data(one.told), **refresh}
