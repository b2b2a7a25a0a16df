"""Values of a document: from its front matter, else from the nearest manifest."""

from __future__ import annotations

import pickle
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace.config.taxonomy import MAX_VALUES, Manifest, Taxonomy, read_manifest, read_values

pytestmark = pytest.mark.smoke

KEYS = {"language": "A language", "scope": None, "type": None, "tags": None}


def taxonomy(manifests: dict[str, str]) -> Taxonomy:
    """Return the taxonomy of manifests by folder."""
    found = {folder: read_manifest(text.encode(), folder, tuple(KEYS)) for folder, text in manifests.items()}
    return Taxonomy(KEYS, found.get)


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
    found = taxonomy(
        {
            "": "[metadata]\nlanguage = 'go'\nscope = 'all'\n",
            "docs": "[metadata]\nlanguage = 'java'\n[[override]]\nmatch = 'old'\nmetadata = {tags = 'old'}\n",
            "docs/empty": "",
        }
    )
    assert found.values("a.md", {}) == {"language": ("go",), "scope": ("all",)}
    assert found.values("a.md", {"language": "c", "scope": []}) == {"language": ("c",), "scope": ("all",)}
    # Only the nearest manifest counts: it inherits nothing from the one above it.
    assert found.values("docs/a.md", {"unknown": "x"}) == {"language": ("java",)}
    assert found.values("docs/old/deep/a.md", {"type": "note"}) == {
        "language": ("java",),
        "type": ("note",),
        "tags": ("old",),
    }
    assert found.values("docs/empty/deep/a.md", {}) == {}
    assert found.values("docsa.md", {}) == {"language": ("go",), "scope": ("all",)}


def test_loaded_taxonomy_is_pickled_with_its_manifests() -> None:
    folders: list[str] = []

    def manifest_in(folder: str) -> Manifest | None:
        folders.append(folder)
        return Manifest({"scope": (folder,)}) if folder == "docs" else None

    loaded = Taxonomy(KEYS, manifest_in).load_folders(["", "docs"])
    there = pickle.loads(pickle.dumps(loaded))
    assert folders == ["", "docs"]
    assert there.values("docs/a.md", {}) == {"scope": ("docs",)}
    assert there.values("a.md", {}) == {}


FOLDERS = st.sampled_from(["", "a", "a/b", "a/b/c", "b"])
TEXTS = st.sampled_from(["", "[metadata]\nscope = 'x'\n", "[metadata]\nscope = 'y'\nlanguage = 'z'\n"])


@given(st.dictionaries(FOLDERS, TEXTS), FOLDERS, st.sampled_from(["", "own"]))
def test_manifest_of_the_deepest_folder_counts(manifests: dict[str, str], folder: str, own: str) -> None:
    path = f"{folder}/a.md".lstrip("/")
    above = [one for one in manifests if not one or path.startswith(one + "/")]
    nearest = taxonomy(manifests).manifest_in(max(above, key=len)) if above else None
    expected = dict(nearest.defaults) if nearest else {}
    if own:
        expected["scope"] = (own,)
    assert taxonomy(manifests).values(path, {"scope": own}) == expected
