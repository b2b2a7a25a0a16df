"""What two clones have said by the same key, before they heard of each other, is said once."""

from __future__ import annotations

from pathlib import Path

from tests import repositories
from tests.workspace.proposals.saying import NOON, Speaker, opening
from workspace.git.objects import Signature
from workspace.proposals.events import Author, Commented, KnownBy

HEARD = Author("ana", "ana@github.invalid", KnownBy.CLIENT, "GitHub")
KEY = "github comment 101"


def test_the_same_words_of_two_clones_are_read_once(tmp_path: Path) -> None:
    repo = repositories.normal(tmp_path / "one")
    one = Speaker(repo.path)
    one.say(opening())
    repo.git("clone", "-q", "--mirror", ".", str(tmp_path / "two"))
    two = Speaker(tmp_path / "two", NOON.replace(hour=13))
    one.say(Commented("And when?", commit="1" * 40), by=HEARD, request=KEY)
    first = two.say(Commented("And when?", commit="2" * 40), by=HEARD, request=KEY).events[0]
    two.say(Commented("And when?"), by=HEARD, request="github comment 102")
    two.say(Commented("Soon.", reply_to=first.id))
    repo.git("fetch", "-q", str(tmp_path / "two"), "docyard/discussion")
    one.log.merge_commit(repo.git("rev-parse", "FETCH_HEAD").strip(), Signature("Ada", "ada@example.org", 0))
    # What was answered is not left out: its answer would stand alone.
    texts = [event.body.text for event in one.said() if isinstance(event.body, Commented)]
    assert texts == ["And when?", "And when?", "And when?", "Soon."]


def test_what_nobody_has_answered_is_read_once(tmp_path: Path) -> None:
    repo = repositories.normal(tmp_path / "one")
    one = Speaker(repo.path)
    one.say(opening())
    repo.git("clone", "-q", "--mirror", ".", str(tmp_path / "two"))
    two = Speaker(tmp_path / "two", NOON.replace(hour=13))
    for speaker, commit in ((one, "1" * 40), (two, "2" * 40)):
        speaker.say(Commented("And when?", commit=commit), by=HEARD, request=KEY)
    repo.git("fetch", "-q", str(tmp_path / "two"), "docyard/discussion")
    one.log.merge_commit(repo.git("rev-parse", "FETCH_HEAD").strip(), Signature("Ada", "ada@example.org", 0))
    assert len(one.said()) == 2
    assert one.log.find_repeated("k7m2q9xa", KEY) is not None
