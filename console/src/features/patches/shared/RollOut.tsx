import { useQuery } from '@tanstack/react-query'
import {
  type SharedPatchFacts,
  sharedPatchRollOut,
  type SharedPatchServer,
} from '#contract/shared-patches/shared-patches.ts'
import { counted } from '#contract/words.ts'
import { rollOutMinutes, withLosses } from '../../../api/asking/losses.ts'
import { call } from '../../../api/client.ts'
import { paths } from '../../../lib/paths.ts'
import { navigate } from '../../../lib/router.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { patchServersQuery, refreshSharedPatches } from './shared-queries.ts'

interface Typed {
  canary: string
  in_window: boolean
}
const { Choose, Check } = fieldsFor<Typed>()

const roleSaid = (role: SharedPatchServer['role']): string =>
  role === 'control_plane' ? 'control plane' : 'worker'

/** Begins a roll-out: proposes the server that is changed first, which the user may choose. */
export default function RollOut({ patch }: { patch: SharedPatchFacts }) {
  const { close } = useDialog()
  const { id, name, version } = patch
  const { data } = useQuery(patchServersQuery(id))
  const behind = (data?.items ?? []).filter(({ state }) => state !== 'current')
  const [proposed] = behind
  const form = useForm({
    initial: { canary: '', in_window: false },
    read: ({ canary, in_window }: Typed) => ({
      ok: true as const,
      body: { ...(canary !== '' && { canary_id: canary }), in_window },
    }),
    send: (body) =>
      withLosses(
        (confirmed) =>
          call(
            sharedPatchRollOut,
            { params: { id }, body: { ...body, ...confirmed } },
            { version },
          ),
        rollOutMinutes,
      ),
    done: async () => {
      await refreshSharedPatches()
      close()
      await navigate(paths.sharedPatch(id))
    },
  })
  const { canary, in_window } = form.values
  const first = behind.find(({ server }) => server.id === canary)?.server.name
  return (
    <FormDialog
      form={form}
      title={`Roll out ${name}`}
      submit="Roll out"
      busyText="Beginning"
      command={
        <AsCommand
          complete
          cli={cliOf(['shared-patch', 'roll-out', name], {
            canary: first,
            'in-window': in_window,
          })}
          api={curlOf(sharedPatchRollOut, { id }, form.read.ok ? form.read.body : {}, { version })}
        />
      }
    >
      <p className="fs13 t2">
        {patch.servers.behind === 1
          ? 'One server is changed.'
          : `${counted(patch.servers.behind, 'server')} are changed one after another: the canary alone, then the rest of its cluster, then the other clusters. The first refusal stops the roll-out, and no later server is changed.`}
      </p>
      <Choose
        name="canary"
        label="Canary: changed first, alone"
        none={proposed === undefined ? 'Proposed' : `${proposed.server.name} (proposed)`}
        options={behind.slice(1).map(({ server, cluster, role }) => ({
          value: server.id,
          text: server.name,
          more: cluster === null ? 'in no cluster' : `${roleSaid(role)}, ${cluster.name}`,
        }))}
      />
      <Check name="in_window" label="Only while the maintenance window of each cluster is open" />
    </FormDialog>
  )
}
