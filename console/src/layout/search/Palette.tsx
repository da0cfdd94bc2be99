import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { clusterCreate, clusterList } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { ccList } from '#contract/marketplace/ccs.ts'
import { matchedText, serverAdd, serverRows } from '#contract/servers/servers.ts'
import { clusterSubnetsAssign, subnetCreate, subnetList } from '#contract/network/subnets.ts'
import { query } from '../../api/query.ts'
import { allowed, mayManageUsers } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { useStore } from '../../lib/store.ts'
import { sentence } from '../../lib/text.ts'
import { navigate } from '../../lib/router.ts'
import type { Action } from '../../ui/actions.ts'
import { CommandPalette, type PaletteGroup } from '../../ui/overlay/CommandPalette.tsx'
import { commandGroups, useThemeAction } from './commands.ts'
import { askAndLogOut } from '../leave.ts'
import { menu } from '../navigation/menu.ts'

/** ⌘K: the page's actions, then pages, then matching servers, clusters, datacenters and subnets. */
export default function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [search, setSearch] = useState('')
  const [was, setWas] = useState(open)
  if (was !== open) {
    setWas(open)
    if (open) setSearch('')
  }
  const offered = useStore(commandGroups)
  const themeAction = useThemeAction()
  const q = useDeferredValue(search.trim())
  const wanted = open && q !== ''
  const found = { per_page: 6, page: 1, q }
  const servers = useQuery({
    ...query(serverRows, { query: { ...found, fields: 'list' } }),
    enabled: wanted && allowed(serverRows).ok,
    placeholderData: keepPreviousData,
  })
  const clusters = useQuery({
    ...query(clusterList, { query: found }),
    enabled: wanted && allowed(clusterList).ok,
    placeholderData: keepPreviousData,
  })
  const sites = useQuery({
    ...query(datacenterList, { query: found }),
    enabled: wanted && allowed(datacenterList).ok,
    placeholderData: keepPreviousData,
  })

  const subnets = useQuery({
    ...query(subnetList, { query: found }),
    enabled: wanted && allowed(subnetList).ok,
    placeholderData: keepPreviousData,
  })

  const things: Action[] = wanted
    ? [
        ...(servers.data?.items ?? []).map((s): Action => ({
          label: s.name,
          icon: 'server',
          hint: `server, ${matchedText(s) ?? s.cluster?.name ?? sentence(s.status).toLowerCase()}`,
          to: paths.server(s.id),
        })),
        ...(clusters.data?.items ?? []).map((c): Action => ({
          label: c.name,
          icon: 'cluster',
          hint: `cluster, ${c.status}`,
          to: paths.cluster(c.id),
        })),
        ...(sites.data?.items ?? []).map((d): Action => ({
          label: d.code,
          icon: 'datacenter',
          hint: `datacenter, ${d.city_name}`,
          to: paths.datacenters({ q: d.code }),
        })),
        ...(subnets.data?.items ?? []).map((s): Action => ({
          label: s.name,
          icon: 'network',
          hint: `subnet, ${s.cidr}`,
          to: paths.network({ q: s.name, open: s.id }),
        })),
      ]
    : []
  const groups: PaletteGroup[] = [
    ...offered,
    { heading: 'Found', found: true, actions: things },
    {
      heading: 'Go to',
      actions: [
        { label: 'Overview', icon: 'overview', to: paths.home },
        ...menu.flatMap((entry): Action[] =>
          entry.path === undefined
            ? []
            : [{ label: entry.label, icon: entry.icon, to: entry.path }],
        ),
        {
          label: 'Shared patches',
          icon: 'edit',
          hint: 'one patch for many servers',
          to: paths.sharedPatches(),
        },
        {
          label: 'Templates',
          icon: 'bookmark',
          hint: 'make clusters like others',
          to: paths.templates(),
        },
        { label: 'Join tokens', icon: 'key', to: paths.joinTokens() },
        { label: 'Incidents', icon: 'alert', hint: 'what is wrong', to: paths.incidents() },
        { label: 'Findings', icon: 'alert', hint: 'each by itself', to: paths.findings() },
        { label: 'Operations', icon: 'grip', to: paths.operations() },
        { label: 'Alerts: channels', icon: 'alert', to: paths.channels() },
        { label: 'Alerts: rules', icon: 'alert', to: paths.alertRules() },
        { label: 'Alerts: silences', icon: 'alert', to: paths.silences() },
        { label: 'Alerts: deliveries', icon: 'alert', to: paths.deliveries() },
        {
          label: 'History',
          icon: 'bookmark',
          hint: 'what happened, and who did it',
          to: paths.history(),
        },
        { label: 'Profile', icon: 'edit', to: paths.profile() },
        { label: 'Admin: users', icon: 'key', can: mayManageUsers(), to: paths.users() },
        {
          label: 'Admin: invitations',
          icon: 'key',
          can: mayManageUsers(),
          to: paths.invitations(),
        },
        { label: 'Admin: waitlist', icon: 'key', can: mayManageUsers(), to: paths.waitlist() },
        { label: 'Admin: sessions', icon: 'key', can: mayManageUsers(), to: paths.sessions() },
        { label: 'Admin: API tokens', icon: 'key', can: mayManageUsers(), to: paths.apiTokens() },
        { label: 'Audit log', icon: 'lock', can: mayManageUsers(), to: paths.audit() },
        {
          label: 'Compute capacity (CCs)',
          icon: 'marketplace',
          hint: 'marketplace: offers, commitments',
          to: paths.ccs(),
          can: allowed(ccList),
        },
      ],
    },
    {
      heading: 'Do',
      actions: [
        {
          label: 'Create cluster',
          icon: 'add',
          to: paths.createCluster(),
          can: allowed(clusterCreate),
        },
        { label: 'Prepare image', icon: 'disk', to: paths.prepareImage(), can: allowed(serverAdd) },
        { label: 'Add subnet', icon: 'add', to: paths.addSubnet(), can: allowed(subnetCreate) },
        {
          label: 'Assign subnets',
          icon: 'network',
          to: paths.assignSubnets(),
          can: allowed(clusterSubnetsAssign),
        },
        themeAction,
        { label: 'Log out', icon: 'log-out', run: () => void askAndLogOut() },
      ],
    },
  ]
  return (
    <CommandPalette
      open={open}
      onClose={onClose}
      search={search}
      onSearch={setSearch}
      groups={groups}
      busy={servers.isFetching || clusters.isFetching || sites.isFetching || subnets.isFetching}
      onGo={(href) => void navigate(href)}
    />
  )
}
