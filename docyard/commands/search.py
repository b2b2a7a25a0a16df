"""`docyard search`: search_docs for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.terminal import console
from docyard.terminal.exits import Exit

if TYPE_CHECKING:
    from index.hints import Hint


@click.command(name="search", short_help="Search the committed documents, as an agent would.")
@click.argument("words", metavar="QUERY...", nargs=-1, required=True)
@options.repository
@options.branch
@options.artifact
@click.option(
    "--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="How many hits at most."
)
@click.option(
    "--type",
    "doc_type",
    metavar="TYPE",
    shell_complete=completion.complete_types,
    help="Only documents of this type.",
)
@click.option("--tag", metavar="TAG", help="Only documents with this tag.")
@click.option(
    "--filter",
    "others",
    metavar="KEY=VALUE",
    multiple=True,
    help="Only documents with this value of a key that docyard.toml declares; may be given again.",
)
@click.option("--path", metavar="GLOB", help="Only this folder, document or glob.")
@options.ref("The documents as they were: a branch, a tag, a commit or @{2026-01-31}.")
@options.as_json
def command(
    words: tuple[str, ...],
    repo: Path | None,
    branch: str | None,
    artifact: Path | None,
    key: Path | None,
    limit: int,
    doc_type: str | None,
    tag: str | None,
    others: tuple[str, ...],
    path: str | None,
    ref: str | None,
    as_json: bool,
) -> int:
    """Search the committed documents, as an agent would.

    Exits with 1 if nothing was found.

    \b
    Example:
        docyard search rate limit errors --type api_spec --filter language=go
        docyard search 'retry "exponential backoff" -draft'
        docyard search retries --ref v1.2
        docyard search retries --index site-index
    """
    filters = _filters((("type", doc_type), ("tags", tag)), others)
    index = options.open_index(repo, branch, artifact, key)
    try:
        with console.show_progress("Indexing") as progress:
            page = index.search(
                " ".join(words), limit=limit, filters=filters, path=path, ref=ref, progress=progress
            )
    finally:
        index.close()
    if as_json:
        console.print_json(
            {
                "hits": [hit._asdict() for hit in page.hits],
                "hint": asdict(page.hint) if page.hint else None,
                "commit": page.commit,
                "stale": page.stale,
                "unreadable": page.unreadable,
                "partial": page.partial,
            }
        )
    elif page.hits:
        rows = [
            (hit.chunk_id, hit.breadcrumb or hit.heading, " ".join(hit.snippet.split())) for hit in page.hits
        ]
        console.print_table(("address", "section", "text"), rows)
    else:
        from tools.errors import escape_invisible

        for line in _advice(page.hint):
            click.echo(escape_invisible(line), err=True)
    if not as_json and page.stale:
        click.echo(f"The index is behind the branch: this is from commit {page.commit}.", err=True)
    if not as_json and page.partial:
        click.echo("Only the 500 best sections with these words were read for the phrase.", err=True)
    if not as_json and page.unreadable:
        click.echo("Git cannot read every document: docyard doctor names those left out.", err=True)
    return Exit.DONE if page.hits else Exit.PROBLEMS


def _advice(hint: Hint | None) -> Iterator[str]:
    """Yield advice for a search without hits."""
    if hint is None:
        yield "Nothing was found."
        return
    yield hint.message
    for key, values in hint.suggested_filters.items():
        yield f"  {key}: {', '.join(values)}"
    for query in hint.suggested_queries:
        yield f"  query: {query}"


def _filters(named: Iterable[tuple[str, str | None]], others: Iterable[str]) -> dict[str, str]:
    """Return the value of each key.

    Raises BadParameter for text without KEY=VALUE, and for a repeated key.
    """
    filters = {key: value for key, value in named if value}
    for text in others:
        key, _, value = (part.strip() for part in text.partition("="))
        if not (key and value):
            raise click.BadParameter("write KEY=VALUE, such as language=go", param_hint="--filter")
        if key in filters:
            raise click.BadParameter(
                f"{key!r} is given twice, and a search takes one value of each key", param_hint="--filter"
            )
        filters[key] = value
    return filters
