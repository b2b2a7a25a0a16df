"""A forge to test against: the three APIs as they are documented, over a real bare repository.

Nothing in it is scripted: branches are read from Git and merges are made by Git, reviews and comments are
what a test has said there, and it fails as a test asks it to.
"""

from tests.docyard.forges.local_forge.faults import Fault
from tests.docyard.forges.local_forge.server import BOT, PASSWORD, LocalForge, local_forge

__all__ = ["BOT", "PASSWORD", "Fault", "LocalForge", "local_forge"]
