/** Restarts that Steelyard orders for a configuration of Talos 1.14, without machines. */
import { describe, expect, test } from 'vitest'
import { notHeld } from '../../changes/configure/servers.ts'
import type { ClusterSide } from '../api.ts'
import { sending } from './sending.ts'

const server = {
  id: 'cp-1',
  name: 'cp-1',
  cluster: { id: 'prod' },
  operation_id: 'op',
  talos_version: 'v1.14.1',
}
const how = { mayReboot: true, attempt: 'op/1' }

type Call = () => Promise<unknown>

/** A control plane that stores `stored`, and is to get `newest` and a restart. */
function controlPlane({ stored, forbidden }: { stored: string; forbidden?: string }) {
  const calls: string[] = []
  let isClaimed = false
  const call = (name: string) => async () => {
    calls.push(isClaimed ? `${name} in the claim` : name)
    return { mode: 'no-reboot', warnings: [] }
  }
  const client = { applyConfiguration: call('apply'), reboot: call('restart') }
  const clusters = {
    talosCredentials: async () => ({ ca: '', crt: '', key: '' }),
    touching: async (_cluster, _server, send, { restarts }) => {
      if (forbidden !== undefined && (await restarts?.())) return { forbidden, by: [] }
      isClaimed = true
      try {
        return { sent: await send() }
      } finally {
        isClaimed = false
      }
    },
  } satisfies Partial<ClusterSide>
  const parts = {
    clusters,
    record: async () => {},
    servers: {
      connection: async () => ({
        secure: (_keys: unknown, act: (on: typeof client) => unknown) => act(client),
      }),
      noteDrift: async () => {},
    },
    read: async () => ({ same: false, images: null }),
  }
  const core = { factsOf: async () => server, kept: { noteHeld: call('hold') } }
  const drift = {
    judge: async () => ({
      configs: { held: { yaml: 'former' }, newest: { yaml: 'newest', generation: 2 } },
      found: { stored, active: stored },
      same: true,
      images: null,
    }),
  }
  const trials = {
    running: async () => null,
    wasUndone: async () => null,
    whyNot: async () => null,
    clear: async () => {},
    give: async (
      _job: unknown,
      _server: unknown,
      _client: unknown,
      _given: unknown,
      send: Call,
    ) => ({
      sent: await send(),
    }),
  }
  const restarts = {
    needs: async () => true,
    isDue: async () => true,
    note: async () => {},
    order: () => client.reboot(),
  }
  const job = {
    signal: new AbortController().signal,
    effect: (_name: string, act: () => unknown) => act(),
    fence: { write: (act: (tx: object) => unknown) => act({}) },
  }
  const given = [parts, core, drift, { movedBy: async () => null }, trials, restarts] as unknown
  const { deliver } = sending(...(given as Parameters<typeof sending>))
  return { calls, deliver: () => deliver(job as never, server.id, how) }
}

describe('a control plane is restarted', () => {
  test('before the others may be changed after it', async () => {
    const { calls, deliver } = controlPlane({ stored: 'former' })
    expect(await deliver()).toEqual({ kind: 'sent', reboots: true })
    expect(calls).toEqual(['apply in the claim', 'hold in the claim', 'restart in the claim'])
  })

  test('only while the others are well, also if it has the configuration already', async () => {
    const { calls, deliver } = controlPlane({ stored: 'newest' })
    expect(await deliver()).toEqual({ kind: 'restarting' })
    expect(calls).toEqual(['hold', 'restart in the claim'])
  })

  const forbidden = 'etcd would lose its majority'

  test('not while that is forbidden, and nothing is sent before', async () => {
    const { calls, deliver } = controlPlane({ stored: 'former', forbidden })
    expect(await deliver()).toEqual({ kind: 'forbidden', reason: forbidden })
    expect(calls).toEqual([])
  })

  test('not while that is forbidden; a configuration that it has already is not taken back', async () => {
    const { calls, deliver } = controlPlane({ stored: 'newest', forbidden })
    const delivered = await deliver()
    expect(calls).toEqual(['hold'])
    const result = notHeld(delivered, server.name)
    expect(result).toMatchObject({ waiting: forbidden })
    expect(result).not.toHaveProperty('isSafe')
    expect(result).not.toHaveProperty('isUnsent')
  })
})
