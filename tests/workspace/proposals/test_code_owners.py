"""CODEOWNERS is read as GitHub reads it; lines that GitHub would not read are reported."""

from __future__ import annotations

import time

from tests.loops import loop_over
from workspace.proposals.code_owners import MAX_RULES, CodeOwners, parse_code_owners


def parse(*lines: str) -> CodeOwners:
    return parse_code_owners("CODEOWNERS", "\n".join(lines).encode())


@loop_over(
    ("pattern", "matching", "others"),
    [
        ("*", ["a.md", "a/b/c.md"], []),
        ("*.md", ["a.md", "a/b.md"], ["a.mdx", "a.md2"]),
        ("/*", ["a.md"], ["a/b.md"]),
        ("docs/*", ["docs/a.md"], ["docs/b/a.md", "x/docs/a.md", "docs"]),
        ("/docs/", ["docs/a.md", "docs/b/a.md"], ["x/docs/a.md", "docs"]),
        ("docs/", ["docs/a.md", "x/docs/b/a.md"], ["docs", "mydocs/a.md"]),
        ("docs", ["docs", "docs/a.md", "x/docs/a.md"], ["docs2/a.md"]),
        ("/apps/api", ["apps/api", "apps/api/a.md"], ["apps/api2", "x/apps/api"]),
        ("apps/api", ["apps/api/a.md"], ["x/apps/api/a.md"]),
        ("**/logs", ["logs/a.md", "x/y/logs/a.md", "logs"], ["mylogs/a.md"]),
        ("/a/**/z.md", ["a/z.md", "a/b/c/z.md"], ["z.md", "b/a/z.md"]),
        ("/a/**", ["a/b", "a/b/c"], ["a", "ab/c"]),
        ("**", ["a", "a/b"], []),
        ("/v?.md", ["v1.md"], ["v12.md", "v/.md"]),
        ("/a*b*c.md", ["abc.md", "axxbyyc.md"], ["ab/c.md", "axc.md"]),
        ("/a.b/+(x)", ["a.b/+(x)/y"], ["aXb/+(x)/y"]),
        ("/über\\ uns/", ["über uns/a.md"], ["über/a.md"]),
        ("/Docs/", ["Docs/a"], ["docs/a"]),
        ("/", [], ["a", "a/b"]),
    ],
)
def test_pattern_matches_as_on_github(pattern: str, matching: list[str], others: list[str]) -> None:
    owners = parse(f"{pattern} @ana")
    assert owners.problems == ()
    assert [path for path in (*matching, *others) if owners.find_rule(path)] == matching


def test_last_matching_line_decides() -> None:
    owners = parse("* @all", "/specs/ @ben ben@example.org @ben # note", "/specs/drafts/", "# *.md @no", "")
    rule = owners.find_rule("specs/a.md")
    assert rule is not None
    assert (rule.line, rule.owners) == (2, ("@ben", "ben@example.org"))
    groups = owners.list_owner_groups(["specs/drafts/a.md", "specs/a.md", "specs/b.md", "x.md"])
    assert groups == (("@ben", "ben@example.org"), ("@all",))


@loop_over(
    ("line", "reason"),
    [
        ("!docs/ @ana", "cannot begin with '!'"),
        ("/a[bc].md @ana", "range in brackets"),
        ("\\#a @ana", "backslash"),
        ("/a/*** @ana", "'***'"),
        ("/**/a/**/b/**/c/**/d/**/e @ana", "at most 4 times"),
        ("/" + "a" * 1_001 + " @ana", "1,000 characters"),
        ("/docs/ ana", "'ana' must be @name"),
        ("/docs/ @ana @", "'@' must be @name"),
    ],
)
def test_line_that_github_does_not_read_is_reported(line: str, reason: str) -> None:
    owners = parse("* @all", line)
    assert [rule.line for rule in owners.rules] == [1]
    assert len(owners.problems) == 1
    assert owners.problems[0].startswith("line 2 of CODEOWNERS is not read: ")
    assert reason in owners.problems[0]


@loop_over(("section",), [("[Docs]",), ("^[Docs][2] @ana",), ("  [Docs] @ana",)])
def test_file_with_sections_of_gitlab_is_not_read(section: str) -> None:
    owners = parse("* @all", section, "/docs/ @ana")
    assert owners.rules == ()
    assert "CODEOWNERS is not read: line 2 begins a section" in owners.problems[0]


def test_unreadable_file_names_no_owner() -> None:
    assert parse_code_owners("CODEOWNERS", b"* @ana\xff\n").problems == (
        "CODEOWNERS is not read: it is not UTF-8",
    )
    assert parse_code_owners("CODEOWNERS", b"") == CodeOwners("CODEOWNERS")
    assert [rule.line for rule in parse_code_owners("CODEOWNERS", b"\xef\xbb\xbf* @ana\r\n").rules] == [1]


def test_rules_beyond_the_limit_are_reported() -> None:
    owners = parse(*["a @b"] * (MAX_RULES + 3))
    assert len(owners.rules) == MAX_RULES
    assert "from line 5,001 are not read" in owners.problems[0]


def test_long_names_match_in_linear_time() -> None:
    owners = parse("/" + "*a" * 400 + " @ana", "/**/a/**/a/**/a/**/b @ana")
    started = time.perf_counter()
    assert owners.find_rule("a" * 4_000 + "b") is None
    assert owners.find_rule("/".join("a" * 60)) is None
    assert time.perf_counter() - started < 1
