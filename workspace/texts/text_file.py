"""Text files: the files of a commit that can be read as text.

The module also builds the errors for paths that cannot be read, with the nearest readable paths. A lazy set
of the paths of a commit distinguishes a `#` in a file name from the beginning of a fragment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

from workspace.config.toml import CONFIG_PATH
from workspace.errors import WorkspaceError
from workspace.git import trees
from workspace.git.objects import LINK_MODE
from workspace.paths import UNPRINTABLE_CHARACTER, InvalidPath
from workspace.snapshot.snapshot import DocumentNotFound, check_lfs_pointer, shorten_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workspace.document.document import Document
    from workspace.git.objects import TreeEntry
    from workspace.snapshot.snapshot import Snapshot

_MAX_CANDIDATES = 5

# The search in a huge tree would take too long for an error message.
_MAX_SEARCHED_PATHS = 200_000


class NotAFile(DocumentNotFound):
    """An error: a path is a folder, a symbolic link or a submodule. The detail `is` names the type."""

    code: ClassVar[str] = "NOT_A_FILE"


def list_readable_paths(snapshot: Snapshot) -> Iterator[str]:
    """Yield the paths of all regular files that may be read, in Git's order, without reading them."""
    if snapshot.tree is None:
        return
    is_readable = snapshot.config.is_readable
    for path, entry in trees.walk_tree(snapshot.git, snapshot.tree):
        if entry.is_blob and is_readable(path):
            yield path


def make_unreadable_path_error(snapshot: Snapshot, path: str, entry: TreeEntry | None) -> DocumentNotFound:
    """Return the error for a path that is not a readable file.

    `entry` is the tree entry at the path, or None if it does not exist.
    """
    display_path = shorten_path(path)
    if path == "." or (entry is not None and entry.is_tree):
        prefix = "" if path == "." else path.rstrip("/") + "/"
        paths_inside = (name for name in list_readable_paths(snapshot) if name.startswith(prefix))
        candidates = list(islice(paths_inside, _MAX_CANDIDATES))
        fix = f"Name a file in the folder, such as '{candidates[0]}'." if candidates else "Name a file."
        return _make_not_a_file_error(display_path, "a folder", fix, candidates)
    if entry is None:
        paths = list(islice(list_readable_paths(snapshot), _MAX_SEARCHED_PATHS))
        return snapshot.make_missing_path_error(
            "file", path, paths, is_selected=snapshot.config.is_readable(path)
        )
    if not entry.is_blob:
        kind = "a symbolic link" if entry.mode == LINK_MODE else "a submodule"
        return _make_not_a_file_error(
            display_path, kind, f"Symbolic links and submodules are not followed; {_FIX_BY_KIND[kind]}.", []
        )
    return DocumentNotFound(
        f"'{display_path}' is not a file that this workspace shows",
        fix=f"Name another file: `root` and `exclude` in {CONFIG_PATH} select the files, and folders "
        "that begin with a dot are excluded.",
        candidates=[],
    )


_FIX_BY_KIND = {
    "a symbolic link": "name the file that the link leads to",
    "a submodule": "serve that repository to read its files",
}


def _make_not_a_file_error(display_path: str, kind: str, fix: str, candidates: list[str]) -> NotAFile:
    details: dict[str, Any] = {"candidates": candidates, "is": kind}
    return NotAFile(f"'{display_path}' is {kind}", fix=fix, **details)


class TextKind(StrEnum):
    """The kind of text in a file, by its name."""

    MARKDOWN = "markdown"
    RESTRUCTUREDTEXT = "restructuredtext"
    ASCIIDOC = "asciidoc"
    SOURCE = "source"
    LOG = "log"
    PLAIN = "plain"


_SUFFIXES = {
    TextKind.MARKDOWN: ".md .markdown .mdx .mdown .mkd .mkdn .qmd .rmd",
    TextKind.RESTRUCTUREDTEXT: ".rst .rest",
    TextKind.ASCIIDOC: ".adoc .asciidoc .asc",
    TextKind.LOG: ".log .out",
    TextKind.SOURCE: ".bash .c .cc .cjs .clj .cpp .cr .cs .css .cxx .dart .el .erl .ex .exs .f90 .fs .go "
    ".gradle .groovy .h .hpp .hs .hxx .java .jl .js .jsx .kt .kts .lua .m .mjs .ml .nim .php .pl .pm .proto "
    ".ps1 .py .pyi .r .rb .rs .scala .sh .sql .svelte .swift .tf .ts .tsx .v .vb .vue .zig .zsh",
}

_SAMPLE_BYTES = 8_000  # as in Git

# The other control characters occur in texts: in logs, manual pages and source code.
_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_MAX_CONTROL_SHARE = 0.02
_KINDS_BY_SUFFIX = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


def detect_kind(path: str) -> TextKind:
    """Return the kind of text of a file by its name; return PLAIN if the suffix is unknown."""
    return _KINDS_BY_SUFFIX.get(PurePosixPath(path).suffix.lower(), TextKind.PLAIN)


class NotText(WorkspaceError):
    """An error: a file is binary. The detail `is` is "binary"."""

    code: ClassVar[str] = "NOT_TEXT"


@dataclass(frozen=True)
class TextFile:
    """A text at a commit: its path, the id of its blob, its bytes, and its kind by its name.

    Offsets are bytes of `data`. Bytes that are not UTF-8 are displayed as U+FFFD, and stay unchanged.
    `parse` returns the parsed document; it is None unless the file is a document of the workspace.
    """

    path: str
    blob: str
    data: bytes
    kind: TextKind
    parse: Callable[[], Document] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def document(self) -> Document | None:
        """The parsed Markdown, or None for a text of another kind. Raises LimitExceeded."""
        if self.kind is not TextKind.MARKDOWN:
            return None
        if self.parse is not None:
            return self.parse()
        from workspace.document.document import Document

        return Document.parse(self.data, self.path)

    def text(self, start: int = 0, end: int | None = None) -> str:
        """Return the bytes [start, end) as text; None means the end of the file."""
        return self.data[start:end].decode("utf-8", "replace")


def read_text(snapshot: Snapshot, path: str) -> TextFile:
    """Return the text at a path: a regular file under `root`, not in `exclude` or in a dot folder.

    An absolute path inside the work tree is accepted. The size is checked before a file is read.

    Raises InvalidPath, DocumentNotFound, NotAFile, NotCommitted, LfsTextMissing (Git LFS), NotText,
    LimitExceeded.
    """
    path = normalize_path(snapshot, path).rstrip("/")
    entry = snapshot.entry(path)
    if entry is None or not entry.is_blob or not snapshot.config.is_readable(path):
        raise make_unreadable_path_error(snapshot, path, entry)
    snapshot.config.limits.check_document(path, snapshot.git.blob_size(entry.id))
    data = snapshot.git.blob(entry.id)
    check_lfs_pointer(path, data)
    is_document = snapshot.config.is_document(path)
    # A NUL in Markdown is read as U+FFFD (CommonMark 0.31 §2.3).
    if is_binary(data, may_contain_nul=is_document):
        details: dict[str, Any] = {"is": "binary"}
        fix = "Only text can be read: convert the file to text or Markdown in UTF-8, and commit it."
        raise NotText(f"'{path}' is not text but binary", fix=fix, **details)
    parse = (lambda: snapshot.document(path)) if is_document else None
    return TextFile(path, entry.id, data, detect_kind(path), parse)


def is_binary(data: bytes, *, may_contain_nul: bool = False) -> bool:
    """Return True if the first 8,000 bytes of a file contain a NUL, as in Git, or over 2% control characters.

    Invalid UTF-8 alone does not make a file binary; it is displayed as U+FFFD.
    """
    sample = data[:_SAMPLE_BYTES]
    control_count = len(sample) - len(sample.translate(None, _CONTROL_BYTES))
    return (b"\0" in sample and not may_contain_nul) or control_count > _MAX_CONTROL_SHARE * len(sample)


def normalize_path(snapshot: Snapshot, path: str) -> str:
    """Return a path relative to the root of the commit, without a leading `./`.

    An absolute path is accepted inside the work tree, and a path with a leading `~` if such a file exists.
    Raises InvalidPath for other absolute paths, blank paths and control characters; the message does not
    contain the path.
    """
    if not path.strip():
        raise InvalidPath("", "it is empty")
    if UNPRINTABLE_CHARACTER.search(path):
        raise InvalidPath("", "it contains a control character")
    if not path.startswith(("/", "~")) and path[1:3] not in (":\\", ":/"):
        return path.removeprefix("./")
    work_tree = snapshot.git.worktree
    if work_tree is not None:
        for folder in (work_tree, work_tree.resolve()):
            relative_path = path.removeprefix(f"{folder.as_posix().rstrip('/')}/")
            if relative_path != path and ".." not in relative_path.split("/"):
                return relative_path
    if path.startswith("~") and snapshot.entry(path) is not None:
        return path
    raise InvalidPath("", "it is absolute and outside of the workspace")


class LazyFilePaths:
    """The set of the paths of a snapshot's regular files; a path is looked up when it is tested."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __contains__(self, path: object) -> bool:
        entry = self._snapshot.entry(path) if isinstance(path, str) else None
        return entry is not None and entry.is_blob
