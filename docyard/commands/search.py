"""`docyard search`: what search_docs finds, for a person."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from docyard import console
from docyard.commands import options
from docyard.exits import Exit


@click.command(name="search", short_help="Search the committed documents, as an agent would.")
@click.argument("words", metavar="QUERY...", nargs=-1, required=True)
@options.repository
@options.branch
@click.option(
    "--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="How many hits at most."
)
@click.option("--type", "doc_type", metavar="TYPE", help="Only documents of this type.")
@click.option("--tag", metavar="TAG", help="Only documents with this tag.")
@options.as_json
def command(
    words: tuple[str, ...],
    repo: Path | None,
    branch: str | None,
    limit: int,
    doc_type: str | None,
    tag: str | None,
    as_json: bool,
) -> int:
    """Search the committed documents, as an agent would.

    Exits with 1 if nothing was found.

    \b
    Example:
        docyard search rate limit errors --type api_spec
        docyard search 'retry "exponential backoff" -draft'
    """
    from index.service import SearchIndex

    filters = {key: value for key, value in (("type", doc_type), ("tags", tag)) if value}
    index = SearchIndex(options.open_workspace(repo, branch))
    try:
        with console.progress("Indexing") as progress:
            page = index.search(" ".join(words), limit=limit, filters=filters, progress=progress)
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
        console.table(("address", "section", "text"), rows)
    else:
        click.echo(page.hint.message if page.hint else "Nothing was found.", err=True)
    if not as_json and page.stale:
        click.echo(f"The index is behind the branch: this is from commit {page.commit}.", err=True)
    if not as_json and page.partial:
        click.echo("Only the 500 best sections with these words were read for the phrase.", err=True)
    if not as_json and page.unreadable:
        click.echo("Git cannot read every document: docyard doctor names those left out.", err=True)
    return Exit.DONE if page.hits else Exit.PROBLEMS
