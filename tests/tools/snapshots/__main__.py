"""`python -m tests.tools.snapshots`: write the snapshots anew."""

from tests.tools.snapshots import write

write()
