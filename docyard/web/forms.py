"""What a form may send: at most 2 MB of fields, from a page that this server made for the same caller."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qsl

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from starlette.requests import Request

MOST = 2_000_000  # bytes
_FIELDS = 2_000


class FormRefused(WorkspaceError):
    """A form is too large, is no form, or did not come from a page of this server.

    `fields` are those that could be read, so that what somebody wrote is not lost with them.
    """

    code: ClassVar[str] = "FORM_REFUSED"
    fields: Mapping[str, str] = MappingProxyType({})


async def read_fields(request: Request) -> Mapping[str, str]:
    """Return the fields of a form, each by its name; of several of one name the last. Line ends are LF.

    Raises FormRefused.
    """
    if (
        request.headers.get("content-type", "").partition(";")[0].strip()
        != "application/x-www-form-urlencoded"
    ):
        raise FormRefused("this is no form of a page", fix="Send it from the page itself.")
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MOST:
            raise FormRefused(
                f"the form holds over {MOST:,} bytes",
                fix="Write less at once, or edit the document with Git.",
            )
    try:
        pairs = parse_qsl(
            data.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS
        )
    except ValueError as error:
        raise FormRefused("the fields of the form cannot be read", fix="Send it from the page.") from error
    fields = {name: value.replace("\r\n", "\n").replace("\r", "\n") for name, value in pairs}
    sent = fields.pop("csrf", "").encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(sent, request.state.caller.csrf.encode()):
        refused = FormRefused(
            "the form was not made for this session, which may have ended meanwhile",
            fix="Copy what you wrote, open the page again, and send it from there.",
        )
        refused.fields = fields
        raise refused
    return fields
