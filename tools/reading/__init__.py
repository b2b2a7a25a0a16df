"""The tools that read files within a budget of tokens, in the order of a client's list.

list_sections.py  list_sections: lists the sections of a file
read_section.py   read_section: returns the source of one section
search_table.py  search_table: returns the rows of a section's tables with the words of a query
smart_read.py     smart_read: returns a short file in full, and a summary of a long one
texts.py          the text and the section that a call names
"""

from tools.reading.list_sections import TOOL as LIST_SECTIONS
from tools.reading.read_section import TOOL as READ_SECTION
from tools.reading.search_table import TOOL as SEARCH_TABLE
from tools.reading.smart_read import TOOL as SMART_READ

TOOLS = (SMART_READ, READ_SECTION, LIST_SECTIONS, SEARCH_TABLE)
