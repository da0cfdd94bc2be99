import { expect, test } from 'vitest'
import { pullIn } from './pulls.ts'

// Lines as a machine with Talos 1.13 wrote them
// (`internal/pkg/containers/image/console/progress.go`).
const at = 'user: warning: [2026-11-26T10:02:41.573137Z]: [talos] '
const etcd = 'registry.k8s.io/etcd:v3.6.12'
const log = (...lines: string[]) => lines.map((line) => `${at}${line}\n`).join('')
const downloading = (image: string) =>
  `pulling image ${image}: downloading 4 layers (29 MiB/50 MiB) (58.00%)...`

test('the newest line about an image tells how far its pull is', () => {
  expect(pullIn(log(`pulling image ${etcd}: starting...`), etcd)).toEqual({
    image: etcd,
    progress: null,
  })
  expect(
    pullIn(
      log(
        `pulling image ${etcd}: starting...`,
        downloading(etcd),
        'service[kubelet](Preparing): Running pre state',
      ),
      etcd,
    ),
  ).toEqual({
    image: etcd,
    progress: '29 MiB of 50 MiB',
  })
  expect(pullIn(log(downloading(etcd), `pulling image ${etcd}: extracting...`), etcd)).toEqual({
    image: etcd,
    progress: 'unpacking',
  })
  // The log has the whole reference of a short name.
  expect(pullIn(log(downloading('docker.io/library/etcd:latest')), 'etcd')).toEqual({
    image: 'etcd',
    progress: '29 MiB of 50 MiB',
  })
})

test('a log that is about other images, or in which etcd waits for a cluster to join, shows no pull', () => {
  expect(pullIn('', etcd)).toBeNull()
  expect(pullIn(log(downloading('ghcr.io/siderolabs/kubelet:v1.36.3')), etcd)).toBeNull()
  expect(
    pullIn(
      log(
        downloading(etcd),
        'etcd is waiting to join the cluster, if this node is the first node in the cluster, please run …',
      ),
      etcd,
    ),
  ).toBeNull()
  // A bootstrap begins the pull again.
  expect(
    pullIn(
      log('etcd is waiting to join the cluster, …', `pulling image ${etcd}: starting...`),
      etcd,
    ),
  ).toEqual({ image: etcd, progress: null })
})

test('control characters of a machine are not shown', () => {
  expect(
    pullIn(
      log(`pulling image ${etcd}: downloading 1 layers (29\u{1b}[31m MiB/50 MiB) (58.00%)...`),
      etcd,
    )!.progress,
  ).toBe('29\u{fffd}[31m MiB of 50 MiB')
})
