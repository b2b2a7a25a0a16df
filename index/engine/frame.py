"""What Whoosh is told of our index, its fields and its storage; and what becomes of Whoosh's failures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from whoosh import fields, formats
from whoosh.filedb.filestore import FileStorage, RamStorage
from whoosh.index import TOC, FileIndex

from index.files import IndexUnwritable
from index.generation import PATH, STATE, TAGS, TEXT, TYPE
from index.integrity import IndexDamaged, Manifest
from workspace.errors import WorkspaceError

NAME = "MAIN"
RECORD = "record"


@contextmanager
def reading() -> Iterator[None]:
    """Turn whatever goes wrong in Whoosh into IndexDamaged."""
    try:
        yield
    except WorkspaceError:
        raise
    except Exception as error:
        # Whoosh checks nothing that it reads: damage shows as whatever fails first in code that trusts it,
        # from TypeError, EOFError and struct.error to a bare Exception. Only Whoosh is called in here.
        raise IndexDamaged.because(type(error).__name__) from error


@contextmanager
def refusing() -> Iterator[None]:
    """As `reading`, but where the system refuses to write, IndexUnwritable."""
    try:
        with reading():
            yield
    except IndexDamaged as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError):
            raise IndexUnwritable.because(cause) from cause
        raise


def schema() -> fields.Schema:
    """Give the fields of our index; the one in the folder is never unpickled."""
    # Existence keeps nothing beside a posting's weight; the analysis is ours, so the fields have no analyzer.
    exact = {name: fields.FieldType(formats.Existence(), None) for name in (PATH, TYPE, TAGS, STATE)}
    text = fields.FieldType(formats.Existence(), None, scorable=True)
    return fields.Schema(**exact, **{TEXT: text, RECORD: fields.STORED()})


def key_of(term: str) -> bytes:
    """Give a term as it is stored; lone surrogates pass."""
    return term.encode("utf-8", "surrogatepass")


def term_of(key: bytes) -> str:
    """Give the term that is stored as these bytes."""
    return key.decode("utf-8", "surrogatepass")


class Memory(RamStorage):  # type: ignore[misc]
    """Whoosh's storage in memory, its temporary files included."""

    def temp_storage(self, name: str | None = None) -> Memory:
        return Memory()


class Frame(FileIndex):  # type: ignore[misc]
    """What Whoosh's writer asks of an index: the table of contents that the manifest names."""

    def __init__(
        self, folder: Path | None, storage: FileStorage | RamStorage, manifest: Manifest | None
    ) -> None:
        self.folder = folder
        self.storage = storage
        self.indexname = NAME
        self.manifest = manifest

    def _read_toc(self) -> TOC:
        number = self.manifest.generation if self.manifest else None
        return TOC.read(self.storage, NAME, number, schema())


def file_of(segment: Any) -> str:
    """Name the one file in which Whoosh keeps a segment."""
    return str(segment.make_filename(".seg"))
