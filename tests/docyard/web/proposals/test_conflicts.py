"""Conflicts on the page: resolved with a side, with a new text, too late, and by two users."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docyard.web.proposals.pages import Pages, create_pages, extract_text
from tests.workspace.proposals.actions.scene import GUIDE
from workspace.proposals.proposal import Proposal

_FIELDS = re.compile(r'name="(commit|target|key|seen-[0-9a-f]{16})" value="([^"]*)"')
_CONFLICT = re.compile(r'id="conflict-([0-9a-f]{16})"')

Form = dict[str, str]


@pytest.fixture
def some(tmp_path: Path) -> Pages:
    return create_pages(tmp_path)


def create_conflict(some: Pages, ours: str = "Run ours.", theirs: str = "Run theirs.") -> Proposal:
    """Create a proposal whose section `install` conflicts with its target."""
    scene = some.scene
    proposal = scene.open("Install better")
    branch = proposal.content.branch
    commit_to(some, branch, GUIDE.replace("Run it.", ours))
    commit_to(some, "main", GUIDE.replace("Run it.", theirs))
    return scene.proposal_actions.submit(proposal.id, scene.person("agent")).proposal


def commit_to(some: Pages, branch: str, text: str | None, path: str = "guide.md") -> None:
    """Commit a file to a branch; None removes it."""
    repo = some.scene.repo
    repo.git("switch", "-q", branch)
    if text is None:
        repo.git("rm", "-q", path)
        repo.git("commit", "-q", "-m", f"On {branch}")
    else:
        repo.commit({path: text}, f"On {branch}")
    repo.git("switch", "-q", "main")


def form(some: Pages, proposal: Proposal) -> tuple[Form, list[str]]:
    """Return the hidden fields of the form, and the ids of its conflicts."""
    html = some.show(proposal, "conflicts")
    part = html.partition('class="conflicts"')[2]
    return dict(_FIELDS.findall(part)), _CONFLICT.findall(part)


def send(some: Pages, proposal: Proposal, fields: Form) -> tuple[int, str]:
    form = dict(fields)
    response = some.post(proposal, "resolve", key=form.pop("key"), **form)
    return response.status_code, response.text


@pytest.mark.parametrize(
    ("choice", "content", "becomes"),
    [
        ("ours", "", "Run ours."),
        ("theirs", "", "Run theirs."),
        ("content", "Run both.\nIn turn.", "Run both.\nIn turn."),
        ("content", "", None),
    ],
    ids=["ours", "theirs", "own-words", "nothing"],
)
def test_resolution_is_written_to_the_proposal(
    some: Pages, choice: str, content: str, becomes: str | None
) -> None:
    proposal = create_conflict(some)
    assert "Resolve 1 conflict" in extract_text(some.show(proposal))
    fields, [id] = form(some, proposal)
    status, _ = send(some, proposal, fields | {f"choice-{id}": choice, f"content-{id}": content})
    assert status == 303
    text = some.scene.show("guide.md", proposal.content.branch)
    assert f"## Install\n\n{becomes}\n\n## Use" in text if becomes else "Run" not in text
    assert "There are no conflicts" in extract_text(some.show(proposal, "conflicts"))
    # A second submission, as by a double click, changes nothing.
    tip = some.reload(proposal).tip
    assert send(some, proposal, fields | {f"choice-{id}": choice, f"content-{id}": content})[0] == 303
    assert some.reload(proposal).tip == tip


def test_conflicts_page_has_its_version(some: Pages) -> None:
    shown = some.show(create_conflict(some), "conflicts")
    assert re.search(r'<html [^>]*data-version="[0-9a-f]{20}"', shown)


def test_both_versions_are_shown(some: Pages) -> None:
    html = some.show(create_conflict(some), "conflicts")
    shown = extract_text(html)
    assert "install Text" in shown
    assert "<del>it</del><ins>ours</ins>" in html
    assert "<del>it</del><ins>theirs</ins>" in html
    assert ">\nRun ours.</textarea>" in html


def test_second_resolution_is_refused_and_preserved(some: Pages) -> None:
    proposal = create_conflict(some)
    fields, [id] = form(some, proposal)
    other, _ = form(some, proposal)
    assert send(some, proposal, fields | {f"choice-{id}": "theirs"})[0] == 303
    tip = some.reload(proposal).tip
    some.as_person = "carl"
    status, html = send(some, proposal, other | {f"choice-{id}": "content", f"content-{id}": "Carl's words."})
    assert status == 409
    shown = extract_text(html)
    assert "so nothing was merged" in shown
    assert "Bea merged main into it" in shown
    assert "Carl's words." in shown
    assert some.reload(proposal).tip == tip


def test_read_only_conflicts_page_has_no_form(some: Pages) -> None:
    proposal = create_conflict(some)
    html = Pages(some.scene, read_only=True).show(proposal, "conflicts")
    assert re.search(r"ours.*theirs", extract_text(html))
    assert not re.search(r"<(form|input|textarea|button)", html.partition("<main")[2].partition("</main>")[0])


def test_moved_branch_preserves_choices(some: Pages) -> None:
    proposal = create_conflict(some)
    fields, [id] = form(some, proposal)
    some.scene.append(proposal.id, "Also.", slug="use")
    status, html = send(some, proposal, fields | {f"choice-{id}": "content", f"content-{id}": "My words."})
    assert status == 409
    assert ">\nMy words.</textarea>" in html
    assert re.search(r'value="content"\s+checked', html)
    # The conflict is unchanged, so the choice is still valid, and can be sent for the new commits.
    again = dict(_FIELDS.findall(html.partition('class="conflicts"')[2]))
    status, _ = send(some, proposal, again | {f"choice-{id}": "content", f"content-{id}": "My words."})
    assert status == 303
    assert "My words." in some.scene.show("guide.md", proposal.content.branch)


def test_changed_text_discards_the_choice(some: Pages) -> None:
    proposal = create_conflict(some)
    fields, [id] = form(some, proposal)
    commit_to(some, proposal.content.branch, GUIDE.replace("Run it.", "Run ours, again."))
    status, html = send(some, proposal, fields | {f"choice-{id}": "ours", f"content-{id}": "My words."})
    assert status == 409
    assert "The texts have changed since you chose" in extract_text(html)
    assert ">\nMy words.</textarea>" in html
    assert "checked" not in html


def test_incomplete_decisions_merge_nothing(some: Pages) -> None:
    proposal = some.scene.open("Two")
    commit_to(
        some, proposal.content.branch, GUIDE.replace("Run it.", "Ours.").replace("Use it.", "Ours too.")
    )
    commit_to(some, "main", GUIDE.replace("Run it.", "Theirs.").replace("Use it.", "Theirs too."))
    fields, ids = form(some, proposal)
    assert len(ids) == 2
    status, html = send(some, proposal, fields | {f"choice-{ids[0]}": "theirs"})
    assert status == 409
    assert "1 conflict is not decided yet" in extract_text(html)
    assert re.search(r'value="theirs"\s+checked', html)
    assert send(some, proposal, fields | {f"choice-{id}": "ours" for id in ids})[0] == 303


def test_invalid_text_is_refused(some: Pages) -> None:
    proposal = create_conflict(some)
    fields, [id] = form(some, proposal)
    content = "## A heading\n\nWords."
    status, html = send(some, proposal, fields | {f"choice-{id}": "content", f"content-{id}": content})
    assert status == 400
    assert "must not have headings" in extract_text(html)
    assert f">\n{content}</textarea>" in html


@pytest.mark.parametrize("choice", ["ours", "theirs", "content"])
def test_document_removed_on_one_side_is_resolved(some: Pages, choice: str) -> None:
    proposal = some.scene.open("Drop the guide")
    commit_to(some, proposal.content.branch, None)
    commit_to(some, "main", GUIDE.replace("Run it.", "Run theirs."))
    shown = extract_text(some.show(proposal, "conflicts"))
    assert "The whole file" in shown
    assert "This side does not have it" in shown
    fields, [id] = form(some, proposal)
    status, _ = send(some, proposal, fields | {f"choice-{id}": choice, f"content-{id}": "# Guide\n\nNew.\n"})
    assert status == 303
    files = some.scene.repo.git("ls-tree", "--name-only", proposal.content.branch).split()
    assert ("guide.md" in files) is (choice != "ours")


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "kind"),
    [
        ("a: 1", "a: 2", "a: 3", "Front matter"),
        ("- [ ] Do it", "- [x] Do it now", "- [ ] Do it later", "A task"),
    ],
    ids=["key", "task"],
)
def test_metadata_and_task_conflicts_are_resolved(
    some: Pages, base: str, ours: str, theirs: str, kind: str
) -> None:
    def text(line: str) -> str:
        return f"---\n{line}\n---\n# N\n" if ":" in line else f"# N\n\n## Tasks\n\n{line}\n"

    some.scene.repo.commit({"notes.md": text(base)})
    proposal = some.scene.open("Change it")
    commit_to(some, proposal.content.branch, text(ours), "notes.md")
    commit_to(some, "main", text(theirs), "notes.md")
    assert kind in extract_text(some.show(proposal, "conflicts"))
    fields, [id, *_] = form(some, proposal)
    assert send(some, proposal, fields | {f"choice-{id}": "theirs"})[0] == 303


def test_binary_conflict_has_no_text_field(some: Pages) -> None:
    repo = some.scene.repo
    repo.commit({"logo.png": b"\x89PNG\0base"})
    proposal = some.scene.open("Another logo")
    repo.git("switch", "-q", proposal.content.branch)
    repo.commit({"logo.png": b"\x89PNG\0ours"})
    repo.git("switch", "-q", "main")
    repo.commit({"logo.png": b"\x89PNG\0theirs"})
    html = some.show(proposal, "conflicts")
    assert "bytes of binary data" in extract_text(html)
    assert '<textarea name="content-' not in html
    fields, [id] = form(some, proposal)
    assert send(some, proposal, fields | {f"choice-{id}": "theirs"})[0] == 303


def test_merge_with_conflicts_redirects_to_them(some: Pages) -> None:
    proposal = create_conflict(some)
    for act in ("refresh", "merge"):
        assert some.submit(proposal, act, commit=proposal.tip or "") == f"/proposals/{proposal.id}/conflicts"


def test_form_without_commits_merges_nothing(some: Pages) -> None:
    proposal = create_conflict(some)
    fields, [id] = form(some, proposal)
    status, html = send(
        some, proposal, {"key": fields["key"], f"choice-{id}": "ours", f"content-{id}": "Kept"}
    )
    assert status == 409
    assert "Kept" in html
    assert some.reload(proposal).tip == proposal.tip


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "sent-before"])
def test_refused_decision_preserves_the_text(some: Pages, ended: bool) -> None:
    proposal = create_conflict(some)
    fields, [id] = form(some, proposal)
    chosen = {**fields, f"choice-{id}": "content", f"content-{id}": "Run both, as I wrote."}
    if ended:
        some.submit(proposal, "close")
    else:
        assert send(some, proposal, {**fields, f"choice-{id}": "ours"})[0] == 303
    status, html = send(some, proposal, chosen)
    assert status == 409
    assert "Run both, as I wrote." in html
    assert ("was closed" if ended else "was already sent") in extract_text(html)
