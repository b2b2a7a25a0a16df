"""Tools as data, which the transport, the documentation and the tests read; and the context of a call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from index.service import SearchIndex
    from index.storage.keys import SigningKeys
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.errors import WorkspaceError
    from workspace.policy.tokens import Person
    from workspace.skills import ServedSkills
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace
    from workspace.writing.read_before_write import SeenTexts

CallArguments = Mapping[str, object]

# Their names need no explanation, and each byte of a definition is sent in every conversation.
_TOOLS_WITHOUT_TITLE = ("get_doc", "search_docs")


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    The context of `run`, `schema` and `describe` is that of the dispatcher which offers the tool: `Context`,
    or `RetrievalContext` for the tools of many sources.

    `arguments` is the model of its input. `run` returns the answer to a call or raises a WorkspaceError. The
    dispatcher translates an error with `usage` (forms of a call) and `example` (a call that works, with the
    caller's values; invalid fields are empty). `correct` replaces names in an example by existing names.
    `schema` completes the input schema from the workspace; `lists_taxonomy` is True if it needs the index.
    `rename_parameters` returns the names of parameters whose own names are keys of the taxonomy.
    `build_error_fields` returns extra fields that a contract requires of an error; `error_text` returns its
    text. `searches` is True if a call answers questions from the index, which servers limit and record.
    """

    name: str
    title: str
    toolset: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[Any, CallArguments], Answer]
    usage: Callable[[CallArguments], Mapping[str, object]]
    example: Callable[[CallArguments], dict[str, Any]]
    writes: bool = False
    searches: bool = False
    destructive: bool = False
    idempotent: bool = True
    schema: Callable[[Any, dict[str, Any]], dict[str, Any]] | None = None
    lists_taxonomy: bool = False
    rename_parameters: Callable[[Context], Mapping[str, str]] | None = None
    describe: Callable[[Any], str] | None = None
    correct: Callable[[dict[str, Any], WorkspaceError, Snapshot], dict[str, Any]] | None = None
    build_error_fields: Callable[[CallArguments], Mapping[str, object]] | None = None
    error_text: Callable[[WorkspaceError], str] | None = None

    def build_title_field(self) -> dict[str, str]:
        """Return the title of the definition; empty if the title only repeats the name, as hosts show it."""
        title_words = [word.rstrip("s") for word in self.title.lower().split() if word not in ("a", "the")]
        name_words = [word.rstrip("s") for word in self.name.split("_")]
        return {} if self.name in _TOOLS_WITHOUT_TITLE or title_words == name_words else {"title": self.title}

    def build_annotations(self) -> dict[str, bool]:
        """Return the hints of the protocol.

        `idempotentHint` is left out if it is false, its default, or without meaning (MCP 2025-11-25, "Tool
        annotations"). The others are always given: some hosts refuse a tool without them.
        """
        return {
            "readOnlyHint": not self.writes,
            "destructiveHint": self.destructive,
            **({"idempotentHint": True} if self.writes and self.idempotent else {}),
            "openWorldHint": False,
        }


@dataclass(frozen=True, slots=True)
class CallForm:
    """The form of calls that answers suggest: a prefix of the names, and arguments that every call needs."""

    prefix: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)

    def convert(self, call: Call) -> Call:
        """Return a call in this form; a call that has it already is unchanged."""
        name = call.tool if call.tool.startswith(self.prefix) else self.prefix + call.tool
        return Call(name, {**call.arguments, **self.arguments})


PLAIN_FORM = CallForm()
"""The form of calls of a server with one workspace."""

Progress = Callable[[int, int, str], None]
"""Receives the number of finished items, the number of all items, and the name of the work."""


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a call: workspace, index, client, progress function and offered tools.

    `seen_texts` contains the texts that the client has read; None if clients cannot be distinguished.
    `person` is the owner of the call's token; None over stdio, where agents and persons cannot be
    distinguished. `may_review` is False if its scopes do not permit reviews. `max_text_tokens` is the limit
    of tokens of text in an answer; None for that of docyard.toml. `call_form` is the form of the calls that
    the answer suggests. `build_review_url` returns the URL of a proposal's page; None if the server has none.
    `request_fetch` requests an exchange with the remote, and does not wait for it. `started_at` is the begin
    of the call in monotonic seconds, also when the tool runs again with a lower limit.
    """

    workspace: Workspace
    index: SearchIndex
    client: str
    progress: Progress | None = None
    tools: frozenset[str] = field(default_factory=frozenset)
    seen_texts: SeenTexts | None = None
    person: Person | None = None
    may_review: bool = True
    max_text_tokens: int | None = None
    call_form: CallForm = PLAIN_FORM
    build_review_url: Callable[[str], str] | None = None
    request_fetch: Callable[[], object] = lambda: None
    started_at: float = field(default_factory=time.monotonic)

    @property
    def signing_keys(self) -> SigningKeys:
        """The keys that sign what clients keep, such as cursors."""
        return self.index.signing_keys

    @property
    def text_tokens(self) -> int:
        """Return the limit of tokens of text in an answer: `max_text_tokens`, else that of docyard.toml."""
        if self.max_text_tokens is not None:
            return self.max_text_tokens
        from workspace.config.config import Limits
        from workspace.errors import WorkspaceError

        try:
            return self.workspace.snapshot().config.limits.text_tokens
        except WorkspaceError:  # calls that read the settings report their errors
            return Limits().text_tokens

    @property
    def text_characters(self) -> int:
        """Return an approximate limit in characters, for texts whose tokens are not counted."""
        from tools.pages import CHARACTERS_PER_TOKEN

        return self.text_tokens * CHARACTERS_PER_TOKEN

    def offers(self, tool: str) -> bool:
        """Return True if the client has this tool, so that a next step may name it."""
        return tool in self.tools

    def record_seen_sections(self, document: Document, sections: Iterable[Section]) -> None:
        """Record sections whose own text the answer shows in full."""
        if self.seen_texts is not None:
            from workspace.document.section_text import compute_digest

            self.seen_texts.add(compute_digest(document, section) for section in sections)

    def snapshot(self, ref: str | None = None) -> Snapshot:
        """Return the snapshot at a ref, else at the tip of the served branch.

        Raises the errors of `Workspace.at`.
        """
        return self.workspace.at(ref)

    def served_skills(self) -> ServedSkills | None:
        """Return the skills that the served branch offers; None if it offers none, or cannot be read."""
        from workspace.errors import WorkspaceError

        try:
            if not self.workspace.snapshot().config.skills:
                return None  # without the imports of the check
            from workspace.skills import read_served_skills

            return read_served_skills(self.workspace)
        except WorkspaceError:  # calls that read the settings report their errors
            return None


Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a tool: `data`, and `text` if a contract fixes the form of the text (else data as JSON).

    `next_step` in the data is a NextStep, which the dispatcher replaces by its text.
    """

    data: Data
    text: str | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call in an answer; as text `view_document {"file": "api.md"}`."""

    tool: str
    arguments: Data

    def __str__(self) -> str:
        return f"{self.tool} {json.dumps(self.arguments, ensure_ascii=False)}"


class NextStep:
    """The next step that an answer suggests: texts and calls, and the proposal of the calls."""

    __slots__ = ("parts", "proposal")

    def __init__(self, *parts: str | Call | NextStep, proposal: str | None = None) -> None:
        self.parts: tuple[str | Call, ...] = tuple(
            chain.from_iterable(part.parts if isinstance(part, NextStep) else (part,) for part in parts)
        )
        self.proposal = proposal

    def __str__(self) -> str:
        return self.text()

    def for_proposal(self, proposal: str) -> NextStep:
        """Return the step with a proposal."""
        return NextStep(*self.parts, proposal=proposal)

    def in_form(self, form: CallForm) -> NextStep:
        """Return the step with its calls in a form."""
        parts = (form.convert(part) if isinstance(part, Call) else part for part in self.parts)
        return NextStep(*parts, proposal=self.proposal)

    def add_argument(self, value: object, fields: Mapping[str, str]) -> NextStep:
        """Return the step with one more argument of its calls; `fields` maps a tool's name to its field."""
        parts = (
            Call(part.tool, {**part.arguments, fields[part.tool]: value})
            if isinstance(part, Call) and part.tool in fields
            else part
            for part in self.parts
        )
        return NextStep(*parts, proposal=self.proposal)

    def text(self, fields: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return the step as text; `fields` maps the name of a tool to its field for a proposal.

        Each call gets the proposal, except a call of a writing tool without arguments, which only explains
        the tool. The text of a step without calls ends with the proposal.
        """
        if self.proposal is None:
            return "".join(map(str, self.parts))
        if not any(isinstance(part, Call) for part in self.parts):
            return "".join((*map(str, self.parts), f", with proposal {self.proposal}"))
        return "".join(str(_bind_part(part, self.proposal, fields)) for part in self.parts)


def _bind_part(part: str | Call, proposal: str, fields: Mapping[str, str]) -> str | Call:
    """Return a part of a step; a call gets the proposal as an argument."""
    if isinstance(part, str) or (field := fields.get(part.tool)) is None:
        return part
    if field == "proposal" and not part.arguments:
        return part
    return Call(part.tool, {**part.arguments, field: proposal})


def call(tool: str, **arguments: object) -> Call:
    """Return a call for a next step."""
    return Call(tool, arguments)
