import type { Cluster } from '#contract/clusters/clusters.ts'
import { devicePath } from '#contract/disks/disks.ts'
import type { Server } from '#contract/servers/servers.ts'
import { FindingMark } from '../../../ui/feedback/FindingMark.tsx'
import { Checkbox } from '../../../ui/inputs/Choices.tsx'
import { canTake, firstChoice, troubledLast } from '../create/choice.ts'
import wizard from '../create/Steps.module.css'
import type { Chosen } from '../create/draft.ts'
import { ChosenRow, hardwareLine } from '../create/ServerRow.tsx'
import css from './Change.module.css'

/** The chosen servers by id. */
export type ChosenServers = Readonly<Record<string, Chosen>>

/** The chosen servers in the form of the API. */
export const joiningOf = (servers: ChosenServers) =>
  Object.entries(servers).map(([node_id, { role, link, installDisk, workloadDisks }]) => ({
    node_id,
    role,
    ...(link !== '' && { interface: link }),
    ...(installDisk !== '' && { install_disk: devicePath(installDisk) }),
    workload_disks: workloadDisks.map(devicePath),
  }))

interface FreeServersProps {
  cluster: Cluster
  free: readonly Server[]
  chosen: ChosenServers
  /** The role with which a chosen server begins. Default: worker. */
  begins?: Chosen['role']
  onChange: (change: (now: ChosenServers) => ChosenServers) => void
}

/**
 * A list to choose free servers, with their roles and disks. A server that can't join shows the
 * reason.
 */
export function FreeServers({
  cluster,
  free,
  chosen,
  begins = 'worker',
  onChange,
}: FreeServersProps) {
  const set = (id: string, to: Chosen | undefined) =>
    onChange((now) => {
      const { [id]: _left, ...rest } = now
      return to === undefined ? rest : { ...now, [id]: to }
    })
  const may = (s: Server) => canTake(s, cluster.talos_version)
  const rows = troubledLast(free).toSorted((a, b) => Number(may(b).ok) - Number(may(a).ok))
  return (
    <section className={`${wizard['table']} ${wizard['captioned']}`} aria-label="Free servers">
      {rows.map((s) => {
        const own = chosen[s.id]
        const verdict = may(s)
        return own !== undefined ? (
          <ChosenRow
            key={s.id}
            server={s}
            chosen={own}
            patches={undefined}
            lost={canTake(s, cluster.talos_version, own)}
            onSet={(part) => set(s.id, { ...own, ...part })}
            onLeave={() => set(s.id, undefined)}
          />
        ) : (
          <div key={s.id} className={wizard['row']} data-server={s.id}>
            <Checkbox
              checked={false}
              disabled={!verdict.ok}
              onChange={() => set(s.id, { ...firstChoice(s), role: begins })}
              label={
                <span className={css['who']}>
                  <b>{s.name}</b> {verdict.ok && s.finding && <FindingMark finding={s.finding} />}{' '}
                  <small className="t3">{verdict.ok ? hardwareLine(s) : verdict.reason}</small>
                </span>
              }
            />
          </div>
        )
      })}
    </section>
  )
}
