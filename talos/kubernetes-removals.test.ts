import { expect, test } from 'vitest'
import { removedIn } from './kubernetes-removals.ts'

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
