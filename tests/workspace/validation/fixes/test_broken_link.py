"""Broken links are fixed if one target is possible, and unchanged if several targets are possible."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.loops import loop_over
from tests.workspace.validation.fixes.in_memory import KnownMoves, build_fix_finder
from workspace.document.document import Document
from workspace.validation.file_tree import FileSetTree
from workspace.validation.fixes.fix import fix_document

LINK_RULES = ("broken-link", "broken-fragment", "broken-image")
FILES = {
    "guides/setup.md": b"# Setup\n\n## First Steps\n\n## Errors {#codes}\n",
    "img/Logo.png": b"\x89PNG",
    "a b.md": b"# Spaces\n",
    "twin/One.md": b"",
    "twin/ONE.md": b"",
}
KNOWN_MOVES = KnownMoves(
    {"old.md": "guides/setup.md", "gone.md": "removed.md"},
    {("guides/setup.md", "begin"): ("guides/setup.md", "first-steps")},
)


def fix_links(text: str) -> str:
    data = text.encode()
    finder = build_fix_finder({**FILES, "doc.md": data}, *LINK_RULES, moves=KNOWN_MOVES)
    return fix_document(Document.parse(data, "doc.md"), finder).document.data.decode()


@loop_over(
    ("old_link", "new_link"),
    [
        ("[a](old.md)", "[a](guides/setup.md)"),
        ('[a](./old.md?x=1#first-steps "Title")', '[a](./guides/setup.md?x=1#first-steps "Title")'),
        ("[a](/old.md)", "[a](/guides/setup.md)"),
        ("[a][r]\n\n[r]: <old.md> 'T'", "[a][r]\n\n[r]: <guides/setup.md> 'T'"),
        ("[a](Guides/Setup.md)", "[a](guides/setup.md)"),
        ("![a](img/logo.PNG)", "![a](img/Logo.png)"),
        ("[a](A%20B.md)", "[a](a%20b.md)"),
        ("[a](guides/setup.md#First-Steps)", "[a](guides/setup.md#first-steps)"),
        ("[a](old.md#First-Steps)", "[a](guides/setup.md#first-steps)"),
        ("[a](guides/setup.md#begin)", "[a](guides/setup.md#first-steps)"),
        ('<a href="old.md">a</a>', '<a href="guides/setup.md">a</a>'),
    ],
)
def test_link_with_one_possible_target_is_fixed(old_link: str, new_link: str) -> None:
    assert fix_links(f"# Doc\n\n{old_link}\n") == f"# Doc\n\n{new_link}\n"


@loop_over(
    "link",
    [
        "[a](nowhere.md)",
        "[a](gone.md)",
        "[a](twin/one.md)",
        "[a](old.md#no-such-section)",
        "[a](guides/setup.md#no-such-section)",
        "[a](../outside.md)",
        "[a](https://example.org/old.md)",
        "`[a](old.md)`",
        "[a](guides/setup.md#codes)",
    ],
)
def test_link_without_exactly_one_new_target_is_unchanged(link: str) -> None:
    assert fix_links(f"# Doc\n\n{link}\n") == f"# Doc\n\n{link}\n"


class CountedNames(frozenset[str]):
    """The names of a folder, with a count of the iterations over them."""

    iteration_count = 0

    def __iter__(self) -> Iterator[str]:
        type(self).iteration_count += 1
        return super().__iter__()


def test_folder_is_listed_once_for_all_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder may have thousands of files, and thousands of links to deleted files."""
    names = CountedNames(f"f{number}.md" for number in range(100))
    monkeypatch.setattr(FileSetTree, "list_names", lambda file_tree, folder: () if folder else names)
    broken_link_count = 50
    links = "".join(f"[x](F{number}.md) [y](gone{number}.md)\n" for number in range(broken_link_count))
    files = dict.fromkeys(names, b"") | {"doc.md": links.encode()}
    CountedNames.iteration_count = 0
    result = fix_document(Document.parse(files["doc.md"], "doc.md"), build_fix_finder(files, "broken-link"))
    assert len(result.fixes) == broken_link_count
    assert CountedNames.iteration_count == 1
