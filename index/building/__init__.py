"""The building of an index: documents in, segments out.

build.py       A commit's documents become segments, in several processes where that is quicker
builder.py     pages become segments, a few at a time, so that memory stays bounded however large a …
inversion.py   pages go in, posting lists come out
vocabulary.py  each different raw token is analysed once
worker.py      another process that makes segments of the documents that it is handed, block by block
"""
