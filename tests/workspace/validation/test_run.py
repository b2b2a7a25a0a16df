"""Validation of workspaces: many, large and unreadable documents, and manifests."""

from __future__ import annotations

import pickle

from tests.workspace.validation.memory import findings, validator
from workspace.validation.rule import Subject
from workspace.validation.rules import RULES
from workspace.validation.run import MAX_SUGGESTIONS, check_document


def test_document_with_many_self_links_is_read_once() -> None:
    links = "".join(f"[x{number}](#there) [y](a.md#gone)\n" for number in range(2_000))
    found = findings({"a.md": f"# A\n\n## There\n\n{links}"})
    assert {one.rule for one in found} == {"broken-fragment"}
    assert len(found) == 2_000
    assert found[0].line == 5


def test_columns_of_very_long_line_are_counted_once() -> None:
    found = findings({"a.md": "# A\n\n" + "ä[x](gone.md)" * 8_000})
    assert [one.column for one in found[:3]] == [6, 19, 32]
    assert len(found) == 8_000


def test_too_large_document_is_reported_and_others_checked() -> None:
    held = {
        "docyard.toml": "[limits]\ndocument_bytes = 1000\n",
        "a.md": "# A\n" + "x" * 1000,
        "b.md": "[a](a.md#a) [c](c.md)\n",
    }
    found = findings(held)
    assert [(one.path, one.rule) for one in found] == [
        ("a.md", "unreadable-document"),
        ("b.md", "broken-link"),
    ]
    assert found[0].message == "a.md has 1,004 bytes; the limit is 1,000"
    assert findings(held, "broken-link") == found[1:]


def test_lfs_pointer_is_not_checked() -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    assert findings({"a.md": pointer, "b.md": "[a](a.md#x)\n"}) == []


def test_invalid_manifest_is_reported_with_its_line() -> None:
    held = {
        "a.md": "# A\n",
        "docs/.taxonomy.toml": "[metadata]\ntype = 'x'\nlanguag = 'go'\n",
        "docs/b.md": "",
    }
    [one] = validator(held).check_manifests()
    assert (one.path, one.line, one.rule) == ("docs/.taxonomy.toml", 3, "malformed-manifest")
    assert one.message == "the manifest cannot be used: 'languag' is not a key of the taxonomy"
    assert validator(held, "broken-link").check_manifests() == []


def test_only_the_first_broken_links_have_a_suggestion() -> None:
    links = "[x](guid.md)\n" * (MAX_SUGGESTIONS + 1)
    found = findings({"a.md": links, "guide.md": "# G\n"})
    assert found[MAX_SUGGESTIONS - 1].suggestion == "Did you mean 'guide.md'?"
    assert found[MAX_SUGGESTIONS].suggestion is None


def test_suggestion_is_computed_only_for_reported_findings() -> None:
    made = validator({"a.md": "[x](guid.md)\n![x](guid.png)\n" * 3})
    document = made.corpus.read("a.md")
    subject = Subject(document, made.files.config, made.corpus.types, made.corpus, makes_suggestions=True)
    found = check_document(subject, RULES, made.selection.severities("a.md"), max_spots=2)
    assert [(one.rule, one.line) for one in found] == [
        ("broken-link", 1),
        ("broken-image", 2),
        ("broken-link", 3),
        ("broken-image", 4),
    ]


def test_validator_is_picklable() -> None:
    made = validator({"a.md": "[x](gone.md)\n"})
    found = made.check(["a.md"])
    assert pickle.loads(pickle.dumps(made)).check(["a.md"]) == found
    assert pickle.loads(pickle.dumps(found)) == found


def test_long_line_of_controls_is_checked_in_parts() -> None:
    isolated = "\u05e9\u2067\u05e9\u2069 "
    assert {one.rule for one in findings({"a.md": "# A\n\n" + isolated * 2_000})} <= {"bidirectional-control"}
    marks = "\u05e9\u200f" * 8_000
    assert findings({"a.md": "# A\n\n" + marks}) == []
