"""Resolution and rewriting of links, by the examples of `tests/cases/links.md`."""

from __future__ import annotations

from pathlib import Path

from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from tests.workspace.links.folder_world import folder_world
from workspace.config.config import WorkspaceConfig
from workspace.config.tables import Dialect
from workspace.document.document import Document
from workspace.links.destinations import format_destination
from workspace.links.fragments import find_names
from workspace.links.reader import read_cached_links
from workspace.links.resolver import FileTree, LinkStatus, ResolvedLink, Target, resolve, suggest_destination

CASES = read_cases("links.md")


class _Folder:
    """The folder of an example, and its first document."""

    def __init__(self, case: Case, root: Path) -> None:
        self.root = root
        self.config = WorkspaceConfig.read(case.fences.get("settings", "").encode())
        self.files = {
            fence.removeprefix("file "): case.data(fence)
            for fence in case.fences
            if fence.startswith("file ")
        }
        self.path = next(iter(self.files))
        self.files.update(dict.fromkeys(case.fences.get("files", "").splitlines(), b""))
        self.write()

    def write(self) -> None:
        for path, data in self.files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(data)

    @property
    def document(self) -> Document:
        return Document.parse(self.files[self.path], self.path)

    @property
    def world(self) -> FileTree:
        return folder_world(self.root, self.config)

    def resolve_links(self) -> list[ResolvedLink]:
        wiki = self.config.links.wiki
        return [resolve(self.world, self.path, link) for link in read_cached_links(self.document, wiki).links]


def _with(fence: str) -> list[object]:
    return [case for case in CASES if any(name.startswith(fence) for name in case.values[0].fences)]


@loop_over("case", _with("links"))
def test_links_resolve_as_in_the_examples(case: Case, tmp_path: Path) -> None:
    folder = _Folder(case, tmp_path)
    links = read_cached_links(folder.document, folder.config.links.wiki).links
    found_names = [
        f"{link.line} {_format_result(folder, found)}"
        for link, found in zip(links, folder.resolve_links(), strict=True)
    ]
    assert found_names == case.fences["links"].splitlines()


def _format_result(folder: _Folder, found: ResolvedLink) -> str:
    suggestion = suggest_destination(folder.world, found)
    words = [found.status.value, f"; did you mean '{suggestion}'?" if suggestion else ""]
    if found.status is LinkStatus.OK and found.path is not None:
        words.insert(1, f" {found.path or '.'}")
        document = folder.world.document(found.path)
        if found.fragment_target and document:
            place = found.fragment_target
            line = document.lines.line_at(place.offset) + 1 if place.section is not None else 0
            words.append(f":{line}")
    return "".join(words)


@loop_over("case", _with("renamed"))
def test_destinations_are_rewritten_as_in_the_examples(case: Case, tmp_path: Path) -> None:
    folder = _Folder(case, tmp_path / "before")
    links, before = read_cached_links(folder.document, folder.config.links.wiki).links, folder.resolve_links()
    renamed = dict(line.split(" -> ") for line in case.fences["renamed"].splitlines())
    moved = _Folder(case, tmp_path / "unused")
    moved.root = tmp_path / "after"
    moved.files = {renamed.get(path, path): data for path, data in folder.files.items()}
    moved.path = renamed.get(folder.path, folder.path)
    moved.write()
    data = folder.document.data
    for link, found in reversed(list(zip(links, before, strict=True))):
        start, end = link.destination_start, link.destination_end
        if found.path is None or found.is_broken or start == end:
            continue
        fragment = found.target.fragment if found.target else None
        target = Target(renamed.get(found.path, found.path), fragment)
        data = (
            data[:start]
            + format_destination(link, moved.path, target, moved.world, data[start:end])
            + data[end:]
        )
    assert data.decode() == case.data("after").decode()
    moved.files[moved.path] = data
    moved.write()
    for found, previous in zip(moved.resolve_links(), before, strict=True):
        if not previous.is_broken:
            assert (found.status, found.path) == (
                previous.status,
                renamed.get(str(previous.path), previous.path),
            )


@loop_over("case", _with("names"))
def test_names_of_a_document_are_found_as_in_the_examples(case: Case, tmp_path: Path) -> None:
    document = _Folder(case, tmp_path).document
    for fence, listed in case.fences.items():
        if fence.startswith("names "):
            names = find_names(document, Dialect(fence.removeprefix("names ")))
            found_names = {
                f"{name} = {document.lines.line_at(at.offset) + 1 if at.section is not None else 0}"
                for name, at in names.items()
            }
            assert found_names == set(listed.splitlines())
