import { type ReactNode, Suspense } from 'react'
import { NewPatch, patchLimits } from '#contract/patches.ts'
import { counted } from '#contract/words.ts'
import { readBy } from '../../../lib/fields.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Alert, Problem } from '../../../ui/feedback/Status.tsx'
import css from './Steps.module.css'
import { replacedText } from './set-for-all.ts'

/**
 * Renders the editor of a patch body and its preview. Supplied by the route, because the editor
 * belongs to another feature.
 */
export type WriteBody = (asked: {
  /** Of the new cluster; empty if it isn't chosen yet. */
  talosVersion: string
  servers: readonly { id: string; name: string }[]
  name: string
  weight: string
  body: string
  onBody: (body: string) => void
}) => ReactNode

interface Patched {
  id: string
  name: string
  /** Existing patches of the server. */
  patches: readonly { name: string }[]
  /** The new patch in the draft so far. */
  draft: NewPatch | undefined
}

const { Text } = fieldsFor<{ name: string; weight: string; body: string }>()

/**
 * Writes a patch for all selected servers. The patch stays in the draft and is created on each
 * server together with the cluster.
 */
export default function NewPatchDialog({
  talosVersion,
  servers,
  writeBody,
  onSet,
}: {
  talosVersion: string
  servers: readonly Patched[]
  writeBody: WriteBody
  onSet: (patch: NewPatch) => void
}) {
  const { close } = useDialog()
  const before = servers.find((s) => s.draft)?.draft
  const replaced = replacedText(servers, before)
  const form = useForm({
    initial: {
      name: before?.name ?? '',
      weight: String(before?.weight ?? patchLimits.weight.default),
      body: before?.body ?? '',
    },
    // The body isn't validated here: the step Review merges and validates it.
    read: ({ name, weight, body }) => {
      const holder = servers.find((s) => s.patches.some((p) => p.name === name))
      const patch = {
        name,
        weight: /^\d+$/.test(weight) ? Number(weight) : Number.NaN,
        labels: before?.labels ?? {},
        body,
      }
      return readBy(NewPatch, patch, {
        ...(body.trim() === '' && { body: 'Enter a patch' }),
        ...(holder && { name: `${holder.name} has a patch of this name already` }),
      })
    },
    send: onSet,
    done: () => close(),
  })
  const { name, weight, body } = form.values
  return (
    <FormDialog
      form={form}
      width="72rem"
      title={`The same new patch for ${counted(servers.length, 'server')}`}
      submit="Set patch"
    >
      <p className="t2">
        Each of these servers gets the patch when the cluster is created, in addition to its own
        patches. The review shows each resulting configuration.
      </p>
      {replaced !== null && <Alert tone="warn">{replaced}</Alert>}
      <div className={css['fields']}>
        <Text name="name" label="Name" autoCapitalize="none" />
        <Text
          name="weight"
          label="Weight"
          note={`${patchLimits.weight.min} to ${patchLimits.weight.max}`}
          inputMode="numeric"
          className="num"
        />
      </div>
      <Problem text={form.errorOf('body')} />
      <Suspense fallback={<SkeletonRows rows={8} />}>
        {writeBody({
          talosVersion,
          servers,
          name,
          weight,
          body,
          onBody: (to) => form.set({ body: to }),
        })}
      </Suspense>
    </FormDialog>
  )
}
