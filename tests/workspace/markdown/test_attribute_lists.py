"""Attribute lists of headings: every form is read as an anchor, preserved, and distinguished from text."""

from __future__ import annotations

import re
import time

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.workspace.documents import EDIT_CONTEXT
from workspace.config.names import Dialect
from workspace.document.addresses import resolve_section
from workspace.document.document import Document
from workspace.document.headings import scan_layout
from workspace.edits.sections import RenameSection
from workspace.links.fragments import find_names, find_target
from workspace.markdown.anchors import find_derived_anchor, plan_anchor_insertion, read_heading, write_heading
from workspace.markdown.attribute_lists import AnchorForm, find_trailing_lists, read_attribute_line
from workspace.markdown.inline import to_plain_text
from workspace.markdown.slugs import make_heading_slug

_LETTERS = st.characters(categories=["Lu", "Ll", "Lo", "Nd"], include_characters="-_", codec="utf-8")
ids = st.text(_LETTERS, min_size=1, max_size=12).map(lambda name: f"a{name}") | st.sampled_from(
    ["größe", "数据/導入", "v1.2", "x/y-z", "שגיאות", "a.b:c", "1st"]
)
words = st.text(st.characters(categories=["Lu", "Ll", "Lo"], codec="utf-8"), min_size=1, max_size=8)
titles = st.lists(words, min_size=1, max_size=3).map(" ".join) | st.sampled_from(
    ["`code` and *marks*", "f(x) {a}", "C #", "{{ name }} of it", "$x_{1}$", r"\{ #no }"]
)
gaps = st.sampled_from(["", " ", "  ", "\t"])
values = st.text(
    st.characters(categories=["L", "N", "P", "Zs"], exclude_characters="\"'\\`", codec="utf-8"), max_size=8
)


@st.composite
def list_items(draw: st.DrawFn, name: str) -> list[str]:
    """Draw the items of an attribute list: an id among classes and attributes with values of any kind."""
    other_items = draw(
        st.lists(
            st.one_of(
                words.map(lambda word: f".{word}"),
                st.sampled_from([".wide", ".md-button--primary", "data-toc"]),
                st.builds(lambda key, value: f'{key}="{value}"', words, values),
                st.builds(lambda key, value: f"{key}='{value}'", words, values),
            ),
            max_size=3,
        )
    )
    id_item = draw(st.sampled_from([f"#{name}", f"#{name}", f'id="{name}"']))
    position = draw(st.integers(0, len(other_items)))
    return [*other_items[:position], id_item, *other_items[position:]]


@st.composite
def attribute_lists(draw: st.DrawFn, name: str) -> str:
    """Draw an attribute list with an id, in a form that site generators read."""
    if draw(st.integers(0, 5)) == 0:
        return f"{{/*{draw(gaps)}#{name}{draw(gaps)}*/}}"
    content = draw(st.sampled_from([" ", "  "])).join(draw(list_items(name)))
    colon = draw(st.sampled_from(["", ":"]))
    return f"{{{colon}{draw(gaps)}{content}{draw(gaps)}}}"


@st.composite
def headings(draw: st.DrawFn) -> tuple[str, str, str]:
    """Draw a title, an id, and an attribute list with that id."""
    name = draw(ids)
    return draw(titles), name, draw(attribute_lists(name))


@settings(max_examples=scale_examples(150))
@given(headings(), st.sampled_from([" ", "  ", "\t"]), st.sampled_from(["## {} ", "## {} ##", "{}\n---"]))
def test_attribute_list_id_is_the_address_and_not_in_the_title(
    heading: tuple[str, str, str], gap: str, line: str
) -> None:
    title, name, list_text = heading
    text = line.format(f"{title}{gap}{list_text}")
    data = f"# T\n\n{text}\n\nWords.\n".encode()
    document = Document.parse(data, "doc.md")
    section = document.sections[1]
    assert (section.title, section.address) == (to_plain_text(title), name)
    assert document.parse_fully(data, "doc.md").sections == document.sections
    assert scan_layout(data) is None or scan_layout(data).headings[1].text.suffix == f"{gap}{list_text}"  # type: ignore[union-attr]


@settings(max_examples=scale_examples(150))
@given(
    headings(), st.sampled_from([" ", "  ", "\t"]), st.sampled_from(["## {} ##", "### {}", "{}\n---"]), words
)
def test_rename_preserves_the_attribute_list_byte_for_byte(
    heading: tuple[str, str, str], gap: str, line: str, new_title: str
) -> None:
    title, name, list_text = heading
    document_before = Document.parse(
        f"# T\n\n{line.format(f'{title}{gap}{list_text}')}\n\nWords.\n".encode(), "doc.md"
    )
    rename = RenameSection(file="doc.md", slug=name, new_title=new_title)
    new_document, _ = rename.revise(document_before, EDIT_CONTEXT)
    assert new_document.data.decode() == f"# T\n\n{line.format(f'{new_title}{gap}{list_text}')}\n\nWords.\n"
    assert new_document.sections[1].address == name


@settings(max_examples=scale_examples(150))
@given(headings())
def test_address_written_by_version_0_1_0_still_resolves(heading: tuple[str, str, str]) -> None:
    title, name, list_text = heading
    assume(not re.match(r"\{#[^\s{}\[\]]+(?:[ \t][^{}]*)?\}$", list_text))
    full_title = f"{title} {list_text}"
    document = Document.parse(f"## {full_title}\n\n### Below\n".encode(), "doc.md")
    # Version 0.1.0 read the whole line as the title.
    slug = make_heading_slug(to_plain_text(full_title))
    assume(slug not in (name, f"{name}/below"))
    assert resolve_section(document, slug).address == name
    assert resolve_section(document, f"{slug}/below").address == f"{name}/below"
    for dialect in Dialect:
        target = find_target(find_names(document, dialect), f"{slug}/below")
        assert target is not None
        assert target.section == 1


@settings(max_examples=scale_examples(150))
@given(headings(), st.sampled_from(["", "-1", "-27"]), st.sampled_from(["", "parent/"]), st.booleans())
def test_anchor_written_by_version_0_1_0_is_found(
    heading: tuple[str, str, str], number: str, parent: str, has_angle_brackets: bool
) -> None:
    title, name, list_text = heading
    assume(find_trailing_lists(f"x {list_text}") and not find_trailing_lists(f"x {list_text}")[0].is_plain)
    derived_address = f"{parent}{make_heading_slug(to_plain_text(f'{title} {list_text}'))}{number}"
    anchor = f" <#{derived_address}>" if has_angle_brackets else f" {{#{derived_address}}}"
    source = f"{title} {list_text}{anchor}"
    heading_text = read_heading(source)
    assert (heading_text.name, derived_address in heading_text.aliases) == (name, derived_address != name)
    assert find_derived_anchor(source) == (derived_address, len(source) - len(anchor), len(source))
    assert find_derived_anchor(f"{title} {list_text}") is None


@settings(max_examples=scale_examples(150))
@given(
    titles,
    st.sampled_from(
        [
            "{ not an id }", "{ a, b }", "{ x=1 }", "{ see #12 }", "{#}", "{ # }", "{}", "{ }", "{:}", "{: }",
            "{{ jinja }}", "{{ #each }}", "{{#each}}", "{% liquid %}", "{%  #x %}", "${#array}", "x{ #id }",
            r"\{ #id }", r"\{#id}", r"{ #id \}", "`{ #id }`", "`{#id}`", "{ #id } more", "{#id} more",
            "{ #id", "#id }", "{::options /}", "{:toc}", "{: toc}", "{ #a[0] }", "{/* id */}", "{ .5 }",
            "{ ... }", "{ #id }.", "{ .a }{ .b }", "{<#id>}", "{ #a{b} }",
        ]
    ),
)  # fmt: skip
def test_braces_in_text_are_not_an_anchor(title: str, text: str) -> None:
    assume("`" not in title)
    heading = read_heading(f"{title} {text}")
    assert (heading.title, heading.name, heading.prefix, heading.suffix) == (f"{title} {text}", None, "", "")


@settings(max_examples=scale_examples(150))
@given(
    titles,
    ids,
    st.sampled_from(AnchorForm),
    st.sampled_from(["", " {.wide}", " { .wide }", " {: .wide }", " {-}"]),
)
def test_anchor_that_is_written_is_read(title: str, name: str, form: AnchorForm, attributes: str) -> None:
    source = f"{title}{attributes}"
    heading_source = write_heading(source, name, form)
    heading = read_heading(heading_source)
    assert heading.name == name
    assert heading.title in (title, title.replace("C #", "C \\#"))
    suffix, insertion = plan_anchor_insertion(source, name, form)
    if form is not AnchorForm.HTML:
        assert heading_source == source[: len(source) - len(suffix)] + insertion + suffix
        assert heading_source.replace(insertion, "", 1) == source


@given(st.text(st.sampled_from("{}#.: \t\"'=\\`-a/*<>[]é\n"), max_size=40))
def test_any_text_is_read_and_preserved(text: str) -> None:
    heading = read_heading(text)
    full_text = f"{heading.prefix}{heading.title}{heading.suffix}"
    assert re.sub(r"\s", "", full_text) == re.sub(r"\s", "", text) or "<a" in text
    find_derived_anchor(text)
    read_attribute_line(text)
    read_attribute_line(f"{{:{text}")
    read_attribute_line(f"{{: .a {text}")
    for attribute_list in find_trailing_lists(text):
        assert text[attribute_list.start] == "{"
        assert text[attribute_list.end - 1] == "}"
        assert all(text[name.start : name.end] == name.name for name in attribute_list.names)


@loop_over("size", [10_000, 40_000])
@loop_over("construct", ["{", "{ #a ", "{#a}", "` {", "{: .a", "\\{", '{ a="', "{ #a } "])
def test_hostile_heading_is_read_within_a_second(construct: str, size: int) -> None:
    text = construct * (size // len(construct)) + "}"
    start = time.process_time()
    heading = read_heading(text)
    assert time.process_time() - start < 1
    assert len(heading.title) + len(heading.suffix) <= len(text)


@loop_over(
    ("line", "names"),
    [
        ("{: #id }", ["id"]),
        ("   {:#id .a}", ["id"]),
        ("{: .a}", []),
        ("{:.a#b}", ["b"]),
        ("    {: #code }", None),
        ("{ #id }", None),
        ("{:toc}", None),
        ("{: .a", None),
        ("{: #id", None),
        ("{:", None),
        ("{:}", None),
        (r"{: #id \}", None),
        ("{::comment}", None),
        ("{:/comment}", None),
        ("{:name: #id}", None),
        ("text {: #id }", None),
        ("{: #id } text", None),
    ],
)
def test_line_below_a_heading_is_an_attribute_list_or_text(line: str, names: list[str] | None) -> None:
    attribute_list = read_attribute_line(line)
    assert (None if attribute_list is None else [name.name for name in attribute_list.names]) == names
