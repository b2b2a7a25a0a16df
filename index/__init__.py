"""The search index: built from Git, and built again from it whenever it is deleted.

analysis/       which words a text is found by
artifacts/      artifacts: an index with its documents in a folder, served without a repository
building/       the building of an index: documents in, segments out
conditions.py   the conditions of a query: which sections it selects
cursors.py      cursors: opaque tokens that continue one search, and only that one
fences.py       where code fences are in a section's text, in lists and quotations too (CommonMark 0.31 …
hints.py        what to say when nothing was found
link_graph/     the link graph: which documents link to which, at an indexed commit
live.py         an index that keeps up with its branch
matches.py      where the terms of a query stand in a text
operators.py    the operators of queries: prefixes, similar words, fields, dates, AND, OR, NOT and brackets
overlays.py     other commits than the tip, to be searched
page.py         a document as an index takes it in, and a section of it as an index gives it back
passages.py     `get_doc`: a chunk by its id, with its neighbours in the file, and the text form with its …
phrases.py      exact phrases: words that follow one another in a section
pool.py         work done block by block in other processes, and here where these fail
port.py         the port to a search engine
query.py        the query grammar: what a person or an agent typed becomes a question to an engine
ranking/        the ranking: the best sections for a query, with exact scores
search.py       a question is answered: from the branch as it is, which is followed first, or from another …
segments/       segments: documents, sections and posting lists as arrays in mapped files
service.py      searching and fetching: the questions that the tools ask of an index
snippets.py     the stretch of a section that shows best why it was found, in its own words and case
source.py       the documents of a commit as pages, read from Git one at a time
spelling.py     which terms a misspelt word may stand for, as far as letters go
status.py       what there is of an index, for a person to know; found without changing, following or …
storage/        the files of an index other than segments
whoosh_engine/  the search engine on Whoosh: the only package that imports `whoosh`
"""
