"""The upload of an image: its content decides, and it is one commit of the form's proposal."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from docyard.web.documents.images import insert_at
from tests.docyard.web.documents.page_setup import DocumentPages, parse_form, serve_documents
from tests.loops import loop_over
from workspace.edits.images import MAX_IMAGE_BYTES
from workspace.proposals.proposal import ProposalState

URL = "/edit/specs/api.md?section=rate-limits"


def make_image(format: str, size: tuple[int, int] = (3, 2)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "#123456").save(file, format)
    return file.getvalue()


PNG = make_image("PNG")


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[DocumentPages]:
    with serve_documents(tmp_path / "repo") as served_pages:
        yield served_pages


def upload(
    pages: DocumentPages, form: dict[str, str], name: str, data: bytes, status: int = 200, **fields: str
) -> str:
    """Send the edit form with a file, and return the page."""
    values = {**form, "act": "upload", **fields}
    response = pages.client.post(URL, data=values, files={"image": (name, data, "text/html")})
    assert response.status_code == status, response.text[:3_000]
    return response.text


def test_image_is_committed_to_a_draft_and_linked_in_the_text(pages: DocumentPages) -> None:
    before = pages.repo.head()
    form = pages.get_form(URL)
    page = upload(pages, form, "Mein Bild [1].jpeg", PNG, text="Words.\r\n", title="A picture")
    new_form = parse_form(page)
    assert new_form["text"] == "Words.\r\n\r\n![Mein Bild \\[1\\]](mein-bild-1.png)\r\n"
    [proposal] = pages.workspace.proposal_actions().list_all()
    assert (proposal.content.title, proposal.state) == ("A picture", ProposalState.DRAFT)
    assert new_form["proposal"] == proposal.id
    snapshot = pages.workspace.at(proposal.id)
    entry = snapshot.entry("specs/mein-bild-1.png")
    assert entry is not None
    assert snapshot.git.blob(entry.id) == PNG
    assert pages.repo.head() == before
    assert pages.repo.git("rev-list", "--count", f"main..{proposal.tip}").strip() == "1"
    response = pages.client.get(f"/raw/specs/mein-bild-1.png?ref={proposal.id}")
    assert response.headers["content-type"] == "image/png"
    assert response.headers["x-content-type-options"] == "nosniff"
    preview = pages.post(URL, {**new_form, "act": "preview"}, 200)
    assert f'src="/raw/specs/mein-bild-1.png?ref={proposal.id}"' in preview
    pages.post(URL, {**new_form, "act": "propose", "title": ""})
    proposal = pages.workspace.proposal_actions().find(proposal.id)
    assert proposal.state is ProposalState.OPEN
    assert b"![Mein Bild" in pages.workspace.at(proposal.id).read("specs/api.md")


@loop_over("format", ["PNG", "JPEG", "GIF", "WEBP"])
def test_each_format_gets_its_suffix_whatever_its_name_is(pages: DocumentPages, format: str) -> None:
    page = upload(pages, pages.get_form(URL), "evil.html", make_image(format))
    suffix = {"JPEG": "jpg"}.get(format, format.lower())
    assert f"(evil.{suffix})" in parse_form(page)["text"]


def test_same_name_gets_a_number_and_the_same_image_one_file(pages: DocumentPages) -> None:
    form = parse_form(upload(pages, pages.get_form(URL), "a.png", PNG))
    form = parse_form(upload(pages, form, "a.png", PNG))
    form = parse_form(upload(pages, form, "a.png", make_image("PNG", (9, 9))))
    assert form["text"].count("(a.png)") == 2
    assert "(a-2.png)" in form["text"]
    snapshot = pages.workspace.at(form["proposal"])
    assert snapshot.entry("specs/a.png")
    assert snapshot.entry("specs/a-2.png")
    assert not snapshot.entry("specs/a-3.png")


def test_image_is_stored_in_a_chosen_folder(pages: DocumentPages) -> None:
    page = upload(pages, pages.get_form(URL), "a.png", PNG, image_folder="specs/assets")
    assert "(assets/a.png)" in parse_form(page)["text"]
    pages.repo.commit({"assets/x.png": PNG})
    assert '<option value="assets"' in pages.get(URL)
    page = upload(pages, pages.get_form(URL), "a.png", PNG, image_folder="assets")
    assert "(../assets/a.png)" in parse_form(page)["text"]


def png_of_size(width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))


REFUSED = {
    "svg": (b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', 400),
    "svg after a comment": (b"<!-- \x89PNG -->" * 10 + b"<svg onload=alert(1)>", 400),
    "html": (b"<!doctype html><script>alert(1)</script>", 400),
    "text": (b"GIF", 400),
    "signature alone": (b"\x89PNG\r\n\x1a\n", 400),
    "gif without a size": (b"GIF89a<script>"[:6], 400),
    "jpeg without a frame": (b"\xff\xd8\xff\xe0" + b"\xff" * 50, 400),
    "jpeg of zeros": (b"\xff\xd8\xff" + bytes(500), 400),
    "webp that is cut": (make_image("WEBP")[:20], 400),
    "no pixels": (png_of_size(0, 5), 400),
    "too many pixels": (png_of_size(60_000, 60_000), 413),
    "too large": (PNG + bytes(MAX_IMAGE_BYTES), 413),
    "empty": (b"", 400),
}


def test_refused_files_are_not_committed_and_the_text_stays(pages: DocumentPages) -> None:
    form, before = pages.get_form(URL), pages.repo.head()
    for label, (data, status) in REFUSED.items():
        page = upload(pages, form, "picture.png", data, status, text="My words.")
        assert parse_form(page)["text"] == "My words.", label
    for folder in ("../up", ".git", "specs/.hidden", "specs/api.md"):
        page = upload(pages, form, "a.png", PNG, 400, image_folder=folder, text="My words.")
        assert parse_form(page)["text"] == "My words."
    assert pages.repo.head() == before
    assert pages.workspace.proposal_actions().list_all() == ()


def test_form_that_is_too_large_shows_the_text_again(pages: DocumentPages) -> None:
    text = "My <long> words here."
    page = upload(pages, pages.get_form(URL), "a.png", PNG + bytes(6_000_000), 403, text=text)
    assert "My &lt;long&gt; words here." in page
    page = upload(pages, {"csrf": "wrong"}, "a.png", PNG, 403, text=text)
    assert "My &lt;long&gt; words here." in page
    assert "wrong" not in page
    for body in (b"", b"--b\r\nno header", b"--b\r\nContent-Disposition: form-data; name=csrf\r\n\r\nx"):
        for content_type in ("multipart/form-data", "multipart/form-data; boundary=b; charset=zip"):
            response = pages.client.post(URL, content=body, headers={"content-type": content_type})
            assert response.status_code == 403


@loop_over(
    ("cursor", "text"),
    [
        ("1", "ä![]()ö😀\n"),
        ("3", "äö😀![]()\n"),
        ("99", "äö😀\n\n![]()\n"),
        ("-1", "äö😀\n\n![]()\n"),
        ("", "äö😀\n\n![]()\n"),
    ],
)
def test_link_is_inserted_at_the_cursor(cursor: str, text: str) -> None:
    assert insert_at("äö😀\n", "![]()", cursor) == text
