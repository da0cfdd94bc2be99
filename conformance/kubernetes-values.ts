/**
 * Holds the rules about values of Kubernetes's configurations against Kubernetes's own validation
 * (`kubernetes-validation/`): good files of each kind, and seeded mutations of them. Prints what
 * differs. Needs Go and its module proxy. `npm run conformance -- kubernetes`
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { mergePatches } from '#talos/config/merge.ts'
import { ConfigError } from '#talos/config/problem.ts'
import { validateConfig } from '#talos/config/validate.ts'
import { runtimeFindings } from '#talos/runtime-rules/runtime-rules.ts'
import { generateConfig } from '#talos/config/generate.ts'
import { readSecrets } from '#talos/secrets/bundle.ts'
import { buildWithGo } from './go.ts'
import { type Kind, kinds, mutated } from './kubernetes-mutations.ts'
import { allCases } from './make-cases.ts'

const talosVersion = 'v1.14.1'
const kubernetesVersion = '1.37.2'
const base = generateConfig({
  role: 'control_plane',
  clusterName: 'c',
  endpoint: 'https://10.0.0.1:6443',
  talosVersion: '1.14',
  kubernetesVersion,
  secrets: readSecrets(allCases().secrets),
  installDisk: '/dev/sda',
})

/** Why Steelyard refuses a file in the place that Talos has for it; empty if it doesn't. */
function refusedByUs(kind: Kind, file: object): string[] {
  const body = kind
    .documents(file)
    .map((one) => JSON.stringify(one))
    .join('\n---\n')
  try {
    const { documents, yaml } = mergePatches(base, [{ name: 'mine', body }], { talosVersion })
    const { errors } = validateConfig(yaml, { talosVersion, inContainer: false })
    if (errors.length > 0) return errors.map(({ message }) => message)
    return runtimeFindings(documents, { talosVersion, kubernetesVersion })
      .filter(
        ({ level, rule, layer }) =>
          layer === 'mine' && (level === 'refuse' || rule === 'feature-gate'),
      )
      .map(({ message }) => message)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [error.message]
  }
}

interface Difference {
  readonly kind: string
  readonly side: 'only they refuse' | 'only we refuse'
  readonly why: string
  readonly file: object
}

function compare(
  program: string,
  count: number,
): { asked: number; wrong: number; differences: Difference[] } {
  const asked = kinds.flatMap((kind) => mutated(kind, count).map((file) => ({ kind, file })))
  const { stdout, stderr, status } = spawnSync(program, {
    input: JSON.stringify(
      asked.map(({ kind, file }) => ({
        kind: kind.name,
        text: JSON.stringify(kind.asTalosWrites(file)),
      })),
    ),
    encoding: 'utf8',
    maxBuffer: 1024 ** 3,
  })
  if (status !== 0) throw new Error(stderr)
  const answers = JSON.parse(stdout) as string[]
  const differences: Difference[] = []
  for (const [i, { kind, file }] of asked.entries()) {
    const theirs = answers[i]!
    const ours = refusedByUs(kind, file)
    if ((theirs === '') === (ours.length === 0)) continue
    if (theirs === '' && ours.every((one) => laterRefusals.some((known) => known.test(one))))
      continue
    differences.push({
      kind: kind.name,
      side: theirs === '' ? 'only we refuse' : 'only they refuse',
      why: theirs === '' ? ours[0]! : theirs,
      file,
    })
  }
  return { asked: asked.length, wrong: answers.filter((one) => one !== '').length, differences }
}

/** What the programs refuse after their validation, and we with it. */
const laterRefusals = [
  // client-go tools/leaderelection, NewLeaderElector
  /renewDeadline must be longer than 1\.2 times retryPeriod/,
  // pkg/credentialprovider/plugin/plugin.go looks for the program
  /a provider needs the name of its program/,
  // pkg/kubelet/eviction/helpers.go, ParseThresholdConfig
  /A threshold of evictions can’t be read|The soft threshold .* needs its time|is no time span/,
  // cmd/kubelet/app/server.go, parseResourceList; k8s.io/component-base/cli/flag, TLSVersion
  /is no amount of|can’t be reserved|is no tlsMinVersion/,
]

/** Without what is different in each file. */
const ruleOf = (why: string): string => why.replaceAll(/"[^"]*"|\d+/g, '…').slice(0, 200)

/**
 * Whether every right file is taken and at least 99 % of the wrong ones are refused; null if the Go
 * program can't be built.
 * @param count of files of each kind
 */
export function compareKubernetes(
  count: number,
  folder: string,
  say: (text: string) => void,
): boolean | null {
  const program = join(folder, 'kubernetes-validation')
  const isBuilt = buildWithGo(
    'the values of Kubernetes’s configurations',
    ['build', '-o', program, '.'],
    { cwd: join(import.meta.dirname, 'kubernetes-validation') },
  )
  if (!isBuilt) return null
  const { asked, wrong, differences } = compare(program, count)
  const missed = differences.filter(({ side }) => side === 'only they refuse')
  const number = (value: number) => value.toLocaleString('en-US')
  say(
    `Kubernetes ${kubernetesVersion}: ${number(asked)} files, ${number(wrong)} of them wrong; ${missed.length} wrong ones are not refused, and ${differences.length - missed.length} right ones are`,
  )
  const rules = Map.groupBy(
    differences,
    ({ kind, side, why }) => `${kind}, ${side}: ${ruleOf(why)}`,
  )
  for (const [rule, those] of [...rules].toSorted(
    (one, other) => other[1].length - one[1].length,
  )) {
    say(`  ${those.length} × ${rule}`)
    if (process.argv.includes('--files')) say(`      ${JSON.stringify(those[0]!.file)}`)
  }
  return differences.length === missed.length && missed.length <= wrong / 100
}
