"""The git program verifies written packs, and libgit2 reads every object."""

from __future__ import annotations

from pathlib import Path

import pygit2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.repositories import create_empty_repository
from workspace.git import packs
from workspace.git.objects import FILE_MODE, TreeEntry, encode_tree, hash_object
from workspace.git.packs import ObjectChanged, PackedObject, read_packed_ids, write_pack


def build_blob(data: bytes) -> PackedObject:
    return PackedObject("blob", hash_object("blob", data), data)


def read_objects(folder: Path) -> dict[str, bytes]:
    odb = pygit2.Odb(str(folder.parent))
    return {str(id): odb.read(id)[1] for id in odb}


def test_git_verifies_a_pack_of_blobs_and_a_tree(tmp_path: Path) -> None:
    repo = create_empty_repository(tmp_path / "repo")
    blobs = [
        build_blob(bytes([byte]) * size) for byte, size in enumerate((0, 1, 15, 16, 2047, 2048, 300_000))
    ]
    data = encode_tree(TreeEntry(f"{number}.md", blob.id, FILE_MODE) for number, blob in enumerate(blobs))
    tree = PackedObject("tree", hash_object("tree", data), data)
    folder = repo.path / ".git" / "objects" / "pack"
    name = write_pack(folder, [*blobs, tree], len(blobs) + 1)
    assert f"{name}.pack: ok" in repo.git("verify-pack", "-v", str(folder / f"{name}.idx"))
    assert repo.fsck() == ""
    assert repo.git("cat-file", "-p", f"{tree.id}:2.md") == "\x02" * 15


@given(st.sets(st.binary(max_size=5_000), max_size=30))
def test_every_packed_object_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, contents: set[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("objects") / "pack"
    folder.mkdir()
    objects = [build_blob(data) for data in contents]
    name = write_pack(folder, objects, len(objects))
    assert read_objects(folder) == {git_object.id: git_object.data for git_object in objects}
    assert read_packed_ids(folder / f"{name}.idx") == {git_object.id for git_object in objects}


def test_offset_over_two_gigabytes_is_in_large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    locations = {
        bytes([byte] * 20): packs._ObjectLocation(offset, byte) for byte, offset in ((1, 12), (2, 3 << 31))
    }
    data = packs._encode_index(locations, bytes(20))
    # The index ends with the table of large offsets (8 bytes each), the checksum of the pack and its own.
    assert (3 << 31).to_bytes(8, "big") + bytes(20) == data[-48:-20]
    assert (1 << 31).to_bytes(4, "big") == data[-52:-48]


def test_same_objects_make_same_pack(tmp_path: Path) -> None:
    first_objects, second_objects = ([build_blob(b"one"), build_blob(b"two")] for _ in range(2))
    assert write_pack(tmp_path, first_objects, 2) == write_pack(tmp_path, second_objects, 2)
    assert len(list(tmp_path.iterdir())) == 2


def test_changed_object_bytes_are_not_packed(tmp_path: Path) -> None:
    changed_object = PackedObject("blob", hash_object("blob", b"old bytes"), b"new bytes")
    with pytest.raises(ObjectChanged) as error_info:
        write_pack(tmp_path, [build_blob(b"fine"), changed_object], 2)
    assert error_info.value.id == changed_object.id
    assert list(tmp_path.iterdir()) == []


def test_wrong_object_count_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="objects were written instead of"):
        write_pack(tmp_path, [build_blob(b"one")], 2)
    assert list(tmp_path.iterdir()) == []


@loop_over("length", [0, 7, 500, 1040])
def test_truncated_pack_index_is_refused(tmp_path: Path, length: int) -> None:
    name = write_pack(tmp_path, [build_blob(b"one"), build_blob(b"two")], 2)
    index = tmp_path / f"{name}.idx"
    index.write_bytes(index.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"index of (a|the) pack"):
        read_packed_ids(index)
