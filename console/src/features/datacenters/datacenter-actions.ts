import { canRemoveDatacenter, type Datacenter, datacenterList, datacenterRemove, datacenterUpdate } from '#contract/datacenters.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { type Action, both, confirm } from '../../ui/actions.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { toast } from '../../ui/feedback/toast.ts'

/** Adds a datacenter, or edits the given one. */
export const editDatacenter = dialog<{ edit: Datacenter | null }>(() => import('./DatacenterDialog.tsx'))

/** Actions on a datacenter, for row menu and ⌘K. */
export const datacenterActions = (d: Datacenter): Action[] => [
  { label: 'Show servers', icon: 'server', to: paths.servers({ datacenter: d.code }) },
  { label: 'Edit', icon: 'edit', can: allowed(datacenterUpdate), run: () => editDatacenter({ edit: d }) },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: both(allowed(datacenterRemove), canRemoveDatacenter(d)),
    run: () =>
      confirm({
        title: `Remove ${d.code}?`,
        text: 'It is empty. Its code will not be used again.',
        danger: true,
        act: async () => {
          await call(datacenterRemove, { params: { id: d.id } })
          await invalidate(datacenterList)
          toast.success(`${d.code} was removed`)
        },
      }),
  },
]
