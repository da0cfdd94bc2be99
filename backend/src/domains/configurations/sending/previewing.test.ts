import { expect, test } from 'vitest'
import { objectSentences } from './previewing.ts'

const none = { atKubernetesUpgrade: [], left: [], unread: [] }

test('a preview says what a change does not do to objects in Kubernetes, and on a worker', () => {
  expect(objectSentences(none)).toEqual([])
  expect(
    objectSentences({
      atKubernetesUpgrade: ['kube-proxy', 'CoreDNS'],
      left: ['Flannel'],
      unread: ['cluster.apiServer', 'cluster.etcd'],
    }),
  ).toEqual([
    'Talos creates objects that are missing and changes none that exists in Kubernetes: those of kube-proxy, CoreDNS change with the next Kubernetes upgrade',
    'The objects of Flannel stay in Kubernetes, because neither Talos nor a Kubernetes upgrade deletes any: delete them with kubectl',
    'cluster.apiServer, cluster.etcd have no effect on a worker: only control planes read them',
  ])
})
