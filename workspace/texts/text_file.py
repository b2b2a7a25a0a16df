"""Text files: what stands at any path of a commit that people and programs can read as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

from workspace.errors import WorkspaceError
from workspace.paths import CONTROL, InvalidPath
from workspace.snapshot.snapshot import check_pointer
from workspace.texts.unreadable import unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot


class Kind(StrEnum):
    """What kind of text a file holds, by its name."""

    MARKDOWN = "markdown"
    RESTRUCTUREDTEXT = "restructuredtext"
    ASCIIDOC = "asciidoc"
    SOURCE = "source"
    LOG = "log"
    PLAIN = "plain"


_MARKUP = {
    Kind.MARKDOWN: ".md .markdown .mdx .mdown .mkd .mkdn .qmd .rmd",
    Kind.RESTRUCTUREDTEXT: ".rst .rest",
    Kind.ASCIIDOC: ".adoc .asciidoc .asc",
    Kind.LOG: ".log .out",
    Kind.SOURCE: ".bash .c .cc .cjs .clj .cpp .cr .cs .css .cxx .dart .el .erl .ex .exs .f90 .fs .go .gradle "
    ".groovy .h .hpp .hs .hxx .java .jl .js .jsx .kt .kts .lua .m .mjs .ml .nim .php .pl .pm .proto .ps1 .py "
    ".pyi .r .rb .rs .scala .sh .sql .svelte .swift .tf .ts .tsx .v .vb .vue .zig .zsh",
}
_FIRST = 8_000  # bytes, as in Git
# Tab, line ends, form feed, backspace and escape stand in texts: in logs, manual pages, source code.
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_FEW = 0.02
_KINDS = {suffix: kind for kind, suffixes in _MARKUP.items() for suffix in suffixes.split()}


def kind_of(path: str) -> Kind:
    """The kind of text that a file of this name holds; plain where the name does not say."""
    return _KINDS.get(PurePosixPath(path).suffix.lower(), Kind.PLAIN)


class NotText(WorkspaceError):
    """The file is binary."""

    code: ClassVar[str] = "NOT_TEXT"


@dataclass(frozen=True)
class TextFile:
    """A text at a commit: its path, the id of its blob, its bytes, and the kind that its name says.

    Offsets are bytes of `data`. Bytes that are not UTF-8 are shown as U+FFFD, and stay as they are.
    """

    path: str
    blob: str
    data: bytes
    kind: Kind
    parse: Callable[[], Document] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def document(self) -> Document | None:
        """The parsed Markdown; None for a text of another kind. Raises LimitExceeded."""
        if self.kind is not Kind.MARKDOWN:
            return None
        if self.parse is not None:
            return self.parse()
        from workspace.document.document import Document

        return Document.parse(self.data, self.path)

    def text(self, start: int = 0, end: int | None = None) -> str:
        """The bytes [start, end) as text; None is the end of the file."""
        return self.data[start:end].decode("utf-8", "replace")


def read_text(snapshot: Snapshot, path: str) -> TextFile:
    """The text at a path: any regular file under `root`, less `exclude`, less folders that begin with a dot.

    An absolute path is accepted where it lies in the work tree. Nothing is read of a file that is too large.
    Raises InvalidPath, DocumentNotFound, NotAFile, NotCommitted, NotADocument (Git LFS), NotText,
    LimitExceeded.
    """
    path = relative_path(snapshot, path).rstrip("/")
    entry = snapshot.entry(path)
    if entry is None or not entry.is_blob or not snapshot.config.is_readable(path):
        raise unreadable(snapshot, path, entry)
    snapshot.config.limits.check_document(path, snapshot.git.blob_size(entry.id))
    data = snapshot.git.blob(entry.id)
    check_pointer(path, data)
    is_document = snapshot.config.is_document(path)
    # A NUL in Markdown is read as U+FFFD (CommonMark 0.31 §2.3).
    if is_binary(data, may_hold_nul=is_document):
        details: dict[str, Any] = {"is": "binary"}
        fix = "Only text can be read; convert it to text or Markdown in UTF-8, and commit that."
        raise NotText(f"'{path}' is not text but binary", fix=fix, **details)
    parse = (lambda: snapshot.document(path)) if is_document else None
    return TextFile(path, entry.id, data, kind_of(path), parse)


def is_binary(data: bytes, *, may_hold_nul: bool = False) -> bool:
    """Return True if the first bytes of a file hold a NUL, as in Git, or many other control characters.

    A text in another encoding than UTF-8 is no reason: what cannot be decoded is shown as U+FFFD.
    """
    first = data[:_FIRST]
    controls = len(first) - len(first.translate(None, _CONTROLS))
    return (b"\0" in first and not may_hold_nul) or controls > _FEW * len(first)


def relative_path(snapshot: Snapshot, path: str) -> str:
    """A path as commits have it: without a leading `./`, and an absolute one from the work tree's top on.

    Raises InvalidPath, which does not repeat it, for an absolute path that is not in the work tree.
    """
    if not path.strip():
        raise InvalidPath("", "it is empty")
    if CONTROL.search(path):
        raise InvalidPath("", "it holds a control character")
    if not path.startswith(("/", "~")) and path[1:3] not in (":\\", ":/"):
        return path.removeprefix("./")
    top = snapshot.git.worktree
    if top is not None:
        for folder in (top, top.resolve()):
            inside = path.removeprefix(f"{folder.as_posix().rstrip('/')}/")
            if inside != path and ".." not in inside.split("/"):
                return inside
    if path.startswith("~") and snapshot.entry(path) is not None:
        return path
    raise InvalidPath("", "it is absolute, and not within the workspace")
