/**
 * A backend whose clusters are only rows, with Kubernetes APIs in memory that tests can break.
 * Everything else is the real program.
 */
import { beforeEach } from 'vitest'
import { auditList, type AuditEntry } from '#contract/audit.ts'
import { type Operation, operationGet } from '#contract/operations.ts'
import { clusterSubnetsAssign, type Subnet, subnetGet } from '#contract/network/subnets.ts'
import { type Backend, type Called, type SignedIn, startBackend } from '../../../testing/backend.ts'
import { addCluster, addDatacenter, addSubnet } from '../../subnets/testing.ts'
import { FakeKubernetes } from './kubernetes.ts'

export interface FakeCluster {
  readonly id: string
  readonly name: string
  readonly fake: FakeKubernetes
}

export interface PoolWorld {
  readonly backend: Backend
  readonly datacenter: { id: string; code: string }
  /** Each test signs in again, because the clock advances by minutes and sessions end. */
  admin(): SignedIn
  signInAgain(): Promise<void>
  cluster(): Promise<FakeCluster>
  /** A new /28 with 13 assignable addresses beside the gateway. */
  subnet(more?: object): Promise<Subnet>
  put(
    clusterId: string,
    subnets: readonly { id: string }[],
    force?: boolean,
    by?: SignedIn,
  ): Promise<Called<typeof clusterSubnetsAssign>>
  /** Returns the operation's id. Throws on refusal. */
  assign(clusterId: string, subnets: readonly { id: string }[], force?: boolean): Promise<string>
  look(subnet: { id: string }): Promise<Subnet>
  operation(id: string): Promise<Operation>
  /** Key of each step → its status. */
  steps(operationId: string): Promise<Record<string, string>>
  audited(action: string, target: string): Promise<AuditEntry[]>
}

/** Path of a subnet's Cilium pool. */
export const pathOf = ({ id }: { id: string }): string =>
  `/apis/cilium.io/v2/ciliumloadbalancerippools/subnet-${id}`
/** An address in a subnet made by `subnet()`. */
export const hostOf = ({ cidr }: { cidr: string }, host: number): string =>
  cidr.replace('.0/28', `.${host}`)

export async function poolWorld(): Promise<PoolWorld> {
  const backend = await startBackend()
  const fakes = new Map<string, FakeKubernetes>()
  Object.assign(backend.domains.clusters, {
    api: (id: string) => Promise.resolve(fakes.get(id)!),
  })
  let admin = await backend.signIn({ role: 'admin', lasts: true })
  const signInAgain = async () => {
    admin = await backend.signIn({ role: 'admin', lasts: true })
  }
  beforeEach(signInAgain)
  const datacenter = await addDatacenter(admin, 'POZ')
  let clusters = 0
  let nets = 0
  const put: PoolWorld['put'] = (id, subnets, force = false, by = admin) =>
    by.call(clusterSubnetsAssign, {
      params: { id },
      body: { subnet_ids: subnets.map((s) => s.id), force },
    })
  const operation = async (id: string) =>
    (await admin.call(operationGet, { params: { id } })).answer!
  return {
    backend,
    datacenter,
    admin: () => admin,
    signInAgain,
    async cluster() {
      const name = `cluster-${++clusters}`
      const id = await addCluster(backend, datacenter.id, name)
      const fake = new FakeKubernetes()
      fakes.set(id, fake)
      return { id, name, fake }
    },
    subnet(more = {}) {
      const n = ++nets
      return addSubnet(admin, datacenter.id, `net-${n}`, `10.20.${n}.0/28`, {
        gateway: `10.20.${n}.1`,
        ...more,
      })
    },
    put,
    async assign(clusterId, subnets, force) {
      const { answer, text } = await put(clusterId, subnets, force)
      if (!answer) throw new Error(text)
      return answer.operation.id
    },
    look: async ({ id }) => (await admin.call(subnetGet, { params: { id } })).answer!,
    operation,
    steps: async (id) =>
      Object.fromEntries((await operation(id)).steps.map((s) => [s.key.split('/')[0]!, s.status])),
    async audited(action, target) {
      await backend.publish()
      return (await admin.call(auditList, { query: { action, target } })).answer!.items
    },
  }
}
