"""The client for each kind of forge, called against a local forge with a real repository."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from docyard.forges.errors import (
    ForgeAccessDenied,
    ForgeConflict,
    ForgeError,
    ForgeNotFound,
    ForgeRequestRejected,
)
from docyard.forges.port import NewPullRequest
from tests.docyard.forges.conftest import ForgeClientSetup
from tests.docyard.forges.local_forge import BOT


def test_opened_pull_request_is_found_by_branch(forge_setup: ForgeClientSetup) -> None:
    branch = forge_setup.create_branch()
    assert forge_setup.forge.find(branch, "main") is None
    opened_request = forge_setup.open_pull_request(branch)
    assert (
        opened_request.state,
        opened_request.head_branch,
        opened_request.target,
        opened_request.author,
    ) == ("open", branch, "main", BOT)
    assert (opened_request.title, opened_request.body) == ("Rewrite the text", "Because.\n\n- [x] done")
    assert opened_request.head_sha == forge_setup.bare_repo.git("rev-parse", branch).strip()
    assert opened_request.url.startswith("https://forge.example/ana/")
    assert opened_request.merge_sha is None
    assert opened_request.updated_at.utcoffset() is not None
    found_request = forge_setup.forge.find(branch, "main")
    assert found_request is not None
    assert found_request._replace(mergeable=None) == opened_request._replace(mergeable=None)
    assert forge_setup.forge.find(branch, "other") is None


def test_open_pull_request_beyond_first_page_is_found(forge_setup: ForgeClientSetup) -> None:
    branches = [forge_setup.create_branch() for _ in range(5)]
    numbers = [forge_setup.open_pull_request(branch).number for branch in branches]
    assert forge_setup.forge.find(branches[0], "main").number == numbers[0]  # type: ignore[union-attr]


def test_last_closed_pull_request_is_found(forge_setup: ForgeClientSetup) -> None:
    branch = forge_setup.create_branch()
    first_request = forge_setup.open_pull_request(branch)
    forge_setup.forge.close(first_request.number)
    second_request = forge_setup.open_pull_request(branch)
    forge_setup.forge.close(second_request.number)
    pull_request = forge_setup.forge.find(branch, "main")
    assert pull_request is not None
    assert (pull_request.number, pull_request.state) == (second_request.number, "closed")


def test_open_pull_request_precedes_newer_closed_one(forge_setup: ForgeClientSetup) -> None:
    branch = forge_setup.create_branch()
    first_request = forge_setup.open_pull_request(branch)
    forge_setup.forge.close(first_request.number)
    second_request = forge_setup.open_pull_request(branch)
    forge_setup.forge.update(first_request.number, title="Changed last")
    assert forge_setup.forge.find(branch, "main").number == second_request.number  # type: ignore[union-attr]


def test_second_pull_request_of_branch_raises_conflict(forge_setup: ForgeClientSetup) -> None:
    pull_request = forge_setup.open_pull_request()
    with pytest.raises((ForgeConflict, ForgeRequestRejected)):
        forge_setup.open_pull_request(pull_request.head_branch)


def test_concurrent_opens_create_one_pull_request(forge_setup: ForgeClientSetup) -> None:
    branch = forge_setup.create_branch()
    clients = [forge_setup.create_client() for _ in range(4)]

    def open_concurrently(forge: object) -> str:
        try:
            forge.open(NewPullRequest("Rewrite", "", branch, "main"))  # type: ignore[attr-defined]
        except (ForgeConflict, ForgeRequestRejected):
            return "conflict"
        return "opened"

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(open_concurrently, clients)) == ["conflict"] * 3 + ["opened"]
    for client in clients:
        client.close_connections()


def test_branch_without_commits_is_refused_with_reason(forge_setup: ForgeClientSetup) -> None:
    forge_setup.bare_repo.git("branch", "-f", "empty", "main")
    with pytest.raises(ForgeRequestRejected, match="No commits between main and empty"):
        forge_setup.open_pull_request("empty")


def test_title_and_body_are_updated_separately(forge_setup: ForgeClientSetup) -> None:
    pull_request = forge_setup.open_pull_request()
    assert forge_setup.forge.update(pull_request.number, title="Another").body == pull_request.body
    changed_request = forge_setup.forge.update(pull_request.number, body="Other text.")
    assert (changed_request.title, changed_request.body) == ("Another", "Other text.")


def test_close_and_reopen_are_idempotent(forge_setup: ForgeClientSetup) -> None:
    pull_request = forge_setup.open_pull_request()
    assert forge_setup.forge.close(pull_request.number).state == "closed"
    assert forge_setup.forge.close(pull_request.number).state == "closed"
    assert forge_setup.forge.update(pull_request.number, state="open").state == "open"
    assert forge_setup.forge.update(pull_request.number, state="open").state == "open"


def test_pull_request_of_deleted_branch_is_found_but_not_reopened(forge_setup: ForgeClientSetup) -> None:
    opened_request = forge_setup.open_pull_request()
    forge_setup.forge.close(opened_request.number)
    forge_setup.local_forge.state.delete_branch(opened_request.head_branch)
    found_request = forge_setup.forge.find(opened_request.head_branch, "main")
    assert found_request is not None
    assert (found_request.number, found_request.head_sha) == (opened_request.number, opened_request.head_sha)
    with pytest.raises(ForgeRequestRejected):
        forge_setup.forge.update(opened_request.number, state="open")


def test_unknown_number_raises_not_found(forge_setup: ForgeClientSetup) -> None:
    with pytest.raises(ForgeNotFound):
        forge_setup.forge.get(404)


def test_merged_pull_request_has_its_merge_commit(forge_setup: ForgeClientSetup) -> None:
    pull_request = forge_setup.open_pull_request(forge_setup.create_branch(file="merged.md"))
    commit = forge_setup.local_forge.state.merge(pull_request.number, None, "Merge it", "ana")
    merged_request = forge_setup.forge.get(pull_request.number)
    assert (merged_request.state, merged_request.merge_sha, merged_request.head_sha) == (
        "merged",
        commit,
        pull_request.head_sha,
    )
    assert merged_request.ended_at is not None
    assert forge_setup.forge.find(pull_request.head_branch, "main") == merged_request


def test_open_pull_requests_are_listed_last_changed_first(forge_setup: ForgeClientSetup) -> None:
    first_request, second_request, closed_request = (
        forge_setup.open_pull_request(forge_setup.create_branch()) for _ in range(3)
    )
    forge_setup.forge.close(closed_request.number)
    forge_setup.local_forge.state.comment(first_request.number, "bea", "A comment.")
    numbers = [pull_request.number for pull_request in forge_setup.forge.list_open("main")]
    assert numbers[:2] == [first_request.number, second_request.number]
    assert closed_request.number not in numbers
    assert forge_setup.forge.list_open("main")[1] == forge_setup.forge.find(
        second_request.head_branch, "main"
    )
    assert forge_setup.forge.list_open("other") == ()


def test_conflicting_pull_request_is_not_mergeable(forge_setup: ForgeClientSetup) -> None:
    pull_request = forge_setup.open_pull_request(forge_setup.create_branch("# Example\n\nTheir text.\n"))
    assert forge_setup.forge.get(pull_request.number).mergeable is True
    forge_setup.commit("main", "# Example\n\nOur text.\n")
    assert forge_setup.forge.get(pull_request.number).mergeable is False


def test_merge_pushed_to_target_is_detected(forge_setup: ForgeClientSetup) -> None:
    pull_request = forge_setup.open_pull_request(forge_setup.create_branch(file="pushed.md"))
    forge_setup.bare_repo.git(
        "update-ref", "refs/heads/main", _create_merge(forge_setup, pull_request.head_branch)
    )
    assert forge_setup.forge.get(pull_request.number).state == "merged"


def test_reviews_are_listed_oldest_first(forge_setup: ForgeClientSetup) -> None:
    pull_request = forge_setup.open_pull_request()
    state = forge_setup.local_forge.state
    state.review(pull_request.number, "bea", "changes_requested", "Shorter, please.")
    state.review(pull_request.number, "cid", "commented", "Looking at it.")
    state.review(pull_request.number, "dan", "pending", "A draft")
    approval = state.review(pull_request.number, "eve", "approved", "Good.")
    reviews = forge_setup.forge.list_reviews(pull_request.number)
    verdicts = [(review.author, review.verdict) for review in reviews if review.verdict != "commented"]
    assert verdicts == [("bea", "changes_requested"), ("eve", "approved")]
    assert reviews[-1].time == approval.time.replace(microsecond=reviews[-1].time.microsecond)
    assert len({review.id for review in reviews}) == len(reviews)
    if forge_setup.local_forge.kind == "gitlab":  # GitLab has no texts of reviews; the texts are comments
        assert [review.commit for review in reviews] == [None, None]
        texts = [comment.text for comment in forge_setup.forge.list_comments(pull_request.number)]
        assert "Shorter, please." in texts
    else:
        assert [review.text for review in reviews] == ["Shorter, please.", "Looking at it.", "Good."]
        assert {review.commit for review in reviews} == {pull_request.head_sha}


def test_withdrawn_approval_is_not_listed_as_approval(forge_setup: ForgeClientSetup) -> None:
    pull_request = forge_setup.open_pull_request()
    forge_setup.local_forge.state.review(pull_request.number, "bea", "approved")
    if forge_setup.local_forge.kind == "gitlab":
        forge_setup.local_forge.state.review(pull_request.number, "bea", "dismissed")
        assert forge_setup.forge.list_reviews(pull_request.number) == ()
    else:
        forge_setup.local_forge.state.pull_requests[0].reviews[0].verdict = "dismissed"
        assert [review.verdict for review in forge_setup.forge.list_reviews(pull_request.number)] == [
            "dismissed"
        ]


def test_only_general_comments_are_listed(forge_setup: ForgeClientSetup) -> None:
    pull_request = forge_setup.open_pull_request()
    forge_setup.forge.comment(pull_request.number, "From docyard.")
    state = forge_setup.local_forge.state
    state.comment(pull_request.number, "bea", "Line\r\nand \x1b[31mline\x00.")
    state.comment(pull_request.number, "cid", "changed the title", by_system=True)
    state.comment(pull_request.number, "dan", "for members", is_internal=True)
    state.comment(pull_request.number, "eve", "on a line", on_line=True)
    state.comment(pull_request.number, "fay", "Last.")
    comments = forge_setup.forge.list_comments(pull_request.number)
    assert [(comment.author, comment.text) for comment in comments] == [
        (BOT, "From docyard."),
        ("bea", "Line\nand [31mline."),
        ("fay", "Last."),
    ]
    assert len({comment.id for comment in comments}) == 3


def test_read_only_token_is_denied_with_fix(forge_setup: ForgeClientSetup) -> None:
    pull_request = forge_setup.open_pull_request()
    reader = forge_setup.create_client(forge_setup.local_forge.read_only_token)
    assert reader.get(pull_request.number).number == pull_request.number
    with pytest.raises(ForgeAccessDenied, match=r"did not permit the request \(status 403\)") as error:
        reader.comment(pull_request.number, "May I?")
    assert "DOCYARD_FORGE_TOKEN" in error.value.fix
    reader.close_connections()


def test_invalid_token_is_denied_and_not_shown(forge_setup: ForgeClientSetup) -> None:
    client = forge_setup.create_client("expired-9f31ab77")
    with pytest.raises(ForgeAccessDenied, match="rejected the token") as error:
        client.find("docyard/any", "main")
    assert error.value.details["status"] == 401
    assert "expired-9f31ab77" not in f"{error.value!r} {error.value.fix} {error.value.details}"
    client.close_connections()


def test_missing_and_refused_pull_requests_have_a_fix(forge_setup: ForgeClientSetup) -> None:
    with pytest.raises(ForgeError) as missing_error:
        forge_setup.forge.get(404)
    with pytest.raises(ForgeError) as refused_error:
        forge_setup.open_pull_request("no-such-branch")
    assert missing_error.value.fix
    assert refused_error.value.fix


def _create_merge(forge_setup: ForgeClientSetup, branch: str) -> str:
    git = forge_setup.bare_repo.git
    tree = git("merge-tree", "--write-tree", "main", branch).strip()
    return git("commit-tree", tree, "-p", "main", "-p", branch, "-m", "Merged elsewhere").strip()


@pytest.mark.parametrize("shared_forge_setup", ["gitea"], indirect=True)
def test_open_pull_request_is_found_by_one_request(forge_setup: ForgeClientSetup) -> None:
    branches = [forge_setup.create_branch() for _ in range(4)]
    for branch in branches:
        forge_setup.open_pull_request(branch)
    forge_setup.local_forge.requests.clear()
    assert forge_setup.forge.find(branches[0], "main") is not None
    assert len(forge_setup.local_forge.requests) == 1


@pytest.mark.parametrize("branch", ["docyard/héron-#1", "docyard/a&b=c+d", "docyard/50%25"])
def test_branch_with_special_characters_is_found(forge_setup: ForgeClientSetup, branch: str) -> None:
    forge_setup.commit(branch, "Text.\n", parent="main")
    number = forge_setup.open_pull_request(branch).number
    pull_request = forge_setup.forge.find(branch, "main")
    assert pull_request is not None
    assert (pull_request.number, pull_request.head_branch) == (number, branch)
