import { useQueries } from '@tanstack/react-query'
import { Fragment, useState } from 'react'
import { compareFingerprint } from '#contract/servers/fingerprint.ts'
import { claimedBy, isInDoubt, type Server, serverConfirm } from '#contract/servers/servers.ts'
import { counted, someOf } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { listedServer, serverQueryOf } from '../../../api/one-server.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { Copyable } from '../../../ui/text/Copyable.tsx'
import { Field, TextArea } from '../../../ui/inputs/Field.tsx'
import { SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Alert, Problem, StatusDot } from '../../../ui/feedback/Status.tsx'
import css from './ConfirmHardware.module.css'
import { summaryOf } from '../page/hardware.ts'
import { type Claim, identityAlarm } from '../page/identity-alarm.ts'
import { confirmVerdict } from '../server-actions.ts'
import { refreshServers } from '../server-queries.ts'

/** Confirms exactly the hardware that was shown. */
export const confirmServer = (
  s: Pick<Server, 'id'>,
  { uuid, serial }: Pick<Claim, 'uuid' | 'serial'>,
): Promise<Server> => call(serverConfirm, { params: { id: s.id }, body: { uuid, serial } })

/** Servers whose hardware needs a confirmation, each with a button. */
export function HardwareToConfirm({ ids }: { ids: readonly string[] }) {
  const answers = useQueries({ queries: ids.map(serverQueryOf) })
  const [busy, setBusy] = useState<ReadonlySet<string>>(new Set())
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({})
  const [done, setDone] = useState<ReadonlySet<string>>(new Set())
  // Leave out servers that were confirmed earlier. Servers that are confirmed in this list stay
  // visible.
  const servers = answers.flatMap((a) =>
    a.data !== undefined && (isInDoubt(a.data) || done.has(a.data.id)) ? [a.data] : [],
  )
  // Servers with an identity problem are confirmed one by one.
  const waiting = servers.filter(
    (s) => confirmVerdict(s).ok && s.identity.state !== 'changed' && claimedBy(s) === null,
  )
  const confirm = async (list: readonly { server: Server; claim: Claim }[]) => {
    setBusy(new Set(list.map(({ server }) => server.id)))
    const refused: Record<string, string> = {}
    for (const { server: s, claim } of list) {
      try {
        await confirmServer(s, claim)
      } catch (error) {
        refused[s.id] = reasonOf(error)
      }
    }
    setErrors(refused)
    setDone((now) => new Set([...now, ...list.map(({ server }) => server.id)]))
    await refreshServers()
    setBusy(new Set())
  }
  const failed = answers.flatMap((a, i) =>
    a.data === undefined && a.isError ? [{ id: ids[i]!, ...a }] : [],
  )
  if (servers.length + failed.length === 0 && !answers.some((a) => a.isPending)) return null
  return (
    <div className="stack stack3">
      {waiting.length > 1 && (
        <div className={css['all']}>
          <span className="fs13 t2">
            Compare each server with the label or the console of its machine.
          </span>
          <Button
            size="small"
            busy={busy.size > 0}
            onClick={() =>
              void confirm(
                waiting.flatMap((server) => {
                  const [claim] = identityAlarm(server)?.claims ?? []
                  return claim ? [{ server, claim }] : []
                }),
              )
            }
          >
            Confirm all {waiting.length} shown
          </Button>
        </div>
      )}
      {answers.some((a) => a.isPending) && <SkeletonRows rows={2} />}
      {failed.length > 0 && (
        <Alert
          tone="danger"
          action={
            <Button
              size="small"
              busy={failed.some((a) => a.isFetching)}
              onClick={() => failed.forEach((a) => void a.refetch())}
            >
              Try again
            </Button>
          }
        >
          {counted(failed.length, 'server')} could not be loaded:{' '}
          {someOf(failed.map(({ id }) => listedServer(id)?.name ?? id))}.{' '}
          {[...new Set(failed.map(({ error }) => reasonOf(error)))].slice(0, 3).join('. ')}
        </Alert>
      )}
      <ul className={css['list']} aria-label="Hardware to confirm">
        {servers.map((s) => (
          <li key={s.id}>
            <Identity
              server={s}
              error={errors[s.id]}
              busy={busy.has(s.id)}
              onConfirm={(claim) => void confirm([{ server: s, claim }])}
            />
          </li>
        ))}
      </ul>
    </div>
  )
}

/** The dialog `confirmHardware`. */
export default function ConfirmHardwareDialog({ ids }: { ids: readonly string[] }) {
  const { close } = useDialog()
  return (
    <Dialog
      width="40rem"
      title={`Confirm the hardware of ${counted(ids.length, 'server')}`}
      footer={<ActionButton label="Close" run={() => close()} />}
    >
      <HardwareToConfirm ids={ids} />
    </Dialog>
  )
}

/** The identity of a machine, to compare before confirming. */
function Identity({
  server: s,
  busy,
  error,
  onConfirm,
}: {
  server: Server
  busy: boolean
  error: string | undefined
  onConfirm: (claim: Claim) => void
}) {
  const alarm = identityAlarm(s)
  const { processors, memory } = summaryOf(s.resources)
  return (
    <article className={css['one']} aria-label={s.name}>
      <header>
        <b className="strong">{s.name}</b>
        <span className="mono fs12 t3">{s.nodeAddresses[0] ?? 'No Addresses'}</span>
        <span className="right row wrap">
          {alarm === null ? (
            <StatusDot tone="ok">Confirmed</StatusDot>
          ) : (
            alarm.claims.map((claim, i) => (
              <ActionButton
                label={claim.label}
                key={claim.label}
                size="small"
                kind={i === 0 && alarm.tone === 'warn' ? 'primary' : 'plain'}
                busy={busy}
                busyText="Loading"
                can={confirmVerdict(s)}
                aria-label={`${claim.label} ${s.name}`}
                run={() => onConfirm(claim)}
              />
            ))
          )}
        </span>
      </header>
      <IdentityFacts server={s} />
      {alarm !== null && <CompareFingerprint fingerprint={s.identity.fingerprint} />}
      <p className="fs12 t3">{[processors?.text, memory?.text].filter(Boolean).join(', ')}</p>
      {s.identity.note !== null && (
        <p className={`fs12 ${alarm?.tone === 'danger' ? 'c-danger' : 't2'}`}>{s.identity.note}</p>
      )}
      {alarm !== null && <WhatToDo steps={alarm.steps} />}
      <Problem text={error} />
    </article>
  )
}

/**
 * Compares `fingerprint` with the last fingerprint in text that the user pastes from the machine's
 * console.
 */
function CompareFingerprint({ fingerprint }: { fingerprint: string | null }) {
  const [pasted, setPasted] = useState('')
  const found = pasted.trim() === '' ? null : compareFingerprint(pasted, fingerprint)
  return (
    <Field
      label="Fingerprint on its console"
      optional
      hint="Paste the fingerprint or the whole console output. A boot prints up to three fingerprints; the last one counts."
      {...(found !== null && found.verdict !== 'same' && { error: found.text })}
    >
      <TextArea mono rows={2} value={pasted} onValue={setPasted} spellCheck={false} />
      <span aria-live="polite">
        {found?.verdict === 'same' && <StatusDot tone="ok">{found.text}</StatusDot>}
      </span>
    </Field>
  )
}

/** Steps to solve the problem, in order. */
export function WhatToDo({ steps }: { steps: readonly string[] }) {
  if (steps.length === 0) return null
  return (
    <ol className={css['steps']} aria-label="What to do">
      {steps.map((step) => (
        <li key={step}>{step}</li>
      ))}
    </ol>
  )
}

/** The server's recorded hardware beside the hardware of the machine that responded. */
export function IdentityFacts({ server: { identity } }: { server: Server }) {
  const { seen } = identity
  const facts = [
    ['UUID', identity.uuid, 'UUID'],
    ['Serial', identity.serial, 'serial'],
    ['Fingerprint', identity.fingerprint, 'fingerprint'],
    ...(seen
      ? [
          ['Answered: UUID', seen.uuid, 'UUID that answered'],
          ['Answered: serial', seen.serial, 'serial that answered'],
        ]
      : []),
  ] as const
  return (
    <dl className={css['facts']}>
      {facts.map(([label, value, what]) => (
        <Fragment key={label}>
          <dt>{label}</dt>
          <dd>
            {value ? <Copyable value={value} what={what} /> : <span className="t3">Unknown</span>}
          </dd>
        </Fragment>
      ))}
    </dl>
  )
}
