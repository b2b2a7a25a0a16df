"""Clients of the forges on which people review: GitHub, GitLab, and Gitea or Forgejo.

A forge is a module that does what `port.py` lists.

    announcements.py      A submitted proposal becomes a pull request, if the settings ask for it
    choice.py             which forge a workspace's proposals go to
    errors.py             how a forge may fail, as errors that say what to do next
    exchanges.py          exchanges that webhooks ask for
    gitea.py              pull requests of Gitea and Forgejo, Codeberg among them (API v1)
    github.py             pull requests of GitHub and GitHub Enterprise Server (REST API, version …
    gitlab.py             merge requests of GitLab (REST API v4)
    place.py              where a repository's forge is, told from Git's remote and from whoever starts …
    port.py               what any forge does for a proposal
    pull_request_sync.py  what happens to a pull request on its forge happens to its proposal
    pull_requests.py      A proposal becomes a pull request
    pulls_api.py          the REST calls on pull requests that GitHub, Gitea and Forgejo have in common
    relay.py              what was said of a pull request on a forge, as words of its proposal here
    rounds.py             one round on the forge after each exchange with the remote, whoever asks for it, …
    statuses.py           what an answer's status means, and in how long it may be asked again (RFC 9110 …
    transport.py          speaking with a forge over HTTP
    webhooks.py           what a forge tells of unasked
"""
