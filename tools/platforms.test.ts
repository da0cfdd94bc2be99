/** Checks which version of Node.js each platform gets. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isTest, sourceFiles } from './imports.ts'

interface Manifest {
  optionalDependencies: Record<string, string>
}
const pinned = Object.entries((JSON.parse(readFileSync('package.json', 'utf8')) as Manifest).optionalDependencies).filter(([name]) => name.startsWith('node-'))
const locked = (
  JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, { version?: string; os?: string | string[]; cpu?: string | string[] }> }
).packages

/**
 * Features that the product uses although older pinned versions of Node.js lack them. `instead` is the file with the fallback, `asks` the code in it that
 * detects the feature.
 */
const newer = [{ what: 'Worker.cpuUsage', since: '24.6.0', instead: 'backend/src/domains/patches/reader.ts', asks: "'cpuUsage' in Worker.prototype" }]
/** Features that are easy to avoid, and that fail silently in a pinned Node.js without them. */
const avoided = [
  { what: /\bimport\.meta\.main\b/, since: '24.2.0' },
  { what: /\bcrypto\.argon2|\bargon2\b.*'node:crypto'/, since: '24.7.0' },
]
/** From this version on, Node.js strips types without an option. */
const oldest = '24.0.0'

const parts = (version: string): number[] => version.split('.').map(Number)
function isAtLeast(version: string, least: string): boolean {
  const [a, b] = [parts(version), parts(least)]
  const differs = a.findIndex((n, i) => n !== b[i])
  return differs === -1 || a[differs]! > b[differs]!
}

test('versions are compared by number', () => {
  expect(['24.0.0', '24.6.9', '24.7.0', '24.10.0', '26.0.0'].map((v) => isAtLeast(v, '24.7.0'))).toEqual([false, false, true, true, true])
})

test('the lockfile contains the pinned Node.js for Linux and macOS, each for Intel and ARM', () => {
  const platforms = pinned.map(([name, version]) => {
    const { version: held, os, cpu } = locked[`node_modules/${name}`]!
    expect(held).toBe(version)
    expect(isAtLeast(version, oldest)).toBe(true)
    return `${[os].flat().join()}-${[cpu].flat().join()}`
  })
  expect(platforms.toSorted()).toEqual(['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'])
})

test.each(newer)('the code has a fallback if one of the pinned Node.js versions lacks $what', ({ since, instead, asks }) => {
  const lacking = pinned.filter(([, version]) => !isAtLeast(version, since)).map(([name, version]) => `${name} ${version}`)
  const isCovered = existsSync(instead) && readFileSync(instead, 'utf8').includes(asks)
  // As soon as every pinned Node.js has the feature, the fallback can be removed.
  expect({ lacking: isCovered ? [] : lacking, isNeeded: lacking.length > 0 }).toEqual({ lacking: [], isNeeded: isCovered })
})

test.each(avoided)('no code uses $what, which one of the pinned Node.js versions lacks', ({ what, since }) => {
  expect(pinned.some(([, version]) => !isAtLeast(version, since))).toBe(true)
  const code = (file: string) => readFileSync(file, 'utf8').replaceAll(/\/\/.*/g, '')
  expect(sourceFiles().filter((file) => !isTest(file) && what.test(code(file)))).toEqual([])
})
