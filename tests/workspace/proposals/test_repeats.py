"""An event that two clones append with the same idempotency key before they sync is read once."""

from __future__ import annotations

from pathlib import Path

from tests import repositories
from tests.workspace.proposals.event_writer import NOON, PROPOSAL_ID, EventWriter, make_opening
from workspace.git.objects import Signature
from workspace.proposals.events import Author, Commented, IdentitySource

FORGE_AUTHOR = Author("ana", "ana@github.invalid", IdentitySource.CLIENT, "GitHub")
IDEMPOTENCY_KEY = "github comment 101"


def test_repeated_event_with_a_reply_is_preserved(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path / "one")
    first_writer = EventWriter(repo.path)
    first_writer.append(make_opening())
    repo.git("clone", "-q", "--mirror", ".", str(tmp_path / "two"))
    second_writer = EventWriter(tmp_path / "two", NOON.replace(hour=13))
    first_writer.append(
        Commented("And when?", commit="1" * 40), by=FORGE_AUTHOR, idempotency_key=IDEMPOTENCY_KEY
    )
    repeated_event = second_writer.append(
        Commented("And when?", commit="2" * 40), by=FORGE_AUTHOR, idempotency_key=IDEMPOTENCY_KEY
    ).events[0]
    second_writer.append(Commented("And when?"), by=FORGE_AUTHOR, idempotency_key="github comment 102")
    second_writer.append(Commented("Soon.", reply_to=repeated_event.id))
    repo.git("fetch", "-q", str(tmp_path / "two"), "docyard/discussion")
    first_writer.log.merge_commit(
        repo.git("rev-parse", "FETCH_HEAD").strip(), Signature("Ada", "ada@example.org", 0)
    )
    # An event with a reply is preserved, because the reply refers to it.
    texts = [event.body.text for event in first_writer.events() if isinstance(event.body, Commented)]
    assert texts == ["And when?", "And when?", "And when?", "Soon."]


def test_repeated_event_without_a_reply_is_read_once(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path / "one")
    first_writer = EventWriter(repo.path)
    first_writer.append(make_opening())
    repo.git("clone", "-q", "--mirror", ".", str(tmp_path / "two"))
    second_writer = EventWriter(tmp_path / "two", NOON.replace(hour=13))
    for writer, commit in ((first_writer, "1" * 40), (second_writer, "2" * 40)):
        writer.append(Commented("And when?", commit=commit), by=FORGE_AUTHOR, idempotency_key=IDEMPOTENCY_KEY)
    repo.git("fetch", "-q", str(tmp_path / "two"), "docyard/discussion")
    first_writer.log.merge_commit(
        repo.git("rev-parse", "FETCH_HEAD").strip(), Signature("Ada", "ada@example.org", 0)
    )
    assert len(first_writer.events()) == 2
    assert first_writer.log.find_events_by_key(PROPOSAL_ID, IDEMPOTENCY_KEY) is not None
