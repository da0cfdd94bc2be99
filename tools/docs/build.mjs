// Writes the pages of the documentation to docs/dist, from which Steelyard serves them at /docs.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { referencePages } from './reference.ts'
import { renderDocs } from './render.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const out = join(root, 'docs/dist')
const written = renderDocs(root, referencePages())
rmSync(out, { recursive: true, force: true })
for (const [name, content] of written) {
  const file = join(out, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  if (!name.endsWith('.png')) writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
}
