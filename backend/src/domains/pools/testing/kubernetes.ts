/**
 * A cluster's Kubernetes API in memory, for tests in which the API fails. Imitates what is
 * documented for server-side apply and the load balancers' controllers: generations, conflicts,
 * counts, addresses for Services.
 */
import { formatAddress, parseAddress } from '#contract/network/addresses.ts'
import type { ObjectCalls, ListOptions } from '../../../kubernetes/client.ts'
import { isRecord, KubernetesError } from '../../../kubernetes/answers.ts'

type Json = Record<string, unknown>
export interface Stored {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace?: string
    labels?: Record<string, string>
    generation: number
  }
  spec: Json
  status?: Json
}
export interface FakeService {
  readonly name: string
  ip: string | null
}

const served: Record<'cilium' | 'metallb', Record<string, Json>> = {
  cilium: {
    '/apis/cilium.io': { versions: [{ version: 'v2' }, { version: 'v2alpha1' }] },
    '/apis/cilium.io/v2': {
      resources: [{ name: 'ciliumloadbalancerippools' }, { name: 'ciliumnodes' }],
    },
    '/apis/cilium.io/v2alpha1': {
      resources: [{ name: 'ciliumloadbalancerippools' }, { name: 'ciliuml2announcementpolicies' }],
    },
  },
  metallb: {
    '/apis/metallb.io': { versions: [{ version: 'v1beta2' }, { version: 'v1beta1' }] },
    '/apis/metallb.io/v1beta1': {
      resources: [{ name: 'ipaddresspools' }, { name: 'l2advertisements' }],
    },
  },
}
const isPool = (o: Stored) => o.kind === 'CiliumLoadBalancerIPPool' || o.kind === 'IPAddressPool'

export class FakeKubernetes implements ObjectCalls {
  readonly objects = new Map<string, Stored>()
  readonly services: FakeService[] = []
  /** Every requested change, in order: `apply <path>`, `remove <path>`. */
  readonly changes: string[] = []
  providers: ('cilium' | 'metallb')[] = ['cilium']
  /** The API doesn't answer. */
  down: string | null = null
  /** The message of an admission webhook that refuses pools. */
  refuse: string | null = null
  /** Whether the load balancer's controller runs. */
  controller = true
  /** Addresses that Services keep without a pool, which some load balancers allow. */
  keeps: readonly string[] = []
  /** Another controller reverts applied changes. */
  meddle: ((o: Stored) => void) | null = null
  /** Called before each request. */
  before: (what: string) => void | Promise<void> = () => undefined

  private async reach(what: string): Promise<void> {
    await this.before(what)
    if (this.down !== null) throw new KubernetesError(this.down)
  }

  async readyz(): Promise<void> {
    await this.reach('readyz')
  }
  async nodes() {
    await this.reach('nodes')
    return []
  }

  async get(path: string): Promise<unknown> {
    await this.reach(`get ${path}`)
    for (const provider of this.providers) if (served[provider][path]) return served[provider][path]
    return structuredClone(this.objects.get(path)) ?? null
  }

  async list<T>(path: string, { keep }: ListOptions<T>): Promise<T[] | null> {
    await this.reach(`list ${path}`)
    return this.objectsAt(path)
      .map(keep)
      .filter((kept) => kept !== undefined)
  }

  private objectsAt(path: string): unknown[] {
    if (path !== '/api/v1/services')
      return [...this.objects]
        .filter(([at]) => at.startsWith(`${path}/`))
        .map(([, o]) => structuredClone(o))
    this.allocate()
    return this.services.map(({ name, ip }) => ({
      metadata: { name, namespace: 'web' },
      spec: { type: 'LoadBalancer' },
      status: { loadBalancer: ip === null ? {} : { ingress: [{ ip }] } },
    }))
  }

  async apply(path: string, object: object): Promise<void> {
    await this.reach(`apply ${path}`)
    const wanted = structuredClone(object) as Stored
    if (this.refuse !== null && isPool(wanted))
      throw new KubernetesError(`the API server answered 403: ${this.refuse}`, 403)
    this.changes.push(`apply ${path}`)
    const before = this.objects.get(path)
    const spec = { ...before?.spec, ...wanted.spec }
    const isSame = before !== undefined && JSON.stringify(before.spec) === JSON.stringify(spec)
    const generation = (before?.metadata.generation ?? 0) + (isSame ? 0 : 1)
    const now: Stored = { ...before, ...wanted, metadata: { ...wanted.metadata, generation }, spec }
    this.meddle?.(now)
    this.objects.set(path, now)
    this.allocate()
    this.count()
  }

  async remove(path: string): Promise<void> {
    await this.reach(`remove ${path}`)
    this.changes.push(`remove ${path}`)
    this.objects.delete(path)
    this.allocate()
    this.count()
  }

  /** A person with a kubeconfig changes an object. */
  edit(path: string, change: (o: Stored) => void): void {
    const o = this.objects.get(path)!
    change(o)
    o.metadata.generation++
    this.count()
  }

  pools(): Stored[] {
    return [...this.objects.values()].filter(isPool)
  }

  addresses({ spec }: Stored): string[] {
    const pieces = Array.isArray(spec['blocks'])
      ? spec['blocks'].filter(isRecord).map((b) => [String(b['start']), String(b['stop'])])
      : (spec['addresses'] as string[]).map((text) => text.split('-'))
    return pieces.flatMap(([start, stop]) => {
      const [first, last] = [parseAddress(start!)!, parseAddress(stop!)!]
      return Array.from({ length: Number(last.value - first.value) + 1 }, (_, i) =>
        formatAddress({ ...first, value: first.value + BigInt(i) }),
      )
    })
  }

  /**
   * Services without an address get the first free one of an enabled pool; Services of a removed
   * pool lose theirs.
   */
  private allocate(): void {
    const all = this.pools().map((o) => ({
      gives: o.spec['disabled'] !== true && o.spec['autoAssign'] !== false,
      addresses: this.addresses(o),
    }))
    for (const s of this.services)
      if (
        s.ip !== null &&
        !this.keeps.includes(s.ip) &&
        !all.some((p) => p.addresses.includes(s.ip!))
      )
        s.ip = null
    const taken = new Set(this.services.map((s) => s.ip))
    const free = all.flatMap((p) => (p.gives ? p.addresses : [])).filter((a) => !taken.has(a))
    for (const s of this.services) s.ip ??= free.shift() ?? null
  }

  /** Writes conditions into the pools, as Cilium's operator does. */
  count(): void {
    if (!this.controller) return
    const seen = new Set<string>()
    for (const o of this.pools().filter((p) => p.kind === 'CiliumLoadBalancerIPPool')) {
      const addresses = this.addresses(o)
      const clash = addresses.find((a) => seen.has(a))
      for (const a of addresses) seen.add(a)
      const condition = (type: string, status: string, message: string) => ({
        type: `cilium.io/${type}`,
        status,
        message,
        observedGeneration: o.metadata.generation,
      })
      const used = this.services.filter((s) => s.ip !== null && addresses.includes(s.ip)).length
      o.status = {
        conditions: [
          condition(
            'PoolConflict',
            clash ? 'True' : 'False',
            clash ? `Pool conflicts since '${clash}' is in another` : '',
          ),
          condition('IPsTotal', 'Unknown', String(addresses.length)),
          condition('IPsUsed', 'Unknown', String(used)),
        ],
      }
    }
  }
}
