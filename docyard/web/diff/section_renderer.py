"""Both versions of changed sections as rendered text, in which blocks that differ are marked.

The blocks of a section are its paragraphs, lists, tables and so on. Sections beyond the limits of a page, and
front matter, are shown as source instead.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from docyard.web.templates import mark_trusted
from workspace.diff.changes import TASK_KINDS, ChangeKind
from workspace.diff.sections import Evidence, SectionMatch
from workspace.errors import WorkspaceError
from workspace.rendering.links import RenderOptions
from workspace.rendering.renderer import render_section

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

    from docyard.web.page_request import PageRequest
    from workspace.diff.changes import DocumentChange, PartVersion, SectionChange
    from workspace.document.sections import Section
    from workspace.snapshot.snapshot import Snapshot

MAX_RENDERED_SECTIONS = 20
"""The maximum number of sections on one page of rendered changes."""

MAX_SECTION_BYTES = 40_000
"""The maximum size of a version of a section that is rendered; a larger one is shown as source."""

MAX_PAGE_BYTES = 200_000
"""The maximum size of all rendered versions of one page; further sections are shown as source."""

_MAX_COMPARED_BLOCKS = 400

# HTML of the sanitizer: attributes are in double quotes, and all other tags are closed.
_TAG = re.compile(r'<(/?)([a-z][a-z0-9]*)(?: [a-zA-Z:-]+="[^"]*")*>')
_VOID_ELEMENTS = frozenset({"br", "col", "hr", "img", "input", "wbr"})


class RenderedVersions(NamedTuple):
    """Both versions of a section as HTML; None for a version that has no such section.

    `is_equal` is True if they do not differ, as after a move; `new` is then enough.
    """

    old: Markup | None
    new: Markup | None
    is_equal: bool = False


class SectionRenderer:
    """Renders the changed sections of one page, within its limits."""

    def __init__(self, request: PageRequest, old: Snapshot, new: Snapshot) -> None:
        site = request.site
        self._request, self._old, self._new = request, old, new
        self._options = RenderOptions(math=site.math, mermaid=site.mermaid is not None)
        self._remaining_bytes = MAX_PAGE_BYTES
        self._matches: dict[tuple[str, str], SectionMatch] = {}

    def render(self, document: DocumentChange, changes: Sequence[SectionChange]) -> RenderedVersions | None:
        """Return both versions of the section of these changes; None if its source is shown instead."""
        if any(change.kind is ChangeKind.METADATA for change in changes):
            return None
        try:
            old, new = self._find_versions(document, changes)
            old_html = None if old is None else self._render_version(self._old, *old)
            new_html = None if new is None else self._render_version(self._new, *new)
        except WorkspaceError:  # a version that is too large or cannot be read
            return None
        if (old is not None and old_html is None) or (new is not None and new_html is None):
            return None
        if old_html is None and new_html is None:
            return None
        return compare_html(old_html, new_html, self._old.commit or "", self._new.commit or "")

    def _find_versions(
        self, document: DocumentChange, changes: Sequence[SectionChange]
    ) -> tuple[tuple[str, Section] | None, tuple[str, Section] | None]:
        """Return the path and the section of both versions."""
        kinds = {change.kind for change in changes}
        old = _find_section(self._old, ((change.kind, change.before) for change in changes))
        new = _find_section(self._new, ((change.kind, change.after) for change in changes))
        if old is None and new is not None and kinds != {ChangeKind.ADDED}:
            match = self._match(document.old_path or document.path, new[0])
            origin = match.find_origin(new[1])
            old = (match.old.path, origin) if origin is not None else None
        elif new is None and old is not None and kinds != {ChangeKind.REMOVED}:
            match = self._match(old[0], document.path)
            successor = match.find_successor(old[1])
            new = (match.new.path, successor) if successor is not None else None
        return old, new

    def _match(self, old_path: str, new_path: str) -> SectionMatch:
        key = old_path, new_path
        if key not in self._matches:
            self._matches[key] = SectionMatch(
                self._old.document(old_path), self._new.document(new_path), Evidence.SIMILARITY
            )
        return self._matches[key]

    def _render_version(self, snapshot: Snapshot, path: str, section: Section) -> str | None:
        """Return a section as HTML; None if it exceeds a limit."""
        size = section.end - section.start
        if size > min(MAX_SECTION_BYTES, self._remaining_bytes):
            return None
        self._remaining_bytes -= size
        urls = self._request.urls.at(snapshot.commit)
        html = render_section(snapshot, section, path, urls=urls, options=self._options)
        return self._request.add_code_colours(html).html


def _find_section(
    snapshot: Snapshot, versions: Iterable[tuple[ChangeKind, PartVersion | None]]
) -> tuple[str, Section] | None:
    """Return the path and the section of the first version that is not missing."""
    for kind, version in versions:
        if version is None:
            continue
        key = version.address.rpartition("[")[0] if kind in TASK_KINDS else version.address
        section = snapshot.document(version.path).section_by_key(key)
        if section is not None:
            return version.path, section
    return None


def compare_html(
    old_html: str | None, new_html: str | None, old_commit: str = "", new_commit: str = ""
) -> RenderedVersions:
    """Return two versions, in which the blocks that differ are marked; one of them may be missing.

    The commits are in the addresses of links, and are no difference.
    """
    if old_html is None or new_html is None:
        return RenderedVersions(
            None if old_html is None else mark_trusted(old_html),
            None if new_html is None else mark_trusted(new_html),
        )
    old_blocks, new_blocks = split_blocks(old_html), split_blocks(new_html)
    old_keys = [block.replace(f"?ref={old_commit}", "") for block in old_blocks]
    new_keys = [block.replace(f"?ref={new_commit}", "") for block in new_blocks]
    if old_keys == new_keys:
        return RenderedVersions(mark_trusted(old_html), mark_trusted(new_html), is_equal=True)
    if max(len(old_blocks), len(new_blocks)) > _MAX_COMPARED_BLOCKS:
        return RenderedVersions(mark_trusted(old_html), mark_trusted(new_html))
    old_parts: list[str] = []
    new_parts: list[str] = []
    matcher = SequenceMatcher(None, old_keys, new_keys, autojunk=False)
    for operation, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        old_text, new_text = "".join(old_blocks[old_start:old_end]), "".join(new_blocks[new_start:new_end])
        if operation != "equal":
            old_text = _mark_blocks(old_text, "removed", "Changed, before")
            new_text = _mark_blocks(new_text, "added", "Changed, after")
        old_parts.append(old_text)
        new_parts.append(new_text)
    return RenderedVersions(mark_trusted("".join(old_parts)), mark_trusted("".join(new_parts)))


def _mark_blocks(html: str, css_class: str, label: str) -> str:
    """Return the HTML of blocks in an element with a label for screen readers; "" without blocks."""
    if not html:
        return ""
    return f'<div class="blocks-{css_class}" role="group" aria-label="{label}">{html}</div>'


def split_blocks(html: str) -> list[str]:
    """Return the elements at the top of sanitized HTML, each with the text up to the next one."""
    starts: list[int] = []
    depth = 0
    for tag in _TAG.finditer(html):
        if tag[1]:
            depth -= 1
            continue
        if depth == 0:
            starts.append(tag.start())
        depth += tag[2] not in _VOID_ELEMENTS
    if not starts:
        return [html] if html else []
    starts[0] = 0
    return [html[start:end] for start, end in zip(starts, [*starts[1:], len(html)], strict=True)]
