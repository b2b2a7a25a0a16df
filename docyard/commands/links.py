"""`docyard links`: what a document links to, what links to it, and which links lead nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docyard.cli import completion
from docyard.cli.addresses import ResolvedAddress, print_moved_notice, resolve_address
from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit

if TYPE_CHECKING:
    from index.link_graph.backlinks import DocumentLink
    from workspace.document.document import Document
    from workspace.links.world import OverlayFileTree
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace


@click.command(name="links", short_help="List links from and to a document or section.")
@click.argument(
    "address", metavar="[FILE[#SECTION]]", required=False, shell_complete=completion.complete_addresses
)
@click.option("--outgoing", "kind", flag_value="outgoing", help="Only the links that stand in it.")
@click.option("--backlinks", "kind", flag_value="backlinks", help="Only the links that lead to it.")
@click.option("--broken", "kind", flag_value="broken", help="Only the links in it that lead nowhere.")
@options.repository
@options.branch
@options.ref("The branch, tag, commit or @{date} to read. [default: the branch's tip]")
@options.as_json
def command(
    address: str | None,
    kind: str | None,
    repo: Path | None,
    branch: str | None,
    ref: str | None,
    as_json: bool,
) -> int:
    """List links from and to a document or section, as they are committed.

    Without FILE, the links of every document, of which --broken alone is often what is meant. A section
    counts with its subsections, and paths may count from the current folder.

    \b
    Example:
        docyard links guides/setup.md#install --backlinks
        docyard links --broken --json
    """
    if address is None and kind == "backlinks":
        raise click.UsageError("--backlinks needs a FILE: name the document that is linked to")
    workspace = open_workspace(repo, branch)
    snapshot = workspace.at(ref)
    followed = None
    if address is None:
        with console.show_progress("Reading links") as progress:
            outgoing = list(_all(snapshot, progress))
        found = {"outgoing": outgoing}
    else:
        followed = resolve_address(workspace, snapshot, address, find_folder(repo))
        found = _of_one(workspace, snapshot, followed, kind)
        print_moved_notice(followed.moved_to)
    if kind == "broken":
        found = {"broken": [link for link in found["outgoing"] if _leads_nowhere(link)]}
    if as_json:
        console.print_json(_answer(followed, found, snapshot.commit))
    else:
        _show(found)
    return Exit.DONE


def _leads_nowhere(link: DocumentLink) -> bool:
    from workspace.links.resolver import LinkStatus

    return link.is_broken or link.status is LinkStatus.OUTSIDE


def _all(snapshot: Snapshot, progress: console.Progress | None) -> Iterator[DocumentLink]:
    """Yield the links of every document that can be read."""
    from index.link_graph.backlinks import resolve_outgoing
    from workspace.errors import WorkspaceError
    from workspace.links.world import OverlayFileTree

    world = OverlayFileTree(snapshot)
    for done, path in enumerate(snapshot.documents):
        if progress:
            progress(done, len(snapshot.documents), None)
        try:
            document = snapshot.document(path)
        except WorkspaceError as error:
            click.echo(f"{path} is left out: {error.message}", err=True)
            continue
        yield from resolve_outgoing(world, document)


def _of_one(
    workspace: Workspace, snapshot: Snapshot, followed: ResolvedAddress, kind: str | None
) -> dict[str, list[DocumentLink]]:
    from index.link_graph.backlinks import resolve_outgoing
    from workspace.document.addresses import resolve_section
    from workspace.links.world import OverlayFileTree

    world = OverlayFileTree(snapshot)
    document = snapshot.document(followed.path)
    keys = None
    if followed.slug is not None:
        section = resolve_section(document, followed.slug)
        keys = {section.key, *(child.key for child in document.descendants(section))}
    found: dict[str, list[DocumentLink]] = {}
    if kind != "backlinks":
        leaving = resolve_outgoing(world, document)
        found["outgoing"] = [link for link in leaving if keys is None or link.section in keys]
    if kind in (None, "backlinks"):
        preamble = document.preamble.key if document.preamble else None
        coming = _backlinks(workspace, snapshot, world, document)
        found["backlinks"] = [link for link in coming if keys is None or (link.to or preamble) in keys]
    return found


def _backlinks(
    workspace: Workspace, snapshot: Snapshot, world: OverlayFileTree, document: Document
) -> list[DocumentLink]:
    from index.link_graph.backlinks import resolve_backlinks
    from index.service import SearchIndex

    index = SearchIndex(workspace)
    try:
        with console.show_progress("Reading links") as progress:
            return resolve_backlinks(
                world, document, index.links.all_records(snapshot, document.path, progress)
            )
    finally:
        index.close()


def _answer(
    followed: ResolvedAddress | None, found: dict[str, list[DocumentLink]], commit: str | None
) -> dict[str, Any]:
    data: dict[str, Any] = {"commit": commit, **(followed.data if followed else {})}
    for name, links in found.items():
        data |= {name: [_data(link) for link in links], f"{name}_total": len(links)}
    return data


def _show(found: dict[str, list[DocumentLink]]) -> None:
    for name, links in found.items():
        rows = [
            (
                f"{link.source_address}:{link.line}",
                link.address,
                "broken" if _leads_nowhere(link) else link.kind,
            )
            for link in links
        ]
        console.print_table((f"{name} ({len(links):,})", "leads to", ""), rows)


def _data(link: DocumentLink) -> dict[str, Any]:
    return {
        "from": link.source_address,
        "line": link.line,
        "kind": link.kind.value,
        "image": link.is_image,
        "destination": link.destination,
        "to": link.address,
        "status": link.status.value,
    }
