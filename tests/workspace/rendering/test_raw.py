"""Raw files: browsers display only harmless types."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import repositories
from tests.loops import loop_over
from workspace.errors import LimitExceeded
from workspace.git.reader import GitReader
from workspace.rendering.raw import RawFile, read_raw_file
from workspace.snapshot.snapshot import DocumentNotFound, Snapshot

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>\n'
FILES: dict[str, bytes] = {
    "a.png": PNG,
    "named.txt": PNG,
    "a.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "a.gif": b"GIF89a\x01\0\x01\0",
    "a.webp": b"RIFF\x10\0\0\0WEBPVP8 ",
    "a.avif": b"\0\0\0\x1cftypavif\0\0\0\0",
    "a.svg": SVG,
    "no.svg": b"<html><script>alert(1)</script>",
    "page.html": b"<script>alert(1)</script>\n",
    "code.py": b"print('\xc3\xa9')\n",
    "a.pdf": b"%PDF-1.7\n\0",
    '\u00e9 "x".bin': b"\0\1\2\3",
    "docs/.hidden/x.txt": b"x",
}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder: Path = tmp_path_factory.mktemp("raw") / "repo"
    git = GitReader(repositories.create_repository(folder, FILES).path)
    return Snapshot(git, git.head().commit)


@loop_over(
    ("path", "content_type", "disposition"),
    [
        ("a.png", "image/png", "inline"),
        ("named.txt", "image/png", "inline"),
        ("a.jpg", "image/jpeg", "inline"),
        ("a.gif", "image/gif", "inline"),
        ("a.webp", "image/webp", "inline"),
        ("a.avif", "image/avif", "inline"),
        ("a.svg", "image/svg+xml", "attachment; filename*=UTF-8''a.svg"),
        ("no.svg", "text/plain; charset=utf-8", "inline"),
        ("page.html", "text/plain; charset=utf-8", "inline"),
        ("code.py", "text/plain; charset=utf-8", "inline"),
        ("a.pdf", "application/octet-stream", "attachment; filename*=UTF-8''a.pdf"),
        ('\u00e9 "x".bin', "application/octet-stream", "attachment; filename*=UTF-8''%C3%A9%20%22x%22.bin"),
    ],
    ids=lambda value: value.encode("ascii", "replace").decode(),
)
def test_raw_file_has_content_type_and_disposition(
    snapshot: Snapshot, path: str, content_type: str, disposition: str
) -> None:
    raw_file = read_raw_file(snapshot, path)
    assert isinstance(raw_file, RawFile)
    assert (raw_file.data, raw_file.content_type, raw_file.disposition) == (
        FILES[path],
        content_type,
        disposition,
    )
    assert raw_file.headers["X-Content-Type-Options"] == "nosniff"
    assert raw_file.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")


@loop_over("path", ["gone.txt", "docs", "docs/.hidden/x.txt", "../x", "/etc/passwd", ".git/config", ""])
def test_missing_or_excluded_file_is_refused(snapshot: Snapshot, path: str) -> None:
    with pytest.raises(DocumentNotFound):
        read_raw_file(snapshot, path)


def test_raw_file_over_the_limit_is_refused(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workspace.rendering.raw.MAX_RAW_BYTES", 10)
    with pytest.raises(LimitExceeded):
        read_raw_file(snapshot, "a.png")
