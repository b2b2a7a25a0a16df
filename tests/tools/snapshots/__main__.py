"""`python -m tests.tools.snapshots`: write the snapshots."""

from tests.tools.snapshots import write_snapshots

write_snapshots()
