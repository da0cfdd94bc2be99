/**
 * Secrets of clusters: generation, sealing, escrow, and the short-lived certificates minted from
 * them. Certificates are only kept in memory.
 */
import { readFileSync } from 'node:fs'
import {
  type Credentials,
  type TalosRole,
  mintKubernetesClient,
  mintTalosClient,
} from '#talos/pki/certificates.ts'
import { generateKey } from '#talos/pki/keys.ts'
import {
  generateSecrets,
  type ReadyKeys,
  readSecrets,
  type SecretsBundle,
  writeSecrets,
} from '#talos/secrets/bundle.ts'
import { bothOf, rotatedSecrets, type Rotatable, type Rotation } from '#talos/secrets/rotation.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Platform } from '../../platform.ts'
import * as rotations from './store-rotations.ts'
import * as store from './store.ts'

const hour = 3_600_000
/** Lifetime of Steelyard's own certificates, in ms. */
const ownLifetimeMs = hour
const renewBeforeMs = 10 * 60_000
/** Maximum number of former bundles in the escrow file. The database has all of them. */
const mostEscrowed = 8

export type ClusterSecrets = ReturnType<typeof clusterSecrets>

/** A rotation that has not ended, with plaintext secrets. */
export type OpenRotation = Rotation &
  Pick<rotations.RotationRow, 'stage' | 'escrowed_at' | 'begun_at' | 'changed_at'>

const place = (clusterId: string, kind: store.SecretKind) => ({
  table: 'cluster_secret',
  column: kind,
  owner: clusterId,
})
const rotationPlace = (clusterId: string) => ({
  table: 'cluster_rotation',
  column: 'sealed',
  owner: clusterId,
})
const generationPlace = (clusterId: string, generation: number) => ({
  table: 'cluster_secret_generation',
  column: `sealed/${generation}`,
  owner: clusterId,
})
export function clusterSecrets({
  config,
  db,
  clock,
  vault,
}: Pick<Platform, 'config' | 'db' | 'clock' | 'vault'>) {
  /**
   * Prepared private keys of certificate authorities for simulated servers, because generating
   * RSA-4096 keys takes long.
   */
  const keys =
    config.simulatedKeysFile === undefined
      ? undefined
      : (JSON.parse(readFileSync(config.simulatedKeysFile, 'utf8')) as ReadyKeys)
  let preview: Promise<SecretsBundle> | undefined
  const own = new Map<
    string,
    { from: number; until: number; of: number | undefined; minted: Promise<Credentials | null> }
  >()

  const open = async (
    on: Db | Tx,
    clusterId: string,
    kind: store.SecretKind,
  ): Promise<Buffer | null> => {
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

  const rotation = async (on: Db | Tx, clusterId: string): Promise<OpenRotation | null> => {
    const row = await rotations.rotation(on, clusterId)
    const from = row && (await bundle(on, clusterId))
    if (!row || !from) return null
    const bytes = await vault.open(on, { ...rotationPlace(clusterId), sealed: row.sealed })
    const to = readSecrets(bytes.toString('utf8'))
    bytes.fill(0)
    return {
      what: row.what,
      stage: row.stage,
      escrowed_at: row.escrowed_at,
      begun_at: row.begun_at,
      changed_at: row.changed_at,
      from,
      to,
    }
  }

  const generations = async (on: Db | Tx, clusterId: string) => {
    const rows = await rotations.generations(on, clusterId)
    return Promise.all(
      rows.map(async ({ generation, what, sealed, used_from: from, used_until: until }) => {
        const bytes = await vault.open(on, { ...generationPlace(clusterId, generation), sealed })
        return { what, from, until, bundle: readSecrets(bytes.toString('utf8')) }
      }),
    )
  }

  /**
   * Mints a certificate once per lifetime, even for concurrent callers, and again after a change of
   * the secrets, which may happen in another process.
   */
  const kept = async (
    what: string,
    clusterId: string,
    mint: () => Promise<Credentials | null>,
  ): Promise<Credentials | null> => {
    const key = `${what} ${clusterId}`
    const of =
      (await rotations.rotation(db, clusterId))?.changed_at.getTime() ??
      (await store.secretAt(db, clusterId, 'bundle'))?.getTime()
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

  /**
   * The secrets that sign certificates now, and the authorities that are trusted. During a rotation
   * both authorities are trusted: some machines have certificates of the old one, others of the new
   * one. The new one signs from the moment that every machine accepts it.
   */
  const signing = async (
    clusterId: string,
    api: 'talos' | 'kubernetes',
  ): Promise<{ secrets: SecretsBundle; ca: string } | null> => {
    const running = await rotation(db, clusterId)
    if (running) {
      const isNew = running.stage === 'switching' || running.stage === 'dropping'
      return { secrets: isNew ? running.to : running.from, ca: bothOf(running, api) }
    }
    const secrets = await bundle(db, clusterId)
    return (
      secrets && { secrets, ca: api === 'talos' ? secrets.certs.os.crt : secrets.certs.k8s.crt }
    )
  }
  const mintTalos = async (
    clusterId: string,
    roles: readonly TalosRole[],
    lifetimeMs: number,
  ): Promise<Credentials | null> => {
    const by = await signing(clusterId, 'talos')
    return (
      by && {
        ...(await mintTalosClient(by.secrets, { roles, lifetimeMs, now: new Date(clock.now()) })),
        ca: by.ca,
      }
    )
  }
  const mintKubernetes = async (
    clusterId: string,
    who: { commonName: string; organizations: readonly string[] },
    lifetimeMs: number,
  ) => {
    const by = await signing(clusterId, 'kubernetes')
    return (
      by && {
        ...(await mintKubernetesClient(by.secrets, {
          ...who,
          lifetimeMs,
          now: new Date(clock.now()),
        })),
        ca: by.ca,
      }
    )
  }

  const seal = async (tx: Tx, clusterId: string, kind: store.SecretKind, bytes: Buffer) => {
    const sealed = await vault.seal(tx, { ...place(clusterId, kind), bytes })
    await store.putSecret(tx, clusterId, kind, sealed, new Date(clock.now()))
  }

  /** Stores the current bundle as a former one. The cluster's row must be locked. */
  const archive = async (
    tx: Tx,
    clusterId: string,
    what: rotations.GenerationRow['what'],
  ): Promise<void> => {
    const bytes = await open(tx, clusterId, 'bundle')
    const from = await store.secretAt(tx, clusterId, 'bundle')
    if (bytes === null || from === null) return
    const generation = await rotations.nextGeneration(tx, clusterId)
    const sealed = await vault.seal(tx, { ...generationPlace(clusterId, generation), bytes })
    bytes.fill(0)
    await rotations.insertGeneration(tx, {
      cluster_id: clusterId,
      generation,
      what,
      sealed,
      used_from: from,
      used_until: new Date(clock.now()),
    })
  }

  return {
    /**
     * Placeholder secrets for previews, which never show secrets. Generated only once, because
     * generating the keys takes a second.
     */
    forPreview: () =>
      (preview ??= generateKey('p256').then((key) =>
        generateSecrets({ now: new Date(clock.now()), keys: { k8sServiceAccount: key } }),
      )),
    generate: (talosVersion: string) =>
      generateSecrets({
        now: new Date(clock.now()),
        contract: talosVersion,
        ...(keys && { keys }),
      }),
    sealBundle: (tx: Tx, clusterId: string, secrets: SecretsBundle) =>
      seal(tx, clusterId, 'bundle', Buffer.from(writeSecrets(secrets))),
    sealChainKey: (tx: Tx, clusterId: string, privateKey: Uint8Array) =>
      seal(tx, clusterId, 'chain_key', Buffer.from(privateKey)),
    /** Null if the cluster has no secrets yet. During a rotation, the old secrets. */
    bundle,
    /** The rotation that has not ended, or null. */
    rotation,
    /**
     * The secrets that the cluster had before, newest first, for restores of snapshots from that
     * time.
     */
    generations,
    /** Stores new secrets besides the current ones. They are used only after they were escrowed. */
    async beginRotation(
      tx: Tx,
      clusterId: string,
      what: Rotatable,
      to: SecretsBundle,
    ): Promise<void> {
      const at = new Date(clock.now())
      const sealed = await vault.seal(tx, {
        ...rotationPlace(clusterId),
        bytes: Buffer.from(writeSecrets(to)),
      })
      await rotations.insertRotation(tx, {
        cluster_id: clusterId,
        what,
        stage: 'accepting',
        sealed,
        begun_at: at,
        changed_at: at,
      })
    },
    moveRotation: (
      tx: Tx,
      clusterId: string,
      change: Partial<Pick<rotations.RotationRow, 'stage' | 'escrowed_at'>>,
    ) => rotations.updateRotation(tx, clusterId, { ...change, changed_at: new Date(clock.now()) }),
    /** Ends the rotation: the new secrets replace the current ones, or are discarded. */
    async endRotation(tx: Tx, clusterId: string, how: 'new' | 'old'): Promise<void> {
      const ended = await rotation(tx, clusterId)
      if (ended && how === 'new') {
        await archive(tx, clusterId, ended.what)
        await seal(tx, clusterId, 'bundle', Buffer.from(writeSecrets(ended.to)))
      }
      await rotations.removeRotation(tx, clusterId)
    },
    /**
     * Replaces the secrets with those that were set on the machines without Steelyard. Ends an
     * unfinished rotation.
     */
    async importBundle(tx: Tx, clusterId: string, secrets: SecretsBundle): Promise<void> {
      await archive(tx, clusterId, 'import')
      await rotations.removeRotation(tx, clusterId)
      await seal(tx, clusterId, 'bundle', Buffer.from(writeSecrets(secrets)))
    },
    /** Generates the new secrets of a rotation from the cluster's current ones. */
    rotated: (from: SecretsBundle, what: Rotatable) =>
      rotatedSecrets(from, what, new Date(clock.now())),
    /** Hex. */
    async chainKey(on: Db | Tx, clusterId: string): Promise<string> {
      const key = await open(on, clusterId, 'chain_key')
      if (key === null) throw new Error(`The cluster ${clusterId} has no key`)
      return key.toString('hex')
    },
    /**
     * Writes the escrow file, which contains everything needed to control the cluster without the
     * database: during a rotation both the old and the new secrets, and always the latest former
     * ones.
     */
    async escrow(clusterId: string): Promise<void> {
      const [secrets, key] = await Promise.all([
        open(db, clusterId, 'bundle'),
        open(db, clusterId, 'chain_key'),
      ])
      if (secrets === null) throw new Error(`The cluster ${clusterId} has no secrets yet`)
      const running = await rotation(db, clusterId)
      const former = (await generations(db, clusterId)).slice(0, mostEscrowed)
      const text = Buffer.from(
        JSON.stringify({
          format: 1,
          bundle: secrets.toString('utf8'),
          // A cluster whose own key was kept at its takeover has none here.
          ...(key && { chain_key: key.toString('hex') }),
          ...(running && { rotation: { what: running.what, bundle: writeSecrets(running.to) } }),
          ...(former.length > 0 && {
            former: former.map((one) => ({
              until: one.until.toISOString(),
              what: one.what,
              bundle: writeSecrets(one.bundle),
            })),
          }),
        }),
      )
      await vault.escrow(clusterId, text)
      for (const bytes of [secrets, key, text]) bytes?.fill(0)
    },
    /** Steelyard's own admin credentials; null if the cluster has no secrets yet. */
    talosAdmin: (clusterId: string) =>
      kept('talos', clusterId, () => mintTalos(clusterId, ['os:admin'], ownLifetimeMs)),
    /**
     * Admin credentials of the former authorities of the Talos API, newest first. A server that was
     * silent during a rotation accepts no others.
     */
    async formerTalosAdmins(clusterId: string): Promise<Credentials[]> {
      const [now, former] = await Promise.all([bundle(db, clusterId), generations(db, clusterId)])
      const byAuthority = new Map(
        former.toReversed().map((one) => [one.bundle.certs.os.crt, one.bundle]),
      )
      if (now) byAuthority.delete(now.certs.os.crt)
      return Promise.all(
        [...byAuthority].toReversed().map(async ([ca, secrets]) => ({
          ...(await mintTalosClient(secrets, {
            roles: ['os:admin'],
            lifetimeMs: ownLifetimeMs,
            now: new Date(clock.now()),
          })),
          ca,
        })),
      )
    },
    kubernetesAdmin: (clusterId: string) =>
      kept('kubernetes', clusterId, () =>
        mintKubernetes(
          clusterId,
          { commonName: 'steelyard', organizations: ['system:masters'] },
          ownLifetimeMs,
        ),
      ),
    mintTalos,
    mintKubernetes,
    /** Drops the certificates of a deleted cluster. */
    drop(clusterId: string): void {
      own.delete(`talos ${clusterId}`)
      own.delete(`kubernetes ${clusterId}`)
    },
  }
}
