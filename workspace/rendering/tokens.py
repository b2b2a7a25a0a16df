"""The tokens of code, by Pygments: the boundary module of this library, for a child process.

Some lexers take very long for some texts. So no thread of a server calls `list_tokens`. The child
returns lengths and kinds only, and no text, so it cannot add anything to a page.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from workspace.child_processes import configure_child

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

TOKEN_KINDS = (
    "", "keyword", "string", "number", "comment", "function", "class", "builtin", "tag", "attribute",
    "heading", "inserted", "deleted",
)  # fmt: skip
"""The kinds of tokens; the first one has no colour."""

_MAX_MEMORY_BYTES = 1_000_000_000
_NICENESS = 5  # requests run first

# The kinds of Pygments' types; the first type that contains that of a token decides.
_KINDS_BY_TYPE = {
    "Comment.Preproc": "keyword",
    "Comment": "comment",
    "Keyword.Constant": "number",
    "Keyword": "keyword",
    "Operator.Word": "keyword",
    "Name.Function": "function",
    "Name.Decorator": "function",
    "Name.Class": "class",
    "Name.Exception": "class",
    "Name.Namespace": "class",
    "Name.Tag": "tag",
    "Name.Attribute": "attribute",
    "Name.Builtin": "builtin",
    "Name.Constant": "number",
    "Name.Variable": "builtin",
    "Literal.String": "string",
    "Literal.Number": "number",
    "Literal": "number",
    "Generic.Heading": "heading",
    "Generic.Subheading": "heading",
    "Generic.Inserted": "inserted",
    "Generic.Deleted": "deleted",
    "Generic.Prompt": "comment",
    "Generic.Output": "comment",
}


def list_tokens(language: str, code: str) -> list[tuple[int, int]]:
    """Return the runs of a code: the position of each run's kind in TOKEN_KINDS, and its length.

    The list is empty if the language is unknown, or if the lexer does not return the code unchanged.
    """
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return []
    runs: list[tuple[int, int]] = []
    position = 0
    for start, token_type, text in lexer.get_tokens_unprocessed(code):
        if start != position or not code.startswith(text, position):
            return []
        position += len(text)
        kind = _find_kind(str(token_type).removeprefix("Token."))
        if runs and runs[-1][0] == kind:
            runs[-1] = kind, runs[-1][1] + len(text)
        else:
            runs.append((kind, len(text)))
    return runs if position == len(code) and any(kind for kind, _ in runs) else []


@cache
def _find_kind(token_type: str) -> int:
    for prefix, kind in _KINDS_BY_TYPE.items():
        if token_type == prefix or token_type.startswith(f"{prefix}."):
            return TOKEN_KINDS.index(kind)
    return 0


def serve_tokens(pipe: Connection) -> None:
    """Answer each language and code that a pipe receives with its tokens, until the pipe is closed."""
    configure_child()
    _limit_resources()
    with suppress(EOFError):
        pipe.send(None)  # this process is ready
        while True:
            language, code = pipe.recv()
            tokens: Sequence[tuple[int, int]] = ()
            with suppress(Exception):  # any error of a lexer; the code is then shown without colours
                tokens = list_tokens(language, code)
            pipe.send(tokens)


def _limit_resources() -> None:
    with suppress(ImportError, OSError, ValueError):  # a platform may not have this limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
        os.nice(_NICENESS)
