"""The commands, one module each, imported on demand.

Each module defines a click command named `command`.

    admin/         `docyard admin`
    build.py       `docyard build`
    comments/      `docyard comments`
    completion.py  `docyard completion`
    config/        `docyard config`
    demo.py        `docyard demo`
    doctor.py      `docyard doctor`
    documents/     `docyard list`, `docyard show`
    engine/        `docyard engine`
    eval.py        `docyard eval`
    export.py      `docyard export`
    fix.py         `docyard fix`
    history/       `docyard log`, `docyard diff`, `docyard blame`, `docyard drift`
    index.py       `docyard index`
    init.py        `docyard init`
    links.py       `docyard links`
    metadata.py    `docyard metadata`
    options.py     options that several commands share, and the function that opens their index
    proposals/     `docyard proposals`
    read.py        `docyard read`
    reports/       `docyard report`
    search.py      `docyard search`
    serve.py       `docyard serve`
    sources/       `docyard sources`
    sync.py        `docyard sync`
    tasks/         `docyard tasks`
    tokens.py      `docyard tokens`
    trace.py       `docyard trace`
    validate.py    `docyard validate`
    version.py     `docyard version`
"""
