"""Addresses that stand in a text without marks (GFM 0.29 §6.9, "Autolinks (extension)")."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

_MAY_HOLD = ("://", "www.", "@")
_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9])(?:https?://(?=[^\s<])|www\.(?=[A-Za-z0-9]))[^\s<]*"
    r"|(?<![A-Za-z0-9.+_-])[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,63}"
    r"(?![A-Za-z0-9@_-])",
    re.IGNORECASE,
)
_TRAILING = re.compile(r"(?:[?!.,:*_~'\"]|&[A-Za-z0-9]{1,30};)\Z")


def link_addresses(children: list[Token], content: str) -> list[Token]:
    """The inline tokens of a text with links made of the addresses in it; those in links stay as they are."""
    if not any(mark in content for mark in _MAY_HOLD):
        return _joined(children)
    found: list[Token] = []
    depth = 0
    for token in _joined(children):
        if token.type in ("link_open", "link_close"):
            depth += token.nesting
        elif token.type == "html_inline":
            # Links hold no links, those of raw HTML neither.
            tag = token.content[:3].lower()
            depth += (tag.startswith("<a") and not tag[2:3].isalnum()) - tag.startswith("</a")
            depth = max(depth, 0)
        if token.type == "text" and not depth:
            found += _linked(token)
        else:
            found.append(token)
    return found


def _joined(children: list[Token]) -> list[Token]:
    """The same tokens, those of text that stand side by side made one: rules part them at each mark."""
    joined: list[Token] = []
    texts: list[str] = []
    for token in children:
        if token.type in ("text", "text_special"):
            texts.append(token.content)
            if len(texts) == 1:
                joined.append(token)
            continue
        _close(joined, texts)
        joined.append(token)
    _close(joined, texts)
    return joined


def _close(joined: list[Token], texts: list[str]) -> None:
    if texts:
        joined[-1].type, joined[-1].content = "text", "".join(texts)
        texts.clear()


def _linked(token: Token) -> list[Token]:
    from markdown_it.token import Token as NewToken

    text, at = token.content, 0
    found: list[Token] = []

    def add(words: str) -> None:
        if words:
            found.append(NewToken("text", "", 0, content=words))

    for address in _ADDRESS.finditer(text):
        words = _trimmed(address.group())
        href = words
        if words[:4].lower() == "www.":
            href = f"http://{words}"
        elif "://" not in words:
            href = f"mailto:{words}"
        add(text[at : address.start()])
        found.append(NewToken("link_open", "a", 1, attrs={"href": href}, meta={"is_autolink": True}))
        add(words)
        found.append(NewToken("link_close", "a", -1))
        at = address.start() + len(words)
    if not found:
        return [token]
    add(text[at:])
    return found


def _trimmed(address: str) -> str:
    """An address without punctuation that ends its sentence, and parentheses that open outside it."""
    surplus, end = address.count(")") - address.count("("), len(address)
    while True:
        if surplus > 0 and address.endswith(")", 0, end):
            end, surplus = end - 1, surplus - 1
        elif trailing := _TRAILING.search(address, max(0, end - 32), end):
            end = trailing.start()
        else:
            return address[:end]
