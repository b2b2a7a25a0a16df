"""Calls that a next step names, of offered tools only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.tool import call
from workspace.document.addresses import read_fragment

if TYPE_CHECKING:
    from tools.tool import Call, Context


def suggest_view_call(context: Context, file: str, slug: str | None = None) -> Call | None:
    """Return a call that shows a document, section or task; None if the client has no such tool."""
    if context.offers("view_document"):
        return call("view_document", file=file, **({"slug": slug} if slug else {}))
    section = read_fragment(slug).section if slug else None
    if context.offers("read_section") and section:
        return call("read_section", file_path=file, section_heading=section)
    if context.offers("smart_read"):
        return call("smart_read", file_path=file)
    if context.offers("get_doc"):
        return call("get_doc", chunk_id=f"{file}#{section}" if section else file)
    if context.offers("view_history"):
        return call("view_history", file=file, **({"slug": section} if section else {}))
    return None


def suggest_list_call(context: Context, **filters: Any) -> Call | None:
    """Return a call that lists documents, else one that searches; None if the client has no such tool."""
    if context.offers("list_documents"):
        return call("list_documents", **filters)
    return call("search_docs", query="…") if context.offers("search_docs") else None
