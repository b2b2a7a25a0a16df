"""Documents as values: headings, sections, tasks, addresses and the splices that edit them.

addresses.py          addresses
document.py           the document model
earlier_addresses.py  addresses that Docyard 0.1.0 derived from headings whose attribute lists it took …
heading_text.py       headings written anew
headings.py           headings as sections begin with them
section_text.py       the text of a section, as it is compared
sections.py           sections
splices.py            what an edit is
tasks.py              tasks
"""
