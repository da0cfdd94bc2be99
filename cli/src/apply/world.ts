/**
 * The installation as the API describes it. Each list is read when it is first needed, and once.
 */
import { type Applied, appliedList } from '#contract/apply/applied.ts'
import { type Cluster, clusterList } from '#contract/clusters/clusters.ts'
import { type Datacenter, datacenterList } from '#contract/datacenters.ts'
import { type Image, imageList } from '#contract/images.ts'
import { type JoinToken, joinTokenList } from '#contract/join-tokens.ts'
import { type Subnet, subnetList } from '#contract/network/subnets.ts'
import { type Offer, offerList } from '#contract/marketplace/offers.ts'
import type { Operation } from '#contract/operation.ts'
import { type OfferedTalos, versionList } from '#contract/versions.ts'
import type { Page } from '#contract/page.ts'
import { type Patch, patchList } from '#contract/patches.ts'
import { type SharedPatch, sharedPatchList } from '#contract/shared-patches/shared-patches.ts'
import { type Store, storeList } from '#contract/storage/stores.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { type Template, templateList } from '#contract/templates/templates.ts'
import type { Api } from '../api/client.ts'

const perPage = 1000

/** All pages of a list. An object that moves between pages while they are read is returned once. */
async function everything<T extends { readonly id: string }>(
  api: Api,
  list: Operation,
): Promise<T[]> {
  const byId = new Map<string, T>()
  for (let page = 1; ; page++) {
    const { items, total } = (await api.call<Operation>(list, {
      query: { page, per_page: perPage },
    })) as Page<T>
    for (const item of items) byId.set(item.id, item)
    if (items.length < perPage || page * perPage >= total) return [...byId.values()]
  }
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
    datacenters: once(() => everything<Datacenter>(api, datacenterList)),
    joinTokens: once(() => everything<JoinToken>(api, joinTokenList)),
    servers: once(() => everything<Server>(api, serverList)),
    subnets: once(() => everything<Subnet>(api, subnetList)),
    images: once(() => everything<Image>(api, imageList)),
    clusters: once(() => everything<Cluster>(api, clusterList)),
    /** The newest Talos version of each minor, newest first. */
    versions: once(
      async (): Promise<OfferedTalos[]> => (await api.call(versionList, { query: {} })).items,
    ),
    sharedPatches: once(() => everything<SharedPatch>(api, sharedPatchList)),
    templates: once(() => everything<Template>(api, templateList)),
    stores: once(() => everything<Store>(api, storeList)),
    offers: once(() => everything<Offer>(api, offerList)),
    /** The patches that users have written for a server. */
    patchesOf(serverId: string): Promise<Patch[]> {
      let known = patches.get(serverId)
      if (!known) {
        known = api
          .call(patchList, { params: { id: serverId } })
          .then(({ items }) => items.filter((p) => !p.read_only))
        patches.set(serverId, known)
      }
      return known
    },
    /** Objects that `apply` has created, of every set. */
    applied: once(() => everything<Applied>(api, appliedList)),
  }
}
