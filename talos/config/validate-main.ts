/**
 * Rules for the main document beyond its types (Talos
 * `pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go`), and the rule for Kubernetes
 * versions, which Talos itself checks only on a running machine.
 */
import { has } from '../versions.ts'
import {
  endpointProblem,
  isAddress,
  isCidr,
  isCidrOrAddress,
  isDnsName,
  sizeBytes,
} from './formats.ts'
import { checkKeySlots, Report, textOf } from './report.ts'
import { at, type MapNode } from './tree.ts'
import { checkDevices } from './validate-devices.ts'
import {
  imageProblem,
  kubeletFields,
  nodeMetadata,
  podResources,
  talosRoles,
} from './validate/kubernetes.ts'

export interface MainOptions {
  talosVersion: string
  inContainer: boolean
}

export function validateMain(root: MapNode, options: MainOptions): Report {
  const report = new Report(root)
  if (at(root, 'machine')?.is !== 'map') {
    report.error(['machine'], 'The machine section is missing')
    return report
  }
  const type = report.text('machine', 'type')
  const controlPlane = type === 'controlplane' || type === 'init'
  checkMachine(report, type, controlPlane, options)
  checkAuthorities(report, type, controlPlane)
  checkCluster(report, controlPlane, options.talosVersion)
  checkDevices(report, type === 'worker')
  checkNode(report)
  checkEncryption(report)
  checkKubernetesVersions(report, controlPlane, options.talosVersion)
  return report
}

function checkMachine(
  report: Report,
  type: string,
  controlPlane: boolean,
  options: MainOptions,
): void {
  if (!['controlplane', 'worker', 'init'].includes(type))
    report.error(['machine', 'type'], `Unknown machine type ${type === '' ? '(none)' : type}`)
  if (type === 'init') report.warn('Use "controlplane" instead of "init" as the machine type')
  const hostDns = ['machine', 'features', 'hostDNS']
  const isApart = has(options.talosVersion, 'kubernetesDocuments')
  if (options.inContainer && !isApart) {
    if (!report.flag(...hostDns, 'enabled'))
      report.error(hostDns, 'hostDNS must be enabled in a container')
    if (!report.flag(...hostDns, 'forwardKubeDNSToHost'))
      report.error(hostDns, 'hostDNS must forward the cluster’s DNS in a container')
  } else if (!options.inContainer) {
    const isOptional = has(options.talosVersion, 'optionalInstall')
    if (!isOptional || report.has('machine', 'install')) checkInstall(report)
  }
  if (isApart) {
    if (report.has('machine', 'files'))
      report.warn('machine.files is deprecated: use documents such as EtcFileConfig')
    if (report.entries('machine', 'baseRuntimeSpecOverrides').length > 0)
      report.warn('machine.baseRuntimeSpecOverrides is deprecated: use CRIBaseRuntimeSpecConfig')
  }
  if (report.flag(...hostDns, 'forwardKubeDNSToHost') && !report.flag(...hostDns, 'enabled'))
    report.error([...hostDns, 'forwardKubeDNSToHost'], 'forwardKubeDNSToHost needs hostDNS.enabled')
  if (report.has('persist') && !report.flag('persist'))
    report.error(['persist'], 'persist must not be switched off')
  const images = report
    .items('machine', 'install', 'extensions')
    .map(({ node }) => textOf(at(node, 'image')))
  for (const image of new Set(images.filter((image, i) => images.indexOf(image) !== i)))
    report.error(['machine', 'install', 'extensions'], `The extension ${image} is there twice`)
  if (images.length > 0)
    report.warn('machine.install.extensions is deprecated: put extensions into the image')
  const access = ['machine', 'features', 'kubernetesTalosAPIAccess']
  if (report.flag(...access, 'enabled')) {
    if (!controlPlane)
      report.error(access, 'kubernetesTalosAPIAccess is possible on control planes only')
    for (const { path, text } of report.texts(...access, 'allowedRoles'))
      if (!talosRoles.has(text)) report.error(path, `Talos has no role ${text}`)
  }
  for (const { path } of report
    .items('machine', 'logging', 'destinations')
    .filter(({ node }) => !/^(tcp|udp):\/\/./.test(textOf(at(node, 'endpoint'))))) {
    report.error([...path, 'endpoint'], 'Logs go to a URL of tcp:// or udp://')
  }
  for (const { path, node } of report.items('machine', 'disks')) {
    if (node.is !== 'map') report.error(path, 'A disk must not be null')
    const partitions = report.items(...path, 'partitions')
    for (const { path: where, node: partition } of partitions) {
      const entry = at(partition, 'size')
      if (entry !== undefined && sizeBytes(textOf(entry)) === undefined)
        report.error([...where, 'size'], 'A size must be such as 100GB')
    }
    partitions.slice(0, -1).forEach((p) => {
      if (['', '0'].includes(textOf(at(p.node, 'size'))))
        report.error(p.path, 'Only the last partition of a disk can take the rest of it')
    })
  }
  for (const section of ['config', 'mirrors']) {
    for (const { path, node } of report.entries('machine', 'registries', section))
      if (node.is !== 'map') report.error(path, `A registry’s ${section} must not be null`)
  }
}

function checkInstall(report: Report): void {
  const install = ['machine', 'install']
  if (!report.has(...install)) return report.error(install, 'The install section is missing')
  const selector = report
    .entries(...install, 'diskSelector')
    .some(({ node }) => textOf(node) !== '')
  if (!report.has(...install, 'disk') && !selector)
    report.error(install, 'Say where Talos is installed: install.disk or install.diskSelector')
  if (report.has(...install, 'diskSelector', 'name'))
    report.error(
      [...install, 'diskSelector', 'name'],
      'Talos no longer selects disks by their name',
    )
  const size = report.text(...install, 'diskSelector', 'size')
  if (size !== '' && !/^(>=|<=|>|<|==)?\s*\d+(\.\d+)?\s*([kmgtpe]i?)?b?$/i.test(size.trim()))
    report.error([...install, 'diskSelector', 'size'], 'A size must be such as >= 100GB')
  if (report.has(...install, 'extraKernelArgs') && report.flag(...install, 'grubUseUKICmdline')) {
    report.error(
      [...install, 'extraKernelArgs'],
      'extraKernelArgs and grubUseUKICmdline can’t be used together; put kernel arguments into the image',
    )
  }
}

function checkAuthorities(report: Report, type: string, controlPlane: boolean): void {
  const own = report.has('machine', 'ca')
  const accepted = report.has('machine', 'acceptedCAs')
  if (!own && !accepted)
    report.error(['machine'], 'An authority is missing: machine.ca or machine.acceptedCAs')
  if (controlPlane) {
    if (!own) report.error(['machine'], 'A control plane needs machine.ca')
    else if (!report.has('machine', 'ca', 'key'))
      report.error(['machine', 'ca'], 'A control plane needs the key of machine.ca')
  }
  if (type !== 'worker') return
  if (report.has('machine', 'ca', 'key'))
    report.error(['machine', 'ca', 'key'], 'A worker must not have the key of machine.ca')
  if (own && !report.has('machine', 'ca', 'crt') && !accepted)
    report.error(['machine', 'ca'], 'A worker needs the certificate of machine.ca')
  if (report.has('cluster', 'ca', 'key'))
    report.error(['cluster', 'ca', 'key'], 'A worker must not have the key of cluster.ca')
}

function checkCluster(report: Report, controlPlane: boolean, talosVersion: string): void {
  const endpoint = report.text('cluster', 'controlPlane', 'endpoint')
  if (!report.has('cluster')) return report.error(['cluster'], 'The cluster section is missing')
  const isOptional = has(talosVersion, 'optionalEndpoint')
  if (endpoint === '' && (!isOptional || report.has('cluster', 'controlPlane')))
    return report.error(['cluster', 'controlPlane'], 'cluster.controlPlane.endpoint is missing')
  const problem = endpoint === '' ? undefined : endpointProblem(endpoint)
  if (problem !== undefined)
    report.error(['cluster', 'controlPlane', 'endpoint'], `The endpoint ${problem}`)
  if (isOptional && endpoint === '' && report.has('cluster', 'serviceAccount'))
    report.error(['cluster', 'serviceAccount'], 'serviceAccount needs controlPlane.endpoint')
  const domain = report.text('cluster', 'network', 'dnsDomain')
  if (domain !== '' && !isDnsName(domain))
    report.error(['cluster', 'network', 'dnsDomain'], `${domain} is not a DNS name`)
  for (const list of ['podSubnets', 'serviceSubnets']) {
    for (const { path, text } of report.texts('cluster', 'network', list))
      if (!isCidr(text)) report.error(path, `${text} is not a network in CIDR notation`)
  }
  if (report.has('cluster', 'etcd')) {
    if (controlPlane) checkEtcd(report)
    else report.error(['cluster', 'etcd'], 'A worker has no etcd section')
  }
  if (controlPlane) checkCni(report)
  for (const component of ['apiServer', 'controllerManager', 'scheduler'])
    podResources(report, 'cluster', component)
  checkAuthorizers(report)
  checkDiscovery(report, talosVersion)
  checkManifests(report)
}

function checkEtcd(report: Report): void {
  const etcd = ['cluster', 'etcd']
  if (!report.has(...etcd, 'ca')) report.error(etcd, 'etcd needs its authority')
  if (report.has(...etcd, 'subnet') && report.has(...etcd, 'advertisedSubnets'))
    report.error([...etcd, 'subnet'], 'subnet can’t be used with advertisedSubnets')
  const subnet = report.text(...etcd, 'subnet')
  if (subnet !== '' && !isCidrOrAddress(subnet.replace(/^!/, '')))
    report.error([...etcd, 'subnet'], `${subnet} is not a network or an address`)
  for (const list of ['advertisedSubnets', 'listenSubnets']) checkSubnets(report, [...etcd, list])
}

/** Checks networks or addresses, each possibly with ! in front. */
function checkSubnets(report: Report, where: readonly string[]): void {
  for (const { path, text } of report.texts(...where))
    if (!isCidrOrAddress(text.replace(/^!/, '')))
      report.error(path, `${text} is not a network or an address`)
}

/** Authorizers of the API server (Talos `AuthorizationConfigAuthorizerConfig.Validate`). */
function checkAuthorizers(report: Report): void {
  for (const { path } of report.items('cluster', 'apiServer', 'authorizationConfig')) {
    if (!['Node', 'RBAC', 'Webhook'].includes(report.text(...path, 'type')))
      report.error(path, 'The type of an authorizer is Node, RBAC or Webhook')
    if (report.text(...path, 'name') === '') report.error(path, 'An authorizer needs a name')
  }
}

function checkCni(report: Report): void {
  const cni = ['cluster', 'network', 'cni']
  if (!report.has(...cni)) return
  const name = report.text(...cni, 'name')
  if (!['flannel', 'custom', 'none'].includes(name))
    report.error([...cni, 'name'], 'The CNI must be flannel, custom or none')
  const urls = report.texts(...cni, 'urls')
  if (name !== 'custom' && urls.length > 0)
    report.error([...cni, 'urls'], `urls must be empty for the CNI ${name || 'flannel'}`)
  if (name === 'custom' && urls.length === 0) report.warn('A custom CNI should have urls')
  for (const { path, text } of name === 'custom' ? urls : []) {
    const problem = endpointProblem(text)
    if (problem !== undefined) report.error(path, `${text} ${problem}`)
  }
  if (name === 'custom' || name === 'none') {
    if (report.has(...cni, 'flannel', 'extraArgs'))
      report.error(
        [...cni, 'flannel', 'extraArgs'],
        `Arguments of flannel must be empty for the CNI ${name}`,
      )
    if (report.flag(...cni, 'flannel', 'kubeNetworkPoliciesEnabled'))
      report.error(
        [...cni, 'flannel'],
        `Network policies of flannel are not possible with the CNI ${name}`,
      )
  }
}

function checkDiscovery(report: Report, talosVersion: string): void {
  const discovery = ['cluster', 'discovery']
  const service = [...discovery, 'registries', 'service']
  const needs = (what: string) => {
    if (!report.has('cluster', 'id')) report.error(['cluster'], `${what} needs cluster.id`)
    if (!report.has('cluster', 'secret')) report.error(['cluster'], `${what} needs cluster.secret`)
  }
  const enabled = report.flag(...discovery, 'enabled')
  if (enabled && !report.flag(...service, 'disabled')) {
    const endpoint = report.text(...service, 'endpoint')
    const match = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]+(\/[^?#]*)?/i.exec(endpoint)
    if (endpoint !== '' && match === null)
      report.error([...service, 'endpoint'], 'The discovery service’s endpoint is not a URL')
    else if (match?.[1] !== undefined && match[1] !== '/')
      report.error([...service, 'endpoint'], 'The discovery service’s endpoint must have no path')
    needs('The discovery service')
  }
  const kubespan = ['machine', 'network', 'kubespan']
  if (!report.flag(...kubespan, 'enabled')) return
  // Since 1.14 discovery may have documents of its own (`validateWhole`).
  const isApart = has(talosVersion, 'kubernetesDocuments')
  if (!enabled && !isApart)
    report.error([...kubespan, 'enabled'], 'KubeSpan needs cluster.discovery')
  if ((report.number(...kubespan, 'mtu') ?? 1420) < 1280)
    report.error([...kubespan, 'mtu'], 'KubeSpan’s MTU must be at least 1280')
  if (!isApart) needs('KubeSpan')
  checkSubnets(report, [...kubespan, 'filters', 'endpoints'])
  for (const { path, text } of report.texts(...kubespan, 'filters', 'excludeAdvertisedNetworks'))
    if (!isCidr(text)) report.error(path, `${text} is not a network`)
}

function checkManifests(report: Report): void {
  const names = new Set<string>()
  for (const { path, node } of report.items('cluster', 'inlineManifests')) {
    const name = textOf(at(node, 'name'))
    if (name.trim() === '') report.error(path, 'A manifest needs a name')
    else if (names.has(name)) report.error(path, `The manifest ${name} is there twice`)
    names.add(name)
  }
  const provider = ['cluster', 'externalCloudProvider']
  const manifests = report.texts(...provider, 'manifests')
  if (!report.flag(...provider, 'enabled') && manifests.length > 0)
    report.error(provider, 'The external cloud provider has manifests but is disabled')
  for (const { path, text } of report.flag(...provider, 'enabled') ? manifests : []) {
    const problem = endpointProblem(text)
    if (problem !== undefined) report.error(path, `${text} ${problem}`)
  }
}

/** Checks the kubelet, and what Talos sets on the Kubernetes node. */
function checkNode(report: Report): void {
  const kubelet = ['machine', 'kubelet']
  checkSubnets(report, [...kubelet, 'nodeIP', 'validSubnets'])
  for (const { path, text } of report.texts(...kubelet, 'clusterDNS'))
    if (!isAddress(text)) report.error(path, `${text} is not an address`)
  kubeletFields(report, ...kubelet, 'extraConfig')
  nodeMetadata(
    report,
    ['machine', 'nodeLabels'],
    ['machine', 'nodeAnnotations'],
    ['machine', 'nodeTaints'],
  )
}

function checkEncryption(report: Report): void {
  for (const partition of ['state', 'ephemeral']) {
    const where = ['machine', 'systemDiskEncryption', partition]
    if (!report.has(...where)) continue
    const keys = report.items(...where, 'keys')
    if (keys.length === 0) report.error(where, `Encryption of ${partition} has no keys`)
    checkKeySlots(report, keys)
  }
}

function checkKubernetesVersions(
  report: Report,
  controlPlane: boolean,
  talosVersion: string,
): void {
  const ofControlPlane = controlPlane
    ? ['apiServer', 'controllerManager', 'scheduler'].map((component) => ['cluster', component])
    : []
  for (const section of [['machine', 'kubelet'], ...ofControlPlane]) {
    const image = report.text(...section, 'image')
    if (image === '') continue
    const problem = imageProblem(image, talosVersion)
    if (problem !== undefined) report.error([...section, 'image'], problem)
  }
}
