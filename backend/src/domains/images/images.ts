/**
 * Images that servers boot. Steelyard stores the inputs of an image; the factory has its files.
 * Steelyard writes the schematic and computes its id. An image counts as registered after the
 * factory has returned the same id; until then it is stored with the reason why the registration
 * failed.
 */
import { Problem } from '#contract/errors.ts'
import {
  type Extension,
  extensionList,
  type Image,
  type imageFactoryGet,
  imageLimit,
  type imageList,
  type NewImage,
} from '#contract/images.ts'
import { canUseJoinToken } from '#contract/join-tokens.ts'
import { type MemoryReaders, memoryPage } from '#contract/list.ts'
import type { Answer, Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { schematicId, schematicText } from '#talos/schematic/schematic.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import { type Caller, callerName } from '../../http/caller.ts'
import { existing, type Versions } from '../../http/tags.ts'
import type { Platform } from '../../platform.ts'
import { sentBy } from '../../reading/asker.ts'
import { demandRoom } from '../../room.ts'
import type { Datacenters } from '../datacenters/api.ts'
import type { Joining, TokenForImage } from '../joining/api.ts'
import {
  asProblem,
  lengthProblem,
  notBuilt,
  offered,
  placed,
  supportedVersion,
  unsupported,
} from './checks.ts'
import { FactoryError } from './factory-call.ts'
import { checkedEarly, earlyDigest } from './early.ts'
import { type Factory, isPrerelease, ownVersions } from './factory.ts'
import { audited, type Customized, present, schematicOf } from './present.ts'
import * as store from './store.ts'

const extensionReaders: MemoryReaders<typeof extensionList.list, Extension> = {
  sort: { name: (e) => e.name },
  filters: {},
  search: (e, wanted) =>
    e.name.toLowerCase().includes(wanted) || e.description.toLowerCase().includes(wanted),
  ties: [],
}

/** Callers who may create join tokens may see the token of an image. */
const mayReveal = (caller: Caller): boolean =>
  caller.kind === 'user' && caller.scopes.includes('servers:write')
const targetOf = ({ id, talos_version, arch, format }: Image) => ({
  kind: 'image',
  id,
  name: `Talos ${talos_version} ${arch} ${format}`,
})

/** The result of registering a schematic with the factory. `packed`: as in the image. */
type Outcome =
  | { readonly id: string; readonly simulated: boolean; readonly packed: string | null }
  | { readonly reason: string }

type Wanted = Customized & Parameters<typeof lengthProblem>[0] & { readonly extensions: string[] }

interface ImageParts extends Platform {
  readonly factory: Factory
  readonly datacenters: Datacenters
  readonly joining: Joining
}

export function images({
  db,
  clock,
  record,
  config,
  factory,
  datacenters,
  joining,
  read,
}: ImageParts) {
  const now = () => new Date(clock.now())
  const tokenOf = async (
    on: Db | Tx,
    row: Pick<store.ImageRow, 'token_id'>,
  ): Promise<TokenForImage | null> => (row.token_id ? joining.tokenFor(on, row.token_id) : null)
  const whole = async (on: Db | Tx, row: store.ImageRow, reveal: boolean): Promise<Image> =>
    present(row, await tokenOf(on, row), config, reveal)

  /** @throws Problem factory_refused */
  const registerOnce = async (image: Wanted, token: TokenForImage | null): Promise<Outcome> => {
    const schematic = schematicOf(image, token?.text)
    const ours = { text: schematicText(schematic), id: schematicId(schematic) }
    try {
      const answered = await factory.register(ours.text)
      const id = await read(sentBy(factory.url), 'known', ours, answered)
      if (id !== null) return { id, simulated: answered.simulated, packed: image.early_packed }
      return {
        reason: `The image factory at ${factory.url} knows the schematic as ${answered.id.slice(0, 12)}…, not as ${ours.id.slice(0, 12)}…: its files would be those of another image`,
      }
    } catch (error) {
      if (error instanceof FactoryError && error.kind === 'unreachable')
        return { reason: error.message }
      throw asProblem(error)
    }
  }

  /**
   * Registers an image with the factory, if the factory offers the image's version and extensions.
   * A factory that refuses the documents as a file of the image (image-factory before 1.4.0) gets
   * them as a kernel argument.
   * @param packed the value of that argument; null without documents
   * @throws Problem factory_refused; invalid if the argument doesn't fit
   */
  const register = async (
    image: Wanted,
    token: TokenForImage | null,
    packed: string | null,
  ): Promise<Outcome> => {
    const reason = await offered(factory, image.talos_version, image.extensions)
    if (reason !== null) return { reason }
    const first = await registerOnce({ ...image, early_packed: null }, token).catch(
      (error: unknown) => {
        if (packed !== null && error instanceof Problem && error.code === 'factory_refused')
          return error
        throw error
      },
    )
    if (!(first instanceof Problem)) return first
    const onLine = { ...image, early_packed: packed }
    const tooLong = lengthProblem(onLine, token)
    if (tooLong === null) return registerOnce(onLine, token)
    const sentence = `${first.message}. The documents don't fit as an argument of the kernel either: ${tooLong}`
    throw new Problem('factory_refused', sentence, { early: sentence })
  }

  const recorded = async (
    tx: Tx,
    caller: Caller,
    action: 'image.created' | 'image.registered' | 'image.not_registered',
    id: string,
  ): Promise<Image> => {
    const row = existing(await store.get(tx, id), 'image')
    const after = await whole(tx, row, false)
    const event = {
      name: action === 'image.created' ? action : ('image.updated' as const),
      version: after.version,
    }
    await record(tx, caller, { action, target: targetOf(after), after: audited(after), event })
    return whole(tx, row, mayReveal(caller))
  }

  return {
    async factory(): Promise<Answer<typeof imageFactoryGet>> {
      const { url } = factory
      try {
        const { items, simulated, reason } = await factory.versions()
        return {
          url,
          simulated,
          reachable: reason === null,
          reason,
          versions: items.filter((v) => supportedVersion(v) !== undefined && !isPrerelease(v)),
        }
      } catch (error) {
        if (!(error instanceof FactoryError)) throw error
        return {
          url,
          simulated: false,
          reachable: false,
          reason: error.message,
          versions: [...ownVersions],
        }
      }
    },

    /** @throws Problem bad_request, factory_unreachable, factory_refused */
    async extensions(query: Input<typeof extensionList>['query']): Promise<Page<Extension>> {
      const { version: given } = query
      const version = supportedVersion(given)
      if (version === undefined)
        throw new Problem('bad_request', unsupported(given), { version: unsupported(given) })
      try {
        const versions = await factory.versions()
        if (!versions.items.includes(version)) throw notBuilt(version)
        const { items } = await factory.extensions(version)
        return memoryPage(extensionList.list, items, extensionReaders, query)
      } catch (error) {
        throw asProblem(error)
      }
    },

    async list(caller: Caller, query: Input<typeof imageList>['query']): Promise<Page<Image>> {
      const { rows, total } = await store.page(db, query)
      const ids = [...new Set(rows.flatMap((r) => r.token_id ?? []))]
      const tokens = new Map<string, TokenForImage | null>()
      for (const id of ids) tokens.set(id, await joining.tokenFor(db, id))
      const reveal = mayReveal(caller)
      const items = rows.map((row) =>
        present(row, (row.token_id && tokens.get(row.token_id)) || null, config, reveal),
      )
      return { items, page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem not_found */
    get: async (caller: Caller, id: string): Promise<Image> =>
      whole(db, existing(await store.get(db, id), 'image'), mayReveal(caller)),

    /**
     * @throws Problem not_found, conflict (the token, the most images), invalid, factory_refused; a factory that
     * doesn't answer is no error
     */
    async create(
      caller: Caller,
      {
        token_id,
        datacenter_id,
        talos_version: given,
        extensions: chosen,
        early: wished,
        ...input
      }: NewImage,
    ): Promise<Image> {
      const talos_version = supportedVersion(given)
      if (talos_version === undefined)
        throw new Problem('invalid', unsupported(given), { talos_version: unsupported(given) })
      const checked = await checkedEarly(read, caller, wished, talos_version)
      // Sorted and without duplicates, so that the same choice gives the same schematic.
      const extensions = [...new Set(chosen)].toSorted()
      const wanted = {
        ...input,
        talos_version,
        extensions,
        early: checked?.early ?? null,
        early_packed: null,
        public_url: config.publicUrl,
        factory_url: factory.url,
      }
      const { token } = await placed(db, { datacenters, joining }, { token_id, datacenter_id })
      const tooLong = lengthProblem(wanted, token)
      if (tooLong !== null) throw new Problem('invalid', tooLong, { kernel_args: tooLong })
      const outcome = await register(wanted, token, checked?.packed ?? null)
      return inTransaction(db, async (tx) => {
        await demandRoom(tx, 'image', imageLimit)
        // During the call to the factory the token may have been revoked or the datacenter removed.
        const { datacenter } = await placed(
          tx,
          { datacenters, joining },
          { token_id, datacenter_id },
        )
        const at = now()
        const answered =
          'id' in outcome
            ? {
                schematic_id: outcome.id,
                early_packed: outcome.packed,
                factory_simulated: outcome.simulated,
                registered_at: at,
                reason: null,
              }
            : {
                schematic_id: schematicId(schematicOf(wanted, token?.text)),
                factory_simulated: false,
                registered_at: null,
                reason: outcome.reason,
              }
        const image = {
          ...wanted,
          ...answered,
          token_id,
          datacenter_id: datacenter?.id ?? null,
          created_by: callerName(caller),
        }
        if (wanted.early !== null && token_id !== null)
          await joining.keepEarly(tx, token_id, earlyDigest(wanted.early), wanted.early)
        const id = await store.insert(tx, image, at)
        return recorded(tx, caller, 'image.created', id)
      })
    },

    /** @throws Problem not_found, conflict (the token), factory_refused, factory_unreachable */
    async register(caller: Caller, id: string): Promise<Image> {
      const row = existing(await store.get(db, id), 'image')
      const token = await tokenOf(db, row)
      const usable = token && canUseJoinToken(token)
      if (usable && !usable.ok) throw new Problem('conflict', usable.reason)
      /**
       * An image that was registered before stays registered, because the factory keeps schematics.
       */
      const failed = async (problem: Problem): Promise<never> => {
        await inTransaction(db, async (tx) => {
          // Read with a lock: a concurrent registration may have succeeded meanwhile.
          const current = await store.lock(tx, id)
          if (!current || current.registered_at !== null || current.reason === problem.message)
            return
          await store.update(tx, id, { reason: problem.message }, now())
          await recorded(tx, caller, 'image.not_registered', id)
        })
        throw problem
      }
      const checked = await checkedEarly(read, caller, row.early, row.talos_version)
      const outcome = await register(row, token, checked?.packed ?? null).catch(
        (error: unknown) => {
          if (error instanceof Problem && error.code === 'factory_refused') return failed(error)
          throw error
        },
      )
      if ('reason' in outcome) return failed(new Problem('factory_unreachable', outcome.reason))
      return inTransaction(db, async (tx) => {
        existing(await store.lock(tx, id), 'image')
        const change = {
          schematic_id: outcome.id,
          early_packed: outcome.packed,
          registered_at: now(),
          reason: null,
          factory_url: factory.url,
          factory_simulated: outcome.simulated,
        }
        await store.update(tx, id, change, now())
        return recorded(tx, caller, 'image.registered', id)
      })
    },

    /** @throws Problem not_found, stale */
    async remove(caller: Caller, id: string, ifMatch?: Versions): Promise<void> {
      await inTransaction(db, async (tx) => {
        const row = existing(await store.lock(tx, id), 'image', ifMatch)
        const before = await whole(tx, row, false)
        await store.remove(tx, id)
        await record(tx, caller, {
          action: 'image.removed',
          target: targetOf(before),
          before: audited(before),
          event: { version: row.version },
        })
      })
    },
  }
}
