/**
 * Runs the only program that a simulated cluster can run: docs/prove-offer.mjs, with which a
 * cluster proves to Steelyard that it holds its own key. A Deployment runs it from a ConfigMap
 * whose text must be that file, byte by byte: any other program would let users of a simulated
 * cluster run code on this machine. For the same reason it may call only this machine.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { fileURLToPath } from 'node:url'
import { type Body, list, object, text } from '../config/shape.ts'
import { TAKES } from '../machine/durations.ts'
import type { Machine } from '../machine/machine.ts'
import { builtIn } from './kinds.ts'
import { Objects } from './objects.ts'
import type { Target } from './kinds.ts'

const FILE = fileURLToPath(new URL('../../../docs/prove-offer.mjs', import.meta.url))
const DEPLOYMENTS = builtIn('deployments')
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])$/
/**
 * Pause after a success and after a failure, in milliseconds of real time, because the program
 * calls a program outside of the simulation.
 */
const AGAIN_MS = 600_000
const RETRY_MS = 5_000
const DEADLINE_MS = 60_000

interface Program {
  /**
   * Changes with the Deployment, its ConfigMap and its Secret, so that a change takes effect at
   * once.
   */
  id: string
  target: Target
  generation: number
  env: Record<string, string>
  /** Content of the files of the mounted Secret. */
  files: Record<string, string>
}

/** Runs the programs of a cluster's Deployments on one control plane at a time. */
export const runPrograms = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  let seen = ''
  let due = new Map<string, number>()
  for (;;) {
    await machine.looksAgainAfter(TAKES.program, signal)
    const cluster = machine.etcdCluster
    if (!cluster || !machine.apiServerUp || cluster.leader?.machine !== machine.plan.index) continue
    const version = (): string => `${cluster.state.id} ${cluster.state.kubernetes.resourceVersion}`
    if (version() === seen && [...due.values()].every((at) => at > performance.now())) continue
    const objects = new Objects(cluster, machine.world.clock.now)
    const next = new Map<string, number>()
    for (const deployment of objects.list(DEPLOYMENTS, '')) {
      const program = programOf(objects, deployment)
      if (!program) continue
      const at = due.get(program.id) ?? 0
      if (at > performance.now()) {
        next.set(program.id, at)
        continue
      }
      const isDone = await run(machine, program, signal)
      if (signal.aborted) return
      next.set(program.id, performance.now() + (isDone ? AGAIN_MS : RETRY_MS))
      show(objects, program, isDone)
    }
    due = next
    seen = version()
  }
}

/**
 * The program of a Deployment; null if the Deployment runs anything else, or if an object that it
 * mounts is missing.
 */
const programOf = (objects: Objects, deployment: Body): Program | null => {
  const { namespace: inside, name, uid, generation } = object(deployment.metadata)
  const namespace = text(inside)
  const spec = object(deployment.spec)
  const pod = object(object(spec.template).spec)
  const container = object(list(pod.containers)[0])
  const [command, path = ''] = list(container.command).map(text)
  if (spec.replicas === 0 || command !== 'node') return null
  const mounts = list(container.volumeMounts).map(object)
  const volume = (at: string): Body => {
    const mount = mounts.find(({ mountPath }) => mountPath === at)
    return object(
      list(pod.volumes)
        .map(object)
        .find((candidate) => candidate.name === mount?.name),
    )
  }
  const find = (plural: string, which: unknown): Body | null => {
    const target = { kind: builtIn(plural), namespace, name: text(which) }
    return objects.has(target) ? objects.get(target) : null
  }
  const file = basename(path)
  const program = find('configmaps', object(volume(path.slice(0, -file.length - 1)).configMap).name)
  const secret = find('secrets', object(volume('/key').secret).secretName)
  if (!program || !secret || object(program.data)[file] !== readFileSync(FILE, 'utf8')) return null
  const env = Object.fromEntries(
    list(container.env)
      .map(object)
      .map((one) => [text(one.name), text(one.value)]),
  )
  const { STEELYARD_URL = '', OFFER_ID = '' } = env
  if (!URL.canParse(STEELYARD_URL) || !LOOPBACK.test(new URL(STEELYARD_URL).hostname)) return null
  const versions = [program, secret].map(({ metadata }) => text(object(metadata).resourceVersion))
  return {
    id: [text(uid), text(generation), ...versions].join(' '),
    target: { kind: DEPLOYMENTS, namespace, name: text(name) },
    generation: Number(generation),
    env: { STEELYARD_URL, OFFER_ID },
    files: Object.fromEntries(
      ['address', 'private-key'].map((key) => [
        key,
        Buffer.from(text(object(secret.data)[key]), 'base64').toString('utf8'),
      ]),
    ),
  }
}

/** Runs the program once. Its output goes to the kubelet's log. True if it succeeded. */
const run = async (
  machine: Machine,
  { env, files, target }: Program,
  signal: AbortSignal,
): Promise<boolean> => {
  const folder = mkdtempSync(join(tmpdir(), 'steelyard-simulated-pod-'))
  try {
    for (const [name, content] of Object.entries(files))
      writeFileSync(join(folder, name), content, { mode: 0o600 })
    return await new Promise((resolve) => {
      // SIGKILL, because the program ends with 0 after SIGTERM.
      const child = spawn(process.execPath, [FILE, '--once'], {
        env: { ...env, KEY_FOLDER: folder },
        signal,
        timeout: DEADLINE_MS,
        killSignal: 'SIGKILL',
      })
      const tell = (chunk: Buffer): void => {
        for (const line of chunk.toString('utf8').split('\n'))
          if (line !== '')
            machine.journal.log('kubelet', `${target.namespace}/${target.name}: ${line}`)
      }
      child.stdout.on('data', tell)
      child.stderr.on('data', tell)
      // An interruption kills the program.
      child.on('error', () => resolve(false))
      child.on('close', (code) => resolve(code === 0))
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Shows in the Deployment's status whether its program succeeded, as the Deployment controller
 * shows whether a pod is ready.
 */
const show = (objects: Objects, { target, generation }: Program, isDone: boolean): void => {
  const ready = isDone ? { readyReplicas: 1, availableReplicas: 1 } : { unavailableReplicas: 1 }
  const status = { observedGeneration: generation, replicas: 1, updatedReplicas: 1, ...ready }
  if (objects.has(target) && !isDeepStrictEqual(objects.get(target).status, status))
    objects.setStatus(target, status, 'kube-controller-manager')
}
