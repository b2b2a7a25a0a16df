"""How the demonstration looks: each call, the answer, and whether it is as expected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.rule import Rule
from rich.text import Text

from docyard.terminal.console import console

_LINES = 24


class Screen:
    """Prints the demonstration as it goes on."""

    def __init__(self) -> None:
        self._console = console()
        self._number = 0

    def title(self, text: str) -> None:
        self._console.print(Rule(Text(text, style="bold")))

    def note(self, text: str) -> None:
        self._console.print(Text(text, style="dim"))

    def purpose(self, text: str) -> None:
        self._number += 1
        self._console.print(Text(f"\n{self._number}. {text}", style="bold"))

    def call(self, tool: str, arguments: Mapping[str, Any]) -> None:
        line = Text("→ ", style="cyan")
        line.append(tool, style="bold cyan").append(" ").append(_readable(arguments), style="default")
        self._console.print(line)

    def answer(self, data: Mapping[str, Any], text: str) -> None:
        lines = (_readable(data) if _is_json(text) else text).splitlines()
        if len(lines) > _LINES:
            lines = [*lines[:_LINES], f"… {len(lines) - _LINES} more lines"]
        self._console.print(Text("\n".join(f"  {line}" for line in lines), style="dim"))

    def verdict(self, good: bool) -> None:
        self._console.print(
            Text("✓ as expected", style="green") if good else Text("✗ not as expected", style="bold red")
        )

    def plain(self, text: str) -> None:
        self._console.print(Text(text))


def _readable(data: Mapping[str, Any]) -> str:
    short = json.dumps(data, ensure_ascii=False)
    return short if len(short) <= 90 else json.dumps(data, ensure_ascii=False, indent=2)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
