"""Events as bytes: encoding is canonical and reversible, and invalid bytes are refused."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.proposals.event_writer import (
    CLIENT_AUTHOR,
    COMMIT,
    GIT_AUTHOR,
    NOON,
    OTHER_COMMIT,
    PROPOSAL_ID,
    TOKEN_AUTHOR,
    make_opening,
)
from workspace.proposals.events import (
    MAX_EVENT_BYTES,
    MAX_TEXT_CHARACTERS,
    Author,
    Closed,
    Commented,
    CommentTarget,
    Edited,
    Event,
    EventBody,
    IdentitySource,
    Opened,
    Refreshed,
    Reopened,
    ReviewDecision,
    Reviewed,
    Submitted,
    UnknownEvent,
    UnreadableEvent,
    decode_event,
    encode_event,
    remove_controls,
)

FIELDS = ["after", "author", "kind", "proposal", "time", "version", "words", "text", "name"]

EVENT_BODIES: list[EventBody] = [
    make_opening(base=COMMIT),
    make_opening("🎉" * 100),
    Edited(title="Another"),
    Edited(description=""),
    Commented("Why?", CommentTarget("docs/a.md", "retries/jitter", "a" * 64, "exponential"), COMMIT),
    Commented("Because.", reply_to="9f2c51d0a7b3e846"),
    Commented("Of all of it.", CommentTarget("docs/ü.md", None, "b" * 64), COMMIT),
    Reviewed(ReviewDecision.REQUEST_CHANGES, "Say\nmore.", COMMIT),
    Submitted(COMMIT),
    Submitted(COMMIT, (OTHER_COMMIT,)),
    Refreshed(COMMIT, OTHER_COMMIT),
    Refreshed(COMMIT, OTHER_COMMIT, "d" * 64),
    Closed("Done elsewhere."),
    Reopened(),
]


@pytest.mark.parametrize("body", EVENT_BODIES, ids=lambda body: body.kind)
def test_encoded_event_decodes_to_the_same_event(body: EventBody) -> None:
    name, data = encode_event(PROPOSAL_ID, body, TOKEN_AUTHOR, NOON, ("9f2c51d0a7b3e846",), "c" * 64)
    assert decode_event(PROPOSAL_ID, name, data) == Event(
        name[20:36], PROPOSAL_ID, NOON, TOKEN_AUTHOR, body, ("9f2c51d0a7b3e846",), "c" * 64
    )


def test_encoded_event_is_readable_json() -> None:
    name, data = encode_event(PROPOSAL_ID, Closed("Done elsewhere."), GIT_AUTHOR, NOON)
    assert name.startswith("20260131T120000000Z-")
    assert data.decode() == (
        "{\n"
        '  "after": [],\n'
        '  "author": {\n'
        '    "email": "ada@example.org",\n'
        '    "known_by": "git",\n'
        '    "name": "Ada"\n'
        "  },\n"
        '  "kind": "closed",\n'
        '  "proposal": "k7m2q9xa",\n'
        '  "time": "2026-01-31T12:00:00.000Z",\n'
        '  "version": 1,\n'
        '  "words": {\n'
        '    "text": "Done elsewhere."\n'
        "  }\n"
        "}\n"
    )


def test_times_of_any_zone_are_stored_as_utc() -> None:
    noon_in_tokyo = NOON.astimezone(timezone(timedelta(hours=9)))
    assert encode_event(PROPOSAL_ID, Closed(), GIT_AUTHOR, noon_in_tokyo) == encode_event(
        PROPOSAL_ID, Closed(), GIT_AUTHOR, NOON
    )
    first_day = datetime(1, 1, 1, tzinfo=UTC)
    name, data = encode_event(PROPOSAL_ID, Closed(), GIT_AUTHOR, first_day)
    assert name.startswith("00010101T000000000Z-")
    assert decode_event(PROPOSAL_ID, name, data).time == first_day


@given(
    st.text(max_size=100).map(remove_controls),
    st.text(max_size=300).map(remove_controls),
    st.datetimes(timezones=st.just(UTC)).map(lambda time: time.replace(microsecond=0)),
)
def test_any_text_survives_encoding(short_text: str, long_text: str, time: datetime) -> None:
    body = Commented(long_text, CommentTarget(short_text or "a.md", short_text, "d" * 64, short_text), COMMIT)
    assert decode_event(PROPOSAL_ID, *encode_event(PROPOSAL_ID, body, CLIENT_AUTHOR, time)).body == body


def test_longest_text_of_widest_characters_survives_encoding() -> None:
    for character in ("\U0010ffff", '"', "\n" + "\\"):
        body = Opened(
            "t" * 256,
            (character * MAX_TEXT_CHARACTERS)[:MAX_TEXT_CHARACTERS],
            "main",
            f"proposals/{PROPOSAL_ID}-x",
            None,
        )
        decoded_body = decode_event(PROPOSAL_ID, *encode_event(PROPOSAL_ID, body, GIT_AUTHOR, NOON)).body
        assert isinstance(decoded_body, Opened)
        assert len(decoded_body.description) >= MAX_TEXT_CHARACTERS - 1


@loop_over("fields", [{"kind": "voted"}, {"version": 2}, {"kind": "voted", "words": None}])
def test_events_of_later_versions_decode_as_unknown(fields: dict[str, object]) -> None:
    event = decode_event(*build_altered_event(**fields))
    assert event.body == UnknownEvent(str(fields.get("kind", "closed")), int(str(fields.get("version", 1))))
    assert event.author == GIT_AUTHOR


@loop_over(
    "fields",
    [
        {"proposal": "other"},
        {"proposal": "k7m2q9xb"},
        {"time": "2026-13-01T00:00:00.000Z"},
        {"time": "yesterday"},
        {"time": 5},
        {"author": None},
        {"author": {"name": "Ada", "email": "a@b", "known_by": "magic"}},
        {"author": {"name": ["Ada"], "email": "a@b", "known_by": "git"}},
        {"author": {"name": "A" * 2_000, "email": "a@b", "known_by": "git"}},
        {"kind": ""},
        {"kind": ["closed"]},
        {"kind": "closed\n"},
        {"version": 0},
        {"version": True},
        {"version": "1"},
        {"version": 10**10},
        {"after": None},
        {"after": ["x"]},
        {"after": ["9f2c51d0a7b3e846"] * 51},
        {"after": [["9f2c51d0a7b3e846"]]},
        {"words": None},
        {"words": []},
        {"words": {"text": 5}},
        {"words": {"text": "\udc80"}},
        {"words": {"text": "a" * (MAX_TEXT_CHARACTERS + 1)}},
        {"kind": "reviewed", "words": {"verdict": "maybe", "text": "", "commit": COMMIT}},
        {"kind": "reviewed", "words": {"verdict": "approve", "text": "", "commit": "main"}},
        {
            "kind": "opened",
            "words": {"title": "\x1b", "target": "main", "branch": f"proposals/{PROPOSAL_ID}"},
        },
        {
            "kind": "opened",
            "words": {"title": "t" * 10_000, "target": "main", "branch": f"proposals/{PROPOSAL_ID}"},
        },
        {"kind": "opened", "words": {"title": "t", "target": "main", "branch": "main"}},
        {"kind": "opened", "words": {"title": "t", "target": "main", "branch": "proposals/z0000001"}},
        {"kind": "commented", "words": {"text": "a", "place": "docs/a.md"}},
        {"kind": "commented", "words": {"text": "a", "place": {"path": "a.md", "digest": "1"}}},
        {"request": "key"},
    ],
    ids=lambda fields: str(fields)[:60],
)
def test_invalid_events_are_unreadable(fields: dict[str, object]) -> None:
    with pytest.raises(UnreadableEvent):
        decode_event(*build_altered_event(**fields))


@loop_over(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"\xff\xfe{}",
        b"[" * 100_000,
        b'{"a":' * 60_000,
        b'{"time": ' + b"9" * 10_000 + b"}",
        b" " * (MAX_EVENT_BYTES + 1),
        b"\x00" * 1_000,
    ],
    ids=lambda data: str(data[:10]),
)
def test_hostile_bytes_are_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableEvent):
        decode_event(PROPOSAL_ID, "20260131T120000000Z-9f2c51d0a7b3e846.json", data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=8)
        ),
        max_leaves=20,
    ),
    st.text(max_size=40),
)
def test_arbitrary_json_is_unreadable(value: object, name: str) -> None:
    with pytest.raises(UnreadableEvent):
        decode_event(PROPOSAL_ID, name, json.dumps(value).encode())


def test_manually_edited_event_is_unreadable() -> None:
    name, data = encode_event(PROPOSAL_ID, Closed("Done elsewhere."), GIT_AUTHOR, NOON)
    with pytest.raises(UnreadableEvent):
        decode_event(PROPOSAL_ID, name, data.replace(b"Done", b"Gone"))


def test_control_characters_in_names_and_titles_are_removed() -> None:
    author = Author("A\x1b[31m\nda", "a@b\r", IdentitySource.GIT)
    words = {"title": "One\n\x1b[2Jtwo", "target": "main", "branch": f"proposals/{PROPOSAL_ID}"}
    event = decode_event(*build_altered_event(author=author._asdict(), kind="opened", words=words))
    assert event.author.name == "A [31m da"
    assert isinstance(event.body, Opened)
    assert event.body.title == "One [2Jtwo"


def build_altered_event(**fields: object) -> tuple[str, str, bytes]:
    """Return an event with changed fields, in a file whose name contains the digest of its bytes."""
    _, data = encode_event(PROPOSAL_ID, Closed(), GIT_AUTHOR, NOON)
    new_data = json.dumps({**json.loads(data), **fields}).encode()
    return PROPOSAL_ID, f"20260131T120000000Z-{hashlib.sha256(new_data).hexdigest()[:16]}.json", new_data
