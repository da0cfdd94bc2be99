import { type UseQueryResult, useQueries } from '@tanstack/react-query'
import { type ComponentProps, Suspense, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { canHaveControlPlanes } from '#contract/clusters/clusters.ts'
import { patchList } from '#contract/patches.ts'
import type { Server } from '#contract/servers/servers.ts'
import { counted, someOf } from '#contract/words.ts'
import { query } from '../../../api/query.ts'
import { count, disk, memory } from '../../../lib/units.ts'
import { paths } from '../../../lib/paths.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { FindingMark } from '../../../ui/feedback/FindingMark.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Checkbox } from '../../../ui/inputs/Choices.tsx'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import { Icon } from '../../../ui/pictures/Icon.tsx'
import { KeyValue, Panel } from '../../../ui/text/Panel.tsx'
import { Menu } from '../../../ui/overlay/Menu.tsx'
import { Search } from '../../../ui/inputs/Search.tsx'
import { part } from '../../../ui/part.tsx'
import { Empty, ErrorState, SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Alert, Problem } from '../../../ui/feedback/Status.tsx'
import {
  canTake,
  firstFive,
  leaving,
  proposalText,
  taking,
  troubledLast,
  warningsOf,
  withRoles,
  sumOf,
} from './choice.ts'
import type { Chosen, Draft } from './draft.ts'
import css from './Steps.module.css'
import { ChosenRow, hardwareLine, rowHeads } from './ServerRow.tsx'
import type NewPatchDialog from './NewPatchDialog.tsx'
import type { WriteBody } from './NewPatchDialog.tsx'
import { setForAll, withPatch } from './set-for-all.ts'
import type { Source } from '../like/use-start.ts'

const ByNeed = part(async () => ({ default: (await import('../like/like.ts')).ByNeed }))

const writeNewPatch = dialog<ComponentProps<typeof NewPatchDialog>>(
  () => import('./NewPatchDialog.tsx'),
)

/** Number of eligible servers shown at first; the search finds the others. */
const atOnce = 8

const matches = (s: Server, q: string) =>
  [s.name, s.identity.serial ?? '', ...s.nodeAddresses].some((text) =>
    text.toLowerCase().includes(q),
  )

/** Checks the number of control planes. An empty selection is not an error. */
function controlPlaneCheck(chosen: number): { ok: boolean | 'warn'; text: string } {
  const verdict = canHaveControlPlanes(chosen)
  return verdict.ok
    ? { ok: true, text: 'Odd number of control planes' }
    : { ok: chosen === 0 ? 'warn' : false, text: verdict.reason }
}

interface StepServersProps {
  draft: Draft
  change: (patch: (now: Draft) => Partial<Draft>) => void
  servers: UseQueryResult<Server[]>
  datacenter: string
  /** The cluster's version: the chosen one, or the newest. */
  talosVersion: string
  refused: string | undefined
  writeBody: WriteBody
  /** The template, or the cluster, that the new cluster is like. */
  source: Source
}

/** Selects servers with roles and disks. Ineligible servers are listed with the reason. */
export function StepServers({
  draft,
  change,
  servers,
  datacenter,
  talosVersion,
  refused,
  writeBody,
  source,
}: StepServersProps) {
  const [byNeed, setByNeed] = useState(source.template !== undefined || source.like !== undefined)
  const [q, setQ] = useState('')
  const [shown, setShown] = useState(atOnce)
  const { data, error, refetch } = servers
  const { chosen, eligible, others } = useMemo(() => {
    const found = (data ?? []).filter((s) => q === '' || matches(s, q.toLowerCase()))
    const may = (s: Server) => canTake(s, talosVersion).ok
    return {
      chosen: (data ?? []).filter((s) => draft.servers[s.id]),
      eligible: troubledLast(found.filter((s) => !draft.servers[s.id] && may(s))),
      others: found.filter((s) => !draft.servers[s.id] && !may(s)),
    }
  }, [data, draft.servers, q, talosVersion])
  const patches = useQueries({
    queries: chosen.map((s) => query(patchList, { params: { id: s.id } })),
  })
  // A server moves to another list when the user adds or removes it, and the focus follows the
  // server (WCAG 2.4.3).
  const list = useRef<HTMLElement>(null)
  const moved = useRef<string | null>(null)
  useLayoutEffect(() => {
    if (moved.current === null) return
    list.current?.querySelector<HTMLElement>(`[data-server="${moved.current}"] input`)?.focus()
    moved.current = null
  })
  const well = eligible.filter((s) => !s.finding)
  const patchOf = new Map(
    chosen.map((s, i) => [
      s.id,
      patches[i]?.data?.items.filter((p) => !p.read_only) ??
        (patches[i]?.isError ? null : undefined),
    ]),
  )
  const unread = chosen.filter((s) => patchOf.get(s.id) === null)
  const retryPatches = () => patches.forEach((one) => one.isError && void one.refetch())

  if (data === undefined)
    return error ? (
      <ErrorState boxed error={error} onRetry={() => void refetch()} />
    ) : (
      <SkeletonRows rows={8} />
    )
  if (data.length === 0)
    return (
      <Empty
        boxed
        title={`No servers in ${datacenter}`}
        text="Add servers to this datacenter, or choose another one."
      />
    )

  const take = (list: readonly Server[]) =>
    change((now) => ({ servers: taking(list, now.servers, data) }))
  const takeOne = (s: Server) => {
    moved.current = s.id
    take([s])
  }
  const leave = (id: string) => {
    moved.current = id
    change((now) => ({ servers: leaving(id, now.servers, data) }))
  }
  const set = (id: string, patch: Partial<Chosen>) =>
    change((now) => ({ servers: { ...now.servers, [id]: { ...now.servers[id]!, ...patch } } }))
  const without = chosen.filter(
    (s) => patchOf.get(s.id)?.length === 0 && draft.servers[s.id]!.patch === undefined,
  )
  // A selected server may meanwhile have joined a cluster, been removed, become unreachable, or no
  // longer fit the chosen version.
  const verdictOf = (s: Server) => canTake(s, talosVersion, draft.servers[s.id])
  const lost = chosen.filter((s) => !verdictOf(s).ok)
  const proposed = proposalText(draft.servers, data)
  const controlPlanes = Object.values(draft.servers).filter(
    (c) => c.role === 'control_plane',
  ).length

  return (
    <div className={css['cols']}>
      <div className={css['main']}>
        {byNeed && (
          <Suspense fallback={<SkeletonRows rows={4} />}>
            <ByNeed
              source={source}
              draft={draft}
              change={change}
              servers={data}
              talosVersion={talosVersion}
            />
          </Suspense>
        )}
        <div className="toolbar">
          <Search
            label="Search servers"
            placeholder="Name, serial or address"
            value={q}
            onValue={setQ}
          />
          <span className="fs13 t2">
            {eligible.length + chosen.length} eligible in {datacenter}, {others.length} not
          </span>
          <span className="row right">
            {!byNeed && (
              <Button size="small" onClick={() => setByNeed(true)}>
                Choose by need
              </Button>
            )}
            {chosen.length === 0 && eligible.length >= 3 && (
              <Button
                size="small"
                onClick={() => take(firstFive(well.length < 5 ? eligible : well))}
              >
                Choose {Math.min(5, eligible.length)}
              </Button>
            )}
            {chosen.length > 0 && (
              <Menu
                label="Set for all selected"
                trigger={
                  <Button kind="ghost" iconAfter="chevron-down">
                    Set for all selected
                  </Button>
                }
                items={() =>
                  setForAll(
                    draft.servers,
                    data,
                    (to) => change(() => ({ servers: to })),
                    (to) => withRoles(to, data),
                    () =>
                      void writeNewPatch({
                        writeBody,
                        talosVersion,
                        servers: chosen.map((s) => ({
                          id: s.id,
                          name: s.name,
                          patches: patchOf.get(s.id) ?? [],
                          draft: draft.servers[s.id]!.patch,
                        })),
                        onSet: (patch) =>
                          change((now) => ({ servers: withPatch(now.servers, patch) })),
                      }),
                  )
                }
              />
            )}
          </span>
        </div>
        {proposed !== null && <p className={css['proposed']}>{proposed}</p>}
        <Problem text={refused} />
        {unread.length > 0 && (
          <Alert
            tone="danger"
            action={
              <Button size="small" onClick={retryPatches}>
                Try again
              </Button>
            }
          >
            The patches of {someOf(unread.map((s) => s.name))} could not be loaded:{' '}
            {reasonOf(patches.find((one) => one.isError)?.error)}
          </Alert>
        )}
        <section className={css['table']} aria-label="Servers" ref={list}>
          {chosen.length + eligible.length > 0 && (
            <div className={css['heads']}>
              <Checkbox
                checked={eligible.length === 0}
                indeterminate={chosen.length > 0 && eligible.length > 0}
                label={
                  <>
                    Server
                    <span className="sr">
                      :{' '}
                      {eligible.length === 0
                        ? 'deselect all'
                        : `select the ${Math.min(shown, eligible.length)} shown`}
                    </span>
                  </>
                }
                onChange={() =>
                  eligible.length === 0
                    ? change(() => ({ servers: {} }))
                    : take(eligible.slice(0, shown))
                }
              />
              {chosen.length > 0 &&
                rowHeads.map((head) => (
                  <span key={head} aria-hidden="true">
                    {head}
                  </span>
                ))}
            </div>
          )}
          {chosen.map((s) => (
            <ChosenRow
              key={s.id}
              server={s}
              chosen={draft.servers[s.id]!}
              patches={patchOf.get(s.id)}
              lost={lost.includes(s) ? verdictOf(s) : undefined}
              onSet={(patch) => set(s.id, patch)}
              onLeave={() => leave(s.id)}
            />
          ))}
          {eligible.slice(0, shown).map((s) => (
            <div key={s.id} className={css['row']} data-server={s.id}>
              <Checkbox checked={false} label={<b>{s.name}</b>} onChange={() => takeOne(s)} />
              <span className={`${css['about-server']} t2 fs13`}>
                {s.finding && <FindingMark finding={s.finding} />} {hardwareLine(s)}
              </span>
            </div>
          ))}
          {eligible.length > shown && (
            <div className={css['row']}>
              <Button kind="ghost" size="small" onClick={() => setShown(shown + 50)}>
                Show {Math.min(50, eligible.length - shown)} more eligible servers
              </Button>
            </div>
          )}
          {others.length > 0 && (
            <>
              <h2 className={css['heading']}>
                Not eligible <span className="t3">{others.length}</span>
              </h2>
              {others.slice(0, 100).map((s) => {
                const verdict = verdictOf(s)
                return (
                  <div key={s.id} className={`${css['row']} ${css['refused']}`}>
                    <span className={css['off']}>{s.name}</span>
                    <span className={`${css['about-server']} t2 fs13`}>
                      {verdict.ok ? '' : verdict.reason}
                    </span>
                    <a
                      className="right fs13"
                      href={paths.server(s.id)}
                      aria-label={`Open ${s.name}`}
                    >
                      Open
                    </a>
                  </div>
                )
              })}
            </>
          )}
          {chosen.length + eligible.length + others.length === 0 && (
            <p className={css['none']}>No server matches this search.</p>
          )}
        </section>
      </div>
      <SumPanel
        draft={draft}
        servers={data}
        checks={[
          controlPlaneCheck(controlPlanes),
          ...warningsOf(draft, data).map((text) => ({ ok: 'warn' as const, text })),
          ...lost.map((s) => ({ ok: 'warn' as const, text: `${s.name} can't join` })),
          ...(without.length > 0
            ? [
                {
                  ok: 'warn' as const,
                  text: `${counted(without.length, 'server')} without a patch. You will be asked to confirm their networking.`,
                },
              ]
            : []),
        ]}
      />
    </div>
  )
}

const unknown = (value: number | null, say: (n: number) => string) =>
  value === null ? 'Unknown' : say(value)

/** Sums of the selection, with checks and warnings. */
function SumPanel({
  draft,
  servers,
  checks,
}: {
  draft: Draft
  servers: readonly Server[]
  checks: readonly { ok: boolean | 'warn'; text: string }[]
}) {
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
          <li
            key={c.text}
            className={c.ok === true ? 'c-ok' : c.ok === 'warn' ? 'c-warn' : 'c-danger'}
          >
            <Icon name={c.ok === true ? 'check' : 'alert'} />
            <span className="t1">
              <span className="sr">
                {c.ok === true ? 'Passed: ' : c.ok === 'warn' ? 'Warning: ' : 'Failed: '}
              </span>
              {c.text}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
