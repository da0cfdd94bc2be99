import { isIP } from 'node:net'
import { DOCUMENTS } from './fields.ts'
import type { ConfigDocument, Loaded } from './load.ts'
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

export interface Judgement {
  errors: string[]
  warnings: string[]
  /**
   * The step that found the errors: `validation` checks the configuration alone, `runtime` then
   * checks the configuration against this machine.
   */
  by: 'validation' | 'runtime'
}

/**
 * Validates a loaded configuration in the order and words of Talos (pkg/machinery/config/container,
 * and types/v1alpha1/v1alpha1_validation.go in metal mode), with warnings. All errors of the main
 * document form one error with a nested list.
 */
export const judgeConfig = (
  loaded: Loaded,
  { talosVersion, installed, disks }: Circumstances,
): Judgement => {
  const warnings: string[] = []
  const main = loaded.v1alpha1 ? judgeMain(loaded, loaded.v1alpha1, installed, warnings) : []
  const errors = [...listed(main), ...judgeDocuments(loaded)]
  if (errors.length > 0 || !loaded.v1alpha1) return { errors, warnings, by: 'validation' }
  const machine = object(loaded.v1alpha1.machine)
  const found = [
    ...judgeDisks(machine, installed, disks, talosVersion, warnings),
    ...judgeKubernetes(machine, object(loaded.v1alpha1.cluster), talosVersion),
  ]
  return { errors: listed(found), warnings, by: 'runtime' }
}

const listed = (errors: readonly string[]): string[] =>
  errors.length === 0 ? [] : [`v1alpha1.Config: ${multiError(errors)}`]

const judgeMain = (
  loaded: Loaded,
  main: Record<string, unknown>,
  installed: boolean,
  warnings: string[],
): string[] => {
  const { machine, cluster, persist } = main
  if (!isObject(machine)) return ['machine instructions are required']
  const type = text(machine.type)
  const errors: string[] = []
  judgeCluster(cluster, type, errors)
  judgeInstall(machine, installed, errors, warnings)
  judgeFeatures(machine, errors)
  if (type === 'init') warnings.push('use "controlplane" instead of "init" for machine type')
  judgeAuthorities(machine, object(cluster), type, errors)
  judgeNetwork(loaded, type, errors, warnings)
  judgeNode(machine, type, errors)
  if (persist === false) errors.push('.persist should be enabled')
  return errors
}

/** Formats several errors as Talos does (hashicorp/go-multierror). */
export const multiError = (errors: readonly string[]): string =>
  `${errors.length} error${errors.length === 1 ? '' : 's'} occurred:\n${errors.map((error) => `\t* ${error}\n`).join('')}\n`

const judgeAuthorities = (
  machine: Record<string, unknown>,
  cluster: Record<string, unknown>,
  type: string,
  errors: string[],
): void => {
  const ca = object(machine.ca)
  const clusterCa = object(cluster.ca)
  for (const [path, value] of [
    ['machine.ca.crt', ca.crt],
    ['machine.ca.key', ca.key],
    ['cluster.ca.crt', clusterCa.crt],
    ['cluster.ca.key', clusterCa.key],
  ] as const) {
    const decoded = pem(value)
    if (decoded !== null && !decoded.startsWith('-----BEGIN '))
      errors.push(`${path}: failed to parse PEM block`)
  }
  const hasIssuing = text(ca.crt) !== '' || text(ca.key) !== ''
  if (!hasIssuing && list(machine.acceptedCAs).length === 0)
    errors.push('issuing CA or some accepted CAs are required (.machine.ca, machine.acceptedCAs)')
  if (type === 'controlplane' || type === 'init') {
    judgeCni(object(object(cluster.network).cni), errors)
    if (!hasIssuing) errors.push('issuing CA is required (.machine.ca)')
    else if (text(ca.key) === '')
      errors.push('issuing CA key is required for controlplane nodes (.machine.ca.key)')
  } else if (type === 'worker') {
    if (text(ca.key) !== '')
      errors.push('issuing Talos API CA key is not allowed on non-controlplane nodes (.machine.ca)')
    if (hasIssuing && text(ca.crt) === '' && list(machine.acceptedCAs).length === 0)
      errors.push(
        'trusted CA certificates are required on non-controlplane nodes (.machine.ca.crt, .machine.acceptedCAs)',
      )
    if (text(clusterCa.key) !== '')
      errors.push(
        'issuing Kubernetes API CA key is not allowed on non-controlplane nodes (.cluster.ca)',
      )
  } else errors.push(`unknown machine type "${type}"`)
}

const judgeCni = (cni: Record<string, unknown>, errors: string[]): void => {
  const name = text(cni.name) || 'flannel'
  if (!['flannel', 'custom', 'none'].includes(name))
    errors.push('cni name should be one of ["flannel", "custom", "none"]')
  else if (name !== 'custom' && list(cni.urls).length > 0)
    errors.push(`"urls" field should be empty for "${name}" CNI`)
}

const judgeInstall = (
  machine: Record<string, unknown>,
  installed: boolean,
  errors: string[],
  warnings: string[],
): void => {
  const install = object(machine.install)
  const { disk, diskSelector, extraKernelArgs, grubUseUKICmdline, extensions } = install
  // The install section is required only if Talos is not installed yet (Talos: modeWrapper of
  // v1alpha1_server.go).
  if (!installed && !isObject(machine.install))
    errors.push('install instructions are required in "metal" mode')
  else if (!installed) {
    if (text(disk) === '' && !isObject(diskSelector))
      errors.push('either install disk or diskSelector should be defined')
    if (list(extraKernelArgs).length > 0 && grubUseUKICmdline === true)
      errors.push("install.extraKernelArgs and install.grubUseUKICmdline can't be used together")
  }
  if (list(extraKernelArgs).length > 0 && grubUseUKICmdline !== true)
    warnings.push('extra kernel arguments are not supported when booting using SDBoot')
  if (list(extensions).length > 0)
    warnings.push(
      '.machine.install.extensions is deprecated, please see https://docs.siderolabs.com/talos/latest/platform-specific-installations/boot-assets',
    )
}

/** Checks that the disk selector matches a disk of the machine. */
const judgeDisks = (
  machine: Record<string, unknown>,
  installed: boolean,
  disks: readonly Disk[],
  talosVersion: string,
  warnings: string[],
): string[] => {
  const { diskSelector, image } = object(machine.install)
  const tag = minorOf(imageTag(text(image)) ?? '')
  if (tag > minorOf(talosVersion) + 1)
    warnings.push(`install image is of Talos 1.${tag}, the server runs ${talosVersion}`)
  if (
    installed ||
    !isObject(diskSelector) ||
    disks.some((candidate) => matchDisk(diskSelector, candidate))
  )
    return []
  return [`no disks matched the expression: ${JSON.stringify(diskSelector)}`]
}

const judgeCluster = (section: unknown, type: string, errors: string[]): void => {
  if (!isObject(section)) return void errors.push('cluster instructions are required')
  const endpoint = text(object(section.controlPlane).endpoint)
  if (endpoint === '') return void errors.push('cluster controlplane endpoint is required')
  const wrong = endpointError(endpoint)
  if (wrong !== null) errors.push(`invalid controlplane endpoint: ${wrong}`)
  const { dnsDomain } = object(section.network)
  if (text(dnsDomain) !== '' && !DNS_NAME.test(text(dnsDomain)))
    errors.push(`"${text(dnsDomain)}" is not a valid DNS name`)
  const isControlPlane = type === 'controlplane' || type === 'init'
  if (!isControlPlane && isObject(section.etcd))
    errors.push('etcd config is only allowed on control plane machines')
  if (!isControlPlane && text(object(section.ca).key) !== '')
    errors.push('cluster CA key is not allowed on non-controlplane nodes (.cluster.ca)')
  const manifests = list(section.inlineManifests).map((item) => text(object(item).name))
  for (const [index, name] of manifests.entries()) {
    if (name.trim() === '') errors.push("inline manifest name can't be empty")
    if (manifests.indexOf(name) !== index)
      errors.push(`inline manifest name "${name}" is duplicate`)
  }
  const discovery = object(section.discovery)
  const service = object(object(discovery.registries).service)
  if (discovery.enabled !== true || service.disabled === true) return
  if (text(service.endpoint) !== '' && !/^https?:\/\/[^/]+\/?$/.test(text(service.endpoint)))
    errors.push('cluster discovery service path should be empty')
  if (text(section.id) === '') errors.push('cluster discovery service requires .cluster.id')
  if (text(section.secret) === '') errors.push('cluster discovery service requires .cluster.secret')
}

const DNS_NAME = /^\w[\w-]{0,62}(\.\w[\w-]{0,62})*[._]?$/

/**
 * Talos accepts any URL with a host name and an optional port (siderolabs/net:
 * ValidateEndpointURI).
 */
const endpointError = (endpoint: string): string | null => {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(endpoint)) return 'hostname must not be blank'
  const port = /^[a-z][a-z0-9+.-]*:\/\/(?:\[[^\]]*\]|[^/:]*):(\d+)/i.exec(endpoint)?.[1]
  return port !== undefined && !(Number(port) >= 1 && Number(port) <= 65_535)
    ? 'port number must be between 1 and 65535'
    : null
}

const judgeNetwork = (loaded: Loaded, type: string, errors: string[], warnings: string[]): void => {
  const machineNetwork = object(object(loaded.v1alpha1?.machine).network)
  if (Object.keys(machineNetwork).some((key) => key !== 'kubespan'))
    warnings.push('.machine.network is deprecated, use the network configuration documents instead')
  for (const [index, item] of interfacesOf(loaded).entries()) {
    const hasName = text(item.interface) !== ''
    if (hasName && isObject(item.deviceSelector))
      errors.push(
        `[networking.os.device.interface] interface and deviceSelector can't be used together: interfaces[${index}]`,
      )
    if (!hasName && !isObject(item.deviceSelector))
      errors.push(
        `[networking.os.device.interface], [networking.os.device.deviceSelector]: required either config section to be set: interfaces[${index}]`,
      )
    if (type === 'worker' && isObject(item.vip))
      errors.push('virtual (shared) IP is not allowed on non-controlplane nodes')
  }
  for (const document of loaded.documents)
    if (type === 'worker' && document.kind === 'Layer2VIPConfig')
      errors.push('virtual (shared) IP is not allowed on non-controlplane nodes')
  if (isObject(object(loaded.v1alpha1?.machine).registries))
    warnings.push(
      '.machine.registries is deprecated, use the registry configuration documents instead',
    )
}

const judgeFeatures = (machine: Record<string, unknown>, errors: string[]): void => {
  const hostDns = object(object(machine.features).hostDNS)
  if (hostDns.forwardKubeDNSToHost === true && hostDns.enabled !== true)
    errors.push(
      'feature hostDNS.forwardKubeDNSToHost requires hostDNS.enabled to be true (.machine.features.hostDNS)',
    )
}

const KUBELET_FIELDS =
  'authentication authorization clusterDNS clusterDomain containerRuntimeEndpoint port rotateCertificates staticPodPath tlsMinVersion'.split(
    ' ',
  )

const judgeNode = (machine: Record<string, unknown>, type: string, errors: string[]): void => {
  for (const key of KUBELET_FIELDS)
    if (key in object(object(machine.kubelet).extraConfig))
      errors.push(`kubelet configuration field "${key}" can't be overridden`)
  for (const [section, values] of [
    ['labels', machine.nodeLabels],
    ['annotations', machine.nodeAnnotations],
  ] as const) {
    const wrong = Object.keys(object(values)).filter(
      (key) =>
        !/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(
          key,
        ),
    )
    if (wrong.length > 0)
      errors.push(
        `invalid machine node ${section}: ${multiError(wrong.map((key) => `name "${key}" is invalid`))}`,
      )
  }
  const access = object(object(machine.features).kubernetesTalosAPIAccess)
  if (access.enabled !== true) return
  if (type === 'worker')
    errors.push('feature Kubernetes Talos API Access can only be enabled on control plane machines')
  for (const role of list(access.allowedRoles))
    if (!/^os:(admin|operator|reader|etcd:backup)$/.test(text(role)))
      errors.push(`invalid role "${text(role)}" in allowed roles for Kubernetes Talos API Access`)
}

const judgeKubernetes = (
  machine: Record<string, unknown>,
  cluster: Record<string, unknown>,
  talosVersion: string,
): string[] => {
  const { min, max } = kubernetesRange(minorOf(talosVersion))
  const images: [string, unknown][] = [['kubelet', object(machine.kubelet).image]]
  if (text(machine.type) !== 'worker')
    images.push(
      ['kube-apiserver', object(cluster.apiServer).image],
      ['kube-controller-manager', object(cluster.controllerManager).image],
      ['kube-scheduler', object(cluster.scheduler).image],
    )
  return images.flatMap(([component, value]) => {
    const image = text(value)
    if (image === '') return []
    const tag = imageTag(image)
    if (tag === null)
      return [
        `${component} image is not valid: failed to parse Kubernetes version from image reference "${image}": invalid image reference: "${image}"`,
      ]
    const minor = minorOf(tag)
    if (minor >= min && minor <= max) return []
    const reason = minor > max ? 'new' : 'old'
    return [
      `${component} image is not valid: version of Kubernetes ${tag.replace(/^v/, '')} is too ${reason} to be used with Talos ${talosVersion.replace(/^v/, '')}`,
    ]
  })
}

/**
 * Errors of the other documents (one error per document, possibly with several lines), then
 * conflicts with the main document.
 */
const judgeDocuments = ({ documents, v1alpha1 }: Loaded): string[] => {
  const errors = documents.flatMap((document) => {
    const found = judgeDocument(document)
    return found.length === 0
      ? []
      : [
          `${document.kind}${DOCUMENTS.get(document.kind)?.named === true ? `/${document.name}` : ''}: ${found.join('\n')}`,
        ]
  })
  const machine = object(v1alpha1?.machine)
  if (documents.some(({ kind }) => kind === 'HostnameConfig')) {
    if (text(object(machine.network).hostname) !== '')
      errors.push('static hostname is already set in v1alpha1 config')
    if (object(machine.features).stableHostname === true)
      errors.push('stable hostname is already set in v1alpha1 config')
  }
  return errors
}

const judgeDocument = ({ kind, name, body }: ConfigDocument): string[] => {
  const errors: string[] = []
  if (kind === 'HostnameConfig') return judgeHostname(body)
  if (name === '' && DOCUMENTS.get(kind)?.named === true) errors.push('name must be specified')
  else if (kind === 'Layer2VIPConfig' && isIP(name) === 0)
    errors.push(`name must be a valid IP address: ParseAddr("${name}"): unable to parse IP`)
  if (kind === 'Layer2VIPConfig' && text(body.link) === '') errors.push('link must be specified')
  if (kind === 'VLANConfig') {
    const id = Number(body.vlanID)
    if (!(id >= 1 && id <= 4094)) errors.push('vlanID must be specified and between 1 and 4094')
    if (text(body.parent) === '') errors.push('parent must be specified')
  }
  if (kind === 'BondConfig') {
    if (list(body.links).length === 0) errors.push('at least one link must be specified')
    if (text(body.bondMode) === '') errors.push('bond mode must be specified')
  }
  for (const [index, item] of list(body.addresses).entries())
    if (isObject(item) && !isCidr(text(item.address)))
      errors.push(`address ${index} must be a valid IP prefix`)
  for (const [index, item] of list(body.routes).entries()) {
    const destination = text(object(item).destination)
    if (destination !== '' && !isCidr(destination))
      errors.push(`route ${index} destination must be a valid IP prefix`)
  }
  if (kind === 'UserVolumeConfig' && name !== '') {
    if (name.length > 34) errors.push('name must be between 1 and 34 characters long')
    if (!/^[A-Za-z0-9-]+$/.test(name))
      errors.push(
        'name can only contain lowercase and uppercase ASCII letters, digits, and hyphens',
      )
  }
  if (kind === 'VolumeConfig' && !['STATE', 'EPHEMERAL', 'IMAGECACHE'].includes(name))
    errors.push('only ["STATE" "EPHEMERAL" "IMAGECACHE"] volumes are supported')
  return errors
}

const judgeHostname = (body: Record<string, unknown>): string[] => {
  const errors: string[] = []
  const hostname = text(body.hostname)
  const auto = body.auto === false ? 'off' : text(body.auto)
  if (hostname === '' && auto === '') errors.push("either 'auto' or 'hostname' must be set")
  if (hostname !== '' && auto === 'stable')
    errors.push("'auto' and 'hostname' cannot be set at the same time")
  if (!['', 'stable', 'off'].includes(auto)) errors.push(`invalid value for 'auto': ${auto}`)
  if (hostname.length > 253) errors.push(`fqdn is too long: ${hostname.length}`)
  const [first = ''] = hostname.split('.')
  if (hostname !== '' && (first === '' || first.length > 63))
    errors.push(`invalid hostname "${first}"`)
  return errors
}

const isCidr = (value: string): boolean => {
  const [address = '', bits = ''] = value.split('/')
  const family = isIP(address)
  return family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
}
