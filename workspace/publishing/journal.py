"""The journal: a record of a publication's steps, written before the first of them.

`staging_folder` writes the journal into the publication's folder. After a crash, `recovery` reads it. Before
the commit point, everything is rolled back; after it, the remaining steps are done. A torn journal is treated
as missing: a journal is complete before the first lock is acquired, so nothing has been changed yet.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import ClassVar

from workspace.errors import WorkspaceError
from workspace.paths import InvalidPath, check_path

JOURNAL_NAME = "journal"
FORMAT_VERSION = 1

_OBJECT_ID = re.compile(r"[0-9a-f]{40}")
_PRIVATE_NAME = re.compile(r"\.docyard-[0-9a-f]{16}-[0-9]+")
_INDEX_NAME = re.compile(r"index-[0-9]+")
_GIT_DIR = re.compile(r"\.|worktrees/(?!\.{1,2}$)[^/\0]+")


class UnknownJournal(WorkspaceError):
    """An error: a complete journal has the format of another version, so that this one cannot recover it."""

    code: ClassVar[str] = "UNKNOWN_JOURNAL"

    def __init__(self) -> None:
        super().__init__(
            "another version of Docyard was killed during a commit in this repository",
            fix="Start that version once: it rolls the commit back or completes it.",
        )


@dataclass(frozen=True, slots=True)
class WorkFile:
    """One file of the work tree: its blob and mode before and after (None: the file does not exist).

    `name` is the prefix of its private files next to it; no other program creates such names.
    """

    path: str
    name: str
    old: tuple[str, int] | None
    new: tuple[str, int] | None


@dataclass(frozen=True, slots=True)
class Journal:
    """A publication: the branch, its move from `base` to `commit`, and the changes to a work tree.

    `git_dir` is the work tree's own Git directory, relative to the common one; None if no work tree is
    updated. `index` is the name of Git's finished index in the staging folder, and `had_index` is True if
    Git's index existed before. `folders` are the missing folders of the work tree, the outermost first.
    """

    branch: str
    base: str | None
    commit: str
    git_dir: str | None = None
    index: str | None = None
    had_index: bool = False
    files: tuple[WorkFile, ...] = ()
    folders: tuple[str, ...] = ()

    def encode(self) -> bytes:
        """Return the bytes of the journal: a line of JSON, and a line with its SHA-256."""
        text = json.dumps({"version": FORMAT_VERSION, **asdict(self)}).encode()
        return text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n"

    @classmethod
    def decode(cls, data: bytes) -> Journal | None:
        """Return the journal of these bytes; None if they are incomplete.

        Raises UnknownJournal for another format, and for values that Docyard never writes.
        """
        text, _, digest = data.partition(b"\n")
        if digest != hashlib.sha256(text).hexdigest().encode() + b"\n":
            return None
        try:
            fields = json.loads(text)
            if fields.pop("version") != FORMAT_VERSION:
                raise UnknownJournal
            files = tuple(_decode_work_file(**file) for file in fields.pop("files"))
            journal = cls(files=files, folders=tuple(fields.pop("folders")), **fields)
            journal._check()
        except (ValueError, KeyError, TypeError, InvalidPath):
            raise UnknownJournal from None
        return journal

    def _check(self) -> None:
        """Raise ValueError or InvalidPath for values that Docyard never writes: a journal may be forged."""
        ids = [self.commit, *([self.base] if self.base else [])]
        ids += [blob[0] for file in self.files for blob in (file.old, file.new) if blob]
        paths = [*self.folders, *(file.path for file in self.files)]
        is_valid = (
            all(_OBJECT_ID.fullmatch(id) for id in ids)
            and all(check_path(path) == path for path in paths)
            and all(_PRIVATE_NAME.fullmatch(file.name) for file in self.files)
            and (self.git_dir is None or _GIT_DIR.fullmatch(self.git_dir))
            and (self.index is None or _INDEX_NAME.fullmatch(self.index))
        )
        if not is_valid:
            raise ValueError


def _decode_work_file(path: str, name: str, old: list[object] | None, new: list[object] | None) -> WorkFile:
    return WorkFile(path, name, _decode_blob(old), _decode_blob(new))


def _decode_blob(value: list[object] | None) -> tuple[str, int] | None:
    if value is None:
        return None
    id, mode = value
    if not isinstance(id, str) or not isinstance(mode, int):
        raise TypeError
    return id, mode
