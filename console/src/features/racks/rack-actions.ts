/** Actions on racks and on the servers in them. */
import type { ComponentProps } from 'react'
import { rackExport, rackImport } from '#contract/racks/files.ts'
import {
  canRemoveRack,
  type Rack,
  rackCreate,
  rackList,
  rackRemove,
  rackUpdate,
  serverPlace,
  serverUnplace,
} from '#contract/racks/racks.ts'
import type { ListedServer } from '#contract/servers/servers.ts'
import { call, download } from '../../api/client.ts'
import { allowed } from '../../api/session.ts'
import { type ListSearch, narrowingOf } from '../../lib/list-search.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { type Action, both, confirm } from '../../ui/actions.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'
import type PlaceDialog from './PlaceDialog.tsx'
import { refreshRacks } from './rack-queries.ts'

const editRack = dialog<{ edit: Rack | null }>(() => import('./RackDialog.tsx'))
export const placeServer = dialog<ComponentProps<typeof PlaceDialog>>(
  () => import('./PlaceDialog.tsx'),
)

export const addRack: Action = {
  label: 'Add rack',
  icon: 'add',
  run: () => editRack({ edit: null }),
}
const importRacks = dialog(() => import('./ImportRacks.tsx'))

/** Import and export of the places as CSV. `search`: the list's. */
export const rackFileActions = (search: ListSearch): [Action, Action] => [
  {
    label: 'Import racks',
    icon: 'arrow-up',
    can: allowed(rackImport),
    run: () => importRacks(),
  },
  {
    label: 'Export racks',
    icon: 'download',
    can: allowed(rackExport),
    run: () =>
      download(rackExport, { query: narrowingOf(rackList, search) }, 'racks.csv').catch(
        (problem: unknown) => toast.error(reasonOf(problem)),
      ),
  },
]
export const mayAdd = () => allowed(rackCreate)
export const mayPlace = () => allowed(serverPlace)

/** @param then called after the rack was removed */
export const rackActions = (rack: Rack, then?: () => void): Action[] => [
  {
    label: 'Show servers',
    icon: 'server',
    to: paths.servers({ rack: rack.id }),
  },
  {
    label: 'Edit',
    icon: 'edit',
    can: allowed(rackUpdate),
    run: () => editRack({ edit: rack }),
  },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: both(allowed(rackRemove), canRemoveRack(rack)),
    run: () =>
      confirm({
        title: `Remove ${rack.name}?`,
        label: 'Remove rack',
        text: 'The rack is empty. Nothing else is removed.',
        danger: true,
        act: async () => {
          await call(rackRemove, { params: { id: rack.id } }, { version: rack.version })
          await refreshRacks()
          toast.success(`${rack.name} was removed`)
          then?.()
        },
      }),
  },
]

async function takeOut({ id, name }: ListedServer): Promise<void> {
  try {
    await call(serverUnplace, { params: { id } })
    await refreshRacks()
    toast.success(`${name} stands in no rack now`)
  } catch (error) {
    toast.error(reasonOf(error))
  }
}

/** Actions on a server of a rack. */
export const placedActions = (server: ListedServer, rack: Rack): Action[] => [
  { label: 'Open server', icon: 'server', to: paths.server(server.id) },
  {
    label: 'Move',
    icon: 'swap',
    can: mayPlace(),
    run: () => placeServer({ rack, server, place: server.placement ?? {} }),
  },
  ...(server.placement?.bay
    ? [
        {
          label: 'Place another in its chassis',
          icon: 'add' as const,
          can: mayPlace(),
          run: () => placeServer({ rack, server: null, place: { ...server.placement, bay: null } }),
        },
      ]
    : []),
  { label: 'Take out', icon: 'trash', can: allowed(serverUnplace), run: () => takeOut(server) },
]
