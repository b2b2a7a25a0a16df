"""A column chart as a PNG, drawn without a library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

WIDTH, HEIGHT = 640, 240  # pixels
_MARGIN = 24
_GAP_COUNT = 4
"""The number of gaps between the horizontal lines."""
_PAPER_COLOUR, _COLUMN_COLOUR, _LAST_COLUMN_COLOUR, _LINE_COLOUR = (
    (250, 250, 248),
    (148, 168, 190),
    (58, 98, 146),
    (222, 222, 216),
)


def draw_chart(values: Sequence[float], lowest: float, highest: float) -> bytes:
    """Return a PNG with one column for each value between `lowest` and `highest`; the last is highlighted."""
    baseline = HEIGHT - _MARGIN
    column_width = (WIDTH - 2 * _MARGIN) // len(values)
    rows = [bytearray(bytes(_PAPER_COLOUR) * WIDTH) for _ in range(HEIGHT)]
    for line in range(_MARGIN, baseline + 1, (baseline - _MARGIN) // _GAP_COUNT):
        rows[line][3 * _MARGIN : 3 * (WIDTH - _MARGIN)] = bytes(_LINE_COLOUR) * (WIDTH - 2 * _MARGIN)
    for number, value in enumerate(values):
        top = baseline - int((value - lowest) / (highest - lowest) * (baseline - _MARGIN))
        start = _MARGIN + number * column_width + column_width // 6
        end = _MARGIN + (number + 1) * column_width - column_width // 6
        colour = _LAST_COLUMN_COLOUR if number == len(values) - 1 else _COLUMN_COLOUR
        for row in rows[top:baseline]:
            row[3 * start : 3 * end] = bytes(colour) * (end - start)
    bit_depth, rgb_without_alpha = 8, 2
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, bit_depth, rgb_without_alpha, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    chunks = ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
