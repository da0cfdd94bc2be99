// Prints the notes of the version in package.json: its section of the changelog, with the headings
// one level higher and links that lead into the repository at the tag.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const read = (name) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')

/**
 * The section of a version.
 * @throws Error if the changelog has no section for it
 */
export function notesOf(changelog, version) {
  const begin = new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b.*\\n`, 'm').exec(changelog)
  if (begin === null) throw new Error(`CHANGELOG.md has no section for ${version}`)
  const rest = changelog.slice(begin.index + begin[0].length)
  const end = rest.search(/^## /m)
  return (end === -1 ? rest : rest.slice(0, end))
    .trim()
    .replaceAll(/^### /gm, '## ')
    .replaceAll(/\]\((?!https?:|#)([^)]+)\)/g, `](../blob/v${version}/$1)`)
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(
    `${notesOf(read('CHANGELOG.md'), JSON.parse(read('package.json')).version)}\n`,
  )
