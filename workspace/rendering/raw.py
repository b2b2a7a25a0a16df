"""Raw files: the formats that a browser may display, and those that it may only save."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from workspace.errors import LimitExceeded
from workspace.texts.text_file import is_binary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.snapshot.snapshot import Snapshot

MAX_BYTES = 50_000_000

# What a file says it is, whatever its name: a browser is told not to guess.
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_AVIF = (b"avif", b"avis")
_NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}
# A picture may have a style, and nothing else: no script runs, nothing is loaded, and it is of no origin.
_OF_PICTURES = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
_OF_FILES = "sandbox; default-src 'none'"
_SVG_LOOKED_AT = 4_096


class RawFile(NamedTuple):
    """A file's blob and bytes, and how they are served; `headers` are those beside type and disposition."""

    blob: str
    data: bytes
    content_type: str
    disposition: str
    headers: Mapping[str, str]


def read_raw_file(snapshot: Snapshot, path: str) -> RawFile:
    """Return the file at a path of the commit: an image, a picture or text as such, all else to be saved.

    Any regular file under `root`, less `exclude`, less folders that begin with a dot. Raises
    DocumentNotFound, LimitExceeded.
    """
    entry = snapshot.entry(path)
    if entry is None or not entry.is_blob or not snapshot.config.is_readable(path):
        raise snapshot.not_found(path)
    size = snapshot.git.blob_size(entry.id)
    if size > MAX_BYTES:
        raise LimitExceeded(
            f"'{path}' has {size:,} bytes; at most {MAX_BYTES:,} are shown",
            fix="Read it in a clone of the repository.",
            limit=MAX_BYTES,
            actual=size,
        )
    data = snapshot.git.blob(entry.id)
    return RawFile(entry.id, data, *_serve(path, data))


def _serve(path: str, data: bytes) -> tuple[str, str, Mapping[str, str]]:
    image = _image(data)
    if image:
        return image, "inline", {**_NO_SNIFFING, "Content-Security-Policy": _OF_FILES}
    if path.lower().endswith(".svg") and b"<svg" in data[:_SVG_LOOKED_AT].lower():
        return "image/svg+xml", "inline", {**_NO_SNIFFING, "Content-Security-Policy": _OF_PICTURES}
    headers = {**_NO_SNIFFING, "Content-Security-Policy": _OF_FILES}
    if not is_binary(data):
        return "text/plain; charset=utf-8", "inline", headers
    name = PurePosixPath(path).name.encode("utf-8", "replace").decode()
    # RFC 6266 §4.3: the name's characters that ASCII has not are percent-encoded.
    return "application/octet-stream", f"attachment; filename*=UTF-8''{quote(name, safe='')}", headers


def _image(data: bytes) -> str | None:
    for mark, kind in _IMAGES:
        if data.startswith(mark):
            return kind
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp" and data[8:12] in _AVIF:
        return "image/avif"
    return None
