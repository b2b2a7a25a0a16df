"""The manifest of an artifact: its list of files, and its seal."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.artifacts import manifest as manifests
from index.artifacts.manifest import (
    ArtifactDamaged,
    ArtifactManifest,
    FileDigest,
    NotAnArtifact,
    UnsupportedArtifact,
)
from index.storage.keys import KEY_BYTES
from tests.loops import loop_over
from workspace.errors import WorkspaceError

METADATA = b'{"metadata_version": "1.1.0"}\n'
SEGMENT = f"index/MAIN_{'0a' * 8}.flat"


def make_manifest(folder: Path) -> ArtifactManifest:
    file = folder / SEGMENT
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"postings")
    state = {"commit": "a" * 40, "files": 1, "chunks": 2}
    return ArtifactManifest(4, "a" * 40, state, (("0a" * 8, ""),), {SEGMENT: FileDigest.of(file)})


def test_written_manifest_is_read_back(tmp_path: Path, key: bytes) -> None:
    manifest = make_manifest(tmp_path)
    name = manifests.write_artifact_manifest(tmp_path, METADATA, manifest, key)
    assert name == manifests.make_manifest_name(METADATA)
    assert manifests.read_artifact_manifest(tmp_path, METADATA) == manifest
    assert [stamp.size for stamp in manifests.check_files(tmp_path, manifest)] == [len(b"postings")]


def test_seal_covers_key_manifest_and_metadata(tmp_path: Path, key: bytes) -> None:
    manifests.write_artifact_manifest(tmp_path, METADATA, make_manifest(tmp_path), key)
    manifest = manifests.read_artifact_manifest(tmp_path, METADATA)
    assert manifests.is_sealed(METADATA, manifest, key)
    assert not manifests.is_sealed(METADATA, manifest, bytes(KEY_BYTES))
    assert not manifests.is_sealed(METADATA + b" ", manifest, key)
    assert not manifests.is_sealed(METADATA, replace(manifest, tree="b" * 40), key)
    forged_files = {SEGMENT: FileDigest(8, "0" * 64)}
    assert not manifests.is_sealed(METADATA, replace(manifest, files=forged_files), key)
    manifests.write_artifact_manifest(tmp_path, METADATA, make_manifest(tmp_path))
    assert not manifests.is_sealed(METADATA, manifests.read_artifact_manifest(tmp_path, METADATA), key)


def test_manifest_for_other_metadata_raises_not_an_artifact(tmp_path: Path) -> None:
    manifests.write_artifact_manifest(tmp_path, METADATA, make_manifest(tmp_path))
    with pytest.raises(NotAnArtifact) as error_info:
        manifests.read_artifact_manifest(tmp_path, METADATA.replace(b"1.1.0", b"1.1.1"))
    assert str(error_info.value.details["file"]).endswith(".manifest")


def test_manifest_under_another_name_is_refused(tmp_path: Path) -> None:
    other_metadata = METADATA + b"\n"
    name = manifests.write_artifact_manifest(tmp_path, METADATA, make_manifest(tmp_path))
    (tmp_path / name).rename(tmp_path / manifests.make_manifest_name(other_metadata))
    with pytest.raises(ArtifactDamaged):
        manifests.read_artifact_manifest(tmp_path, other_metadata)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_changed_byte_is_refused_or_changes_nothing(tmp_path: Path, key: bytes, data: st.DataObject) -> None:
    manifest = make_manifest(tmp_path)
    file = tmp_path / manifests.write_artifact_manifest(tmp_path, METADATA, manifest, key)
    content = bytearray(file.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    try:
        assert manifests.read_artifact_manifest(tmp_path, METADATA) == manifest
    except WorkspaceError as error:
        assert isinstance(error, ArtifactDamaged | UnsupportedArtifact)  # noqa: PT017


@loop_over(
    "name", ["../secret", "/etc/passwd", "index/../../x", "index/MAIN_x.flat", "index/_MAIN_1.toc", "lock"]
)
def test_invalid_file_name_in_manifest_is_refused(tmp_path: Path, name: str) -> None:
    manifests.write_artifact_manifest(
        tmp_path, METADATA, replace(make_manifest(tmp_path), files={name: FileDigest(1, "0" * 64)})
    )
    with pytest.raises(ArtifactDamaged):
        manifests.read_artifact_manifest(tmp_path, METADATA)


def test_newer_manifest_format_is_refused_with_its_version(tmp_path: Path) -> None:
    file = tmp_path / manifests.write_artifact_manifest(tmp_path, METADATA, make_manifest(tmp_path))
    file.write_text(json.dumps({**json.loads(file.read_bytes()), "format": 2}))
    with pytest.raises(UnsupportedArtifact) as error_info:
        manifests.read_artifact_manifest(tmp_path, METADATA)
    assert error_info.value.details["version"] == 2


@loop_over("changes", [{"format": 0}, {"format": "1"}, {"files": {SEGMENT: [float("inf"), ""]}}])
def test_invalid_values_raise_artifact_damaged(tmp_path: Path, changes: dict[str, object]) -> None:
    file = tmp_path / manifests.write_artifact_manifest(tmp_path, METADATA, make_manifest(tmp_path))
    values = {**json.loads(file.read_bytes()), **changes}
    values.update(check="", seal=None)
    values_without_check = {name: value for name, value in values.items() if name not in ("check", "seal")}
    canonical = json.dumps(values_without_check, sort_keys=True, separators=(",", ":")).encode()
    file.write_text(json.dumps({**values, "check": hashlib.sha256(canonical).hexdigest()}))
    with pytest.raises(ArtifactDamaged):
        manifests.read_artifact_manifest(tmp_path, METADATA)


@loop_over("content", [b"", b"{", b"[]", b"null", b"7", b"[" * 100_000, b"\xff\xfe"])
def test_invalid_manifest_json_raises_artifact_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / manifests.make_manifest_name(METADATA)).write_bytes(content)
    with pytest.raises(ArtifactDamaged):
        manifests.read_artifact_manifest(tmp_path, METADATA)


def test_damaged_file_is_named_in_error(tmp_path: Path) -> None:
    manifest = make_manifest(tmp_path)
    file = tmp_path / SEGMENT
    for content, reason in ((b"posting", "7 bytes instead of 8"), (b"Postings", "sum is wrong")):
        file.write_bytes(content)
        with pytest.raises(ArtifactDamaged, match=reason) as error_info:
            manifests.check_files(tmp_path, manifest)
        assert error_info.value.details["file"] == SEGMENT
    file.unlink()
    with pytest.raises(ArtifactDamaged, match="missing"):
        manifests.check_files(tmp_path, manifest)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    manifest = replace(make_manifest(tmp_path), files={SEGMENT: FileDigest(0, "0" * 64)})
    (tmp_path / SEGMENT).unlink()
    os.mkfifo(tmp_path / SEGMENT)
    with pytest.raises(ArtifactDamaged):
        manifests.check_files(tmp_path, manifest)
    os.mkfifo(tmp_path / "metadata.json")
    with pytest.raises(NotAnArtifact):
        manifests.read_metadata_bytes(tmp_path)
    os.mkfifo(tmp_path / manifests.make_manifest_name(b"{}"))
    with pytest.raises(ArtifactDamaged):
        manifests.read_artifact_manifest(tmp_path, b"{}")
