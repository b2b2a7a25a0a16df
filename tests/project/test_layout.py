"""The layout of the packages follows CONTRIBUTING.md; `python -m tests.project.layout` prints its figures."""

from __future__ import annotations

import pytest

from tests.project.layout import (
    MAX_MODULES,
    PACKAGES,
    Layout,
    count_modules,
    find_docstring_differences,
    find_public_classes,
    find_self_importing_folders,
    read_layouts,
)

pytestmark = pytest.mark.docs


@pytest.fixture(scope="module")
def layouts() -> dict[str, Layout]:
    return {layout.package: layout for layout in read_layouts()}


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_and_folders_have_no_import_cycle(layouts: dict[str, Layout], package: str) -> None:
    assert layouts[package].cycles == ()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_from_a_higher_layer(layouts: dict[str, Layout], package: str) -> None:
    assert layouts[package].upward == ()


@pytest.mark.parametrize("package", [*PACKAGES, "tests", "benchmarks"])
def test_folder_has_at_most_twenty_modules(package: str) -> None:
    assert {str(path): count for path, count in count_modules(package).items() if count > MAX_MODULES} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_docstring_of_a_folder_lists_its_files(package: str) -> None:
    assert find_docstring_differences(package) == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_two_public_classes_of_a_package_share_a_name(package: str) -> None:
    assert {name: paths for name, paths in find_public_classes(package).items() if len(paths) > 1} == {}


# The rules are imported only as a whole. The families of tools are imported before a server has threads.
SELF_IMPORTING_FOLDERS = {"workspace/validation/rules"}


@pytest.mark.parametrize("package", ["workspace", "index", "docyard"])
def test_folders_do_not_import_their_own_modules(package: str) -> None:
    assert find_self_importing_folders(package) <= SELF_IMPORTING_FOLDERS
