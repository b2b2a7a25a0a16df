"""The tools that read files within a budget, in the order in which a client sees them."""

from tools.reading.list_sections import TOOL as LIST_SECTIONS
from tools.reading.read_section import TOOL as READ_SECTION
from tools.reading.smart_read import TOOL as SMART_READ

FAMILY = (SMART_READ, READ_SECTION, LIST_SECTIONS)
