"""The files of the repository that exported documents link to or show.

A static server sends no policy for a file, and derives its type from its name. So each file has a name whose
type runs nothing: an image is named by its format, and a text ends with `.txt`. An SVG image becomes part of
the page as a `data:` address, in which a browser runs no script; a link to it leads to its source.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.rendering.raw import read_raw_file

if TYPE_CHECKING:
    from workspace.snapshot.snapshot import Snapshot

MAX_INLINE_BYTES = 1_000_000
"""The maximum size of an SVG image that is part of a page; a larger one is only linked."""

_IMAGE_SUFFIXES = {
    "image/png": (".png",),
    "image/jpeg": (".jpg", ".jpeg"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "image/avif": (".avif",),
}
_BINARY_SUFFIXES = (".pdf", ".zip", ".gz", ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".mp3", ".mp4", ".webm")


class ExportedFile(NamedTuple):
    """A file of an export: its suffix in addition to its name, its bytes, and its `data:` address if any.

    `problem` is the reason if the file cannot be exported; `data` then repeats it.
    """

    suffix: str
    data: bytes
    inline_address: str | None = None
    problem: str | None = None


def read_exported_file(snapshot: Snapshot, path: str) -> ExportedFile:
    """Return a file of the commit as it is exported; a file that cannot be read is replaced by the reason."""
    try:
        file = read_raw_file(snapshot, path)
    except WorkspaceError as error:
        text = f"This file is not part of the export: {error.message}.\n"
        return ExportedFile(".txt", text.encode("utf-8", "replace"), problem=error.message)
    name = path.lower()
    if suffixes := _IMAGE_SUFFIXES.get(file.content_type):
        return ExportedFile("" if name.endswith(suffixes) else suffixes[0], file.data)
    if file.content_type == "image/svg+xml":
        address = None
        if len(file.data) <= MAX_INLINE_BYTES:
            address = f"data:image/svg+xml;base64,{b64encode(file.data).decode()}"
        return ExportedFile(".txt", file.data, address)
    if file.content_type.startswith("text/"):
        return ExportedFile("" if name.endswith(".txt") else ".txt", file.data)
    return ExportedFile("" if name.endswith(_BINARY_SUFFIXES) else ".bin", file.data)
