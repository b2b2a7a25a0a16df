"""The context of a call of the tools of many sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.tool import PLAIN_FORM, CallForm

if TYPE_CHECKING:
    from index.sources.sources import Sources
    from tools.records.problem_reports import ReceiveReport
    from tools.tool import Progress


@dataclass(frozen=True, slots=True)
class RetrievalContext:
    """The sources of a server, the client, the offered tools, and the limit of the answer in tokens.

    `receive_report` stores reports of problems; None if the server stores none.
    """

    sources: Sources
    client: str
    tools: frozenset[str]
    max_tokens: int
    progress: Progress | None = None
    call_form: CallForm = PLAIN_FORM
    receive_report: ReceiveReport | None = None

    def offers(self, tool: str) -> bool:
        """Return True if the client has this tool, so that a next step may name it."""
        return tool in self.tools
