"""Front matter: the only package that imports `yaml`.

editor.py  set keys of front matter
lines.py   find the lines of a key or of an item
nested.py  change a list or mapping in place
reader.py  parse front matter with PyYAML, within limits
writer.py  write values as YAML
"""
