import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Server } from '#contract/servers.ts'
import { exact, moment } from '../../lib/time.ts'
import { Button } from '../../ui/Button.tsx'
import { Alert } from '../../ui/Status.tsx'
import { confirmServer, IdentityFacts, WhatToDo } from './ConfirmHardware.tsx'
import { type Claim, identityAlarm } from './identity-alarm.ts'
import { confirmVerdict } from './server-actions.ts'
import { refreshServers } from './server-queries.ts'
import css from './ServerPage.module.css'

/** Stands on a server's page until a person has looked at the hardware and said which machine it is. */
export function IdentityAlarm({ server }: { server: Server }) {
  const client = useQueryClient()
  const [busy, setBusy] = useState<string | null>(null)
  const [error, setError] = useState<string | null>(null)
  const alarm = identityAlarm(server)
  if (alarm === null) return null
  const confirm = async (claim: Claim) => {
    setBusy(claim.label)
    setError(null)
    try {
      await confirmServer(server, claim)
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : 'An unexpected error occurred')
    } finally {
      await refreshServers(client, server.id)
      setBusy(null)
    }
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
        {error !== null && <p className="c-danger">{error}</p>}
        <div className="row wrap">
          {alarm.claims.map((claim) => (
            <Button
              key={claim.label}
              size="small"
              busy={busy === claim.label}
              busyText="Loading"
              can={busy === null ? confirmVerdict(server) : { ok: false, reason: 'Wait until this has been answered' }}
              onClick={() => void confirm(claim)}
            >
              {claim.label}
            </Button>
          ))}
        </div>
      </div>
    </Alert>
  )
}
