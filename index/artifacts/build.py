"""An artifact is built beside the one that stands in its folder, and takes its place in one step.

    objects/, index/, moves-….json     new files beside the old ones, under names of their own
    <digest>.manifest                  which of them are the new artifact
    metadata.json                      renamed into place: from now on readers find the new one

What a build that fails has written, it removes; what one that is killed leaves belongs to nobody, and the
next one removes it.
The files of the artifact before stay until then, for readers that are just opening it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

from index.artifacts import manifest as manifests
from index.artifacts.artifact import open_parts
from index.artifacts.claiming import claimed, sweep, undone, unwritable
from index.artifacts.contents import Contents, compose
from index.artifacts.manifest import (
    INDEX,
    ArtifactDamaged,
    ArtifactManifest,
    FileSum,
    NotAnArtifact,
    UnsupportedArtifact,
)
from index.artifacts.objects import store
from index.artifacts.settings import effective
from index.building.changing import built_anew, changed
from index.difference import difference
from index.port import Progress, State
from index.segments.generation import Generation, Part, counted
from index.segments.segment import file_name
from index.segments.store import write_pages
from index.source import GitSource, pages
from index.storage.describing import corpus_description, describe
from index.storage.files import write_atomically
from index.storage.location import METADATA, SCHEMA
from index.storage.manifest import IndexDamaged
from index.storage.metadata import MAX_VALUES, Metadata
from workspace.config.config import CONFIG_PATH, WorkspaceConfig
from workspace.config.manifests import read_manifest
from workspace.git.objects import blob_id
from workspace.git.pack_reader import PackedReader
from workspace.snapshot.snapshot import Snapshot


class Built(NamedTuple):
    """What was built: `indexed` counts the documents whose words were read, the others were taken over.

    `silent` counts those without a section, such as empty ones or pointers, and `unlisted` names the taxonomy
    keys of so many values that none is listed.
    """

    metadata: Metadata
    tree: str
    indexed: int
    silent: int
    unlisted: tuple[str, ...]


class _Previous(NamedTuple):
    """The artifact that stands in the folder, whose every sum is right, and what can be taken over from it.

    Objects prove themselves. An index is there if it is of our version, and carries our seal if it must.
    """

    name: str
    manifest: ArtifactManifest
    packs: Sequence[str]
    snapshot: Snapshot | None
    generation: Generation | None


class _Indexed(NamedTuple):
    parts: Sequence[Part]
    state: State
    documents: int


def build(
    contents: Contents,
    out: Path,
    *,
    description: str | None = None,
    taxonomy: Mapping[str, str | None] = {},
    key: bytes | None = None,
    progress: Progress | None = None,
    durable: bool = True,
) -> Built:
    """Build the artifact of some contents in a folder, from the last one there as far as that serves.

    With a key it is sealed, and only an index that carries its seal is taken over. Raises InvalidConfig and
    InvalidManifest before anything is written; BuildBusy, OutOccupied, ArtifactUnwritable, and what
    `contents` raises. The artifact that stood there is whole then, as it is if this process dies.
    """
    config, settings = effective(contents.config, contents.name, description, taxonomy)
    _check_manifests(contents, config)
    tree = compose({**contents.documents, **contents.manifests, CONFIG_PATH: blob_id(settings)})
    with claimed(out), unwritable(), undone(out):
        previous = _previous(out, key)
        packs = previous.packs if previous else ()
        files = store(out, contents, settings, tree, packs, progress, durable)
        snapshot = Snapshot(PackedReader(out, tree.id), tree.id)
        indexed = _indexed(out, previous, snapshot, progress, durable)
        parts = [_saved(part, out / INDEX, durable) for part in indexed.parts]
        files += [f"{INDEX}/{file_name(part.segment.id)}" for part in parts]
        files += _moves(out, contents.moves, durable)
        values = {name: counted(parts, name) for name in config.taxonomy_keys}
        metadata = describe(
            replace(indexed.state, commit=contents.commit),
            values,
            corpus_description(config.corpus.description, contents.name),
            config.taxonomy_keys,
        )
        manifest = ArtifactManifest(
            schema=SCHEMA,
            tree=tree.id,
            state=asdict(indexed.state),
            parts=[(part.segment.id, write_pages(part.dead_pages)) for part in parts],
            files={name: _sum(out, name, previous) for name in files},
        )
        _replace(out, previous, metadata, manifest, key, durable)
    return Built(
        metadata=metadata,
        tree=tree.id,
        indexed=indexed.documents,
        silent=sum(map(_silent, parts)),
        unlisted=tuple(
            name for name, found in values.items() if len(found) > MAX_VALUES and name in metadata.taxonomy
        ),
    )


def _check_manifests(contents: Contents, config: WorkspaceConfig) -> None:
    for path in contents.manifests:
        read_manifest(contents.read(path), path, tuple(config.taxonomy_keys))


def _previous(out: Path, key: bytes | None) -> _Previous | None:
    """Look at the artifact that stands in the folder; None if it is none, or damaged, and is removed then.

    One that is damaged would stand in the way: an object is read from whichever pack has it.
    """
    try:
        told = manifests.read_metadata_bytes(out)
        manifest = manifests.read(out, told)
        manifests.check_files(out, manifest)
    except UnsupportedArtifact:
        return None
    except (NotAnArtifact, ArtifactDamaged):
        sweep(out, [])
        return None
    packs = [Path(name).stem for name in manifest.files if name.endswith(".pack")]
    kept = _Previous(manifests.manifest_name(told), manifest, packs, None, None)
    if manifest.schema != SCHEMA or (key and not manifests.is_sealed(told, manifest, key)):
        return kept
    try:
        state, parts = open_parts(out, manifest)
    except (IndexDamaged, ArtifactDamaged):
        return kept
    snapshot = Snapshot(PackedReader(out, manifest.tree), manifest.tree)
    return kept._replace(snapshot=snapshot, generation=Generation(0, state, tuple(parts)))


def _indexed(
    out: Path, previous: _Previous | None, snapshot: Snapshot, progress: Progress | None, durable: bool
) -> _Indexed:
    """Take over what is the same in the last artifact and read the rest, or read everything."""
    if previous and previous.snapshot and previous.generation:
        found = difference(previous.snapshot, snapshot)
        if found is not None:
            upserts = pages(snapshot, found.upserts, progress, "Indexing changed documents")
            parts, state = changed(previous.generation, snapshot.commit, upserts, found.deletes)
            return _Indexed(parts, state, len(found.upserts))
    (out / INDEX).mkdir(exist_ok=True)
    parts, state = built_anew(GitSource(snapshot), out / INDEX, progress=progress, durable=durable)
    return _Indexed(parts, state, len(snapshot.documents))


def _replace(
    out: Path,
    previous: _Previous | None,
    metadata: Metadata,
    manifest: ArtifactManifest,
    key: bytes | None,
    durable: bool,
) -> None:
    """Let what was written be the artifact, and remove what is neither its nor of the one before."""
    told = metadata.as_bytes()
    name = manifests.write(out, told, manifest, key, durable=durable)
    write_atomically(out / METADATA, told, durable)
    # Two builds of one second may have the same metadata.json, and so one name of their manifests.
    before = [(previous.name, previous.manifest)] if previous else []
    sweep(out, [*before, (name, manifest)])


def _saved(part: Part, folder: Path, durable: bool) -> Part:
    if part.segment.stamp is not None:
        return part
    return replace(part, segment=part.segment.save(folder, durable))


def _moves(out: Path, moves: Mapping[str, str], durable: bool) -> list[str]:
    """Write where documents were that have moved, under a name of its own; give that, if there are any."""
    if not moves:
        return []
    data = (json.dumps(moves, indent=1, sort_keys=True) + "\n").encode()
    name = f"moves-{hashlib.sha256(data).hexdigest()[:16]}.json"
    write_atomically(out / name, data, durable)
    return [name]


def _sum(out: Path, name: str, previous: _Previous | None) -> FileSum:
    """Sum a file, unless that was done just now."""
    known = previous.manifest.files.get(name) if previous else None
    return known or FileSum.of(out / name)


def _silent(part: Part) -> int:
    """Count the live documents of a part that have no section."""
    firsts = part.segment.arrays["firsts"]
    return len({*(firsts[1:] == firsts[:-1]).nonzero()[0].tolist()} - part.dead_pages)
