/**
 * Secrets of clusters: generation, sealing, escrow, and the short-lived certificates minted from them. Certificates are
 * only kept in memory.
 */
import { readFileSync } from 'node:fs'
import { type Credentials, type TalosRole, mintKubernetesClient, mintTalosClient } from '#talos/pki/certificates.ts'
import { generateKey } from '#talos/pki/keys.ts'
import { generateSecrets, type ReadyKeys, readSecrets, type SecretsBundle, writeSecrets } from '#talos/secrets/bundle.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Platform } from '../../platform.ts'
import * as store from './store.ts'

const hour = 3_600_000
/** Lifetime of Steelyard's own certificates, in ms. */
const ownLifetimeMs = hour
const renewBeforeMs = 10 * 60_000

export type ClusterSecrets = ReturnType<typeof clusterSecrets>

const place = (clusterId: string, kind: store.SecretKind) => ({ table: 'cluster_secret', column: kind, owner: clusterId })
const basePlace = (clusterId: string) => ({ table: 'cluster_server_base', column: 'sealed', owner: clusterId })
const configPlace = (clusterId: string) => ({ table: 'cluster_server_config', column: 'sealed', owner: clusterId })

export function clusterSecrets({ config, db, clock, vault }: Pick<Platform, 'config' | 'db' | 'clock' | 'vault'>) {
  /** Prepared private keys of certificate authorities for simulated servers, because generating RSA-4096 keys takes long. */
  const keys = config.simulatedKeysFile === undefined ? undefined : (JSON.parse(readFileSync(config.simulatedKeysFile, 'utf8')) as ReadyKeys)
  let preview: Promise<SecretsBundle> | undefined
  const own = new Map<string, { from: number; until: number; of: number | undefined; minted: Promise<Credentials | null> }>()

  const open = async (on: Db | Tx, clusterId: string, kind: store.SecretKind): Promise<Buffer | null> => {
    const sealed = await store.secret(on, clusterId, kind)
    return sealed === undefined ? null : vault.open(on, { ...place(clusterId, kind), sealed })
  }

  const bundle = async (on: Db | Tx, clusterId: string): Promise<SecretsBundle | null> => {
    const bytes = await open(on, clusterId, 'bundle')
    if (bytes === null) return null
    const read = readSecrets(bytes.toString('utf8'))
    bytes.fill(0)
    return read
  }

  /** Mints a certificate once per lifetime, even for concurrent callers, and again after an import of new secrets, which may happen in another process. */
  const kept = async (what: string, clusterId: string, mint: () => Promise<Credentials | null>): Promise<Credentials | null> => {
    const key = `${what} ${clusterId}`
    const of = (await store.secretAt(db, clusterId, 'bundle'))?.getTime()
    const found = own.get(key)
    const now = clock.now()
    // A certificate minted while the clock was ahead is not valid yet.
    if (found && found.from <= now && now < found.until && found.of === of) return found.minted
    const minted = mint().then(
      (credentials) => {
        if (credentials === null) own.delete(key)
        return credentials
      },
      (error: unknown) => {
        own.delete(key)
        throw error
      },
    )
    own.set(key, { of, from: now, until: now + ownLifetimeMs - renewBeforeMs, minted })
    return minted
  }

  const mintTalos = async (clusterId: string, roles: readonly TalosRole[], lifetimeMs: number): Promise<Credentials | null> => {
    const secrets = await bundle(db, clusterId)
    return secrets && mintTalosClient(secrets, { roles, lifetimeMs, now: new Date(clock.now()) })
  }
  const mintKubernetes = async (clusterId: string, who: { commonName: string; organizations: readonly string[] }, lifetimeMs: number) => {
    const secrets = await bundle(db, clusterId)
    return secrets && mintKubernetesClient(secrets, { ...who, lifetimeMs, now: new Date(clock.now()) })
  }

  const seal = async (tx: Tx, clusterId: string, kind: store.SecretKind, bytes: Buffer) => {
    const sealed = await vault.seal(tx, { ...place(clusterId, kind), bytes })
    await store.putSecret(tx, clusterId, kind, sealed, new Date(clock.now()))
  }

  return {
    /** Placeholder secrets for previews, which never show secrets. Generated only once, because generating the keys takes a second. */
    forPreview: () => (preview ??= generateKey('p256').then((key) => generateSecrets({ now: new Date(clock.now()), keys: { k8sServiceAccount: key } }))),
    generate: (talosVersion: string) => generateSecrets({ now: new Date(clock.now()), contract: talosVersion, ...(keys && { keys }) }),
    sealBundle: (tx: Tx, clusterId: string, secrets: SecretsBundle) => seal(tx, clusterId, 'bundle', Buffer.from(writeSecrets(secrets))),
    sealChainKey: (tx: Tx, clusterId: string, privateKey: Uint8Array) => seal(tx, clusterId, 'chain_key', Buffer.from(privateKey)),
    /** Null if the cluster has no secrets yet. */
    bundle,
    /** Hex. */
    async chainKey(on: Db | Tx, clusterId: string): Promise<string> {
      const key = await open(on, clusterId, 'chain_key')
      if (key === null) throw new Error(`The cluster ${clusterId} has no key`)
      return key.toString('hex')
    },
    /** Writes the escrow file, which contains everything needed to control the cluster without the database. */
    async escrow(clusterId: string): Promise<void> {
      const [secrets, key] = await Promise.all([open(db, clusterId, 'bundle'), open(db, clusterId, 'chain_key')])
      if (secrets === null || key === null) throw new Error(`The cluster ${clusterId} has no secrets yet`)
      const text = Buffer.from(JSON.stringify({ format: 1, bundle: secrets.toString('utf8'), chain_key: key.toString('hex') }))
      await vault.escrow(clusterId, text)
      for (const bytes of [secrets, key, text]) bytes.fill(0)
    },
    sealConfig: (tx: Tx, clusterId: string, yaml: string) => vault.seal(tx, { ...configPlace(clusterId), bytes: Buffer.from(yaml) }),
    openConfig: async (on: Db | Tx, clusterId: string, sealed: Uint8Array) => (await vault.open(on, { ...configPlace(clusterId), sealed })).toString('utf8'),
    /** Seals a configuration that was taken over from a machine. */
    sealBase: (tx: Tx, clusterId: string, yaml: string) => vault.seal(tx, { ...basePlace(clusterId), bytes: Buffer.from(yaml) }),
    openBase: async (on: Db | Tx, clusterId: string, sealed: Uint8Array) => (await vault.open(on, { ...basePlace(clusterId), sealed })).toString('utf8'),
    /** Steelyard's own admin credentials; null if the cluster has no secrets yet. */
    talosAdmin: (clusterId: string) => kept('talos', clusterId, () => mintTalos(clusterId, ['os:admin'], ownLifetimeMs)),
    kubernetesAdmin: (clusterId: string) =>
      kept('kubernetes', clusterId, () => mintKubernetes(clusterId, { commonName: 'steelyard', organizations: ['system:masters'] }, ownLifetimeMs)),
    mintTalos,
    mintKubernetes,
    /** Drops the certificates of a deleted cluster. */
    drop(clusterId: string): void {
      own.delete(`talos ${clusterId}`)
      own.delete(`kubernetes ${clusterId}`)
    },
  }
}
