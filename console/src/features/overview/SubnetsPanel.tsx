import type { Overview } from '#contract/overview.ts'
import { utilisation } from '#contract/network/subnet-rules.ts'
import { paths } from '../../lib/paths.ts'
import { count } from '../../lib/units.ts'
import { fillTone, Meter } from '../../ui/pictures/Meter.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import css from './Overview.module.css'

/** The subnets with the fewest free addresses. Each links to its address map. */
export function SubnetsPanel({ subnets }: { subnets: Overview['subnets'] }) {
  return (
    <Panel title="Subnets nearest to full" actions={<a href={paths.network({ sort: '-used' })}>Network</a>} flush={subnets.length > 0}>
      {subnets.length === 0 ? (
        <p className={css['quiet']}>No cluster has reported its addresses in use yet.</p>
      ) : (
        <ul className={css['subnets']}>
          {subnets.map((s) => (
            <li key={s.id}>
              <a className="strong clip" href={paths.network({ q: s.name, open: s.id })}>
                {s.name}
              </a>
              <span className="mono fs12 t2 clip">{s.cidr}</span>
              {s.used !== null && s.total !== null && (
                <span title={utilisation(s.used, s.total) ?? undefined}>
                  <Meter
                    value={s.used}
                    of={s.total}
                    tone={fillTone(s.used, s.total)}
                    label={`Addresses of ${s.name} in use`}
                    text={`${count(s.used)} of ${count(s.total)}`}
                  />
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
