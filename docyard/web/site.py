"""What is served as pages, and who acts on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from docyard.web.documents.background import ReadingOn
from docyard.web.library.changed import LastChanges
from docyard.web.library.summaries import Summaries
from docyard.web.live import Live
from docyard.web.versions import Versions
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from docyard.caller import Caller
    from index.service import SearchIndex
    from workspace.proposals import Proposal
    from workspace.proposals.actions import Actor
    from workspace.workspace import Workspace

TOOL, CLIENT = "page", "page"
"""What commits and words that are made on the page carry as their tool and client."""

_KEPT = 2  # versions, of which pages that are made at once may show two


@dataclass(frozen=True, slots=True)
class Site:
    """The pages of one server.

    `index` gives the index that serves when a request begins, with its workspace: an artifact may be swapped
    between two. `mermaid` is the operator's own script that draws diagrams, `math` whether formulas are set.
    `written` is called after each write, as after a call of a tool. `close` belongs to the server's end.
    """

    index: Callable[[], SearchIndex]
    read_only: bool
    mermaid: bytes | None = None
    math: bool = False
    written: Callable[[], object] = field(default=lambda: None)
    summaries: Summaries = field(default_factory=Summaries)
    changed: LastChanges = field(default_factory=LastChanges)
    versions: Versions = field(default_factory=Versions)
    live: Live = field(default_factory=Live)
    reading_on: ReadingOn = field(default_factory=ReadingOn)
    _proposals: LRUCache[str, tuple[Proposal, ...]] = field(
        init=False, default_factory=lambda: LRUCache(_KEPT)
    )

    @property
    def is_reading(self) -> bool:
        """Whether something is being read yet that pages show when it is known."""
        return self.reading_on.is_busy or self.index().links.is_reading

    def close(self) -> None:
        """Ends what goes on beside requests: pages that listen, and reading ahead."""
        self.live.close()
        self.summaries.close()
        self.reading_on.close()

    def proposals_at(self, workspace: Workspace, version: str) -> tuple[Proposal, ...]:
        """Every proposal, the one that was opened last first, as of a version; as of now where that is empty.

        To read thousands of refs takes longer than the rest of a page; the version stands for them.
        """
        proposing = workspace.proposing()
        return self._proposals.get(version, proposing.all) if version else proposing.all()

    def actor(self, workspace: Workspace, caller: Caller) -> Actor:
        """Who acts: the person whose token was shown, else whoever Git's settings name, as at a shell."""
        from workspace.proposals import Author, KnownBy
        from workspace.proposals.actions import Actor

        person = caller.person
        if person is None:
            return Actor(Author(*workspace.author(), KnownBy.GIT), TOOL, CLIENT)
        author = Author(person.name, person.email, KnownBy.TOKEN, person.token)
        return Actor(author, TOOL, CLIENT, person)
