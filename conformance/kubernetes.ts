/**
 * Writes `talos/kubernetes/types.json`: the fields of the configurations of Kubernetes's programs in
 * each supported minor, as the published Go types have them (`kubernetes/main.go`). Needs Go and its
 * module proxy, and takes about a minute for each minor. With `--check` it fails if a minor has
 * other fields than the committed file says.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildWithGo } from './go.ts'

/** The newest published patch release of each minor. A new minor needs a line here. */
export const kubernetesModules: Readonly<Record<number, string>> = {
  32: 'v0.32.13',
  33: 'v0.33.13',
  34: 'v0.34.13',
  35: 'v0.35.10',
  36: 'v0.36.6',
  37: 'v0.37.2',
}
const modules = [
  'apimachinery',
  'apiserver',
  'kube-proxy',
  'kube-scheduler',
  'kubelet',
  'pod-security-admission',
]

interface Printed {
  /** The type of each kind: `kubelet.config.k8s.io/v1beta1 KubeletConfiguration`. */
  readonly kinds: Readonly<Record<string, string>>
  /** What each field of a type takes. */
  readonly types: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/**
 * One value, or one for each range of minors: `{"32-34": "bool", "35-37": "string"}`. A range that
 * lacks the field isn't named.
 */
export type ByMinor = string | Readonly<Record<string, string>>
export interface KubernetesTypes {
  readonly from: string
  readonly minors: readonly [first: number, last: number]
  readonly kinds: Readonly<Record<string, ByMinor>>
  readonly types: Readonly<Record<string, Readonly<Record<string, ByMinor>>>>
}

/** The types of one minor; null if Go can't build the program. */
function printedBy(minor: number, folder: string): Printed | null {
  copyFileSync(join(import.meta.dirname, 'kubernetes/main.go'), join(folder, 'main.go'))
  const required = modules.map((name) => `require k8s.io/${name} ${kubernetesModules[minor]!}\n`)
  writeFileSync(
    join(folder, 'go.mod'),
    `module steelyard.dev/conformance/kubernetes\n\ngo 1.24\n\n${required.join('')}`,
  )
  rmSync(join(folder, 'go.sum'), { force: true })
  const what = `the types of Kubernetes 1.${minor}`
  if (!buildWithGo(what, ['mod', 'tidy'], { cwd: folder })) return null
  if (!buildWithGo(what, ['build', '-o', 'types', '.'], { cwd: folder })) return null
  const { status, stdout, stderr } = spawnSync(join(folder, 'types'), { encoding: 'utf8' })
  if (status !== 0) throw new Error(`1.${minor}: ${stderr}`)
  return JSON.parse(stdout) as Printed
}

/** Joins equal values of consecutive minors. */
function ranges(values: ReadonlyMap<number, string>, minors: readonly number[]): ByMinor {
  const found: { first: number; last: number; value: string }[] = []
  for (const minor of minors) {
    const value = values.get(minor)
    const last = found.at(-1)
    if (value === undefined) continue
    if (last?.value === value && last.last === minor - 1) last.last = minor
    else found.push({ first: minor, last: minor, value })
  }
  const [only] = found
  if (found.length === 1 && only!.first === minors[0] && only!.last === minors.at(-1))
    return only!.value
  return Object.fromEntries(found.map(({ first, last, value }) => [`${first}-${last}`, value]))
}

/** The values of each name over all minors, in the order of the names. */
function gathered(
  printed: ReadonlyMap<number, Readonly<Record<string, string>>>,
  minors: readonly number[],
): Record<string, ByMinor> {
  const names = new Set([...printed.values()].flatMap((one) => Object.keys(one)))
  return Object.fromEntries(
    [...names].toSorted().map((name) => {
      const values = [...printed].flatMap(([minor, all]): [number, string][] =>
        all[name] === undefined ? [] : [[minor, all[name]]],
      )
      return [name, ranges(new Map(values), minors)]
    }),
  )
}

function typesOf(printed: ReadonlyMap<number, Printed>): KubernetesTypes {
  const minors = [...printed.keys()].toSorted((a, b) => a - b)
  const pick = <T>(what: (one: Printed) => T) =>
    new Map([...printed].map(([minor, one]) => [minor, what(one)]))
  const names = new Set([...printed.values()].flatMap(({ types }) => Object.keys(types)))
  return {
    from: `Kubernetes's published Go types, by conformance/kubernetes.ts: ${minors.map((minor) => kubernetesModules[minor]).join(', ')}`,
    minors: [minors[0]!, minors.at(-1)!],
    kinds: gathered(
      pick(({ kinds }) => kinds),
      minors,
    ),
    types: Object.fromEntries(
      [...names].toSorted().map((name) => [
        name,
        gathered(
          pick(({ types }) => types[name] ?? {}),
          minors,
        ),
      ]),
    ),
  }
}

const file = join(import.meta.dirname, '../talos/kubernetes/types.json')

function main(): void {
  const folder = mkdtempSync(join(tmpdir(), 'kubernetes-types-'))
  const printed = new Map<number, Printed>()
  for (const minor of Object.keys(kubernetesModules).map(Number)) {
    const one = printedBy(minor, folder)
    if (one !== null) printed.set(minor, one)
  }
  rmSync(folder, { recursive: true, force: true })
  if (printed.size < Object.keys(kubernetesModules).length) return
  const text = `${JSON.stringify(typesOf(printed), null, 2)}\n`
  if (!process.argv.includes('--check')) writeFileSync(file, text)
  else if (
    JSON.stringify(JSON.parse(readFileSync(file, 'utf8'))) !== JSON.stringify(JSON.parse(text))
  ) {
    process.stdout.write('talos/kubernetes/types.json differs from the published types\n')
    process.exitCode = 1
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
