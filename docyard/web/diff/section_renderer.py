"""Both versions of changed sections as rendered text, in which blocks and words that differ are marked.

Sections beyond the limits of a page, front matter, and changes that readers do not see, such as those of a
comment in the source, are shown as source instead.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docyard.web.diff.html_comparison import compare_html
from workspace.diff.changes import TASK_KINDS, ChangeKind
from workspace.diff.sections import Evidence, SectionMatch
from workspace.errors import WorkspaceError
from workspace.rendering.links import RenderOptions
from workspace.rendering.renderer import render_section

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from docyard.web.diff.html_comparison import RenderedVersions
    from docyard.web.page_request import PageRequest
    from workspace.diff.changes import DocumentChange, PartVersion, SectionChange
    from workspace.document.sections import Section
    from workspace.snapshot.snapshot import Snapshot

MAX_RENDERED_SECTIONS = 20
"""The maximum number of sections on one page of rendered changes."""

MAX_PAGE_BYTES = 200_000
"""The maximum size of all rendered versions of one page; further sections are shown as source."""

# In sanitized HTML. A version is below the heading of its section on the page, which is an h3.
_HEADING_TAG = re.compile(r"<(/?)h[1-6](?=[ >])")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class SectionRenderer:
    """Renders the changed sections of one page, within its limits.

    A section with a version of more than `max_section_bytes` is shown as source. So are documents at
    `source_paths`, because `old` does not have the text that was compared.
    """

    def __init__(
        self,
        request: PageRequest,
        old: Snapshot,
        new: Snapshot,
        *,
        max_section_bytes: int,
        source_paths: frozenset[str] = frozenset(),
    ) -> None:
        site = request.site
        self._source_paths, self._max_section_bytes = source_paths, max_section_bytes
        self._request, self._old, self._new = request, old, new
        self._options = RenderOptions(math=site.math, mermaid=site.mermaid is not None)
        self._remaining_bytes = MAX_PAGE_BYTES
        self._matches: dict[tuple[str, str], SectionMatch] = {}

    def render(self, document: DocumentChange, changes: Sequence[SectionChange]) -> RenderedVersions | None:
        """Return both versions of the section of these changes; None if its source is shown instead."""
        if document.path in self._source_paths:
            return None
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
        versions = compare_html(old_html, new_html, self._old.commit or "", self._new.commit or "")
        is_hidden = versions.is_equal and any(change.kind is not ChangeKind.MOVED for change in changes)
        return None if is_hidden or _has_changed_comments(changes) else versions

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
        if size > min(self._max_section_bytes, self._remaining_bytes):
            return None
        self._remaining_bytes -= size
        urls = self._request.urls.at(snapshot.commit)
        html = render_section(snapshot, section, path, urls=urls, options=self._options)
        return _HEADING_TAG.sub(r"<\1h4", self._request.add_code_colours(html).html)


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


def _has_changed_comments(changes: Iterable[SectionChange]) -> bool:
    """Return True if comments in the source differ, which no reader sees."""
    return any(
        change.before is not None
        and change.after is not None
        and _COMMENT.findall(change.before.text) != _COMMENT.findall(change.after.text)
        for change in changes
    )
