"""Each taxonomy value of a document is from its front matter, or else from the nearest manifest."""

from __future__ import annotations

import pickle
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace.config.taxonomy import MAX_VALUES, Manifest, Taxonomy, read_manifest, read_values

pytestmark = pytest.mark.smoke

TAXONOMY_KEYS = {"language": "A language", "scope": None, "type": None, "tags": None}


def build_taxonomy(manifests: dict[str, str]) -> Taxonomy:
    """Return the taxonomy of manifests by folder."""
    manifests_by_folder = {
        folder: read_manifest(text.encode(), folder, tuple(TAXONOMY_KEYS))
        for folder, text in manifests.items()
    }
    return Taxonomy(TAXONOMY_KEYS, manifests_by_folder.get)


@pytest.mark.parametrize(
    ("key", "value", "values"),
    [
        ("scope", "go", ("go",)),
        ("scope", "  Two \n words ", ("Two words",)),
        ("scope", "a, b", ("a, b",)),
        ("tags", "a, b,,a", ("a", "b")),
        ("tags", ["a, b", "c"], ("a, b", "c")),
        ("scope", ["b", "a", "b", "", None, {"x": 1}, ["y"]], ("b", "a")),
        ("scope", 5, ("5",)),
        ("scope", 1.5, ("1.5",)),
        ("scope", True, ("true",)),
        ("scope", [False], ("false",)),
        ("scope", date(2026, 2, 21), ("2026-02-21",)),
        ("scope", datetime(2026, 2, 21, 14, 32), ("2026-02-21T14:32:00",)),
        ("scope", None, ()),
        ("scope", "", ()),
        ("scope", [], ()),
        ("scope", {"a": "b"}, ()),
        ("scope", [b"bytes", {1}], ()),
        pytest.param("scope", 10**5000, (), id="a number of 5,000 digits"),
        ("scope", [str(number) for number in range(100)], tuple(map(str, range(MAX_VALUES)))),
    ],
)
def test_value_of_any_type_is_read_as_texts(key: str, value: object, values: tuple[str, ...]) -> None:
    assert read_values(key, value) == values


def test_front_matter_precedes_the_nearest_manifest() -> None:
    taxonomy = build_taxonomy(
        {
            "": "[metadata]\nlanguage = 'go'\nscope = 'all'\n",
            "docs": "[metadata]\nlanguage = 'java'\n[[override]]\nmatch = 'old'\nmetadata = {tags = 'old'}\n",
            "docs/empty": "",
        }
    )
    assert taxonomy.values("a.md", {}) == {"language": ("go",), "scope": ("all",)}
    assert taxonomy.values("a.md", {"language": "c", "scope": []}) == {"language": ("c",), "scope": ("all",)}
    # Only the nearest manifest applies: it inherits nothing from the manifest of the folder above.
    assert taxonomy.values("docs/a.md", {"unknown": "x"}) == {"language": ("java",)}
    assert taxonomy.values("docs/old/deep/a.md", {"type": "note"}) == {
        "language": ("java",),
        "type": ("note",),
        "tags": ("old",),
    }
    assert taxonomy.values("docs/empty/deep/a.md", {}) == {}
    assert taxonomy.values("docsa.md", {}) == {"language": ("go",), "scope": ("all",)}


def test_loaded_taxonomy_is_pickled_with_its_manifests() -> None:
    folders: list[str] = []

    def find_manifest(folder: str) -> Manifest | None:
        folders.append(folder)
        return Manifest({"scope": (folder,)}) if folder == "docs" else None

    taxonomy = Taxonomy(TAXONOMY_KEYS, find_manifest).load_folders(["", "docs"])
    unpickled = pickle.loads(pickle.dumps(taxonomy))
    assert folders == ["", "docs"]
    assert unpickled.values("docs/a.md", {}) == {"scope": ("docs",)}
    assert unpickled.values("a.md", {}) == {}


FOLDERS = st.sampled_from(["", "a", "a/b", "a/b/c", "b"])
MANIFEST_TEXTS = st.sampled_from(
    ["", "[metadata]\nscope = 'x'\n", "[metadata]\nscope = 'y'\nlanguage = 'z'\n"]
)


@given(st.dictionaries(FOLDERS, MANIFEST_TEXTS), FOLDERS, st.sampled_from(["", "own"]))
def test_manifest_of_the_deepest_folder_applies(
    manifests: dict[str, str], folder: str, own_scope: str
) -> None:
    path = f"{folder}/a.md".lstrip("/")
    parent_folders = [parent for parent in manifests if not parent or path.startswith(parent + "/")]
    nearest = (
        build_taxonomy(manifests).find_manifest(max(parent_folders, key=len)) if parent_folders else None
    )
    expected = dict(nearest.defaults) if nearest else {}
    if own_scope:
        expected["scope"] = (own_scope,)
    assert build_taxonomy(manifests).values(path, {"scope": own_scope}) == expected
