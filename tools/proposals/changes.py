"""The changes of a proposal, page by page, as Markdown and as equivalent data; and its commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools.history.descriptions import describe_commit
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
"""The limit of a page of several documents, both of its Markdown and of its data as JSON."""

_MAX_DOCUMENT_CHARACTERS = 1_000_000  # of one document's changes after an offset
_MAX_FILES = 100


class NotChanged(WorkspaceError):
    """The proposal does not change the requested document or section. `candidates` are changed names."""

    code = "NOT_CHANGED"


class ChangesPage(NamedTuple):
    """Changes as data and as Markdown.

    `next_position` is the index of the next document, or the next character of a document's changes.
    """

    data: Data
    markdown: str
    next_position: int | None


def render_changes(
    context: Context,
    changes: CommitChanges,
    proposal: str,
    first_index: int,
    max_characters: int = MAX_PAGE_CHARACTERS,
) -> ChangesPage:
    """Return the changed documents from an index, up to the limit; a long first document is cut."""
    from workspace.diff.changes import DocumentChangeKind
    from workspace.diff.formats import format_data, format_markdown

    documents = changes.documents
    entries: list[Data] = []
    texts: list[str] = []
    remaining_markdown = remaining_data = max_characters
    position = first_index
    while position < len(documents):
        change = documents[position]
        text = format_markdown([change], max_characters)
        data = format_data([change], max_characters)
        is_cut = _is_truncated(data) or len(text) > max_characters - 100
        text_sizes = len(text), len(str(data))
        if entries and (is_cut or text_sizes[0] > remaining_markdown or text_sizes[1] > remaining_data):
            break
        entry = _build_entry(change, data)
        if is_cut:
            entry |= {
                "truncated": True,
                "rest": str(call("view_proposal", proposal=proposal, file=change.path)),
            }
            text += f"\nThe rest: {entry['rest']}\n"
        elif change.kind is DocumentChangeKind.ADDED:
            version_calls = _list_version_calls(context, changes, change, None)
            entry |= version_calls
            text += _describe_versions(version_calls)
        entries.append(entry)
        texts.append(text)
        remaining_markdown -= text_sizes[0]
        remaining_data -= text_sizes[1]
        position += 1
        if is_cut or min(remaining_markdown, remaining_data) <= 0:
            break
    files = list(changes.files) if position >= len(documents) else []
    return ChangesPage(
        {"documents": entries, **_build_files_field(files)},
        "\n".join(texts),
        position if position < len(documents) else None,
    )


def render_change(
    context: Context,
    changes: CommitChanges,
    file: str,
    slug: str | None,
    offset: int,
    max_characters: int = MAX_PAGE_CHARACTERS,
) -> ChangesPage:
    """Return the changes of one document or section, with the calls that read both versions.

    Raises NotChanged.
    """
    from workspace.diff.formats import format_data, format_markdown

    change = next((change for change in changes.documents if file in (change.path, change.old_path)), None)
    if change is None:
        paths = sorted(
            {path for change in changes.documents for path in (change.path, change.old_path) if path}
        )
        raise _build_not_changed_error(f"'{file[:200]}'", find_nearest(file, paths) or paths[:5], "file")
    if slug is not None:
        change = _narrow_to_section(change, slug)
    version_calls = _list_version_calls(context, changes, change, slug)
    text, next_offset = cut_text(
        format_markdown([change], offset + _MAX_DOCUMENT_CHARACTERS) + _describe_versions(version_calls),
        offset,
        max_characters,
    )
    data = format_data([change], max_characters)
    return ChangesPage(
        {"documents": [{**_build_entry(change, data), **version_calls}], "more": data["more"]},
        text,
        next_offset,
    )


def _narrow_to_section(change: DocumentChange, slug: str) -> DocumentChange:
    """Return the changes of a section and its subsections. Raises NotChanged."""
    from workspace.proposals.review.changes import select_section

    section_change = select_section(change, slug)
    if section_change is None:
        addresses = list(dict.fromkeys(change.section_address for change in change.section_changes))
        nearest = find_nearest(slug, addresses) or addresses[:5]
        raise _build_not_changed_error(f"'{slug[:200]}' of '{change.path[:200]}'", nearest, "slug")
    return section_change


def _build_not_changed_error(subject: str, candidates: Sequence[str], field: str) -> NotChanged:
    fix = (
        f"Name a changed {field}, such as '{candidates[0]}'."
        if candidates
        else f"View the proposal without '{field}'."
    )
    return NotChanged(
        f"{subject} is not changed by this proposal", fix=fix, candidates=list(candidates), field=field
    )


def _is_truncated(data: Data) -> bool:
    if data["more"]:
        return True
    documents = data["documents"]
    assert isinstance(documents, list)
    return any(change.get("is_cut") for document in documents for change in document["changes"])


def _build_entry(change: DocumentChange, data: Data) -> Data:
    documents = data["documents"]
    return dict(documents[0]) if isinstance(documents, list) and documents else {"path": change.path}


def _list_version_calls(
    context: Context, changes: CommitChanges, change: DocumentChange, slug: str | None
) -> dict[str, str]:
    """Return the calls that read a document or section before and after its change."""
    from workspace.diff.changes import DocumentChangeKind

    tool = next((name for name in ("view_document", "get_doc") if context.offers(name)), None)
    calls: dict[str, str] = {}
    if tool is None:
        return calls
    for name, path, ref in (("before", change.old_path, changes.base), ("after", change.path, changes.tip)):
        exists = change.kind is not (
            DocumentChangeKind.ADDED if name == "before" else DocumentChangeKind.REMOVED
        )
        if path is not None and ref is not None and exists:
            target: Data = {"file": path, **({"slug": slug} if slug else {})}
            if tool == "get_doc":
                target = {"chunk_id": f"{path}#{slug}" if slug else path}
            calls[f"read_{name}"] = str(call(tool, **target, ref=ref))
    return calls


def _describe_versions(version_calls: Mapping[str, str]) -> str:
    """Return the calls that read both versions as lines of the page."""
    lines = (f"- {name.removeprefix('read_')}: {step}" for name, step in version_calls.items())
    return "\nTo read the full text:\n\n" + "\n".join(lines) + "\n" if version_calls else ""


def _build_files_field(files: Sequence[str]) -> Data:
    if not files:
        return {}
    from tools.write_target import list_names

    return {"files": list_names(files, _MAX_FILES)}


_MAX_COMMITS = 30


def describe_commits(context: Context, proposal: Proposal) -> Data:
    """Return the commits of a proposal, newest first; `more_commits` is set if older ones are omitted."""
    commits = context.workspace.proposal_reviews().commits(proposal)
    more_field = {"more_commits": True} if len(commits) > _MAX_COMMITS else {}
    return {"commits": [_describe_proposed_commit(commit) for commit in commits[:_MAX_COMMITS]], **more_field}


def _describe_proposed_commit(commit: ProposedCommit) -> Data:
    refresh_field = {"refresh": True} if commit.is_merge else {}
    return {"commit": commit.info.commit, **describe_commit(commit.info), **refresh_field}
