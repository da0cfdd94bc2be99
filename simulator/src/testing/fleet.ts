import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { connectMaintenance, connectSecure, readCertificate } from '#talos/client/connect.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { generateConfig } from '#talos/config/generate.ts'
import { mintTalosClient, type TalosRole } from '#talos/pki/certificates.ts'
import { generateSecrets, type SecretsBundle } from '#talos/secrets/bundle.ts'
import { readyKeys } from '#talos/testing/keys.ts'
import { releaseOf } from '../config/versions.ts'
import { freeBlock } from '../../../tools/testing/free-block.ts'
import type { Machine } from '../machine/machine.ts'
import { startSimulator, type Simulator, type SimulatorOptions } from '../start.ts'

/**
 * Blocks of the simulated network for this process, so that tests and other simulators can run side
 * by side on one machine.
 */
export const partOfNetwork = freeBlock(5)
const HOUR_MS = 3_600_000

export const dataFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'steelyard-simulator-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * Talos of the machines in tests that name no version. What 1.14 does otherwise is in
 * `talos-114.test.ts` and `config/config-14.test.ts`.
 */
const talos = ['v1.13.9']

/** Starts a fleet of healthy servers at speed 50. The fleet stops with the test. */
export const fleet = async (options: Partial<SimulatorOptions> = {}): Promise<Simulator> => {
  const whole = {
    dataDir: options.dataDir ?? dataFolder(),
    speed: 50,
    subnetOffset: await partOfNetwork,
    ...(options.scenario === undefined && { scenario: { servers: 5, talos } }),
    ...options,
  }
  const simulator = await patiently(() => startSimulator(whole))
  onTestFinished(() => simulator.stop())
  return simulator
}

const TAKEN_FOR_MS = 15_000

/** Retries for a short time if another test still uses the addresses. */
const patiently = async (start: () => Promise<Simulator>): Promise<Simulator> => {
  const end = performance.now() + TAKEN_FOR_MS
  for (;;) {
    try {
      return await start()
    } catch (cause) {
      const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE'
      if (!isTaken || performance.now() > end) throw cause
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
}

/** A scenario with one datacenter and Talos 1.13. */
export const rack = (servers: number, special: Record<string, object> = {}): object => ({
  servers,
  datacenters: ['PL-POZ-1'],
  talos,
  special,
})

export const secrets = async (): Promise<SecretsBundle> =>
  generateSecrets({ now: new Date(), contract: 'v1.13', keys: await readyKeys() })

export const configFor = (
  bundle: SecretsBundle,
  machine: Machine,
  role: 'control_plane' | 'worker',
  endpoint: string,
  more: { kubernetesVersion?: string; installDisk?: string } = {},
): string =>
  generateConfig({
    role,
    clusterName: 'blue-fox',
    endpoint: `https://${endpoint}:6443`,
    talosVersion: machine.talosVersion,
    kubernetesVersion: more.kubernetesVersion ?? releaseOf(machine.talosMinor).kubernetes,
    secrets: bundle,
    installDisk: more.installDisk ?? `/dev/${machine.hardware.disks[0]?.name ?? 'sda'}`,
    installImage: `factory.talos.dev/metal-installer/${machine.schematic}:${machine.talosVersion}`,
  })

const closing = (client: TalosClient): TalosClient => {
  onTestFinished(() => client.close())
  return client
}

export const openMaintenance = async (machine: Machine): Promise<TalosClient> => {
  const target = { host: machine.plan.address }
  return closing(
    await connectMaintenance(target, await readCertificate(target, { timeoutMs: 2000 }), {
      deadlineMs: 30_000,
    }),
  )
}

export const openSecure = async (
  machine: Machine,
  bundle: SecretsBundle,
  roles: TalosRole[] = ['os:admin'],
): Promise<TalosClient> =>
  closing(
    await connectSecure(
      { host: machine.plan.address },
      await mintTalosClient(bundle, { roles, lifetimeMs: HOUR_MS, now: new Date() }),
      { deadlineMs: 30_000 },
    ),
  )

/** Polls until the condition is true. On timeout the error names `what`. */
export const until = async (
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 15_000,
): Promise<void> => {
  const end = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`Waited ${timeoutMs} ms for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}

export interface Cluster {
  bundle: SecretsBundle
  controlPlanes: Machine[]
  workers: Machine[]
}

/**
 * Creates a cluster in the same order as Steelyard: control planes, bootstrap on the first, then
 * the workers.
 */
export const cluster = async (
  simulator: Pick<Simulator, 'servers'>,
  controls: number,
  workers: number,
): Promise<Cluster> => {
  const bundle = await secrets()
  const controlPlanes = simulator.servers.slice(0, controls)
  const others = simulator.servers.slice(controls, controls + workers)
  const endpoint = controlPlanes[0]!.plan.address
  await Promise.all(
    controlPlanes.map((machine) =>
      give(machine, configFor(bundle, machine, 'control_plane', endpoint)),
    ),
  )
  const [first] = controlPlanes
  await until(
    'etcd waits for its bootstrap',
    () => first!.services.get('etcd')?.state === 'Preparing',
  )
  await (await openSecure(first!, bundle)).bootstrap()
  await until('the control plane runs', () =>
    controlPlanes.every((machine) => machine.stage.stage === 'running' && machine.stage.ready),
  )
  await Promise.all(
    others.map((machine) => give(machine, configFor(bundle, machine, 'worker', endpoint))),
  )
  await until('the workers run', () =>
    others.every((machine) => machine.stage.stage === 'running' && machine.stage.ready),
  )
  return { bundle, controlPlanes, workers: others }
}

/** Applies the machine's configuration with a text replaced everywhere, without a reboot. */
export const edit = async (
  machine: Machine,
  bundle: SecretsBundle,
  from: string | RegExp,
  to: string,
): Promise<void> => {
  const client = await openSecure(machine, bundle)
  await client.applyConfiguration(machine.config!.text.replaceAll(from, to), { mode: 'no-reboot' })
  client.close()
}

export const give = async (machine: Machine, config: string): Promise<void> => {
  const client = await openMaintenance(machine)
  await client.applyConfiguration(config, { mode: 'auto' })
  client.close()
}
