"""An artifact is built beside the one that stands in its folder, and takes its place in one step.

    objects/, index/, moves-….json     new files beside the old ones, under names of their own
    <digest>.manifest                  which of them are the new artifact
    metadata.json                      renamed into place: from now on readers find the new one

What a build that fails has written, it removes; what one that is killed leaves belongs to nobody, and the
next one removes it.
The files of the artifact before stay until then, for readers that are just opening it.

The folder that an artifact is built in: it is the builder's alone, and holds nothing of anybody else's.

The settings of an artifact: those of its source and the builder's own, as one `docyard.toml`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import ClassVar, NamedTuple

from index.artifacts import manifest as manifests
from index.artifacts.artifact import open_parts
from index.artifacts.contents import Contents, compose
from index.artifacts.manifest import (
    INDEX,
    ArtifactDamaged,
    ArtifactManifest,
    FileSum,
    NotAnArtifact,
    UnsupportedArtifact,
    manifest_name,
    read_file,
)
from index.artifacts.objects import PACKS, store
from index.building.build import built_anew, changed
from index.port import Progress, State
from index.segments.generation import Generation, Part, counted
from index.segments.segment import file_name
from index.segments.store import write_pages
from index.source import GitSource, difference, pages
from index.storage.files import IndexUnwritable, remove, write_atomically
from index.storage.location import METADATA, SCHEMA
from index.storage.locking import IndexBusy, locked
from index.storage.manifest import IndexDamaged
from index.storage.metadata import MAX_VALUES, Metadata, corpus_description, describe
from workspace.config.config import CONFIG_PATH, Limits, WorkspaceConfig
from workspace.config.taxonomy import read_manifest
from workspace.errors import WorkspaceError
from workspace.git.objects import hash_blob
from workspace.git.pack_reader import PackedReader
from workspace.snapshot.snapshot import Snapshot

LOCK = "lock"


_FOLDERS = ("", INDEX, "objects", PACKS)


_FILES = re.compile(
    r"(?:metadata\.json|[0-9a-f]{16}\.manifest|moves-[0-9a-f]{16}\.json)(?:-[0-9a-f]{8}\.draft)?"
    r"|index/MAIN_[0-9a-f]{16}\.flat"
    r"|objects/pack/(?:pack-[0-9a-f]{40}\.(?:pack|idx)|[0-9a-f]{16}(?:\.idx)?\.draft)"
)


class BuildBusy(WorkspaceError):
    """Another process is building into this folder."""

    code: ClassVar[str] = "BUILD_BUSY"


class OutOccupied(WorkspaceError):
    """The folder to build into holds something else, and nothing of that is touched."""

    code: ClassVar[str] = "OUT_OCCUPIED"


class ArtifactUnwritable(WorkspaceError):
    """The folder to build into cannot be written: the disk is full, or permissions forbid it."""

    code: ClassVar[str] = "ARTIFACT_UNWRITABLE"


@contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Be the only builder of a folder, which is made. Raises BuildBusy, OutOccupied, ArtifactUnwritable."""
    with ExitStack() as stack:
        with unwritable():
            check_free(out)
            out.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(locked(out / LOCK, patience=0))
            except IndexBusy:
                raise BuildBusy(
                    "another process is building into this folder",
                    fix="Wait until it is done, or build into another folder.",
                ) from None
        # While it is still held: who opens it meanwhile finds that it is gone, and makes another.
        stack.callback(_unlock, out / LOCK)
        yield


@contextmanager
def undone(out: Path) -> Iterator[None]:
    """Remove what was written since, if the build is given up before the new artifact has taken its place.

    One that runs out of room must not be what fills the disk.
    """
    before, standing = {*_names(out)}, _standing(out)
    try:
        yield
    except BaseException:
        if _standing(out) == standing:
            remove(out / name for name in _names(out) if _FILES.fullmatch(name) and name not in before)
        raise


@contextmanager
def unwritable() -> Iterator[None]:
    """Turn the system's refusals to write into ArtifactUnwritable."""
    try:
        yield
    except (OSError, IndexUnwritable) as error:
        cause = error.__cause__ if isinstance(error, IndexUnwritable) else error
        reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else type(cause).__name__
        raise ArtifactUnwritable(
            f"the artifact cannot be written: {reason}",
            fix="Make room or mend the folder's permissions; the artifact that stood there is whole.",
        ) from error


def check_free(out: Path) -> None:
    """Raise OutOccupied unless the folder is empty, missing, or holds an artifact or what a build left."""
    fix = "Name an empty folder, a new one, or that of an earlier build with --out."
    if os.path.lexists(out) and not out.is_dir():
        raise OutOccupied("an artifact is a folder, and something else stands there", fix=fix)
    for folder in (out, *Path(os.path.realpath(out)).parents):
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
            raise OutOccupied("this folder is a part of Git's own, where nothing else is put", fix=fix)
    if not out.is_dir() or _standing(out) is not None:
        return
    others = [name for name in _names(out) if name not in (*_FOLDERS, LOCK) and not _FILES.fullmatch(name)]
    if others:
        raise OutOccupied("the folder holds something that is no artifact", fix=fix, entries=others[:5])


def sweep(out: Path, kept: Sequence[tuple[str, ArtifactManifest]]) -> None:
    """Remove the files of builds that are of none of these manifests, each with its file's name."""
    files = {
        METADATA,
        *(name for name, _ in kept),
        *(name for _, manifest in kept for name in manifest.files),
    }
    remove(out / name for name in _names(out) if _FILES.fullmatch(name) and name not in files)


def _names(out: Path) -> list[str]:
    """Return what stands in the folder, and in those that builds make in it; sorted."""
    places = [(folder, out / folder) for folder in _FOLDERS if (out / folder).is_dir()]
    return sorted(
        f"{folder}/{entry.name}".lstrip("/") for folder, place in places for entry in place.iterdir()
    )


def _standing(out: Path) -> tuple[bytes, bytes] | None:
    """The metadata and the manifest of the artifact that the folder holds now; None if it holds none."""
    with suppress(OSError):
        told = read_file(out / METADATA)
        return told, read_file(out / manifest_name(told))
    return None


def _unlock(lock: Path) -> None:
    with suppress(OSError):
        lock.unlink()


def effective(
    config: WorkspaceConfig, name: str, description: str | None, taxonomy: Mapping[str, str | None]
) -> tuple[WorkspaceConfig, bytes]:
    """Return the settings by which an artifact is read, and their file.

    `name` describes the corpus where nothing else does; `taxonomy` has the keys that the builder declares,
    and describes. What decides which files are documents has done so already, and is left out. Raises
    InvalidConfig, whose field is `corpus.description` or begins with `taxonomy`.
    """
    keys = {key: declared.description for key, declared in config.taxonomy.items()}
    keys |= {key: text for key, text in taxonomy.items() if text is not None or key not in keys}
    values: dict[str, Mapping[str, object]] = {
        "corpus": {"description": description or config.corpus.description or corpus_description(None, name)},
        "limits": _limits(config),
        **{f"taxonomy.{_quoted(key)}": {"description": text} for key, text in keys.items()},
    }
    data = "".join(_lines({"root": config.root}, values)).encode("utf-8", "replace")
    return WorkspaceConfig.read(data), data


def _limits(config: WorkspaceConfig) -> Mapping[str, object]:
    """Return the limits; earlier versions of docyard do not know `text_tokens` and would refuse it."""
    own = config.limits.model_dump()
    return own if config.limits.text_tokens != Limits().text_tokens else {**own, "text_tokens": None}


def _lines(top: Mapping[str, object], tables: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    yield f"# {CONFIG_PATH} as `docyard build` found it, with its own options\n"
    for name, value in top.items():
        yield f"{name} = {_value(value)}\n"
    for table, values in tables.items():
        yield f"\n[{table}]\n"
        for name, value in values.items():
            if value is not None:
                yield f"{name} = {_value(value)}\n"


def _value(value: object) -> str:
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    """Write a basic string, which is one of JSON's but for one character (TOML 1.0, "String")."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


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
    tree = compose({**contents.documents, **contents.manifests, CONFIG_PATH: hash_blob(settings)})
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
