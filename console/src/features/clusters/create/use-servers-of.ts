import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { Page } from '#contract/page.ts'
import { type Server, serverList, serverRows } from '#contract/servers/servers.ts'
import { query } from '../../../api/query.ts'
import type { Form } from '../../../ui/form/use-form.ts'
import { taking } from './choice.ts'
import type { Draft } from './draft.ts'

/**
 * The servers of the chosen datacenter. `preselected`: ids of servers to choose, with their
 * datacenter, separated by commas. Those servers are chosen even if `preselected` becomes undefined
 * before they are known: the page removes the ids from its URL when the user goes to the next step.
 */
export function useServersOf(
  draft: Draft,
  preselected: string | undefined,
  datacenters: readonly { id: string; code: string }[],
  change: Form<Draft>['set'],
) {
  const [wanted, setWanted] = useState(preselected)
  if (preselected !== undefined && preselected !== wanted) setWanted(preselected)
  const datacenter = datacenters.find((d) => d.id === draft.datacenterId)
  // Lists contain no disks, so this list only tells the datacenter.
  const { data: rows } = useQuery({
    ...query(serverRows, { query: { page: 1, per_page: 1000, fields: 'list' } }),
    enabled: wanted !== undefined,
  })
  const servers = useQuery({
    ...query(serverList, { query: { datacenter: datacenter?.code ?? '' } }),
    enabled: datacenter !== undefined,
    select: withoutRemoved,
  })
  const { data } = servers
  const ids = wanted?.split(',') ?? []
  const site = rows?.items.find((s) => s.datacenter && ids.includes(s.id))?.datacenter?.id
  useEffect(() => {
    if (site !== undefined) change({ datacenterId: site, servers: {} })
  }, [site, change])
  const taken = useRef(false)
  useEffect(() => {
    if (taken.current || site === undefined || site !== datacenter?.id || data === undefined) return
    taken.current = true
    const able = data.filter((s) => s.ineligible === null && ids.includes(s.id))
    change((now) => ({ servers: taking(able, now.servers, data) }))
  })
  return servers
}

const withoutRemoved = (page: Page<Server>): Server[] =>
  page.items.filter((s) => s.status !== 'deleted')
