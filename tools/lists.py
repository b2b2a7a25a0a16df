"""How a caller has the list from which to choose after a wrong name: with which of its tools."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any

from workspace.errors import Listed

if TYPE_CHECKING:
    from workspace.errors import Among

_WORDS = {
    Listed.DOCUMENTS: "See the documents with",
    Listed.SECTIONS: "See its sections with",
    Listed.TASKS: "See its tasks with",
    Listed.COMMITS: "See its history with",
    Listed.MISSING: "Create it with",
}


def with_list(fix: str, among: Among | None, offered: Container[str], ref: str | None = None) -> str:
    """What to do next, and the call of an offered tool that lists what a name is among, at a ref."""
    from tools.errors import call, pinned

    if among is None:
        return fix
    for tool, arguments in _calls(among):
        if tool in offered:
            return f"{fix} {_WORDS[among.listed]} {call(tool, **arguments, **pinned(ref))}."
    return fix


def _calls(among: Among) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls that show the list, best first."""
    match among.listed:
        case Listed.DOCUMENTS:
            yield "list_documents", {}
        case Listed.SECTIONS:
            yield "list_sections", {"file_path": among.path}
            yield "view_document", {"file": among.path}
        case Listed.TASKS:
            yield "view_document", {"file": among.path, "slug": among.slug}
            yield "read_section", {"file_path": among.path, "section_heading": among.slug}
        case Listed.COMMITS:
            slug = {"slug": among.slug} if among.slug else {}
            yield "view_history", {"file": among.path, **slug}
        case Listed.MISSING:
            yield "create_document", _creation(among.path)


def _creation(path: str) -> dict[str, Any]:
    """Return the fields by which create_document makes a document at a path."""
    from workspace.document.slugs import file_slug

    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    words = stem.replace("-", " ").replace("_", " ").strip()
    title = words[:1].upper() + words[1:]
    fields = {"doc_type": "document", "title": title if file_slug(title) == stem else stem}
    return {**fields, "folder": folder} if folder else fields
