"""Calls of each adapter to a started forge of its kind with a real repository."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from docyard.forges.errors import (
    ForgeConflict,
    ForgeDenied,
    ForgeError,
    ForgeNotFound,
    ForgeRefused,
)
from docyard.forges.port import NewPullRequest
from tests.docyard.forges.conftest import Setting
from tests.docyard.forges.local_forge import BOT


def test_opened_pull_request_is_found_by_branch(setting: Setting) -> None:
    branch = setting.branch()
    assert setting.forge.find(branch, "main") is None
    new = setting.open_pull_request(branch)
    assert (new.state, new.head_branch, new.target, new.author) == ("open", branch, "main", BOT)
    assert (new.title, new.body) == ("Say it anew", "Because.\n\n- [x] done")
    assert new.head_sha == setting.bare.git("rev-parse", branch).strip()
    assert new.url.startswith("https://forge.example/ana/")
    assert new.merge_sha is None
    assert new.updated_at.utcoffset() is not None
    pull_request = setting.forge.find(branch, "main")
    assert pull_request is not None
    assert pull_request._replace(mergeable=None) == new._replace(mergeable=None)
    assert setting.forge.find(branch, "other") is None


def test_open_pull_request_beyond_first_page_is_found(setting: Setting) -> None:
    branches = [setting.branch() for _ in range(5)]
    numbers = [setting.open_pull_request(branch).number for branch in branches]
    assert setting.forge.find(branches[0], "main").number == numbers[0]  # type: ignore[union-attr]


def test_last_closed_pull_request_is_found(setting: Setting) -> None:
    branch = setting.branch()
    first = setting.open_pull_request(branch)
    setting.forge.close(first.number)
    second = setting.open_pull_request(branch)
    setting.forge.close(second.number)
    pull_request = setting.forge.find(branch, "main")
    assert pull_request is not None
    assert (pull_request.number, pull_request.state) == (second.number, "closed")


def test_open_pull_request_precedes_newer_closed_one(setting: Setting) -> None:
    branch = setting.branch()
    first = setting.open_pull_request(branch)
    setting.forge.close(first.number)
    second = setting.open_pull_request(branch)
    setting.forge.update(first.number, title="Touched last")
    assert setting.forge.find(branch, "main").number == second.number  # type: ignore[union-attr]


def test_second_pull_request_of_a_branch_is_a_conflict(setting: Setting) -> None:
    pull_request = setting.open_pull_request()
    with pytest.raises((ForgeConflict, ForgeRefused)):
        setting.open_pull_request(pull_request.head_branch)


def test_concurrent_opens_create_one_pull_request(setting: Setting) -> None:
    branch = setting.branch()
    others = [setting.adapter() for _ in range(4)]

    def open_and_report(forge: object) -> str:
        try:
            forge.open(NewPullRequest("Say it", "", branch, "main"))  # type: ignore[attr-defined]
        except (ForgeConflict, ForgeRefused):
            return "conflict"
        return "opened"

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(open_and_report, others)) == ["conflict"] * 3 + ["opened"]
    for other in others:
        other.close_connections()


def test_branch_without_commits_is_refused_with_reason(setting: Setting) -> None:
    setting.bare.git("branch", "-f", "empty", "main")
    with pytest.raises(ForgeRefused, match="No commits between main and empty"):
        setting.open_pull_request("empty")


def test_title_and_body_are_updated_separately(setting: Setting) -> None:
    pull_request = setting.open_pull_request()
    assert setting.forge.update(pull_request.number, title="Another").body == pull_request.body
    changed = setting.forge.update(pull_request.number, body="Otherwise.")
    assert (changed.title, changed.body) == ("Another", "Otherwise.")


def test_close_and_reopen_are_idempotent(setting: Setting) -> None:
    pull_request = setting.open_pull_request()
    assert setting.forge.close(pull_request.number).state == "closed"
    assert setting.forge.close(pull_request.number).state == "closed"
    assert setting.forge.update(pull_request.number, state="open").state == "open"
    assert setting.forge.update(pull_request.number, state="open").state == "open"


def test_pull_request_of_deleted_branch_is_found_but_not_reopened(setting: Setting) -> None:
    result = setting.open_pull_request()
    setting.forge.close(result.number)
    setting.local.state.delete_branch(result.head_branch)
    pull_request = setting.forge.find(result.head_branch, "main")
    assert pull_request is not None
    assert (pull_request.number, pull_request.head_sha) == (result.number, result.head_sha)
    with pytest.raises(ForgeRefused):
        setting.forge.update(result.number, state="open")


def test_unknown_number_raises_not_found(setting: Setting) -> None:
    with pytest.raises(ForgeNotFound):
        setting.forge.get(404)


def test_merged_pull_request_has_its_merge_commit(setting: Setting) -> None:
    pull_request = setting.open_pull_request(setting.branch(file="merged.md"))
    commit = setting.local.state.merge(pull_request.number, None, "Merge it", "ana")
    merged = setting.forge.get(pull_request.number)
    assert (merged.state, merged.merge_sha, merged.head_sha) == ("merged", commit, pull_request.head_sha)
    assert merged.ended_at is not None
    assert setting.forge.find(pull_request.head_branch, "main") == merged


def test_open_pull_requests_are_listed_last_changed_first(setting: Setting) -> None:
    first, second, ended = (setting.open_pull_request(setting.branch()) for _ in range(3))
    setting.forge.close(ended.number)
    setting.local.state.comment(first.number, "bea", "A word.")
    numbers = [item.number for item in setting.forge.list_open("main")]
    assert numbers[:2] == [first.number, second.number]
    assert ended.number not in numbers
    assert setting.forge.list_open("main")[1] == setting.forge.find(second.head_branch, "main")
    assert setting.forge.list_open("other") == ()


def test_conflicting_pull_request_is_not_mergeable(setting: Setting) -> None:
    pull_request = setting.open_pull_request(setting.branch("# Example\n\nTheirs.\n"))
    assert setting.forge.get(pull_request.number).mergeable is True
    setting.commit("main", "# Example\n\nOurs.\n")
    assert setting.forge.get(pull_request.number).mergeable is False


def test_merge_pushed_to_target_is_detected(setting: Setting) -> None:
    pull_request = setting.open_pull_request(setting.branch(file="pushed.md"))
    setting.bare.git("update-ref", "refs/heads/main", _merge(setting, pull_request.head_branch))
    assert setting.forge.get(pull_request.number).state == "merged"


def test_reviews_are_listed_oldest_first(setting: Setting) -> None:
    pull_request = setting.open_pull_request()
    state = setting.local.state
    state.review(pull_request.number, "bea", "changes_requested", "Shorter, please.")
    state.review(pull_request.number, "cid", "commented", "Looking at it.")
    state.review(pull_request.number, "dan", "pending", "A draft")
    approval = state.review(pull_request.number, "eve", "approved", "Good.")
    reviews = setting.forge.list_reviews(pull_request.number)
    decided = [(review.author, review.verdict) for review in reviews if review.verdict != "commented"]
    assert decided == [("bea", "changes_requested"), ("eve", "approved")]
    assert reviews[-1].time == approval.time.replace(microsecond=reviews[-1].time.microsecond)
    assert len({review.id for review in reviews}) == len(reviews)
    if setting.local.kind == "gitlab":  # which has no texts of reviews: they are comments
        assert [review.commit for review in reviews] == [None, None]
        texts = [comment.text for comment in setting.forge.list_comments(pull_request.number)]
        assert "Shorter, please." in texts
    else:
        assert [review.text for review in reviews] == ["Shorter, please.", "Looking at it.", "Good."]
        assert {review.commit for review in reviews} == {pull_request.head_sha}


def test_withdrawn_approval_is_not_listed_as_approval(setting: Setting) -> None:
    pull_request = setting.open_pull_request()
    setting.local.state.review(pull_request.number, "bea", "approved")
    if setting.local.kind == "gitlab":
        setting.local.state.review(pull_request.number, "bea", "dismissed")
        assert setting.forge.list_reviews(pull_request.number) == ()
    else:
        setting.local.state.pull_requests[0].reviews[0].verdict = "dismissed"
        assert [review.verdict for review in setting.forge.list_reviews(pull_request.number)] == ["dismissed"]


def test_only_general_comments_are_listed(setting: Setting) -> None:
    pull_request = setting.open_pull_request()
    setting.forge.comment(pull_request.number, "From docyard.")
    state = setting.local.state
    state.comment(pull_request.number, "bea", "Line\r\nand \x1b[31mline\x00.")
    state.comment(pull_request.number, "cid", "changed the title", by_system=True)
    state.comment(pull_request.number, "dan", "for members", is_internal=True)
    state.comment(pull_request.number, "eve", "on a line", on_line=True)
    state.comment(pull_request.number, "fay", "Last.")
    comments = setting.forge.list_comments(pull_request.number)
    assert [(comment.author, comment.text) for comment in comments] == [
        (BOT, "From docyard."),
        ("bea", "Line\nand [31mline."),
        ("fay", "Last."),
    ]
    assert len({comment.id for comment in comments}) == 3


def test_read_only_token_is_denied_with_fix(setting: Setting) -> None:
    pull_request = setting.open_pull_request()
    reader = setting.adapter(setting.local.reader)
    assert reader.get(pull_request.number).number == pull_request.number
    with pytest.raises(ForgeDenied, match=r"did not permit the request \(status 403\): Resource") as denied:
        reader.comment(pull_request.number, "May I?")
    assert "DOCYARD_FORGE_TOKEN" in denied.value.fix
    reader.close_connections()


def test_invalid_token_is_denied_and_not_shown(setting: Setting) -> None:
    foreign = setting.adapter("expired-9f31ab77")
    with pytest.raises(ForgeDenied, match="rejected the token") as denied:
        foreign.find("docyard/any", "main")
    assert denied.value.details["status"] == 401
    assert "expired-9f31ab77" not in f"{denied.value!r} {denied.value.fix} {denied.value.details}"
    foreign.close_connections()


def test_every_error_has_a_fix(setting: Setting) -> None:
    with pytest.raises(ForgeError) as missing:
        setting.forge.get(404)
    with pytest.raises(ForgeError) as refused:
        setting.open_pull_request("no-such-branch")
    assert missing.value.fix
    assert refused.value.fix


def _merge(setting: Setting, branch: str) -> str:
    git = setting.bare.git
    tree = git("merge-tree", "--write-tree", "main", branch).strip()
    return git("commit-tree", tree, "-p", "main", "-p", branch, "-m", "Merged elsewhere").strip()


@pytest.mark.parametrize("shared_setting", ["gitea"], indirect=True)
def test_open_pull_request_is_found_by_one_call(setting: Setting) -> None:
    branches = [setting.branch() for _ in range(4)]
    for branch in branches:
        setting.open_pull_request(branch)
    setting.local.received.clear()
    assert setting.forge.find(branches[0], "main") is not None
    assert len(setting.local.received) == 1


@pytest.mark.parametrize("branch", ["docyard/héron-#1", "docyard/a&b=c+d", "docyard/50%25"])
def test_branch_with_special_characters_is_found(setting: Setting, branch: str) -> None:
    setting.commit(branch, "Odd.\n", parent="main")
    number = setting.open_pull_request(branch).number
    pull_request = setting.forge.find(branch, "main")
    assert pull_request is not None
    assert (pull_request.number, pull_request.head_branch) == (number, branch)
