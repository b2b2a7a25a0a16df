"""What a file is that is no text, told by control bytes and by its first bytes, as file(1) does."""

from __future__ import annotations

UTF16 = "UTF-16 text"
UTF32 = "UTF-32 text"
BINARY = "binary data"

# The longer come first where one begins like another.
_UNICODE = ((b"\xff\xfe\0\0", UTF32), (b"\0\0\xfe\xff", UTF32), (b"\xff\xfe", UTF16), (b"\xfe\xff", UTF16))
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\0\0\1\0", "an icon"),
    (b"%PDF-", "a PDF document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office document of the old binary form"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x7fELF", "an ELF program"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"\0asm", "a WebAssembly module"),
    (b"\0\1\0\0", "a TrueType font"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
    (b"fLaC", "a FLAC file"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"MZ", "a Windows program"),
    (b"OTTO", "an OpenType font"),
    (b"wOFF", "a WOFF font"),
    (b"wOF2", "a WOFF font"),
)
_ZIP = (b"PK\3\4", b"PK\5\6")
_IN_ZIP = (
    (b"mimetypeapplication/epub", "an EPUB book"),
    (b"mimetypeapplication/vnd.oasis", "an OpenDocument file"),
    (b"word/", "a Word document"),
    (b"xl/", "an Excel workbook"),
    (b"ppt/", "a PowerPoint presentation"),
    (b"META-INF/", "a Java archive"),
)
_IN_RIFF = {b"WEBP": "a WebP image", b"WAVE": "a WAV file", b"AVI ": "an AVI film"}
_LOOKED_AT = 65536

# Tab, line ends, form feed, backspace and escape stand in texts: in logs, manual pages, source code.
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_FEW = 0.02


def not_text(data: bytes, *, may_hold_nul: bool = False) -> str | None:
    """What bytes are that are no text, such as "a PNG image"; None for text, in whatever encoding of bytes.

    A single NUL makes them binary, as for Git, unless they may hold some. Signatures of letters alone count
    only where other bytes say too that it is no text, but for PDF's.
    """
    for mark, name in _UNICODE:
        if data.startswith(mark):
            return name
    is_binary = (b"\0" in data and not may_hold_nul) or _holds_controls(data)
    for mark, name in _SIGNATURES:
        if data.startswith(mark) and (is_binary or not mark.isascii() or mark == b"%PDF-"):
            return name
    if data.startswith(_ZIP):
        return _kind_of_zip(data)
    if not is_binary:
        return None
    if data[4:8] == b"ftyp":
        return "an MPEG-4 or HEIF file"
    if data.startswith(b"RIFF"):
        return _IN_RIFF.get(data[8:12], BINARY)
    return UTF16 if _is_utf16(data[:_LOOKED_AT]) else BINARY


def _holds_controls(data: bytes) -> bool:
    return len(data) - len(data.translate(None, _CONTROLS)) > _FEW * len(data)


def _kind_of_zip(data: bytes) -> str:
    """A ZIP's names stand at its entries, the first of them at its beginning, and all again at its end."""
    looked_at = data[:_LOOKED_AT] + data[-_LOOKED_AT:]
    return next((name for mark, name in _IN_ZIP if mark in looked_at), "a ZIP archive")


def _is_utf16(data: bytes) -> bool:
    """Whether nearly each second byte is 0, as in UTF-16 of Latin letters without a byte-order mark."""
    halves = data[0::2].count(0), data[1::2].count(0)
    return len(data) > 3 and max(halves) > 0.4 * len(data) and min(halves) < 0.05 * len(data)
