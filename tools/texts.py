"""Texts of documents in an error: bounded in all, and remembered where they were shown in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.pages import fitting
from workspace.diff.section_mapping import Conflict
from workspace.writing.read_before_write import ReadFirst
from workspace.writing.sight import SectionText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.errors import WorkspaceError
    from workspace.writing.sight import Sight

# What a caller needs most is shown first, where not all of it has room.
_ORDER = ("current", "theirs", "base", "ours")
_UNSHOWN = frozenset(("is_remembered", *_ORDER))


class Texts:
    """The tokens that one answer has left for texts, and the memory of the client that reads them."""

    def __init__(self, sight: Sight | None, tokens: int) -> None:
        self._sight = sight
        self._left = tokens

    def of(self, error: WorkspaceError) -> dict[str, Any]:
        """The texts that an error carries, as the sources of its sections one after another.

        `truncated` says that something was cut. A section that `current` shows in full has been seen.
        """
        shown: dict[str, Any] = {}
        is_cut = False
        for name in _ORDER:
            parts = error.details.get(name)
            if isinstance(parts, tuple):
                text, is_whole = self._show(parts, remember=name == "current")
                shown[name] = text
                is_cut = is_cut or not is_whole
        return {**shown, "truncated": True} if is_cut else shown

    def _show(self, parts: Iterable[SectionText], *, remember: bool) -> tuple[str, bool]:
        from workspace.texts.tokens import count_tokens

        sources: list[str] = []
        for part in parts:
            size = fitting(part.source, 0, self._left) if self._left and part.source else 0
            if size < len(part.source):
                sources.append(part.source[:size] + "…")
                self._left = 0
                return "".join(sources), False
            self._left = max(self._left - count_tokens(part.source), 0)
            sources.append(part.source)
            if remember and self._sight is not None:
                self._sight.add((part.digest,))
        return "".join(sources), True


def details_of(error: WorkspaceError) -> dict[str, object]:
    """What an error carries beside texts."""
    return {name: value for name, value in error.details.items() if name not in _UNSHOWN}


def fix_of(error: WorkspaceError, *, is_cut: bool) -> str:
    """The cure of an error; another one where the text that is to be read has been cut."""
    if is_cut and isinstance(error, ReadFirst):
        return (
            "'current' is cut. To do that nevertheless, send the same call with "
            "base_commit set to 'commit' to overwrite them unread."
        )
    return error.fix


def needs_commit(error: WorkspaceError, *, is_cut: bool) -> bool:
    """Whether the call that works is the same one with the commit of this answer as its base."""
    match error:
        case Conflict():
            return "theirs" in error.details
        case ReadFirst():
            return is_cut or not error.details.get("is_remembered")
        case _:
            return False
