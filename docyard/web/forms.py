"""The fields of a form: at most 2 MB, from a page that this server rendered for the same caller."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qsl

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_FORM_BYTES = 2_000_000
_MAX_FIELDS = 2_000


class FormRefused(WorkspaceError):
    """A form is too large, invalid, or was not sent by a page of this server.

    `fields` has the fields that could be read, so that the user's text is not lost.
    """

    code: ClassVar[str] = "FORM_REFUSED"
    fields: Mapping[str, str] = MappingProxyType({})


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
    fields = {name: value.replace("\r\n", "\n").replace("\r", "\n") for name, value in pairs}
    token = fields.pop("csrf", "").encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(token, request.state.caller.csrf.encode()):
        refusal = FormRefused(
            "the form belongs to another session, which may have ended",
            fix="Copy your text, open the page again, and send the form there.",
        )
        refusal.fields = fields
        raise refusal
    return fields
