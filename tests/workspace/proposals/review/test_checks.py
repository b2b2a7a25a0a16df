"""The checks of a merge report new problems, and no problem that the target already has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.workspace.proposals.review.proposal_setup import Files, ProposalSetup
from workspace.config.tables import ALL_CHECKS
from workspace.git.store import GitStore
from workspace.links.inbound_links import InboundLinkScanner
from workspace.merge.commits import merge_commits
from workspace.proposals.review import checks
from workspace.proposals.review.checks import CheckResult, Problem, check_merge
from workspace.snapshot.snapshot import Snapshot

GUIDE = "# Guide\n\nSee [use](use.md#run-it) and [gone](gone.md).\n\n## Setup\n\n- []() Odd\n- [ ]Bad\n"
USE_TEXT = "# Use\n\n## Run it\n\nRun.\n\n## Stop it\n\nStop.\n"
SPEC = "---\ntype: note\n---\n# Spec\n\n## Goal\n\nOne.\n\n## Plan\n\nTwo.\n"
TYPE_FILES = {
    ".docyard/templates/note/type.toml": """\
title = "Note"
summary = "A note."
instructions = ["Write."]
best_practices = ["Be brief."]

[sections]
Goal = "What for."
Plan = "How."
""",
    ".docyard/templates/note/document.md": "# {title}\n\n## Goal\n\n## Plan\n",
}
FILES: Files = {"guide.md": GUIDE, "use.md": USE_TEXT, "spec.md": SPEC, "a/pic.png": b"\x89PNG", **TYPE_FILES}


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> ProposalSetup:
    """Return one repository for all tests: each test commits on top of the first commit."""
    return ProposalSetup(tmp_path_factory.mktemp("checks") / "repo", FILES)


def run_checks(setup: ProposalSetup, theirs: Files, ours: Files | None = None) -> Mapping[str, CheckResult]:
    """Return the results of the checks for a merge of two changes of the first commit."""
    our_commit = setup.create_commit(ours, setup.first_commit) if ours else setup.first_commit
    their_commit = setup.create_commit(theirs, setup.first_commit)
    snapshot = Snapshot(setup.store, our_commit)
    merge = merge_commits(snapshot, snapshot.at(their_commit))
    assert not merge.conflicts
    results = check_merge(merge, InboundLinkScanner())
    assert tuple(result.name for result in results) == ALL_CHECKS
    return {result.name: result for result in results}


def list_failures(results: Mapping[str, CheckResult]) -> dict[str, list[tuple[str, str, int]]]:
    """Return the rule, address and line of each problem, by failed check."""
    assert all(result.passed == (not result.problems) for result in results.values())
    return {
        result.name: [(problem.rule, problem.address, problem.line) for problem in result.problems]
        for result in results.values()
        if result.problems
    }


def test_existing_problems_pass_checks(setup: ProposalSetup) -> None:
    harmless_edit = {"guide.md": GUIDE.replace("See [use]", "Also see [use]").replace("]Bad", "]Still worse")}
    assert list_failures(run_checks(setup, harmless_edit)) == {}
    move: Files = {"guide.md": None, "b/guide.md": GUIDE.replace("(", "(../")}
    assert set(list_failures(run_checks(setup, move))) <= {"links"}, (
        "the problems of a moved document are not new"
    )


def test_problems_of_moved_section_pass_checks(setup: ProposalSetup) -> None:
    guide_start = GUIDE.partition("## Setup")[0]
    move = {"guide.md": guide_start, "use.md": f"{USE_TEXT}\n## Setup\n\n- []() Odd\n- [ ]Bad\n"}
    assert list_failures(run_checks(setup, move)) == {}
    copy = {"use.md": f"{USE_TEXT}\n## Setup\n\n- [ ]Bad\n"}
    assert list_failures(run_checks(setup, copy)) == {"tasks": [("malformed-task", "use.md#setup", 13)]}


@loop_over(
    ("theirs", "expected"),
    [
        ({"new.md": "# New\n\n[x](nowhere.md)\n"}, {"links": [("broken-link", "new.md#_preamble", 3)]}),
        (
            {"use.md": USE_TEXT.replace("Run.", "![x](../a/none.png)")},
            {"links": [("broken-image", "use.md#run-it", 5)]},
        ),
        ({"use.md": None}, {"links": [("broken-link", "guide.md#_preamble", 3)]}),
        (
            {"use.md": USE_TEXT.replace("Run it", "Start it")},
            {"links": [("broken-fragment", "guide.md#_preamble", 3)]},
        ),
        (
            {"use.md": USE_TEXT.replace("Stop it", "Stop {#run}").replace("Run it", "Run {#run}")},
            {
                "links": [("broken-fragment", "guide.md#_preamble", 3)],
                "anchors": [("duplicate-anchor", "use.md#run~2", 7)],
            },
        ),
        (
            {"spec.md": SPEC.replace("## Plan", "## Way")},
            {"types": [("type-structure", "spec.md", 2)]},
        ),
        ({"spec.md": SPEC.replace("note", "memo")}, {"types": [("unknown-type", "spec.md", 2)]}),
        (
            {"spec.md": SPEC.replace("type: note", "type: [note")},
            {"types": [("malformed-front-matter", "spec.md", 3)]},
        ),
        (
            {"use.md": USE_TEXT.replace("Run.", "- [ ]Run")},
            {"tasks": [("malformed-task", "use.md#run-it", 5)]},
        ),
    ],
)
def test_new_problem_fails_its_check(setup: ProposalSetup, theirs: Files, expected: object) -> None:
    assert list_failures(run_checks(setup, theirs)) == expected


def test_document_type_of_proposal_is_enforced(setup: ProposalSetup) -> None:
    type_files = {path.replace("note", "memo"): text for path, text in TYPE_FILES.items()}
    text = SPEC.replace("note", "memo")
    assert list_failures(run_checks(setup, {**type_files, "spec.md": text})) == {}
    invalid_files = {**type_files, "spec.md": text.replace("## Plan", "## Way")}
    assert list_failures(run_checks(setup, invalid_files)) == {"types": [("type-structure", "spec.md", 2)]}


def test_link_broken_by_both_sides_together_fails_check(setup: ProposalSetup) -> None:
    link = {"new.md": "# New\n\n[stop](use.md#stop-it)\n"}
    rename = {"use.md": USE_TEXT.replace("Stop it", "End it")}
    for theirs, ours in ((link, rename), (rename, link)):
        assert list_failures(run_checks(setup, theirs, ours)) == {
            "links": [("broken-fragment", "new.md#_preamble", 3)]
        }


def test_link_to_folder_of_last_removed_file_fails_check(setup: ProposalSetup) -> None:
    link = {"new.md": "# New\n\n[all](a/)\n"}
    assert list_failures(run_checks(setup, link)) == {}
    assert list_failures(run_checks(setup, {"a/pic.png": None}, link)) == {
        "links": [("broken-link", "new.md#_preamble", 3)]
    }


def test_comment_that_disables_rule_fails_check(setup: ProposalSetup) -> None:
    rule_disabled = {
        "use.md": USE_TEXT.replace("Run.", "<!-- docyard: off broken-link -->\n\n[x](nowhere.md)")
    }
    assert list_failures(run_checks(setup, rule_disabled)) == {
        "links": [("rule-switched-off", "use.md#run-it", 5)]
    }
    all_rules_disabled = {"use.md": USE_TEXT.replace("Run.", "<!-- docyard: off -->")}
    assert set(list_failures(run_checks(setup, all_rules_disabled))) == set(ALL_CHECKS)
    disabled_on_target = {"new.md": "# New\n\n<!-- docyard: off -->\n\n[x](nowhere.md)\n"}
    assert list_failures(run_checks(setup, {"use.md": USE_TEXT + "\nMore.\n"}, disabled_on_target)) == {}


def test_settings_of_target_override_those_of_proposal(setup: ProposalSetup) -> None:
    settings = {"docyard.toml": '[validate.rules]\nbroken-link = "off"\nunknown-type = "note"\n'}
    broken_document = {"new.md": "---\ntype: x\n---\n# New\n\n[x](nowhere.md)\n"}
    assert set(list_failures(run_checks(setup, {**settings, **broken_document}))) == {"links", "types"}
    assert list_failures(run_checks(setup, broken_document, settings)) == {}


def test_unreadable_document_fails_all_checks(setup: ProposalSetup) -> None:
    small_limit = {"docyard.toml": "[limits]\ndocument_bytes = 1000\n"}
    large_document = {"new.md": "# New\n\n" + "Word. " * 500}
    problems = [("unreadable-document", "new.md", 1)]
    failures = dict.fromkeys(ALL_CHECKS, problems)
    assert list_failures(run_checks(setup, large_document, small_limit)) == failures
    lines = {"new.md": "x\n" * 200_001}
    assert list_failures(run_checks(setup, lines)) == failures
    pointer = {"new.md": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"}
    assert list_failures(run_checks(setup, pointer)) == failures


def test_merge_over_limit_fails_all_checks(setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MAX_CHECKED_DOCUMENTS", 1)
    results = run_checks(setup, {"use.md": USE_TEXT + "\nMore.\n", "spec.md": SPEC + "\nMore.\n"})
    assert all(not result.passed for result in results.values())
    assert list_failures(results) == {name: [("unchecked", "", 1)] for name in ALL_CHECKS}


def test_problems_of_check_are_bounded_and_counted(setup: ProposalSetup) -> None:
    many_links = {"new.md": "# New\n\n" + "".join(f"[x](none{number}.md)\n" for number in range(70))}
    links = run_checks(setup, many_links)["links"]
    assert (len(links.problems), links.omitted_count) == (50, 20)
    assert links.problems[0] == Problem(
        "broken-link",
        "new.md#_preamble",
        3,
        "the link 'none0.md' leads nowhere: there is no such file",
    )


def test_damaged_repository_fails_all_checks(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", FILES)
    their_commit = setup.create_commit({"use.md": USE_TEXT + "\nMore.\n"}, setup.first_commit)
    snapshot = Snapshot(setup.store, setup.first_commit)
    merge = merge_commits(snapshot, snapshot.at(their_commit))
    entry = snapshot.entry("use.md")
    assert entry
    (setup.store.common_dir / "objects" / entry.id[:2] / entry.id[2:]).unlink()
    store = GitStore(tmp_path / "repo")
    new_snapshot = Snapshot(store, setup.first_commit)
    results = check_merge(
        merge._replace(ours=new_snapshot, theirs=new_snapshot.at(their_commit)), InboundLinkScanner()
    )
    assert not any(result.passed for result in results)
