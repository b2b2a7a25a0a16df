"""Validation of workspaces: many, large and unreadable documents, and manifests."""

from __future__ import annotations

import pickle

from tests.workspace.validation.memory import build_validator, check_texts
from workspace.validation.rule import RuleContext
from workspace.validation.rules import RULES
from workspace.validation.run import MAX_SUGGESTIONS, check_document


def test_many_broken_links_of_a_document_to_itself_are_reported() -> None:
    links = "".join(f"[x{number}](#there) [y](a.md#gone)\n" for number in range(2_000))
    findings = check_texts({"a.md": f"# A\n\n## There\n\n{links}"})
    assert {finding.rule for finding in findings} == {"broken-fragment"}
    assert len(findings) == 2_000
    assert findings[0].line == 5


def test_columns_in_a_very_long_line_are_reported() -> None:
    findings = check_texts({"a.md": "# A\n\n" + "ä[x](gone.md)" * 8_000})
    assert [finding.column for finding in findings[:3]] == [6, 19, 32]
    assert len(findings) == 8_000


def test_too_large_document_is_reported_and_other_documents_checked() -> None:
    texts = {
        "docyard.toml": "[limits]\ndocument_bytes = 1000\n",
        "a.md": "# A\n" + "x" * 1000,
        "b.md": "[a](a.md#a) [c](c.md)\n",
    }
    findings = check_texts(texts)
    assert [(finding.path, finding.rule) for finding in findings] == [
        ("a.md", "unreadable-document"),
        ("b.md", "broken-link"),
    ]
    assert findings[0].message == "a.md has 1,004 bytes; the limit is 1,000"
    assert check_texts(texts, "broken-link") == findings[1:]


def test_lfs_pointer_is_not_checked() -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    assert check_texts({"a.md": pointer, "b.md": "[a](a.md#x)\n"}) == []


def test_invalid_manifest_is_reported_with_its_line() -> None:
    texts = {
        "a.md": "# A\n",
        "docs/.taxonomy.toml": "[metadata]\ntype = 'x'\nlanguag = 'go'\n",
        "docs/b.md": "",
    }
    [finding] = build_validator(texts).check_manifests()
    assert (finding.path, finding.line, finding.rule) == ("docs/.taxonomy.toml", 3, "malformed-manifest")
    assert finding.message == "the manifest cannot be used: 'languag' is not a key of the taxonomy"
    assert build_validator(texts, "broken-link").check_manifests() == []


def test_only_the_first_broken_links_have_a_suggestion() -> None:
    links = "[x](guid.md)\n" * (MAX_SUGGESTIONS + 1)
    findings = check_texts({"a.md": links, "guide.md": "# G\n"})
    assert findings[MAX_SUGGESTIONS - 1].suggestion == "Did you mean 'guide.md'?"
    assert findings[MAX_SUGGESTIONS].suggestion is None


def test_suggestion_is_computed_only_for_reported_findings() -> None:
    validator = build_validator({"a.md": "[x](guid.md)\n![x](guid.png)\n" * 3})
    document = validator.file_tree.read_document("a.md")
    context = RuleContext(
        document,
        validator.files.config,
        validator.file_tree.types,
        validator.file_tree,
        makes_suggestions=True,
    )
    findings = check_document(context, RULES, validator.selection.get_severities("a.md"), max_findings=2)
    assert [(finding.rule, finding.line) for finding in findings] == [
        ("broken-link", 1),
        ("broken-image", 2),
        ("broken-link", 3),
        ("broken-image", 4),
    ]


def test_validator_is_picklable() -> None:
    validator = build_validator({"a.md": "[x](gone.md)\n"})
    findings = validator.check(["a.md"])
    assert pickle.loads(pickle.dumps(validator)).check(["a.md"]) == findings
    assert pickle.loads(pickle.dumps(findings)) == findings


def test_long_line_of_controls_is_checked_in_parts() -> None:
    isolated_text = "\u05e9\u2067\u05e9\u2069 "
    assert {finding.rule for finding in check_texts({"a.md": "# A\n\n" + isolated_text * 2_000})} <= {
        "bidirectional-control"
    }
    marked_text = "\u05e9\u200f" * 8_000
    assert check_texts({"a.md": "# A\n\n" + marked_text}) == []


def test_globs_over_the_limit_are_one_finding() -> None:
    globs = ", ".join(f"lost/{number}" for number in range(2_000))
    findings = check_texts({"a.md": f"# A\n\n- Covers: {globs}\n"}, "malformed-coverage")
    assert len(findings) == 101
    assert findings[-1].message == "only the first 100 of 2,000 globs count"
