/** One look at a server: what answers there now. It changes nothing. */
import { Problem } from '#contract/errors.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { stageOf, type UnmetCondition, unmetOf } from '#talos/client/events.ts'
import { resources } from '#talos/client/resources.ts'
import { readTrouble } from '#talos/client/trouble.ts'
import type { Credentials } from '#talos/pki/clients.ts'
import type { ServerConnection } from '../../talos-fleet/fleet.ts'
import type { Seen } from './decide-server.ts'

interface Expected {
  /** It was given a configuration: which of the two ways of asking is tried first. */
  readonly expectSecured: boolean
  /** What takes long, or fails, is asked for its reason too. */
  readonly askTrouble?: boolean
}

/**
 * @throws only where the caller's signal is aborted
 */
export async function look(
  connection: ServerConnection,
  credentials: Credentials | null,
  { expectSecured, askTrouble = false }: Expected,
  signal: AbortSignal,
): Promise<Seen> {
  try {
    if (expectSecured && credentials) {
      const seen = await lookSecured(connection, credentials, askTrouble, signal)
      if (seen.kind !== 'foreign') return seen
      // Another certificate than ours: in maintenance, or somebody else's.
      return (await connection.presence({ signal })) === 'maintenance' ? await lookInMaintenance(connection, signal) : seen
    }
    if ((await connection.presence({ signal })) === 'maintenance') return await lookInMaintenance(connection, signal)
    return credentials ? await lookSecured(connection, credentials, askTrouble, signal) : { kind: 'foreign', reason: 'it asks for a client certificate' }
  } catch (error) {
    return unseen(error, signal)
  }
}

async function lookSecured(connection: ServerConnection, credentials: Credentials, askTrouble: boolean, signal: AbortSignal): Promise<Seen> {
  try {
    return await connection.secure(
      credentials,
      async (client) => {
        const [machine, services] = await Promise.all([machineStatus(client), client.services()])
        const byId = services.map((s) => [s.id, { state: s.state, healthy: s.healthy === true, message: s.message || s.lastEvent?.message || '' }] as const)
        const trouble = askTrouble && (machine.stage === 'installing' || machine.stage === 'rebooting') ? await readTrouble(client) : null
        return { kind: 'secured', ...machine, services: Object.fromEntries(byId), trouble: trouble?.reason ?? null, log: trouble?.lines ?? [] }
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
      const [machine, disk] = await Promise.all([machineStatus(client), client.get(resources.systemDisk, 'system-disk')])
      return { kind: 'maintenance', stage: machine.stage, installed: disk !== undefined }
    },
    { signal },
  )

async function machineStatus(client: TalosClient): Promise<{ stage: string; unmet: UnmetCondition[] }> {
  const status = (await client.get(resources.machineStatus, 'machine'))?.spec
  if (status === undefined) throw new TalosError('invalid_data', 'server sent invalid data (machine status)')
  return { stage: stageOf(status.stage), unmet: unmetOf(status.status?.unmetConditions ?? []) }
}

/** An error as what it says about the server. Our own end of the call says nothing about it. */
export function unseen(error: unknown, signal: AbortSignal): Extract<Seen, { kind: 'dark' | 'stranger' }> {
  if (signal.aborted) throw signal.reason
  if (error instanceof Problem && error.code === 'identity_changed') return { kind: 'stranger', reason: error.message }
  if (error instanceof Problem) return { kind: 'dark', reason: error.message }
  if (error instanceof TalosError) return { kind: 'dark', reason: error.message, answers: error.kind === 'clock' || error.kind === 'refused' }
  throw error
}
