"""What is made ready before the first page is there."""

from __future__ import annotations

import sys

from docyard.web.templates import warm_pages


def test_the_first_pages_find_their_modules_and_templates() -> None:
    warm_pages()
    assert "workspace.rendering" in sys.modules
