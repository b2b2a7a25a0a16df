"""Names of link targets in a document, and the numbers that renderers append to names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from workspace.config.names import Dialect
from workspace.document.document import Document
from workspace.links.fragments import (
    DOCUMENT_TARGET,
    FragmentTarget,
    UnderscoredIds,
    find_names,
    find_target,
    make_github_slug,
    make_mkdocs_slug,
    read_target_headings,
)
from workspace.markdown import outline

# Titles in many scripts, and the results of slug() of github-slugger 2.0.0 (npm).
GITHUB_SLUGS: dict[str, str] = json.loads(
    Path(__file__).parents[1].joinpath("markdown", "github_slugs.json").read_text("utf-8")
)["slugs"]
TITLES = st.sampled_from(
    ["Errors", "Errors", "Errors 1", "Errors-1", "errors_1", "🚀", "A `b` *c*", "Été", "1"]
)


def test_github_slugs_equal_those_of_github() -> None:
    assert {title: make_github_slug(title) for title in GITHUB_SLUGS} == GITHUB_SLUGS


@loop_over(
    ("title", "slug"),
    [
        ("Hello, World!", "hello-world"),
        ("  a - b--c  ", "a-b-c"),
        ("Éclair ½", "eclair-12"),
        ("数据", ""),
        ("snake_case", "snake_case"),
        ("a/b.c", "abc"),
    ],
)
def test_mkdocs_slugs_equal_those_of_python_markdown(title: str, slug: str) -> None:
    assert make_mkdocs_slug(title) == slug


@given(st.lists(TITLES, max_size=12), st.booleans())
def test_headings_are_numbered_like_github(titles: list[str], is_nested: bool) -> None:
    mark = "> " if is_nested else ""
    document = Document.parse("\n\n".join(f"{mark}## {title}" for title in titles).encode())
    occurrences: dict[str, int] = {}
    expected: list[str] = []
    for title in titles:  # github-slugger 2.0.0, index.js
        slug = base_slug = make_github_slug(title.replace("`", "").replace("*", ""))
        while slug in occurrences:
            occurrences[base_slug] += 1
            slug = f"{base_slug}-{occurrences[base_slug]}"
        occurrences[slug] = 0
        expected.append(slug)
    names = find_names(document, Dialect.GITHUB)
    for slug, heading in zip(expected, read_target_headings(document), strict=True):
        if slug:
            assert names[slug].offset == heading.offset


@given(st.lists(st.sampled_from(["a", "a_1", "a_2", "", "_1", "b_9", "a_01"]), max_size=12))
def test_ids_are_numbered_like_python_markdown(names: list[str]) -> None:
    used_ids = {"a_3"}
    ids = UnderscoredIds({"a_3"})
    for name in names:
        expected = name
        while expected in used_ids or not expected:  # markdown/extensions/toc.py, unique()
            match = re.match(r"^(.*)_([0-9]+)$", expected)
            expected = f"{match[1]}_{int(match[2]) + 1}" if match else f"{expected}_1"
        used_ids.add(expected)
        assert ids.make_unique(name) == expected


LINES = st.sampled_from(
    [
        "# H",
        "- # H",
        "> H",
        "> ---",
        "- H",
        "  ===",
        "   # H",
        "1. > # H",
        "\t# H",
        "",
        "H",
        "---",
        "```",
        "- - #",
        ">#",
    ]
)


@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
def test_all_headings_are_read(lines: list[str], ending: str) -> None:
    document = Document.parse(ending.join(lines).encode())
    parsed_headings = outline.read_all_headings(document.text(document.front_matter_end, len(document.data)))
    first_line = document.front_matter_lines
    assert [heading.offset for heading in read_target_headings(document)] == [
        document.lines.offset(first_line + heading.line) for heading in parsed_headings
    ]


@pytest.mark.slow
def test_many_equal_headings_are_numbered() -> None:
    document = Document.parse(b"## Errors\n\n> # 1\n\n" * 2_000)
    assert "errors-1999" in find_names(document, Dialect.GITHUB)
    mkdocs = find_names(Document.parse(document.data), Dialect.MKDOCS)
    assert {"errors_1999", "1_1999"} < set(mkdocs)


@loop_over("dialect", [Dialect.MKDOCS, Dialect.DOCUSAURUS])
def test_anchor_of_a_quoted_heading_is_a_name(dialect: Dialect) -> None:
    data = b"# A\n\n> ## B {#own}\n\n## C\n"
    names = find_names(Document.parse(data), dialect)
    assert names["own"].offset == data.index(b"> ## B")
    assert "b" not in names


@loop_over("dialect", Dialect)
@loop_over("ending", ["\n", "\r\n"])
def test_additional_heading_changes_no_other_names(dialect: Dialect, ending: str) -> None:
    text = '<a id="a"></a>\n<a id="b"></a>\nErrors?\n---\n\n### Errors?\n'
    names = find_names(Document.parse(text.replace("\n", ending).encode()), dialect)
    names_with_list = find_names(
        Document.parse(f"{text}\n- # List\n".replace("\n", ending).encode()), dialect
    )
    assert {"errors", "h/errors"} & set(names)
    assert names_with_list == {**names, "list": names_with_list["list"]}


def test_every_address_is_a_name() -> None:
    document = Document.parse(b"# T\n\n## A\n\n### B\n\n## C\n\n### B {#c-b}\n\n### D\n")
    names = find_names(document, Dialect.GITHUB)
    for section in document.sections[1:]:
        assert names[section.address] == FragmentTarget(section.heading_start, section.position)
    assert names["_preamble"] == names[""] == DOCUMENT_TARGET
    assert names["b-1"] == names["c-b"]


@loop_over("attribute", ["id", "ID", "iD", "name", "NAME", "Name", "id ", "name\t", "id\n"])
def test_html_ids_and_names_are_found_in_any_spelling(attribute: str) -> None:
    document = Document.parse(f'# A\n\nText <a {attribute}="b"></a> text\n'.encode())
    assert find_target(find_names(document, Dialect.GITHUB), "b") is not None


def test_explicit_names_precede_derived_names() -> None:
    document = Document.parse(b'## A\n\n## B {#a}\n\n<a id="b"></a> text\n\n## Top\n\n## _preamble\n')
    names = find_names(document, Dialect.GITHUB)
    assert names["a"].offset == document.sections[1].heading_start
    assert names["b"].offset not in {section.heading_start for section in document.sections}
    assert names["b"].section == 1
    assert find_target(names, "top") == FragmentTarget(document.sections[2].heading_start, 2)
    assert names["_preamble"] == DOCUMENT_TARGET


@loop_over("fragment", ["a", "user-content-a", "a:~:text=b", "top", "TOP", "", ":~:text=b", "_preamble"])
def test_existing_fragment_has_a_target(fragment: str) -> None:
    names = find_names(Document.parse(b"text\n\n## A\n"), Dialect.GITHUB)
    assert find_target(names, fragment) is not None


@loop_over("fragment", ["A", "user-content-b", "b", "a ", "a-1", "text"])
def test_missing_fragment_has_no_target(fragment: str) -> None:
    names = find_names(Document.parse(b"text\n\n## A\n"), Dialect.GITHUB)
    assert find_target(names, fragment) is None


@loop_over("front_matter", [b"", b"\xef\xbb\xbf", b"---\na: b\n---\n", b"\xef\xbb\xbf---\r\na: b\r\n---\r\n"])
def test_nested_headings_have_their_offsets(front_matter: bytes) -> None:
    document = Document.parse(
        front_matter + b"# T\r\n\r\n- ## In\r\n  text\r\n\r\n> > Out\r\n> > ===\r\n\r\nEnd\r\n---\r\n"
    )
    names = find_names(document, Dialect.GITHUB)
    lines_by_name = {
        name: document.data[names[name].offset :].split(b"\r\n")[0] for name in ("t", "in", "out", "end")
    }
    assert lines_by_name == {"t": b"# T", "in": b"- ## In", "out": b"> > Out", "end": b"End"}
