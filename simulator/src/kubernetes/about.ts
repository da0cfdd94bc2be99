import type { EtcdCluster } from '../cluster/etcd.ts'
import type { Machine } from '../machine/machine.ts'
import { discover, groupVersions } from './discovery.ts'
import type { Objects } from './objects.ts'
import { openApi } from './openapi.ts'
import { Refusal } from './refusal.ts'

/** Answers calls about the API server: version, health and kinds. Null for paths of objects. */
export const about = (machine: Machine, cluster: EtcdCluster, objects: Objects, path: string): { json: object } | { plain: string } | null => {
  if (path === '/version') return { json: versionOf(machine) }
  if (path === '/livez') return { plain: 'ok' }
  if (path === '/readyz' || path === '/healthz') {
    if (!cluster.hasQuorum) throw new Refusal(500, 'InternalError', '[-]etcd failed: reason withheld')
    return { plain: 'ok' }
  }
  if (path === '/') return { json: { paths: pathsOf(objects) } }
  const found = openApi(objects, path) ?? discover(objects.kinds, path)
  return found && { json: found }
}

const pathsOf = (objects: Objects): string[] => [
  '/api',
  '/apis',
  ...groupVersions(objects.kinds).map((version) => (version.includes('/') ? `/apis/${version}` : `/api/${version}`)),
  '/healthz',
  '/livez',
  '/openapi/v3',
  '/readyz',
  '/version',
]

const versionOf = (machine: Machine): object => {
  const version = machine.config?.node?.cluster.apiServerVersion ?? ''
  const [, major = '1', minor = ''] = /^v(\d+)\.(\d+)/.exec(version) ?? []
  return {
    major,
    minor,
    gitVersion: version,
    gitCommit: 'simulated',
    gitTreeState: 'clean',
    buildDate: '',
    goVersion: 'go1.26.0',
    compiler: 'gc',
    platform: 'linux/amd64',
  }
}
