"""The operation that adds an image. Its format is read from its content.

SVG is refused, because it may contain scripts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.edits.operation import Operation, Outcome
from workspace.errors import LimitExceeded, WorkspaceError
from workspace.git.objects import hash_blob
from workspace.markdown.slugs import make_file_slug
from workspace.paths import InvalidPath, check_path
from workspace.rendering.images import detect_image_type, read_image_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.splices import EditContext
    from workspace.snapshot.overlay import Overlay

MAX_IMAGE_BYTES = 4_000_000
"""The maximum size of an image. A form with an image also fits the limits of proxies in `deploy/`."""

MAX_IMAGE_PIXELS = 100_000_000
"""The maximum product of width and height. A small file can decode to far more memory than a reader has."""

IMAGE_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
"""The suffix of the file of each permitted format."""

_DEFAULT_STEM = "image"
_MAX_NUMBER = 1_000


class InvalidImage(WorkspaceError):
    """An error: a file is not an image of a permitted format."""

    code = "INVALID_IMAGE"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddImage(Operation):
    """The addition of an image to a folder, which may be new; the empty path is the top folder.

    The name is made from `file_name`, and the suffix from the content. If the name is in use, a number is
    added; if it names the same image, nothing changes.
    """

    name: ClassVar[str] = "add_image"

    folder: str
    file_name: str
    data: bytes

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Add the image. Raises InvalidImage, InvalidPath, PathExists, LimitExceeded."""
        suffix = IMAGE_SUFFIXES[check_image(self.data)]
        stem = make_file_slug(self.file_name.rpartition(".")[0] or self.file_name) or _DEFAULT_STEM
        blob = hash_blob(self.data)
        for path in self._list_paths(stem, suffix):
            entry = overlay.snapshot.entry(path)
            if entry is not None and entry.is_blob and entry.id == blob:
                return Outcome(path, {"path": path, "added": False}, f"Add {path}", False)
            if entry is None:
                overlay.create_file(path, self.data)
                return Outcome(path, {"path": path, "added": True}, f"Add {path}", True)
        raise InvalidPath(path, f"{_MAX_NUMBER:,} images of the folder have this name")

    def _list_paths(self, stem: str, suffix: str) -> Iterator[str]:
        """Yield the paths to try, in order. Raises InvalidPath."""
        folder = self.folder.strip().strip("/")
        for number in range(1, _MAX_NUMBER + 1):
            name = f"{stem}{f'-{number}' if number > 1 else ''}{suffix}"
            yield check_path(f"{folder}/{name}" if folder else name)


def check_image(data: bytes) -> str:
    """Return the media type of an image that may be stored. Raises InvalidImage, LimitExceeded."""
    if len(data) > MAX_IMAGE_BYTES:
        raise LimitExceeded(
            f"the image has {len(data):,} bytes; the limit is {MAX_IMAGE_BYTES:,}",
            fix="Reduce its size, or add it with Git.",
            limit=MAX_IMAGE_BYTES,
            actual=len(data),
        )
    content_type = detect_image_type(data)
    size = read_image_size(data)
    if content_type not in IMAGE_SUFFIXES or size is None or not size.width or not size.height:
        is_svg = b"<svg" in data[:4_096].lower()
        reason = "is an SVG, which can contain scripts" if is_svg else "is no PNG, JPEG, GIF or WebP"
        raise InvalidImage(f"the file {reason}", fix="Convert it to PNG, JPEG, GIF or WebP.")
    if size.width * size.height > MAX_IMAGE_PIXELS:
        raise LimitExceeded(
            f"the image has {size.width:,} by {size.height:,} pixels; the limit is {MAX_IMAGE_PIXELS:,}",
            fix="Scale it down.",
            limit=MAX_IMAGE_PIXELS,
            actual=size.width * size.height,
        )
    return content_type
