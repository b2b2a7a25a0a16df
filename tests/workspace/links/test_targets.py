"""A destination is read as a target: a path and a fragment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from workspace.config.config import WorkspaceConfig
from workspace.config.names import Dialect
from workspace.config.tables import LinkRules
from workspace.errors import InvalidConfig
from workspace.links.resolver import Target, is_external, list_candidate_paths, read_target, split_destination

LINK_RULES = LinkRules()
SOURCE_PATH = "docs/a.md"


@loop_over(
    ("destination", "target"),
    [
        ("b.md", Target("docs/b.md", None)),
        ("b.md#x", Target("docs/b.md", "x")),
        ("b.md#", Target("docs/b.md", "")),
        ("b.md?q#x", Target("docs/b.md", "x")),
        ("b.md#x?q#y", Target("docs/b.md", "x?q#y")),
        ("", Target(SOURCE_PATH, None)),
        ("?q", Target(SOURCE_PATH, None)),
        ("#%C3%A9", Target(SOURCE_PATH, "é")),
        ("#%zz%FF", Target(SOURCE_PATH, "%zz\ufffd")),
        (" b.md\n", Target("docs/b.md", None)),
        ("b\t.md", Target("docs/b.md", None)),
        ("..", Target("", None, is_folder=True)),
        ("../", Target("", None, is_folder=True)),
        ("sub/", Target("docs/sub", None, is_folder=True)),
        ("./sub//x/../y", Target("docs/sub/y", None)),
        ("../../x", Target("", None, is_outside=True)),
        ("../../docs/b.md", Target("", None, is_outside=True)),
        ("/../x", Target("", None, is_outside=True)),
        ("/x#y", Target("x", "y")),
        ("a%20b.md", Target("docs/a b.md", None, undecoded_path="docs/a%20b.md")),
        ("%2e%2e/x", Target("x", None, undecoded_path="docs/%2e%2e/x")),
        ("%FF.md", Target("docs/%FF.md", None)),
        ("%.md", Target("docs/%.md", None)),
        ("a\\b.md", Target("docs/a\\b.md", None)),
        ("./c:d.md", Target("docs/c:d.md", None)),
    ],
)
def test_destination_is_read_as_target(destination: str, target: Target) -> None:
    assert read_target(destination, SOURCE_PATH, LINK_RULES) == target


@loop_over(
    "destination", ["https://example.org", "MAILTO:a@b", "//host/x", "C:\\a.md", "javascript:1", "a.b+c-d:x"]
)
def test_external_destination_has_no_target(destination: str) -> None:
    assert is_external(destination)
    assert read_target(destination, SOURCE_PATH, LINK_RULES) is None


def test_destination_with_a_leading_slash_is_relative_to_the_root() -> None:
    rules = LinkRules(root="./site/")
    assert read_target("/x", SOURCE_PATH, rules) == Target("site/x", None)
    assert read_target("x", SOURCE_PATH, rules) == Target("docs/x", None)


def test_destinations_that_match_a_glob_are_ignored() -> None:
    rules = LinkRules(ignore=("api", "/v1/*", "docs/generated/**/*.md"))
    for destination in ("api#x", "/v1/a", "generated/b/c.md", "./api?y", "/api"):
        assert read_target(destination, "docs/a.md", rules) is None, destination
    for destination in ("apis", "/v2/a", "generated/b"):
        assert read_target(destination, "docs/a.md", rules) is not None, destination


@loop_over(
    ("settings", "field"),
    [
        (b'links.dialect = "hugo"', "links.dialect"),
        (b'links.root = "../up"', "links.root"),
        (b'links.wiki = "maybe"', "links.wiki"),
        (b'links.ignore = "api"', "links.ignore"),
        (b'links.ignore = [""]', "links.ignore.0"),
        (b'links.ignore = ["[a"]', "links.ignore.0"),
        (b"links.more = 1", "links.more"),
        (b"links = 1", "links"),
    ],
)
def test_invalid_link_settings_are_refused(settings: bytes, field: str) -> None:
    with pytest.raises(InvalidConfig) as error_info:
        WorkspaceConfig.read(settings)
    assert error_info.value.details.get("field") == field


def test_link_settings_are_read() -> None:
    config = WorkspaceConfig.read(b'[links]\ndialect = "mkdocs"\nwiki = true\nroot = "a/"\n')
    assert config.links == LinkRules(dialect=Dialect.MKDOCS, wiki=True, root="a")
    assert WorkspaceConfig().links == LinkRules()


def test_candidate_paths_are_in_search_order() -> None:
    github_paths = list_candidate_paths(Target("a b", None, undecoded_path="a%20b"), LINK_RULES)
    assert github_paths[0] == "a b"
    assert {"a b/README.md", "a%20b", "a%20b/index.md"} < set(github_paths)
    assert "a b.md" not in github_paths
    docusaurus_paths = list_candidate_paths(Target("a", None), LinkRules(dialect=Dialect.DOCUSAURUS))
    assert {"a", "a.md", "a.mdx", "a/index.mdx"} < set(docusaurus_paths)
    assert set(list_candidate_paths(Target("", None), LINK_RULES)) >= {"", "README.md"}


@given(st.text(alphabet="ab./%2eF#?: \\&é\t", max_size=30), st.sampled_from(["a.md", "x/y/z.md"]))
def test_every_destination_is_read(destination: str, source: str) -> None:
    assert "".join(split_destination(destination)) == destination
    target = read_target(destination, source, LINK_RULES)
    assert (target is None) == is_external(destination.replace("\t", "").strip())
    if target is not None:
        assert not set(target.path.split("/")) & {".", ".."}
        assert not target.path.startswith("/")
        assert not target.path.endswith("/")
