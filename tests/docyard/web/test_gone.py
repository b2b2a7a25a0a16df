"""A repository that goes while its pages are served: each says so, and none calls it a fault of its own."""

from __future__ import annotations

from pathlib import Path

from tests.docyard.web.serving import serving
from tests.repositories import normal


def test_every_page_says_that_the_repository_is_gone(tmp_path: Path) -> None:
    repo = normal(tmp_path / "r", {"a.md": "# A\n"})
    with serving(repo.path) as served:
        served.get("/proposals")
        repo.path.rename(tmp_path / "elsewhere")
        for url in ("/", "/doc/a.md", "/history/a.md", "/proposals"):
            assert "The repository is gone" in served.get(url, 503)
        (tmp_path / "elsewhere").rename(repo.path)
        served.get("/proposals")
