"""Hypothesis strategies for documents with links in many spellings, and a file tree to resolve the links."""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping
from functools import cached_property
from posixpath import relpath
from urllib.parse import quote

from hypothesis import strategies as st

from workspace.config.names import Dialect
from workspace.config.tables import LinkRules
from workspace.document.document import Document
from workspace.links.file_tree import group_by_stem
from workspace.links.link import LinkKind
from workspace.links.reader import read_cached_links
from workspace.links.resolver import resolve

PATHS = (
    "README.md",
    "a/README.md",
    "a/b/index.md",
    "a/rate-limits.md",
    "a/rate limits.md",
    "a/100%.md",
    "a/b/x&y (2).md",
    "a/b/über/straße.md",
    "a/b/über/文書.md",
    "a/v1.2.markdown",
    "B/-.md",
    "B/a_b'c\".md",
    "B/Case.md",
    "B/x.md.md",
    "a%20b.md",
)
SOURCE_PATHS = ("README.md", "top.md", "a/from.md", "a/b/from.md", "B/from.md", "a/b/über/from.md")


class PathTree:
    """A file tree that contains only paths."""

    def __init__(self, paths: Collection[str], rules: LinkRules) -> None:
        self.paths = frozenset(paths)
        self.rules = rules
        self.folders = {path[:end] for path in paths for end in range(len(path)) if path[end] == "/"}

    @cached_property
    def paths_by_stem(self) -> Mapping[str, Collection[str]]:
        return group_by_stem(self.paths)

    def exists(self, path: str) -> bool:
        return not path or path in self.paths or path in self.folders

    def is_folder(self, path: str) -> bool:
        return not path or path in self.folders

    def list_names(self, folder: str) -> Collection[str]:
        prefix = f"{folder}/" if folder else ""
        relative_paths = (path.removeprefix(prefix) for path in self.paths if path.startswith(prefix))
        return {path.partition("/")[0] for path in relative_paths}

    def document(self, path: str) -> Document | None:
        return None


def read_targets(file_tree: PathTree, document: Document) -> set[tuple[LinkKind, str, str]]:
    """Return kind, destination and path of each link of a document to a file or folder."""
    targets = set()
    for link in read_cached_links(document, wiki=file_tree.rules.wiki).links:
        resolved_link = resolve(file_tree, document.path, link)
        if resolved_link.path:
            targets.add((link.kind, link.destination, resolved_link.path))
    return targets


rules = st.builds(
    LinkRules, dialect=st.sampled_from(Dialect), wiki=st.booleans(), root=st.sampled_from(["", "a"])
)


@st.composite
def destinations(draw: st.DrawFn, source: str) -> str:
    """Draw a destination of a path, relative to a document, in any spelling."""
    target = draw(st.sampled_from(PATHS))
    path = target
    for _ in range(draw(st.integers(0, 2))):
        path = draw(
            st.sampled_from(
                [path.removesuffix(".md"), path.rpartition("/")[0], path + "/", path + "/..", path + "/."]
            )
        )
    if draw(st.booleans()):
        path = relpath("/" + path, "/" + source.rpartition("/")[0])
        path = draw(st.sampled_from(["", "./"])) + path
    else:
        path = "/" + path
    return "".join(draw(spell_character(character)) for character in path)


def spell_character(character: str) -> st.SearchStrategy[str]:
    """Return a strategy for spellings of a character: mostly unchanged, otherwise escaped."""
    spellings = [character] * 12 + [quote(character, safe=""), quote(character, safe="").lower()]
    spellings += [
        html.escape(character),
        f"&#{ord(character)};",
        f"&#x{ord(character):X};",
        f"%{ord(character):02x}",
    ]
    names = [name for name, text in html.entities.html5.items() if text == character]
    spellings += [f"&{name}" for name in names[:3]]
    if not character.isalnum():
        spellings.append("\\" + character)
    spellings.append(character + "\t")
    return st.sampled_from(spellings)


LINK_FORMS = (
    "[t]({0})",
    "[t](<{0}>)",
    "![t]( {0} 'title')",
    "[t]({0}#part)",
    "[t](<{0}?q#part>)",
    "[t]:\n{0}\n\n[t]",
    "> [t]:\n> <{0}>\n>\n> [t]",
    '<a href="{0}">t</a>',
    "<a class=x href='{0}#x'>t</a>",
    "<img\nsrc={0}>",
    "[[{0}]]",
    "[[ {0}#Part|t ]]",
    "- x [t][u]\n\n  [u]: {0}",
    "| a |\n|---|\n| [t]({0}) |",
)


@st.composite
def linking_documents(draw: st.DrawFn, source: str) -> bytes:
    """Draw the bytes of a document with one to three links."""
    blocks = [
        draw(st.sampled_from(LINK_FORMS)).format(draw(destinations(source)))
        for _ in range(draw(st.integers(1, 3)))
    ]
    return "\n\nWords.\n\n".join(blocks).encode()


documents_with_path = st.sampled_from(SOURCE_PATHS).flatmap(
    lambda source: st.tuples(st.just(source), linking_documents(source))
)
