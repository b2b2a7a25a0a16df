"""Globs over paths, with one meaning in settings, manifests and searches.

docs           the file or folder of this name, and all below it
*.tmp.md       `*` matches any characters, including slashes
v?.md          `?` matches one character
[a-c]/         `[a-c]` matches one of these characters
**/old/*       `**/` matches zero or more folders

Implemented on top of `fnmatch`, because in pathspec and `wcmatch.glob` `*` stops at a slash, and in
`wcmatch.fnmatch` `**/` does not match zero folders. pathspec also backtracks for every star.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from itertools import product
from typing import NamedTuple

MAX_LENGTH = 1_000  # characters
MAX_ANY_FOLDERS = 4
"""The maximum number of `**/` in a glob: each doubles the number of its patterns."""

_ANY_FOLDERS = re.compile(r"(?:^|(?<=/))(?:\*\*/)+")


class Glob(NamedTuple):
    """A compiled glob. Any text compiles; `find_problem` returns the error of an invalid glob."""

    text: str
    pattern: re.Pattern[str]

    @classmethod
    @lru_cache(maxsize=1_000)
    def compile(cls, text: str) -> Glob:
        """Return the compiled glob of a text."""
        text = text.rstrip("/")
        alternatives = (re.sub(r"\\[zZ]$", "", translate(plain)) for plain in _expand_any_folders(text))
        return cls(text, re.compile(rf"(?s:(?:{'|'.join(alternatives)})(?:/.*)?)\Z"))

    def matches(self, path: str) -> bool:
        """Return True if the glob matches a path; a glob with brackets also matches its own text."""
        text = self.text
        return path == text or path.startswith(text + "/") or self.pattern.match(path) is not None


def find_problem(text: str) -> str | None:
    """Return the reason why a text is not a glob relative to a folder, as a predicate, or None."""
    if not text.strip("/"):
        return "is empty"
    if len(text) > MAX_LENGTH:
        return f"has over {MAX_LENGTH:,} characters"
    if text.startswith("/"):
        return "begins with a slash, but must be a relative path"
    if "\\" in text:
        return "contains a backslash, and folders end with a slash"
    if ".." in text.split("/"):
        return "leads out of its base folder"
    if _has_open_bracket(text):
        return "has a bracket that is not closed"
    if len(_ANY_FOLDERS.findall(text)) > MAX_ANY_FOLDERS:
        return f"contains **/ more than {MAX_ANY_FOLDERS} times"
    return None


def _expand_any_folders(text: str) -> list[str]:
    """Return the globs without `**/` that together match the same paths as a glob with `**/`."""
    parts = _ANY_FOLDERS.split(text)
    if len(parts) - 1 > MAX_ANY_FOLDERS:
        return [text]
    prefix, *suffixes = parts
    choices = product(("", "*/"), repeat=len(suffixes))
    return [prefix + "".join(map("".join, zip(choice, suffixes, strict=True))) for choice in choices]


def _has_open_bracket(text: str) -> bool:
    """Return True if a `[` is not closed. A `]` right after `[` or `[!` is an ordinary character."""
    bracket = text.find("[")
    while bracket >= 0:
        content_start = bracket + 2 if text.startswith("[!", bracket) else bracket + 1
        end = text.find("]", content_start + 1)
        if end < 0:
            return True
        bracket = text.find("[", end)
    return False
