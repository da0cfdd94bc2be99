/**
 * `npm run release -- [VERSION] [--only NAME,…] [--platform NAME,…] [--no-test | --try]
 * [--out FOLDER]`: makes the files of a release and their checksums, then tries each as an operator
 * would. `--try` tries the files that are in the folder already. Nothing of it is committed.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Artefact, type Release, ReleaseRefused, run, sha256 } from './artefact.ts'
import { chart } from './chart/chart.ts'
import { cliPackage } from './cli-package.ts'
import { image } from './container/image.ts'
import { deb } from './deb/deb.ts'
import { missingForRelease } from './needs.mjs'
import { type Platform, platforms } from './platforms.ts'
import { sbom } from './sbom.ts'
import { tarball } from './tarball.ts'

/** In this order, because later parts may reuse what earlier ones made in `release.work`. */
const artefacts: readonly Artefact[] = [tarball, deb, image, chart, cliPackage, sbom]

const home = fileURLToPath(new URL('../..', import.meta.url))
const sumsFile = 'SHA256SUMS'
/** As in semver, with build metadata: it becomes part of file names and of Debian's version. */
const versionForm = /^\d+\.\d+\.\d+(?:-[\w.]+)?(?:\+[\w.]+)?$/

function read(args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      platform: { type: 'string' },
      out: { type: 'string' },
      'no-test': { type: 'boolean', default: false },
      try: { type: 'boolean', default: false },
    },
  })
  const { version: own } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    version: string
  }
  const [version = own, ...more] = positionals
  if (more.length > 0 || !versionForm.test(version))
    throw new ReleaseRefused(
      `A version is like ${own} or ${own}+test, not ${positionals.join(' ')}`,
    )
  const asked = values.only?.split(',') ?? artefacts.map(({ name }) => name)
  const unknown = asked.filter((name) => !artefacts.some((artefact) => artefact.name === name))
  if (unknown.length > 0)
    throw new ReleaseRefused(
      `--only takes ${artefacts.map(({ name }) => name).join(', ')}, not ${unknown.join(', ')}`,
    )
  const all = Object.keys(platforms) as Platform[]
  const targets = all.filter((name) => values.platform?.split(',').includes(name) ?? true)
  if (targets.length !== (values.platform?.split(',') ?? all).length)
    throw new ReleaseRefused(`--platform takes ${all.join(', ')}, not ${values.platform}`)
  if (values.try && values['no-test'])
    throw new ReleaseRefused('--try and --no-test exclude each other')
  return {
    version,
    targets,
    chosen: artefacts.filter(({ name }) => asked.includes(name)),
    out: resolve(values.out ?? join(home, 'dist', version)),
    made: values.try,
    tested: !values['no-test'],
  }
}

async function make(release: Release, chosen: readonly Artefact[]): Promise<void> {
  const files: string[] = []
  for (const artefact of chosen) {
    release.say(`Making: ${artefact.name} …`)
    files.push(...(await artefact.make(release)))
  }
  const sums = await Promise.all(
    files.toSorted().map(async (file) => `${await sha256(join(release.out, file))}  ${file}\n`),
  )
  writeFileSync(join(release.out, sumsFile), sums.join(''))
}

/** Tries all, so that one run tells every fault. @throws ReleaseRefused that names what failed */
async function tryAll(release: Release, chosen: readonly Artefact[]): Promise<void> {
  const failed: string[] = []
  for (const { name, test } of chosen) {
    if (!test) continue
    const began = performance.now()
    release.say(`Trying: ${name} …`)
    try {
      await test(release)
      release.say(`  passed in ${Math.round((performance.now() - began) / 1000)} s`)
    } catch (error) {
      if (error instanceof ReleaseRefused) throw error
      release.say(error instanceof Error ? (error.stack ?? error.message) : String(error))
      failed.push(name)
    }
  }
  if (failed.length > 0) throw new ReleaseRefused(`Failed: ${failed.join(', ')}`)
}

async function main(): Promise<void> {
  const { version, targets, chosen, out, made, tested } = read(process.argv.slice(2))
  const cache = resolve(
    process.env['RELEASE_CACHE'] ?? join(home, 'node_modules/.steelyard/release'),
  )
  // Asked first: making the files takes minutes.
  const missing = tested ? missingForRelease() : []
  if (missing.length > 0)
    throw new ReleaseRefused(
      `The trials of a release can't run here, only --no-test: ${missing.join('; ')}`,
    )
  for (const folder of [out, cache]) mkdirSync(folder, { recursive: true })
  const work = mkdtempSync(join(tmpdir(), 'sy-release-'))
  try {
    const committed = await run('git', ['log', '-1', '--format=%ct'], { cwd: home })
    const release: Release = {
      version,
      platforms: targets,
      out,
      cache,
      work,
      home,
      epochSeconds: Number(committed),
      say: (line) => process.stderr.write(`${line}\n`),
    }
    if (made) await run('sha256sum', ['--check', '--quiet', sumsFile], { cwd: out })
    else await make(release, chosen)
    await tryAll(release, tested ? chosen : [])
    process.stdout.write(`${readFileSync(join(out, sumsFile), 'utf8')}In ${out}\n`)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

try {
  await main()
} catch (error) {
  const isPlain =
    error instanceof ReleaseRefused ||
    (error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'))
  process.stderr.write(
    `${isPlain ? error.message : error instanceof Error ? error.stack : String(error)}\n`,
  )
  // Ends what the failed test has started.
  process.exit(1)
}
