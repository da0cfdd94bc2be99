/** Looks at a server: what answers now. Changes nothing. */
import { Problem } from '#contract/errors.ts'
import { TalosError } from '#talos/client/errors.ts'
import { messageOf, type TalosClient } from '#talos/client/client.ts'
import { readInstallation } from '#talos/client/installation.ts'
import { stageOf, type UnmetCondition, unmetOf } from '#talos/client/events.ts'
import { resources } from '#talos/client/resources.ts'
import { readTrouble, type Trouble } from '#talos/client/trouble.ts'
import type { Credentials } from '#talos/pki/certificates.ts'
import type { ServerConnection } from '../../../talos-fleet/fleet.ts'
import type { Seen } from './decide-server.ts'

interface Expected {
  /** It has a configuration, so the secured API is tried first. */
  readonly expectSecured: boolean
  /** Whether to query the trouble, by the stage that the server shows. */
  readonly askTrouble?: (stage: string) => boolean
  /** Whether to query the installation: the server was not seen to boot from its disk. */
  readonly askInstallation?: boolean
}

/**
 * @throws only where the caller's signal is aborted
 */
export async function look(connection: ServerConnection, credentials: Credentials | null, expected: Expected, signal: AbortSignal): Promise<Seen> {
  try {
    if (expected.expectSecured && credentials) {
      const seen = await lookSecured(connection, credentials, expected, signal)
      if (seen.kind !== 'foreign') return seen
      // Another certificate: the server is in maintenance or belongs to somebody else.
      return (await connection.presence({ signal })) === 'maintenance' ? await lookInMaintenance(connection, signal) : seen
    }
    if ((await connection.presence({ signal })) === 'maintenance') return await lookInMaintenance(connection, signal)
    return credentials ? await lookSecured(connection, credentials, expected, signal) : { kind: 'foreign', reason: 'it asks for a client certificate' }
  } catch (error) {
    return unseen(error, signal)
  }
}

async function lookSecured(connection: ServerConnection, credentials: Credentials, expected: Expected, signal: AbortSignal): Promise<Seen> {
  try {
    return await connection.secure(
      credentials,
      async (client) => {
        const machine = await machineStatus(client)
        // Every call adds three lines to the machine's log, so services are queried only when they matter.
        const isUp = machine.stage === 'booting' || machine.stage === 'running'
        const services = isUp ? await client.services() : []
        const byId = services.map((s) => [s.id, { state: s.state, healthy: s.healthy === true, message: messageOf(s) ?? '' }] as const)
        const trouble: Trouble | null = machine.stage !== 'running' && expected.askTrouble?.(machine.stage) ? await readTrouble(client) : null
        const installation = isUp && expected.askInstallation ? await readInstallation(client) : null
        return {
          kind: 'secured',
          ...machine,
          services: Object.fromEntries(byId),
          installation,
          askedTrouble: trouble !== null,
          trouble: trouble?.reason ?? null,
          isInstallSkipped: trouble?.isInstallSkipped ?? false,
          last: trouble?.last ?? null,
          log: trouble?.lines ?? [],
        }
      },
      { signal },
    )
  } catch (error) {
    if (error instanceof TalosError && error.kind === 'certificate') return { kind: 'foreign', reason: error.message }
    return unseen(error, signal)
  }
}

const lookInMaintenance = (connection: ServerConnection, signal: AbortSignal): Promise<Seen> =>
  connection.maintenance(
    async (client) => {
      const [machine, installation] = await Promise.all([machineStatus(client), readInstallation(client)])
      return { kind: 'maintenance', stage: machine.stage, installation }
    },
    { signal },
  )

async function machineStatus(client: TalosClient): Promise<{ stage: string; unmet: UnmetCondition[] }> {
  const status = (await client.get(resources.machineStatus, 'machine'))?.spec
  if (status === undefined) throw new TalosError('invalid_data', 'server sent invalid data (machine status)')
  return { stage: stageOf(status.stage), unmet: unmetOf(status.status?.unmetConditions ?? []) }
}

/** Converts an error to what it says about the server. An abort by this program says nothing. */
export function unseen(error: unknown, signal: AbortSignal): Extract<Seen, { kind: 'dark' | 'stranger' }> {
  if (signal.aborted) throw signal.reason
  if (error instanceof Problem && error.code === 'identity_changed') return { kind: 'stranger', reason: error.message }
  if (error instanceof Problem) return { kind: 'dark', reason: error.message }
  if (error instanceof TalosError) return { kind: 'dark', reason: error.message, answers: error.kind === 'clock' || error.kind === 'refused' }
  throw error
}
