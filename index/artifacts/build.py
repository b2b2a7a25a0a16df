"""The build of an artifact: written next to the current one, which it replaces in one step.

    objects/, index/, moves-….json     new files next to the old ones, with unique names
    <digest>.manifest                  the list of the new artifact's files
    metadata.json                      renamed into place: readers now find the new artifact

A failed build removes the files that it wrote; the files of a killed build are removed by the next build. The
next build also removes the files of the previous artifact, which readers may be opening until then.

The folder of an artifact contains nothing else, and only builds write to it. The settings of an artifact are
those of its source combined with the options of the build, as one `docyard.toml`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from index.artifacts import manifest as manifests
from index.artifacts.artifact import map_segments
from index.artifacts.contents import Contents, build_tree
from index.artifacts.manifest import (
    INDEX_FOLDER,
    ArtifactDamaged,
    ArtifactManifest,
    FileDigest,
    NotAnArtifact,
    UnsupportedArtifact,
    make_manifest_name,
    read_regular_file,
)
from index.artifacts.objects import PACKS_FOLDER, store_objects
from index.building.build import apply_change, build_index
from index.port import DocumentSource, Progress, State
from index.segments.generation import IndexSnapshot, SegmentReader, count_values
from index.segments.segment import make_file_name
from index.segments.store import encode_numbers
from index.source import GitSource, diff_snapshots, read_documents
from index.storage.files import IndexUnwritable, remove_entries, write_atomically
from index.storage.location import METADATA_FILE, SCHEMA_VERSION
from index.storage.locking import IndexBusy, hold_lock
from index.storage.manifest import IndexDamaged
from index.storage.metadata import (
    MAX_VALUES,
    Embedding,
    Metadata,
    describe_index,
    format_corpus_description,
)
from workspace.config.config import Limits, WorkspaceConfig
from workspace.config.taxonomy import read_manifest
from workspace.config.toml import CONFIG_PATH
from workspace.errors import WorkspaceError
from workspace.git.objects import hash_blob
from workspace.git.pack_reader import PackedReader
from workspace.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from index.vectors.provider import Provider
    from index.vectors.vector_index import VectorIndex

LOCK_FILE = "lock"
_FOLDERS = ("", INDEX_FOLDER, "objects", PACKS_FOLDER)

_FILE_NAME = re.compile(
    r"(?:metadata\.json|[0-9a-f]{16}\.manifest|moves-[0-9a-f]{16}\.json)(?:-[0-9a-f]{8}\.draft)?"
    r"|index/MAIN_[0-9a-f]{16}\.flat"
    r"|index/vectors-[0-9a-f]{16}\.sqlite(?:-wal|-shm|-journal)?"
    r"|objects/pack/(?:pack-[0-9a-f]{40}\.(?:pack|idx)|[0-9a-f]{16}(?:\.idx)?\.draft)"
)


class BuildBusy(WorkspaceError):
    """Another process is building into this folder."""

    code: ClassVar[str] = "BUILD_BUSY"


class OutputFolderOccupied(WorkspaceError):
    """The path to build into is not a folder, is inside a Git directory, or has other files."""

    code: ClassVar[str] = "OUT_OCCUPIED"


class ArtifactUnwritable(WorkspaceError):
    """The folder to build into cannot be written, for example because the disk is full."""

    code: ClassVar[str] = "ARTIFACT_UNWRITABLE"


@contextmanager
def lock_folder(out: Path) -> Iterator[None]:
    """Create a folder and lock it for one build.

    Raises BuildBusy, OutputFolderOccupied, ArtifactUnwritable.
    """
    with ExitStack() as stack:
        with translate_artifact_write_errors():
            check_output_folder(out)
            out.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(hold_lock(out / LOCK_FILE, timeout_s=0))
            except IndexBusy:
                raise BuildBusy(
                    "another process is building into this folder",
                    fix="Wait until that build has finished, or build into another folder.",
                ) from None
        # The file is removed while it is locked. A process that has opened the file detects the removal.
        stack.callback(_remove_lock_file, out / LOCK_FILE)
        yield


@contextmanager
def remove_new_files_on_failure(out: Path) -> Iterator[None]:
    """Remove the new files if the build fails before the new artifact replaces the old one.

    After a build that fails because the disk is full, its space must be free again.
    """
    names_before, artifact_before = {*_list_file_names(out)}, _read_current_artifact(out)
    try:
        yield
    except BaseException:
        if _read_current_artifact(out) == artifact_before:
            remove_entries(
                out / name
                for name in _list_file_names(out)
                if _FILE_NAME.fullmatch(name) and name not in names_before
            )
        raise


@contextmanager
def translate_artifact_write_errors() -> Iterator[None]:
    """Translate OSError and IndexUnwritable into ArtifactUnwritable."""
    try:
        yield
    except (OSError, IndexUnwritable) as error:
        cause = error.__cause__ if isinstance(error, IndexUnwritable) else error
        reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else type(cause).__name__
        raise ArtifactUnwritable(
            f"the artifact cannot be written: {reason}",
            fix="Free disk space, or fix the folder's permissions. The previous artifact is intact.",
        ) from error


def check_output_folder(out: Path) -> None:
    """Raise OutputFolderOccupied if a build must not write to the path.

    It must not be a file or be inside a Git directory. A folder without an artifact must be empty, except for
    leftovers of a build.
    """
    fix = "Name an empty folder, a new one, or that of an earlier build with --out."
    if os.path.lexists(out) and not out.is_dir():
        raise OutputFolderOccupied("the artifact's path must be a folder", fix=fix)
    for folder in (out, *Path(os.path.realpath(out)).parents):
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
            raise OutputFolderOccupied("the folder must not be inside a Git directory", fix=fix)
    if not out.is_dir() or _read_current_artifact(out) is not None:
        return
    other_names = [
        name
        for name in _list_file_names(out)
        if name not in (*_FOLDERS, LOCK_FILE) and not _FILE_NAME.fullmatch(name)
    ]
    if other_names:
        raise OutputFolderOccupied(
            "the folder contains files that do not belong to an artifact", fix=fix, entries=other_names[:5]
        )


def remove_unlisted_files(out: Path, manifests: Sequence[tuple[str, ArtifactManifest]]) -> None:
    """Remove the files that no manifest lists. Each manifest is given with its file name."""
    files = {
        METADATA_FILE,
        *(name for name, _ in manifests),
        *(name for _, manifest in manifests for name in manifest.files),
    }
    remove_entries(
        out / name for name in _list_file_names(out) if _FILE_NAME.fullmatch(name) and name not in files
    )


def _list_file_names(out: Path) -> list[str]:
    """Return the names in the folder and in the folders that builds create there, sorted."""
    folders = [(folder, out / folder) for folder in _FOLDERS if (out / folder).is_dir()]
    return sorted(
        f"{folder}/{entry.name}".lstrip("/") for folder, path in folders for entry in path.iterdir()
    )


def _read_current_artifact(out: Path) -> tuple[bytes, bytes] | None:
    """Return the metadata and the manifest of the folder's current artifact; None without one."""
    with suppress(OSError):
        metadata = read_regular_file(out / METADATA_FILE)
        return metadata, read_regular_file(out / make_manifest_name(metadata))
    return None


def _remove_lock_file(lock: Path) -> None:
    with suppress(OSError):
        lock.unlink()


def make_settings(
    config: WorkspaceConfig, name: str, description: str | None, taxonomy: Mapping[str, str | None]
) -> tuple[WorkspaceConfig, bytes]:
    """Return the settings of an artifact, and the bytes of their file.

    `name` is the default description of the corpus; `taxonomy` has the keys that the build declares, with
    their descriptions. Settings that select documents are left out, because they are already applied. Raises
    InvalidConfig, whose field is `corpus.description` or begins with `taxonomy`.
    """
    keys = {key: table.description for key, table in config.taxonomy.items()}
    keys |= {key: text for key, text in taxonomy.items() if text is not None or key not in keys}
    values: dict[str, Mapping[str, object]] = {
        "corpus": {
            "description": description or config.corpus.description or format_corpus_description(None, name)
        },
        "limits": _make_limits(config),
        **{f"taxonomy.{_quote_toml(key)}": {"description": text} for key, text in keys.items()},
    }
    data = "".join(_format_toml({"root": config.root}, values)).encode("utf-8", "replace")
    return WorkspaceConfig.read(data), data


def _make_limits(config: WorkspaceConfig) -> Mapping[str, object]:
    """Return the limits, without a default `text_tokens`, which earlier versions of Docyard refuse."""
    limits = config.limits.model_dump()
    return limits if config.limits.text_tokens != Limits().text_tokens else {**limits, "text_tokens": None}


def _format_toml(
    root_values: Mapping[str, object], tables: Mapping[str, Mapping[str, object]]
) -> Iterator[str]:
    yield f"# {CONFIG_PATH} of the source, combined with the options of `docyard build`\n"
    for name, value in root_values.items():
        yield f"{name} = {_format_toml_value(value)}\n"
    for table, values in tables.items():
        yield f"\n[{table}]\n"
        for name, value in values.items():
            if value is not None:
                yield f"{name} = {_format_toml_value(value)}\n"


def _format_toml_value(value: object) -> str:
    return _quote_toml(value) if isinstance(value, str) else str(value)


def _quote_toml(text: str) -> str:
    """Return a TOML basic string: a JSON string except for one character (TOML 1.0, "String")."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


class ArtifactBuild(NamedTuple):
    """The result of a build: `indexed_count` counts the documents that were read; the others were reused.

    `sectionless_count` counts the documents without a section, such as empty ones. `unlisted_keys`
    are the taxonomy keys with too many values to be listed.
    """

    metadata: Metadata
    tree: str
    indexed_count: int
    sectionless_count: int
    unlisted_keys: tuple[str, ...]


class _PreviousArtifact(NamedTuple):
    """The verified artifact in the folder, and its reusable contents.

    Objects are reusable because their ids are digests. The index is reusable if it has our version, and, in a
    build with a key, the seal of that key.
    """

    name: str
    manifest: ArtifactManifest
    packs: Sequence[str]
    snapshot: Snapshot | None
    generation: IndexSnapshot | None


class _BuiltIndex(NamedTuple):
    """A new index: its segments, its state, and the number of documents that were read for it."""

    segment_readers: Sequence[SegmentReader]
    state: State
    read_count: int


def build_artifact(
    contents: Contents,
    out: Path,
    *,
    description: str | None = None,
    taxonomy: Mapping[str, str | None] = {},
    key: bytes | None = None,
    provider: Provider | None = None,
    progress: Progress | None = None,
    durable: bool = True,
) -> ArtifactBuild:
    """Build an artifact in a folder, and reuse the unchanged objects and segments of the previous one.

    With a key the artifact is sealed, and only an index with the seal of that key is reused. With a
    provider, it has the vectors of its sections. Raises EmbeddingUnavailable, and InvalidConfig and
    InvalidManifest before anything is written; also BuildBusy, OutputFolderOccupied, ArtifactUnwritable, and
    the errors of `contents`. After an error or a crash the previous artifact is intact.
    """
    config, settings = make_settings(contents.config, contents.name, description, taxonomy)
    _check_manifests(contents, config)
    tree = build_tree({**contents.documents, **contents.manifests, CONFIG_PATH: hash_blob(settings)})
    with (
        lock_folder(out),
        translate_artifact_write_errors(),
        remove_new_files_on_failure(out),
        ExitStack() as stack,
    ):
        previous = _read_previous(out, key)
        packs = previous.packs if previous else ()
        files = store_objects(out, contents, settings, tree, packs, progress, durable)
        snapshot = Snapshot(PackedReader(out, tree.id), tree.id)
        vectors = stack.enter_context(closing(_open_vectors(provider))) if provider is not None else None
        built_index = _build_index(out, previous, snapshot, vectors, progress, durable)
        readers = [
            _save_segment(reader, out / INDEX_FOLDER, durable) for reader in built_index.segment_readers
        ]
        files += [f"{INDEX_FOLDER}/{make_file_name(reader.segment.id)}" for reader in readers]
        files += _write_moves(out, contents.moves, durable)
        embedding = None
        if vectors is not None:
            name, embedding = _write_vectors(out, vectors, readers, snapshot, progress)
            files.append(name)
        values = {name: count_values(readers, name) for name in config.taxonomy_keys}
        metadata = describe_index(
            replace(built_index.state, commit=contents.commit),
            values,
            format_corpus_description(config.corpus.description, contents.name),
            config.taxonomy_keys,
        ).model_copy(update={"embedding": embedding})
        manifest = ArtifactManifest(
            schema=SCHEMA_VERSION,
            tree=tree.id,
            state=asdict(built_index.state),
            parts=[(reader.segment.id, encode_numbers(reader.dead_documents)) for reader in readers],
            files={name: _find_checksum(out, name, previous) for name in files},
        )
        _publish_artifact(out, previous, metadata, manifest, key, durable)
    return ArtifactBuild(
        metadata=metadata,
        tree=tree.id,
        indexed_count=built_index.read_count,
        sectionless_count=sum(map(_count_sectionless_documents, readers)),
        unlisted_keys=tuple(
            name for name, counts in values.items() if len(counts) > MAX_VALUES and name in metadata.taxonomy
        ),
    )


def _open_vectors(provider: Provider) -> VectorIndex:
    """Return the vectors that are cached for the user, so that the next build embeds only what changed."""
    from platformdirs import user_cache_path

    from index.vectors.vector_index import VectorIndex

    cache_folder = user_cache_path("docyard", appauthor=False) / "vectors"
    return VectorIndex(provider, lambda: [cache_folder])


def _write_vectors(
    out: Path,
    vectors: VectorIndex,
    readers: Sequence[SegmentReader],
    snapshot: Snapshot,
    progress: Progress | None,
) -> tuple[str, Embedding]:
    """Write the vectors of all sections; return the name of the file, and the model of the vectors."""
    from index.snippets import SectionTexts
    from index.vectors.export import export_vectors

    name = f"{INDEX_FOLDER}/vectors-{secrets.token_hex(8)}.sqlite"
    texts = SectionTexts(snapshot.git.blob)
    report = export_vectors(out / name, vectors, readers, texts.read_span, progress)
    assert report.dimensions is not None
    return name, Embedding(provider=report.provider, model=report.model, dimensions=report.dimensions)


def _check_manifests(contents: Contents, config: WorkspaceConfig) -> None:
    for path in contents.manifests:
        read_manifest(contents.read(path), path, tuple(config.taxonomy_keys))


def _read_previous(out: Path, key: bytes | None) -> _PreviousArtifact | None:
    """Return the current artifact of the folder; None without one of a supported format.

    A damaged or incomplete artifact is removed.

    The objects of a damaged artifact must not stay, because an object is read from any pack that contains it.
    """
    try:
        metadata = manifests.read_metadata_bytes(out)
        manifest = manifests.read_artifact_manifest(out, metadata)
        manifests.check_files(out, manifest)
    except UnsupportedArtifact:
        return None
    except (NotAnArtifact, ArtifactDamaged):
        remove_unlisted_files(out, [])
        return None
    packs = [Path(name).stem for name in manifest.files if name.endswith(".pack")]
    previous = _PreviousArtifact(manifests.make_manifest_name(metadata), manifest, packs, None, None)
    if manifest.schema != SCHEMA_VERSION or (key and not manifests.is_sealed(metadata, manifest, key)):
        return previous
    try:
        state, readers = map_segments(out, manifest)
    except (IndexDamaged, ArtifactDamaged):
        return previous
    snapshot = Snapshot(PackedReader(out, manifest.tree), manifest.tree)
    return previous._replace(snapshot=snapshot, generation=IndexSnapshot(0, state, tuple(readers)))


def _build_index(
    out: Path,
    previous: _PreviousArtifact | None,
    snapshot: Snapshot,
    vectors: VectorIndex | None,
    progress: Progress | None,
    durable: bool,
) -> _BuiltIndex:
    """Reuse the unchanged documents of the previous index and read the others, or read all documents."""
    if previous and previous.snapshot and previous.generation:
        difference = diff_snapshots(previous.snapshot, snapshot)
        if difference is not None:
            upserts = read_documents(snapshot, difference.upserts, progress, "Indexing changed documents")
            readers, state = apply_change(previous.generation, snapshot.commit, upserts, difference.deletes)
            return _BuiltIndex(readers, state, len(difference.upserts))
    (out / INDEX_FOLDER).mkdir(exist_ok=True)
    source: DocumentSource = GitSource(snapshot)
    if vectors is not None:
        source = vectors.embed_with_index(source)
    readers, state = build_index(source, out / INDEX_FOLDER, progress=progress, durable=durable)
    return _BuiltIndex(readers, state, len(snapshot.documents))


def _publish_artifact(
    out: Path,
    previous: _PreviousArtifact | None,
    metadata: Metadata,
    manifest: ArtifactManifest,
    key: bytes | None,
    durable: bool,
) -> None:
    """Make the new files the artifact; remove files that neither the new nor the previous artifact has."""
    data = metadata.as_bytes()
    name = manifests.write_artifact_manifest(out, data, manifest, key, durable=durable)
    write_atomically(out / METADATA_FILE, data, durable)
    # Two builds within one second may have the same metadata.json, and so the same manifest name.
    previous_manifests = [(previous.name, previous.manifest)] if previous else []
    remove_unlisted_files(out, [*previous_manifests, (name, manifest)])


def _save_segment(reader: SegmentReader, folder: Path, durable: bool) -> SegmentReader:
    if reader.segment.stamp is not None:
        return reader
    return replace(reader, segment=reader.segment.save(folder, durable))


def _write_moves(out: Path, moves: Mapping[str, str], durable: bool) -> list[str]:
    """Write the moves of documents, if any, to a new file; return a list of its name."""
    if not moves:
        return []
    data = (json.dumps(moves, indent=1, sort_keys=True) + "\n").encode()
    name = f"moves-{hashlib.sha256(data).hexdigest()[:16]}.json"
    write_atomically(out / name, data, durable)
    return [name]


def _find_checksum(out: Path, name: str, previous: _PreviousArtifact | None) -> FileDigest:
    """Return the checksum of a file, from the verified previous artifact if it has the file."""
    checksum = previous.manifest.files.get(name) if previous else None
    return checksum or FileDigest.of(out / name)


def _count_sectionless_documents(reader: SegmentReader) -> int:
    """Count the live documents of a segment that have no section."""
    first_sections = reader.segment.arrays["firsts"]
    return len({*(first_sections[1:] == first_sections[:-1]).nonzero()[0].tolist()} - reader.dead_documents)
