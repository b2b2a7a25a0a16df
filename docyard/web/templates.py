"""The one door to Jinja2: templates of this package, in which every value is escaped."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
_LATEST = 253_402_300_799  # the last second of the year 9999


def trusted(html: str) -> Markup:
    """HTML that `workspace.rendering` made, which alone goes onto a page as it is."""
    return Markup(html)


def render(template: str, values: Mapping[str, Any]) -> str:
    """A template with its values."""
    return compiled(template).render(values)


def compiled(template: str) -> Template:
    """A template, compiled when it is first asked for."""
    return _environment().get_template(template)


@cache
def asset(name: str) -> str:
    """The URL of a file of `static/`, which changes with its content."""
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
    environment.globals["asset"] = asset
    environment.filters |= {
        "day": day,
        "moment": moment,
        "short": lambda commit: commit[:8],
        "counted": counted,
    }
    return environment


def day(seconds: float) -> Markup:
    """A time (seconds since 1970) as its date, with the moment in UTC for whoever points at it."""
    at = _at(seconds)
    shown = f"{at.day} {at:%b %Y}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        at.isoformat(), f"{at:%Y-%m-%d %H:%M} UTC", shown
    )


def moment(seconds: float) -> Markup:
    """A time (seconds since 1970) as its date and minute in UTC."""
    at = _at(seconds)
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), f"{at.day} {at:%b %Y, %H:%M} UTC")


def _at(seconds: float) -> datetime:
    """A time of a commit is whatever someone wrote: one that no date can show is the nearest that can."""
    return datetime.fromtimestamp(min(max(seconds, 0), _LATEST), UTC)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: "1 task", "3 tasks"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
