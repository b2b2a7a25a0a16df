"""Preparation of modules and templates before the first page."""

from __future__ import annotations

import sys

from docyard.web.templates import warm_pages


def test_warm_pages_imports_the_rendering_package() -> None:
    warm_pages()
    assert "workspace.rendering" in sys.modules
