"""Translation of an error into an answer with a call that works.

For an unknown name, the fix contains the call that lists the valid names. Texts of documents in an error are
bounded. A section that the field `current` shows in full is recorded as read.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tools.pages import count_fitting_characters
from tools.tool import Answer, Data, call
from workspace.document.section_text import SectionText
from workspace.errors import ConcurrentChange, SuggestionKind, WorkspaceError
from workspace.escapes import escape_invisible
from workspace.writing.read_before_write import ReadFirst

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools.tool import Tool
    from workspace.errors import SuggestionSource, WorkspaceError
    from workspace.history.moved_addresses import Moves
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.read_before_write import SeenTexts


_MAX_DETAIL_CHARACTERS = 500
_MAX_EXAMPLE_CONTENT_CHARACTERS = 4_000
_TEXT_TYPES = (str, str | None)

_MAX_DETAIL_ITEMS = 50
_MAX_TITLE_CHARACTERS = 100  # of a proposal in an example

# The fields that may cause an error code. An example repeats the caller's values for all other fields.
_FIELDS_BY_CODE: Mapping[str, tuple[str, ...]] = {
    "INVALID_TITLE": ("title", "new_title", "to_title"),
    "INVALID_CONTENT": ("content", "initial_content", "title", "new_title", "criteria", "assignee", "note"),
    "LEVEL_CONFLICT": ("content", "initial_content", "parent_slug"),
    "STRUCTURE_CHANGED": ("content", "initial_content", "title", "criteria", "note", "assignee"),
    "LIMIT_EXCEEDED": ("content", "initial_content"),
    "INVALID_PATH": ("file", "path", "folder"),
    "PATH_EXISTS": ("title", "to_title"),
    "UNKNOWN_TYPE": ("doc_type",),
    "INVALID_TAG": ("tags", "remove", "replace"),
    "EMPTY_QUERY": ("query",),
    "QUERY_TOO_BROAD": ("query",),
    "INVALID_CHUNK_ID": ("chunk_id",),
    "REF_NOT_FOUND": ("ref", "since"),
    "NOT_A_COMMIT": ("ref", "since"),
    "BEFORE_HISTORY": ("ref",),
    "AMBIGUOUS_ID": ("ref",),
    "NO_PROPOSED_COMMIT": ("ref",),
}


def build_ref_argument(ref: str | None) -> dict[str, str]:
    """Return the `ref` argument of a suggested call, so that it reads the same ref; empty at the tip."""
    return {"ref": ref} if ref and ref.strip() else {}


def build_error_response(
    error: WorkspaceError,
    tool: Tool,
    arguments: Mapping[str, object],
    snapshot: Snapshot | None,
    budget: TextBudget | None = None,
    commit: str | None = None,
    moves: Callable[[], Moves] | None = None,
    *,
    offered_tools: Container[str],
    proposal_id: str | None = None,
) -> Data:
    """Return an error with its code and fix, the tool's usage, and an example of a call that works.

    `budget` limits texts of documents, and `commit` is the commit of these texts. `moves` resolves old
    addresses. `offered_tools` are the tools of the client. `proposal_id` is the proposal that the call
    writes to, if `arguments` does not contain it.
    """
    from tools.redirects import redirect_call
    from workspace.config.config import Limits
    from workspace.writing.read_before_write import ReadFirst

    data: Data = {"error": _truncate(escape_invisible(error.message)), "code": error.code}
    text_fields = (budget or TextBudget(None, Limits().text_tokens)).render_texts(error)
    is_cut = "truncated" in text_fields
    # The `ref` of a writing tool is a source of text, not the commit to read.
    ref = arguments.get("proposal" if tool.writes else "ref") or proposal_id
    read_ref = ref if isinstance(ref, str) else None
    if fix := add_suggested_call(
        choose_error_fix(error, is_cut=is_cut), error.suggestion_source, offered_tools, read_ref
    ):
        data["fix"] = _truncate(escape_invisible(fix))
    data.update({key: _truncate(value) for key, value in get_error_details(error).items()})
    data.update(text_fields)
    corrected_arguments = _correct_arguments(error, tool, arguments)
    redirected_call = redirect_call(error, arguments, snapshot, moves) if moves and snapshot else None
    if redirected_call is not None:
        data |= {
            "moved_to": redirected_call.location.moved_to,
            "fix": _truncate(
                escape_invisible(f"Use '{redirected_call.location.address}', the current address.")
            ),
        }
        corrected_arguments = _correct_arguments(error, tool, redirected_call.arguments)
    if not isinstance(error, ReadFirst):  # the call was valid; the caller only has to read the text
        data["usage"] = dict(tool.usage(corrected_arguments))
    data["example"] = tool.example(corrected_arguments)
    if tool.correct and snapshot is not None:
        # An error in an example must not replace the error of the call.
        with suppress(WorkspaceError):
            data["example"] = tool.correct(data["example"], error, snapshot)
        if missing_tasks := _describe_missing_tasks(error, tool, arguments, snapshot):
            data["fix"] = _truncate(escape_invisible(missing_tasks))
    content = arguments.get("content")
    if isinstance(error, ReadFirst) and isinstance(content, str) and "content" in data["example"]:
        # A placeholder would overwrite the text that the client has read now.
        data["example"] = {**data["example"], "content": content}
        if len(content) > _MAX_EXAMPLE_CONTENT_CHARACTERS:
            del data["example"]["content"]
    candidates, slugs = data.get("candidates"), data.get("slugs")
    if error.code == "CONFLICT" and candidates and data["example"].get("slug") in (slugs or ()):
        data["example"] = {**data["example"], "slug": candidates[0]}
    if commit is not None and needs_base_commit(error, is_cut=is_cut):
        data["example"] = {**data["example"], "base_commit": commit}
    proposal = arguments.get("proposal")
    if tool.writes and isinstance(proposal, str) and "proposal" not in data["example"]:
        data["example"] = {**data["example"], **_build_proposal_fields(proposal, error)}
    if tool.writes and "new_proposal" in arguments:
        # Without `new_proposal`, a client that copies the example would write directly.
        data["example"] = {
            **data["example"],
            "new_proposal": complete_new_proposal(arguments["new_proposal"]),
        }
    if tool.writes and arguments.get("dry_run") in (True, "true"):
        # A client that copies the example of a dry run must not commit.
        data["example"] = {**data["example"], "dry_run": True}
    return data


def _describe_missing_tasks(
    error: WorkspaceError, tool: Tool, arguments: Mapping[str, object], snapshot: Snapshot
) -> str | None:
    """Return the fix for a call on a task of a document without tasks; None for other errors."""
    file = arguments.get("file")
    if tool.toolset != "tasks" or error.code not in ("SECTION_NOT_FOUND", "TASK_NOT_FOUND"):
        return None
    if not isinstance(file, str) or file not in snapshot.documents:
        return None
    try:
        document = snapshot.document(file)
        if any(document.tasks(section) for section in document.sections):
            return None
    except WorkspaceError:
        return None
    return f"{file} has no tasks. Add one with edit_document and the operation add_task."


def complete_new_proposal(fields: object) -> Data:
    """Return the fields of a proposal to open, with the caller's valid values and a title."""
    given_fields = fields if isinstance(fields, dict) else {}
    title, description = given_fields.get("title"), given_fields.get("description")
    is_valid_title = isinstance(title, str) and bool(title.strip()) and len(title) <= _MAX_TITLE_CHARACTERS
    description_field = {"description": description} if isinstance(description, str) else {}
    submit_field = {"submit": True} if given_fields.get("submit") is True else {}
    return {
        "title": title if is_valid_title else "Summary of the changes",
        **description_field,
        **submit_field,
    }


def _build_proposal_fields(proposal: str, error: WorkspaceError) -> Data:
    """Return the fields of an example that writes to the caller's proposal, else of a dry run."""
    if error.code == "PROPOSAL_ENDED":
        return {"dry_run": True}
    candidates = error.details.get("candidates")
    if error.code != "PROPOSAL_NOT_FOUND" or not isinstance(candidates, list) or not candidates:
        return {"proposal": proposal}
    return {"proposal": candidates[0], "dry_run": True}


def _correct_arguments(
    error: WorkspaceError, tool: Tool, arguments: Mapping[str, object]
) -> Mapping[str, object]:
    """Return the caller's fields: a misspelt field under its valid name, and invalid values empty."""
    text_fields = {
        name for name, field in tool.arguments.model_fields.items() if field.annotation in _TEXT_TYPES
    }
    corrected_arguments = {
        name: "" if name in text_fields and not isinstance(value, str) else value
        for name, value in arguments.items()
    }
    field = error.details.get("field")
    if field in ("operation", "action"):
        return corrected_arguments  # the tool itself selects the nearest name
    if isinstance(field, str) and field in corrected_arguments and field not in tool.arguments.model_fields:
        value = corrected_arguments.pop(field)
        matches = error.details.get("nearest")
        if (
            isinstance(matches, list)
            and matches
            and (isinstance(value, str) or matches[0] not in text_fields)
        ):
            corrected_arguments.setdefault(matches[0], value)
        return corrected_arguments
    return corrected_arguments | {
        name: "" for name in (*_FIELDS_BY_CODE.get(error.code, ()), field) if name in corrected_arguments
    }


def _truncate(value: object) -> Any:
    """Return a detail of an error with long texts and lists truncated."""
    match value:
        case str():
            return value if len(value) <= _MAX_DETAIL_CHARACTERS else value[:_MAX_DETAIL_CHARACTERS] + "…"
        case list() | tuple():
            return [_truncate(item) for item in value[:_MAX_DETAIL_ITEMS]]
        case _:
            return value


_CALL_PHRASES = {
    SuggestionKind.DOCUMENTS: "See the documents with",
    SuggestionKind.SECTIONS: "See its sections with",
    SuggestionKind.TASKS: "See its tasks with",
    SuggestionKind.COMMITS: "See its history with",
    SuggestionKind.MISSING: "Create it with",
}


def add_suggested_call(
    fix: str, source: SuggestionSource | None, offered_tools: Container[str], ref: str | None = None
) -> str:
    """Return a fix with a call of an offered tool.

    The call lists the valid names at a ref, or creates the missing document.
    """
    if source is None:
        return fix
    for tool, arguments in _suggest_calls(source):
        if tool in offered_tools:
            return f"{fix} {_CALL_PHRASES[source.kind]} {call(tool, **arguments, **build_ref_argument(ref))}."
    return fix


def _suggest_calls(source: SuggestionSource) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls that list the valid names, best first, or that create a missing document."""
    match source.kind:
        case SuggestionKind.DOCUMENTS:
            yield "list_documents", {}
        case SuggestionKind.SECTIONS:
            yield "list_sections", {"file_path": source.path}
            yield "view_document", {"file": source.path}
        case SuggestionKind.TASKS:
            yield "view_document", {"file": source.path, "slug": source.slug}
            yield "read_section", {"file_path": source.path, "section_heading": source.slug}
        case SuggestionKind.COMMITS:
            slug = {"slug": source.slug} if source.slug else {}
            yield "view_history", {"file": source.path, **slug}
        case SuggestionKind.MISSING:
            yield "create_document", _build_creation_fields(source.path)


def _build_creation_fields(path: str) -> dict[str, Any]:
    """Return the fields with which create_document creates a document at a path."""
    from workspace.markdown.slugs import make_file_slug

    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    title_text = stem.replace("-", " ").replace("_", " ").strip()
    title = title_text[:1].upper() + title_text[1:]
    fields = {"doc_type": "document", "title": title if make_file_slug(title) == stem else stem}
    return {**fields, "folder": folder} if folder else fields


# The most useful text first, in case the budget is too small for all.
_TEXT_FIELDS = ("current", "theirs", "base", "ours")
_EXCLUDED_DETAILS = frozenset(("is_remembered", *_TEXT_FIELDS))


class TextBudget:
    """The remaining tokens for texts in one answer, and the texts that the client has read."""

    def __init__(self, seen_texts: SeenTexts | None, tokens: int) -> None:
        self._seen_texts = seen_texts
        self._remaining_tokens = tokens

    def render_texts(self, error: WorkspaceError) -> dict[str, Any]:
        """Return the texts of an error, each as the concatenated sources of its sections.

        `truncated` is set if a text was cut. A section that `current` shows in full is recorded as read.
        """
        texts: dict[str, Any] = {}
        is_cut = False
        for name in _TEXT_FIELDS:
            section_texts = error.details.get(name)
            if isinstance(section_texts, tuple):
                text, is_complete = self._render(section_texts, is_recorded=name == "current")
                texts[name] = text
                is_cut = is_cut or not is_complete
        return {**texts, "truncated": True} if is_cut else texts

    def _render(self, section_texts: Iterable[SectionText], *, is_recorded: bool) -> tuple[str, bool]:
        from workspace.texts.tokens import count_tokens

        sources: list[str] = []
        for section_text in section_texts:
            size = (
                count_fitting_characters(section_text.source, 0, self._remaining_tokens)
                if self._remaining_tokens and section_text.source
                else 0
            )
            if size < len(section_text.source):
                sources.append(section_text.source[:size] + "…")
                self._remaining_tokens = 0
                return "".join(sources), False
            self._remaining_tokens = max(self._remaining_tokens - count_tokens(section_text.source), 0)
            sources.append(section_text.source)
            if is_recorded and self._seen_texts is not None:
                self._seen_texts.add((section_text.digest,))
        return "".join(sources), True


def get_error_details(error: WorkspaceError) -> dict[str, object]:
    """Return the details of an error except its texts and internal flags."""
    return {name: value for name, value in error.details.items() if name not in _EXCLUDED_DETAILS}


def choose_error_fix(error: WorkspaceError, *, is_cut: bool) -> str:
    """Return the fix of an error; a different one if the text to read was cut."""
    if is_cut and isinstance(error, ReadFirst):
        return (
            "'current' is truncated. To overwrite the text unread, send the same call with base_commit set "
            "to 'commit'."
        )
    return error.fix


def needs_base_commit(error: WorkspaceError, *, is_cut: bool) -> bool:
    """Return True if the same call works with the commit of this answer as its `base_commit`."""
    match error:
        case ConcurrentChange():
            return "theirs" in error.details
        case ReadFirst():
            return is_cut or not error.details.get("is_remembered")
        case _:
            return False


def build_internal_error(name: str, reference: str) -> Answer:
    """Return the answer to a call that failed because of a bug, with a reference to the log."""
    message = (
        f"{name} failed because of a bug in Docyard, not because of the call. "
        f"The server's log has the details under {reference}."
    )
    return Answer(
        {"error": message, "code": "INTERNAL_ERROR", "reference": reference}, message, is_error=True
    )
