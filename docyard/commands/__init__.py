"""The commands, one module each, imported on demand.

Each module defines a click command named `command`.

    blame.py       `docyard blame`
    build.py       `docyard build`
    completion.py  `docyard completion`
    demo.py        `docyard demo`
    diff.py        `docyard diff`
    doctor.py      `docyard doctor`
    eval.py        `docyard eval`
    fix.py         `docyard fix`
    index.py       `docyard index`
    init.py        `docyard init`
    links.py       `docyard links`
    log.py         `docyard log`
    metadata.py    `docyard metadata`
    options.py     options that several commands share, and the function that opens their index
    proposals/     `docyard proposals`
    read.py        `docyard read`
    search.py      `docyard search`
    serve.py       `docyard serve`
    sources/       `docyard sources`
    sync.py        `docyard sync`
    tasks/         `docyard tasks`
    tokens.py      `docyard tokens`
    validate.py    `docyard validate`
"""
