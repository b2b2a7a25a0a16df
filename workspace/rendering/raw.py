"""Raw files: the formats that a browser may display, and those that it may only save.

The response forbids browsers to detect the type. A browser displays an SVG image in a page, where its scripts
do not run, but saves it if it is opened by itself, where only a policy would keep its scripts from running.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from workspace.errors import LimitExceeded
from workspace.rendering.images import detect_image_type
from workspace.texts.text_file import is_binary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.snapshot.snapshot import Snapshot

MAX_RAW_BYTES = 50_000_000

_NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}
# For a browser that displays an SVG image by itself: no script runs, nothing is loaded, and it has no origin.
_SVG_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
_FILE_POLICY = "sandbox; default-src 'none'"
_SVG_SAMPLE_BYTES = 4_096


class RawFile(NamedTuple):
    """A file's blob and bytes, and the headers of its response; `headers` excludes type and disposition."""

    blob: str
    data: bytes
    content_type: str
    disposition: str
    headers: Mapping[str, str]


def read_raw_file(snapshot: Snapshot, path: str) -> RawFile:
    """Return the file at a path of the commit: images and text to display, SVG and other files to save.

    A path may be any regular file under `root`, except for `exclude` and folders that begin with a dot.
    Raises DocumentNotFound, LimitExceeded.
    """
    entry = snapshot.entry(path)
    if entry is None or not entry.is_blob or not snapshot.config.is_readable(path):
        raise snapshot.make_not_found_error(path)
    size = snapshot.git.blob_size(entry.id)
    if size > MAX_RAW_BYTES:
        raise LimitExceeded(
            f"'{path}' has {size:,} bytes; at most {MAX_RAW_BYTES:,} are shown",
            fix="Read the file in a clone of the repository.",
            limit=MAX_RAW_BYTES,
            actual=size,
        )
    data = snapshot.git.blob(entry.id)
    return RawFile(entry.id, data, *_choose_headers(path, data))


def _choose_headers(path: str, data: bytes) -> tuple[str, str, Mapping[str, str]]:
    image_type = detect_image_type(data)
    if image_type:
        return image_type, "inline", {**_NO_SNIFFING, "Content-Security-Policy": _FILE_POLICY}
    if path.lower().endswith(".svg") and b"<svg" in data[:_SVG_SAMPLE_BYTES].lower():
        return (
            "image/svg+xml",
            _format_attachment(path),
            {**_NO_SNIFFING, "Content-Security-Policy": _SVG_POLICY},
        )
    headers = {**_NO_SNIFFING, "Content-Security-Policy": _FILE_POLICY}
    if not is_binary(data):
        return "text/plain; charset=utf-8", "inline", headers
    return "application/octet-stream", _format_attachment(path), headers


def _format_attachment(path: str) -> str:
    """Return the disposition of a file to save."""
    name = PurePosixPath(path).name.encode("utf-8", "replace").decode()
    # RFC 6266 §4.3: characters of the name that are not ASCII are percent-encoded.
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"
