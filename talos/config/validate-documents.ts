/**
 * Rules for all documents except the main one (Talos `pkg/machinery/config/types/*`, each
 * document's `Validate`), and addresses that Talos refuses already when it loads a document.
 */
import { type ConfigDocument, problemAt } from './decode.ts'
import { has } from '../versions.ts'
import {
  durationMs,
  isAddress,
  isAddressPort,
  isCidr,
  isCidrOrAddress,
  isHostPort,
  isRoutingTable,
} from './formats.ts'
import { documentFieldOf } from './moved-fields.ts'
import { Report } from './report.ts'
import type { MapNode } from './tree.ts'
import {
  address,
  addressName,
  type Check,
  encryption,
  expression,
  form,
  isPem,
  link,
  network,
  notNegative,
  provisioning,
  required,
  routingTable,
  upkeep,
  volumeName,
  xfs,
} from './validate/forms.ts'
import { kubernetesChecks } from './validate/kubernetes.ts'
import { placesInMain } from './validate/places-in-main.ts'
import { systemChecks } from './validate/system.ts'
import { isWireguardKey } from './validate-devices.ts'

export function validateDocument(document: ConfigDocument, talosVersion: string): Report {
  const report = new Report(document.root)
  if (document.shape.named && document.name === '')
    report.error([], `${document.shape.kind} needs a name`)
  checks[document.shape.kind]?.(report, talosVersion)
  return report
}

/** Most fields of a section that a sentence names. */
const mostNamed = 2

/** Where documents have what a section of the main document says, as a part of a sentence. */
function sameAs(main: Report, path: readonly string[]): string {
  const said = [{ path }, ...main.entries(...path)].flatMap((entry) => {
    const field = documentFieldOf(entry.path.join('.'))
    return field ?? []
  })
  return said.length === 0 || said.length > mostNamed
    ? ''
    : `; in documents it is ${said.join(', ')}`
}

/**
 * Reports settings that a document and the main document both contain although only one of them
 * may, each with its path in the main document and the place of the document.
 */
export function validateAgainstMain(document: ConfigDocument, main: MapNode, report: Report): void {
  const inMain = new Report(main)
  const taken = (path: string[]) => {
    if (!inMain.has(...path)) return
    const said = `${document.shape.kind}: ${path.join('.')} says it already`
    report.errors.push(problemAt(document.root, `${said}${sameAs(inMain, path)}`, path.join('.')))
  }
  for (const path of placesInMain(document, inMain)) taken(path)
}

/** Volumes that lie in EPHEMERAL unless they are given a partition (`PromotableSystemVolumeNames`). */
const ownPartition = ['ETCD', 'CRI', 'KUBELET', 'LOG']

/** What a volume of Talos can't have (`validateVolumeConstraints`). */
function systemVolume(report: Report, name: string): void {
  const isMounted = report.entries('mount').length > 0
  if (isMounted && (name === 'STATE' || name === 'IMAGECACHE'))
    report.error(['mount'], `The mount of ${name} can’t be set`)
  if (name === 'IMAGECACHE' && report.has('filesystem', 'xfs'))
    report.error(['filesystem'], 'The file system of IMAGECACHE can’t be set')
  if (isMounted && ownPartition.includes(name) && report.entries('provisioning').length === 0)
    report.error(['mount'], `The mount of ${name} can be set only if it has provisioning`)
}

const dhcp: Check = (report) => {
  form(
    report,
    ['duidRaw'],
    (t) => /^([0-9a-f]{2})*$/i.test(t.replaceAll(':', '')),
    'hexadecimal bytes, such as 00:01:1a',
  )
  const duid = report.text('clientIdentifier') === 'duid'
  if (report.has('duidRaw') && !duid)
    report.error(['duidRaw'], 'duidRaw goes with clientIdentifier: duid')
  if (duid && !report.has('duidRaw'))
    report.error(['clientIdentifier'], 'clientIdentifier: duid needs duidRaw')
}

const checks: Record<string, Check> = {
  ...systemChecks,
  ...kubernetesChecks,
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
  LinkConfig: (report) => link(report),
  DummyLinkConfig: (report) => link(report),
  BridgeConfig: (report) => link(report),
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
  LinkAliasConfig: (report, talosVersion) => {
    if (!report.has('selector', 'match'))
      report.error(['selector'], 'LinkAliasConfig needs selector.match')
    expression(report, ['selector', 'match'], 'link', talosVersion)
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
      const isEncrypted = ['DoT', 'DoH'].includes(report.text(...path, 'protocol'))
      if (isEncrypted !== report.has(...path, 'tlsServerName'))
        report.error(
          path,
          isEncrypted
            ? 'DoT and DoH need tlsServerName'
            : 'tlsServerName needs the protocol DoT or DoH',
        )
    }
    for (const field of ['forwardKubeDNSToHost', 'resolveMemberNames'])
      if (report.flag('hostDNS', field) && !report.flag('hostDNS', 'enabled'))
        report.error(['hostDNS', field], `${field} needs hostDNS.enabled`)
  },
  StaticHostConfig: (report) => (addressName(report), required(report, 'hostnames')),
  TimeSyncConfig: (report) => {
    if ((durationMs(report.text('bootTimeout')) ?? 0) < 0)
      report.error(['bootTimeout'], 'bootTimeout can’t be negative')
    if (report.has('ntp') && report.has('ptp')) report.error(['ptp'], 'Use either ntp or ptp')
    for (const { path, text } of report.flag('ntp', 'useNTS') ? report.texts('ntp', 'servers') : [])
      if (isAddress(text)) report.error(path, 'A server of NTS is a name, not an address')
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
    for (const field of ['interval', 'timeout']) notNegative(report, field)
  },
  VolumeConfig: (report, talosVersion) => {
    const name = report.text('name')
    const names = has(talosVersion, 'moreSystemVolumes')
      ? ['STATE', 'EPHEMERAL', 'IMAGECACHE', ...ownPartition]
      : ['STATE', 'EPHEMERAL', 'IMAGECACHE']
    if (!names.includes(name))
      return report.error(
        ['name'],
        `VolumeConfig is for ${names.slice(0, -1).join(', ')} and ${names.at(-1)}; for others use UserVolumeConfig`,
      )
    if (name === 'STATE') {
      if (report.has('provisioning'))
        report.error(['provisioning'], 'The place of STATE can’t be chosen')
      for (const { path } of report.items('encryption', 'keys'))
        if (report.flag(...path, 'lockToState'))
          report.error(path, 'A key of STATE can’t be locked to STATE')
    } else provisioning(report, talosVersion, { required: false, sized: true })
    if (has(talosVersion, 'moreSystemVolumes')) systemVolume(report, name)
    encryption(report)
    xfs(report)
    upkeep(report)
  },
  UserVolumeConfig: (report, talosVersion) => {
    volumeName(report)
    const type = report.text('volumeType') || 'partition'
    if (type === 'directory') {
      const mount = has(talosVersion, 'secureDirectories')
        ? (['mount', 'disableAccessTime'] as const)
        : (['mount'] as const)
      for (const path of [['provisioning'], ['encryption'], ['filesystem'], [...mount]])
        if (report.has(...path)) report.error(path, `A directory has no ${path.join('.')}`)
      upkeep(report)
      return
    }
    provisioning(report, talosVersion, { required: true, sized: type === 'partition' })
    encryption(report)
    if (
      report.flag('filesystem', 'projectQuotaSupport') &&
      !['', 'xfs'].includes(report.text('filesystem', 'type'))
    )
      report.error(['filesystem'], 'Project quotas are possible with xfs only')
    if (report.has('filesystem', 'xfs') && !['', 'xfs'].includes(report.text('filesystem', 'type')))
      report.error(['filesystem', 'xfs'], 'These options are possible with xfs only')
    xfs(report)
    upkeep(report)
  },
  RawVolumeConfig: (report, talosVersion) => (
    volumeName(report),
    provisioning(report, talosVersion, { required: true, sized: true }),
    encryption(report)
  ),
  SwapVolumeConfig: (report, talosVersion) => (
    volumeName(report),
    provisioning(report, talosVersion, { required: true, sized: true }),
    encryption(report)
  ),
  ExistingVolumeConfig: (report, talosVersion) => {
    volumeName(report)
    if (!report.has('discovery', 'volumeSelector', 'match'))
      report.error(['discovery'], 'Say which volume: discovery.volumeSelector.match')
    expression(report, ['discovery', 'volumeSelector', 'match'], 'volume', talosVersion)
    upkeep(report)
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
      const [skips, denies] = ['skip', 'deny'].map((key) => report.flag(...path, key))
      const [keyless, publicKey] = ['keyless', 'publicKey'].map((key) => report.has(...path, key))
      if (skips && denies) report.error(path, 'A rule can’t have both skip and deny')
      if ((skips || denies) && (keyless || publicKey))
        report.error(path, 'A rule with skip or deny can’t have keyless or publicKey')
      if (keyless && publicKey) report.error(path, 'A rule can’t have both keyless and publicKey')
      if (skips || denies) continue
      if (!keyless && !publicKey)
        report.error(path, 'A rule needs keyless or publicKey, or skip or deny')
      if (keyless && report.text(...path, 'keyless', 'issuer') === '')
        report.error(path, 'keyless needs its issuer')
      if (
        keyless &&
        !report.has(...path, 'keyless', 'subject') &&
        !report.has(...path, 'keyless', 'subjectRegex')
      )
        report.error(path, 'keyless needs subject or subjectRegex')
      if (publicKey && report.text(...path, 'publicKey', 'certificate') === '')
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
  OOMConfig: (report, talosVersion) => {
    expression(report, ['triggerExpression'], 'oom trigger', talosVersion)
    expression(report, ['cgroupRankingExpression'], 'oom ranking', talosVersion)
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
