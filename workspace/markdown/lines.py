"""Lines of bytes as CommonMark counts them: they end in LF, CRLF or CR (§2.1)."""

from __future__ import annotations

import re
from bisect import bisect_right

BOM = b"\xef\xbb\xbf"

# The bytes of a blank line and its line ending (CommonMark §2.1).
BLANK = b" \t\r\n"

LINE_END = re.compile(r"\r\n?|\n")
"""A pattern for a line ending in text; `LINE_END_BYTES` is the pattern for bytes."""

LINE_END_BYTES = re.compile(rb"\r\n?|\n")

LIST_MARKER = r"(?:[-*+]|[0-9]{1,9}[.)])"
"""A pattern for a list marker (CommonMark §5.2); `LIST_MARKER_BYTES` is the pattern for bytes."""

LIST_MARKER_BYTES = LIST_MARKER.encode()


class Lines:
    """The offsets of the lines of a text. Line numbers start at 0; a byte-order mark belongs to no line."""

    __slots__ = ("data", "starts")

    def __init__(self, data: bytes) -> None:
        self.data = data
        text_start = len(BOM) if data.startswith(BOM) else 0
        self.starts = [text_start, *(match.end() for match in LINE_END_BYTES.finditer(data, text_start))]
        if self.starts[-1] != len(data):
            self.starts.append(len(data))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def offset(self, line: int) -> int:
        """Return the byte at which a line begins; for a line after the last, the end of the text."""
        return self.starts[line] if line < len(self.starts) else len(self.data)

    def line_at(self, offset: int) -> int:
        """Return the number of the line that contains a byte."""
        return max(0, min(bisect_right(self.starts, offset) - 1, len(self) - 1))

    def line_bytes(self, line: int) -> bytes:
        """Return one line without its ending."""
        return self.data[self.offset(line) : self.offset(line + 1)].rstrip(b"\r\n")


def detect_line_ending(data: bytes) -> bytes:
    """Return the line ending of a text's first line; LF for a text of one line."""
    match = LINE_END_BYTES.search(data)
    return match.group() if match else b"\n"


def encode_with_ending(text: str, ending: bytes) -> bytes:
    """Return a text as UTF-8 with every line ending replaced by `ending`."""
    return LINE_END_BYTES.sub(ending, text.encode())


def find_content_end(data: bytes, end: int) -> int:
    """Return the end of a line without its line ending, if it has one."""
    if data[max(0, end - 2) : end] == b"\r\n":
        return end - 2
    return end - 1 if data[end - 1 : end] in (b"\n", b"\r") else end


def normalize_line_endings(text: str) -> str:
    """Return a text with LF line endings, as a call's arguments have them."""
    return LINE_END.sub("\n", text)


_LINE = re.compile(rb"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


def split_lines(text: bytes) -> list[bytes]:
    """Return the lines of a text with their endings: LF, CRLF or CR (CommonMark 0.31 §2.1)."""
    return _LINE.findall(text)
