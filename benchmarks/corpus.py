"""A folder of Markdown, and a temporary repository with its documents."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pygit2

from index.analysis.words import STOP_WORDS
from index.documents import IndexedDocument
from workspace.document.document import Document
from workspace.git import trees
from workspace.git.index_file import IndexFile
from workspace.git.objects import FILE_MODE, Signature
from workspace.git.repository import create_repository
from workspace.git.store import GitStore

BRANCH = "main"
SEED = 20
_AUTHOR = Signature("Benchmark", "benchmark@example.org", 1_700_000_000)
_WORD = re.compile(r"[A-Za-z]{3,}")


class CorpusTooSmall(Exception):
    """A corpus is too small for a measurement."""


class SectionText(NamedTuple):
    """A section for an engine without a document model; `headings` are the titles above the section."""

    id: str
    title: str
    body: str
    headings: str
    path: str
    tags: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents of a folder, by path, in order."""

    documents: dict[str, bytes]

    @classmethod
    def read(cls, root: Path) -> Corpus:
        """Return a corpus of the files that `find_markdown_files` finds in a folder."""
        return cls(
            {path.relative_to(root).as_posix(): path.read_bytes() for path in find_markdown_files(root)}
        )

    @property
    def size(self) -> int:
        """Return the total size of the documents in bytes."""
        return sum(map(len, self.documents.values()))

    def read_section_texts(self) -> Iterator[SectionText]:
        """Yield each section with its own text, without subsections."""
        for path, data in self.documents.items():
            document = Document.parse(data, path)
            indexed_document = IndexedDocument.of(document, "")
            for section in document.sections:
                yield SectionText(
                    id=f"{path}#{section.key}",
                    title=section.title,
                    body=document.text(section.body_start, section.end),
                    headings="\n".join(indexed_document.headings_above(section)),
                    path=path,
                    tags=" ".join(document.tags),
                )


def find_markdown_files(root: Path) -> list[Path]:
    """Return the `*.md` files of a folder, sorted, except those in folders whose name begins with a dot."""
    return [
        path
        for path in sorted(root.rglob("*.md"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(root).parts[:-1])
    ]


def make_repository(corpus: Corpus, path: Path) -> None:
    """Make a repository with a clean work tree and all documents in one commit."""
    create_repository(path, BRANCH)
    config = pygit2.Repository(str(path)).config
    # The user's own settings must not affect measurements.
    for name, value in (
        ("user.name", _AUTHOR.name),
        ("user.email", _AUTHOR.email),
        ("commit.gpgsign", "false"),
        ("core.autocrlf", "false"),
    ):
        config[name] = value
    store = GitStore(path)
    blobs: dict[str, str | None] = {}
    for name, data in corpus.documents.items():
        blobs[name] = store.put_blob(data)
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    index = IndexFile.empty().with_changes({name: (blob, FILE_MODE) for name, blob in blobs.items() if blob})
    (store.git_dir / "index").write_bytes(index.data)
    tree = trees.rewrite_tree(store, None, blobs)
    commit = store.put_commit(tree, (), _AUTHOR, _AUTHOR, "A corpus")
    (store.git_dir / "refs" / "heads" / BRANCH).write_text(commit + "\n")


def draw_queries(section_texts: Sequence[SectionText], count: int) -> list[list[str]]:
    """Return `count` queries of two to six words of one section each, always the same for a corpus.

    Raises CorpusTooSmall if too few of the drawn sections have six different words. Stop words and words of
    fewer than three letters are not counted.
    """
    rng = random.Random(SEED)
    queries: list[list[str]] = []
    for _ in range(count * 100 if section_texts else 0):
        section_text = rng.choice(section_texts)
        all_words = {word.lower() for word in _WORD.findall(f"{section_text.title} {section_text.body}")}
        words = sorted(all_words - STOP_WORDS)
        if len(words) >= 6:
            queries.append(rng.sample(words, rng.randint(2, 6)))
        if len(queries) == count:
            return queries
    raise CorpusTooSmall("the folder has too little text to draw queries from")
