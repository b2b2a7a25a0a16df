"""A repository that is moved away while it is served: each page reports this, and no internal error."""

from __future__ import annotations

from pathlib import Path

from tests.docyard.web.page_server import serve_pages
from tests.repositories import create_repository


def test_every_page_reports_a_deleted_repository(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "r", {"a.md": "# A\n"})
    with serve_pages(repo.path) as server:
        server.get("/proposals")
        repo.path.rename(tmp_path / "elsewhere")
        for url in ("/", "/doc/a.md", "/history/a.md", "/proposals"):
            assert "The repository is missing" in server.get(url, 503)
        (tmp_path / "elsewhere").rename(repo.path)
        server.get("/proposals")
