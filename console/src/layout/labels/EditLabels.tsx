import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { labelLimits } from '#contract/labels/labels.ts'
import { no, yes } from '#contract/rule.ts'
import { count } from '#contract/words.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { LabelsInput } from '../../ui/inputs/LabelsInput.tsx'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { backOf, changeWords, readEdit } from './edits.ts'
import type { Labelled } from './labelled.ts'
import { known, relabel, textsOf, updateOf } from './labels.ts'

interface Typed {
  labels: Record<string, string>
  notes: string
}
const { Area, Custom } = fieldsFor<Typed>()

const labelsHint = `key=value, or a key alone; Enter ends a label. Letters, digits, dots, underscores and hyphens, up to ${labelLimits.name} in a key and in a value, at most ${labelLimits.labels} labels. Nothing is sent to a server.`

/** Edits the labels and notes of a server or a cluster. */
export default function EditLabels({ of }: { of: Labelled }) {
  const { close } = useDialog()
  // What the dialog opened with: the object behind it may change meanwhile.
  const [before] = useState(of)
  const { data } = useQuery(known[before.kind])
  const form = useForm({
    initial: { labels: { ...before.labels }, notes: before.notes },
    read: (typed) => readEdit(before, typed),
    send: (body) => relabel(before, body),
    done: (_, body) => {
      const back = {
        ...(body.labels && { labels: backOf(before.labels, body.labels) }),
        ...(body.notes !== undefined && { notes: before.notes }),
      }
      toast.success(`${body.labels ? 'Labels' : 'Notes'} of ${before.name} were changed`, {
        undo: () => relabel(before, back),
      })
      close()
    },
  })
  const { labels } = form.values
  const isChanged = form.read.ok && Object.keys(form.read.body).length > 0
  const change = form.read.ok ? form.read.body : {}
  return (
    <FormDialog
      form={form}
      title={`Labels and notes of ${before.name}`}
      submit="Save"
      busyText="Saving"
      can={form.read.ok && !isChanged ? no('Change something first') : yes}
      width="34rem"
      command={
        <AsCommand
          {...(change.notes === undefined && {
            cli: cliOf([before.kind, 'label', before.name, ...changeWords(change.labels ?? {})]),
          })}
          api={curlOf(updateOf[before.kind], { id: before.id }, change)}
          complete={isChanged}
        />
      }
    >
      <Custom
        name="labels"
        label="Labels"
        note={`${count(Object.keys(labels).length)} of ${labelLimits.labels}`}
        hint={labelsHint}
      >
        <LabelsInput
          labels={labels}
          suggestions={textsOf(data?.items)}
          onLabels={(next) => {
            form.set({ labels: next })
            form.leave('labels')
          }}
        />
      </Custom>
      <Area
        name="notes"
        label="Notes"
        optional
        hint={`What people should know of the ${before.kind}, up to ${labelLimits.notesBytes / 1024} KiB`}
      />
    </FormDialog>
  )
}
