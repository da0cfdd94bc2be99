import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { connectMaintenance, connectSecure, readCertificate } from '#talos/client/connect.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { generateConfig } from '#talos/config/generate.ts'
import { mintTalosClient, type TalosRole } from '#talos/pki/clients.ts'
import { generateSecrets, type SecretsBundle } from '#talos/secrets/bundle.ts'
import { readyKeys } from '#talos/testing/keys.ts'
import type { Machine } from '../machine/machine.ts'
import { startSimulator, type Simulator, type SimulatorOptions } from '../start.ts'

/** Tests and other simulators run at the same time: each process takes a part of the network for itself, and holds a port there until it ends. */
const reserve = async (): Promise<number> => {
  for (let at = 130; at < 240; at += 5) {
    const server = createServer().unref()
    const isMine = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(50_002, `127.20.${at + 1}.1`, () => resolve(true))
    })
    if (isMine) return at
  }
  throw new Error('no part of 127.20.0.0/16 is free for this test')
}
export const partOfNetwork = reserve()
const HOUR_MS = 3_600_000

export const dataFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'steelyard-simulator-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A fleet of healthy servers at fifty times the speed, gone when the test ends. */
export const fleet = async (options: Partial<SimulatorOptions> = {}): Promise<Simulator> => {
  const simulator = await startSimulator({
    dataDir: options.dataDir ?? dataFolder(),
    speed: 50,
    subnetOffset: await partOfNetwork,
    ...(options.scenario === undefined && { servers: 5 }),
    ...options,
  })
  onTestFinished(() => simulator.stop())
  return simulator
}

/** Everything in one datacenter, running the newest Talos. */
export const rack = (servers: number, special: Record<string, object> = {}): object => ({ servers, datacenters: ['PL-POZ-1'], special })

export const secrets = async (): Promise<SecretsBundle> => generateSecrets({ now: new Date(), contract: 'v1.13', keys: await readyKeys() })

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
    kubernetesVersion: more.kubernetesVersion ?? (machine.talosMinor === 12 ? '1.35.4' : '1.36.3'),
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
  return closing(await connectMaintenance(target, await readCertificate(target, { timeoutMs: 2000 }), { deadlineMs: 5000 }))
}

export const openSecure = async (machine: Machine, bundle: SecretsBundle, roles: TalosRole[] = ['os:admin']): Promise<TalosClient> =>
  closing(
    await connectSecure({ host: machine.plan.address }, await mintTalosClient(bundle, { roles, lifetimeMs: HOUR_MS, now: new Date() }), { deadlineMs: 5000 }),
  )

/** Polls until the condition holds; fails with what was waited for. */
export const until = async (what: string, condition: () => boolean | Promise<boolean>, timeoutMs = 15_000): Promise<void> => {
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

/** Brings a whole cluster up the way Steelyard does: control planes, bootstrap on the first, then the workers. */
export const cluster = async (simulator: Simulator, controls: number, workers: number): Promise<Cluster> => {
  const bundle = await secrets()
  const controlPlanes = simulator.servers.slice(0, controls)
  const others = simulator.servers.slice(controls, controls + workers)
  const endpoint = controlPlanes[0]!.plan.address
  await Promise.all(controlPlanes.map((machine) => give(machine, configFor(bundle, machine, 'control_plane', endpoint))))
  const [first] = controlPlanes
  await until('etcd waits for its bootstrap', () => first!.services.get('etcd')?.state === 'Preparing')
  await (await openSecure(first!, bundle)).bootstrap()
  await until('the control plane runs', () => controlPlanes.every((machine) => machine.stage.stage === 'running' && machine.stage.ready))
  await Promise.all(others.map((machine) => give(machine, configFor(bundle, machine, 'worker', endpoint))))
  await until('the workers run', () => others.every((machine) => machine.stage.stage === 'running' && machine.stage.ready))
  return { bundle, controlPlanes, workers: others }
}

export const give = async (machine: Machine, config: string): Promise<void> => {
  const client = await openMaintenance(machine)
  await client.applyConfiguration(config, { mode: 'auto' })
  client.close()
}
