/** Data that only the rarer screens show, which `npm test` doesn't open. */
import { join } from 'node:path'
import { type Cluster, clusterGet, clusterTalosconfig } from '#contract/clusters/clusters.ts'
import { patchCreate } from '#contract/patches.ts'
import { invitationCreate, waitlistJoin } from '#contract/people/invitations.ts'
import { serverDrift } from '#contract/servers/drift.ts'
import {
  type Server,
  serverAdd,
  serverGet,
  serverList,
  serverRemove,
} from '#contract/servers/servers.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { userCreate, userResetPassword } from '#contract/users.ts'
import { type Installation, until, untilReady } from '../installation.ts'
import { furnishJoining } from './joining.ts'
import { furnishRacks } from './racks.ts'
import type { RareWorld } from './screen.ts'
import { furnishSharedPatches } from './shared-patches.ts'
import { furnishTemplates } from './templates.ts'

/** Servers of the rarer screens. The first four are in one datacenter. */
export interface RareServers {
  readonly one: Server
  readonly two: Server
  readonly filled: Server
  readonly silent: Server
  /** It is removed, and found again. */
  readonly removed: Server
  readonly twin: Server
  /** Of the ready cluster. */
  readonly controlPlane: Server
  readonly worker: Server
}

/**
 * `machineOf`: the name of a server's simulated machine. `made`: creates a cluster of a control
 * plane and perhaps a worker.
 */
export async function furnishRare(
  installation: Installation,
  ready: Cluster,
  { one, two, filled, silent, removed, twin, controlPlane, worker }: RareServers,
  machineOf: (server: Server) => string,
  made: (name: string, controlPlane: Server, worker?: Server) => Promise<{ cluster: Cluster }>,
): Promise<RareWorld> {
  const { call, simulator } = installation
  await simulator(`/servers/${machineOf(two)}/fault`, { kind: 'vanish', stage: 'installing' })
  await simulator(`/servers/${machineOf(filled)}/fault`, { kind: 'disks', what: 'filled' })
  const [{ cluster: waiting }, { cluster: unwiped }, { cluster: troubled }] = await Promise.all([
    made('fra-waiting-01', one, two),
    made('fra-unwiped-01', filled),
    made('fra-troubled-01', silent),
    call(serverRemove, { params: { id: removed.id } }),
  ])
  await call(serverAdd, {
    body: { addresses: [removed.nodeAddresses[0]!], datacenter_id: removed.datacenter!.id },
  })
  await untilReady(installation, troubled.id)
  // The server is slow at first, so that the patch has been checked and saved, but not yet sent,
  // when the server starts to refuse everything.
  await simulator(`/servers/${machineOf(silent)}/fault`, { kind: 'delay', ms: 20_000 })
  await call(patchCreate, {
    params: { id: silent.id },
    body: { name: 'late', body: 'machine:\n  sysctls:\n    vm.swappiness: "1"\n' },
  })
  await simulator(`/servers/${machineOf(silent)}/fault`, { kind: 'refuse', port: 'apid' })
  const unconfirmed = await until('the removed server is found again', async () =>
    (await call(serverList, { query: {} })).items.find((s) => s.identity.state === 'unconfirmed'),
  )
  await until(
    'the server went dark',
    async () => (await call(serverGet, { params: { id: two.id } })).talos.reachable === false,
  )
  const grace = await call(userCreate, {
    body: {
      email: 'grace@steelyard.demo',
      name: 'Grace',
      role: 'viewer',
      password: 'nobody signs in with it',
    },
  })
  const invited = { email: 'ivan-with-a-long-address@customers.example.org', name: 'Ivan' }
  await call(invitationCreate, { body: { ...invited, role: 'viewer' } })
  await call(waitlistJoin, {
    body: { email: 'walter@example.org', name: 'Walter', company: 'A company with a long name' },
  })
  const link = new URL((await call(userResetPassword, { params: { id: grace.id } })).url)
  await simulator(`/servers/${machineOf(worker)}/configuration`, {
    replace: 'debug: false',
    by: 'debug: true',
  })
  await until(
    'what others have changed is seen',
    async () => (await call(serverDrift, { params: { id: worker.id } })).state === 'drifted',
  )
  const talosconfig = await call(clusterTalosconfig, { params: { id: ready.id } })
  await until(
    'the patch cannot be sent',
    async () => (await call(clusterGet, { params: { id: troubled.id } })).troubles.length > 0,
  )
  await call(storeCreate, {
    body: { name: 'disk', kind: 'folder', folder: join(installation.data, 'stores/disk') },
  })
  const joining = await furnishJoining(installation, twin, worker)
  const racks = await furnishRacks(installation, controlPlane)
  const patches = await furnishSharedPatches(installation, ready)
  await furnishTemplates(installation, ready)
  return {
    ...joining,
    ...racks,
    ...patches,
    passwordLink: link.pathname + link.hash,
    unconfirmed,
    removed,
    waiting,
    unwiped,
    troubled,
    drifted: worker,
    talosconfig,
  }
}
