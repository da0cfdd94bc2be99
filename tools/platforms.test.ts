/** Checks which version of Node.js each platform gets. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Manifest {
  optionalDependencies: Record<string, string>
  devDependencies: Record<string, string>
}
interface Locked {
  version?: string
  os?: string | string[]
  cpu?: string | string[]
}
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
const pinned = Object.entries(manifest.optionalDependencies).filter(([name]) =>
  name.startsWith('node-'),
)
const locked = (
  JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> }
).packages

test('the lockfile contains Node.js for Linux and macOS, each for Intel and ARM', () => {
  const platforms = pinned
    .map(([name]) => locked[`node_modules/${name}`]!)
    .map(({ os, cpu }) => `${[os].flat().join()}-${[cpu].flat().join()}`)
  expect(platforms.toSorted()).toEqual(['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'])
})

test('every platform gets the same version of Node.js, and the types are of the same major version', () => {
  const versions = new Set([
    ...pinned.map(([, version]) => version),
    ...pinned.map(([name]) => locked[`node_modules/${name}`]!.version!),
  ])
  expect([...versions]).toEqual([process.versions.node])
  expect(manifest.devDependencies['@types/node']!.split('.')[0]).toBe(
    process.versions.node.split('.')[0],
  )
})
