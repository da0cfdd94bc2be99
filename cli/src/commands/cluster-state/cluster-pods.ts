import { clusterPods, type ClusterPods, type DrainEffect } from '#contract/clusters/pods.ts'
import { type Command, objectCommand } from '../../command.ts'
import * as noun from '../../nouns.ts'
import { table } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { localTime } from '../../text.ts'

const effects: Readonly<Record<DrainEffect, string>> = {
  moved: 'moves',
  stays: 'stays',
  lost: 'is lost',
  ended: 'has ended',
}

const podsText = (terminal: Terminal, { items, total, not_ready }: ClusterPods): string =>
  `${table(
    terminal,
    items,
    [
      { title: 'NAMESPACE', text: (p) => p.namespace },
      { title: 'POD', text: (p) => p.name },
      { title: 'SERVER', text: (p) => p.node ?? 'not scheduled' },
      {
        title: 'READY',
        text: (p) => `${p.containers_ready}/${p.containers}`,
        colour: (p) => (p.ready ? 'green' : 'red'),
      },
      { title: 'STATE', text: (p) => p.state, colour: (p) => (p.ready ? 'green' : 'red') },
      { title: 'RESTARTS', text: (p) => String(p.restarts), right: true },
      { title: 'STARTED', text: (p) => (p.started_at === null ? '' : localTime(p.started_at)) },
      { title: 'ON A DRAIN', text: (p) => effects[p.on_drain] },
      { title: 'REASON', text: (p) => p.reason ?? '' },
    ],
    'No pods match',
  )}${items.length < total ? `\nThe first ${items.length} of ${total} pods are shown, those that are not ready first (${not_ready}).` : ''}`

export const clusterPodsCommand: Command = objectCommand({
  name: 'cluster pods',
  of: noun.cluster,
  operation: clusterPods,
  summary:
    'Show what runs where in a cluster: its pods, those that are not ready first, and what a drain of their server would do with them.',
  options: {
    server: { kind: 'text', value: 'SERVER', help: 'Only pods on this server' },
    search: {
      kind: 'text',
      value: 'TEXT',
      help: 'Only pods whose namespace, name or owner contains this text',
    },
  },
  examples: [
    'cluster pods web',
    'cluster pods web --server falcon-01',
    'cluster pods web --search kube-system',
  ],
  async ask({ api }, { options }) {
    const server =
      options.server === undefined ? undefined : await noun.idOf(api, noun.server, options.server)
    return {
      query: {
        ...(server !== undefined && { node_id: server }),
        ...(options.search !== undefined && { q: options.search }),
      },
    }
  },
  say: (pods, _, { terminal }) => podsText(terminal, pods),
})
