/** Values of the kubelet's configuration that newer fields of it take. */
import { durationMs } from '../../config/formats.ts'
import { type Hit, quoted, type RuntimeRule } from '../rule.ts'
import { at, type Given, oneOf, ranges, spans, textAt, type Wrong } from './values.ts'

/** Time spans with their least and most, in ms; nothing is fine. */
const limits: Readonly<Record<string, readonly [least: number, most: number, words: string]>> = {
  cpuCFSQuotaPeriod: [1, 1000, '1ms to 1s'],
  'crashLoopBackOff.maxContainerRestartPeriod': [1000, 300_000, '1s to 300s'],
}
/** The length of a range of user ids (`pkg/kubelet/apis/config/validation`, userNsUnitLength). */
const unit = 65_536

function* problemsOf(given: Given): Generator<Wrong> {
  for (const [field, [least, most, words]] of Object.entries(limits)) {
    const text = textAt(given, field)
    const span = durationMs(text)
    if (span !== undefined && (span < least || span > most))
      yield [at(given, field), `${field} is from ${words}, not ${quoted(text)}`]
  }
  yield* spans(given, ['imageMinimumGCAge'])
  const ids = given.document.number(...at(given, 'userNamespaces.idsPerPod'))
  if (ids !== undefined && (ids < unit || ids % unit !== 0 || ids > 2 ** 32 - 1))
    yield [at(given, 'userNamespaces.idsPerPod'), `idsPerPod is a multiple of ${unit}, not ${ids}`]
  yield* oneOf(given, {
    imagePullCredentialsVerificationPolicy: [
      'NeverVerify',
      'NeverVerifyPreloadedImages',
      'NeverVerifyAllowlistedImages',
      'AlwaysVerify',
    ],
    'memorySwap.swapBehavior': ['NoSwap', 'LimitedSwap'],
  })
  yield* ranges(given, { 'logging.verbosity': [0, 2 ** 31 - 1] })
}

export const kubeletValueRules: readonly RuntimeRule[] = [
  {
    id: 'kubelet-config-value',
    source:
      'Kubernetes pkg/kubelet/apis/config/validation/validation.go, ValidateKubeletConfiguration (v1.37.2)',
    level: 'refuse',
    *find({ main }): Generator<Hit> {
      const given = { document: main, root: ['machine', 'kubelet', 'extraConfig'] }
      for (const [path, problem] of problemsOf(given))
        yield {
          document: main,
          path,
          sentence: `In the configuration of the kubelet, ${problem}: otherwise it does not start`,
        }
    },
  },
]
