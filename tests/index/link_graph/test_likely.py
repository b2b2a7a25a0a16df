"""Long records: read once, and of each only those links are given that may lead to a place."""

from __future__ import annotations

from index.link_graph.records import LONG_RECORD, LinkRecord, LongRecords, Reference, make_name_test
from index.link_graph.store import LinkingDocument
from workspace.links.link import LinkKind

_NAMES = ["a.md", "A", "sub/a.markdown", "b.md#x", "../", "c%61.md", "sub/", "README.md", "aa.md", ""]


def _record(links: int, *, is_open: bool = False) -> LinkRecord:
    named = [_NAMES[number % len(_NAMES)] for number in range(links)]
    found = [Reference("x", line, LinkKind.INLINE, False, name) for line, name in enumerate(named, start=1)]
    return LinkRecord(tuple(found), is_open)


def _found(record: LinkRecord, blob: str = "blob") -> LinkingDocument:
    return LinkingDocument("toc.md", blob, record.to_bytes())


def _again(path: str, blob: str) -> LinkRecord:
    raise AssertionError("it was kept, or given")


def test_of_a_long_record_those_are_given_that_may_lead_there() -> None:
    kept, record = LongRecords(), _record(LONG_RECORD, is_open=True)
    for path in ("a.md", "sub/README.md", "b.md", "other.md"):
        may_name = make_name_test(path)
        likely = tuple(item for item in record.references if may_name(item.destination))
        for found in (_found(record), LinkingDocument("toc.md", "blob", None)):
            assert kept.likely("", path, _again, found) == LinkRecord(likely, is_open=True)
    assert ("", "toc.md", "blob") in kept


def test_a_short_one_is_given_whole_and_not_kept() -> None:
    kept, record = LongRecords(), _record(LONG_RECORD - 1)
    assert kept.likely("", "a.md", _again, _found(record)) == record
    assert ("", "toc.md", "blob") not in kept
    gone = LinkingDocument("toc.md", "blob", None)
    assert kept.likely("", "a.md", lambda path, blob: record, gone) == record


def test_no_more_are_kept_than_there_is_room_for() -> None:
    kept, record = LongRecords(2 * LONG_RECORD), _record(LONG_RECORD)
    for blob in ("one", "two", "one", "three"):
        kept.likely("", "a.md", _again, _found(record, blob))
    assert [("", "toc.md", blob) in kept for blob in ("one", "two", "three")] == [True, False, True]
    kept.likely("", "a.md", _again, _found(_record(2 * LONG_RECORD + 1), "four"))
    assert ("", "toc.md", "four") not in kept
