"""The parsed text of a page, which the reader returns and the writer renders."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


class ContainerSyntax(StrEnum):
    """The syntax of admonitions and tabs in addition to the alerts of GitHub."""

    NONE = ""
    MKDOCS = "mkdocs"
    DOCUSAURUS = "docusaurus"


class MarkdownFeatures(NamedTuple):
    """The optional syntax of a text: wiki links, formulas, and containers.

    With `breaks`, line ends are line breaks.
    """

    wiki: bool = False
    math: bool = False
    breaks: bool = False
    containers: ContainerSyntax = ContainerSyntax.NONE


class ParsedPage(NamedTuple):
    """A parsed text; `is_cut` is True if blocks beyond the limit are missing."""

    tokens: list[Token]
    parser: MarkdownIt
    features: MarkdownFeatures
    is_cut: bool
