/** Forms of values that several of Kubernetes's components take. */
import { type Report, textOf } from '../../config/report.ts'

const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}
/** Kubernetes `apimachinery/pkg/api/resource/quantity.go`, ParseQuantity. */
const form = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))([KMGTPE]i|[numkMGTPE]|(?:[eE][+-]?\d+)?)$/

export const isQuantity = (text: string): boolean => form.test(text)

/** The amount of a quantity such as `500m`; NaN for another text. */
export function quantityOf(text: string): number {
  const [, amount = '', unit = ''] = form.exec(text) ?? []
  return /^[eE]/.test(unit) && unit.length > 1
    ? Number(`${amount}${unit}`)
    : Number(amount === '' ? Number.NaN : amount) * (factors[unit] ?? Number.NaN)
}

/** Linux has no more processors than this (`arch/x86/Kconfig`, NR_CPUS_RANGE_END). */
const mostProcessors = 8192

/**
 * The processors of a list such as `0-3,8` (`k8s.io/utils/cpuset`, Parse); null if it is no list,
 * or has processors that no server has.
 */
export function processorsOf(list: string): Set<number> | null {
  const all = new Set<number>()
  for (const part of list.split(',')) {
    const [, from = '', to = from] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? []
    const [first, last] = [Number(from), Number(to)]
    if (from === '' || first > last || last >= mostProcessors) return null
    for (let one = first; one <= last; one++) all.add(one)
  }
  return all
}

/** Arguments of the kubelet that have another name than their field of the configuration. */
const argumentNames: Readonly<Record<string, string>> = {
  cgroupsPerQOS: 'cgroups-per-qos',
  eventRecordQPS: 'event-qps',
  kubeAPIBurst: 'kube-api-burst',
  kubeAPIQPS: 'kube-api-qps',
  'logging.format': 'logging-format',
  registryPullQPS: 'registry-qps',
  reservedSystemCPUs: 'reserved-cpus',
}
const kubelet = ['machine', 'kubelet'] as const

/**
 * Where the kubelet takes a setting from, or undefined if it is nowhere: an argument wins over the
 * configuration (Kubernetes docs, "Set Kubelet Parameters Via A Configuration File").
 * @param field name in `extraConfig`; a dot leads into a mapping
 */
export function settingOf(main: Report, field: string): readonly string[] | undefined {
  const name =
    argumentNames[field] ?? field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return [
    [...kubelet, 'extraArgs', name],
    [...kubelet, 'extraConfig', ...field.split('.')],
  ].find((path) => main.has(...path))
}

/**
 * The text of an argument, which may be a list of texts (Talos: one flag for each); of several the
 * last one counts.
 */
export const lastOf = (main: Report, path: readonly string[]): string =>
  main.texts(...path).at(-1)?.text ?? main.text(...path)

/** The text of a setting of the kubelet that counts; empty if it is nowhere. */
export function settingText(main: Report, field: string): string {
  const path = settingOf(main, field)
  return path === undefined ? '' : lastOf(main, path)
}

/** The texts of a list of the kubelet, each with its place; an argument may separate by commas. */
export function settingTexts(
  main: Report,
  field: string,
): { path: readonly string[]; text: string }[] {
  const path = settingOf(main, field)
  if (path === undefined) return []
  const texts = main.texts(...path)
  if (!path.includes('extraArgs')) return texts
  return (texts.length > 0 ? texts : [{ path, text: main.text(...path) }]).flatMap((one) =>
    one.text.split(',').map((text) => ({ path: one.path, text })),
  )
}

/** Whether an argument replaces a field of the kubelet's configuration. */
export const isOverridden = (main: Report, field: string): boolean =>
  settingOf(main, field)?.includes('extraArgs') === true

/** Names and values of an argument such as `cpu=500m,memory=1Gi`. */
export function pairsOf(
  main: Report,
  path: readonly string[],
  sign: '=' | '<',
): [key: string, text: string][] {
  const texts = main.texts(...path).map(({ text }) => text)
  return (texts.length > 0 ? texts : [textOf(main.nearest(path))])
    .flatMap((text) => text.split(','))
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const at = part.indexOf(sign)
      return at === -1 ? [part.trim(), ''] : [part.slice(0, at).trim(), part.slice(at + 1).trim()]
    })
}

const words = (text: string): string[] => text.trim().split(/\s+/)

/** Go `crypto/tls/cipher_suites.go`, and two older names (component-base `cli/flag/ciphersuites_flag.go`). */
export const cipherSuites: ReadonlySet<string> = new Set(
  words(
    `TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256
    TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256
    TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA
    TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305
    TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 TLS_ECDHE_ECDSA_WITH_RC4_128_SHA
    TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA
    TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
    TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384
    TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305 TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256
    TLS_ECDHE_RSA_WITH_RC4_128_SHA TLS_RSA_WITH_3DES_EDE_CBC_SHA TLS_RSA_WITH_AES_128_CBC_SHA
    TLS_RSA_WITH_AES_128_CBC_SHA256 TLS_RSA_WITH_AES_128_GCM_SHA256 TLS_RSA_WITH_AES_256_CBC_SHA
    TLS_RSA_WITH_AES_256_GCM_SHA384 TLS_RSA_WITH_RC4_128_SHA`,
  ),
)
