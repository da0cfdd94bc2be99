/** Changes of a member's kubelet after which it refuses the state that it has kept. */
import type { ConfigDocument } from '../../config/decode.ts'
import type { Report } from '../../config/report.ts'
import type { TreeNode } from '../../config/tree.ts'
import { Configuration } from '../rule.ts'
import { findingOf, type RuntimeFinding } from '../runtime-rules.ts'
import { reserved } from './kubelet.ts'
import { cpuPolicyOf, hasCpuOption } from './kubelet-policies.ts'
import { processorsOf, quantityOf, settingOf, settingText } from './values.ts'

const extraConfig = ['machine', 'kubelet', 'extraConfig'] as const
/** `pkg/machinery/constants`, KubeletSystemReservedCPU. */
const cpuOfTalos = '50m'

interface Problem {
  /** Of `extraConfig`. */
  readonly field: string
  readonly sentence: string
}

/** The processors that are reserved: a list of them, or else their number. */
interface ReservedProcessors {
  readonly list: string
  readonly number: number
}

function reservedProcessors(main: Report): ReservedProcessors {
  const system = reserved(main, 'system')
  const amounts = [...system, ...reserved(main, 'kube')]
    .filter(({ key }) => key === 'cpu')
    .map(({ text }) => quantityOf(text))
  if (system.length === 0) amounts.push(quantityOf(cpuOfTalos))
  return {
    list: settingText(main, 'reservedSystemCPUs'),
    number: Math.ceil(amounts.reduce((sum, amount) => sum + amount, 0)),
  }
}

const isSame = (one: ReservedProcessors, other: ReservedProcessors): boolean =>
  one.list === other.list && (one.list !== '' || one.number === other.number)

/** Whether processors are reserved that weren't before. */
function hasMore(before: ReservedProcessors, after: ReservedProcessors): boolean {
  if (before.list === '' && after.list === '') return after.number > before.number
  if (before.list === '' || after.list === '') return true
  const known = processorsOf(before.list)
  return [...(processorsOf(after.list) ?? [])].some((one) => known?.has(one) !== true)
}

function cpuProblem(before: Report, after: Report, server: string): Problem | null {
  const [from, to] = [cpuPolicyOf(before), cpuPolicyOf(after)]
  const file = '/var/lib/kubelet/cpu_manager_state'
  // Talos compares the file with the configuration, and knows nothing of the argument.
  const isKept = (after.text(...extraConfig, 'cpuManagerPolicy') || 'none') === from
  if (!isKept) return null
  if (from !== to)
    return {
      field: 'cpuManagerPolicy',
      sentence: `The kubelet of ${server} does not start with the policy ${to} of processors, because ${file} has ${from}, and Talos removes that file only if extraConfig.cpuManagerPolicy changes: set the policy there, without the argument cpu-manager-policy`,
    }
  if (to !== 'static') return null
  const remedy = `Talos removes that file only if cpuManagerPolicy changes: save cpuManagerPolicy: none without cpuManagerPolicyOptions first, and this change after that`
  const strict = 'strict-cpu-reservation'
  if (hasCpuOption(before, strict) !== hasCpuOption(after, strict))
    return {
      field: 'cpuManagerPolicyOptions',
      sentence: `The kubelet of ${server} does not start with another ${strict} than the one in ${file}. ${remedy}`,
    }
  const [former, wanted] = [reservedProcessors(before), reservedProcessors(after)]
  const field = wanted.list === '' && former.list === '' ? 'systemReserved' : 'reservedSystemCPUs'
  if (hasCpuOption(after, strict) && !isSame(former, wanted))
    return {
      field,
      sentence: `The kubelet of ${server} does not start with other reserved processors than those in ${file}. ${remedy}`,
    }
  return hasMore(former, wanted)
    ? {
        field,
        sentence: `If a pod on ${server} has a newly reserved processor to itself by ${file}, the kubelet does not start. ${remedy}`,
      }
    : null
}

/** A value as a text that is equal for equal values. */
function keyOf(node: TreeNode): string {
  if (node.is === 'scalar') return String(node.value)
  return node.is === 'list'
    ? `[${node.items.map(keyOf).toSorted().join()}]`
    : `{${[...node.entries]
        .map(([key, { value }]) => `${key}:${keyOf(value)}`)
        .toSorted()
        .join()}}`
}

function memoryProblem(before: Report, after: Report, server: string): Problem | null {
  const policyOf = (main: Report) => settingText(main, 'memoryManagerPolicy') || 'None'
  const reservedOf = (main: Report) => {
    const path = settingOf(main, 'reservedMemory')
    return path === undefined ? '' : keyOf(main.nearest(path))
  }
  const [from, to] = [policyOf(before), policyOf(after)]
  const file = '/var/lib/kubelet/memory_manager_state'
  const remedy = `and Talos does not remove that file: let a pod remove it right before this change, or reset ${server} and let it join with the change`
  if (from !== to)
    return {
      field: 'memoryManagerPolicy',
      sentence: `The kubelet of ${server} does not start with the policy ${to} of memory, because ${file} has ${from}, ${remedy}`,
    }
  return to === 'Static' && reservedOf(before) !== reservedOf(after)
    ? {
        field: 'reservedMemory',
        sentence: `The kubelet of ${server} does not start with another reservedMemory than the one in ${file}, ${remedy}`,
      }
    : null
}

const rule = { id: 'kubelet-change', level: 'warn' } as const

/**
 * What a change of a member's kubelet breaks. Kubernetes `pkg/kubelet/cm/cpumanager` and
 * `memorymanager` (1.30 to 1.36), `state/state_checkpoint.go`: "configured policy … differs from
 * state checkpoint policy …", written for each policy; `policy_static.go`, validateState: "some of
 * strictly reserved cpus … are present in defaultCpuSet", "not all reserved cpus … are present" and
 * "the expected machine state is different from the real one". Talos
 * `controllers/k8s/kubelet_service.go`, handlePolicyChange (v1.12.11 to v1.14.0-rc.1), removes the
 * state of processors only, if the file has another policy than `extraConfig.cpuManagerPolicy`
 * (siderolabs/talos#7504).
 */
export function kubeletChangeFindings(
  before: readonly ConfigDocument[],
  after: readonly ConfigDocument[],
  server: string,
): RuntimeFinding[] {
  const [former, { main }] = [new Configuration(before).main, new Configuration(after)]
  return [cpuProblem, memoryProblem].flatMap((check) => {
    const problem = check(former, main, server)
    if (problem === null) return []
    const path = settingOf(main, problem.field) ?? [...extraConfig, problem.field]
    return [findingOf(rule, { document: main, path, sentence: problem.sentence })]
  })
}
