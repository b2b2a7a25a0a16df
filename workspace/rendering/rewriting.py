"""Links and images of canonical HTML as the page has them; ids that stand once; formulas in their places."""

from __future__ import annotations

import re
from html import escape, unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.rendering.destinations import Destination, Destinations

# Tags as `sanitizing.as_written` writes them.
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)((?: [a-z-]+=\"[^\"]*\")*)>")
_ATTRIBUTE = re.compile(r" ([a-z-]+)=\"([^\"]*)\"")
_REL = "noopener noreferrer nofollow"
# Links that the renderer made, to places of the same page.
_OWN_LINKS = frozenset({"anchor", "footnote-ref", "footnote-backref"})


def rewrite(html: str, destinations: Destinations, *, keeps_ids: bool) -> str:
    """Canonical HTML whose addresses are those of the page. Without ids it can stand there several times."""
    return _TAG.sub(_Rewriting(destinations, keeps_ids).tag, html)


class _Rewriting:
    def __init__(self, destinations: Destinations, keeps_ids: bool) -> None:
        self._destinations, self._keeps_ids = destinations, keeps_ids
        self._ids: set[str] = set()
        self._is_in_link = False

    def tag(self, found: re.Match[str]) -> str:
        """What a tag becomes."""
        closing, name, attributes = found.groups()
        if name == "a":
            return self._link(closing, attributes)
        if closing or not attributes:
            return found[0]
        if name == "img":
            return self._image(attributes)
        if name == "input":
            # A box without words beside it that are its own needs some for a screen reader.
            label = "Done" if " checked=" in attributes else "To do"
            return f"<input{self._written({**_read(attributes), 'aria-label': label})}>"
        return f"<{name}{self._written(_read(attributes))}>" if " id=" in attributes else found[0]

    def _link(self, closing: str, attributes: str) -> str:
        if closing:
            self._is_in_link = False
            return "</a>"
        values = _read(attributes)
        name = values.pop("name", "")
        if name:
            values.setdefault("id", name)
        href, kind = values.pop("href", None), values.pop("class", "")
        values.pop("rel", None)
        self._is_in_link = href is not None
        if href is not None and kind in _OWN_LINKS and href.startswith("#"):
            if not self._keeps_ids:
                # Nothing on the page has the id that it leads to.
                self._is_in_link = False
                return f"<a{self._written(values)}>"
            return f"<a{self._written({**values, 'class': kind, 'href': href})}>"
        if href is not None:
            values |= _leading(self._destinations.link(href))
        return f"<a{self._written(values)}>"

    def _image(self, attributes: str) -> str:
        values = _read(attributes)
        source, words = values.pop("src", None), values.get("alt", "")
        if source is None:
            return _instead(words or "image", "", "An image of this kind is not shown")
        found = self._destinations.image(source)
        if found.href is None:
            return _instead(words or "image", found.kind, found.title or "An image of this kind is not shown")
        if not found.kind:
            return f"<img{self._written({'src': found.href, 'alt': words, **values, 'loading': 'lazy'})}>"
        self._destinations.notes.add("Images of other hosts are not loaded; they are shown as links.")
        told = f"An image of {found.host}, which is not loaded"
        if self._is_in_link:
            return _instead(words or found.host, "image-link", told)
        link = {"class": "image-link", "href": found.href, "rel": _REL, "title": told}
        shown = f"{words} ({found.host})" if words else f"image of {found.host}"
        return f"<a{self._written(link)}>{escape(shown, quote=False)}</a>"

    def _written(self, values: dict[str, str]) -> str:
        id = values.get("id")
        if id is not None and (not self._keeps_ids or id in self._ids):
            values = {name: value for name, value in values.items() if name != "id"}
        elif id is not None:
            self._ids.add(id)
        return "".join(f' {name}="{escape(value)}"' for name, value in values.items())


def _read(attributes: str) -> dict[str, str]:
    return {name: unescape(value) for name, value in _ATTRIBUTE.findall(attributes)}


def _leading(found: Destination) -> dict[str, str]:
    values = {}
    if found.kind:
        values["class"] = found.kind
    if found.href is not None:
        values["href"] = found.href
    if found.kind == "external":
        values["rel"] = _REL
    if found.title:
        values["title"] = found.title
    return values


def _instead(words: str, kind: str, title: str) -> str:
    """Words that stand for an image."""
    shown = f' class="{kind}"' if kind else ""
    return f'<span{shown} title="{escape(title)}">{escape(words, quote=False)}</span>'


def fill(html: str, placeholder: str, formulas: Sequence[tuple[str, str]]) -> str:
    """HTML with formulas in the place of what stands for them: `formulas` are MathML and the source as text.

    MathML is put between tags alone. A placeholder that ended up in an attribute, behind a quote that
    an author left open, becomes the source.
    """
    if not formulas:
        return html
    marks = re.compile(re.escape(placeholder) + r"([0-9]{1,6})\.")
    parts: list[str] = []
    at = 0
    for tag in _TAG.finditer(html):
        parts.append(marks.sub(lambda found: formulas[int(found[1])][0], html[at : tag.start()]))
        parts.append(marks.sub(lambda found: escape(formulas[int(found[1])][1]), tag[0]))
        at = tag.end()
    parts.append(marks.sub(lambda found: formulas[int(found[1])][0], html[at:]))
    return "".join(parts)
