import { expect, test } from 'vitest'
import { generateConfig } from '#talos/config/generate.ts'
import { mergePatches } from '#talos/config/merge.ts'
import { startBackend } from '../../../testing/backend.ts'
import { otherBundle } from './testing.ts'
import type { SurveyedMachine } from './survey.ts'
import { unusableValues } from './unusable.ts'

const { platform } = await startBackend()
const input = {
  role: 'worker' as const,
  clusterName: 'theirs',
  endpoint: 'https://10.0.0.10:6443',
  talosVersion: 'v1.13.9',
  kubernetesVersion: '1.36.3',
  secrets: await otherBundle(),
  installDisk: '/dev/sda',
  installImage: 'factory.talos.dev/metal-installer/x:v1.13.9',
}
const base = generateConfig(input)
/** A surveyed machine, as far as its configuration is concerned. */
const machine = (name: string, patch: string | null): SurveyedMachine => {
  const stored = patch === null ? base : mergePatches(base, [{ name: 'theirs', body: patch }]).yaml
  const told = { config: { stored }, reading: { status: { version: 'v1.13.9' } } }
  return { name, address: '10.0.0.5', told } as SurveyedMachine
}

test('a takeover tells each value that can’t work once, with the machines that have it', async () => {
  const body = 'machine: {network: {nameservers: [dns.example.org]}}'
  const said = await unusableValues(platform, [
    machine('worker-1', body),
    machine('worker-2', null),
    machine('worker-3', body),
    { ...machine('worker-4', null), told: null },
  ])
  expect(said).toEqual([
    expect.stringMatching(/^worker-1 and worker-3: .*dns\.example\.org/) as string,
  ])
})

test('it also tells what may not work, by the control planes of the cluster', async () => {
  const many = 'machine: {kubelet: {extraConfig: {maxPods: 500}}}'
  const controlPlane = machine('cp-1', null)
  const [other] = [generateConfig({ ...input, role: 'control_plane' })]
  const told = { ...controlPlane.told!, role: 'control_plane', config: { stored: other } }
  const said = await unusableValues(platform, [
    { ...controlPlane, told } as SurveyedMachine,
    machine('worker-1', many),
  ])
  expect(said).toEqual([expect.stringMatching(/^worker-1: .*253 pods, not for 500/) as string])
})
