"""Checks over folders of real Markdown.

census.py         what a folder holds and where its links lead, told so that no move and no rename changes …
documents.py      checks the document model and the edits over a folder of real Markdown
findings.py       the report of a check over a folder
links.py          compares the links that `docyard validate` calls broken with those of an independent …
merge_scripts.py  random scripts of operations on one document, each with the units of it that it touches
merges.py         checks the merge of documents, over a folder of real Markdown
moves.py          checks that moves and renames keep every link, over a folder of real Markdown
proposals.py      measures proposals: many that are open at once, over a folder of real Markdown
reading.py        checks what the reading tools say of a folder of real Markdown, and measures the …
refs.py           checks that a search at an old commit gives the lists of an index that was built from …
summaries.py      checks summaries of long documents over a folder of real Markdown
"""
