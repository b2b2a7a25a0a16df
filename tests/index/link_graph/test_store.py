"""The link store, which is verified when it is opened: a changed byte is detected or harmless."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from index.link_graph.store import DocumentRow, GraphState, LinkStore
from index.port import BaseMoved
from index.storage.manifest import IndexDamaged

FIRST_STATE, SECOND_STATE = GraphState("1" * 40, "a" * 40, "rules"), GraphState("2" * 40, "b" * 40, "rules")
ROWS = [
    DocumentRow(f"{n}.md", f"{n:040}", b"[false,[]]" * n, frozenset({n, n * n, 7, 2**62 + n}))
    for n in range(1, 40)
]
KEYS = sorted({key for row in ROWS for key in row.keys})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "links.sqlite"


def fill_store(file: Path) -> None:
    with closing(LinkStore(file)) as store:
        store.replace(FIRST_STATE, ROWS, None)


def read_contents(store: LinkStore) -> object:
    return store.read_state(), [store.find_linking([key]) for key in KEYS]


def test_stored_rows_are_found_by_key(file: Path) -> None:
    fill_store(file)
    with closing(LinkStore(file)) as store:
        state, linking_documents = store.find_linking([16])
        assert state == FIRST_STATE
        assert [item.path for item in linking_documents] == ["16.md", "4.md"]
        assert len(store.find_linking([7])[1]) == len(ROWS)


def test_rows_and_state_change_together(file: Path) -> None:
    fill_store(file)
    with closing(LinkStore(file)) as store:
        store.apply(FIRST_STATE, SECOND_STATE, [ROWS[0]._replace(keys=frozenset({16}))], ["4.md", "never.md"])
        assert [item.path for item in store.find_linking([16])[1]] == ["1.md", "16.md"]
        with pytest.raises(BaseMoved):
            store.apply(FIRST_STATE, SECOND_STATE, [], [])
        with pytest.raises(BaseMoved):
            store.replace(FIRST_STATE, [], FIRST_STATE)
    with closing(LinkStore(file)) as reopened_store:
        assert reopened_store.read_state() == SECOND_STATE
        assert [item.path for item in reopened_store.find_linking([16])[1]] == ["1.md", "16.md"]


def test_failed_change_leaves_the_store_unchanged(file: Path) -> None:
    fill_store(file)

    def fail_on_read() -> list[DocumentRow]:
        raise RuntimeError("while rows are read")

    with closing(LinkStore(file)) as store:
        before = read_contents(store)
        with pytest.raises(RuntimeError):
            store.replace(SECOND_STATE, (row for _ in [0] for row in fail_on_read()), FIRST_STATE)
        with pytest.raises(RuntimeError):
            store.apply(FIRST_STATE, SECOND_STATE, (row for _ in [0] for row in fail_on_read()), ["1.md"])
        assert read_contents(store) == before
    with closing(LinkStore(file)) as reopened_store:
        assert read_contents(reopened_store) == before


@pytest.mark.property
def test_changed_byte_is_detected_or_harmless(file: Path) -> None:
    fill_store(file)
    data = file.read_bytes()
    with closing(LinkStore(file)) as store:
        expected = read_contents(store)
    detected_count = 0
    for position in range(0, len(data), 149):
        for leftover in file.parent.glob("links.sqlite-*"):
            leftover.unlink()
        file.write_bytes(
            data[:position] + bytes([data[position] ^ (1 << position % 8)]) + data[position + 1 :]
        )
        try:
            with closing(LinkStore(file)) as store:
                assert read_contents(store) == expected, position
        except IndexDamaged:
            detected_count += 1
    assert detected_count > 10


@pytest.mark.parametrize("preserved_share", [0.1, 0.5, 0.9])
def test_truncated_file_raises_index_damaged(file: Path, preserved_share: float) -> None:
    fill_store(file)
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * preserved_share)])
    with pytest.raises(IndexDamaged):
        LinkStore(file)


def test_file_that_is_not_a_database_raises_index_damaged(file: Path) -> None:
    file.write_bytes(b"not a database" * 100)
    with pytest.raises(IndexDamaged):
        LinkStore(file)
