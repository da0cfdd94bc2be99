import { expect, it } from 'vitest'
import { mergePatches } from '../../config/merge.ts'
import { config } from '../../testing/generated.ts'
import { clusterChangeFindings } from './cluster-changes.ts'

const old = config()
const fresh = config({
  talosVersion: '1.14',
  kubernetesVersion: '1.37.0',
  installImage: 'factory.talos.dev/metal-installer/a:v1.14.1',
})
const found = (before: string, after: string, base = old) => {
  const documents = (body: string) =>
    mergePatches(base, body === '' ? [] : [{ name: 'mine', body }]).documents
  return clusterChangeFindings(documents(before), documents(after), 'gull').map((one) => ({
    rule: one.rule,
    level: one.level,
    message: one.message,
  }))
}
const messages = (...given: Parameters<typeof found>) => found(...given).map((one) => one.message)

const endpoint = /endpoint: (\S+)/.exec(old)![1]!
const domain = (name: string) => `cluster: {network: {dnsDomain: ${name}}}`
const args = (text: string) => `cluster: {apiServer: {extraArgs: {${text}}}}`
const issuers = (...urls: readonly string[]) =>
  args(`service-account-issuer: ["${urls.join('", "')}"]`)
const ours = 'https://oidc.example.org'

it.each([
  ['in the old form', domain('corp.internal'), old],
  [
    'in documents',
    'apiVersion: v1alpha1\nkind: KubeNetworkConfig\ndnsDomain: corp.internal\n',
    fresh,
  ],
])('warns if the domain of a member’s cluster changes %s', (_, body, base) => {
  expect(found('', body, base)).toEqual([
    {
      rule: 'cluster-domain-change',
      level: 'warn',
      message: expect.stringMatching(
        /^New pods of gull look for names in corp.internal, and CoreDNS goes on answering for cluster.local/,
      ) as string,
    },
  ])
})

it('warns if another issuer replaces the one of the tokens that pods have', () => {
  const said = `The API server of gull refuses all tokens that ${endpoint} has issued, so pods lose the Kubernetes API until they get new ones: write a list (since Talos 1.13) with the new value first and ${endpoint} behind it`
  expect(messages('', args(`service-account-issuer: ${ours}`))).toEqual([said])
  expect(messages('', args(`service-account-issuer: "${ours},${endpoint}"`))).toEqual([said])
  expect(messages(issuers(ours, endpoint), issuers(ours))).toEqual([said])
  expect(messages(issuers(ours, endpoint), '')).toEqual([
    expect.stringMatching(`tokens that ${ours} has issued`),
  ])
})

it('warns if other audiences replace those of the tokens that pods have', () => {
  expect(messages('', args('api-audiences: sts.example.org'))).toEqual([
    expect.stringMatching(`refuses all tokens for ${endpoint}`),
  ])
})

it('names the field of the document in which further issuers are accepted', () => {
  const body =
    'apiVersion: v1alpha1\nkind: KubeAPIServerConfig\nextraArgs: {service-account-issuer: "https://oidc.example.org"}\n'
  expect(messages('', body, fresh)).toEqual([
    expect.stringMatching(
      'leave service-account-issuer out and write accepted.issuers in KubeServiceAccountConfig',
    ),
  ])
})

it.each([
  ['nothing changes', domain('a.example.org'), domain('a.example.org')],
  ['the domain is named', '', domain('cluster.local')],
  ['the former issuer stays accepted', '', issuers(ours, endpoint)],
  ['an issuer is added', issuers(ours, endpoint), issuers('https://b.example.org', ours, endpoint)],
  ['the former audience stays', '', args(`api-audiences: "sts.example.org,${endpoint}"`)],
  ['another argument changes', '', args('v: "2"')],
])('says nothing if %s', (_, before, after) => {
  expect(found(before, after)).toEqual([])
})

it('leaves another endpoint to the change of the endpoint', () => {
  const before = mergePatches(old, []).documents
  const after = mergePatches(old.replaceAll(endpoint, 'https://10.9.9.9:6443'), []).documents
  expect(clusterChangeFindings(before, after, 'gull')).toEqual([])
})
