import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { deadExports } from './exports.ts'
import { brokenDoors, isTest, sourceFiles } from './imports.ts'

const tracked = () =>
  execFileSync('git', ['ls-files'], { encoding: 'utf8' })
    .split('\n')
    .filter((f) => f !== '' && existsSync(f))
const textFiles = () => tracked().filter((f) => /\.(ts|tsx|mjs|json|md|css|html|yaml|yml|sh|sql|proto)$|^\.npmrc$|\.ci\/run$/.test(f))

test('imports follow the arrows', () => {
  expect(brokenDoors(sourceFiles())).toEqual([])
})

test('the check of the arrows finds what is wrong', () => {
  const files: Record<string, string> = {
    'console/src/ui/Button.tsx': "import { useQuery } from '@tanstack/react-query'\nimport { x } from '../features/a/x.ts'",
    'contract/servers.ts': "import { app } from '../backend/src/app.ts'",
    'console/src/features/a/x.ts': "import { y } from '../b/y.ts'",
    'backend/src/a.ts': "import { b } from './a.test.ts'\nexport { start } from '#simulator/src/start.ts'",
  }
  expect(brokenDoors(Object.keys(files), (f) => files[f]!)).toHaveLength(6)
})

test('what is exported is used elsewhere, and not by tests alone', () => {
  expect(deadExports(sourceFiles())).toEqual([])
})

test('the check of exports finds what is dead', () => {
  const files: Record<string, string> = {
    'contract/a.ts': 'export const used = 1\nexport const alone = 2\nexport const tested = 3\nexport function both() {}\nboth()',
    'contract/b.ts': "import { used as mine } from './a.ts'\n// import { alone } from './a.ts'",
    'contract/a.test.ts': "import { both, tested } from './a.ts'",
    'contract/lazy.ts': 'export function late() {}',
    'contract/c.ts': "void import('./lazy.ts')",
  }
  expect(deadExports(Object.keys(files), (f) => files[f]!)).toEqual(['contract/a.ts alone', 'contract/a.ts tested'])
})

test('the lockfile records no download addresses and names every package exactly once per place', () => {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, { resolved?: string; integrity?: string; link?: boolean }> }
  const packages = Object.entries(lock.packages).filter(([name]) => name !== '')
  expect(packages.filter(([, p]) => p.resolved?.startsWith('http'))).toEqual([])
  expect(packages.filter(([, p]) => !p.integrity && !p.link).map(([name]) => name)).toEqual([])
})

test('dependencies are exact', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Record<string, string>>
  const all = { ...manifest['dependencies'], ...manifest['devDependencies'], ...manifest['optionalDependencies'] }
  expect(Object.entries(all).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
})

test('every dependency is used', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Record<string, string>>
  // Packages that are run or loaded by name rather than imported.
  const byName = new Set([
    'typescript',
    'oxlint',
    'oxlint-tsgolint',
    'oxfmt',
    'vite',
    'vitest',
    // What component tests run in, and what @testing-library/react is built on.
    'happy-dom',
    '@testing-library/dom',
    '@bufbuild/buf',
    '@bufbuild/protoc-gen-es',
    '@types/autocannon',
    '@types/node',
    '@types/pg',
    '@types/pg-copy-streams',
    '@types/react',
    '@types/react-dom',
  ])
  const sources = textFiles()
    .filter((f) => /\.(ts|tsx|mjs|css)$/.test(f))
    .map((f) => readFileSync(f, 'utf8'))
    .join('\n')
  const unused = Object.keys({ ...manifest['dependencies'], ...manifest['devDependencies'] }).filter(
    (name) => !byName.has(name) && !sources.includes(`'${name}`) && !sources.includes(`"${name}`),
  )
  expect(unused).toEqual([])
})

test('nothing names a path of a machine', () => {
  const here = process.cwd()
  const found = textFiles().filter((f) => readFileSync(f, 'utf8').includes(`${here}/`))
  expect(found).toEqual([])
})

test('files are short enough to read in one sitting', () => {
  const long = sourceFiles()
    .filter((f) => !f.includes('/gen/') && !f.endsWith('.gen.ts'))
    .map((f) => [f, readFileSync(f, 'utf8').split('\n').length] as const)
    .filter(([, lines]) => lines > 500)
  expect(long).toEqual([])
})

test('no test is skipped or left alone, no type error is waved through', () => {
  const hidden = /\b(?:test|it|describe)\.(?:skip|only|todo)\(|@ts-ignore|@ts-nocheck|@ts-expect-error/
  const found = sourceFiles()
    .filter((f) => !f.includes('/gen/') && f !== 'tools/house.test.ts')
    .filter((f) => hidden.test(readFileSync(f, 'utf8')))
  expect(found).toEqual([])
})

test('what a person may do is asked when it is shown, not once as the code is loaded', () => {
  const once = /^(?:export )?const \w+(?:: [\w.]+)? = (?:\w+\()*allowed\(/m
  expect(once.test('const canReplace = both(allowed(clusterServerReplace))')).toBe(true)
  expect(textFiles().filter((f) => f.startsWith('console/src/') && once.test(readFileSync(f, 'utf8')))).toEqual([])
})

test('only main.ts and the commands of the backend read the process', () => {
  const found = sourceFiles().filter(
    (f) => f.startsWith('backend/src/') && !isTest(f) && f !== 'backend/src/main.ts' && /\bprocess\.(?:env|argv|exit|on)\b/.test(readFileSync(f, 'utf8')),
  )
  expect(found).toEqual([])
})

test('no two migrations share a number', () => {
  const numbers = tracked()
    .filter((f) => f.startsWith('backend/src/db/migrations/'))
    .map((f) => /\/(\d{4})_[a-z0-9-]+\.sql$/.exec(f)?.[1] ?? f)
  expect(numbers.length).toBeGreaterThan(0)
  expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([])
})

test('the version stands in package.json alone', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const copy = new RegExp(`(?<![\\d.])${version.replaceAll('.', String.raw`\\?\.`)}(?![\\d.])`)
  const copies = textFiles().filter((f) => /\.(ts|tsx|mjs)$/.test(f) && copy.test(readFileSync(f, 'utf8')))
  expect(copies).toEqual([])
})
