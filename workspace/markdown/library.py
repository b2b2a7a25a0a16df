"""The classes and functions of markdown-it-py that Docyard uses at run time, imported in one order.

If one thread imports the package while another imports one of its modules, each waits for the other, and
Python ends the wait with an ImportError. So only this module imports the package, before its modules.
"""

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference, unescapeAll
from markdown_it.parser_block import ParserBlock
from markdown_it.rules_block import StateBlock, reference
from markdown_it.rules_block.html_block import HTML_SEQUENCES
from markdown_it.rules_core import text_join
from markdown_it.token import Token

__all__ = [
    "HTML_SEQUENCES",
    "MarkdownIt",
    "ParserBlock",
    "StateBlock",
    "Token",
    "normalizeReference",
    "reference",
    "text_join",
    "unescapeAll",
]
