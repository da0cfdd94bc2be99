/** The built program, console and command line of a version, made from a copy of the sources. */
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { type Release, run } from './artefact.ts'

const steps: readonly (readonly string[])[] = [
  ['node_modules/vite/bin/vite.js', 'build', '--config', 'console/vite.config.ts'],
  ['backend/build.ts'],
  ['cli/build.ts', '--installed'],
  ['tools/docs/build.mjs'],
]

const made = new Map<string, Promise<string>>()

/**
 * A folder with the tracked files as they are now, with this version in `package.json`, and with
 * what they build: `console/dist`, `backend/dist`, `cli/dist`, `cli/dist-installed`, `docs/dist`. Nothing of an
 * earlier build and no setting of this shell gets into it. Made once for each version.
 * @param more files to add before the build, by path
 */
export function builtSource(
  release: Release,
  version: string,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const found = made.get(version) ?? build(release, version, more)
  made.set(version, found)
  return found
}

async function build(
  { home, work, say }: Release,
  version: string,
  more: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = join(work, `source-${version}`)
  const files = await run('git', ['ls-files', '-z'], { cwd: home })
  for (const file of files.split('\0'))
    if (file !== '' && existsSync(join(home, file))) cpSync(join(home, file), join(folder, file))
  for (const [file, text] of Object.entries(more)) {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  const manifest = join(folder, 'package.json')
  const text = readFileSync(manifest, 'utf8')
  writeFileSync(manifest, text.replace(/"version": "[^"]*"/, `"version": "${version}"`))
  symlinkSync(join(home, 'node_modules'), join(folder, 'node_modules'))
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] }
  for (const step of steps) {
    say(`  ${version}: node ${step.join(' ')}`)
    await run(execPath, step, { cwd: folder, env })
  }
  return folder
}
