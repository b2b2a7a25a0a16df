"""The tree cache of Git's index ("Cache tree" of gitformat-index): which folder has which tree."""

from __future__ import annotations

from collections.abc import Iterable

_ID = 20  # bytes of a tree's id


def invalidated(trees: bytes, paths: Iterable[bytes]) -> bytes:
    """The cache without the ids of the folders of these paths. Raises ValueError if it cannot be read."""
    folders: set[bytes] = set()
    for path in paths:
        folders.add(b"")
        while (cut := path.rfind(b"/")) >= 0:
            path = path[:cut]
            folders.add(path)
    if not folders:
        return trees
    parts: list[bytes] = []
    position = 0
    above: list[tuple[bytes, int]] = []  # the folders around, and how many in each are still to come
    while position < len(trees):
        end = trees.index(0, position)
        newline = trees.index(b"\n", end)
        count, below = trees[end + 1 : newline].split(b" ")
        name = trees[position:end]
        following = newline + 1 + (_ID if not count.startswith(b"-") else 0)
        path = above[-1][0] + name if above else name
        if path in folders:
            parts.append(name + b"\0-1 " + below + b"\n")
        else:
            parts.append(trees[position:following])
        position = following
        if above:
            above[-1] = (above[-1][0], above[-1][1] - 1)
        above.append((path + b"/" if path else b"", int(below)))
        while above and not above[-1][1]:
            above.pop()
    return b"".join(parts)
