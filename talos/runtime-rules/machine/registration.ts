/** Arguments of the kubelet that count only when its node registers for the first time. */
import { textOf } from '../../config/report.ts'
import type { InventoryRule } from '../known.ts'
import { lastOf, pairsOf } from '../limits/values.ts'
import type { Configuration, Hit } from '../rule.ts'

const args = ['machine', 'kubelet', 'extraArgs'] as const
const config = ['machine', 'kubelet', 'extraConfig'] as const

function* labels({ main }: Configuration, server: string): Generator<Hit> {
  const path = [...args, 'node-labels']
  if (!main.has(...path)) return
  const kept = (key: string) =>
    textOf(main.entries('machine', 'nodeLabels').find((one) => one.key === key)?.node)
  // Talos sets a label of both itself.
  const told = pairsOf(main, path, '=').filter(([key, text]) => kept(key) !== text)
  if (told.length > 0)
    yield {
      document: main,
      path,
      sentence: `node-labels (${told.map(([key, text]) => `${key}=${text}`).join(', ')}) counts only when the node registers for the first time, and ${server} has: set machine.nodeLabels (KubeNodeConfig.labels), which Talos keeps up to date`,
    }
}

function* taints({ main }: Configuration, server: string): Generator<Hit> {
  const hit = (path: readonly string[], what: string): Hit => ({
    document: main,
    path,
    sentence: `${what} counts only when the node registers for the first time, and ${server} has: set the taint with kubectl taint`,
  })
  const argument = [...args, 'register-with-taints']
  if (main.has(...argument)) yield hit(argument, `register-with-taints (${lastOf(main, argument)})`)
  const field = [...config, 'registerWithTaints']
  const listed = main.items(...field).map(({ path }) => {
    const [key, value, effect] = ['key', 'value', 'effect'].map((name) => main.text(...path, name))
    return `${key}${value === '' ? '' : `=${value}`}:${effect}`
  })
  if (listed.length > 0 && !main.has(...argument))
    yield hit(field, `registerWithTaints (${listed.join(', ')})`)
}

export const registrationRules: readonly InventoryRule[] = [
  {
    id: 'counts-at-registration',
    source:
      'Kubernetes pkg/kubelet/kubelet_node_status.go, initialNode and tryRegisterWithAPIServer: an existing node keeps its labels and taints; node-labels with kubernetes.io names are updated by updateDefaultLabels only if they are default ones',
    level: 'warn',
    *find(whole, { server, isMember }) {
      if (isMember !== true) return
      yield* labels(whole, server)
      yield* taints(whole, server)
    },
  },
]
