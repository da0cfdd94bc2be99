/** Sets a value for every selected server that supports it. */
import type { NewPatch } from '#contract/patches.ts'
import type { Server } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import type { MenuItem } from '../../../ui/overlay/Menu.tsx'
import { defaultWorkloadDisks } from '#contract/disks/choice.ts'
import { disksBeside } from '#contract/disks/disks.ts'
import { firstDisk, installDisks } from './choice.ts'
import type { Chosen, Draft } from './draft.ts'

type Set = (servers: Draft['servers']) => void

/** Counts how many of the lists contain each id. Sorted by id. */
function tally(ids: readonly (readonly string[])[]): [id: string, n: number][] {
  const counts = new Map<string, number>()
  for (const id of ids.flat()) counts.set(id, (counts.get(id) ?? 0) + 1)
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/**
 * Applies `what` to each selected server. A server doesn't change if `what` returns null for it.
 */
function settingAll(
  chosen: Draft['servers'],
  servers: readonly Server[],
  what: (server: Server, now: Chosen) => Partial<Chosen> | null,
): Draft['servers'] {
  const set = { ...chosen }
  for (const s of servers) {
    const now = set[s.id]
    const change = now && what(s, now)
    if (change) set[s.id] = { ...now, ...change }
  }
  return set
}

export const onDisk = (disk: string, now: Chosen): Partial<Chosen> => ({
  installDisk: disk,
  workloadDisks: now.workloadDisks.filter((d) => d !== disk),
})
const allOther = (s: Server, now: Chosen): Partial<Chosen> => ({
  workloadDisks: defaultWorkloadDisks(disksBeside(s.resources.disks, now.installDisk)).map(
    (d) => d.id,
  ),
})

/** Sets the same new patch for every selected server, or removes it. */
export const withPatch = (
  chosen: Draft['servers'],
  patch: NewPatch | undefined,
): Draft['servers'] =>
  Object.fromEntries(Object.entries(chosen).map(([id, now]) => [id, { ...now, patch }]))

/**
 * A sentence about the drafted patches that the edited patch `one` will replace, each with its
 * server; null if there are none.
 */
export function replacedText(
  servers: readonly { name: string; draft: NewPatch | undefined }[],
  one: NewPatch | undefined,
): string | null {
  const others = servers.filter(
    (s) => s.draft !== undefined && JSON.stringify(s.draft) !== JSON.stringify(one),
  )
  if (others.length === 0) return null
  return `It replaces these drafted patches: ${others.map((s) => `${s.draft!.name} of ${s.name}`).join(', ')}.`
}

/**
 * The menu "Set for all selected". A value that only some servers support shows the number of these
 * servers and applies only to them. `propose` proposes roles; `writePatch` opens the patch dialog.
 */
export function setForAll(
  chosen: Draft['servers'],
  servers: readonly Server[],
  onSet: Set,
  propose: (servers: Draft['servers']) => Draft['servers'],
  writePatch: () => void,
): MenuItem[] {
  const taken = servers.filter((s) => chosen[s.id])
  const each = (what: Parameters<typeof settingAll>[2]) => onSet(settingAll(chosen, taken, what))
  const some = (n: number) => (n < taken.length ? { hint: `${n} of ${taken.length}` } : {})
  const links = tally(
    taken.map((s) => s.resources.interfaces.filter((i) => i.link_state === true).map((i) => i.id)),
  )
  const disks = tally(taken.map((s) => installDisks(s).map((d) => d.id)))
  const drafted = tally(
    taken.map((s) => (chosen[s.id]!.patch === undefined ? [] : [chosen[s.id]!.patch!.name])),
  )
  return [
    {
      label: 'Role',
      items: [
        {
          label: 'Control plane',
          run: () => each(() => ({ role: 'control_plane', roleSet: true })),
        },
        { label: 'Worker', run: () => each(() => ({ role: 'worker', roleSet: true })) },
        'rule',
        {
          label: 'As proposed: the smallest servers are control planes',
          run: () => onSet(propose(settingAll(chosen, taken, () => ({ roleSet: false })))),
        },
      ],
    },
    {
      label: 'Workload interface',
      items: [
        { label: 'Management', run: () => each(() => ({ link: '' })) },
        ...links.map(([id, n]) => ({
          label: id,
          ...some(n),
          run: () =>
            each((s) =>
              s.resources.interfaces.some((i) => i.id === id && i.link_state === true)
                ? { link: id }
                : null,
            ),
        })),
      ],
    },
    {
      label: 'Install disk',
      items: [
        {
          label: 'The smallest empty disk that is large enough',
          run: () => each((s, now) => onDisk(firstDisk(s)?.id ?? now.installDisk, now)),
        },
        ...disks.map(([id, n]) => ({
          label: id,
          ...some(n),
          run: () =>
            each((s, now) => (installDisks(s).some((d) => d.id === id) ? onDisk(id, now) : null)),
        })),
      ],
    },
    {
      label: 'Workload disks',
      items: [
        { label: 'All other empty disks', run: () => each(allOther) },
        { label: 'None', run: () => each(() => ({ workloadDisks: [] })) },
      ],
    },
    {
      label: 'Patch',
      items: [
        { label: 'The same new patch', run: writePatch },
        {
          label: 'No new patch',
          ...(drafted.length > 0 && {
            note: `Discards the drafted patches: ${drafted.map(([name, n]) => `${name} of ${counted(n, 'server')}`).join(', ')}`,
          }),
          run: () => onSet(withPatch(chosen, undefined)),
        },
      ],
    },
  ]
}
