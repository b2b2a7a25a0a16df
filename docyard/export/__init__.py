"""The documents of a commit as a folder of static files, for `docyard export`.

contents.py        the documents by folder, and the names of files
files.py           files that documents link to, in forms that run nothing in a browser
folder.py          the folder of an export: it is written completely, and then renamed into place
language_model.py  llms.txt and llms-full.txt
pages.py           the pages: one for each document, the contents, and one page to print
"""
