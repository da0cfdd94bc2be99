/**
 * The chart for Helm, `steelyard-chart-VERSION.tgz`, and its trial: Helm's own lint and templates of
 * every kind of values, which have to fit the schemas of Kubernetes and CloudNativePG.
 */
import assert from 'node:assert/strict'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type Artefact, attempt, type Release, run } from '../artefact.ts'
import { variants, wrong } from './values.ts'
import { goProgram } from '../go-program.ts'

const helm = 'helm.sh/helm/v3/cmd/helm@v3.22.0'
const kubeconform = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0'
/** The oldest Kubernetes that the chart names, and the newest whose schemas there are. */
const kubernetes = ['1.30.0', '1.37.0'] as const
/** A package of PyPI with the schemas of all versions, made from Kubernetes' own OpenAPI. */
const schemas = 'kubernetes-validate==1.37.0'
const cloudNativePg = 'github.com/cloudnative-pg/cloudnative-pg@v1.28.0'

const fileName = (version: string) => `steelyard-chart-${version}.tgz`

/** Writes the version into the chart and packs it as `helm package` does. */
async function make({ home, work, out, version, epochSeconds }: Release): Promise<string[]> {
  const folder = join(work, 'chart')
  cpSync(join(home, 'deploy/helm/steelyard'), join(folder, 'steelyard'), { recursive: true })
  const file = join(folder, 'steelyard/Chart.yaml')
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replaceAll(/^(version|appVersion): .*$/gm, `$1: ${version}`),
  )
  await run('tar', [
    '-C',
    folder,
    '--use-compress-program=gzip -n',
    `--mtime=@${epochSeconds}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--format=gnu',
    '--sort=name',
    '-cf',
    join(out, fileName(version)),
    'steelyard',
  ])
  return [fileName(version)]
}

/** The schemas that the chart's objects need, as kubeconform finds them: one folder a version. */
async function kubernetesSchemas({ cache, say }: Release): Promise<string> {
  const folder = join(cache, schemas.replace('==', '-'))
  if (existsSync(folder)) return folder
  say(`  downloading ${schemas}`)
  const making = `${folder}.making`
  rmSync(making, { recursive: true, force: true })
  mkdirSync(making, { recursive: true })
  await run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '-d', making, schemas])
  const wheel = readdirSync(making).find((name) => name.endsWith('.whl'))!
  await run('python3', ['-m', 'zipfile', '-e', wheel, 'all'], { cwd: making })
  for (const version of kubernetes) {
    const from = join(
      making,
      `all/kubernetes_validate/kubernetes-json-schema/v${version}-local-strict`,
    )
    const to = join(making, version)
    mkdirSync(to)
    for (const name of readdirSync(from)) {
      if (!/^(?:_definitions|\w+-(?:apps-|networking-|policy-)?v1)\.json$/.test(name)) continue
      // Relative to `$id` and `/api` the references would lead to a web page.
      const text = readFileSync(join(from, name), 'utf8')
        .replaceAll('"/api/_definitions', '"_definitions')
        .replaceAll(/"\$id": "https:[^"]*"/g, '"$comment": ""')
      writeFileSync(join(to, name), text)
    }
  }
  rmSync(join(making, 'all'), { recursive: true })
  renameSync(making, folder)
  return folder
}

type Schema = { readonly [name: string]: unknown }

/** Refuses fields that the API server would drop (structural schemas). */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner: Schema = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, strict(value)]),
  )
  const isOpen =
    inner['additionalProperties'] !== undefined ||
    inner['x-kubernetes-preserve-unknown-fields'] === true ||
    inner['type'] !== 'object' ||
    inner['properties'] === undefined
  return isOpen ? inner : { ...inner, additionalProperties: false }
}

interface Definition {
  readonly spec: { readonly versions: { name: string; schema: { openAPIV3Schema: Schema } }[] }
}

/** The schema of a `Cluster` of CloudNativePG, from the definition in its Go module. */
async function clusterSchema({ work }: Release): Promise<string> {
  const told = await run('go', ['mod', 'download', '-json', cloudNativePg], { cwd: work })
  const { Dir } = JSON.parse(told) as { Dir: string }
  const file = join(Dir, 'config/crd/bases/postgresql.cnpg.io_clusters.yaml')
  const { spec } = parse(readFileSync(file, 'utf8')) as Definition
  const folder = join(work, 'cloudnativepg')
  mkdirSync(folder)
  const { openAPIV3Schema } = spec.versions.find(({ name }) => name === 'v1')!.schema
  const { apiVersion, kind, ...rest } = openAPIV3Schema['properties'] as Schema
  const schema = {
    ...(strict({ ...openAPIV3Schema, properties: { apiVersion, kind, ...rest } }) as Schema),
  }
  // What is in every object is not described in a definition.
  const properties = { ...(schema['properties'] as Schema), metadata: { type: 'object' } }
  writeFileSync(
    join(folder, 'cluster-postgresql-v1.json'),
    JSON.stringify({ ...schema, properties }),
  )
  return folder
}

async function tryChart(release: Release): Promise<void> {
  const { work, out, version, say } = release
  const chart = join(out, fileName(version))
  const helmProgram = await goProgram(release, helm)
  const conform = await goProgram(release, kubeconform)
  const ofKubernetes = await kubernetesSchemas(release)
  const ofCloudNativePg = await clusterSchema(release)
  const values = join(work, 'values.json')
  const manifests = join(work, 'manifests.yaml')
  const write = (given: object) => writeFileSync(values, JSON.stringify(given))

  for (const [name, given] of Object.entries(variants)) {
    write(given)
    say(`  ${name}`)
    await run(helmProgram, ['lint', '--strict', chart, '--values', values])
    for (const minor of kubernetes) {
      const how = ['--values', values, '--kube-version', minor, '--namespace', 'steelyard']
      const rendered = await run(helmProgram, ['template', 'steelyard', chart, ...how])
      assert.ok(rendered.includes(version.replaceAll('+', '_')))
      writeFileSync(manifests, rendered)
      const location = (folder: string) => [
        '-schema-location',
        join(folder, '{{.ResourceKind}}{{.KindSuffix}}.json'),
      ]
      const told = await run(conform, [
        '-strict',
        '-summary',
        ...location(join(ofKubernetes, minor)),
        ...location(ofCloudNativePg),
        manifests,
      ])
      assert.match(told, /Valid: [1-9]\d*, Invalid: 0, Errors: 0, Skipped: 0/)
    }
  }
  // The check itself can fail.
  const spoilt = readFileSync(manifests, 'utf8').replace('readinessProbe:', 'readinesProbe:')
  writeFileSync(manifests, spoilt)
  const { code } = await attempt(conform, [
    '-strict',
    '-schema-location',
    join(ofKubernetes, kubernetes[0], '{{.ResourceKind}}{{.KindSuffix}}.json'),
    manifests,
  ])
  assert.notEqual(code, 0)

  for (const [name, [given, place]] of Object.entries(wrong)) {
    write(given)
    const how = ['--kube-version', kubernetes[0], '--values', values]
    const refused = await attempt(helmProgram, ['template', 'steelyard', chart, ...how])
    assert.notEqual(refused.code, 0, name)
    assert.match(refused.err, /don't meet the specifications of the schema/, name)
    assert.ok(refused.err.includes(place), `${name}: ${refused.err}`)
  }
}

export const chart: Artefact = { name: 'chart', make, test: tryChart }
