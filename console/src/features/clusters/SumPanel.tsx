import type { Server } from '#contract/servers/servers.ts'
import { count, disk, memory } from '../../lib/units.ts'
import { Icon } from '../../ui/pictures/Icon.tsx'
import { KeyValue, Panel } from '../../ui/text/Panel.tsx'
import { type Draft, sumOf } from './create-draft.ts'
import css from './CreateCluster.module.css'

const unknown = (value: number | null, say: (n: number) => string) => (value === null ? 'Unknown' : say(value))

/** Sums of the selection, with checks and warnings. */
export function SumPanel({ draft, servers, checks }: { draft: Draft; servers: readonly Server[]; checks: readonly { ok: boolean | 'warn'; text: string }[] }) {
  const sum = sumOf(draft, servers)
  return (
    <Panel title="This cluster" className={css['sum'] ?? ''}>
      <KeyValue
        rows={[
          ['Servers', count(sum.servers)],
          ['Control plane', count(sum.controlPlanes)],
          ['Workers', count(sum.workers)],
          ['Compute units', unknown(sum.units, (n) => `${count(n)} CU`)],
          ['vCPU', unknown(sum.vcpu, count)],
          ['Memory', unknown(sum.memoryBytes, memory)],
          ['Workload disk', disk(sum.workloadBytes)],
        ]}
      />
      <ul className={css['checks']}>
        {checks.map((c) => (
          <li key={c.text} className={c.ok === true ? 'c-ok' : c.ok === 'warn' ? 'c-warn' : 'c-danger'}>
            <Icon name={c.ok === true ? 'check' : 'alert'} />
            <span className="t1">
              <span className="sr">{c.ok === true ? 'Holds: ' : c.ok === 'warn' ? 'Warning: ' : 'Does not hold: '}</span>
              {c.text}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
