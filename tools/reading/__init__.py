"""The tools that read files within a budget, in the order in which a client sees them.

list_sections.py  list_sections: the table of contents of a text, as addresses that read_section takes
read_section.py   read_section: the exact source of one section, found by its address, number, heading or …
smart_read.py     smart_read: a file in full where it is short, else a summary that names every section of …
texts.py          which text, and which section of it, a call means
"""

from tools.reading.list_sections import TOOL as LIST_SECTIONS
from tools.reading.read_section import TOOL as READ_SECTION
from tools.reading.smart_read import TOOL as SMART_READ

FAMILY = (SMART_READ, READ_SECTION, LIST_SECTIONS)
