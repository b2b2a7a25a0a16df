"""The one door to Whoosh: its schema, its table of contents, and its view of our segments.

Whoosh unpickles what it opens. Only a folder that `index.location` vouches for may be given to this package,
and only files whose checksums are right are opened.
"""

import warnings

with warnings.catch_warnings():
    # Python warns of Whoosh 2.7.4's old spellings whenever it compiles its files.
    warnings.simplefilter("ignore")
    import whoosh.codec.base
    import whoosh.filedb.filestore
    import whoosh.index  # noqa: F401
