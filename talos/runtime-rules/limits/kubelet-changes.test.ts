import { expect, it } from 'vitest'
import { mergePatches } from '../../config/merge.ts'
import { kubeletChangeFindings } from './kubelet-changes.ts'

const base = 'version: v1alpha1\nmachine: {type: worker}\n'
const documents = (text: string) =>
  mergePatches(
    base,
    text === '' ? [] : [{ name: 'mine', body: `machine: {kubelet: {extraConfig: {${text}}}}` }],
  ).documents
const found = (before: string, after: string) =>
  kubeletChangeFindings(documents(before), documents(after), 'gull')

const memory = (size: string) =>
  `memoryManagerPolicy: Static, reservedMemory: [{numaNode: 0, limits: {memory: ${size}}}]`
const argument = (text: string) => `maxPods: 100}, extraArgs: {${text}`
const strict = (text: string) =>
  `cpuManagerPolicy: static, cpuManagerPolicyOptions: {strict-cpu-reservation: "true"}, ${text}`

it.each([
  ['memory gets the policy Static', '', memory('612Mi'), /policy Static of memory.* has None.*pod/],
  ['memory loses the policy Static', memory('612Mi'), '', /policy None of memory.* has Static/],
  ['another memory is reserved', memory('612Mi'), memory('1Gi'), /another reservedMemory/],
  [
    'an argument sets the policy of memory',
    '',
    argument('memory-manager-policy: Static'),
    /has None/,
  ],
  [
    'an argument sets the policy of processors',
    '',
    argument('cpu-manager-policy: static'),
    /policy static of processors.* has none.*only if extraConfig.cpuManagerPolicy changes/,
  ],
  [
    'an argument replaces the policy of processors',
    'cpuManagerPolicy: static',
    'cpuManagerPolicy: static}, extraArgs: {cpu-manager-policy: none',
    /policy none of processors.* has static/,
  ],
  [
    'reserved processors become strict',
    'cpuManagerPolicy: static, reservedSystemCPUs: "0"',
    strict('reservedSystemCPUs: "0"'),
    /another strict-cpu-reservation.*cpuManagerPolicy: none.*first/,
  ],
  [
    'strictly reserved processors change',
    strict('reservedSystemCPUs: "0"'),
    strict('reservedSystemCPUs: "0,1"'),
    /does not start with other reserved processors/,
  ],
  [
    'the number of strictly reserved processors changes',
    strict('systemReserved: {cpu: 500m}'),
    strict('systemReserved: {cpu: 1500m}'),
    /does not start with other reserved processors/,
  ],
  [
    'more processors are reserved',
    'cpuManagerPolicy: static, reservedSystemCPUs: "0-1"',
    'cpuManagerPolicy: static, reservedSystemCPUs: "0-2"',
    /If a pod on gull has a newly reserved processor/,
  ],
])('warns if %s', (_, before, after, sentence) => {
  const all = found(before, after)
  expect(all.map(({ level, message }) => ({ level, message }))).toEqual([
    { level: 'warn', message: expect.stringMatching(sentence) },
  ])
  expect(all[0]!.layer).toBe(after === '' ? 'generated' : 'mine')
})

it.each([
  ['nothing changes', memory('612Mi'), memory('612Mi')],
  ['the policy None is written out', '', 'memoryManagerPolicy: None'],
  ['the configuration changes the policy of processors', '', 'cpuManagerPolicy: static'],
  ['the policy of processors is taken away', 'cpuManagerPolicy: static', ''],
  [
    'the policy of processors moves to the argument',
    'cpuManagerPolicy: static',
    argument('cpu-manager-policy: static'),
  ],
  [
    'Talos removes the state at each start, because only the argument has the policy',
    argument('cpu-manager-policy: static, reserved-cpus: "0"'),
    argument('cpu-manager-policy: static, reserved-cpus: "0-3"'),
  ],
  [
    'fewer processors are reserved',
    'cpuManagerPolicy: static, reservedSystemCPUs: "0-2"',
    'cpuManagerPolicy: static, reservedSystemCPUs: "0,2"',
  ],
  [
    'the list of processors is refused by another rule',
    'cpuManagerPolicy: static, reservedSystemCPUs: "0"',
    'cpuManagerPolicy: static, reservedSystemCPUs: "0-99999999999"',
  ],
  [
    'processors are reserved without the policy static',
    'reservedSystemCPUs: "0"',
    'reservedSystemCPUs: "1"',
  ],
])('says nothing if %s', (_, before, after) => {
  expect(found(before, after)).toEqual([])
})
