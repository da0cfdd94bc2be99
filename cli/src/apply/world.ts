/**
 * The installation as the API describes it. Each list is read when it is first needed, and once.
 */
import { wholeText } from '#contract/bounds/excerpt.ts'
import { type Applied, appliedList } from '#contract/apply/applied.ts'
import { type Cluster, clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { type Datacenter, datacenterGet, datacenterList } from '#contract/datacenters.ts'
import { type Image, imageGet, imageList } from '#contract/images.ts'
import { type JoinToken, joinTokenGet, joinTokenList } from '#contract/join-tokens.ts'
import { type Subnet, subnetGet, subnetList } from '#contract/network/subnets.ts'
import { type Offer, offerList } from '#contract/marketplace/offers.ts'
import type { AnyList } from '#contract/list.ts'
import type { Operation } from '#contract/operation.ts'
import { type OfferedTalos, versionList } from '#contract/versions.ts'
import type { Page } from '#contract/page.ts'
import { type NewPatch, type Patch, patchGet, patchList } from '#contract/patches.ts'
import {
  type ListedSharedPatch,
  type SharedPatch,
  sharedPatchGet,
  sharedPatchList,
} from '#contract/shared-patches/shared-patches.ts'
import { type Store, storeList } from '#contract/storage/stores.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import {
  type ListedTemplate,
  type Template,
  templateGet,
  templateList,
} from '#contract/templates/templates.ts'
import type { Api } from '../api/client.ts'

interface Row {
  readonly id: string
  /** Names of the fields that the list has left out. */
  readonly left_out?: readonly string[] | undefined
}
/** All pages of a list, with what its rows leave out read by `get`. An object that moves between pages while they are read is returned once. */
async function everything<T extends Row>(
  api: Api,
  list: Operation & { readonly list: AnyList },
  get?: Operation,
): Promise<T[]> {
  const perPage = list.list.mostPerPage
  const byId = new Map<string, T>()
  for (let page = 1; ; page++) {
    const { items, total } = (await api.call<Operation>(list, {
      query: { page, per_page: perPage },
    })) as Page<T>
    for (const item of items)
      byId.set(
        item.id,
        get && item.left_out
          ? ((await api.call<Operation>(get, { params: { id: item.id } })) as T)
          : item,
      )
    if (items.length < perPage || page * perPage >= total) return [...byId.values()]
  }
}

const withoutPatch = <R extends { readonly patch?: unknown }>({
  patch: _patch,
  ...role
}: R): Omit<R, 'patch'> => role

/** A template of the list with its whole patches. Only long patches take another call. */
async function wholeTemplate(api: Api, listed: ListedTemplate): Promise<Template> {
  const whole = (role: 'control_planes' | 'workers'): NewPatch | null | undefined => {
    const { patch } = listed[role]
    const body = patch && wholeText(patch.body)
    return patch === undefined ? undefined : body === undefined ? null : { ...patch, body }
  }
  const [first, second] = [whole('control_planes'), whole('workers')]
  if (listed.left_out || first === null || second === null)
    return api.call(templateGet, { params: { id: listed.id } })
  const { control_planes, workers } = listed
  return {
    ...listed,
    control_planes: { ...withoutPatch(control_planes), ...(first && { patch: first }) },
    workers: { ...withoutPatch(workers), ...(second && { patch: second }) },
  }
}
async function wholeSharedPatch(api: Api, listed: ListedSharedPatch): Promise<SharedPatch> {
  const body = wholeText(listed.body)
  return body === undefined || listed.left_out
    ? api.call(sharedPatchGet, { params: { id: listed.id } })
    : { ...listed, body }
}
const wholePatch = async (api: Api, listed: Patch): Promise<Patch> =>
  listed.body_listed === false
    ? api.call(patchGet, { params: { id: listed.node_id, patchId: listed.patch_id } })
    : listed
/** Reads the rest of each object of a list, one after another. */
async function wholeOf<L, T>(listed: readonly L[], read: (one: L) => Promise<T>): Promise<T[]> {
  const all: T[] = []
  for (const one of listed) all.push(await read(one))
  return all
}

const once = <T>(read: () => Promise<T>): (() => Promise<T>) => {
  let known: Promise<T> | undefined
  return () => (known ??= read())
}

export type World = ReturnType<typeof openWorld>

export function openWorld(api: Api) {
  const patches = new Map<string, Promise<Patch[]>>()
  return {
    api,
    datacenters: once(() => everything<Datacenter>(api, datacenterList, datacenterGet)),
    joinTokens: once(() => everything<JoinToken>(api, joinTokenList, joinTokenGet)),
    servers: once(() => everything<Server>(api, serverList)),
    subnets: once(() => everything<Subnet>(api, subnetList, subnetGet)),
    images: once(() => everything<Image>(api, imageList, imageGet)),
    clusters: once(() => everything<Cluster>(api, clusterList, clusterGet)),
    /** The newest Talos version of each minor, newest first. */
    versions: once(
      async (): Promise<OfferedTalos[]> => (await api.call(versionList, { query: {} })).items,
    ),
    sharedPatches: once(async () =>
      wholeOf(await everything<ListedSharedPatch>(api, sharedPatchList), (one) =>
        wholeSharedPatch(api, one),
      ),
    ),
    templates: once(async () =>
      wholeOf(await everything<ListedTemplate>(api, templateList), (one) =>
        wholeTemplate(api, one),
      ),
    ),
    stores: once(() => everything<Store>(api, storeList)),
    offers: once(() => everything<Offer>(api, offerList)),
    /** The patches that users have written for a server. */
    patchesOf(serverId: string): Promise<Patch[]> {
      let known = patches.get(serverId)
      if (!known) {
        known = api.call(patchList, { params: { id: serverId } }).then(({ items }) =>
          wholeOf(
            items.filter((p) => !p.read_only),
            async (p) => wholePatch(api, p),
          ),
        )
        patches.set(serverId, known)
      }
      return known
    },
    /** Objects that `apply` has created, of every set. */
    applied: once(() => everything<Applied>(api, appliedList)),
  }
}
