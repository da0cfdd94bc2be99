import { refreshClusters } from '../../../api/refresh.ts'
import { useState } from 'react'
import { type Operation, operationRetry, type operationRetryDisks } from '#contract/operations.ts'
import type { Answer } from '#contract/operation.ts'
import { no, yes } from '#contract/rule.ts'
import { call } from '../../../api/client.ts'
import { curlOf } from '../../../lib/shell.ts'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { keyOf } from '../create/wiped.ts'
import { DiskChecks } from '../create/DisksToWipe.tsx'

/** Before a retry, asks to confirm disks whose content has changed since the creation. */
export default function RetryDisks({
  operation,
  disks,
}: {
  operation: Pick<Operation, 'id'>
  disks: Answer<typeof operationRetryDisks>['items']
}) {
  const { close } = useDialog()
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set())
  const unnamed = disks.find((d) => d.by === null)
  const left = disks.filter((d) => d.by !== null && !ticked.has(keyOf(d))).length
  const can = unnamed
    ? no(
        `${unnamed.device} of ${unnamed.server} can't be distinguished from other disks: empty it first, or replace the server`,
      )
    : left > 0
      ? no('Confirm each disk first')
      : yes
  const body = {
    confirmed_disks: disks.flatMap((d) => (d.by !== null && ticked.has(keyOf(d)) ? [d.by] : [])),
  }
  const form = useForm({
    initial: {},
    read: () => ({ ok: true, body }),
    send: (confirmed, key) =>
      call(operationRetry, { params: { id: operation.id }, body: confirmed }, { key }),
    done: async () => {
      await refreshClusters()
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      title="Retry and wipe?"
      submit="Wipe and retry"
      busyText="Retrying"
      danger
      can={can}
      command={
        <AsCommand complete={can.ok} api={curlOf(operationRetry, { id: operation.id }, body)} />
      }
    >
      <DiskChecks
        disks={disks}
        ticked={ticked}
        onTick={setTicked}
        text="The content of these disks has changed since they were confirmed. Confirm each disk again: its content is lost."
      />
    </FormDialog>
  )
}
