import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type ListedServer, type Server, serverRows } from '#contract/servers/servers.ts'
import { count, counted, someOf } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { keyOf } from '../../../api/query.ts'
import { everyPage } from '../../../lib/every-page.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { Button, IconButton } from '../../../ui/inputs/Button.tsx'
import type { Form } from '../../../ui/form/use-form.ts'
import { taking } from './choice.ts'
import type { Draft } from './draft.ts'

/** Most reasons that are listed. Each server may have its own. */
const mostReasons = 6

interface PreselectedProps {
  /** Ids of servers, separated by commas. */
  of: string
  draft: Draft
  change: Form<Draft>['set']
  /** The servers of the draft's datacenter, once they are known. */
  servers: readonly Server[] | undefined
}

/**
 * Chooses the servers of a selection once, with their datacenter, and says which of them are left
 * out and why.
 */
export default function Preselected({ of, draft, change, servers }: PreselectedProps) {
  const [ids] = useState(() => new Set(of.split(',')))
  const [found, setFound] = useState<{
    known: readonly Server[]
    able: readonly Server[]
    left: ReadonlyMap<string, readonly string[]>
  }>()
  const [isDismissed, setDismissed] = useState(false)
  // Lists contain no disks, so this list only tells the datacenter and why a server is left out.
  const rows = useQuery({
    queryKey: [keyOf(serverRows), { every: 'preselected' }],
    queryFn: ({ signal }) =>
      everyPage((page) => call(serverRows, { query: { page, fields: 'list' } }, signal)),
    select: (all) => all.filter((s) => ids.has(s.id)),
    enabled: found === undefined,
  })
  const site = rows.data?.find((s) => s.datacenter)?.datacenter
  const siteId = site?.id
  useEffect(() => {
    if (siteId !== undefined) change({ datacenterId: siteId, servers: {} })
  }, [siteId, change])
  if (
    found === undefined &&
    rows.data !== undefined &&
    (!site || (site.id === draft.datacenterId && servers !== undefined))
  ) {
    const known = servers ?? []
    const here = known.filter((s) => ids.has(s.id))
    const able = here.filter((s) => site && s.ineligible === null)
    const chosen = new Set(able.map((s) => s.id))
    setFound({ known, able, left: leftOut(ids, chosen, [...rows.data, ...here], site?.id) })
  }
  useEffect(() => {
    if (found !== undefined && found.able.length > 0)
      change((now) => ({ servers: taking(found.able, now.servers, found.known) }))
  }, [found, change])
  if (rows.error && rows.data === undefined)
    return (
      <Alert
        tone="danger"
        action={
          <Button size="small" busy={rows.isFetching} onClick={() => void rows.refetch()}>
            Try again
          </Button>
        }
      >
        The selected servers could not be loaded: {reasonOf(rows.error)}
      </Alert>
    )
  // Another datacenter, or a draft that was discarded, has nothing to do with the selection.
  const isAbout = siteId === undefined || siteId === draft.datacenterId
  const reasons = [...(found?.left ?? [])]
  if (reasons.length === 0 || isDismissed || !isAbout) return null
  const others = reasons.slice(mostReasons).flatMap(([, names]) => names)
  return (
    <Alert
      tone="warn"
      action={
        <IconButton size="small" icon="close" label="Dismiss" onClick={() => setDismissed(true)} />
      }
    >
      <b>
        {count(reasons.flatMap(([, names]) => names).length)} of{' '}
        {counted(ids.size, 'selected server')} left out
      </b>
      <ul>
        {reasons.slice(0, mostReasons).map(([reason, names]) => (
          <li key={reason}>
            {someOf(names)}: {reason}
          </li>
        ))}
        {others.length > 0 && <li>{someOf(others)}: Other reasons, which their pages show</li>}
      </ul>
    </Alert>
  )
}

/**
 * The names of the servers that are not chosen, by reason. `known`: the newest state of a server
 * comes last.
 */
function leftOut(
  ids: ReadonlySet<string>,
  chosen: ReadonlySet<string>,
  known: readonly Pick<ListedServer, 'id' | 'name' | 'datacenter' | 'ineligible'>[],
  siteId: string | undefined,
): ReadonlyMap<string, readonly string[]> {
  const byId = new Map(known.map((s) => [s.id, s]))
  const names = new Map<string, string[]>()
  for (const id of ids) {
    if (chosen.has(id)) continue
    const s = byId.get(id)
    const reason =
      s === undefined
        ? 'There is no such server any more'
        : s.datacenter === null
          ? 'No datacenter is assigned'
          : s.datacenter.id !== siteId
            ? `In ${s.datacenter.code}, and a cluster has the servers of one datacenter`
            : (s.ineligible ?? 'It was removed')
    names.set(reason, [...(names.get(reason) ?? []), s?.name ?? id])
  }
  return names
}
