import type { Loaded } from './load.ts'
import { isObject } from './shape.ts'

/**
 * Parts of the machine section that apply without a reboot, in addition to all of `cluster`,
 * `debug` and every separate document (Talos: internal/app/machined/internal/server/v1alpha1,
 * CanApplyImmediate).
 */
const AT_ONCE = new Set(
  'ca acceptedCAs time certSANs install network sysfs sysctls logging controlPlane kubelet kernel registries pods seccompProfiles nodeAnnotations nodeLabels nodeTaints'.split(
    ' ',
  ),
)
const FEATURES_AT_ONCE = new Set(
  'kubernetesTalosAPIAccess kubePrism hostDNS imageCache nodeAddressSortAlgorithm'.split(' '),
)

/** Paths whose change needs a reboot. Empty if the configuration can be applied immediately. */
export const rebootReasons = (before: Loaded, after: Loaded): string[] => {
  const reasons: string[] = []
  const was = before.v1alpha1 ?? {}
  const is = after.v1alpha1 ?? {}
  for (const key of keys(was, is))
    if (!['debug', 'cluster', 'machine'].includes(key) && differs(was[key], is[key]))
      reasons.push(`.${key}`)
  const machineWas = isObject(was.machine) ? was.machine : {}
  const machineIs = isObject(is.machine) ? is.machine : {}
  for (const key of keys(machineWas, machineIs)) {
    if (AT_ONCE.has(key) || !differs(machineWas[key], machineIs[key])) continue
    if (key !== 'features') {
      reasons.push(`.machine.${key}`)
      continue
    }
    const featuresWas = isObject(machineWas.features) ? machineWas.features : {}
    const featuresIs = isObject(machineIs.features) ? machineIs.features : {}
    for (const feature of keys(featuresWas, featuresIs))
      if (!FEATURES_AT_ONCE.has(feature) && differs(featuresWas[feature], featuresIs[feature]))
        reasons.push(`.machine.features.${feature}`)
  }
  return reasons
}

const keys = (a: object, b: object): Set<string> => new Set([...Object.keys(a), ...Object.keys(b)])

const differs = (a: unknown, b: unknown): boolean => canonical(a) !== canonical(b)

/**
 * Canonical text of a value, independent of the order of keys. Empty and missing values have the
 * same text.
 */
const canonical = (value: unknown): string => {
  if (value === null || value === undefined || value === '' || value === false || value === 0)
    return ''
  if (Array.isArray(value))
    return value.length === 0 ? '' : `[${value.map((item) => canonical(item)).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const parts = Object.keys(value)
    .toSorted()
    .map((key) => [key, canonical(value[key])])
    .filter(([, text]) => text !== '')
  return parts.length === 0
    ? ''
    : `{${parts.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`
}
