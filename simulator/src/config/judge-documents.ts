import { isIP } from 'node:net'
import { celProblem } from './cel/cel.ts'
import type { Scope } from './cel/types.ts'
import { documentKind } from './fields.ts'
import { judgeOf14 } from './judge-14.ts'
import type { ConfigDocument, Loaded } from './load.ts'
import { isObject, list, object, text } from './shape.ts'
import { hasFeature, minorOf } from './versions.ts'

/** Errors of the other documents: one error per document, possibly with several lines. */
export const judgeDocuments = (
  { documents }: Loaded,
  talosVersion: string,
  warnings: string[],
): string[] => {
  const minor = minorOf(talosVersion)
  return documents.flatMap((document) => {
    const own = judgeOf14[document.kind]
    const isNamed = documentKind(document.kind, minor)?.named === true
    const found = own
      ? own(document, { talosVersion, warnings })
      : judgeDocument(document, isNamed, minor)
    return found.length === 0
      ? []
      : [`${document.kind}${isNamed ? `/${document.name}` : ''}: ${found.join('\n')}`]
  })
}

const judgeDocument = (
  { kind, name, body }: ConfigDocument,
  isNamed: boolean,
  minor: number,
): string[] => {
  const errors: string[] = []
  if (kind === 'HostnameConfig') return judgeHostname(body)
  if (name === '' && isNamed) errors.push('name must be specified')
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
  const volumes = systemVolumes(minor)
  if (kind === 'VolumeConfig' && !volumes.includes(name))
    errors.push(
      `only [${volumes.map((volume) => JSON.stringify(volume)).join(' ')}] volumes are supported`,
    )
  return [...errors, ...judgeSelector(kind, body, minor)]
}

/**
 * Selectors must be conditions of their types (Talos: pkg/machinery/config/types/block,
 * `ProvisioningSpec.Validate`, `VolumeDiscoverySpec.Validate`; types/network/link_alias.go).
 */
const judgeSelector = (
  kind: string,
  { provisioning, discovery, selector }: Record<string, unknown>,
  minor: number,
): string[] => {
  const judge = (
    what: Scope,
    { match }: Record<string, unknown>,
    isRequired: boolean,
  ): string[] => {
    if (text(match) === '') return isRequired ? [`${what} selector is required`] : []
    const problem = celProblem(text(match), what, minor)
    return problem === null ? [] : [`${what} selector is invalid: ${problem}`]
  }
  if (kind === 'LinkAliasConfig') return judge('link', object(selector), true)
  if (kind === 'ExistingVolumeConfig')
    return judge('volume', object(object(discovery).volumeSelector), true)
  return judge('disk', object(object(provisioning).diskSelector), false)
}

/** Volumes of Talos that can be configured (Talos: pkg/machinery/config/types/block). */
const systemVolumes = (minor: number): string[] => [
  'STATE',
  'EPHEMERAL',
  'IMAGECACHE',
  ...(hasFeature(minor, 'moreSystemVolumes') ? ['ETCD', 'CRI', 'KUBELET', 'LOG'] : []),
]

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
