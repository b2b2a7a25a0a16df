"""The boundary module of Jinja2: templates of this package, in which every value is escaped.

It also serves static files, whose URLs change with their content, so that browsers cache them for long.
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

from docyard.wording import format_address, format_age, format_commit_author

if TYPE_CHECKING:
    from starlette.requests import Request

_FOLDER = Path(__file__).parent
STATIC_FOLDER = _FOLDER / "static"
_MAX_TIME_S = 253_402_300_799  # the last second of the year 9999


def mark_trusted(html: str) -> Markup:
    """Mark HTML from `workspace.rendering` as trusted, so that templates do not escape it."""
    return Markup(html)


def render_template(template: str, values: Mapping[str, Any]) -> str:
    """Return the text of a template rendered with the values."""
    return get_template(template).render(values)


def get_template(template: str) -> Template:
    """Return a template, which is compiled at the first request."""
    return _build_environment().get_template(template)


@cache
def get_asset_url(name: str) -> str:
    """Return the URL of a file of `static/`, which changes with its content."""
    digest = hashlib.sha256((STATIC_FOLDER / name).read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"


@cache
def _build_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
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
        "age": format_time_since,
        "short": lambda commit: commit[:8],
        "counted": format_count,
        "address": format_address,
        "author": format_commit_author,
    }
    return environment


def format_day(seconds: float) -> Markup:
    """Return a time (seconds since 1970) as its date, with the minute in UTC as a tooltip."""
    time = _to_datetime(seconds)
    text = f"{time.day} {time:%b %Y}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        time.isoformat(timespec="seconds"), f"{time:%Y-%m-%d %H:%M} UTC", text
    )


def format_moment(seconds: float) -> Markup:
    """Return a time (seconds since 1970) as its date and minute in UTC."""
    time = _to_datetime(seconds)
    return Markup('<time datetime="{}">{}</time>').format(
        time.isoformat(timespec="seconds"), f"{time.day} {time:%b %Y, %H:%M} UTC"
    )


def format_time_since(seconds: float) -> Markup:
    """Return a time (seconds since 1970) as the time since it, with the minute in UTC as a tooltip."""
    time = _to_datetime(seconds)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        time.isoformat(timespec="seconds"), f"{time:%Y-%m-%d %H:%M} UTC", format_age(time, datetime.now(UTC))
    )


def _to_datetime(seconds: float) -> datetime:
    """Return a time as a datetime; a time outside the valid range becomes the nearest valid time."""
    return datetime.fromtimestamp(min(max(seconds, 0), _MAX_TIME_S), UTC)


def format_count(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: "1 task", "3 tasks"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@cache
def _list_static_files() -> frozenset[str]:
    """Return the names of the static files, so that a request cannot name any other path."""
    return frozenset(path.name for path in STATIC_FOLDER.iterdir() if path.is_file())


async def serve_static_file(request: Request) -> Response:
    """Return a file of `static/`."""
    name = request.path_params["name"]
    path = STATIC_FOLDER / name
    if name not in _list_static_files() or path.suffix not in _MEDIA_TYPES:
        return PlainTextResponse("not found\n", 404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return FileResponse(path, media_type=_MEDIA_TYPES[path.suffix], headers=headers)


_WARMED_MODULES = (
    "docyard.web.documents.document",
    "docyard.web.library.library",
    "docyard.web.library.search",
    "workspace.history",
    "workspace.rendering",
)

_WARMED_TEMPLATES = ("library.html", "document.html", "search.html", "error.html")
"""The templates of common first pages; others are compiled at their first request."""


def warm_pages() -> None:
    """Import the modules of common first pages, and compile their templates."""
    for module in _WARMED_MODULES:
        import_module(module)
    for name in _WARMED_TEMPLATES:
        get_template(name)
