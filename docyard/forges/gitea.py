"""Pull requests of Gitea and Forgejo, Codeberg among them (API v1)."""

from __future__ import annotations

from typing import Any, ClassVar
from urllib.parse import quote

from docyard.forges.errors import ForgeNotFound
from docyard.forges.forge_repository import ForgeRepository
from docyard.forges.port import ForgeReview, PullRequest, ReviewVerdict, select_pull_request
from docyard.forges.pulls_api import PullsApi, parse_review
from docyard.forges.transport import Fields, TransportLimits

TITLE = "Gitea"
_PAGE_SIZE = 50  # the default maximum of a server
_VERDICTS: dict[str, ReviewVerdict] = {
    "APPROVED": "approved",
    "REQUEST_CHANGES": "changes_requested",
    "COMMENT": "commented",
}


class Gitea(PullsApi):
    """A repository on a Gitea or Forgejo server, accessed with a token."""

    name: ClassVar[str] = "gitea"
    _title = TITLE
    _page_query: ClassVar[dict[str, Any]] = {"limit": _PAGE_SIZE}
    _comments_page_query: ClassVar[dict[str, Any]] = {}  # this list has no pages and no limit

    def __init__(self, repository: ForgeRepository, limits: TransportLimits) -> None:
        headers = {"Authorization": f"token {repository.token}", "Accept": "application/json"}
        super().__init__(repository, limits, headers)

    def find(self, branch: str, target: str) -> PullRequest | None:
        """Return the pull request of a branch: the open one, else one that has ended.

        The query by both branches returns one pull request, which may have ended. Old versions lack this
        query, and not every version filters a list by branch, so the open pull requests are searched too.
        """
        branches = f"{quote(target, safe='')}/{quote(branch, safe='/')}"
        try:
            pull_request = select_pull_request(
                [self._parse_response(self._http.get(f"{self._repo_path}/pulls/{branches}"))], branch, target
            )
        except ForgeNotFound:
            pull_request = None
        if pull_request is not None and pull_request.state == "open":
            return pull_request
        return select_pull_request(self.list_open(target), branch, target) or pull_request

    def list_open(self, target: str) -> tuple[PullRequest, ...]:
        """Return the open pull requests into a target, the last changed first.

        Of the open pull requests into all targets, only the 1,000 that changed last are read.
        """
        items = self._http.get_list(
            f"{self._repo_path}/pulls", state="open", sort="recentupdate", limit=_PAGE_SIZE
        )
        all_fields = (Fields(TITLE, item) for item in items)
        pull_requests = (
            self._parse_pull_request(fields) for fields in all_fields if not _is_from_fork(fields)
        )
        return tuple(pull_request for pull_request in pull_requests if pull_request.target == target)

    def _is_merged(self, fields: Fields) -> bool:
        return fields.flag("merged") is True

    def _read_branch(self, head: Fields) -> str:
        # For a deleted branch, `ref` is refs/pull/N/head, and `label` its former name.
        ref = head.line("ref")
        return head.line("label") if ref.startswith("refs/pull/") and head.has("label") else ref

    def _parse_review(self, fields: Fields) -> ForgeReview | None:
        """Return a review; None if it is a draft or a request for a review."""
        verdict = _VERDICTS.get(fields.line("state"))
        if verdict is None:
            return None
        return parse_review(fields, "dismissed" if fields.flag("dismissed") else verdict)


def _is_from_fork(fields: Fields) -> bool:
    head, base = fields.nested("head"), fields.nested("base")
    if not head.has("repo_id") or not base.has("repo_id"):
        return False
    return head.number("repo_id") != base.number("repo_id")
