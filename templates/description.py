"""`type.toml`: what a type is called, and what its writer is told."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from templates.invalid import InvalidTemplate
from templates.text import check_visible, decode

MAX_FILE = 32_000
MAX_TITLE = 80
MAX_SUMMARY = 200
MAX_ITEM = 600
MAX_ITEMS = 30
MAX_KEY = 200

_KEYS = ("title", "summary", "instructions", "best_practices", "sections")


@dataclass(frozen=True, slots=True)
class Description:
    """The checked contents of `type.toml`; `sections` maps a heading's title to its guidance."""

    title: str
    summary: str
    instructions: tuple[str, ...]
    best_practices: tuple[str, ...]
    sections: Mapping[str, str]


def parse_description(toml: bytes) -> Description:
    """Read `type.toml`. Raises InvalidTemplate, which names the key."""
    table = _load(decode(toml, "type.toml", MAX_FILE))
    for key in table:
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(_KEYS)}"
            raise InvalidTemplate(_key(key, "type.toml"), f"unknown key; {hint}")
    return Description(
        title=_line(table.get("title"), "title", MAX_TITLE),
        summary=_line(table.get("summary"), "summary", MAX_SUMMARY),
        instructions=_lines(table.get("instructions", []), "instructions"),
        best_practices=_lines(table.get("best_practices", []), "best_practices"),
        sections=_guidance(table.get("sections", {})),
    )


def _load(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Only the place: the parser's own words may quote the file.
        place = re.search(r"\((at [^()]*)\)$", str(error))
        where = f" {place[1]}" if place else ""
        raise InvalidTemplate("type.toml", f"must be TOML{where}") from None
    except RecursionError:
        raise InvalidTemplate("type.toml", "the values are nested too deeply") from None
    except ValueError:  # Python reads no number of thousands of digits
        raise InvalidTemplate("type.toml", "a number is too large") from None


def _line(value: object, field: str, limit: int) -> str:
    if value is None:
        raise InvalidTemplate(field, "is required")
    if not isinstance(value, str):
        raise InvalidTemplate(field, "must be a string")
    text = " ".join(value.split())
    if not text:
        raise InvalidTemplate(field, "must not be empty")
    if len(text) > limit:
        raise InvalidTemplate(field, f"has {len(text)} characters; at most {limit} are allowed")
    check_visible(text, field)
    return text


def _lines(value: object, field: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidTemplate(field, "must be a list of strings")
    if len(value) > MAX_ITEMS:
        raise InvalidTemplate(field, f"has {len(value)} entries; at most {MAX_ITEMS} are allowed")
    return tuple(_line(item, f"{field}[{place}]", MAX_ITEM) for place, item in enumerate(value))


def _guidance(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InvalidTemplate("sections", "must be a table: a heading's title = what belongs under it")
    return {
        title: _line(text, f"sections.{_key(title, 'sections')}", MAX_ITEM) for title, text in value.items()
    }


def _key(key: str, field: str) -> str:
    """Return a key that is fit to stand in an error message."""
    if len(key) > MAX_KEY:
        raise InvalidTemplate(field, f"a key has at most {MAX_KEY} characters")
    check_visible(key, field)
    return key
