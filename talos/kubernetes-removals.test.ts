import { expect, test } from 'vitest'
import { gatesIn, removedIn } from './kubernetes-removals.ts'
import { knownIn, lastWith } from './kubernetes/tables.ts'

const config = `version: v1alpha1
machine:
  kubelet:
    extraArgs:
      feature-gates: DevicePluginCDIDevices=true,Other=false
      cloud-config: /etc/cloud
    extraConfig:
      featureGates:
        SizeMemoryBackedVolumes: true
cluster:
  apiServer:
    extraArgs:
      feature-gates:
        - AppArmor=true
---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: a
`

test('flags and feature gates that a minor has removed are named with their program', () => {
  expect(removedIn(config, 33)).toEqual(['kube-apiserver: feature gate AppArmor'])
  expect(removedIn(config, 34)).toEqual([
    'kubelet: flag cloud-config',
    'kubelet: feature gate DevicePluginCDIDevices',
  ])
  expect(removedIn(config, 35)).toEqual(['kubelet: feature gate SizeMemoryBackedVolumes'])
})

test('a feature gate that is locked is named with any other value, also in the kubelet of a document', () => {
  const locked = (value: boolean) =>
    `apiVersion: v1alpha1\nkind: KubeletConfig\nconfig:\n  featureGates:\n    HostnameOverride: ${value}\n`
  expect(removedIn(locked(false), 37)).toEqual([
    'kubelet: feature gate HostnameOverride, which can only be true',
  ])
  expect(removedIn(locked(true), 37)).toEqual([])
  expect(removedIn(locked(false), 36)).toEqual([])
})

test('nothing is found in a configuration without such settings, for an unknown minor and in an unreadable text', () => {
  expect(removedIn(config, 36)).toEqual([])
  expect(removedIn(config, 99)).toEqual([])
  expect(removedIn('a: [', 33)).toEqual([])
})

test('a gate that a table no longer has stops the upgrade to its minor alone', () => {
  const gate =
    'apiVersion: v1alpha1\nkind: KubeletConfig\nconfig:\n  featureGates:\n    UserNamespacesPodSecurityStandards: true\n'
  expect([34, 35, 36].map((minor) => removedIn(gate, minor))).toEqual([
    [],
    ['kubelet: feature gate UserNamespacesPodSecurityStandards'],
    [],
  ])
})

test('a minor before the tables knows the gates of the oldest one and those removed since', () => {
  expect([30, 31, 32].map((minor) => gatesIn(minor)?.has('KMSv2'))).toEqual([true, true, false])
  expect([30, 31].map((minor) => gatesIn(minor)?.has('CSINodeExpandSecret'))).toEqual([true, false])
  expect(gatesIn(99)).toBeNull()
})

test('each minor has what it brought and not what it removed', () => {
  const has = (api: string) => [32, 35, 36, 37].map((minor) => knownIn(minor)?.apis.has(api))
  expect(has('autoscaling/v2beta2')).toEqual([true, true, false, false])
  expect(has('lifecycle.k8s.io/v1alpha1')).toEqual([false, false, false, true])
  expect(knownIn(33)?.gates.get('NodeSwap')).toBeNull()
  expect(knownIn(34)?.gates.get('NodeSwap')).toBe(true)
  expect([lastWith('AppArmor'), lastWith('batch/v1'), lastWith('x')]).toEqual([32, 37, undefined])
})
