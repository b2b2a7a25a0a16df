"""A forge for tests: a server with the API of GitHub, GitLab or Gitea, and a real bare repository.

Git provides the branches and merges. Tests add reviews, comments and faults.
"""

from tests.docyard.forges.local_forge.faults import Fault
from tests.docyard.forges.local_forge.server import BOT, FULL_TOKEN, LocalForge, start_local_forge

__all__ = ["BOT", "FULL_TOKEN", "Fault", "LocalForge", "start_local_forge"]
