"""Front matter: the only package that imports `yaml`.

editor.py  set keys of front matter
lines.py   find the lines of a key, or of an item, and of its value
nested.py  change a list or mapping inside
reader.py  read front matter within limits, by PyYAML, whose parser is in C
writer.py  write values as YAML, quoted where YAML asks for it
"""
