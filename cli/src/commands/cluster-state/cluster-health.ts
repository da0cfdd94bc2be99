import {
  clusterHealth,
  type ClusterHealth,
  etcdRole,
  type HealthState,
  topicTitles,
} from '#contract/clusters/health.ts'
import { type Command, objectCommand } from '../../command.ts'
import * as noun from '../../nouns.ts'
import { table } from '../../table.ts'
import type { Colour, Terminal } from '../../terminal.ts'
import { memory, words } from '../../text.ts'
import { remedyCommands } from '../cluster-changes/remedies.ts'

const colours: Readonly<Record<HealthState, Colour>> = {
  ok: 'green',
  note: 'dim',
  attention: 'yellow',
  problem: 'red',
  unknown: 'yellow',
}
const colourOf = (is: boolean | null): Colour => (is === null ? 'yellow' : is ? 'green' : 'red')
const yesNo = (is: boolean | null): string => (is === null ? 'unknown' : is ? 'yes' : 'no')

const healthText = (
  terminal: Terminal,
  cluster: string,
  { lines, etcd, nodes, snapshot }: ClusterHealth,
): string => {
  const commands = remedyCommands(
    cluster,
    lines.flatMap((line) => line.remedies),
    snapshot?.id,
  )
  return [
    table(
      terminal,
      lines,
      [
        { title: 'WHAT', text: (l) => topicTitles[l.topic] },
        { title: 'STATE', text: (l) => l.state, colour: (l) => colours[l.state] },
        { title: 'MESSAGE', text: (l) => l.message },
      ],
      'No health information',
    ),
    ...(commands.length === 0
      ? []
      : [`What helps:\n${commands.map((command) => `  ${command}\n`).join('')}`]),
    table(
      terminal,
      etcd.members,
      [
        { title: 'ETCD MEMBER', text: (m) => m.name },
        { title: 'HEALTHY', text: (m) => yesNo(m.healthy), colour: (m) => colourOf(m.healthy) },
        { title: 'ROLE', text: (m) => etcdRole(etcd.reason, m) },
        { title: 'VERSION', text: (m) => m.version ?? '' },
        {
          title: 'SIZE',
          text: (m) => (m.size_bytes === null ? '' : memory(m.size_bytes)),
          right: true,
        },
        {
          title: 'IN USE',
          text: (m) => (m.in_use_bytes === null ? '' : memory(m.in_use_bytes)),
          right: true,
        },
        { title: 'ALARMS', text: (m) => m.alarms?.join(', ') ?? 'unknown' },
        { title: 'REASON', text: (m) => m.reason ?? '' },
      ],
      'No known members of etcd',
    ),
    table(
      terminal,
      nodes,
      [
        { title: 'NODE', text: (n) => n.name },
        { title: 'ROLE', text: (n) => (n.role === null ? '' : words(n.role)) },
        { title: 'READY', text: (n) => yesNo(n.ready), colour: (n) => colourOf(n.ready) },
        { title: 'SCHEDULABLE', text: (n) => yesNo(n.schedulable) },
        { title: 'KUBELET', text: (n) => n.kubelet_version ?? '' },
        { title: 'TALOS', text: (n) => n.talos_version ?? '' },
        { title: 'PODS', text: (n) => (n.pods === null ? '' : String(n.pods)), right: true },
        { title: 'REASON', text: (n) => n.reason ?? '' },
      ],
      'No known nodes',
    ),
  ].join('\n')
}

/** Exit codes of `cluster health`, for scripts and monitoring. */
const exitOf = ({ lines }: ClusterHealth): number =>
  lines.some((l) => l.state === 'problem' || l.state === 'unknown') ? 1 : 0

export const clusterHealthCommand: Command = objectCommand({
  name: 'cluster health',
  of: noun.cluster,
  operation: clusterHealth,
  summary:
    'Show the health of a cluster: etcd, Kubernetes API, nodes, versions and drift. Exits with 1 if there is a problem or no answer.',
  examples: ['cluster health web', 'cluster health web --json'],
  done(context, answer, _given, name) {
    context.show(answer, (health) => healthText(context.terminal, name, health))
    return exitOf(answer)
  },
})
