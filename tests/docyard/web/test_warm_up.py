"""Preparation of modules and templates before the first page."""

from __future__ import annotations

import sys

from docyard.web.templates import warm_pages


def test_warm_pages_imports_modules_and_templates() -> None:
    warm_pages()
    assert "workspace.rendering" in sys.modules
