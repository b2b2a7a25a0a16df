"""`docyard metadata`: the content of a `metadata.json`, and its problems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from index.storage.metadata import Metadata, MetadataProblem

_METADATA_FILE = "metadata.json"
_MAX_METADATA_BYTES = 1 << 26  # far above the size of any valid metadata.json
_ARTIFACT_FIELD = "artifact"


class _MetadataCheck(NamedTuple):
    """The metadata and all problems. `metadata` is None if the file is invalid."""

    metadata: Metadata | None
    problems: list[MetadataProblem]


@click.command(name="metadata")
@click.argument("path", metavar="[PATH]", required=False, type=click.Path(path_type=Path))
@options.repository
@options.branch
@click.option(
    "--key",
    "key_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The key with which the artifact must be sealed.",
)
@options.as_json
def command(
    path: Path | None, repo: Path | None, branch: str | None, key_file: Path | None, as_json: bool
) -> int:
    """Print and check the metadata.json of the search index, or of PATH.

    PATH is a file, or the folder of an artifact, whose other files are also checked. Each problem is listed
    with its field. Exits with 1 if there is a problem.

    \b
    Example:
        docyard metadata site-index
        docyard metadata --json
    """
    if path is not None:
        path = find_folder(path)
    if key_file is not None and (path is None or not path.is_dir()):
        raise click.BadParameter("--key needs PATH to be the folder of an artifact", param_hint="--key")
    if path is None:
        check = _check_content(_read_file(_find_index_metadata(repo, branch)))
    elif path.is_dir():
        check = _check_artifact(path, key_file)
    else:
        check = _check_content(_read_file(path))
    if as_json:
        console.print_json(
            {
                "metadata": json.loads(check.metadata.as_bytes()) if check.metadata else None,
                "problems": [problem._asdict() for problem in check.problems],
            }
        )
    else:
        _print_check(check)
    return Exit.PROBLEMS if check.problems else Exit.DONE


def _find_index_metadata(repo: Path | None, branch: str | None) -> Path:
    from index.service import SearchIndex

    index = SearchIndex(open_workspace(repo, branch))
    try:
        folder = index.status().folder
    finally:
        index.close()
    if folder is None or not (folder / _METADATA_FILE).is_file():
        raise CommandError("the branch has no index yet", fix="Run `docyard index rebuild`.")
    return folder / _METADATA_FILE


def _read_file(file: Path) -> bytes:
    try:
        if file.exists() and not file.is_file():
            raise CommandError(f"{file.name} is not a file", fix="Name a file, or the folder of an artifact.")
        with file.open("rb") as stream:
            content = stream.read(_MAX_METADATA_BYTES + 1)
    except OSError as error:
        raise CommandError(
            f"{file.name} cannot be read: {error.strerror or type(error).__name__}",
            fix="Name a metadata.json or an artifact's folder; omit PATH for the repository's index.",
        ) from error
    if len(content) > _MAX_METADATA_BYTES:
        raise CommandError(
            f"{file.name} is larger than {_MAX_METADATA_BYTES >> 20} MiB", fix="Name a metadata.json."
        )
    return content


def _check_content(content: bytes) -> _MetadataCheck:
    from index.storage.metadata import find_metadata_problems, parse_metadata

    problems = find_metadata_problems(content)
    return _MetadataCheck(None if problems else parse_metadata(content), problems)


def _check_artifact(folder: Path, key_file: Path | None) -> _MetadataCheck:
    from index.artifacts.artifact import find_artifact_problems
    from index.storage.keys import read_key_file
    from index.storage.metadata import MetadataProblem

    key = read_key_file(find_folder(key_file)) if key_file else None
    check = _check_content(_read_file(folder / _METADATA_FILE))
    if check.problems:
        return check
    return _MetadataCheck(
        check.metadata,
        [MetadataProblem(_ARTIFACT_FIELD, reason) for reason in find_artifact_problems(folder, key)],
    )


def _print_check(check: _MetadataCheck) -> None:
    if check.metadata is not None:
        _print_metadata(check.metadata)
    if check.problems:
        console.print_table(("field", "problem"), check.problems)


def _print_metadata(metadata: Metadata) -> None:
    stats, embedding = metadata.stats, metadata.embedding
    cells = {
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
    console.print_table(("metadata", ""), list(cells.items()))
    keys = [
        (key, str(len(facet.values)), facet.description or "") for key, facet in metadata.taxonomy.items()
    ]
    if keys:
        console.print_table(("key", "values", "description"), keys)
