"""Tools as data: what the transport, the documentation and the tests read alike.

What a tool may reach while it answers one call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from index.service import SearchIndex
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.errors import WorkspaceError
    from workspace.policy.tokens import Person
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace
    from workspace.writing.read_before_write import SeenTexts

Given = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    `arguments` is the model of its input; `run` answers a call or raises a WorkspaceError, which the
    registry translates with `usage` (how the tool is called) and `example` (a call that works, with the
    caller's values; a field that was wrong is empty there). `correct` mends such an example by what there
    is, `shape_error` gives an error the fields that a contract asks for beside our own, and `error_text`
    words one as plain text.
    """

    name: str
    title: str
    toolset: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[Context, Given], Answer]
    usage: Callable[[Given], Mapping[str, object]]
    example: Callable[[Given], dict[str, Any]]
    writes: bool = False
    destructive: bool = False
    idempotent: bool = True
    schema: Callable[[Context, dict[str, Any]], dict[str, Any]] | None = None
    describe: Callable[[Context], str] | None = None
    correct: Callable[[dict[str, Any], WorkspaceError, Snapshot], dict[str, Any]] | None = None
    shape_error: Callable[[Given], Mapping[str, object]] | None = None
    error_text: Callable[[WorkspaceError], str] | None = None

    def annotations(self) -> dict[str, bool]:
        """Return the four hints of the protocol."""
        return {
            "readOnlyHint": not self.writes,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": False,
        }


Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Context:
    """The workspace and its index, who is asking, where progress is reported, and which tools are offered.

    `sight` is the memory of the client that asks; None where clients cannot be told apart. `person` is whose
    token came with the call: nobody's over stdio, where agent and person look alike.
    """

    workspace: Workspace
    index: SearchIndex
    client: str
    progress: Progress | None = None
    tools: frozenset[str] = field(default_factory=frozenset)
    sight: SeenTexts | None = None
    person: Person | None = None
    max_text_tokens: int | None = None

    @property
    def text_tokens(self) -> int:
        """Return how many tokens of text an answer may hold: as the operator set it, else docyard.toml."""
        if self.max_text_tokens is not None:
            return self.max_text_tokens
        from workspace.config.config import Limits
        from workspace.errors import WorkspaceError

        try:
            return self.workspace.snapshot().config.limits.text_tokens
        except WorkspaceError:  # calls that read the settings report what is wrong with them
            return Limits().text_tokens

    @property
    def text_characters(self) -> int:
        """Return how many characters that is, about, for texts whose tokens are not counted."""
        from tools.pages import CHARACTERS_PER_TOKEN

        return self.text_tokens * CHARACTERS_PER_TOKEN

    def offers(self, tool: str) -> bool:
        """Return True if the client has this tool, so that a next step may name it."""
        return tool in self.tools

    def shows(self, document: Document, sections: Iterable[Section]) -> None:
        """Remember sections whose own text this answer shows in full."""
        if self.sight is not None:
            from workspace.document.section_text import compute_digest

            self.sight.add(compute_digest(document, section) for section in sections)

    def snapshot(self, ref: str | None = None) -> Snapshot:
        """Return the commit that a ref names, else the tip of the served branch.

        Raises as `Workspace.at` does.
        """
        return self.workspace.at(ref)


Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says: `data`, and `text` where a contract fixes the words (else the data as JSON).

    `next_step` of the data is a NextStep, which the registry replaces by its text.
    """

    data: Data
    text: str | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call that an answer names; as text `view_document {"file": "api.md"}`."""

    tool: str
    arguments: Data

    def __str__(self) -> str:
        return f"{self.tool} {json.dumps(self.arguments, ensure_ascii=False)}"


class NextStep:
    """The next step that an answer proposes: words, the calls that they name, and the proposal it is for."""

    __slots__ = ("parts", "proposal")

    def __init__(self, *parts: str | Call | NextStep, proposal: str | None = None) -> None:
        self.parts: tuple[str | Call, ...] = tuple(
            chain.from_iterable(part.parts if isinstance(part, NextStep) else (part,) for part in parts)
        )
        self.proposal = proposal

    def within(self, proposal: str) -> NextStep:
        """Return the same step for a proposal."""
        return NextStep(*self.parts, proposal=proposal)

    def text(self, fields: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return the step as text; `fields` are the names of the field in which each tool takes a proposal.

        Each call keeps to the proposal, but for a writer's without arguments, which only explains the writer.
        A step without calls ends with the proposal.
        """
        if self.proposal is None:
            return "".join(map(str, self.parts))
        if not any(isinstance(part, Call) for part in self.parts):
            return "".join((*map(str, self.parts), f", with proposal {self.proposal}"))
        return "".join(str(_bind_part(part, self.proposal, fields)) for part in self.parts)


def _bind_part(part: str | Call, proposal: str, fields: Mapping[str, str]) -> str | Call:
    """Return a part of a step with the proposal among the arguments of its call."""
    if isinstance(part, str) or (field := fields.get(part.tool)) is None:
        return part
    if field == "proposal" and not part.arguments:
        return part
    return Call(part.tool, {**part.arguments, field: proposal})


def call(tool: str, **arguments: object) -> Call:
    """Return a call as a next step names it."""
    return Call(tool, arguments)
