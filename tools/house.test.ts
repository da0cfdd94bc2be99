import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isTest, sourceFiles } from './imports.ts'

const tracked = () =>
  execFileSync('git', ['ls-files'], { encoding: 'utf8' })
    .split('\n')
    .filter((f) => f !== '' && existsSync(f))
const textFiles = () =>
  tracked().filter((f) =>
    /\.(ts|tsx|mjs|json|md|css|html|yaml|yml|sh|sql|proto)$|^\.npmrc$|\.ci\/run$/.test(f),
  )

/** The findings of knip (https://knip.dev) as text; empty if there are none. */
const knip = (folder: string, ...options: string[]) =>
  spawnSync(
    process.execPath,
    [
      `${process.cwd()}/node_modules/knip/bin/knip.js`,
      '--no-progress',
      '--no-config-hints',
      ...options,
    ],
    {
      cwd: folder,
      encoding: 'utf8',
    },
  ).stdout.trim()

test('every file, dependency and import of a package is needed', () => {
  expect(knip('.', '--include', 'files,dependencies,unlisted,unresolved,binaries')).toBe('')
})

test('every export is used in another file that is not a test', () => {
  expect(knip('.', '--production', '--include', 'files,exports')).toBe('')
})

test('the checks for unused code find an example of unused code', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sy-unused-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const files: Record<string, string> = {
    'package.json': '{ "name": "x", "type": "module", "dependencies": { "left": "1.0.0" } }',
    'knip.json':
      '{ "entry": ["main.ts!", "*.test.ts"], "project": ["*.ts!", "!*.test.ts!"], "ignoreExportsUsedInFile": true }',
    'main.ts': "import { used } from './a.ts'\nimport 'right'\nvoid import('./lazy.ts')\nused()",
    'a.ts':
      'export const used = () => both()\nexport const alone = 2\nexport const tested = 3\nexport function both() {}',
    'a.test.ts': "import { both, tested } from './a.ts'\nboth(tested)",
    'b.ts': "import { used as mine } from './a.ts'\nmine()",
    'lazy.ts': 'export function late() {}',
  }
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  const names = (found: string) =>
    [...found.matchAll(/^([\w.]+)(?=\s|$)/gm)]
      .map((m) => m[1])
      .filter((name) => !name!.startsWith('Un'))
  expect(names(knip(folder, '--production', '--include', 'files,exports'))).toEqual([
    'b.ts',
    'alone',
    'tested',
  ])
  expect(names(knip(folder, '--include', 'files,dependencies,unlisted'))).toEqual([
    'b.ts',
    'left',
    'right',
  ])
})

test('the lockfile has no download addresses and a hash for every package', () => {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { resolved?: string; integrity?: string; link?: boolean }>
  }
  const packages = Object.entries(lock.packages).filter(([name]) => name !== '')
  expect(packages.filter(([, p]) => p.resolved?.startsWith('http'))).toEqual([])
  expect(packages.filter(([, p]) => !p.integrity && !p.link).map(([name]) => name)).toEqual([])
})

test('dependencies have exact versions', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
    string,
    Record<string, string>
  >
  const all = {
    ...manifest['dependencies'],
    ...manifest['devDependencies'],
    ...manifest['optionalDependencies'],
  }
  expect(
    Object.entries(all).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)),
  ).toEqual([])
})

test('no file contains the path of this working copy', () => {
  const here = process.cwd()
  const found = textFiles().filter((f) => readFileSync(f, 'utf8').includes(`${here}/`))
  expect(found).toEqual([])
})

test('one function sends configurations to machines and asks for dry runs', () => {
  const senders = sourceFiles().filter(
    (f) =>
      f.startsWith('backend/src/') &&
      !/\.test\.ts$|\/testing/.test(f) &&
      readFileSync(f, 'utf8').includes('.applyConfiguration('),
  )
  expect(senders).toEqual(['backend/src/talos-fleet/apply.ts'])
})

test('no source file has more than 500 lines', () => {
  const long = sourceFiles()
    .filter((f) => !f.includes('/gen/') && !f.endsWith('.gen.ts'))
    .map((f) => [f, readFileSync(f, 'utf8').split('\n').length] as const)
    .filter(([, lines]) => lines > 500)
  expect(long).toEqual([])
})

/**
 * Folders with more than 25 files, without subfolders. Tests, styles, migrations, generated files
 * and fixtures don't count.
 */
const fullFolders = (files: readonly string[]) => {
  const own = files.filter(
    (f) => !/\.(test\.tsx?|e2e\.ts|css)$|\/(migrations|gen|fixtures)\//.test(f),
  )
  return [...Map.groupBy(own, dirname)]
    .filter(([, inside]) => inside.length > 25)
    .map(([folder]) => folder)
}

test('no folder has more than 25 files of its own', () => {
  expect(fullFolders(tracked())).toEqual([])
  const many = Array.from({ length: 26 }, (_, n) => `room/${n}.ts`)
  expect([
    fullFolders(many),
    fullFolders([...many.slice(1), 'room/a.test.ts', 'room/a.css', 'room/deep/b.ts']),
  ]).toEqual([['room'], []])
})

test('no test is skipped or run alone, no type error is suppressed', () => {
  const hidden =
    /\b(?:test|it|describe)\.(?:skip|only|todo)\(|@ts-ignore|@ts-nocheck|@ts-expect-error/
  const found = sourceFiles()
    .filter((f) => !f.includes('/gen/') && f !== 'tools/house.test.ts')
    .filter((f) => hidden.test(readFileSync(f, 'utf8')))
  expect(found).toEqual([])
})

test('permissions are checked when a component is rendered, not when its module is loaded', () => {
  const once = /^(?:export )?const \w+(?:: [\w.]+)? = (?:\w+\()*allowed\(/m
  expect(once.test('const canReplace = both(allowed(clusterServerReplace))')).toBe(true)
  expect(
    textFiles().filter((f) => f.startsWith('console/src/') && once.test(readFileSync(f, 'utf8'))),
  ).toEqual([])
})

test('in the backend, only main.ts and the commands use the global process object', () => {
  const found = sourceFiles().filter(
    (f) =>
      f.startsWith('backend/src/') &&
      !isTest(f) &&
      f !== 'backend/src/main.ts' &&
      /\bprocess\.(?:env|argv|exit|on)\b/.test(readFileSync(f, 'utf8')),
  )
  expect(found).toEqual([])
})

test('the face of a domain is declared, not inferred', () => {
  const faces = sourceFiles().filter((f) => /^backend\/src\/domains\/[^/]+\/api\.ts$/.test(f))
  expect(faces.length).toBeGreaterThan(15)
  expect(faces.filter((f) => readFileSync(f, 'utf8').includes('ReturnType<'))).toEqual([])
})

test('no two migrations share a number', () => {
  const numbers = tracked()
    .filter((f) => f.startsWith('backend/src/db/migrations/'))
    .map((f) => /\/(\d{4})_[a-z0-9-]+\.sql$/.exec(f)?.[1] ?? f)
  expect(numbers.length).toBeGreaterThan(0)
  expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([])
})

test('the version of the product is only in package.json', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const copy = new RegExp(`(?<![\\d.])${version.replaceAll('.', String.raw`\\?\.`)}(?![\\d.])`)
  const copies = textFiles().filter(
    (f) => /\.(ts|tsx|mjs)$/.test(f) && copy.test(readFileSync(f, 'utf8')),
  )
  expect(copies).toEqual([])
})

test('every difference between Talos minors is a row in a table of versions', () => {
  const compares = /[mM]inor\)? *(?:[<>]=?|[!=]==) *\d/
  const files = sourceFiles().filter(
    (f) =>
      /^(?:talos|backend|simulator)\//.test(f) && !isTest(f) && !/\/gen\/|\/versions\.ts$/.test(f),
  )
  expect(files.filter((f) => compares.test(readFileSync(f, 'utf8')))).toEqual([])
})

test('no test limits a time on the clock below 30 s, because that depends on the machine', () => {
  const limits = (text: string) =>
    [
      ...text.matchAll(
        /(?:performance|Date)\.now\(\)[^\n]*\)\.toBeLess\w+\(([\d_]+)\)|poll\([^]{0,200}?timeout: ([\d_]+)/g,
      ),
    ]
      .map((m) => Number((m[1] ?? m[2])!.replaceAll('_', '')))
      .filter((ms) => ms < 30_000)
  expect(limits('expect(Date.now() - began).toBeLessThan(2_000)')).toEqual([2_000])
  expect(limits('expect\n  .poll(() => 1, { timeout: 500 })')).toEqual([500])
  expect(limits('expect(performance.now() - began).toBeLessThan(30_000)')).toEqual([])
  const found = tracked()
    .filter((file) => /\.(test|e2e)\.tsx?$/.test(file) && !file.startsWith('tools/house.'))
    .filter((file) => limits(readFileSync(file, 'utf8')).length > 0)
  expect(found).toEqual([])
})
