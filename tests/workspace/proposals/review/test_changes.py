"""What a proposal changes: from where it parted to its tip, and for a merged one what the merge brought."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.review.scene import Scene
from tests.workspace.proposals.saying import AGENT
from workspace.diff.changes import ChangeKind, DocumentKind
from workspace.diff.text import diff_texts
from workspace.proposals.events import Refreshed
from workspace.proposals.proposal import ProposalState
from workspace.proposals.review import changes as module
from workspace.proposals.review.changes import CommitChanges

GUIDE = "# Guide\n\nHello.\n\n## Setup\n\nRun it once.\n\n## Use\n\n- [ ] Try\n"
FILES = {"guide.md": GUIDE, "other.md": "# Other\n\nText.\n", "logo.svg": "<svg/>"}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "repo", FILES)


def told(changes: CommitChanges) -> list[tuple[str, str, str]]:
    return [
        (one.path, section.kind.value, section.place.address)
        for one in changes.documents
        for section in one.sections
    ]


def test_sections_words_and_other_files_since_the_proposal_parted(scene: Scene) -> None:
    new = GUIDE.replace("once", "twice").replace("[ ]", "[x]") + "\n## More\n\nNew.\n"
    proposal = scene.propose("k0000001", {"guide.md": new, "logo.svg": "<svg></svg>", "new.txt": "x"})
    scene.commit("main", {"other.md": "# Other\n\nChanged on main.\n"})
    changes = scene.reviewing.changes(scene.one("k0000001"))
    assert (changes.base, changes.tip) == (scene.first, proposal.tip)
    assert told(changes) == [
        ("guide.md", "changed", "setup"),
        ("guide.md", "task_completed", "use[0]"),
        ("guide.md", "added", "more"),
    ]
    assert changes.files == ("logo.svg", "new.txt")
    assert changes.paths == {"guide.md", "logo.svg", "new.txt"}
    first = changes.documents[0].sections[0]
    assert first.before
    assert first.after
    words = [
        (first.before.text[one.start : one.end], first.after.text[one.new_start : one.new_end])
        for one in diff_texts(first.before.text, first.after.text)
    ]
    assert words == [("once", "twice")]


def test_what_was_taken_in_by_a_refresh_is_not_the_proposals(scene: Scene) -> None:
    proposal = scene.propose("k0000001", {"guide.md": GUIDE.replace("once", "twice")})
    main = scene.commit("main", {"other.md": "# Other\n\nChanged on main.\n"})
    branch = "proposals/k0000001"
    tip = scene.commit(branch, {"other.md": "# Other\n\nChanged on main.\n"}, main)
    scene.speaker.say(Refreshed(tip, main), by=AGENT, proposal="k0000001")
    changes = scene.reviewing.changes(scene.one("k0000001"))
    assert changes.base == main
    assert told(changes) == [("guide.md", "changed", "setup")]
    assert proposal.tip != changes.tip


def test_a_merged_one_shows_what_the_merge_brought(scene: Scene) -> None:
    proposal = scene.propose("k0000001", {"guide.md": GUIDE.replace("once", "twice")})
    before = scene.commit("main", {"other.md": "# Other\n\nChanged on main.\n"})
    merge = scene.merge(proposal)
    scene.commit("main", {"guide.md": None})
    for is_there in (True, False):
        if not is_there:
            scene.move("proposals/k0000001", None)
        merged = scene.one("k0000001")
        assert merged.state is ProposalState.MERGED
        changes = scene.reviewing.changes(merged)
        assert (changes.base, changes.tip) == (before, merge)
        assert told(changes) == [("guide.md", "changed", "setup")]


def test_one_that_was_merged_by_going_forward(scene: Scene) -> None:
    scene.propose("k0000001", {"guide.md": GUIDE.replace("once", "twice")})
    tip = scene.commit("proposals/k0000001", {"other.md": "# Other\n\nMore.\n"})
    scene.move("main", tip)
    changes = scene.reviewing.changes(scene.one("k0000001"))
    assert (changes.base, changes.tip) == (scene.first, tip)
    assert [one.path for one in changes.documents] == ["guide.md", "other.md"]


def test_a_branch_that_is_gone_shows_nothing_and_one_of_another_root_everything(scene: Scene) -> None:
    scene.propose("k0000001", {"guide.md": None})
    scene.move("proposals/k0000001", None)
    gone = scene.one("k0000001")
    assert gone.state is ProposalState.GONE
    assert scene.reviewing.changes(gone) == CommitChanges(None, None)
    assert scene.reviewing.touched_sections(gone) == frozenset()
    assert scene.reviewing.overlaps(gone, scene.all()) == ()
    scene.move("proposals/k0000001", scene.made({"a.md": "# A\n"}))
    changes = scene.reviewing.changes(scene.one("k0000001"))
    assert changes.base is None
    assert [(one.path, one.kind) for one in changes.documents] == [("a.md", DocumentKind.ADDED)]


def test_a_target_that_is_gone(scene: Scene) -> None:
    scene.propose("k0000001", {"guide.md": GUIDE.replace("once", "twice")})
    scene.move("main", None)
    changes = scene.reviewing.changes(scene.one("k0000001"))
    assert changes.base == scene.first
    assert told(changes) == [("guide.md", "changed", "setup")]


def test_settings_that_cannot_be_used_hide_no_change(scene: Scene) -> None:
    proposal = scene.propose("k0000001", {"docyard.toml": "root = 7\n", "guide.md": "# Guide\n"})
    changes = scene.reviewing.changes(proposal)
    assert changes.documents == ()
    assert changes.files == ("docyard.toml", "guide.md")
    assert changes.reason
    assert scene.reviewing.touched_sections(proposal) == {("docyard.toml", None), ("guide.md", None)}


def test_more_than_is_compared_is_told_by_its_paths(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DOCUMENTS", 2)
    files = {"guide.md": GUIDE + "More.\n", "other.md": None, "third.md": "# Third\n"}
    changes = scene.reviewing.changes(scene.propose("k0000001", files))
    assert [(one.path, one.kind, one.sections) for one in changes.documents] == [
        ("guide.md", DocumentKind.CHANGED, ()),
        ("other.md", DocumentKind.REMOVED, ()),
        ("third.md", DocumentKind.ADDED, ()),
    ]
    assert changes.reason
    assert ChangeKind.CHANGED not in [section.kind for one in changes.documents for section in one.sections]
