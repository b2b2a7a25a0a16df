"""Documents are rendered as in the examples of `tests/cases/rendering.md`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import repositories
from tests.loops import loop_over
from tests.workspace.cases import Case, read_cases
from tests.workspace.rendering.html_checker import find_html_problems
from tests.workspace.rendering.page_urls import PlainUrls
from workspace.config.names import Dialect
from workspace.git.reader import GitReader
from workspace.rendering.links import RenderOptions
from workspace.rendering.renderer import render, render_text
from workspace.snapshot.snapshot import Snapshot

CASES = read_cases("rendering.md")
FILES = {
    "other.md": "# Other\n\n## Setup\n\n## Twice\n\n## Twice\n",
    "a folder/deep.md": "# Deep\n",
    "notes.txt": "Notes\n",
    "img/a b.png": b"\x89PNG\r\n\x1a\n",
}


def read_case_documents() -> dict[str, bytes]:
    return {
        f"cases/{number}.md": parameter.values[0].data("markdown") for number, parameter in enumerate(CASES)
    }


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder: Path = tmp_path_factory.mktemp("cases") / "repo"
    files = {**FILES, **read_case_documents(), "docyard.toml": "[links]\nwiki = true\n"}
    git = GitReader(repositories.create_repository(folder, files).path)
    return Snapshot(git, git.head().commit)


@loop_over(
    ("number", "case"),
    list(enumerate(parameter.values[0] for parameter in CASES)),
    ids=[parameter.id for parameter in CASES],
)
def test_document_is_rendered_as_in_the_example(snapshot: Snapshot, number: int, case: Case) -> None:
    options = RenderOptions(math="math" in case.name, mermaid="diagrams" in case.name)
    html = render(snapshot, f"cases/{number}.md", urls=PlainUrls(), options=options).html
    assert html.strip("\n") == case.fences["html"].strip("\n")
    if not options.math:
        assert find_html_problems(html) == []


DIALECT_CASES = [parameter.values[0] for parameter in read_cases("rendering_dialects.md")]


@pytest.fixture(scope="module")
def dialect_snapshots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Snapshot]:
    """Return a snapshot of the cases for each dialect."""
    snapshots = {}
    for dialect in Dialect:
        files = {f"{number}.md": case.data("markdown") for number, case in enumerate(DIALECT_CASES)}
        settings = f'[links]\ndialect = "{dialect}"\n'.encode()
        folder = tmp_path_factory.mktemp("dialects") / "repo"
        git = GitReader(repositories.create_repository(folder, {**files, "docyard.toml": settings}).path)
        snapshots[dialect.value] = Snapshot(git, git.head().commit)
    return snapshots


@loop_over(("number", "case"), list(enumerate(DIALECT_CASES)), ids=[case.name for case in DIALECT_CASES])
def test_containers_are_rendered_as_in_the_example(
    dialect_snapshots: dict[str, Snapshot], number: int, case: Case
) -> None:
    snapshot = dialect_snapshots[case.name.partition(":")[0]]
    html = render(snapshot, f"{number}.md", urls=PlainUrls()).html
    assert html.strip("\n") == case.fences["html"].strip("\n")
    assert find_html_problems(html) == []
    # A short text has the same containers.
    text = case.data("markdown").decode()
    short_html = render_text(text, urls=PlainUrls(), snapshot=snapshot, breaks=False)
    assert short_html.count("<div") == html.count("<div")
