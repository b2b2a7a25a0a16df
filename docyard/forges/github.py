"""Pull requests of GitHub and GitHub Enterprise Server (REST API, version 2022-11-28)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from docyard.forges.forge_repository import ForgeRepository
from docyard.forges.port import ForgeReview, PullRequest, ReviewVerdict, select_pull_request
from docyard.forges.pulls_api import PullsApi, parse_review
from docyard.forges.transport import Fields, TransportLimits

TITLE = "GitHub"
_PAGE_SIZE = 100
_VERDICTS: dict[str, ReviewVerdict] = {
    "APPROVED": "approved",
    "CHANGES_REQUESTED": "changes_requested",
    "COMMENTED": "commented",
    "DISMISSED": "dismissed",
}


class GitHub(PullsApi):
    """A repository on GitHub, accessed with a token."""

    name: ClassVar[str] = "github"
    _title = TITLE
    _page_query: ClassVar[dict[str, Any]] = {"per_page": _PAGE_SIZE}
    _comments_page_query = _page_query

    def __init__(self, repository: ForgeRepository, limits: TransportLimits) -> None:
        headers = {
            "Authorization": f"Bearer {repository.token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        super().__init__(repository, limits, headers)

    def find(self, branch: str, target: str) -> PullRequest | None:
        """Return the pull request of a branch: the open one, else the one that was changed last."""
        return select_pull_request(
            self._list_pull_requests("all", target, head=f"{self._owner}:{branch}"), branch, target
        )

    def list_open(self, target: str) -> tuple[PullRequest, ...]:
        """Return the open pull requests into a target, the last changed first; at most 2,000."""
        return tuple(self._list_pull_requests("open", target))

    def _list_pull_requests(self, state: str, target: str, **query: str) -> Iterator[PullRequest]:
        order = {"sort": "updated", "direction": "desc"}
        entries = self._http.get_list(
            f"{self._repo_path}/pulls", state=state, base=target, per_page=_PAGE_SIZE, **order, **query
        )
        all_fields = (Fields(TITLE, item) for item in entries)
        return (self._parse_pull_request(fields) for fields in all_fields if not _is_from_fork(fields))

    def _is_merged(self, fields: Fields) -> bool:
        return fields.has("merged_at")

    def _read_branch(self, head: Fields) -> str:
        return head.line("ref")

    def _parse_review(self, fields: Fields) -> ForgeReview | None:
        """Return a review; None if it is a draft."""
        verdict = _VERDICTS.get(fields.line("state"))
        return parse_review(fields, verdict) if verdict is not None and fields.has("submitted_at") else None


def _is_from_fork(fields: Fields) -> bool:
    """Return True if a pull request comes from another repository; False if its head is deleted."""
    head, base = fields.nested("head"), fields.nested("base")
    if not head.has("repo") or not base.has("repo"):
        return False
    return head.nested("repo").number("id") != base.nested("repo").number("id")
