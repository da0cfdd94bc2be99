/** The Kubernetes API of a cluster, called with the kubeconfig that Steelyard creates. */
import { request } from 'node:https'
import { parse } from 'yaml'
import { clusterKubeconfig } from '#contract/clusters/clusters.ts'
import type { Caller } from '../../../tools/api-client.ts'

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly 'certificate-authority-data': string }
  }[]
  readonly users: readonly {
    readonly user: {
      readonly 'client-certificate-data': string
      readonly 'client-key-data': string
    }
  }[]
}

export type Body = Readonly<Record<string, unknown>>
export interface UserKubernetes {
  /** undefined: 404. Rejects on other errors. */
  get<T = Body>(path: string): Promise<T | undefined>
  post(path: string, body: Body): Promise<void>
}

/** Calls the control plane at `address` with a new kubeconfig. */
export async function kubernetesAt(
  call: Caller,
  clusterId: string,
  address: string,
): Promise<UserKubernetes> {
  const { clusters, users } = parse(
    await call(clusterKubeconfig, { params: { id: clusterId } }),
  ) as Kubeconfig
  const decoded = (text: string) => Buffer.from(text, 'base64').toString()
  const { user } = users[0]!
  const identity = {
    ca: decoded(clusters[0]!.cluster['certificate-authority-data']),
    cert: decoded(user['client-certificate-data']),
    key: decoded(user['client-key-data']),
  }
  const send = (method: string, path: string, body?: Body) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      const asked = request(
        {
          host: address,
          port: 6443,
          method,
          path,
          headers,
          agent: false,
          timeout: 30_000,
          ...identity,
        },
        (answer) => {
          let text = ''
          answer.setEncoding('utf8').on('data', (part: string) => (text += part))
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
        },
      )
      asked.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
    })
  return {
    async get<T>(path: string) {
      const { status, text } = await send('GET', path)
      if (status === 404) return undefined
      if (status !== 200) throw new Error(`GET ${path}: ${status} ${text}`)
      return JSON.parse(text) as T
    },
    async post(path, body) {
      const { status, text } = await send('POST', path, body)
      if (status !== 201) throw new Error(`POST ${path}: ${status} ${text}`)
    },
  }
}

const namespace = '/api/v1/namespaces/default'
const workload: readonly (readonly [path: string, Body])[] = [
  [
    `${namespace}/configmaps`,
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'ledger', namespace: 'default' },
      data: { entries: '4711' },
    },
  ],
  [
    '/apis/apps/v1/namespaces/default/statefulsets',
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        replicas: 3,
        serviceName: 'web',
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'web', image: 'registry.example/web:1' }] },
        },
      },
    },
  ],
  [
    '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web', namespace: 'default' },
      spec: { minAvailable: 2, selector: { matchLabels: { app: 'web' } } },
    },
  ],
]

/** A workload with data, an identity, and a disruption budget that allows one unavailable pod. */
export async function placeWorkload(kubernetes: UserKubernetes): Promise<void> {
  for (const [path, body] of workload) await kubernetes.post(path, body)
}
export const workloadPath = {
  ledger: `${namespace}/configmaps/ledger`,
  web: '/apis/apps/v1/namespaces/default/statefulsets/web',
} as const
