"""How messages and answers show a destination."""

from __future__ import annotations

_SHOWN = 200


def shown(destination: str) -> str:
    """A destination as one line can show it: cut at 200 characters, what is not to be seen written out."""
    text = destination if len(destination) <= _SHOWN else destination[:_SHOWN] + "…"
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
