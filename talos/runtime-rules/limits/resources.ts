/** Amounts of processor time and memory of pods that Talos writes. */
import { type Report, textOf } from '../../config/report.ts'
import type { Configuration, RuntimeRule } from '../rule.ts'
import { isQuantity, quantityOf } from './values.ts'

interface Pod {
  /** `the API server` */
  readonly name: string
  readonly document: Report
  /** Of the section with requests and limits. */
  readonly path: readonly string[]
  /** What Talos requests where nothing else is said. */
  readonly requested: Readonly<Record<string, string>>
  /** Who refuses the pod, with its object. */
  readonly refused: string
}

const amounts = (cpu: string, memory: string): Record<string, string> => ({ cpu, memory })
const byKubelet = 'the kubelet refuses its pod'
const byKubernetes = 'Kubernetes refuses its DaemonSet'

/** The requests of Talos (`control_plane_static_pod.go`; since 1.14 `internal/k8stemplates`). */
const components = [
  ['the API server', 'apiServer', amounts('200m', '512Mi'), byKubelet],
  ['the controller manager', 'controllerManager', amounts('50m', '256Mi'), byKubelet],
  ['the scheduler', 'scheduler', amounts('10m', '64Mi'), byKubelet],
  ['kube-proxy', 'proxy', amounts('100m', '50Mi'), byKubernetes],
] as const

/** The pods of a configuration whose requests and limits it can say. */
function podsOf(config: Configuration): Pod[] {
  const { main } = config
  const pods = config.isWorker
    ? []
    : components.map(([name, section, requested, refused]) => ({
        name,
        document: main,
        path: ['cluster', section, 'resources'],
        requested,
        refused,
      }))
  const flannel = config.of('KubeFlannelCNIConfig').map((document) => ({
    name: 'Flannel',
    document,
    path: ['resources'],
    requested: amounts('100m', '50Mi'),
    refused: byKubernetes,
  }))
  const others = main.items('machine', 'pods').flatMap(({ path }) =>
    ['containers', 'initContainers'].flatMap((list) =>
      main.items(...path, 'spec', list).map((container) => ({
        name: `the container ${main.text(...container.path, 'name')} of ${main.text(...path, 'metadata', 'name')}`,
        document: main,
        path: [...container.path, 'resources'],
        requested: {},
        refused: byKubelet,
      })),
    ),
  )
  return [...pods, ...flannel, ...others]
}

export const podResourceRules: readonly RuntimeRule[] = [
  {
    id: 'limit-below-request',
    source:
      'Kubernetes pkg/apis/core/validation/validation.go, ValidateContainerResourceRequirements: a request "must be less than or equal to memory limit"; pkg/kubelet/config/common.go validates static pods; Talos internal/app/machined/pkg/controllers/k8s/control_plane_static_pod.go, resources: requests have defaults, limits have none',
    level: 'refuse',
    *find(config) {
      for (const { name, document, path, requested, refused } of podsOf(config))
        for (const limit of document.entries(...path, 'limits')) {
          const most = textOf(limit.node)
          const said = document.text(...path, 'requests', limit.key)
          const least = said === '' ? (requested[limit.key] ?? '') : said
          if (!isQuantity(most) || !isQuantity(least) || quantityOf(least) <= quantityOf(most))
            continue
          yield {
            document,
            path: limit.path,
            sentence:
              said === ''
                ? `The limit ${most} of ${limit.key} is below the ${least} that Talos requests for ${name}, so ${refused}: set requests too`
                : `The limit ${most} of ${limit.key} of ${name} is below its request ${least}, so ${refused}`,
          }
        }
    },
  },
  {
    id: 'memory-in-thousandths',
    source:
      'Kubernetes pkg/api/pod/warnings.go: "fractional byte value … is invalid, must be an integer"; apimachinery/pkg/api/resource/quantity.go: m is a thousandth',
    level: 'warn',
    *find(config) {
      for (const { name, document, path } of podsOf(config))
        for (const kind of ['requests', 'limits']) {
          const where = [...path, kind, 'memory']
          const text = document.text(...where)
          if (isQuantity(text) && text.endsWith('m'))
            yield {
              document,
              path: where,
              sentence: `${text} of memory for ${name} is ${quantityOf(text)} bytes, because m is a thousandth: write ${text.slice(0, -1)}Mi`,
            }
        }
    },
  },
]
