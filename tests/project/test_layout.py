"""The layout of the packages obeys the rules of CONTRIBUTING.md."""

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
    assert layouts[package].upward_imports == ()


@pytest.mark.parametrize("package", [*PACKAGES, "tests", "benchmarks", "release"])
def test_folder_has_at_most_twenty_modules(package: str) -> None:
    assert {str(path): count for path, count in count_modules(package).items() if count > MAX_MODULES} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_docstring_of_a_folder_lists_its_files(package: str) -> None:
    assert find_docstring_differences(package) == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_two_public_classes_of_a_package_share_a_name(package: str) -> None:
    assert {name: paths for name, paths in find_public_classes(package).items() if len(paths) > 1} == {}


# A server imports all rules together, so no thread imports a single rule. The test omits `tools`, whose
# folders are imported before a server starts threads.
SELF_IMPORTING_FOLDERS = {"workspace/validation/rules"}


@pytest.mark.parametrize("package", ["workspace", "index", "docyard"])
def test_folders_do_not_import_their_own_modules(package: str) -> None:
    assert find_self_importing_folders(package) <= SELF_IMPORTING_FOLDERS
