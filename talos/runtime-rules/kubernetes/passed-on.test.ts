/** Every place where Talos takes any mapping for another program has a judge. */
import { expect, test } from 'vitest'
import { mergePatches } from '../../config/merge.ts'
import { documentShapes, mainDocument } from '../../config/model/documents.ts'
import type { Shape } from '../../config/model/shape.ts'
import { config } from '../../testing/generated.ts'
import { runtimeFindings, runtimeRules } from '../runtime-rules.ts'

/** Places whose fields a type of Kubernetes has, with a patch that has a field of no type there. */
const typed: Readonly<Record<string, string>> = {
  'machine.kubelet.extraConfig': 'machine: {kubelet: {extraConfig: {noField: 1}}}',
  'machine.kubelet.credentialProviderConfig':
    'machine: {kubelet: {credentialProviderConfig: {apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig, noField: 1}}}',
  'cluster.apiServer.admissionControl.*.configuration':
    'cluster: {apiServer: {admissionControl: [{name: PodSecurity, configuration: {noField: 1}}]}}',
  'cluster.apiServer.auditPolicy':
    'cluster: {apiServer: {auditPolicy: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None}], noField: 1}}}',
  'cluster.scheduler.config': 'cluster: {scheduler: {config: {noField: 1}}}',
  'KubeletConfig.config': 'kind: KubeletConfig\nconfig: {noField: 1}',
  'KubeCredentialProviderConfig.configuration':
    'kind: KubeCredentialProviderConfig\nconfiguration: {apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig, noField: 1}',
  'KubeAdmissionControlConfig.configuration':
    'kind: KubeAdmissionControlConfig\nname: PodSecurity\nconfiguration: {noField: 1}',
  'KubeAuditPolicyConfig.configuration':
    'kind: KubeAuditPolicyConfig\nconfiguration: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None}], noField: 1}',
  'KubeAuthenticationConfig.configuration':
    'kind: KubeAuthenticationConfig\nconfiguration: {noField: 1}',
  'KubeEtcdEncryptionConfig.config': 'kind: KubeEtcdEncryptionConfig\nconfig: {noField: 1}',
  'KubeSchedulerConfig.config': 'kind: KubeSchedulerConfig\nconfig: {noField: 1}',
  'KubeProxyConfig.config': 'kind: KubeProxyConfig\nconfig: {noField: 1}',
}
/** Places that a rule of their own reads. */
const ruled: Readonly<Record<string, string>> = {
  'machine.pods.*': 'static-pod-reference',
  'KubeStaticPodConfig.pod': 'static-pod-reference',
  'cluster.apiServer.authorizationConfig.*.webhook': 'authorizer-webhook',
  'KubeAuthorizerConfig.webhook': 'authorizer-webhook',
  'KubeFlannelCNIConfig.backendExtraConfig': 'flannel-backend',
}
/** Those of containerd and runc, which no type of Kubernetes describes. */
const others = [
  'machine.seccompProfiles.*.value',
  'machine.baseRuntimeSpecOverrides',
  'CRIBaseRuntimeSpecConfig.overrides',
]

function* placesIn(shape: Shape, path: string): Generator<string> {
  switch (shape.is) {
    case 'free':
      yield path
      break
    case 'list':
    case 'map':
      yield* placesIn(shape.of, `${path}.*`)
      break
    case 'object':
      for (const [key, field] of Object.entries(shape.fields))
        yield* placesIn(field, path === '' ? key : `${path}.${key}`)
      break
    default:
  }
}
const all = [...new Set([mainDocument, ...documentShapes.values()])]
  .flatMap(({ kind, shape }) => [...placesIn(shape, kind)])
  // Requests and limits of a pod, which `limit-below-request` reads.
  .filter((place) => !/\.resources\.(?:requests|limits)$/.test(place))

test('each place of any mapping has types, a rule or a reason', () => {
  expect(all.toSorted()).toEqual(
    [...Object.keys(typed), ...Object.keys(ruled), ...others].toSorted(),
  )
  const ids = new Set(runtimeRules.map(({ id }) => id))
  expect(Object.values(ruled).filter((rule) => !ids.has(rule))).toEqual([])
})

test.each(Object.entries(typed))('a field of no type in %s is refused', (_place, patch) => {
  const isDocument = patch.startsWith('kind:')
  const talosVersion = isDocument ? 'v1.14.1' : 'v1.13.9'
  const base = config(
    isDocument ? { talosVersion: '1.14', kubernetesVersion: '1.37.2' } : { talosVersion: '1.13' },
  )
  const body = isDocument ? `apiVersion: v1alpha1\n${patch}` : patch
  const { documents } = mergePatches(base, [{ name: 'mine', body }], { talosVersion })
  const found = runtimeFindings(documents, { talosVersion }).map(({ level, message }) => ({
    level,
    message,
  }))
  expect(found).toContainEqual({
    level: 'refuse',
    message: expect.stringContaining('has no field noField') as string,
  })
})
