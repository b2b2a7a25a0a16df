"""Addresses as URIs: written URIs are parsed to the same address, and invalid URIs are refused."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.uri_template import UriTemplate
from pydantic import AnyUrl

from tests.loops import loop_over
from tools.resources.contents import MAX_URI_CHARACTERS, InvalidUri, UriTarget, format_uri, parse_uri
from tools.resources.list import TEMPLATES, ResourceTemplate

# The name of a document is any text of one line.
NAMES = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029"), min_size=1, max_size=40
).filter(lambda name: not name.startswith("/"))


@given(NAMES, st.none() | NAMES, st.none() | NAMES)
def test_written_uri_is_parsed_to_same_address(path: str, section: str | None, ref: str | None) -> None:
    uri = format_uri(path, section, ref)
    assert uri.isascii()
    assert uri.isprintable()
    assert parse_uri(uri, {path}) == UriTarget(path, section, ref)
    assert parse_uri(uri, ()) == UriTarget(path, section, ref)
    parts = urlsplit(uri)
    assert (parts.scheme, parts.netloc) == ("doc", "")


@loop_over(
    ("address", "uri"),
    [
        (("guides/Setup.md",), "doc:///guides/Setup.md"),
        (("guides/setup.md", "install/linux"), "doc:///guides/setup.md#install/linux"),
        (("a b/C#.md", "_preamble"), "doc:///a%20b/C%23.md#_preamble"),
        (("what?.md",), "doc:///what%3F.md"),
        (("100%.md",), "doc:///100%25.md"),
        (("über.md", "größe"), "doc:///%C3%BCber.md#gr%C3%B6%C3%9Fe"),
        (("a.md", None, "@{2026-01-31}"), "doc:///a.md?ref=@%7B2026-01-31%7D"),
        (("a.md", "b", "feature/x&y"), "doc:///a.md?ref=feature/x%26y#b"),
    ],
)
def test_written_uri_encodes_reserved_and_non_ascii_characters_only(
    address: tuple[str, ...], uri: str
) -> None:
    assert format_uri(*address) == uri
    assert parse_uri(uri, ()) == UriTarget(*address)
    # Python hosts convert each URI to an AnyUrl, which must still address the same document.
    assert parse_uri(str(AnyUrl(uri)), ()) == UriTarget(*address)


@loop_over(
    ("uri", "target"),
    [
        ("doc://guides/setup.md", UriTarget("guides/setup.md")),
        ("DOC:///guides/setup.md#a", UriTarget("guides/setup.md", "a")),
        ("doc:///C#.md", UriTarget("C#.md")),
        ("doc:///C#.md#setup", UriTarget("C#.md", "setup")),
        ("doc:///what?.md", UriTarget("what?.md")),
        ("doc:///what?.md#here", UriTarget("what?.md", "here")),
        ("doc:///a b/c.md#d", UriTarget("a b/c.md", "d")),
        ("doc:///a.md#", UriTarget("a.md")),
        ("doc:///a.md?ref=#b", UriTarget("a.md", "b")),
        ("doc:///a.md?ref=a+b", UriTarget("a.md", None, "a+b")),
    ],
)
def test_uris_expanded_by_hosts_are_parsed(uri: str, target: UriTarget) -> None:
    assert parse_uri(uri, {"guides/setup.md", "C#.md", "what?.md", "a.md"}) == target


@loop_over(
    "uri",
    [
        "",
        "doc:",
        "doc:a.md",
        "doc://",
        "doc:///",
        "doc:///#a",
        "file:///etc/passwd",
        "http://example.org/a.md",
        "docs:///a.md",
        " doc:///a.md",
        "doc:///%ff.md",
        "doc:///a.md#%c3",
        "doc:///a.md?x=1",
        "doc:///a.md?ref=a&ref=b",
        "doc:///" + "a" * MAX_URI_CHARACTERS,
    ],
)
def test_invalid_uri_is_refused(uri: str) -> None:
    with pytest.raises(InvalidUri) as error_info:
        parse_uri(uri, {"a.md"})
    assert error_info.value.fix
    assert len(error_info.value.message) < 100


@loop_over("template", TEMPLATES, ids=lambda template: template.name)
def test_uri_templates_match_with_sdk_parser(template: ResourceTemplate) -> None:
    uri_template = UriTemplate.parse(template.uri)
    values = {"path": "C# notes/setup.md", "ref": "feature/x", "section": "install/linux"}
    values = {name: value for name, value in values.items() if name in template.uri}
    assert parse_uri(uri_template.expand(values), {values["path"]})._asdict() == {
        "ref": None,
        "section": None,
        **values,
    }
    plain_values = {**values, "path": "guides/setup.md"}
    assert uri_template.match(uri_template.expand(plain_values)) == plain_values
