"""The embedding provider that a file of sources names."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.sources.service import create_sources
from index.sources.settings import InvalidSourcesFile


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ('provider = "http"', 4),
        ('provider = "http"\nmodel = "m"\nurl = "http://example.com"', 7),
        ('provider = "hash"\ndimensions = 5', 6),
    ],
)
def test_contradiction_in_embedding_has_its_line_and_a_fix(tmp_path: Path, settings: str, line: int) -> None:
    file = tmp_path / "sources.toml"
    file.write_text(f'[sources.a]\nrepo = "a"\n\n[embedding]\n{settings}\n')
    with pytest.raises(InvalidSourcesFile) as raised:
        create_sources(file)
    [mistake] = raised.value.mistakes
    assert mistake.line == line
    assert mistake.fix
