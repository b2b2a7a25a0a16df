"""`covers` of documents and sections."""

from __future__ import annotations

import pytest

from workspace.document.coverage import find_literal_folder, read_coverages
from workspace.document.document import Document


def read_globs(text: str) -> dict[str | None, tuple[str, ...]]:
    coverages = read_coverages(Document.parse(text.encode(), "a.md"))
    return {item.section.key if item.section else None: item.globs for item in coverages}


@pytest.mark.parametrize(
    ("line", "globs"),
    [
        ("- Covers: `src/**`, `a.py`", ("src/**", "a.py")),
        ("* **Covers:** src/a.py,src/b.py", ("src/a.py", "src/b.py")),
        ("1. covers: `src/**`\n   , `b.py`", ("src/**", "b.py")),
        ("- Covers : a.py, a.py", ("a.py",)),
        ("- [ ] Task\n  - Covers: a.py", None),
        ("> - Covers: a.py", None),
        ("- Covers: ``, ,", None),
        ("Covers: a.py", None),
        ("```\n- Covers: a.py\n```", None),
        ("- Discovers: a.py", None),
    ],
)
def test_field_of_a_section_names_globs(line: str, globs: tuple[str, ...] | None) -> None:
    expected = {"b": globs} if globs else {}
    assert read_globs(f"# A\n\n## B {{#b}}\n\n{line}\n") == expected


def test_several_fields_of_a_section_are_one_coverage() -> None:
    text = "# A\n\n- Covers: a\n\n## B\n\n- Covers: b\n- Covers: c, b\n\n### C\n\n- Covers: d\n"
    assert read_globs(text) == {"_preamble": ("a",), "b": ("b", "c"), "b/c": ("d",)}


@pytest.mark.parametrize(
    ("value", "globs"),
    [
        ('["src/**", " a.py ", 3, ""]', ("src/**", "a.py", "")),
        ("src/**", ("src/**",)),
        ("3", ()),
        ("{a: b}", ()),
    ],
)
def test_front_matter_names_globs_of_the_document(value: str, globs: tuple[str, ...]) -> None:
    assert read_globs(f"---\ncovers: {value}\n---\n# A\n") == ({None: globs} if globs else {})


@pytest.mark.parametrize(
    ("glob", "folder"),
    [
        ("src/auth/**", "src/auth/"),
        ("src/*.py", "src/"),
        ("**/a.py", ""),
        ("*", ""),
        ("src/a?/b", "src/"),
        ("src/a.py", "src/a.py/"),
        ("src/", "src/"),
        ("src/[ab]/c", "src/"),
    ],
)
def test_literal_folder_of_a_glob(glob: str, folder: str) -> None:
    assert find_literal_folder(glob) == folder
