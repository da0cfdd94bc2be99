/**
 * Rules for all documents except the main one (Talos `pkg/machinery/config/types/*`, each
 * document's `Validate`), and addresses that Talos refuses already when it loads a document.
 */
import { celProblem, type CelScope } from './cel.ts'
import type { ConfigDocument } from './decode.ts'
import {
  durationMs,
  isAddress,
  isAddressPort,
  isCidr,
  isCidrOrAddress,
  isHostPort,
  isMac,
  isRoutingTable,
  isUnspecified,
  sizeBytes,
} from './formats.ts'
import { checkKeySlots, Report } from './report.ts'
import type { MapNode } from './tree.ts'
import { isWireguardKey } from './validate-devices.ts'

export function validateDocument(document: ConfigDocument): Report {
  const report = new Report(document.root)
  if (document.shape.named && document.name === '')
    report.error([], `${document.shape.kind} needs a name`)
  checks[document.shape.kind]?.(report)
  return report
}

/**
 * Reports settings that a document and the main document both contain although only one of them
 * may.
 */
export function validateAgainstMain(document: ConfigDocument, main: MapNode, report: Report): void {
  const inMain = new Report(main)
  const taken = (path: string[]) => {
    if (inMain.has(...path))
      report.error([], `${document.shape.kind}: ${path.join('.')} says it already`)
  }
  const network = ['machine', 'network']
  switch (document.shape.kind) {
    case 'HostnameConfig':
      taken([...network, 'hostname'])
      if (inMain.flag('machine', 'features', 'stableHostname'))
        taken(['machine', 'features', 'stableHostname'])
      break
    case 'ResolverConfig':
      taken([...network, 'nameservers'])
      taken([...network, 'searchDomains'])
      if (inMain.flag(...network, 'disableSearchDomain')) taken([...network, 'disableSearchDomain'])
      break
    case 'TimeSyncConfig':
      if (inMain.flag('machine', 'time', 'disabled')) taken(['machine', 'time', 'disabled'])
      taken(['machine', 'time', 'servers'])
      taken(['machine', 'time', 'bootTimeout'])
      break
    case 'KubeSpanConfig':
      taken([...network, 'kubespan'])
      break
    case 'VolumeConfig':
      if (report.has('encryption'))
        taken(['machine', 'systemDiskEncryption', document.name.toLowerCase()])
      break
  }
}

type Check = (report: Report) => void

/** Checks the form of a value, if present. */
function form(report: Report, path: string[], is: (text: string) => boolean, what: string): void {
  const text = report.text(...path)
  if (text !== '' && !is(text)) report.error(path, `${text} is not ${what}`)
}

const cidr = 'an address with prefix length, such as 10.0.0.7/24'
const network = 'a network in CIDR notation'
const address = 'an address'
const routingTable = 'a routing table: a number from 1 to 252, default, main or local'

/** Checks a CEL expression, if present. */
function expression(report: Report, path: string[], scope: CelScope): void {
  const text = report.text(...path)
  const problem = text === '' ? undefined : celProblem(text, scope)
  if (problem !== undefined) report.error(path, `The expression can’t be compiled: ${problem}`)
}

const link: Check = (report) => {
  form(report, ['hardwareAddr'], isMac, 'a MAC address')
  for (const { path } of report.items('addresses')) {
    const text = report.text(...path, 'address')
    if (!isCidr(text) || isUnspecified(text))
      report.error(path, text === '' ? 'The address is missing' : `${text} is not ${cidr}`)
  }
  for (const { path } of report.items('routes')) {
    form(
      report,
      [...path, 'destination'],
      (t) => isCidr(t) && !isUnspecified(t),
      `${network}; leave it out for the default route`,
    )
    form(report, [...path, 'gateway'], (t) => isAddress(t) && !isUnspecified(t), address)
    form(report, [...path, 'source'], (t) => isAddress(t) && !isUnspecified(t), address)
    form(report, [...path, 'table'], isRoutingTable, routingTable)
  }
}

const dhcp: Check = (report) => {
  const duid = report.text('clientIdentifier') === 'duid'
  if (report.has('duidRaw') && !duid)
    report.error(['duidRaw'], 'duidRaw goes with clientIdentifier: duid')
  if (duid && !report.has('duidRaw'))
    report.error(['clientIdentifier'], 'clientIdentifier: duid needs duidRaw')
}

const provisioning = (report: Report, required: boolean, sized: boolean) => {
  if (required && !report.has('provisioning', 'diskSelector', 'match'))
    report.error(['provisioning'], 'Say which disk: provisioning.diskSelector.match')
  expression(report, ['provisioning', 'diskSelector', 'match'], 'disk')
  const min = report.text('provisioning', 'minSize')
  const max = report.text('provisioning', 'maxSize')
  if (!sized) {
    if (min !== '' || max !== '' || report.flag('provisioning', 'grow'))
      report.error(['provisioning'], 'A whole disk has no size')
    return
  }
  form(
    report,
    ['provisioning', 'minSize'],
    (t) => sizeBytes(t) !== undefined,
    'a size such as 10GiB',
  )
  form(
    report,
    ['provisioning', 'maxSize'],
    (t) => sizeBytes(t.replace(/^-/, '')) !== undefined || isPercentage(t),
    'a size such as 100GiB, or a percentage',
  )
  if ((sizeBytes(min) ?? 0) > (sizeBytes(max) ?? Infinity))
    report.error(['provisioning', 'minSize'], 'minSize is more than maxSize')
  if (required && min === '' && max === '')
    report.error(['provisioning'], 'Say how big: provisioning.minSize or provisioning.maxSize')
}

const encryption: Check = (report) => {
  if (!report.has('encryption')) return
  if (report.text('encryption', 'provider') !== 'luks2')
    report.error(['encryption'], 'The encryption provider must be luks2')
  const keys = report.items('encryption', 'keys')
  if (keys.length === 0) report.error(['encryption'], 'Encryption needs keys')
  checkKeySlots(report, keys)
  for (const { path } of keys)
    for (const pcr of report.texts(...path, 'tpm', 'options', 'pcrs'))
      if (Number(pcr.text) > 23) report.error(pcr.path, 'A PCR is a number from 0 to 23')
}

const volumeName = (report: Report) => {
  const name = report.text('name')
  if (name.length > 34) report.error(['name'], 'The name can have 34 characters at most')
  if (name !== '' && !/^[a-zA-Z0-9-]+$/.test(name))
    report.error(['name'], 'The name can only have letters, digits and hyphens')
}

const addressName = (report: Report) =>
  form(report, ['name'], isAddress, 'an address, which the name must be')

const required = (report: Report, ...fields: string[]) => {
  for (const field of fields) if (!report.has(field)) report.error([field], `${field} is missing`)
}

const checks: Record<string, Check> = {
  HostnameConfig: (report) => {
    const auto = report.text('auto')
    const hostname = report.text('hostname')
    if ((auto === '' || auto === 'off') && hostname === '')
      report.error([], 'HostnameConfig needs auto: stable or a hostname')
    if (hostname !== '' && auto !== '' && auto !== 'off')
      report.error(['hostname'], 'A host name of your own needs auto: off')
    const [first = ''] = hostname.split('.')
    if (hostname.length > 253 || first.length > 63 || (hostname !== '' && first === ''))
      report.error(['hostname'], 'The host name can have 63 characters, with its domain 253')
  },
  LinkConfig: link,
  DummyLinkConfig: link,
  BridgeConfig: link,
  VRFConfig: (report) => {
    link(report)
    if (['', 'unspec', 'local', 'main', 'default'].includes(report.text('table')))
      report.error(['table'], 'A VRF needs a routing table of its own')
    else form(report, ['table'], isRoutingTable, routingTable)
  },
  VLANConfig: (report) => {
    link(report)
    const id = report.number('vlanID') ?? 0
    if (id < 1 || id > 4094) report.error(['vlanID'], 'The VLAN ID must be from 1 to 4094')
    required(report, 'parent')
  },
  BondConfig: (report) => {
    link(report)
    if (!report.has('links')) report.error(['links'], 'A bond needs links')
    if (!report.has('bondMode')) report.error(['bondMode'], 'A bond needs its mode')
    for (const list of ['arpIpTargets', 'nsIp6Targets'])
      for (const { path, text } of report.texts(list))
        if (!isAddress(text)) report.error(path, `${text} is not ${address}`)
    if (report.text('bondMode') !== '802.3ad') return
    if (report.text('lacpRate') === '')
      report.warn(
        '802.3ad without lacpRate waits 90 s before it notices a dead partner; fast waits 3 s',
      )
  },
  WireguardConfig: (report) => {
    link(report)
    if (!isWireguardKey(report.text('privateKey')))
      report.error(['privateKey'], 'The private key is not 32 bytes in base64')
    if ((report.number('listenPort') ?? 0) > 65_535)
      report.error(['listenPort'], 'The port must be at most 65535')
    for (const { path } of report.items('peers')) {
      if (!isWireguardKey(report.text(...path, 'publicKey')))
        report.error([...path, 'publicKey'], 'A peer’s public key is not 32 bytes in base64')
      form(report, [...path, 'presharedKey'], isWireguardKey, '32 bytes in base64')
      form(report, [...path, 'endpoint'], isAddressPort, 'an address with port')
      for (const item of report.texts(...path, 'allowedIPs'))
        if (!isCidr(item.text)) report.error(item.path, `${item.text} is not ${network}`)
    }
  },
  DHCPv4Config: dhcp,
  DHCPv6Config: dhcp,
  LinkAliasConfig: (report) => {
    if (!report.has('selector', 'match'))
      report.error(['selector'], 'LinkAliasConfig needs selector.match')
    expression(report, ['selector', 'match'], 'link')
    const name = report.text('name')
    if (name.includes('%') && !/^[^%]+%d$/.test(name))
      report.error(['name'], 'A name for several links ends in %d')
  },
  Layer2VIPConfig: (report) => (addressName(report), required(report, 'link')),
  HCloudVIPConfig: (report) => (addressName(report), required(report, 'link', 'apiToken')),
  ResolverConfig: (report) => {
    for (const { path } of report.items('nameservers')) {
      const text = report.text(...path, 'address')
      if (!isAddress(text)) report.error(path, `${text || 'Nothing'} is not ${address}`)
    }
  },
  StaticHostConfig: (report) => (addressName(report), required(report, 'hostnames')),
  TimeSyncConfig: (report) => {
    if ((durationMs(report.text('bootTimeout')) ?? 0) < 0)
      report.error(['bootTimeout'], 'bootTimeout can’t be negative')
    if (report.has('ntp') && report.has('ptp')) report.error(['ptp'], 'Use either ntp or ptp')
  },
  KubeSpanConfig: (report) => {
    if ((report.number('mtu') ?? 1420) < 1280)
      report.error(['mtu'], 'KubeSpan’s MTU must be at least 1280')
    for (const { path, text } of report.texts('filters', 'endpoints'))
      if (!isCidrOrAddress(text.replace(/^!/, ''))) report.error(path, `${text} is not ${network}`)
    for (const { path, text } of report.texts('filters', 'excludeAdvertisedNetworks'))
      if (!isCidr(text)) report.error(path, `${text} is not ${network}`)
  },
  KubeSpanEndpointsConfig: (report) => {
    for (const { path, text } of report.texts('extraAnnouncedEndpoints'))
      if (!isAddressPort(text)) report.error(path, `${text} is not an address with port`)
  },
  NetworkRuleConfig: (report) => {
    if (!report.has('portSelector', 'ports')) report.error(['portSelector'], 'A rule needs ports')
    if (!report.has('portSelector', 'protocol'))
      report.error(['portSelector'], 'A rule needs a protocol')
    required(report, 'portSelector')
    const ranges = report
      .texts('portSelector', 'ports')
      .map(({ path, text }) => ({ path, ends: text.split('-').map(Number) }))
    const sorted = ranges.toSorted((a, b) => a.ends[0]! - b.ends[0]!)
    sorted.slice(1).forEach(({ path, ends }, i) => {
      if (ends[0]! <= sorted[i]!.ends.at(-1)!)
        report.error(path, 'Ports of a rule must not overlap')
    })
    for (const { path } of report.items('ingress')) {
      if (!isCidr(report.text(...path, 'subnet')))
        report.error(path, `${report.text(...path, 'subnet') || 'Nothing'} is not ${network}`)
      form(report, [...path, 'except'], isCidr, network)
    }
  },
  BlackholeRouteConfig: (report) =>
    form(report, ['name'], isCidr, `${network}, which the name must be`),
  RoutingRuleConfig: (report) => {
    form(report, ['src'], isCidr, network)
    form(report, ['dst'], isCidr, network)
    form(report, ['table'], isRoutingTable, routingTable)
    const isUnicast = ['', 'unspec', 'unicast'].includes(report.text('action'))
    if (isUnicast && ['', 'unspec'].includes(report.text('table')))
      report.error([], 'A rule needs a table, or an action other than unicast')
    if ((report.number('fwMask') ?? 0) > 0 && (report.number('fwMark') ?? 0) === 0)
      report.error(['fwMask'], 'fwMask needs fwMark')
    if (!/^\d+$/.test(report.text('name')))
      report.error(['name'], 'The name is the priority of the rule, a number')
  },
  TCPProbeConfig: (report) => {
    form(report, ['endpoint'], isHostPort, 'host:port')
    required(report, 'endpoint')
    for (const field of ['interval', 'timeout'])
      if ((durationMs(report.text(field)) ?? 0) < 0)
        report.error([field], `${field} can’t be negative`)
  },
  VolumeConfig: (report) => {
    const name = report.text('name')
    if (!['STATE', 'EPHEMERAL', 'IMAGECACHE'].includes(name))
      return report.error(
        ['name'],
        'VolumeConfig is for STATE, EPHEMERAL and IMAGECACHE; for others use UserVolumeConfig',
      )
    if (name === 'STATE') {
      if (report.has('provisioning'))
        report.error(['provisioning'], 'The place of STATE can’t be chosen')
      for (const { path } of report.items('encryption', 'keys'))
        if (report.flag(...path, 'lockToState'))
          report.error(path, 'A key of STATE can’t be locked to STATE')
    } else provisioning(report, false, true)
    encryption(report)
  },
  UserVolumeConfig: (report) => {
    volumeName(report)
    const type = report.text('volumeType') || 'partition'
    if (type === 'directory') {
      for (const field of ['provisioning', 'encryption', 'filesystem', 'mount'])
        if (report.has(field)) report.error([field], `A directory has no ${field}`)
      return
    }
    provisioning(report, true, type === 'partition')
    encryption(report)
    if (
      report.flag('filesystem', 'projectQuotaSupport') &&
      !['', 'xfs'].includes(report.text('filesystem', 'type'))
    )
      report.error(['filesystem'], 'Project quotas are possible with xfs only')
  },
  RawVolumeConfig: (report) => (
    volumeName(report),
    provisioning(report, true, true),
    encryption(report)
  ),
  SwapVolumeConfig: (report) => (
    volumeName(report),
    provisioning(report, true, true),
    encryption(report)
  ),
  ExistingVolumeConfig: (report) => {
    volumeName(report)
    if (!report.has('discovery', 'volumeSelector', 'match'))
      report.error(['discovery'], 'Say which volume: discovery.volumeSelector.match')
    expression(report, ['discovery', 'volumeSelector', 'match'], 'volume')
  },
  ZswapConfig: (report) => {
    if ((report.number('maxPoolPercent') ?? 20) > 100)
      report.error(['maxPoolPercent'], 'maxPoolPercent must be at most 100')
  },
  ExternalVolumeConfig: (report) => {
    volumeName(report)
    if (report.text('filesystemType') !== 'virtiofs')
      report.error(['filesystemType'], 'filesystemType must be virtiofs')
    else if (!report.has('mount', 'virtiofs'))
      report.error(['mount'], 'virtiofs needs mount.virtiofs')
  },
  RegistryMirrorConfig: (report) => {
    for (const { path } of report.items('endpoints'))
      if (!/^https?:\/\/./.test(report.text(...path, 'url')))
        report.error([...path, 'url'], 'A mirror’s URL is of http or https')
  },
  RegistryAuthConfig: (report) => {
    if (['username', 'identityToken', 'auth'].filter((field) => report.has(field)).length > 1)
      report.error([], 'Use one of username with password, identityToken and auth')
  },
  RegistryTLSConfig: (report) => {
    form(report, ['ca'], isPem, 'a certificate in PEM')
    form(report, ['clientIdentity', 'cert'], isPem, 'a certificate in PEM')
    form(
      report,
      ['clientIdentity', 'key'],
      (t) => /-----BEGIN ([A-Z0-9]+ )?PRIVATE KEY-----/.test(t),
      'a private key in PEM',
    )
  },
  TrustedRootsConfig: (report) => (
    required(report, 'certificates'),
    form(report, ['certificates'], isPem, 'a certificate in PEM')
  ),
  ExtensionServiceConfig: (report) => {
    if (!report.has('configFiles') && !report.has('environment'))
      report.error([], 'ExtensionServiceConfig needs configFiles or environment')
    for (const { path } of report.items('configFiles'))
      for (const field of ['content', 'mountPath'])
        if (report.text(...path, field) === '') report.error(path, `${field} is missing`)
  },
  ImageVerificationConfig: (report) => {
    for (const { path } of report.items('rules')) {
      if (report.text(...path, 'image') === '')
        report.error(path, 'A rule needs the pattern of its images')
      if (report.flag(...path, 'skip') || report.flag(...path, 'deny')) continue
      const keyless = report.has(...path, 'keyless')
      if (!keyless && !report.has(...path, 'publicKey'))
        report.error(path, 'A rule needs keyless or publicKey, or skip or deny')
      if (keyless && report.text(...path, 'keyless', 'issuer') === '')
        report.error(path, 'keyless needs its issuer')
      if (
        keyless &&
        !report.has(...path, 'keyless', 'subject') &&
        !report.has(...path, 'keyless', 'subjectRegex')
      )
        report.error(path, 'keyless needs subject or subjectRegex')
      if (
        report.has(...path, 'publicKey') &&
        report.text(...path, 'publicKey', 'certificate') === ''
      )
        report.error(path, 'publicKey needs its certificate')
    }
  },
  WatchdogTimerConfig: (report) => {
    required(report, 'device')
    form(report, ['timeout'], (t) => (durationMs(t) ?? 0) >= 10_000, 'a time span of 10s at least')
  },
  EnvironmentConfig: (report) => {
    for (const { path, key } of report.entries('variables'))
      if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(key))
        report.error(path, `${key} is not a variable’s name`)
  },
  OOMConfig: (report) => {
    expression(report, ['triggerExpression'], 'oom trigger')
    expression(report, ['cgroupRankingExpression'], 'oom ranking')
  },
  EventSinkConfig: (report) => (
    required(report, 'endpoint'),
    form(report, ['endpoint'], isHostPort, 'host:port')
  ),
  KmsgLogConfig: (report) => (
    required(report, 'url'),
    form(
      report,
      ['url'],
      (t) => /^(tcp|udp):\/\/[^/]+:\d{1,5}\/?$/.test(t),
      'a URL such as tcp://host:5000',
    )
  ),
  SideroLinkConfig: (report) => (
    required(report, 'apiUrl'),
    form(
      report,
      ['apiUrl'],
      (t) => /^(https|grpc):\/\/[^/?#]+\/?(\?.*)?$/.test(t),
      'a URL of https or grpc without a path',
    )
  ),
}

function isPercentage(text: string): boolean {
  return /^\d{1,3}(\.\d+)?%$/.test(text) && Number(text.slice(0, -1)) <= 100
}

function isPem(text: string): boolean {
  const [begin, end] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----']
  const at = text.indexOf(begin)
  return at !== -1 && text.includes(end, at + begin.length + 1)
}
