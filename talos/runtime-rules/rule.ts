/**
 * What a rule is that Talos or Kubernetes applies only when running, and the view of a merged
 * configuration that rules read.
 */
import type { ConfigDocument } from '../config/decode.ts'
import { linkKinds, linkMakers } from '../config/model/network.ts'
import { Report } from '../config/report.ts'
import type { Minor } from '../versions.ts'
import { oldForm } from './old-form.ts'

/** A value that violates a rule. */
export interface Hit {
  readonly document: Report
  readonly path: readonly string[]
  /** One sentence that names the value and says what happens with it. */
  readonly sentence: string
}

export interface RuntimeRule {
  readonly id: string
  /** Talos minors that apply it; all supported ones if left out. */
  readonly minors?: readonly Minor[]
  /**
   * Who applies it, and where that stands. Talos's files are those of v1.13.9; v1.12.11 has the
   * same rule unless `minors` says otherwise.
   */
  readonly source: string
  /** `refuse`: such a value can't work. `warn`: it may not work. */
  readonly level: 'refuse' | 'warn'
  readonly find: (config: Configuration) => Iterable<Hit>
}

/** Keys of an interface of the old form that make it a link which Talos creates. */
const makingKeys = ['bond', 'bridge', 'dummy', 'wireguard'] as const

/** A merged configuration. */
export class Configuration {
  /**
   * The main document, with the values that documents of Talos 1.14 have instead; empty if there is
   * none.
   */
  readonly main: Report
  /** The main document without values of documents. */
  readonly mainAlone: Report
  readonly isWorker: boolean
  /** `1.36.3`, of the cluster; undefined if unknown. */
  readonly kubernetesVersion: string | undefined
  /**
   * The configuration of a control plane of its cluster, which has what its workers don't: the
   * network plugin, the service network, the size of a node's network. Null if it is unknown.
   */
  readonly cluster: Configuration | null
  private readonly others: readonly { readonly kind: string; readonly report: Report }[]

  constructor(
    documents: readonly ConfigDocument[],
    kubernetesVersion?: string,
    controlPlane: readonly ConfigDocument[] | null = null,
  ) {
    this.kubernetesVersion = kubernetesVersion
    const reports = documents.map(({ shape, root }) => ({
      kind: shape.kind,
      report: new Report(root),
    }))
    const main = documents.find(({ shape }) => shape.kind === '')?.root ?? {
      is: 'map' as const,
      entries: new Map(),
      line: 0,
      column: 0,
      source: '',
    }
    this.main = oldForm(main, documents)
    this.mainAlone = new Report(main)
    this.isWorker = this.main.text('machine', 'type') === 'worker'
    this.others = reports.filter(({ kind }) => kind !== '')
    this.cluster = !this.isWorker
      ? this
      : controlPlane === null
        ? null
        : new Configuration(controlPlane, kubernetesVersion)
  }

  /** Whether Talos installs Flannel, which has a document of its own since 1.14. */
  get hasFlannel(): boolean {
    const cni = ['cluster', 'network', 'cni']
    return this.of('KubeNetworkConfig').length > 0 && !this.mainAlone.has(...cni)
      ? this.of('KubeFlannelCNIConfig').length > 0
      : ['', 'flannel'].includes(this.main.text(...cni, 'name'))
  }

  /** Every document, each with its own values. */
  documents(): Report[] {
    return [this.mainAlone, ...this.others.map(({ report }) => report)]
  }

  of(...kinds: readonly string[]): Report[] {
    return this.others.filter(({ kind }) => kinds.includes(kind)).map(({ report }) => report)
  }

  /** Interfaces of the old form that aren't ignored. */
  interfaces(): string[][] {
    return this.main
      .items('machine', 'network', 'interfaces')
      .map(({ path }) => path)
      .filter((path) => !this.main.flag(...path, 'ignore'))
  }

  /** Links that Talos creates, in both forms; the VLANs of the old form get their names from it. */
  madeLinks(): { readonly document: Report; readonly path: string[]; readonly name: string }[] {
    const old = this.interfaces()
      .filter((path) => makingKeys.some((key) => this.main.has(...path, key)))
      .map((path) => ({ document: this.main, path: [...path, 'interface'] }))
    const documents = this.of(...linkMakers).map((document) => ({ document, path: ['name'] }))
    return [...old, ...documents].map(({ document, path }) => ({
      document,
      path,
      name: document.text(...path),
    }))
  }

  /** Static addresses with their prefix, in both forms. */
  addresses(): { readonly document: Report; readonly path: string[]; readonly text: string }[] {
    const { main } = this
    const old = this.interfaces()
      .flatMap((path) => [path, ...main.items(...path, 'vlans').map((vlan) => vlan.path)])
      .flatMap((path) => [
        ...main.texts(...path, 'addresses'),
        ...(main.has(...path, 'cidr')
          ? [{ path: [...path, 'cidr'], text: main.text(...path, 'cidr') }]
          : []),
      ])
      .map((found) => ({ document: main, ...found }))
    const documents = this.of(...linkKinds).flatMap((document) =>
      document.items('addresses').map(({ path }) => ({
        document,
        path: [...path, 'address'],
        text: document.text(...path, 'address'),
      })),
    )
    return [...old, ...documents]
  }

  /** Addresses that control planes share, in both forms. */
  virtualAddresses(): {
    readonly document: Report
    readonly path: string[]
    readonly text: string
  }[] {
    const { main } = this
    const old = this.interfaces()
      .flatMap((path) => [path, ...main.items(...path, 'vlans').map((vlan) => vlan.path)])
      .filter((path) => main.has(...path, 'vip', 'ip'))
      .map((path) => ({
        document: main,
        path: [...path, 'vip', 'ip'],
        text: main.text(...path, 'vip', 'ip'),
      }))
    const documents = this.of('Layer2VIPConfig', 'HCloudVIPConfig').map((document) => ({
      document,
      path: ['name'],
      text: document.text('name'),
    }))
    return [...old, ...documents]
  }
}

/** A text in quotes, so that spaces at its ends are visible. */
export const quoted = (text: string): string => JSON.stringify(text)
