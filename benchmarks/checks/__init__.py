"""Checks over folders of real Markdown.

census.py         content and link targets of a folder, identified independently of moves and renames
documents.py      checks the document model and the edits over a folder of real Markdown
findings.py       the report of a check over a folder
links.py          compares the links that `docyard validate` calls broken with those of an independent …
merge_scripts.py  random scripts of operations on one document, each with the units that it touches
merges.py         checks the merge of documents, over a folder of real Markdown
moves.py          checks that moves and renames preserve every link, over a folder of real Markdown
proposals.py      measures many open proposals, over a folder of real Markdown
reading_tools.py  checks outlines and sections of the reading tools, and the estimate of tokens
refs.py           checks that a search at an old commit equals that of an index built from that commit alone
summaries.py      checks summaries of long documents over a folder of real Markdown
"""
