"""`docyard links`: the links from a document, the links to it, and the broken links."""

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
    from workspace.links.file_tree import OverlayFileTree
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace


@click.command(name="links")
@click.argument(
    "address", metavar="[FILE[#SECTION]]", required=False, shell_complete=completion.complete_addresses
)
@click.option("--outgoing", "kind", flag_value="outgoing", help="List only the links in FILE or SECTION.")
@click.option("--backlinks", "kind", flag_value="backlinks", help="List only the links to FILE or SECTION.")
@click.option("--broken", "kind", flag_value="broken", help="List only the broken links.")
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
    """List links from and to a document or section, in the committed text.

    Without FILE, the links of all documents are listed. A section includes its subsections, and paths may be
    relative to the current folder.

    \b
    Example:
        docyard links guides/setup.md#install --backlinks
        docyard links --broken --json
    """
    if address is None and kind == "backlinks":
        raise click.UsageError("--backlinks needs a FILE: name the document whose backlinks to list")
    workspace = open_workspace(repo, branch)
    snapshot = workspace.at(ref)
    target = None
    if address is None:
        with console.show_progress("Reading links") as progress:
            outgoing = list(_iterate_all_links(snapshot, progress))
        links_by_kind = {"outgoing": outgoing}
    else:
        target = resolve_address(workspace, snapshot, address, find_folder(repo))
        links_by_kind = _collect_links(workspace, snapshot, target, kind)
        print_moved_notice(target.moved_to)
    if kind == "broken":
        links_by_kind = {"broken": [link for link in links_by_kind["outgoing"] if _is_broken(link)]}
    if as_json:
        console.print_json(_links_to_data(target, links_by_kind, snapshot.commit))
    else:
        _print_links(links_by_kind)
    return Exit.DONE


def _is_broken(link: DocumentLink) -> bool:
    from workspace.links.resolver import LinkStatus

    return link.is_broken or link.status is LinkStatus.OUTSIDE


def _iterate_all_links(snapshot: Snapshot, progress: console.ReportProgress | None) -> Iterator[DocumentLink]:
    """Yield the links of every readable document; print a notice for each unreadable document."""
    from index.link_graph.backlinks import resolve_outgoing
    from workspace.errors import WorkspaceError
    from workspace.links.file_tree import OverlayFileTree

    file_tree = OverlayFileTree(snapshot)
    for position, path in enumerate(snapshot.documents):
        if progress:
            progress(position, len(snapshot.documents), None)
        try:
            document = snapshot.document(path)
        except WorkspaceError as error:
            click.echo(f"{path} is skipped: {error.message}", err=True)
            continue
        yield from resolve_outgoing(file_tree, document)


def _collect_links(
    workspace: Workspace, snapshot: Snapshot, target: ResolvedAddress, kind: str | None
) -> dict[str, list[DocumentLink]]:
    from index.link_graph.backlinks import resolve_outgoing
    from workspace.document.addresses import resolve_section
    from workspace.links.file_tree import OverlayFileTree

    file_tree = OverlayFileTree(snapshot)
    document = snapshot.document(target.path)
    section_keys = None
    if target.slug is not None:
        section = resolve_section(document, target.slug)
        section_keys = {section.key, *(child.key for child in document.descendants(section))}
    links_by_kind: dict[str, list[DocumentLink]] = {}
    if kind != "backlinks":
        outgoing = resolve_outgoing(file_tree, document)
        links_by_kind["outgoing"] = [
            link for link in outgoing if section_keys is None or link.section in section_keys
        ]
    if kind in (None, "backlinks"):
        preamble = document.preamble.key if document.preamble else None
        backlinks = _collect_backlinks(workspace, snapshot, file_tree, document)
        links_by_kind["backlinks"] = [
            link
            for link in backlinks
            if section_keys is None or (link.target_key or preamble) in section_keys
        ]
    return links_by_kind


def _collect_backlinks(
    workspace: Workspace, snapshot: Snapshot, file_tree: OverlayFileTree, document: Document
) -> list[DocumentLink]:
    from index.link_graph.backlinks import resolve_backlinks
    from index.service import SearchIndex

    index = SearchIndex(workspace)
    try:
        with console.show_progress("Reading links") as progress:
            return resolve_backlinks(
                file_tree, document, index.links.find_records_after_update(snapshot, document.path, progress)
            )
    finally:
        index.close()


def _links_to_data(
    target: ResolvedAddress | None, links_by_kind: dict[str, list[DocumentLink]], commit: str | None
) -> dict[str, Any]:
    data: dict[str, Any] = {"commit": commit, **(target.data if target else {})}
    for name, links in links_by_kind.items():
        data |= {name: [_link_to_data(link) for link in links], f"{name}_total": len(links)}
    return data


def _print_links(links_by_kind: dict[str, list[DocumentLink]]) -> None:
    for name, links in links_by_kind.items():
        rows = [
            (
                f"{link.source_address}:{link.line}",
                link.address,
                "broken" if _is_broken(link) else link.kind,
            )
            for link in links
        ]
        console.print_table((f"{name} ({len(links):,})", "target", ""), rows)


def _link_to_data(link: DocumentLink) -> dict[str, Any]:
    return {
        "from": link.source_address,
        "line": link.line,
        "kind": link.kind.value,
        "image": link.is_image,
        "destination": link.destination,
        "to": link.address,
        "status": link.status.value,
    }
