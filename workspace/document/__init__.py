"""Documents as values: headings, sections, tasks, addresses and the splices that edit them.

addresses.py        addresses of documents, sections and tasks, and their resolver
coverage.py         the files that a document or section describes
document.py         the document model
fields.py           fields: list items that begin with a name and a colon
heading_splices.py  splices that change the level and the anchors of headings
headings.py         headings with their anchors, and the layout of a document
section_text.py     the text of a section for comparisons
sections.py         sections and their addresses
splices.py          edits as splices, and the check of their result
tasks.py            tasks and their fields
v0_1_addresses.py   addresses that Docyard 0.1.0 derived from headings with attribute lists
walkthrough.py      walkthroughs and their steps
"""
