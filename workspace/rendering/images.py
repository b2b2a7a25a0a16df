"""Formats of images, by their first bytes: the name of a file is not evidence of its content."""

from __future__ import annotations

import struct
from typing import NamedTuple

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_AVIF_BRANDS = (b"avif", b"avis")
# ITU-T T.81, table B.1: frames with a size. The other markers of this range are tables.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_STANDALONE = frozenset((0x01, *range(0xD0, 0xD8)))


class ImageSize(NamedTuple):
    """The size of an image in pixels."""

    width: int
    height: int


def detect_image_type(data: bytes) -> str | None:
    """Return the media type of an image that browsers display; None for any other file."""
    for signature, content_type in _SIGNATURES:
        if data.startswith(signature):
            return content_type
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp" and data[8:12] in _AVIF_BRANDS:
        return "image/avif"
    return None


def read_image_size(data: bytes) -> ImageSize | None:
    """Return the size in the header of a PNG, JPEG, GIF or WebP; None if the header is damaged or missing."""
    try:
        match detect_image_type(data):
            case "image/png":
                return ImageSize(*struct.unpack(">II", data[16:24])) if data[12:16] == b"IHDR" else None
            case "image/gif":
                return ImageSize(*struct.unpack("<HH", data[6:10]))
            case "image/jpeg":
                return _read_jpeg_size(data)
            case "image/webp":
                return _read_webp_size(data)
    except struct.error:  # the file ends in its header
        pass
    return None


def _read_jpeg_size(data: bytes) -> ImageSize | None:
    position = 2
    while position + 4 <= len(data):
        if data[position] != 0xFF:
            return None
        marker = data[position + 1]
        if marker == 0xFF:  # a fill byte
            position += 1
        elif marker in _JPEG_STANDALONE:
            position += 2
        elif marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", data[position + 5 : position + 9])
            return ImageSize(width, height)
        else:
            position += 2 + max(2, struct.unpack(">H", data[position + 2 : position + 4])[0])
    return None


def _read_webp_size(data: bytes) -> ImageSize | None:
    match data[12:16]:
        case b"VP8X":
            width, height = (int.from_bytes(data[start : start + 3], "little") + 1 for start in (24, 27))
            return ImageSize(width, height) if len(data) >= 30 else None
        case b"VP8L":
            bits = struct.unpack("<I", data[21:25])[0]
            return ImageSize((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1) if data[20] == 0x2F else None
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return ImageSize(width & 0x3FFF, height & 0x3FFF) if data[23:26] == b"\x9d\x01\x2a" else None
    return None
