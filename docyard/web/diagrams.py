"""Diagrams: a sandboxed frame in which the operator's script draws them.

The frame is a separate response without an origin, and its policy allows only its own scripts. The page sends
the text of a diagram to the frame, and receives the height of the drawing.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import PlainTextResponse, Response

from docyard.web.headers import CONTENT_POLICY
from docyard.web.templates import STATIC_FOLDER

if TYPE_CHECKING:
    from docyard.web.page_request import PageRequest

PAGE_POLICY = f"{CONTENT_POLICY}; frame-src 'self'"
"""The Content-Security-Policy of a page that shows diagrams."""
DIAGRAM_TAG = '<pre class="mermaid">'
"""The tag before the text of a diagram in rendered HTML."""

# HTML §4.12.1.3: text that would end a script, or start a nested one. In a string literal, the escaped text
# has the same value.
_SCRIPT_TAG = re.compile(rb"<(?=/script|script)", re.IGNORECASE)
_FRAME_TEMPLATE = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Diagram</title>
<style>body { margin: 0 } svg { display: block; max-width: 100%% }</style>
<script>%s</script>
<script>%s</script>
</html>
"""


class DiagramFrame(NamedTuple):
    """A frame: the bytes of its `page`, its Content-Security-Policy, and a name that depends on the page."""

    name: str
    page: bytes
    policy: str


@lru_cache(maxsize=1)
def build_frame(script: bytes) -> DiagramFrame:
    """Return the frame for a script that draws diagrams."""
    scripts = [_escape_script(script), _escape_script((STATIC_FOLDER / "frame.js").read_bytes())]
    page = _FRAME_TEMPLATE % tuple(scripts)
    hashes = " ".join(f"'sha256-{b64encode(sha256(script).digest()).decode()}'" for script in scripts)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; font-src data:; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox allow-scripts"
    )
    return DiagramFrame(sha256(page).hexdigest()[:12], page, policy)


def get_frame_url(request: PageRequest) -> str:
    """Return the URL of the frame; empty if diagrams are shown as text."""
    script = request.site.mermaid
    return f"/diagram/{build_frame(script).name}" if script is not None else ""


def render_frame_page(request: PageRequest) -> Response:
    """Return the page of the frame."""
    script = request.site.mermaid
    frame = build_frame(script) if script is not None else None
    if frame is None or request.path_params["name"] != frame.name:
        return PlainTextResponse("not found\n", 404)
    headers = {
        "Content-Security-Policy": frame.policy,
        "X-Frame-Options": "SAMEORIGIN",
        "Cache-Control": "private, max-age=31536000, immutable",
    }
    return Response(frame.page, media_type="text/html", headers=headers)


def _escape_script(script: bytes) -> bytes:
    """Return a script that is safe inside an HTML page.

    Browsers replace U+0000 and CR before they compute the hash, so they are replaced here.
    """
    normalized_script = script.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\0", b"\xef\xbf\xbd")
    return _SCRIPT_TAG.sub(rb"\\x3c", normalized_script.replace(b"<!--", rb"\x3c!--"))
