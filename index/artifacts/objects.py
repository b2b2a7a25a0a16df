"""The documents of an artifact as Git objects: which packs are reused, and which objects are added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path

from index.artifacts.contents import Contents, Tree, UnreadableFolder
from index.port import Progress
from workspace.config.toml import CONFIG_PATH
from workspace.git.objects import hash_blob
from workspace.git.packs import ObjectChanged, PackedObject, read_packed_ids, write_pack

PACKS = "objects/pack"

FEW = 8
"""With more packs than this, all but the largest become one."""

_TOLD = 100  # objects from one report of progress to the next


def store(
    out: Path,
    contents: Contents,
    settings: bytes,
    tree: Tree,
    packs: Iterable[str],
    progress: Progress | None,
    durable: bool,
) -> list[str]:
    """Store the objects that the reused `packs` do not hold; return the names of all files.

    `packs` are the names of intact packs, without a suffix. Raises OSError, and the errors of `contents`.
    """
    folder = out / PACKS
    folder.mkdir(parents=True, exist_ok=True)
    paths = {id: path for path, id in [*contents.manifests.items(), *contents.documents.items()]}
    wanted = {*paths, *tree.trees, hash_blob(settings)}
    held = {name: read_packed_ids(folder / f"{name}.idx") for name in packs}
    kept = choose_packs(held, wanted)
    missing = wanted.difference(*(held[name] for name in kept))
    if missing:
        try:
            objects = _objects(contents, settings, tree, paths, missing)
            told = _report_progress(objects, len(missing), progress)
            kept.append(write_pack(folder, told, len(missing), durable))
        except ObjectChanged as error:
            raise UnreadableFolder(
                "the folder changed while it was read",
                fix="Run the command again.",
                path=paths.get(error.id, CONFIG_PATH),
            ) from error
    return [f"{PACKS}/{name}.{suffix}" for name in kept for suffix in ("pack", "idx")]


def _report_progress(
    objects: Iterable[PackedObject], total: int, progress: Progress | None
) -> Iterator[PackedObject]:
    for number, one in enumerate(objects):
        if progress and number % _TOLD == 0:
            progress(number, total, "Storing documents")
        yield one


def choose_packs(packs: Mapping[str, Set[str]], wanted: Set[str]) -> list[str]:
    """Choose the packs to reuse, by the ids that they hold and those that are wanted.

    A pack goes if more than half of it is no longer wanted, so that packs hold at most twice what they must.
    """
    live = {name: len(ids & wanted) for name, ids in packs.items()}
    kept = sorted(name for name, ids in packs.items() if live[name] and 2 * live[name] >= len(ids))
    return kept if len(kept) <= FEW else [max(kept, key=lambda name: live[name])]


def _objects(
    contents: Contents, settings: bytes, tree: Tree, paths: Mapping[str, str], missing: Set[str]
) -> Iterator[PackedObject]:
    for id, path in paths.items():
        if id in missing:
            yield PackedObject("blob", id, contents.read(path))
    if (id := hash_blob(settings)) in missing and id not in paths:
        yield PackedObject("blob", id, settings)
    for id, data in tree.trees.items():
        if id in missing:
            yield PackedObject("tree", id, data)
