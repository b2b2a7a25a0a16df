"""The link store is verified when it is opened: a changed byte is detected or harmless."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from index.link_graph.store import DocumentRow, GraphState, LinkStore
from index.port import BaseMoved
from index.storage.manifest import IndexDamaged

ONE, TWO = GraphState("1" * 40, "a" * 40, "rules"), GraphState("2" * 40, "b" * 40, "rules")
ROWS = [
    DocumentRow(f"{n}.md", f"{n:040}", b"[false,[]]" * n, frozenset({n, n * n, 7, 2**62 + n}))
    for n in range(1, 40)
]
KEYS = sorted({key for row in ROWS for key in row.keys})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "links.sqlite"


def fill(file: Path) -> None:
    with closing(LinkStore(file)) as store:
        store.replace(ONE, ROWS, None)


def contents(store: LinkStore) -> object:
    return store.read_state(), [store.find_linking([key]) for key in KEYS]


def test_stored_rows_are_found_by_key(file: Path) -> None:
    fill(file)
    with closing(LinkStore(file)) as store:
        state, linking = store.find_linking([16])
        assert state == ONE
        assert [item.path for item in linking] == ["16.md", "4.md"]
        assert len(store.find_linking([7])[1]) == len(ROWS)


def test_rows_and_state_change_together(file: Path) -> None:
    fill(file)
    with closing(LinkStore(file)) as store:
        store.apply(ONE, TWO, [ROWS[0]._replace(keys=frozenset({16}))], ["4.md", "never.md"])
        assert [item.path for item in store.find_linking([16])[1]] == ["1.md", "16.md"]
        with pytest.raises(BaseMoved):
            store.apply(ONE, TWO, [], [])
        with pytest.raises(BaseMoved):
            store.replace(ONE, [], ONE)
    with closing(LinkStore(file)) as again:
        assert again.read_state() == TWO
        assert [item.path for item in again.find_linking([16])[1]] == ["1.md", "16.md"]


def test_failed_change_leaves_the_store_unchanged(file: Path) -> None:
    fill(file)

    def failing() -> list[DocumentRow]:
        raise RuntimeError("while rows are read")

    with closing(LinkStore(file)) as store:
        before = contents(store)
        with pytest.raises(RuntimeError):
            store.replace(TWO, (row for _ in [0] for row in failing()), ONE)
        with pytest.raises(RuntimeError):
            store.apply(ONE, TWO, (row for _ in [0] for row in failing()), ["1.md"])
        assert contents(store) == before
    with closing(LinkStore(file)) as again:
        assert contents(again) == before


@pytest.mark.property
def test_changed_byte_is_detected_or_harmless(file: Path) -> None:
    fill(file)
    whole = file.read_bytes()
    with closing(LinkStore(file)) as store:
        truth = contents(store)
    detected_count = 0
    for position in range(0, len(whole), 149):
        for leftover in file.parent.glob("links.sqlite-*"):
            leftover.unlink()
        file.write_bytes(
            whole[:position] + bytes([whole[position] ^ (1 << position % 8)]) + whole[position + 1 :]
        )
        try:
            with closing(LinkStore(file)) as store:
                assert contents(store) == truth, position
        except IndexDamaged:
            detected_count += 1
    assert detected_count > 10


@pytest.mark.parametrize("cut", [0.0, 0.1, 0.5, 0.9])
def test_truncated_or_foreign_file_raises_index_damaged(file: Path, cut: float) -> None:
    fill(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * cut)] or b"not a database" * 100)
    with pytest.raises(IndexDamaged):
        LinkStore(file)
