"""Text files: any file of a commit that can be read as text.

The files of a commit, as something that a path is in: what tells a `#` in a name from one behind it.

Why a path cannot be read as a text, and which paths are near it that can.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

from workspace.config.toml import CONFIG_PATH
from workspace.errors import HintKind, SuggestionSource, WorkspaceError
from workspace.git import trees
from workspace.git.objects import LINK_MODE
from workspace.nearest import find_nearest
from workspace.paths import CONTROL, InvalidPath
from workspace.snapshot.snapshot import NOTHING_YET, DocumentNotFound, check_pointer, not_committed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workspace.document.document import Document
    from workspace.git.objects import TreeEntry
    from workspace.snapshot.snapshot import Snapshot

_SHOWN = 200
_CANDIDATES = 5

# To walk all of a huge tree would take longer than an error is worth.
_MOST_NAMES = 200_000


class NotAFile(DocumentNotFound):
    """A folder, a symbolic link or a submodule stands at this path; `is` says which."""

    code: ClassVar[str] = "NOT_A_FILE"


def list_readable_paths(snapshot: Snapshot) -> Iterator[str]:
    """Return the paths of all regular files that may be read, in Git's order, without reading them."""
    if snapshot.tree is None:
        return
    is_readable = snapshot.config.is_readable
    for path, entry in trees.walk_tree(snapshot.git, snapshot.tree):
        if entry.is_blob and is_readable(path):
            yield path


def unreadable(snapshot: Snapshot, path: str, entry: TreeEntry | None) -> DocumentNotFound:
    """Return the error for a path at which `entry` stands, or nothing, and no file that may be read."""
    shown = path if len(path) <= _SHOWN else path[:_SHOWN] + "…"
    if path == "." or (entry is not None and entry.is_tree):
        within = "" if path == "." else path.rstrip("/") + "/"
        inside = (name for name in list_readable_paths(snapshot) if name.startswith(within))
        candidates = list(islice(inside, _CANDIDATES))
        fix = f"Name a file in it, such as '{candidates[0]}'." if candidates else "Name a file."
        return _not_a_file(shown, "a folder", fix, candidates)
    if entry is None:
        return _nothing(snapshot, path, shown)
    if not entry.is_blob:
        kind = "a symbolic link" if entry.mode == LINK_MODE else "a submodule"
        return _not_a_file(shown, kind, f"It is not followed; {_READ[kind]}.", [])
    return DocumentNotFound(
        f"'{shown}' is not a file that this workspace shows",
        fix=f"Name another: `root` and `exclude` in {CONFIG_PATH} decide, and folders that begin with a dot "
        "are left out.",
        candidates=[],
    )


_READ = {
    "a symbolic link": "name the file that it leads to",
    "a submodule": "serve that repository to read its files",
}


def _not_a_file(shown: str, kind: str, fix: str, candidates: list[str]) -> NotAFile:
    details: dict[str, Any] = {"candidates": candidates, "is": kind}
    return NotAFile(f"'{shown}' is {kind}", fix=fix, **details)


def _nothing(snapshot: Snapshot, path: str, shown: str) -> DocumentNotFound:
    """Return the error for a path that does not exist in the commit."""
    names = list(islice(list_readable_paths(snapshot), _MOST_NAMES))
    close = find_nearest(path, names)
    if snapshot.config.is_readable(path) and snapshot.in_work_tree(path):
        return not_committed(shown, close)
    if close:
        return DocumentNotFound(f"no file '{shown}'", fix=f"Did you mean '{close[0]}'?", candidates=close)
    return DocumentNotFound(
        f"no file '{shown}'",
        fix="Name a file that the commit has." if snapshot.commit else NOTHING_YET,
        among=SuggestionSource(HintKind.DOCUMENTS) if snapshot.commit else None,
        candidates=names[:_CANDIDATES],
    )


class TextKind(StrEnum):
    """The kind of text in a file, by its name."""

    MARKDOWN = "markdown"
    RESTRUCTUREDTEXT = "restructuredtext"
    ASCIIDOC = "asciidoc"
    SOURCE = "source"
    LOG = "log"
    PLAIN = "plain"


_MARKUP = {
    TextKind.MARKDOWN: ".md .markdown .mdx .mdown .mkd .mkdn .qmd .rmd",
    TextKind.RESTRUCTUREDTEXT: ".rst .rest",
    TextKind.ASCIIDOC: ".adoc .asciidoc .asc",
    TextKind.LOG: ".log .out",
    TextKind.SOURCE: ".bash .c .cc .cjs .clj .cpp .cr .cs .css .cxx .dart .el .erl .ex .exs .f90 .fs .go "
    ".gradle .groovy .h .hpp .hs .hxx .java .jl .js .jsx .kt .kts .lua .m .mjs .ml .nim .php .pl .pm .proto "
    ".ps1 .py .pyi .r .rb .rs .scala .sh .sql .svelte .swift .tf .ts .tsx .v .vb .vue .zig .zsh",
}

_FIRST = 8_000  # bytes, as in Git

# Tab, line ends, form feed, backspace and escape stand in texts: in logs, manual pages, source code.
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_FEW = 0.02
_KINDS = {suffix: kind for kind, suffixes in _MARKUP.items() for suffix in suffixes.split()}


def detect_kind(path: str) -> TextKind:
    """Return the kind of text that a file of this name holds; plain where the name does not say."""
    return _KINDS.get(PurePosixPath(path).suffix.lower(), TextKind.PLAIN)


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
    kind: TextKind
    parse: Callable[[], Document] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def document(self) -> Document | None:
        """The parsed Markdown; None for a text of another kind. Raises LimitExceeded."""
        if self.kind is not TextKind.MARKDOWN:
            return None
        if self.parse is not None:
            return self.parse()
        from workspace.document.document import Document

        return Document.parse(self.data, self.path)

    def text(self, start: int = 0, end: int | None = None) -> str:
        """Return the bytes [start, end) as text; None is the end of the file."""
        return self.data[start:end].decode("utf-8", "replace")


def read_text(snapshot: Snapshot, path: str) -> TextFile:
    """Return the text at a path: a regular file under `root`, not in `exclude` or in a dot folder.

    An absolute path is accepted where it lies in the work tree. Nothing is read of a file that is too large.
    Raises InvalidPath, DocumentNotFound, NotAFile, NotCommitted, NotADocument (Git LFS), NotText,
    LimitExceeded.
    """
    path = normalize_path(snapshot, path).rstrip("/")
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
    return TextFile(path, entry.id, data, detect_kind(path), parse)


def is_binary(data: bytes, *, may_hold_nul: bool = False) -> bool:
    """Return True if the first bytes of a file hold a NUL, as in Git, or many other control characters.

    A text in another encoding than UTF-8 is no reason: what cannot be decoded is shown as U+FFFD.
    """
    first = data[:_FIRST]
    controls = len(first) - len(first.translate(None, _CONTROLS))
    return (b"\0" in first and not may_hold_nul) or controls > _FEW * len(first)


def normalize_path(snapshot: Snapshot, path: str) -> str:
    """Return a path relative to the commit's root: no leading `./`, absolute paths relative to the work tree.

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


class LazyFilePaths:
    """The paths of a snapshot's regular files, each looked for when it is asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __contains__(self, path: object) -> bool:
        entry = self._snapshot.entry(path) if isinstance(path, str) else None
        return entry is not None and entry.is_blob
