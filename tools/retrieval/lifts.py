"""Lifts of a contextual search: what a section must contain, and by which factor its score is multiplied.

    walkthrough_relevance  1.2  the section belongs to the walkthrough under way, or a step links to it
    current_technology     1.1  it names the technology of the walkthrough or of the current file
    error_category         1.3  it contains the class name, a code, or the words of the error

The factors of several lifts are multiplied. Each lift reports why it applies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from index.analysis.words import STOP_WORDS

WALKTHROUGH_FACTOR = 1.2
TECHNOLOGY_FACTOR = 1.1
ERROR_FACTOR = 1.3

_MAX_ERROR_NAMES = 20
_MAX_ERROR_WORDS = 40
_MAX_AMBIGUOUS_LENGTH = 2
_MIN_COMMON_WORDS = 2

# `RateLimitError`, `requests.exceptions.ConnectionError`, `ImagePullBackOff`
_CLASS_NAME = re.compile(
    r"\b(?:[A-Za-z_]\w*\.)*((?:[A-Z][a-z0-9]+){2,}|[A-Z]\w*(?:Error|Exception|Warning))\b"
)
# `E0308`, `C2065`, `TS2345`, `ERR_CONNECTION_REFUSED`, `ENOENT`, `0x80070005`, `HTTP 429`
_CODE = re.compile(
    r"\b(?:[A-Z]{1,6}-?\d{3,6}|[A-Z]{2,}(?:_[A-Z0-9]+)+|E[A-Z]{3,12}|0x[0-9A-Fa-f]{4,16}|[45]\d\d)\b"
)
_WORD = re.compile(r"[^\W\d_]{3,}")

# The names of technologies by the suffix or the name of a file, as documentation writes them.
_TECHNOLOGIES_BY_SUFFIX = {
    "py": ("python",),
    "pyi": ("python",),
    "ipynb": ("python", "jupyter"),
    "js": ("javascript", "js", "node"),
    "mjs": ("javascript", "js", "node"),
    "cjs": ("javascript", "js", "node"),
    "jsx": ("javascript", "jsx", "react"),
    "ts": ("typescript", "ts"),
    "tsx": ("typescript", "tsx", "react"),
    "vue": ("vue",),
    "svelte": ("svelte",),
    "go": ("go", "golang"),
    "rs": ("rust",),
    "rb": ("ruby",),
    "java": ("java",),
    "kt": ("kotlin",),
    "swift": ("swift",),
    "cs": ("c#", "csharp", ".net"),
    "vb": ("vb", "vba", "visual basic"),
    "bas": ("vb", "vba", "visual basic"),
    "cls": ("vb", "vba", "visual basic"),
    "c": ("c",),
    "h": ("c", "c++", "cpp"),
    "cc": ("c++", "cpp"),
    "cpp": ("c++", "cpp"),
    "hpp": ("c++", "cpp"),
    "php": ("php",),
    "sql": ("sql",),
    "sh": ("shell", "bash", "sh"),
    "bash": ("shell", "bash"),
    "ps1": ("powershell",),
    "yaml": ("yaml",),
    "yml": ("yaml",),
    "json": ("json",),
    "toml": ("toml",),
    "tf": ("terraform",),
    "html": ("html",),
    "css": ("css",),
    "scala": ("scala",),
    "ex": ("elixir",),
    "exs": ("elixir",),
    "r": ("r",),
    "dart": ("dart",),
    "lua": ("lua",),
}
_TECHNOLOGIES_BY_NAME = {
    "dockerfile": ("docker", "dockerfile"),
    "makefile": ("make", "makefile"),
    "cmakelists.txt": ("cmake",),
    "package.json": ("npm", "node", "javascript"),
    "pyproject.toml": ("python", "pip"),
    "requirements.txt": ("python", "pip"),
    "cargo.toml": ("rust", "cargo"),
    "go.mod": ("go", "golang"),
    "gemfile": ("ruby", "bundler"),
    "chart.yaml": ("helm",),
}


class Lift(NamedTuple):
    """A lift that applies to a section: its name, its factor, and the reason."""

    name: str
    factor: float
    why: str


@dataclass(frozen=True, slots=True)
class ErrorTraits:
    """The traits of an error message: its class names and codes, else its words."""

    names: tuple[str, ...]
    words: frozenset[str]

    @classmethod
    def read(cls, message: str) -> ErrorTraits:
        """Return the traits of a message."""
        names = [match[1] for match in _CLASS_NAME.finditer(message)]
        names += [match[0] for match in _CODE.finditer(message)]
        words = [word.casefold() for word in _WORD.findall(message)]
        significant_words = [word for word in dict.fromkeys(words) if word not in STOP_WORDS]
        return cls(
            tuple(dict.fromkeys(names))[:_MAX_ERROR_NAMES], frozenset(significant_words[:_MAX_ERROR_WORDS])
        )

    def explain_match(self, text: str) -> str | None:
        """Return the reason why a section is about the error, or None.

        A class name or a code decides. A message without them needs half of its words, and at least two.
        """
        for name in self.names:
            if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
                return f"contains {name}"
        if self.names or len(self.words) < _MIN_COMMON_WORDS:
            return None
        common_words = self.words.intersection(word.casefold() for word in _WORD.findall(text))
        if len(common_words) >= max(_MIN_COMMON_WORDS, (len(self.words) + 1) // 2):
            return f"contains {len(common_words)} of {len(self.words)} words of the error"
        return None


def list_technologies(current_file: str | None, walkthrough_technology: str | None) -> tuple[str, ...]:
    """Return the names of the technologies of a file and of a walkthrough, in lower case."""
    names: list[str] = []
    if current_file:
        file_name = re.split(r"[/\\]", current_file.strip().lower())[-1]
        suffix = file_name.rpartition(".")[2] if "." in file_name else ""
        names += _TECHNOLOGIES_BY_NAME.get(file_name, _TECHNOLOGIES_BY_SUFFIX.get(suffix, ()))
    if walkthrough_technology:
        names += [name.strip().lower() for name in walkthrough_technology.split(",") if name.strip()]
    return tuple(dict.fromkeys(names))


def explain_technology(technologies: Iterable[str], text: str) -> str | None:
    """Return the reason why a section is about one of some technologies, or None.

    A name of one or two letters counts only as the language of a code block, because it may be a word.
    """
    folded_text = text.casefold()
    for name in technologies:
        if re.search(rf"(?m)^[ \t>]*(?:`{{3,}}|~{{3,}})[ \t]*{re.escape(name)}(?![\w+#])", folded_text):
            return f"has {name} code"
        may_be_ordinary_word = len(name) <= _MAX_AMBIGUOUS_LENGTH and name.isalpha()
        if not may_be_ordinary_word and re.search(rf"(?<![\w.+#]){re.escape(name)}(?![\w+#])", folded_text):
            return f"names {name}"
    return None
