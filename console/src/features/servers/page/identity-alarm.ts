/** Alarms about a server's identity: what happened, what to do, and what can be confirmed. */
import { claimedBy, type Server } from '#contract/servers/servers.ts'

type Doubted = Pick<Server, 'name' | 'status' | 'cluster' | 'identity'>

/** Hardware that a user may confirm as this server. */
export interface Claim {
  label: string
  uuid: string
  serial: string
}

export interface IdentityAlarm {
  tone: 'warn' | 'danger'
  title: string
  text: string
  /** Instructions, in order. */
  steps: readonly string[]
  claims: readonly Claim[]
}

/** Null if there is no problem. */
export function identityAlarm(s: Doubted): IdentityAlarm | null {
  const { identity } = s
  if (s.status === 'deleted') return null
  const known: Claim = {
    label: 'Confirm',
    uuid: identity.uuid ?? '',
    serial: identity.serial ?? '',
  }
  if (identity.state === 'changed') return changed(s, known)
  const claim = claimedBy(s)
  if (claim !== null) return claimed(s, claim, known)
  if (identity.state === 'confirmed') return null
  return {
    tone: 'warn',
    title: 'This server has not been confirmed yet.',
    text:
      identity.note ??
      'Compare the hardware below with the machine: the server may join a cluster only after a user has confirmed its hardware.',
    steps: [],
    claims: [known],
  }
}

/** Other hardware answers at the server's address, so the server is out of use. */
function changed(s: Doubted, known: Claim): IdentityAlarm {
  const { identity, cluster } = s
  const seen = identity.seen ?? null
  const isOther =
    seen !== null && (seen.uuid !== identity.uuid || seen.serial !== (identity.serial ?? ''))
  return {
    tone: 'danger',
    title: 'Other hardware answered here.',
    text:
      identity.note ?? 'Nothing is sent to this server until a user decides which machine it is.',
    steps: [
      'If another machine got this address: give the address back to this server, then keep the known hardware.',
      cluster === null
        ? 'If the machine or its board was replaced: accept the hardware that answered. The record of the old hardware is deleted.'
        : `If the machine was replaced: other hardware can't take its place in a cluster. Replace the server in ${cluster.name}.`,
    ],
    claims: [
      { ...known, label: 'Keep the known hardware' },
      ...(cluster === null && isOther
        ? [{ label: 'Accept the hardware that answered', uuid: seen.uuid, serial: seen.serial }]
        : []),
    ],
  }
}

/**
 * A machine that has proved nothing says that it is this server, or answers at the address of this
 * member of a cluster. The server stays in use.
 */
function claimed(
  { name, cluster, identity }: Doubted,
  claim: { uuid: string; serial: string },
  known: Claim,
): IdentityAlarm {
  const isClone = claim.uuid === identity.uuid && claim.serial === (identity.serial ?? '')
  return {
    tone: 'warn',
    title: isClone
      ? `Another machine says that it is ${name}.`
      : `Another machine answers at the address of ${name}.`,
    text: identity.note ?? 'It has proved nothing, so nothing has changed here.',
    steps: [
      ...(isClone
        ? [
            'If another machine has the same UUID and serial number: give it a UUID of its own in its firmware settings, or switch it off.',
            cluster === null
              ? `If ${name} itself has moved: switch it off at the old address, and add the new address.`
              : `If ${name} itself was wiped or started from another disk: replace it in ${cluster.name}, or remove it by force, and add the machine as a new server.`,
          ]
        : [`Give the address back to ${name}, or switch the other machine off.`]),
      'Then end this alarm. It comes back if such a machine answers again.',
    ],
    claims: [{ ...known, label: 'End the alarm' }],
  }
}
