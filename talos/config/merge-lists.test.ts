import { describe, expect, test } from 'vitest'
import { machineOf, main, merged } from '../testing/merged.ts'

describe('lists', () => {
  test('lists are appended, with duplicates', () => {
    expect(machineOf(main('{certSANs: [a, b]}'), 'machine: {certSANs: [b, c]}')).toEqual({
      certSANs: ['a', 'b', 'b', 'c'],
    })
    expect(merged(main('{}', '{extraManifests: [x]}'), 'cluster: {extraManifests: [y]}')).toEqual([
      { version: 'v1alpha1', cluster: { extraManifests: ['x', 'y'] } },
    ])
  })

  test('an empty list in a patch changes nothing', () => {
    expect(machineOf(main('{certSANs: [a]}'), 'machine: {certSANs: []}')).toEqual({
      certSANs: ['a'],
    })
  })

  test('subnets of pods and services are replaced', () => {
    const base = main(
      '{}',
      '{network: {podSubnets: [10.244.0.0/16], serviceSubnets: [10.96.0.0/12], cni: {urls: [a]}}}',
    )
    expect(
      merged(
        base,
        'cluster: {network: {podSubnets: [10.0.0.0/16], serviceSubnets: [10.1.0.0/16], cni: {urls: [b]}}}',
      )[0],
    ).toMatchObject({
      cluster: {
        network: {
          podSubnets: ['10.0.0.0/16'],
          serviceSubnets: ['10.1.0.0/16'],
          cni: { urls: ['a', 'b'] },
        },
      },
    })
  })

  test('ports and sources of a network rule are replaced', () => {
    const rule = (ports: string, subnet: string) =>
      `apiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: r\nportSelector: {ports: [${ports}], protocol: tcp}\ningress: [{subnet: ${subnet}}]\n`
    expect(
      merged(
        `${main('{}')}---\n${rule('50000', '10.0.0.0/8')}`,
        rule('6443, "100-200"', '192.168.0.0/16'),
      )[1],
    ).toMatchObject({
      portSelector: { ports: [6443, '100-200'] },
      ingress: [{ subnet: '192.168.0.0/16' }],
    })
  })

  test('interfaces merge by name, otherwise by selector; any other interface is appended', () => {
    const base = main(
      '{network: {interfaces: [{interface: eth0, mtu: 1500}, {deviceSelector: {driver: ice}, dhcp: true}, {interface: eth1}]}}',
    )
    const patch = `machine: {network: {interfaces: [
      {interface: eth0, addresses: [10.0.0.1/24]}, {deviceSelector: {driver: ice}, mtu: 9000}, {deviceSelector: {driver: mlx5_core}}, {interface: eth2}]}}`
    expect(machineOf(base, patch)).toEqual({
      network: {
        interfaces: [
          { interface: 'eth0', addresses: ['10.0.0.1/24'], mtu: 1500 },
          { deviceSelector: { driver: 'ice' }, mtu: 9000, dhcp: true },
          { interface: 'eth1' },
          { deviceSelector: { driver: 'mlx5_core' } },
          { interface: 'eth2' },
        ],
      },
    })
  })

  test('VLANs of an interface merge by their id', () => {
    const base = main(
      '{network: {interfaces: [{interface: e, vlans: [{vlanId: 10, addresses: [a]}]}]}}',
    )
    expect(
      machineOf(
        base,
        'machine: {network: {interfaces: [{interface: e, vlans: [{vlanId: 10, addresses: [b]}, {vlanId: 20, dhcp: true}]}]}}',
      ),
    ).toEqual({
      network: {
        interfaces: [
          {
            interface: 'e',
            vlans: [
              { vlanId: 10, addresses: ['a', 'b'] },
              { vlanId: 20, dhcp: true },
            ],
          },
        ],
      },
    })
  })

  test('admission plugins merge by name, and their settings merge as untyped values', () => {
    const base = main(
      '{}',
      '{apiServer: {admissionControl: [{name: PodSecurity, configuration: {defaults: {enforce: baseline}, exemptions: {namespaces: [kube-system]}}}]}}',
    )
    const patch =
      'cluster: {apiServer: {admissionControl: [{name: PodSecurity, configuration: {defaults: {enforce: privileged}, exemptions: {namespaces: [x]}}}, {name: Other, configuration: {a: 1}}]}}'
    expect(merged(base, patch)[0]).toMatchObject({
      cluster: {
        apiServer: {
          admissionControl: [
            {
              name: 'PodSecurity',
              configuration: {
                defaults: { enforce: 'privileged' },
                exemptions: { namespaces: ['kube-system', 'x'] },
              },
            },
            { name: 'Other', configuration: { a: 1 } },
          ],
        },
      },
    })
  })

  test('files of an extension’s service merge by their path', () => {
    const service = (files: string) =>
      `apiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: s\nconfigFiles: [${files}]\n`
    expect(
      merged(
        `${main('{}')}---\n${service('{content: a, mountPath: /a}')}`,
        service('{content: b, mountPath: /a}, {content: c, mountPath: /c}'),
      )[1],
    ).toMatchObject({
      configFiles: [
        { content: 'b', mountPath: '/a' },
        { content: 'c', mountPath: '/c' },
      ],
    })
  })

  test('an image verification rule replaces the one with the same pattern', () => {
    const rules = (list: string) =>
      `apiVersion: v1alpha1\nkind: ImageVerificationConfig\nrules: [${list}]\n`
    expect(
      merged(
        `${main('{}')}---\n${rules('{image: a, skip: true}')}`,
        rules('{image: a, deny: true}, {image: b, skip: true}'),
      )[1],
    ).toMatchObject({
      rules: [
        { image: 'a', deny: true },
        { image: 'b', skip: true },
      ],
    })
    expect(
      JSON.stringify(
        merged(
          `${main('{}')}---\n${rules('{image: a, skip: true}')}`,
          rules('{image: a, deny: true}'),
        )[1],
      ),
    ).not.toContain('skip')
  })
})
