"""The page of conflicts: resolution with one side or with another text, too late, and by two users."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docyard.web.proposals.pages import ProposalPages, create_pages, extract_text
from tests.workspace.proposals.actions.proposal_setup import GUIDE
from workspace.proposals.proposal import Proposal

_HIDDEN_FIELD = re.compile(r'name="(commit|target|key|seen-[0-9a-f]{16})" value="([^"]*)"')
_CONFLICT_ID = re.compile(r'id="conflict-([0-9a-f]{16})"')

_ORIGIN = re.compile(r'<p class="quiet small origin">(.*?)</p>')

Form = dict[str, str]


@pytest.fixture
def pages(tmp_path: Path) -> ProposalPages:
    return create_pages(tmp_path)


def create_conflict(pages: ProposalPages, ours: str = "Run ours.", theirs: str = "Run theirs.") -> Proposal:
    """Create a proposal whose section `install` conflicts with its target."""
    setup = pages.setup
    proposal = setup.open("Install better")
    branch = proposal.content.branch
    commit_file_to_branch(pages, branch, GUIDE.replace("Run it.", ours))
    commit_file_to_branch(pages, "main", GUIDE.replace("Run it.", theirs))
    return setup.proposal_actions.submit(proposal.id, setup.person("agent")).proposal


def commit_file_to_branch(
    pages: ProposalPages, branch: str, text: str | None, path: str = "guide.md"
) -> None:
    """Commit a file to a branch; None removes it."""
    repo = pages.setup.repo
    repo.git("switch", "-q", branch)
    if text is None:
        repo.git("rm", "-q", path)
        repo.git("commit", "-q", "-m", f"On {branch}")
    else:
        repo.commit({path: text}, f"On {branch}")
    repo.git("switch", "-q", "main")


def read_conflict_form(pages: ProposalPages, proposal: Proposal) -> tuple[Form, list[str]]:
    """Return the hidden fields of the form, and the ids of its conflicts."""
    html = pages.get_proposal_page(proposal, "conflicts")
    form_html = html.partition('class="conflicts"')[2]
    return dict(_HIDDEN_FIELD.findall(form_html)), _CONFLICT_ID.findall(form_html)


def send_resolution(
    pages: ProposalPages, proposal: Proposal, fields: Form, *, as_author: str = "yes"
) -> tuple[int, str]:
    form_fields = {**fields, "as_author": as_author}
    response = pages.post(proposal, "resolve", key=form_fields.pop("key"), **form_fields)
    return response.status_code, response.text


def test_own_text_is_not_discarded_without_a_question(pages: ProposalPages) -> None:
    proposal = create_conflict(pages)
    fields, [id] = read_conflict_form(pages, proposal)
    tip = pages.reload(proposal).tip
    choice = {f"choice-{id}": "theirs", f"content-{id}": "Run both."}
    status, html = send_resolution(pages, proposal, fields | choice)
    assert status == 409
    assert pages.reload(proposal).tip == tip
    assert "Run both.</textarea>" in html
    assert "yours is discarded" in extract_text(html)
    assert " checked" not in html
    form_html = html.partition('class="conflicts"')[2]
    fields = dict(_HIDDEN_FIELD.findall(form_html))
    discarded = re.findall(r'name="(discarded-[0-9a-f]{16})" value="([^"]+)"', form_html)
    status, html = send_resolution(
        pages, proposal, fields | dict(discarded) | choice | {f"content-{id}": "Run 2."}
    )
    assert status == 409
    status, _ = send_resolution(pages, proposal, fields | dict(discarded) | choice)
    assert status == 303
    assert "Run theirs." in pages.setup.show("guide.md", proposal.content.branch)


def test_person_confirms_before_becoming_an_author(pages: ProposalPages) -> None:
    proposal = create_conflict(pages)
    question = "You become an author of this proposal"
    html = pages.get_proposal_page(proposal, "conflicts")
    assert '<details class="say resolve">' in html
    assert question in extract_text(html)
    fields, [id] = read_conflict_form(pages, proposal)
    tip = pages.reload(proposal).tip
    choice = {f"choice-{id}": "content", f"content-{id}": "Run both."}
    status, html = send_resolution(pages, proposal, fields | choice, as_author="")  # the key Enter sends this
    assert status == 409
    assert pages.reload(proposal).tip == tip
    assert '<details class="say resolve" open>' in html
    assert re.search(r'value="content"\s+checked', html)
    assert "Run both.</textarea>" in html
    assert send_resolution(pages, proposal, fields | {f"choice-{id}": "ours"})[0] == 303
    commit_file_to_branch(pages, "main", GUIDE.replace("Run it.", "Run theirs, again."))
    assert "Resolve 1 conflict" in extract_text(html := pages.get_proposal_page(proposal, "conflicts"))
    assert question not in extract_text(html)


@pytest.mark.parametrize(
    ("choice", "content", "expected", "decision"),
    [
        ("ours", "", "Run ours.", "the proposal's version"),
        ("theirs", "", "Run theirs.", "the version of main"),
        ("union", "", "Run ours.\n\nRun theirs.", "both texts, the proposal's before that of main"),
        ("content", "Run both.\nIn turn.", "Run both.\nIn turn.", "a new text"),
        ("content", "", None, "deleted"),
    ],
    ids=["ours", "theirs", "both", "own-words", "nothing"],
)
def test_resolution_is_written_to_the_proposal(
    pages: ProposalPages, choice: str, content: str, expected: str | None, decision: str
) -> None:
    proposal = create_conflict(pages)
    assert "Resolve 1 conflict" in extract_text(pages.get_proposal_page(proposal))
    fields, [id] = read_conflict_form(pages, proposal)
    status, _ = send_resolution(pages, proposal, fields | {f"choice-{id}": choice, f"content-{id}": content})
    assert status == 303
    text = pages.setup.show("guide.md", proposal.content.branch)
    assert f"## Install\n\n{expected}\n\n## Use" in text if expected else "Run" not in text
    assert "There are no conflicts" in extract_text(pages.get_proposal_page(proposal, "conflicts"))
    entry = f"guide.md, install (text): {decision}"
    assert f"- {entry}" in pages.setup.log("-1", "--format=%B", proposal.content.branch)
    conversation = extract_text(pages.get_proposal_page(proposal))
    assert "and resolved 1 conflict" in conversation
    assert entry in conversation
    # A second submission, as by a double click, changes nothing.
    tip = pages.reload(proposal).tip
    assert (
        send_resolution(pages, proposal, fields | {f"choice-{id}": choice, f"content-{id}": content})[0]
        == 303
    )
    assert pages.reload(proposal).tip == tip


def test_conflicts_page_has_version_of_shown_state(pages: ProposalPages) -> None:
    html = pages.get_proposal_page(create_conflict(pages), "conflicts")
    assert re.search(r'<html [^>]*data-version="[0-9a-f]{20}"', html)


def test_both_versions_are_shown(pages: ProposalPages) -> None:
    html = pages.get_proposal_page(create_conflict(pages), "conflicts")
    text = extract_text(html)
    assert "install Text" in text
    assert '<del>it</del><span class="became"> → </span><ins>ours</ins>' in html
    assert '<del>it</del><span class="became"> → </span><ins>theirs</ins>' in html
    assert ">\nRun ours.</textarea>" in html


def list_origins(html: str) -> list[str]:
    """Return the texts of the commits that are named as the origins of versions, in order."""
    return [" ".join(re.sub("<[^>]*>", "", text).split()) for text in _ORIGIN.findall(html)]


def test_conflict_in_the_introduction_is_named(pages: ProposalPages) -> None:
    proposal = pages.setup.open("Introduce it")
    for branch, text in ((proposal.content.branch, "An overview."), ("main", "A summary.")):
        commit_file_to_branch(pages, branch, GUIDE.replace("Introduction.", text))
    html = pages.get_proposal_page(pages.reload(proposal), "conflicts")
    assert 'placeholder="Without a text, this part is removed"' in html
    assert '<span class="path">guide.md</span>' in html
    assert "introduction</span></h2>" in html
    assert "_preamble" not in html


def test_each_side_names_the_commit_that_wrote_its_text(pages: ProposalPages) -> None:
    proposal = create_conflict(pages)
    setup = pages.setup
    ours, theirs = (setup.repo.git("rev-parse", ref).strip() for ref in (proposal.content.branch, "main"))
    commit_file_to_branch(pages, proposal.content.branch, "# Notes\n\nOther.\n", "notes.md")
    commit_file_to_branch(pages, "main", GUIDE.replace("Run it.", "Run theirs.").replace("Use", "Apply"))
    name = setup.repo.git("config", "user.name").strip()
    html = pages.get_proposal_page(proposal, "conflicts")
    assert list_origins(html) == [f"{commit[:8]} by {name}, just now" for commit in (ours, theirs)]
    assert f'href="/commit/{theirs}"' in html
    assert (
        html.count(f"by <bdi>{name}</bdi>,") == 2
    )  # a name cannot change the direction of the text after it


def test_removed_side_names_the_commit_that_removed_it(pages: ProposalPages) -> None:
    proposal = pages.setup.open("Drop the guide")
    commit_file_to_branch(pages, proposal.content.branch, None)
    commit_file_to_branch(pages, "main", GUIDE.replace("Run it.", "Run theirs."))
    commits = [
        pages.setup.repo.git("rev-parse", ref).strip()[:8] for ref in (proposal.content.branch, "main")
    ]
    origins = list_origins(pages.get_proposal_page(proposal, "conflicts"))
    assert [origin.split()[0] for origin in origins] == commits


def test_second_resolution_is_refused_and_preserved(pages: ProposalPages) -> None:
    proposal = create_conflict(pages)
    fields, [id] = read_conflict_form(pages, proposal)
    second_form, _ = read_conflict_form(pages, proposal)
    assert send_resolution(pages, proposal, fields | {f"choice-{id}": "theirs"})[0] == 303
    tip = pages.reload(proposal).tip
    pages.sender_name = "carl"
    status, html = send_resolution(
        pages, proposal, second_form | {f"choice-{id}": "content", f"content-{id}": "Carl's words."}
    )
    assert status == 409
    text = extract_text(html)
    assert "so nothing was merged" in text
    assert "Bea merged main into it" in text
    assert "Carl's words." in text
    assert pages.reload(proposal).tip == tip


def test_read_only_conflicts_page_has_no_form(pages: ProposalPages) -> None:
    proposal = create_conflict(pages)
    html = ProposalPages(pages.setup, read_only=True).get_proposal_page(proposal, "conflicts")
    assert re.search(r"ours.*theirs", extract_text(html))
    assert not re.search(r"<(form|input|textarea|button)", html.partition("<main")[2].partition("</main>")[0])


def test_choices_are_preserved_if_branch_moved(pages: ProposalPages) -> None:
    proposal = create_conflict(pages)
    fields, [id] = read_conflict_form(pages, proposal)
    pages.setup.append(proposal.id, "Also.", slug="use")
    status, html = send_resolution(
        pages, proposal, fields | {f"choice-{id}": "content", f"content-{id}": "My words."}
    )
    assert status == 409
    assert ">\nMy words.</textarea>" in html
    assert re.search(r'value="content"\s+checked', html)
    # The conflict is unchanged, so the choice is still valid, and can be sent for the new commits.
    new_fields = dict(_HIDDEN_FIELD.findall(html.partition('class="conflicts"')[2]))
    status, _ = send_resolution(
        pages, proposal, new_fields | {f"choice-{id}": "content", f"content-{id}": "My words."}
    )
    assert status == 303
    assert "My words." in pages.setup.show("guide.md", proposal.content.branch)


def test_changed_text_discards_the_choice(pages: ProposalPages) -> None:
    proposal = create_conflict(pages)
    fields, [id] = read_conflict_form(pages, proposal)
    commit_file_to_branch(pages, proposal.content.branch, GUIDE.replace("Run it.", "Run ours, again."))
    status, html = send_resolution(
        pages, proposal, fields | {f"choice-{id}": "ours", f"content-{id}": "My words."}
    )
    assert status == 409
    assert "The texts have changed since you chose" in extract_text(html)
    assert ">\nMy words.</textarea>" in html
    assert "checked" not in html


def test_incomplete_resolutions_merge_nothing(pages: ProposalPages) -> None:
    proposal = pages.setup.open("Two")
    commit_file_to_branch(
        pages, proposal.content.branch, GUIDE.replace("Run it.", "Ours.").replace("Use it.", "Ours too.")
    )
    commit_file_to_branch(
        pages, "main", GUIDE.replace("Run it.", "Theirs.").replace("Use it.", "Theirs too.")
    )
    fields, ids = read_conflict_form(pages, proposal)
    assert len(ids) == 2
    status, html = send_resolution(pages, proposal, fields | {f"choice-{ids[0]}": "theirs"})
    assert status == 409
    assert "1 conflict is not resolved yet" in extract_text(html)
    assert re.search(r'value="theirs"\s+checked', html)
    assert send_resolution(pages, proposal, fields | {f"choice-{id}": "ours" for id in ids})[0] == 303


def test_texts_with_one_anchor_cannot_both_stay(pages: ProposalPages) -> None:
    proposal = create_conflict(pages, "Run ours. {#here}", "Run theirs. {#here}")
    assert 'value="union"' not in pages.get_proposal_page(proposal, "conflicts")
    fields, [id] = read_conflict_form(pages, proposal)
    status, html = send_resolution(pages, proposal, fields | {f"choice-{id}": "union"})
    assert status == 400
    assert "Both versions of the text of 'install' cannot stay" in extract_text(html)


def test_invalid_text_is_refused(pages: ProposalPages) -> None:
    proposal = create_conflict(pages)
    fields, [id] = read_conflict_form(pages, proposal)
    content = "## A heading\n\nWords."
    status, html = send_resolution(
        pages, proposal, fields | {f"choice-{id}": "content", f"content-{id}": content}
    )
    assert status == 400
    assert "must not have headings" in extract_text(html)
    assert f">\n{content}</textarea>" in html


@pytest.mark.parametrize("choice", ["ours", "theirs", "content"])
def test_document_removed_on_one_side_is_resolved(pages: ProposalPages, choice: str) -> None:
    proposal = pages.setup.open("Drop the guide")
    commit_file_to_branch(pages, proposal.content.branch, None)
    commit_file_to_branch(pages, "main", GUIDE.replace("Run it.", "Run theirs."))
    text = extract_text(pages.get_proposal_page(proposal, "conflicts"))
    assert "The whole file" in text
    assert "This side does not have this part" in text
    fields, [id] = read_conflict_form(pages, proposal)
    status, _ = send_resolution(
        pages,
        proposal,
        fields
        | {f"choice-{id}": choice}
        | ({f"content-{id}": "# Guide\n\nNew.\n"} if choice == "content" else {}),
    )
    assert status == 303
    files = pages.setup.repo.git("ls-tree", "--name-only", proposal.content.branch).split()
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
    pages: ProposalPages, base: str, ours: str, theirs: str, kind: str
) -> None:
    def build_text(line: str) -> str:
        return f"---\n{line}\n---\n# N\n" if ":" in line else f"# N\n\n## Tasks\n\n{line}\n"

    pages.setup.repo.commit({"notes.md": build_text(base)})
    proposal = pages.setup.open("Change it")
    commit_file_to_branch(pages, proposal.content.branch, build_text(ours), "notes.md")
    commit_file_to_branch(pages, "main", build_text(theirs), "notes.md")
    html = pages.get_proposal_page(proposal, "conflicts")
    assert kind in extract_text(html)
    assert 'value="union"' not in html
    fields, [id, *_] = read_conflict_form(pages, proposal)
    assert send_resolution(pages, proposal, fields | {f"choice-{id}": "theirs"})[0] == 303


def test_binary_conflict_has_no_text_field(pages: ProposalPages) -> None:
    repo = pages.setup.repo
    repo.commit({"logo.png": b"\x89PNG\0base"})
    proposal = pages.setup.open("Another logo")
    repo.git("switch", "-q", proposal.content.branch)
    repo.commit({"logo.png": b"\x89PNG\0ours"})
    repo.git("switch", "-q", "main")
    repo.commit({"logo.png": b"\x89PNG\0theirs"})
    html = pages.get_proposal_page(proposal, "conflicts")
    assert "bytes of binary data" in extract_text(html)
    assert '<textarea name="content-' not in html
    fields, [id] = read_conflict_form(pages, proposal)
    assert send_resolution(pages, proposal, fields | {f"choice-{id}": "theirs"})[0] == 303


def test_merge_with_conflicts_redirects_to_conflicts_page(pages: ProposalPages) -> None:
    proposal = create_conflict(pages)
    for action in ("refresh", "merge"):
        assert (
            pages.send_form(proposal, action, commit=proposal.tip or "")
            == f"/proposals/{proposal.id}/conflicts"
        )


def test_form_without_commits_merges_nothing(pages: ProposalPages) -> None:
    proposal = create_conflict(pages)
    fields, [id] = read_conflict_form(pages, proposal)
    status, html = send_resolution(
        pages, proposal, {"key": fields["key"], f"choice-{id}": "ours", f"content-{id}": "Kept"}
    )
    assert status == 409
    assert "Kept" in html
    assert pages.reload(proposal).tip == proposal.tip


@pytest.mark.parametrize("is_ended", [True, False], ids=["ended", "sent-before"])
def test_refused_resolution_preserves_the_text(pages: ProposalPages, is_ended: bool) -> None:
    proposal = create_conflict(pages)
    fields, [id] = read_conflict_form(pages, proposal)
    resolution = {**fields, f"choice-{id}": "content", f"content-{id}": "Run both, as I wrote."}
    if is_ended:
        pages.send_form(proposal, "close")
    else:
        assert send_resolution(pages, proposal, {**fields, f"choice-{id}": "ours"})[0] == 303
    status, html = send_resolution(pages, proposal, resolution)
    assert status == 409
    assert "Run both, as I wrote." in html
    assert ("was closed" if is_ended else "was already sent") in extract_text(html)
