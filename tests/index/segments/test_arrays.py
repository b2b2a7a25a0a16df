"""Files of arrays: a file contains the written arrays, and a damaged file is refused."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from index.segments.arrays import map_flat, pack, unpack, write_flat
from index.storage.manifest import IndexDamaged
from tests.loops import loop_over

TYPES = ("u1", "<u4", "<i4", "<u8", "<i8")
ARRAYS = {
    "ids": np.arange(5, dtype=np.uint32),
    "none": np.empty((0, 3), np.int32),
    "weights": np.arange(9, dtype=np.uint8),
}


@st.composite
def arrays(draw: st.DrawFn) -> NDArray[Any]:
    shape = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    size = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer(draw(st.binary(min_size=size, max_size=size)), dtype).reshape(shape)


def pack_arrays(arrays_by_name: dict[str, NDArray[Any]], value: object = None) -> bytes:
    return b"".join(pack(arrays_by_name, value))


@given(st.dictionaries(st.text(max_size=5), arrays(), max_size=5), st.dictionaries(st.text(), st.integers()))
def test_packed_arrays_are_unpacked_unchanged(
    arrays_by_name: dict[str, NDArray[Any]], value: dict[str, int]
) -> None:
    flat = unpack(pack_arrays(arrays_by_name, value))
    assert flat.value == value
    assert list(flat.arrays) == list(arrays_by_name)
    for name, array in arrays_by_name.items():
        assert flat.arrays[name].dtype == array.dtype
        assert flat.arrays[name].shape == array.shape
        assert np.array_equal(flat.arrays[name], array)


@loop_over("durable", [False, True])
def test_written_file_equals_packed_bytes_and_checksum(tmp_path: Path, durable: bool) -> None:
    file = tmp_path / "some.flat"
    checksum = write_flat(file, ARRAYS, [1], durable)
    data = file.read_bytes()
    assert data == pack_arrays(ARRAYS, [1])
    assert checksum == (len(data), zlib.crc32(data))


def test_mapped_file_stays_readable_after_removal(tmp_path: Path) -> None:
    file = tmp_path / "some.flat"
    write_flat(file, ARRAYS, "value")
    flat = map_flat(file)
    file.unlink()
    assert flat.value == "value"
    assert flat.arrays["ids"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="read-only"):
        flat.arrays["ids"][0] = 1


def test_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "some.flat"
    write_flat(file, ARRAYS)
    with pytest.raises(FileExistsError):
        write_flat(file, {})


def test_missing_or_empty_file_raises_index_damaged(tmp_path: Path) -> None:
    with pytest.raises(IndexDamaged):
        map_flat(tmp_path / "none.flat")
    (tmp_path / "empty.flat").touch()
    with pytest.raises(IndexDamaged):
        map_flat(tmp_path / "empty.flat")


def test_truncated_file_is_refused_unless_only_padding_is_missing() -> None:
    data = pack_arrays(ARRAYS)
    last_size = ARRAYS["weights"].nbytes
    for size in range(len(data)):
        try:
            flat = unpack(data[:size])
        except IndexDamaged:
            continue
        assert size >= len(data) - (-last_size % 8)
        assert flat.arrays["weights"].tolist() == ARRAYS["weights"].tolist()


def test_changed_byte_is_refused_or_read_within_the_file() -> None:
    original = pack_arrays(ARRAYS)
    for position in range(len(original)):
        for mask in (1, 0x10, 0x80):
            data = bytearray(original)
            data[position] ^= mask
            try:
                flat = unpack(bytes(data))
            except IndexDamaged:
                continue
            assert all(array.nbytes <= len(original) for array in flat.arrays.values())


@loop_over(
    "array_entry",
    [
        ["<u4", [5], 8],  # ends beyond the file
        ["<u4", [1], 1 << 60],
        ["<u4", [1 << 62, 1 << 62], 0],
        ["<u4", [-1], 0],
        ["<u4", [1], -8],
        ["<u4", [1], 4],  # not at a multiple of 8
        ["<u4", [1.0], 0],
        ["<u4", [True], 0],
        ["<u4", "1", 0],
        ["|O", [1], 0],
        ["<f8", [1], 0],
        ["<u4", [1]],
        None,
    ],
)
def test_invalid_array_entry_is_refused(array_entry: object) -> None:
    head = json.dumps({"arrays": {"ids": array_entry}, "value": None}).encode()
    head += b" " * (-len(head) % 8)
    with pytest.raises(IndexDamaged):
        unpack(b"docyard\x01" + len(head).to_bytes(8, "little") + head + bytes(24))


@loop_over("head", [b"[]      ", b"null    ", b"{}      ", b"[" * 100_000, b'{"arrays": 1}   '])
def test_invalid_file_header_is_refused(head: bytes) -> None:
    with pytest.raises(IndexDamaged):
        unpack(b"docyard\x01" + len(head).to_bytes(8, "little") + head)
