"""Links: what a document refers to, what that means, and how it is spelled when what it names has moved.

link, spans                      what was found: in a document's bytes, in a text
reading                          the links of a document
    linewise                     line by line, where that is exact, else
    body, leaves, inline         by the parser's blocks, and in each of them
    destinations, html, tables   the parts of these
    characters                   bytes as text of one character each
names                            the fragments that lead to places of a document
    headings, numbering          those that a dialect derives from headings
resolving                        what a link leads to
    rules, targets, wiki         what its destination names
    worlds                       among which files it is looked for
spelling, enclosing              a destination written anew, as its author wrote it
following                        what an operation does to links
    survival, affected           which bytes it kept, and to which paths links may mean something else now
    inbound                      which documents may link there
    relinking, anchoring         links mended, and addresses kept that a heading was about to lose
    label_reading, undefined     labels of references and footnotes, and those that lost their definition
    warnings, suggesting, shown  what is told of links that lead nowhere
"""
