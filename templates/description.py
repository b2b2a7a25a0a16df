"""`type.toml`: the title of a type, and the guidance for the author of a document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from templates.invalid import InvalidTemplate
from templates.text import check_visible, decode_text

MAX_FILE_BYTES = 32_000
MAX_TITLE_CHARACTERS = 80
MAX_SUMMARY_CHARACTERS = 200
MAX_ITEM_CHARACTERS = 600  # the limit for an instruction, a practice, and a section's guidance
MAX_ITEMS = 30
MAX_KEY_CHARACTERS = 200

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
    """Return the checked contents of `type.toml`. Raises InvalidTemplate with the key."""
    table = _parse_toml(decode_text(toml, "type.toml", MAX_FILE_BYTES))
    for key in table:
        if key not in _KEYS:
            nearest = get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else f"the keys are {', '.join(_KEYS)}"
            raise InvalidTemplate(_quote_key(key, "type.toml"), f"unknown key; {hint}")
    return Description(
        title=_read_line(table.get("title"), "title", MAX_TITLE_CHARACTERS),
        summary=_read_line(table.get("summary"), "summary", MAX_SUMMARY_CHARACTERS),
        instructions=_read_lines(table.get("instructions", []), "instructions"),
        best_practices=_read_lines(table.get("best_practices", []), "best_practices"),
        sections=_read_guidance(table.get("sections", {})),
    )


def _parse_toml(text: str) -> dict[str, object]:
    import tomllib  # imported late, because a list of tools needs only the names of types

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Only the position is reported, because the parser's message may quote the file.
        position = re.search(r"\((at [^()]*)\)$", str(error))
        suffix = f" {position[1]}" if position else ""
        raise InvalidTemplate("type.toml", f"must be TOML{suffix}") from None
    except RecursionError:
        raise InvalidTemplate("type.toml", "the values are nested too deeply") from None
    except ValueError:  # Python rejects numbers of over 4,300 digits
        raise InvalidTemplate("type.toml", "a number is too large") from None


def _read_line(value: object, field: str, limit: int) -> str:
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


def _read_lines(value: object, field: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidTemplate(field, "must be a list of strings")
    if len(value) > MAX_ITEMS:
        raise InvalidTemplate(field, f"has {len(value)} entries; at most {MAX_ITEMS} are allowed")
    return tuple(
        _read_line(item, f"{field}[{index}]", MAX_ITEM_CHARACTERS) for index, item in enumerate(value)
    )


def _read_guidance(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InvalidTemplate(
            "sections",
            "must be a table with the title of a heading as each key, and its guidance as the value",
        )
    return {
        title: _read_line(text, f"sections.{_quote_key(title, 'sections')}", MAX_ITEM_CHARACTERS)
        for title, text in value.items()
    }


def _quote_key(key: str, field: str) -> str:
    """Return a key for an error message. Raises InvalidTemplate for a long key or an invisible character."""
    if len(key) > MAX_KEY_CHARACTERS:
        raise InvalidTemplate(
            field, f"a key has {len(key)} characters; at most {MAX_KEY_CHARACTERS} are allowed"
        )
    check_visible(key, field)
    return key
