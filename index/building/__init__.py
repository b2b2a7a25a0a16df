"""The building of an index: documents in, segments out.

build.py       the build of segments from a commit, in several processes if that is faster
builder.py     the builder of segments, a few documents at a time
inversion.py   inversion: documents become posting lists
vocabulary.py  the vocabulary: each distinct raw token is analysed once
worker.py      a child process that builds segments of documents
"""
