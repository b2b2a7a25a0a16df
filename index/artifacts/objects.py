"""The documents of an artifact as Git objects, in reused packs and one new pack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path

from index.artifacts.contents import Contents, Tree, UnreadableFolder
from index.port import Progress
from workspace.config.toml import CONFIG_PATH
from workspace.git.objects import hash_blob
from workspace.git.packs import ObjectChanged, PackedObject, read_packed_ids, write_pack

PACKS_FOLDER = "objects/pack"

MAX_PACKS = 8
"""If there are more reusable packs than this, only one is reused, and a new pack replaces the others."""

_REPORT_INTERVAL_OBJECTS = 100  # objects from one report of progress to the next


def store_objects(
    out: Path,
    contents: Contents,
    settings: bytes,
    tree: Tree,
    packs: Iterable[str],
    progress: Progress | None,
    durable: bool,
) -> list[str]:
    """Store the objects that the reused packs do not contain; return the names of all pack files.

    `packs` are the names of intact packs, without a suffix. Raises OSError, and the errors of `contents`.
    """
    folder = out / PACKS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    paths = {id: path for path, id in [*contents.manifests.items(), *contents.documents.items()]}
    required_ids = {*paths, *tree.trees, hash_blob(settings)}
    pack_ids = {name: read_packed_ids(folder / f"{name}.idx") for name in packs}
    reused_packs = choose_packs(pack_ids, required_ids)
    missing_ids = required_ids.difference(*(pack_ids[name] for name in reused_packs))
    if missing_ids:
        try:
            objects = _make_objects(contents, settings, tree, paths, missing_ids)
            reported_objects = _report_progress(objects, len(missing_ids), progress)
            reused_packs.append(write_pack(folder, reported_objects, len(missing_ids), durable))
        except ObjectChanged as error:
            raise UnreadableFolder(
                "the folder changed while it was read",
                fix="Run the command again.",
                path=paths.get(error.id, CONFIG_PATH),
            ) from error
    return [f"{PACKS_FOLDER}/{name}.{suffix}" for name in reused_packs for suffix in ("pack", "idx")]


def _report_progress(
    objects: Iterable[PackedObject], total: int, progress: Progress | None
) -> Iterator[PackedObject]:
    for number, packed_object in enumerate(objects):
        if progress and number % _REPORT_INTERVAL_OBJECTS == 0:
            progress(number, total, "Storing documents")
        yield packed_object


def choose_packs(packs: Mapping[str, Set[str]], required_ids: Set[str]) -> list[str]:
    """Return the names of the packs to reuse. `packs` has the ids of the objects of each pack.

    A pack is dropped if more than half of its objects are not required.
    """
    required_counts = {name: len(ids & required_ids) for name, ids in packs.items()}
    reused_packs = sorted(
        name for name, ids in packs.items() if required_counts[name] and 2 * required_counts[name] >= len(ids)
    )
    return (
        reused_packs
        if len(reused_packs) <= MAX_PACKS
        else [max(reused_packs, key=lambda name: required_counts[name])]
    )


def _make_objects(
    contents: Contents, settings: bytes, tree: Tree, paths: Mapping[str, str], missing_ids: Set[str]
) -> Iterator[PackedObject]:
    for id, path in paths.items():
        if id in missing_ids:
            yield PackedObject("blob", id, contents.read(path))
    if (id := hash_blob(settings)) in missing_ids and id not in paths:
        yield PackedObject("blob", id, settings)
    for id, data in tree.trees.items():
        if id in missing_ids:
            yield PackedObject("tree", id, data)
