import { useQueries, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Server, serverConfirm } from '#contract/servers.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../api/client.ts'
import { Button } from '../../ui/Button.tsx'
import { Copyable } from '../../ui/Copyable.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { SkeletonRows } from '../../ui/States.tsx'
import { Alert, StatusDot } from '../../ui/Status.tsx'
import css from './ConfirmHardware.module.css'
import { summaryOf } from './hardware.ts'
import { confirmVerdict } from './server-actions.ts'
import { refreshServers, serverQueryOf } from './server-queries.ts'
import { identityNotice } from './server-state.ts'

/** Says to the API that this is the machine: exactly the hardware that was on the screen. */
export const confirmServer = (s: Server): Promise<Server> =>
  call(serverConfirm, { params: { id: s.id }, body: { uuid: s.identity.uuid ?? '', serial: s.identity.serial ?? '' } })

/** Servers whose hardware a person has to look at: what answered, and a button each. */
export function HardwareToConfirm({ ids }: { ids: readonly string[] }) {
  const client = useQueryClient()
  const answers = useQueries({ queries: ids.map(serverQueryOf) })
  const [busy, setBusy] = useState<ReadonlySet<string>>(new Set())
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({})
  const [done, setDone] = useState<ReadonlySet<string>>(new Set())
  // What was confirmed before is known; what is confirmed here stays in sight.
  const servers = answers.flatMap((a) => (a.data !== undefined && (a.data.identity.state !== 'confirmed' || done.has(a.data.id)) ? [a.data] : []))
  const waiting = servers.filter((s) => confirmVerdict(s).ok)
  const confirm = async (list: readonly Server[]) => {
    setBusy(new Set(list.map((s) => s.id)))
    const failed: Record<string, string> = {}
    for (const s of list) {
      try {
        await confirmServer(s)
      } catch (error) {
        failed[s.id] = error instanceof Error ? error.message : 'An unexpected error occurred'
      }
    }
    setErrors(failed)
    setDone((now) => new Set([...now, ...list.map((s) => s.id)]))
    await refreshServers(client)
    setBusy(new Set())
  }
  if (servers.length === 0 && !answers.some((a) => a.isPending)) return null
  return (
    <div className="stack stack3">
      {waiting.length > 1 && (
        <div className={css['all']}>
          <span className="fs13 t2">Compare each with the label or the console of the machine.</span>
          <Button size="small" busy={busy.size > 0} onClick={() => void confirm(waiting)}>
            Confirm all {waiting.length} shown
          </Button>
        </div>
      )}
      {answers.some((a) => a.isPending) && <SkeletonRows rows={2} />}
      <ul className={css['list']} aria-label="Hardware to confirm">
        {servers.map((s) => (
          <li key={s.id}>
            <Identity server={s} error={errors[s.id]} busy={busy.has(s.id)} onConfirm={() => void confirm([s])} />
          </li>
        ))}
      </ul>
    </div>
  )
}

/** One machine as it showed itself: what a person compares before saying yes. */
function Identity({ server: s, busy, error, onConfirm }: { server: Server; busy: boolean; error: string | undefined; onConfirm: () => void }) {
  const notice = identityNotice(s)
  const { processors, memory } = summaryOf(s.resources)
  return (
    <article className={css['one']} aria-label={s.name}>
      <header>
        <b className="strong">{s.name}</b>
        <span className="mono fs12 t3">{s.nodeAddresses[0] ?? 'No Addresses'}</span>
        <span className="right">
          {notice === null ? (
            <StatusDot tone="ok">Confirmed</StatusDot>
          ) : (
            <Button size="small" kind="primary" busy={busy} busyText="Loading" can={confirmVerdict(s)} aria-label={`Confirm ${s.name}`} onClick={onConfirm}>
              Confirm
            </Button>
          )}
        </span>
      </header>
      <IdentityFacts server={s} />
      <p className="fs12 t3">{[processors?.text, memory?.text].filter(Boolean).join(', ')}</p>
      {s.identity.note !== null && <p className={`fs12 ${notice?.tone === 'danger' ? 'c-danger' : 't2'}`}>{s.identity.note}</p>}
      {error !== undefined && <Alert tone="danger">{error}</Alert>}
    </article>
  )
}

export function IdentityFacts({ server: { identity } }: { server: Server }) {
  const unknown = <span className="t3">Unknown</span>
  return (
    <dl className={css['facts']}>
      <dt>UUID</dt>
      <dd>{identity.uuid === null ? unknown : <Copyable value={identity.uuid} what="UUID" />}</dd>
      <dt>Serial</dt>
      <dd>{identity.serial === null || identity.serial === '' ? unknown : <Copyable value={identity.serial} what="serial" />}</dd>
      <dt>Fingerprint</dt>
      <dd>{identity.fingerprint === null ? unknown : <Copyable value={identity.fingerprint} what="fingerprint" />}</dd>
    </dl>
  )
}

export function ConfirmHardware({ ids, open, onClose }: { ids: readonly string[]; open: boolean; onClose: () => void }) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      width="40rem"
      title={`Confirm the hardware of ${counted(ids.length, 'server')}`}
      footer={<Button onClick={onClose}>Close</Button>}
    >
      <HardwareToConfirm ids={ids} />
    </Dialog>
  )
}
