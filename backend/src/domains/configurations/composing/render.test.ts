import { expect, test } from 'vitest'
import { config } from '#talos/testing/generated.ts'
import { compose } from './render.ts'

const mine = (body: string) => [{ id: 'id', name: 'mine', weight: 500, body }]
const errorsOf = (base: string, body: string) =>
  compose(base, mine(body), { talosVersion: 'v1.14.1' }).errors

test('an old path typed for a server with documents has its line, and the field that it is', () => {
  const base = config({
    talosVersion: '1.14',
    kubernetesVersion: '1.37.0',
    installImage: 'factory.talos.dev/metal-installer/a:v1.14.1',
  })
  const body = 'machine:\n  certSANs: [a]\n  kubelet:\n    extraArgs: {v: "2"}\n'
  expect(errorsOf(base, body)).toEqual([
    {
      message:
        'KubeletConfig: machine.kubelet says it already; in documents it is KubeletConfig.extraArgs',
      path: 'machine.kubelet',
      layer: 'mine',
      line: 3,
      column: 3,
    },
  ])
})

test('a document typed for a server without documents has its line', () => {
  const body =
    'machine: {certSANs: [a]}\n---\napiVersion: v1alpha1\nkind: KubeProxyConfig\nimage: registry.k8s.io/kube-proxy:v1.36.3\n'
  expect(errorsOf(config(), body)).toMatchObject([
    { path: 'cluster.proxy', layer: 'mine', line: 3 },
  ])
})
