import { isIP } from 'node:net'
import type { Loaded } from './load.ts'
import { interfacesOf, pem } from './node-config.ts'
import { isObject, list, object, text } from './shape.ts'
import { imageTag, kubernetesRange, minorOf } from './versions.ts'
import { matchDisk } from './disk-selector.ts'
import type { Disk } from '../fleet/hardware.ts'

export interface Circumstances {
  talosVersion: string
  installed: boolean
  disks: readonly Disk[]
}

/** What a server finds wrong with a configuration that it could load (Talos: pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go, metal mode), and what it warns of. */
export const judgeConfig = (loaded: Loaded, { talosVersion, installed, disks }: Circumstances): { errors: string[]; warnings: string[] } => {
  const errors: string[] = []
  const warnings: string[] = []
  judgeDocuments(loaded, errors)
  if (!loaded.v1alpha1) return { errors, warnings }
  const { machine: machineSection, cluster: clusterSection, persist } = loaded.v1alpha1
  if (persist === false) errors.push('persist: false is not supported')
  if (!isObject(machineSection)) errors.push('machine instructions are required')
  if (!isObject(clusterSection)) errors.push('cluster instructions are required')
  if (!isObject(machineSection) || !isObject(clusterSection)) return { errors, warnings }

  const type = text(machineSection.type)
  if (!['controlplane', 'worker', 'init'].includes(type)) errors.push(type === '' ? 'machine type is required' : `unknown machine type "${type}"`)
  if (type === 'init') warnings.push('use "controlplane" instead of "init" for machine type')
  judgeAuthorities(machineSection, clusterSection, type, errors)
  judgeInstall(machineSection, { installed, disks, talosVersion }, errors, warnings)
  judgeCluster(clusterSection, type, errors)
  judgeNetwork(loaded, type, errors, warnings)
  judgeFeatures(machineSection, type, errors)
  judgeKubernetes(machineSection, clusterSection, talosVersion, errors)
  return { errors, warnings }
}

/** The text Talos makes of several errors (hashicorp/go-multierror). */
export const multiError = (errors: readonly string[]): string =>
  `${errors.length} error${errors.length === 1 ? '' : 's'} occurred:\n${errors.map((error) => `\t* ${error}\n`).join('')}\n`

const judgeAuthorities = (machine: Record<string, unknown>, cluster: Record<string, unknown>, type: string, errors: string[]): void => {
  const ca = object(machine.ca)
  const clusterCa = object(cluster.ca)
  for (const [path, value] of [
    ['machine.ca.crt', ca.crt],
    ['machine.ca.key', ca.key],
    ['cluster.ca.crt', clusterCa.crt],
    ['cluster.ca.key', clusterCa.key],
  ] as const) {
    const decoded = pem(value)
    if (decoded !== null && !decoded.startsWith('-----BEGIN ')) errors.push(`${path}: failed to parse PEM block`)
  }
  if (text(ca.crt) === '' && list(machine.acceptedCAs).length === 0)
    errors.push('issuing Talos API CA or some accepted CAs are required (.machine.ca, machine.acceptedCAs)')
  if (type === 'worker') {
    if (text(ca.key) !== '') errors.push('issuing Talos API CA key is not allowed on non-controlplane nodes (.machine.ca)')
    if (text(clusterCa.key) !== '') errors.push('issuing Kubernetes API CA key is not allowed on non-controlplane nodes (.cluster.ca)')
    if (isObject(cluster.etcd)) errors.push('etcd config is not allowed on non-controlplane nodes (.cluster.etcd)')
  } else if (text(ca.key) === '') {
    errors.push('issuing Talos API CA key is required for controlplane nodes (.machine.ca)')
  }
}

const judgeInstall = (machine: Record<string, unknown>, { installed, disks, talosVersion }: Circumstances, errors: string[], warnings: string[]): void => {
  if (!isObject(machine.install)) return void errors.push('install instructions are required in "metal" mode')
  const { disk, diskSelector, extraKernelArgs, grubUseUKICmdline, extensions, image } = machine.install
  if (!installed && text(disk) === '' && !isObject(diskSelector)) errors.push('either install disk or diskSelector should be defined')
  if (list(extraKernelArgs).length > 0 && grubUseUKICmdline === true)
    errors.push("install.extraKernelArgs and install.grubUseUKICmdline can't be used together")
  if (list(extraKernelArgs).length > 0 && grubUseUKICmdline !== true) warnings.push('extra kernel arguments are not supported when booting using systemd-boot')
  if (list(extensions).length > 0)
    warnings.push('.machine.install.extensions is deprecated, please see https://www.talos.dev/latest/talos-guides/install/boot-assets/')
  if (text(image) !== '' && imageTag(text(image)) === null) errors.push(`install image "${text(image)}" has no tag`)
  // Only the server itself can tell whether a selector finds a disk.
  if (!installed && isObject(diskSelector) && !disks.some((candidate) => matchDisk(diskSelector, candidate)))
    errors.push(`no disks matched the expression: ${JSON.stringify(diskSelector)}`)
  const tag = minorOf(imageTag(text(image)) ?? '')
  if (tag > minorOf(talosVersion) + 1) warnings.push(`install image is of Talos 1.${tag}, the server runs ${talosVersion}`)
}

const judgeCluster = (cluster: Record<string, unknown>, type: string, errors: string[]): void => {
  const endpoint = text(object(cluster.controlPlane).endpoint)
  if (endpoint === '') errors.push('cluster controlplane endpoint is required')
  else if (!/^https:\/\/(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+)(:\d+)?\/?$/.test(endpoint))
    errors.push(`invalid controlplane endpoint: "${endpoint}": url must be https://`)
  const network = object(cluster.network)
  const dnsDomain = text(network.dnsDomain)
  if (dnsDomain !== '' && !/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(dnsDomain))
    errors.push(`"${dnsDomain}" is not a valid DNS name`)
  const cni = object(network.cni)
  const cniName = text(cni.name)
  if (isObject(network.cni) && !['flannel', 'custom', 'none'].includes(cniName)) errors.push(`cni name should be one of [custom, flannel, none]: "${cniName}"`)
  if (['flannel', 'none'].includes(cniName) && list(cni.urls).length > 0) errors.push(`"urls" field should be empty for "${cniName}" CNI`)
  for (const [field, subnets] of [
    ['podSubnets', network.podSubnets],
    ['serviceSubnets', network.serviceSubnets],
  ] as const) {
    for (const subnet of list(subnets)) if (!isCidr(text(subnet))) errors.push(`cluster.network.${field}: invalid CIDR address: ${text(subnet)}`)
  }
  const discovery = object(cluster.discovery)
  const service = object(object(discovery.registries).service)
  if (discovery.enabled === true && service.disabled !== true) {
    if (text(cluster.id) === '') errors.push('cluster discovery service requires .cluster.id')
    if (text(cluster.secret) === '') errors.push('cluster discovery service requires .cluster.secret')
    if (text(service.endpoint) !== '' && !/^https?:\/\/[^/]+\/?$/.test(text(service.endpoint)))
      errors.push('cluster discovery service endpoint path should be empty')
  }
  const manifests = list(cluster.inlineManifests).map((item) => text(object(item).name))
  for (const [index, name] of manifests.entries()) {
    if (name === '') errors.push("inline manifest name can't be empty")
    else if (manifests.indexOf(name) !== index) errors.push(`inline manifest name "${name}" is duplicate`)
  }
  if (type !== 'worker' && isObject(cluster.etcd) && text(object(cluster.etcd.ca).crt) !== '' && text(object(cluster.etcd.ca).key) === '')
    errors.push('key is required for the etcd CA (.cluster.etcd.ca)')
}

const judgeNetwork = (loaded: Loaded, type: string, errors: string[], warnings: string[]): void => {
  const machineNetwork = object(object(loaded.v1alpha1?.machine).network)
  if (Object.keys(machineNetwork).some((key) => key !== 'kubespan'))
    warnings.push('.machine.network is deprecated, use the network configuration documents instead')
  for (const [index, item] of interfacesOf(loaded).entries()) {
    const hasName = text(item.interface) !== ''
    if (hasName && isObject(item.deviceSelector))
      errors.push(`[networking.os.device.interface] interface and deviceSelector can't be used together: interfaces[${index}]`)
    if (!hasName && !isObject(item.deviceSelector))
      errors.push(`[networking.os.device.interface], [networking.os.device.deviceSelector]: required either config section to be set: interfaces[${index}]`)
    if (type === 'worker' && isObject(item.vip)) errors.push('virtual (shared) IP is not allowed on non-controlplane nodes')
  }
  for (const document of loaded.documents)
    if (type === 'worker' && document.kind === 'Layer2VIPConfig') errors.push('virtual (shared) IP is not allowed on non-controlplane nodes')
  if (isObject(object(loaded.v1alpha1?.machine).registries))
    warnings.push('.machine.registries is deprecated, use the registry configuration documents instead')
}

const judgeFeatures = (machine: Record<string, unknown>, type: string, errors: string[]): void => {
  const features = object(machine.features)
  const hostDns = object(features.hostDNS)
  if (hostDns.forwardKubeDNSToHost === true && hostDns.enabled !== true) errors.push('feature hostDNS.forwardKubeDNSToHost requires hostDNS.enabled')
  const access = object(features.kubernetesTalosAPIAccess)
  if (access.enabled === true) {
    if (type === 'worker') errors.push('feature API access from Kubernetes is only allowed on control plane nodes')
    for (const role of list(access.allowedRoles))
      if (!/^os:(admin|operator|reader|etcd:backup)$/.test(text(role))) errors.push(`invalid role "${text(role)}" in allowed roles for API access`)
  }
  for (const key of [
    'clusterDomain',
    'clusterDNS',
    'containerRuntimeEndpoint',
    'port',
    'rotateCertificates',
    'staticPodPath',
    'tlsMinVersion',
    'authentication',
    'authorization',
  ]) {
    if (key in object(object(machine.kubelet).extraConfig)) errors.push(`kubelet configuration field "${key}" can't be overridden`)
  }
  for (const [section, values] of [
    ['labels', machine.nodeLabels],
    ['annotations', machine.nodeAnnotations],
  ] as const) {
    for (const key of Object.keys(object(values)))
      if (!/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(key))
        errors.push(`invalid machine node ${section}: "${key}" is not a valid name`)
  }
}

const judgeKubernetes = (machine: Record<string, unknown>, cluster: Record<string, unknown>, talosVersion: string, errors: string[]): void => {
  const { min, max } = kubernetesRange(minorOf(talosVersion))
  const images = [
    ['kubelet', object(machine.kubelet).image],
    ['kube-apiserver', object(cluster.apiServer).image],
    ['kube-controller-manager', object(cluster.controllerManager).image],
    ['kube-scheduler', object(cluster.scheduler).image],
    ['kube-proxy', object(cluster.proxy).image],
  ] as const
  for (const [component, image] of images) {
    if (text(image) === '') continue
    const tag = imageTag(text(image))
    if (tag === null) errors.push(`${component} image "${text(image)}" has no tag`)
    else if (!(minorOf(tag) >= min))
      errors.push(`version of Kubernetes ${tag.replace(/^v/, '')} is too old to be used with Talos ${talosVersion.replace(/^v/, '')}`)
    else if (!(minorOf(tag) <= max))
      errors.push(`version of Kubernetes ${tag.replace(/^v/, '')} is too new to be used with Talos ${talosVersion.replace(/^v/, '')}`)
  }
}

const judgeDocuments = ({ documents, v1alpha1 }: Loaded, errors: string[]): void => {
  const machine = object(v1alpha1?.machine)
  for (const { kind, name, body } of documents) {
    if (kind === 'HostnameConfig') {
      const hostname = text(body.hostname)
      const auto = body.auto === false ? 'off' : text(body.auto)
      if (hostname === '' && auto === '') errors.push("either 'auto' or 'hostname' must be set")
      if (!['', 'stable', 'off'].includes(auto)) errors.push(`"${auto}" is not a valid AutoHostnameKind`)
      if (hostname !== '' && auto === 'stable') errors.push("'auto' and 'hostname' cannot be set at the same time")
      if (hostname.length > 253 || (hostname !== '' && !/^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.|$)/.test(hostname)))
        errors.push(`invalid hostname "${hostname}"`)
      if (text(object(machine.network).hostname) !== '') errors.push('static hostname is already set in v1alpha1 config')
      if (object(machine.features).stableHostname === true) errors.push('stable hostname is already set in v1alpha1 config')
    }
    if (kind === 'VLANConfig') {
      const id = Number(body.vlanID)
      if (!(id >= 1 && id <= 4094)) errors.push(`${kind} "${name}": vlanID must be between 1 and 4094`)
      if (text(body.parent) === '') errors.push(`${kind} "${name}": parent is required`)
    }
    if (kind === 'BondConfig' && (list(body.links).length === 0 || text(body.bondMode) === ''))
      errors.push(`${kind} "${name}": links and bondMode are required`)
    if (kind === 'Layer2VIPConfig') {
      if (isIP(name) === 0) errors.push(`${kind}: name must be a valid IP address: "${name}"`)
      if (text(body.link) === '') errors.push(`${kind} "${name}": link is required`)
    }
    for (const item of list(body.addresses))
      if (isObject(item) && !isCidr(text(item.address))) errors.push(`${kind} "${name}": address must be a prefix: "${text(item.address)}"`)
    for (const item of list(body.routes)) {
      const destination = text(object(item).destination)
      if (destination !== '' && !isCidr(destination)) errors.push(`${kind} "${name}": route destination must be a prefix: "${destination}"`)
    }
    if (kind === 'UserVolumeConfig' && !/^[A-Za-z0-9-]{1,34}$/.test(name)) errors.push(`${kind}: name must be 1 to 34 letters, digits or dashes: "${name}"`)
    if (kind === 'VolumeConfig' && !['STATE', 'EPHEMERAL', 'IMAGECACHE'].includes(name))
      errors.push(`${kind}: only STATE, EPHEMERAL and IMAGECACHE can be configured: "${name}"`)
  }
  const links = documents.filter(({ kind }) =>
    ['LinkConfig', 'VLANConfig', 'BondConfig', 'BridgeConfig', 'DummyLinkConfig', 'WireguardConfig', 'VRFConfig'].includes(kind),
  )
  for (const [index, { kind, name }] of links.entries()) {
    const before = links.findIndex((other) => other.name === name)
    if (before !== index) errors.push(`${links[before]?.kind} and ${kind} documents use the same link name "${name}"`)
  }
}

const isCidr = (value: string): boolean => {
  const [address = '', bits = ''] = value.split('/')
  const family = isIP(address)
  return family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
}
