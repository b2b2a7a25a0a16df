"""The search engine on Whoosh: the only package that imports `whoosh`.

codec.py   Whoosh's view of our segments
engine.py  the engine: one writer, any number of readers
"""

import warnings

with warnings.catch_warnings():
    # Whoosh 2.7.4 has invalid escape sequences, of which Python warns when it compiles the files.
    warnings.simplefilter("ignore")
    import whoosh.codec.base
    import whoosh.filedb.filestore
    import whoosh.index  # noqa: F401
