"""Checks over folders of real Markdown.

check_report.py     the report of a check over a folder
documents.py        checks of the document model and the edits
links.py            comparison of the broken links of `docyard validate` with those of another checker
marked_sections.py  content and link targets of a folder, identified independently of moves and renames
merge_scripts.py    random scripts of operations on a document, each with the units that it touches
merges.py           checks of the merge of documents
moves.py            checks that moves and renames preserve every link
proposals.py        times of views and merges among many open proposals
reading_tools.py    checks of outlines and sections of the reading tools, and the estimate of tokens
refs.py             comparison of searches at old commits with searches of indexes built from these commits
summaries.py        checks of summaries of long documents
"""
