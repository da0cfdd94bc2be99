/** Static pods that the kubelet rejects, because they need objects of the Kubernetes API. */
import type { Report } from '../../config/report.ts'
import { clusterMinor, minorOf } from '../component-names.ts'
import type { Configuration, Hit, RuntimeRule } from '../rule.ts'

/** Since this minor the kubelet rejects them (gate PreventStaticPodAPIReferences). */
const rejectedSince = 34
const gate = ['machine', 'kubelet', 'extraConfig', 'featureGates', 'PreventStaticPodAPIReferences']

/** Volumes that need objects of the API, with the name of these. */
const volumes: Readonly<Record<string, string>> = {
  configMap: 'a config map',
  secret: 'a secret',
  csi: 'a CSI driver',
  glusterfs: 'endpoints',
  persistentVolumeClaim: 'a persistent volume claim',
  ephemeral: 'a persistent volume claim',
  azureFile: 'a secret',
}
const projections: Readonly<Record<string, string>> = {
  configMap: 'a config map',
  secret: 'a secret',
  serviceAccountToken: 'a service account',
  clusterTrustBundle: 'a bundle of authorities',
  podCertificate: 'a certificate of the pod',
}

/** A place in a pod, and the object that it names. */
type Reference = readonly [path: readonly string[], what: string]

const named = (
  document: Report,
  path: readonly string[],
  kinds: Readonly<Record<string, string>>,
): Reference[] =>
  Object.entries(kinds).flatMap(([field, what]) =>
    document.has(...path, field) ? [[[...path, field], what]] : [],
  )

/** `HasAPIObjectReference` */
function* references(document: Report, pod: readonly string[]): Generator<Reference> {
  const spec = [...pod, 'spec']
  yield* named(document, spec, {
    serviceAccountName: 'a service account',
    serviceAccount: 'a service account',
    imagePullSecrets: 'a secret',
    resourceClaims: 'a resource claim',
  })
  for (const { path } of document.items(...spec, 'volumes')) {
    yield* named(document, path, volumes)
    for (const source of document.items(...path, 'projected', 'sources'))
      yield* named(document, source.path, projections)
  }
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'])
    for (const { path } of document.items(...spec, list)) {
      for (const from of document.items(...path, 'envFrom'))
        yield* named(document, from.path, { configMapRef: 'a config map', secretRef: 'a secret' })
      for (const variable of document.items(...path, 'env'))
        yield* named(document, [...variable.path, 'valueFrom'], {
          configMapKeyRef: 'a config map',
          secretKeyRef: 'a secret',
        })
    }
}

function* problemsOf(config: Configuration, isRejected: boolean): Generator<Hit> {
  const { main } = config
  const minor =
    minorOf(config, ['machine', 'kubelet', 'image']) ?? clusterMinor(config.kubernetesVersion)
  const isGateOff = main.text(...gate) === 'false'
  if ((minor !== null && minor >= rejectedSince && !isGateOff) !== isRejected) return
  for (const { path: pod } of main.items('machine', 'pods'))
    for (const [path, what] of references(main, pod)) {
      const name = main.text(...pod, 'metadata', 'name')
      yield {
        document: main,
        path,
        sentence: isRejected
          ? `The static pod ${name} names ${what}, and since Kubernetes 1.${rejectedSince} the kubelet starts no static pod that needs an object of the API: run it as a DaemonSet instead`
          : `The static pod ${name} names ${what}, which a static pod doesn’t get, and since Kubernetes 1.${rejectedSince} the kubelet doesn’t start it: run it as a DaemonSet instead`,
      }
    }
}

const source =
  'Kubernetes pkg/kubelet/config/common.go, tryDecodeSinglePod: "static pods may not reference"; pkg/api/pod/util.go, HasAPIObjectReference (v1.37.2)'

export const podReferenceRules: readonly RuntimeRule[] = [
  {
    id: 'static-pod-reference',
    source,
    level: 'refuse',
    *find(config) {
      yield* problemsOf(config, true)
    },
  },
  {
    id: 'static-pod-reference-older',
    source: `${source}; before 1.${rejectedSince} the pod runs without the object`,
    level: 'warn',
    *find(config) {
      yield* problemsOf(config, false)
    },
  },
]
