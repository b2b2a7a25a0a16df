"""The rules on links, each in a file of its name.

broken_fragment.py  links to sections that their documents do not have
broken_image.py     images whose files do not exist
broken_link.py      links to files that do not exist
"""
