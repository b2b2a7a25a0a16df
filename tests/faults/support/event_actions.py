"""The action of a forked child that appends events to a discussion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from workspace.errors import WorkspaceError
from workspace.git.store import GitStore
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Author, Commented, IdentitySource, Opened

PROPOSAL_ID = "k7m2q9xa"
COMMENT_TEXT = "Why?"


def append_events(path: Path, arm: Callable[[], None], *, durable: bool = False) -> Mapping[str, object]:
    """Append two events of a proposal in one commit, always with the same idempotency key."""
    log = EventLog(GitStore(path), durable=durable)
    events = (Opened("A title", "", "main", f"proposals/{PROPOSAL_ID}", None), Commented(COMMENT_TEXT))
    author = Author("Ada", "ada@example.org", IdentitySource.GIT)
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    arm()
    try:
        append_result = log.append(
            PROPOSAL_ID,
            events,
            author,
            tool="create_proposal",
            client="faults",
            idempotency_key="a key",
            now=lambda: noon,
        )
    except WorkspaceError as error:
        return {"committed": False, "error": error.code}
    return {
        "committed": not append_result.is_repeat,
        "commit": append_result.commit,
        "repeated": append_result.is_repeat,
    }
