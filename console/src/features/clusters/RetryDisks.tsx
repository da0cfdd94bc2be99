import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Operation, operationRetry, type operationRetryDisks } from '#contract/operations.ts'
import type { Answer } from '#contract/operation.ts'
import { no, yes } from '#contract/rule.ts'
import { call } from '../../api/client.ts'
import { newKey } from '../../api/http.ts'
import { curlOf } from '../../lib/shell.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { Problem } from '../../ui/feedback/Status.tsx'
import { useAct } from '../../ui/feedback/use-act.ts'
import { refreshClusters } from './cluster-queries.ts'
import { keyOf } from './create-draft.ts'
import { DiskChecks } from './DisksToWipe.tsx'

/** Asks for the disks that hold something else than when the cluster was created, before a retry wipes them. */
export function RetryDisks({
  operation,
  disks,
  onClose,
}: {
  operation: Pick<Operation, 'id'>
  disks: Answer<typeof operationRetryDisks>['items']
  onClose: () => void
}) {
  const client = useQueryClient()
  const { busy, problem, act } = useAct()
  const [key] = useState(newKey)
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set())
  const unnamed = disks.find((d) => d.by === null)
  const left = disks.filter((d) => d.by !== null && !ticked.has(keyOf(d))).length
  const can = unnamed
    ? no(`${unnamed.device} of ${unnamed.server} can't be told from others: empty it first, or put another server in its place`)
    : left > 0
      ? no('Confirm each disk first')
      : yes
  const body = { confirmed_disks: disks.flatMap((d) => (d.by !== null && ticked.has(keyOf(d)) ? [d.by] : [])) }
  const retry = async () => {
    const done = await act(async () => {
      await call(operationRetry, { params: { id: operation.id }, body }, { key })
      await refreshClusters(client)
    })
    if (done) onClose()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      locked={busy}
      title="Retry and wipe?"
      footer={
        <>
          <span className="grow hide-sm">
            <AsCommand complete={can.ok} api={curlOf(operationRetry, { id: operation.id }, body, { origin: location.origin })} />
          </span>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" busy={busy} busyText="Retrying" can={can} onClick={() => void retry()}>
            Wipe and retry
          </Button>
        </>
      }
    >
      <div className="stack stack3">
        <Problem text={problem} />
        <DiskChecks
          disks={disks}
          ticked={ticked}
          onTick={setTicked}
          text="These disks hold something else than what was agreed to be wiped. Confirm each one: what is on it is lost."
        />
      </div>
    </Dialog>
  )
}
