/** Alarms about a server's identity: what happened, what to do, and what can be confirmed. */
import type { Server } from '#contract/servers/servers.ts'

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

const called = (serial: string): string =>
  serial === '' ? 'the machine without a serial' : `serial ${serial}`

/** Null if there is no problem. */
export function identityAlarm(s: Doubted): IdentityAlarm | null {
  const { identity } = s
  if (s.status === 'deleted' || identity.state === 'confirmed') return null
  const known: Claim = {
    label: 'Confirm',
    uuid: identity.uuid ?? '',
    serial: identity.serial ?? '',
  }
  if (identity.state !== 'changed') {
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
  const text =
    identity.note ?? 'Nothing is sent to this server until a user decides which machine it is.'
  const seen = identity.seen ?? null
  if (seen !== null && seen.uuid === identity.uuid) return twins(s, known, seen.serial, text)
  return {
    tone: 'danger',
    title: 'Other hardware answered here.',
    text,
    steps:
      s.cluster === null
        ? [
            'If another machine got this address: give the address back to this server, then keep the known hardware.',
            'If the machine or its board was replaced: accept the hardware that answered. The record of the old hardware is deleted.',
          ]
        : [
            'If another machine got this address: give the address back to this server, then keep the known hardware.',
            `If the machine was replaced: other hardware can't take its place in a cluster. Replace the server in ${s.cluster.name}.`,
          ],
    claims: [
      { ...known, label: 'Keep the known hardware' },
      ...(s.cluster === null && seen !== null
        ? [{ label: 'Accept the hardware that answered', uuid: seen.uuid, serial: seen.serial }]
        : []),
    ],
  }
}

/** The alarm about two boards that were manufactured with the same UUID. */
function twins(s: Doubted, known: Claim, otherSerial: string, text: string): IdentityAlarm {
  const same = otherSerial === known.serial
  if (same && s.cluster !== null) {
    return {
      tone: 'danger',
      title: 'The same hardware answered elsewhere.',
      text,
      steps: [
        `If this machine was wiped or started from another disk: remove ${s.name} by force, and add the machine that answered as a new server.`,
        'If another machine has the same UUID: give that machine another UUID in its firmware settings, or switch it off.',
        `Then confirm that ${s.name} is the one in ${s.cluster.name}.`,
      ],
      claims: [known],
    }
  }
  return {
    tone: 'danger',
    title: 'Two machines have the same UUID.',
    text,
    steps: [
      same
        ? 'Find both machines: their addresses are shown above.'
        : `Find both machines: ${called(known.serial)}, which is known as ${s.name}, and ${called(otherSerial)}.`,
      'Give one of them a different UUID in its firmware settings, or switch it off. Talos identifies machines by UUID, so both can never be in one cluster.',
      same
        ? `Then confirm that the machine that answers as ${s.name} is the right one.`
        : `Then confirm which of the two is ${s.name}; the other is added as a new server.`,
    ],
    claims: [
      { ...known, label: same ? 'Confirm' : `It is ${called(known.serial)}` },
      ...(same || s.cluster !== null
        ? []
        : [{ label: `It is ${called(otherSerial)}`, uuid: known.uuid, serial: otherSerial }]),
    ],
  }
}
