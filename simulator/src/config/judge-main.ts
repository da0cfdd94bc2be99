import type { Disk } from '../fleet/hardware.ts'
import { matchDisk } from './disk-selector.ts'
import type { Loaded } from './load.ts'
import { multiError } from './multi-error.ts'
import { interfacesOf } from './node-config.ts'
import { pem } from './settings.ts'
import { isObject, list, object, text } from './shape.ts'
import { hasFeature, imageTag, kubernetesRange, minorOf } from './versions.ts'

/** Errors of the main document, and warnings. */
export const judgeMain = (
  loaded: Loaded,
  main: Record<string, unknown>,
  { installed, minor }: { installed: boolean; minor: number },
  warnings: string[],
): string[] => {
  const { machine, cluster, persist } = main
  if (!isObject(machine)) return ['machine instructions are required']
  const type = text(machine.type)
  const errors: string[] = []
  if (hasFeature(minor, 'kubernetesDocuments')) deprecate(machine, warnings)
  judgeCluster(cluster, type, minor, errors)
  judgeInstall(machine, { installed, minor }, errors, warnings)
  judgeFeatures(machine, errors)
  if (type === 'init') warnings.push('use "controlplane" instead of "init" for machine type')
  judgeAuthorities(machine, object(cluster), type, errors)
  judgeNetwork(loaded, type, errors, warnings)
  judgeNode(machine, type, errors)
  if (persist === false) errors.push('.persist should be enabled')
  return errors
}

const deprecate = (machine: Record<string, unknown>, warnings: string[]): void => {
  if (list(machine.files).length > 0)
    warnings.push('.machine.files is deprecated; use dedicated configuration documents instead')
  if (Object.keys(object(machine.baseRuntimeSpecOverrides)).length > 0)
    warnings.push(
      '.machine.baseRuntimeSpecOverrides is deprecated; use a CRIBaseRuntimeSpecConfig document instead',
    )
}

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
  { installed, minor }: { installed: boolean; minor: number },
  errors: string[],
  warnings: string[],
): void => {
  const install = object(machine.install)
  const { disk, diskSelector, extraKernelArgs, grubUseUKICmdline, extensions } = install
  // The install section is required only if Talos is not installed yet (Talos: modeWrapper of
  // v1alpha1_server.go).
  if (!installed && !isObject(machine.install)) {
    if (!hasFeature(minor, 'unattendedInstall'))
      errors.push('install instructions are required in "metal" mode')
  } else if (!installed) {
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
export const judgeDisks = (
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

const judgeCluster = (section: unknown, type: string, minor: number, errors: string[]): void => {
  if (!isObject(section)) return void errors.push('cluster instructions are required')
  const endpoint = text(object(section.controlPlane).endpoint)
  const mayMove = hasFeature(minor, 'kubernetesDocuments')
  if (endpoint === '' && (!mayMove || isObject(section.controlPlane)))
    return void errors.push(
      mayMove
        ? 'cluster controlplane endpoint is required (.cluster.controlPlane.endpoint); when the endpoint is migrated to the KubeClusterConfig document, the whole .cluster.controlPlane section should be removed (.cluster.controlPlane.localAPIServerPort is migrated to the KubeAPIServerConfig document)'
        : 'cluster controlplane endpoint is required',
    )
  const wrong = endpoint === '' ? null : endpointError(endpoint)
  if (wrong !== null) errors.push(`invalid controlplane endpoint: ${wrong}`)
  if (endpoint === '' && isObject(section.serviceAccount))
    errors.push(
      '.cluster.serviceAccount requires the cluster endpoint to be set in the same document (.cluster.controlPlane.endpoint); when the cluster endpoint is migrated to the KubeClusterConfig document, .cluster.serviceAccount should be migrated to the KubeServiceAccountConfig document as well',
    )
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
export const endpointError = (endpoint: string): string | null => {
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

/** Fields of the kubelet that belong to Talos (Talos: pkg/machinery/kubelet). */
export const KUBELET_FIELDS =
  'apiVersion authentication authorization cgroupRoot kind kubeletCgroups port protectKernelDefaults resolvConf rotateCertificates systemCgroups staticPodPath seccompDefault'.split(
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

/** Errors of the versions of Kubernetes that the main document's images have. */
export const judgeKubernetes = (main: Record<string, unknown>, talosVersion: string): string[] => {
  const [machine, cluster] = [object(main.machine), object(main.cluster)]
  const images: [string, unknown][] = [['kubelet', object(machine.kubelet).image]]
  if (text(machine.type) !== 'worker')
    images.push(
      ['kube-apiserver', object(cluster.apiServer).image],
      ['kube-controller-manager', object(cluster.controllerManager).image],
      ['kube-scheduler', object(cluster.scheduler).image],
    )
  return images.flatMap(([component, value]) => {
    const problem = text(value) === '' ? null : imageProblem(text(value), talosVersion)
    return problem === null ? [] : [`${component} image is not valid: ${problem}`]
  })
}

/**
 * Why the version of a Kubernetes image can't run with a Talos version, or null (Talos:
 * pkg/machinery/compatibility).
 */
export const imageProblem = (image: string, talosVersion: string): string | null => {
  const { min, max } = kubernetesRange(minorOf(talosVersion))
  const tag = imageTag(image)
  if (tag === null)
    return `failed to parse Kubernetes version from image reference "${image}": invalid image reference: "${image}"`
  const minor = minorOf(tag)
  if (minor >= min && minor <= max) return null
  return `version of Kubernetes ${tag.replace(/^v/, '')} is too ${minor > max ? 'new' : 'old'} to be used with Talos ${talosVersion.replace(/^v/, '')}`
}
