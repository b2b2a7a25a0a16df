"""Lines of bytes, as CommonMark counts them: ended by LF, CRLF or CR (§2.1)."""

from __future__ import annotations

import re
from bisect import bisect_right

BOM = b"\xef\xbb\xbf"

# What a blank line is made of (CommonMark §2.1), and what ends it.
BLANK = b" \t\r\n"

LINE_END = re.compile(r"\r\n?|\n")
"""What ends a line of text; `LINE_END_BYTES` does of bytes."""

LINE_END_BYTES = re.compile(rb"\r\n?|\n")

LIST_MARKER = r"(?:[-*+]|[0-9]{1,9}[.)])"
"""A pattern for what a list item begins with (CommonMark §5.2); `LIST_MARKER_BYTES` is it in bytes."""

LIST_MARKER_BYTES = LIST_MARKER.encode()


class Lines:
    """The offsets of the lines of a text. Lines count from 0; a byte-order mark belongs to no line."""

    __slots__ = ("data", "starts")

    def __init__(self, data: bytes) -> None:
        self.data = data
        first = len(BOM) if data.startswith(BOM) else 0
        self.starts = [first, *(found.end() for found in LINE_END_BYTES.finditer(data, first))]
        if self.starts[-1] != len(data):
            self.starts.append(len(data))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def offset(self, line: int) -> int:
        """Return the byte at which a line begins; the text's end for every line past the last."""
        return self.starts[line] if line < len(self.starts) else len(self.data)

    def line_at(self, offset: int) -> int:
        """Return the line on which a byte stands."""
        return max(0, min(bisect_right(self.starts, offset) - 1, len(self) - 1))

    def raw(self, line: int) -> bytes:
        """Return one line without its ending."""
        return self.data[self.offset(line) : self.offset(line + 1)].rstrip(b"\r\n")


def detect_line_ending(data: bytes) -> bytes:
    """Return the line ending that a text uses: that of its first line, LF for a text of one line."""
    found = LINE_END_BYTES.search(data)
    return found.group() if found else b"\n"


def encode_with_ending(text: str, ending: bytes) -> bytes:
    """Return a text as UTF-8 with every line ended as its document ends them."""
    return LINE_END_BYTES.sub(ending, text.encode())


def find_content_end(data: bytes, end: int) -> int:
    """Return the end of a line without its line ending, where it has one."""
    if data[max(0, end - 2) : end] == b"\r\n":
        return end - 2
    return end - 1 if data[end - 1 : end] in (b"\n", b"\r") else end


def decode_with_newlines(text: str) -> str:
    """Return a document's text with LF line ends, as a caller's content has them."""
    return LINE_END.sub("\n", text)


_LINE = re.compile(rb"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


def split_lines(text: bytes) -> list[bytes]:
    """Return the lines of a text with their endings: LF, CRLF or CR (CommonMark 0.31 §2.1)."""
    return _LINE.findall(text)
