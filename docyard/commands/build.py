"""`docyard build`: an artifact that is served without a repository."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.commands import options
from docyard.doctor.finding import format_list
from docyard.open_workspace import add_path_to_errors, find_folder
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit
from docyard.wording import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from index.artifacts.build import ArtifactBuild
    from index.artifacts.contents import ContentFilter, Contents
    from workspace.globs import Glob


@click.command(name="build")
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=Path())
@options.repository
@click.option(
    "--out", metavar="OUT", type=click.Path(path_type=Path), required=True, help="The folder to build into."
)
@options.ref("The branch, tag, commit or @{date} to build. [default: HEAD]")
@click.option(
    "--description",
    metavar="TEXT",
    help="The subject of the documents, for MCP hosts. [default: the description in docyard.toml, else the "
    "repository's name]",
)
@click.option(
    "--taxonomy",
    metavar="KEY[=TEXT]",
    multiple=True,
    help="A key of front matter to filter by, and its meaning. Extends the keys in docyard.toml.",
)
@click.option(
    "--include",
    metavar="GLOB",
    multiple=True,
    help="Include only the documents that match one of these globs.",
)
@click.option(
    "--exclude", metavar="GLOB", multiple=True, help="Exclude the documents that match one of these globs."
)
@click.option(
    "--key",
    "key_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Seal the artifact with this key, so that a server with the key opens it without rebuilding its "
    "index. The file is created if it is missing.",
)
@options.embedding
@options.as_json
def command(
    folder: Path,
    repo: Path | None,
    out: Path,
    ref: str | None,
    description: str | None,
    taxonomy: tuple[str, ...],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    key_file: Path | None,
    as_json: bool,
) -> int:
    """Build an artifact of the documents below DIR: index, texts and metadata.json in one folder.

    `docyard serve --index OUT --read-only` serves the artifact without a repository. In a Git work tree the
    committed documents are built; in any other folder, the files. Unchanged documents are copied from the
    last artifact in OUT, and a server that serves OUT switches to the new artifact.

    \b
    Example:
        docyard build docs --out site-index --description "Acme's guides" --taxonomy language
    """
    from index.artifacts.build import build_artifact

    documents_folder = find_folder(folder if repo is None else repo / folder)
    if not documents_folder.is_dir():
        raise click.BadParameter(f"the folder does not exist ({documents_folder})", param_hint="DIR")
    artifact_folder = find_folder(out)
    key = _load_key(find_folder(key_file), artifact_folder) if key_file else None
    provider = options.read_embedding_options().provider
    start_time = time.monotonic()
    warnings: list[str] = []
    contents = _read_contents(documents_folder, ref, include, exclude, warnings)
    with (
        console.show_progress("Indexing") as progress,
        _convert_invalid_settings(description, taxonomy),
        add_path_to_errors(artifact_folder),
    ):
        build = build_artifact(
            contents,
            artifact_folder,
            description=description,
            taxonomy=dict(map(_parse_taxonomy, taxonomy)),
            key=key,
            provider=provider,
            progress=progress,
        )
    _print_report(
        build, contents, warnings, key is not None, round(time.monotonic() - start_time, 3), as_json
    )
    return Exit.DONE


def _read_contents(
    folder: Path, ref: str | None, include: tuple[str, ...], exclude: tuple[str, ...], warnings: list[str]
) -> Contents:
    """Return the documents below a folder: from a commit if it is in a repository, otherwise from its files.

    Warnings about omitted changes are added to `warnings`.
    """
    from index.artifacts.contents import ContentFilter, read_commit_contents, read_folder_contents
    from workspace.git.reader import GitReader
    from workspace.git.repository import NotARepository
    from workspace.revisions import resolve_ref
    from workspace.workspace import Workspace

    content_filter = ContentFilter("", _parse_globs(include, "--include"), _parse_globs(exclude, "--exclude"))
    try:
        git = GitReader(folder)
    except NotARepository:
        if ref is not None:
            raise click.BadParameter("the folder is not in a Git repository", param_hint="--ref") from None
        return read_folder_contents(folder.resolve(), content_filter)
    if git.worktree is not None and folder.resolve().is_relative_to(git.worktree.resolve()):
        folder_in_repository = folder.resolve().relative_to(git.worktree.resolve()).as_posix()
        content_filter = content_filter._replace(
            folder="" if folder_in_repository == "." else folder_in_repository
        )
    head_commit = git.head().commit
    commit = head_commit if ref is None else resolve_ref(git, ref, head_commit)
    if commit is None:
        raise CommandError("the repository has no commit yet", fix="Commit the documents first.")
    contents = read_commit_contents(git, commit, Workspace(git).repository_name, content_filter)
    if ref is None and (
        uncommitted_paths := _select_included(git.list_uncommitted(), contents, content_filter)
    ):
        warnings.append(f"uncommitted changes are not in the artifact: {format_list(uncommitted_paths)}")
    return contents


def _select_included(paths: tuple[str, ...], contents: Contents, content_filter: ContentFilter) -> list[str]:
    config = contents.config
    return [path for path in paths if config.is_document(path) and content_filter.includes(path, config.root)]


def _parse_globs(texts: tuple[str, ...], option: str) -> tuple[Glob, ...]:
    from workspace.globs import Glob, find_problem

    for text in texts:
        if reason := find_problem(text):
            raise click.BadParameter(f"'{text[:100]}' {reason}", param_hint=option)
    return tuple(map(Glob.compile, texts))


def _parse_taxonomy(text: str) -> tuple[str, str | None]:
    key, _, description = text.partition("=")
    return key.strip(), description.strip() or None


def _load_key(file: Path, artifact_folder: Path) -> bytes:
    """Return the key in a file; create the file if it is missing.

    Raises InvalidKeyFile, and BadParameter if the file is inside the artifact's folder.
    """
    from index.storage.keys import load_or_create_key, read_key_file

    if Path(os.path.realpath(file)).is_relative_to(os.path.realpath(artifact_folder)):
        raise click.BadParameter("a key file in OUT would be published with the artifact", param_hint="--key")
    is_new = not file.exists()
    key = load_or_create_key(file) or read_key_file(file)
    if is_new:
        click.echo(
            "Created a new key: servers with this key open the artifact without rebuilding its index.",
            err=True,
        )
    return key


@contextmanager
def _convert_invalid_settings(description: str | None, taxonomy: tuple[str, ...]) -> Iterator[None]:
    """Convert InvalidConfig to BadParameter, with the name of the option that has the invalid setting.

    The settings in files were checked before, so they are valid.
    """
    from workspace.config.toml import CONFIG_PATH
    from workspace.errors import InvalidConfig

    try:
        yield
    except InvalidConfig as error:
        field = str(error.details.get("field", ""))
        option = "--taxonomy" if taxonomy and field.startswith("taxonomy") else "--description"
        raise click.BadParameter(error.message.removeprefix(f"{CONFIG_PATH}: "), param_hint=option) from error


def _print_report(
    build: ArtifactBuild,
    contents: Contents,
    warnings: list[str],
    is_sealed: bool,
    seconds: float,
    as_json: bool,
) -> None:
    stats, embedding = build.metadata.stats, build.metadata.embedding
    if contents.unsupported_paths:
        warnings.append(
            f"files are omitted because of their size or name: {format_list(contents.unsupported_paths)}"
        )
    if build.sectionless_count:
        warnings.append(
            f"{build.sectionless_count} documents have no text to search: they are empty, larger than "
            "limits.document_bytes, or Git LFS pointers"
        )
    if build.unlisted_keys:
        warnings.append(f"these keys have too many values to list: {', '.join(build.unlisted_keys)}")
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        result = {
            "commit": stats.source_commit,
            "tree": build.tree,
            "documents": stats.total_files,
            "chunks": stats.total_chunks,
            "indexed": build.indexed_count,
            "sealed": is_sealed,
            "embedding": embedding.model_dump() if embedding else None,
            "warnings": warnings,
            "seconds": seconds,
        }
        console.print_json(result)
        return
    origin = f"commit {stats.source_commit[:12]}" if stats.source_commit else "a folder"
    click.echo(
        f"Built an artifact from {origin} in {seconds:.1f} s: {format_count(stats.total_files, 'document')}, "
        f"{format_count(stats.total_chunks, 'section')}. "
        f"Indexed {format_count(build.indexed_count, 'document')} "
        f"and copied {stats.total_files - build.indexed_count:,}."
    )
    model = (
        f"{embedding.provider} {embedding.model}, {embedding.dimensions:,} dimensions"
        if embedding
        else "none"
    )
    click.echo(f"Embedding: {model}.")
