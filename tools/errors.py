"""Error responses: the one translation of an error into an answer with a call that works.

After a wrong name, the fix names the call that lists the right ones. Texts of documents in an error are
bounded, and those shown in full are remembered as read.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tools.pages import count_fitting
from tools.tool import Data, call
from workspace.document.section_text import SectionText
from workspace.errors import ConcurrentChange, HintKind, WorkspaceError
from workspace.writing.read_before_write import ReadFirst

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools.tool import Tool
    from workspace.errors import SuggestionSource, WorkspaceError
    from workspace.history.moves import Moves
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.read_before_write import SeenTexts


_SHOWN = 500
_TEXT = (str, str | None)

# Joiners are parts of emoji and of words in several scripts.
_UNBOUNDED_DETAILS = frozenset("\n\t\u200c\u200d")
_LISTED = 50

# The fields that an error speaks of. An example takes the caller's own values for all others.
_FIELDS_OF: Mapping[str, tuple[str, ...]] = {
    "INVALID_TITLE": ("title", "new_title"),
    "INVALID_CONTENT": ("content", "initial_content", "title", "new_title", "criteria", "assignee", "note"),
    "LEVEL_CONFLICT": ("content", "initial_content", "parent_slug"),
    "STRUCTURE_CHANGED": ("content", "initial_content", "title", "criteria", "note"),
    "LIMIT_EXCEEDED": ("content", "initial_content"),
    "INVALID_PATH": ("file", "path", "folder"),
    "PATH_EXISTS": ("title",),
    "UNKNOWN_TYPE": ("doc_type",),
    "INVALID_TAG": ("tags", "remove", "replace"),
    "EMPTY_QUERY": ("query",),
    "QUERY_TOO_BROAD": ("query",),
    "INVALID_CHUNK_ID": ("chunk_id",),
    "REF_NOT_FOUND": ("ref",),
    "NOT_A_COMMIT": ("ref",),
    "BEFORE_HISTORY": ("ref",),
    "AMBIGUOUS_ID": ("ref",),
    "NO_PROPOSED_COMMIT": ("ref",),
}


def ref_argument(ref: str | None) -> dict[str, str]:
    """Return the `ref` argument that keeps a proposed call at the ref of this one; empty at the tip."""
    return {"ref": ref} if ref and ref.strip() else {}


def error_response(
    error: WorkspaceError,
    tool: Tool,
    given: Mapping[str, object],
    snapshot: Snapshot | None,
    texts: TextBudget | None = None,
    commit: str | None = None,
    moves: Callable[[], Moves] | None = None,
    *,
    offered: Container[str],
    at: str | None = None,
) -> Data:
    """Return an error with its code and fix, the tool's specification, and a call that would have worked.

    `texts` is the budget for texts of documents, `commit` the commit at which such a text is read. `moves`
    resolves old addresses to current ones. `offered` are the tools of the caller, `at` the proposal that the
    call writes to, if `given` does not name it.
    """
    from tools.moved import redirect_call
    from workspace.config.config import Limits
    from workspace.writing.read_before_write import ReadFirst

    data: Data = {"error": _truncate(escape_invisible(error.message)), "code": error.code}
    shown = (texts or TextBudget(None, Limits().text_tokens)).of(error)
    is_cut = "truncated" in shown
    # Of a tool that writes, `ref` is where something is to come from.
    ref = given.get("proposal" if tool.writes else "ref") or at
    read_at = ref if isinstance(ref, str) else None
    if fix := add_list_call(fix_of(error, is_cut=is_cut), error.among, offered, read_at):
        data["fix"] = _truncate(escape_invisible(fix))
    data.update({key: _truncate(value) for key, value in details_of(error).items()})
    data.update(shown)
    meant = _corrected_arguments(error, tool, given)
    now = redirect_call(error, given, snapshot, moves) if moves and snapshot else None
    if now is not None:
        data |= {
            "moved_to": now.there.moved_to,
            "fix": _truncate(escape_invisible(f"Use '{now.there.address}', where this is now.")),
        }
        meant = _corrected_arguments(error, tool, now.given)
    if not isinstance(error, ReadFirst):  # the call itself was right, and its text is what there is to read
        data["usage"] = dict(tool.usage(meant))
    data["example"] = tool.example(meant)
    if tool.correct and snapshot is not None:
        # An example is a courtesy: what stands in its way has an error of its own.
        with suppress(WorkspaceError):
            data["example"] = tool.correct(data["example"], error, snapshot)
    candidates, slugs = data.get("candidates"), data.get("slugs")
    if error.code == "CONFLICT" and candidates and data["example"].get("slug") in (slugs or ()):
        data["example"] = {**data["example"], "slug": candidates[0]}
    if commit is not None and needs_commit(error, is_cut=is_cut):
        data["example"] = {**data["example"], "base_commit": commit}
    proposal = given.get("proposal")
    if tool.writes and isinstance(proposal, str) and "proposal" not in data["example"]:
        data["example"] = {**data["example"], **_in_proposal(proposal, error)}
    if tool.writes and given.get("dry_run") in (True, "true"):
        # Whoever only wanted to look, and copies the example, must not find that it was done.
        data["example"] = {**data["example"], "dry_run": True}
    return data


def _in_proposal(proposal: str, error: WorkspaceError) -> Data:
    """Return an example that writes to the caller's proposal; if it cannot, the example writes nothing."""
    if error.code == "PROPOSAL_ENDED":
        return {"dry_run": True}
    found = error.details.get("candidates")
    if error.code != "PROPOSAL_NOT_FOUND" or not isinstance(found, list) or not found:
        return {"proposal": proposal}
    return {"proposal": found[0], "dry_run": True}


def escape_invisible(text: str) -> str:
    """Escape the invisible and bidirectional characters of a text, which file names may contain."""
    if text.isprintable():
        return text
    return "".join(_escape_character(character) for character in text)


def _escape_character(character: str) -> str:
    if character in _UNBOUNDED_DETAILS or unicodedata.category(character) not in (
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
    ):
        return character
    return f"\\u{ord(character):04x}"


def _corrected_arguments(
    error: WorkspaceError, tool: Tool, given: Mapping[str, object]
) -> Mapping[str, object]:
    """Return the caller's fields: a misspelt one under its right name, and invalid ones empty."""
    texts = {name for name, field in tool.arguments.model_fields.items() if field.annotation in _TEXT}
    meant = {
        name: "" if name in texts and not isinstance(value, str) else value for name, value in given.items()
    }
    field = error.details.get("field")
    if field in ("operation", "action"):
        return meant  # the tool finds the nearest
    if isinstance(field, str) and field in meant and field not in tool.arguments.model_fields:
        value = meant.pop(field)
        near = error.details.get("nearest")
        if isinstance(near, list) and near and (isinstance(value, str) or near[0] not in texts):
            meant.setdefault(near[0], value)
        return meant
    return meant | {name: "" for name in (*_FIELDS_OF.get(error.code, ()), field) if name in meant}


def _truncate(value: object) -> Any:
    """Truncate a detail of an error: long texts and lists are cut."""
    match value:
        case str():
            return value if len(value) <= _SHOWN else value[:_SHOWN] + "…"
        case list() | tuple():
            return [_truncate(item) for item in value[:_LISTED]]
        case _:
            return value


_WORDS = {
    HintKind.DOCUMENTS: "See the documents with",
    HintKind.SECTIONS: "See its sections with",
    HintKind.TASKS: "See its tasks with",
    HintKind.COMMITS: "See its history with",
    HintKind.MISSING: "Create it with",
}


def add_list_call(
    fix: str, among: SuggestionSource | None, offered: Container[str], ref: str | None = None
) -> str:
    """Return a fix with the call of an offered tool that lists the valid names, at a ref."""

    if among is None:
        return fix
    for tool, arguments in _calls(among):
        if tool in offered:
            return f"{fix} {_WORDS[among.listed]} {call(tool, **arguments, **ref_argument(ref))}."
    return fix


def _calls(among: SuggestionSource) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls that show the list, best first."""
    match among.listed:
        case HintKind.DOCUMENTS:
            yield "list_documents", {}
        case HintKind.SECTIONS:
            yield "list_sections", {"file_path": among.path}
            yield "view_document", {"file": among.path}
        case HintKind.TASKS:
            yield "view_document", {"file": among.path, "slug": among.slug}
            yield "read_section", {"file_path": among.path, "section_heading": among.slug}
        case HintKind.COMMITS:
            slug = {"slug": among.slug} if among.slug else {}
            yield "view_history", {"file": among.path, **slug}
        case HintKind.MISSING:
            yield "create_document", _creation(among.path)


def _creation(path: str) -> dict[str, Any]:
    """Return the fields by which create_document makes a document at a path."""
    from workspace.markdown.slugs import make_file_slug

    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    words = stem.replace("-", " ").replace("_", " ").strip()
    title = words[:1].upper() + words[1:]
    fields = {"doc_type": "document", "title": title if make_file_slug(title) == stem else stem}
    return {**fields, "folder": folder} if folder else fields


# What a caller needs most is shown first, where not all of it has room.
_ORDER = ("current", "theirs", "base", "ours")
_UNSHOWN = frozenset(("is_remembered", *_ORDER))


class TextBudget:
    """The tokens left for texts in one answer, and the read state of the client."""

    def __init__(self, sight: SeenTexts | None, tokens: int) -> None:
        self._sight = sight
        self._left = tokens

    def of(self, error: WorkspaceError) -> dict[str, Any]:
        """Return the texts that an error carries, as the sources of its sections one after another.

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
            size = count_fitting(part.source, 0, self._left) if self._left and part.source else 0
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
    """Return what an error carries beside texts."""
    return {name: value for name, value in error.details.items() if name not in _UNSHOWN}


def fix_of(error: WorkspaceError, *, is_cut: bool) -> str:
    """Return the fix of an error; another one if the text to be read has been cut."""
    if is_cut and isinstance(error, ReadFirst):
        return (
            "'current' is cut. To do that nevertheless, send the same call with "
            "base_commit set to 'commit' to overwrite them unread."
        )
    return error.fix


def needs_commit(error: WorkspaceError, *, is_cut: bool) -> bool:
    """Return True if the call that works is the same one with the commit of this answer as its base."""
    match error:
        case ConcurrentChange():
            return "theirs" in error.details
        case ReadFirst():
            return is_cut or not error.details.get("is_remembered")
        case _:
            return False
