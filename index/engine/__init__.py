"""The one door to Whoosh: an index folder is created, opened, written and read here, and nowhere else.

An index is a Whoosh index with one weighted text field, three exact fields to filter by, and one small stored
record for each chunk. What it stands for, its `State`, is a document of its own in the same index, so it
moves with the chunks in one atomic step, the replacing of the manifest (`index.integrity`). Whoosh's codec
gives the posting lists; scoring them is the work of `index.ranking`.

Whoosh unpickles what it opens. Only a folder that `index.location` vouches for may be given to this package,
and only files whose checksums are right are opened.
"""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # Python warns of Whoosh 2.7.4's old spellings whenever it compiles its files.
    warnings.simplefilter("ignore")
    import whoosh.codec.whoosh3
    import whoosh.filedb.filestore
    import whoosh.index
    import whoosh.reading
    import whoosh.writing  # noqa: F401

from index.engine.folder import Index, Writing
from index.engine.segment import Segment

__all__ = ["Index", "Segment", "Writing"]
