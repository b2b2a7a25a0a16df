"""The context of a call of the tools of many sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.tool import PLAIN_FORM, CallForm
from workspace.config.config import Limits

if TYPE_CHECKING:
    from index.sources.sources import Sources
    from tools.tool import Progress


@dataclass(frozen=True, slots=True)
class RetrievalContext:
    """The sources of a server, the client, and the offered tools.

    `max_text_tokens` limits answers of the other tools than `search_documentation`; None is the default.
    """

    sources: Sources
    client: str
    tools: frozenset[str]
    progress: Progress | None = None
    max_text_tokens: int | None = None
    call_form: CallForm = PLAIN_FORM

    @property
    def max_answer_tokens(self) -> int:
        """The limit of an answer of the tools other than search_documentation."""
        return self.max_text_tokens if self.max_text_tokens is not None else Limits().text_tokens

    def offers(self, tool: str) -> bool:
        """Return True if the client has this tool, so that a next step may name it."""
        return tool in self.tools
