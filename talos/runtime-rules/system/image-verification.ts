/** Rules of ImageVerificationConfig that shut out images which the server needs. */
import { globMatches } from '../../config/cel.ts'
import type { Report } from '../../config/report.ts'
import { some } from '../known.ts'
import { type Configuration, quoted, type RuntimeRule } from '../rule.ts'

const source =
  'Talos internal/pkg/containers/image/image.go, Pull: a denied image is not pulled, and not tried again; pkg/machinery/resources/security/image_verification_rule.go, ImageVerificationRuleMatcher: the first rule that matches registry and repository counts'

interface Rule {
  readonly path: readonly string[]
  readonly pattern: string
  readonly isDeny: boolean
}

const rulesOf = (document: Report): Rule[] =>
  document.items('rules').map(({ path }) => ({
    path: [...path, 'image'],
    pattern: document.text(...path, 'image'),
    isDeny: document.flag(...path, 'deny'),
  }))

/** Registry and repository of an image, without tag and digest. */
const repositoryOf = (image: string): string => image.split('@', 1)[0]!.replace(/:[^:/]*$/, '')

/** Where a configuration names images, and what Talos pulls otherwise (`pkg/machinery/constants`). */
const ofEvery = [['machine.kubelet.image', 'ghcr.io/siderolabs/kubelet']] as const
const ofControlPlanes = [
  ['cluster.etcd.image', 'registry.k8s.io/etcd'],
  ['cluster.apiServer.image', 'registry.k8s.io/kube-apiserver'],
  ['cluster.controllerManager.image', 'registry.k8s.io/kube-controller-manager'],
  ['cluster.scheduler.image', 'registry.k8s.io/kube-scheduler'],
] as const

/** Repositories of the images without which the server doesn't start or isn't upgraded. */
function neededBy(config: Configuration): string[] {
  const { main, isWorker } = config
  const components = [...ofEvery, ...(isWorker ? [] : ofControlPlanes)].map(
    ([path, otherwise]) => main.text(...path.split('.')) || otherwise,
  )
  const installers = [
    main.text('machine', 'install', 'image'),
    ...config.of('UnattendedInstallConfig').map((one) => one.text('installer', 'image')),
  ]
  // Of the container that holds the namespaces of each pod (`pkg/images`, DefaultSandboxImage).
  const all = [...components, ...installers, 'registry.k8s.io/pause']
  return [...new Set(all.filter((image) => image !== '').map(repositoryOf))]
}

export const imageVerificationRules: readonly RuntimeRule[] = [
  {
    id: 'needed-image-denied',
    minors: ['1.13', '1.14'],
    source,
    level: 'warn',
    *find(config) {
      const needed = neededBy(config)
      for (const document of config.of('ImageVerificationConfig')) {
        const rules = rulesOf(document)
        const firstOf = (image: string) => rules.find((one) => globMatches(one.pattern, image))
        for (const rule of rules.filter(({ isDeny }) => isDeny)) {
          const denied = needed.filter((image) => firstOf(image) === rule)
          if (denied.length > 0)
            yield {
              document,
              path: rule.path,
              sentence: `The rule ${quoted(rule.pattern)} denies images that this server needs, so it does not start after its next upgrade or installation: ${some(denied)}. Put a rule before it that skips or verifies them`,
            }
        }
      }
    },
  },
  {
    id: 'image-rule-without-effect',
    minors: ['1.13', '1.14'],
    source,
    level: 'warn',
    *find(config) {
      for (const document of config.of('ImageVerificationConfig')) {
        const rules = rulesOf(document)
        for (const [i, { path, pattern }] of rules.entries()) {
          // A * in the text is matched by a * only, so the pattern then holds all that the text holds.
          const before = rules.slice(0, i).find((one) => globMatches(one.pattern, pattern))
          if (pattern !== '' && before !== undefined)
            yield {
              document,
              path,
              sentence: `The rule ${quoted(pattern)} has no effect, because ${quoted(before.pattern)} stands before it and matches the same images: put it first, and note that a patch adds its rules at the end`,
            }
        }
      }
    },
  },
]
