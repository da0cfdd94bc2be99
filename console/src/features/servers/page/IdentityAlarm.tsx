import { useState } from 'react'
import type { Server } from '#contract/servers/servers.ts'
import { exact, moment } from '../../../lib/time/time.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { useAct } from '../../../ui/feedback/use-act.ts'
import { confirmServer, IdentityFacts, WhatToDo } from '../dialogs/ConfirmHardware.tsx'
import { type Claim, identityAlarm } from './identity-alarm.ts'
import { confirmVerdict } from '../server-actions.ts'
import { refreshServers } from '../server-queries.ts'
import css from './ServerPage.module.css'

/** Alarm on a server's page until a user confirms its hardware. */
export function IdentityAlarm({ server }: { server: Server }) {
  const { busy, problem, act } = useAct()
  const [pressed, setPressed] = useState<string | null>(null)
  const alarm = identityAlarm(server)
  if (alarm === null) return null
  const confirm = async (claim: Claim) => {
    setPressed(claim.label)
    // Refetches even after a failure: somebody else may have confirmed the hardware.
    await act(() => confirmServer(server, claim).finally(() => refreshServers(server.id)))
  }
  return (
    <Alert tone={alarm.tone} className={css['alarm']!}>
      <b>{alarm.title}</b> {alarm.text}
      {/[.!?]$/.test(alarm.text) ? ' ' : '. '}
      <span className="t3" title={exact(server.identity.since)}>
        Since {moment(server.identity.since)}.
      </span>
      <div className={css['identity']}>
        <WhatToDo steps={alarm.steps} />
        <IdentityFacts server={server} />
        {problem !== null && <p className="c-danger">{problem}</p>}
        <div className="row wrap">
          {alarm.claims.map((claim) => (
            <ActionButton
              label={claim.label}
              key={claim.label}
              size="small"
              busy={busy && pressed === claim.label}
              busyText="Loading"
              can={
                !busy || pressed === claim.label
                  ? confirmVerdict(server)
                  : { ok: false, reason: 'Wait until the current request has finished' }
              }
              run={() => confirm(claim)}
            />
          ))}
        </div>
      </div>
    </Alert>
  )
}
