"""Packages are laid out by the rules of CONTRIBUTING.md; `python -m tests.layout` prints the figures."""

from __future__ import annotations

import pytest

from tests.layout import MAX_MODULES, PACKAGES, Layout, layouts, listed_wrongly, public_classes

pytestmark = pytest.mark.docs

DEFINED_TWICE = {
    "docyard": {
        "Asked",
        "Connection",
        "Entry",
        "Finding",
        "Followed",
        "Found",
        "Piece",
        "Row",
        "Run",
        "Site",
    },
    "tools": {"Page"},
    "index": {"Built", "Found", "Reading", "Record"},
    "workspace": {
        "Access",
        "Block",
        "Change",
        "Changes",
        "Choice",
        "Conflict",
        "Corpus",
        "Decisions",
        "Destination",
        "Edit",
        "Entry",
        "Files",
        "Heading",
        "History",
        "Kind",
        "Landing",
        "Layout",
        "Listed",
        "Name",
        "Outline",
        "Override",
        "Piece",
        "Place",
        "Row",
        "Side",
        "Standing",
        "State",
        "Status",
        "Step",
        "Told",
        "Touched",
        "Unit",
        "Version",
        "Written",
    },
}
"""Names that several public classes of a package have; this may only shrink."""

CIRCLES: dict[str, int] = {}
"""Circles that are left; this may only shrink."""


@pytest.fixture(scope="module")
def found() -> dict[str, Layout]:
    return {layout.package: layout for layout in layouts()}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_or_folders_import_each_other_in_a_circle(found: dict[str, Layout], package: str) -> None:
    assert len(found[package].circles) <= CIRCLES.get(package, 0), found[package].circles


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_from_a_floor_above(found: dict[str, Layout], package: str) -> None:
    assert found[package].upward == ()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_holds_at_most_twenty_modules(found: dict[str, Layout], package: str) -> None:
    assert {
        str(path): number for path, number in found[package].folders.items() if number > MAX_MODULES
    } == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_docstring_of_a_folder_lists_its_files(package: str) -> None:
    assert listed_wrongly(package) == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_further_public_classes_of_a_package_share_a_name(package: str) -> None:
    twice = {name for name, paths in public_classes(package).items() if len(paths) > 1}
    assert twice <= DEFINED_TWICE[package]
