"""The search index: derived from Git, and rebuilt from it if it is deleted.

analysis/       text analysis: the raw tokens of a text, and the index terms of each token
artifacts/      artifacts: an index with its documents in a folder, served without a repository
building/       the building of an index: documents in, segments out
comparison.py   the comparison of an index in two storages: lists of sample questions
conditions.py   conditions of a query: the sections that it selects, as a tree of values
cursors.py      cursors: opaque tokens that continue one search, and no other search
documents.py    documents as the index reads them, and section records as it returns them
fences.py       code fences of a section's text, also in lists and quotations
hints.py        hints for empty results: the part of the query that excludes everything, and other queries
link_graph/     the link graph: links between documents at an indexed commit
live.py         the index of a branch, which is opened, updated to the tip, or rebuilt
matches.py      occurrences of a query's terms in a text
operators.py    the operators of queries: prefixes, similar words, fields, dates, AND, OR, NOT and brackets
overlays.py     overlays: indexes of commits other than the tip
passages.py     passages of `get_doc`: a chunk with its neighbours, and its text form with delimiters
phrases.py      exact phrases: consecutive words in the text or the heading of a section
pool.py         a process pool, with a fallback in this process
port.py         the interface of a search engine, and the values that pass through it
postgres/       the storage of indexes in PostgreSQL, which several nodes share
query.py        the query grammar: the text of a query is parsed to a `Query` for an engine
ranking/        the ranking: the best sections for a query, with exact scores
search.py       search at the tip of the branch, after an update of the index, or at another commit
segments/       segments: documents, sections and posting lists as arrays in mapped files
service.py      the search service: search, passages, metadata and links of one workspace
snippets.py     snippets: the excerpt of a section with the most words of the query
source.py       the documents of a commit, and the difference between two commits
sources/        documentation sources: each has an index of its own, and its failure affects no other
spelling.py     spelling: terms that a misspelt word may mean, by edit distance
storage/        files of an index other than segments: location, locks, keys, manifest, metadata, status
vectors/        search by meaning: the vectors of sections, and the nearest sections to a question
whoosh_engine/  the search engine on Whoosh: the only package that imports `whoosh`
"""
