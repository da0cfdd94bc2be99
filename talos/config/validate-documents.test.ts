import { describe, expect, test } from 'vitest'
import { config, messages } from '../testing/generated.ts'
import { validateConfig } from './validate.ts'

describe('other documents', () => {
  const key = Buffer.alloc(32, 7).toString('base64')

  test.each([
    [
      'LinkConfig',
      'name: eno1\naddresses: [{address: 10.0.0.7/24}]\nroutes: [{gateway: 10.0.0.1}]',
    ],
    ['VLANConfig', 'name: eno1.20\nvlanID: 20\nparent: eno1\nvlanMode: 802.1q'],
    ['BondConfig', 'name: bond0\nlinks: [a, b]\nbondMode: 802.3ad\nlacpRate: fast'],
    ['DHCPv4Config', 'name: eno1\nclientIdentifier: mac'],
    ['Layer2VIPConfig', 'name: 10.0.0.9\nlink: eno1'],
    ['ResolverConfig', 'nameservers: [{address: 1.1.1.1}, {address: "2606:4700::1111"}]'],
    ['TimeSyncConfig', 'ntp: {servers: [pool.ntp.org]}\nbootTimeout: 1m30s'],
    [
      'NetworkRuleConfig',
      'name: r\nportSelector: {ports: [50000, 30000-32767], protocol: tcp}\ningress: [{subnet: 10.0.0.0/8, except: 10.1.0.0/16}]',
    ],
    [
      'VolumeConfig',
      'name: EPHEMERAL\nprovisioning: {diskSelector: {match: system_disk}, maxSize: 100GiB}\nencryption: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}',
    ],
    [
      'UserVolumeConfig',
      'name: data\nprovisioning: {diskSelector: {match: disk.transport == "nvme"}, minSize: 10GiB, maxSize: 50%}\nfilesystem: {type: ext4}',
    ],
    ['RegistryMirrorConfig', 'name: ghcr.io\nendpoints: [{url: "https://mirror.example.com"}]'],
    [
      'WireguardConfig',
      `name: wg0\nprivateKey: ${key}\npeers: [{publicKey: ${key}, endpoint: "10.0.0.1:51820", allowedIPs: [10.9.0.0/24]}]`,
    ],
    ['KmsgLogConfig', 'name: k\nurl: tcp://10.0.0.1:5000/'],
    ['WatchdogTimerConfig', 'device: /dev/watchdog0\ntimeout: 2m0s'],
    ['TCPProbeConfig', 'name: p\nendpoint: example.com:443\ninterval: 10s'],
  ])('a valid %s is accepted', (kind, fields) => {
    expect(messages(`apiVersion: v1alpha1\nkind: ${kind}\n${fields}\n`)).toEqual([])
  })

  test.each([
    ['LinkConfig', 'mtu: 9000', 'LinkConfig needs a name'],
    [
      'LinkConfig',
      'name: a\naddresses: [{address: 10.0.0.7}]',
      '10.0.0.7 is not an address with prefix length, such as 10.0.0.7/24',
    ],
    [
      'LinkConfig',
      'name: a\nroutes: [{destination: 0.0.0.0/0, gateway: 10.0.0.1}]',
      '0.0.0.0/0 is not a network in CIDR notation; leave it out for the default route',
    ],
    ['VLANConfig', 'name: a\nvlanID: 0\nparent: b', 'The VLAN ID must be from 1 to 4094'],
    ['VLANConfig', 'name: a\nvlanID: 5', 'parent is missing'],
    ['BondConfig', 'name: a', 'A bond needs links'],
    ['DHCPv4Config', 'name: a\nclientIdentifier: duid', 'clientIdentifier: duid needs duidRaw'],
    ['DHCPv6Config', 'name: a\nduidRaw: "00:01"', 'duidRaw goes with clientIdentifier: duid'],
    ['Layer2VIPConfig', 'name: eno1\nlink: a', 'eno1 is not an address, which the name must be'],
    [
      'ResolverConfig',
      'nameservers: [{address: dns.example.com}]',
      'dns.example.com is not an address',
    ],
    ['StaticHostConfig', 'name: 10.0.0.1', 'hostnames is missing'],
    ['TimeSyncConfig', 'ntp: {servers: [a]}\nptp: {devices: [a]}', 'Use either ntp or ptp'],
    ['NetworkRuleConfig', 'name: r\nportSelector: {protocol: tcp}', 'A rule needs ports'],
    [
      'NetworkRuleConfig',
      'name: r\nportSelector: {ports: [100-200, 150], protocol: tcp}',
      'Ports of a rule must not overlap',
    ],
    [
      'VolumeConfig',
      'name: DATA',
      'VolumeConfig is for STATE, EPHEMERAL and IMAGECACHE; for others use UserVolumeConfig',
    ],
    [
      'VolumeConfig',
      'name: STATE\nprovisioning: {maxSize: 1GiB}',
      'The place of STATE can’t be chosen',
    ],
    [
      'VolumeConfig',
      'name: EPHEMERAL\nencryption: {provider: luks2, keys: []}',
      'Encryption needs keys',
    ],
    [
      'UserVolumeConfig',
      'name: "data!"\nprovisioning: {diskSelector: {match: a}, minSize: 1GiB}',
      'The name can only have letters, digits and hyphens',
    ],
    [
      'UserVolumeConfig',
      'name: data\nprovisioning: {minSize: 1GiB}',
      'Say which disk: provisioning.diskSelector.match',
    ],
    [
      'UserVolumeConfig',
      'name: data\nprovisioning: {diskSelector: {match: a}, minSize: 2GiB, maxSize: 1GiB}',
      'minSize is more than maxSize',
    ],
    [
      'UserVolumeConfig',
      'name: data\nvolumeType: directory\nfilesystem: {type: xfs}',
      'A directory has no filesystem',
    ],
    [
      'RegistryMirrorConfig',
      'name: a\nendpoints: [{url: "ftp://a"}]',
      'A mirror’s URL is of http or https',
    ],
    [
      'RegistryAuthConfig',
      'name: a\nusername: b\nauth: c',
      'Use one of username with password, identityToken and auth',
    ],
    ['TrustedRootsConfig', 'name: a\ncertificates: nope', 'nope is not a certificate in PEM'],
    [
      'ExtensionServiceConfig',
      'name: a',
      'ExtensionServiceConfig needs configFiles or environment',
    ],
    [
      'ImageVerificationConfig',
      'rules: [{image: "a/*", skip: true, deny: true}]',
      'A rule can’t have both skip and deny',
    ],
    [
      'ImageVerificationConfig',
      'rules: [{image: "a/*", deny: true, publicKey: {certificate: b}}]',
      'A rule with skip or deny can’t have keyless or publicKey',
    ],
    [
      'ImageVerificationConfig',
      'rules: [{image: "a/*", keyless: {issuer: "https://a", subject: b}, publicKey: {certificate: c}}]',
      'A rule can’t have both keyless and publicKey',
    ],
    ['WireguardConfig', 'name: a\nprivateKey: b', 'The private key is not 32 bytes in base64'],
    ['KmsgLogConfig', 'name: k\nurl: http://a', 'http://a is not a URL such as tcp://host:5000'],
    ['WatchdogTimerConfig', 'device: a\ntimeout: 1s', '1s is not a time span of 10s at least'],
    ['EnvironmentConfig', 'variables: {A-B: c}', 'A-B is not a variable’s name'],
    [
      'SideroLinkConfig',
      'apiUrl: http://a',
      'http://a is not a URL of https or grpc without a path',
    ],
  ])('an invalid %s is refused: %s', (kind, fields, message) => {
    const found = messages(`apiVersion: v1alpha1\nkind: ${kind}\n${fields}\n`)
    expect(found).toContain(message)
  })

  test('HostnameConfig accepts either a host name or auto', () => {
    const host = (fields: string) =>
      messages(`apiVersion: v1alpha1\nkind: HostnameConfig\n${fields}\n`)
    expect(host('hostname: node-1')).toEqual(['A host name of your own needs auto: off'])
    expect(host('auto: off\nhostname: node-1')).toEqual([])
    expect(host(`auto: off\nhostname: ${'a'.repeat(64)}`)).toEqual([
      'The host name can have 63 characters, with its domain 253',
    ])
  })

  test('a document can’t repeat a field of the main document', () => {
    expect(messages('machine: {network: {hostname: a}}')).toEqual([
      'HostnameConfig: machine.network.hostname says it already',
    ])
    expect(
      messages(
        'machine: {network: {nameservers: [1.1.1.1]}}\n---\napiVersion: v1alpha1\nkind: ResolverConfig\nnameservers: [{address: 1.1.1.1}]\n',
      ),
    ).toEqual(['ResolverConfig: machine.network.nameservers says it already'])
    expect(
      messages(
        'machine: {time: {servers: [a]}}\n---\napiVersion: v1alpha1\nkind: TimeSyncConfig\nntp: {servers: [a]}\n',
      ),
    ).toEqual(['TimeSyncConfig: machine.time.servers says it already'])
  })

  test('documents of 1.13 are refused for 1.12', () => {
    const yaml = `${config({ talosVersion: '1.12', kubernetesVersion: '1.35.4' })}---\napiVersion: v1alpha1\nkind: KubeSpanConfig\nenabled: true\n`
    expect(validateConfig(yaml, { talosVersion: '1.12' }).errors).toMatchObject([
      { message: 'KubeSpanConfig exists only since Talos 1.13' },
    ])
  })
})
