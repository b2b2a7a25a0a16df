"""The store of vectors: rows of several processes, damage, and removal."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from index.storage.manifest import IndexDamaged
from index.vectors.store import MAX_BLOCK_VECTORS, VectorStore
from tests.index.vectors.test_codes import make_digests, make_vectors


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "vectors.sqlite"


def read_ids(store: VectorStore, after: int = 0) -> list[int]:
    return [id for rows in store.read_codes(after) for id in rows.ids]


def test_vectors_of_one_process_are_read_by_another(file: Path) -> None:
    writer, reader = VectorStore(file, 8), VectorStore(file, 8)
    vectors, digests = make_vectors(3, 8), make_digests(3)
    rows = writer.add(digests, vectors, 10)
    assert reader.last_id() == rows.ids[-1]
    [read_rows] = reader.read_codes()
    assert (list(read_rows.ids), read_rows.digests) == (list(rows.ids), digests)
    np.testing.assert_array_equal(read_rows.codes.numbers, rows.codes.numbers)
    read_vectors = reader.read_vectors([*rows.ids, 99])
    assert list(read_vectors) == list(rows.ids)
    np.testing.assert_allclose(np.stack(list(read_vectors.values())), vectors, atol=1e-3)
    later_rows = writer.add(digests, vectors, 10)
    assert read_ids(reader, rows.ids[-1]) == list(later_rows.ids)


def test_probe_is_that_of_the_first_writer(file: Path) -> None:
    store = VectorStore(file, 4)
    assert store.read_probe() is None
    [first, second] = make_vectors(2, 4)
    store.write_probe(first)
    store.write_probe(second)
    np.testing.assert_array_equal(VectorStore(file, 4).read_probe(), first)


@pytest.mark.parametrize(
    ("table", "column"), [("blocks", "codes"), ("blocks", "vectors"), ("facts", "value")]
)
def test_changed_value_is_detected(file: Path, table: str, column: str) -> None:
    store = VectorStore(file, 4)
    store.write_probe(make_vectors(1, 4)[0])
    ids = store.add(make_digests(2), make_vectors(2, 4), 1).ids
    store.close()
    with sqlite3.connect(file) as connection:
        ((value,),) = connection.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchall()
        connection.execute(f"UPDATE {table} SET {column} = ?", [bytes([value[0] ^ 1]) + value[1:]])
    store = VectorStore(file, 4)
    reads = {
        "value": store.read_probe,
        "codes": lambda: list(store.read_codes()),
        "vectors": lambda: store.read_vectors(ids),
    }
    with pytest.raises(IndexDamaged):
        reads[column]()


def test_vectors_of_another_size_are_damage(file: Path) -> None:
    VectorStore(file, 4).add(make_digests(1), make_vectors(1, 4), 1)
    with pytest.raises(IndexDamaged):
        list(VectorStore(file, 8).read_codes())


def test_unused_vectors_are_removed_and_their_ids_are_not_used_again(file: Path) -> None:
    store = VectorStore(file, 4)
    count = 3 * MAX_BLOCK_VECTORS
    ids = store.add(make_digests(count), make_vectors(count, 4), 10).ids
    store.mark_used([ids[5], ids[-1]], 50)
    assert store.remove_unused(40) == MAX_BLOCK_VECTORS
    used_ids = [*ids[:MAX_BLOCK_VECTORS], *ids[2 * MAX_BLOCK_VECTORS :]]
    assert read_ids(store) == used_ids
    assert list(store.read_vectors(ids)) == used_ids
    new_ids = store.add(make_digests(1), make_vectors(1, 4), 50).ids
    assert new_ids[0] > ids[-1]


def test_finished_file_is_complete_and_stays_unchanged_when_it_is_read(file: Path) -> None:
    store = VectorStore(file, 4)
    ids = store.add(make_digests(2), make_vectors(2, 4), 0).ids
    store.finish()
    store.close()
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]
    data = file.read_bytes()
    file.chmod(0o400)
    reader = VectorStore(file, 4, read_only=True)
    assert list(reader.read_vectors(ids)) == list(ids)
    reader.close()
    assert file.read_bytes() == data
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("copied", [range(100), range(64), range(0, 100, 3), range(0)])
def test_copied_vectors_equal_the_original_ones(file: Path, tmp_path: Path, copied: range) -> None:
    digests, vectors = make_digests(100), make_vectors(100, 8)
    source, target = VectorStore(file, 8), VectorStore(tmp_path / "copy.sqlite", 8)
    ids = source.add(digests, vectors, 1).ids
    source.copy_to(target, {digests[number] for number in copied}, 1)
    rows = [*target.read_codes()]
    assert [digest for block in rows for digest in block.digests] == [digests[number] for number in copied]
    originals = source.read_vectors([ids[number] for number in copied])
    copies = target.read_vectors(read_ids(target))
    for original, copy in zip(originals.values(), copies.values(), strict=True):
        np.testing.assert_array_equal(copy, original)


def test_damaged_vectors_are_not_copied(file: Path, tmp_path: Path) -> None:
    source, target = VectorStore(file, 4), VectorStore(tmp_path / "copy.sqlite", 4)
    source.add(make_digests(2), make_vectors(2, 4), 1)
    with sqlite3.connect(file) as connection:
        ((value,),) = connection.execute("SELECT vectors FROM blocks").fetchall()
        connection.execute("UPDATE blocks SET vectors = ?", [bytes([value[0] ^ 1]) + value[1:]])
    with pytest.raises(IndexDamaged):
        source.copy_to(target, set(make_digests(2)), 1)
    assert read_ids(target) == []


def test_interrupted_transaction_leaves_the_earlier_rows(file: Path) -> None:
    store = VectorStore(file, 4)
    ids = store.add(make_digests(1), make_vectors(1, 4), 1).ids
    with pytest.raises(ValueError, match="dimension"):
        store.add(make_digests(2), make_vectors(1, 4), 1)
    assert read_ids(store) == list(ids)
