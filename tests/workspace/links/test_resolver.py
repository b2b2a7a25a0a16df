"""Links are resolved and rewritten as in the examples of `tests/cases/links.md`."""

from __future__ import annotations

from pathlib import Path

from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from tests.workspace.links.folder_file_tree import read_folder
from workspace.config.config import WorkspaceConfig
from workspace.config.names import Dialect
from workspace.document.document import Document
from workspace.links.destinations import format_destination
from workspace.links.fragments import find_names
from workspace.links.reader import read_cached_links
from workspace.links.resolver import FileTree, LinkStatus, ResolvedLink, Target, resolve, suggest_destination

CASES = read_cases("links.md")


class _Folder:
    """The files of an example, which are written to a folder, and the path of its first document."""

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
    def file_tree(self) -> FileTree:
        return read_folder(self.root, self.config)

    def resolve_links(self) -> list[ResolvedLink]:
        wiki = self.config.links.wiki
        return [
            resolve(self.file_tree, self.path, link) for link in read_cached_links(self.document, wiki).links
        ]


def _select_cases(fence: str) -> list[object]:
    return [case for case in CASES if any(name.startswith(fence) for name in case.values[0].fences)]


@loop_over("case", _select_cases("links"))
def test_links_resolve_as_in_the_examples(case: Case, tmp_path: Path) -> None:
    folder = _Folder(case, tmp_path)
    links = read_cached_links(folder.document, folder.config.links.wiki).links
    rows = [
        f"{link.line} {_format_resolved_link(folder, resolved_link)}"
        for link, resolved_link in zip(links, folder.resolve_links(), strict=True)
    ]
    assert rows == case.fences["links"].splitlines()


def _format_resolved_link(folder: _Folder, resolved_link: ResolvedLink) -> str:
    suggestion = suggest_destination(folder.file_tree, resolved_link)
    texts = [resolved_link.status.value, f"; did you mean '{suggestion}'?" if suggestion else ""]
    if resolved_link.status is LinkStatus.OK and resolved_link.path is not None:
        texts.insert(1, f" {resolved_link.path or '.'}")
        document = folder.file_tree.document(resolved_link.path)
        if resolved_link.fragment_target and document:
            target = resolved_link.fragment_target
            line = document.lines.line_at(target.offset) + 1 if target.section is not None else 0
            texts.append(f":{line}")
    return "".join(texts)


@loop_over("case", _select_cases("renamed"))
def test_destinations_are_rewritten_as_in_the_examples(case: Case, tmp_path: Path) -> None:
    folder = _Folder(case, tmp_path / "before")
    links, old_links = (
        read_cached_links(folder.document, folder.config.links.wiki).links,
        folder.resolve_links(),
    )
    new_paths = dict(line.split(" -> ") for line in case.fences["renamed"].splitlines())
    new_folder = _Folder(case, tmp_path / "unused")
    new_folder.root = tmp_path / "after"
    new_folder.files = {new_paths.get(path, path): data for path, data in folder.files.items()}
    new_folder.path = new_paths.get(folder.path, folder.path)
    new_folder.write()
    data = folder.document.data
    for link, resolved_link in reversed(list(zip(links, old_links, strict=True))):
        start, end = link.destination_start, link.destination_end
        if resolved_link.path is None or resolved_link.is_broken or start == end:
            continue
        fragment = resolved_link.target.fragment if resolved_link.target else None
        target = Target(new_paths.get(resolved_link.path, resolved_link.path), fragment)
        data = (
            data[:start]
            + format_destination(link, new_folder.path, target, new_folder.file_tree, data[start:end])
            + data[end:]
        )
    assert data.decode() == case.data("after").decode()
    new_folder.files[new_folder.path] = data
    new_folder.write()
    for resolved_link, old_link in zip(new_folder.resolve_links(), old_links, strict=True):
        if not old_link.is_broken:
            assert (resolved_link.status, resolved_link.path) == (
                old_link.status,
                new_paths.get(str(old_link.path), old_link.path),
            )


@loop_over("case", _select_cases("names"))
def test_names_of_a_document_are_found_as_in_the_examples(case: Case, tmp_path: Path) -> None:
    document = _Folder(case, tmp_path).document
    for fence, expected_names in case.fences.items():
        if fence.startswith("names "):
            names = find_names(document, Dialect(fence.removeprefix("names ")))
            rows = {
                f"{name} = {document.lines.line_at(target.offset) + 1 if target.section is not None else 0}"
                for name, target in names.items()
            }
            assert rows == set(expected_names.splitlines())
