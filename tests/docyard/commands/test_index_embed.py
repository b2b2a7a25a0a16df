"""The command `docyard index embed`."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.cli.main import main
from index.service import SearchIndex
from tests.repositories import create_repository


def test_interruption_ends_with_a_short_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(index: SearchIndex, progress: object) -> None:
        raise KeyboardInterrupt

    repo = create_repository(tmp_path / "docs", {"a.md": "# A\n"})
    monkeypatch.setattr(SearchIndex, "embed_sections", interrupt)
    assert main(["index", "embed", "-C", str(repo.path), "--embedding-provider", "hash"]) == 3
    assert capsys.readouterr().err == (
        "Interrupted. Run the command again to continue: what was embedded is kept.\n"
    )
