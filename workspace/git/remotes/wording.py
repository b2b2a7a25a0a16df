"""What a remote or a library said, fit to be shown: no secrets, no controls, no paths of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MOST = 500
_READ = 5_000
_URL_USER = re.compile(r"(://)[^/@\s]{1,500}@")
_CONTROLS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b.|[\x00-\x1f\x7f-\x9f]+")
_PATH = re.compile(r"(?<![\w:/.])(?:file://)?/(?:[^\s'\"/]+/)+[^\s'\":]*|(?<=')/[^']{0,1000}(?=')")


def cleaned(text: str, secrets: Iterable[str] = ()) -> str:
    """One line of at most 500 characters, without secrets, names before `@` in URLs, and absolute paths."""
    text = text[:_READ]
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    text = _URL_USER.sub(r"\1***@", text)
    text = " ".join(_CONTROLS.sub(" ", text).split())
    text = "".join(char if char.isprintable() else "?" for char in text)
    text = _PATH.sub("the folder", text).strip(" .")
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"
