"""Conflicts decided on the page: for a side, by other words, too late, and by two people at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docyard.web.proposals.pages import Pages, pages, text_of
from tests.workspace.proposals.actions.scene import GUIDE
from workspace.proposals.proposal import Proposal

_FIELDS = re.compile(r'name="(commit|target|key|seen-[0-9a-f]{16})" value="([^"]*)"')
_CONFLICT = re.compile(r'id="conflict-([0-9a-f]{16})"')

Form = dict[str, str]


@pytest.fixture
def some(tmp_path: Path) -> Pages:
    return pages(tmp_path)


def conflicted(some: Pages, ours: str = "Run ours.", theirs: str = "Run theirs.") -> Proposal:
    """A proposal that says of `install` something else than its target by now."""
    scene = some.scene
    one = scene.open("Install better")
    branch = one.content.branch
    commit_to(some, branch, GUIDE.replace("Run it.", ours))
    commit_to(some, "main", GUIDE.replace("Run it.", theirs))
    return scene.proposing.submit(one.id, scene.person("agent")).proposal


def commit_to(some: Pages, branch: str, text: str | None, path: str = "guide.md") -> None:
    """A person's commit of a file on a branch; None removes it."""
    repo = some.scene.repo
    repo.git("switch", "-q", branch)
    if text is None:
        repo.git("rm", "-q", path)
        repo.git("commit", "-q", "-m", f"On {branch}")
    else:
        repo.commit({path: text}, f"On {branch}")
    repo.git("switch", "-q", "main")


def form(some: Pages, one: Proposal) -> tuple[Form, list[str]]:
    """The hidden fields of the form as a person sees it, and the ids of its conflicts."""
    html = some.show(one, "conflicts")
    part = html.partition('class="conflicts"')[2]
    return dict(_FIELDS.findall(part)), _CONFLICT.findall(part)


def send(some: Pages, one: Proposal, fields: Form) -> tuple[int, str]:
    given = dict(fields)
    response = some.post(one, "resolve", key=given.pop("key"), **given)
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
def test_decided(some: Pages, choice: str, content: str, becomes: str | None) -> None:
    one = conflicted(some)
    assert "Decide 1 conflict" in text_of(some.show(one))
    fields, [id] = form(some, one)
    status, _ = send(some, one, fields | {f"choice-{id}": choice, f"content-{id}": content})
    assert status == 303
    text = some.scene.show("guide.md", one.content.branch)
    assert f"## Install\n\n{becomes}\n\n## Use" in text if becomes else "Run" not in text
    assert "There is no conflict" in text_of(some.show(one, "conflicts"))
    # Sent again, as by a double click, it is done already.
    tip = some.now(one).tip
    assert send(some, one, fields | {f"choice-{id}": choice, f"content-{id}": content})[0] == 303
    assert some.now(one).tip == tip


def test_the_page_says_which_version_it_shows(some: Pages) -> None:
    shown = some.show(conflicted(some), "conflicts")
    assert re.search(r'<html [^>]*data-version="[0-9a-f]{20}"', shown)


def test_the_versions_are_shown(some: Pages) -> None:
    html = some.show(conflicted(some), "conflicts")
    shown = text_of(html)
    assert "install Text" in shown
    assert "<del>it</del><ins>ours</ins>" in html
    assert "<del>it</del><ins>theirs</ins>" in html
    assert ">\nRun ours.</textarea>" in html


def test_the_second_of_two_people_sees_what_happened(some: Pages) -> None:
    one = conflicted(some)
    fields, [id] = form(some, one)
    other, _ = form(some, one)
    assert send(some, one, fields | {f"choice-{id}": "theirs"})[0] == 303
    tip = some.now(one).tip
    some.as_person = "carl"
    status, html = send(some, one, other | {f"choice-{id}": "content", f"content-{id}": "Carl's words."})
    assert status == 409
    shown = text_of(html)
    assert "so nothing was merged" in shown
    assert "Bea took in what main had" in shown
    assert "Carl's words." in shown
    assert some.now(one).tip == tip


def test_who_only_reads_sees_the_versions_and_no_form(some: Pages) -> None:
    one = conflicted(some)
    html = Pages(some.scene, read_only=True).show(one, "conflicts")
    assert re.search(r"ours.*theirs", text_of(html))
    assert not re.search(r"<(form|input|textarea|button)", html.partition("<main")[2].partition("</main>")[0])


def test_a_target_that_went_on_keeps_the_choices(some: Pages) -> None:
    one = conflicted(some)
    fields, [id] = form(some, one)
    some.scene.append(one.id, "Also.", slug="use")
    status, html = send(some, one, fields | {f"choice-{id}": "content", f"content-{id}": "My words."})
    assert status == 409
    assert ">\nMy words.</textarea>" in html
    assert re.search(r'value="content"\s+checked', html)
    # What is in conflict is as it was seen, so the choice stands, and is sent again for the commits of now.
    again = dict(_FIELDS.findall(html.partition('class="conflicts"')[2]))
    status, _ = send(some, one, again | {f"choice-{id}": "content", f"content-{id}": "My words."})
    assert status == 303
    assert "My words." in some.scene.show("guide.md", one.content.branch)


def test_a_choice_on_other_words_is_not_kept(some: Pages) -> None:
    one = conflicted(some)
    fields, [id] = form(some, one)
    commit_to(some, one.content.branch, GUIDE.replace("Run it.", "Run ours, again."))
    status, html = send(some, one, fields | {f"choice-{id}": "ours", f"content-{id}": "My words."})
    assert status == 409
    assert "This has changed since you chose" in text_of(html)
    assert ">\nMy words.</textarea>" in html
    assert "checked" not in html


def test_not_all_decided(some: Pages) -> None:
    one = some.scene.open("Two")
    commit_to(some, one.content.branch, GUIDE.replace("Run it.", "Ours.").replace("Use it.", "Ours too."))
    commit_to(some, "main", GUIDE.replace("Run it.", "Theirs.").replace("Use it.", "Theirs too."))
    fields, ids = form(some, one)
    assert len(ids) == 2
    status, html = send(some, one, fields | {f"choice-{ids[0]}": "theirs"})
    assert status == 409
    assert "1 conflict is not decided yet" in text_of(html)
    assert re.search(r'value="theirs"\s+checked', html)
    assert send(some, one, fields | {f"choice-{id}": "ours" for id in ids})[0] == 303


def test_words_that_cannot_stand_there(some: Pages) -> None:
    one = conflicted(some)
    fields, [id] = form(some, one)
    content = "## A heading\n\nWords."
    status, html = send(some, one, fields | {f"choice-{id}": "content", f"content-{id}": content})
    assert status == 400
    assert "must not have headings" in text_of(html)
    assert f">\n{content}</textarea>" in html


@pytest.mark.parametrize("choice", ["ours", "theirs", "content"])
def test_removed_on_one_side(some: Pages, choice: str) -> None:
    one = some.scene.open("Drop the guide")
    commit_to(some, one.content.branch, None)
    commit_to(some, "main", GUIDE.replace("Run it.", "Run theirs."))
    shown = text_of(some.show(one, "conflicts"))
    assert "The whole file" in shown
    assert "Not there" in shown
    fields, [id] = form(some, one)
    status, _ = send(some, one, fields | {f"choice-{id}": choice, f"content-{id}": "# Guide\n\nNew.\n"})
    assert status == 303
    files = some.scene.repo.git("ls-tree", "--name-only", one.content.branch).split()
    assert ("guide.md" in files) is (choice != "ours")


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "kind"),
    [
        ("a: 1", "a: 2", "a: 3", "Front matter"),
        ("- [ ] Do it", "- [x] Do it now", "- [ ] Do it later", "A task"),
    ],
    ids=["key", "task"],
)
def test_other_kinds(some: Pages, base: str, ours: str, theirs: str, kind: str) -> None:
    def text(line: str) -> str:
        return f"---\n{line}\n---\n# N\n" if ":" in line else f"# N\n\n## Tasks\n\n{line}\n"

    some.scene.repo.commit({"notes.md": text(base)})
    one = some.scene.open("Change it")
    commit_to(some, one.content.branch, text(ours), "notes.md")
    commit_to(some, "main", text(theirs), "notes.md")
    assert kind in text_of(some.show(one, "conflicts"))
    fields, [id, *_] = form(some, one)
    assert send(some, one, fields | {f"choice-{id}": "theirs"})[0] == 303


def test_a_binary_file(some: Pages) -> None:
    repo = some.scene.repo
    repo.commit({"logo.png": b"\x89PNG\0base"})
    one = some.scene.open("Another logo")
    repo.git("switch", "-q", one.content.branch)
    repo.commit({"logo.png": b"\x89PNG\0ours"})
    repo.git("switch", "-q", "main")
    repo.commit({"logo.png": b"\x89PNG\0theirs"})
    html = some.show(one, "conflicts")
    assert "9 bytes that are no text" in text_of(html) or "bytes that are no text" in text_of(html)
    assert '<textarea name="content-' not in html
    fields, [id] = form(some, one)
    assert send(some, one, fields | {f"choice-{id}": "theirs"})[0] == 303


def test_a_merge_or_refresh_with_conflicts_leads_to_them(some: Pages) -> None:
    one = conflicted(some)
    for act in ("refresh", "merge"):
        assert some.does(one, act, commit=one.tip or "") == f"/proposals/{one.id}/conflicts"


def test_a_form_without_its_commits_merges_nothing(some: Pages) -> None:
    one = conflicted(some)
    fields, [id] = form(some, one)
    status, html = send(some, one, {"key": fields["key"], f"choice-{id}": "ours", f"content-{id}": "Kept"})
    assert status == 409
    assert "Kept" in html
    assert some.now(one).tip == one.tip


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "sent-before"])
def test_words_of_ones_own_stay_where_a_decision_is_refused(some: Pages, ended: bool) -> None:
    one = conflicted(some)
    fields, [id] = form(some, one)
    chosen = {**fields, f"choice-{id}": "content", f"content-{id}": "Run both, as I wrote."}
    if ended:
        some.does(one, "close")
    else:
        assert send(some, one, {**fields, f"choice-{id}": "ours"})[0] == 303
    status, html = send(some, one, chosen)
    assert status == 409
    assert "Run both, as I wrote." in html
    assert ("was closed" if ended else "was sent once already") in text_of(html)
