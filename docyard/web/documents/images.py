"""The upload of an image in the edit form: one commit of the form's proposal, and Markdown in the text."""

from __future__ import annotations

import hashlib
import posixpath
from typing import TYPE_CHECKING, NamedTuple

from docyard.web.documents.page_write import NEW_PROPOSAL, PageWrite, write_page
from workspace.edits.images import AddImage, InvalidImage, check_image
from workspace.links.destinations import enclose_destination
from workspace.links.link import Enclosure

if TYPE_CHECKING:
    from docyard.web.page_request import PageRequest
    from workspace.snapshot.snapshot import Snapshot

IMAGE_FIELD = "image"
IMAGE_FOLDERS = ("assets", "images", "img")
"""The names of folders for images; the first one is offered if a folder of documents has none of them."""

_MAX_ALT_CHARS = 200


class AddedImage(NamedTuple):
    """An uploaded image: its path, the proposal that contains it, and the text with a link to it."""

    path: str
    proposal: str
    text: str


def list_image_folders(snapshot: Snapshot, document_path: str) -> list[str]:
    """Return the folders for the images of a document, the default first.

    It is an existing folder for images in the folder of the document or at the top, else the folder of the
    document.
    """
    folder = document_path.rpartition("/")[0]
    root = snapshot.config.root
    parents = list(dict.fromkeys((folder, root)))
    existing_folders = [
        path
        for parent in parents
        for name in IMAGE_FOLDERS
        if (entry := snapshot.entry(path := posixpath.join(parent, name))) is not None and entry.is_tree
    ]
    return list(dict.fromkeys([*existing_folders, folder, posixpath.join(folder, IMAGE_FOLDERS[0])]))


class ImageTarget(NamedTuple):
    """The form that an image is added to: its document, text, proposal and key.

    `title` is the title of the draft that is opened if `proposal` is empty.
    """

    document_path: str
    text: str
    proposal: str
    key: str
    title: str


def add_image(request: PageRequest, target: ImageTarget) -> AddedImage:
    """Commit the image of a form to its proposal, else to a new draft.

    Return the image with the form's text, in which a link to the image is inserted. Raises InvalidImage,
    LimitExceeded, and the errors of `write_page`.
    """
    file = request.files.get(IMAGE_FIELD)
    if file is None or not file.data:
        raise InvalidImage("no image was chosen", fix="Choose a PNG, JPEG, GIF or WebP, and upload it again.")
    check_image(file.data)
    folder = request.fields.get("image_folder")
    if folder is None:
        folder = list_image_folders(request.workspace.snapshot(), target.document_path)[0]
    folder = folder.strip().strip("/")
    digest = hashlib.sha256(file.data).hexdigest()
    # The upload is another write than that of the form, which has the same key.
    key_parts = [target.key, target.proposal, folder, digest]
    key = hashlib.sha256("\n".join(key_parts).encode()).hexdigest()[:32]
    write = PageWrite(
        [AddImage(folder=folder, file_name=file.name, data=file.data)],
        target.proposal or NEW_PROPOSAL,
        key,
        [folder, file.name, digest, target.proposal],
        title=target.title,
        is_draft=True,
    )
    page_result = write_page(request, write)
    link = _format_link(page_result.path, target.document_path, file.name)
    text = insert_at(target.text, link, request.fields.get("cursor", ""))
    return AddedImage(page_result.path, page_result.proposal or target.proposal, text)


def _format_link(path: str, document_path: str, file_name: str) -> str:
    """Return the Markdown of an image, whose text is the name of the uploaded file."""
    stem = file_name.replace("\\", "/").rpartition("/")[2].rpartition(".")[0] or file_name
    alt = " ".join(stem.replace("-", " ").replace("_", " ").split())[:_MAX_ALT_CHARS]
    for mark in "\\[]`*<>&!":
        alt = alt.replace(mark, f"\\{mark}")
    destination = posixpath.relpath(path, posixpath.dirname(document_path) or ".")
    return f"![{alt}]({enclose_destination(destination, Enclosure.BARE)})"


def insert_at(text: str, link: str, cursor: str) -> str:
    """Return a text with a link at the position of the cursor, in characters; else as a last paragraph."""
    if cursor.isascii() and cursor.isdigit() and len(cursor) < 8 and int(cursor) <= len(text):
        return text[: int(cursor)] + link + text[int(cursor) :]
    return f"{text.rstrip()}\n\n{link}\n" if text.strip() else f"{link}\n"
