"""Long records: they are read once and cached, and return only links that may lead to a path."""

from __future__ import annotations

from index.link_graph.records import (
    MIN_LONG_RECORD_REFERENCES,
    LinkRecord,
    LongRecordCache,
    Reference,
    make_name_test,
)
from index.link_graph.store import LinkingDocument
from workspace.links.link import LinkKind

_NAMES = ["a.md", "A", "sub/a.markdown", "b.md#x", "../", "c%61.md", "sub/", "README.md", "aa.md", ""]


def _make_record(link_count: int, *, may_link_to_any_file: bool = False) -> LinkRecord:
    destinations = [_NAMES[number % len(_NAMES)] for number in range(link_count)]
    references = [
        Reference("x", line, LinkKind.INLINE, False, destination)
        for line, destination in enumerate(destinations, start=1)
    ]
    return LinkRecord(tuple(references), may_link_to_any_file)


def _make_linking_document(record: LinkRecord, blob: str = "blob") -> LinkingDocument:
    return LinkingDocument("toc.md", blob, record.to_bytes())


def _fail_on_read(path: str, blob: str) -> LinkRecord:
    raise AssertionError("the record must not be read: it is cached or passed in")


def test_long_record_returns_only_possible_references() -> None:
    records, record = LongRecordCache(), _make_record(MIN_LONG_RECORD_REFERENCES, may_link_to_any_file=True)
    for path in ("a.md", "sub/README.md", "b.md", "other.md"):
        may_match = make_name_test(path)
        expected = tuple(item for item in record.references if may_match(item.destination))
        for linking_document in (_make_linking_document(record), LinkingDocument("toc.md", "blob", None)):
            assert records.select_likely("", path, _fail_on_read, linking_document) == LinkRecord(
                expected, may_link_to_any_file=True
            )
    assert ("", "toc.md", "blob") in records


def test_short_record_is_returned_whole_and_not_cached() -> None:
    records, record = LongRecordCache(), _make_record(MIN_LONG_RECORD_REFERENCES - 1)
    assert records.select_likely("", "a.md", _fail_on_read, _make_linking_document(record)) == record
    assert ("", "toc.md", "blob") not in records
    document_without_record = LinkingDocument("toc.md", "blob", None)
    assert records.select_likely("", "a.md", lambda path, blob: record, document_without_record) == record


def test_cached_long_records_stay_within_limit() -> None:
    records, record = (
        LongRecordCache(2 * MIN_LONG_RECORD_REFERENCES),
        _make_record(MIN_LONG_RECORD_REFERENCES),
    )
    for blob in ("one", "two", "one", "three"):
        records.select_likely("", "a.md", _fail_on_read, _make_linking_document(record, blob))
    assert [("", "toc.md", blob) in records for blob in ("one", "two", "three")] == [True, False, True]
    records.select_likely(
        "",
        "a.md",
        _fail_on_read,
        _make_linking_document(_make_record(2 * MIN_LONG_RECORD_REFERENCES + 1), "four"),
    )
    assert ("", "toc.md", "four") not in records
