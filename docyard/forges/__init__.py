"""The forges on which people review: GitHub, GitLab, and Gitea or Forgejo. `port.py` says what each does."""
