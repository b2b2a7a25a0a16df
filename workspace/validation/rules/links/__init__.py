"""The rules on links, each a file of its name.

broken_fragment.py  links to sections that their documents do not have
broken_image.py     images whose files are not there
broken_link.py      links to files that are not there
"""
