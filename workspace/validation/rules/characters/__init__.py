"""The rules on characters and line endings, each in a file of its name.

bidirectional_control.py  bidirectional controls, which make the displayed and the processed text differ
encoding.py               bytes that programs interpret differently: invalid UTF-8, and NUL
invisible_character.py    invisible characters that the text does not need
lost_character.py         characters that an earlier conversion lost
mixed_line_endings.py     mixed line endings, because of which tools show changes that were not made
trailing_space.py         white space at the end of a line that changes its meaning
"""
