// The independent checker of `python -m benchmarks.checks.links`: remark-validate-links, as GitHub resolves links.
import remarkFrontmatter from 'remark-frontmatter'
import remarkGfm from 'remark-gfm'
import remarkValidateLinks from 'remark-validate-links'

const hosted = {repository: 'https://github.com/example/example.git', root: process.env.CORPUS}

export default {plugins: [remarkFrontmatter, remarkGfm, [remarkValidateLinks, hosted]]}
