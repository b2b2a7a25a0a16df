"""The check `moves` of the benchmarks, with random moves and renames in a generated folder."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.checks.check_report import CheckReport
from benchmarks.checks.marked_sections import add_marks
from benchmarks.checks.moves import check_folder, compare_values
from workspace.document.document import Document

DOCUMENT_COUNT = 24
WORDS = ("Setup", "Errors", "Syntax", "Remarks", "See also", "Naïve café", "`code` and *more*")


def write_folder(root: Path, rng: random.Random) -> None:
    """Write documents in three folders, whose sections have similar titles, links and images."""
    paths = [f"{rng.choice(('', 'guides/', 'guides/deep er/'))}page {n}.md" for n in range(DOCUMENT_COUNT)]
    for path in paths:
        lines = ["---", f"title: {path}", "---", "", f"# Page {path}", "", make_link(paths, path, rng), ""]
        for level in rng.choices((2, 2, 3, 3, 4), k=6):
            level = min(level, max(2, len(lines)))
            lines += [f"{'#' * level} {rng.choice(WORDS)}", "", *make_link_lines(paths, path, rng), ""]
        line_ending = rng.choice(("\n", "\n", "\r\n"))
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(line_ending.join(lines).encode())


def make_link_lines(paths: list[str], path: str, rng: random.Random) -> list[str]:
    return [f"- {make_link(paths, path, rng)}" for _ in range(rng.randrange(4))]


def make_link(paths: list[str], path: str, rng: random.Random) -> str:
    target = rng.choice(paths)
    root_prefix = "../" * path.count("/")
    name = rng.choice(("setup", "errors", "errors-1", "syntax", "see-also", "naïve-café", "missing"))
    fragment = rng.choice(("", f"#{name}"))
    encoded_target = target.replace(" ", "%20")
    return rng.choice(
        (
            f"[a]({root_prefix}{encoded_target}{fragment})",
            f'[b](<{root_prefix}{target}{fragment}> "Title")',
            f"[c](/{encoded_target}{fragment})",
            f"[d](#{name})",
            f'<a href="{root_prefix}{target}{fragment}">e</a>',
            f"![f]({root_prefix}{encoded_target})",
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("move_count", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_random_moves_preserve_every_link_and_can_be_reverted(move_count: int, tmp_path: Path) -> None:
    write_folder(tmp_path, random.Random(move_count))
    report = check_folder(tmp_path, move_count, seed=move_count)
    assert report.problems == []
    assert report.counts["links"] > 100
    assert {name for name, count in report.counts.items() if count} >= {
        "RenameSection",
        "MoveSection",
        "MoveDocument",
        "inverse",
    }


def test_compare_ignores_links_that_were_broken_before() -> None:
    report = CheckReport()
    compare_values(report, "links", {1: "a", 2: None, 3: "c"}, {1: "a", 2: "b", 3: "d"})
    assert report.counts["links"] == 2
    assert report.problems == ["links: 3: 'c' became 'd'"]


def test_every_section_gets_a_mark() -> None:
    data = b"---\na: 1\n---\nText\n\n# T\n## A\nB\n-\n"
    marked_data = add_marks({"a.md": data})["a.md"]
    assert marked_data.count(b"Section-mark-") == len(Document.parse(data).sections)
