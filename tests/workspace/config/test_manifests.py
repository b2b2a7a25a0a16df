"""Manifests (`.taxonomy.toml`): the values that they give to documents, and errors that name a line."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from workspace.config.taxonomy import InvalidManifest, Manifest, read_manifest

pytestmark = pytest.mark.smoke

TAXONOMY_KEYS = ("language", "scope", "type", "tags")
MANIFEST_PATH = "docs/.taxonomy.toml"

EXAMPLE_MANIFEST = """\
[metadata]
language = "go"
scope = ["b ", "a", "b"]
tags = "one, two"

[[override]]
match = "guides/*"
metadata = { scope = "guide" }

[[override]]
match = "**/old"
[override.metadata]
language = ["java", " "]
tags = ""
"""


def read_manifest_text(text: str, path: str = MANIFEST_PATH) -> Manifest:
    return read_manifest(text.encode(), path, TAXONOMY_KEYS)


def read_error(text: str | bytes) -> InvalidManifest:
    with pytest.raises(InvalidManifest) as error_info:
        read_manifest(text if isinstance(text, bytes) else text.encode(), MANIFEST_PATH, TAXONOMY_KEYS)
    error = error_info.value
    assert (
        error.message.startswith(f"{MANIFEST_PATH}, line {error.details['line']}") or not error.details["key"]
    )
    assert error.fix
    assert error.message.isprintable()
    assert len(error.message) < 400
    assert error.details["path"] == MANIFEST_PATH
    return error


@loop_over(
    ("path", "values"),
    [
        ("a.md", {"language": ("go",), "scope": ("b", "a"), "tags": ("one", "two")}),
        ("guides/a.md", {"language": ("go",), "scope": ("guide",), "tags": ("one", "two")}),
        # Only the last matching override applies.
        ("guides/old/a.md", {"language": ("java",), "scope": ("b", "a"), "tags": ("one", "two")}),
        ("old/a.md", {"language": ("java",), "scope": ("b", "a"), "tags": ("one", "two")}),
    ],
)
def test_last_matching_override_precedes_the_defaults(path: str, values: dict[str, tuple[str, ...]]) -> None:
    assert read_manifest_text(EXAMPLE_MANIFEST).values(path) == values


def test_empty_manifest_sets_no_values() -> None:
    assert read_manifest_text("") == read_manifest_text("# nothing\n[metadata]\n") == Manifest()


def test_byte_order_mark_is_ignored() -> None:
    assert read_manifest_text("\ufeff" + EXAMPLE_MANIFEST) == read_manifest_text(EXAMPLE_MANIFEST)


def test_manifest_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(read_manifest_text(EXAMPLE_MANIFEST))) == read_manifest_text(
        EXAMPLE_MANIFEST
    )


@loop_over(
    ("text", "line", "key", "reason"),
    [
        ("[metadata]\nlanguag = 'go'\n", 2, "languag", "is not a key of the taxonomy"),
        ("[metadata]\nlanguage = 5\n", 2, "language", "must be a text or a list of texts"),
        ("[metadata]\n\nlanguage = ['a', true]\n", 3, "language", "must be a text"),
        ("metadata.query = 'x'\n", 1, "query", "is not a key of the taxonomy"),
        ("metadata = 'go'\n", 1, "metadata", "must be a table"),
        ("\n[metdata]\nlanguage = 'go'\n", 2, "metdata", "is unknown here"),
        ("[override]\nmatch = 'a'\n", 1, "override", "must be a list of tables"),
        ("override = ['a']\n", 1, "override", "must be a table"),
        ("[[override]]\nmetadata = {}\n", 1, "override", "has no 'match'"),
        ("[[override]]\nmatch = 'a'\n", 1, "override", "has no 'metadata'"),
        ("[[override]]\nmatch = 5\nmetadata = {}\n", 2, "match", "must be a text"),
        ("[[override]]\nmatch = '[a'\nmetadata = {}\n", 2, "match", "has a bracket that is not closed"),
        ("[[override]]\nmatch = ''\nmetadata = {}\n", 2, "match", "is empty"),
        ("[[override]]\nmetadata = {}\nmatch = '../a'\n", 3, "match", "leads out"),
        ("[[override]]\nmatch = 'a'\nmetadata = { scop = 'x' }\n", 3, "scop", "is not a key"),
        ("[[override]]\nmatch = 'a'\nmeta = { scope = 'x' }\n", 3, "meta", "is unknown here"),
        (EXAMPLE_MANIFEST + "\nlang = 'x'\n", 16, "lang", "is not a key"),
        (EXAMPLE_MANIFEST.replace("guides/*", "/guides"), 7, "match", "begins with a slash"),
        ("override = [{match='a', metadata={x='y'}}]", 1, "x", "is not a key"),
        ("[[override]]\nmatch='a'\nmetadata={}\n" * 65, 193, "override", "occurs 65 times"),
        ("[metadata]\nlanguage = \n", 2, "", "is not TOML"),
        ("[metadata]\nlanguage = 'a'\nlanguage = 'b'\n", 3, "", "is not TOML"),
        (b"[metadata]\nlanguage = '\xff'\n", 2, "", "is not UTF-8"),
        ("#" * 70_000, 1, "", "is over 64 KiB"),
        ("a = " + "[" * 5_000, 1, "", "is nested too deeply"),
        ("a." * 1_000 + "a = 1", 1, "", "is nested too deeply"),
        ("a" + ".'%'" * 15_000 + " = 1", 1, "", "is nested too deeply"),
        ("a" + r'."\""' * 10_000 + " = 1", 1, "", "is nested too deeply"),
        ("a = " + "9" * 5_000, 1, "", "contains a number that is too large"),
        ("\ufeff[metadata]\nlang = 'x'\n", 2, "lang", "is not a key"),
        ("\ufeff[metadata]\r\nscope = 'x'\r\nlang = 'x'\r\n", 3, "lang", "is not a key"),
        ('[metadata]\n"a\\u001bb" = "x"', 1, "a\x1bb", "is not a key of the taxonomy"),
        ("[metadata]\n" + "k" * 5_000 + " = 'x'", 2, "k" * 100 + "…", "is not a key"),
    ],
)
def test_invalid_manifest_error_names_line_and_key(
    text: str | bytes, line: int, key: str, reason: str
) -> None:
    error = read_error(text)
    assert (error.details["line"], error.details["key"]) == (line, key)
    assert reason in error.message


def test_unknown_key_error_suggests_the_nearest_key() -> None:
    assert read_error("[metadata]\nlanguge = 'go'\n").fix.startswith("Did you mean 'language'?")
    assert "[taxonomy.zzz] in docyard.toml" in read_error("[metadata]\nzzz = 'go'\n").fix


KEY_NAMES = st.sampled_from(["language", "scope", '"type"', "tags"])
TABLE_ENTRIES = st.lists(
    st.tuples(KEY_NAMES, st.sampled_from(["'a'", '["b", "c"]', '"zzz = 1"', "'[metadata]'"])),
    max_size=3,
    unique_by=lambda entry: entry[0],
)
OVERRIDES = st.lists(st.tuples(TABLE_ENTRIES, st.booleans()), max_size=3)


@given(TABLE_ENTRIES, OVERRIDES, st.integers(0, 3), st.sampled_from(["", " ", "# zzz = 1\n"]))
def test_error_has_the_line_of_an_unknown_key(
    defaults: list[tuple[str, str]],
    overrides: list[tuple[list[tuple[str, str]], bool]],
    table_number: int,
    text_before: str,
) -> None:
    """An unknown key is appended to one table; each table has one of two TOML notations."""
    lines = ["[metadata]", *(f"{name} = {value}" for name, value in defaults)]
    if table_number == 0:
        lines += [*text_before.splitlines(), "zzz = 'x'"]
        expected_line = len(lines)
    for number, (entries, is_inline) in enumerate(overrides, 1):
        unknown_entries = [("zzz", "'x'")] if table_number == number else []
        lines += ["[[override]]", "match = 'a*'"]
        if is_inline:
            inline_entries = ", ".join(f"{name} = {value}" for name, value in [*entries, *unknown_entries])
            lines += [f"metadata = {{ {inline_entries} }}"]
        else:
            lines += [
                "[override.metadata]",
                *(f"{name} = {value}" for name, value in [*entries, *unknown_entries]),
            ]
        if unknown_entries:
            expected_line = len(lines)
    text = "\n".join(lines) + "\n"
    if table_number <= len(overrides):
        assert read_error(text).details["line"] == expected_line
    else:
        assert len(read_manifest_text(text).overrides) == len(overrides)
