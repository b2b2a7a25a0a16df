"""`docyard metadata`: the content of a `metadata.json`, and whether it is valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import CannotError, Exit

if TYPE_CHECKING:
    from index.storage.metadata import Metadata, Problem

_FILE = "metadata.json"
_MOST = 1 << 26  # bytes; what the limits of the contract allow is far below
_ARTIFACT = "artifact"


class _MetadataCheck(NamedTuple):
    """The metadata, if they can be read, and all problems."""

    metadata: Metadata | None
    problems: list[Problem]


@click.command(name="metadata", short_help="Print and check a metadata.json.")
@click.argument("path", metavar="[PATH]", required=False, type=click.Path(path_type=Path))
@options.repository
@options.branch
@click.option(
    "--key",
    "key_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The key that an artifact must be sealed with.",
)
@options.as_json
def command(
    path: Path | None, repo: Path | None, branch: str | None, key_file: Path | None, as_json: bool
) -> int:
    """Print a metadata.json, and check it: the search index's own, or that of PATH.

    PATH is a file, or the folder of an artifact, whose other files are checked too. Exits with 1 if
    something is wrong; each problem is named by its field.

    \b
    Example:
        docyard metadata site-index
        docyard metadata --json
    """
    if path is not None:
        path = find_folder(path)
    if key_file is not None and (path is None or not path.is_dir()):
        raise click.BadParameter("it is for the folder of an artifact", param_hint="--key")
    if path is None:
        look = _check_data(_read(_of_index(repo, branch)))
    elif path.is_dir():
        look = _check_artifact(path, key_file)
    else:
        look = _check_data(_read(path))
    if as_json:
        console.print_json(
            {
                "metadata": json.loads(look.metadata.as_bytes()) if look.metadata else None,
                "problems": [problem._asdict() for problem in look.problems],
            }
        )
    else:
        _print(look)
    return Exit.PROBLEMS if look.problems else Exit.DONE


def _of_index(repo: Path | None, branch: str | None) -> Path:
    from index.service import SearchIndex

    index = SearchIndex(open_workspace(repo, branch))
    try:
        folder = index.status().folder
    finally:
        index.close()
    if folder is None or not (folder / _FILE).is_file():
        raise CannotError("there is no index of this branch yet", fix="Run `docyard index rebuild`.")
    return folder / _FILE


def _read(file: Path) -> bytes:
    try:
        if file.exists() and not file.is_file():
            raise CannotError(f"{file.name} is not a file", fix="Name a file, or the folder of an artifact.")
        with file.open("rb") as stream:
            data = stream.read(_MOST + 1)
    except OSError as error:
        raise CannotError(
            f"{file.name} cannot be read: {error.strerror or type(error).__name__}",
            fix="Name a metadata.json, the folder of an artifact, or nothing for the index of a repository.",
        ) from error
    if len(data) > _MOST:
        raise CannotError(f"{file.name} is over 64 MiB", fix="Name a metadata.json.")
    return data


def _check_data(data: bytes) -> _MetadataCheck:
    from index.storage.metadata import find_problems, parse_metadata

    found = find_problems(data)
    return _MetadataCheck(None if found else parse_metadata(data), found)


def _check_artifact(folder: Path, key_file: Path | None) -> _MetadataCheck:
    from index.artifacts.artifact import find_problems
    from index.storage.keys import read_key
    from index.storage.metadata import Problem

    key = read_key(find_folder(key_file)) if key_file else None
    look = _check_data(_read(folder / _FILE))
    if look.problems:
        return look
    return _MetadataCheck(
        look.metadata, [Problem(_ARTIFACT, reason) for reason in find_problems(folder, key)]
    )


def _print(look: _MetadataCheck) -> None:
    if look.metadata is not None:
        _print_metadata(look.metadata)
    if look.problems:
        console.print_table(("field", "problem"), look.problems)


def _print_metadata(metadata: Metadata) -> None:
    stats, embedding = metadata.stats, metadata.embedding
    facts = {
        "version": metadata.metadata_version,
        "description": metadata.corpus_description,
        "files": str(stats.total_files),
        "chunks": str(stats.total_chunks),
        "indexed_at": stats.indexed_at,
        "source_commit": stats.source_commit or "none",
        "embedding": f"{embedding.provider} {embedding.model} {embedding.dimensions}"
        if embedding
        else "none",
    }
    console.print_table(("metadata", ""), list(facts.items()))
    keys = [
        (key, str(len(facet.values)), facet.description or "") for key, facet in metadata.taxonomy.items()
    ]
    if keys:
        console.print_table(("key", "values", "description"), keys)
