"""An event that is said by a forked child, between being armed and its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from workspace.errors import WorkspaceError
from workspace.git.store import GitStore
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Author, Commented, KnownBy, Opened

ID = "k7m2q9xa"
SAID = "Why?"


def say(path: Path, arm: Callable[[], None], *, durable: bool = False) -> Mapping[str, object]:
    """Say two things of a proposal in one commit, with an idempotency key that is the same each time."""
    log = EventLog(GitStore(path), durable=durable)
    words = (Opened("A title", "", "main", f"proposals/{ID}", None), Commented(SAID))
    author = Author("Ada", "ada@example.org", KnownBy.GIT)
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    arm()
    try:
        said = log.append(
            ID, words, author, tool="create_proposal", client="faults", request="a key", now=lambda: noon
        )
    except WorkspaceError as error:
        return {"committed": False, "error": error.code}
    return {"committed": not said.is_repeat, "commit": said.commit, "repeated": said.is_repeat}
