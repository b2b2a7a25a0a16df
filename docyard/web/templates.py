"""The one door to Jinja2: templates of this package, in which every value is escaped.

The files that pages are dressed with: their addresses change with them, so browsers keep them for long.

What the first page would wait for, done while nobody asks: modules are imported, templates compiled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup
from starlette.responses import FileResponse, PlainTextResponse, Response

if TYPE_CHECKING:
    from starlette.requests import Request

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
_LATEST = 253_402_300_799  # the last second of the year 9999


def mark_trusted(html: str) -> Markup:
    """Return HTML that `workspace.rendering` made, which alone goes onto a page as it is."""
    return Markup(html)


def render_template(template: str, values: Mapping[str, Any]) -> str:
    """Return a template with its values."""
    return get_template(template).render(values)


def get_template(template: str) -> Template:
    """Return a template, compiled when it is first asked for."""
    return _environment().get_template(template)


@cache
def get_asset_url(name: str) -> str:
    """Return the URL of a file of `static/`, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["asset"] = get_asset_url
    environment.filters |= {
        "day": format_day,
        "moment": format_moment,
        "short": lambda commit: commit[:8],
        "counted": format_count,
    }
    return environment


def format_day(seconds: float) -> Markup:
    """Return a time (seconds since 1970) as its date, with the moment in UTC for whoever points at it."""
    at = _at(seconds)
    shown = f"{at.day} {at:%b %Y}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        at.isoformat(), f"{at:%Y-%m-%d %H:%M} UTC", shown
    )


def format_moment(seconds: float) -> Markup:
    """Return a time (seconds since 1970) as its date and minute in UTC."""
    at = _at(seconds)
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), f"{at.day} {at:%b %Y, %H:%M} UTC")


def _at(seconds: float) -> datetime:
    """Return a commit's time as a date; a time outside the valid range becomes the nearest valid one."""
    return datetime.fromtimestamp(min(max(seconds, 0), _LATEST), UTC)


def format_count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: "1 task", "3 tasks"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@cache
def _names() -> frozenset[str]:
    """Return what there is: a name is looked up, and never joined to a path as it came."""
    return frozenset(path.name for path in STATIC.iterdir() if path.is_file())


async def serve_static_file(request: Request) -> Response:
    """Return a file of `static/`."""
    name = request.path_params["name"]
    path = STATIC / name
    if name not in _names() or path.suffix not in _KINDS:
        return PlainTextResponse("not found\n", 404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return FileResponse(path, media_type=_KINDS[path.suffix], headers=headers)


_MODULES = (
    "docyard.web.documents.document",
    "docyard.web.library.library",
    "docyard.web.library.search",
    "workspace.history",
    "workspace.rendering",
)

_FIRST = ("library.html", "document.html", "search.html", "error.html")
"""What pages are made of that people begin with; for each other one it takes a moment at first."""


def warm_pages() -> None:
    """Import what these pages are made with, and compile their templates."""
    for module in _MODULES:
        import_module(module)
    for name in _FIRST:
        get_template(name)
