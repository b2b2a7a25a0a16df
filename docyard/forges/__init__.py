"""Clients of the forges on which people review: GitHub, GitLab, and Gitea or Forgejo.

Each forge is a module with a class that implements the protocol of `port.py`.

    errors.py               the errors of forges, each with a fix
    event_conversion.py     the conversion of reviews and comments on a forge to events of a proposal
    forge_checker.py        the check of the pull requests on the forge after a fetch
    forge_repository.py     the repository on a forge, from Git's remote and the environment
    gitea.py                pull requests of Gitea and Forgejo, Codeberg among them (API v1)
    github.py               pull requests of GitHub and GitHub Enterprise Server (REST API 2022-11-28)
    gitlab.py               merge requests of GitLab (REST API v4)
    kinds.py                the kinds of forge, and their display names
    open_forge.py           the forge of a workspace, and the class of each kind of forge
    port.py                 the interface of a forge
    pull_request_report.py  the report on a submitted proposal's pull request
    pull_request_sync.py    the import of a pull request's reviews, comments and state into its proposal
    pull_requests.py        opening, updating and describing the pull request of a proposal
    pulls_api.py            the REST calls on pull requests that GitHub, Gitea and Forgejo have in common
    report_comment.py       a report as one comment on a pull request, which later reports replace
    statuses.py             the meaning of response statuses, and their retry delays (RFC 9110 §10.2.3, §15)
    transport.py            HTTP calls to a forge
    webhooks/               the webhooks of a forge
"""
