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
    found = setting.forge.find(branch, "main")
    assert found is not None
    assert found._replace(mergeable=None) == new._replace(mergeable=None)
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
    found = setting.forge.find(branch, "main")
    assert found is not None
    assert (found.number, found.state) == (second.number, "closed")


def test_open_pull_request_precedes_newer_closed_one(setting: Setting) -> None:
    branch = setting.branch()
    first = setting.open_pull_request(branch)
    setting.forge.close(first.number)
    second = setting.open_pull_request(branch)
    setting.forge.update(first.number, title="Touched last")
    assert setting.forge.find(branch, "main").number == second.number  # type: ignore[union-attr]


def test_second_pull_request_of_a_branch_is_a_conflict(setting: Setting) -> None:
    one = setting.open_pull_request()
    with pytest.raises((ForgeConflict, ForgeRefused)):
        setting.open_pull_request(one.head_branch)


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
    one = setting.open_pull_request()
    assert setting.forge.update(one.number, title="Another").body == one.body
    changed = setting.forge.update(one.number, body="Otherwise.")
    assert (changed.title, changed.body) == ("Another", "Otherwise.")


def test_close_and_reopen_are_idempotent(setting: Setting) -> None:
    one = setting.open_pull_request()
    assert setting.forge.close(one.number).state == "closed"
    assert setting.forge.close(one.number).state == "closed"
    assert setting.forge.update(one.number, state="open").state == "open"
    assert setting.forge.update(one.number, state="open").state == "open"


def test_pull_request_of_deleted_branch_is_found_but_not_reopened(setting: Setting) -> None:
    one = setting.open_pull_request()
    setting.forge.close(one.number)
    setting.local.state.delete_branch(one.head_branch)
    found = setting.forge.find(one.head_branch, "main")
    assert found is not None
    assert (found.number, found.head_sha) == (one.number, one.head_sha)
    with pytest.raises(ForgeRefused):
        setting.forge.update(one.number, state="open")


def test_unknown_number_raises_not_found(setting: Setting) -> None:
    with pytest.raises(ForgeNotFound):
        setting.forge.get(404)


def test_merged_pull_request_has_its_merge_commit(setting: Setting) -> None:
    one = setting.open_pull_request(setting.branch(file="merged.md"))
    commit = setting.local.state.merge(one.number, None, "Merge it", "ana")
    merged = setting.forge.get(one.number)
    assert (merged.state, merged.merge_sha, merged.head_sha) == ("merged", commit, one.head_sha)
    assert merged.ended_at is not None
    assert setting.forge.find(one.head_branch, "main") == merged


def test_open_pull_requests_are_listed_last_changed_first(setting: Setting) -> None:
    first, second, ended = (setting.open_pull_request(setting.branch()) for _ in range(3))
    setting.forge.close(ended.number)
    setting.local.state.comment(first.number, "bea", "A word.")
    numbers = [one.number for one in setting.forge.list_open("main")]
    assert numbers[:2] == [first.number, second.number]
    assert ended.number not in numbers
    assert setting.forge.list_open("main")[1] == setting.forge.find(second.head_branch, "main")
    assert setting.forge.list_open("other") == ()


def test_conflicting_pull_request_is_not_mergeable(setting: Setting) -> None:
    one = setting.open_pull_request(setting.branch("# Example\n\nTheirs.\n"))
    assert setting.forge.get(one.number).mergeable is True
    setting.commit("main", "# Example\n\nOurs.\n")
    assert setting.forge.get(one.number).mergeable is False


def test_merge_pushed_to_target_is_detected(setting: Setting) -> None:
    one = setting.open_pull_request(setting.branch(file="pushed.md"))
    setting.bare.git("update-ref", "refs/heads/main", _merge(setting, one.head_branch))
    assert setting.forge.get(one.number).state == "merged"


def test_reviews_are_listed_oldest_first(setting: Setting) -> None:
    one = setting.open_pull_request()
    state = setting.local.state
    state.review(one.number, "bea", "changes_requested", "Shorter, please.")
    state.review(one.number, "cid", "commented", "Looking at it.")
    state.review(one.number, "dan", "pending", "A draft")
    approval = state.review(one.number, "eve", "approved", "Good.")
    found = setting.forge.reviews(one.number)
    decided = [(review.author, review.verdict) for review in found if review.verdict != "commented"]
    assert decided == [("bea", "changes_requested"), ("eve", "approved")]
    assert found[-1].time == approval.time.replace(microsecond=found[-1].time.microsecond)
    assert len({review.id for review in found}) == len(found)
    if setting.local.kind == "gitlab":  # which has no texts of reviews: they are comments
        assert [review.commit for review in found] == [None, None]
        texts = [comment.text for comment in setting.forge.comments(one.number)]
        assert "Shorter, please." in texts
    else:
        assert [review.text for review in found] == ["Shorter, please.", "Looking at it.", "Good."]
        assert {review.commit for review in found} == {one.head_sha}


def test_withdrawn_approval_is_not_listed_as_approval(setting: Setting) -> None:
    one = setting.open_pull_request()
    setting.local.state.review(one.number, "bea", "approved")
    if setting.local.kind == "gitlab":
        setting.local.state.review(one.number, "bea", "dismissed")
        assert setting.forge.reviews(one.number) == ()
    else:
        setting.local.state.pull_requests[0].reviews[0].verdict = "dismissed"
        assert [review.verdict for review in setting.forge.reviews(one.number)] == ["dismissed"]


def test_only_general_comments_are_listed(setting: Setting) -> None:
    one = setting.open_pull_request()
    setting.forge.comment(one.number, "From docyard.")
    state = setting.local.state
    state.comment(one.number, "bea", "Line\r\nand \x1b[31mline\x00.")
    state.comment(one.number, "cid", "changed the title", by_system=True)
    state.comment(one.number, "dan", "for members", is_internal=True)
    state.comment(one.number, "eve", "on a line", on_line=True)
    state.comment(one.number, "fay", "Last.")
    found = setting.forge.comments(one.number)
    assert [(comment.author, comment.text) for comment in found] == [
        (BOT, "From docyard."),
        ("bea", "Line\nand [31mline."),
        ("fay", "Last."),
    ]
    assert len({comment.id for comment in found}) == 3


def test_read_only_token_is_denied_with_fix(setting: Setting) -> None:
    one = setting.open_pull_request()
    reader = setting.adapter(setting.local.reader)
    assert reader.get(one.number).number == one.number
    with pytest.raises(ForgeDenied, match=r"did not permit the request \(status 403\): Resource") as denied:
        reader.comment(one.number, "May I?")
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
    found = setting.forge.find(branch, "main")
    assert found is not None
    assert (found.number, found.head_branch) == (number, branch)
