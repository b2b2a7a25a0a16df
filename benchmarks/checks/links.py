"""Compares the links that `docyard validate` calls broken with those of an independent checker.

    npm install remark-cli remark-frontmatter remark-gfm remark-validate-links vfile-reporter-json
    cp path/to/docyard/benchmarks/remark.mjs .
    CORPUS=$PWD/folder npx remark folder --rc-path remark.mjs --report json --quiet --no-stdout 2> report.json
    python -m benchmarks.checks.links folder report.json

Both report the same broken link if its destination is within the checker's mark. Each difference is assigned
to a reason that this module finds independently, or is printed as not explained; then the exit code is 1.
docs/links.md lists the reasons.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

NESTED = 20
RULES = ("broken-link", "broken-fragment", "broken-image")
_NAMED = re.compile(rb"""<[a-z][^<>]*?\s(?:id|name)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_HEADING = re.compile(r"Cannot find heading for `#(.*?)`(?: in `(.*?)`)?(?:;|$)")


class Marked(NamedTuple):
    """A broken link by the checker: its span by line and column, and the reason."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    rule: str
    reason: str


class Broken(NamedTuple):
    """A broken link by Docyard: the start of its destination, and the message."""

    path: str
    place: tuple[int, int]
    rule: str
    message: str


def of_checker(report: Path, folder: Path) -> Iterator[Marked]:
    """Yield the broken links of the checker's report about the files of a folder."""
    for file in json.loads(report.read_text()):
        whole = Path(file["cwd"], file["path"]).resolve()
        path = whole.relative_to(folder.resolve()).as_posix()
        for message in file["messages"]:
            start, end = message["place"]["start"], message["place"]["end"]
            yield Marked(
                path,
                (start["line"], start["column"]),
                (end["line"], end["column"]),
                message["ruleId"],
                message["reason"],
            )


def of_docyard(folder: Path) -> list[Broken]:
    """Return the broken links by `docyard validate`."""
    command = [sys.executable, "-m", "docyard", "validate", "-C", str(folder), "--json"]
    for rule in RULES:
        command += ["--rule", rule]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    found: list[Mapping[str, Any]] = json.loads(done.stdout)["findings"]
    return [
        Broken(item["path"], (item["line"], item["column"]), item["rule"], item["message"]) for item in found
    ]


def around(marked: Sequence[Marked], place: tuple[int, int]) -> list[Marked]:
    """Return the marked links, in order, that contain a position; few contain each other."""
    last = bisect_right(marked, place, key=lambda item: item.start)
    return [item for item in marked[max(0, last - NESTED) : last] if place <= item.end]


def explain(marked: Marked, folder: Path) -> str | None:
    """Return the reason why only the checker reports a link, or None if it is unknown."""
    found = _HEADING.match(marked.reason)
    if found is None:
        return None
    fragment, other = found[1], found[2]
    file = folder / PurePosixPath(marked.path).parent / other if other else folder / marked.path
    names = _html_names(file.resolve())
    if fragment in names:
        return "the place is named by an HTML tag, which the checker does not read"
    if f"{fragment}/" in names:
        return "the fragment ends in a slash, which the checker cuts off"
    return "the top of the page in HTML" if fragment == "top" else None


@cache
def _html_names(file: Path) -> frozenset[str]:
    """Return the ids and names of HTML tags in a file, in lower case, as the checker converts fragments."""
    if not file.is_file():
        return frozenset()
    return frozenset(name.decode("utf-8", "replace").lower() for name in _NAMED.findall(file.read_bytes()))


def main() -> int:
    """Compare and print; return 1 if a difference has no reason."""
    parser = argparse.ArgumentParser(description="Compare broken links with those of an independent checker.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("report", type=Path)
    parser.add_argument("--shown", type=int, default=20, help="how many of the differences to print")
    given = parser.parse_args()
    marked: dict[str, list[Marked]] = {}
    for item in of_checker(given.report, given.folder):
        marked.setdefault(item.path, []).append(item)
    for items in marked.values():
        items.sort(key=lambda item: item.start)
    counts: Counter[str] = Counter()
    unexplained: list[str] = []
    known: set[Marked] = set()
    for broken in of_docyard(given.folder):
        same_links = around(marked.get(broken.path, ()), broken.place)
        known.update(same_links)
        if same_links:
            counts["broken to both"] += 1
        else:
            unexplained.append(f"only Docyard: {broken.path}:{broken.place[0]}: {broken.message}")
    for item in (item for items in marked.values() for item in items if item not in known):
        reason = explain(item, given.folder)
        if reason:
            counts[f"only the checker: {reason}"] += 1
        else:
            unexplained.append(f"only the checker: {item.path}:{item.start[0]}: {item.reason}")
    for name, count in counts.items():
        print(f"{count:>8,} {name}")
    print(f"{len(unexplained):>8,} not explained")
    for line in unexplained[: given.shown]:
        print(line)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
