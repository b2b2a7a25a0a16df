"""The checks of a merge report new problems, and none that the target has already."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.workspace.proposals.review.scene import Files, Scene
from workspace.git.store import GitStore
from workspace.links.inbound import ScannedInbound
from workspace.merge.commits import merge_commits
from workspace.proposals.review import checks
from workspace.proposals.review.checks import CHECKS, CheckResult, Problem, check_merge
from workspace.snapshot.snapshot import Snapshot

GUIDE = "# Guide\n\nSee [use](use.md#run-it) and [gone](gone.md).\n\n## Setup\n\n- []() Odd\n- [ ]Bad\n"
USE = "# Use\n\n## Run it\n\nRun.\n\n## Stop it\n\nStop.\n"
SPEC = "---\ntype: note\n---\n# Spec\n\n## Goal\n\nOne.\n\n## Plan\n\nTwo.\n"
TYPE = {
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
FILES: Files = {"guide.md": GUIDE, "use.md": USE, "spec.md": SPEC, "a/pic.png": b"\x89PNG", **TYPE}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Return one repository for all tests: each commits on top of the first commit."""
    return Scene(tmp_path_factory.mktemp("checks") / "repo", FILES)


def checked(scene: Scene, theirs: Files, ours: Files | None = None) -> Mapping[str, CheckResult]:
    """Return the results of the checks for a merge of two changes of the first commit."""
    here = scene.made(ours, scene.first) if ours else scene.first
    there = scene.made(theirs, scene.first)
    snapshot = Snapshot(scene.store, here)
    merge = merge_commits(snapshot, snapshot.at(there))
    assert not merge.conflicts
    found = check_merge(merge, ScannedInbound())
    assert tuple(one.name for one in found) == CHECKS
    return {one.name: one for one in found}


def failed(results: Mapping[str, CheckResult]) -> dict[str, list[tuple[str, str, int]]]:
    """Return the rule, address and line of each problem, by failed check."""
    assert all(one.passed == (not one.problems) for one in results.values())
    return {
        one.name: [(found.rule, found.address, found.line) for found in one.problems]
        for one in results.values()
        if one.problems
    }


def test_existing_problems_pass_checks(scene: Scene) -> None:
    harmless = {"guide.md": GUIDE.replace("See [use]", "Also see [use]").replace("]Bad", "]Still worse")}
    assert failed(checked(scene, harmless)) == {}
    moved: Files = {"guide.md": None, "b/guide.md": GUIDE.replace("(", "(../")}
    assert set(failed(checked(scene, moved))) <= {"links"}, "a document takes its own along"


def test_problems_of_moved_section_pass_checks(scene: Scene) -> None:
    cut = GUIDE.partition("## Setup")[0]
    moved = {"guide.md": cut, "use.md": f"{USE}\n## Setup\n\n- []() Odd\n- [ ]Bad\n"}
    assert failed(checked(scene, moved)) == {}
    twice = {"use.md": f"{USE}\n## Setup\n\n- [ ]Bad\n"}
    assert failed(checked(scene, twice)) == {"tasks": [("malformed-task", "use.md#setup", 13)]}


@loop_over(
    ("theirs", "expected"),
    [
        ({"new.md": "# New\n\n[x](nowhere.md)\n"}, {"links": [("broken-link", "new.md#_preamble", 3)]}),
        (
            {"use.md": USE.replace("Run.", "![x](../a/none.png)")},
            {"links": [("broken-image", "use.md#run-it", 5)]},
        ),
        ({"use.md": None}, {"links": [("broken-link", "guide.md#_preamble", 3)]}),
        (
            {"use.md": USE.replace("Run it", "Start it")},
            {"links": [("broken-fragment", "guide.md#_preamble", 3)]},
        ),
        (
            {"use.md": USE.replace("Stop it", "Stop {#run}").replace("Run it", "Run {#run}")},
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
        ({"use.md": USE.replace("Run.", "- [ ]Run")}, {"tasks": [("malformed-task", "use.md#run-it", 5)]}),
    ],
)
def test_new_problem_fails_its_check(scene: Scene, theirs: Files, expected: object) -> None:
    assert failed(checked(scene, theirs)) == expected


def test_document_type_of_proposal_is_enforced(scene: Scene) -> None:
    own = {path.replace("note", "memo"): text for path, text in TYPE.items()}
    text = SPEC.replace("note", "memo")
    assert failed(checked(scene, {**own, "spec.md": text})) == {}
    bad = {**own, "spec.md": text.replace("## Plan", "## Way")}
    assert failed(checked(scene, bad)) == {"types": [("type-structure", "spec.md", 2)]}


def test_link_broken_by_both_sides_together_fails_check(scene: Scene) -> None:
    link = {"new.md": "# New\n\n[stop](use.md#stop-it)\n"}
    renamed = {"use.md": USE.replace("Stop it", "End it")}
    for theirs, ours in ((link, renamed), (renamed, link)):
        assert failed(checked(scene, theirs, ours)) == {"links": [("broken-fragment", "new.md#_preamble", 3)]}


def test_link_to_folder_of_last_removed_file_fails_check(scene: Scene) -> None:
    linked = {"new.md": "# New\n\n[all](a/)\n"}
    assert failed(checked(scene, linked)) == {}
    assert failed(checked(scene, {"a/pic.png": None}, linked)) == {
        "links": [("broken-link", "new.md#_preamble", 3)]
    }


def test_comment_that_disables_rule_fails_check(scene: Scene) -> None:
    hidden = {"use.md": USE.replace("Run.", "<!-- docyard: off broken-link -->\n\n[x](nowhere.md)")}
    assert failed(checked(scene, hidden)) == {"links": [("rule-switched-off", "use.md#run-it", 5)]}
    every = {"use.md": USE.replace("Run.", "<!-- docyard: off -->")}
    assert set(failed(checked(scene, every))) == set(CHECKS)
    on_target = {"new.md": "# New\n\n<!-- docyard: off -->\n\n[x](nowhere.md)\n"}
    assert failed(checked(scene, {"use.md": USE + "\nMore.\n"}, on_target)) == {}


def test_settings_of_target_override_those_of_proposal(scene: Scene) -> None:
    off = {"docyard.toml": '[validate.rules]\nbroken-link = "off"\nunknown-type = "note"\n'}
    broken = {"new.md": "---\ntype: x\n---\n# New\n\n[x](nowhere.md)\n"}
    assert set(failed(checked(scene, {**off, **broken}))) == {"links", "types"}
    assert failed(checked(scene, broken, off)) == {}


def test_unreadable_document_fails_all_checks(scene: Scene) -> None:
    small = {"docyard.toml": "[limits]\ndocument_bytes = 1000\n"}
    large = {"new.md": "# New\n\n" + "Word. " * 500}
    unread = [("unreadable-document", "new.md", 1)]
    assert failed(checked(scene, large, small)) == dict.fromkeys(CHECKS, unread)
    lines = {"new.md": "x\n" * 200_001}
    assert failed(checked(scene, lines)) == dict.fromkeys(CHECKS, unread)
    pointer = {"new.md": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"}
    assert failed(checked(scene, pointer)) == dict.fromkeys(CHECKS, unread)


def test_merge_over_limit_fails_all_checks(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST_DOCUMENTS", 1)
    results = checked(scene, {"use.md": USE + "\nMore.\n", "spec.md": SPEC + "\nMore.\n"})
    assert all(not one.passed for one in results.values())
    assert failed(results) == {name: [("unchecked", "", 1)] for name in CHECKS}


def test_problems_of_check_are_bounded_and_counted(scene: Scene) -> None:
    many = {"new.md": "# New\n\n" + "".join(f"[x](none{number}.md)\n" for number in range(70))}
    links = checked(scene, many)["links"]
    assert (len(links.problems), links.more) == (50, 20)
    assert links.problems[0] == Problem(
        "broken-link",
        "new.md#_preamble",
        3,
        "the link 'none0.md' leads nowhere: there is no such file",
    )


def test_damaged_repository_fails_all_checks(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo", FILES)
    there = scene.made({"use.md": USE + "\nMore.\n"}, scene.first)
    snapshot = Snapshot(scene.store, scene.first)
    merge = merge_commits(snapshot, snapshot.at(there))
    entry = snapshot.entry("use.md")
    assert entry
    (scene.store.common_dir / "objects" / entry.id[:2] / entry.id[2:]).unlink()
    store = GitStore(tmp_path / "repo")
    fresh = Snapshot(store, scene.first)
    found = check_merge(merge._replace(ours=fresh, theirs=fresh.at(there)), ScannedInbound())
    assert not any(one.passed for one in found)
