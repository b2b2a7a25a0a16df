"""Diagrams: a frame in which the operator's own script draws them, and from which nothing can be reached.

The frame is an answer of its own, without an origin and with a policy that lets it run these scripts and
nothing else. The page sends it the text of a diagram and hears how tall the drawing is.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import PlainTextResponse, Response

from docyard.web.headers import CONTENT_POLICY
from docyard.web.templates import STATIC

if TYPE_CHECKING:
    from docyard.web.asked import PageRequest

PAGE_POLICY = f"{CONTENT_POLICY}; frame-src 'self'"
"""The policy of a page that shows diagrams."""
DIAGRAM = '<pre class="mermaid">'
"""How the text of a diagram begins in what is rendered."""

# HTML §4.12.1.3: what would end a script, or begin another in it; in strings of a script both say the same.
_ENDING = re.compile(rb"<(?=/script|script)", re.IGNORECASE)
_FRAME = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Diagram</title>
<style>body { margin: 0 } svg { display: block; max-width: 100%% }</style>
<script>%s</script>
<script>%s</script>
</html>
"""


class DiagramFrame(NamedTuple):
    """The page of a frame: its name, which changes with it, its bytes, and its policy."""

    name: str
    page: bytes
    policy: str


@lru_cache(maxsize=1)
def build_frame(script: bytes) -> DiagramFrame:
    """Return the frame in which a script draws."""
    scripts = [_inline(script), _inline((STATIC / "frame.js").read_bytes())]
    page = _FRAME % tuple(scripts)
    hashes = " ".join(f"'sha256-{b64encode(sha256(one).digest()).decode()}'" for one in scripts)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; font-src data:; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox allow-scripts"
    )
    return DiagramFrame(sha256(page).hexdigest()[:12], page, policy)


def get_frame_url(asked: PageRequest) -> str:
    """Return where the frame is; empty where diagrams are text."""
    script = asked.site.mermaid
    return f"/diagram/{build_frame(script).name}" if script is not None else ""


def render_frame_page(asked: PageRequest) -> Response:
    """Return the page of the frame."""
    script = asked.site.mermaid
    frame = build_frame(script) if script is not None else None
    if frame is None or asked.path["name"] != frame.name:
        return PlainTextResponse("not found\n", 404)
    headers = {
        "Content-Security-Policy": frame.policy,
        "X-Frame-Options": "SAMEORIGIN",
        "Cache-Control": "private, max-age=31536000, immutable",
    }
    return Response(frame.page, media_type="text/html", headers=headers)


def _inline(script: bytes) -> bytes:
    """Return a script as it may stand in a page.

    Browsers read U+0000 and CR as other characters, and hash those.
    """
    plain = script.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\0", b"\xef\xbf\xbd")
    return _ENDING.sub(rb"\\x3c", plain.replace(b"<!--", rb"\x3c!--"))
