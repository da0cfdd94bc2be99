import { expect, test } from 'vitest'
import { imageFor, pathProblem } from './kubernetes.ts'

const problem = (from: string, to: string, talos: string[] = ['v1.13.9']) =>
  pathProblem({ from, to, talos, apiServers: [] })

test.each([
  ['1.35.4', '1.36.3'],
  ['1.35.4', '1.35.9'],
  ['1.36.3', '1.36.3'],
  ['1.34.9', 'v1.35.4'],
])('Kubernetes %s can be upgraded to %s', (from, to) => {
  expect(problem(from, to)).toBeNull()
})

test.each([
  [
    '1.33.0',
    '1.35.4',
    'Kubernetes is upgraded one minor release at a time: from 1.33.0 to 1.34 first, then on to 1.35.4',
  ],
  [
    '1.36.3',
    '1.35.4',
    "The cluster runs Kubernetes 1.36.3: Kubernetes can't go back to 1.35.4, because its objects may be stored in newer forms",
  ],
  [
    '1.36.3',
    '1.36.1',
    "The cluster runs Kubernetes 1.36.3: Kubernetes can't go back to 1.36.1, because its objects may be stored in newer forms",
  ],
  ['1.36.3', '1.37.0', 'Talos 1.13 runs Kubernetes 1.31 to 1.36, not 1.37.0'],
])('Kubernetes %s can not be upgraded to %s', (from, to, message) => {
  expect(problem(from, to)).toBe(message)
})

test('every server must run a Talos version that supports the Kubernetes version', () => {
  expect(problem('1.35.4', '1.36.3', ['v1.13.9', 'v1.12.11'])).toBe(
    'Talos 1.12 runs Kubernetes 1.30 to 1.35, not 1.36.3',
  )
})

test('API servers that have a newer version after an upgrade that has stopped do not go back', () => {
  const stopped = (to: string) =>
    pathProblem({
      from: '1.34.9',
      to,
      talos: ['v1.13.9'],
      apiServers: [
        { name: 'cp-1', version: '1.35.10' },
        { name: 'cp-2', version: '1.34.9' },
      ],
    })
  for (const to of ['1.34.9', '1.34.12', '1.35.9'])
    expect(stopped(to)).toBe(
      `An upgrade to Kubernetes 1.35.10 has begun and has not ended: cp-1 has its API server, which can't go back to ${to}, because objects may be stored in newer forms. Upgrade to 1.35.10 or a newer patch release first`,
    )
  for (const to of ['1.35.10', '1.35.11']) expect(stopped(to)).toBeNull()
  expect(stopped('1.36.3')).toContain('one minor release at a time')
})

test('an image keeps its registry and its variant', () => {
  expect(imageFor('kubelet', 'ghcr.io/siderolabs/kubelet:v1.35.4-slim', '1.36.3')).toBe(
    'ghcr.io/siderolabs/kubelet:v1.36.3-slim',
  )
  expect(imageFor('apiServer', 'registry.example:5000/k8s/kube-apiserver:v1.35.4', '1.36.3')).toBe(
    'registry.example:5000/k8s/kube-apiserver:v1.36.3',
  )
  expect(imageFor('proxy', undefined, '1.36.3')).toBe('registry.k8s.io/kube-proxy:v1.36.3')
  expect(
    imageFor('scheduler', 'registry.k8s.io/kube-scheduler:v1.35.4@sha256:00', '1.36.3'),
  ).toBeNull()
  expect(imageFor('scheduler', 'registry.k8s.io/kube-scheduler:latest', '1.36.3')).toBeNull()
})
