/**
 * Rules of a whole configuration since Talos 1.14, across its documents (Talos
 * `pkg/machinery/config/container/validate.go`). What Talos asks of either form is asked of either.
 */
import { type ConfigDocument, problemAt } from '../decode.ts'
import { Report } from '../report.ts'
import type { ConfigProblem, MapNode } from '../tree.ts'

interface Whole {
  readonly main: Report
  /** The documents of a kind. */
  readonly of: (kind: string) => readonly Report[]
}

export function validateWhole(
  documents: readonly ConfigDocument[],
  main: MapNode,
  inContainer: boolean,
): { errors: ConfigProblem[]; warnings: string[] } {
  const errors: ConfigProblem[] = []
  const warnings: string[] = []
  const whole: Whole = {
    main: new Report(main),
    of: (kind) =>
      documents.filter(({ shape }) => shape.kind === kind).map(({ root }) => new Report(root)),
  }
  const isControlPlane = ['controlplane', 'init'].includes(whole.main.text('machine', 'type'))
  for (const { shape, root } of documents)
    if (shape.controlPlaneOnly === true && !isControlPlane)
      errors.push(problemAt(root, `Only a control plane may have ${shape.kind}`))
  const told = [
    ...hostDns(whole, inContainer),
    ...discovery(whole),
    ...kubernetes(whole, isControlPlane),
    ...containers(whole),
  ]
  errors.push(...told.map((message) => ({ message })))
  const [node] = whole.of('KubeNodeConfig')
  const label = 'node-role.kubernetes.io/control-plane'
  if (
    isControlPlane &&
    node !== undefined &&
    !node.flag('skipNodeRegistration') &&
    !node.entries('labels').some(({ key }) => key === label)
  )
    warnings.push(`KubeNodeConfig of a control plane should have the label ${label}`)
  if (whole.of('KubeAPIServerCAConfig').length > 0 && whole.main.has('cluster', 'acceptedCAs'))
    warnings.push('cluster.acceptedCAs has no effect: KubeAPIServerCAConfig takes its place')
  return { errors, warnings }
}

function hostDns({ main, of }: Whole, inContainer: boolean): string[] {
  const [resolver] = of('ResolverConfig')
  const old = ['machine', 'features', 'hostDNS']
  const flag = (name: string): boolean =>
    resolver?.flag('hostDNS', 'enabled') === true
      ? resolver.flag('hostDNS', name)
      : main.flag(...old, name)
  const isEncrypted = resolver
    ?.items('nameservers')
    .some(({ path }) => ['DoT', 'DoH'].includes(resolver.text(...path, 'protocol')))
  return [
    ...(inContainer && !flag('enabled') ? ['hostDNS must be enabled in a container'] : []),
    ...(inContainer && !flag('forwardKubeDNSToHost')
      ? ['hostDNS must forward the cluster’s DNS in a container']
      : []),
    ...(isEncrypted === true && !flag('enabled')
      ? ['Name servers with DoT or DoH need hostDNS.enabled']
      : []),
  ]
}

function discovery({ main, of }: Whole): string[] {
  const old = ['cluster', 'discovery']
  const isOld =
    main.flag(...old, 'enabled') && !main.flag(...old, 'registries', 'service', 'disabled')
  const isOn = isOld || of('DiscoveryServiceConfig').length > 0
  const kubeSpan = [...of('KubeSpanConfig')].some((one) => one.flag('enabled'))
  const hasKubeSpan = kubeSpan || main.flag('machine', 'network', 'kubespan', 'enabled')
  const [identity] = of('DiscoveryIdentityConfig')
  const hasOld = main.has('cluster', 'id') || main.has('cluster', 'secret')
  const isWhole = hasOld
    ? main.has('cluster', 'id') && main.has('cluster', 'secret')
    : identity?.has('clusterID') === true && identity.has('clusterSecret')
  return [
    ...(isOn && !isWhole ? ['Discovery needs the identity of the cluster'] : []),
    ...(hasKubeSpan && !isOn ? ['KubeSpan needs a discovery service'] : []),
  ]
}

function kubernetes({ main, of }: Whole, isControlPlane: boolean): string[] {
  const has = (kind: string, ...old: string[][]): boolean =>
    of(kind).length > 0 || old.some((path) => main.has(...path))
  if (!has('KubeAPIServerCAConfig', ['cluster', 'ca'], ['cluster', 'acceptedCAs'])) return []
  const isEncrypted = has(
    'KubeEtcdEncryptionConfig',
    ['cluster', 'secretboxEncryptionSecret'],
    ['cluster', 'aescbcEncryptionSecret'],
  )
  return [
    ...(isControlPlane && !isEncrypted
      ? ['A control plane needs KubeEtcdEncryptionConfig, or the key in cluster']
      : []),
    ...(has('KubeClusterConfig', ['cluster', 'controlPlane', 'endpoint'])
      ? []
      : ['The cluster’s name and endpoint are missing: KubeClusterConfig']),
  ]
}

/** Containers that wait for one that isn't there, or for each other. */
function containers({ of }: Whole): string[] {
  const waits = new Map(
    of('ContainerConfig').map((one) => [
      one.text('name'),
      one.texts('dependsOn', 'containers').map(({ text }) => text),
    ]),
  )
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    (waits.get(from) ?? []).some((next) => {
      if (next === to) return true
      if (seen.has(next)) return false
      seen.add(next)
      return reaches(next, to, seen)
    })
  return [...waits].flatMap(([name, all]) => [
    ...all
      .filter((other) => !waits.has(other))
      .map((other) => `The container ${name} waits for ${other}, which is not there`),
    ...(reaches(name, name) ? [`The container ${name} waits for itself through others`] : []),
  ])
}
