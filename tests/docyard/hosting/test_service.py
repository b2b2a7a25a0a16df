"""The credentials with which a server of organizations clones."""

from __future__ import annotations

from docyard.hosting.service import restrict_access
from tests.loops import loop_over
from workspace.git.remotes.credentials import Access


@loop_over(
    ("url_hosts", "is_used"),
    [
        ((), True),
        (("github.com/acme", "GitHub.com/{organization}"), True),
        (("github.com/acme", "git.globex.example"), False),
        (("github.com", "github.com:8443"), False),
        (("git.{organization}.example",), False),
    ],
)
def test_token_of_no_host_is_sent_to_a_single_host_only(url_hosts: tuple[str, ...], is_used: bool) -> None:
    access = restrict_access(Access(token="t", forge_tokens={"github.com": "g"}), url_hosts)
    assert access.token == ("t" if is_used else None)
    assert access.forge_tokens == {"github.com": "g"}
