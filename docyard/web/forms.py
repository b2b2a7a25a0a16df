"""The fields of a form, from a page that this server rendered for the same caller.

A form has at most 2 MB; with a file, it has at most 5 MB.
"""

from __future__ import annotations

import hmac
from collections.abc import AsyncGenerator, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NamedTuple
from urllib.parse import parse_qsl

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_FORM_BYTES = 2_000_000
MAX_UPLOAD_BYTES = 5_000_000
"""The maximum size of a form with a file. Proxies in `deploy/` have the same limit."""

_MAX_FIELDS = 2_000
_MAX_MULTIPART_FIELDS = 50


class FormRefused(WorkspaceError):
    """A form is too large, invalid, or was not sent by a page of this server.

    `fields` has the fields that could be read, so that the user's text is not lost.
    """

    code: ClassVar[str] = "FORM_REFUSED"
    fields: Mapping[str, str] = MappingProxyType({})


class UploadedFile(NamedTuple):
    """A file of a form: its name in the browser, and its bytes."""

    name: str
    data: bytes


class SentForm(NamedTuple):
    """The fields of a form by name, and its files by name; a field without a chosen file is missing."""

    fields: Mapping[str, str]
    files: Mapping[str, UploadedFile] = MappingProxyType({})


async def read_form(request: Request) -> SentForm:
    """Return the fields and the files of a form. Raises FormRefused."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip()
    if content_type == "multipart/form-data":
        return await _read_multipart(request)
    return SentForm(await read_fields(request))


async def _read_multipart(request: Request) -> SentForm:
    # Imported late, because most forms have no file.
    from starlette.formparsers import MultiPartException, MultiPartParser

    async def read_limited() -> AsyncGenerator[bytes]:
        size = 0
        async for chunk in request.stream():
            yield chunk[: MAX_UPLOAD_BYTES - size]  # the fields before the file are read
            size += len(chunk)
            if size > MAX_UPLOAD_BYTES:
                raise FormRefused(
                    f"the form and its file are larger than {MAX_UPLOAD_BYTES:,} bytes",
                    fix="Choose a smaller file, or add it with Git.",
                )

    parser = MultiPartParser(
        request.headers,
        read_limited(),
        max_files=1,
        max_fields=_MAX_MULTIPART_FIELDS,
        max_part_size=MAX_FORM_BYTES,
    )
    try:
        form = await parser.parse()
    except FormRefused as refusal:
        read_pairs = _normalize([item for item in parser.items if isinstance(item[1], str)])
        refusal.fields = {name: value for name, value in read_pairs.items() if name != "csrf"}
        raise
    except (MultiPartException, ValueError, LookupError) as error:
        raise FormRefused(
            "the fields of the form cannot be read", fix="Send the form from the page."
        ) from error
    fields: dict[str, str] = {}
    files: dict[str, UploadedFile] = {}
    try:
        for name, value in form.multi_items():
            if isinstance(value, str):
                fields |= _normalize([(name, value)])
            elif value.filename:
                files[name] = UploadedFile(value.filename, await value.read())
    finally:
        await form.close()
    check_session(request, fields)
    return SentForm(fields, files)


def _normalize(pairs: Iterable[tuple[str, object]]) -> dict[str, str]:
    """Return fields by name, with LF line endings."""
    return {name: str(value).replace("\r\n", "\n").replace("\r", "\n") for name, value in pairs}


async def read_fields(request: Request, max_bytes: int = MAX_FORM_BYTES) -> Mapping[str, str]:
    """Return the fields of a form by name, with LF line endings. Raises FormRefused.

    Of several fields with the same name, only the last one is returned.
    """
    if (
        request.headers.get("content-type", "").partition(";")[0].strip()
        != "application/x-www-form-urlencoded"
    ):
        raise FormRefused(
            "the request must have the content type of a form", fix="Send the form from the page."
        )
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise FormRefused(
                f"the form is larger than {max_bytes:,} bytes",
                fix="Shorten the text, or edit the document with Git.",
            )
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS
        )
    except ValueError as error:
        raise FormRefused(
            "the fields of the form cannot be read", fix="Send the form from the page."
        ) from error
    fields = _normalize(pairs)
    check_session(request, fields)
    return fields


def check_session(request: Request, fields: dict[str, str]) -> None:
    """Remove the token of the session from the fields of a form. Raises FormRefused for another session."""
    token = fields.pop("csrf", "").encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(token, request.state.caller.csrf.encode()):
        refusal = FormRefused(
            "the form belongs to another session, which may have ended",
            fix="Copy your text, open the page again, and send the form there.",
        )
        refusal.fields = fields
        raise refusal
