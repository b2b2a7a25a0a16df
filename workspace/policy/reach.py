"""Which of some paths globs stand for: each is asked once, and only of paths that hold its plain text.

Letter case and Unicode forms do not count: on many disks such names are one file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from workspace.globs import Glob
from workspace.paths import twin_key

_WILD = re.compile(r"\*\*/|[*?]")


class Reach:
    """Some paths, of which globs are asked: from the top of the repository, or from the workspace's root."""

    def __init__(self, paths: Sequence[str], root: str) -> None:
        self._paths = frozenset(paths)
        self._names = {path: path for path in self._paths}
        self._twins = {path: _folded(path) for path in self._paths}
        self._above = f"{root}/" if root else ""
        self._known: dict[str, frozenset[str]] = {}

    def of(self, globs: Sequence[str]) -> frozenset[str]:
        """The paths that any of the globs stands for; without a glob, all."""
        if not globs:
            return self._paths
        return frozenset().union(*map(self._of, globs))

    def _of(self, text: str) -> frozenset[str]:
        found = self._known.get(text)
        if found is None:
            found = self._matching(text, self._names, self._above)
            twin = _folded(text)
            # A range such as `[A-z]` stands for less once it is folded, so both are asked.
            if (twin, self._twins) != (text, self._names):
                found |= self._matching(twin, self._twins, _folded(self._above))
            self._known[text] = found
        return found

    def _matching(self, text: str, names: Mapping[str, str], above: str) -> frozenset[str]:
        """The paths of which a glob stands for the name, or for what of it is below the root."""
        plain = plain_part(text)
        likely = [(path, name) for path, name in names.items() if plain in name]
        if not likely:
            return frozenset()
        glob = Glob.compile(text)
        return frozenset(
            path
            for path, name in likely
            if glob.matches(name) or (name.startswith(above) and glob.matches(name[len(above) :]))
        )


def _folded(name: str) -> str:
    """What names that are one file on some disks have in common, composed: `?` stands for a letter."""
    return unicodedata.normalize("NFC", twin_key(name))


@lru_cache(maxsize=10_000)
def plain_part(glob: str) -> str:
    """The longest text that each path has that a glob stands for; what follows a bracket is not looked at."""
    return max(_WILD.split(glob.rstrip("/").partition("[")[0]), key=len)
