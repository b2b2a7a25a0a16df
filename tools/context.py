"""What a tool may reach while it answers one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from index.service import SearchIndex
    from workspace.document.document import Document, Section
    from workspace.policy.tokens import Person
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace
    from workspace.writing.sight import Sight

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
    sight: Sight | None = None
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
        """Whether the client has this tool, so that a next step may name it."""
        return tool in self.tools

    def shows(self, document: Document, sections: Iterable[Section]) -> None:
        """Remembers sections whose own text this answer shows in full."""
        if self.sight is not None:
            from workspace.writing.sight import digest

            self.sight.add(digest(document, section) for section in sections)

    def snapshot(self, ref: str | None = None) -> Snapshot:
        """The commit that a ref names, else the tip of the served branch. Raises as `Workspace.at` does."""
        return self.workspace.at(ref)
